"""Bounds that were right as often as promised: learned from past forecasts.

A forecast is scored when its outcome is seen. With x the loss in objects and m its
forecast, whose variance is taken as m + c^2 m^2, the score is

    z = g(x) - g(m),   g(x) = (2 / c) asinh(c sqrt(x + 3/8)),

which has about unit variance whatever m is (Anscombe, Biometrika 1948). c is the
over-dispersion learned from past forecasts. The bounds are quantiles of a mixture of
the past scores and a few scores lent by Student's t: with no past the lent ones alone
decide, and they are wide. The share of misses allowed is then led after the misses
that happened (adaptive conformal inference: Gibbs and Candes, NeurIPS 2021).
"""

from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from halflife.core import lazy_scipy
from halflife.core.arrays import Bools, Floats, Ints

LENT, LENT_MIDDLE = 4.0, 20.0  # scores lent for the bounds and the middle, in cycles
FREEDOM = 4.0  # of the lent scores
DISPERSION, CYCLES = 0.5, 5.0  # c before any evidence, and the cycles it is worth
PACE = 0.02  # how fast the share of misses is led, per cycle
CYCLES_KEPT, SCORES_KEPT = 20.0, 100  # how far back scores count
LEAST, MOST = 0.002, 0.3  # within which the share of misses is led
_SPREADS = 1e-4, 4.0  # within which c**2 is learned
_LARGEST_LOG = 300.0  # the square of exp of it is a float
_POINTS = 199


@dataclass(frozen=True)
class Scored:
    """Forecasts of one measure at one horizon from every look, and what came true.

    Attributes:
        guess: The loss forecast at each look.
        found: The loss that came true; read only where ``known``.
        size: Objects held at each look, at least 1.
        later: The look that told; -1 where none did.
        cycle: How many looks go into one horizon, at least 1: so many forecasts in
            a row share most of their outcome and count as one.
        first: The first look whose forecast counts.

    """

    guess: Floats
    found: Floats
    size: Floats
    later: Ints
    cycle: float
    first: int

    @cached_property
    def order(self) -> Ints:
        """The looks whose outcome is known and counts, in order of time."""
        return np.flatnonzero(
            (self.later >= 0) & (np.arange(self.later.size) >= self.first)
        )

    @cached_property
    def told(self) -> Ints:
        """How many of them had their outcome by each look."""
        here = np.arange(self.later.size)
        return np.searchsorted(self.later[self.order], here, side="right")

    @property
    def cycles(self) -> Floats:
        """How many independent outcomes each look had behind it."""
        return self.told / self.cycle


def dispersion(scored: Scored, prior: Floats) -> Floats:
    """Return c at each look: sum((x - m)^2 - m) / sum(m^2) over past forecasts.

    ``prior`` is the c^2 to begin with, worth a few cycles.
    """
    m = (scored.size * scored.guess)[scored.order]
    x = (scored.size * scored.found)[scored.order]
    excess, square = _running((x - m) ** 2 - m), _running(m**2)
    seen = np.maximum(excess, 0.0) / np.maximum(square, 1e-12)
    share = scored.cycles / (scored.cycles + CYCLES)
    squared = (1.0 - share) * prior + share * seen[scored.told]
    return np.sqrt(np.clip(squared, *_SPREADS))


