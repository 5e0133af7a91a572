"""The plain values that a kind shows: on pages of sources, in tables, in overviews.

A kind gives plain values; a surface writes dates, shortens text and draws.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, Protocol, TypeVar

from halflife.config import SourceConfig
from halflife.core.arrays import Floats
from halflife.core.forecast import Forecast
from halflife.models.hindsight import PastFreshness

if TYPE_CHECKING:
    from halflife.kinds.protocol import Description, Known, Reading, Step

Source = TypeVar("Source", bound=SourceConfig)
Row = Mapping[str, Any]

# How a cell is written: as text, an address, a number, a share in percent, a moment in
# days, or a link to the copy.
Form = Literal["text", "address", "number", "share", "moment", "copy"]


class PageTable(NamedTuple):
    """A table of ``status``.

    Attributes:
        name: Its key in a program's answer.
        rows: Its rows.

    """

    name: str
    rows: Sequence[dict[str, object]]


class TableColumn(NamedTuple):
    """A column of a table on a page.

    Attributes:
        key: The key of its values in a row.
        title: Its heading.
        form: How values are written; nan and None are a dash.
        short: The label of a value on a narrow screen; empty: the title.

    """

    key: str
    title: str
    form: Form = "text"
    short: str = ""


class Timeline(NamedTuple):
    """Counts for each of several days."""

    title: str
    counts: Mapping[str, Floats]
    days: Floats


@dataclass(frozen=True, slots=True)
class LinkedParts:
    """Groups of items that behave alike.

    Attributes:
        by: The attribute that defines the groups.
        columns: The columns besides the name of the group and its size.
        rows: A row a group, with ``group`` and ``items``.

    """

    by: str = ""
    columns: Sequence[TableColumn] = ()
    rows: Sequence[Row] = ()


@dataclass(frozen=True, slots=True)
class QueryLog:
    """The queries of a source.

    Attributes:
        upcoming: The next queries, best first.
        tried: The latest queries.
        findings: How queries are answered, in words.

    """

    upcoming: "Sequence[Step]" = ()
    tried: Sequence[Any] = ()
    findings: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class PageView:
    """What the page of a source shows besides its quality and its runs.

    Attributes:
        card: Facts and estimates, in sentences.
        title: What its items are called, for a heading.
        columns: The columns of the table of items.
        items: Some items, a row each.
        number: The number of this page of items, from 1 on.
        pages: The number of pages of items.
        parts: Groups of items.
        timelines: Counts for each of the last days.
        log: Its queries; None if it answers none.
        failures: Failures of the latest runs.
        past: Past freshness of the copy, measured by later reads; None if unknown.

    """

    card: Sequence[str] = ()
    title: str = "Items"
    columns: Sequence[TableColumn] = ()
    items: Sequence[Row] = ()
    number: int = 1
    pages: int = 1
    parts: LinkedParts = field(default_factory=LinkedParts)
    timelines: Sequence[Timeline] = ()
    log: QueryLog | None = None
    failures: "Sequence[RunFailure]" = ()
    past: PastFreshness | None = None


class FailingItem(NamedTuple):
    """An item whose last fetch failed: its number in the store, its last good fetch."""

    number: int
    last: float


class RunFailure(NamedTuple):
    """A failure of a run: the run or its time, the reason, the number of fetches."""

    run: int
    at: float
    note: str
    times: int = 1


class SourceStanding(NamedTuple):
    """One of many sources.

    Attributes:
        about: What reports show of it besides its quality.
        forecast: Its quality from now on; None if it is unknown.
        failing: How many items could not be fetched the last time.
        failed: Some of these items.

    """

    about: "Description"
    forecast: Forecast | None
    failing: int = 0
    failed: Sequence[FailingItem] = ()


class Planned(NamedTuple):
    """An item in the plan; ``fails`` if its last fetch failed."""

    source: str
    item: str
    gain: float
    why: str
    fails: bool = False


class Panorama(Protocol):
    """All sources of a kind at one moment."""

    @property
    def standings(self) -> Mapping[str, SourceStanding]:
        """The sources by name."""
        ...

    @property
    def together(self) -> Forecast | None:
        """The quality of all of them together; None if it is unknown."""
        ...

    @property
    def is_vast(self) -> bool:
        """Whether value curves of all sources take long to compute."""
        ...

    def worths(self) -> "list[Known]":
        """Return approximate value curves of all sources, without bounds."""
        ...

    def plan(self, most: int) -> Sequence[Planned]:
        """Return the next fetches for at most ``most`` requests, best first."""
        ...


@dataclass(frozen=True, slots=True)
class PageRequest(Generic[Source]):
    """The input of a page.

    Attributes:
        reading: The input from which states are read.
        source: The source.
        about: What reports show of it besides its quality.
        panorama: All sources of the kind, if it has such a view.
        number: The requested page of its items, from 1 on.


    """

    reading: "Reading"
    source: Source
    about: "Description"
    panorama: Panorama | None = None
    number: int = 1
