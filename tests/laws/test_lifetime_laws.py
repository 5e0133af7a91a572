"""Lifetimes against integrals, differences and the likelihood written out."""

import math

import numpy as np
import pytest
from scipy import integrate, special

from halflife.models.lifetime import (
    ExponentialLifetime,
    LifeStatus,
    WeibullLifetime,
    _has_shape,
    _observed_days,
    _prior_counts,
    _without_instants,
    choose_lifetime,
)
from halflife.models.spells import Spells

INF = math.inf
NORMAL = 1.959963984540054


def fixed(rate, shape, status=LifeStatus.OK):
    """Return a model that learned just this."""
    model = WeibullLifetime()
    model.rate_, model.shape_, model.status_ = rate, shape, status
    model.covariance_ = np.array([[0.0004, 0.0003], [0.0003, 0.01]])
    model.exposure_ = 40.0
    return model


def alive(rate, shape, t):
    return math.exp(-((rate * max(t, 0.0)) ** shape))


LAWS = [(0.3, 0.7), (0.3, 1.0), (0.05, 2.5)]
AGES = [0.0, 0.4, 3.0, 20.0]


@pytest.mark.parametrize(("rate", "shape"), LAWS)
def test_chances_are_those_of_the_weibull_law(rate, shape):
    model = fixed(rate, shape)
    t = np.array([-1.0, *AGES])
    assert model.survival(t) == pytest.approx([alive(rate, shape, x) for x in t])
    for age in (-2.0, *AGES):
        by_hand = [
            alive(rate, shape, max(age, 0.0) + max(x, 0.0)) / alive(rate, shape, age)
            for x in t
        ]
        assert model.conditional(t, np.full(5, age)) == pytest.approx(by_hand)
    whole = integrate.quad(lambda u: alive(rate, shape, u), 0, INF)[0]
    assert model.mean() == pytest.approx(whole)
    for x in AGES:
        rest = integrate.quad(lambda u: alive(rate, shape, u), x, INF)[0]
        found = model.of_unknown_age(np.array([x]))[0]
        assert found == pytest.approx(rest / whole, rel=1e-5)
    for p in (0.0, 0.1, 0.5, 0.99):
        gone = model.quantile(np.array([p]))[0]
        assert 1 - alive(rate, shape, gone) == pytest.approx(p)
    assert model.quantile(np.ones(1)).tolist() == [INF]


@pytest.mark.parametrize(("rate", "shape"), LAWS)
def test_the_hazard_is_the_slope_of_minus_the_log_of_survival(rate, shape):
    model = fixed(rate, shape)
    for t in (0.4, 3.0, 20.0):
        step = 1e-5 * t
        fall = (rate * (t + step)) ** shape - (rate * (t - step)) ** shape
        found = model.hazard(np.array([t]))[0]
        assert found == pytest.approx(fall / (2 * step), rel=1e-6)
    at_birth = model.hazard(np.array([0.0, 1e-10 / rate]))
    assert at_birth == pytest.approx([shape * rate * 1e-9 ** (shape - 1)] * 2)


def test_the_interval_of_the_rate_is_even_in_its_logarithm():
    model = fixed(0.3, 1.2)
    for z in (1.0, NORMAL):
        wide = math.exp(z * 0.02 / 0.3)
        assert model.rate_interval(z) == pytest.approx((0.3 / wide, 0.3 * wide))
    assert model.rate_interval() == model.rate_interval(NORMAL)
    none = fixed(0.0125, 1.0, LifeStatus.NO_DEATHS)
    none.prior_days = 2.0
    low, high = none.rate_interval(NORMAL)
    assert low == 0.0
    assert high == pytest.approx(-math.log(0.05) / 42.0)
    one = none.rate_interval(1.0)[1]
    assert one == pytest.approx(-math.log(special.erfc(1 / math.sqrt(2))) / 42.0)


def some_spells(seed=0, n=40):
    rng = np.random.default_rng(seed)
    time = rng.weibull(1.6, n) * 8 + 0.1
    entry = np.where(rng.random(n) < 0.4, time * 0.3, 0.0)
    kind = rng.integers(0, 3, n)
    lower = np.where(kind == 1, np.maximum(np.floor(time), entry), time)
    upper = np.where(kind == 1, lower + 1.0, np.where(kind == 0, lower, INF))
    return Spells.of(entry, lower, upper, weight=rng.integers(1, 4, n).astype(float))


