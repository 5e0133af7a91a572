"""Laws of the rhythm of a week: what one round of fetches teaches, worked out."""

import math

import numpy as np
import pytest

from halflife.models import week_rhythm
from halflife.models.week_rhythm import (
    BINS,
    HALF,
    LENT,
    MOST,
    SURE,
    TESTED,
    LearnedWeek,
    WeekCalendar,
    WeekRhythm,
    count_by_hour,
    overlaps,
    shrunken_factors,
)

BUSY = WeekRhythm(np.where(np.arange(BINS) < 84, 1.5, 0.5))


def learned(**more):
    """Return what was learned by day 70: twice as many changes in the first half."""
    changes = np.where(np.arange(BINS) < 84, 2.0, 1.0)
    given = {"spread": 500.0, "foretold": 200.0, "score": 0.5, **more}
    return LearnedWeek(70.0, changes, np.full(BINS, 3.0), **given)


def test_overlaps_are_the_days_of_an_interval_in_each_hour_over_the_end_of_a_week():
    since = np.array([0.01, 6.99, 13.5, -0.02])
    until = np.array([0.03, 7.01, 15.25, 0.02])
    found = overlaps(since, until)
    assert found.shape == (4, BINS)
    assert found.sum(axis=1) == pytest.approx(until - since)
    for row, (a, b) in enumerate(zip(since, until, strict=True)):
        for hour in range(BINS):
            inside = 0.0
            for week in (-1, 0, 1, 2, 3):
                low = week * 7.0 + hour / 24
                inside += max(min(b, low + 1 / 24) - max(a, low), 0.0)
            assert found[row, hour] == pytest.approx(inside, abs=1e-12)


@pytest.mark.parametrize("some", [1, 2, 4096])
def test_changes_are_shared_out_whatever_is_counted_at_once(monkeypatch, some):
    monkeypatch.setattr(week_rhythm, "_CHUNK", some)
    since, until = np.array([3.4, 3.4, 1.0]), np.array([3.6, 3.6, 1.5])
    changed = np.array([True, False, True])
    events, watched = count_by_hour(BUSY, since, until, changed)
    assert events.sum() == pytest.approx(2.0)
    assert watched.sum() == pytest.approx(0.9)
    # Half of the first lies before the middle of the week, where changes are likelier.
    early = (np.arange(BINS) < 84) & (np.arange(BINS) >= 72)
    late = (np.arange(BINS) >= 84) & (np.arange(BINS) < 96)
    assert events[early].sum() == pytest.approx(0.75)
    assert events[late].sum() == pytest.approx(0.25)


def test_what_was_seen_fades_and_the_score_more_slowly():
    old, now = learned(), 70.0 + HALF
    found = old._faded(now)
    assert found.last == now
    assert found.changes == pytest.approx(old.changes / 2)
    assert found.watched == pytest.approx(old.watched / 2)
    assert (found.spread, found.foretold) == (250.0, 100.0)
    assert found.score == pytest.approx(0.5 * 0.5 ** (HALF / TESTED))
    back = old._faded(60.0)
    assert (back.last, back.spread, back.score) == (70.0, 500.0, 0.5)
    first = LearnedWeek()._faded(9.0)
    assert (first.last, first.spread) == (9.0, 0.0)


def test_variation_rate_and_proof_are_as_defined():
    assert learned().variation == 2.5
    assert learned(spread=100.0).variation == 1.0
    assert learned(foretold=0.0).variation == 1.0
    assert learned().rate == pytest.approx(252.0 / 504.0)
    assert LearnedWeek().rate == 0.0
    assert learned(score=SURE).is_proven
    assert not learned(score=SURE - 0.01).is_proven


