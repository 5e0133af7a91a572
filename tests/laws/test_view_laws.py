"""What is read off the evidence for a view: ages, pauses, and what was just tried."""

from math import inf

import numpy as np
import pytest

from halflife.belief import days_since, pause_left, ready, view_of
from halflife.core.evidence import Evidence
from halflife.core.item import Item
from halflife.core.observation import Observations
from halflife.models.poisson import Exponential
from store_looks import failed, present

MINUTE = 1.0 / 1440.0


def seen(*looks, keys="abc"):
    evidence = Evidence.of(
        Item(key, weight=1.0 + i, cost=2.0 + i, group=key) for i, key in enumerate(keys)
    )
    evidence.take(evidence.weigh(Observations.of(looks)))
    return evidence


def test_days_since_a_look_are_never_negative_and_a_wrong_clock_is_turned_round():
    at = np.array([99.0, 100.0, 101.0, 130.0, 130.5, 165.0])
    assert days_since(at, 100.0).tolist() == [1.0, 0.0, 0.0, 0.0, 30.5, 65.0]


@pytest.mark.parametrize(
    ("failures", "minutes"),
    [(0, 0), (1, 5), (2, 10), (3, 20), (9, 1280), (10, 1440), (11, 1440), (5000, 1440)],
)
def test_the_pause_doubles_from_five_minutes_to_a_day(failures, minutes):
    many = np.array([failures])
    found = pause_left(many, np.array([7.0]), 7.0)
    assert found == pytest.approx([minutes * MINUTE])
    over = 7.0 + minutes * MINUTE
    assert pause_left(many, np.array([7.0]), over + MINUTE) == pytest.approx(
        [-MINUTE if failures else 0.0]
    )
    assert not failures or not ready(many, np.array([7.0]), over - MINUTE)[0]
    assert ready(many, np.array([7.0]), over + 1e-9)[0]


def test_who_never_failed_is_ready_beside_others_who_did():
    found = ready(np.array([0, 1, 0]), np.array([5.0, 5.0, -inf]), 5.0)
    assert found.tolist() == [True, False, True]
    assert ready(np.zeros(2, int), np.array([5.0, -inf]), 5.0).tolist() == [True, True]


def test_a_pause_is_over_exactly_when_it_has_passed():
    # A day, in numbers that are exact.
    assert ready(np.array([10]), np.array([7.0]), 8.0)[0]


def test_a_view_says_what_the_looks_say():
    evidence = seen(present("a", 1.0, "x"), present("a", 3.0, "y"), failed("b", 4.0))
    rate = np.array([0.1, 0.2, 0.3])
    view = view_of(evidence, 5.0, 3.0, rate, Exponential(rate))
    assert view.age.tolist() == [2.0, inf, inf]
    assert view.exposure.tolist() == [2.0, inf, inf]
    assert view.looked.tolist() == [True, True, False]
    assert view.looks.tolist() == [2, 0, 0]
    assert view.changes.tolist() == [1, 0, 0]
    assert view.changed.tolist() == [True, False, False]
    assert view.ready.tolist() == [True, True, True]
    assert view.weight.tolist() == [1.0, 2.0, 3.0]
    assert view.cost.tolist() == [2.0, 3.0, 4.0]
    assert view.doubt.tolist() == [0.0] * 3
    assert view.room.tolist() == [inf] * 3
    assert view.due.size == 0
    assert view.held.tolist() == [True, False, False]


@pytest.mark.parametrize(
    ("since", "now", "looked"),
    [(3.0, 3.0, True), (2.9, 3.1, True), (3.1, 4.0, False), (2.0, 2.9, False)],
)
def test_a_look_is_of_this_turn_from_its_beginning_until_now(since, now, looked):
    evidence = seen(present("a", 3.0))
    rate = np.ones(3)
    view = view_of(evidence, now, since, rate, Exponential(rate))
    assert view.looked.tolist() == [looked, False, False]


def test_some_rows_are_viewed_as_they_are_among_all():
    evidence = seen(present("a", 1.0), present("b", 2.0), failed("c", 3.0))
    rate = np.array([0.1, 0.2, 0.3])
    rows = np.array([2, 0])
    all_of_them = view_of(evidence, 4.0, 2.0, rate, Exponential(rate))
    some = view_of(evidence, 4.0, 2.0, rate[rows], Exponential(rate[rows]), rows=rows)
    assert tuple(some.keys) == ("c", "a")
    for name in ("weight", "cost", "group", "age", "looks", "looked", "ready"):
        whole = getattr(all_of_them, name)
        assert getattr(some, name).tolist() == whole[rows].tolist(), name


def test_a_view_stays_as_it_is_when_more_is_seen():
    evidence = seen(present("a", 1.0, "x"))
    rate = np.ones(3)
    view = view_of(evidence, 2.0, 0.0, rate, Exponential(rate))
    evidence.take(evidence.weigh(Observations.of([present("a", 2.0, "y")])))
    assert (view.looks[0], view.changes[0], view.changed[0]) == (1, 0, False)
    view.exposure[0] = 9.0
    assert view.age[0] == 1.0
