"""From what we saw to what we believe."""

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from halflife.arrays import Bools, Floats, Ints
from halflife.evidence import Evidence
from halflife.models.empirical_bayes import (
    GRID,
    add_log_likelihood,
    fit_prior,
    posterior,
)
from halflife.models.poisson import Exponential, GammaSurvival
from halflife.view import Survival, View

FIRST_PAUSE = 5.0 / 1440.0  # days to leave an item alone after one failed look
LONGEST_PAUSE = 1.0


class Belief(Protocol):
    """Anything that turns evidence into a view."""

    def __call__(self, evidence: Evidence, now: float, since: float) -> View:
        """Return what we believe at ``now``; looks since ``since`` are this turn's."""
        ...


def view_of(
    evidence: Evidence, now: float, since: float, rate: Floats, survival: Survival
) -> View:
    """Return the view that follows from the evidence and from what rates we believe."""
    age = np.where(evidence.looks > 0, np.maximum(now - evidence.last_at, 0.0), np.inf)
    return View(
        now=now,
        keys=evidence.keys,
        weight=evidence.weight.copy(),
        cost=evidence.cost.copy(),
        group=evidence.group.copy(),
        rate=rate,
        survival=survival,
        age=age,
        looks=evidence.looks.copy(),
        changes=evidence.changes.copy(),
        # A look stamped later than now was made before the clock was set back.
        looked=(evidence.tried_at >= since) & (evidence.tried_at <= now),
        changed=evidence.changed.copy(),
        ready=_ready(evidence, now),
        due=np.zeros(0),
    )


def _ready(evidence: Evidence, now: float) -> Bools:
    """Return which items may be asked for: the pause doubles with each failure."""
    doublings = np.minimum(evidence.failures, 20) - 1.0
    pause = np.minimum(FIRST_PAUSE * np.exp2(doublings), LONGEST_PAUSE)
    ready: Bools = (evidence.failures == 0) | (now >= evidence.tried_at + pause)
    return ready


@dataclass(frozen=True, slots=True)
class Prior:
    """How rates are spread over the population, and on how much it was learned.

    Attributes:
        mass: Probability of each rate of the grid.
        looks: Good looks there were when it was learned.

    """

    mass: tuple[float, ...]
    looks: int


class PoissonBelief:
    """Every item changes at random moments, at a rate of its own.

    The spread of rates over the population is learned from all items together
    (empirical Bayes), so an item with few looks borrows from the others. Each
    look is folded in once; an item's rate is computed anew only after a look at
    it or when the population's spread was learned again.

    Args:
        prior: The spread learned so far, to go on from where an earlier run was.
        refit: Learn the spread again when looks have grown by this factor.

    """

    def __init__(self, prior: Prior | None = None, *, refit: float = 1.25) -> None:
        self.refit = refit
        self.prior = prior
        self._of: Evidence | None = None
        self._batches = 0
        self._likelihood = np.zeros((0, GRID.rate.size), dtype=np.float32)
        self._shape, self._exposure, self._rate = (np.zeros(0) for _ in range(3))

    def __call__(self, evidence: Evidence, now: float, since: float) -> View:
        """Return what we believe at ``now``; looks since ``since`` are this turn's."""
        self._learn(evidence)
        survival = GammaSurvival(self._shape.copy(), self._exposure.copy())
        return view_of(evidence, now, since, self._rate.copy(), survival)

    def _learn(self, evidence: Evidence) -> None:
        if self._of is not evidence:
            self._of, self._batches = evidence, 0
            self._likelihood = self._likelihood[:0]
            self._rate = self._rate[:0]
        known = self._rate.size
        touched = np.zeros(len(evidence), dtype=np.bool_)
        touched[known:] = True
        self._grow(len(evidence))
        if evidence.batches > self._batches:
            gaps = evidence.gaps(self._batches)
            add_log_likelihood(self._likelihood, gaps)
            touched[gaps.item] = True
            self._batches = evidence.batches
        looks = int(evidence.looks.sum())
        if self.prior is None or looks > self.refit * self.prior.looks:
            mass = fit_prior(self._likelihood)
            self.prior = Prior(tuple(mass.tolist()), looks)
            touched[:] = True
        self._update(np.flatnonzero(touched))

    def _grow(self, n: int) -> None:
        more = n - self._rate.size
        if more <= 0:
            return
        empty = np.zeros((more, self._likelihood.shape[1]), dtype=np.float32)
        self._likelihood = np.concatenate([self._likelihood, empty])
        for name in ("_shape", "_exposure", "_rate"):
            old = getattr(self, name)[: n - more]
            setattr(self, name, np.concatenate([old, np.zeros(more)]))

    def _update(self, rows: Ints) -> None:
        if rows.size == 0 or self.prior is None:
            return
        mass = np.array(self.prior.mass)
        shape, exposure, rate = posterior(self._likelihood[rows], mass)
        self._shape[rows], self._exposure[rows], self._rate[rows] = (
            shape,
            exposure,
            rate,
        )


