"""Policies that choose when a listing is fetched.

A policy of listings either has a schedule, which returns when the next fetch is due,
whatever its gain; or the market decides, by a gain that the policy may define. Both are
pure functions of the history and the settings.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import TypeAlias

from halflife.core.arrays import Floats
from halflife.core.lifetimes import Collection
from halflife.market.target_status import FIRST, LATEST, SOONEST
from halflife.policies.listings.pace import last_fetch
from halflife.policies.listings.schedules import GroupSchedule, Schedule


@dataclass(frozen=True, slots=True)
class ListingTerms:
    """The settings of a listing that policies use.

    Attributes:
        recall: The recall to keep.
        confidence: The one-sided confidence of it.
        weight: The weight of the listing among sources.
        cost: Requests of a full fetch.
        group: The attribute by which its objects are grouped; empty if none is set.
        longest: Most days between two fetches; ``inf`` if not set.

    """

    recall: float = 0.9
    confidence: float = 0.95
    weight: float = 1.0
    cost: float = 1.0
    group: str = ""
    longest: float = inf


Gain: TypeAlias = Callable[[Collection, Floats, ListingTerms], Floats]
"""The gain of a fetch so many days after the last, in quality-days per weight."""


@dataclass(frozen=True, slots=True)
class ListingPolicy:
    """A policy of listings; what a name in ``halflife.policies.listing`` stands for.

    Attributes:
        about: A description in one line; shown by ``halflife policies``.
        paper: The publication; empty if it is ours.
        schedule: Makes the schedule of a listing; None if the market decides.
        groups: Makes the schedules of its groups, for a listing whose groups can be
            fetched separately; None if it has one schedule for all.
        gain: The gain of a fetch where the market decides; None: that of the default
            forecast.
        foresees: Whether the schedule forecasts. Its intervals are then limited to the
            days of history, and to a week or the longest interval of the settings,
            because beliefs must be checked.

    """

    about: str
    paper: str = ""
    schedule: Callable[[ListingTerms], Schedule] | None = None
    gain: Gain | None = None
    foresees: bool = True
    groups: Callable[[ListingTerms], GroupSchedule] | None = None

    def due(self, known: Collection, terms: ListingTerms) -> float:
        """Return the moment by which to fetch, in days.

        0 if it was never fetched completely, ``inf`` if the market decides.
        """
        if self.schedule is None:
            return inf
        if not known.looks.size:
            return 0.0
        last = last_fetch(known)
        days = self.schedule(terms)(known) - last
        return last + self.bounded(known, days, terms)

    def bounded(self, known: Collection, days: float, terms: ListingTerms) -> float:
        """Return days until the next fetch, limited to what can be forecast."""
        if self.foresees:
            watched = max(last_fetch(known) - float(known.looks[0]), FIRST)
            most = terms.longest if terms.longest < inf else LATEST
            days = min(days, watched, most)
        return max(days, SOONEST)
