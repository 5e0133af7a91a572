"""The gain of a fetch where hints of change arrive, some of them false.

An item changes at a rate D. Each change is announced by a hint with probability r,
the recall, and false hints come at a rate v of their own. With

    a = (1 - r) D    unannounced changes,
    g = r D + v      hints, true and false,
    k = ln(g / v)    the worth of one hint: it multiplies P(fresh) by exp(-k),

an item last seen t days and s hints ago is fresh with probability exp(-a t - k s),
which is exp(-a T) with T = t + b s and b = k / a: a hint makes the age longer by b.
The model and the effective age are those of Busa-Fekete et al., WWW 2025; the sums
below were derived for it and are checked by simulation.
"""

from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from halflife.core import lazy_scipy
from halflife.core.arrays import LARGEST_LOG, Floats

MOST_WORTH = 36.0  # k of a hint that is never false; exp(-36) is negligible
_MOST_TERMS = 400
_LEAST_WORTH = 0.02  # hints worth less are treated as an even stream
LEAST_MISSED = 1e-6  # least share of unannounced changes
FAR = 45.0  # a T from which an item is certainly stale


@dataclass(frozen=True, slots=True)
class SignalRates:
    """The rates of changes and hints; per day, one row for each item.

    Attributes:
        silent: a, unannounced changes.
        hint_rate: g, hints, true and false.
        worth: k >= 0, the worth of one hint; P(fresh) falls by exp(-k).

    """

    silent: Floats
    hint_rate: Floats
    worth: Floats

    @classmethod
    def of(cls, rate: ArrayLike, recall: ArrayLike, false: ArrayLike) -> Self:
        """Return the model of items that change at ``rate``; false hints per day."""
        change, announced, false_rate = np.broadcast_arrays(
            *(np.asarray(x, dtype=np.float64) for x in (rate, recall, false))
        )
        if np.any((announced < 0) | (announced > 1)) or np.any(
            (change < 0) | (false_rate < 0)
        ):
            raise ValueError("recall must lie in 0..1, rates must not be negative")
        missed = np.maximum(1.0 - announced, LEAST_MISSED) * change
        hint_rate = announced * change + false_rate
        share = np.divide(
            false_rate, hint_rate, out=np.ones_like(hint_rate), where=hint_rate > 0
        )
        worth = -np.log(np.maximum(share, np.exp(-MOST_WORTH)))
        return cls(missed, hint_rate, worth)

    @classmethod
    def at(cls, rate: ArrayLike, recall: ArrayLike, precision: ArrayLike) -> Self:
        """Return the same, given the share of true hints p; v = r D (1 - p) / p.

        >>> float(SignalRates.at(1.0, 0.5, 0.5).hint_rate)
        1.0
        """
        share = np.asarray(precision, dtype=np.float64)
        if np.any((share <= 0) | (share > 1)):
            raise ValueError("precision must lie above 0 and not above 1")
        true = np.asarray(rate, dtype=np.float64) * np.asarray(recall)
        return cls.of(rate, recall, true * (1.0 - share) / share)

    @property
    def shift(self) -> Floats:
        """The days b = k / a by which one hint makes the age longer; finite."""
        return np.asarray(self.worth / np.maximum(self.silent, 1e-12))

    @property
    def rate(self) -> Floats:
        """All changes, D = a + g (1 - exp(-k))."""
        return np.asarray(self.silent - self.hint_rate * np.expm1(-self.worth))


class Cycle(NamedTuple):
    """Mean length and fresh time from one fetch to the next, in days."""

    length: Floats
    fresh: Floats


def cycle(hints: SignalRates, until: Floats) -> Cycle:
    """Return a cycle that ends when the effective age T reaches ``until``.

    With R_i(x) = P(Poisson(x) > i) and x_i = until - i b, summed over x_i > 0:

        length = sum R_i(g x_i) / g,
        fresh  = sum v**i / (a + g)**(i + 1) R_i((a + g) x_i).

    Where hints are worth almost nothing, T grows evenly by 1 + b g a day.
    """
    a, g, k = np.broadcast_arrays(hints.silent, hints.hint_rate, hints.worth)
    even = (k < _LEAST_WORTH) | (g <= 0)
    far = np.where(even, FAR, np.minimum(_MOST_TERMS * k, FAR))
    until = np.minimum(until, far / np.maximum(a, 1e-12))
    total = a + g
    length, fresh = (until * lazy_scipy.exprel(-rate * until) for rate in (g, total))
    speed = 1.0 + g * hints.shift
    rows = np.flatnonzero(~even & (a * until > k))
    length = np.where(even, until / speed, length)
    fresh = np.where(even, until * lazy_scipy.exprel(-a * until) / speed, fresh)
    i = 0
    while rows.size:
        i += 1
        rows = rows[until[rows] > i * hints.shift[rows]]
        remaining = until[rows] - i * hints.shift[rows]
        weight = np.exp(i * (np.log(g[rows]) - k[rows] - np.log(total[rows])))
        length[rows] += lazy_scipy.gammainc(i + 1, g[rows] * remaining) / g[rows]
        fresh[rows] += (
            weight * lazy_scipy.gammainc(i + 1, total[rows] * remaining) / total[rows]
        )
    return Cycle(length, fresh)


def value(hints: SignalRates, age: Floats) -> Floats:
    """Return the gain of a fetch at effective age T: V = fresh - exp(-a T) length.

    Without hints it is the plain index of freshness; if every change is announced and
    no hint is false, it is 0 until a hint arrives and 1 / D from then on.

    >>> value(SignalRates.of(np.ones(1), 0.0, 0.0), np.ones(1)).round(4)  # 1 - 2/e
    array([0.2642])
    """
    length, fresh = cycle(hints, age)
    stale = np.exp(-np.minimum(hints.silent * age, LARGEST_LOG))
    gain: Floats = np.maximum(fresh - stale * length, 0.0)
    return gain
