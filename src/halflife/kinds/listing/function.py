"""Functions as listings: a Python function that yields records is a source.

    @halflife.listing(key="id")
    async def jobs(session):
        async for page in session.pages("https://example.org/jobs", next="next"):
            for record in page.json()["jobs"]:
                yield record

The function asks through its session, which pays for each request, waits for its turn
at the host and obeys robots.txt. What it yields is kept like any listing.
"""

import importlib
import json
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from multidict import CIMultiDict
from pydantic import TypeAdapter, ValidationError

from halflife.config import problem
from halflife.core.budget import Purse
from halflife.core.errors import (
    BudgetSpent,
    ConfigError,
    HalflifeError,
    SourceError,
    Unreachable,
)
from halflife.core.object_store import Listing
from halflife.kinds.listing.client import ListingWalk
from halflife.kinds.listing.pagination import (
    ListingRequest,
    NextLink,
    Once,
    PageAnswer,
    Paging,
)
from halflife.kinds.listing.request_settings import PagingConfig
from halflife.kinds.listing.requests import way_of
from halflife.net.access import Access, Answer
from halflife.net.addresses import shown
from halflife.net.gate import Gate
from halflife.readers.expressions import compiled
from halflife.readers.records import MOST, RecordReader
from halflife.readers.text import to_text

MOST_PAGES = 10_000  # of one call of ``pages``, whatever the answers say

_PAGING: TypeAdapter[Any] = TypeAdapter(PagingConfig)

Records: TypeAlias = AsyncIterator[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Response:
    """What came back for one request of a function."""

    status: int
    url: str
    headers: Mapping[str, str]
    body: bytes

    @classmethod
    def of(cls, answer: Answer) -> "Response":
        """Return an answer of the gate as functions see it."""
        headers = CIMultiDict(answer.headers)
        headers.popall("Set-Cookie", None)
        headers["Content-Type"], headers["ETag"] = answer.content_type, answer.etag
        return cls(answer.status, answer.url, headers, answer.body)

    def text(self) -> str:
        """Return the body as text."""
        return to_text(self.headers["Content-Type"], self.body)

    def json(self) -> Any:  # noqa: ANN401  (JSON is anything)
        """Return the body as JSON; raise ``SourceError`` if it is none."""
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError) as error:
            raise SourceError(f"{self.url}: its answer is not JSON: {error}") from None


class Session:
    """The only way out for a function: it pays, waits and is polite.

    Args:
        gate: The way out.
        purse: Pays for every request.
        access: On what terms the source is asked.

    """

    def __init__(self, gate: Gate, purse: Purse, access: Access) -> None:
        self._gate, self._purse, self._access = gate, purse, access
        self.requests = 0
        self.partial = False  # whether there was more than it was to read

    @property
    def now(self) -> float:
        """The time, in days since the epoch, UTC."""
        return self._gate.clock()

    @property
    def left(self) -> int:
        """Requests that can still be paid for."""
        return self._purse.left

    async def get(
        self, url: str, *, headers: Mapping[str, str] | None = None
    ) -> Response:
        """Fetch a URL; raise ``SourceError`` unless it answers with a page."""
        return await self._ask(ListingRequest(url), headers)

    async def post(
        self,
        url: str,
        body: Mapping[str, Any],
        *,
        form: bool = False,
        headers: Mapping[str, str] | None = None,
    ) -> Response:
        """Send a body as JSON, or as a ``form``; otherwise as ``get``."""
        return await self._ask(ListingRequest(url, "POST", body, form), headers)

    async def _ask(
        self, asked: ListingRequest, headers: Mapping[str, str] | None = None
    ) -> Response:
        self.requests += 1
        answer = await self._gate.ask(
            asked.url,
            asked.payload(),
            self._purse,
            access=self._access,
            headers=headers,
        )
        if answer.status not in {200, 203}:
            raise Unreachable(f"{shown(answer.url)}: it answered {answer.status}")
        return Response.of(answer)

    async def pages(
        self,
        url: str,
        *,
        next: str = "",  # noqa: A002  (as in the settings)
        paging: Mapping[str, Any] | None = None,
        records: str = "",
        body: Mapping[str, Any] | None = None,
        most: int = MOST_PAGES,
    ) -> AsyncIterator[Response]:
        """Fetch page after page of a JSON API.

        ``next`` is a JMESPath: where a page says how it goes on, as a link. Another
        way is given as ``paging``, with the keys that the settings have:
        ``{"kind": "cursor", "at": "meta.next", "parameter": "after"}``. Where pages or
        records are counted, ``records`` says where the records are; the list ends with
        a page without any, or with one that is the page before again. A ``body`` is
        sent as JSON with each request.

        Raise ``SourceError`` if the pages lead in a circle. If a list goes on after the
        ``most`` pages, what was read is not taken for all of it.
        """
        way = _way(next, paging)
        method = "GET" if body is None else "POST"
        asked: ListingRequest | None = way.first(ListingRequest(url, method, body))
        seen: set[tuple[str, str, str]] = set()
        last = b""
        while asked is not None:
            if asked.mark in seen:
                where = shown(asked.url)
                raise SourceError(f"{where}: its pages lead in a circle")
            if len(seen) >= most:
                self.partial = True
                return
            seen.add(asked.mark)
            page = await self._ask(asked)
            if way.counts and page.body == last:
                _check_end(asked, len(seen))
                return
            last = page.body
            yield page
            asked = way.following(asked, _answer(page, records))


