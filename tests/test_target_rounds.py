"""Rounds of pages with a target: what counts as seen, and when they end."""

from types import SimpleNamespace

import numpy as np
import pytest

from halflife.core.view import View
from halflife.kinds.pages.target import PageSnapshot
from halflife.market.target_rule import Goal
from halflife.market.target_status import TargetMemory

BEGAN, PAGES, RATE = 20_000.0, 80, 0.02
SURE = Goal(0.95, 0.95)


class Even:
    """Pages that change at a constant rate."""

    def alive(self, t):
        return np.exp(-RATE * t)

    lasting = moment = alive  # not asked for


def snapshot(now, seen, changed, goal=SURE):
    """Return the pages of a source, when each was seen last and if it differed."""
    n = len(seen)
    zero, one = np.zeros(n), np.ones(n)
    age = now - np.asarray(seen, float)
    view = View(
        now, [str(i) for i in range(n)], one, one, np.zeros(n, int), RATE * one,
        Even(), age, np.full(n, 9), np.zeros(n, int), zero > 0,
        np.asarray(changed, bool), one > 0, zero[:0], age, zero, one,
    )  # fmt: skip
    state = SimpleNamespace(
        pages=(view, np.arange(n)), now=now, source=SimpleNamespace(name="docs"),
        reading=SimpleNamespace(shortest=lambda *_: 0.0),
    )  # fmt: skip
    return PageSnapshot(state, goal)


def begun(goal=SURE, length=0.1):
    """Return the memory of a round that has just begun."""
    pages = snapshot(BEGAN, np.full(PAGES, BEGAN - 0.5), np.zeros(PAGES), goal)
    chances = np.full(PAGES, 1.0 - np.exp(-RATE * 0.5))
    _, memory = pages.stand(TargetMemory(began=BEGAN, length=length, chances=chances))
    assert memory.began == BEGAN
    return memory


def seen(many, at=BEGAN):
    """Return when pages were seen if so many were fetched in the round."""
    times = np.full(PAGES, BEGAN - 0.5)
    times[:many] = at
    return times


def test_pages_fetched_at_the_moment_a_round_begins_are_seen():
    found = np.arange(PAGES) < 3
    status, memory = snapshot(BEGAN + 0.01, seen(8), found).stand(begun())
    assert memory.began == BEGAN
    assert "8 of 80 pages fetched" in status.reason


@pytest.mark.parametrize("changed", [1, 3])
def test_a_round_that_found_a_burst_fetches_the_rest_before_it_ends(changed):
    found, late = np.arange(PAGES) < changed, BEGAN + 0.2
    status, memory = snapshot(late, seen(8), found).stand(begun())
    assert (memory.began, status.requests) == (BEGAN, PAGES - 8)
    _, after = snapshot(late + 0.01, seen(PAGES), found).stand(memory)
    assert after.began == late + 0.01
    assert after.past.days > memory.past.days


def test_a_round_that_found_no_more_than_was_believed_ends_in_time():
    pages = snapshot(BEGAN + 0.2, seen(8), np.zeros(PAGES))
    assert pages.stand(begun())[1].began == BEGAN + 0.2


def test_a_round_for_a_mean_ends_in_time_whatever_it_found():
    goal, found = Goal(0.95), np.arange(PAGES) < 3
    pages = snapshot(BEGAN + 0.2, seen(8), found, goal)
    assert pages.stand(begun(goal))[1].began == BEGAN + 0.2


def test_no_round_is_longer_than_a_day():
    found = np.arange(PAGES) < 3
    _, memory = snapshot(BEGAN + 1.1, seen(8), found).stand(begun())
    assert memory.began == BEGAN + 1.1
