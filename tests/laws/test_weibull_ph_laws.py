"""Weibull hazards against the likelihood written out spell by spell."""

import math

import numpy as np
import pytest

from halflife.models.ascent import Peak
from halflife.models.spells import Spells
from halflife.models.weibull_ph import (
    WeibullPH,
    WeibullPHStatus,
    _Likelihood,
    _Rows,
    _status,
)

INF = math.inf


def a_world(seed=0, n=60):
    """Return spells of three strata, the last without a death, seen in every way."""
    rng = np.random.default_rng(seed)
    x = np.column_stack([rng.normal(3.0, 2.0, n), rng.integers(0, 2, n)])
    stratum = rng.integers(0, 3, n)
    rate = 0.05 * np.exp(0.2 * x[:, 0] - 0.5 * x[:, 1]) * (1 + stratum)
    time = (rng.exponential(1.0, n) / rate) ** (1 / 1.3) + 0.05
    entry = np.where(rng.random(n) < 0.3, 0.4 * time, 0.0)
    kind = np.where(stratum == 2, 2, rng.integers(0, 3, n))  # exact, between, there
    lower = np.where(kind == 1, np.maximum(np.floor(time * 2) / 2, entry), time)
    upper = np.where(kind == 1, lower + 0.5, np.where(kind == 0, time, INF))
    weight = rng.integers(0, 4, n).astype(float)
    data = Spells.of(entry, lower, upper, weight=weight)
    return data, x, np.array(["a", "b", "c"])[stratum], rng.integers(0, 9, n)


def by_hand(data, x, strata, at, rows=None):
    """Return the log-likelihood of (ln rate, ln shape) by stratum and b."""
    total, (logs, shapes, b) = 0.0, at
    for i in range(len(data)) if rows is None else rows:
        if not data.weight[i]:
            continue
        shape = math.exp(shapes[strata[i]])
        z = logs[strata[i]] + float(x[i] @ b)

        def passed(t, z=z, shape=shape):
            return math.exp(z) * t**shape

        low, high = data.lower[i], data.upper[i]
        one = passed(data.entry[i]) - passed(low)
        if low < high < INF:
            one += math.log(-math.expm1(passed(low) - passed(high)))
        elif high < INF:
            one += math.log(shape) + z + (shape - 1) * math.log(low)
        total += data.weight[i] * one
    return total


def unpacked(flat):
    a, b = flat[:2], flat[2:4]
    return dict(zip("ab", a, strict=True)), dict(zip("ab", b, strict=True)), flat[4:]


def differences(function, at, step=1e-4):
    """Return gradient and Hessian by differences."""
    n, eye = at.size, np.eye(at.size) * step
    slope = [(function(at + e) - function(at - e)) / (2 * step) for e in eye]
    bend = np.zeros((n, n))
    for i, one in enumerate(eye):
        for j, two in enumerate(eye):
            corners = [
                function(at + s * one + t * two) for s in (1, -1) for t in (1, -1)
            ]
            bend[i, j] = (corners[0] - corners[1] - corners[2] + corners[3]) / (
                4 * step**2
            )
    return np.array(slope), bend


@pytest.fixture(scope="module")
def fitted():
    data, x, strata, cluster = a_world()
    return data, x, strata, cluster, WeibullPH().fit(data, x, strata=strata)


def found_at(model):
    return np.concatenate(
        (np.log(model.rate_[:2]), np.log(model.shape_[:2]), model.coefficient_)
    )


def active(data, strata):
    return [i for i in range(len(data)) if strata[i] != "c"]


def test_the_estimate_is_a_peak_of_the_likelihood_written_out(fitted):
    data, x, strata, _, model = fitted
    assert model.status_ is WeibullPHStatus.OK
    assert model.strata_ == ("a", "b", "c")
    assert model.idle_ == ("c",)
    some = active(data, strata)

    def value(at):
        return by_hand(data, x, strata, unpacked(at), some)

    at = found_at(model)
    slope, bend = differences(value, at)
    assert slope == pytest.approx(np.zeros(6), abs=1e-5)
    assert model.log_likelihood_ == pytest.approx(value(at))
    inverse = np.linalg.inv(-bend)
    assert model.covariance_ == pytest.approx(inverse[4:, 4:], rel=1e-4)
    assert model.robust_ is model.covariance_
    assert model.standard_error_ == pytest.approx(np.sqrt(np.diag(inverse)[4:]), 1e-4)