def _check_end(asked: ListingRequest, number: int) -> None:
    """Raise if the page that came twice in a row is the first one."""
    if number == 2:
        raise SourceError(
            f"{shown(asked.url)}: it answers with its first page again; check how it "
            "is paged"
        )


def _way(link: str, paging: Mapping[str, Any] | None) -> Paging:
    if paging is None:
        return NextLink(link) if link else Once()
    try:
        return way_of(_PAGING.validate_python(dict(paging)))
    except ValidationError as error:
        raise ConfigError(f"paging = {dict(paging)}: {problem(error)}") from None


def _answer(page: Response, records: str) -> PageAnswer:
    document = page.json()
    there = compiled(records).search(document) if records else document
    many = len(there) if isinstance(there, list | dict) else 0

    def find(path: str) -> object:
        return compiled(path).search(document)

    return PageAnswer(page.url, page.headers, many, find)


@dataclass(frozen=True, slots=True)
class FunctionListing:
    """A function that yields the records of a listing.

    Attributes:
        function: Takes a session, yields records.
        key: Which field names a record.
        complete: Whether it yields everything there is.

    """

    function: Callable[[Session], Records]
    key: str
    complete: bool = True

    def __call__(self, session: Session) -> Records:
        """Call the function itself."""
        return self.function(session)


def listing(
    key: str, *, complete: bool = True
) -> Callable[[Callable[[Session], Records]], FunctionListing]:
    """Make a listing of a function that yields records.

    ``key`` names the field that tells records apart. Say ``complete=False`` if a record
    that is not yielded may still be there.
    """

    def make(function: Callable[[Session], Records]) -> FunctionListing:
        return FunctionListing(function, key, complete)

    return make


def load(name: str, folder: Path) -> FunctionListing:
    """Return the function that ``module:function`` names; raise ``ConfigError``.

    Modules in the folder of the settings are found, as well as those installed.
    """
    module, colon, attribute = name.partition(":")
    if not (module and colon and attribute):
        raise ConfigError(f"python must be 'module:function', got {name!r}")
    here = str(folder.resolve())
    if here not in sys.path:
        sys.path.append(here)
    try:
        found = getattr(importlib.import_module(module), attribute)
    except Exception as error:  # noqa: BLE001  (importing runs somebody else's code)
        said = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        raise ConfigError(f"python = {name!r} cannot be loaded: {said}") from None
    if not isinstance(found, FunctionListing):
        raise ConfigError(
            f"python = {name!r} is no listing; "
            "decorate it with @halflife.listing(key=...)"
        )
    return found


async def look(
    gate: Gate, source: FunctionListing, access: Access, purse: Purse
) -> tuple[Listing | None, str]:
    """Read all records of a function; return what it listed, and what went wrong.

    Whatever the function raises leaves the listing incomplete; if that was before its
    first record there is no listing. Raise ``BudgetSpent`` if nothing could be paid.
    """
    at, walk, session = gate.clock(), ListingWalk(), Session(gate, purse, access)
    reader, records = RecordReader(source.key, "json"), list[object]()
    try:
        async with aclosing(source(session)) as found:  # type: ignore[type-var]
            async for record in found:
                records.append(record)
                if len(records) > MOST:
                    raise SourceError(f"it lists more than {MOST} records")  # noqa: TRY301  (as a page that fails)
    except BudgetSpent as error:
        if not records:
            raise
        walk.trouble = str(error)
    except HalflifeError as error:
        walk.trouble = str(error)
    except Exception as error:  # noqa: BLE001  (it is not our code: whatever it raises)
        said = " ".join(str(error).split())[:200]
        name = source.function.__qualname__
        walk.trouble = f"the function {name} failed: {type(error).__name__}: {said}"
    if not records and walk.trouble:
        return None, walk.trouble
    try:
        walk.add(reader.read_objects(records))
    except SourceError as error:
        return None, str(error)
    whole = source.complete and not session.partial
    return walk.listing(at, complete=whole), walk.trouble
