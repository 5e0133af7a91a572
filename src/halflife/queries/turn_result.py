"""The result of a turn at a form: its queries, their outcomes and the records."""

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
    """A query or look-up that was planned.

    Attributes:
        what: The query, or the key that is looked up.
        requests: Requests that it takes.
        gain: The expected gain of each request: records put right, times days.
        why: Why it was chosen.

    """

    what: str
    requests: int
    gain: float
    why: str


class QueryOutcome(NamedTuple):
    """The outcome of a query or look-up.

    Attributes:
        what: The query, or the key that was looked up.
        requests: Requests that it took.
        shown: Records that it showed.
        new: Those of them that were not seen before.
        total: The hit count that the form reports; None if it reports none.

    """

    what: str
    requests: int
    shown: int
    new: int
    total: int | None = None


@dataclass(slots=True)
class TurnResult:
    """The result of a turn.

    Attributes:
        records: The records that the form showed, by key.
        absent: Records of the copy that no longer exist.
        complete: Whether all records of the database were shown.
        refreshed: The number of records of the copy that were shown.
        asked: The queries, in order.
        tried: Their outcomes.
        stop: Why it ended.
        trouble: The error that ended it; empty if none did.
        left: The first crawl, if it is unfinished.
        reported: How many records the form reports, if it does.
        unseen: How many records it may have that it never showed; None if unknown.
        search: The search for missing records, if it is unfinished.
        new_round: The round for new records, if it is unfinished.
        known_round: The round for known records, if it is unfinished.

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
