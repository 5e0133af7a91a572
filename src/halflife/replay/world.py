"""Recorded worlds: sources that answer requests as they did at a past moment.

A recorded source is a function of a request and a time. It answers in this process
(``RecordedTransport``, for replays) or over real HTTP on the loopback (``serve``, to
check that both give the same). Nothing above the transport notices the difference.
"""

import asyncio
import json
import threading
from collections.abc import (
    Callable,
    Coroutine,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias, TypeVar

from aiohttp import web
from multidict import CIMultiDict
from yarl import URL

from halflife.core.errors import Unreachable
from halflife.net.wire import (
    REDIRECTS,
    WITH_BODY,
    Call,
    Reply,
    Transport,
    answer_of,
)
from halflife.replay.virtual_loop import VirtualLoop

Result = TypeVar("Result")
PATIENCE = 10.0  # seconds that a server may take to start, or to stop


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
        request = RecordedRequest(url, call.headers, call.body, call.verb)
        answer = source(request, now)
        call.begun()
        headers = CIMultiDict(answer.headers)
        wanted = answer.status in WITH_BODY or (
            call.reasons and 400 <= answer.status < 500
        )
        body = answer.body if wanted else b""
        location = headers.get("Location", "") if answer.status in REDIRECTS else ""
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
    return SentRequest(now, str(url), headers, call.verb, call.body)


@contextmanager
def serve(
    sources: Sequence[Responder], clock: Callable[[], float], port: int = 0
) -> Iterator[list[str]]:
    """Serve recorded sources over HTTP while the block runs; yield their origins.

    They listen at ``port`` and the ports after it, or at any port if it is 0.
    """
    applications = [application(source, clock) for source in sources]
    with serve_applications(applications, port) as origins:
        yield origins


@contextmanager
def serve_applications(
    applications: Sequence[web.Application], port: int = 0
) -> Iterator[list[str]]:
    """Serve applications from a thread while the block runs; yield their origins."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()

    def run(work: Coroutine[Any, Any, Result]) -> Result:
        return asyncio.run_coroutine_threadsafe(work, loop).result(PATIENCE)

    runners = [runner_of(app) for app in applications]
    try:
        yield [
            run(listen(runner, port + number if port else 0))
            for number, runner in enumerate(runners)
        ]
    finally:
        run(_end(runners))
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def runner_of(app: web.Application) -> web.AppRunner:
    """Return what runs an application, without a log of requests."""
    return web.AppRunner(app, access_log=None, shutdown_timeout=1.0)


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


async def listen(runner: web.AppRunner, port: int = 0) -> str:
    """Let an application listen on loopback; return its origin."""
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    host, bound = runner.addresses[0][:2]
    return f"http://{host}:{bound}"


async def _end(runners: Iterable[web.AppRunner]) -> None:
    """Close servers; cancel answers that are under way."""
    for runner in runners:
        await runner.cleanup()
    pending = asyncio.all_tasks() - {asyncio.current_task()}
    for task in pending:
        task.cancel()
    await asyncio.gather(*pending, return_exceptions=True)
