"""Belief in which an item's rate is pooled with its folder, host and all items."""

import numpy as np

from halflife.belief import view_of
from halflife.core.arrays import Ints
from halflife.core.evidence import Evidence
from halflife.core.view import View
from halflife.models.rates.pool import PooledRates
from halflife.models.rates.tree import Tree


class PooledBelief:
    """Every item changes at its own rate, similar to that of items near it.

    As ``PoissonBelief``, but the distribution of rates is learned for each group and,
    in it, for each folder: the part of an item's key before its last ``/``. A folder
    with few observations follows its group, and that follows all items.

    Args:
        refit: Learn the distributions again when observations have grown by this
            factor.

    """

    _batches: int
    _model: PooledRates
    _code: dict[tuple[int, str], int]
    _folder: Ints

    def __init__(self, *, refit: float = 1.25) -> None:
        self.refit = refit
        self._of: Evidence | None = None
        self._start()

    def __call__(self, evidence: Evidence, now: float, since: float) -> View:
        """Return the view at ``now``; items fetched since ``since`` count as done."""
        if self._of is not evidence:
            self._of = evidence
            self._start()
        if len(evidence) > self._folder.size:
            self._model.grow(len(evidence))
            self._model.place(self._place(evidence))
        if evidence.batches > self._batches:
            self._model.add(*evidence.gaps(self._batches))
            self._batches = evidence.batches
        rate, survival = self._model.rate(), self._model.survival()
        return view_of(evidence, now, since, rate, survival)

    def _start(self) -> None:
        self._batches = 0
        self._model = PooledRates(refit=self.refit)
        self._code = {}
        self._folder = np.zeros(0, dtype=np.intp)

    def _place(self, evidence: Evidence) -> Tree:
        """Return the tree of groups and folders, with the new items in it."""
        code, known = self._code, self._folder.size
        groups = evidence.group[known:].tolist()
        folders = [
            code.setdefault((group, key.rpartition("/")[0]), len(code))
            for group, key in zip(groups, evidence.keys[known:], strict=True)
        ]
        fresh = np.array(folders, dtype=np.intp)
        self._folder = np.concatenate([self._folder, fresh])
        host_of = np.array([group for group, _ in code], dtype=np.intp)
        return Tree(evidence.group.copy(), self._folder, host_of)
