"""A server that misbehaves on request: each path is one fault.

It speaks raw bytes over real sockets on loopback, so nothing between a test and
the program under test is too well-bred to be wrong.
"""

import asyncio
import gzip
import ssl
import zlib
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from typing import Self
from urllib.parse import parse_qs, unquote, urlsplit

import brotli
import zstandard

BOMB = 128 << 20  # bytes that a bomb grows to


@dataclass(frozen=True)
class Hit:
    """One request, as the server saw it."""

    at: float
    path: str
    query: dict[str, str]
    headers: dict[str, str]


Handler = Callable[["Evil", Hit, asyncio.StreamWriter], Awaitable[None]]
FAULTS: dict[str, Handler] = {}


def fault(path: str) -> Callable[[Handler], Handler]:
    def keep(handler: Handler) -> Handler:
        FAULTS[path] = handler
        return handler

    return keep


def response(body: bytes | str = b"", status: int = 200, **headers: object) -> bytes:
    """Return a proper answer; header names are written with underscores."""
    body = body.encode() if isinstance(body, str) else body
    fields = {"Content-Type": "text/html; charset=utf-8", "Content-Length": len(body)}
    fields |= {name.replace("_", "-"): value for name, value in headers.items()}
    lines = [f"{name}: {value}" for name, value in fields.items() if value is not None]
    return "\r\n".join([f"HTTP/1.1 {status} As Told", *lines, "", ""]).encode() + body


@dataclass
class Evil:
    """The server; ``hits`` is what it saw, ``pages`` are answers set by a test."""

    address: str = "127.0.0.1"
    tls: ssl.SSLContext | None = None
    port: int = 0
    hits: list[Hit] = field(default_factory=list)
    pages: dict[str, bytes] = field(default_factory=dict)
    open: int = 0  # requests that wait for an answer
    most_open: int = 0
    gate: asyncio.Event = field(default_factory=asyncio.Event)

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(
            self._serve, self.address, self.port, ssl=self.tls, backlog=512
        )
        self.port = self._server.sockets[0].getsockname()[1]
        self._tasks: set[asyncio.Task[None]] = set()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def url(self, path: str, host: str | None = None) -> str:
        scheme = "https" if self.tls else "http"
        return f"{scheme}://{host or self.address}:{self.port}{path}"

    def paths(self) -> list[str]:
        return [hit.path for hit in self.hits]

    async def _serve(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        task = asyncio.current_task()
        assert task
        self._tasks.add(task)
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError):
                while not writer.is_closing():
                    await self._answer(await _hit(reader), writer)
                    await writer.drain()
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _answer(self, hit: Hit, writer: asyncio.StreamWriter) -> None:
        self.hits.append(hit)
        self.open += 1
        self.most_open = max(self.open, self.most_open)
        try:
            if hit.path in self.pages:
                writer.write(self.pages[hit.path])
            else:
                handler = FAULTS.get(hit.path, _missing)
                await handler(self, hit, writer)
        finally:
            self.open -= 1


async def _hit(reader: asyncio.StreamReader) -> Hit:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    target = urlsplit(head[0].split(" ")[1])
    query = {name: values[0] for name, values in parse_qs(target.query).items()}
    fields = (line.partition(": ") for line in head[1:] if line)
    headers = {name.lower(): value for name, _, value in fields}
    now = asyncio.get_running_loop().time()
    return Hit(now, unquote(target.path), query, headers)


async def _missing(evil: Evil, hit: Hit, writer: asyncio.StreamWriter) -> None:
    writer.write(response("no such page", 404))


# Plain pages


@fault("/page")
async def page(evil, hit, writer):
    name = hit.query.get("n", "")
    writer.write(response(f"<title>Page {name}</title><p>Hello {name}"))


@fault("/close")
async def close(evil, hit, writer):
    writer.write(response("<p>bye", Connection="close"))
    writer.close()


@fault("/tagged")
async def tagged(evil, hit, writer):
    etag, date = '"v1"', "Tue, 01 Oct 2024 00:00:00 GMT"
    if "if-none-match" in hit.headers or "if-modified-since" in hit.headers:
        writer.write(response(status=304, ETag=etag, Content_Length=None))
    else:
        writer.write(response("<p>tagged", ETag=etag, Last_Modified=date))


@fault("/liar")
async def liar(evil, hit, writer):
    """Say «not modified» to whoever asks, also to those who hold nothing."""
    writer.write(response(status=304, Content_Length=None))


@fault("/held")
async def held(evil, hit, writer):
    """Answer only when the test opens the gate."""
    await evil.gate.wait()
    writer.write(response(f"<p>held {hit.query.get('n')}"))


@fault("/status")
async def status(evil, hit, writer):
    code, after = int(hit.query["code"]), hit.query.get("after")
    bare = {"Content_Length": None} if code == 204 else {}
    writer.write(response(b"" if bare else b"so", code, Retry_After=after, **bare))


# Redirects


@fault("/to")
async def redirect(evil, hit, writer):
    code, url = int(hit.query.get("code", "302")), hit.query["url"]
    writer.write(response("see there", code, Location=url))


@fault("/loop")
async def loop(evil, hit, writer):
    writer.write(response(status=302, Location="/loop"))


