"""Decides whether an answer that lacks many objects is credible.

Objects disappear all the time, and now and then a source answers with nothing, or with
half of what it has. The guard knows how many a source usually loses between two
snapshots, and how unevenly, and tests whether a loss is credible under that.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np

from halflife.core import lazy_scipy
from halflife.core.arrays import Floats, Ints
from halflife.core.wording import count

LEAST_CYCLES = 5  # fewer are too little history of the source itself
DISPERSION = 0.02  # of a source without history
WEIGHT = 3.0  # weight of that prior, in cycles
LARGEST = 0.5
THIRD = 1.0 / 3.0
_TINY = 1e-9
_EDGE = 1e-3
_UNLIKELY = 0.05  # probability below which it is not credible that all have gone


@dataclass(frozen=True, slots=True)
class LossVerdict:
    """The guard's verdict on a loss.

    Attributes:
        held: Objects that were there before.
        gone: Objects of these that the answer lacks.
        low: The usual minimum: fewer go once in a thousand times.
        high: The usual maximum: more go once in a thousand times.
        tail: The probability that so many go, or more.
        credible: Whether the answer is credible.
        why: The reason, in words.

    """

    held: int
    gone: int
    low: int
    high: int
    tail: float
    credible: bool
    why: str


class DeleteGuard:
    """Judges losses by a beta-binomial law learned from past cycles.

    Of n objects held, each goes within a gap g with probability q = 1 - exp(-a g), and
    objects go together: the number D that goes has mean n q and variance n q (1 - q)
    (1 + (n - 1) r). The rate a is losses over exposure. The dispersion r comes from the
    moments of k past cycles, shrunk towards 0.02 while they are few, and is raised to
    its upper bound, 1 + sqrt(8 / k) times as large.

    A loss is not credible if

    - nothing is left, of ``least`` objects or more, or with a probability below 5 %;
    - it counts ``least`` objects or more, and P(D >= d) < ``tail``;
    - it counts ``least`` objects or more, and of those expected to stay more than a
      share is lost: ``ceiling`` in the first cycles, later a third, because by then the
      law above is more precise.

    Args:
        tail: The probability below which a loss is held.
        ceiling: The share of losses beyond the expected ones that is held.
        least: Losses of fewer objects are accepted, unless nothing is left.

    Attributes:
        cycles_: Past cycles it learned from; with few it is strict.
        rate_: Losses per object and day.
        dispersion_: How far objects go together: 0 not at all, 1 all or none.

    >>> held, gone, gap = np.full(30, 1000), np.arange(30) % 20, np.ones(30)
    >>> guard = DeleteGuard().fit(held, gone, gap)
    >>> print(guard.judge(1000, 812, 1.0).why)
    812 of 1000 objects are missing; between 0 and 52 were expected
    >>> guard.judge(1000, 20, 1.0).credible
    True

    """

    def __init__(
        self, *, tail: float = 1e-4, ceiling: float = 0.2, least: int = 10
    ) -> None:
        self.tail = tail
        self.ceiling = ceiling
        self.least = least
        self.cycles_ = 0
        self.rate_ = 0.0
        self.dispersion_ = DISPERSION

    def fit(self, held: Ints, gone: Ints, gap: Floats) -> Self:
        """Learn from past cycles: objects held, missing at the next snapshot, days."""
        valid = (held > 0) & (gap > 0) & (gone <= held)
        n, d, g = (np.asarray(x[valid], dtype=np.float64) for x in (held, gone, gap))
        self.cycles_ = int(n.size)
        self.rate_, self.dispersion_ = _moments(n, d, g)
        return self

    def judge(self, held: int, gone: int, gap: float) -> LossVerdict:
        """Judge whether it is credible that so many of those held have gone."""
        share, chance = self._law(held, gap)
        beyond = float(chance[gone:].sum()) if gone <= held else 0.0
        low = int(np.searchsorted(np.cumsum(chance), _EDGE))
        high = held - int(np.searchsorted(np.cumsum(chance[::-1]), _EDGE))
        fault = self._is_fault(held, gone, share, beyond)
        low, high = min(low, held), max(high, 0)
        expected = f"between {low} and {high} were expected"
        if self.cycles_ < LEAST_CYCLES:
            cycles, be = count(self.cycles_, "earlier cycle"), _be(self.cycles_)
            expected = f"{cycles} {be} too few to know what is usual"
        why = f"{gone} of {count(held, 'object')} {_be(gone)} missing; {expected}"
        return LossVerdict(held, gone, low, high, min(beyond, 1.0), not fault, why)

    def is_usual(self, n: int, k: int, gap: float) -> bool:
        """Say whether k of n objects, beyond those expected, are a third at most.

        More are usual if the law says so: with some sources everything differs.
        """
        share, chance = self._law(n, gap)
        if self.cycles_ >= LEAST_CYCLES and float(chance[k:].sum()) >= _UNLIKELY:
            return True
        return k - n * share <= THIRD * n * (1.0 - share)

    def _law(self, n: int, gap: float) -> tuple[float, Floats]:
        """Return the expected share, and the probability of each number up to n."""
        share = float(-np.expm1(-self.rate_ * max(gap, 0.0)))
        return share, np.exp(log_pmf(n, share, self.dispersion_))

    def _is_fault(self, held: int, gone: int, share: float, tail: float) -> bool:
        has_history = self.cycles_ >= LEAST_CYCLES
        if held and gone >= held:
            return held >= self.least or not has_history or tail < _UNLIKELY
        return self._is_excess(held, gone, share, tail)

    def _is_excess(self, held: int, gone: int, share: float, tail: float) -> bool:
        has_history = self.cycles_ >= LEAST_CYCLES
        if gone < self.least:
            return False
        stay = held * (1.0 - share)
        lost = (gone - held * share) / max(stay, 1.0)
        limit = THIRD if has_history else self.ceiling
        return lost > limit or (has_history and tail < self.tail)


def _moments(n: Floats, d: Floats, gap: Floats) -> tuple[float, float]:
    """Return the rate, as losses over exposure, and the dispersion, by moments."""
    if not n.size:
        return 0.0, DISPERSION
    rate = float((d.sum() + 0.5) / max((n * gap).sum(), 1.0))
    q = np.clip(-np.expm1(-rate * gap), _TINY, 1.0 - _TINY)
    plain = n * q * (1.0 - q)
    excess = ((d - n * q) ** 2 - plain).sum()
    scale = (plain * np.maximum(n - 1.0, 0.0)).sum()
    prior = WEIGHT * scale / n.size
    if scale <= 0.0:
        return rate, DISPERSION
    estimate = (excess + prior * DISPERSION) / (scale + prior)
    upper = estimate * (1.0 + np.sqrt(8.0 / n.size))
    return rate, float(np.clip(upper, _TINY, LARGEST))


def log_pmf(n: int, mean: float, dispersion: float) -> Floats:
    """Return log P(D = k) for k = 0..n of a beta-binomial law.

    C(n, k) B(k + a, n - k + b) / B(a, b), a = m (1 - r) / r, b = (1 - m)(1 - r) / r.
    """
    m = min(max(mean, _TINY), 1.0 - _TINY)
    r = min(max(dispersion, _TINY), LARGEST)
    a, b = m * (1.0 - r) / r, (1.0 - m) * (1.0 - r) / r
    k = np.arange(n + 1, dtype=np.float64)
    ways = lazy_scipy.gammaln(n + 1.0) - lazy_scipy.gammaln(k + 1.0)
    ways = ways - lazy_scipy.gammaln(n - k + 1.0)
    law: Floats = ways + lazy_scipy.betaln(k + a, n - k + b) - lazy_scipy.betaln(a, b)
    law -= law.max()
    return law - float(np.log(np.exp(law).sum()))


def _be(number: int) -> str:
    return "is" if number == 1 else "are"
