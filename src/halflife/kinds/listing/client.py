"""Listings over the web: all their pages, read as one fetch."""

from collections.abc import AsyncGenerator, Mapping, Set as AbstractSet
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import NamedTuple

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
from halflife.kinds.listing.pagination import (
    PLAIN,
    AddressPlace,
    ListingRequest,
    NextLink,
    PageAnswer,
    PageNumber,
    Paging,
    SinglePage,
    link_of,
    total_of,
)
from halflife.net.access import Access, Answer
from halflife.net.addresses import canonical, host_of, parse_url, resolve, shown
from halflife.net.gate import Gate
from halflife.net.parameters import parameter, with_parameters
from halflife.net.troubles import with_address
from halflife.readers.containment import contained, read_in_thread
from halflife.readers.json_document import load_json
from halflife.readers.page_hints import PageHints
from halflife.readers.records import (
    MOST,
    UNREADABLE,
    ErrorAnswer,
    RecordPage,
    RecordReader,
    error_text,
)
from halflife.recordings.snapshots import REFUSED


@dataclass(frozen=True, slots=True)
class ListingSettings:
    """How a listing is requested and read.

    Attributes:
        reader: Where the records of a page are.
        urls: The first pages; each may lead to others.
        page_url: An address with ``{n}`` in it, for pages that are counted from 1
            until one has nothing new.
        access: The terms of access to its host.
        max_pages: Pages that are read at most.
        complete: Whether all pages together list every object.
        request: What each request has besides its address.
        parameters: Parameters that are added to the first addresses.
        paging: The way of paging; by ``page_url`` or the reader's ``next`` if None.
        total: Where an answer reports the number of records.
        total_header: The header that reports it.
        newer: Whether only newer records are requested: such an answer is never
            complete.

    """

    reader: RecordReader
    urls: tuple[str, ...] = ()
    page_url: str = ""
    access: Access = field(default_factory=Access)
    max_pages: int = 100
    complete: bool = True
    request: ListingRequest = PLAIN
    parameters: Mapping[str, str] = field(default_factory=dict)
    paging: Paging | None = None
    total: str = ""
    total_header: str = ""
    newer: bool = False

    @property
    def way(self) -> Paging:
        """The way of paging."""
        if self.paging is not None:
            return self.paging
        if self.page_url:
            return PageNumber(AddressPlace(self.page_url))
        return NextLink(self.reader.next) if self.reader.next else SinglePage()

    def firsts(self) -> list[ListingRequest]:
        """Return the requests for the first pages."""
        urls = self.urls or ((self.page_url,) if self.page_url else ())
        first = self.way.first
        requests = [first(replace(self.request, url=url)) for url in urls]
        return [replace(r, url=self._with_parameters(r.url)) for r in requests]

    def _with_parameters(self, url: str) -> str:
        given = self.parameters.items()
        return with_parameters(
            url, {n: v for n, v in given if parameter(url, n) is None}
        )


class _NotFound(Unreachable):
    """There is no such page."""


