"""Change rates of many items at once, each learning from all the others.

An item with few observations has a very uncertain rate. The prior, the distribution of
rates in the population, adds information: it is estimated from all items together and
then turned, item by item, into a posterior. Robbins, "An empirical Bayes approach to
statistics", 1956; the prior is the nonparametric maximum likelihood estimate of Laird,
JASA 1978, on a fixed grid of rates.

A posterior on the grid is 80 numbers. It is kept as two, those of the Gamma
distribution that gives the same survival at two moments: one by which most copies have
gone stale or 100 days have passed, and one by which a quarter as many have. (The Gamma
with the same mean and variance of ln(rate) is far off where many items never change,
because it depends on irrelevantly long times.)
"""

from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import pairwise
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from halflife.core.arrays import Floats, Ints
from halflife.core.history import Gaps
from halflife.models.gaps import sum_by_item
from halflife.models.roots import falling_roots

Table: TypeAlias = NDArray[np.float32] | NDArray[np.float64]

_CHUNK = 8192  # rows at a time, so that scratch space stays small
_GAP_CHUNK = 32768
_FEW = 2048  # gaps; fewer are summed faster than scipy.sparse is imported
SAMPLE = 4000  # items that the prior is estimated from
_ROUNDS = 200
_SETTLED = 1e-5  # largest change of a prior's weight in the last round
_SHORTEST, _LONGEST = 1e-9, 1e9  # days; gaps beyond count as these
_HORIZON = 100.0  # days ahead for which the Gamma must be right
_MOSTLY = 0.7  # stale by the later of the two moments
_LOG_EXPOSURE = -28.0, 14.0  # of a Gamma, over the earlier moment
_PART = 0.25  # of that, stale by the earlier one


@dataclass(frozen=True, slots=True)
class RateGrid:
    """Rates that an item may have, in changes a day, evenly spaced in the logarithm."""

    slowest: float = 1e-4
    fastest: float = 1e3
    points: int = 80

    @property
    def rate(self) -> Floats:
        """The rates, ascending."""
        return _rates(self.slowest, self.fastest, self.points)

    @property
    def step(self) -> float:
        """The distance between neighbouring rates, in ln(rate)."""
        return float(np.log(self.fastest / self.slowest)) / (self.points - 1)


@cache
def _rates(slowest: float, fastest: float, points: int) -> Floats:
    rates = np.geomspace(slowest, fastest, points)
    rates.flags.writeable = False  # the array is shared
    return rates


GRID = RateGrid()


class Posterior(NamedTuple):
    """The posterior distribution of each item's rate.

    Attributes:
        shape: Of the Gamma distribution with the same survival.
        exposure: Its inverse scale, in days.
        mean: The mean rate, in changes a day.

    """

    shape: Floats
    exposure: Floats
    mean: Floats


def add_log_likelihood(table: Table, gaps: Gaps, grid: RateGrid = GRID) -> None:
    """Add gaps to the log-likelihoods in place; row ``i`` of the table is item ``i``.

    A quiet gap g adds -r g, and one that saw a change ln(1 - exp(-r g)). The cost is
    that of the new gaps alone.
    """
    rate = grid.rate
    days = np.clip(gaps.length, _SHORTEST, _LONGEST)
    quiet = np.flatnonzero(~gaps.changed)
    _add_quiet(table, gaps.item[quiet], days[quiet] * gaps.tally[quiet], rate)
    busy = np.flatnonzero(gaps.changed)
    busy = busy[np.argsort(gaps.item[busy], kind="stable")]
    for slice_ in _whole_items(gaps.item[busy]):
        rows = busy[slice_]
        # Gaps from a fold have few distinct lengths; logarithms are slow.
        length, code = np.unique(days[rows], return_inverse=True)
        log_change = np.log(-np.expm1(-np.multiply.outer(length, rate)))
        item = gaps.item[rows]
        first = np.flatnonzero(np.diff(item, prepend=-1))
        table[item[first]] += _summed_runs(log_change, code, gaps.tally[rows], first)


def _whole_items(item: Ints) -> list[slice]:
    """Return slices of sorted rows that do not split an item.

    So an item's row of the table does not depend on the other items.
    """
    ends, n = [0], item.size
    while ends[-1] < n:
        last = min(ends[-1] + _GAP_CHUNK, n) - 1
        ends.append(int(np.searchsorted(item, item[last], side="right")))
    return [slice(a, b) for a, b in pairwise(ends)]


def _add_quiet(table: Table, item: Ints, days: Floats, rate: Floats) -> None:
    """Subtract the log-likelihood of days without a change."""
    pace = rate.astype(table.dtype)
    if 8 * item.size > len(table):  # nearly every row: use all
        still = sum_by_item(item, days, len(table)).astype(table.dtype)
        for part in _parts(len(table)):
            table[part] -= np.multiply.outer(still[part], pace)
        return
    rows, code = np.unique(item, return_inverse=True)
    still = sum_by_item(code, days, rows.size).astype(table.dtype)
    for part in _parts(rows.size):
        table[rows[part]] -= np.multiply.outer(still[part], pace)


