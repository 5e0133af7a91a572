"""Pages as a browser shows them: ``render = "browser"``.

A page is fetched through the gate like any other. Then Chromium opens it and runs its
scripts; the rendered page is the one that counts. The browser has no access to the
network: each of its requests is intercepted, sent through the gate (which applies
private addresses, robots.txt, delays, limits and the budget) and answered with the
gate's answer. A request that is not intercepted ends at a proxy that does not exist.
"""

import asyncio
import os
import shutil
import sys
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from typing import Any, Self

from halflife.core.budget import Purse
from halflife.core.errors import (
    BudgetSpent,
    ConfigError,
    SourceError,
    Unreachable,
    UsageError,
)
from halflife.net.access import Access, Answer
from halflife.net.addresses import host_of
from halflife.net.gate import Gate

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
LOADED = 15.0  # seconds in which a page must load
SETTLED = 5.0  # further seconds for its requests to end
WHOLE = 60.0  # seconds for the whole rendering, waits for the gate included
MOST_REQUESTS = 60  # of one page; further ones are not sent
LARGEST = 8 << 20  # characters of a rendered page
MOST_CACHED = 32 << 20  # bytes of scripts and styles cached for other pages
FETCHED = frozenset({"script", "stylesheet", "xhr", "fetch"})
SHARED = frozenset({"script", "stylesheet"})  # cached for the pages of one source
PARTS = frozenset({"script", "xhr", "fetch"})  # without which a page is incomplete
ARGUMENTS = (
    "--disable-background-networking", "--disable-component-update",
    "--disable-default-apps", "--disable-domain-reliability", "--disable-extensions",
    "--disable-gpu", "--disable-sync", "--metrics-recording-only", "--mute-audio",
    "--no-first-run", "--no-pings", "--renderer-process-limit=2",
    "--js-flags=--max-old-space-size=512",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--proxy-server=http://127.0.0.1:9", "--proxy-bypass-list=<-loopback>",
)  # fmt: skip


def find_browser() -> str:
    """Return the path of the system's Chromium; raise ``ConfigError`` if it is missing.

    The extra must be installed too.
    """
    if not find_spec("playwright"):
        raise ConfigError(
            "render = 'browser' needs an extra: install halflife[browser] "
            "(playwright is missing)"
        )
    found = next((path for name in NAMES if (path := shutil.which(name))), "")
    if not found:
        raise ConfigError(
            "render = 'browser' needs Chromium: install your system's package chromium"
        )
    return found


@dataclass(slots=True)
class _Rendering:
    """The state of one page while it is rendered."""

    answer: Answer
    purse: Purse
    access: Access
    requests: int = 0
    spent: BudgetSpent | None = None
    trouble: str = ""


@dataclass(slots=True)
class _Cache:
    """Scripts and styles shared by the pages of one source."""

    answers: dict[str, Answer] = field(default_factory=dict)
    size: int = 0

    def add(self, url: str, answer: Answer) -> None:
        if self.size + len(answer.body) <= MOST_CACHED:
            self.size += len(answer.body)
            self.answers[url] = answer


