"""Belief in items that change as Poisson processes, each at its own rate."""

from dataclasses import dataclass

import numpy as np

from halflife.belief import view_of
from halflife.core.arrays import Ints
from halflife.core.evidence import Evidence
from halflife.core.view import View
from halflife.models.empirical_bayes import (
    GRID,
    add_log_likelihood,
    fit_prior,
    posterior,
)
from halflife.models.poisson import GammaSurvival


@dataclass(frozen=True, slots=True)
class RatePrior:
    """The distribution of rates over the population, and the sample behind it.

    Attributes:
        mass: Probability of each rate of the grid.
        looks: The number of successful observations when it was learned.

    """

    mass: tuple[float, ...]
    looks: int


class PoissonBelief:
    """Every item changes at random moments, at its own rate.

    The distribution of rates over the population is learned from all items together
    (empirical Bayes), so an item with few observations borrows from the others. Each
    observation is added once; an item's rate is computed again only after an
    observation of it or when the population's distribution was learned again.

    Args:
        prior: The distribution learned by an earlier run.
        refit: Learn the distribution again when observations have grown by this factor.

    """

    def __init__(self, prior: RatePrior | None = None, *, refit: float = 1.25) -> None:
        self.refit = refit
        self.prior = prior
        self._of: Evidence | None = None
        self._batches = 0
        self._likelihood = np.zeros((0, GRID.rate.size), dtype=np.float32)
        self._shape, self._exposure, self._rate = (np.zeros(0) for _ in range(3))

    def __call__(self, evidence: Evidence, now: float, since: float) -> View:
        """Return the view at ``now``; items fetched since ``since`` count as done."""
        self._learn(evidence)
        survival = GammaSurvival(self._shape.copy(), self._exposure.copy())
        return view_of(evidence, now, since, self._rate.copy(), survival)

    def _learn(self, evidence: Evidence) -> None:
        if self._of is not evidence:
            self._of, self._batches = evidence, 0
            self._likelihood = self._likelihood[:0]
            self._rate = self._rate[:0]
        known = self._rate.size
        touched = np.zeros(len(evidence), dtype=np.bool_)
        touched[known:] = True
        self._grow(len(evidence))
        if evidence.batches > self._batches:
            gaps = evidence.gaps(self._batches)
            add_log_likelihood(self._likelihood, gaps)
            touched[gaps.item] = True
            self._batches = evidence.batches
        observed = int(evidence.looks.sum())
        if self.prior is None or observed > self.refit * self.prior.looks:
            mass = fit_prior(self._likelihood)
            self.prior = RatePrior(tuple(mass.tolist()), observed)
            touched[:] = True
        self._update(np.flatnonzero(touched))

    def _grow(self, n: int) -> None:
        n_new = n - self._rate.size
        if n_new <= 0:
            return
        known = self._likelihood
        self._likelihood = np.zeros((n, known.shape[1]), dtype=np.float32)
        self._likelihood[: len(known)] = known
        for name in ("_shape", "_exposure", "_rate"):
            old = getattr(self, name)[: n - n_new]
            setattr(self, name, np.concatenate([old, np.zeros(n_new)]))

    def _update(self, rows: Ints) -> None:
        if rows.size == 0 or self.prior is None:
            return
        mass = np.array(self.prior.mass)
        all_rows = rows.size == self._rate.size
        moments = posterior(self._likelihood, mass, rows=None if all_rows else rows)
        if all_rows:
            self._shape, self._exposure, self._rate = moments
            return
        self._shape[rows], self._exposure[rows], self._rate[rows] = moments
