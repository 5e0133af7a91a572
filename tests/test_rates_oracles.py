"""Worked numbers, and answers found another way."""

import numpy as np
import pytest
from hypothesis import given, settings
from scipy import integrate, optimize, stats

from halflife.models.rates.counts import (
    Counted,
    Counts,
    bias_reduced,
    law_of_large_numbers,
    naive,
    smoothed,
)
from halflife.models.rates.drift import Forgetting, chance
from halflife.models.rates.gamma import GammaPoisson, fit_gamma, marginal, moments
from halflife.models.rates.likelihood import MaximumLikelihood, Moment
from lab.rates.last_modified import LastModified, unbiased_changes
from lab.rates.restarts import Restarting, joined_runs
from lab.rates.stochastic import StochasticApproximation
from rates_cases import fed, gaps

ONE = np.zeros(10, int)
SIX_OF_TEN = np.arange(10) < 6


def log_likelihood(rate, length, changed):
    with np.errstate(divide="ignore"):
        busy = np.log(-np.expm1(-rate * length))
    return float(np.where(changed, busy, -rate * length).sum())


def peak(function):
    found = optimize.minimize_scalar(
        lambda u: -function(np.exp(u)),
        bounds=(-15, 10),
        method="bounded",
        options={"xatol": 1e-10},
    )
    return float(np.exp(found.x))


@pytest.mark.parametrize(
    ("formula", "rate"),
    [
        (naive, 6 / 20),
        (smoothed, 6.5 / 20.5),
        (bias_reduced, -np.log(4.5 / 10.5) / 2),
        (law_of_large_numbers, 0.5 * 6 / 5),
    ],
)
def test_six_changes_in_ten_gaps_of_two_days(formula, rate):
    model = fed(lambda: Counted(formula), ONE, np.full(10, 2.0), SIX_OF_TEN)
    assert model.rate()[0] == pytest.approx(rate)


def test_the_bias_reduced_rate_is_nearly_unbiased_where_the_naive_one_is_not():
    # Exact expectation over the binomial number of changes in 30 daily looks.
    changes = np.arange(31.0)
    counts = Counts()
    counts.grow(31)
    counts.gaps[:], counts.changes[:], counts.quiet[:] = 30.0, changes, 30.0
    share = stats.binom.pmf(changes, 30, -np.expm1(-1.0))
    assert share @ bias_reduced(counts) == pytest.approx(1.0, abs=0.01)
    assert share @ naive(counts) == pytest.approx(0.632, abs=0.001)


@settings(max_examples=25)
@given(seen=gaps(items=1, least=2))
def test_maximum_likelihood_agrees_with_a_search_for_the_peak(seen):
    item, length, changed = seen
    if changed.all() or not changed.any():
        return
    rate = fed(MaximumLikelihood, item, length, changed).rate()[0]
    best = peak(lambda r: log_likelihood(r, length, changed))
    lost = log_likelihood(best, length, changed) - log_likelihood(rate, length, changed)
    assert lost < 1e-3 * length.size


@settings(max_examples=25)
@given(seen=gaps(items=1))
def test_pseudo_likelihood_is_likelihood_with_two_pretended_gaps(seen):
    item, length, changed = seen
    rate = fed(lambda: MaximumLikelihood(pretend=0.5), item, length, changed).rate()[0]
    more = np.append(length, [0.5, 0.5]), np.append(changed, [True, False])
    best = peak(lambda r: log_likelihood(r, *more))
    assert (
        log_likelihood(best, *more) - log_likelihood(rate, *more) < 1e-3 * length.size
    )


def test_regular_looks_have_a_closed_form():
    model = fed(MaximumLikelihood, ONE, np.full(10, 2.0), SIX_OF_TEN)
    assert model.rate()[0] == pytest.approx(-np.log(0.4) / 2)
    model = fed(Moment, ONE, np.full(10, 2.0), SIX_OF_TEN)
    assert model.rate()[0] == pytest.approx(-np.log(0.4) / 2)


@settings(max_examples=25)
@given(seen=gaps(items=1, least=2))
def test_the_moment_rate_foretells_as_many_changes_as_were_seen(seen):
    item, length, changed = seen
    if changed.all() or not changed.any():
        return
    rate = fed(Moment, item, length, changed).rate()[0]
    expected = -np.expm1(-rate * length).sum()
    assert expected == pytest.approx(changed.sum(), abs=1e-3 * length.size)


@pytest.mark.parametrize("momentum", [0.0, 0.3])
def test_stochastic_approximation_follows_its_recursion(momentum):
    rng = np.random.default_rng(3)
    changed = rng.random(50) < 0.4
    y = before = 0.0
    pace = 1 / 4.0
    for k, found in enumerate(changed):
        step = (k + 1) ** -0.75 * (found * (y + pace) - y)
        y, before = max(y + step + momentum * (y - before), 0.0), y
    model = fed(
        lambda: StochasticApproximation(momentum=momentum),
        np.zeros(50, int),
        np.full(50, 4.0),
        changed,
    )
    assert model.rate()[0] == pytest.approx(y)


