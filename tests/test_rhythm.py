"""When in the day a source changes: its own time, and how looks tell it."""

from math import log

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.optimize import minimize

from halflife.models.rhythm import (
    BINS,
    FLAT,
    LENT,
    MOST,
    SURE,
    TESTED,
    LearnedRhythm,
    ObservedRecords,
    Rhythm,
    intensity,
    overlaps,
)

EVEN = np.full(BINS, 1.0 / BINS)
SHARES = st.lists(st.floats(0.0, 1.0), min_size=BINS, max_size=BINS).filter(any)
RHYTHMS = SHARES.map(lambda some: Rhythm(tuple(np.array(some) / sum(some))))
MOMENTS = st.floats(19_000.0, 21_000.0)
COUNTS = st.lists(st.integers(0, 200), min_size=1, max_size=40)


def one(at, since, changed=0.0, shown=100.0):
    return ObservedRecords(
        at, np.array([since]), np.array([shown]), np.array([float(changed)])
    )


def nightly(known, begin, days, hour, every=1.0 / 24.0, many=12.0):
    """Return what looks every so often tell of what changes at one hour of each day."""
    for k in range(round(days / every)):
        since, at = begin + k * every, begin + (k + 1) * every
        times = np.floor(at - hour / 24.0) - np.floor(since - hour / 24.0)
        known = known.after(one(at, since, many * times))
    return known


def by_chance(rng, days, every=1.0 / 24.0, many=12.0):
    """Return the same of what changes at any hour, once a day in the mean."""
    known = LearnedRhythm()
    for k in range(round(days / every)):
        changed = many * rng.poisson(every)
        known = known.after(one((k + 1) * every, k * every, changed))
    return known


@given(RHYTHMS, MOMENTS, st.floats(0, 9), st.floats(0, 9))
def test_effective_days_add_up_and_never_run_backwards(rhythm, at, first, second):
    moments = np.array([at, at + first, at + first + second])
    one, two = rhythm.between(moments[:2], moments[1:])
    assert one >= -1e-9
    assert two >= -1e-9
    assert rhythm.between(moments[0], moments[2]) == pytest.approx(one + two, abs=1e-9)


@given(RHYTHMS, MOMENTS, st.integers(0, 400))
def test_whole_days_are_as_many_whatever_the_rhythm(rhythm, at, days):
    passed = rhythm.between(np.array(at), np.array(at + days))
    assert passed == pytest.approx(days, abs=1e-8)


@given(RHYTHMS, MOMENTS)
def test_a_moment_is_found_again_by_the_source_s_own_time(rhythm, at):
    time = rhythm.time(np.array([at]))
    assert rhythm.time(rhythm.moment_of(time)) == pytest.approx(time, abs=1e-8)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1))
def test_without_a_rhythm_time_is_time(moments):
    at = np.array(moments)
    assert FLAT.flat
    assert FLAT.time(at) is at
    assert np.array_equal(FLAT.between(at[:1], at), at - at[0])


def test_what_never_was_has_no_time_of_its_own():
    nightly = Rhythm((1.0,) + (0.0,) * (BINS - 1))
    assert nightly.time(np.array([-np.inf, np.inf])).tolist() == [-np.inf, np.inf]


@given(RHYTHMS, MOMENTS, st.floats(0.01, 3.0))
def test_the_time_after_an_event_is_a_share_of_the_interval(rhythm, at, days):
    since, until = np.array([[at], [at + days]])
    grown = rhythm.passed(since, until)
    assert (np.diff(grown) >= -1e-9).all()
    mean, variance = rhythm.share_after(since, until)
    assert 0.0 <= mean[0] <= 1.0
    assert 0.0 <= variance[0] <= 0.251


def test_the_time_after_an_event_is_that_of_events_drawn_by_the_rhythm():
    share = np.random.default_rng(0).dirichlet(np.full(BINS, 0.3))
    rhythm = Rhythm(tuple(share))
    since, until = np.array([20_000.2, 20_001.9])
    ends = rhythm.time(np.array([since, until]))
    own = np.random.default_rng(1).uniform(*ends, 10**5)
    after = (until - rhythm.moment_of(own)) / (until - since)
    mean, variance = rhythm.share_after(since, until)
    assert mean == pytest.approx(after.mean(), abs=0.005)
    assert variance == pytest.approx(after.var(), abs=0.003)
    even = FLAT.share_after(since, until)
    assert even == (pytest.approx(0.5), pytest.approx(1 / 12, rel=1e-3))


