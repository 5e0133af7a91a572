"""Sample designs: which items to sample, with which chances, and how many.

Every item gets one random number, and each category takes the members with the smallest
ratio of number and size (order sampling; Ohlsson, J. Official Statistics 1998). With
equal sizes that is a uniform sample of each category. As an item has the same number in
all its categories, one fetch counts in as many as possible.
"""

from typing import NamedTuple

import numpy as np

from halflife.core.arrays import Bools, Floats, Ints
from halflife.core.categories import Categories
from halflife.core.view import View

ENOUGH = 0.9  # share of the wanted sample that is enough for a decision
DEFENCE = 0.5  # share of an unequal sample drawn with equal chances


class Draw(NamedTuple):
    """The sample design of a turn; the same at each step of the turn.

    Attributes:
        wanted: The sample size of each category; fractions are rounded at random.
        size: By entry: the relative chance to be drawn within its category.
        chance: By item: the chance to be in the sample of any category.

    """

    wanted: Floats
    size: Floats
    chance: Floats


def design(
    categories: Categories, wanted: Floats, size: Floats, *, shared: bool
) -> Draw:
    """Return the design that draws ``wanted`` of each category, by ``size``.

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
    """Return the wanted sample sizes, limited by the items and the budget.

    No sample exceeds the available items of its category; if all samples cost more than
    ``requests``, all are scaled down alike, even below one item.
    """
    at_hand = view.ready | view.looked
    most = count(categories, at_hand)
    wanted = np.minimum(wanted, most)
    mean_cost = float(view.cost.mean()) if len(view) else 1.0
    return wanted * min(1.0, requests / max(float(wanted.sum()) * mean_cost, 1e-9))


def missing(draw: Draw, view: View, categories: Categories) -> Floats:
    """Return the samples still needed in each category; all 0 if there are enough.

    All tried items count, so a turn knows without a memory that it has sampled. A few
    failures are not replaced.
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
    """Return which items to sample for the needs of each category."""
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
    """Return the parts rounded to integers with about the same sum.

    A part is rounded up with the chance of its fraction if ``start`` is uniform in 0..1
    (systematic sampling).

    >>> whole(np.array([0.5, 0.5, 2.0]), 0.25).tolist()
    [0, 1, 2]
    """
    steps = np.floor(np.cumsum(parts) + start + 1e-9)
    return np.diff(steps, prepend=0.0).astype(np.intp)


def importance(view: View, categories: Categories) -> Floats:
    """Return sizes by weight times believed staleness, mixed half with equal sizes.

    The staleness of an item is the share of its fetches before this turn that found a
    change, with one pseudo-observation at the common share. Rates and ages would be
    more informative, but they change with the fetch itself, and then the chance of the
    draw would be unknown. The equal half bounds the weight of a single fetch
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
    """Return which items were fetched in this turn and could show a change.

    Items not tried in this turn were last seen before it began, and so were items that
    failed in it.
    """
    others = view.age[~view.looked]
    recent = view.age < float(others.min(initial=np.inf))
    is_compared: Bools = view.looked & view.ready & (view.looks > 1) & recent
    return is_compared


def first_seen(view: View) -> Bools:
    """Return which items were seen for the first time in this turn."""
    is_first: Bools = view.looked & (view.looks <= 1)
    return is_first


def count(categories: Categories, what: Bools) -> Floats:
    """Return how many items of each category are selected by ``what``."""
    selected = what[categories.item].astype(np.float64)
    total = np.bincount(
        categories.category, weights=selected, minlength=len(categories)
    )
    return total.astype(np.float64)
