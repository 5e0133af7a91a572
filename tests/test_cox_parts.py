"""Laws of what Cox's regression is made of: columns, the search, its tests."""

import numpy as np
import pytest
from scipy import stats

from cox_cases import log_likelihood, spells
from halflife.models.cox_baseline import _Points, _start
from halflife.models.cox_columns import check_columns, codes, scale_covariates
from halflife.models.cox_risk import RiskSets, slopes, sums
from halflife.models.cox_search import CoxPeak, estimable, is_separated, peak
from halflife.models.cox_tests import (
    FittedCovariates,
    proportionality,
    residuals,
    sum_by_cluster,
)

GOOD = {
    "x": np.ones((3, 1)),
    "time": [1.0, 2.0, 3.0],
    "ended": [True, False, True],
}


def sets_of(data, ties="efron", weight=None):
    x, time, ended, stratum, entry = data
    given = check_columns(x, time, ended, strata=stratum, entry=entry, weight=weight)
    return RiskSets.of(given.data, ties)


# columns


def test_columns_that_agree_are_taken_as_they_are():
    given = check_columns(**GOOD, strata=["b", "a", "b"], weight=2.0, names=["size"])
    assert given.strata == ("a", "b")
    assert given.data.stratum.tolist() == [1, 0, 1]
    assert given.data.weight.tolist() == [2.0] * 3
    assert given.names == ("size",)
    assert (given.data.entry < 0).all()  # at risk from the beginning
    plain = check_columns(np.ones((3, 2)), [0.0, 1.0, 2.0], [0, 1, 1])
    assert plain.names == ("x0", "x1")
    assert plain.strata == ("all",)
    assert plain.data.ended.tolist() == [False, True, True]
    assert plain.data.weight.tolist() == [1.0] * 3


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"x": np.ones(3)}, "x must have a row"),
        ({"x": np.ones((2, 1))}, "x must have a row"),
        ({"x": np.array([[1.0], [np.inf], [1.0]])}, "column 0 is not"),
        ({"x": np.array([[1.0, np.nan, np.inf]] * 3)}, "column 1 is not"),
        ({"names": ["a", "b"]}, "names must be 1"),
        ({"x": np.ones((3, 2)), "names": ["a", "a"]}, "names must be 2"),
        ({"entry": [0.0, 2.5, 9.0]}, "in row 1"),
        ({"entry": [0.0, 1.0]}, "entry must be one number"),
        ({"weight": [1.0, -1.0, -2.0]}, "got -1.0 in row 1"),
        ({"weight": np.nan}, "weight must be finite"),
        ({"ended": [True, False]}, "ended must be"),
        ({"ended": [2, 0, 1]}, "ended must be"),
        ({"time": [[1.0]]}, "time must be one number"),
        ({"time": [1.0, np.inf, 2.0]}, "in row 1"),
        ({"strata": ["a"]}, "strata must be one"),
    ],
)
def test_columns_that_do_not_agree_are_refused_by_name(change, match):
    with pytest.raises(ValueError, match=match):
        check_columns(**{**GOOD, **change})


def test_a_spell_may_end_when_it_enters():
    given = check_columns(**GOOD, entry=[1.0, 0.0, 3.0])
    assert given.data.entry.tolist() == [1.0, 0.0, 3.0]


def test_labels_are_numbered_in_order():
    labels, code = codes(["x", "a", "x", "m"], 4, "cluster")
    assert labels == ("a", "m", "x")
    assert code.tolist() == [2, 0, 2, 1]


def test_covariates_are_told_about_their_stratums_mean_in_deviations():
    data = spells(4, late=True)
    weight = np.random.default_rng(0).uniform(0.5, 2.0, data[0].shape[0])
    sets = sets_of(data, weight=weight)
    found = scale_covariates(sets)
    x, w, own = sets.data.x, sets.data.weight, sets.own
    for s in np.unique(own):
        mean = np.average(x[own == s], axis=0, weights=w[own == s])
        np.testing.assert_allclose(found.mean[s], mean)
    centred = x - found.mean[own]
    deviation = np.sqrt(np.average(centred**2, axis=0, weights=w))
    np.testing.assert_allclose(found.deviation, deviation)
    np.testing.assert_allclose(found.z, (centred / deviation).T, atol=1e-12)


def test_a_column_that_does_not_vary_is_left_out_of_the_units():
    x, time, ended, stratum, entry = spells(4)
    x = np.column_stack([x[:, 0], np.full(x.shape[0], 7.0)])
    found = scale_covariates(sets_of((x, time, ended, stratum, entry)))
    assert found.deviation[1] == 1.0
    assert (found.z[1] == 0).all()
    assert (found.z[0] != 0).any()


def test_without_a_death_there_is_nothing_to_scale():
    x, time, ended, stratum, entry = spells(4)
    sets = sets_of((x, time, np.zeros_like(ended), stratum, entry))
    found = scale_covariates(sets)
    assert found.deviation.tolist() == [1.0] * 3


# the likelihood and its peak


