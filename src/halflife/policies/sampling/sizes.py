"""Sample sizes of categories.

N is the average size of a category and r the budget over the number of items.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from halflife.core.arrays import Floats
from halflife.core.categories import Categories
from halflife.core.view import View

Scale: TypeAlias = Literal["even", "pages", "sizes"]
# Sample sizes of categories, given the requests of the whole turn.
SampleSize: TypeAlias = Callable[[View, Categories, float], Floats]


@dataclass(frozen=True, slots=True)
class FixedSize:
    """The same sample size in every category."""

    samples: float

    def __call__(self, view: View, categories: Categories, requests: float) -> Floats:
        """Return the sample size of each category."""
        del view, requests
        return np.full(len(categories), float(self.samples))


@dataclass(frozen=True, slots=True)
class Root:
    """sqrt(N r) in a category of average size (Taleghani and Ugur-Ozekinci, s. 4.1).

    Attributes:
        scale: The scaling between categories of unequal size: ``even``; times
            n |C| / |R| (``pages``; Eq. 8, |R| items in n categories); or times
            n |C| / sum |C| (``sizes``), which is fair where they overlap.

    """

    scale: Scale = "sizes"

    def __call__(self, view: View, categories: Categories, requests: float) -> Floats:
        """Return the sample size of each category."""
        room = _average(categories) * requests / max(len(view), 1)
        return scaled(float(np.sqrt(room)), categories, self.scale)


@dataclass(frozen=True, slots=True)
class Optimal:
    """sqrt(N r f(p_t) / (6 (p_r - p))), Eq. 7 (Cho and Ntoulas 2002).

    p_t is the changed share of the last category within the budget, with the most
    changed first, f the density of the categories' shares, p_r the mean share of those
    above p_t and p that of all. The shares are those of the latest fetches before this
    turn (``last``), or believed ones (``belief``). Without informative shares the
    factor is 1, as in ``Root``.
    """

    scale: Scale = "sizes"
    source: Literal["last", "belief"] = "last"

    def __call__(self, view: View, categories: Categories, requests: float) -> Floats:
        """Return the sample size of each category."""
        last = self.source == "last"
        share = last_share(view, categories) if last else believed(view, categories)
        factor = spread_factor(share, categories.size.astype(np.float64), requests)
        room = _average(categories) * requests / max(len(view), 1)
        return scaled(float(np.sqrt(room * factor)), categories, self.scale)


def scaled(samples: float, categories: Categories, scale: Scale = "sizes") -> Floats:
    """Return samples by category, Eq. 8: in proportion to the categories' sizes.

    >>> two = Categories(("a", "b"), np.array([0, 3, 4]), np.array([0, 1, 2, 2]), 3)
    >>> scaled(2.0, two), scaled(2.0, two, "pages")
    (array([3., 1.]), array([4.        , 1.33333333]))
    """
    size = categories.size.astype(np.float64)
    if scale == "even":
        return np.full(size.size, samples)
    whole = float(size.sum()) if scale == "sizes" else float(categories.n_items)
    return samples * size.size * size / max(whole, 1.0)


def spread_factor(share: Floats, size: Floats, requests: float) -> float:
    """Return f(p_t) / (6 (p_r - p)) of Eq. 7; 1 if it cannot be estimated.

    The density is a Gaussian kernel's, with Silverman's bandwidth.

    >>> even = (np.arange(1000) + 0.5) / 1000  # f = 1, p_t = 0.8, p_r = 0.9, p = 0.5
    >>> round(spread_factor(even, np.ones(1000), 200.0), 2)
    0.41
    """
    known = np.isfinite(share) & (size > 0)
    p, size = share[known], size[known]
    if p.size < 3:
        return 1.0
    order = np.argsort(-p, kind="stable")
    reached = np.searchsorted(np.cumsum(size[order]), requests)
    threshold = p[order[min(int(reached), p.size - 1)]]
    above = p > threshold
    gap = float(p[above].mean() - p.mean()) if above.any() else 0.0
    width = 1.06 * float(p.std()) * p.size**-0.2
    if gap <= 1e-3:
        return 1.0
    bumps = np.exp(-0.5 * ((threshold - p) / width) ** 2)
    density = float(bumps.mean() / (width * np.sqrt(2 * np.pi)))
    # Limit the factor: estimates beyond 1/100 and 100 are unreliable.
    return float(np.clip(density / (6.0 * gap), 0.01, 100.0))


def last_share(view: View, categories: Categories) -> Floats:
    """Return the changed share of each category in its latest fetches.

    Fetches of this turn do not count, so that the result is constant within a turn.
    nan without fetches.
    """
    is_known = (view.looks > 1) & ~view.looked
    return _mean(
        categories, view.changed.astype(np.float64), is_known.astype(np.float64)
    )


def believed(view: View, categories: Categories) -> Floats:
    """Return the believed changed share of each category now.

    Items tried in this turn do not count; nan if there are no others.
    """
    return _mean(categories, staleness(view), (~view.looked).astype(np.float64))


def staleness(view: View) -> Floats:
    """Return the believed chance that each copy is out of date; 1 if never seen."""
    since = np.where(view.held, view.exposure, 0.0)
    stale: Floats = np.where(view.held, 1.0 - view.survival.alive(since), 1.0)
    return np.clip(stale, 0.0, 1.0)


def _mean(categories: Categories, value: Floats, weight: Floats) -> Floats:
    item, category, n = categories.item, categories.category, len(categories)
    total = np.bincount(category, weights=weight[item], minlength=n)
    found = np.bincount(category, weights=(value * weight)[item], minlength=n)
    return np.where(total > 0, found / np.where(total > 0, total, 1.0), np.nan)


def _average(categories: Categories) -> float:
    return categories.item.size / max(len(categories), 1)