@pytest.mark.parametrize("kind", ["large numbers", "stochastic"])
def test_random_looks_let_both_rules_of_averages_settle_on_the_rate(kind):
    rng = np.random.default_rng(5)
    length = rng.exponential(2.0, 40_000)
    changed = rng.random(length.size) < -np.expm1(-0.3 * length)
    item = np.repeat(np.arange(20), 2000)
    factory = {
        "large numbers": lambda: Counted(law_of_large_numbers),
        "stochastic": StochasticApproximation,
    }[kind]
    rate = fed(factory, item, length, changed).rate()
    assert rate.mean() == pytest.approx(0.3, rel=0.03)


def test_dates_of_change_give_an_unbiased_rate():
    # Five daily looks at each of many items that change 0.8 times a day.
    rng = np.random.default_rng(7)
    since = rng.exponential(1 / 0.8, 200_000)
    item = np.repeat(np.arange(40_000), 5)
    model = LastModified()
    model.grow(40_000)
    model.add(item, np.ones(item.size), since < 1.0, since=since)
    assert model.rate().mean() == pytest.approx(0.8, rel=0.02)
    # Changes over days, not corrected, is 13 % too high.
    raw = np.bincount(item, since < 1.0) / np.bincount(item, np.minimum(since, 1.0))
    assert raw.mean() > 0.8 * 1.1


def test_a_date_that_cannot_be_is_not_believed():
    length, changed = np.full(3, 4.0), np.ones(3, bool)
    wrong = np.array([-1.0, 9.0, np.nan])
    model = LastModified()
    model.grow(3)
    model.add(np.arange(3), length, changed, since=wrong)
    plain = fed(LastModified, np.arange(3), length, changed)
    np.testing.assert_array_equal(model.rate(), plain.rate())


def test_the_corrected_count_ends_where_it_should():
    n = np.full(11, 10.0)
    corrected = unbiased_changes(np.arange(11.0), n)
    assert corrected[0] == 0.0
    assert corrected[-1] == pytest.approx(9.0)
    assert np.all(np.diff(corrected) > 0)


def test_the_gamma_prior_is_the_peak_of_the_negative_binomial_likelihood():
    rng = np.random.default_rng(2)
    days = rng.uniform(5.0, 50.0, 400)
    changes = rng.poisson(rng.gamma(0.8, 1 / 6.0, 400) * days).astype(float)
    shape, scale = fit_gamma(changes, days)

    def loss(at):
        a, b = np.exp(at)
        return -stats.nbinom.logpmf(changes, a, b / (b + days)).sum()

    best = optimize.minimize(loss, [0.0, 0.0], method="Nelder-Mead").x
    np.testing.assert_allclose([shape, scale], np.exp(best), rtol=1e-3)
    np.testing.assert_allclose(moments(changes, days), [shape, scale], rtol=0.6)


def test_the_marginal_likelihood_has_the_slopes_it_says():
    changes, days = np.array([0.0, 3.0, 1.0]), np.array([2.0, 4.0, 9.0])
    at = np.array([0.3, -0.2])
    _, slope, bend = marginal(changes, days, at)
    for i in range(2):
        step = 1e-5 * (np.arange(2) == i)
        up, down = (marginal(changes, days, at + s) for s in (step, -step))
        assert slope[i] == pytest.approx((up[0] - down[0]) / 2e-5, rel=1e-6)
        np.testing.assert_allclose(bend[i], (up[1] - down[1]) / 2e-5, rtol=1e-5)


def test_the_gamma_posterior_is_conjugate():
    item, length = np.array([0, 0, 1, 2]), np.array([10.0, 10.0, 10.0, 0.1])
    model = fed(GammaPoisson, item, length, np.array([True, False, False, True]))
    a, b = model.prior
    rate = [(a + 1) / (b + 15), a / (b + 10), (a + 1) / (b + 0.05)]
    np.testing.assert_allclose(model.rate(), rate)
    posterior = stats.gamma(a + 1, scale=1 / (b + 15))
    alive, _ = integrate.quad(lambda u: np.exp(-3 * posterior.ppf(u)), 0, 1)
    assert model.survival().alive(np.full(3, 3.0))[0] == pytest.approx(alive, rel=1e-6)


def test_a_population_that_never_changed_is_thought_slow():
    quiet = np.zeros(50, bool)
    rate = fed(GammaPoisson, np.arange(50), np.full(50, 30.0), quiet).rate()
    assert np.all((rate > 0) & (rate < 1e-3))


def test_evidence_halves_after_a_half_life():
    model = fed(
        lambda: Forgetting((10.0,), prior=(0.5, 0.5)),
        np.zeros(2, int),
        np.full(2, 10.0),
        np.array([True, False]),
    )
    # The change counts 1/2 and its 5 days 2.5, then ten quiet days are added.
    assert model.rate()[0] == pytest.approx((0.5 + 0.5) / (0.5 + 2.5 + 10.0))


