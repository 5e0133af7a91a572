"""When the groups of a listing are due that can be fetched one by one."""

from math import inf

import numpy as np
import pytest

from halflife.core.lifetimes import Collection, Lives
from halflife.market.target_status import FIRST, SOONEST
from halflife.policies.listings import ListingPolicy, ListingTerms
from halflife.policies.listings.group_dues import REMEMBERED, group_dues
from halflife.policies.listings.schedules import GroupSchedule

TERMS = ListingTerms(group="kind")
LOOKS = (0.0, 2.0, 4.0)


class Counted(GroupSchedule):
    """Holds for as many days as the group was fetched, to show what it was given."""

    def holds_part(self, part):
        return float(part.looks.size)


def policy(*, foresees=False, groups=lambda _: Counted()):
    return ListingPolicy("for tests", groups=groups, foresees=foresees)


def listing(kinds=("x", "x", "y"), looks=LOOKS, gone=(), last=None):
    """Return objects of these kinds, all there from the first fetch on."""
    looks = np.array(looks)
    many, first = len(kinds), looks[:1].repeat(len(kinds))
    latest = last or looks[-1:].max(initial=0.0)
    seen = np.array([2.0 if n in gone else latest for n in range(many)])
    end = np.array([4.0 if n in gone else np.inf for n in range(many)])
    column = {"kind": np.array(kinds, object)}
    keys = tuple(map(str, range(many)))
    lives = Lives(keys, np.full(many, -np.inf), first, seen, end, column)
    none = np.zeros(0)
    return Collection("s", looks, lives, none.astype(np.intp), none)


def found(fetched, known=None, parts=(("x",), ("y",)), **how):
    return group_dues(policy(**how), known or listing(), TERMS, parts, fetched)


def test_without_schedules_of_groups_or_a_fetch_nothing_is_due():
    assert group_dues(policy(groups=None), listing(), TERMS, [("x",)], {}) == ()
    empty = listing(kinds=(), looks=())
    assert group_dues(policy(), empty, TERMS, [("x",)], {}) == ()


def test_each_group_is_due_as_long_after_its_last_fetch_as_it_holds():
    x, y = found({})
    assert (x.values, x.size, x.last, x.due) == (("x",), 2, 4.0, 4.0 + 3.0)
    assert (y.values, y.size, y.last, y.due) == (("y",), 1, 4.0, 4.0 + 3.0)


def test_a_group_fetched_alone_is_due_later_and_others_are_not():
    x, y = found({"x": (5.0, 6.5)})
    assert (x.last, x.due) == (6.5, 6.5 + 5.0)
    assert (y.last, y.due) == (4.0, 4.0 + 3.0)


def test_a_group_of_two_values_is_whole_only_when_both_are_fetched_together():
    both = (("x", "y"),)
    known = listing(last=6.0)
    (one,) = found({"x": (5.0, 6.0), "y": (6.0, 7.0)}, known, both)
    assert (one.size, one.last, one.due) == (3, 6.0, 6.0 + 4.0)
    (one,) = found({"x": (5.0, 6.0)}, parts=both)
    assert one.last == 4.0


def test_of_a_group_only_what_is_still_there_counts():
    x, y = found({}, known=listing(gone={0}))
    assert (x.size, y.size) == (1, 1)


def test_before_the_first_fetch_that_is_remembered_nothing_is_known():
    times = np.linspace(10.0, 20.0, REMEMBERED)
    x, _ = found({"x": times.tolist()})
    assert x.due - x.last == REMEMBERED  # those at 0, 2 and 4 days are left out
    fewer = times[1:].tolist()
    x, y = found({"x": fewer})
    assert x.due - x.last == REMEMBERED - 1 + len(LOOKS)
    assert y.due - y.last == len(LOOKS)


@pytest.mark.parametrize("looks", [(3.0, 3.01), (0.0, 2.0, 4.0)])
def test_a_schedule_that_forecasts_looks_no_further_than_it_was_watched(looks):
    class Forever(GroupSchedule):
        def holds_part(self, part):
            del part
            return inf

    known = listing(looks=looks)
    for one in found({}, known=known, foresees=True, groups=lambda _: Forever()):
        assert one.due - one.last == pytest.approx(max(looks[-1] - looks[0], FIRST))


def test_no_group_is_due_at_once():
    class Never(GroupSchedule):
        def holds_part(self, part):
            del part
            return 0.0

    for one in found({}, groups=lambda _: Never()):
        assert one.due - one.last == pytest.approx(SOONEST)
