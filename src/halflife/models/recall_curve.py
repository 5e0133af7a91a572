"""The recall of a copy of a set source at any age, from a few forecasts.

Everything that states the recall of a copy takes it from here, so that all of them
state the same number.
"""

from typing import TypeAlias

import numpy as np

from halflife.core.arrays import Floats, Ints
from halflife.core.lifetimes import Collection
from halflife.models.setquality import Band, recall_ahead

PER_DOUBLING = 2  # ages at which forecasts are made, each time the age doubles
LEAST = -10  # the least of them is 2^(LEAST / PER_DOUBLING) steps, 1/32

Knots: TypeAlias = dict[int, tuple[float, float, float]]


def recall(
    collection: Collection,
    ages: Floats,
    confidence: float = 0.95,
    known: Knots | None = None,
) -> Band:
    """Return the recall of the copy of the last look, so many days after that look.

    Forecasts are made at ages that lie evenly on a logarithmic scale, counted in the
    usual step between looks; between two of them recall is a line. ``known`` has those
    made before, and gets those made now; they hold until the next look and for one
    confidence.
    """
    known = {} if known is None else known
    looks = collection.looks
    if looks.size < 2:
        return recall_ahead(collection, float(looks[-1:].sum()), ages.tolist())
    step = max(float(np.median(np.diff(looks))), 1e-9)
    below = _below(np.maximum(ages, 0.0) / step)
    _learn(collection, step, confidence, known, np.unique([below, below + 1]))
    places = np.array(sorted(known))
    at = np.concatenate([[0.0], step * _size(places)])
    values = np.array([known[int(place)] for place in places])
    columns = (np.concatenate([[1.0], values[:, i]]) for i in range(3))
    return Band(*(np.interp(np.maximum(ages, 0.0), at, column) for column in columns))


def _below(steps: Floats) -> Ints:
    """Return the number of the age at or before each of these, in steps."""
    least = 2.0 ** (LEAST / PER_DOUBLING)
    place = np.floor(PER_DOUBLING * np.log2(np.maximum(steps, least)) + 1e-9)
    return np.where(steps < least, LEAST - 1, place).astype(np.intp)


def _size(places: Ints) -> Floats:
    size: Floats = 2.0 ** (places / PER_DOUBLING)
    return size


def _learn(
    collection: Collection, step: float, confidence: float, known: Knots, wanted: Ints
) -> None:
    """Make the forecasts that are not known yet."""
    new = [int(k) for k in wanted.tolist() if k >= LEAST and k not in known]
    if not new:
        return
    last = float(collection.looks[-1])
    ahead = (step * _size(np.array(new))).tolist()
    found = recall_ahead(collection, last, ahead, confidence)
    for i, place in enumerate(new):
        known[place] = float(found.mean[i]), float(found.low[i]), float(found.high[i])
