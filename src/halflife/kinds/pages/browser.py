"""Pages as a browser shows them: ``render = "browser"``.

A page is fetched through the gate like any other. Then Chromium opens it and runs its
scripts, and what they make of the page is what counts. The browser itself never reaches
the network: each request it wants to make is taken from it, sent through the gate (so
private addresses, robots.txt, delays and limits hold, and the budget pays for it) and
answered with what the gate brought. Whatever escaped that would end at a proxy that
does not exist.
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
LOADED = 15.0  # seconds in which a page must be there
SETTLED = 5.0  # further seconds in which its requests may end
WHOLE = 60.0  # seconds for all of it, waiting for the gate included
MOST_REQUESTS = 60  # of one page; what comes after is not sent
LARGEST = 8 << 20  # characters of what scripts made of a page
MOST_CACHED = 32 << 20  # bytes of scripts and styles that are kept for other pages
FETCHED = frozenset({"script", "stylesheet", "xhr", "fetch"})
SHARED = frozenset({"script", "stylesheet"})  # of pages of one source
PARTS = frozenset({"script", "xhr", "fetch"})  # without which a page is not whole
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
    """Return the path of the system's Chromium; raise ``ConfigError`` if it lacks.

    The extra must be installed, too.
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
    """One page while it is made: what was asked for, and what went wrong."""

    answer: Answer
    purse: Purse
    access: Access
    requests: int = 0
    spent: BudgetSpent | None = None
    trouble: str = ""


@dataclass(slots=True)
class _Cache:
    """Scripts and styles that pages of one source share."""

    answers: dict[str, Answer] = field(default_factory=dict)
    size: int = 0

    def add(self, url: str, answer: Answer) -> None:
        if self.size + len(answer.body) <= MOST_CACHED:
            self.size += len(answer.body)
            self.answers[url] = answer


class Renderer:
    """A browser for one source after the other: one process, a context for each.

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
        """Return an answer with what the page's scripts made of its body.

        Raise ``BudgetSpent`` if that needs more requests than there are, and
        ``SourceError`` if a part of the page cannot be had or it takes too long: what
        is shown of such a page is not what it is.
        """
        made = _Rendering(answer, purse, replace(access, within=None, name=""))
        async with self._alone:
            try:
                async with asyncio.timeout(WHOLE):
                    body = await self._body(source, made)
            except TimeoutError:
                await self._drop(source)
                raise Unreachable(
                    f"{host_of(answer.url)}: a browser takes more than {WHOLE:g} s "
                    "to show it"
                ) from None
        if made.spent is not None:
            raise made.spent
        if made.trouble:
            raise SourceError(made.trouble)
        kind = "text/html; charset=utf-8"
        return replace(answer, body=body, content_type=kind, etag="", modified=None)

    async def _body(self, source: str, made: _Rendering) -> bytes:
        from playwright.async_api import Error  # noqa: PLC0415  (an extra)

        try:
            context = await self._context(source)
            page = await context.new_page()
            try:
                return await self._shown(source, page, made)
            finally:
                await page.close()
        except Error as error:
            await self._drop(source)
            if made.spent is not None:
                raise made.spent from None
            said = made.trouble or str(error).partition("\n")[0][:200]
            raise SourceError(
                f"{host_of(made.answer.url)}: a browser cannot show it: {said}"
            ) from None

    async def _shown(self, source: str, page: Any, made: _Rendering) -> bytes:  # noqa: ANN401
        """Return the page as it is when its requests have ended."""
        from playwright.async_api import TimeoutError as Slow  # noqa: PLC0415

        async def handle(route: Any) -> None:  # noqa: ANN401
            await self._handle(source, route, made)

        await page.route("**/*", handle)
        page.on("popup", _close)
        page.on("dialog", _dismiss)
        await page.goto(
            made.answer.url, wait_until="domcontentloaded", timeout=1000 * LOADED
        )
        with suppress(Slow):  # it polls, or plays; it had its time
            await page.wait_for_load_state("networkidle", timeout=1000 * SETTLED)
        shown = str(await page.content())
        if len(shown) > LARGEST:
            raise SourceError(f"{host_of(made.answer.url)}: what it shows is too large")
        return shown.encode("utf-8", "replace")

    async def _handle(self, source: str, route: Any, made: _Rendering) -> None:  # noqa: ANN401
        """Answer one request of the browser through the gate, or refuse it."""
        from playwright.async_api import Error  # noqa: PLC0415

        with suppress(Error):  # the page was closed meanwhile
            answer = await self._answer(source, route.request, made)
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
        made: _Rendering,
    ) -> Answer | None:
        """Return what a request is answered with; None if it is not sent."""
        url, kind = str(request.url).partition("#")[0], request.resource_type
        made.requests += 1
        if request.is_navigation_request():  # frames and other pages are not opened
            return made.answer if made.requests == 1 else None
        if request.method != "GET" or kind not in FETCHED:
            return None
        cache = self._caches.setdefault(source, _Cache())
        if url in cache.answers:
            return cache.answers[url]
        if made.requests > MOST_REQUESTS or made.spent is not None:
            return None
        answer = await self._send(url, kind, made)
        if answer is not None and answer.status == 200 and kind in SHARED:
            cache.add(url, answer)
        return answer

    async def _send(self, url: str, kind: str, made: _Rendering) -> Answer | None:
        """Return what the gate brings; None if it brings nothing."""
        answer, failed = None, True
        try:
            answer = await self._gate.get(url, made.purse, access=made.access)
            failed = answer.status >= 500 or answer.status == 429
            said = f"{host_of(url)}: it answered {answer.status}"
        except BudgetSpent as error:
            made.spent = error
            return None
        except Unreachable as error:
            said = str(error)
        except (SourceError, UsageError):  # we must not ask: so it is for every visitor
            return None
        if failed:
            self._blame(made, url, kind, said)
        return answer

    def _blame(self, made: _Rendering, url: str, kind: str, said: str) -> None:
        """Remember that a page is not whole: a part of its own host is missing."""
        if kind in PARTS and host_of(url) == host_of(made.answer.url):
            made.trouble = made.trouble or f"a part of it cannot be fetched: {said}"

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
        """Close what belongs to a source, after something went wrong."""
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