def test_where_nothing_ended_half_a_death_is_believed_in_relative_time(fitted):
    data, x, strata, _, model = fitted
    exposure = sum(
        data.weight[i] * (data.lower[i] - data.entry[i]) * math.exp(x[i] @ b)
        for i in range(len(data))
        for b in [model.coefficient_]
        if strata[i] == "c"
    )
    assert model.rate_[2] == pytest.approx(0.5 / exposure)
    assert model.shape_[2] == 1.0
    assert model.relative(x) == pytest.approx(np.exp(x @ model.coefficient_))


def test_robust_errors_are_the_sandwich_of_scores_by_cluster(fitted):
    data, x, strata, cluster, plain = fitted
    model = WeibullPH().fit(data, x, strata=strata, cluster=cluster)
    assert model.coefficient_ == pytest.approx(plain.coefficient_)
    some, at = active(data, strata), found_at(plain)
    _, bend = differences(lambda a: by_hand(data, x, strata, unpacked(a), some), at)
    inverse = np.linalg.inv(-bend)
    meat = np.zeros((6, 6))
    for name in range(9):
        rows = [i for i in some if cluster[i] == name]

        def part(a, rows=rows):
            return by_hand(data, x, strata, unpacked(a), rows)

        eye = np.eye(6) * 1e-5
        score = np.array([(part(at + e) - part(at - e)) / 2e-5 for e in eye])
        meat += np.outer(score, score)
    robust = (inverse @ meat @ inverse)[4:, 4:]
    assert model.robust_ == pytest.approx(robust, rel=1e-3)
    assert model.standard_error_ == pytest.approx(np.sqrt(np.diag(robust)), rel=1e-3)


def test_the_search_may_begin_anywhere(fitted):
    data, x, strata, _, model = fitted
    for start in ([1.0, -2.0], [-0.5, 3.0]):
        again = WeibullPH().fit(data, x, strata=strata, start=start)
        assert again.coefficient_ == pytest.approx(model.coefficient_, abs=1e-6)


def test_a_covariate_that_does_not_vary_is_left_at_nought(fitted):
    data, x, strata, _, model = fitted
    wide = np.column_stack([np.full(len(data), 7.3), x])
    found = WeibullPH().fit(data, wide, strata=strata)
    assert found.coefficient_[0] == 0.0
    assert not found.covariance_[0].any()
    assert found.coefficient_[1:] == pytest.approx(model.coefficient_, abs=1e-7)
    assert found.rate_ == pytest.approx(model.rate_, rel=1e-6)
    assert found.status_ is WeibullPHStatus.OK
    # Rounding about a mean that is large, or small, is no variation either.
    for size in (1e9, 1e-9):
        x = np.column_stack([np.full(len(data), size / 3), x[:, -2:]])
        again = WeibullPH().fit(data, x, strata=strata)
        assert again.coefficient_[0] == again.standard_error_[0] == 0.0
    fine = np.column_stack([1e-13 * x[:, 1], x[:, 2]])
    tiny = WeibullPH().fit(data, fine, strata=strata)
    assert tiny.coefficient_ * [1e-13, 1] == pytest.approx(model.coefficient_, rel=1e-5)


