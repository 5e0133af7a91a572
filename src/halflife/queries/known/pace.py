"""Estimate how fast known tuples change, from the versions that were seen."""

import numpy as np

from halflife.core.arrays import Bools, Floats, Ints
from halflife.models.gaps import sum_by_item
from halflife.models.rates.gamma import GammaPoisson, fit_gamma
from halflife.queries.known.content import (
    ChangeProbability,
    Growth,
    Kind,
    MissedUpdates,
    SummedAges,
)

_REFIT = 1.25  # learn the prior again when the gaps have grown by this factor
_STEPS = 20_000  # latest steps that the usual one is the median of


class VersionPace:
    """Rates of tuples from the differences between versions.

    The rate of a tuple that moved by X usual steps in E days is estimated as
    Gamma(a + X, b + E); a and b are learned from all tuples by marginal maximum
    likelihood. The usual step is the median of those seen, or 1 where steps are
    updates. Whether a tuple changed at all is estimated by
    ``halflife.models.rates.gamma.GammaPoisson``.

    >>> pace = VersionPace(2, "ages")
    >>> pace.add(np.array([0, 0, 1]), np.ones(3), np.array([2.0, 3.0, 0.0]))
    >>> bool(pace.rate()[0] > pace.rate()[1] > 0)
    True

    Args:
        n: How many tuples there are.
        kind: What their staleness is; see ``Measure``.

    """

    def __init__(self, n: int, kind: Kind) -> None:
        self.kind: Kind = kind
        self.step = 1.0
        self._amount, self._days, self._steps = np.zeros(n), np.zeros(n), np.zeros(0)
        self._changes = GammaPoisson()
        self._changes.grow(n)
        self._prior = 0.5, 1.0  # half an update a day, until something was seen
        self._gaps = self._learned_on = 0.0

    def add(self, item: Ints, days: Floats, amount: Floats) -> None:
        """Learn that tuples moved by these amounts in these days."""
        later = days > 0
        item, days, amount = item[later], days[later], amount[later]
        if not item.size:
            return
        n = self._days.size
        self._amount += sum_by_item(item, amount, n)
        self._days += sum_by_item(item, days, n)
        if self.kind == "changed":
            self._changes.add(item, days, amount > 0)
            return
        self._gaps += item.size
        self._steps = np.concatenate([self._steps, amount[amount > 0]])[-_STEPS:]
        if self._gaps > _REFIT * self._learned_on:
            self._fit()

    def _fit(self) -> None:
        if self.kind == "amount" and self._steps.size:
            self.step = float(np.median(self._steps))
        self._prior = fit_gamma(self._amount / self.step, self._days)
        self._learned_on = self._gaps

    @property
    def learned(self) -> Bools:
        """Which tuples were seen twice."""
        return self._days > 0

    def rate(self) -> Floats:
        """Return the estimated movement of each tuple a day, or its changes a day."""
        if self.kind == "changed":
            return self._changes.rate()
        shape, days = self._posterior()
        return self.step * shape / days

    def growth(self) -> Growth:
        """Return the estimated growth of staleness."""
        if self.kind == "changed":
            return ChangeProbability(self._changes.survival())
        shape, days = self._posterior()
        doubt = self.step**2 * shape / days**2
        if self.kind == "ages":
            return SummedAges(self.rate(), doubt)
        return MissedUpdates(self.rate(), doubt, self.step)

    def _posterior(self) -> tuple[Floats, Floats]:
        shape, days = self._prior
        return self._amount / self.step + shape, self._days + days
