"""Estimates of the changed share of each category, and quotas of requests."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from halflife.core.arrays import Floats, Ints
from halflife.core.categories import Categories
from halflife.core.view import View
from halflife.models.fractions import (
    CategorySample,
    Method,
    clopper_pearson,
    prior_strength,
    wilson,
)
from halflife.policies.sampling.sizes import believed

By: TypeAlias = Literal["estimate", "lower", "upper", "posterior", "history"]


@dataclass(frozen=True, slots=True)
class ShareJudge:
    """An estimator of the changed share of a category from its sample.

    Attributes:
        by: The share in the sample (``estimate``; Algorithm 3), the ``lower`` or
            ``upper`` bound of its interval, or a posterior mean: with a prior common to
            all categories (``posterior``), or with the believed share of the category's
            items (``history``). The strength of the prior is learned from how well it
            predicts the samples of all categories.
        method: The kind of interval.
        confidence: The confidence of the interval.

    """

    by: By = "estimate"
    method: Method = "wilson"
    confidence: float = 0.95

    def __call__(
        self, sample: CategorySample, view: View, categories: Categories
    ) -> Floats:
        """Return the estimated share of each category."""
        common = pooled(sample, view, categories)
        if self.by == "estimate":
            return np.where(sample.count > 0, sample.mean, common)
        if self.by in ("lower", "upper"):
            interval = wilson if self.method == "wilson" else clopper_pearson
            bounds = interval(sample.changed, sample.count, confidence=self.confidence)
            return bounds.low if self.by == "lower" else bounds.high
        mean = np.full(len(categories), common)
        if self.by == "history":
            own = believed(view, categories)
            mean = np.where(np.isfinite(own), own, common)
        strength = prior_strength(sample.changed, sample.count, mean)
        # Only the mean is needed; bounds would be slower than all the rest.
        return (strength * mean + sample.changed) / (strength + sample.count)


def pooled(sample: CategorySample, view: View, categories: Categories) -> float:
    """Return the changed share of all samples; the believed share without samples."""
    total = float(sample.count.sum())
    if total > 0:
        return float(sample.changed.sum()) / total
    own = believed(view, categories)
    known = own[np.isfinite(own)]
    return float(known.mean()) if known.size else 0.5


def quotas(share: Floats, most: Floats, requests: float) -> Floats:
    """Return requests by category in proportion to ``share``, limited by ``most``.

    Requests above a category's limit go to the others in the same proportion; if all
    categories with a share are full, the rest goes in proportion to the other limits.

    >>> quotas(np.array([7.0, 3.0]), np.array([90.0, 90.0]), 80.0)
    array([56., 24.])
    >>> quotas(np.array([7.0, 3.0, 0.0]), np.array([30.0, 90.0, 4.0]), 122.0)
    array([30., 90.,  2.])
    """
    taken = _level(share, most, requests)
    full = float(most[share > 0].sum())
    left = np.where(share > 0, 0.0, most)
    return taken + _level(left, left, requests - full) if requests > full else taken


def _level(share: Floats, most: Floats, requests: float) -> Floats:
    """Return min(most, level * share) for the level that spends the requests."""
    has = share > 0
    if not has.any() or requests >= float(most[has].sum()):
        return np.where(has, most, 0.0)
    full = np.where(has, most / np.where(has, share, 1.0), np.inf)
    order = np.argsort(full, kind="stable")[: int(has.sum())]
    # With the first k categories full, the others share the rest.
    below = np.concatenate([[0.0], np.cumsum(most[order])[:-1]])
    above = np.cumsum(share[order][::-1])[::-1]
    level = (requests - below) / above
    k = int(np.argmax(level <= full[order]))
    return np.where(has, np.minimum(most, level[k] * share), 0.0)


def ranks(score: Floats, rng: np.random.Generator) -> Ints:
    """Return the rank of each category, the highest score first; ties are random."""
    order = np.lexsort((rng.random(score.size), -score))
    rank = np.empty(score.size, dtype=np.intp)
    rank[order] = np.arange(score.size)
    return rank


def best_category(categories: Categories, rank: Ints) -> Ints:
    """Return the best-ranked category of each item; each item must have one."""
    place = np.full(categories.n_items, len(categories), dtype=np.intp)
    np.minimum.at(place, categories.item, rank[categories.category])
    return np.argsort(rank)[place]


def adjusted(
    stale: Floats, share: Floats, view: View, categories: Categories
) -> Floats:
    """Return each item's chance to be stale, corrected by its categories' samples.

    If a category's believed stale share is q and its estimated one p, the odds of its
    items are multiplied by p (1 - q) / (q (1 - p)); for several categories by the
    geometric mean.
    """
    own = believed(view, categories)
    q = np.where(np.isfinite(own), own, share)
    gain = _logit(share) - _logit(q)
    item, n = categories.item, categories.n_items
    each = np.bincount(item, weights=gain[categories.category], minlength=n)
    number = np.maximum(np.bincount(item, minlength=n), 1)
    odds: Floats = 1.0 / (1.0 + np.exp(-(_logit(stale) + each / number)))
    return odds


def _logit(p: Floats) -> Floats:
    p = np.clip(p, 1e-4, 1.0 - 1e-4)
    return np.log(p) - np.log1p(-p)