@dataclass(slots=True)
class ListingWalk:
    """The pages read so far.

    Attributes:
        records: The objects by key, the first one of each key.
        pages: Pages read.
        refused: Records that could not be used.
        keyless: Refused records that had no key.
        duplicates: Records whose key came before.
        doubled: Duplicates on the same page as the first.
        trouble: Why not everything was read; empty if it was.
        note: The note of the first page that has one.
        kind: The format of the pages; they all have the same.
        total: The most records that any page reported; 0 if none did.
        broken: The first line that could not be read, in words; empty if none.
        unread: The sign of a next page that was not read; None if there is none.

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
    unread: "_UnreadPage | None" = None

    def add(self, page: RecordPage) -> int:
        """Add a page; return how many of its records are new."""
        before = len(self.records)
        for key, record in page.records.items():
            self.records.setdefault(key, record)
        new = len(self.records) - before
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

    def listing(self, at: float, *, complete: bool, newer: bool = False) -> Listing:
        """Return the listing read; one of ``newer`` records is never complete."""
        usable = self.refused <= REFUSED * (len(self.records) + self.refused)
        whole = complete and usable and not self.trouble
        return Listing(
            at,
            self.records,
            whole and not newer,
            self.trouble or self.note,
            keyless=self.keyless,
            blank=self.kind == "html" and not (self.records or self.refused),
            newer=whole and newer,
        )

    def missing(self) -> str:
        """Return what the pages show to be missing, in words; empty if nothing is.

        A key that comes on two pages shows that the list moved while it was read, so
        it does not make up for another record; one that comes twice on one page does.
        """
        if self.broken:
            return self.broken
        read = len(self.records) + self.refused + self.doubled
        if self.total > read:
            how = (
                f"{self.unread.sign}: {self.unread.advice}"
                if self.unread
                else "say with paging, next or urls where the others are"
            )
            return (
                f"it reports {count(self.total, 'record')} and {read} were read; {how}"
            )
        if self.unread:
            return f"{self.unread.sign}, which was not read; {self.unread.advice}"
        return ""


class _UnreadPage(NamedTuple):
    """The sign of a next page that the settings do not read, and how to read it."""

    sign: str
    advice: str


def _unread_page(
    request: ListingRequest,
    hints: PageHints,
    answer: PageAnswer,
    settings: ListingSettings,
) -> _UnreadPage | None:
    """Return the sign of a next page in an answer without paging."""
    if _is_left(request.url, hints.next, settings):
        advice = f"write next = {_quoted(hints.next_at)} in its settings"
        return _UnreadPage(f"it has a next page, at {hints.next_at!r}", advice)
    if _is_left(request.url, link_of(answer.headers, "next"), settings):
        advice = 'write paging = {kind = "header"} in its settings'
        return _UnreadPage("it has a next page, in the header Link", advice)
    if not hints.more_at or len(settings.urls) > 1:
        return None
    if not hints.parameter:
        advice = "say with paging how to ask for it (docs/listings.md)"
        return _UnreadPage(
            f"it says at {hints.more_at!r} that it has a next page", advice
        )
    advice = (
        f'write paging = {{kind = "cursor", at = {_quoted(hints.more_at)}, '
        f"parameter = {_quoted(hints.parameter)}}} in its settings"
    )
    return _UnreadPage(
        f"it has a token for its next page, at {hints.more_at!r}", advice
    )


def _quoted(path: str) -> str:
    return f"'{path}'" if '"' in path else f'"{path}"'


async def fetch_listing(
    gate: Gate, settings: ListingSettings, purse: Purse
) -> tuple[Listing | None, str]:
    """Read all pages of a listing; return the listing, and what went wrong.

    Each page is paid for. A page that fails leaves the listing incomplete, and so do
    fewer records than a page reports, a next page that is not followed, or a line
    that cannot be read; if the first page fails, there is no listing. Raise
    ``BudgetSpent`` if the first page cannot be paid.
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
    listing = walk.listing(at, complete=settings.complete, newer=settings.newer)
    return listing, walk.trouble


async def _pages(
    gate: Gate, settings: ListingSettings, purse: Purse, walk: ListingWalk
) -> AsyncGenerator[int]:
    """Read page after page; yield how many new records each had."""
    for first in settings.firsts():
        sequence = _PageSequence(settings, walk)
        request: ListingRequest | None = first
        while request is not None:
            sequence.check(request)
            try:
                page, answer = await _page(gate, settings, purse, request, walk)
            except _NotFound:
                if not (settings.way.counts and sequence.pages):
                    raise
                break  # some servers answer 404 to the page after the last one
            yield walk.add(page)
            request = sequence.following(request, page, answer)


