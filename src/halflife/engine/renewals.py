"""How often a copy can be renewed, and the quality that this buys.

The rate is limited only by the settings and politeness: the least interval of a source,
the delay between two requests to a host, and the time between two turns.
"""

from math import ceil, log10

import numpy as np

from halflife.config import Config, SourceConfig
from halflife.core.arrays import Floats
from halflife.core.lifetimes import Collection
from halflife.core.value_curve import Worth
from halflife.market.curves import Decay, renewed_quality
from halflife.market.price import QUICKEST
from halflife.models.setquality import recall_ahead

DAY = 86400.0  # seconds
FARTHEST = 365.0  # the longest horizon of a forecast, in days
POINTS, HORIZONS = 6, 4  # of a curve, and of a forecast, for each power of ten


def shortest(config: Config, source: SourceConfig, whole: float) -> float:
    """Return the days between two whole reads that settings and politeness allow.

    A host takes one request at a time, the delay apart, so that ``whole`` requests take
    as many delays.
    """
    return max(source.soonest, whole * config.fetch.delay / DAY, QUICKEST)


def spread(first: float, last: float, each: int) -> Floats:
    """Return numbers from ``first`` to ``last``, ``each`` for each power of ten."""
    steps = max(ceil(each * log10(last / first)), each)
    return np.geomspace(first, last, steps + 1)


def recall_decay(
    collection: Collection, confidence: float, least: float = QUICKEST
) -> Decay:
    """Return the expected decay of the recall of a copy made at the last observation.

    The first horizon may be as short as ``least``, if observations were that close.
    """
    last = float(collection.looks[-1])
    step = float(np.median(np.diff(collection.looks)))
    ahead = spread(min(max(step / 4.0, least), 1.0), FARTHEST, HORIZONS)
    both = max(2.0 * confidence - 1.0, 0.01)
    recall = recall_ahead(collection, last, ahead.tolist(), both)
    return Decay(ahead, recall.mean, recall.low)


def renewed(
    source: SourceConfig,
    measure: str,
    decay: Decay,
    cost: tuple[float, float],
    confidence: float,
) -> Worth:
    """Return the value of renewing a copy at each of several intervals.

    ``cost`` has the requests of a renewal, and the least days between two renewals.
    """
    whole, least = cost
    every = spread(min(least, FARTHEST / 10.0), FARTHEST, POINTS)
    curve = renewed_quality(decay, every, confidence)
    requests = np.concatenate([[0.0], whole / every[::-1]])
    ends = float(decay.mean[-1]), float(decay.low[-1]), 1.0
    mean, low, high = (
        np.maximum.accumulate(np.concatenate([[end], column[::-1]]))
        if end < 1.0
        else np.concatenate([[end], column[::-1]])
        for end, column in zip(ends, curve, strict=True)
    )
    return Worth(source.name, measure, source.weight, requests, mean, low, high)
