"""Bounds that were right as often as promised: learned from past forecasts.

A forecast is scored when its outcome is seen. With x the loss in objects and m its
forecast, whose variance is taken as m + c^2 m^2, the score is

    z = g(x) - g(m),   g(x) = (2 / c) asinh(c sqrt(x + 3/8)),

which has about unit variance whatever m is (Anscombe, Biometrika 1948). c is the
over-dispersion learned from past forecasts. The bounds are quantiles of a mixture of
the past scores and a few scores lent by Student's t: with no past the lent ones alone
decide, and they are wide.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from halflife.core import lazy_scipy
from halflife.core.arrays import Bools, Floats, Ints

LENT, LENT_MIDDLE = 4.0, 20.0  # scores lent for the bounds and the middle, in cycles
FREEDOM = 4.0  # of the lent scores
DISPERSION, CYCLES = 0.5, 5.0  # c before any evidence, and the cycles it is worth
MEDIAN = 0.5
CYCLES_KEPT, SCORES_KEPT = 20.0, 100  # how far back scores count
_SPREADS = 1e-4, 4.0  # within which c**2 is learned
_LARGEST_LOG = 300.0  # the square of exp of it is a float
_POINTS = 199
_ROWS = 256  # that are sorted at a time
_NEAR = np.array([0.4, 0.6])  # their mean is a calmer median


@dataclass(frozen=True)
class Scored:
    """Forecasts of one measure at one horizon from every snapshot, with outcomes.

    Attributes:
        guess: The loss forecast at each snapshot.
        found: The loss that came true; read only where ``known``.
        size: Objects held at each snapshot, at least 1.
        later: The snapshot that showed the outcome; -1 where none did.
        cycle: How many snapshots go into one horizon, at least 1: so many forecasts
            in a row share most of their outcome and count as one.
        first: The first snapshot whose forecast counts.

    """

    guess: Floats
    found: Floats
    size: Floats
    later: Ints
    cycle: float
    first: int

    @cached_property
    def order(self) -> Ints:
        """The snapshots whose outcome is known and counts, in order of time."""
        return np.flatnonzero(
            (self.later >= 0) & (np.arange(self.later.size) >= self.first)
        )

    @cached_property
    def settled(self) -> Ints:
        """How many of them had their outcome by each snapshot."""
        here = np.arange(self.later.size)
        return np.searchsorted(self.later[self.order], here, side="right")

    @property
    def cycles(self) -> Floats:
        """How many independent outcomes were known at each snapshot."""
        return self.settled / self.cycle


def dispersion(scored: Scored, prior: Floats, *, usual: bool = False) -> Floats:
    """Return c at each snapshot: sum((x - m)^2 - m) / sum(m^2) over past forecasts.

    ``prior`` is the c^2 to begin with, worth a few cycles. The ``usual`` c counts each
    outcome as no more than the largest c^2, ``_SPREADS[1]`` m^2: then one collapse
    after many calm cycles does not decide it alone.

    >>> calm = np.full(40, 10.0)
    >>> calm[20] = 100.0  # of 100 objects 10 go, as forecast, and once all of them
    >>> later = np.append(np.arange(1, 40), -1)
    >>> past = Scored(np.full(40, 0.1), calm / 100, np.full(40, 100.0), later, 1.0, 0)
    >>> both = [dispersion(past, np.zeros(40), usual=usual) for usual in (False, True)]
    >>> [c[-1].round(2) for c in both]
    [np.float64(1.32), np.float64(0.07)]
    """
    m = (scored.size * scored.guess)[scored.order]
    x = (scored.size * scored.found)[scored.order]
    off = (x - m) ** 2 - m
    off = np.minimum(off, _SPREADS[1] * m**2) if usual else off
    excess, square = running_sums(off), running_sums(m**2)
    seen = np.maximum(excess, 0.0) / np.maximum(square, 1e-12)
    share = scored.cycles / (scored.cycles + CYCLES)
    squared = (1.0 - share) * prior + share * seen[scored.settled]
    return np.sqrt(np.clip(squared, *_SPREADS))


@dataclass(frozen=True)
class Calibrated:
    """Past forecasts and outcomes, with the over-dispersion that gives quantiles.

    Attributes:
        scored: The forecasts and outcomes.
        spread: The over-dispersion c at each snapshot.

    """

    scored: Scored
    spread: Floats

    @cached_property
    def scores(self) -> Floats:
        """The score of each forecast whose outcome is known, in order of time."""
        s, at = self.scored, self.scored.order
        size, c = s.size[at], self.spread[at]
        return steady(size * s.found[at], c) - steady(size * s.guess[at], c)

    def quantiles(self, at: Ints, guess: Floats, levels: Floats) -> Floats:
        """Return quantiles of the loss, snapshot x level.

        ``guess`` is the loss forecast at each of the snapshots.
        """
        cycle = self.scored.cycle
        kept = int(max(SCORES_KEPT, CYCLES_KEPT * cycle))
        past = latest(self.scores, self.scored.settled[at], kept)
        scores = lent_quantiles(past, cycle, _lent_scores(), levels)
        return self.around(at, guess, scores)

    def around(self, at: Ints, guess: Floats, scores: Floats) -> Floats:
        """Return the losses at such scores from the forecast, snapshot x score.

        >>> one = np.ones(1)
        >>> past = Scored(one, one, 100 * one, np.array([-1]), 1.0, 0)
        >>> Calibrated(past, one / 2).around(
        ...     np.array([0]), np.array([0.2]), np.array([-1.0, 0.0, 1.0])
        ... ).round(3)
        array([[0.112, 0.2  , 0.345]])
        """
        c, size = self.spread[at][:, None], self.scored.size[at][:, None]
        return unsteady(steady(size * guess[:, None], c) + scores, c) / size

    def lent(self, at: Ints, guess: Floats) -> Floats:
        """Return the losses that Student's t lends, evenly likely; a row a snapshot."""
        return self.around(at, guess, _lent_scores())


