"""What a look buys where hints of change come, some of them false.

An item changes at a rate D. Each change is announced by a hint with probability r,
the recall, and false hints come at a rate v of their own. With

    a = (1 - r) D    changes that nobody announces,
    g = r D + v      hints, true and false,
    k = ln(g / v)    what one hint is worth: it multiplies P(fresh) by exp(-k),

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

MOST_WORTH = 36.0  # k of a hint that is never false; exp(-36) is nothing
_MOST_TERMS = 400
_LEAST_WORTH = 0.02  # hints worth less are taken as an even stream
LEAST_MISSED = 1e-6  # share of changes that goes unannounced, at least
FAR = 45.0  # a T from which an item is surely stale


@dataclass(frozen=True, slots=True)
class SignalRates:
    """How items change and what is told of it; rates a day, one row an item.

    Attributes:
        silent: a, changes that no hint announces.
        told: g, hints, true and false.
        worth: k >= 0, what one hint is worth; P(fresh) falls by exp(-k).

    """

    silent: Floats
    hint_rate: Floats
    worth: Floats

    @classmethod
    def of(cls, rate: ArrayLike, recall: ArrayLike, false: ArrayLike) -> Self:
        """Return the model of items that change at ``rate``; false hints per day."""
        change, hit, wrong = np.broadcast_arrays(
            *(np.asarray(x, dtype=np.float64) for x in (rate, recall, false))
        )
        if np.any((hit < 0) | (hit > 1)) or np.any((change < 0) | (wrong < 0)):
            raise ValueError("recall must lie in 0..1, rates must not be negative")
        missed = np.maximum(1.0 - hit, LEAST_MISSED) * change
        hint_rate = hit * change + wrong
        share = np.divide(wrong, hint_rate, out=np.ones_like(hint_rate), where=hint_rate > 0)
        worth = -np.log(np.maximum(share, np.exp(-MOST_WORTH)))
        return cls(missed, hint_rate, worth)

    @classmethod
    def at(cls, rate: ArrayLike, recall: ArrayLike, precision: ArrayLike) -> Self:
        """Return the same, given which share of hints is true; v = r D (1 - p) / p.

        >>> float(SignalRates.at(1.0, 0.5, 0.5).told)
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
    """What happens from one look to the next, on average, in days."""

    length: Floats
    fresh: Floats


def cycle(hints: SignalRates, until: Floats) -> Cycle:
    """Return a cycle that ends when the effective age T reaches ``until``.

    With R_i(x) = P(Poisson(x) > i) and x_i = until - i b, summed over x_i > 0:

        length = sum R_i(g x_i) / g,
        fresh  = sum v**i / (a + g)**(i + 1) R_i((a + g) x_i).

    Where each hint is worth next to nothing, T grows evenly by 1 + b g a day.
    """
    a, g, k = np.broadcast_arrays(hints.silent, hints.hint_rate, hints.worth)
    few = (k < _LEAST_WORTH) | (g <= 0)
    far = np.where(few, FAR, np.minimum(_MOST_TERMS * k, FAR))
    until = np.minimum(until, far / np.maximum(a, 1e-12))
    total = a + g
    length, fresh = (until * lazy_scipy.exprel(-rate * until) for rate in (g, total))
    speed = 1.0 + g * hints.shift
    rows = np.flatnonzero(~few & (a * until > k))
    length = np.where(few, until / speed, length)
    fresh = np.where(few, until * lazy_scipy.exprel(-a * until) / speed, fresh)
    i = 0
    while rows.size:
        i += 1
        rows = rows[until[rows] > i * hints.shift[rows]]
        left = until[rows] - i * hints.shift[rows]
        weight = np.exp(i * (np.log(g[rows]) - k[rows] - np.log(total[rows])))
        length[rows] += lazy_scipy.gammainc(i + 1, g[rows] * left) / g[rows]
        fresh[rows] += (
            weight * lazy_scipy.gammainc(i + 1, total[rows] * left) / total[rows]
        )
    return Cycle(length, fresh)


def value(hints: SignalRates, age: Floats) -> Floats:
    """Return what a look buys at effective age T: V = fresh - exp(-a T) length.

    Without hints it is the plain index of freshness; when every change is told and
    no hint is false, it is 0 until a hint comes and 1 / D from then on.

    >>> value(SignalRates.of(np.ones(1), 0.0, 0.0), np.ones(1)).round(4)  # 1 - 2/e
    array([0.2642])
    """
    length, fresh = cycle(hints, age)
    stale = np.exp(-np.minimum(hints.silent * age, LARGEST_LOG))
    bought: Floats = np.maximum(fresh - stale * length, 0.0)
    return bought
