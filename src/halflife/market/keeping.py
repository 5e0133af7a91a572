"""The least requests that keep targets: what each source asks for this turn.

What is renewed whole (a listing, a summary, a form) asks for a look when its quality
would fall below the level before the turn after next. Pages are renewed bit by bit, at
the pace that keeps the level in the long run; what is believed now corrects the pace.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import exp, floor, inf

import numpy as np

from halflife.market.limits import FREE, Limits
from halflife.market.offering import Taken, Turn, take
from halflife.worth import Offers

RAISE = 6.0  # by how much the pace grows in a day below the level, as a logarithm
LOWER = 0.3  # and falls in a day above it
SLOWEST, FASTEST = 0.25, 8.0  # times what is needed in the long run
LONGEST = 1.0  # days for which anything is owed, at most
_TIGHT = 1e-9


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast the pages of a source are looked at.

    Attributes:
        owed: Requests that have added up and were not spent.
        times: The pace, as a multiple of what is needed in the long run.

    """

    owed: float = 0.0
    times: float = 1.0

    def paid(self, requests: float) -> "Pace":
        """Return what is left after so many requests were spent."""
        return replace(self, owed=max(self.owed - requests, 0.0))


@dataclass(frozen=True, slots=True)
class Stand:
    """How a source with a target stands.

    Attributes:
        source: Its name.
        level: The least quality.
        now: The quality that it is believed to have, as sure as the target asks.
        later: The same at the turn after next, if nothing is done.
        whole: Requests of a whole look.
        needed: Requests a day that keep the level in the long run; ``inf`` if none do.
        pace: How fast it goes, if it is renewed bit by bit; None if it is not.

    """

    source: str
    level: float
    now: float
    later: float
    whole: float
    needed: float
    pace: Pace | None = None

    @property
    def easy(self) -> float:
        """The quality above which nothing is done: half way from the level to 1."""
        return (1.0 + self.level) / 2.0

    def ask(self) -> float:
        """Return the requests that it asks for now."""
        if self.pace is None:
            return self.whole if self.later < self.level else 0.0
        return 0.0 if self.later >= self.easy else floor(self.pace.owed + _TIGHT)

    def why(self) -> str:
        """Say in a few words why it asks for that."""
        if self.pace is None:
            soon = "is" if self.now < self.level else "would soon be"
            return f"{soon} below {self.level:.4g}: {self.later:.4g}"
        pace = f"{self.pace.times:.3g} x {self.needed:.4g} requests a day"
        return f"{self.now:.4g} of {self.level:.4g} kept by {pace}"


def steered(stand: Stand, days: float, most: float) -> Stand:
    """Return the stand after so many days at its pace, never above ``most`` a day.

    Below the level the pace grows, above it it falls, slowly; half way from the level
    to 1 and above nothing adds up. For a stand that is renewed whole, nothing changes.
    """
    if stand.pace is None:
        return stand
    days = min(max(days, 0.0), LONGEST)
    turned = RAISE if stand.now < stand.level else -LOWER
    times = min(max(stand.pace.times * exp(turned * days), SLOWEST), FASTEST)
    rate = min(times * stand.needed, most) if stand.needed > 0 else 0.0
    added = 0.0 if stand.later >= stand.easy else rate * days
    owed = min(stand.pace.owed + added, max(rate * LONGEST, 1.0))
    return replace(stand, pace=Pace(owed, times))


def kept(
    offers: Offers,
    asks: Mapping[str, float],
    budget: float,
    limits: Limits = FREE,
    *,
    turn: Turn,
) -> Taken:
    """Return the offers that give each source what it asks for, and what is urgent.

    A source that asks for nothing gets what must not wait, and no more. If the budget
    is not enough for all, those that ask share it by gain per request, as without
    targets.
    """
    cost = np.where(turn.urgent, offers.cost, 0.0)
    urgent = np.bincount(offers.source, cost, len(offers.sources)).tolist()
    most = {
        name: min(max(asks.get(name, 0.0), due), limits.most.get(name, inf))
        for name, due in zip(offers.sources, urgent, strict=True)
    }
    return take(
        offers, budget, replace(limits, most=most), turn=turn, price=0.0, patient=True
    )
