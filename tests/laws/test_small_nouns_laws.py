"""Laws of small parts: who has gone for good, topics of some rows, even groups."""

from dataclasses import replace
from math import inf

import numpy as np

from halflife.core.categories import Categories
from halflife.core.lifetimes import Collection, Lives
from halflife.core.view import Unrest, evenly
from halflife.policies.laws import unseen_view
from halflife.policies.view_rows import take_rows


def test_who_came_back_has_not_gone():
    """a went and came back, b went for good, c is there."""
    lives = Lives(
        keys=("a", "b", "a", "c"),
        absent_before=np.array([-inf, -inf, 3.0, -inf]),
        first_seen=np.array([0.0, 0.0, 4.0, 0.0]),
        last_seen=np.array([1.0, 2.0, 5.0, 5.0]),
        gone_by=np.array([2.0, 3.0, inf, inf]),
        attributes={},
    )
    none = np.zeros(0)
    known = Collection("x", np.arange(6.0), lives, none.astype(int), none)
    assert known.gone().tolist() == [1]


def test_some_rows_keep_their_topics():
    topics = Categories.of_pairs(
        ("tea", "cup"), np.array([0, 1, 0]), np.array([0, 2, 3]), 4
    )
    view = replace(unseen_view(4), topics=lambda: topics)
    some = take_rows(view, np.array([3, 2])).topics()
    assert some.names == ("tea", "cup")
    pairs = zip(some.category.tolist(), some.item.tolist(), strict=True)
    assert sorted(pairs) == [(0, 0), (1, 1)]
    assert take_rows(unseen_view(4), np.array([1])).topics() is None


def test_groups_change_evenly_until_somebody_knows_better():
    assert evenly() == Unrest(days=0.0, watched=inf, pace=1.0)
