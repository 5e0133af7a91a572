"""The demo site as a process that answers real HTTP on loopback.

``python -m halflife.demo.site --seed 1 --pages 300`` prints one line of JSON with
its address. Its clock is set from standard input: each line is a time in days and is
answered with ``ok``. The process ends when the input ends.
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
from halflife.replay.world import listen

TROUBLE = 20  # requests per thousand that are answered 503


class DemoSite:
    """The site at the time of ``clock``."""

    def __init__(self, world: DemoWorld) -> None:
        self.world = world
        self.clock = world.began
        self.hits = 0
        self._page = {path: i for i, path in enumerate(world.paths)}

    def application(self) -> web.Application:
        """Return the aiohttp application of the site."""
        app = web.Application()
        app.router.add_get("/robots.txt", self.robots)
        app.router.add_get("/sitemap.xml", self.sitemap)
        app.router.add_get("/feed.xml", self.feed)
        app.router.add_get("/", self.home)
        app.router.add_get("/{path:.*}", self.page)
        return app

    async def robots(self, request: web.Request) -> web.Response:
        """Allow everything but one folder."""
        rules = "User-agent: *\nDisallow: /private/\n"
        return web.Response(text=f"{rules}Sitemap: {_base(request)}/sitemap.xml\n")

    async def sitemap(self, request: web.Request) -> web.Response:
        """List the pages that exist now."""
        text = sitemap(self.world, _base(request), self.clock)
        return self._fault(request) or _xml(text, "application/xml")

    async def feed(self, request: web.Request) -> web.Response:
        """List the pages that changed last."""
        text = feed(self.world, _base(request), self.clock)
        return self._fault(request) or _xml(text, "application/atom+xml")

    async def home(self, request: web.Request) -> web.Response:
        """Return the home page."""
        text = "<!DOCTYPE html><title>Demo</title><p>A site that never was.</p>"
        return self._fault(request) or web.Response(text=text, content_type="text/html")

    async def page(self, request: web.Request) -> web.Response:
        """Return a page at the present time."""
        self.hits += 1
        page = self._page.get(request.path)
        if fault := self._fault(request):
            return fault
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

    def _fault(self, request: web.Request) -> web.Response | None:
        """Return a 503 for a few requests; None for the others."""
        if is_answered(self.world, request.path, self.clock):
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


def is_answered(world: DemoWorld, path: str, clock: float) -> bool:
    """Return whether a path is answered without a fault, independent of the date."""
    elapsed = clock - world.began
    return crc32(f"{world.seed} {path} {elapsed:.4f}".encode()) % 1000 >= TROUBLE


def unchanged(requested: Mapping[str, str], headers: Mapping[str, str]) -> bool:
    """Return whether the caller's copy is current (RFC 9110, s. 13.2.2)."""
    tag = requested.get("If-None-Match")
    if tag is not None:
        return tag == headers.get("ETag")
    since, at = requested.get("If-Modified-Since"), headers.get("Last-Modified")
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
    url = await listen(runner)
    say(json.dumps({"url": url, "pages": len(site.world)}))
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
    """Write one line to the parent process."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> None:
    """Build the world of the arguments and serve it."""
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
