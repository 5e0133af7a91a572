"""Regular fetches of maps: one request gives hints about many pages.

A sitemap or feed changes whenever a page of its site does. The policy would give it up
as a page that changes too fast. But it lists new and changed pages. So one request in
twenty fetches maps, whatever their value as pages.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from halflife.belief import pause_left
from halflife.config import Config
from halflife.core.evidence import Evidence
from halflife.kinds.pages.settings import PagesConfig
from halflife.policies import Policy
from halflife.policies.urgent import urgent_first

SHARE = 0.05  # of a source's requests
SOONEST = 1.0 / 24.0  # days between two reads of a map
QUIET = 2.0  # factor of the interval after a fetch without a change
WHY = "it is a map: one request in 20 is for maps, which list new and changed pages"


@dataclass(slots=True)
class MapRounds:
    """The maps that are due to be fetched again.

    Attributes:
        interval: Days between two fetches, by the key of a map.
        due: The maps to fetch in this turn.

    """

    interval: dict[str, float]
    due: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, config: Config, sources: Iterable[PagesConfig]) -> "MapRounds":
        """Return the rounds of the maps in the settings."""
        from halflife.net.addresses import canonical  # noqa: PLC0415  (slow)

        pace = SHARE * config.budget.pace / max(len(config.source), 1)
        intervals: dict[str, float] = {}
        for source in sources:
            days = max(len(source.maps) / pace, SOONEST)
            intervals.update((canonical(url), days) for url in source.maps)
        return cls(intervals)

    def begin_turn(self, evidence: Evidence, now: float) -> None:
        """Update ``due``; maps never fetched are not in it.

        As pages never seen they come first anyway.
        """
        self.due.clear()
        for key, days in self.interval.items():
            row = evidence.row(key)
            if row is None or not evidence.looks[row]:
                continue
            wait = days if evidence.changed[row] else QUIET * days
            late = now - float(evidence.tried_at[row]) >= wait
            only = slice(row, row + 1)
            is_paused = (
                pause_left(evidence.failures[only], evidence.tried_at[only], now)[0] > 0
            )
            if late and not is_paused:
                self.due.add(key)


def maps_first(inner: Policy, rounds: MapRounds) -> Policy:
    """Return a policy that starts with maps that are due."""
    return urgent_first(inner, rounds.due, WHY) if rounds.interval else inner
