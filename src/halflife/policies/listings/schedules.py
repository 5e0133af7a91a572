"""The paper's schedules for full fetches of a listing.

A schedule is called right after a fetch. From the history of fetches it returns when
the next one is due, without clock and budget.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from halflife.core.arrays import Floats
from halflife.core.lifetimes import Collection
from halflife.core.object_store import group_text
from halflife.grouping.attributes import splitting_attributes
from halflife.grouping.partition import PartitionTerms, partition
from halflife.models.census import Census
from halflife.models.experts import Experts
from halflife.models.parametric import lower_bounds
from halflife.models.setquality import days_until_below
from halflife.policies.listings.pace import (
    FARTHEST,
    Measure,
    last_fetch,
    lower,
    moments,
    pace,
    worth,
)

COARSE, FINE = 48, 12  # times at which a bound is computed, and between two of them
GROUPS = 4  # most groups of objects with their own schedules


class Schedule(Protocol):
    """A schedule of a listing."""

    def __call__(self, known: Collection) -> float:
        """Return the time of the next fetch, given the history."""
        ...


class GroupSchedule(Protocol):
    """A schedule for each group of a listing's objects."""

    def groups(self, known: Collection) -> list[tuple[str, ...]]:
        """Return the groups, each by its values of the attribute.

        Only full fetches count, not later fetches of single groups.
        """
        ...

    def holds_part(self, part: Collection) -> float:
        """Return the days for which a group need not be fetched."""
        ...


class LevelSchedule(ABC):
    """A schedule that fetches when a bound of the quality would fall below a level."""

    __slots__ = ()

    def __call__(self, known: Collection) -> float:
        """Return the time of the next fetch."""
        return last_fetch(known) + self.holds(known)

    @abstractmethod
    def holds(self, known: Collection) -> float:
        """Return the days for which the bound stays at or above the level."""


@dataclass(frozen=True, slots=True)
class FixedInterval:
    """Fetch every so many days."""

    days: float

    def __call__(self, known: Collection) -> float:
        """Return the time of the next fetch."""
        return last_fetch(known) + self.days


@dataclass(frozen=True, slots=True)
class Threshold(LevelSchedule):
    """Fetch just before the lower bound of the default forecast falls below a level.

    Papers/000, s. 6.2, with the pooled forecast (``models.setquality``) in place of the
    paper's. It is computed after each fetch, so the schedule adapts; its first interval
    in a ``FixedInterval`` is the static schedule.

    Attributes:
        level: The quality to keep.
        measure: The measure of quality.
        confidence: The one-sided confidence at the end of a cycle.

    """

    level: float = 0.9
    measure: Measure = "recall"
    confidence: float = 0.95

    def holds(self, known: Collection) -> float:
        """Return the days for which the bound stays at or above the level."""
        now = last_fetch(known)
        days = days_until_below(known, now, self.measure, self.level, self.confidence)
        return FARTHEST if days is None else days


@dataclass(frozen=True, slots=True)
class ModelThreshold(LevelSchedule):
    """Fetch just before the lower bound of one of the paper's models falls below.

    Papers/000, s. 6.2. ``exponential`` is the static model of s. 3: one rate of ends
    and one of arrivals, learned from the whole history, with bounds by the delta
    method. ``static-ar``, ``adaptive-ar``, ``kalman-ar`` and ``chosen-ar`` are
    autoregressions on the decay of s. 4: with constant coefficients of the first 30
    days, corrected at each fetch (eqs. 6 and 7), tracked by a Kalman filter, or the one
    with the least error so far.

    Attributes:
        model: Its name in ``models.experts``.
        level: The quality to keep.
        measure: The measure of quality.
        confidence: The one-sided confidence at the end of a cycle.

    """

    model: str = "exponential"
    level: float = 0.9
    measure: Measure = "recall"
    confidence: float = 0.95

    def holds(self, known: Collection) -> float:
        """Return the days for which the bound stays at or above the level."""
        census = Census.of(known)
        if census.looks.size < 2 or census.size[-1] == 0:
            return FARTHEST
        experts = Experts(census)

        def low(ahead: Floats) -> Floats:
            bound = self.measure, self.confidence
            return lower_bounds(experts, self.model, ahead, *bound)

        first = min(census.step / 16.0, 1.0)
        return _crossing(low, np.geomspace(first, FARTHEST, COARSE), self.level)


def _crossing(low: Callable[[Floats], Floats], ahead: Floats, level: float) -> float:
    """Return when a curve that starts at 1 first falls below a level.

    Between the two times where it does it is computed again, then interpolated.
    """
    below = np.flatnonzero(low(ahead) < level)
    if not below.size:
        return FARTHEST
    i = int(below[0])
    begin = float(ahead[i - 1]) if i else 0.0
    times = np.linspace(begin, float(ahead[i]), FINE)
    heights = np.append(1.0, low(times[1:])) if begin == 0.0 else low(times)
    i = int(np.flatnonzero(heights < level)[0])
    share = (heights[i - 1] - level) / (heights[i - 1] - heights[i])
    return float(times[i - 1] + share * (times[i] - times[i - 1]))