@fault("/chain")
async def chain(evil, hit, writer):
    left = int(hit.query["n"])
    target = f"/chain?n={left - 1}" if left > 1 else "/page"
    writer.write(response(status=301, Location=target))


@fault("/bomb-redirect")
async def bomb_redirect(evil, hit, writer):
    body = bomb("gzip")
    writer.write(response(body, 302, Location="/page", Content_Encoding="gzip"))


# Too slow


@fault("/drip-headers")
async def drip_headers(evil, hit, writer):
    writer.write(b"HTTP/1.1 200 OK\r\n")
    for i in range(10_000):
        writer.write(f"X-{i % 50}: y\r\n".encode())
        await writer.drain()
        await asyncio.sleep(0.02)


@fault("/drip-body")
async def drip_body(evil, hit, writer):
    writer.write(response(Content_Length=10_000))
    for _ in range(10_000):
        writer.write(b"x")
        await writer.drain()
        await asyncio.sleep(0.02)


@fault("/stall")
async def stall(evil, hit, writer):
    writer.write(response("begun", Content_Length=10_000))
    await writer.drain()
    await asyncio.sleep(3600)


@fault("/silence")
async def silence(evil, hit, writer):
    await asyncio.sleep(3600)


# Too much


@cache
def bomb(coding: str) -> bytes:
    """Return a few kilobytes that decode to ``BOMB`` bytes."""
    block = bytes(1 << 20)
    times = BOMB >> 20
    if coding == "br":
        coder = brotli.Compressor(quality=5)
        return b"".join(coder.process(block) for _ in range(times)) + coder.finish()
    if coding == "zstd":
        small = zstandard.ZstdCompressor(level=3).compressobj()
        return b"".join(small.compress(block) for _ in range(times)) + small.flush()
    bits = {"gzip": 31, "deflate": 15}[coding]
    packer = zlib.compressobj(9, zlib.DEFLATED, bits)
    return b"".join(packer.compress(block) for _ in range(times)) + packer.flush()


@fault("/bomb")
async def explode(evil, hit, writer):
    coding = hit.query["coding"]
    writer.write(response(bomb(coding), Content_Encoding=coding))


@fault("/twice")
async def twice(evil, hit, writer):
    body = gzip.compress(gzip.compress(b"<p>inside"))
    writer.write(response(body, Content_Encoding="gzip, gzip"))


@fault("/packed")
async def packed(evil, hit, writer):
    pack = {
        "gzip": gzip.compress,
        "deflate": zlib.compress,
        "br": brotli.compress,
        "zstd": zstandard.compress,
    }
    coding = hit.query["coding"]
    writer.write(response(pack[coding](b"<p>inside"), Content_Encoding=coding))


@fault("/damaged")
async def damaged(evil, hit, writer):
    body = gzip.compress(b"<p>inside" * 100)[:-20]
    writer.write(response(body, Content_Encoding="gzip"))


@fault("/endless")
async def endless(evil, hit, writer):
    writer.write(response(Content_Length=None, Transfer_Encoding="chunked"))
    chunk = b"10000\r\n" + bytes(1 << 16) + b"\r\n"
    while True:
        writer.write(chunk)
        await writer.drain()


@fault("/claims-much")
async def claims_much(evil, hit, writer):
    writer.write(response("x", Content_Length=1 << 50))


@fault("/long-header")
async def long_header(evil, hit, writer):
    writer.write(response("x", X_Long="y" * (1 << 16)))


@fault("/many-headers")
async def many_headers(evil, hit, writer):
    writer.write(response("x", **{f"X_{i}": "y" for i in range(5_000)}))


@fault("/endless-header")
async def endless_header(evil, hit, writer):
    writer.write(b"HTTP/1.1 200 OK\r\nX-Long: ")
    while True:
        writer.write(b"y" * 65536)
        await writer.drain()


# Broken


@fault("/short")
async def short(evil, hit, writer):
    writer.write(response("only this", Content_Length=1000))
    writer.close()


@fault("/long")
async def long(evil, hit, writer):
    """Send more than announced; the rest looks like another answer."""
    extra = response("<p>smuggled")
    writer.write(response("<p>hello" + extra.decode(), Content_Length=8))


@fault("/abort")
async def abort(evil, hit, writer):
    writer.write(response(Content_Length=None, Transfer_Encoding="chunked"))
    writer.write(b"5\r\nhello\r\n")
    writer.close()


@fault("/reset")
async def reset(evil, hit, writer):
    writer.write(response("only this", Content_Length=1000))
    await writer.drain()
    await asyncio.sleep(0.05)
    writer.transport.abort()


@fault("/hang-up")
async def hang_up(evil, hit, writer):
    writer.close()


@fault("/garbage")
async def garbage(evil, hit, writer):
    writer.write(b"\x16\x03\x01 this is not HTTP at all\r\n\r\n")
    writer.close()


@fault("/interim")
async def interim(evil, hit, writer):
    """Promise an answer for ever."""
    while True:
        writer.write(b"HTTP/1.1 100 Continue\r\n\r\n" * 100)
        await writer.drain()
        await asyncio.sleep(0.01)


@fault("/cookie")
async def cookie(evil, hit, writer):
    writer.write(response("<p>sweet", Set_Cookie="id=1; Path=/"))
