"""The fit of ``EmpiricalBayesRate`` for items that lie in parts.

Two passes over the parts. In the first each sends back what its gaps add to the
log-likelihoods of the items that the prior is estimated from: sums of the gaps, one
row an item, which are added up. In the second it gets the prior, and turns it into a
posterior for each of its items. No part needs to know the others, and no process
holds the table of all items.
"""

from collections.abc import Sequence
from functools import partial
from typing import Protocol

import numpy as np

from halflife.core.arrays import Bools, Floats, Ints
from halflife.core.executor import Executor
from halflife.core.history import Gaps
from halflife.models.empirical_bayes import (
    GRID,
    SAMPLE,
    Posterior,
    RateGrid,
    Table,
    fit_prior,
    posterior,
    sampled_rows,
)
from lab.rates.empirical_bayes import log_likelihood

_ITEMS = 8 * 8192  # whose likelihoods are held at once


class GapPart(Protocol):
    """All gaps of the items from ``start`` on, ``items`` of them."""

    @property
    def start(self) -> int:
        """The number of its first item."""
        ...

    @property
    def items(self) -> int:
        """How many items it has."""
        ...

    def gaps(self) -> Gaps:
        """Return the gaps sorted by item; its first item is number 0."""
        ...

    def write(self, believed: Posterior) -> None:
        """Keep the posteriors of the items, in their order."""
        ...


def fit_rates(
    parts: Sequence[GapPart],
    executor: Executor,
    *,
    grid: RateGrid = GRID,
    pretend: float = 20.0,
) -> Floats:
    """Let each part keep the posteriors of its items; return the prior.

    Both are those of ``EmpiricalBayesRate`` on all gaps together.
    """
    prior = fit_prior_in_parts(parts, executor, grid=grid, pretend=pretend)
    work = partial(write_posteriors, grid, prior)
    for _ in executor.map(work, parts):
        pass
    return prior


def fit_prior_in_parts(
    parts: Sequence[GapPart],
    executor: Executor,
    *,
    grid: RateGrid = GRID,
    pretend: float = 20.0,
) -> Floats:
    """Return the weights of the grid's rates in the population of all parts."""
    chosen = sampled_rows(sum(part.items for part in parts), SAMPLE)
    if not parts:
        return fit_prior(np.zeros((0, grid.points)), grid, pretend=pretend)
    work = partial(sampled_likelihoods, grid, chosen)
    table = executor.reduce(work, parts, np.add)
    return fit_prior(table, grid, pretend=pretend)


def sampled_likelihoods(grid: RateGrid, chosen: Ints, part: GapPart) -> Table:
    """Return what a part's gaps add to the log-likelihoods of some of all items."""
    table = np.zeros((chosen.size, grid.points), dtype=np.float32)
    first, last = np.searchsorted(chosen, [part.start, part.start + part.items])
    if first < last:
        mine = chosen[first:last] - part.start
        table[first:last] = log_likelihood(
            _of_items(part.gaps(), mine), mine.size, grid
        )
    return table


def _of_items(gaps: Gaps, chosen: Ints) -> Gaps:
    """Return the gaps of some items, numbered by their place among them."""
    place = np.searchsorted(chosen, gaps.item)
    found = chosen[np.minimum(place, chosen.size - 1)] == gaps.item
    return _rows(gaps, found)._replace(item=place[found])


def _rows(gaps: Gaps, rows: Bools | slice) -> Gaps:
    item, length, changed, tally = gaps
    return Gaps(item[rows], length[rows], changed[rows], tally[rows])


def write_posteriors(grid: RateGrid, prior: Floats, part: GapPart) -> None:
    """Let a part keep the posteriors of its items."""
    gaps = part.gaps()
    found = [np.empty((3, 0))]
    for start in range(0, part.items, _ITEMS):
        n = min(_ITEMS, part.items - start)
        rows = slice(*np.searchsorted(gaps.item, [start, start + n]))
        some = _rows(gaps, rows)
        table = log_likelihood(some._replace(item=some.item - start), n, grid)
        found.append(np.stack(posterior(table, prior, grid)))
    part.write(Posterior(*np.concatenate(found, axis=1)))
