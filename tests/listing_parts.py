"""A listing that answers in this process or over HTTP, and what is read from it."""

import asyncio
from dataclasses import replace
from types import SimpleNamespace

from halflife.config import Config
from halflife.engine import network
from halflife.kinds.listing import client, requests
from halflife.net.access import GateSettings
from halflife.net.gate import Gate
from halflife.replay.world import RecordedTransport, serve
from web_parts import Book, Clock, Coins

ORIGIN = "http://a.example"
SOURCE = """
[[source]]
name = "jobs"
kind = "listing"
robots = false
allow = ["127.0.0.0/8"]
{text}
"""


def source_of(text, origin=ORIGIN):
    """Return the settings of a listing, with ``BASE`` for where it is."""
    return Config.parse(SOURCE.format(text=text.replace("BASE", origin))).source[0]


def read(source, api=None, *, coins=None, clock=None, sources=None, **more):
    """Read a listing; return what it lists, the trouble, and what was sent."""
    clock, coins = clock or Clock(), coins or Coins()
    transport = None
    if api is not None or sources:
        transport = RecordedTransport(sources or {ORIGIN: api}, clock)
    settings = GateSettings("x", delay=0.0, names_for=0)

    async def scene():
        gate = Gate(settings, hosts=Book(), clock=clock, transport=transport)
        async with gate:
            how = requests.settings(source, network.access(source))
            return await client.fetch_listing(gate, replace(how, **more), coins)

    listing, trouble = asyncio.run(scene())
    sent = [s._replace(at=0.0) for s in transport.sent] if transport else []
    return SimpleNamespace(
        listing=listing,
        trouble=trouble,
        sent=sent,
        urls=[s.url.removeprefix(ORIGIN) for s in sent],
        paid=coins.paid,
        keys=list(listing.records) if listing else None,
        complete=bool(listing and listing.complete),
    )


def read_over_http(text, api):
    """Read a listing over HTTP; return it and the requests that its server saw."""
    seen = []

    def noted(asked, now):
        seen.append((asked.method, str(asked.url.relative()), asked.body))
        return api(asked, now)

    with serve([noted], Clock()) as (origin,):
        return read(source_of(text, origin)), seen
