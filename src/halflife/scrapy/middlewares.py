"""The middlewares that connect Scrapy and the engine: requests, payments, answers."""

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
    """A Scrapy component with access to the extension of its crawl."""

    def __init__(self, revisits: Revisits) -> None:
        self._revisits = revisits

    @classmethod
    def from_crawler(cls, crawler: "Crawler") -> Self:
        """Return the component for a crawl."""
        found = crawler.get_extension(Revisits)
        if found is None:
            raise RuntimeError("the extension halflife.scrapy.Revisits is switched off")
        return cls(found)


class PageRequests(Part):
    """Takes the requests for pages out of the output of the spider."""

    async def process_start(self, start: AsyncIterator[Any]) -> AsyncIterator[Any]:
        """Mark the start requests for pages; all of them are passed on."""
        from scrapy import Request  # noqa: PLC0415

        async for element in start:
            if isinstance(element, Request):
                self._revisits.start(element)
            yield element

    async def process_spider_output(
        self, response: "Response", result: AsyncIterator[Any]
    ) -> AsyncIterator[Any]:
        """Hold requests for pages back; at the end the page counts as read."""
        from scrapy import Request  # noqa: PLC0415

        try:
            async for element in result:
                if isinstance(element, Request) and self._revisits.hold(element):
                    continue
                yield element
        except Exception as error:
            self._revisits.fail(_page_of(response), error)
            raise
        self._revisits.finish(_page_of(response))

    def process_spider_exception(
        self, response: "Response", exception: Exception
    ) -> None:
        """Count a page at which the spider failed as not fetched."""
        self._revisits.fail(_page_of(response), exception)


class Payment(Part):
    """Pays for each request right before it is sent; unpaid requests are dropped."""

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
        """Record what an answer shows of a page."""
        if key := request.meta.get(KEY, ""):
            await self._revisits.show(key, answer_of(request, response))
        return response

    def process_exception(self, request: "Request", exception: Exception) -> None:
        """Record that a page could not be fetched."""
        if key := request.meta.get(KEY, ""):
            self._revisits.fail(key, exception)


def answer_of(request: "Request", response: "Response") -> Answer:
    """Return a Scrapy response as an answer for the reader of pages."""
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
    """Return the page that an answer belongs to; empty if it is not one of ours."""
    request = getattr(response, "request", None)
    return "" if request is None else str(request.meta.get(KEY, ""))
