"""The quality of a copy in the past, known from later observations.

Whether a page had changed at a moment is known once it was observed again: if it had
not changed by then, the copy was right all the time; if it had, the change lies
somewhere in between, and the probability that the copy was still right falls linearly
from one observation to the next. After the last observation the outcome is unknown:
there the probability falls exponentially, at the one rate with which the copy now is as
fresh as it is believed to be.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np

from halflife.core.arrays import Bools, Floats

SURE = 1.96  # standard deviations that 95 % lie within
HIGHEST_RATE = 1e6  # changes a day; a page believed to change faster is never fresh


@dataclass(frozen=True, slots=True)
class FetchGaps:
    """Gaps between two successful observations of a page, one row each.

    Attributes:
        start: When the page was observed, in days.
        end: When it was observed again; inf if it was not.
        changed: Whether it had changed by then; false if it was not observed again.

    """

    start: Floats
    end: Floats
    changed: Bools


@dataclass(frozen=True, slots=True)
class PastFreshness:
    """Freshness at moments of the past; nan where nothing was held."""

    at: Floats
    mean: Floats
    low: Floats
    high: Floats

    @classmethod
    def none(cls) -> Self:
        """Return a past without data."""
        nothing = np.zeros(0)
        return cls(nothing, nothing, nothing, nothing)


def past_freshness(
    gaps: FetchGaps, at: Floats, now: float, believed: float
) -> PastFreshness:
    """Return the share of pages with a right copy at each moment, with 95 % bounds.

    The bounds allow for unknown times of changes and for the sample of pages.

    >>> start, end = np.array([0.0, 0.0]), np.array([4.0, 4.0])
    >>> gaps = FetchGaps(start, end, np.array([True, False]))
    >>> past_freshness(gaps, np.array([1.0, 3.0]), 4.0, 1.0).mean
    array([0.875, 0.625])
    """
    chance = _chances(gaps, np.asarray(at, dtype=np.float64), now, believed)
    held = np.isfinite(chance)
    n = held.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(held, chance, 0.0).sum(axis=0) / n
        half_width = SURE * np.sqrt(mean * (1.0 - mean) / n)
    low, high = (
        np.clip(mean - half_width, 0.0, 1.0),
        np.clip(mean + half_width, 0.0, 1.0),
    )
    return PastFreshness(at, mean, low, high)


def past_recall(
    observed: Floats, first_seen: Floats, last_seen: Floats, since: float, most: int
) -> PastFreshness:
    """Return the share of a listing's objects that the copy had, since a moment.

    A copy made at snapshot a has, at snapshot b, the objects in both; in between its
    recall falls linearly from 1. More than ``most`` gaps are summarised by as many
    periods, each with its mean.

    Args:
        observed: The times of complete snapshots, in order.
        first_seen: The first snapshot with each object.
        last_seen: The last snapshot with it.
        since: The moment from which on recall is returned.
        most: The largest number of gaps returned one by one.

    >>> observed = np.array([0.0, 2.0, 4.0])
    >>> first, last = np.array([0.0, 2.0, 0.0]), np.array([4.0, 4.0, 2.0])
    >>> past = past_recall(observed, first, last, 0.0, 10)
    >>> past.at, past.mean
    (array([0., 2., 2., 4.]), array([1.        , 0.66666667, 1.        , 1.        ]))

    """
    begin, end = observed[:-1], observed[1:]
    since_then = (begin >= since) & (end > begin)
    begin, end = begin[since_then], end[since_then]
    if not begin.size:
        return PastFreshness.none()
    born, died = np.sort(first_seen), np.sort(last_seen)
    gone = np.searchsorted(died, begin, side="right")
    stayed = np.searchsorted(born, begin, side="right") - gone
    present = np.searchsorted(born, end, side="right") - gone
    recall = np.where(present > 0, stayed / np.maximum(present, 1), 1.0)
    if begin.size > most:
        return _thinned(begin, end, recall, most)
    at = np.stack([begin, end], axis=1).ravel()
    mean = np.stack([np.ones_like(recall), recall], axis=1).ravel()
    return PastFreshness(at, mean, mean, mean)


def _thinned(begin: Floats, end: Floats, recall: Floats, most: int) -> PastFreshness:
    """Return the mean recall in periods of time, each at its middle."""
    edges = np.linspace(float(begin[0]), float(end[-1]), most + 1)
    place = np.searchsorted(edges, begin, side="right") - 1
    length = end - begin
    total = np.bincount(place, length, most)
    held = total > 0
    mean = np.bincount(place, length * (1.0 + recall) / 2.0, most)[held] / total[held]
    middle = ((edges[1:] + edges[:-1]) / 2.0)[held]
    return PastFreshness(middle, mean, mean, mean)


def _chances(gaps: FetchGaps, at: Floats, now: float, believed: float) -> Floats:
    """Return by gap and moment the probability of a right copy; nan outside the gap."""
    start, end = gaps.start[:, None], gaps.end[:, None]
    is_open = ~np.isfinite(end)
    inside = (start <= at) & (at < np.where(is_open, np.inf, end))
    # A process that writes meanwhile may add fetches after ``now``: their age is 0.
    ages = np.maximum(now - gaps.start[~np.isfinite(gaps.end)], 0.0)
    rate = open_rate(ages, believed)
    with np.errstate(invalid="ignore", divide="ignore"):
        falling = (end - at) / (end - start)
    age = np.maximum(at - start, 0.0)
    chance = np.where(gaps.changed[:, None], falling, 1.0)
    chance = np.where(is_open, np.exp(-rate * age), chance)
    return np.where(inside, chance, np.nan)


def open_rate(ages: Floats, believed: float) -> float:
    """Return the rate r for which mean(exp(-r age)) is the believed freshness.

    >>> round(open_rate(np.array([1.0, 1.0]), float(np.exp(-0.5))), 6)
    0.5
    """
    if not ages.size or not believed < 1.0 or not ages.max() > 0.0:
        return 0.0
    low, high = 0.0, 1.0
    while np.exp(-high * ages).mean() > believed and high < HIGHEST_RATE:
        high *= 2.0
    for _ in range(60):  # bisections; more than a float has digits
        middle = (low + high) / 2.0
        if np.exp(-middle * ages).mean() > believed:
            low = middle
        else:
            high = middle
    return high
