"""Sources as they were: pages, a listing, a search and a form on the loopback.

Each answers real HTTP with what its history says of the present moment, and what the
present is, whoever serves them decides: every answer is asked for anew.
"""

import asyncio
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TypeAlias

from aiohttp import web

from halflife.core.forms import Form, Found, Interface, Query
from halflife.core.object_store import Attributes

PATIENCE = 10.0  # seconds that a server may take to begin, or to end
Records: TypeAlias = Mapping[str, Attributes]


def pages(text: Callable[[str], str | None]) -> web.Application:
    """Return a site; ``text`` says what a page says now, None if there is none."""

    async def page(request: web.Request) -> web.Response:
        said = text(request.match_info["page"])
        if said is None:
            return web.Response(status=404, text="there is no such page\n")
        body = f"<!DOCTYPE html><title>A page</title><main><p>{said}</p></main>"
        return web.Response(text=body, content_type="text/html", charset="utf-8")

    app = web.Application()
    app.router.add_get("/{page:.+}", page)
    return app


def listing(present: Callable[[], Records], per_page: int) -> web.Application:
    """Return a listing of all that is there now, so many objects a page."""

    async def page(request: web.Request) -> web.Response:
        there = present()
        begin = int(request.query.get("from", "0"))
        some = list(there)[begin : begin + per_page]
        row: dict[str, object] = {"objects": [{"id": k, **there[k]} for k in some]}
        if begin + per_page < len(there):
            row["next"] = f"/objects?from={begin + per_page}"
        return web.json_response(row)

    app = web.Application()
    app.router.add_get("/objects", page)
    return app


def search(
    find: Callable[[str], Sequence[str]], text: Callable[[str], str]
) -> web.Application:
    """Return a search; ``find`` gives the names of what a word finds, in order."""

    async def results(request: web.Request) -> web.Response:
        asked = request.query
        found = find(asked.get("q", "").lower())
        skip, count = int(asked.get("from", "0")), int(asked.get("size", "10"))
        hits = [
            {"_id": name, "_source": {"body": text(name)}}
            for name in found[skip : skip + count]
        ]
        total = {"value": len(found), "relation": "eq"}
        return web.json_response({"took": 1, "hits": {"total": total, "hits": hits}})

    app = web.Application()
    app.router.add_get("/search", results)
    return app


class Moving:
    """A form whose records are those of the present, as ``halflife.core.forms.Form``.

    Args:
        interface: What the form can do.
        present: Returns a form with the records of the moment.

    """

    def __init__(self, interface: Interface, present: Callable[[], Form]) -> None:
        self.interface = interface
        self._present = present

    def ask(self, query: Query, page: int = 0, *, newest: bool = False) -> Found:
        """Return a page of results; the first is number 0."""
        return self._present().ask(query, page, newest=newest)

    def fetch(self, key: str) -> Found:
        """Return the record of a key, or nothing if there is none."""
        return self._present().fetch(key)


@contextmanager
def serving(apps: Sequence[web.Application]) -> Iterator[list[str]]:
    """Serve all of these from one thread while the block runs; yields addresses."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    begun: list[web.AppRunner] = []
    try:
        begin = asyncio.run_coroutine_threadsafe(_begin(apps, begun), loop)
        yield begin.result(PATIENCE)
    finally:
        asyncio.run_coroutine_threadsafe(_end(begun), loop).result(PATIENCE)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _begin(
    apps: Sequence[web.Application], begun: list[web.AppRunner]
) -> list[str]:
    found = []
    for app in apps:
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
        await runner.setup()
        begun.append(runner)
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        host, port = runner.addresses[0][:2]
        found.append(f"http://{host}:{port}")
    return found


async def _end(begun: Sequence[web.AppRunner]) -> None:
    for runner in begun:
        await runner.cleanup()
