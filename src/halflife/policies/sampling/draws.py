"""Which items to sample, with what chances, and when there are enough.

Every item gets one number by chance, and each category takes the members whose
number over their size is smallest (order sampling; Ohlsson, J. Official Statistics
1998). With equal sizes that is a uniform sample of each category. As an item's
number is the same in all its categories, one look serves as many as possible.
"""

from typing import NamedTuple

import numpy as np

from halflife.core.arrays import Bools, Floats, Ints
from halflife.core.categories import Categories
from halflife.core.view import View

ENOUGH = 0.9  # share of the samples wanted with which a decision is made
DEFENCE = 0.5  # share of an unequal sample that is drawn with equal chances


class Draw(NamedTuple):
    """How a turn samples; the same however much of it has been done.

    Attributes:
        wanted: Samples of each category; a part of one is a chance to take one.
        size: By entry: how much likelier than others of its category it is drawn.
        chance: By item: the chance to be in the sample of any category.

    """

    wanted: Floats
    size: Floats
    chance: Floats


def design(
    categories: Categories, wanted: Floats, size: Floats, *, shared: bool
) -> Draw:
    """Return the draw that takes ``wanted`` of each category, by ``size``.

    An entry is drawn with chance pi = min(1, wanted size / sum size). An item of
    several categories is drawn with the largest of its chances where samples are
    shared, and with 1 - product(1 - pi) where each category draws for itself.
    """
    category, item = categories.category, categories.item
    whole = np.bincount(category, weights=size, minlength=len(categories))
    safe = np.where(whole > 0, whole, 1.0)[category]
    entry = np.maximum(wanted[category] * size / safe, 1e-9)
    chance = np.zeros(categories.n_items)
    if shared:
        np.maximum.at(chance, item, entry)
    else:
        np.add.at(chance, item, np.log1p(-np.minimum(entry, 1.0 - 1e-12)))
        chance = -np.expm1(chance)
    return Draw(wanted, size, np.clip(chance, 1e-9, 1.0))


def fitting(
    wanted: Floats, view: View, categories: Categories, requests: float
) -> Floats:
    """Return the samples wanted, no more than can be taken or paid for.

    No category gives more than it has; and where all together cost more than
    ``requests`` all are cut alike, below one sample a category if need be.
    """
    at_hand = view.ready | view.looked
    most = count(categories, at_hand)
    wanted = np.minimum(wanted, most)
    dear = float(view.cost.mean()) if len(view) else 1.0
    return wanted * min(1.0, requests / max(float(wanted.sum()) * dear, 1e-9))


def missing(draw: Draw, view: View, categories: Categories) -> Floats:
    """Return the samples still to be taken in each category; all 0 if enough were.

    Items tried count, whatever they were tried for: that is how a turn knows,
    without a memory, that it has sampled. What fails is not made up for when it
    is little.
    """
    tried = count(categories, view.looked & ~first_seen(view))
    done = np.minimum(tried, np.ceil(draw.wanted))
    short = float(draw.wanted.sum() - done.sum())
    if short < max(1.0, (1.0 - ENOUGH) * float(draw.wanted.sum())):
        return np.zeros(len(categories))
    left = count(categories, view.ready & ~view.looked)
    return np.clip(draw.wanted - tried, 0.0, left)


def pick(
    draw: Draw,
    categories: Categories,
    need: Floats,
    view: View,
    rng: np.random.Generator,
    *,
    shared: bool,
) -> Bools:
    """Return which items to sample, to get what each category still needs."""
    number = rng.random(categories.n_items)[categories.item]
    if not shared:
        number = rng.random(categories.item.size)
    open_ = (view.ready & ~view.looked)[categories.item]
    order = number / np.maximum(draw.size, 1e-12)
    taken = first(categories, order, open_, whole(need, float(rng.random())))
    picked = np.zeros(categories.n_items, dtype=np.bool_)
    picked[categories.item[taken]] = True
    return picked


def first(categories: Categories, order: Floats, open_: Bools, most: Ints) -> Ints:
    """Return the ``most`` open entries of each category that come first in order."""
    entries = np.flatnonzero(open_)
    category = categories.category[entries]
    entries = entries[np.lexsort((order[entries], category))]
    category = categories.category[entries]
    begin = np.searchsorted(category, np.arange(len(categories)))
    return entries[np.arange(entries.size) - begin[category] < most[category]]


def whole(parts: Floats, start: float) -> Ints:
    """Return whole numbers that add up as the parts do, each within one of its own.

    A part is rounded up with the chance that its fraction is, where ``start`` is
    drawn evenly from 0..1 (systematic sampling).

    >>> whole(np.array([0.5, 0.5, 2.0]), 0.25).tolist()
    [0, 1, 2]
    """
    steps = np.floor(np.cumsum(parts) + start + 1e-9)
    return np.diff(steps, prepend=0.0).astype(np.intp)


def importance(view: View, categories: Categories) -> Floats:
    """Return sizes by weight times believed staleness, half of them made even.

    An item is as likely stale as its looks before this turn found it changed, with
    one look more at the common share. Rates and ages would tell more, but they move
    with the look itself, and then nobody could say with what chance it was drawn.
    One half of the chances is even, which bounds what a single look can count for
    (Hesterberg, Technometrics 1995).
    """
    now = compared(view)
    changes = view.changes - (now & view.changed)
    compares = np.maximum(view.looks - now - 1, 0)
    common = float(changes.sum() + 0.5) / float(compares.sum() + 1)
    item, category, n = categories.item, categories.category, len(categories)
    size = (view.weight * (changes + common) / (compares + 1.0))[item]
    total = np.bincount(category, weights=size, minlength=n)
    mean = np.where(total > 0, total / np.maximum(categories.size, 1), 1.0)
    uneven: Floats = (1.0 - DEFENCE) * size / mean[category] + DEFENCE
    return uneven


def compared(view: View) -> Bools:
    """Return which items had a good look in this turn that could show a change.

    Whoever was not tried in this turn was seen before it began, and so was whoever
    failed since.
    """
    others = view.age[~view.looked]
    recent = view.age < float(others.min(initial=np.inf))
    found: Bools = view.looked & view.ready & (view.looks > 1) & recent
    return found


def first_seen(view: View) -> Bools:
    """Return which items were seen for the first time in this turn."""
    found: Bools = view.looked & (view.looks <= 1)
    return found


def count(categories: Categories, what: Bools) -> Floats:
    """Return how many of each category's items are such."""
    such = what[categories.item].astype(np.float64)
    found = np.bincount(categories.category, weights=such, minlength=len(categories))
    return found.astype(np.float64)
