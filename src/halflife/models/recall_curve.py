"""The recall of a set source's copy at any age, interpolated from a few forecasts.

Everything that reports the recall of a copy uses this module, so that the numbers
agree.
"""

from typing import TypeAlias

import numpy as np

from halflife.core.arrays import Floats, Ints
from halflife.core.lifetimes import Collection
from halflife.models.setquality import Band, recall_ahead

PER_DOUBLING = 2  # forecasts for each doubling of the age
LEAST = -10  # the smallest age is 2^(LEAST / PER_DOUBLING) steps, 1/32

Knots: TypeAlias = dict[int, tuple[float, float, float]]


def recall(
    collection: Collection,
    ages: Floats,
    confidence: float = 0.95,
    known: Knots | None = None,
) -> Band:
    """Return the recall of the last snapshot's copy at these ages in days.

    Forecasts are made at ages spaced evenly on a logarithmic scale, in units of the
    median step between snapshots; recall is interpolated linearly between them.
    ``known`` caches forecasts; it is valid until the next snapshot and for one
    confidence.
    """
    known = {} if known is None else known
    observed = collection.looks
    if observed.size < 2:
        return recall_ahead(collection, float(observed[-1:].sum()), ages.tolist())
    step = max(float(np.median(np.diff(observed))), 1e-9)
    below = _below(np.maximum(ages, 0.0) / step)
    _learn(collection, step, confidence, known, np.unique([below, below + 1]))
    places = np.array(sorted(known))
    at = np.concatenate([[0.0], step * _size(places)])
    values = np.array([known[int(place)] for place in places])
    columns = (np.concatenate([[1.0], values[:, i]]) for i in range(3))
    return Band(*(np.interp(np.maximum(ages, 0.0), at, column) for column in columns))


def _below(steps: Floats) -> Ints:
    """Return the index of the last age of the scale up to each of these, in steps."""
    least = 2.0 ** (LEAST / PER_DOUBLING)
    place = np.floor(PER_DOUBLING * np.log2(np.maximum(steps, least)) + 1e-9)
    return np.where(steps < least, LEAST - 1, place).astype(np.intp)


def _size(places: Ints) -> Floats:
    size: Floats = 2.0 ** (places / PER_DOUBLING)
    return size


def _learn(
    collection: Collection, step: float, confidence: float, known: Knots, wanted: Ints
) -> None:
    """Make the forecasts that are not cached yet."""
    new = [int(k) for k in wanted.tolist() if k >= LEAST and k not in known]
    if not new:
        return
    last = float(collection.looks[-1])
    ahead = (step * _size(np.array(new))).tolist()
    band = recall_ahead(collection, last, ahead, confidence)
    for i, place in enumerate(new):
        known[place] = float(band.mean[i]), float(band.low[i]), float(band.high[i])
