"""Bounds learned from past forecasts, and survival curves, walked through by hand."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats

from halflife.models import conformal as c
from halflife.models.conformal import Calibrated, Scored, dispersion, mixed_quantiles
from halflife.models.spells import Spells
from halflife.models.survival_curves import KaplanMeier
from lab import adaptive_step as step
from lab.adaptive_step import Adaptive
from lab.turnbull import Turnbull


def a_past(seed, n=40, cycle=1.0, first=3):
    rng = np.random.default_rng(seed)
    guess = rng.uniform(0.01, 0.3, n)
    found = guess * rng.gamma(2.0, 0.5, n)
    later = np.where(np.arange(n) < n - 2, np.arange(n) + 2, -1)
    later[rng.integers(0, n, 3)] = -1
    size = rng.uniform(20, 90, n)
    return Scored(guess, found, size, later, cycle, first)


def known_at(past, look):
    """Return the looks whose outcome was seen by a look, in order."""
    return [i for i in range(past.first, past.later.size) if 0 <= past.later[i] <= look]


@pytest.mark.parametrize("cycle", [1.0, 2.5])
def test_what_was_told_by_each_look_is_what_it_had_seen(cycle):
    past = a_past(0, cycle=cycle)
    assert past.order.tolist() == known_at(past, 10**6)
    for look in range(40):
        assert past.settled[look] == len(known_at(past, look))
        assert past.cycles[look] == pytest.approx(len(known_at(past, look)) / cycle)


def test_over_dispersion_is_a_moment_of_past_forecasts():
    past = a_past(1)
    found = dispersion(past, np.full(40, 0.3))
    for look in range(40):
        seen = known_at(past, look)
        m, x = (past.size * past.guess)[seen], (past.size * past.found)[seen]
        moment = max(((x - m) ** 2 - m).sum(), 0.0) / max((m**2).sum(), 1e-12)
        share = len(seen) / (len(seen) + c.CYCLES)
        squared = (1 - share) * 0.3 + share * moment
        assert found[look] == pytest.approx(math.sqrt(np.clip(squared, 1e-4, 4.0)))


def test_usual_over_dispersion_counts_no_outcome_as_more_than_the_largest():
    past = a_past(1)
    once = past.found.copy()
    once[past.order[5]] = 50.0 * past.guess[past.order[5]]
    past = replace(past, found=once)
    found, whole = (dispersion(past, np.full(40, 0.3), usual=u) for u in (True, False))
    for look in range(40):
        seen = known_at(past, look)
        m, x = (past.size * past.guess)[seen], (past.size * past.found)[seen]
        terms = [min((b - a) ** 2 - a, 4.0 * a**2) for a, b in zip(m, x, strict=True)]
        moment = max(sum(terms), 0.0) / max((m**2).sum(), 1e-12)
        share = len(seen) / (len(seen) + c.CYCLES)
        squared = (1 - share) * 0.3 + share * moment
        assert found[look] == pytest.approx(math.sqrt(np.clip(squared, 1e-4, 4.0)))
    assert (found <= whole).all()
    assert found[-1] < 0.5 * whole[-1]


def g(x, spread):
    return 2 / spread * math.asinh(spread * math.sqrt(max(x, 0.0) + 3 / 8))


@given(x=st.floats(0, 1e4), spread=st.floats(0.01, 2.0))
def test_scores_are_on_a_scale_that_can_be_undone(x, spread):
    at, wide = np.array([x]), np.array([spread])
    assert c.steady(at, wide)[0] == pytest.approx(g(x, spread))
    assert c.unsteady(c.steady(at, wide), wide)[0] == pytest.approx(x, abs=1e-6)
    assert c.unsteady(np.array([-1.0]), wide)[0] == 0.0


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("cycle", [1.0, 3.0])
def test_misses_lead_the_share_of_misses_allowed(seed, cycle):
    past = a_past(seed, cycle=cycle)
    spread = np.full(40, 0.4)
    led = Adaptive(Calibrated(past, spread), 0.9)
    score = {
        i: g(past.size[i] * past.found[i], 0.4) - g(past.size[i] * past.guess[i], 0.4)
        for i in past.order.tolist()
    }
    np.testing.assert_allclose(led.ready.scores, list(score.values()))
    share, missed, done, lent = 0.1, {}, [], c.LENT * cycle
    for look in range(40):
        seen = known_at(past, look)
        for i in seen[len(done) :]:
            pace = step.PACE / math.sqrt(cycle)
            share = min(step.MOST, max(step.LEAST, share + pace * (0.1 - missed[i])))
            done.append(i)
        assert led.misses[look] == pytest.approx(share)
        if look in score:
            z = score[look]
            tail, total = stats.t(c.FREEDOM).cdf(z), len(seen) + lent
            above = sum(score[i] > z for i in seen) + lent * (1 - tail)
            below = sum(score[i] < z for i in seen) + lent * tail
            extreme = 2 * min(total - above, total - below) / total
            missed[look] = float(extreme < share)


def test_led_bounds_are_quantiles_at_the_share_of_misses_allowed():
    past = a_past(6)
    led = Adaptive(Calibrated(past, np.full(40, 0.4)), 0.9)
    looks = np.array([38, 3, 20])
    found = led.bounds(looks)
    for k, look in enumerate(looks.tolist()):
        tail = led.misses[look] / 2
        at, guess = np.array([look]), past.guess[[look]]
        levels = np.array([tail, 0.5, 1 - tail])
        low, middle, high = led.ready.quantiles(at, guess, levels)[0]
        expected = [low, min(max(middle, low), high), high]
        assert found[:, k] == pytest.approx(expected, rel=1e-6, abs=1e-9)


def test_bounds_are_quantiles_about_the_forecast():
    past = a_past(4)
    ready = Calibrated(past, np.full(40, 0.4))
    look, guess, size = 35, 0.2, float(past.size[35])
    levels = np.array([0.05, 0.5, 0.95])
    found = ready.quantiles(np.array([look]), np.array([guess]), levels)
    low, middle, high = found[0]
    seen = ready.scores[: past.settled[look]]
    ends = mixed_quantiles(seen, c.LENT, 0.05)
    centre = g(size * guess, 0.4)
    for found, end in zip((low, high), ends, strict=True):
        assert g(found * size, 0.4) == pytest.approx(centre + end, abs=1e-6)
    around = mixed_quantiles(seen, c.LENT_MIDDLE, 0.4)
    assert g(middle * size, 0.4) == pytest.approx(centre + sum(around) / 2, abs=1e-6)


@given(
    past=st.lists(st.floats(-5, 5), max_size=30).map(np.array),
    lent=st.floats(0.5, 20.0),
    tail=st.floats(0.01, 0.4),
)
def test_quantiles_cut_off_as_much_of_the_mixture_as_asked(past, lent, tail):
    low, high = mixed_quantiles(past, lent, tail)
    law, total = stats.t(c.FREEDOM), past.size + lent
    grain = lent / 199 / total + 1e-9

    def below(x, *, itself):
        count = np.sum(past <= x) if itself else np.sum(past < x)
        return (count + lent * law.cdf(x)) / total

    assert below(low, itself=True) >= tail - grain
    assert below(low, itself=False) <= tail + grain
    assert below(high, itself=True) >= 1 - tail - grain
    assert below(high, itself=False) <= 1 - tail + grain


# curves


@st.composite
def met_late(draw):
    n = draw(st.integers(2, 15))
    entry = np.array(draw(st.lists(st.integers(0, 4), min_size=n, max_size=n)), float)
    stay = np.array(draw(st.lists(st.integers(1, 9), min_size=n, max_size=n)), float)
    ended = np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    return Spells.of(entry, entry + stay, np.where(ended, entry + stay, np.inf))


@given(met_late())
def test_kaplan_meier_goes_death_by_death_with_greenwoods_variance(data):
    curve = KaplanMeier(z=1.5).fit(data)
    alive, green, top = 1.0, 0.0, 1.0
    deaths = np.unique(data.upper[data.ended])
    assert curve.time_.tolist() == deaths.tolist()
    for k, t in enumerate(deaths):
        n = np.sum((data.entry < t) & (data.lower >= t))
        d = np.sum(data.upper == t)
        alive *= 1 - d / n
        assert (curve.at_risk_[k], curve.deaths_[k]) == (n, d)
        assert curve.survival_[k] == pytest.approx(alive, abs=1e-12)
        if n > d:
            green += d / (n * (n - d))
        assert curve.variance_[k] == pytest.approx(alive**2 * green, abs=1e-12)
        if alive <= 0:
            assert curve.low_[k] == 0.0
            assert curve.high_[k] == pytest.approx(top)
            continue
        wide = 1.5 * math.sqrt(green) / -math.log(alive)
        top = min(top, alive ** math.exp(-wide))
        assert curve.low_[k] == pytest.approx(alive ** math.exp(wide), abs=1e-9)
        assert curve.high_[k] == pytest.approx(top)


def test_curves_are_read_between_and_beyond_their_ages():
    data = Spells.of(np.zeros(3), np.array([1.0, 2, 3]), np.array([1.0, 2, np.inf]))
    curve = KaplanMeier().fit(data)
    at = np.array([0.0, 0.99, 1.0, 1.5, 2.0, 99.0])
    third = 1 / 3
    assert curve.survival(at).tolist() == pytest.approx(
        [1, 1, 2 * third, 2 * third, third, third]
    )
    low, high = curve.band(at)
    assert (low[0], high[0]) == (1.0, 1.0)
    assert (low[2:] < curve.survival(at)[2:]).all()


@settings(max_examples=25)
@given(seed=st.integers(0, 300))
def test_turnbulls_likelihood_is_that_of_its_curve_and_no_mixture_is_likelier(seed):
    rng = np.random.default_rng(seed)
    n = 12
    lower = rng.integers(0, 6, n).astype(float)
    upper = np.where(rng.random(n) < 0.7, lower + rng.integers(1, 4, n), np.inf)
    weight = rng.integers(1, 4, n).astype(float)
    data = Spells.of(np.zeros(n), lower, upper, weight=weight)
    curve = Turnbull().fit(data)

    def fit(survival):
        chance = [
            survival(a) - (survival(b) if math.isfinite(b) else 0.0)
            for a, b in zip(lower, upper, strict=True)
        ]
        return float(weight @ np.log(np.maximum(chance, 1e-300)))

    best = fit(lambda t: float(curve.survival(np.array([t]))[0]))
    assert curve.log_likelihood_ == pytest.approx(best, abs=1e-6)
    for rate in (0.1, 0.3, 1.0):
        for mix in (0.05, 0.5):

            def other(t, rate=rate, mix=mix):
                own = float(curve.survival(np.array([t]))[0])
                return (1 - mix) * own + mix * math.exp(-rate * t)

            assert fit(other) <= best + 1e-4


def test_before_any_outcome_the_lent_scores_alone_say_how_extreme_one_is():
    n = 12
    guess = np.full(n, 0.1)
    found = np.linspace(0.0, 0.6, n)
    later = np.full(n, n - 1)  # all outcomes come with the last look
    later[-1] = -1
    past = Scored(guess, found, np.full(n, 50.0), later, 1.0, 0)
    led = Adaptive(Calibrated(past, np.full(n, 0.4)), 0.9)
    tail = stats.t(c.FREEDOM).cdf(led.ready.scores)
    np.testing.assert_allclose(led.extremes(), 2 * np.minimum(tail, 1 - tail))
    missed = np.sum(2 * np.minimum(tail, 1 - tail) < 0.1)
    share = 0.1 + step.PACE * (0.1 * (n - 1) - missed)
    share = min(max(share, step.LEAST), step.MOST)
    assert led.misses[-1] == pytest.approx(share, abs=0.03)
