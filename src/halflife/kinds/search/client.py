"""Search engines over the web as databases that can be sampled."""

import asyncio
import re
from collections.abc import Callable
from concurrent.futures import CancelledError
from dataclasses import dataclass, field, replace
from math import inf
from urllib.parse import quote

from yarl import URL

from halflife.core.budget import Purse
from halflife.core.errors import (
    BudgetSpent,
    Mishandled,
    Refused,
    SourceError,
    Unreachable,
    UsageError,
)
from halflife.core.search import Document, SearchAnswer
from halflife.engine.threads import LoopCaller
from halflife.engine.wallet import CountedPurse
from halflife.kinds.search.answers import AnswerReader, Hit, Results
from halflife.net.access import Access, Answer as Reply
from halflife.net.addresses import parse_url, shown
from halflife.net.gate import Gate
from halflife.net.negotiation import as_page
from halflife.readers.containment import contained, read_in_thread
from halflife.readers.records import UNREADABLE
from halflife.readers.text import is_html, media_type, to_text, visible

ENDLESS = 1 << 40  # more requests than any budget has: the cost of a query when over
PATIENCE = 3  # failures in a row after which a database is left alone
FULL = 3  # first pages of the same length that show how long a page is at most
BLIND = 10  # answers without a document read in full after which to give up
LONGEST_WORD = 40
_WORD = re.compile(r"\w\w+")


def words_of(text: str) -> tuple[str, ...]:
    """Return the distinct words of a text in lower case, sorted.

    Single letters and words that are too long are left out.

    >>> words_of("The cat, the DOG & a mouse")
    ('cat', 'dog', 'mouse', 'the')
    """
    words = {w for w in _WORD.findall(text.lower()) if len(w) <= LONGEST_WORD}
    return tuple(sorted(words))


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """How a search engine is queried.

    Attributes:
        url: Its address, with ``{query}`` in it, and ``{page}`` or ``{offset}`` and
            ``{count}`` if it has them.
        reader: Where the hits of an answer are.
        access: The terms of access to its host.
        per_page: Results of a page, as far as we can choose or know.
        first_page: The number of the first page.
        first_offset: The number of the first result.
        cap: Results of one query that can be reached at all.
        fetch: Whether documents are fetched by their links if an answer does not have
            their text.

    """

    url: str
    reader: AnswerReader
    access: Access = field(default_factory=Access)
    per_page: int = 10
    first_page: int = 1
    first_offset: int = 0
    cap: int = 1000
    fetch: bool = False

    @property
    def paged(self) -> bool:
        """Whether more than the first results can be requested."""
        return "{page}" in self.url or "{offset}" in self.url

    def address(self, query: str, skip: int) -> tuple[URL, int]:
        """Return the address of the page with the result after the first ``skip``.

        Also return how many results are before it on that page. Raise ``SourceError``
        if the template makes no URL.
        """
        page, before = divmod(skip, self.per_page)
        if "{offset}" in self.url:
            before = 0
        elif "{page}" not in self.url:
            before = skip
        places = {
            "{query}": quote(query, safe=""),
            "{page}": str(page + self.first_page),
            "{offset}": str(skip + self.first_offset),
            "{count}": str(self.per_page),
        }
        url = re.sub(r"\{\w+\}", lambda place: places[place[0]], self.url)
        try:
            return parse_url(url), before
        except UsageError as error:
            raise SourceError(f"the address is not valid: {error}") from None


