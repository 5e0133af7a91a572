"""At which hours of the week pages change: learned from fetches, used by forecasts."""

from dataclasses import replace
from math import exp

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.optimize import minimize

from halflife.belief.plain import KnownRates
from halflife.core.item import Item
from halflife.core.observation import Observation, Observations, Seen
from halflife.core.store import Note
from halflife.kinds.pages.hours import FEWEST, WeekLearner, calendar
from halflife.models import week_rhythm
from halflife.models.quality import freshness_forecast
from halflife.models.week_rhythm import (
    BINS,
    LENT,
    LearnedWeek,
    WeekCalendar,
    WeekRhythm,
    count_by_hour,
    overlaps,
    shrunken_factors,
)
from halflife.stores.memory import MemoryStore
from halflife.stores.notes.week_rhythms import WEEK_RHYTHMS
from lab import page_hours

BEGAN = 20_006.0  # a Thursday: a multiple of seven days since the epoch
THURSDAYS = WeekRhythm(np.where(np.arange(BINS) < 24, 7.0, 0.0))
seeds = st.integers(0, 10**6)


def test_all_own_days_of_a_week_pass_on_the_day_of_the_changes():
    found = THURSDAYS.between(
        np.array([BEGAN, BEGAN + 0.5, BEGAN + 1.0, BEGAN + 1.0]),
        np.array([BEGAN + 0.5, BEGAN + 1.0, BEGAN + 7.0, BEGAN + 15.0]),
    )
    assert found == pytest.approx([3.5, 3.5, 0.0, 14.0])


@given(seeds, st.floats(0.0, 30.0), st.floats(0.0, 20.0), st.floats(0.0, 20.0))
@settings(max_examples=40, deadline=None)
def test_own_time_adds_up_never_runs_back_and_keeps_weeks(seed, start, first, second):
    pace = np.random.default_rng(seed).random(BINS) ** 4
    rhythm, since = WeekRhythm(pace), np.array(BEGAN + start)
    middle, until = since + first, since + first + second
    whole = rhythm.between(since, until)
    parts = rhythm.between(since, middle) + rhythm.between(middle, until)
    assert whole == pytest.approx(parts, abs=1e-6)
    assert rhythm.between(since, middle) >= -1e-9
    assert rhythm.between(since, since + 7.0) == pytest.approx(7.0, abs=1e-6)


def test_own_days_are_the_integral_of_the_pace():
    """The oracle adds up the pace minute by minute."""
    rng = np.random.default_rng(1)
    pace = rng.random(BINS)
    pace /= pace.mean()
    minutes = (np.arange(3000) + 0.5) / 1440.0
    since = BEGAN + 5.3
    hours = ((since + minutes) % 7.0 * 24.0).astype(int)
    want = pace[hours].sum() / 1440.0
    found = WeekRhythm(pace).between(np.array(since), since + 3000 / 1440.0)
    assert found == pytest.approx(want, abs=1e-3)


def test_hours_between_fetches_are_counted_where_they_lie():
    inside = overlaps(np.array([BEGAN + 6.75]), np.array([BEGAN + 7.5]))[0]
    assert inside.sum() == pytest.approx(0.75)
    assert inside[162:] == pytest.approx(np.full(6, 1 / 24))
    assert inside[:12] == pytest.approx(np.full(12, 1 / 24))


def test_a_change_is_shared_out_as_hours_are_likely():
    pace = np.ones(BINS)
    pace[:2] = 3.0, 1.0
    since, until = np.array([BEGAN]), np.array([BEGAN + 2 / 24])
    events, watched = count_by_hour(WeekRhythm(pace), since, until, np.array([True]))
    assert events[:2] == pytest.approx([0.75, 0.25])
    assert watched[:2] == pytest.approx([1 / 24, 1 / 24])


def test_factors_are_those_worked_by_hand():
    assert pytest.approx(3.0) == LENT
    found = shrunken_factors(np.array([9.0, 0.0, 3.0]), np.array([3.0, 3.0, 3.0]))
    assert found == pytest.approx([2.0, 0.5, 1.0])


def test_without_shrinkage_the_pace_is_that_of_a_poisson_regression(monkeypatch):
    """The oracle is a log-linear model of days and hours, by a general maximiser."""
    monkeypatch.setattr(week_rhythm, "LENT", 1e-9)
    monkeypatch.setattr(week_rhythm, "_ROUNDS", 60)
    rng = np.random.default_rng(2)
    watched = 5.0 + rng.random(BINS) * 20.0
    true = np.repeat([1, 2, 1, 0.4, 1, 1.5, 1], 24) * np.tile(0.5 + rng.random(24), 7)
    changes = rng.poisson(watched * true).astype(float)
    found = LearnedWeek(BEGAN, changes, watched).fit().pace
    day, hour = np.arange(BINS) // 24, np.arange(BINS) % 24
    columns = [day == d for d in range(7)] + [hour == h for h in range(1, 24)]
    design = np.array(columns, dtype=float).T

    def loss(effects):
        mean = watched * np.exp(design @ effects)
        return (mean - changes * np.log(mean)).sum(), design.T @ (mean - changes)

    best = minimize(loss, np.zeros(30), jac=True, method="BFGS", options={"gtol": 1e-6})
    want = np.exp(design @ best.x)
    assert found == pytest.approx(want / want.mean(), rel=1e-4)


