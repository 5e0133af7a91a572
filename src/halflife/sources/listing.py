"""Listings over the web: all their pages, as one look at a set source."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field

from yarl import URL

from halflife.budget import Purse
from halflife.errors import (
    BudgetSpent,
    Mishandled,
    SourceError,
    Unreachable,
    UsageError,
)
from halflife.register import Attributes, Listing
from halflife.sources.addresses import host_of, parse_url, resolve
from halflife.sources.containment import contained, read_in_thread
from halflife.sources.folding import REFUSED
from halflife.sources.gate import Gate
from halflife.sources.records import MOST, UNREADABLE, Page, Reader
from halflife.sources.terms import Access


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

    reader: Reader
    urls: tuple[str, ...] = ()
    page_url: str = ""
    access: Access = field(default_factory=Access)
    max_pages: int = 100
    complete: bool = True


class _NotFound(Unreachable):
    """There is no such page."""


@dataclass(slots=True)
class Walk:
    """What was read so far, page by page.

    Attributes:
        records: The objects, by key; of double ones the first.
        pages: Pages read.
        refused: Records that could not be used.
        keyless: Those of them that had no key.
        duplicates: Records whose key came before.
        trouble: Why not everything was read; empty if it was.

    """

    records: dict[str, Attributes] = field(default_factory=dict)
    pages: int = 0
    refused: int = 0
    keyless: int = 0
    duplicates: int = 0
    trouble: str = ""
    note: str = ""

    def add(self, page: Page) -> int:
        """Add a page; return how many of its records are new."""
        known = len(self.records)
        for key, record in page.records.items():
            self.records.setdefault(key, record)
        new = len(self.records) - known
        self.pages += 1
        self.refused += page.refused
        self.keyless += page.keyless
        self.duplicates += page.duplicates + len(page.records) - new
        self.note = self.note or page.note()
        return new

    def listing(self, at: float, *, complete: bool) -> Listing:
        """Return what was read as one look."""
        few = self.refused <= REFUSED * (len(self.records) + self.refused)
        whole = complete and few and not self.trouble
        note = self.trouble or self.note
        return Listing(at, self.records, whole, note, keyless=self.keyless)


async def look(
    gate: Gate, settings: ListingSettings, purse: Purse
) -> tuple[Listing | None, str]:
    """Read all pages of a listing; return what they list, and what went wrong.

    Each page is paid for. A page that fails leaves the listing incomplete; if the
    first one fails, there is no listing. Raise ``BudgetSpent`` if there is nothing
    to pay the first one with.
    """
    at, walk = gate.clock(), Walk()
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
    return walk.listing(at, complete=settings.complete), walk.trouble


async def _pages(
    gate: Gate, settings: ListingSettings, purse: Purse, walk: Walk
) -> AsyncGenerator[int]:
    """Read page after page into the walk; yield how many new records each had."""
    if settings.page_url:
        number, new = 1, 1
        while new:
            numbered = parse_url(settings.page_url.replace("{n}", str(number)))
            try:
                page = await _page(gate, settings, purse, numbered, walk.pages)
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
            page = await _page(gate, settings, purse, url, walk.pages)
            yield walk.add(page)
            url = _next(url, page.next) if page.next else url


async def _page(
    gate: Gate, settings: ListingSettings, purse: Purse, url: URL, before: int
) -> Page:
    if before >= settings.max_pages:
        raise SourceError(f"it has more than {settings.max_pages} pages")
    answer = await gate.get(url, purse, access=settings.access)
    if answer.status == 404:
        raise _NotFound(f"{url.raw_host}: it answered 404")
    if answer.status not in {200, 203}:
        raise Unreachable(f"{url.raw_host}: it answered {answer.status}")
    read, kind = settings.reader.read, answer.content_type
    try:
        return await read_in_thread(str(url), read, answer.body, kind, url.name)
    except Mishandled:
        raise
    except SourceError as error:
        raise SourceError(f"{url.raw_host}: {UNREADABLE}: {error}") from None


def _next(url: URL, link: str) -> URL:
    """Return the next page; it must lie on the same host."""
    try:
        target = parse_url(resolve(str(url), link))
    except UsageError:
        raise SourceError(f"{url.raw_host}: its next page has no address") from None
    if host_of(str(target)) != host_of(str(url)):
        raise SourceError(f"{url.raw_host}: its next page lies on another host")
    return target
