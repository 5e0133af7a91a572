"""Maps are read again in time: one request tells of many pages.

A sitemap or feed changes whenever a page of its site does. Taken for a page, it would
be given up as one that changes too fast. But it names new pages, and those that have
changed. So one request in twenty reads maps again, whatever they are worth as pages.
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
QUIET = 2.0  # times as long, if it was the same when last read
WHY = "it is a map: one request in 20 looks for new and changed pages"


@dataclass(slots=True)
class MapRounds:
    """Says which maps are to be read again.

    Attributes:
        interval: Days between two reads, by the key of a map.
        due: What is to be read in this turn.

    """

    interval: dict[str, float]
    due: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, config: Config, sources: Iterable[PagesConfig]) -> "MapRounds":
        """Return the rounds of the maps that settings name."""
        from halflife.net.addresses import canonical  # noqa: PLC0415  (slow)

        each = SHARE * config.budget.pace / max(len(config.source), 1)
        found: dict[str, float] = {}
        for source in sources:
            days = max(len(source.maps) / each, SOONEST)
            found.update((canonical(url), days) for url in source.maps)
        return cls(found)

    def begin_turn(self, evidence: Evidence, now: float) -> None:
        """Find out which maps have waited long enough; those never read are not due.

        As pages that nobody has seen, they come first anyway.
        """
        self.due.clear()
        for key, days in self.interval.items():
            row = evidence.row(key)
            if row is None or not evidence.looks[row]:
                continue
            wait = days if evidence.changed[row] else QUIET * days
            late = now - float(evidence.tried_at[row]) >= wait
            one = slice(row, row + 1)
            rests = (
                pause_left(evidence.failures[one], evidence.tried_at[one], now)[0] > 0
            )
            if late and not rests:
                self.due.add(key)


def maps_first(inner: Policy, rounds: MapRounds) -> Policy:
    """Return a policy that begins with maps that are due."""
    return urgent_first(inner, rounds.due, WHY) if rounds.interval else inner
