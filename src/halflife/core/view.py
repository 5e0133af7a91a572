"""Everything a policy may know."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import NamedTuple, Protocol

import numpy as np

from halflife.core.arrays import Bools, Floats, Ints
from halflife.core.categories import Categories


class Survival(Protocol):
    """How long copies stay true; one row an item, times in days since the sync.

    Every objective is made of these three (see ``halflife.allocation.index``).
    """

    def alive(self, t: Floats) -> Floats:
        """Return S(t), the chance that the item has not changed ``t`` later."""
        ...

    def lasting(self, t: Floats) -> Floats:
        """Return the integral of S(u) over 0..t: expected true days out of ``t``."""
        ...

    def moment(self, t: Floats) -> Floats:
        """Return the integral of u S(u) over 0..t."""
        ...


class Unrest(NamedTuple):
    """How unevenly groups of items change; each a number, or a column of groups.

    Attributes:
        days: The unrest in days (``models.unrest``); 0 if a group changes at even odds.
        watched: Days of observations from which that and rates were learned.
        pace: Days that the items of a group live in a day to come.

    """

    days: float | Floats = 0.0
    watched: float | Floats = inf
    pace: float | Floats = 1.0

    def of(self, group: Ints) -> "Unrest":
        """Return the same of items that belong to these groups."""
        return Unrest(*(x[group] if isinstance(x, np.ndarray) else x for x in self))


def evenly() -> Unrest:
    """Return that groups do not change unevenly at all, which is known for ever."""
    return Unrest()


def unfiled() -> None:
    """Return that nobody has filed the items under topics."""


class Calendar(Protocol):
    """How time passes for groups whose items change at certain hours."""

    def __call__(self, group: Ints, age: Floats, later: float) -> tuple[Floats, Floats]:
        """Return own days for each day of the age, and own days until so much later."""
        ...


@dataclass(frozen=True, slots=True)
class View:
    """What we hold and believe at one moment; row ``i`` of each array is item ``i``.

    Attributes:
        now: The current time, in days.
        keys: The items' names.
        weight: How much each item matters.
        cost: Requests that one look takes.
        group: Which group each item belongs to.
        rate: Believed changes per day (posterior mean).
        survival: Believed survival of each copy, uncertainty about the rate included.
        age: Days since the last good look; ``inf`` if there was none.
        looks: Good looks so far.
        changes: How many of them found a change.
        looked: Whether the item was already tried in this cycle.
        changed: Whether the latest good look found a change.
        ready: Whether the item may be asked for now (it is not backing off).
        due: When a rule that keeps a date for each item wants the next look;
            empty unless the belief keeps one.
        exposure: Days at the usual pace since the last good look, by which survival
            goes: the age, made longer by hints and by changes seen nearby.
        doubt: Standard deviation of the exposure, in days.
        room: Requests that the item's host will take in this turn; ``inf`` if any.
        unrest: Tells how unevenly groups change; worked out when it is asked for.
        topics: Tells which topics the items are filed under, if a policy asked for
            that (``Strategy.needs_topics``); worked out when it is asked for.
        calendar: Tells how unevenly time passes, for forecasts; None if evenly.
        unsettled: Days since the last good look in which unrest counts: the age, but
            less where maps tell of changes; empty if no map does.

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
    def held(self) -> Bools:
        """Whether we have ever had a good look at the item."""
        return self.looks > 0
