"""Classes of rate and windows of change, against plain loops."""

import numpy as np
import pytest

from halflife.core.history import History
from halflife.core.observation import Observation, Seen
from lab.grouping.behaviour import UNKNOWN, paced, windows


def of(made, n):
    """Return the name of the class of each item."""
    name = [""] * n
    for item, code in zip(made.item.tolist(), made.category.tolist(), strict=True):
        assert not name[item]
        name[item] = made.names[code]
    return name


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("paces", [1, 2, 5])
def test_the_class_of_an_item_is_the_share_of_its_group_that_is_slower(seed, paces):
    rng = np.random.default_rng(seed)
    n = 17
    rate, group = rng.integers(1, 6, n) / 4.0, rng.integers(0, 3, n)
    known = rng.random(n) < 0.7
    found = of(paced(rate, known, group, ("a", "", "c"), paces), n)
    for i in range(n):
        name = ("a", "", "c")[group[i]]
        mates = [j for j in range(n) if known[j] and group[j] == group[i]]
        pace = UNKNOWN
        if known[i]:
            slower = sum(rate[j] < rate[i] for j in mates)
            pace = str(slower * paces // len(mates) + 1)
        assert found[i] == f"{name} pace {pace}".strip()


def test_a_change_counts_in_the_window_of_the_middle_of_its_gap():
    times = {  # item: (at, digest)
        "a": [(0.0, 1), (2.0, 2), (2.0, 3), (6.0, 4)],
        "b": [(1.0, 1), (3.0, 1), (3.5, 2), (5.5, 3)],
        "c": [(4.0, 1), (4.5, 2)],
    }
    looks = [
        Observation(key, at, Seen.PRESENT, str(digest))
        for key, rows in times.items()
        for at, digest in rows
    ]
    gone = Observation("d", 1.0, Seen.PRESENT, "1"), Observation("d", 2.0, Seen.ABSENT)
    history = History.of([*looks, *gone])
    found = windows(history, 2.0)
    pairs = {
        (found.names[code], history.keys[item])
        for item, code in zip(found.item.tolist(), found.category.tolist(), strict=True)
    }
    # The gap without length and the gap of 4 days say nothing of a window.
    assert pairs == {
        ("day 0", "a"),
        ("day 2", "b"),
        ("day 4", "b"),
        ("day 4", "c"),
        ("day 0", "d"),
    }
