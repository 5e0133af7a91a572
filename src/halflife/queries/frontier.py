"""The state of an interrupted crawl: what it found, and its remaining queries.

``write_crawl`` returns plain values that JSON can hold, and ``read_crawl`` makes a
crawl of these. Records are stored by their keys alone; the store of a crawl keeps the
records.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Self, TypeAlias

from halflife.core.forms import Query, Term
from halflife.core.object_store import Attributes
from halflife.queries.completeness import PartialAnswer, QueryAnswer
from halflife.queries.fresh.progress import read_terms
from halflife.queries.unseen import PossibleLoss

Row: TypeAlias = dict[str, Any]


@dataclass(slots=True, eq=False)
class CrawlPart:
    """A query to be answered whole, and what is known of its answer.

    Attributes:
        query: The query.
        above: The part that it was divided from.
        tried: The attributes that it was divided by.
        terms: The conditions that it was divided into.
        keys: The records found that answer it.
        total: How many there are, if the form counts exactly.
        failed: The number of unresolved parts before this one was divided.
        own: The records that its own answer showed.
        captures: How many of its parts have shown each record.
        idle: Whether a part brought nothing new after the count was reached.

    """

    query: Query
    above: "CrawlPart | None" = None
    tried: tuple[str, ...] = ()
    terms: set[Term] = field(default_factory=set)
    keys: set[str] = field(default_factory=set)
    total: int | None = None
    failed: int = 0
    own: set[str] = field(default_factory=set)
    captures: Counter[str] = field(default_factory=Counter)
    idle: bool = False

    @property
    def lacks(self) -> int:
        """The number of records that are counted and were not found."""
        return 0 if self.total is None else max(self.total - len(self.keys), 0)

    @property
    def full(self) -> bool:
        """Whether as many records were found as are counted."""
        return self.total is not None and len(self.keys) >= self.total

    def loss(self, *, overlaps: bool) -> PossibleLoss:
        """Return the evidence on records lost when it was divided."""
        often = Counter(self.captures.values())
        again = len(self.own & self.captures.keys())
        sizes = len(self.own), again, len(self.captures)
        return PossibleLoss(*sizes, often[1], often[2], overlaps)


@dataclass(frozen=True, slots=True)
class CrawlState:
    """The result or the interrupted state of a crawl.

    Attributes:
        records: The records found.
        complete: Whether they are proven to be all records.
        unresolved: Queries that overflow and cannot be divided any further.
        unproven: Queries that were divided by an attribute which some records may lack.
        requests: Requests that it took.
        left: The parts still to be queried when it was interrupted; see ``crawl``.
        stuck: The parts that cannot be divided, or only by keywords.
        words: Whether parts are divided by keywords already.
        why: What interrupted it, if anything did.
        total: How many records there are, if the form counts exactly.
        reads: Answers that may be needed again: those to single choices.
        begun: The answer being read when it was interrupted.
        whole: Whether it reads everything; else only some queries.
        losses: The evidence on records that unproven queries may lack.
        luck: The chance that wrong hit counts agreed as often as these did.

    """

    records: dict[str, Attributes]
    complete: bool
    unresolved: tuple[Query, ...]
    unproven: tuple[Query, ...]
    requests: int
    left: tuple[CrawlPart, ...] = ()
    stuck: tuple[CrawlPart, ...] = ()
    words: bool = False
    why: str = ""
    total: int | None = None
    reads: Mapping[Query, QueryAnswer] = field(default_factory=dict)
    begun: PartialAnswer | None = None
    whole: bool = True
    losses: tuple[PossibleLoss, ...] = ()
    luck: float = 1.0

    @classmethod
    def of_nothing(cls) -> Self:
        """Return a crawl that has not begun."""
        whole = CrawlPart(Query())
        return cls(
            {}, complete=False, unresolved=(), unproven=(), requests=0, left=(whole,)
        )

    @property
    def open(self) -> tuple[Query, ...]:
        """The queries still to be sent or divided."""
        return tuple(part.query for part in self.left)


def write_crawl(crawl: CrawlState) -> Row:
    """Return a crawl as plain values."""
    place = {id(part): number for number, part in enumerate(crawl.left)}
    begun = crawl.begun
    return {
        "left": [_part_row(part, place) for part in crawl.left],
        "stuck": [_part_row(part, {}) for part in crawl.stuck],
        "unproven": [_terms(query) for query in crawl.unproven],
        "losses": [asdict(loss) for loss in crawl.losses],
        "luck": crawl.luck,
        "words": crawl.words,
        "whole": crawl.whole,
        "total": crawl.total,
        "reads": [
            [_terms(query), read.whole, read.total, list(read.records)]
            for query, read in crawl.reads.items()
        ],
        "begun": begun
        and [
            _terms(begun.query),
            begun.page_size,
            begun.pages,
            list(begun.records),
            begun.total,
        ],
    }


def read_crawl(row: Row, records: Mapping[str, Attributes]) -> CrawlState:
    """Return the crawl stored in plain values, given the records found."""
    left: list[CrawlPart] = []
    for part_row in row["left"]:
        left.append(_part(part_row, left, records))
    reads = {
        read_terms(terms): QueryAnswer(_those(keys, records), whole, total)
        for terms, whole, total, keys in row["reads"]
    }
    stuck = tuple(_part(part_row, (), records) for part_row in row["stuck"])
    return CrawlState(
        records=dict(records),
        complete=False,
        unresolved=tuple(part.query for part in stuck),
        unproven=tuple(map(read_terms, row["unproven"])),
        requests=0,
        left=tuple(left),
        stuck=stuck,
        words=row["words"],
        whole=row.get("whole", True),
        total=row["total"],
        reads=reads,
        begun=_begun(row["begun"], records),
        losses=tuple(PossibleLoss(**loss) for loss in row.get("losses", ())),
        luck=float(row.get("luck", 1.0)),
    )


def _part_row(part: CrawlPart, place: Mapping[int, int]) -> Row:
    return {
        "query": _terms(part.query),
        "above": None if part.above is None else place.get(id(part.above)),
        "tried": part.tried,
        "terms": _terms(part.terms),
        "keys": sorted(part.keys),
        "total": part.total,
        "failed": part.failed,
        "own": sorted(part.own),
        "captures": dict(sorted(part.captures.items())),
    }


def _part(
    row: Row, left: Sequence[CrawlPart], records: Mapping[str, Attributes]
) -> CrawlPart:
    above = row["above"]
    return CrawlPart(
        read_terms(row["query"]),
        None if above is None else left[above],
        tuple(row["tried"]),
        set(read_terms(row["terms"])),
        {key for key in row["keys"] if key in records},
        row["total"],
        row["failed"],
        set(row.get("own", ())),
        Counter(row.get("captures", {})),
    )


def _begun(
    row: list[Any] | None, records: Mapping[str, Attributes]
) -> PartialAnswer | None:
    if row is None:
        return None
    terms, page_size, pages, keys, total = row
    return PartialAnswer(
        read_terms(terms), page_size, pages, _those(keys, records), total
    )


def _terms(terms: Iterable[Term]) -> list[tuple[str, str]]:
    return sorted((term.attribute, term.value) for term in terms)


def _those(
    keys: Iterable[str], records: Mapping[str, Attributes]
) -> dict[str, Attributes]:
    return {key: records[key] for key in keys if key in records}
