"""An endpoint for monitoring the service, on this machine only.

``/health`` answers in JSON, ``/metrics`` in the text format of Prometheus.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web
from aiohttp.typedefs import Handler

from halflife.engine.health import ServiceStatus, exposition
from halflife.engine.loop import Clock

HERE = "127.0.0.1"
_TEXT = {"Content-Type": "text/plain; version=0.0.4; charset=utf-8"}
_SAFE = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}


@asynccontextmanager
async def serve_status(
    status: ServiceStatus, port: int, clock: Clock
) -> AsyncIterator[int]:
    """Answer requests from this machine while the block runs; yield the port in use.

    Only requests that name this machine as the host are answered, so that web pages
    cannot read the status by DNS rebinding.
    """

    async def health(_: web.Request) -> web.Response:
        row = status.row(clock())
        code = 200 if row["status"] == "ok" else 503
        return web.json_response(row, status=code, headers=_SAFE)

    async def metrics(_: web.Request) -> web.Response:
        now = clock()
        status.renew(now)
        text = exposition(status, now)
        return web.Response(text=text, headers={**_TEXT, **_SAFE})

    app = web.Application(middlewares=[_from_here])
    app.router.add_get("/health", health)
    app.router.add_get("/metrics", metrics)
    runner = web.AppRunner(app, access_log=None, handle_signals=False)
    await runner.setup()
    try:
        site = web.TCPSite(runner, HERE, port)
        await site.start()
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()


@web.middleware
async def _from_here(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Refuse requests that name another host."""
    name = request.headers.get("Host", "").rpartition(":")
    host = name[0] if name[1] and name[2].isdecimal() else "".join(name)
    if host not in {HERE, "localhost"}:
        raise web.HTTPForbidden(text="ask 127.0.0.1 or localhost\n", headers=_SAFE)
    return await handler(request)
