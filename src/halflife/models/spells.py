"""Lives as columns of ages: what every model of lifetimes is fitted to."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from halflife.core.arrays import Bools, Floats, Ints
from halflife.core.lifetimes import Lives

__all__ = ["Spells", "spells"]


@dataclass(frozen=True)
class Spells:
    """Spells under observation, in days of age.

    A spell was first seen at age ``entry`` and counts only because it lived that long
    (delayed entry); it ended at an age in (``lower``, ``upper``], or later than
    ``lower`` if ``upper`` is ``inf`` (right-censored). Where ``upper`` equals
    ``lower`` the age at the end is known exactly.

    Attributes:
        entry: Age from which the spell was watched.
        lower: Greatest age at which it is known to have been there.
        upper: Age by which it had gone; ``inf`` if nobody knows.
        aged: Whether ages count from birth. Otherwise the spell was there before the
            first look, nobody knows how old it was, and ages count from its entry.
        weight: How many spells the row stands for.
        spread: Days by which the birth may have been sooner or later than taken, so
            that all three ages may be off by this much together; 0 if it is known.

    """

    entry: Floats
    lower: Floats
    upper: Floats
    aged: Bools
    weight: Floats
    spread: Floats

    @classmethod
    def of(
        cls,
        entry: Floats,
        lower: Floats,
        upper: Floats,
        aged: Bools | None = None,
        weight: Floats | None = None,
        *,
        spread: Floats | None = None,
    ) -> Self:
        """Return spells from columns; raise ``ValueError`` if they make no sense."""
        given = (entry, lower, upper)
        first, last, gone = (np.asarray(c, dtype=np.float64) for c in given)
        n = first.shape
        known = np.ones(n, np.bool_) if aged is None else np.asarray(aged, np.bool_)
        times = np.ones(n) if weight is None else np.asarray(weight, np.float64)
        off = np.zeros(n) if spread is None else np.asarray(spread, np.float64)
        made = cls(first, last, gone, known, times, off)
        made._check()
        return made

    def _check(self) -> None:
        columns = (self.entry, self.lower, self.upper, self.aged, self.weight)
        shapes = {c.shape for c in (*columns, self.spread)}
        if len(shapes) != 1 or self.entry.ndim != 1:
            raise ValueError("the columns of spells must have one length")
        if not (np.all(self.entry >= 0) and np.all(self.lower < np.inf)):
            raise ValueError("ages must be finite and not negative")
        if not (np.all(self.entry <= self.lower) and np.all(self.lower <= self.upper)):
            raise ValueError("each spell must have entry <= lower <= upper")
        if not (np.all(self.weight >= 0) and np.all(self.weight < np.inf)):
            raise ValueError("weights must be finite and not negative")
        if not (np.all(self.spread >= 0) and np.all(self.spread <= self.entry)):
            raise ValueError("a birth may be off by 0 to entry days")

    def __len__(self) -> int:
        return self.entry.size

    @property
    def ended(self) -> Bools:
        """Whether the spell is known to have ended."""
        return np.isfinite(self.upper)

    @cached_property
    def deaths(self) -> float:
        """How many spells are known to have ended."""
        return float(self.weight[self.ended].sum())

    @cached_property
    def exposure(self) -> float:
        """Days for which spells were watched; a death counts as midway."""
        end = np.where(self.ended, (self.lower + self.upper) / 2, self.lower)
        return float(self.weight @ (end - self.entry))

    def take(self, rows: Bools | Ints | slice) -> Self:
        """Return some of the spells."""
        return replace(
            self,
            entry=self.entry[rows],
            lower=self.lower[rows],
            upper=self.upper[rows],
            aged=self.aged[rows],
            weight=self.weight[rows],
            spread=self.spread[rows],
        )

    def tallied(self) -> Self:
        """Return the same spells with equal rows added up, none of weight 0."""
        some = self.take(self.weight > 0) if np.any(self.weight == 0) else self
        columns = (some.aged, some.spread, some.upper, some.lower, some.entry)
        order = np.lexsort(columns)
        new = np.zeros(order.size, np.bool_)
        new[:1] = True
        for column in columns:
            inside = column[order]
            new[1:] |= inside[1:] != inside[:-1]
        first = np.flatnonzero(new)
        weight = np.add.reduceat(some.weight[order], first) if first.size else order * 0
        return replace(some.take(order[first]), weight=np.asarray(weight, np.float64))


def spells(
    lives: Lives, looks: Floats | None = None, *, window: float | None = None
) -> Spells:
    """Return the spells of some lives, as ages.

    An object first seen at f and lacking at the look a before it was born midway
    between them, give or take half the gap, and met at age (f - a) / 2: had it died
    sooner nobody would know of it. So entry = f - birth, lower = last_seen - birth,
    upper = gone_by - birth and spread = (f - a) / 2.

    With a ``window`` (days; needs ``looks``) only what happened from the first look
    within the last ``window`` days on counts: older spells that were there at that
    look enter at the age they had then. That estimates the present, not the past.
    """
    start = -np.inf
    if window is not None:
        if looks is None:
            raise ValueError("a window needs the looks; pass looks=collection.looks")
        recent = looks[looks >= looks[-1] - window] if looks.size else looks
        start = recent[0] if recent.size else np.inf
    some = lives if start == -np.inf else lives.take(lives.last_seen >= start)
    met = np.maximum(some.first_seen, start)
    old = some.truncated
    spread = np.where(old, 0.0, some.first_seen - some.absent_before) / 2
    birth = np.where(old, met, some.first_seen - spread)
    entry = met - birth
    return Spells.of(
        entry,
        some.last_seen - birth,
        some.gone_by - birth,
        ~old,
        spread=np.minimum(spread, entry),  # they may differ in the last digit
    )