def learned(kind, seed=1, pages=40, days=120):
    """Return what is learned of a made-up host."""
    world = page_hours.made_up(kind, pages, float(days), seed)
    times = [world.at[slice(*world.start[i : i + 2])] for i in range(pages)]
    since, until, changed = page_hours.fetches(times, float(days), seed)
    known = LearnedWeek()
    for day in range(days):
        at = np.floor(until) == day
        known = known.after(until[at], since[at], changed[at])
    return known


def test_a_host_that_rests_on_weekends_is_found_out():
    known = learned("office")
    assert known.is_proven
    by_day = known.fit().pace.reshape(7, 24).mean(axis=1)
    assert by_day[list(page_hours.WEEKEND)].max() < 0.5
    assert by_day[[0, 1, 4, 5, 6]].min() > 1.0


def test_a_host_that_changes_at_any_time_has_hardly_a_rhythm():
    proven = [learned("flat", seed, days=80) for seed in range(3)]
    for known in proven:
        assert known.fit().pace.min() > 0.4
    assert sum(one.is_proven for one in proven) <= 1


def test_pages_that_change_together_tell_little():
    known = LearnedWeek()
    for day in range(0, 60, 6):  # half of the pages, all at once, at any time
        at = np.full(200, BEGAN + day + 1.0)
        known = known.after(at, at - 1.0, np.arange(200) < 100 * (day % 12 == 0))
    assert known.variation > 20.0
    assert known.fit().pace == pytest.approx(np.ones(BINS), abs=0.5)


@given(st.lists(st.tuples(st.floats(0.0, 9.0), st.booleans()), max_size=20))
@settings(max_examples=40, deadline=None)
def test_whatever_was_fetched_the_pace_is_positive_and_1_in_the_mean(fetched):
    known, now = LearnedWeek(), BEGAN
    for days, changed in fetched:
        now += 0.3
        known = known.after(
            np.array([now]), np.array([now - days]), np.array([changed])
        )
        pace = known.fit().pace
        assert pace.mean() == pytest.approx(1.0)
        assert (pace > 0).all()
        assert abs(known.score) <= week_rhythm.MOST


def test_fetches_a_week_apart_tell_nothing():
    known, at = LearnedWeek(), np.array([BEGAN + 8.0])
    assert known.after(at, at - 8.0, np.ones(1, dtype=bool)) is known


def project(pages, at=BEGAN):
    store = MemoryStore()
    keys = [f"http://a.example/{i}" for i in range(pages)]
    store.add(Item(key, "s", group="a.example") for key in keys)
    run = store.begin(["s"], at, lease=1000.0)

    def fetch(now, text):
        seen = [Observation(k, now, Seen.PRESENT, text, text) for k in keys]
        store.append(run, Observations.of(seen))

    return store, fetch


def view_of(store, now, rate=1.0):
    evidence = store.evidence(["s"])
    return KnownRates(np.full(len(evidence), rate))(evidence, now, now)


def test_forecasts_go_by_the_calendar():
    store, fetch = project(3)
    fetch(BEGAN + 1.0, "a")  # Friday morning: no change before Thursday
    now = BEGAN + 3.0
    plain = view_of(store, now)
    paced = replace(plain, calendar=WeekCalendar(now, {0: THURSDAYS}))
    ahead = np.array([0.0, 4.0, 4.5, 11.0])
    found = freshness_forecast(paced, ahead).mean
    assert found == pytest.approx([1.0, 1.0, exp(-3.5), exp(-7.0)])
    even = freshness_forecast(plain, ahead).mean
    assert even == pytest.approx(np.exp(-2.0 - ahead))


def test_a_rhythm_is_learned_turn_by_turn_and_outlives_the_program():
    store, fetch = project(FEWEST)
    learner = WeekLearner(store, store.evidence(["s"]))
    for turn in range(8):
        learner.begin_turn()
        fetch(BEGAN + turn / 2.0, str(turn // 4))
        learner.end_turn(BEGAN + turn / 2.0)
    known = learner.rhythms["a.example"]
    assert known.watched.sum() == pytest.approx(FEWEST * 3.5, rel=0.05)
    assert known.changes.sum() == pytest.approx(FEWEST, rel=0.05)
    again = WEEK_RHYTHMS.load(store)["a.example"]
    assert again.changes == pytest.approx(known.changes, abs=1e-4)
    assert again.last == known.last
    assert calendar(store, store.evidence(["s"]), BEGAN) is None  # nothing is proven
    assert learner.calendar(BEGAN) is None
    proven = learner.rhythms = {"a.example": replace(known, score=2.0)}
    assert learner.calendar(BEGAN) is not None
    WEEK_RHYTHMS.save(store, proven)
    assert calendar(store, store.evidence(["s"]), BEGAN) is not None


def test_a_few_pages_tell_too_little():
    store, fetch = project(FEWEST - 1)
    learner = WeekLearner(store, store.evidence(["s"]))
    for turn in range(3):
        learner.begin_turn()
        fetch(BEGAN + turn / 2.0, str(turn))
        learner.end_turn(BEGAN + turn / 2.0)
    learner.save()
    assert WEEK_RHYTHMS.load(store) is None


def test_what_cannot_be_read_is_learned_anew():
    store = MemoryStore()
    store.save_note("", "week_rhythms", Note(1, '{"a": {"last": 1, "changes": [1]}}'))
    assert WEEK_RHYTHMS.load(store) is None
