import numpy as np
import pytest
from hypothesis import given, strategies as st

from halflife.models import conformal
from halflife.models.conformal import Calibrated, Scored
from lab.adaptive_step import Adaptive


def scored(guess, found, *, size=1000.0, cycle=1.0):
    guess, found = np.asarray(guess, float), np.asarray(found, float)
    later = np.append(np.arange(1, guess.size), -1)
    held = np.full(guess.size, size)
    return Scored(guess, found, held, later, cycle, 0)


@pytest.fixture
def overdispersed():
    """Return 600 cycles whose loss is gamma distributed about its forecast."""
    rng = np.random.default_rng(8)
    guess = rng.uniform(0.05, 0.3, 600)
    return scored(guess, guess * rng.gamma(6.0, 1 / 6.0, 600))


@given(st.floats(0.0, 1e6), st.floats(0.01, 3.0))
def test_the_scale_of_scores_can_be_undone(x, c):
    spread = np.array([c])
    there = conformal.steady(np.array([x]), spread)
    assert conformal.unsteady(there, spread) == pytest.approx([x], rel=1e-6, abs=1e-6)


def test_scores_have_about_unit_spread_whatever_the_mean():
    rng = np.random.default_rng(0)
    for mean in (5.0, 50.0, 500.0):
        rate = mean * rng.gamma(1 / 0.09, 0.09, 40_000)
        x, c = rng.poisson(rate).astype(float), np.full(40_000, 0.3)
        z = conformal.steady(x, c) - conformal.steady(np.full(40_000, mean), c)
        assert z.std() == pytest.approx(1.0, abs=0.07)


def test_dispersion_is_learned_and_begins_at_its_prior(overdispersed):
    c = conformal.dispersion(overdispersed, np.full(600, 0.25))
    assert c[0] == pytest.approx(0.5)
    assert c[-1] == pytest.approx(1 / np.sqrt(6.0), abs=0.05)


def test_bounds_hold_as_often_as_promised(overdispersed):
    for confidence in (0.8, 0.95):
        c = conformal.dispersion(overdispersed, np.full(600, 0.25))
        looks, tail = np.arange(60, 599), (1.0 - confidence) / 2.0
        levels = np.array([tail, 0.5, 1.0 - tail])
        ready = Calibrated(overdispersed, c)
        found = ready.quantiles(looks, overdispersed.guess[looks], levels)
        assert (np.diff(found, axis=1) >= 0).all()
        truth = overdispersed.found[looks]
        held = (found[:, 0] <= truth) & (truth <= found[:, 2])
        assert np.mean(held) == pytest.approx(confidence, abs=0.03)


def test_with_no_past_the_lent_scores_decide():
    low, high = conformal.mixed_quantiles(np.empty(0), 4.0, 0.025)
    assert (low, high) == pytest.approx((-2.78, 2.78), abs=0.15)


def test_with_much_past_the_lent_scores_hardly_count():
    past = np.random.default_rng(1).normal(size=5000)
    low, high = conformal.mixed_quantiles(past, 4.0, 0.025)
    assert (low, high) == pytest.approx((-1.96, 1.96), abs=0.1)


def test_misses_make_the_bounds_wider_and_hits_narrower():
    calm = scored(np.full(200, 0.1), np.full(200, 0.1))
    rough = scored(np.full(200, 0.1), 0.1 * 1.05 ** np.arange(200))
    c = np.full(200, 0.3)
    assert Adaptive(Calibrated(calm, c), 0.9).misses[-1] > 0.1
    assert Adaptive(Calibrated(rough, c), 0.9).misses[-1] < 0.1


def test_a_steady_bias_moves_the_middle():
    biased = scored(np.full(300, 0.1), np.full(300, 0.2))
    ready = Calibrated(biased, np.full(300, 0.3))
    looks, guess = np.array([5, 299]), np.full(2, 0.1)
    early, late = ready.quantiles(looks, guess, np.array([0.5]))[:, 0]
    assert early == pytest.approx(0.1, abs=0.03)
    assert late == pytest.approx(0.2, abs=0.02)


@given(st.integers(1, 60), st.integers(0, 100), st.sampled_from([1.0, 3.0, 20.0]))
def test_no_outcome_counts_before_it_was_seen(size, seed, cycle):
    rng = np.random.default_rng(seed)
    guess, found = rng.gamma(2.0, 0.1, (2, size))
    later = np.minimum(np.arange(size) + int(cycle), size)
    later = np.where(later < size, later, -1)
    cut = size // 2
    held = np.full(size, 50.0)
    other = np.where(later > cut, found + 1.0, found)
    outlook = []
    for truth in (found, other):
        s = Scored(guess, truth, held, later, cycle, 0)
        c = conformal.dispersion(s, np.full(size, 0.25))
        at, levels = np.array([cut]), np.array([0.05, 0.5, 0.95])
        outlook.append(Calibrated(s, c).quantiles(at, guess[at], levels))
    assert outlook[0] == pytest.approx(outlook[1])
