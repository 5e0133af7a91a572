"""Bounds whose share of misses is led after the misses that happened.

Adaptive conformal inference (Gibbs and Candes, NeurIPS 2021) about the scores of
``models.conformal``. The product went by it until the mixture of quantiles
(``models.quantile_mixture``) took its place: ``lab.forecast_halves`` compares the two.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from halflife.core import lazy_scipy
from halflife.core.arrays import Floats, Ints
from halflife.models.conformal import (
    CYCLES_KEPT,
    FREEDOM,
    LENT,
    MEDIAN,
    SCORES_KEPT,
    Calibrated,
    Scored,
    latest,
    row_quantiles,
)

PACE = 0.02  # how fast the share of misses is led, per cycle
LEAST, MOST = 0.002, 0.3  # within which it is led


@dataclass(frozen=True)
class Adaptive:
    """The scores of past forecasts, with bounds that follow the misses."""

    ready: Calibrated
    confidence: float

    @property
    def scored(self) -> Scored:
        """The forecasts and what came true."""
        return self.ready.scored

    @cached_property
    def misses(self) -> Floats:
        """The share of misses allowed at each look.

        With e = 1 for a miss, the share moves by pace (1 - confidence - e) as each
        outcome becomes known.
        """
        aim = 1.0 - self.confidence
        pace = PACE / np.sqrt(self.scored.cycle)
        extreme, order = self.extremes().tolist(), self.scored.order.tolist()
        told = self.scored.settled.tolist()
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

    def extremes(self) -> Floats:
        """Return how extreme each score was among those known when it was forecast.

        Twice the smaller tail of the mixture of past scores and lent ones.
        """
        scores, cycle = self.ready.scores, self.scored.cycle
        known = self.scored.settled[self.scored.order]
        kept = self._kept
        tail, lent = lazy_scipy.stdtr(FREEDOM, scores), LENT * cycle
        past = latest(scores, known, kept)
        below = (past < scores[:, None]).sum(axis=1)
        above = ((past > scores[:, None]) & np.isfinite(past)).sum(axis=1)
        total = np.minimum(known, kept) + lent
        low = (total - above - lent * (1.0 - tail)) / total
        high = (total - below - lent * tail) / total
        return np.asarray(2.0 * np.minimum(low, high))

    def bounds(self, looks: Ints) -> Floats:
        """Return the least, the middle and the most loss to expect: three rows."""
        guess, cycle = self.scored.guess[looks], self.scored.cycle
        past = latest(self.ready.scores, self.scored.settled[looks], self._kept)
        own = np.where(np.isfinite(past), self.ready.around(looks, guess, past), np.inf)
        tail = self.misses[looks][:, None] / 2.0
        levels = np.concatenate([tail, 1.0 - tail], axis=1)
        lend = self.ready.lent(looks, guess)
        low, high = row_quantiles(own, LENT * cycle, lend, levels).T
        middle = self.ready.quantiles(looks, guess, np.array([MEDIAN]))[:, 0]
        return np.stack([low, np.clip(middle, low, high), high])

    @property
    def _kept(self) -> int:
        return int(max(SCORES_KEPT, CYCLES_KEPT * self.scored.cycle))