def test_what_is_never_forgotten_is_the_pace_of_all_items_together():
    item = np.array([0, 1, 1, 2])
    changed = np.array([True, False, False, True])
    model = fed(lambda: Forgetting((np.inf,)), item, np.full(4, 10.0), changed, n=4)
    usual = (2 + 0.5) / (30 + 0.5)
    assert model.rate()[3] == pytest.approx(usual)
    assert model.rate()[1] == pytest.approx(0.5 / (0.5 / usual + 20.0))


def drifting(rng, items=60):
    """Return daily looks at items whose rates swap between slow and fast."""
    rate = np.where(np.arange(400) // 50 % 2 == 0, 0.02, 1.0)
    changed = rng.random((400, items)) < -np.expm1(-rate)[:, None]
    item = np.tile(np.arange(items), 400)
    return item, np.ones(item.size), changed.ravel()


def test_forgetting_picks_a_short_half_life_when_rates_move_and_a_long_one_when_not():
    rng = np.random.default_rng(4)
    moving = fed(Forgetting, *drifting(rng))
    assert moving.half_life == 30.0
    item = np.tile(np.arange(60), 400)
    steady = rng.random(item.size) < -np.expm1(-0.1)
    assert fed(Forgetting, item, np.ones(item.size), steady).half_life >= 480.0


def test_restarts_follow_a_rate_that_moved():
    rng = np.random.default_rng(4)
    item, length, changed = drifting(rng)
    model = Restarting()
    model.grow(60)
    found = []
    for day in range(400):
        rows = slice(60 * day, 60 * (day + 1))
        model.add(item[rows], length[rows], changed[rows])
        found.append(np.median(model.rate()))
    found = np.array(found).reshape(8, 50)[:, 30:].mean(axis=1)
    assert np.all(found[::2] < 0.1)
    assert np.all(found[1::2] > 0.5)


def test_runs_weigh_restarts_as_bayes_does():
    """With room for every run, the weights are those of an explicit sum over starts."""
    length = np.array([2.0, 1.0, 3.0])
    changed = np.array([False, True, True])
    model = fed(
        lambda: Restarting(restarts=0.1, runs=6, prior=(0.5, 5.0)),
        np.zeros(3, int),
        length,
        changed,
    )
    weights, rates = [], []
    for start in range(4):  # the run began before gap 0 (never restarted), or at a gap
        first = max(start - 1, 0)
        weight = 1.0 if start == 0 else total_before(first, length, changed)
        if start > 0:
            weight *= -np.expm1(-0.1 * length[first])
        shape, days = 0.5, 5.0
        for k in range(first, 3):
            stays = 1.0 if start > 0 and k == first else np.exp(-0.1 * length[k])
            weight *= stays * quick_chance(shape, days, length[k], changed[k])
            shape += changed[k]
            days += length[k] / (2 if changed[k] else 1)
        weights.append(weight)
        rates.append(shape / days)
    expected = np.average(rates, weights=weights)
    assert model.rate()[0] == pytest.approx(expected)


def quick_chance(shape, days, length, changed):
    quiet = (days / (days + length)) ** shape
    return 1 - quiet if changed else quiet


def total_before(k, length, changed):
    """Return the evidence of the first k gaps over all ways to restart."""
    runs = [(1.0, 0.5, 5.0)]
    for g, c in zip(length[:k], changed[:k], strict=True):
        hazard = -np.expm1(-0.1 * g)
        mass = sum(w for w, _, _ in runs)
        runs = [(w * (1 - hazard), a, b) for w, a, b in runs] + [
            (mass * hazard, 0.5, 5.0)
        ]
        runs = [
            (w * quick_chance(a, b, g, c), a + c, b + g / (2 if c else 1))
            for w, a, b in runs
        ]
    return sum(w for w, _, _ in runs)


def test_joining_keeps_total_weight_and_the_weighted_mean():
    weight = np.array([[0.5], [0.1], [0.15], [0.25]])
    shape = np.array([[1.0], [2.0], [4.0], [8.0]])
    after, joined = joined_runs(weight, shape)
    np.testing.assert_allclose(after[:, 0], [0.5, 0.25, 0.25])
    np.testing.assert_allclose(joined[:, 0], [1.0, (0.2 + 0.6) / 0.25, 8.0])


def test_the_chance_of_a_gap_is_that_of_a_gamma_rate():
    direct, _ = integrate.quad(
        lambda r: stats.gamma.pdf(r, 2.0, scale=1 / 3.0) * np.exp(-4 * r), 0, 30
    )
    two = chance(
        np.full(2, 2.0), np.full(2, 3.0), np.full(2, 4.0), np.array([0, 1], bool)
    )
    np.testing.assert_allclose(two, [direct, 1 - direct], rtol=1e-6)
