"""What is spent a day, and when a schedule is solved again."""

from math import exp, inf

import numpy as np
import pytest

from halflife.belief.plain import KnownRates, PlainRates
from halflife.belief.schedule import RequestPace, Scheduled, due_dates, lifetime_pace
from halflife.core.evidence import Evidence
from halflife.core.item import Item
from halflife.core.observation import Observations
from store_looks import failed, present

COST = {"a": 1.0, "b": 3.0, "c": 2.0}


def a_set():
    return Evidence.of(Item(key, cost=cost) for key, cost in COST.items())


def look(evidence, at, keys, digest="1"):
    evidence.take(
        evidence.weigh(Observations.of([present(k, at, digest) for k in keys]))
    )


def test_what_is_spent_a_day_fades_over_a_week():
    evidence, pace = a_set(), RequestPace()
    assert pace.follow(evidence, 10.0) is None
    days = requests = 0.0
    last, spent = 10.0, 0.0
    for at, keys in [(10.5, "ab"), (12.0, "c"), (12.5, ""), (16.0, "abc")]:
        look(evidence, at, keys)
        evidence.take(
            evidence.weigh(Observations.of([failed("a", at)]))
        )  # buys nothing
        kept = exp(-(at - last) / 7.0)
        days = kept * days + at - last
        requests = kept * requests + sum(COST[k] for k in keys)
        spent += sum(COST[k] for k in keys)
        last = at
        assert pace.follow(evidence, at) == pytest.approx(requests / days)
        assert pace.follow(evidence, at) == pytest.approx(requests / days)
        assert pace.follow(evidence, at - 1.0) == pytest.approx(requests / days)


def test_before_time_has_passed_what_earlier_runs_spent_is_gone_by():
    evidence = a_set()
    for at in (1.0, 3.0, 5.0):
        look(evidence, at, "a")
    look(evidence, 5.0, "b")
    pace = RequestPace()
    # Looked at three times in four days, and a day has passed since: 2.5 in 5 days.
    assert pace.follow(evidence, 6.0) == pytest.approx(0.5)
    assert pace.follow(evidence, 7.0) == pytest.approx(0.5)  # nothing was spent since
    look(evidence, 8.0, "b")
    kept = exp(-1 / 7.0)
    assert pace.follow(evidence, 8.0) == pytest.approx(3.0 / (kept * 1.0 + 1.0))


def test_requests_over_the_lives_of_items():
    evidence = a_set()
    assert lifetime_pace(evidence, 9.0) is None
    look(evidence, 1.0, "abc")
    assert lifetime_pace(evidence, 9.0) is None
    look(evidence, 3.0, "ab")
    look(evidence, 6.0, "b", "2")
    a, b = 1.5 / (2.0 + 4.0), 2.5 / (5.0 + 1.0)
    assert lifetime_pace(evidence, 7.0) == pytest.approx(1.0 * a + 3.0 * b, rel=1e-3)
    ahead = 1.0 * 1.5 / 2.0 + 3.0 * 2.5 / 5.0  # the clock was set back
    assert lifetime_pace(evidence, 2.0) == pytest.approx(ahead, rel=1e-3)


def test_looks_are_due_an_interval_after_the_last():
    found = due_dates(np.array([5.0, 5.0, -inf, -inf]), np.array([0.5, 0.0, 2.0, 0.0]))
    assert found.tolist() == [7.0, inf, -inf, -inf]


def scheduled(evidence, moments, **more):
    """Return when a schedule was solved, and the due dates at each moment."""
    solved, due = [], []

    def schedule(view, pace):
        solved.append((view.now, pace))
        return np.full(len(view), 4.0)

    belief = Scheduled(schedule, PlainRates(), **more)
    for at, keys in moments:
        look(evidence, at, keys)
        due.append(belief(evidence, at, at).due.tolist())
    return [at for at, _ in solved], due


def test_a_schedule_is_solved_again_after_a_while_and_when_items_come():
    moments = [(1.0 + 0.125 * i, "a") for i in range(8)]
    solved, due = scheduled(a_set(), moments, every=0.25)
    assert solved == [1.125, 1.375, 1.625, 1.875]
    assert due[0] == [2.0, -inf, -inf]  # as long as none is solved: one look a day
    assert due[1] == [1.125 + 0.25, -inf, -inf]


def test_a_schedule_waits_until_it_may_be_solved():
    moments = [(1.0 + 0.125 * i, "a") for i in range(8)]
    solved, due = scheduled(a_set(), moments, every=0.25, wait=0.5)
    assert solved == [1.5, 1.75]
    assert due[3] == [1.375 + 1.0, -inf, -inf]


def test_new_items_and_other_evidence_are_scheduled_at_once():
    evidence, asked = a_set(), []

    def schedule(view, pace):
        asked.append((len(view), view.now))
        return np.ones(len(view))

    belief = Scheduled(schedule, PlainRates(), every=100.0)
    for at in (1.0, 2.0, 3.0):
        look(evidence, at, "a")
        belief(evidence, at, at)
    assert asked == [(3, 2.0)]
    evidence.add([Item("d")])
    belief(evidence, 3.5, 3.5)
    assert asked[1:] == [(4, 3.5)]
    other = a_set()
    look(other, 3.75, "a")
    look(other, 4.0, "a")
    belief(other, 4.5, 4.5)
    assert asked[2:] == [(3, 4.5)]


def test_plain_rates_are_changes_over_quiet_days_and_half_of_each():
    evidence = a_set()
    for at, digest in [(1.0, "1"), (3.0, "1"), (4.0, "2"), (9.0, "2")]:
        look(evidence, at, "a", digest)
    view = PlainRates()(evidence, 9.0, 9.0)
    assert view.rate.tolist() == [1.5 / 7.5, 1.0, 1.0]
    assert view.survival.rate.tolist() == view.rate.tolist()
    known = KnownRates(np.array([0.1, 0.2, 0.3]))(evidence, 9.0, 9.0)
    assert known.rate.tolist() == known.survival.rate.tolist() == [0.1, 0.2, 0.3]


def test_two_looks_at_one_moment_say_nothing_of_a_pace():
    evidence = a_set()
    look(evidence, 1.0, "a")
    look(evidence, 1.0, "a")
    assert evidence.looks[0] == 2
    assert lifetime_pace(evidence, 1.0) is None


def test_what_was_spent_at_this_very_moment_counts_once_time_has_passed():
    evidence, pace = a_set(), RequestPace()
    assert pace.follow(evidence, 10.0) is None
    look(evidence, 10.0, "ab")
    assert pace.follow(evidence, 10.0) is None
    assert pace.follow(evidence, 12.0) == pytest.approx(4.0 / 2.0)


def test_a_single_item_has_an_interval_of_a_day_before_a_schedule_is_solved():
    evidence = Evidence.of([Item("a")])
    look(evidence, 1.0, "a")
    belief = Scheduled(lambda view, pace: np.ones(len(view)), PlainRates())
    assert belief(evidence, 1.0, 1.0).due.tolist() == [2.0]
