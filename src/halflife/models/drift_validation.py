"""How a model of drift does on databases that it has not seen.

Each database in turn is left out, with all of its spells, and predicted from the others
(Ipeirotis et al., TODS 2007, s. 4.3.2, footnote 6). Beside the model stands the curve
of Kaplan and Meier over the other databases of the same domain, which knows nothing of
the database.
"""

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from halflife.core.arrays import Bools, Floats
from halflife.models.cox_columns import codes
from halflife.models.drift import DriftModel
from halflife.models.drift_scores import (
    Concordance,
    brier,
    calibration,
    concordance,
    kaplan_meier,
)
from halflife.models.drift_tables import ALL
from halflife.models.spells import Spells

__all__ = ["Validation", "validate"]

_GRID = 40  # times at which curves are compared


@dataclass(frozen=True, slots=True)
class Validation:
    """What leaving out one database after another showed; a row a database.

    Attributes:
        database: The names.
        told: Whether it could be predicted: something ended in its domain elsewhere.
            Where not, the other columns are 0, and 0.5 for concordance.
        spells: How many it has.
        deaths: How many of them ended.
        brier: Mean squared error of predicted survival, over time.
        plain: The same for Kaplan and Meier's curve of the domain's other databases.
        off: Mean distance between mean predicted and seen survival, over time.
        concordance: Among its own spells.
        overall: Concordance over all spells of all databases, by the predicted chance
            of ending within the median time.

    """

    database: tuple[str, ...]
    told: Bools
    spells: Floats
    deaths: Floats
    brier: Floats
    plain: Floats
    off: Floats
    concordance: Floats
    overall: Concordance

    @property
    def skill(self) -> float:
        """By how much the model's error is below the plain curve's, in all."""
        plain = float((self.plain * self.spells).sum())
        return 1.0 - float((self.brier * self.spells).sum()) / plain if plain else 0.0


def validate(
    model: DriftModel,
    spells: Spells,
    x: ArrayLike,
    *,
    domain: ArrayLike,
    database: ArrayLike,
    names: Sequence[str] = ALL,
) -> Validation:
    """Leave out each database in turn, and predict its spells from the others.

    ``model`` gives the settings and is not changed. Spells are taken as watched from
    the start.
    """
    given, kinds = np.asarray(x, np.float64), np.asarray(domain)
    n = len(spells)
    called, code = codes(database, n, "database")
    codes(domain, n, "domain")
    whole = copy(model).fit(spells, given, domain=kinds, names=names)
    time = np.where(spells.ended, spells.upper, spells.lower)
    rest = _Left(model, spells, time, given, kinds, names, whole.drift_.coefficient)
    rows = np.zeros((len(called), 7))
    risk, seen = np.zeros(n), np.zeros(n, np.bool_)
    for k in range(len(called)):
        mine = code == k
        rows[k] = rest.score(mine, risk)
        seen |= mine & (rows[k, 0] > 0)
    told, count, deaths, squared, plain, off, own = rows.T
    return Validation(
        database=called,
        told=told > 0,
        spells=count,
        deaths=deaths,
        brier=squared,
        plain=plain,
        off=off,
        concordance=own,
        overall=concordance(risk[seen], time[seen], spells.ended[seen]),
    )


@dataclass(frozen=True, slots=True)
class _Left:
    """All spells, of which one database's are left out."""

    model: DriftModel
    spells: Spells
    time: Floats
    x: Floats
    domain: NDArray[Any]
    names: Sequence[str]
    start: Floats

    def score(self, mine: Bools, risk: Floats) -> tuple[float, ...]:
        """Return a row of ``Validation``; fill in the risks of the spells left out."""
        time, ended = self.time[mine], self.spells.ended[mine]
        count = (float(mine.sum()), float(ended.sum()))
        kind = self.domain[mine]
        near = ~mine & np.isin(self.domain, kind)
        known = near & self.spells.ended
        if not np.isin(kind, self.domain[known]).all():
            return (0.0, *count, 0.0, 0.0, 0.0, 0.5)
        drift = self._fitted(~mine).drift_
        rate, shape = drift.rates([str(name) for name in kind], self.x[mine])
        grid = float(time.max()) * (np.arange(_GRID) + 0.5) / _GRID
        alive = np.exp(-rate[:, None] * grid ** shape[:, None])
        risk[mine] = 1.0 - np.exp(-rate * np.median(self.time) ** shape)
        plain = kaplan_meier(self.time[near], self.spells.ended[near])(grid)
        return (
            1.0,
            *count,
            brier(alive, time, ended, grid),
            brier(np.broadcast_to(plain, alive.shape), time, ended, grid),
            calibration(alive, time, ended, grid),
            concordance(risk[mine], time, ended).value,
        )

    def _fitted(self, rows: Bools) -> DriftModel:
        return copy(self.model).fit(
            self.spells.take(rows),
            self.x[rows],
            domain=self.domain[rows],
            names=self.names,
            start=self.start,
        )
