"""Many sources of pages at once: how good their copies are, and what requests buy.

What ``freshness_forecast`` and ``worths.Appraiser`` say of one source is computed
here for thousands in a few passes over all pages.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from halflife import special
from halflife.arrays import Floats, Ints
from halflife.models.quality import beta_bounds
from halflife.view import View
from halflife.worth import Worth

POINTS = 24  # of a curve
LOWEST, HIGHEST = 1e-5, 0.9999  # prices of a look, as shares of the highest
_TABLE = np.geomspace(1e-4, 40.0, 4000)  # rate times interval


@dataclass(frozen=True, slots=True)
class Owned:
    """Pages and the sources they belong to.

    Attributes:
        view: What is believed of all pages.
        code: The place of each page's source.
        n: How many sources there are.

    """

    view: View
    code: Ints
    n: int

    def total(self, values: Floats) -> Floats:
        """Return the sum of a column for each source."""
        return np.asarray(np.bincount(self.code, values, self.n), np.float64)

    @property
    def share(self) -> Floats:
        """What part each page is of its source, by weight."""
        whole = np.maximum(self.total(self.view.weight), 1e-12)
        part: Floats = self.view.weight / whole[self.code]
        return part


def forecasts(
    owned: Owned, ahead: Floats, confidence: float = 0.95
) -> tuple[Floats, Floats, Floats]:
    """Return mean, low and high of freshness; a row a source, a column a moment.

    As ``halflife.models.quality.freshness_forecast`` says it of each source alone.
    """
    view, share = owned.view, owned.share
    mean, variance = (np.zeros((owned.n, ahead.size)) for _ in range(2))
    pair = _pairs(owned) if view.doubt.any() else None
    for i, later in enumerate(ahead.tolist()):
        age = np.where(view.held, view.exposure + later, 0.0)
        alive = np.where(view.held, view.survival.alive(age), 0.0)
        mean[:, i] = np.clip(owned.total(share * alive), 0.0, 1.0)
        variance[:, i] = owned.total(share**2 * alive * (1.0 - alive))
        if pair is not None:
            variance[:, i] += _shared(owned, pair, age)
    variance = np.minimum(variance, mean * (1.0 - mean))
    low, high = beta_bounds(mean.ravel(), variance.ravel(), confidence)
    return mean, low.reshape(mean.shape), high.reshape(mean.shape)


def _pairs(owned: Owned) -> tuple[Ints, Ints]:
    """Return the pair of source and group of each page, and each pair's source."""
    both = owned.code * (int(owned.view.group.max(initial=0)) + 1) + owned.view.group
    _, first, inverse = np.unique(both, return_index=True, return_inverse=True)
    return inverse, owned.code[first]


def _shared(owned: Owned, pair: tuple[Ints, Ints], age: Floats) -> Floats:
    """Return the variance that groups add as a whole."""
    view, (inverse, source) = owned.view, pair
    early = view.survival.alive(np.maximum(age - view.doubt, 0.0))
    late = view.survival.alive(age + view.doubt)
    swing = np.where(view.held, early - late, 0.0) / 2.0
    each = np.bincount(inverse, owned.share * swing, source.size)
    return np.asarray(np.bincount(source, each**2, owned.n), np.float64)


def worths(owned: Owned, names: Sequence[str], weight: Floats) -> list[Worth | None]:
    """Return what requests buy at each source; None where nothing was looked at.

    At a price p of a request, a page of share w, rate r and cost c is looked at every
    x / r days with 1 - (1 + x) exp(-x) = p c r / w, or never if no x does: all that
    any budget of its source would do, so the prices draw the whole curve. Bounds are
    left wide open: for so many sources they take longer than all the rest.
    """
    view, share = owned.view, owned.share
    first = share / np.maximum(view.rate * view.cost, 1e-12)  # the highest price
    top = np.zeros(owned.n)
    np.maximum.at(top, owned.code, first)
    gained = special.gammainc(2.0, _TABLE)
    requests, mean = (np.zeros((owned.n, POINTS)) for _ in range(2))
    for k, part in enumerate(np.geomspace(LOWEST, HIGHEST, POINTS)[::-1]):
        y = part * top[owned.code] / first
        looked = (y < 1.0) & (view.rate > 0)
        x = np.interp(np.minimum(y, 1.0), gained, _TABLE)
        every = np.where(looked, x / np.maximum(view.rate, 1e-12), 1.0)
        fresh = view.survival.lasting(every) / every
        fresh = np.where(looked, fresh, (view.rate == 0).astype(np.float64))
        requests[:, k] = owned.total(np.where(looked, view.cost / every, 0.0))
        mean[:, k] = owned.total(share * fresh)
    held = owned.total(view.held.astype(np.float64)) > 0
    return [
        _worth(name, float(weight[i]), requests[i], mean[i]) if held[i] else None
        for i, name in enumerate(names)
    ]


def _worth(name: str, weight: float, requests: Floats, mean: Floats) -> Worth:
    """Return the curve through the points at which more requests are spent."""
    x, y = np.concatenate([[0.0], requests]), np.concatenate([[0.0], mean])
    kept = np.concatenate([[True], np.diff(np.maximum.accumulate(x)) > 1e-12])
    mean = np.maximum.accumulate(np.clip(y[kept], 0.0, 1.0))
    none, all_ = np.zeros(mean.size), np.ones(mean.size)
    return Worth(name, "freshness", weight, x[kept], mean, none, all_)
