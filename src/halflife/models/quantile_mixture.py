"""Quantiles of what a copy will lose, mixed from three forecasts by their record.

- *Scores*: the pooled forecast, and about it the scores of past ones (``conformal``).
- *Past*: what came true at this horizon before, whatever was forecast; in proportion
  where snapshots came a little earlier or later.
- *Blocks*: sums of blocks of the source's own steps, drawn at random (Kuensch, "The
  jackknife and the bootstrap for general stationary observations", Annals of Statistics
  1989), times the square root of the pooled forecast over the mean of such sums.

To the last two half as many cycles are lent as to the first, by Student's t about the
pooled forecast: with fewer, sites are covered too little at 30 days.

At each level the quantile is the mean of the three, weighted by e^-p with p =
``SHARPNESS`` n / (n + ``HALF``) after n cycles: equal weights at first, nearly the best
one alone in the end. e is the mean past pinball loss, less the share n / (n +
``COMMON``) of the least loss that any of the three had at each forecast: a collapse
that none predicted costs all of them the same, and would hide how much they differ in
the quiet time before. Losses are of the quality itself, exp(-loss).
"""

from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from halflife.core.arrays import Floats, Ints
from halflife.models.conformal import (
    MEDIAN,
    Calibrated,
    Scored,
    latest,
    lent_quantiles,
    running_sums,
)

SCORES, PAST, BLOCKS = MEMBERS = "scores", "past", "blocks"
OWN = 0.5  # of the cycles lent to scores are lent to what the source itself did
SHARPNESS, HALF = 16.0, 2.0  # of the weights, and the cycles at which it is half
COMMON = 10.0  # cycles at which half of what all members lost is left out
KEPT = 400  # outcomes that the member *past* goes by, or those of 20 cycles
PAID = 200  # past forecasts that weights go by, at most four a cycle
BLOCK, DRAWS = 7, 120  # steps in a block, and sums of them that are drawn
_LEAST = 1e-9