@pytest.mark.parametrize("ties", ["efron", "breslow"])
@pytest.mark.parametrize("late", [False, True])
def test_sums_and_slopes_are_those_of_the_likelihood_written_out(ties, late):
    data = spells(1, n=120, late=late)
    weight = np.random.default_rng(2).uniform(0.5, 2.0, data[0].shape[0])
    sets = sets_of(data, ties, weight)
    z = sets.data.x.T
    beta, step = np.array([0.3, -0.5, 0.05]), 1e-6

    def value(at):
        return log_likelihood(at, data, weight, ties)

    gap = sums(sets, z, beta).value - sums(sets, z, 0 * beta).value
    assert gap == pytest.approx(value(beta) - value(0 * beta))
    slope, information = slopes(sets, z, sums(sets, z, beta))
    for k in range(3):
        ahead = step * np.eye(3)[k]
        rise = (value(beta + ahead) - value(beta - ahead)) / (2 * step)
        assert slope[k] == pytest.approx(rise, rel=1e-4, abs=1e-4)
        bend = [slopes(sets, z, sums(sets, z, beta + s * ahead))[0] for s in (1, -1)]
        by_hand = (bend[1] - bend[0]) / (2 * step)
        np.testing.assert_allclose(information[k], by_hand, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("ridge", [0.0, 3.0])
def test_at_the_peak_the_slope_is_the_ridges(ridge):
    sets = sets_of(spells(5))
    z = scale_covariates(sets).z
    found = peak(sets, z, ridge, np.zeros(3))
    assert found.settled
    at = sums(sets, z, found.beta)
    slope, information = slopes(sets, z, at)
    np.testing.assert_allclose(slope, ridge * found.beta, atol=1e-6)
    np.testing.assert_allclose(found.information, information + ridge * np.eye(3))
    assert found.value == pytest.approx(at.value)
    for nearby in np.eye(3) * 0.05:
        there = found.beta + nearby
        less = sums(sets, z, there).value - ridge / 2 * there @ there
        assert less < found.value - ridge / 2 * found.beta @ found.beta


def test_the_peak_is_found_from_far_away():
    sets = sets_of(spells(5))
    z = scale_covariates(sets).z
    near, far = (peak(sets, z, 0.0, np.full(3, s)) for s in (0.0, 6.0))
    assert far.settled
    np.testing.assert_allclose(far.beta, near.beta, atol=1e-6)


def test_a_covariate_says_something_only_if_those_before_it_do_not():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 50))
    x = np.array([a, b, a + b, 2 * a, rng.normal(size=50), np.zeros(50)])
    known = estimable(x @ x.T, 50.0)
    assert known.tolist() == [True, True, False, False, True, False]


def test_information_that_fades_tells_of_a_likelihood_without_a_peak():
    flat = np.array([[4.0, 1.0], [1.0, 2.0]])
    kept = CoxPeak(np.zeros(2), 0.0, flat / 10.0, settled=True)
    assert not is_separated(kept, flat)
    axis = np.linalg.inv(np.linalg.cholesky(flat))
    lost = np.linalg.inv(axis) @ np.diag([1.0, 1e-7]) @ np.linalg.inv(axis).T
    assert is_separated(kept._replace(information=lost), flat)


# tests of proportional hazards


def fitted(sets, names=("a", "b", "c")):
    z = scale_covariates(sets).z
    found = peak(sets, z, 0.0, np.zeros(3))
    model = FittedCovariates(
        z, names, np.ones(3, bool), np.linalg.inv(found.information)
    )
    return model, sums(sets, z, found.beta)


@pytest.mark.parametrize("transform", ["identity", "log", "rank", "km"])
def test_the_statistic_is_that_of_grambsch_and_therneau(transform):
    data = spells(6, n=200, strata=1)
    weight = np.random.default_rng(1).uniform(0.5, 2.0, data[0].shape[0])
    sets = sets_of(data, weight=weight)
    model, found = fitted(sets)
    result = proportionality(sets, model, found, None, transform)
    time, w = sets.data.time[sets.died], sets.data.weight[sets.died]
    clock = {"identity": lambda t: t, "log": np.log}.get(transform)
    if clock is None:
        clock = _ranks(time, w) if transform == "rank" else _gone(sets)
    g = np.array([clock(t) for t in time])
    g = g - np.average(g, weights=w)
    u = (w * g * residuals(sets, model.z, found)).sum(axis=1)
    v = model.covariance
    scale = w @ g**2 / w.sum()
    for k in range(3):
        by_hand = (v @ u)[k] ** 2 / (v[k, k] * scale)
        assert result.statistic[k] == pytest.approx(by_hand)
        assert result.p_value[k] == pytest.approx(stats.chi2.sf(by_hand, 1))
    whole = (v @ u) @ np.linalg.inv(v * scale) @ (v @ u)
    assert result.overall == pytest.approx(stats.chi2.sf(whole, 3))
    assert result.freedom.tolist() == [1, 1, 1]


def _ranks(time, weight):
    """Return the middle rank of each time, where a weight of w is w of them."""

    def rank(t):
        here = weight[time == t].sum()
        return weight[time < t].sum() + (here + 1.0) / 2

    return rank