def test_the_days_of_an_interval_lie_in_the_bins_that_it_crosses():
    inside = overlaps(np.array([9.5 / 24, 23.5 / 24]), np.array([11.0 / 24, 0.25 / 24]))
    assert inside[0, [9, 10]] * 24 == pytest.approx([0.5, 1.0])
    assert inside[1, [23, 0]] * 24 == pytest.approx([0.5, 0.25])
    assert inside.sum(axis=1) * 24 == pytest.approx([1.5, 0.75])


def test_fourteen_events_within_six_hours_are_shared_by_these_hours():
    # In each of the six: (14/6 + a) / (14/24 + a/r), with a = 1/48 and r = 1 a day.
    known = nightly(LearnedRhythm(), 20_000.0, 14, 9.0, every=0.25, many=1.0)
    inside = overlaps(np.array([0.25]), np.array([0.5]))
    found = intensity(np.array([14.0]), inside, np.full(BINS, 14.0 / BINS), EVEN)
    assert found[6:12] == pytest.approx((14 / 6 + 1 / 48) / (14 / 24 + 1 / 48))
    assert found[12:] == pytest.approx((1 / 48) / (14 / 24 + 1 / 48))
    assert set(np.argsort(known.share)[-6:].tolist()) == set(range(6, 12))
    passed = known.rhythm.between(np.array(20_014.25), np.array(20_014.5))
    assert passed == pytest.approx(0.97, abs=0.01)


@pytest.mark.parametrize("seed", range(6))
def test_the_shares_are_the_maximum_that_a_search_finds(seed):
    rng = np.random.default_rng(seed)
    start = rng.random(12)
    inside = overlaps(start, start + rng.uniform(0.02, 0.9, 12))
    count = rng.gamma(0.7, 3.0, 12)
    exposure = rng.uniform(0.0, 5.0, BINS)
    rate, lent = count.sum() / exposure.sum(), LENT / BINS

    def loss(logs):
        h = np.exp(logs)
        mean = inside @ h
        prior = lent * (logs - h / rate)
        value = count @ np.log(mean) - h @ exposure + prior.sum()
        slope = (count / mean) @ inside * h - h * exposure + lent * (1.0 - h / rate)
        return -value, -slope

    options = {"maxiter": 20_000, "maxfun": 40_000, "ftol": 1e-15, "gtol": 1e-9}
    begin = np.full(BINS, log(rate))
    best = minimize(loss, begin, jac=True, method="L-BFGS-B", options=options)
    found = intensity(count, inside, exposure, EVEN)
    assert loss(np.log(found))[0] == pytest.approx(best.fun, abs=1e-6)
    share, sought = found / found.sum(), np.exp(best.x) / np.exp(best.x).sum()
    assert np.abs(share - sought).max() < 1e-5


def test_a_nightly_job_is_known_to_the_hour_after_a_few_days_of_hourly_looks():
    known = nightly(LearnedRhythm(), 20_000.0, 8, 13.4)
    assert known.score == MOST
    assert known.size == pytest.approx(12.0)
    assert known.rhythm.share[13] > 0.8
    before, after = 20_008.0 + np.array([13.0, 14.0]) / 24.0
    assert known.rhythm.between(np.array(20_007.6), np.array(before)) < 0.2
    assert known.rhythm.between(np.array(before), np.array(after)) > 0.8


def test_a_rhythm_known_to_a_quarter_of_a_day_is_made_out_by_closer_looks():
    roughly = nightly(LearnedRhythm(), 20_000.0, 14, 13.4, every=0.25)
    closely = nightly(roughly, 20_014.0, 6, 13.4)
    assert roughly.rhythm.share[13] < 0.2
    assert closely.rhythm.share[13] > 0.8


def test_a_job_that_is_moved_to_another_hour_is_followed():
    known = nightly(LearnedRhythm(), 20_000.0, 20, 3.5)
    moved = nightly(known, 20_020.0, 12, 15.5)
    assert moved.rhythm.share[15] > 0.2
    assert not moved.rhythm.flat


