"""What a turn at a form asked, what that brought, and what it came to."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from halflife.core.object_store import Attributes
from halflife.queries.fresh.progress import NewRound
from halflife.queries.frontier import CrawlState
from halflife.queries.known.progress import KnownRound
from halflife.queries.reported_total import ReportedTotal
from halflife.queries.unseen import UnseenRecords


class PlannedQuery(NamedTuple):
    """One thing that was, or would be, asked.

    Attributes:
        what: The query, or the key that is looked up.
        requests: Requests that it takes.
        gain: What it is expected to buy for each: records put right, times days.
        why: Why it was chosen.

    """

    what: str
    requests: int
    gain: float
    why: str


class QueryOutcome(NamedTuple):
    """What one thing that was asked has brought.

    Attributes:
        what: The query, or the key that was looked up.
        requests: Requests that it took.
        shown: Records that it showed.
        new: Those of them that nobody had seen before.
        told: Records that match, as the form says; None if it does not.

    """

    what: str
    requests: int
    shown: int
    new: int
    told: int | None = None


@dataclass(slots=True)
class TurnResult:
    """What a turn came to.

    Attributes:
        records: What the form showed, by key.
        absent: Records of the copy that are not there any more.
        complete: Whether everything there is was shown.
        refreshed: Records of the copy that were shown.
        asked: What was asked, in order.
        tried: What that brought.
        stop: Why it ended.
        trouble: What went wrong; empty if nothing did.
        left: The first crawl, if it is to go on from here.
        reported: How many records the form reports, if it does.
        unseen: How many records it may have that it never showed; None if unknown.
        search: The search for records that are reported and missing, if it is to go
            on from here.
        new_round: The round of looking for new records, if it is to go on from here.
        known_round: The round of refreshing known records, if it is to go on.

    """

    records: Mapping[str, Attributes]
    absent: frozenset[str] = frozenset()
    complete: bool = False
    refreshed: int = 0
    asked: list[PlannedQuery] = field(default_factory=list)
    stop: str = ""
    trouble: str = ""
    tried: list[QueryOutcome] = field(default_factory=list)
    left: CrawlState | None = None
    reported: ReportedTotal | None = None
    unseen: UnseenRecords | None = None
    search: CrawlState | None = None
    new_round: NewRound | None = None
    known_round: KnownRound | None = None