@dataclass(frozen=True, slots=True)
class PacedThreshold(LevelSchedule):
    """The threshold with two rates of the last days: ends per object and arrivals.

    Much cheaper than the default forecast: the paper's model of s. 3 with bounds
    widened by overdispersion.

    Attributes:
        level: The quality to keep.
        measure: The measure of quality.
        confidence: The one-sided confidence at the end of a cycle.
        window: The days of history to learn from.

    """

    level: float = 0.9
    measure: Measure = "recall"
    confidence: float = 0.95
    window: float = 45.0

    def holds(self, known: Collection) -> float:
        """Return the days for which the bound stays at or above the level."""
        paced = pace(known, self.window)
        ahead = moments(paced)
        low = lower(paced, ahead, self.measure, self.confidence)
        below = np.flatnonzero(low < self.level)
        return float(ahead[max(below[0] - 1, 0)]) if below.size else FARTHEST


@dataclass(frozen=True, slots=True)
class GroupThreshold(LevelSchedule):
    """Fetch when the first of the groups of objects with similar decay is due.

    Papers/000, s. 5 and 6.2: an attribute splits objects into groups with one rate
    each, and every group has the schedule of the static model on its own history. Where
    a listing can only be fetched completely, the group that is due first decides.

    Attributes:
        group: The attribute; if empty, every one that may split objects.
        level: The quality to keep in each group.
        measure: The measure of quality.
        confidence: The one-sided confidence at the end of a cycle.

    """

    group: str = ""
    level: float = 0.9
    measure: Measure = "recall"
    confidence: float = 0.95

    def holds(self, known: Collection) -> float:
        """Return the days for which the bound of every group stays above the level."""
        holds = (self.holds_part(part) for part in self.parts(known))
        return min(holds, default=FARTHEST)

    def holds_part(self, part: Collection) -> float:
        """Return the days for which the bound of a group stays above the level."""
        rule = ModelThreshold("exponential", self.level, self.measure, self.confidence)
        return rule.holds(part)

    def groups(self, known: Collection) -> list[tuple[str, ...]]:
        """Return the values of the attribute in each group.

        One group if no attribute is named, or if its values do not split the objects.
        """
        then = _at_last_look(known)
        parts = self.parts(then) if self.group in known.lives.attributes else [then]
        found = [group_values(part, self.group) for part in parts]
        flat = [value for values in found for value in values]
        if len(flat) > len(set(flat)):
            return [tuple(sorted(set(flat)))]
        return [values for values in found if values]

    def parts(self, known: Collection) -> list[Collection]:
        """Return the history of each group."""
        lives = known.lives
        names = [self.group] if self.group in lives.attributes else []
        if not self.group:
            names = splitting_attributes(lives.attributes)
        rng = np.random.default_rng(0)  # the same history has the same groups
        found = partition(lives, names, rng, terms=PartitionTerms(most=GROUPS))
        return [known.select(found.of == g) for g in range(len(found))]


def group_values(part: Collection, name: str) -> tuple[str, ...]:
    """Return the values of an attribute as text; empty for objects without one."""
    return tuple(sorted(set(group_column(part, name))))


def group_column(known: Collection, name: str) -> list[str]:
    """Return the value of an attribute of each lifetime, as text."""
    column = known.lives.attributes.get(name)
    values = [None] * len(known.lives) if column is None else column.tolist()
    return [group_text(value) for value in values]


def _at_last_look(known: Collection) -> Collection:
    """Return the history up to the last full fetch."""
    last = last_fetch(known)
    then = known.select(known.lives.first_seen <= last)
    seen = np.minimum(then.lives.last_seen, last)
    return replace(then, lives=replace(then.lives, last_seen=seen))


@dataclass(frozen=True, slots=True)
class Priced:
    """Fetch when the gain of a fetch reaches its price.

    A fetch t days after the last gains U(t) = t D(t) - integral of D over 0..t with
    D(t) = 1 - expected recall, in days of a completely wrong copy (docs/allocation.md).
    It has the least mean loss of all schedules with as many fetches; it guarantees no
    level.

    Attributes:
        price: The price of a fetch, in days of a wrong copy.
        measure: The measure of quality.
        window: The days of history to learn from.

    """

    price: float
    measure: Measure = "recall"
    window: float = 45.0

    def __call__(self, known: Collection) -> float:
        """Return the time of the next fetch."""
        paced = pace(known, self.window)
        ahead = moments(paced)
        enough = np.flatnonzero(worth(paced, ahead, self.measure) >= self.price)
        return last_fetch(known) + (
            float(ahead[enough[0]]) if enough.size else FARTHEST
        )
