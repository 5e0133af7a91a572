"""A local web site of plain pages that counts what it is asked; for benchmarks.

Run as ``python lab/benchmarks/pages_server.py --pages 500 --delay 0.01``; prints its
port as the first line. ``/`` links to every page, ``/__counts`` tells how often
each path was asked for, ``/__reset`` forgets it. Stops when its input closes.
"""

import argparse
import asyncio
import json
import sys
from collections import Counter

from aiohttp import web

WORDS = ("harbour", "ledger", "meadow", "copper", "lantern", "orbit", "velvet")


def page_html(number: int, size: int) -> str:
    """Return a page of about ``size`` bytes that differs from every other."""
    words = (WORDS[(number * 7 + i * i) % len(WORDS)] for i in range(size // 8))
    return (
        f"<html><head><title>Page {number}</title></head><body>"
        f"<nav><a href='/'>home</a></nav><main><h1>Page {number}</h1>"
        f"<p>{' '.join(words)}</p></main></body></html>"
    )


class Site:
    """The pages, and how often each was asked for."""

    def __init__(self, pages: int, delay: float, size: int) -> None:
        self.delay = delay
        self.counts: Counter[str] = Counter()
        self.pages = {f"/page/{i}": page_html(i, size) for i in range(pages)}
        links = "".join(f"<a href='{path}'>{path}</a>" for path in self.pages)
        self.pages["/"] = f"<html><body>{links}</body></html>"
        self.pages["/robots.txt"] = "User-agent: *\nAllow: /\n"

    async def answer(self, request: web.Request) -> web.Response:
        """Serve one page, after the delay."""
        if request.path == "/__counts":
            return web.json_response(self.counts)
        if request.path == "/__reset":
            self.counts.clear()
            return web.Response(text="ok")
        self.counts[request.path] += 1
        if self.delay:
            await asyncio.sleep(self.delay)
        text = self.pages.get(request.path)
        if text is None:
            raise web.HTTPNotFound
        kind = "text/plain" if request.path == "/robots.txt" else "text/html"
        return web.Response(text=text, content_type=kind)


async def serve(site: Site) -> None:
    """Serve until the input closes."""
    app = web.Application()
    app.router.add_get("/{path:.*}", site.answer)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    listener = web.TCPSite(runner, "127.0.0.1", 0)
    await listener.start()
    print(json.dumps({"port": runner.addresses[0][1]}), flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    await runner.cleanup()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=500)
    parser.add_argument(
        "--delay", type=float, default=0.0, help="seconds an answer takes"
    )
    parser.add_argument("--size", type=int, default=2000, help="bytes a page has")
    options = parser.parse_args()
    asyncio.run(serve(Site(options.pages, options.delay, options.size)))