def test_a_rhythm_is_the_ratio_of_events_to_an_even_pace_day_by_day_and_hour():
    """Only days differ here: 60 changes on a day, the others 12, by 24 page-days."""
    changes = np.full((7, 24), 0.5)
    changes[2] = 2.5
    known = LearnedWeek(9.0, changes.ravel(), np.ones(BINS), 0.0, 0.0, 0.0)
    even = changes.sum() / 7
    quiet, busy = ((n + LENT) / (even + LENT) for n in (12.0, 60.0))
    day = np.where(np.arange(7) == 2, busy, quiet)
    expected = np.repeat(day / day.mean(), 24)
    assert known.fit().pace == pytest.approx(expected, rel=0.02)
    assert known.fit().pace.mean() == pytest.approx(1.0)
    wild = LearnedWeek(9.0, changes.ravel(), np.ones(BINS), 40.0, 10.0, 0.0)
    weak = ((np.array([12.0, 60.0]) / 4 + LENT) / (even / 4 + LENT)).tolist()
    day = np.where(np.arange(7) == 2, weak[1], weak[0])
    assert wild.fit().pace == pytest.approx(np.repeat(day / day.mean(), 24), rel=0.02)
    for nothing in (
        LearnedWeek(9.0, np.zeros(BINS), np.ones(BINS)),
        LearnedWeek(9.0, np.ones(BINS), np.zeros(BINS)),
    ):
        assert nothing.fit().pace.tolist() == [1.0] * BINS
    assert shrunken_factors(np.array([5.0]), np.array([1.0])) == pytest.approx(
        [8.0 / 4.0]
    )


def test_a_round_of_fetches_adds_what_it_found_and_how_well_it_was_foretold():
    old = learned()
    at, since = np.array([72.0, 72.0, 72.0]), np.array([70.5, 71.0, 60.0])
    changed = np.array([True, False, True])  # the last is too long ago to tell
    rhythm, found = old.fit(), old.after(at, since, changed)
    past, days = old._faded(72.0), (at - since)[:2]
    own = rhythm.between(since[:2], at[:2])
    more, watched = count_by_hour(rhythm, since[:2], at[:2], changed[:2])
    assert found.last == 72.0
    assert found.changes == pytest.approx(past.changes + more)
    assert found.watched == pytest.approx(past.watched + watched)
    expected = past.rate * days.sum()
    assert found.spread == pytest.approx(past.spread + (1.0 - expected) ** 2)
    assert found.foretold == pytest.approx(past.foretold + expected)
    gain = math.log(own[0] / days[0]) - past.rate * (own - days).sum()
    assert found.score == pytest.approx(past.score + gain / found.variation)


@pytest.mark.parametrize(
    ("days", "counts"), [(7.0, False), (6.99, True), (1e-6, False), (2e-6, True)]
)
def test_fetches_too_close_or_a_week_apart_tell_nothing(days, counts):
    old = learned()
    found = old.after(np.array([80.0]), np.array([80.0 - days]), np.array([False]))
    assert (found is not old) is counts


def test_the_first_round_is_not_foretold_and_scores_stay_within_their_bounds():
    day, before = np.full(4, 3.0), np.full(4, 2.0)
    first = LearnedWeek().after(day, before, np.ones(4, bool))
    assert (first.score, first.spread, first.foretold) == (0.0, 0.0, 0.0)
    assert first.changes.sum() == pytest.approx(4.0)
    high = learned(score=MOST, spread=0.0)
    low = learned(score=-SURE, spread=0.0)
    fits = np.zeros(400, bool), np.ones(400, bool)
    for changed in fits:
        at, since = np.full(400, 72.0), np.full(400, 71.0)
        assert high.after(at, since, changed).score <= MOST
        assert low.after(at, since, changed).score >= -SURE


def test_a_calendar_tells_the_own_time_of_groups_with_a_rhythm():
    calendar = WeekCalendar(72.0, {1: BUSY})  # day 2 of a week
    group, age = np.array([0, 1, 1, 1]), np.array([2.0, 2.0, np.inf, 0.0])
    pace, ahead = calendar(group, age, 3.0)
    assert pace[[0, 2]].tolist() == [1.0, 1.0]
    assert pace[1] == pytest.approx(1.5)
    assert pace[3] == pytest.approx(1.5)
    assert ahead[0] == ahead[2] == 3.0
    assert ahead[1] == pytest.approx(1.5 * 1.5 + 1.5 * 0.5)