@dataclass(frozen=True)
class Mixture:
    """The forecasts of one measure at one horizon, from every snapshot, with bounds.

    Attributes:
        ready: The pooled forecast and its scores.
        steps: What was lost from each snapshot to the next.
        ahead: How far each snapshot's forecast reaches, in usual steps between
            snapshots.
        members: Which forecasts are mixed.

    """

    ready: Calibrated
    steps: Floats
    ahead: Floats
    members: tuple[str, ...] = MEMBERS

    @property
    def scored(self) -> Scored:
        """The forecasts and what came true."""
        return self.ready.scored

    def bounds(self, at: Ints, guess: Floats, confidence: float) -> Floats:
        """Return the least, the middle and the most loss to expect: three rows.

        ``guess`` is the loss forecast at each snapshot; where it is not that of this
        horizon, what the source did counts in proportion. Where one member says that
        nothing may be lost, so does the bound.
        """
        tail = (1.0 - confidence) / 2.0
        levels = np.array([tail, MEDIAN, 1.0 - tail])
        each = self.each(at, guess, levels)
        mixed = np.sort((self.weights(at, levels) * each).sum(axis=0), axis=1)
        mixed[(each[:, :, 0] <= _LEAST).any(axis=0), 0] = 0.0
        return mixed.T

    def quantiles(self, at: Ints, levels: Floats) -> Floats:
        """Return quantiles of the loss, snapshot x level.

        ``levels`` ascend, and so do the losses.
        """
        each = self.each(at, self.scored.guess[at], levels)
        return np.sort((self.weights(at, levels) * each).sum(axis=0), axis=1)

    def each(self, at: Ints, guess: Floats, levels: Floats) -> Floats:
        """Return the quantiles of every member: member x snapshot x level."""
        own = self.scored.guess[at]
        ratio = (guess / np.maximum(own, 1e-300))[:, None]
        told = {
            SCORES: lambda: self.ready.quantiles(at, guess, levels),
            PAST: lambda: self._past(at, levels) * ratio,
            BLOCKS: lambda: self._blocks(at, levels) * ratio,
        }
        return np.stack([told[name]() for name in self.members])

    def _past(self, at: Ints, levels: Floats) -> Floats:
        s = self.scored
        known = np.flatnonzero(s.later >= 0)
        end = np.searchsorted(s.later[known], at, side="right")
        paces = s.found[known] / self.ahead[known]
        past = latest(paces, end, int(max(KEPT, 20.0 * s.cycle)))
        past = past * self.ahead[at][:, None]
        lend = self.ready.lent(at, s.guess[at])
        return lent_quantiles(past, OWN * s.cycle, lend, levels)

    def _blocks(self, at: Ints, levels: Floats) -> Floats:
        s, length = self.scored, max(1, round(self.scored.cycle))
        guess, known = s.guess[at], np.minimum(at, self.steps.size)
        ahead = self.ahead[at]
        sums = block_sums(self.steps, known, length) * (ahead / length)[:, None]
        usual = ahead * running_sums(self.steps)[known] / np.maximum(known, 1)
        sums *= np.sqrt(guess / np.maximum(usual, _LEAST))[:, None]
        # All draws together count as the cycles that were seen.
        cycle = OWN * DRAWS * length / np.maximum(known, _LEAST)
        return lent_quantiles(sums, cycle, self.ready.lent(at, guess), levels)

    def weights(self, at: Ints, levels: Floats) -> Floats:
        """Return how much each member counts at each snapshot and level."""
        if len(self.members) == 1:
            return np.ones((1, at.size, levels.size))
        s = self.scored
        grid = s.order[:: max(1, round(s.cycle / 4.0))]
        end = np.searchsorted(s.later[grid], at, side="right")
        begin = max(0, int(end.min(initial=grid.size)) - PAID)
        paid = self._paid(grid[begin : int(end.max(initial=0))], levels)
        paid = np.concatenate([paid, paid.min(axis=0, keepdims=True)])
        total = running_sums(np.moveaxis(paid, 1, -1))
        first = np.maximum(end - PAID, 0)
        sums = total[..., end - begin] - total[..., first - begin]
        mean = np.moveaxis(sums / np.maximum(end - first, 1), -1, 1)
        cycles = s.cycles[at][:, None]
        excess = mean[:-1] - cycles / (cycles + COMMON) * mean[-1] + _LEAST
        power = SHARPNESS * cycles / (cycles + HALF)
        share = (excess / excess.min(axis=0)) ** -power
        out: Floats = share / share.sum(axis=0)
        return out

    def _paid(self, at: Ints, levels: Floats) -> Floats:
        """Return the pinball loss of each member in the past, shaped as ``each``."""
        made, key = self._made, (at.tobytes(), levels.tobytes())
        if key not in made:
            each = self.each(at, self.scored.guess[at], levels)
            made[key] = pinball(each, self.scored.found[at], levels)
        return made[key]

    @cached_property
    def _made(self) -> dict[tuple[bytes, bytes], Floats]:
        return {}


def pinball(loss: Floats, found: Floats, levels: Floats) -> Floats:
    """Return what quantiles of a loss pay, in the quality e^-loss.

    With x the quality that came and q the quantile of it, at level a of the quality:
    a (x - q) where x is above, (1 - a) (q - x) where it is below; least in the mean for
    the true quantile (Koenker and Bassett, Econometrica 1978). ``loss`` ends in
    snapshot x level; level l of a loss is level 1 - l of the quality.

    >>> half = np.log(2.0)  # a quality of 0.5 forecast, of 1 and of 0.25 found
    >>> pinball(np.full((2, 1), half), np.array([0.0, 2 * half]), np.array([0.9]))
    array([[0.05 ],
           [0.225]])
    """
    off: Floats = np.exp(-found)[:, None] - np.exp(-loss)
    return np.where(off >= 0.0, (1.0 - levels) * off, -levels * off)


def block_sums(steps: Floats, known: Ints, length: int) -> Floats:
    """Return sums of ``length`` steps drawn in random blocks, snapshot x draw.

    Snapshot i draws from the first ``known[i]`` steps. Whole blocks are drawn, so a
    sum of more or fewer steps is taken in proportion.
    """
    block = min(BLOCK, length)
    blocks = -(-length // block)
    begin = (_chances(blocks) * np.maximum(known - block + 1, 1)[:, None, None]).astype(
        np.intp
    )
    end = np.minimum(begin + block, known[:, None, None])
    total = running_sums(steps)
    sums: Floats = (total[end] - total[begin]).sum(axis=2) * (length / (block * blocks))
    return sums


@cache
def _chances(blocks: int) -> Floats:
    """Return the same random numbers every time: the sums of a source differ little."""
    return np.random.default_rng(0).random((DRAWS, blocks))
