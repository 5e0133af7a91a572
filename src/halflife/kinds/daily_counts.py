"""Counts on each of the last days, for the page of a source."""

import math

import numpy as np

from halflife.core.arrays import Floats

DAYS = 30  # of a timeline


def last_days(first: float, now: float) -> Floats:
    """Return the last days, not before the first one with data."""
    today = math.floor(now)
    return np.arange(max(today - DAYS + 1, math.floor(first)), today + 1.0)


def daily(at: Floats, days: Floats) -> Floats:
    """Return how many moments fall on each day.

    >>> daily(np.array([1.2, 1.9, 3.0]), np.array([1.0, 2.0, 3.0])).tolist()
    [2.0, 0.0, 1.0]
    """
    edges = np.append(days, days[-1] + 1.0)
    return np.histogram(at, edges)[0].astype(np.float64)
