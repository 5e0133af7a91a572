"""Spells as columns of ages, the data of every model of lifetimes."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from halflife.core.arrays import Bools, Floats, Ints
from halflife.core.lifetimes import Lives


@dataclass(frozen=True)
class Spells:
    """Spells under observation, in days of age.

    A spell was first seen at age ``entry`` and counts only because it lived that long
    (delayed entry); it ended at an age in (``lower``, ``upper``], or later than
    ``lower`` if ``upper`` is ``inf`` (right-censored). Where ``upper`` equals
    ``lower`` the age at the end is known exactly.

    Attributes:
        entry: Age from which the spell was observed.
        lower: Greatest age at which it is known to have lasted.
        upper: Age by which it had ended; ``inf`` if unknown.
        aged: Whether ages count from birth. Otherwise the spell began before the first
            snapshot, its age is unknown, and ages count from its entry.
        weight: The number of spells the row stands for.
        spread: Days by which the birth may have been sooner or later than assumed, so
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
        """Return spells from columns; raise ``ValueError`` if they are invalid."""
        given = (entry, lower, upper)
        first, last, gone = (np.asarray(c, dtype=np.float64) for c in given)
        n = first.shape
        is_aged = np.ones(n, np.bool_) if aged is None else np.asarray(aged, np.bool_)
        times = np.ones(n) if weight is None else np.asarray(weight, np.float64)
        spreads = np.zeros(n) if spread is None else np.asarray(spread, np.float64)
        result = cls(first, last, gone, is_aged, times, spreads)
        result._check()
        return result

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
        """The number of spells known to have ended."""
        return float(self.weight[self.ended].sum())

    @cached_property
    def exposure(self) -> float:
        """Days for which spells were observed; a death counts as midway."""
        end = np.where(self.ended, (self.lower + self.upper) / 2, self.lower)
        return float(self.weight @ (end - self.entry))

    def take(self, rows: Bools | Ints | slice) -> Self:
        """Return the spells at these rows."""
        return replace(
            self,
            entry=self.entry[rows],
            lower=self.lower[rows],
            upper=self.upper[rows],
            aged=self.aged[rows],
            weight=self.weight[rows],
            spread=self.spread[rows],
        )

    def merge_equal(self) -> Self:
        """Return the same spells with equal rows merged, and none of weight 0."""
        weighted = self.take(self.weight > 0) if np.any(self.weight == 0) else self
        columns = (
            weighted.aged,
            weighted.spread,
            weighted.upper,
            weighted.lower,
            weighted.entry,
        )
        order = np.lexsort(columns)
        new = np.zeros(order.size, np.bool_)
        new[:1] = True
        for column in columns:
            inside = column[order]
            new[1:] |= inside[1:] != inside[:-1]
        first = np.flatnonzero(new)
        weight = (
            np.add.reduceat(weighted.weight[order], first) if first.size else order * 0
        )
        return replace(
            weighted.take(order[first]), weight=np.asarray(weight, np.float64)
        )


def spells(
    lives: Lives, looks: Floats | None = None, *, window: float | None = None
) -> Spells:
    """Return the spells of lifetimes, as ages.

    An object first seen at f and missing at the snapshot a before was born midway
    between them, give or take half the gap, and enters observation at age (f - a) / 2:
    had it died sooner it would be unknown. So entry = f - birth,
    lower = last_seen - birth, upper = gone_by - birth and spread = (f - a) / 2.

    With a ``window`` (days; needs ``looks``) only events since the first snapshot
    within the last ``window`` days count: older spells present at that snapshot enter
    at the age they had then. That estimates the present, not the past.
    """
    start = -np.inf
    if window is not None:
        if looks is None:
            raise ValueError(
                "a window needs the times of snapshots; pass looks=collection.looks"
            )
        recent = looks[looks >= looks[-1] - window] if looks.size else looks
        start = recent[0] if recent.size else np.inf
    recent_lives = lives if start == -np.inf else lives.take(lives.last_seen >= start)
    entered = np.maximum(recent_lives.first_seen, start)
    old = recent_lives.truncated
    spread = (
        np.where(old, 0.0, recent_lives.first_seen - recent_lives.absent_before) / 2
    )
    birth = np.where(old, entered, recent_lives.first_seen - spread)
    entry = entered - birth
    return Spells.of(
        entry,
        recent_lives.last_seen - birth,
        recent_lives.gone_by - birth,
        ~old,
        spread=np.minimum(spread, entry),  # rounding may make them differ
    )