def by_hand(data, log_rate, log_shape):
    a, k = math.exp(log_rate), math.exp(log_shape)
    total = 0.0
    for e, low, high, w in zip(
        data.entry, data.lower, data.upper, data.weight, strict=True
    ):
        one = (a * e) ** k - (a * low) ** k
        if low < high < INF:
            one += math.log(-math.expm1((a * low) ** k - (a * high) ** k))
        elif high < INF:
            one += math.log(k * a * (a * low) ** (k - 1))
        total += w * one
    return total


@pytest.mark.parametrize("model", [WeibullLifetime, ExponentialLifetime])
@pytest.mark.parametrize("seed", [0, 1])
def test_the_fit_is_the_peak_of_the_likelihood_and_its_errors_the_bend(model, seed):
    data = some_spells(seed)
    found = model().fit(data)
    assert found.status_ is LifeStatus.OK
    at = np.log([found.rate_, found.shape_])
    e = 1e-4
    value = by_hand(data, *at)
    free = 2 if model is WeibullLifetime else 1
    bend = np.zeros((2, 2))
    for i in range(2):
        for j in range(2):
            one, two = np.eye(2)[i] * e, np.eye(2)[j] * e
            signs = [(1, 1), (1, -1), (-1, 1), (-1, -1)]
            four = [by_hand(data, *(at + s * one + t * two)) for s, t in signs]
            bend[i, j] = (four[0] - four[1] - four[2] + four[3]) / (4 * e * e)
    for i in range(free):
        one = np.eye(2)[i] * e
        slope = (by_hand(data, *(at + one)) - by_hand(data, *(at - one))) / (2 * e)
        assert slope == pytest.approx(0.0, abs=1e-5)
    assert found.log_likelihood_ == pytest.approx(value)
    assert found.aic_ == pytest.approx(2 * free - 2 * value)
    inverse = np.zeros((2, 2))
    inverse[:free, :free] = np.linalg.inv(-bend[:free, :free])
    both = np.array([found.rate_, found.shape_])
    assert found.covariance_ == pytest.approx(inverse * np.outer(both, both), rel=1e-4)
    ended = np.isfinite(data.upper)
    assert found.deaths_ == data.weight[ended].sum()
    end = np.where(ended, (data.lower + data.upper) / 2, data.lower)
    assert found.exposure_ == pytest.approx(data.weight @ (end - data.entry))


def test_priors_add_deaths_and_days():
    time = np.array([1.0, 2.0, 5.0])
    data = Spells.of(np.zeros(3), time, np.array([1.0, 2.0, INF]))
    plain = ExponentialLifetime(prior_deaths=3.0, prior_days=10.0).fit(data)
    assert plain.rate_ == pytest.approx((2 + 3) / (8 + 10))
    # What is said of the fit is about the spells alone.
    assert plain.log_likelihood_ == pytest.approx(by_hand(data, math.log(5 / 18), 0.0))
    bent = WeibullLifetime(prior_deaths=3.0, prior_days=10.0).fit(data)

    def pulled(log_rate, log_shape):
        a, k = math.exp(log_rate), math.exp(log_shape)
        # Three deaths of hazard h, and ten days at H, in units of the exponential.
        unit = (8 + 10) / (2 + 3)
        prior = 3 * math.log(k * a * unit * (a * unit) ** (k - 1))
        return by_hand(data, log_rate, log_shape) + prior - 10 / unit * (a * unit) ** k

    at, e = np.log([bent.rate_, bent.shape_]), 1e-5
    for one in np.eye(2) * e:
        slope = (pulled(*(at + one)) - pulled(*(at - one))) / (2 * e)
        assert slope == pytest.approx(0.0, abs=1e-4)
    none = Spells.of(np.zeros(2), np.ones(2), np.full(2, INF))
    seen = ExponentialLifetime(prior_deaths=1.0, prior_days=6.0).fit(none)
    assert seen.rate_ == pytest.approx(1 / 8)
    assert seen.status_ is LifeStatus.OK