class _PageSequence:
    """The pages read from one first address on."""

    def __init__(self, settings: ListingSettings, walk: ListingWalk) -> None:
        self._settings, self._walk = settings, walk
        self._before = walk.total  # of the addresses before
        self._seen: dict[tuple[str, str, str], int] = {}
        self._keys = set[str]()
        self._first: AbstractSet[str] = frozenset()
        self._last: AbstractSet[str] = frozenset()
        self.pages = self.rows = 0

    def check(self, request: ListingRequest) -> None:
        """Raise if the request was sent before: paging would never end."""
        if request.mark in self._seen:
            again = self._seen[request.mark]
            raise SourceError(
                f"{shown(request.url)}: its pages lead in a circle: page "
                f"{len(self._seen)} leads back to page {again}"
            )
        self._seen[request.mark] = len(self._seen) + 1

    def following(
        self, request: ListingRequest, page: RecordPage, answer: PageAnswer
    ) -> ListingRequest | None:
        """Return the request for the next page; None at the end."""
        settings, way = self._settings, self._settings.way
        self.pages += 1
        self.rows += page.rows
        total = self._total(page, answer)
        if isinstance(way, SinglePage) and self._walk.unread is None:
            self._walk.unread = _unread_page(request, page.hints, answer, settings)
        if not way.counts:
            return way.following(request, answer)
        if total is not None and self.rows >= total:
            return None
        return None if self._is_over(request, page) else way.following(request, answer)

    def _is_over(self, request: ListingRequest, page: RecordPage) -> bool:
        """Say whether a counted list is over: it repeats its last page, or its first.

        A page of known records alone is not the end: if records were inserted in front
        while the list was read, it goes on after that page. Raise if the second page
        repeats the first: then the end is unknown.
        """
        here, before = page.records.keys(), len(self._keys)
        first, last = self._first, self._last
        self._keys |= here
        self._first, self._last = first or frozenset(here), here
        if self.pages == 1 or not here or len(self._keys) > before:
            return False
        if self.pages == 2 and here == first:
            raise SourceError(
                f"{shown(request.url)}: it answers with its first page again, so that "
                "there may be others that are not read; check how it is paged, or say "
                "with total where it reports the number of its records"
            )
        return here <= last or here == first

    def _total(self, page: RecordPage, answer: PageAnswer) -> int | None:
        """Return the total that the page reports where the settings say."""
        settings, where = self._settings, shown(answer.url)
        if not (settings.total or settings.total_header):
            return None
        name = settings.total or settings.total_header
        if settings.total:
            found = _whole(page.found.get(settings.total))
        else:
            found = total_of(answer.headers, settings.total_header)
        if found is None:
            raise SourceError(f"{where}: it reports no number of records at {name!r}")
        self._walk.total = self._before + found
        return found


def _whole(value: object) -> int | None:
    """Return a number of records; None if the value is not one."""
    if isinstance(value, str):
        text = value.strip().replace(",", "")
        return int(text) if text.isascii() and text.isdigit() else None
    fine = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    return value if fine and isinstance(value, int) else None


def _is_left(url: str, link: str, settings: ListingSettings) -> bool:
    """Say whether a link leads to a page that is not read."""
    if not link:
        return False
    try:
        target = resolve(url, link)
    except UsageError:
        return False
    return target not in {canonical(one) for one in (url, *settings.urls)}


async def _page(
    gate: Gate,
    settings: ListingSettings,
    purse: Purse,
    request: ListingRequest,
    walk: ListingWalk,
) -> tuple[RecordPage, PageAnswer]:
    if walk.pages >= settings.max_pages:
        raise SourceError(f"it has more than {count(settings.max_pages, 'page')}")
    url = parse_url(request.url)
    where, payload = shown(str(url)), request.payload()
    try:
        answer = await gate.ask(url, payload, purse, access=settings.access)
    except SourceError as error:
        raise type(error)(with_address(str(error), str(url))) from None
    if answer.status == 404:
        raise _NotFound(f"{where}: it answered 404")
    if answer.status not in {200, 203}:
        raise Unreachable(f"{where}: it answered {answer.status}{_why(answer)}")
    read, kind = settings.reader.read, answer.content_type
    try:
        page = await read_in_thread(str(url), read, answer.body, kind, url.name)
        _check_kind(page, settings.reader, walk)
    except Mishandled:
        raise
    except ErrorAnswer as error:
        raise SourceError(f"{where}: {error}") from None
    except SourceError as error:
        raise SourceError(f"{where}: {UNREADABLE}: {error}") from None
    found = {**page.found, settings.reader.next: page.next}
    same = host_of(answer.url) == host_of(str(url))
    base, html = answer.url if same else str(url), page.kind == "html"
    return page, PageAnswer(base, answer.headers, page.rows, found.get, html)


def _why(answer: Answer) -> str:
    """Return the reason in a refusal; empty if it has none."""
    try:
        reason = error_text(load_json(answer.body.decode())) if answer.body else ""
    except (ValueError, RecursionError):
        return ""
    return f": {reason}" if reason else ""


def _check_kind(page: RecordPage, reader: RecordReader, walk: ListingWalk) -> None:
    """Raise if an answer has the wrong format."""
    if walk.kind and page.kind != walk.kind:
        raise SourceError(f"it answered {page.kind} after {walk.kind}")
    blank = page.kind == "html" and not (page.records or page.refused)
    if blank and not reader.format and not walk.pages:
        raise SourceError(
            f"it answered HTML in which nothing matches records {reader.records!r}; "
            "say with format what it should answer"
        )
