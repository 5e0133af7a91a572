"""Records that a copy lacks, by the time since each value of a choice was read.

A form is read value by value, and a value that was not read for t days may have got new
records. Those of value v come at their own rate r_v, which is drawn from a Gamma
distribution with the shape k and the mean m; so the c_v that were found in the W_v days
until it was last read have a negative binomial distribution, and given them the rate
has the mean (k + c_v) / (k / m + W_v) and the variance (k + c_v) / (k / m + W_v)^2.
k and m are unknown: everything is averaged over a grid of both, weighted by the
likelihood and Jeffreys' prior of a Poisson rate, 1 / sqrt(m) (Gelman et al., "Bayesian
data analysis", 3rd edition, section 5.3).

Values without any record at the first crawl (*bare* ones) have a k and m of their own:
they may wait for weeks without being read, and what is found in others says little of
them.
"""

from dataclasses import dataclass

import numpy as np

from halflife.core import lazy_scipy
from halflife.core.arrays import Floats
from halflife.models.turnover import LEAST, LackingRecords, Turnover

# Shapes from a few values that get nearly all to values that are all alike.
SHAPES = np.geomspace(0.05, 6.4, 8)
MEANS = 24  # values of m in the grid
WIDE = 3.0  # m of bare values is within this factor of the two guesses of it
KNOWN = 6.0  # m of the others is within this factor of the plain mean
_HALF = 0.5  # of a record (Jeffreys' prior of a Poisson rate)
_NONE = 1e-9


@dataclass(frozen=True)
class ValueReads:
    """What was found in each value of a choice.

    Attributes:
        came: Records that came between the first crawl and the last reading.
        watched: The days between.
        bare: Whether the first crawl found no record of it.
        single: How many values had exactly one record in the first crawl.

    """

    came: Floats
    watched: Floats
    bare: Floats
    single: float = 0.0


def arrival_rates(reads: ValueReads, goes: float) -> Floats:
    """Return the mean rate at which records come to each value, in records a day.

    ``goes`` is the rate at which records go, as for the grid of bare values.
    """
    rows = np.column_stack([reads.bare, reads.came, reads.watched])
    rows, place, number = np.unique(
        rows, axis=0, return_inverse=True, return_counts=True
    )
    rate, now = np.zeros(len(rows)), np.zeros((len(rows), 1))
    for bare in (False, True):
        group = (rows[:, 0] > 0) == bare
        if group.any():
            seen = rows[group, 1], rows[group, 2], number[group].astype(np.float64)
            _, rate[group] = _group(*seen, now[group], _grid(reads, goes, bare=bare))
    return rate[place.reshape(-1)]


def still_there(days: Floats, goes: float) -> Floats:
    """Return the days in which records came that are still there.

    Of those that came at the rate r in the last t days, r (1 - exp(-d t)) / d are
    still there if they go at the rate d.

    >>> still_there(np.array([3.0, 30.0]), 0.1).round(2)
    array([2.59, 9.5 ])
    """
    return -np.expm1(-goes * days) / goes


def missing(reads: ValueReads, waited: Floats, turns: Turnover) -> LackingRecords:
    """Return how many records the copy lacks.

    ``waited`` has the days since each value was last read, a row for each value and a
    column for each moment. Only records that are still there count (``still_there``).

    All values share one pace, and its days are a Gamma process of the variance u a day:
    what came in t_v and t_w days has the covariance u r_v r_w min(t_v, t_w).
    """
    rows = np.column_stack([reads.bare, reads.came, reads.watched, waited])
    rows, number = np.unique(rows, axis=0, return_counts=True)
    own = rows[:, 0] > 0
    days = still_there(rows[:, 3:], turns.goes)
    parts, rate = [], np.zeros(len(rows))
    for group in (~own, own):
        if not group.any():
            continue
        seen = rows[group, 1], rows[group, 2], number[group].astype(np.float64)
        grid = _grid(reads, turns.goes, bare=bool(own[group][0]))
        part, rate[group] = _group(*seen, days[group], grid)
        parts.append(part)
    mean, variance = (np.sum(part, axis=0) for part in zip(*parts, strict=True))
    shared = [_together(rate * number, column) for column in days.T]
    return LackingRecords(mean, variance, np.array(shared))


def _grid(reads: ValueReads, goes: float, *, bare: bool) -> Floats:
    """Return the mean rates that are possible, on a logarithmic scale.

    That of values which showed records is about what came, for each day watched. There
    are two guesses of bare ones: that all values are alike, and that of Good and Turing
    (Good, "The population frequencies of species", Biometrika 1953): were all records
    drawn anew, as many would have values that are bare now as have one of their own
    now. The truth lies between them, or up to ``WIDE`` times beyond.
    """
    shown = reads.bare == 0
    days = max(float(reads.watched[shown].sum()), LEAST * max(shown.sum(), 1))
    usual = (float(reads.came[shown].sum()) + _HALF) / days
    if not bare:
        return np.geomspace(usual / KNOWN, usual * KNOWN, MEANS)
    fewest = (reads.single + _HALF) * goes / max(float((~shown).sum()), 1.0)
    low, high = sorted((fewest, usual))
    return np.geomspace(low / WIDE, high * WIDE, MEANS)


def _group(
    came: Floats, watched: Floats, number: Floats, days: Floats, means: Floats
) -> tuple[tuple[Floats, Floats], Floats]:
    """Return mean and variance of what came to some values, and their mean rates."""
    k, m = SHAPES[:, None, None], means[:, None]
    scale = k / m + watched
    new = lazy_scipy.gammaln(k + came) - lazy_scipy.gammaln(k)
    prior = _HALF * np.log(means)  # steps of the grid grow like m
    chance = (new + k * np.log(k / m) - (k + came) * np.log(scale)) @ number + prior
    weight = np.exp(chance - chance.max())
    weight /= weight.sum()
    rate = (k + came) / scale
    each = rate * number
    mean = each @ days
    own = mean + (each / scale) @ days**2
    overall = np.tensordot(weight, mean)
    variance = np.tensordot(weight, own + (mean - overall) ** 2)
    return (overall, variance), np.tensordot(weight, rate)


def _together(rate: Floats, days: Floats) -> float:
    """Return sum(r_v r_w min(t_v, t_w)): the integral of (sum(r_v, t_v > s))^2.

    >>> float(_together(np.array([1.0, 2.0]), np.array([3.0, 1.0])))
    11.0
    """
    order = np.argsort(days)
    steps = np.diff(days[order], prepend=0.0)
    waiting = np.cumsum(rate[order][::-1])[::-1]
    return float(steps @ waiting**2)
