"""How well predicted survival agrees with what happened."""

from typing import NamedTuple

import numpy as np

from halflife.core.arrays import Bools, Floats, Ints

_TINY = 1e-12


class Concordance(NamedTuple):
    """Share of comparable pairs in which the riskier ended first; 0.5 if none."""

    value: float
    pairs: float


def concordance(risk: Floats, time: Floats, ended: Bools) -> Concordance:
    """Return Harrell's C; pairs of equal risk count one half.

    A pair is comparable if one ended while the other was still there, or at the time
    the other was last seen. In O(n log n), a bit of the risks' ranks at a time.
    Harrell, Lee and Mark, Statistics in Medicine 1996.

    >>> concordance(np.array([3.0, 1, 2]), np.arange(1.0, 4), np.ones(3, bool)).value
    0.6666666666666666
    """
    order = np.lexsort((ended, -time))  # the longest first; who was still there first
    rank = np.unique(risk, return_inverse=True)[1][order]
    when, died = time[order], ended[order]
    at = np.flatnonzero(died)
    # Who lived longer stands before the first that ended at the same time.
    start = np.concatenate(([True], (np.diff(when) != 0) | (np.diff(died) != 0)))
    begin = np.maximum.accumulate(np.where(start, np.arange(when.size), 0))
    longer = begin[at] if when.size else at
    lower, same = _ranked(rank.astype(np.intp), longer, rank[at])
    pairs = float(longer.sum())
    if pairs == 0:
        return Concordance(0.5, 0.0)
    return Concordance(float(lower.sum() + 0.5 * same.sum()) / pairs, pairs)


def _ranked(rank: Ints, many: Ints, mine: Ints) -> tuple[Ints, Ints]:
    """Return how many of the first ``many`` ranks are below, and at, ``mine``.

    By a wavelet matrix: ranks are sorted stably by one bit after another, from the
    top, and each question's range is followed.
    """
    low, high = np.zeros_like(many), many.copy()
    below = np.zeros_like(many)
    for bit in range(int(rank.max(initial=0)).bit_length() - 1, -1, -1):
        unset = (rank >> bit) & 1 == 0
        zeros = np.concatenate(([0], np.cumsum(unset)))
        one = (mine >> bit) & 1 == 1
        to_low, to_high = zeros[low], zeros[high]
        below += np.where(one, to_high - to_low, 0)
        low = np.where(one, zeros[-1] + low - to_low, to_low)
        high = np.where(one, zeros[-1] + high - to_high, to_high)
        rank = np.concatenate((rank[unset], rank[~unset]))
    return below, high - low


class Steps(NamedTuple):
    """A curve of Kaplan and Meier: its times, and S from each on."""

    time: Floats
    alive: Floats

    def __call__(self, t: Floats) -> Floats:
        """Return S(t)."""
        place = np.searchsorted(self.time, t, "right")
        return np.append(1.0, self.alive)[place]

    def before(self, t: Floats) -> Floats:
        """Return S just before ``t``."""
        place = np.searchsorted(self.time, t, "left")
        return np.append(1.0, self.alive)[place]


def kaplan_meier(time: Floats, ended: Bools) -> Steps:
    """Return the survival curve of spells watched from the start; JASA 1958."""
    when, where = np.unique(time, return_inverse=True)
    deaths = np.bincount(where, ended.astype(np.float64), when.size)
    left = time.size - np.concatenate(([0], np.cumsum(np.bincount(where))))[:-1]
    left = left[: when.size]
    return Steps(when, np.cumprod(1.0 - deaths / np.maximum(left, 1)))


def brier(alive: Floats, time: Floats, ended: Bools, grid: Floats) -> float:
    """Return the mean over ``grid`` of the squared error of predicted survival.

    ``alive`` has a row a spell and a column a time of the grid. Who was lost from sight
    is made up for by the weight of those like it, 1 / P(still watched): Graf et al.,
    Statistics in Medicine 1999.
    """
    lost = kaplan_meier(time, ~ended)
    gone = (time[:, None] <= grid) & ended[:, None]
    there = time[:, None] > grid
    at_end = np.maximum(lost.before(time), _TINY)[:, None]
    now = np.maximum(lost(grid), _TINY)
    error = np.where(gone, alive**2 / at_end, 0.0)
    error += np.where(there, (1.0 - alive) ** 2 / now, 0.0)
    return float(error.mean())


def calibration(alive: Floats, time: Floats, ended: Bools, grid: Floats) -> float:
    """Return the mean over ``grid`` of |mean predicted S - Kaplan and Meier's S|."""
    seen = kaplan_meier(time, ended)(grid)
    return float(np.abs(alive.mean(axis=0) - seen).mean())
