"""Listings over the web: all their pages, as one look at a set source."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field

from yarl import URL

from halflife.core.budget import Purse
from halflife.core.errors import (
    BudgetSpent,
    Mishandled,
    SourceError,
    Unreachable,
    UsageError,
)
from halflife.core.object_store import Attributes, Listing
from halflife.core.wording import count
from halflife.net.access import Access
from halflife.net.addresses import host_of, parse_url, resolve, shown
from halflife.net.gate import Gate
from halflife.net.troubles import with_address
from halflife.readers.containment import contained, read_in_thread
from halflife.readers.records import MOST, UNREADABLE, RecordPage, RecordReader
from halflife.recordings.snapshots import REFUSED


@dataclass(frozen=True, slots=True)
class ListingSettings:
    """What a listing is, and how it is asked.

    Attributes:
        reader: Where the records of a page are.
        urls: The pages it begins with; each may lead on to others.
        page_url: An address with ``{n}`` in it, for pages that are counted from 1
            until one has nothing new.
        access: On what terms its host is asked.
        max_pages: Pages that are read at most.
        complete: Whether all pages together list everything there is.

    """

    reader: RecordReader
    urls: tuple[str, ...] = ()
    page_url: str = ""
    access: Access = field(default_factory=Access)
    max_pages: int = 100
    complete: bool = True


class _NotFound(Unreachable):
    """There is no such page."""


@dataclass(slots=True)
class ListingWalk:
    """What was read so far, page by page.

    Attributes:
        records: The objects, by key; of double ones the first.
        pages: Pages read.
        refused: Records that could not be used.
        keyless: Those of them that had no key.
        duplicates: Records whose key came before.
        doubled: Those of them whose key came before on the same page.
        trouble: Why not everything was read; empty if it was.
        note: What was put aside on the first page with anything to say.
        kind: The format of the pages; they all have the same.
        total: The most records that any page reported; 0 if none did.
        broken: What is wrong with a line that could not be read; empty if none was.
        beyond: Where the address of a page stands that nobody reads; empty if no
            page names one.

    """

    records: dict[str, Attributes] = field(default_factory=dict)
    pages: int = 0
    refused: int = 0
    keyless: int = 0
    duplicates: int = 0
    doubled: int = 0
    trouble: str = ""
    note: str = ""
    kind: str = ""
    total: int = 0
    broken: str = ""
    beyond: str = ""

    def add(self, page: RecordPage) -> int:
        """Add a page; return how many of its records are new."""
        known = len(self.records)
        for key, record in page.records.items():
            self.records.setdefault(key, record)
        new = len(self.records) - known
        self.pages += 1
        self.refused += page.refused
        self.keyless += page.keyless
        self.duplicates += page.duplicates + len(page.records) - new
        self.doubled += page.duplicates
        self.note = self.note or page.note()
        self.kind = page.kind
        self.total = max(self.total, page.hints.total or 0)
        if page.broken and not self.broken:
            self.broken = f"{page.broken} of its lines cannot be read"
            if page.reasons:
                self.broken += f", first {page.reasons[0]}"
        return new

    def listing(self, at: float, *, complete: bool) -> Listing:
        """Return what was read as one look."""
        few = self.refused <= REFUSED * (len(self.records) + self.refused)
        whole = complete and few and not self.trouble
        note = self.trouble or self.note
        blank = self.kind == "html" and not (self.records or self.refused)
        return Listing(at, self.records, whole, note, keyless=self.keyless, blank=blank)

    def missing(self) -> str:
        """Say what the pages themselves show to be missing; empty if nothing is.

        A key that comes on two pages shows that the list moved while it was read, so
        it does not make up for another record; one that comes twice on one page does.
        """
        if self.broken:
            return self.broken
        read = len(self.records) + self.refused + self.doubled
        if self.total > read:
            how = (
                f"the next page is at {self.beyond!r}: {_advice(self.beyond)}"
                if self.beyond
                else "say with next, urls or page_url where the others are"
            )
            return (
                f"it reports {count(self.total, 'record')} and {read} were read; {how}"
            )
        if self.beyond:
            return (
                f"it has a next page, at {self.beyond!r}, which was not read; "
                f"{_advice(self.beyond)}"
            )
        return ""


def _advice(path: str) -> str:
    quoted = f"'{path}'" if '"' in path else f'"{path}"'
    return f"write next = {quoted} in its settings"


async def look(
    gate: Gate, settings: ListingSettings, purse: Purse
) -> tuple[Listing | None, str]:
    """Read all pages of a listing; return what they list, and what went wrong.

    Each page is paid for. A page that fails leaves the listing incomplete, and so do
    fewer records than a page reports, a next page that is not followed, or a line
    that cannot be read; if the first page fails, there is no listing. Raise
    ``BudgetSpent`` if there is nothing to pay the first one with.
    """
    at, walk = gate.clock(), ListingWalk()
    first = settings.page_url or next(iter(settings.urls), "")
    try:
        with contained(first):
            async with aclosing(_pages(gate, settings, purse, walk)) as pages:
                async for _ in pages:
                    if len(walk.records) > MOST:
                        raise SourceError(f"it lists more than {MOST} records")  # noqa: TRY301  (as a page that fails)
    except BudgetSpent as error:
        if not walk.pages:
            raise
        walk.trouble = str(error)
    except SourceError as error:
        walk.trouble = str(error)
    if not walk.pages:
        return None, walk.trouble
    if settings.complete and not walk.trouble:
        walk.trouble = walk.missing()
    return walk.listing(at, complete=settings.complete), walk.trouble


async def _pages(
    gate: Gate, settings: ListingSettings, purse: Purse, walk: ListingWalk
) -> AsyncGenerator[int]:
    """Read page after page into the walk; yield how many new records each had."""
    if settings.page_url:
        number, new = 1, 1
        while new:
            numbered = parse_url(settings.page_url.replace("{n}", str(number)))
            try:
                page = await _page(gate, settings, purse, numbered, walk)
            except _NotFound:
                if number == 1:
                    raise
                return  # some servers answer 404 to the page after the last one
            new = walk.add(page)
            yield new
            number += 1
        return
    for first in settings.urls:
        url, seen = parse_url(first), set[URL]()
        while url not in seen:
            seen.add(url)
            page = await _page(gate, settings, purse, url, walk)
            yield walk.add(page)
            if not settings.reader.next and _is_left(url, page.hints.next, settings):
                walk.beyond = walk.beyond or page.hints.next_at
            url = _next(url, page.next) if page.next else url


def _is_left(url: URL, link: str, settings: ListingSettings) -> bool:
    """Say whether a next page is one that nobody reads."""
    if not link:
        return False
    try:
        target = parse_url(resolve(str(url), link))
    except UsageError:
        return False
    return target != url and target not in {parse_url(one) for one in settings.urls}


async def _page(
    gate: Gate, settings: ListingSettings, purse: Purse, url: URL, walk: ListingWalk
) -> RecordPage:
    if walk.pages >= settings.max_pages:
        raise SourceError(f"it has more than {count(settings.max_pages, 'page')}")
    where = shown(str(url))
    try:
        answer = await gate.get(url, purse, access=settings.access)
    except SourceError as error:
        raise type(error)(with_address(str(error), str(url))) from None
    if answer.status == 404:
        raise _NotFound(f"{where}: it answered 404")
    if answer.status not in {200, 203}:
        raise Unreachable(f"{where}: it answered {answer.status}")
    read, kind = settings.reader.read, answer.content_type
    try:
        page = await read_in_thread(str(url), read, answer.body, kind, url.name)
        _check_kind(page, settings.reader, walk)
    except Mishandled:
        raise
    except SourceError as error:
        raise SourceError(f"{where}: {UNREADABLE}: {error}") from None
    return page


def _check_kind(page: RecordPage, reader: RecordReader, walk: ListingWalk) -> None:
    """Raise if an answer came in a format in which the list is not."""
    if walk.kind and page.kind != walk.kind:
        raise SourceError(f"it answered {page.kind} after {walk.kind}")
    blank = page.kind == "html" and not (page.records or page.refused)
    if blank and not reader.format and not walk.pages:
        raise SourceError(
            f"it answered HTML in which nothing matches records {reader.records!r}; "
            "say with format what it should answer"
        )


def _next(url: URL, link: str) -> URL:
    """Return the next page; it must lie on the same host."""
    where = shown(str(url))
    try:
        target = parse_url(resolve(str(url), link))
    except UsageError:
        raise SourceError(f"{where}: its next page has no address") from None
    if host_of(str(target)) != host_of(str(url)):
        raise SourceError(f"{where}: its next page lies on another host")
    return target
