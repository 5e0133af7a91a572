"""Quantiles of what a copy will lose, mixed from three forecasts by their record.

- *Scores*: the pooled forecast, and about it the scores of past ones (``conformal``),
  on the scale of the usual over-dispersion, which no single outcome decides.
- *Past*: what came true at this horizon before, whatever was forecast; in proportion
  where snapshots came a little earlier or later.
- *Blocks*: sums of blocks of the source's own steps, drawn at random (Kuensch, "The
  jackknife and the bootstrap for general stationary observations", Annals of Statistics
  1989), times the square root of the pooled forecast over the mean of such sums.

To the last two half as many cycles are lent as to the first, by Student's t about the
pooled forecast: with fewer, sites are covered too little at 30 days. What is lent to
them stands for what was not seen yet: it has the whole over-dispersion. What they did
see is taken sqrt(1 + 1 / n) as far from its mean after n cycles: the mean of so few is
itself off, by a share 1 / n of their variance.

At each level the quantile is the mean of the three, weighted by e^-p with p =
``SHARPNESS`` n / (n + ``HALF``) after n cycles: equal weights at first, nearly the best
one alone in the end. e is the mean past pinball loss, less the share n / (n +
``COMMON``) of the least loss that any of the three had at each forecast: a collapse
that none predicted costs all of them the same, and would hide how much they differ in
the quiet time before. Losses are of the quality itself, exp(-loss).

A quarter of the horizon has four times the cycles, and shows earlier which member is
the best. What it shows counts as up to ``BORROWED`` cycles of this horizon.
"""

from dataclasses import dataclass, replace
from functools import cache, cached_property

import numpy as np

from halflife.core.arrays import Floats, Ints
from halflife.models.conformal import (
    LENT,
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
BORROWED = LENT  # cycles that a shorter horizon is worth at most
COMMON = 10.0  # cycles at which half of what all members lost is left out
KEPT = 400  # outcomes that the member *past* goes by, or those of 20 cycles
PAID = 100  # past forecasts that weights go by, at most two a cycle; borrowed, half
BLOCK, DRAWS = 7, 120  # steps in a block, and sums of them that are drawn
_LEAST = 1e-9


@dataclass(frozen=True)
class Mixture:
    """The forecasts of one measure at one horizon, from every snapshot, with bounds.

    Attributes:
        ready: The pooled forecast and its scores, with the whole over-dispersion.
        steps: What was lost from each snapshot to the next.
        ahead: How far each snapshot's forecast reaches, in usual steps between
            snapshots.
        members: Which forecasts are mixed.
        usual: The same as ``ready`` with the usual over-dispersion; ``ready`` if None.
        shorter: The forecasts of a quarter of the horizon, from the same snapshots.

    """

    ready: Calibrated
    steps: Floats
    ahead: Floats
    members: tuple[str, ...] = MEMBERS
    usual: Calibrated | None = None
    shorter: "Mixture | None" = None

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
            SCORES: lambda: (self.usual or self.ready).quantiles(at, guess, levels),
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
        past = widened(past, at / s.cycle)
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
        sums = widened(sums, at / s.cycle)
        return lent_quantiles(sums, cycle, self.ready.lent(at, guess), levels)

    def weights(self, at: Ints, levels: Floats) -> Floats:
        """Return how much each member counts at each snapshot and level."""
        if len(self.members) == 1:
            return np.ones((1, at.size, levels.size))
        cycles, excess = self._record(at, levels, PAID)
        power = SHARPNESS * cycles / (cycles + HALF)
        share = np.exp(-power * (excess - excess.min(axis=0)))
        out: Floats = share / share.sum(axis=0)
        return out

    def _record(self, at: Ints, levels: Floats, most: int) -> tuple[Floats, Floats]:
        """Return the cycles that weights go by, and the log of what each member paid.

        With l after n cycles of this horizon, and l' after n' of the shorter one, which
        are worth m = B n' / (n' + B): (n l + m l') / (n + m) after n + m cycles. Of the
        past forecasts the latest ``most`` count, of the shorter horizon half as many.
        The middle borrows nothing: that little was lost in minutes must not make a
        source appear to lose nothing in hours, or it is not fetched again.
        """
        cycles = self.scored.cycles[at][:, None]
        paid = self._excess(at, levels, most)
        shorter = self._quarter
        if shorter is None:
            return cycles, paid
        half = at, levels, PAID // 2
        more, told = shorter._record(*half)  # noqa: SLF001 - another of its kind
        worth = BORROWED * more / (more + BORROWED) * (levels != MEDIAN)
        total = np.maximum(cycles + worth, _LEAST)
        return cycles + worth, (cycles * paid + worth * told) / total

    @cached_property
    def _quarter(self) -> "Mixture | None":
        """The forecasts of the shorter horizon, mixed from the same members."""
        short = self.shorter
        if short is None or short.members == self.members:
            return short
        return replace(short, members=self.members)

    def _excess(self, at: Ints, levels: Floats, most: int) -> Floats:
        """Return the log of what each member paid beyond what all of them did."""
        s = self.scored
        grid = s.order[:: max(1, round(s.cycle / 2.0))]
        end = np.searchsorted(s.later[grid], at, side="right")
        begin = max(0, int(end.min(initial=grid.size)) - most)
        paid = self._paid(grid[begin : int(end.max(initial=0))], levels)
        paid = np.concatenate([paid, paid.min(axis=0, keepdims=True)])
        total = running_sums(np.moveaxis(paid, 1, -1))
        first = np.maximum(end - most, 0)
        sums = total[..., end - begin] - total[..., first - begin]
        mean = np.moveaxis(sums / np.maximum(end - first, 1), -1, 1)
        cycles = s.cycles[at][:, None]
        common = cycles / (cycles + COMMON) * mean[-1]
        out: Floats = np.log(mean[:-1] - common + _LEAST)
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


def widened(values: Floats, cycles: Floats) -> Floats:
    """Return each row's values sqrt(1 + 1 / n) as far from their mean.

    By so much does a prediction from the mean of n outcomes err more than one from the
    true mean. n is at least 1; nothing is below 0, and inf stays.

    >>> widened(np.array([[0.1, 0.7, np.inf]]), np.array([0.8])).round(3)
    array([[0.   , 0.824,   inf]])
    """
    known = np.isfinite(values)
    total = np.where(known, values, 0.0).sum(axis=1)
    mean = (total / np.maximum(known.sum(axis=1), 1))[:, None]
    factor = np.sqrt(1.0 + 1.0 / np.maximum(cycles, 1.0))[:, None]
    out: Floats = np.maximum(mean + factor * (values - mean), 0.0)
    return out


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
