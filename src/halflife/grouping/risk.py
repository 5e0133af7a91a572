"""Days at risk of objects, and the number of ends."""

from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

from halflife.core import lazy_scipy
from halflife.core.arrays import Bools, Floats, Ints
from halflife.core.lifetimes import Lives

CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class ExposureSpans:
    """The observed span of each lifetime; times in days.

    Attributes:
        entry: When observation began.
        leave: When observation ended, by the lifetime's end or by censoring.
        dead: Whether the lifetime ended then.

    """

    entry: Floats
    leave: Floats
    dead: Bools

    @property
    def time(self) -> Floats:
        """How long each lifetime was observed."""
        return self.leave - self.entry

    def take(self, rows: Ints | Bools) -> Self:
        """Return the spans at these rows."""
        return type(self)(self.entry[rows], self.leave[rows], self.dead[rows])

    def between(self, begin: float, end: float) -> Self:
        """Return the same lifetimes as if observed from ``begin`` to ``end`` only."""
        entry, leave = np.maximum(self.entry, begin), np.minimum(self.leave, end)
        dead = self.dead & (self.leave > begin) & (self.leave <= end)
        return type(self)(entry, np.maximum(leave, entry), dead)


def at_risk(lives: Lives) -> ExposureSpans:
    """Return each lifetime from its first snapshot to its end, or to the last one.

    A lifetime that ended between two snapshots counts as ended midway; if a share x of
    the objects ends between snapshots, that shifts a rate by about x^2/12 of itself.
    """
    dead = lives.ended
    gone_by = np.where(dead, lives.gone_by, lives.last_seen)
    return ExposureSpans(lives.first_seen, (lives.last_seen + gone_by) / 2.0, dead)


class Rate(NamedTuple):
    """Ends per object and day, with bounds."""

    rate: float
    low: float
    high: float


def rate_interval(deaths: int, time: float) -> Rate:
    """Return deaths per day at risk with Garwood's exact Poisson interval of 95 %.

    low = q((1-c)/2; d)/E and high = q((1+c)/2; d+1)/E with q(p; s) the Gamma(s)
    quantile. Garwood, "Fiducial limits for the Poisson distribution", 1936. Without
    time at risk all three are 0.

    >>> tuple(round(x, 3) for x in rate_interval(10, 100.0))
    (0.1, 0.048, 0.184)
    """
    if time <= 0:
        return Rate(0.0, 0.0, 0.0)
    tail = (1.0 - CONFIDENCE) / 2.0
    low = float(lazy_scipy.gammaincinv(deaths, tail)) if deaths else 0.0
    high = float(lazy_scipy.gammaincinv(deaths + 1, 1.0 - tail))
    return Rate(deaths / time, low / time, high / time)


def cells(
    risk: ExposureSpans, label: Ints, count: int, edges: Floats
) -> tuple[Floats, Floats]:
    """Return deaths and days at risk by label (row) and period (column)."""
    pieces = [
        totals(risk.between(begin, end), label, count)
        for begin, end in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)
    ]
    deaths = np.array([d for d, _ in pieces]).reshape(-1, count).T
    time = np.array([t for _, t in pieces]).reshape(-1, count).T
    return deaths, time


def totals(risk: ExposureSpans, label: Ints, count: int) -> tuple[Floats, Floats]:
    """Return deaths and days at risk by label."""
    deaths = np.bincount(label, risk.dead, count).astype(np.float64)
    return deaths, np.bincount(label, risk.time, count).astype(np.float64)


def dispersion(deaths: Floats, time: Floats) -> float:
    """Return the over-dispersion of deaths in cells against Poisson; at least 1.

    phi = sum((n - mu)^2) / sum(mu) * cells / degrees of freedom, with mu the row's rate
    times the days at risk times a factor of the column: similar objects that end
    together raise it, a day that is bad for all does not. A test that counts every
    death as independent must divide its statistic by it (McCullagh and Nelder,
    Generalized Linear Models, s. 6.2.3).
    """
    row = deaths.sum(axis=1) / np.maximum(time.sum(axis=1), 1e-300)
    mean = row[:, None] * time
    total = mean.sum(axis=0)
    factor = np.divide(
        deaths.sum(axis=0), total, out=np.ones_like(total), where=total > 0
    )
    mean = mean * factor
    free = (deaths.shape[0] - 1) * (deaths.shape[1] - 1)
    if free < 1 or mean.sum() <= 0:
        return 1.0
    spread = float(((deaths - mean) ** 2).sum() / mean.sum())
    return float(max(spread * deaths.size / free, 1.0))
