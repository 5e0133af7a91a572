"""What a kind shows of its sources: on their pages, in tables, and of many at once.

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
        name: What a program's answer calls it.
        rows: Its rows.

    """

    name: str
    rows: Sequence[dict[str, object]]


class TableColumn(NamedTuple):
    """A column of a table on a page.

    Attributes:
        key: The key of its values in a row.
        title: What stands above it.
        form: How values are written; nan and None are a dash.
        short: What stands beside a value on a narrow screen; empty: the title.

    """

    key: str
    title: str
    form: Form = "text"
    short: str = ""


class Timeline(NamedTuple):
    """What was counted on each of some days."""

    title: str
    counts: Mapping[str, Floats]
    days: Floats


@dataclass(frozen=True, slots=True)
class LinkedParts:
    """Groups of items that behave alike.

    Attributes:
        by: What tells the groups apart.
        columns: The columns besides the name of the group and its size.
        rows: A row a group, with ``group`` and ``items``.

    """

    by: str = ""
    columns: Sequence[TableColumn] = ()
    rows: Sequence[Row] = ()


@dataclass(frozen=True, slots=True)
class QueryLog:
    """What was asked, and what would be asked next.

    Attributes:
        upcoming: What would be asked next, best first.
        tried: What was asked lately.
        findings: What was found of how queries are answered, in words.

    """

    upcoming: "Sequence[Step]" = ()
    tried: Sequence[Any] = ()
    findings: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class PageView:
    """What the page of a source shows besides its quality and its runs.

    Attributes:
        card: What is believed of it, in sentences.
        title: What its items are called, for a heading.
        columns: The columns of the table of items.
        items: Some items, a row each.
        number: Which page of the items this is, from 1 on.
        pages: How many there are.
        parts: Groups of items.
        timelines: What was counted on each of the last days.
        log: What is asked; None if it answers no queries.
        failures: What failed in the latest runs.
        past: How good the copy was up to the last read, as later reads tell; None if
            that is not known from them.

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
    """What failed in a run: the run, or when it was, why, and how many fetches."""

    run: int
    at: float
    note: str
    times: int = 1


class SourceStanding(NamedTuple):
    """One of many sources.

    Attributes:
        about: What there is to say of it.
        forecast: Its quality from now on; None if nothing is known of it.
        failing: Items that could not be fetched the last time.
        failed: Some of them.

    """

    about: "Description"
    forecast: Forecast | None
    failing: int = 0
    failed: Sequence[FailingItem] = ()


class Planned(NamedTuple):
    """An item that would be fetched next; ``fails`` if its last fetch failed."""

    source: str
    item: str
    gain: float
    why: str
    fails: bool = False


class Panorama(Protocol):
    """All sources of a kind at one moment."""

    @property
    def standings(self) -> Mapping[str, SourceStanding]:
        """Each source by its name."""
        ...

    @property
    def together(self) -> Forecast | None:
        """The quality of all of them; None if nothing is known of it."""
        ...

    @property
    def is_vast(self) -> bool:
        """Whether it takes long to say what requests buy at each source."""
        ...

    def worths(self) -> "list[Known]":
        """Return about what requests buy at each source, without bounds."""
        ...

    def plan(self, most: int) -> Sequence[Planned]:
        """Return what would be fetched next for so many requests, best first."""
        ...


@dataclass(frozen=True, slots=True)
class PageRequest(Generic[Source]):
    """What a page is made from.

    Attributes:
        reading: What is known.
        source: The source.
        about: What there is to say of it.
        panorama: All sources of the kind, if it has such a view.
        number: The page of its items that is wanted, from 1 on.

    """

    reading: "Reading"
    source: Source
    about: "Description"
    panorama: Panorama | None = None
    number: int = 1
