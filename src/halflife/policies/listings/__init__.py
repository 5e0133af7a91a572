"""Rules that say when a listing is fetched.

A policy of listings either has a schedule, which says by when the next fetch is due,
whatever it buys; or it leaves that to the market, and at most says what a fetch buys.
Both are pure: they see the history, and what the settings ask for.
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
    """What the settings of a listing ask for.

    Attributes:
        recall: The recall to keep.
        confidence: How sure to be of it, one-sided.
        weight: What the listing counts for beside other sources.
        cost: Requests of a full fetch.
        group: The attribute by which its objects are grouped; empty if none is named.
        longest: Days between two fetches, at most; ``inf`` if the settings name none.

    """

    recall: float = 0.9
    confidence: float = 0.95
    weight: float = 1.0
    cost: float = 1.0
    group: str = ""
    longest: float = inf


Gain: TypeAlias = Callable[[Collection, Floats, ListingTerms], Floats]
"""What a fetch so many days after the last buys, in quality-days per unit of weight."""


@dataclass(frozen=True, slots=True)
class ListingPolicy:
    """When a listing is fetched; what a name in ``halflife.policies.listing`` means.

    Attributes:
        about: What it does, in one line; shown by ``halflife policies``.
        paper: Where it was published; empty if it is ours.
        schedule: Makes the schedule of a listing; None if the market decides.
        groups: Makes the schedules of its groups, for a listing whose groups can be
            fetched one by one; None if it has one for all of it.
        gain: What a fetch buys where the market decides; None: what the default
            forecast says.
        foresees: Whether the schedule forecasts. Then it may look no further ahead
            than the listing was watched, nor further than a week or the longest
            interval of the settings: what is believed must be checked now and then.

    """

    about: str
    paper: str = ""
    schedule: Callable[[ListingTerms], Schedule] | None = None
    gain: Gain | None = None
    foresees: bool = True
    groups: Callable[[ListingTerms], GroupSchedule] | None = None

    def due(self, known: Collection, terms: ListingTerms) -> float:
        """Return the moment by which to fetch, in days.

        0 if it was never fetched whole, ``inf`` if the market decides.
        """
        if self.schedule is None:
            return inf
        if not known.looks.size:
            return 0.0
        last = last_fetch(known)
        days = self.schedule(terms)(known) - last
        return last + self.bounded(known, days, terms)

    def bounded(self, known: Collection, days: float, terms: ListingTerms) -> float:
        """Return days until the next fetch, within what may be foreseen."""
        if self.foresees:
            watched = max(last_fetch(known) - float(known.looks[0]), FIRST)
            most = terms.longest if terms.longest < inf else LATEST
            days = min(days, watched, most)
        return max(days, SOONEST)
