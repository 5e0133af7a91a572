"""Where Scrapy and the engine meet: requests, payments and answers on their way."""

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any, Self

from halflife.core.errors import BudgetSpent
from halflife.net.access import Answer
from halflife.net.dates import from_http
from halflife.scrapy.requests import KEY
from halflife.scrapy.revisits import Revisits

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

_FOR_GOOD = {301, 308}


class Part:
    """A part of Scrapy's machinery that knows the crawl it works for."""

    def __init__(self, revisits: Revisits) -> None:
        self._revisits = revisits

    @classmethod
    def from_crawler(cls, crawler: "Crawler") -> Self:
        """Return the part for a crawl."""
        found = crawler.get_extension(Revisits)
        if found is None:
            raise RuntimeError("the extension halflife.scrapy.Revisits is switched off")
        return cls(found)


class PageRequests(Part):
    """Takes the requests for pages out of what the spider yields."""

    async def process_start(self, start: AsyncIterator[Any]) -> AsyncIterator[Any]:
        """Mark the start requests for pages; all of them go on."""
        from scrapy import Request  # noqa: PLC0415

        async for one in start:
            if isinstance(one, Request):
                self._revisits.start(one)
            yield one

    async def process_spider_output(
        self, response: "Response", result: AsyncIterator[Any]
    ) -> AsyncIterator[Any]:
        """Hold requests for pages back; the page is read once there is nothing more."""
        from scrapy import Request  # noqa: PLC0415

        try:
            async for one in result:
                if not (isinstance(one, Request) and self._revisits.hold(one)):
                    yield one
        except Exception as error:
            self._revisits.fail(_page_of(response), error)
            raise
        self._revisits.finish(_page_of(response))

    def process_spider_exception(
        self, response: "Response", exception: Exception
    ) -> None:
        """Count a page that the spider failed at as not fetched."""
        self._revisits.fail(_page_of(response), exception)


class Payment(Part):
    """Pays for each request right before it is sent; what cannot be paid is not."""

    def process_request(self, request: "Request") -> None:
        """Pay; drop the request if the budget is spent."""
        from scrapy.exceptions import IgnoreRequest  # noqa: PLC0415

        try:
            self._revisits.pay(request.meta.get(KEY, ""))
        except BudgetSpent as error:
            raise IgnoreRequest(str(error)) from error


class Answers(Part):
    """Reads answers, with the reader of ``halflife sync``."""

    async def process_response(
        self, request: "Request", response: "Response"
    ) -> "Response":
        """Note what an answer shows of a page."""
        if key := request.meta.get(KEY, ""):
            await self._revisits.show(key, answer_of(request, response))
        return response

    def process_exception(self, request: "Request", exception: Exception) -> None:
        """Note that a page could not be fetched."""
        if key := request.meta.get(KEY, ""):
            self._revisits.fail(key, exception)


def answer_of(request: "Request", response: "Response") -> Answer:
    """Return an answer as the reader of pages knows it."""
    reasons = request.meta.get("redirect_reasons", [])
    moved = bool(reasons) and all(reason in _FOR_GOOD for reason in reasons)
    modified = from_http(_header(response, "Last-Modified"))
    return Answer(
        status=response.status,
        url=response.url,
        body=response.body,
        content_type=_header(response, "Content-Type"),
        etag=_header(response, "ETag"),
        modified=modified,
        moved_to=response.url if moved else "",
        hops=1 + len(reasons),
        headers={str(n): str(v) for n, v in response.headers.to_unicode_dict().items()},
    )


def _header(response: "Response", name: str) -> str:
    value = response.headers.get(name)
    return value.decode("latin-1") if value else ""


def _page_of(response: "Response") -> str:
    """Return the page that an answer is of; empty if it is of none we keep."""
    request = getattr(response, "request", None)
    return "" if request is None else str(request.meta.get(KEY, ""))