def test_a_rhythm_that_looks_do_not_test_for_two_weeks_is_not_believed():
    known = nightly(LearnedRhythm(), 20_000.0, 10, 3.5)
    daily = known
    for day in range(15):
        at = 20_011.0 + day
        daily = daily.after(one(at, at - 1.0, 12))
    assert daily.rhythm.flat
    again = nightly(daily, daily.last, 2, 3.5)
    assert again.rhythm.share[3] > 0.8
    twice = nightly(known, 20_010.0, 12, 3.5, every=0.5)
    assert twice.rhythm.share[3] > 0.8


@pytest.mark.parametrize("seed", range(5))
def test_what_changes_by_chance_has_no_rhythm(seed):
    assert by_chance(np.random.default_rng(seed), 25).rhythm.flat


@settings(max_examples=15)
@given(st.integers(1, 120))
def test_records_that_change_together_tell_the_hour_once(many):
    all_, single = (
        nightly(LearnedRhythm(), 20_000.0, 3, 13.4, many=n) for n in (many, 1)
    )
    assert all_.share == pytest.approx(single.share, abs=1e-5)
    assert all_.score == pytest.approx(single.score, abs=1e-5)
    assert all_.size == pytest.approx(many)


def test_two_looks_leave_it_flat():
    known = (
        LearnedRhythm()
        .after(one(20_000.5, 20_000.4, 120))
        .after(one(20_001.5, 20_001.4))
    )
    assert known.score < SURE
    assert known.rhythm is FLAT


def test_looks_that_find_nothing_say_nothing_of_the_hour():
    known = nightly(LearnedRhythm(), 20_000.0, 5, 9.0, many=0.0)
    assert known.share == pytest.approx(EVEN)
    assert known.rhythm.flat


@given(COUNTS, st.lists(st.sampled_from([1e-9, 0.01, 0.3, 0.97, 5.0]), min_size=40))
def test_whatever_looks_find_all_is_finite_and_sums_to_one(counts, gaps):
    known, at = LearnedRhythm(), 20_000.0
    for changed, gap in zip(counts, gaps, strict=False):
        known, at = known.after(one(at + gap, at, changed)), at + gap
    assert sum(known.share) == pytest.approx(1.0)
    assert min(known.share) >= 0.0
    assert np.isfinite([known.score, known.size, *known.share]).all()
    assert known.size >= 1.0


@settings(max_examples=30)
@given(COUNTS, st.integers(-3000, 3000))
def test_all_times_moved_by_whole_days_tell_the_same(counts, days):
    here, there = LearnedRhythm(), LearnedRhythm()
    for k, changed in enumerate(counts):
        since, at = 8192.0 + np.array([k, k + 1]) * 0.15625  # so that sums are exact
        here = here.after(one(at, since, changed))
        there = there.after(one(at + days, since + days, changed))
    assert there.share == pytest.approx(here.share)
    assert there.score == pytest.approx(here.score)


def test_a_look_of_the_past_or_of_nothing_tells_nothing():
    known = nightly(LearnedRhythm(), 20_000.0, 3, 9.0)
    assert known.after(one(known.last, known.last - 0.1, 50)) is known
    none = np.zeros(0)
    later = known.after(ObservedRecords(known.last + 0.1, none, none, none))
    assert later.score == pytest.approx(known.score * 0.5 ** (0.1 / TESTED))
    assert later.found == pytest.approx(known.found, rel=0.01)


def test_looks_a_day_or_more_apart_do_not_tell_the_hour():
    known = LearnedRhythm()
    for day in range(30):
        known = known.after(one(20_001.0 + day, 20_000.0 + day, 50))
    assert known.found == 0
    assert known.rhythm.flat


def test_what_is_kept_stays_small_however_many_looks_there_are():
    known, rng = LearnedRhythm(), np.random.default_rng(0)
    at = 20_000.0
    for _ in range(400):
        gap = float(rng.uniform(0.02, 0.06))
        known, at = known.after(one(at + gap, at, rng.poisson(2))), at + gap
    assert len(known.rows) < 4 * BINS


def test_without_a_day_watched_all_hours_are_alike():
    inside, nothing = np.zeros((1, BINS)), np.zeros(BINS)
    found = intensity(np.ones(1), inside, nothing, EVEN)
    assert found.tolist() == [1.0 / BINS] * BINS
