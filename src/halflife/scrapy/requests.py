"""Which requests of a spider are for registered pages, and how to repeat them.

A revisit may be due although no page led to it in this crawl, because the page that
links to it was not worth a request. So the way a spider requests a page is stored.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from halflife.core.errors import SourceError, UsageError
from halflife.core.item import Item
from halflife.net.addresses import canonical, host_of
from halflife.stores import Store
from halflife.stores.notes import number_of
from halflife.stores.notes.spider_request import (
    SPIDER_REQUEST,
    SpiderRequest,
)

if TYPE_CHECKING:
    from scrapy import Request, Spider

KEY = "halflife_key"  # on a request: the page that it is for
SKIP = "halflife"  # on a request of the spider: False if it is not for a page to keep
# Keys that Scrapy itself sets on requests, which do not describe the page.
_PASSING = frozenset(
    {
        KEY, "depth", "is_start_request", "download_latency", "download_timeout",
        "download_slot", "retry_times", "redirect_times", "redirect_ttl",
        "redirect_urls", "redirect_reasons", "dont_cache", "verified_dont_cache",
    }
)  # fmt: skip
# Keys that may hold secrets, which are never stored.
_SECRET = frozenset({"proxy", "http_user", "http_pass", "cookiejar"})


class RequestBook:
    """The requests by which a spider fetches pages, in this crawl and before.

    Args:
        spider: The spider.
        store: The store of pages.
        name: The source that they belong to.
        weight: Their weight.
        is_followed: Returns whether Scrapy would follow a request at all.

    """

    def __init__(
        self,
        spider: "Spider",
        store: Store,
        name: str,
        *,
        weight: float = 1.0,
        is_followed: Callable[["Request"], bool] = lambda _: True,
    ) -> None:
        self._spider, self._store, self._name = spider, store, name
        self._weight, self._is_followed = weight, is_followed
        self._held: dict[str, Request] = {}  # of this crawl, and not yet sent
        self._found: dict[str, SpiderRequest] = {}  # not yet written

    def key_of(self, request: "Request", *, start: bool = False) -> str:
        """Return the page that a request is for; empty if it is not for one of ours.

        A request is not if it needs more than an address (another method, a body,
        headers, cookies, possible secrets), must not be filtered (unlike start
        requests), or has a callback that is no method of the spider.
        """
        plain = request.method == "GET" and not request.body and not request.cookies
        own = {name for name in request.headers if name != b"Referer"}
        if not plain or own or _SECRET & request.meta.keys():
            return ""
        if request.meta.get(SKIP) is False or (request.dont_filter and not start):
            return ""
        try:
            key, plain_request = canonical(request.url), self._plain(request)
        except (UsageError, ValueError, TypeError):
            return ""
        if not start and not self._is_followed(request):
            return ""
        if self._store.source_of(key) not in {None, self._name}:
            return ""  # another spider has it
        self._found[key] = plain_request
        return key

    def keep(self, key: str, request: "Request") -> None:
        """Hold a request back until its page is worth it."""
        self._held.setdefault(key, request)

    def write(self) -> None:
        """Add the pages that were requested, and how they are requested."""
        if not self._found:
            return
        found, self._found = self._found, {}
        with self._store.together():
            new = [key for key in found if self._store.source_of(key) is None]
            self._store.add(
                Item(key, self._name, weight=self._weight, group=host_of(key))
                for key in new
            )
            for key, request in found.items():
                self._note(key, request)

    def _note(self, key: str, request: SpiderRequest) -> None:
        """Store how a page is requested, if that has changed."""
        number = number_of(key)
        before = SPIDER_REQUEST.load(self._store, self._name, number)
        if before is not None:
            request = replace(request, depth=min(request.depth, before.depth))
        if request != before:
            SPIDER_REQUEST.save(self._store, request, self._name, number)

    def request(self, key: str) -> "Request":
        """Return the request for a page; raise ``SourceError`` if there is none."""
        request = self._held.pop(key, None)
        mark = {KEY: key, "dont_cache": True}
        if request is None:
            request = self._repeat(key)
        if not self._is_followed(request):
            raise SourceError(f"{host_of(key)}: outside of the spider's domains")
        return request.replace(dont_filter=True, meta={**request.meta, **mark})

    def _repeat(self, key: str) -> "Request":
        """Return the request that the spider made in an earlier crawl."""
        from scrapy import Request  # noqa: PLC0415

        stored = SPIDER_REQUEST.load(self._store, self._name, number_of(key))
        stored = stored or SpiderRequest()
        return Request(
            self._store.url_of(key),
            callback=self._method(stored.callback),
            errback=self._method(stored.errback),
            cb_kwargs=dict(stored.arguments),
            meta={**stored.meta, "depth": stored.depth},
        )

    def _method(self, name: str) -> Callable[..., Any] | None:
        if not name:
            return None
        found = getattr(self._spider, name, None)
        if not callable(found):
            raise SourceError(f"the spider has no method {name!r} any more")
        return found  # type: ignore[no-any-return]

    def _plain(self, request: "Request") -> SpiderRequest:
        """Return what is stored of a request.

        Raise ``ValueError`` or ``TypeError`` if it has values that cannot be stored.
        """
        row = request.to_dict(spider=self._spider)
        meta = {k: v for k, v in request.meta.items() if k not in _PASSING}
        return SpiderRequest(
            callback=row["callback"] or "",
            errback=row["errback"] or "",
            depth=int(request.meta.get("depth", 0)),
            arguments=_as_json(request.cb_kwargs),
            meta=_as_json(meta),
        )


def _as_json(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return the value as it will be read back; raise if it would differ."""
    read: dict[str, Any] = json.loads(json.dumps(value, allow_nan=False))
    if read != value:
        raise ValueError("JSON cannot hold it")
    return read
