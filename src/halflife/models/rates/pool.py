"""Rates shrunk towards an item's folder, the folder's host and the population."""

import numpy as np

from halflife.core.arrays import Bools, Floats, Ints
from halflife.core.history import Gaps
from halflife.models.empirical_bayes import (
    GRID,
    Posterior,
    Table,
    add_log_likelihood,
    fit_prior,
    posterior,
)
from halflife.models.gaps import check_gaps
from halflife.models.poisson import GammaSurvival
from halflife.models.rates.columns import lengthen
from halflife.models.rates.tree import Tree, TreePriors, fit_tree

_NONE = -1
_CHUNK = 4096  # rows at a time, so that scratch space stays small


class PooledRates:
    """Empirical Bayes on a grid of rates, with a prior for every host and folder.

    Without ``place`` there is one prior for all items: the nonparametric estimate of
    ``halflife.models.empirical_bayes``, updated online. An item uses 80 numbers of 4
    bytes once it has had a gap, and 5 numbers before.

    Args:
        refit: Learn the priors again when the gaps have grown by this factor.

    Attributes:
        priors: The latest priors; None as long as items have not been placed.

    """

    def __init__(self, *, refit: float = 1.25) -> None:
        self.refit = refit
        self.priors: TreePriors | None = None
        self._root = fit_prior(np.zeros((0, GRID.points)))
        self._tree: Tree | None = None
        self._gaps, self._learned_on = 0.0, 0.0
        self._table = np.zeros((0, GRID.points), dtype=np.float32)
        self._item, self._slot = (np.zeros(0, dtype=np.intp) for _ in range(2))
        self._stale = np.zeros(0, dtype=np.bool_)
        self._shape, self._exposure, self._rate = (np.zeros(0) for _ in range(3))

    def grow(self, n: int) -> None:
        """Make room for ``n`` items in all."""
        self._slot = lengthen(self._slot, n, _NONE)
        self._stale = lengthen(self._stale, n, blank=True)
        for name in ("_shape", "_exposure", "_rate"):
            setattr(self, name, lengthen(getattr(self, name), n))

    def place(self, tree: Tree) -> None:
        """Set the host and folder of each item; for all items."""
        if self.priors is not None:
            self.priors = _with_new_groups(self.priors, tree)
        self._tree = tree

    def add(
        self, item: Ints, length: Floats, changed: Bools, tally: Floats | None = None
    ) -> None:
        """Learn from gaps; their order does not matter."""
        gaps, _ = check_gaps(item, length, changed, tally, self._slot.size)
        self._assign_slots(np.unique(gaps.item))
        placed = Gaps(self._slot[gaps.item], gaps.length, gaps.changed, gaps.tally)
        add_log_likelihood(self._table, placed)
        self._stale[gaps.item] = True
        self._gaps += float(gaps.tally.sum())

    def rate(self) -> Floats:
        """Return the posterior mean of each rate."""
        self._learn()
        return self._rate.copy()

    def survival(self) -> GammaSurvival:
        """Return the survival of the items, uncertainty about the rates included."""
        self._learn()
        return GammaSurvival(self._shape.copy(), self._exposure.copy())

    def _assign_slots(self, items: Ints) -> None:
        """Give rows of the table to items that have none."""
        fresh = items[self._slot[items] == _NONE]
        used = self._item.size
        self._slot[fresh] = used + np.arange(fresh.size)
        self._item = np.concatenate([self._item, fresh])
        if self._item.size > len(self._table):
            room = max(self._item.size, len(self._table) * 3 // 2)
            table = np.zeros((room, GRID.points), dtype=np.float32)
            table[: len(self._table)] = self._table
            self._table = table

    def _learn(self) -> None:
        if self._gaps > self.refit * self._learned_on:
            self._learned_on = self._gaps
            self._stale[:] = True
            table = self._table[: self._item.size]
            if self._tree is None:
                self._root = fit_prior(table)
            else:
                self.priors = fit_tree(table, self._item, self._tree)
                self._root = self.priors.root
        rows = np.flatnonzero(self._stale)
        seen = self._slot[rows] != _NONE
        self._update(rows[seen])
        self._update_unseen(rows[~seen])
        self._stale[rows] = False

    def _update(self, rows: Ints) -> None:
        for start in range(0, rows.size, _CHUNK):
            chunk = rows[start : start + _CHUNK]
            table = self._table[self._slot[chunk]]
            self._set(chunk, self._posterior(chunk, table), slice(None))

    def _update_unseen(self, rows: Ints) -> None:
        """Give items without a gap the posterior of their group, once a group."""
        group = np.zeros_like(rows)
        if self._tree is not None:
            group = self._tree.folder[rows]
        _, first, code = np.unique(group, return_index=True, return_inverse=True)
        for start in range(0, first.size, _CHUNK):
            lead = rows[first[start : start + _CHUNK]]
            flat = np.zeros((lead.size, GRID.points), dtype=np.float32)
            believed = self._posterior(lead, flat)
            in_chunk = (code >= start) & (code < start + _CHUNK)
            self._set(rows[in_chunk], believed, code[in_chunk] - start)

    def _set(self, rows: Ints, believed: Posterior, at: Ints | slice) -> None:
        for name, column in zip(
            ("_shape", "_exposure", "_rate"), believed, strict=True
        ):
            getattr(self, name)[rows] = column[at]

    def _posterior(self, rows: Ints, table: Table) -> Posterior:
        """Return the posteriors of rows, each with the prior of its folder."""
        prior = self._root[None]
        if self.priors is not None and self._tree is not None:
            prior = self.priors.folders.mass[self._tree.folder[rows]]
        # The prior of each row is added to its log-likelihood.
        return posterior(table + np.log(prior), np.ones(GRID.points))


def _with_new_groups(priors: TreePriors, tree: Tree) -> TreePriors:
    """Return the priors with rows for new groups: those of the level above."""
    root, hosts, folders = priors
    new = tree.hosts - len(hosts.mass)
    mass = np.concatenate([hosts.mass, np.tile(root, (max(new, 0), 1))])
    below = mass[tree.host_of[len(folders.mass) :]]
    return TreePriors(
        root,
        hosts._replace(mass=mass),
        folders._replace(mass=np.concatenate([folders.mass, below])),
    )
