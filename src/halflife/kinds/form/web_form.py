"""Databases behind forms, over the web."""

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from yarl import URL

from halflife.core.budget import Purse
from halflife.core.errors import (
    BudgetSpent,
    Mishandled,
    Refused,
    SourceError,
    Unreachable,
)
from halflife.core.forms import Interface, Query, ResultPage
from halflife.engine.threads import LoopCaller
from halflife.kinds.form.addresses import Addresses
from halflife.kinds.form.answers import FormAnswerReader
from halflife.kinds.form.page_links import PageLinks
from halflife.net.access import Access, Answer
from halflife.net.addresses import parse_url, shown
from halflife.net.gate import Gate
from halflife.readers.containment import contained, read_in_thread
from halflife.readers.records import UNREADABLE, RecordPage

TRIES = 2  # requests for an answer, if the first reports trouble of the server
PAGES = 100_000  # pages of one query, at most
NONE: frozenset[int] = frozenset()
_GONE = frozenset({404, 410})
_BEYOND = frozenset({400, 404, 410, 416, 422})  # answers to a page after the last one

Walk: TypeAlias = tuple[Query, bool]  # a query, and whether it is newest first


@dataclass(frozen=True, slots=True)
class FormSettings:
    """How a form is queried and its answers are read.

    Attributes:
        addresses: The addresses of queries and records.
        reader: Where the records of an answer are, and the number of hits.
        interface: Its capabilities, as claimed.
        access: The terms of access to its host.

    """

    addresses: Addresses
    reader: FormAnswerReader
    interface: Interface
    access: Access = field(default_factory=Access)


class FormEngine:
    """A form that is queried through the gate; every request is paid for.

    The page size is learned from first pages: from one with fewer records than it
    should have while there are more, or with more than it should have.
    """

    def __init__(self, gate: Gate, settings: FormSettings, purse: Purse) -> None:
        self.settings = settings
        self.requests = 0
        self._claimed = settings.interface
        self._gate = gate
        self._purse = purse
        self._walk: Walk | None = None  # the last query
        self._pages: set[tuple[str, ...]] = set()  # its pages so far
        self._links = PageLinks()
        self._fullest = 0  # the most records on a first page

    def claim(self, interface: Interface) -> None:
        """Replace the claimed capabilities."""
        self._claimed = interface

    @property
    def linked(self) -> bool:
        """Whether later pages are reached only by the link of the page before."""
        numbered = self.settings.addresses.paged
        return bool(self.settings.reader.records.next) and not numbered

    @property
    def _paged(self) -> bool:
        return self.settings.addresses.paged or self.linked

    @property
    def interface(self) -> Interface:
        """The capabilities; without paging only the first results can be reached."""
        claimed = self._claimed
        if self._paged:
            return claimed
        return replace(
            claimed, cap=min(claimed.cap or claimed.page_size, claimed.page_size)
        )

    @property
    def left(self) -> int:
        """Requests that the budget still allows."""
        return self._purse.left

    def pay(self, requests: int = 1) -> None:
        """Pay for requests about to be sent."""
        self._purse.pay(requests)
        self.requests += requests

    async def ask(
        self, query: Query, page: int = 0, *, newest: bool = False
    ) -> ResultPage:
        """Return a page of results.

        Raise ``BudgetSpent`` if it could not be paid for, ``SourceError`` if there
        was no readable answer, ``ValueError`` if the form cannot answer such a query.
        A page after the last one is empty, however the form reports that.
        """
        self._check(query, newest=newest)
        if page and not self._paged:
            return ResultPage(requests=0)
        before = self.requests
        found = await self._page((query, newest), page)
        return replace(found, requests=self.requests - before)

    async def _page(self, walk: Walk, page: int) -> ResultPage:
        """Return a page, after the pages before it if only their links lead there."""
        url = await self._address(walk, page)
        with contained(str(url)):
            after = _BEYOND if page else NONE
            reply = None if url is None else await self._get(url, after)
            if reply is None and self._links.is_old(walk, page):
                self._links.forget(
                    walk
                )  # it has expired; start at the first page again
                return await self._page(walk, page)
            if url is None or reply is None:
                return ResultPage()
            return await self._shown(walk, page, url, reply)

    async def _shown(
        self, walk: Walk, page: int, url: URL, reply: Answer
    ) -> ResultPage:
        """Return the results in an answer, and note its link."""
        read = self.settings.reader.read
        shown, total = await _read(read, reply, url)
        if not page:
            self._learn(shown, total)
        leads = self._links.note(walk, page, url, shown.next) if self.linked else True
        more = self._goes_on(walk, page, shown, total) and leads
        return ResultPage(shown.records, total, more)

    async def _address(self, walk: Walk, page: int) -> URL | None:
        """Return the address of a page; None if the links do not lead there."""
        query, newest = walk
        if not page or not self.linked:
            addresses = self.settings.addresses
            return addresses.query_url(self.interface, query, page, newest=newest)
        while self._links.address(walk, page) is None:
            before = self._links.nearest(walk, page)
            found = await self._page(walk, before)
            if not found.more:
                return None
        return self._links.address(walk, page)

    def bookmark(self, query: Query, page: int, address: str) -> None:
        """Add the address of a page of a query from an earlier session."""
        self._links.bookmark((query, False), page, parse_url(address))

    def take_page_size(self, records: int) -> None:
        """Set the page size learned in an earlier session."""
        self._claimed = replace(self._claimed, page_size=records)

    def address_of(self, query: Query, page: int) -> str:
        """Return the address of a page that only a link leads to; else empty text."""
        try:
            address = self._links.address((query, False), page) if self.linked else None
        except SourceError:
            return ""
        return "" if address is None else str(address)

    async def fetch(self, key: str) -> ResultPage:
        """Return the record of a key, or nothing if there is none.

        Only 404 or 410, or an answer without records, means that there is none. An
        answer with another record raises ``SourceError``.
        """
        if not self.settings.addresses.lookup:
            raise ValueError("the form does not find records by their keys")
        before = self.requests
        url = self.settings.addresses.record_url(key)
        with contained(str(url)):
            reply = await self._get(url, _GONE)
            if reply is None:
                return ResultPage(requests=self.requests - before)
            page, _ = await _read(self.settings.reader.read_one, reply, url)
        if page.records and key not in page.records:
            raise SourceError(f"{shown(str(url))}: it answered with another record")
        records = {key: page.records[key]} if page.records else {}
        return ResultPage(records, len(records), requests=self.requests - before)

    def _check(self, query: Query, *, newest: bool) -> None:
        interface = self.interface
        if not query and not interface.everything:
            raise ValueError("the form does not answer the empty query")
        if len(query) > interface.together:
            raise ValueError(
                f"the form joins {interface.together} terms, got {len(query)}"
            )
        if newest and not self.settings.addresses.newest:
            raise ValueError("the form does not show the newest first")

    async def _get(self, url: URL, nothing: frozenset[int]) -> Answer | None:
        """Return an answer; None if its status says that nothing is there.

        A server in trouble gets one more request, when the rate limit allows it.
        """
        for _ in range(TRIES):
            access = self.settings.access
            reply = await self._gate.get(url, self, access=access)
            if reply.status != 429 and reply.status < 500:
                break
        if reply.status in nothing:
            return None
        if reply.status in {401, 403}:
            raise Refused(f"{shown(str(url))}: it answered {reply.status}")
        if reply.status not in {200, 203}:
            raise Unreachable(f"{shown(str(url))}: it answered {reply.status}")
        return reply

    def _learn(self, page: RecordPage, total: int | None) -> None:
        """Learn the page size from a first page."""
        shown, expected = len(page.records), self.interface.page_size
        # A page that is shorter than another one is the last, whatever the total.
        self._fullest = max(self._fullest, shown)
        last = shown < self._fullest
        short = 0 < shown < min(expected, total or 0) and not last and not page.refused
        if shown > expected or (short and not page.duplicates):
            self._claimed = replace(self._claimed, page_size=shown)

    def _goes_on(
        self, walk: Walk, page: int, found: RecordPage, total: int | None
    ) -> bool:
        """Say whether there may be another page; a repeated page is the last."""
        shown, interface = tuple(found.records), self.interface
        if walk != self._walk or not page:
            self._walk, self._pages = walk, set()
        again = shown in self._pages
        self._pages.add(shown)
        end = page * interface.page_size + len(shown)
        capped = interface.cap is not None and end >= interface.cap
        over = not self._paged or capped or page + 1 >= PAGES
        if again or over or not shown:
            return False
        if self.settings.reader.records.next:
            return bool(found.next)
        if interface.counts == "exact" and total is not None:
            return end < total
        return len(shown) + found.duplicates + found.refused >= interface.page_size


