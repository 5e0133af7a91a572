"""Servers for ``hostile.py``: healthy pages that change, and ten ways to misbehave.

All of them listen on loopback, each on an address of its own, so that each is a host of
its own. They speak raw bytes: a library would be too well-bred to be wrong.
"""

import asyncio
import bisect
import gzip
import random
import socket
import struct
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field

CHANGES = 120.0  # seconds between two changes of a healthy page, on average
DEEP = 20_000  # elements inside each other
BOMB = 1_000_000  # empty elements of the gzip map
HUGE = 20_000  # addresses of the sitemap without measure
CHARSETS = ("hex", "idna", "zip", "rot13", "punycode", "undefined")

Writer = asyncio.StreamWriter
Answer = Callable[["Host", str, Writer], Awaitable[None]]


def response(body: bytes = b"", status: int = 200, **headers: str) -> bytes:
    """Return an answer; header names are written with underscores."""
    fields = {"Content-Type": "text/html; charset=utf-8", "Content-Length": len(body)}
    fields |= {name.replace("_", "-"): value for name, value in headers.items()}
    lines = [f"{name}: {value}" for name, value in fields.items()]
    return "\r\n".join([f"HTTP/1.1 {status} X", *lines, "", ""]).encode() + body


@dataclass
class Host:
    """A server, what it was asked, and when.

    Attributes:
        name: The source that is kept from it.
        address: Where it listens.
        answer: Answers a request for a path.
        paths: The pages that the settings name.
        maps: The maps that they name.
        asked: Times and paths of requests, robots.txt left out.

    """

    name: str
    address: str
    answer: Answer
    paths: tuple[str, ...] = ()
    maps: tuple[str, ...] = ()
    port: int = 0
    asked: list[tuple[float, str]] = field(default_factory=list)

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://{self.address}:{self.port}"

    async def listen(self) -> asyncio.Server:
        """Begin to listen."""
        server = await asyncio.start_server(self._serve, self.address, 0, backlog=256)
        self.port = server.sockets[0].getsockname()[1]
        return server

    async def _serve(self, reader: asyncio.StreamReader, writer: Writer) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError, ValueError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                path = head.split(b" ", 2)[1].decode("latin-1")
                if path == "/robots.txt":
                    writer.write(response(status=404))
                    continue
                self.asked.append((time.monotonic(), path))
                await self.answer(self, path, writer)
                await writer.drain()
        writer.close()


class Changing:
    """Healthy pages: each changes at moments that a seed decides."""

    def __init__(self, seed: int, seconds: float) -> None:
        self._seed, self._seconds = seed, seconds
        self._moments: dict[str, list[float]] = {}
        self.began = time.monotonic()

    def moments(self, path: str) -> list[float]:
        """Return when a page changes, in seconds since the beginning."""
        if path not in self._moments:
            chance, at, found = random.Random(f"{self._seed} {path}"), 0.0, []
            while at < self._seconds:
                at += chance.expovariate(1.0 / CHANGES)
                found.append(at)
            self._moments[path] = found
        return self._moments[path]

    def version(self, path: str, at: float) -> int:
        """Return how often a page has changed until a moment."""
        return bisect.bisect_right(self.moments(path), at - self.began)

    async def __call__(self, host: Host, path: str, writer: Writer) -> None:
        """Send a page as it is now."""
        number = self.version(f"{host.name}{path}", time.monotonic())
        text = f"<title>{path}</title><p>version {number}</p>" + "<p>text</p>" * 200
        writer.write(response(text.encode()))


async def charset(_: Host, path: str, writer: Writer) -> None:
    """Name a charset that is none, or none for text."""
    name = CHARSETS[hash(path) % len(CHARSETS)]
    body = f"<meta charset={name}><p>{path} {time.time()}</p>".encode()
    writer.write(response(body, Content_Type=f"text/html; charset={name}"))


async def prefix(host: Host, _path: str, writer: Writer) -> None:
    """Use prefixes in a map that nobody declared."""
    link = f'<xhtml:link rel="alternate" href="{host.url}/x"/>'
    inside = f"<url><loc>{host.url}/p</loc>{link}<dc:date>2026</dc:date></url>"
    writer.write(response(f"<urlset>{inside}</urlset>".encode()))