def latest(values: Floats, end: Ints, most: int) -> Floats:
    """Return the last values before each end, ``most`` at most, and inf for the rest.

    >>> latest(np.array([5.0, 6.0, 7.0]), np.array([0, 3]), 2).tolist()
    [[inf, inf], [7.0, 6.0]]
    """
    reach = min(most, int(end.max(initial=0)))
    place = end[:, None] - 1 - np.arange(reach)
    if reach == 0:
        return np.empty((end.size, 0))
    return np.where(place >= 0, values[np.maximum(place, 0)], np.inf)


def lent_quantiles(
    past: Floats, cycle: Floats | float, lend: Floats, levels: Floats
) -> Floats:
    """Return quantiles of the past with ``LENT`` cycles lent, row by row.

    ``cycle`` values of the past are worth a cycle. The median is taken with more lent:
    a steady bias is taken out of the forecast, a passing one hardly.
    """
    middle = levels == MEDIAN
    asked = [(LENT * cycle, levels)]
    if middle.any():
        asked.append((LENT_MIDDLE * cycle, _NEAR))
    found, *calm = _row_quantiles(past, lend, asked)
    for near in calm:
        found[:, middle] = near.mean(axis=1)[:, None]
    return found


def row_quantiles(
    past: Floats, lent: Floats | float, lend: Floats, levels: Floats
) -> Floats:
    """Return quantiles of what is past mixed with what is lent, row by row.

    Each finite value of ``past`` counts one, those of ``lend`` as much as ``lent`` in
    all; they and the levels may differ from row to row.

    >>> past = np.array([[1.0, 3.0, np.inf]])
    >>> row_quantiles(past, 2.0, np.array([2.0]), np.array([0.2, 0.5, 0.9]))
    array([[1., 2., 3.]])
    """
    return _row_quantiles(past, lend, [(lent, levels)])[0]


def _row_quantiles(
    past: Floats, lend: Floats, asked: Sequence[tuple[Floats | float, Floats]]
) -> list[Floats]:
    """Return the quantiles for each pair of a weight lent and levels; sorted once."""
    many, own = past.shape
    lend = _rows(lend, many)
    each = [
        np.broadcast_to(np.asarray(lent) / lend.shape[1], many) for lent, _ in asked
    ]
    found = [np.empty((many, levels.shape[-1])) for _, levels in asked]
    for begin in range(0, many, _ROWS):
        rows = slice(begin, begin + _ROWS)
        values = np.concatenate([past[rows], lend[rows]], axis=1)
        order = np.argsort(values, axis=1)
        row = np.arange(order.shape[0])[:, None]
        values = values[row, order]
        is_lent, counted = order >= own, np.isfinite(values).astype(np.float64)
        for out, share, (_, levels) in zip(found, each, asked, strict=True):
            weight = np.where(is_lent, share[rows, None], counted)
            total = np.cumsum(weight, axis=1)
            least = _rows(levels, many)[rows] * total[:, -1:]
            at = (total[:, None, :] >= least[:, :, None]).argmax(axis=2)
            at[least > total[:, -1:]] = order.shape[1] - 1
            out[rows] = values[row, at]
    return found


def _rows(values: Floats, many: int) -> Floats:
    """Return the same row so many times; rows stay as they are."""
    return np.broadcast_to(values, (many, values.shape[-1]))


def mixed_quantiles(past: Floats, lent: float, tail: float) -> tuple[float, float]:
    """Return the quantiles that cut off ``tail`` on both sides of the mixture.

    Past scores count one each, Student's t ``lent`` in all.

    >>> low, high = mixed_quantiles(np.zeros(0), 4.0, 0.025)
    >>> round(low, 1), round(high, 1)
    (-2.9, 2.9)
    """
    levels = np.array([tail, 1.0 - tail])
    low, high = row_quantiles(past[None], lent, _lent_scores(), levels)[0]
    return float(low), float(high)


@cache
def _lent_scores() -> Floats:
    """Return the scores lent by Student's t, evenly likely."""
    scores: Floats = lazy_scipy.stdtrit(FREEDOM, (np.arange(_POINTS) + 0.5) / _POINTS)
    return scores


def steady(x: Floats, c: Floats) -> Floats:
    """Return g(x), whose variance does not depend on the mean of x.

    >>> steady(np.array([4.0]), np.array([1e-9])).round(3)  # 2 sqrt(x + 3/8)
    array([4.183])
    """
    return 2.0 / c * np.arcsinh(c * np.sqrt(np.maximum(x, 0.0) + 0.375))


def unsteady(y: Floats, c: Floats) -> Floats:
    """Return the x of which ``y`` is g(x), and 0 below all of them.

    >>> c = np.array([0.3])
    >>> unsteady(steady(np.array([17.0]), c), c).round(9)
    array([17.])
    """
    grown = np.sinh(np.clip(y * c / 2.0, 0.0, _LARGEST_LOG)) ** 2 / c**2
    return np.maximum(grown - 0.375, 0.0)


def inside(low: Floats, high: Floats, truth: Floats) -> Bools:
    """Return whether the truth lies within the bounds."""
    return (low - 1e-9 <= truth) & (truth <= high + 1e-9)


def running_sums(values: Floats) -> Floats:
    """Return sums of the first 0, 1, .. values along the last axis."""
    zero = np.zeros((*values.shape[:-1], 1))
    return np.concatenate([zero, np.cumsum(values, axis=-1)], axis=-1)
