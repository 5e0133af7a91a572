"""The view: everything that a policy may use."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import NamedTuple, Protocol

import numpy as np

from halflife.core.arrays import Bools, Floats, Ints
from halflife.core.categories import Categories


class Survival(Protocol):
    """How long copies stay up to date; one row an item, in days since the sync.

    Every objective is computed from these three (see ``halflife.allocation.index``).
    """

    def alive(self, t: Floats) -> Floats:
        """Return S(t), the probability that the item has not changed after ``t``."""
        ...

    def lasting(self, t: Floats) -> Floats:
        """Return the integral of S(u) over 0..t, the expected fresh days."""
        ...

    def moment(self, t: Floats) -> Floats:
        """Return the integral of u S(u) over 0..t."""
        ...


class Unrest(NamedTuple):
    """How unevenly groups of items change; each a number or a column of groups.

    Attributes:
        days: The unrest in days (``models.unrest``); 0 if a group changes at even odds.
        watched: Days of observations from which it and the rates were learned.
        pace: The days that the items of a group live in one future day.
        doubt: The standard deviation of the logarithm of the pace that all groups share
            (``models.pace``).

    """

    days: float | Floats = 0.0
    watched: float | Floats = inf
    pace: float | Floats = 1.0
    doubt: float | Floats = 0.0

    def of(self, group: Ints) -> "Unrest":
        """Return the same for items of these groups."""
        return Unrest(*(x[group] if isinstance(x, np.ndarray) else x for x in self))


def evenly() -> Unrest:
    """Return the unrest of groups that change evenly."""
    return Unrest()


def unfiled() -> None:
    """Return None: the items have no topics."""


class Calendar(Protocol):
    """The pace of time for groups whose items change at certain hours."""

    def __call__(self, group: Ints, age: Floats, later: float) -> tuple[Floats, Floats]:
        """Return the group's own days per day of the age, and those until ``later``."""
        ...


@dataclass(frozen=True, slots=True)
class View:
    """The state of the copies at one moment; row ``i`` of each array is item ``i``.

    Attributes:
        now: The current time, in days.
        keys: The items' names.
        weight: How much each item matters.
        cost: Requests that one fetch costs.
        group: The group of each item.
        rate: Believed changes per day (posterior mean).
        survival: Believed survival of each copy, uncertainty about the rate included.
        age: Days since the last successful observation; ``inf`` if there was none.
        looks: Successful observations so far.
        changes: How many of them found a change.
        looked: Whether the item was already tried in this cycle.
        changed: Whether the latest successful observation found a change.
        ready: Whether the item may be fetched now (it is not backing off).
        due: When the next fetch of each item is due; empty unless the belief keeps due
            dates.
        exposure: Days at the usual pace since the last successful observation, the
            argument of survival: the age, lengthened by hints and by changes seen
            nearby.
        doubt: Standard deviation of the exposure, in days.
        room: Requests that the item's host accepts in this turn; ``inf`` if unlimited.
        unrest: Returns how unevenly groups change; computed when it is called.
        topics: Returns the topics of the items, if a policy needs them
            (``Strategy.needs_topics``); computed when it is called.
        calendar: How unevenly time passes, for forecasts; None if evenly.
        unsettled: Days since the last successful observation in which unrest counts:
            the age, or less where pages were found to change apart from their group, or
            where maps announce changes; empty if it is the age.

    """

    now: float
    keys: Sequence[str]
    weight: Floats
    cost: Floats
    group: Ints
    rate: Floats
    survival: Survival
    age: Floats
    looks: Ints
    changes: Ints
    looked: Bools
    changed: Bools
    ready: Bools
    due: Floats
    exposure: Floats
    doubt: Floats
    room: Floats
    unrest: Callable[[], Unrest] = evenly
    topics: Callable[[], Categories | None] = unfiled
    calendar: Calendar | None = None
    unsettled: Floats = field(default_factory=lambda: np.zeros(0))

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def unsettled_age(self) -> Floats:
        """The days since the last observation in which unrest counts."""
        return self.unsettled if self.unsettled.size else self.age

    @property
    def held(self) -> Bools:
        """Whether the item was ever observed successfully."""
        return self.looks > 0