async def _read(
    read: Callable[[bytes, str, str], tuple[RecordPage, int | None]],
    reply: Answer,
    url: URL,
) -> tuple[RecordPage, int | None]:
    kind = reply.content_type
    try:
        return await read_in_thread(str(url), read, reply.body, kind, url.name)
    except Mishandled:
        raise
    except SourceError as error:
        raise SourceError(f"{shown(str(url))}: {UNREADABLE}: {error}") from None


class WebForm:
    """A form for algorithms (``core.forms.Form``), used from a thread of theirs.

    The engine belongs to the event loop, like its gate, purse and store.
    ``BudgetSpent`` is raised when nothing more can be paid for, and after ``stop``;
    ``SourceError`` (``Refused``, ``Unreachable``) when there was no readable answer.

    Args:
        engine: The form.
        loop: The event loop of the engine.
        notify: Receives each answer, in the calling thread.

    """

    def __init__(
        self,
        engine: FormEngine,
        loop: asyncio.AbstractEventLoop,
        *,
        notify: Callable[[ResultPage], None] = lambda _: None,
    ) -> None:
        self.engine = engine
        self.stopped = False
        self._notify = notify
        self._caller = LoopCaller(loop)

    @property
    def interface(self) -> Interface:
        """The capabilities, as far as they are known."""
        return self.engine.interface

    def ask(self, query: Query, page: int = 0, *, newest: bool = False) -> ResultPage:
        """Return a page of results; the first is number 0."""
        return self._wait(self.engine.ask(query, page, newest=newest))

    def fetch(self, key: str) -> ResultPage:
        """Return the record of a key, or nothing if there is none."""
        return self._wait(self.engine.fetch(key))

    def _wait(self, work: Coroutine[Any, Any, ResultPage]) -> ResultPage:
        if self.stopped:
            work.close()
            raise BudgetSpent("asking was stopped")
        try:
            page = self._caller.call(work)
        except CancelledError:
            raise BudgetSpent("asking was stopped") from None
        self._notify(page)
        return page

    def stop(self) -> None:
        """Send no more queries; pending ones may still be answered."""
        self.stopped = True

    def cancel(self) -> None:
        """Send no more queries, and wait for no answer."""
        self.stop()
        self._caller.break_off()
