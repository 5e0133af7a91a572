"""Recorded worlds: sources that answer requests as they did at a moment of the past.

A recorded source is a function of a request and a time. It answers in this process
(``RecordedTransport``, for replays) or over real HTTP on the loopback (``serve``, to
check that both are the same). Nothing above the transport knows the difference.
"""

import asyncio
import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from aiohttp import web
from multidict import CIMultiDict
from yarl import URL

from halflife.core.errors import Unreachable
from halflife.net.wire import Call, Reply, Transport, answer_of
from halflife.replay.virtual_loop import VirtualLoop

PATIENCE = 10.0  # seconds that a server may take to begin, or to end
_WITH_BODY = frozenset({200, 203})
_REDIRECTS = frozenset({301, 302, 303, 307, 308})


class RecordedRequest(NamedTuple):
    """A request as a recorded source sees it.

    Attributes:
        url: The address, with its query.
        headers: The headers that the source was sent, beside those of every request.
        body: What was sent along; None for GET.
        method: The method of the request.

    """

    url: URL
    headers: Mapping[str, str]
    body: bytes | None = None
    method: str = "GET"


class RecordedAnswer(NamedTuple):
    """What a recorded source answers."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = {}


Recorded: TypeAlias = Callable[[RecordedRequest, float], RecordedAnswer]
"""A recorded source: what it answers to a request at a time, in days."""


class Sent(NamedTuple):
    """One request that was sent, and when, in days."""

    at: float
    url: str
    headers: tuple[tuple[str, str], ...] = ()
    method: str = "GET"
    body: bytes | None = None


def html(text: str, status: int = 200) -> RecordedAnswer:
    """Return a web page as an answer."""
    return RecordedAnswer(
        status, text.encode(), {"Content-Type": "text/html; charset=utf-8"}
    )


def as_json(value: object, status: int = 200) -> RecordedAnswer:
    """Return a JSON document as an answer."""
    said = {"Content-Type": "application/json; charset=utf-8"}
    return RecordedAnswer(status, json.dumps(value).encode(), said)


@dataclass
class RecordedTransport:
    """Answers every request from recorded sources, and writes down what was asked.

    Attributes:
        sources: The recorded sources by their origin, such as ``http://127.0.0.1:80``.
        clock: The time in days.
        sent: The requests so far.

    """

    sources: Mapping[str, Recorded]
    clock: Callable[[], float]
    sent: list[Sent] = field(default_factory=list)

    async def send(self, url: URL, call: Call) -> Reply:
        """Return what the source answers at this moment."""
        now = self.clock()
        self.sent.append(_sent(now, url, call))
        source = self.sources.get(str(url.origin()))
        if source is None:
            raise Unreachable(f"{url.raw_host}: no such host in the recording")
        asked = RecordedRequest(url, call.headers, call.body, _method(call))
        told = source(asked, now)
        call.begun()
        headers = CIMultiDict(told.headers)
        wanted = told.status in _WITH_BODY or (
            call.reasons and 400 <= told.status < 500
        )
        body = told.body if wanted else b""
        location = headers.get("Location", "") if told.status in _REDIRECTS else ""
        return Reply(answer_of(url, told.status, headers, body, now), location, 0.0)

    async def close(self) -> None:
        """Do nothing: nothing is open."""


@dataclass
class InVirtualTime:
    """Lets no virtual time pass while requests are under way, whoever carries them.

    Attributes:
        inner: What carries the requests.
        loop: The loop on which the program runs.
        clock: The time in days.
        sent: The requests so far, as long as nobody else writes them down.

    """

    inner: Transport
    loop: VirtualLoop
    clock: Callable[[], float]
    sent: list[Sent] = field(default_factory=list)

    async def send(self, url: URL, call: Call) -> Reply:
        """Send a request; its answer comes when all that are under way have come."""
        self.sent.append(_sent(self.clock(), url, call))
        reply = await self.loop.outside(self.inner.send(url, call))
        return reply._replace(took=0.0)

    async def close(self) -> None:
        """Close what carries the requests."""
        await self.inner.close()


def _sent(now: float, url: URL, call: Call) -> Sent:
    headers = tuple(sorted(call.headers.items()))
    return Sent(now, str(url), headers, _method(call), call.body)


def _method(call: Call) -> str:
    return call.method or ("GET" if call.body is None else "POST")


@contextmanager
def serve(
    sources: Sequence[Recorded], clock: Callable[[], float], port: int = 0
) -> Iterator[list[str]]:
    """Serve recorded sources over HTTP while the block runs; yield their origins.

    They listen at ``port`` and those that follow it, or at any if that is 0.
    """
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    begun: list[web.AppRunner] = []
    try:
        work = _begin(sources, clock, begun, port)
        begin = asyncio.run_coroutine_threadsafe(work, loop)
        yield begin.result(PATIENCE)
    finally:
        asyncio.run_coroutine_threadsafe(_end(begun), loop).result(PATIENCE)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def application(source: Recorded, clock: Callable[[], float]) -> web.Application:
    """Return a recorded source as something that aiohttp can serve."""

    async def answer(request: web.Request) -> web.Response:
        body = await request.read() if request.can_read_body else None
        asked = RecordedRequest(request.url, request.headers, body, request.method)
        told = source(asked, clock())
        return web.Response(status=told.status, body=told.body, headers=told.headers)

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    return app


async def _begin(
    sources: Sequence[Recorded],
    clock: Callable[[], float],
    begun: list[web.AppRunner],
    port: int,
) -> list[str]:
    found = []
    for number, source in enumerate(sources):
        app = application(source, clock)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
        await runner.setup()
        begun.append(runner)
        wanted = port + number if port else 0
        await web.TCPSite(runner, "127.0.0.1", wanted).start()
        host, bound = runner.addresses[0][:2]
        found.append(f"http://{host}:{bound}")
    return found


async def _end(begun: Sequence[web.AppRunner]) -> None:
    for runner in begun:
        await runner.cleanup()