@dataclass(frozen=True, slots=True)
class KnownRates:
    """An oracle told us every item's rate; for replays and simulations."""

    rate: Floats

    def __call__(self, evidence: Evidence, now: float, since: float) -> View:
        """Return what we believe at ``now``; looks since ``since`` are this turn's."""
        return view_of(evidence, now, since, self.rate, Exponential(self.rate))


@dataclass(frozen=True, slots=True)
class PlainRates:
    """Changes seen over quiet days watched, half a change in half a day added.

    The cheap estimate; enough for policies that do not go by the rate.
    """

    def __call__(self, evidence: Evidence, now: float, since: float) -> View:
        """Return what we believe at ``now``; looks since ``since`` are this turn's."""
        rate = (evidence.changes + 0.5) / (evidence.quiet + 0.5)
        return view_of(evidence, now, since, rate, Exponential(rate))


@dataclass(frozen=True, slots=True)
class IntervalRule:
    """How a crawler that keeps one interval an item moves it after each look.

    An interval I is ``grow * I`` after a look that found nothing and
    ``shrink * I + pull * shortest`` after one that found a change, and is kept
    within its limits; all in days. With ``sync_delta`` the interval is at least
    the time since the last change seen, delta, and the next look comes
    ``sync_delta * delta`` early.
    """

    start: float
    grow: float
    shrink: float
    shortest: float
    longest: float
    pull: float = 0.0
    sync_delta: float = 0.0

    def after(self, interval: Floats, changed: Bools) -> Floats:
        """Return the interval after one more look, before the limits."""
        shrunk = self.shrink * interval + self.pull * self.shortest
        moved: Floats = np.where(changed, shrunk, self.grow * interval)
        return moved

    def after_many(self, looks: Floats, changes: Floats) -> Floats:
        """Return the interval after a history of which only the counts are known."""
        quiet = np.maximum(looks - 1 - changes, 0)
        growth = changes * np.log(self.shrink) + quiet * np.log(self.grow)
        interval: Floats = self.start * np.exp(np.clip(growth, -50.0, 50.0))
        return interval


class DueDates:
    """The belief of a crawler that keeps one interval an item.

    It is brought up to date by the difference between the evidence now and at
    the last call, which is exact as long as no item is looked at twice between.
    """

    def __init__(self, rule: IntervalRule, beside: Belief | None = None) -> None:
        self.rule = rule
        self.beside = beside or PlainRates()
        self._of: Evidence | None = None
        self._interval = self._modified = self._due = np.zeros(0)
        self._looks = self._changes = np.zeros(0, dtype=np.intp)

    def __call__(self, evidence: Evidence, now: float, since: float) -> View:
        """Return what we believe at ``now``; looks since ``since`` are this turn's."""
        if self._of is not evidence or self._due.size != len(evidence):
            self._start(evidence)
        else:
            self._follow(evidence)
        return replace(self.beside(evidence, now, since), due=self._due.copy())

    def _start(self, evidence: Evidence) -> None:
        self._of = evidence
        self._modified = evidence.last_at.copy()
        self._interval = self.rule.after_many(
            evidence.looks.astype(np.float64), evidence.changes.astype(np.float64)
        )
        self._due = evidence.last_at.copy()  # -inf where never seen: due at once
        self._date(np.flatnonzero(evidence.looks > 0), evidence)

    def _follow(self, evidence: Evidence) -> None:
        rows = np.flatnonzero(evidence.looks > self._looks)
        first = self._looks[rows] == 0
        changed = evidence.changes[rows] > self._changes[rows]
        moved = self.rule.after(self._interval[rows], changed)
        self._interval[rows] = np.where(first, self.rule.start, moved)
        seen_new = rows[first | changed]
        self._modified[seen_new] = evidence.last_at[seen_new]
        self._date(rows, evidence)

    def _date(self, rows: Ints, evidence: Evidence) -> None:
        """Keep the intervals of rows just looked at within limits, and date them."""
        rule, at = self.rule, evidence.last_at[rows]
        delta = at - self._modified[rows] if rule.sync_delta else np.zeros(rows.size)
        interval = np.maximum(self._interval[rows], delta)
        self._interval[rows] = np.clip(interval, rule.shortest, rule.longest)
        self._due[rows] = at - rule.sync_delta * delta + self._interval[rows]
        self._looks, self._changes = evidence.looks.copy(), evidence.changes.copy()