async def brackets(_: Host, path: str, writer: Writer) -> None:
    """Lead to addresses that break URL libraries."""
    if path == "/go":
        writer.write(response(status=302, Location="http://[]@/"))
        return
    bad = '<base href="http://[/"><a href="http://[]@/">x</a><a href="//[">y</a>'
    link = f'<link rel="canonical" href="http://[]@/">{bad}{time.time()}'
    writer.write(response(link.encode()))


async def drip(_: Host, _path: str, writer: Writer) -> None:
    """Send a byte a second."""
    writer.write(response(b"x" * 100_000)[:-99_990])
    for _second in range(600):
        await writer.drain()
        await asyncio.sleep(1.0)
        writer.write(b"x")


async def redirects(_: Host, path: str, writer: Writer) -> None:
    """Redirect for ever."""
    number = int(path.rpartition("/")[2] or 0) + 1
    writer.write(response(status=301, Location=f"/r/{number}"))


async def bomb(_: Host, _path: str, writer: Writer) -> None:
    """Send a small gzip map with very many elements."""
    writer.write(response(ZIPPED, Content_Type="application/gzip"))


async def endless_index(host: Host, path: str, writer: Writer) -> None:
    """Name three more indexes in every index."""
    more = "".join(
        f"<sitemap><loc>{host.url}{path}{n}/</loc></sitemap>" for n in range(3)
    )
    writer.write(response(f"<sitemapindex>{more}</sitemapindex>".encode()))


async def huge_map(host: Host, path: str, writer: Writer) -> None:
    """Name twenty thousand pages."""
    if path != "/map":
        writer.write(response(path.encode()))
        return
    urls = "".join(f"<url><loc>{host.url}/p{n}</loc></url>" for n in range(HUGE))
    writer.write(response(f"<urlset>{urls}</urlset>".encode()))


async def broken_http(_: Host, path: str, writer: Writer) -> None:
    """Reset the connection, or send chunks that are none."""
    if path == "/reset":
        on = struct.pack("ii", 1, 0)
        writer.get_extra_info("socket").setsockopt(
            socket.SOL_SOCKET, socket.SO_LINGER, on
        )
        writer.close()
        raise ConnectionResetError
    head = b"HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\n"
    writer.write(head + b"zz\r\nnot a chunk\r\n-5\r\n\r\n")


async def deep(_: Host, _path: str, writer: Writer) -> None:
    """Nest elements very deeply."""
    body = f"{'<div><b>' * DEEP}{time.time()}"
    writer.write(response(body.encode()))


ZIPPED = gzip.compress(b"<urlset>" + b"<url/>" * BOMB + b"</urlset>")

HOSTILE: dict[str, tuple[Answer, tuple[str, ...], tuple[str, ...]]] = {
    "charset": (charset, ("/a", "/b", "/c", "/d"), ()),
    "prefix": (prefix, (), ("/map",)),
    "brackets": (brackets, ("/go", "/links"), ()),
    "drip": (drip, ("/a", "/b"), ()),
    "redirects": (redirects, ("/r/0",), ()),
    "bomb": (bomb, (), ("/map.gz",)),
    "endless": (endless_index, (), ("/i/",)),
    "huge": (huge_map, (), ("/map",)),
    "broken": (broken_http, ("/reset", "/chunks"), ()),
    "deep": (deep, ("/a",), ()),
}


def healthy(answer: Changing, sources: int, pages: int) -> list[Host]:
    """Return the servers that behave."""
    paths = tuple(f"/{n}" for n in range(pages))
    return [
        Host(f"healthy{n}", f"127.0.1.{n + 1}", answer, paths) for n in range(sources)
    ]


def hostile() -> list[Host]:
    """Return the servers that do not."""
    return [
        Host(f"hostile-{name}", f"127.0.2.{n + 1}", *of)
        for n, (name, of) in enumerate(HOSTILE.items())
    ]