@dataclass(frozen=True)
class Calibrated:
    """The same with what makes bounds of them.

    Attributes:
        scored: The forecasts and outcomes.
        spread: The over-dispersion c at each look.
        confidence: How often the truth is meant to lie within the bounds.

    """

    scored: Scored
    spread: Floats
    confidence: float

    @cached_property
    def scores(self) -> Floats:
        """The score of each forecast whose outcome is known, in order of time."""
        s, at = self.scored, self.scored.order
        size, c = s.size[at], self.spread[at]
        return steady(size * s.found[at], c) - steady(size * s.guess[at], c)

    @property
    def _kept(self) -> int:
        return int(max(SCORES_KEPT, CYCLES_KEPT * self.scored.cycle))

    @cached_property
    def misses(self) -> Floats:
        """The share of misses allowed at each look.

        With e = 1 for a miss, the share moves by pace (1 - confidence - e) as each
        outcome becomes known.
        """
        aim = 1.0 - self.confidence
        pace = PACE / np.sqrt(self.scored.cycle)
        extreme, order = self._extremes().tolist(), self.scored.order.tolist()
        told = self.scored.told.tolist()
        share, done = aim, 0
        missed, out = [0.0] * len(order), np.empty(len(told))
        place = {look: k for k, look in enumerate(order)}
        for look, known in enumerate(told):
            while done < known:
                share = min(MOST, max(LEAST, share + pace * (aim - missed[done])))
                done += 1
            out[look] = share
            k = place.get(look)
            if k is not None:
                missed[k] = float(extreme[k] < share)
        return out

    def _extremes(self) -> Floats:
        """Return how extreme each score was among those known when it was forecast.

        Twice the smaller tail of the mixture of past scores and lent ones.
        """
        scores, kept = self.scores, self._kept
        known = self.scored.told[self.scored.order]
        reach = int(min(kept, known.max(initial=0)))
        tail = lazy_scipy.stdtr(FREEDOM, scores)
        lent = LENT * self.scored.cycle
        if reach == 0:
            return np.asarray(2.0 * np.minimum(tail, 1.0 - tail))
        padded = np.concatenate([np.full(reach, np.nan), scores])
        windows = np.lib.stride_tricks.sliding_window_view(padded, reach)[known]
        below = (windows < scores[:, None]).sum(axis=1)
        above = (windows > scores[:, None]).sum(axis=1)
        total = np.minimum(known, reach) + lent
        low = (total - above - lent * (1.0 - tail)) / total
        high = (total - below - lent * tail) / total
        return np.asarray(2.0 * np.minimum(low, high))

    def bounds(self, look: int, guess: float, size: float) -> Floats:
        """Return the least, the middle and the most loss to expect at a look.

        The middle is the median of the same mixture with more scores lent: a steady
        bias is taken out of the forecast, a passing one hardly.
        """
        return self.bounds_of(look, np.array([guess]), size)[:, 0]

    def quantiles(self, look: int, guess: float, size: float, levels: Floats) -> Floats:
        """Return the losses below which the truth lies with such chances.

        They are those of the mixture of scores, before misses lead the bounds.
        """
        cycle, end = self.scored.cycle, int(self.scored.told[look])
        past = self.scores[max(0, end - self._kept) : end]
        scores = mixture_quantiles(past, LENT * cycle, levels)
        c = np.array([self.spread[look]])
        centre = steady(size * np.array([guess]), c)
        return unsteady(centre + scores, c) / size

    def bounds_of(self, look: int, guesses: Floats, size: float) -> Floats:
        """Return the same of several losses forecast at one look: three rows."""
        tail, cycle = float(self.misses[look]) / 2.0, self.scored.cycle
        end = int(self.scored.told[look])
        past = self.scores[max(0, end - self._kept) : end]
        low, high = mixed_quantiles(past, LENT * cycle, tail)
        below, above = mixed_quantiles(past, LENT_MIDDLE * cycle, 0.4)
        middle = float(np.clip((below + above) / 2.0, low, high))
        c = np.array([self.spread[look]])
        centre = steady(size * guesses, c)
        return unsteady(centre + np.array([[low], [middle], [high]]), c) / size


def mixed_quantiles(past: Floats, lent: float, tail: float) -> tuple[float, float]:
    """Return the quantiles that cut off ``tail`` on both sides of the mixture.

    Past scores count one each, Student's t ``lent`` in all.

    >>> low, high = mixed_quantiles(np.zeros(0), 4.0, 0.025)
    >>> round(low, 1), round(high, 1)
    (-2.9, 2.9)
    """
    low, high = mixture_quantiles(past, lent, np.array([tail, 1.0 - tail]))
    return float(low), float(high)


def mixture_quantiles(past: Floats, lent: float, levels: Floats) -> Floats:
    """Return the quantiles of the same mixture at some levels."""
    values = np.concatenate([past, _lent_scores()])
    weight = np.concatenate([np.ones(past.size), np.full(_POINTS, lent / _POINTS)])
    order = np.argsort(values)
    total = np.cumsum(weight[order])
    at = np.searchsorted(total, levels * total[-1])
    found: Floats = values[order[np.minimum(at, order.size - 1)]]
    return found


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


def _running(values: Floats) -> Floats:
    return np.concatenate([[0.0], np.cumsum(values)])