def _summed_runs(values: Floats, code: Ints, tally: Floats, first: Ints) -> Floats:
    """Return the sums of tally * each[code] over the runs that begin at ``first``."""
    if code.size < _FEW:
        return np.asarray(np.add.reduceat(values[code] * tally[:, None], first, axis=0))
    from scipy import sparse  # noqa: PLC0415  (slow)

    ends = np.append(first, code.size)
    shape = (first.size, len(values))
    return np.asarray(sparse.csr_array((tally, code, ends), shape=shape) @ values)


def wide_prior(grid: RateGrid = GRID) -> Floats:
    """Return the default prior: ln(rate) normal about once a month."""
    weight = np.exp(-0.5 * (np.log(grid.rate * 30.0) / 2.5) ** 2)
    return np.asarray(weight / weight.sum())


def fit_prior(
    table: Table, grid: RateGrid = GRID, *, pretend: float = 20.0, sample: int = SAMPLE
) -> Floats:
    """Return the weights of the grid's rates in the population.

    Expectation maximisation of the marginal likelihood, over at most ``sample`` items
    evenly spaced among the rows. ``pretend`` items distributed like ``wide_prior`` are
    added, so that a small population does not dominate the prior.
    """
    wide = wide_prior(grid)
    rows = sampled_rows(len(table), sample)
    log_table = table[rows].astype(np.float64)
    likelihood = np.exp(log_table - log_table.max(axis=1, keepdims=True))
    prior = wide
    for _ in range(_ROUNDS):
        shares = prior * (likelihood.T @ (1.0 / (likelihood @ prior)))
        after = (shares + pretend * wide) / (rows.size + pretend)
        change = float(np.max(np.abs(after - prior)))
        prior = after
        if change < _SETTLED:
            break
    return prior


def sampled_rows(n: int, sample: int) -> Ints:
    """Return at most ``sample`` of ``n`` rows, evenly spaced and ascending.

    >>> sampled_rows(9, 3)
    array([0, 4, 8])
    """
    return np.linspace(0, n - 1, min(n, sample)).astype(np.intp)


def posterior(
    table: Table, prior: Floats, grid: RateGrid = GRID, *, rows: Ints | None = None
) -> Posterior:
    """Return each item's posterior, or some rows', as a Gamma and its mean."""
    columns = np.empty((3, len(table) if rows is None else rows.size))
    time, losses = _losses(grid)
    # One product gives the losses, the mean rate and the normalisation.
    integrands = np.column_stack([losses, grid.rate, np.ones(grid.points)])
    integrands = prior[:, None] * integrands
    for part in _parts(columns.shape[1]):
        log_table = table[part if rows is None else rows[part]]
        log_table = log_table - log_table.max(axis=1, keepdims=True)
        likelihood = np.exp(log_table, out=log_table).astype(np.float64)
        products = likelihood @ integrands
        products = _coarse(products / products[:, -1:])
        columns[:2, part] = _as_gamma(products[:, :-2], time)
        columns[2, part] = products[:, -2]
    return Posterior(*columns)


def _coarse(values: Floats) -> Floats:
    """Return numbers without the digits in which processors and threads differ.

    Matrix products add in an order of their own on each machine. Without these digits,
    items with the same past have the same rate, and ties are ties everywhere.
    """
    return values.astype(np.float32).astype(np.float64)


def _as_gamma(lost: Table, time: Floats) -> tuple[Floats, Floats]:
    """Return the Gamma's shape and exposure with the same survival at two moments.

    ``lost`` is 1 - S at each ``time``. With S = (1 + t / b) ** -a, the ratio
    ln S(t1) / ln S(t2) depends on b alone. For a mixture of exponentials it lies
    between t1 / t2 and 1, so b always exists.
    """
    rows = np.arange(len(lost))
    late = np.clip((lost < _MOSTLY).sum(axis=1), 1, time.size - 1)
    early = (lost < _PART * lost[rows, late, None]).sum(axis=1)
    early = np.clip(early, 0, late - 1)
    drop = -np.log1p(-lost[rows, late].astype(np.float64))
    target = np.log(-np.log1p(-lost[rows, early].astype(np.float64)) / drop)
    ratio = time[late] / time[early]

    def surplus(log_b: Floats) -> tuple[Floats, Floats]:
        z = np.exp(-log_b)  # the earlier moment over b
        one, two = np.log1p(z), np.log1p(ratio * z)
        slope = -z / ((1 + z) * one) + ratio * z / ((1 + ratio * z) * two)
        return np.log(one / two) - target, slope

    low, high = (np.full(late.size, end) for end in _LOG_EXPOSURE)
    log_b = falling_roots(surplus, low, high, np.zeros(late.size), 1e-9)
    exposure = np.exp(log_b) * time[early]
    return drop / np.log1p(time[late] / exposure), exposure


@lru_cache(maxsize=8)
def _losses(grid: RateGrid) -> tuple[Floats, Floats]:
    """Return moments, and the probability of a change by then at each rate of the grid.

    The probability is averaged over the cell around the rate: the grid's coarseness
    counts as uncertainty, or a long history would make a grid point certain.
    """
    time = np.geomspace(0.01 / grid.fastest, _HORIZON, 64)
    within = np.exp(grid.step * (np.arange(5) - 2.0) / 5)
    rate = np.multiply.outer(grid.rate, within)
    return time, -np.expm1(-np.multiply.outer(rate, time)).mean(axis=1)


def _parts(n: int, size: int = _CHUNK) -> list[slice]:
    return [slice(start, start + size) for start in range(0, n, size)]
