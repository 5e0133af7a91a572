"""Edges of the models: limits, first values, what is added up, each by hand."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from halflife.metrics.intervals import Interval
from halflife.models import decay, recall_curve
from halflife.models.calibration import (
    LENT,
    WIDEST,
    lifetime_widening_factor,
    trust_factor,
    widening_factor,
)
from halflife.models.census import Census
from halflife.models.conformal import FREEDOM, mixed_quantiles
from halflife.models.cox import CoxModel
from halflife.models.cox_baseline import Baseline, CurveFitStatus, weibull_curves
from halflife.models.experts import Experts
from halflife.models.fractions import posterior
from halflife.models.lifetime import LifeStatus, _prior_counts, _without_instants
from halflife.models.parametric import arrival_scale, model_bounds
from halflife.models.pool import MOST, correct_bias, error_weights
from halflife.models.quality import beta_bounds
from halflife.models.rhythm import ObservedRecords, _rows
from halflife.models.setquality import forecast
from halflife.models.spells import Spells
from halflife.models.weibull import Likelihood
from lab.rates.restarts import Restarting, joined_runs
from set_lives import grown, seen

INF = math.inf


# Calibration


@pytest.mark.parametrize(
    ("many", "large", "confidence"), [(30, 2, 0.95), (30, 8, 0.8), (50, 6, 0.9)]
)
def test_trust_is_the_quantile_of_scores_and_of_normal_ones_lent(
    many, large, confidence
):
    # Of each sign there are ``many`` scores and LENT lent; above q lie the large ones
    # and LENT (1 - Phi(q)) * 2 lent ones, which must be the tail of all.
    tail = (1 - confidence) / 2
    scores = np.where(np.arange(many) < large, 8.0, 0.0)
    above = (tail * 2 * (many + LENT) - large) / (2 * LENT)
    by_hand = stats.norm.isf(above) / stats.norm.isf(tail)
    assert trust_factor(scores, confidence=confidence) == pytest.approx(
        by_hand, rel=0.03
    )


def test_widening_is_never_below_one_nor_above_the_most():
    sure = Interval(1 - 1e-10, 1 - 1e-10, 1 - 1e-10)
    assert lifetime_widening_factor(1.0, sure) == 1.0
    assert lifetime_widening_factor(0.999, Interval(0.1, 0.0, 0.2)) == WIDEST
    assert lifetime_widening_factor(0.1, Interval(0.999, 0.99, 1.0)) == WIDEST
    found = Interval(0.9, 0.8, 0.95)
    assert lifetime_widening_factor(0.5, found) == pytest.approx(
        math.log(0.5) / math.log(0.95)
    )
    believed = Interval(0.5, 0.4, 0.7)
    assert widening_factor(believed, found) == pytest.approx((0.95 - 0.5) / 0.2)
    assert widening_factor(believed, Interval(0.2, 0.1, 0.3)) == pytest.approx(
        (0.5 - 0.1) / 0.1
    )
    assert widening_factor(Interval(0.5, 0.5, 0.5), found) == WIDEST


@pytest.mark.parametrize("tail", [0.4, 0.1, 0.025])
def test_lent_scores_are_those_of_student_s_t_and_past_ones_count_one_each(tail):
    low, high = mixed_quantiles(np.zeros(0), 3.0, tail)
    assert high == pytest.approx(stats.t(FREEDOM).isf(tail), rel=0.05)
    assert low == pytest.approx(-high, rel=1e-9)
    past = np.array([-9.0, 9.0])  # half of all, on both sides
    low, high = mixed_quantiles(past, 2.0, tail)
    assert (low, high) == ((-9.0, 9.0) if tail < 0.25 else (low, high))
    inner = stats.t(FREEDOM).isf(max((tail * 4.0 - 1.0) / 2.0, 1e-9))
    assert high == pytest.approx(min(inner, 9.0), abs=0.02)


def test_a_variance_beyond_that_of_a_toss_is_that_of_a_toss():
    mean = np.array([0.5, 0.5, 0.98, 0.01, 0.0, 1.0])
    variance = np.array([0.25, 0.9, 0.5, 0.5, 0.1, 0.1])
    low, high = beta_bounds(mean, variance, 0.9)
    assert low.tolist() == [0.0, 0.0, 1.0, 0.0, 0.0, 1.0]
    assert high.tolist() == [1.0, 1.0, 1.0, 0.0, 0.0, 1.0]


# Shares


def test_weighted_samples_may_show_more_changes_than_looks():
    one = np.ones(1)
    found = posterior(2.5 * one, 2.0 * one, mean=0.25 * one, strength=4.0)
    law = stats.beta(1.0 + 2.5, 3.0)
    assert found.mean == pytest.approx([law.mean()])
    assert found.low == pytest.approx([law.ppf(0.025)])
    assert found.high == pytest.approx([law.ppf(0.975)])


# Lifetimes


def spells(rows, spread=None):
    entry, lower, upper = (np.array(c, float) for c in zip(*rows, strict=True))
    off = None if spread is None else np.array(spread, float)
    return Spells.of(entry, lower, upper, weight=np.ones(len(rows)), spread=off)


def test_births_that_are_known_and_births_that_are_not_add_up():
    rows = [(1.0, 3.0, 4.0), (2.0, 2.5, INF), (0.5, 1.5, 2.0)]
    spread = [0.0, 0.4, 0.3]
    at = np.array([math.log(0.5), math.log(1.3)])
    both = Likelihood(spells(rows, spread), 1.0, 0.0, 0.0, 0.0)(at)
    each = [
        Likelihood(spells([row], [off]), 1.0, 0.0, 0.0, 0.0)(at)
        for row, off in zip(rows, spread, strict=True)
    ]
    for k in range(3):
        np.testing.assert_allclose(both[k], sum(one[k] for one in each), rtol=1e-9)
    sure = Likelihood(spells(rows), 1.0, 0.0, 0.0, 0.0)(at)
    assert sure[0] != pytest.approx(both[0], rel=1e-4)


def test_what_data_cannot_tell_is_patched_by_half_an_event():
    fast = spells([(2.0, 2.0, 3.0), (1.0, 1.0, 1.5)])
    status, more = _prior_counts(fast, 2.0, 0.0)
    assert status is LifeStatus.FASTER_THAN_LOOKS
    assert more == pytest.approx((0.0, 0.5 * (1.0 + 0.5) / 2))
    still = spells([(0.0, 3.0, INF)])
    assert _prior_counts(still, 0.0, 3.0) == (LifeStatus.NO_DEATHS, (0.5, 0.0))
    assert _prior_counts(still, 0.0, 0.0) == (LifeStatus.NO_SPELLS, (0.5, 1.0))
    assert _prior_counts(fast, 2.0, 1.0) == (LifeStatus.OK, (0.0, 0.0))


def test_deaths_at_birth_come_before_a_tenth_of_the_smallest_age():
    data = spells([(0.0, 0.0, 0.0), (0.0, 0.5, 0.8), (0.0, 3.0, INF)])
    assert _without_instants(data).upper.tolist() == [0.05, 0.8, INF]
    alone = spells([(0.0, 0.0, 0.0), (0.0, 20.0, INF)])
    assert _without_instants(alone).upper[0] == pytest.approx(0.1)
    sound = spells([(0.0, 1.0, 1.0)])
    assert _without_instants(sound) is sound


# Decay


@pytest.mark.parametrize("steps", [0.0, 0.5, 3.0, 399.5, 400.0, 450.25])
def test_noise_without_memory_adds_up_step_by_step(steps):
    found = decay.sum_variance(np.array([[-0.1]]), (), np.array([steps]))
    assert found == pytest.approx([steps])


@pytest.mark.parametrize("steps", [1.0, 4.0, 4.5, 420.0])
def test_noise_of_a_first_order_series_adds_up_to_its_geometric_sums(steps):
    b = 0.6
    weight = [(1 - b ** (i + 1)) / (1 - b) for i in range(400)]
    whole = min(int(steps), 400)
    by_hand = sum(w**2 for w in weight[:whole])
    by_hand += (steps - whole) * (weight[whole] if whole < 400 else weight[-1]) ** 2
    found = decay.sum_variance(np.array([[-0.1, b]]), (1,), np.array([steps]))
    assert found == pytest.approx([by_hand])


@pytest.mark.parametrize("steps", [0.0, 0.25, 2.0, 5.75, 400.0, 430.5])
def test_a_series_is_rolled_forward_value_by_value(steps):
    coefficients, recent = np.array([-0.1, 0.5, -0.2]), [-0.4, -0.05, -0.3]
    past, total = list(recent), 0.0
    for done in range(math.ceil(min(steps, 400))):
        ahead = min(-0.1 + 0.5 * past[-1] - 0.2 * past[-3], 0.0)
        past.append(ahead)
        total += ahead * min(steps - done, 1.0)
    if steps > 400:
        total += (steps - 400) * past[-1]
    found = decay.forecast_decay(
        coefficients[None], (1, 3), np.array([recent]), np.array([steps])
    )
    assert found == pytest.approx([total])


def test_recent_values_are_the_last_ones_known_at_each_look():
    series = decay.Series(1.0, np.array([-0.1, -0.2, -0.3]), np.array([0, 1, 3]))
    found = decay.recent_values(series, 2)
    # Before the first value nothing is known; the first stands in for those before.
    assert found.tolist() == [[0.0, 0.0], [-0.1, -0.1], [-0.2, -0.3]]
    none = decay.Series(1.0, np.zeros(0), np.array([0, 0]))
    assert decay.recent_values(none, 3).tolist() == [[0.0] * 3] * 2


# The pool of models


def ready(found, cycle=1.0):
    """Return scores of forecasts, each made after all earlier ones were settled."""
    n = len(found)
    return SimpleNamespace(
        found=np.array(found),
        order=np.arange(n),
        settled=np.arange(n),
        cycle=cycle,
        cycles=np.arange(n) / cycle,
    )


def test_a_correction_is_what_came_true_over_what_was_forecast_within_limits():
    n, cycle = 120, 2.0
    raw = np.full((1, n), 0.1)
    for came in (0.0, 0.1, 0.4, 9.0):
        found = correct_bias(raw, ready([came] * n, cycle))[0]
        lent = 5.0 * (cycle + 1) * 0.1
        for k in (0, 1, 30, 119):
            ratio = (k * came + lent) / (k * 0.1 + lent)
            by_hand = 0.1 * min(max(ratio, 0.2), 5.0)
            assert found[k] == pytest.approx(min(by_hand, MOST))


def test_a_forecast_counts_by_the_power_of_its_past_error():
    n = 40
    guesses = np.array([[0.1] * n, [0.3] * n])
    share = error_weights(guesses, ready([0.1] * n))
    assert share[:, 0] == pytest.approx([0.5, 0.5])
    error = np.array([0.0, math.exp(-0.1) - math.exp(-0.3)])
    mean = error + 1e-9 + 0.02 * error.mean()
    for k in (1, 5, 39):
        power = 8.0 * k / (k + 10.0)
        raw = mean**-power
        assert share[:, k] == pytest.approx(raw / raw.sum(), rel=1e-6)


# Rates that start anew


def test_runs_joined_are_the_two_neighbours_least_likely():
    rng = np.random.default_rng(0)
    weight, shape = rng.dirichlet(np.ones(5), 7).T, rng.uniform(1, 9, (5, 7))
    found, mixed = joined_runs(weight, shape)
    for i in range(7):
        w, s = weight[:, i].tolist(), shape[:, i].tolist()
        k = min(range(4), key=lambda j: w[j] + w[j + 1])
        both = w[k] + w[k + 1]
        mean = (w[k] * s[k] + w[k + 1] * s[k + 1]) / both
        assert found[:, i] == pytest.approx([*w[:k], both, *w[k + 2 :]])
        assert mixed[:, i] == pytest.approx([*s[:k], mean, *s[k + 2 :]])


def test_a_rate_that_may_restart_is_the_mean_over_all_moments_of_it():
    gaps = [(0.5, True, 1.0), (3.0, False, 2.0), (1.0, True, 0.5), (0.2, True, 1.5)]
    model = Restarting(restarts=0.05, runs=12, prior=(0.5, 5.0))
    model.grow(1)
    assert model.rate() == pytest.approx([0.1])
    runs = [(1.0, 0.5, 5.0)]
    for length, changed, tally in gaps:
        columns = np.array([length]), np.array([changed]), np.array([tally])
        model.add(np.zeros(1, int), *columns)
        times = math.ceil(tally)  # a row that stands for several gaps is each of them
        for _ in range(times):
            runs = restarted(runs, length * tally / times, changed, tally / times)
        by_hand = sum(w * s / d for w, s, d in runs)
        assert model.rate() == pytest.approx([by_hand])
    model.grow(2)
    assert model.rate() == pytest.approx([by_hand, 0.1])


def restarted(runs, days, changed, tally):
    """Return the runs (chance, changes, days) after one more gap."""
    anew, after = 1 - math.exp(-0.05 * days), []
    runs = [(anew, 0.5, 5.0)] + [(w * (1 - anew), s, d) for w, s, d in runs]
    for w, s, d in runs:
        still = (d / (d + days)) ** s
        seen_so = w * ((1 - still) if changed else still)
        more = (tally, days / 2) if changed else (0.0, days)
        after.append((seen_so, s + more[0], d + more[1]))
    total = sum(w for w, _, _ in after)
    return [(w / total, s, d) for w, s, d in after]


# The rhythm of a source


def test_changes_are_noted_with_the_hours_between_which_they_came():
    look = ObservedRecords(
        7.75, np.array([7.25, 6.5, 7.0]), np.ones(3), np.array([2.0, 1.0, 0.0])
    )
    assert _rows(look).tolist() == [[2.0, 0.25, 0.75], [1.0, 0.5, 0.75]]


# Baselines and strata


def test_a_curve_with_one_point_within_is_no_curve():
    one = Baseline("a", np.array([1.0, 2.0]), np.array([0.5, 900.0]))
    two = Baseline("b", np.array([1.0, 2.0]), np.array([0.5, 1.0]))
    fit = weibull_curves((one, two))
    assert fit.status == (CurveFitStatus.FEW_POINTS, CurveFitStatus.OK)
    assert fit.shape == pytest.approx([1.0, 1.0])
    assert fit.rate[1] == pytest.approx(0.5)


@pytest.mark.parametrize("level", [0.001, 0.01, 0.012, 0.05, 0.2])
def test_strata_are_proposed_by_holm_s_step_down(level):
    names, chance = ("a", "b", "c", "d"), [0.004, 0.03, 0.0001, 0.2]

    class Told(CoxModel):
        def proportionality(self, transform="km"):
            return SimpleNamespace(names=names, p_value=np.array(chance))

    wanted = []
    for k, i in enumerate(sorted(range(4), key=chance.__getitem__)):
        if chance[i] * (4 - k) >= level:
            break
        wanted.append(names[i])
    assert Told().propose_strata(level) == tuple(wanted)


# Forecasts of sets


def test_recall_between_two_ages_is_a_line_between_their_forecasts():
    source = grown(np.random.default_rng(5), (0.08,), days=20, start=40)
    known = {}
    found = recall_curve.recall(source, np.array([3.0]), 0.9, known)
    assert sorted(known) == [3, 4]  # 2 ** 1.5 and 2 ** 2 steps of a day
    low, high = 2**1.5, 4.0
    ends = forecast(source, 20.0, [low, high], 0.9).recall
    for i, column in enumerate((found.mean, found.low, found.high)):
        left, right = ends[i]
        by_hand = left + (right - left) * (3.0 - low) / (high - low)
        assert column == pytest.approx([by_hand])


def test_bounds_of_a_source_in_which_hardly_anything_happens():
    looks = np.arange(6.0)
    born, died = np.array([-1.0, -1.0, -1.0, 2.5]), np.array([9.0, 9.0, 3.5, 9.0])
    experts = Experts(Census.of(seen("x", looks, born, died, {})))
    ahead = np.full(6, 2.0)
    loss = experts.expected("exponential", 2.0, ahead)
    bounds = model_bounds(experts, "exponential", loss, ahead, 0.9)
    rate, arrivals, deaths = experts.rates(INF)
    assert deaths.tolist() == [0, 0, 0, 0, 1, 1]
    z, theta = stats.norm.ppf(0.95), arrival_scale(experts)
    for i in range(1, 6):
        size = float(experts.census.size[i])
        kept, recall = math.exp(-loss[0, i]), math.exp(-loss[1, i])
        k = size * kept
        m = k * (1 / recall - 1)
        var_k = k * (1 - kept) + (k * rate[i] * 2.0) ** 2  # as if one had died
        var_m = m * theta[i] + m**2 / max(arrivals[i] * looks[i], 1.0)
        half = z * math.sqrt(var_k) / size
        assert bounds[0, 0, i] == pytest.approx(max(kept - half, 0.0), rel=1e-6)
        half = z * recall * (1 - recall) * math.sqrt(var_k / k**2 + var_m / m**2)
        assert bounds[1, 0, i] == pytest.approx(max(recall - half, 0.0), rel=1e-6)