def test_without_deaths_or_days_something_is_pretended():
    there = Spells.of(np.array([1.0]), np.array([5.0]), np.array([INF]))
    assert _prior_counts(there, 0.0, 4.0) == (LifeStatus.NO_DEATHS, (0.5, 0.0))
    assert _prior_counts(there, 0.0, 0.0) == (LifeStatus.NO_SPELLS, (0.5, 1.0))
    assert _prior_counts(there, 1.0, 4.0) == (LifeStatus.OK, (0.0, 0.0))
    weight = np.array([3.0, 1.0])
    soon = Spells.of(np.zeros(2), np.zeros(2), np.array([2.0, 6.0]), weight=weight)
    assert _prior_counts(soon, 4.0, 0.0) == (
        LifeStatus.FASTER_THAN_LOOKS,
        (0.0, 0.5 * (3 * 2 + 6) / 4),
    )
    aged = Spells.of(np.array([1.0]), np.array([1.0]), np.array([4.0]))
    assert _prior_counts(aged, 1.0, 0.0)[1] == (0.0, 0.5 * 3.0)
    assert _prior_counts(there, 1.0, 0.0) == (LifeStatus.FASTER_THAN_LOOKS, (0.0, 1.0))
    assert _observed_days(there) == 4.0
    late = Spells.of(np.array([1.0, 0.0]), np.array([3.0, 5.0]), np.full(2, INF))
    assert (
        _observed_days(Spells.of(late.entry, late.lower, late.upper, weight=weight))
        == 11
    )
    found = ExponentialLifetime().fit(there)
    assert found.rate_ == pytest.approx(0.5 / 4.0)
    gone = ExponentialLifetime().fit(soon.take(slice(0, 1)))
    # As if half a spell had lasted: ln(1 + 2 n) / gap for n equal gaps.
    assert gone.rate_ == pytest.approx(math.log(1 + 2 * 3) / 2.0)
    assert gone.status_ is LifeStatus.FASTER_THAN_LOOKS


def test_deaths_at_birth_are_put_a_tenth_of_the_shortest_age_later():
    lower = np.array([0.0, 0.0, 3.0, 7.0])
    upper = np.array([0.0, 2.0, INF, 8.0])
    data = Spells.of(np.zeros(4), lower, upper)
    moved = _without_instants(data)
    assert moved.upper.tolist() == [0.1, 2.0, INF, 8.0]  # a tenth of a day at most
    short = Spells.of(np.zeros(3), np.array([0, 0.5, 3]), np.array([0, INF, 4.0]))
    assert _without_instants(short).upper[0] == pytest.approx(0.05)
    rest = data.take(slice(1, 4))
    assert _without_instants(rest) is rest


@pytest.mark.parametrize(
    ("lower", "upper", "told"),
    [
        ([1.0], [2.0], False),
        ([1.0, 1.0], [2.0, 2.0], False),
        ([1.0, 1.5], [2.0, 2.5], False),  # they may have ended at one age
        ([1.0, 2.0], [2.0, 3.0], True),
        ([1.0, 9.0], [2.0, INF], False),  # only one ended
        ([1.0, 5.0, 9.0], [2.0, 6.0, INF], True),
    ],
)
def test_a_shape_is_told_by_deaths_at_ages_that_cannot_be_the_same(lower, upper, told):
    data = Spells.of(np.zeros(len(lower)), np.array(lower), np.array(upper))
    assert _has_shape(data) is told
    found = WeibullLifetime().fit(data)
    assert (found.status_ is LifeStatus.FEW_DEATHS) is not told


def test_the_weibull_is_chosen_if_its_aic_is_less():
    rng = np.random.default_rng(3)
    for shape in (1.0, 2.5):
        time = rng.weibull(shape, 200) * 5
        aged = np.arange(200) < 150
        data = Spells.of(np.zeros(200), time, time, aged)
        bent = WeibullLifetime().fit(data)
        plain = ExponentialLifetime().fit(data.take(aged))
        found = choose_lifetime(data)
        if bent.aic_ < plain.aic_:
            assert found.rate_ == bent.rate_
            assert found.shape_ == bent.shape_
        else:
            assert found.rate_ == pytest.approx(ExponentialLifetime().fit(data).rate_)
            assert found.shape_ == 1.0
        assert (found.shape_ != 1.0) is (shape == 2.5)


@pytest.mark.parametrize(("rate", "shape"), LAWS)
def test_who_is_not_born_yet_lasts_like_a_newborn(rate, shape):
    model = fixed(rate, shape)
    early = model.conditional(np.array([5.0]), np.array([-0.5]))
    assert early[0] == pytest.approx(alive(rate, shape, 5.0))


def test_a_shape_shows_only_where_two_lives_ended():
    one = Spells.of(np.zeros(2), np.array([3.0, 5.0]), np.array([3.0, np.inf]))
    assert not _has_shape(one)
    two = Spells.of(np.zeros(2), np.array([3.0, 5.0]), np.array([3.0, 5.0]))
    assert _has_shape(two)
    wide = Spells.of(np.zeros(2), np.array([3.0, 4.0]), np.array([5.0, 6.0]))
    assert not _has_shape(wide)  # both may have ended at one age