class Engine:
    """A search engine behind the gate; every request is paid for."""

    def __init__(self, gate: Gate, settings: SearchSettings, purse: Purse) -> None:
        self.settings = settings
        self._gate = gate
        self._purse = CountedPurse(purse)
        self._read: dict[str, tuple[str, ...]] = {}  # words of documents fetched
        self.unread = 0  # documents that could not be fetched by their links
        self._pageless = not settings.paged  # whether only first pages can be had
        self._first: tuple[str, Results] = "", Results(None, ())  # of the last query
        self._lengths: dict[str, int] = {}  # results on the first page of each query

    @property
    def requests(self) -> int:
        """Requests sent so far."""
        return self._purse.paid

    async def search(self, query: str, most: int, skip: int = 0) -> SearchAnswer:
        """Return the next ``most`` matches after the first ``skip``.

        Raise ``BudgetSpent`` if no answer could be paid for, ``SourceError`` if there
        was no readable answer.
        """
        before = self._purse.paid
        total, hits = await self._hits(query, skip, min(skip + most, self.settings.cap))
        documents = [await self._document(hit) for hit in hits]
        paid, cut = self._purse.paid - before, self._cut(query, total)
        return SearchAnswer(total, tuple(documents), paid, cut)

    def _cut(self, query: str, total: int | None) -> bool:
        """Say whether more documents match a query than can be reached.

        Without totals, a first page is taken to be full if it is as long as those of
        other queries, none is longer, and there is no second page.
        """
        shown = self._lengths.get(query, 0)
        if not self._pageless:
            return False
        if total is not None:
            return total > shown
        longest = max(self._lengths.values(), default=0)
        alike = sum(length == longest for length in self._lengths.values())
        return 0 < longest == shown and alike >= FULL

    async def _hits(self, query: str, skip: int, end: int) -> Results:
        """Return the results from one position to another, page after page."""
        total: int | None = None
        hits: dict[str, Hit] = {}
        at = skip
        while at < end:
            try:
                page = await self._page(query, at)
            except (BudgetSpent, SourceError):
                if not hits:
                    raise
                break
            total = page.total if total is None else total
            new = [hit for hit in page.hits if hit.key not in hits]
            hits.update((hit.key, hit) for hit in new)
            at += len(page.hits)
            if not new or not self._goes_on(page, at, total):
                break
        if total and not hits and not skip:
            total = None  # matches that are never shown prove nothing
        return Results(total, tuple(hits.values())[: max(end - skip, 0)])

    def _goes_on(self, page: Results, at: int, total: int | None) -> bool:
        """Say whether there may be results after the first ``at``."""
        if self._pageless:
            return False
        return len(page.hits) >= self.settings.per_page if total is None else at < total

    async def _page(self, query: str, skip: int) -> Results:
        """Return the results of a page after the first ``skip``."""
        last_query, first = self._first
        if (
            skip and last_query == query and self._pageless
        ):  # there is only the first page
            return Results(first.total, first.hits[skip:])
        url, before = self.settings.address(query, skip)
        reply = await self._get(url)
        read = self.settings.reader.read
        try:
            page = await read_in_thread(
                reply.url, read, reply.body, reply.content_type, reply.url
            )
        except Mishandled:
            raise
        except SourceError as error:
            where = shown(str(url))
            raise SourceError(f"{where}: {UNREADABLE}: {error}") from None
        if not skip:
            self._learn(page)
            self._first, self._lengths[query] = (query, page), len(page.hits)
        elif last_query == query and self._repeats(skip, first, page):
            self._pageless = True
            return Results(page.total, first.hits[skip:])
        return Results(page.total, page.hits[before:])

    def _repeats(self, skip: int, first: Results, page: Results) -> bool:
        """Say whether a page repeats the first one: then there are no others."""
        if "{offset}" not in self.settings.url and skip < self.settings.per_page:
            return False  # it is the first page
        keys = [[hit.key for hit in results.hits] for results in (first, page)]
        return bool(keys[1]) and keys[0] == keys[1]

    def _learn(self, page: Results) -> None:
        """Learn the page size from a first page."""
        shown, expected = len(page.hits), self.settings.per_page
        short = 0 < shown < min(expected, page.total or 0)
        if "{page}" in self.settings.url and (short or shown > expected):
            self.settings = replace(self.settings, per_page=shown)

    async def _get(self, url: URL, *, page: bool = False) -> Reply:
        access = self.settings.access
        headers = as_page(access.headers) if page else None
        reply = await self._gate.get(url, self._purse, access=access, headers=headers)
        where = shown(str(url))
        if reply.status in {401, 403}:
            raise Refused(f"{where}: it answered {reply.status}")
        if reply.status not in {200, 203}:
            raise Unreachable(f"{where}: it answered {reply.status}")
        return reply

    async def _document(self, hit: Hit) -> Document:
        """Return a document, with all its words if possible."""
        if hit.text:
            return Document(hit.key, words_of(hit.text))
        if self.settings.fetch and hit.link:
            words = self._read.get(hit.link) or await self._fetch(hit.link)
            if words:
                return Document(hit.key, words)
        return Document(hit.key, words_of(hit.snippet), whole=False)

    async def _fetch(self, link: str) -> tuple[str, ...]:
        """Return the words of a page; none if it cannot be read or paid for."""
        try:
            with contained(link):
                reply = await self._get(parse_url(link), page=True)
                words = words_of(await read_in_thread(link, _text, reply))
        except (BudgetSpent, SourceError):
            self.unread += 1
            return ()
        self.unread += not words
        self._read[link] = words
        return words


