"""Recorded worlds: sources that answer requests as they did at a past moment.

A recorded source is a function of a request and a time. It answers in this process
(``RecordedTransport``, for replays) or over real HTTP on the loopback (``serve``, to
check that both give the same). Nothing above the transport notices the difference.
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

PATIENCE = 10.0  # seconds that a server may take to start, or to stop
_WITH_BODY = frozenset({200, 203})
_REDIRECTS = frozenset({301, 302, 303, 307, 308})


class RecordedRequest(NamedTuple):
    """A request as a recorded source sees it.

    Attributes:
        url: The address, with its query.
        headers: The headers sent to this source, beside those of every request.
        body: The body; None for GET.
        method: The method of the request.

    """

    url: URL
    headers: Mapping[str, str]
    body: bytes | None = None
    method: str = "GET"


class RecordedAnswer(NamedTuple):
    """The answer of a recorded source."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = {}


Responder: TypeAlias = Callable[[RecordedRequest, float], RecordedAnswer]
"""A recorded source: returns the answer to a request at a time, in days."""


class SentRequest(NamedTuple):
    """A request that was sent, and when, in days."""

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
    headers = {"Content-Type": "application/json; charset=utf-8"}
    return RecordedAnswer(status, json.dumps(value).encode(), headers)


@dataclass
class RecordedTransport:
    """Answers every request from recorded sources, and logs the requests.

    Attributes:
        sources: The recorded sources by their origin, such as ``http://127.0.0.1:80``.
        clock: The time in days.
        sent: The requests so far.

    """

    sources: Mapping[str, Responder]
    clock: Callable[[], float]
    sent: list[SentRequest] = field(default_factory=list)

    async def send(self, url: URL, call: Call) -> Reply:
        """Return the answer of the source at this moment."""
        now = self.clock()
        self.sent.append(_sent(now, url, call))
        source = self.sources.get(str(url.origin()))
        if source is None:
            raise Unreachable(f"{url.raw_host}: no such host in the recording")
        request = RecordedRequest(url, call.headers, call.body, _method(call))
        answer = source(request, now)
        call.begun()
        headers = CIMultiDict(answer.headers)
        wanted = answer.status in _WITH_BODY or (
            call.reasons and 400 <= answer.status < 500
        )
        body = answer.body if wanted else b""
        location = headers.get("Location", "") if answer.status in _REDIRECTS else ""
        return Reply(answer_of(url, answer.status, headers, body, now), location, 0.0)

    async def close(self) -> None:
        """Do nothing: nothing is open."""


@dataclass
class VirtualTimeTransport:
    """Sends requests by another transport without letting virtual time pass.

    Attributes:
        inner: The transport that sends the requests.
        loop: The loop on which the program runs.
        clock: The time in days.
        sent: The requests so far.

    """

    inner: Transport
    loop: VirtualLoop
    clock: Callable[[], float]
    sent: list[SentRequest] = field(default_factory=list)

    async def send(self, url: URL, call: Call) -> Reply:
        """Send a request; its answer comes when all that are under way have come."""
        self.sent.append(_sent(self.clock(), url, call))
        reply = await self.loop.outside(self.inner.send(url, call))
        return reply._replace(took=0.0)

    async def close(self) -> None:
        """Close the inner transport."""
        await self.inner.close()


def _sent(now: float, url: URL, call: Call) -> SentRequest:
    headers = tuple(sorted(call.headers.items()))
    return SentRequest(now, str(url), headers, _method(call), call.body)


def _method(call: Call) -> str:
    return call.method or ("GET" if call.body is None else "POST")


@contextmanager
def serve(
    sources: Sequence[Responder], clock: Callable[[], float], port: int = 0
) -> Iterator[list[str]]:
    """Serve recorded sources over HTTP while the block runs; yield their origins.

    They listen at ``port`` and the ports after it, or at any port if it is 0.
    """
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    runners: list[web.AppRunner] = []
    try:
        work = _begin(sources, clock, runners, port)
        begin = asyncio.run_coroutine_threadsafe(work, loop)
        yield begin.result(PATIENCE)
    finally:
        asyncio.run_coroutine_threadsafe(_end(runners), loop).result(PATIENCE)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def application(source: Responder, clock: Callable[[], float]) -> web.Application:
    """Return a recorded source as an aiohttp application."""

    async def answer(request: web.Request) -> web.Response:
        body = await request.read() if request.can_read_body else None
        recorded = RecordedRequest(request.url, request.headers, body, request.method)
        reply = source(recorded, clock())
        return web.Response(status=reply.status, body=reply.body, headers=reply.headers)

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    return app


async def _begin(
    sources: Sequence[Responder],
    clock: Callable[[], float],
    runners: list[web.AppRunner],
    port: int,
) -> list[str]:
    origins = []
    for number, source in enumerate(sources):
        app = application(source, clock)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
        await runner.setup()
        runners.append(runner)
        wanted = port + number if port else 0
        await web.TCPSite(runner, "127.0.0.1", wanted).start()
        host, bound = runner.addresses[0][:2]
        origins.append(f"http://{host}:{bound}")
    return origins


async def _end(runners: Sequence[web.AppRunner]) -> None:
    for runner in runners:
        await runner.cleanup()