def _gone(sets):
    """Return 1 - S by Kaplan and Meier, one death time after another."""
    data = sets.data

    def gone(t):
        alive = 1.0
        for at in np.unique(data.time[data.ended]):
            if at > t:
                break
            there = (data.entry < at) & (data.time >= at)
            dead = data.ended & (data.time == at)
            alive *= 1.0 - data.weight[dead].sum() / data.weight[there].sum()
        return 1.0 - alive

    return gone


def test_residuals_of_schoenfeld_add_up_to_the_slope():
    sets = sets_of(spells(6, n=200))
    z = scale_covariates(sets).z
    beta = np.array([0.2, -0.1, 0.3])
    found = sums(sets, z, beta)
    slope, _ = slopes(sets, z, found)
    np.testing.assert_allclose(residuals(sets, z, found).sum(axis=1), slope, atol=1e-9)


def test_dummies_of_one_attribute_are_tested_together():
    sets = sets_of(spells(6, n=200))
    model, found = fitted(sets, ("topic=arts", "size", "topic=news"))
    result = proportionality(sets, model, found, None, "identity")
    assert result.names == ("topic", "size")
    assert result.freedom.tolist() == [2, 1]
    whole = proportionality(
        sets, model._replace(names=("a", "a", "a")), found, None, "identity"
    )
    assert whole.p_value[0] == pytest.approx(whole.overall)
    assert whole.statistic[0] >= result.statistic.max() - 1e-9


def test_by_cluster_the_variance_is_that_of_the_sums():
    sets = sets_of(spells(6, n=200))
    model, found = fitted(sets)
    cluster = np.arange(sets.data.time.size) // 4
    result = proportionality(sets, model, found, cluster, "identity")
    time = sets.data.time[sets.died]
    off = (time - time.mean()) * residuals(sets, model.z, found)
    each = np.array(
        [
            model.covariance @ off[:, cluster[sets.died] == c].sum(axis=1)
            for c in np.unique(cluster)
        ]
    )
    drift, variance = each.sum(axis=0), each.T @ each
    for k in range(3):
        assert result.statistic[k] == pytest.approx(drift[k] ** 2 / variance[k, k])
    rows = np.array([[1.0, 2.0, 4.0], [0.0, 1.0, 1.0]])
    assert sum_by_cluster(rows, np.array([1, 0, 1])).tolist() == [
        [2.0, 5.0],
        [1.0, 1.0],
    ]


def test_what_could_not_be_tested_is_taken_to_be_proportional():
    sets = sets_of(spells(6, n=200))
    model, _ = fitted(sets)
    result = proportionality(sets, model, None, None, "identity")
    assert result.p_value.tolist() == [1.0] * 3
    assert result.overall == 1.0
    assert result.statistic.tolist() == [0.0] * 3


def test_a_covariate_that_varies_little_still_says_something():
    deaths = 50.0
    assert estimable(np.diag([1e-10 * deaths]), deaths).tolist() == [True]
    assert estimable(np.diag([1e-13 * deaths]), deaths).tolist() == [False]


@pytest.mark.parametrize(("rate", "shape"), [(0.02, 0.7), (0.3, 1.0), (1e-4, 3.0)])
def test_the_line_through_logarithms_finds_an_exact_weibull_curve_at_once(rate, shape):
    time = np.array([1.0, 2.0, 5.0, 9.0])
    own = np.repeat([0, 1], 4)
    hazard = np.r_[rate * time**shape, 0.1 * time]
    points = _Points(own, np.tile(np.log(time), 2), np.exp(-hazard), np.array([4, 4]))
    start, fit = _start(points, hazard)
    assert fit.all()
    np.testing.assert_allclose(np.exp(start), [[rate, 0.1], [shape, 1.0]])
    alone = _Points(np.zeros(1, int), np.log([4.0]), np.exp([-0.8]), np.array([1]))
    start, fit = _start(alone, np.array([0.8]))
    assert not fit[0]
    np.testing.assert_allclose(np.exp(start[:, 0]), [0.2, 1.0])


@pytest.mark.parametrize("clustered", [False, True])
def test_the_test_does_not_mind_the_units_of_covariates(clustered):
    sets = sets_of(spells(6, n=200))
    model, found = fitted(sets)
    unit = np.array([1e-4, 1.0, 1e4])
    other = model._replace(
        z=model.z * unit[:, None], covariance=model.covariance / np.outer(unit, unit)
    )
    beta = np.zeros(3)
    told_, again = sums(sets, model.z, beta), sums(sets, other.z, beta)
    cluster = np.arange(sets.data.time.size) // 4 if clustered else None
    one = proportionality(sets, model, told_, cluster, "identity")
    two = proportionality(sets, other, again, cluster, "identity")
    np.testing.assert_allclose(two.statistic, one.statistic)
    assert two.freedom.tolist() == one.freedom.tolist() == [1, 1, 1]
    assert two.overall == pytest.approx(one.overall)
    assert found.value <= 0.0