class Renderer:
    """A browser process with one context for each source.

    It starts when the first page needs it.
    """

    def __init__(self, gate: Gate) -> None:
        self._gate = gate
        self._stack = AsyncExitStack()
        self._browser: Any = None  # playwright's types would have to be imported
        self._contexts: dict[str, Any] = {}
        self._caches: dict[str, _Cache] = {}
        self._alone = asyncio.Lock()  # one page at a time: memory is the limit

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self._stack.aclose()

    async def render(
        self, source: str, answer: Answer, purse: Purse, access: Access
    ) -> Answer:
        """Return an answer with the rendered page as its body.

        Raise ``BudgetSpent`` if that needs more requests than the budget has, and
        ``SourceError`` if a part of the page cannot be fetched or the rendering takes
        too long: the result would be incomplete.
        """
        rendering = _Rendering(answer, purse, replace(access, within=None, name=""))
        async with self._alone:
            try:
                async with asyncio.timeout(WHOLE):
                    body = await self._body(source, rendering)
            except TimeoutError:
                await self._drop(source)
                raise Unreachable(
                    f"{host_of(answer.url)}: a browser takes more than {WHOLE:g} s "
                    "to show it"
                ) from None
        if rendering.spent is not None:
            raise rendering.spent
        if rendering.trouble:
            raise SourceError(rendering.trouble)
        kind = "text/html; charset=utf-8"
        return replace(answer, body=body, content_type=kind, etag="", modified=None)

    async def _body(self, source: str, rendering: _Rendering) -> bytes:
        from playwright.async_api import Error  # noqa: PLC0415  (an extra)

        try:
            context = await self._context(source)
            page = await context.new_page()
            try:
                return await self._rendered(source, page, rendering)
            finally:
                await page.close()
        except Error as error:
            await self._drop(source)
            if rendering.spent is not None:
                raise rendering.spent from None
            reason = rendering.trouble or str(error).partition("\n")[0][:200]
            raise SourceError(
                f"{host_of(rendering.answer.url)}: a browser cannot show it: {reason}"
            ) from None

    async def _rendered(self, source: str, page: Any, rendering: _Rendering) -> bytes:  # noqa: ANN401
        """Return the page after its requests have ended."""
        from playwright.async_api import TimeoutError as Slow  # noqa: PLC0415

        async def handle(route: Any) -> None:  # noqa: ANN401
            await self._handle(source, route, rendering)

        await page.route("**/*", handle)
        page.on("popup", _close)
        page.on("dialog", _dismiss)
        await page.goto(
            rendering.answer.url, wait_until="domcontentloaded", timeout=1000 * LOADED
        )
        with suppress(Slow):  # the page polls or plays media
            await page.wait_for_load_state("networkidle", timeout=1000 * SETTLED)
        content = str(await page.content())
        if len(content) > LARGEST:
            raise SourceError(
                f"{host_of(rendering.answer.url)}: what it shows is too large"
            )
        return content.encode("utf-8", "replace")

    async def _handle(self, source: str, route: Any, rendering: _Rendering) -> None:  # noqa: ANN401
        """Answer one request of the browser through the gate, or refuse it."""
        from playwright.async_api import Error  # noqa: PLC0415

        with suppress(Error):  # the page was closed meanwhile
            answer = await self._answer(source, route.request, rendering)
            if answer is None:
                await route.abort()
                return
            kind = answer.content_type or "text/plain"
            headers = {"Content-Type": kind, "Access-Control-Allow-Origin": "*"}
            await route.fulfill(status=answer.status, body=answer.body, headers=headers)

    async def _answer(
        self,
        source: str,
        request: Any,  # noqa: ANN401
        rendering: _Rendering,
    ) -> Answer | None:
        """Return the answer to a request; None if it is not sent."""
        url, kind = str(request.url).partition("#")[0], request.resource_type
        rendering.requests += 1
        if request.is_navigation_request():  # frames and other pages are not opened
            return rendering.answer if rendering.requests == 1 else None
        if request.method != "GET" or kind not in FETCHED:
            return None
        cache = self._caches.setdefault(source, _Cache())
        if url in cache.answers:
            return cache.answers[url]
        if rendering.requests > MOST_REQUESTS or rendering.spent is not None:
            return None
        answer = await self._send(url, kind, rendering)
        if answer is not None and answer.status == 200 and kind in SHARED:
            cache.add(url, answer)
        return answer

    async def _send(self, url: str, kind: str, rendering: _Rendering) -> Answer | None:
        """Return the gate's answer to a request; None if there is none."""
        answer, failed = None, True
        try:
            answer = await self._gate.get(url, rendering.purse, access=rendering.access)
            failed = answer.status >= 500 or answer.status == 429
            reason = f"{host_of(url)}: it answered {answer.status}"
        except BudgetSpent as error:
            rendering.spent = error
            return None
        except Unreachable as error:
            reason = str(error)
        except (SourceError, UsageError):  # forbidden, as it is for every visitor
            return None
        if failed:
            self._blame(rendering, url, kind, reason)
        return answer

    def _blame(self, rendering: _Rendering, url: str, kind: str, reason: str) -> None:
        """Note that a page is incomplete: a part from its own host is missing."""
        if kind in PARTS and host_of(url) == host_of(rendering.answer.url):
            rendering.trouble = (
                rendering.trouble or f"a part of it cannot be fetched: {reason}"
            )

    async def _context(self, source: str) -> Any:  # noqa: ANN401
        if self._browser is None or not self._browser.is_connected():
            self._browser, self._contexts = await self._start(), {}
        if source not in self._contexts:
            self._contexts[source] = await self._browser.new_context(
                accept_downloads=False, service_workers="block"
            )
        return self._contexts[source]

    async def _start(self) -> Any:  # noqa: ANN401
        from playwright.async_api import async_playwright  # noqa: PLC0415

        await self._stack.aclose()
        self._stack = AsyncExitStack()
        driver = await self._stack.enter_async_context(async_playwright())
        root = sys.platform == "linux" and os.geteuid() == 0
        browser = await driver.chromium.launch(
            executable_path=find_browser(),
            args=list(ARGUMENTS),
            chromium_sandbox=not root,  # Chromium has none for root
            timeout=1000 * WHOLE,
        )
        self._stack.push_async_callback(browser.close)
        return browser

    async def _drop(self, source: str) -> None:
        """Close the context of a source after an error."""
        from playwright.async_api import Error  # noqa: PLC0415

        context = self._contexts.pop(source, None)
        if context is not None:
            try:
                async with asyncio.timeout(SETTLED):
                    await context.close()
            except (Error, TimeoutError):
                self._browser = None  # it hangs: the next page gets another


async def _close(page: Any) -> None:  # noqa: ANN401
    await page.close()


async def _dismiss(dialog: Any) -> None:  # noqa: ANN401
    await dialog.dismiss()
