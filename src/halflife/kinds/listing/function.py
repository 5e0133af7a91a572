"""Functions as listings: a Python function that yields records is a source.

    @halflife.listing(key="id")
    async def jobs(session):
        async for page in session.pages("https://example.org/jobs", next="next"):
            for record in page.json()["jobs"]:
                yield record

The function sends requests through its session, which pays for each, keeps rate limits
and obeys robots.txt. Its records are kept like any listing.
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
from halflife.core.wording import one_line
from halflife.kinds.listing.client import ListingWalk
from halflife.kinds.listing.pagination import (
    ListingRequest,
    NextLink,
    PageAnswer,
    Paging,
    SinglePage,
)
from halflife.kinds.listing.request_settings import PagingConfig
from halflife.kinds.listing.requests import way_of
from halflife.net.access import Access, Answer
from halflife.net.addresses import shown
from halflife.net.gate import Gate
from halflife.readers.expressions import compiled
from halflife.readers.records import MOST, RecordReader
from halflife.readers.text import to_text

MOST_PAGES = 10_000  # limit of one call of ``pages``

_PAGING: TypeAdapter[Any] = TypeAdapter(PagingConfig)

Records: TypeAlias = AsyncIterator[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Response:
    """The answer to one request of a function."""

    status: int
    url: str
    headers: Mapping[str, str]
    body: bytes

    @classmethod
    def of(cls, answer: Answer) -> "Response":
        """Return an answer of the gate in the form that functions get."""
        headers = CIMultiDict(answer.headers)
        headers.popall("Set-Cookie", None)
        headers["Content-Type"], headers["ETag"] = answer.content_type, answer.etag
        return cls(answer.status, answer.url, headers, answer.body)

    def text(self) -> str:
        """Return the body as text."""
        return to_text(self.headers["Content-Type"], self.body)

    def json(self) -> Any:  # noqa: ANN401  (JSON is anything)
        """Return the body as JSON; raise ``SourceError`` if it is not JSON."""
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError) as error:
            raise SourceError(f"{self.url}: its answer is not JSON: {error}") from None


class Session:
    """The only way for a function to send requests: paid for and rate-limited.

    Args:
        gate: The gate.
        purse: Pays for every request.
        access: The terms of access to the source.

    """

    def __init__(self, gate: Gate, purse: Purse, access: Access) -> None:
        self._gate, self._purse, self._access = gate, purse, access
        self.requests = 0
        self.partial = False  # whether the list had more pages than the limit

    @property
    def now(self) -> float:
        """The time, in days since the epoch, UTC."""
        return self._gate.clock()

    @property
    def left(self) -> int:
        """Requests that the budget still allows."""
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
        self, request: ListingRequest, headers: Mapping[str, str] | None = None
    ) -> Response:
        self.requests += 1
        answer = await self._gate.ask(
            request.url,
            request.payload(),
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

        ``next`` is a JMESPath to the link to the next page. Another way of paging is
        given as ``paging``, with the keys of the settings:
        ``{"kind": "cursor", "at": "meta.next", "parameter": "after"}``. Where pages or
        records are counted, ``records`` says where the records are; the list ends with
        a page without any, or with one that repeats the page before. A ``body`` is
        sent as JSON with each request.

        Raise ``SourceError`` if the pages lead in a circle. If a list goes on after
        ``most`` pages, the listing counts as incomplete.
        """
        way = _way(next, paging)
        method = "GET" if body is None else "POST"
        request: ListingRequest | None = way.first(ListingRequest(url, method, body))
        seen: set[tuple[str, str, str]] = set()
        last = b""
        while request is not None:
            if request.mark in seen:
                where = shown(request.url)
                raise SourceError(f"{where}: its pages lead in a circle")
            if len(seen) >= most:
                self.partial = True
                return
            seen.add(request.mark)
            page = await self._ask(request)
            if way.counts and page.body == last:
                _check_end(request, len(seen))
                return
            last = page.body
            yield page
            request = way.following(request, _answer(page, records))


def _check_end(request: ListingRequest, number: int) -> None:
    """Raise if the repeated page is the first one."""
    if number == 2:
        raise SourceError(
            f"{shown(request.url)}: it answers with its first page again; check how it "
            "is paged"
        )


def _way(link: str, paging: Mapping[str, Any] | None) -> Paging:
    if paging is None:
        return NextLink(link) if link else SinglePage()
    try:
        return way_of(_PAGING.validate_python(dict(paging)))
    except ValidationError as error:
        raise ConfigError(f"paging = {dict(paging)}: {problem(error)}") from None


def _answer(page: Response, records: str) -> PageAnswer:
    document = page.json()
    records_found = compiled(records).search(document) if records else document
    size = len(records_found) if isinstance(records_found, list | dict) else 0

    def find(path: str) -> object:
        return compiled(path).search(document)

    return PageAnswer(page.url, page.headers, size, find)


@dataclass(frozen=True, slots=True)
class FunctionListing:
    """A function that yields the records of a listing.

    Attributes:
        function: Takes a session, yields records.
        key: The field that identifies a record.
        complete: Whether it yields every object.

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

    ``key`` names the field that identifies a record. Say ``complete=False`` if a record
    that is not yielded may still exist.
    """

    def make(function: Callable[[Session], Records]) -> FunctionListing:
        return FunctionListing(function, key, complete)

    return make


def load(name: str, folder: Path) -> FunctionListing:
    """Return the function named ``module:function``; raise ``ConfigError``.

    Modules in the folder of the settings are found, as well as installed ones.
    """
    module, colon, attribute = name.partition(":")
    if not (module and colon and attribute):
        raise ConfigError(f"python must be 'module:function', got {name!r}")
    here = str(folder.resolve())
    if here not in sys.path:
        sys.path.append(here)
    try:
        found = getattr(importlib.import_module(module), attribute)
    except (Exception, SystemExit) as error:  # noqa: BLE001  (runs the user's code)
        reason = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        raise ConfigError(f"python = {name!r} cannot be loaded: {reason}") from None
    if not isinstance(found, FunctionListing):
        raise ConfigError(
            f"python = {name!r} is no listing; "
            "decorate it with @halflife.listing(key=...)"
        )
    return found


async def fetch_records(
    gate: Gate, source: FunctionListing, access: Access, purse: Purse
) -> tuple[Listing | None, str]:
    """Read all records of a function; return the listing, and what went wrong.

    An exception in the function leaves the listing incomplete; before the first record
    there is no listing then. Raise ``BudgetSpent`` if nothing could be paid.
    """
    at, walk, session = gate.clock(), ListingWalk(), Session(gate, purse, access)
    reader, records = RecordReader(source.key, "json"), list[object]()
    try:
        async with aclosing(source(session)) as stream:  # type: ignore[type-var]
            async for record in stream:
                records.append(record)
                if len(records) > MOST:
                    raise SourceError(f"it lists more than {MOST} records")  # noqa: TRY301  (as a page that fails)
    except BudgetSpent as error:
        if not records:
            raise
        walk.trouble = str(error)
    except HalflifeError as error:
        walk.trouble = str(error)
    except (Exception, SystemExit, GeneratorExit) as error:  # noqa: BLE001  (any code)
        reason = one_line(error)
        name = source.function.__qualname__
        walk.trouble = f"the function {name} failed: {type(error).__name__}: {reason}"
    if not records and walk.trouble:
        return None, walk.trouble
    try:
        walk.add(reader.read_objects(records))
    except SourceError as error:
        return None, str(error)
    whole = source.complete and not session.partial
    return walk.listing(at, complete=whole), walk.trouble