def test_time_and_covariates_are_scaled_by_their_weighted_means(fitted):
    data, x, strata, _, _ = fitted
    code = np.array(["abc".index(s) for s in strata])
    rows = _Rows(data, x, code).of(np.array([True, True, False]))
    kept = [i for i in active(data, strata) if data.weight[i] > 0]
    assert rows.kept.tolist() == kept
    assert rows.count == 2
    seen = _Likelihood(rows)
    w = data.weight[kept]
    mean = w @ x[kept] / w.sum()
    assert seen.mean == pytest.approx(mean)
    spread = np.sqrt(w @ (x[kept] - mean) ** 2 / w.sum())
    assert seen.deviation == pytest.approx(spread)
    assert seen.z == pytest.approx((x[kept] - mean) / spread)
    end = np.where(np.isinf(data.upper), data.lower, data.upper)[kept]
    assert seen.scale == pytest.approx(np.exp(np.log(end).mean()))
    start, low, high = seen.bounds(np.array([0.3, -0.1]))
    rate = []
    for name in "ab":
        mine = [i for i in kept if strata[i] == name]
        died = sum(data.weight[i] for i in mine if data.upper[i] < INF)
        ends = np.where(np.isinf(data.upper), data.lower, data.upper)
        lived = sum(data.weight[i] * ends[i] / seen.scale for i in mine)
        rate.append(math.log(died / lived))
    assert start == pytest.approx([*rate, 0, 0, *(spread * [0.3, -0.1])])
    wide = [30, 30, math.log(20), math.log(20), 30, 30]
    middle = np.array([*rate, 0, 0, 0, 0])
    assert low == pytest.approx(middle - wide)
    assert high == pytest.approx(middle + wide)
    assert seen.bounds(None)[0] == pytest.approx(middle)


def test_who_ended_at_once_ended_within_a_millionth_of_the_usual_time():
    time = np.array([0.0, 1.0, 2.0, 4.0])
    data = Spells.of(np.zeros(4), time, time)
    none = np.zeros((4, 0))
    rows = _Rows(data, none, np.zeros(4, int)).of(np.ones(1, bool))
    seen = _Likelihood(rows)
    assert seen.scale == pytest.approx(2.0)  # the geometric mean of those above 0
    assert seen.between.tolist() == [True, False, False, False]
    assert seen.exact.tolist() == [False, True, True, True]
    assert seen.upper[0] == pytest.approx(math.log(1e-6))
    assert seen.lower[0] == -1e6
    assert seen.jacobian == pytest.approx(3 * math.log(2.0))
    near = Spells.of(np.zeros(4), time, np.where(time > 0, time, 2e-6))
    one, two = (WeibullPH().fit(d, none) for d in (data, near))
    assert one.shape_ == pytest.approx(two.shape_)
    assert one.rate_ == pytest.approx(two.rate_)
    assert one.log_likelihood_ == pytest.approx(two.log_likelihood_)


@pytest.mark.parametrize(
    ("converged", "bound", "status"),
    [
        (True, [False, False], WeibullPHStatus.OK),
        (False, [False, False], WeibullPHStatus.NOT_SETTLED),
        (True, [False, True], WeibullPHStatus.BOUND),
        (False, [True, True], WeibullPHStatus.BOUND),
    ],
)
def test_a_bound_says_more_than_a_search_that_was_given_up(converged, bound, status):
    peak = Peak(np.zeros(2), 0.0, np.zeros((2, 2)), converged, np.array(bound))
    assert _status(peak) is status


def test_without_a_death_rates_are_those_of_half_a_death_and_nothing_is_known():
    data = Spells.of(np.array([0.0, 1.0]), np.array([3.0, 5.0]), np.full(2, INF))
    found = WeibullPH().fit(data, np.array([[1.0], [2.0]]))
    assert found.status_ is WeibullPHStatus.NO_DEATHS
    assert found.rate_ == pytest.approx([0.5 / 7.0])
    assert found.shape_.tolist() == [1.0]
    assert found.coefficient_.tolist() == found.standard_error_.tolist() == [0.0]
    assert found.idle_ == found.strata_ == ("all",)
    assert found.log_likelihood_ == 0.0
    nothing = Spells.of(np.zeros(1), np.ones(1), np.ones(1), weight=np.zeros(1))
    none = WeibullPH().fit(nothing, np.ones((1, 1)))
    assert none.status_ is WeibullPHStatus.NO_SPELLS
    assert none.rate_.tolist() == [0.0]
