"""The demo site as a process of its own, answering real HTTP on loopback.

``python -m halflife.demo.site --seed 1 --pages 300`` prints one line of JSON with
its address. Its time stands still until it is told: each line on standard input
is a time in days and is answered with ``ok``. It ends when the input ends.
"""

import argparse
import asyncio
import json
import sys
from collections.abc import Mapping
from email.utils import formatdate, parsedate_to_datetime
from zlib import crc32

from aiohttp import web

from halflife.demo.pages import feed, html, sitemap
from halflife.demo.world import DemoWorld, build

TROUBLE = 20  # requests in a thousand that are answered 503


class DemoSite:
    """The site at one moment of its life, as ``clock`` says."""

    def __init__(self, world: DemoWorld) -> None:
        self.world = world
        self.clock = world.began
        self.hits = 0
        self._page = {path: i for i, path in enumerate(world.paths)}

    def application(self) -> web.Application:
        """Return the site as something aiohttp can serve."""
        app = web.Application()
        app.router.add_get("/robots.txt", self.robots)
        app.router.add_get("/sitemap.xml", self.sitemap)
        app.router.add_get("/feed.xml", self.feed)
        app.router.add_get("/", self.home)
        app.router.add_get("/{path:.*}", self.page)
        return app

    async def robots(self, request: web.Request) -> web.Response:
        """Allow everything but a private corner."""
        rules = "User-agent: *\nDisallow: /private/\n"
        return web.Response(text=f"{rules}Sitemap: {_base(request)}/sitemap.xml\n")

    async def sitemap(self, request: web.Request) -> web.Response:
        """List the pages there are now."""
        text = sitemap(self.world, _base(request), self.clock)
        return self._steady(request) or _xml(text, "application/xml")

    async def feed(self, request: web.Request) -> web.Response:
        """List the pages that changed last."""
        text = feed(self.world, _base(request), self.clock)
        return self._steady(request) or _xml(text, "application/atom+xml")

    async def home(self, request: web.Request) -> web.Response:
        """Greet."""
        text = "<!DOCTYPE html><title>Demo</title><p>A site that never was.</p>"
        return self._steady(request) or web.Response(
            text=text, content_type="text/html"
        )

    async def page(self, request: web.Request) -> web.Response:
        """Answer as the page would at this moment."""
        self.hits += 1
        page = self._page.get(request.path)
        if trouble := self._steady(request):
            return trouble
        if page is None or self.clock < self.world.recording.born[page]:
            return web.Response(status=404, text="no such page\n")
        if self.clock >= self.world.recording.died[page]:
            return web.Response(status=410, text="gone\n")
        headers = {}
        if not self.world.restless[page]:
            headers = validators(self.world, page, self.clock)
        if unchanged(request.headers, headers):
            return web.Response(status=304, headers=headers)
        text = html(
            self.world,
            page,
            int(self.world.version(page, self.clock)[0]),
            noise=f"at {self.clock:.6f}, request {self.hits}",
            hits=self.hits,
        )
        return web.Response(text=text, content_type="text/html", headers=headers)

    def _steady(self, request: web.Request) -> web.Response | None:
        """Return trouble now and then."""
        if steady(self.world, request.path, self.clock):
            return None
        again = {"Retry-After": "0"}
        return web.Response(status=503, headers=again, text="busy, try again\n")


def validators(world: DemoWorld, page: int, at: float) -> dict[str, str]:
    """Return ETag and Last-Modified; some pages lack one, some both."""
    kind = crc32(world.paths[page].encode()) % 10
    if kind == 9:
        return {}
    changed = int(world.modified(page, at) * 86400)
    headers = {
        "ETag": f'"{page}-{int(world.version(page, at)[0])}"',
        "Last-Modified": formatdate(changed, usegmt=True),
    }
    if kind >= 7:
        del headers["ETag" if kind == 8 else "Last-Modified"]
    return headers


def steady(world: DemoWorld, path: str, clock: float) -> bool:
    """Say whether a path is answered as it should be; the same on any date."""
    into = clock - world.began
    return crc32(f"{world.seed} {path} {into:.4f}".encode()) % 1000 >= TROUBLE


def unchanged(asked: Mapping[str, str], headers: Mapping[str, str]) -> bool:
    """Return whether the caller's copy is current (RFC 9110, s. 13.2.2)."""
    tag = asked.get("If-None-Match")
    if tag is not None:
        return tag == headers.get("ETag")
    since, at = asked.get("If-Modified-Since"), headers.get("Last-Modified")
    if since is None or at is None:
        return False
    return parsedate_to_datetime(since) >= parsedate_to_datetime(at)


def _base(request: web.Request) -> str:
    return f"http://{request.host}"


def _xml(text: str, kind: str) -> web.Response:
    return web.Response(text=text, content_type=kind, charset="utf-8")


async def serve(site: DemoSite) -> None:
    """Serve until standard input ends."""
    runner = web.AppRunner(site.application(), access_log=None)
    await runner.setup()
    listener = web.TCPSite(runner, "127.0.0.1", 0)
    await listener.start()
    host, port = runner.addresses[0][:2]
    say(json.dumps({"url": f"http://{host}:{port}", "pages": len(site.world)}))
    lines = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(lines), sys.stdin.buffer
    )
    while line := await lines.readline():
        site.clock = float(line)
        say("ok")
    await runner.cleanup()


def say(line: str) -> None:
    """Write one line to whoever started us."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> None:
    """Build the world that the arguments name and serve it."""
    parser = argparse.ArgumentParser(description="Serve the demo site on loopback.")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--pages", type=int, default=300)
    parser.add_argument("--days", type=float, default=40.0)
    parser.add_argument("--began", type=float, default=0.0)
    given = parser.parse_args()
    world = build(given.seed, given.pages, given.days, given.began)
    asyncio.run(serve(DemoSite(world)))


if __name__ == "__main__":
    main()
