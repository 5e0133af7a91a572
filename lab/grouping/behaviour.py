"""Pages that behave alike: that change as fast, or at the same time."""

from collections.abc import Sequence

import numpy as np
from numpy.random import Generator

from halflife.core.arrays import Bools, Floats, Ints
from halflife.core.categories import Categories
from halflife.core.history import History
from halflife.grouping.topic import common_terms
from lab.grouping.texts import clusters

PACES = 5
UNKNOWN = "unknown"  # the pace of pages looked at once or never


def paced(
    rate: Floats, known: Bools, group: Ints, groups: Sequence[str], paces: int
) -> Categories:
    """Return the items of each group in classes of rate.

    The class of an item is floor(paces * share), with share the part of its group's
    items that are slower; so items of equal rate are in one class.
    """
    rows = np.flatnonzero(known)
    rows = rows[np.lexsort((rate[rows], group[rows]))]
    place = np.arange(rows.size)
    new_group = np.diff(group[rows], prepend=-1) != 0
    new_rate = new_group | (np.diff(rate[rows], prepend=np.nan) != 0)
    begins = np.maximum.accumulate(np.where(new_group, place, 0))
    slower = np.maximum.accumulate(np.where(new_rate, place, 0)) - begins
    size = np.bincount(group[rows], minlength=len(groups))
    level = np.full(rate.size, paces, np.intp)  # the last: not known
    level[rows] = slower * paces // size[group[rows]]
    names = [
        f"{name} pace {pace}".strip()
        for name in groups
        for pace in (*range(1, paces + 1), UNKNOWN)
    ]
    where = group * (paces + 1) + level
    return common_terms(
        Categories.of_pairs(names, where, np.arange(rate.size), rate.size), 1
    )


def windows(history: History, width: float) -> Categories:
    """Return the pages seen to change in each window of ``width`` days.

    A change counts in the window that holds the middle of its gap. A gap longer than
    a window does not say when, and is left out.
    """
    item, at = history.item, history.at
    length = np.diff(at)
    changed = (np.diff(history.digest) != 0) | (np.diff(history.seen) != 0)
    changed &= (item[1:] == item[:-1]) & (length > 0) & (length <= width)
    middle = (at[1:] + at[:-1])[changed] / 2.0
    number = np.floor(middle / width).astype(np.int64)
    found, code = np.unique(number, return_inverse=True)
    names = [f"day {n * width:g}" for n in found.tolist()]
    return Categories.of_pairs(names, code, item[1:][changed], len(history))


def together(
    seen: Categories, group: Ints, groups: Sequence[str], rng: Generator
) -> Categories:
    """Return pages of one group that were seen to change in the same windows.

    The windows are to a page as words are to a text, and are clustered as those are
    (``lab.grouping.texts``); a window in which all pages of the group change
    tells none from another. Pages that never changed are in no category.
    """
    names: list[str] = []
    category: list[Ints] = []
    item: list[Ints] = []
    for number, name in enumerate(groups):
        mine = group[seen.item] == number
        rows, row = np.unique(seen.item[mine], return_inverse=True)
        part = Categories.of_pairs(seen.names, seen.category[mine], row, rows.size)
        found = clusters(common_terms(part, 1), rng)
        category.append(found.category + len(names))
        item.append(rows[found.item])
        names += [f"{name} together {cluster}".strip() for cluster in found.names]
    none = [np.zeros(0, np.intp)]
    where, who = np.concatenate(none + category), np.concatenate(none + item)
    return Categories.of_pairs(names, where, who, seen.n_items)
