"""Cross-validation of a model of drift on databases that it has not seen.

Each database in turn is left out, with all of its spells, and predicted from the others
(Ipeirotis et al., TODS 2007, s. 4.3.2, footnote 6). The model is compared with the
curve of Kaplan and Meier over the other databases of the same domain, which uses
nothing of the database itself.
"""

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
from halflife.models.spells import Spells

_GRID = 40  # times at which curves are compared


@dataclass(frozen=True, slots=True)
class Validation:
    """The result of leaving out each database in turn; one row for each.

    Attributes:
        database: The names.
        predictable: Whether it could be predicted: something ended in its domain
            elsewhere. Otherwise the other columns are 0, and 0.5 for concordance.
        spells: The number of its spells.
        deaths: The number of spells that ended.
        brier: Mean squared error of predicted survival, over time.
        plain: The same for Kaplan and Meier's curve of the domain's other databases.
        off: Mean distance between mean predicted and observed survival, over time.
        concordance: Among its own spells.
        overall: Concordance over all spells of all databases, by the predicted
            probability of ending within the median time.

    """

    database: tuple[str, ...]
    predictable: Bools
    spells: Floats
    deaths: Floats
    brier: Floats
    plain: Floats
    off: Floats
    concordance: Floats
    overall: Concordance

    @property
    def skill(self) -> float:
        """The relative reduction of error against the plain curve, over all spells."""
        plain = float((self.plain * self.spells).sum())
        return 1.0 - float((self.brier * self.spells).sum()) / plain if plain else 0.0


def validate(
    model: DriftModel,
    spells: Spells,
    x: ArrayLike,
    *,
    domain: ArrayLike,
    database: ArrayLike,
) -> Validation:
    """Leave out each database in turn, and predict its spells from the others.

    ``model`` gives the settings and is not changed. Spells count as observed from the
    start.
    """
    covariates, domains = np.asarray(x, np.float64), np.asarray(domain)
    n = len(spells)
    databases, code = codes(database, n, "database")
    codes(domain, n, "domain")
    full = copy(model).fit(spells, covariates, domain=domains)
    time = np.where(spells.ended, spells.upper, spells.lower)
    left_out = _LeaveOut(
        model, spells, time, covariates, domains, full.drift_.coefficient
    )
    rows = np.zeros((len(databases), 7))
    risk, predicted = np.zeros(n), np.zeros(n, np.bool_)
    for k in range(len(databases)):
        own_rows = code == k
        rows[k] = left_out.score(own_rows, risk)
        predicted |= own_rows & (rows[k, 0] > 0)
    predictable, count, deaths, squared, plain, off, own_concordance = rows.T
    return Validation(
        database=databases,
        predictable=predictable > 0,
        spells=count,
        deaths=deaths,
        brier=squared,
        plain=plain,
        off=off,
        concordance=own_concordance,
        overall=concordance(risk[predicted], time[predicted], spells.ended[predicted]),
    )


@dataclass(frozen=True, slots=True)
class _LeaveOut:
    """All spells, from which those of one database are left out."""

    model: DriftModel
    spells: Spells
    time: Floats
    x: Floats
    domain: NDArray[Any]
    start: Floats

    def score(self, left_out: Bools, risk: Floats) -> tuple[float, ...]:
        """Return a row of ``Validation``; set the risks of the spells left out."""
        time, ended = self.time[left_out], self.spells.ended[left_out]
        count = (float(left_out.sum()), float(ended.sum()))
        domain = self.domain[left_out]
        same_domain = ~left_out & np.isin(self.domain, domain)
        ended_elsewhere = same_domain & self.spells.ended
        if not np.isin(domain, self.domain[ended_elsewhere]).all():
            return (0.0, *count, 0.0, 0.0, 0.0, 0.5)
        drift = self._fit(~left_out).drift_
        rate, shape = drift.rates([str(name) for name in domain], self.x[left_out])
        grid = float(time.max()) * (np.arange(_GRID) + 0.5) / _GRID
        alive = np.exp(-rate[:, None] * grid ** shape[:, None])
        risk[left_out] = 1.0 - np.exp(-rate * np.median(self.time) ** shape)
        plain = kaplan_meier(self.time[same_domain], self.spells.ended[same_domain])(
            grid
        )
        return (
            1.0,
            *count,
            brier(alive, time, ended, grid),
            brier(np.broadcast_to(plain, alive.shape), time, ended, grid),
            calibration(alive, time, ended, grid),
            concordance(risk[left_out], time, ended).value,
        )

    def _fit(self, rows: Bools) -> DriftModel:
        return copy(self.model).fit(
            self.spells.take(rows),
            self.x[rows],
            domain=self.domain[rows],
            start=self.start,
        )
