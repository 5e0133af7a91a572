"""Nonparametric survival of objects: the curve of Kaplan and Meier.

It accepts spells with delayed entry that may be right-censored, and puts a death midway
between the two snapshots that bound it. Spells of unknown age are left out.
"""

from enum import IntEnum
from typing import Self

import numpy as np

from halflife.core.arrays import LARGEST_LOG, Floats
from halflife.core.errors import NotFitted
from halflife.core.lifetimes import Lives
from halflife.models.gaps import sum_by_item
from halflife.models.spells import Spells, spells

_NORMAL_95 = 1.959963984540054
_TINY = 1e-300


class CurveStatus(IntEnum):
    """How far the spells suffice for a curve.

    OK           a curve
    NO_SPELLS    nothing was observed: no curve, 1 everywhere
    NO_DEATHS    none ended: 1 everywhere
    NOT_SETTLED  the curve had not converged when the search ended
    """

    OK = 0
    NO_SPELLS = 1
    NO_DEATHS = 2
    NOT_SETTLED = 3


class KaplanMeier:
    """The survival curve of Kaplan and Meier, JASA 1958, with delayed entry.

    S(t) = product over deaths at s <= t of 1 - d / n, where n counts the spells with
    entry < s <= end. The variance is Greenwood's, S**2 sum(d / (n (n - d))); bands are
    of ln(-ln S), so that they stay within 0 and 1.

    Args:
        z: Standard errors from the curve to its bands; 1.96 for 95 %.

    Attributes:
        time_: Ages at which spells ended, ascending.
        survival_: S at these ages.
        variance_: The variance of S; that of the age before where none is at risk.
        low_: Lower band.
        high_: Upper band.
        at_risk_: n at these ages.
        deaths_: d at these ages.
        status_: How far the spells suffice; see ``CurveStatus``.

    >>> end = np.array([1.0, 2, 3, 4])
    >>> seen = Spells.of(np.zeros(4), end, np.array([1.0, 2, np.inf, 4]))
    >>> KaplanMeier().fit(seen).survival(np.array([0.5, 1, 2.5, 4]))
    array([1.  , 0.75, 0.5 , 0.  ])

    """

    time_: Floats
    survival_: Floats
    variance_: Floats
    low_: Floats
    high_: Floats
    at_risk_: Floats
    deaths_: Floats
    status_: CurveStatus

    def __init__(self, *, z: float = _NORMAL_95) -> None:
        self.z = z

    def fit(self, lives: Lives | Spells) -> Self:
        """Estimate from lifetimes, or from their spells if these are given."""
        data = of_known_age(lives)
        ended, weight = data.ended, data.weight
        end = np.where(ended, (data.lower + data.upper) / 2, data.lower)
        self.time_, where = np.unique(end[ended], return_inverse=True)
        self.deaths_ = sum_by_item(where, weight[ended], self.time_.size)
        entered = _before(data.entry, weight, self.time_)
        self.at_risk_ = entered - _before(end, weight, self.time_)
        self.status_ = status_of(data)
        self._set_bands()
        return self

    def survival(self, t: Floats) -> Floats:
        """Return S(t)."""
        return _steps(self, "survival_", t, 1.0)

    def band(self, t: Floats) -> tuple[Floats, Floats]:
        """Return the lower and upper band at ``t``."""
        return _steps(self, "low_", t, 1.0), _steps(self, "high_", t, 1.0)

    def _set_bands(self) -> None:
        n, d = self.at_risk_, np.minimum(self.deaths_, self.at_risk_)
        self.survival_ = np.cumprod(1.0 - d / np.maximum(n, _TINY)).astype(np.float64)
        last = n - d <= 1e-12 * n
        terms = np.where(last, 0.0, d / np.maximum(n * (n - d), _TINY))
        total = np.cumsum(terms)
        alive = np.where(self.survival_ > 0, self.survival_, 1.0)
        self.variance_ = np.asarray(self.survival_**2 * total, np.float64)
        log = np.minimum(np.log(alive), -_TINY)
        width = np.minimum(self.z * np.sqrt(total) / -log, LARGEST_LOG)
        is_zero = self.survival_ <= 0
        self.low_ = np.where(is_zero, 0.0, np.exp(log * np.exp(width)))
        high = np.where(is_zero, np.inf, np.exp(log * np.exp(-width)))
        # Where none is at risk the curve ends, but not its upper bound.
        self.high_ = np.minimum(np.minimum.accumulate(high), 1.0)


def of_known_age(lives: Lives | Spells) -> Spells:
    """Return the spells of objects whose age is known."""
    data = lives if isinstance(lives, Spells) else spells(lives)
    return data.take(data.aged & (data.weight > 0))


def status_of(data: Spells) -> CurveStatus:
    """Return whether the spells suffice for a curve."""
    if not len(data):
        return CurveStatus.NO_SPELLS
    return CurveStatus.OK if data.deaths else CurveStatus.NO_DEATHS


def _before(time: Floats, weight: Floats, at: Floats) -> Floats:
    """Return the weight of the events before each moment."""
    order = np.argsort(time, kind="stable")
    total = np.concatenate(([0.0], np.cumsum(weight[order])))
    weight_before: Floats = total[np.searchsorted(time[order], at, side="left")]
    return weight_before


def _steps(curve: KaplanMeier, name: str, t: Floats, start: float) -> Floats:
    if not hasattr(curve, name):
        raise NotFitted("call fit() first")
    value = np.concatenate(([start], getattr(curve, name)))
    values: Floats = value[np.searchsorted(curve.time_, t, side="right")]
    return values
