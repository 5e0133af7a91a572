"""Scores of predicted survival against the observed one."""

from typing import NamedTuple

import numpy as np

from halflife.core.arrays import Bools, Floats, Ints

_TINY = 1e-12


class Concordance(NamedTuple):
    """The share of comparable pairs in which the riskier ended first; 0.5 if none."""

    value: float
    pairs: float


def concordance(risk: Floats, time: Floats, ended: Bools) -> Concordance:
    """Return Harrell's C; pairs of equal risk count one half.

    A pair is comparable if one ended while the other was still present, or at the time
    the other was last seen. In O(n log n), one bit of the risks' ranks at a time.
    Harrell, Lee and Mark, Statistics in Medicine 1996.

    >>> concordance(np.array([3.0, 1, 2]), np.arange(1.0, 4), np.ones(3, bool)).value
    0.6666666666666666
    """
    order = np.lexsort(
        (ended, -time)
    )  # the longest first; among equals the censored first
    rank = np.unique(risk, return_inverse=True)[1][order]
    times, died = time[order], ended[order]
    at = np.flatnonzero(died)
    # Longer spells come before the first one that ended at the same time.
    start = np.concatenate(([True], (np.diff(times) != 0) | (np.diff(died) != 0)))
    begin = np.maximum.accumulate(np.where(start, np.arange(times.size), 0))
    longer = begin[at] if times.size else at
    lower, same = _ranked(rank.astype(np.intp), longer, rank[at])
    pairs = float(longer.sum())
    if pairs == 0:
        return Concordance(0.5, 0.0)
    return Concordance(float(lower.sum() + 0.5 * same.sum()) / pairs, pairs)


def _ranked(rank: Ints, many: Ints, mine: Ints) -> tuple[Ints, Ints]:
    """Return how many of the first ``many`` ranks are below, and at, ``mine``.

    By a wavelet matrix: ranks are sorted stably by one bit after another, from the
    top, and the range of each query is followed.
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
    """A curve of Kaplan and Meier: its times, and S from each time on."""

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
    """Return the survival curve of spells observed from the start; JASA 1958."""
    times, where = np.unique(time, return_inverse=True)
    deaths = np.bincount(where, ended.astype(np.float64), times.size)
    at_risk = time.size - np.concatenate(([0], np.cumsum(np.bincount(where))))[:-1]
    at_risk = at_risk[: times.size]
    return Steps(times, np.cumprod(1.0 - deaths / np.maximum(at_risk, 1)))


def brier(alive: Floats, time: Floats, ended: Bools, grid: Floats) -> float:
    """Return the mean over ``grid`` of the squared error of predicted survival.

    ``alive`` has a row for each spell and a column for each time of the grid. Censored
    spells are compensated by the weight 1 / P(not censored) of the others: Graf et al.,
    Statistics in Medicine 1999.
    """
    censoring = kaplan_meier(time, ~ended)
    ended_by = (time[:, None] <= grid) & ended[:, None]
    running = time[:, None] > grid
    at_end = np.maximum(censoring.before(time), _TINY)[:, None]
    now = np.maximum(censoring(grid), _TINY)
    error = np.where(ended_by, alive**2 / at_end, 0.0)
    error += np.where(running, (1.0 - alive) ** 2 / now, 0.0)
    return float(error.mean())


def calibration(alive: Floats, time: Floats, ended: Bools, grid: Floats) -> float:
    """Return the mean over ``grid`` of |mean predicted S - Kaplan and Meier's S|."""
    observed = kaplan_meier(time, ended)(grid)
    return float(np.abs(alive.mean(axis=0) - observed).mean())