def _text(reply: Reply) -> str:
    """Return the text of a page; empty if it is not a text."""
    if is_html(reply.content_type, reply.body):
        return visible(to_text(reply.content_type, reply.body))
    plain = media_type(reply.content_type).startswith("text/")
    return to_text(reply.content_type, reply.body) if plain else ""


class BlockingSearch:
    """An engine for samplers: used from a thread of theirs, waiting for answers.

    The engine belongs to the event loop, like its gate, purse and store. A failed query
    gets an empty answer. When the budget is spent, the engine refuses or keeps failing,
    or ``stop`` was called, it is over: further queries get an empty answer at once, at
    a price (``ENDLESS``) at which every sampler ends with what it has learned.

    Args:
        engine: The engine.
        loop: The event loop of the engine.
        snippets: Whether snippets suffice. If not, and nothing else is shown, it is
            over too.
        notify: Receives each answer, in the sampler's thread.

    """

    def __init__(
        self,
        engine: Engine,
        loop: asyncio.AbstractEventLoop,
        *,
        snippets: bool = True,
        notify: Callable[[SearchAnswer], None] = lambda _: None,
    ) -> None:
        self.engine = engine
        self.over = False
        self.spent = False  # whether it is over because the budget is spent
        self.stopped = False  # whether it is over because ``stop`` was called
        self.answered = 0
        self.failures = 0
        self.trouble = ""  # the last failure
        self.blind = False  # whether it is over because only snippets are shown
        self._notify = notify
        self._row = 0  # failures in a row
        self._glimpses: float = BLIND if not snippets else inf  # still tolerated
        self._caller = LoopCaller(loop)

    def search(self, query: str, most: int, skip: int = 0) -> SearchAnswer:
        """Return the next ``most`` matches after the first ``skip``."""
        if self.over:
            return SearchAnswer(None, (), ENDLESS)
        if skip >= self.engine.settings.cap:
            return SearchAnswer(None, (), 0)
        before = self.engine.requests
        work = self.engine.search(query, most, skip)
        try:
            with contained(self.engine.settings.url):
                answer = self._caller.call(work)
        except (BudgetSpent, CancelledError) as error:
            self.spent = isinstance(error, BudgetSpent)
            self.over = True
        except SourceError as error:
            self._fail(error)
        else:
            self._take(answer)
            return answer
        return SearchAnswer(
            None, (), ENDLESS if self.over else self.engine.requests - before
        )

    def _take(self, answer: SearchAnswer) -> None:
        self.answered += 1
        self._row = 0
        if any(document.whole for document in answer.documents):
            self._glimpses = inf
        elif answer.documents:
            self._glimpses -= 1
            self.blind = self._glimpses <= 0
            self.over = self.over or self.blind
        self._notify(answer)

    def _fail(self, error: SourceError) -> None:
        self.trouble = str(error)
        self.failures += 1
        self._row += 1
        self.over = isinstance(error, Refused) or self._row >= PATIENCE

    def stop(self) -> None:
        """Send no more queries; pending ones may still be answered."""
        self.stopped = self.over = True

    def cancel(self) -> None:
        """Send no more queries, and wait for no answer."""
        self.stop()
        self._caller.break_off()
