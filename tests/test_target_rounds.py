"""Rounds of pages with a target: what counts as seen, and when they end."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from halflife.core.view import View
from halflife.kinds.pages.target import QUARTER, PageSnapshot
from halflife.market.burst_rows import BurstRows
from halflife.market.target_rule import TIMES, Goal, LossHistory
from halflife.market.target_status import FIRST, TargetMemory

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


def after_a_burst(goal=SURE, ages=None, past=None):
    """Return the memory after a round in which six of all pages had changed."""
    memory = replace(begun(goal), past=past or LossHistory())
    memory = memory if ages is None else replace(memory, ages=ages)
    pages = snapshot(BEGAN + 1.0, seen(PAGES, BEGAN + 0.9), np.arange(PAGES) < 6, goal)
    return pages.stand(memory)[1]


def test_a_round_after_a_burst_is_so_short_that_few_moments_can_be_missed():
    calm = snapshot(BEGAN + 0.2, seen(8), np.zeros(PAGES)).stand(begun())[1]
    busy, usual = after_a_burst(), QUARTER * SURE.loss / RATE
    assert busy.began == BEGAN + 1.0
    assert busy.past.rows.heat > 0.9
    assert calm.past.rows.heat < 0.3
    assert busy.length < usual / 2.0
    assert after_a_burst(Goal(0.95)).length == usual


def test_no_round_is_shorter_than_an_hour_because_of_bursts():
    large = tuple(np.where(TIMES > 50.0, 90.0, 0.0))
    row = LossHistory(times=large, lately=large, rows=BurstRows(9.0, 9.0, 5.0))
    assert after_a_burst(past=row).length == FIRST


def test_days_below_the_level_are_counted_from_the_fetch_before_a_burst():
    ages = np.full(PAGES, 9.0)
    ages[3] = 0.5  # page 3 changed after this, 1.5 days ago, and was found 0.1 ago
    known, unknown = after_a_burst(ages=ages), after_a_burst()
    assert known.past.missed == pytest.approx((1.5 + 0.1) / 2.0 - 0.1)
    assert unknown.past.missed == pytest.approx(1.0)
    ages[:] = 9.0
    assert after_a_burst(ages=ages).past.missed == pytest.approx((10.0 + 0.1) / 2 - 0.1)
    assert known.ages == pytest.approx(np.full(PAGES, 0.1))


def test_a_round_for_a_mean_ends_in_time_whatever_it_found():
    goal, found = Goal(0.95), np.arange(PAGES) < 3
    pages = snapshot(BEGAN + 0.2, seen(8), found, goal)
    assert pages.stand(begun(goal))[1].began == BEGAN + 0.2


def test_no_round_is_longer_than_a_day():
    found = np.arange(PAGES) < 3
    _, memory = snapshot(BEGAN + 1.1, seen(8), found).stand(begun())
    assert memory.began == BEGAN + 1.1
