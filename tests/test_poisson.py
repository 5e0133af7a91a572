"""Rates from looks, one item at a time, and the survival that follows from them."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from halflife.core.errors import NotFitted
from halflife.models.gaps import RateStatus
from halflife.models.poisson import Exponential, GammaSurvival, PoissonRate
from lab import fit as bench

EVERY_OTHER = np.arange(8) % 2 == 0


@st.composite
def gap_columns(draw):
    n = draw(st.integers(0, 30))

    def column(values):
        return draw(st.lists(values, min_size=n, max_size=n))

    return (
        np.array(column(st.integers(0, 5)), dtype=np.intp),
        np.array([10.0**e for e in column(st.floats(-8, 5))]),
        np.array(column(st.booleans()), dtype=np.bool_),
        np.array(column(st.sampled_from([0.0, 0.3, 1.0, 7.0]))),
    )


# One rate an item


def test_half_the_daily_looks_found_a_change():
    model = PoissonRate().fit(np.zeros(8, int), np.ones(8), EVERY_OTHER)
    assert model.rate_.round(2).tolist() == [0.66]


def test_without_a_prior_half_the_daily_looks_mean_ln_2():
    model = PoissonRate(prior_changes=0, prior_days=0)
    model.fit(np.zeros(8, int), np.ones(8), EVERY_OTHER)
    assert model.rate_ == pytest.approx([np.log(2)], rel=1e-11)


def test_a_tally_stands_for_that_many_gaps():
    once = PoissonRate().fit(np.zeros(8, int), np.ones(8), EVERY_OTHER)
    tallied = PoissonRate().fit(
        np.zeros(2, int), np.ones(2), np.array([True, False]), np.array([4.0, 4.0])
    )
    assert tallied.rate_ == pytest.approx(once.rate_, rel=1e-12)


def test_an_item_without_looks_gets_the_priors_rate():
    model = PoissonRate(prior_changes=0.5, prior_days=2.0)
    model.fit(np.zeros(0, int), np.zeros(0), np.zeros(0, bool), n_items=2)
    assert model.rate_ == pytest.approx([0.25, 0.25])
    assert model.status_.tolist() == [RateStatus.NO_LOOKS] * 2


def test_the_status_says_what_the_looks_can_tell():
    item, changed = np.array([0, 0, 1, 1, 3]), np.array([1, 0, 0, 0, 1], bool)
    model = PoissonRate().fit(item, np.ones(5), changed, n_items=4)
    assert model.status_.tolist() == [
        RateStatus.OK,
        RateStatus.NO_CHANGE,
        RateStatus.NO_LOOKS,
        RateStatus.ALWAYS_CHANGED,
    ]


def test_without_a_prior_the_bounds_hold_what_the_looks_cannot():
    item, changed = np.array([0, 0, 1, 1]), np.array([1, 1, 0, 0], bool)
    model = PoissonRate(prior_changes=0, prior_days=0)
    model.fit(item, np.ones(4), changed, n_items=3)
    assert model.rate_ == pytest.approx([1e6, 1e-9, 1e-9])


@given(columns=gap_columns(), changes=st.floats(0, 3), days=st.floats(0, 9))
def test_rates_are_finite_and_bounded_whatever_was_seen(columns, changes, days):
    model = PoissonRate(prior_changes=changes, prior_days=days)
    model.fit(*columns, n_items=6)
    assert np.all((model.rate_ >= 0.999e-9) & (model.rate_ <= 1.001e6))
    assert model.status_.shape == (6,)


@given(columns=gap_columns(), factor=st.floats(0.01, 100))
def test_a_clock_in_other_units_gives_the_same_rates(columns, factor):
    item, length, changed, tally = columns
    plain = PoissonRate().fit(item, length, changed, tally, n_items=6).rate_
    slow = PoissonRate(prior_days=factor)
    slow.fit(item, length * factor, changed, tally, n_items=6)
    assert slow.rate_ * factor == pytest.approx(plain, rel=1e-8)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"length": np.zeros(2)}, "length must be .* got 0.0 at index 0"),
        ({"length": np.array([1.0, np.nan])}, "length must be .* got nan at index 1"),
        ({"item": np.array([0, 9])}, "item must be from 0 to 1, got 9 at index 1"),
        ({"tally": np.array([1.0, -1.0])}, "tally must be .* got -1.0 at index 1"),
        ({"tally": np.ones(3)}, "columns of one length"),
    ],
)
def test_gaps_that_cannot_be_used_are_named(change, message):
    columns = {
        "item": np.zeros(2, int),
        "length": np.ones(2),
        "changed": np.ones(2, bool),
        "tally": np.ones(2),
    }
    with pytest.raises(ValueError, match=message):
        PoissonRate().fit(**{**columns, **change}, n_items=2)


def test_a_negative_prior_is_refused():
    with pytest.raises(ValueError, match="prior_days must be"):
        PoissonRate(prior_days=-1).fit(np.zeros(8, int), np.ones(8), EVERY_OTHER)


def test_a_model_that_was_not_fitted_says_so():
    with pytest.raises(NotFitted, match="call fit"):
        PoissonRate().survival()


def test_survival_follows_the_rates():
    model = PoissonRate().fit(np.zeros(8, int), np.ones(8), EVERY_OTHER)
    assert model.survival().alive(np.ones(1)) == pytest.approx(np.exp(-model.rate_))


# Survival


def test_an_item_that_never_changes_stays_true_for_ever():
    law, t = Exponential(np.zeros(3)), np.array([0.0, 4.0, np.inf])
    assert law.alive(t).tolist() == [1.0, 1.0, 1.0]
    assert law.lasting(t).tolist() == [0.0, 4.0, np.inf]
    assert law.moment(t).tolist() == [0.0, 8.0, np.inf]


def test_exponential_survival_at_the_ends():
    law, t = Exponential(np.full(2, 0.5)), np.array([0.0, np.inf])
    assert law.alive(t).tolist() == [1.0, 0.0]
    assert law.lasting(t).tolist() == [0.0, 2.0]
    assert law.moment(t).tolist() == [0.0, 4.0]


def test_gamma_survival_at_the_ends():
    law = GammaSurvival(np.array([0.5, 1.0, 1.5, 2.0, 3.0]), np.full(5, 2.0))
    never, now = np.full(5, np.inf), np.zeros(5)
    assert law.alive(now).tolist() == [1.0] * 5
    assert law.alive(never).tolist() == [0.0] * 5
    assert law.lasting(now).tolist() == law.moment(now).tolist() == [0.0] * 5
    assert law.lasting(never).tolist() == [np.inf, np.inf, 4.0, 2.0, 1.0]
    assert law.moment(never).tolist() == [np.inf] * 4 + [2.0]


@given(rate=st.floats(-4, 3), t=st.floats(-5, 3))
def test_a_sharp_gamma_is_an_exponential(rate, t):
    r, many = np.array([10.0**rate]), 1e12
    sharp, known = GammaSurvival(np.array([many]), many / r), Exponential(r)
    at = np.array([10.0**t])
    for part in ("alive", "lasting", "moment"):
        ours, theirs = getattr(sharp, part)(at), getattr(known, part)(at)
        assert ours == pytest.approx(theirs, rel=1e-6, abs=1e-300)


@given(
    shape=st.one_of(st.floats(0.001, 300), st.sampled_from([1.0, 2.0, 3.0])),
    nudge=st.sampled_from([0.0, 1e-15, 1e-12, -1e-12, 1e-9, -1e-6]),
    t=st.floats(-9, 9),
)
def test_gamma_survival_has_no_seams(shape, nudge, t):
    at, b = np.array([10.0**t]), np.ones(1)
    here = GammaSurvival(np.array([shape]), b)
    near = GammaSurvival(np.array([shape * (1 + nudge)]), b)
    for part in ("alive", "lasting", "moment"):
        ours, theirs = getattr(here, part)(at), getattr(near, part)(at)
        # d ln / d shape is at most ln(1 + t), so a nudge moves little.
        assert ours == pytest.approx(theirs, rel=1e-12 + abs(nudge) * shape * 60)


# The bench


def test_the_bench_shows_that_the_population_helps():
    row = bench.run(items=500, looks=5)
    assert row["empirical_bayes_rmse"] < row["poisson_rmse"]
    assert row["empirical_bayes_seconds"] > 0
