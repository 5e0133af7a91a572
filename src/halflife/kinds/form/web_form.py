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

TRIES = 2  # requests for an answer, if the first says that the server is in trouble
PAGES = 100_000  # results pages of one query, whatever the form says
NONE: frozenset[int] = frozenset()
_GONE = frozenset({404, 410})
_BEYOND = frozenset({400, 404, 410, 416, 422})  # said of a page after the last one

Walk: TypeAlias = tuple[Query, bool]  # a query, and whether the newest come first


@dataclass(frozen=True, slots=True)
class FormSettings:
    """How a form is asked and its answers are read.

    Attributes:
        addresses: Where it is asked for what.
        reader: Where the records of an answer are, and the number of hits.
        interface: What it can do, as far as somebody says so.
        access: On what terms its host is asked.

    """

    addresses: Addresses
    reader: FormAnswerReader
    interface: Interface
    access: Access = field(default_factory=Access)


class FormEngine:
    """A form that is asked through the gate; every request is paid for.

    The size of a page is learned: a first page that shows fewer records than it
    should while there are more, or more than it should, tells how many it has.
    """

    def __init__(self, gate: Gate, settings: FormSettings, purse: Purse) -> None:
        self.settings = settings
        self.requests = 0
        self._claimed = settings.interface
        self._gate = gate
        self._purse = purse
        self._walk: Walk | None = None  # the query asked last
        self._pages: set[tuple[str, ...]] = set()  # the pages it showed
        self._links = PageLinks()
        self._fullest = 0  # the most records that a first page has shown

    def claim(self, interface: Interface) -> None:
        """Ask from now on as a form that can do this."""
        self._claimed = interface

    @property
    def linked(self) -> bool:
        """Whether pages after the first are found only by the link before them."""
        numbered = self.settings.addresses.paged
        return bool(self.settings.reader.records.next) and not numbered

    @property
    def _paged(self) -> bool:
        return self.settings.addresses.paged or self.linked

    @property
    def interface(self) -> Interface:
        """What the form can do; without pages only its first results can be reached."""
        known = self._claimed
        if self._paged:
            return known
        return replace(known, cap=min(known.cap or known.page_size, known.page_size))

    @property
    def left(self) -> int:
        """Requests that can still be paid for."""
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
        was no answer that could be read, ``ValueError`` if the form cannot be asked
        so. A page after the last one is empty, however the form says so.
        """
        self._check(query, newest=newest)
        if page and not self._paged:
            return ResultPage(requests=0)
        before = self.requests
        found = await self._turn((query, newest), page)
        return replace(found, requests=self.requests - before)

    async def _turn(self, walk: Walk, page: int) -> ResultPage:
        """Return a page, after those before it if only they lead there."""
        url = await self._address(walk, page)
        with contained(str(url)):
            after = _BEYOND if page else NONE
            reply = None if url is None else await self._get(url, after)
            if reply is None and self._links.is_old(walk, page):
                self._links.forget(walk)  # it has expired; from the first page again
                return await self._turn(walk, page)
            if url is None or reply is None:
                return ResultPage()
            return await self._shown(walk, page, url, reply)

    async def _shown(
        self, walk: Walk, page: int, url: URL, reply: Answer
    ) -> ResultPage:
        """Return what an answer shows, and note where it leads."""
        read = self.settings.reader.read
        shown, total = await _read(read, reply, url)
        if not page:
            self._learn(shown, total)
        leads = self._links.note(walk, page, url, shown.next) if self.linked else True
        more = self._goes_on(walk, page, shown, total) and leads
        return ResultPage(shown.records, total, more)

    async def _address(self, walk: Walk, page: int) -> URL | None:
        """Return where a page is; None if the pages before it do not lead there."""
        query, newest = walk
        if not page or not self.linked:
            addresses = self.settings.addresses
            return addresses.asking(self.interface, query, page, newest=newest)
        while self._links.address(walk, page) is None:
            before = self._links.nearest(walk, page)
            found = await self._turn(walk, before)
            if not found.more:
                return None
        return self._links.address(walk, page)

    def bookmark(self, query: Query, page: int, address: str) -> None:
        """Take over from an earlier session where a page of a query is."""
        self._links.bookmark((query, False), page, parse_url(address))

    def take_page_size(self, records: int) -> None:
        """Take over from an earlier session how many records a page has."""
        self._claimed = replace(self._claimed, page_size=records)

    def address_of(self, query: Query, page: int) -> str:
        """Return where a page of a query is, if only its link tells; else nothing."""
        try:
            known = self._links.address((query, False), page) if self.linked else None
        except SourceError:
            return ""
        return "" if known is None else str(known)

    async def fetch(self, key: str) -> ResultPage:
        """Return the record of a key, or nothing if there is none.

        Nothing is said only by 404 or 410, or by an answer without records. An
        answer with another record raises ``SourceError``.
        """
        if not self.settings.addresses.lookup:
            raise ValueError("the form does not find records by their keys")
        before = self.requests
        url = self.settings.addresses.looking_up(key)
        with contained(str(url)):
            reply = await self._get(url, _GONE)
            if reply is None:
                return ResultPage(requests=self.requests - before)
            page, _ = await _read(self.settings.reader.read_one, reply, url)
        if page.records and key not in page.records:
            raise SourceError(f"{shown(str(url))}: it answered with another record")
        found = {key: page.records[key]} if page.records else {}
        return ResultPage(found, len(found), requests=self.requests - before)

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

        A server in trouble is asked once more, when its host may be asked again.
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
        """Learn from a first page how many records a page has."""
        shown, expected = len(page.records), self.interface.page_size
        # A page that is shorter than another one is the last, whatever is counted.
        self._fullest = max(self._fullest, shown)
        last = shown < self._fullest
        short = 0 < shown < min(expected, total or 0) and not last and not page.refused
        if shown > expected or (short and not page.duplicates):
            self._claimed = replace(self._claimed, page_size=shown)

    def _goes_on(
        self, walk: Walk, page: int, found: RecordPage, total: int | None
    ) -> bool:
        """Say whether there may be another page; one that came before is the last."""
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
    """A form as algorithms ask it, as ``core.forms.Form``: from a thread of theirs.

    The engine lives in the event loop, where its gate, purse and store belong.
    ``BudgetSpent`` is raised when nothing more can be paid for, and when ``stop`` was
    called; ``SourceError`` (``Refused``, ``Unreachable``) when there was no answer
    that could be read.

    Args:
        engine: The form.
        loop: The loop in which it lives.
        told: Is told after each answer, in the thread that asked.

    """

    def __init__(
        self,
        engine: FormEngine,
        loop: asyncio.AbstractEventLoop,
        *,
        told: Callable[[ResultPage], None] = lambda _: None,
    ) -> None:
        self.engine = engine
        self.stopped = False
        self._told = told
        self._caller = LoopCaller(loop)

    @property
    def interface(self) -> Interface:
        """What the form can do, as far as it is known."""
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
            found = self._caller.call(work)
        except CancelledError:
            raise BudgetSpent("asking was stopped") from None
        self._told(found)
        return found

    def stop(self) -> None:
        """Let nothing more be asked; what was asked may still be answered."""
        self.stopped = True

    def cancel(self) -> None:
        """Let nothing more be asked, and wait for no answer."""
        self.stop()
        self._caller.break_off()
