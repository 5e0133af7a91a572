"""A small web for long runs: sources of every kind, in a process of its own.

It prints its ports as one line of JSON, then reads the time from stdin, in days since
it began, one number a line. Pages of all hosts of the loopback change at rates of their
own; a listing turns over, a form's records and the texts of a search change. A host in
ten fails for some hours a day, and so does the listing, which also lacks most of its
records for a while. Messages that are sent to it are counted.
"""

import asyncio
import hashlib
import json
import sys
import threading

import numpy as np
from aiohttp import web

from halflife.core.forms import Attribute, Interface
from halflife.demo.forms import FormServer
from halflife.queries.table_form import TableForm

LISTED = 150  # records of the listing
DOCUMENTS = 300
RECORDS = 120
SITE = 25  # pages of the site, each of which leads to the next two
WORDS = ("red", "green", "blue", "old", "new", "fast", "slow", "big", "small", "odd")
TERMS = (*WORDS, *(f"term{i}" for i in range(300)))
CITIES = ("Oslo", "Rome", "Paris", "Lima", "Cairo", "Delhi")
ATTRIBUTES = Attribute("city", "select", CITIES), Attribute("title", "keyword")


def lot(text: str) -> float:
    """Return a number between 0 and 1 that belongs to a text."""
    digest = hashlib.blake2b(text.encode(), digest_size=4).digest()
    return int.from_bytes(digest, "big") / 2**32


class World:
    """What is served at a time, in days since it began."""

    def __init__(self) -> None:
        self.now = 0.0
        self.messages = 0
        self.asked = 0
        self.office = FormServer(self._form())
        self._texts: tuple[int, list[str]] = (-1, [])

    @property
    def hour(self) -> float:
        """The hour of the day."""
        return self.now % 1.0 * 24.0

    def set(self, now: float) -> None:
        """Let it be another time; the form's records change every six hours."""
        old, self.now = self.now, now
        if int(old * 4) != int(now * 4):
            self.office.form = self._form()

    def _form(self) -> TableForm:
        rng = np.random.default_rng(1)
        turn = int(self.now * 4)
        records = {
            f"car{i}": {
                "city": str(rng.choice(CITIES)),
                "title": " ".join(rng.choice(WORDS, 3)),
                "price": float((i * 7 + (turn if i % 5 == 0 else 0)) % 100),
            }
            for i in range(turn, turn + RECORDS)
        }
        shape = Interface(ATTRIBUTES, page_size=20, everything=True)
        return TableForm(shape, records, rng=rng)

    def version(self, name: str) -> int:
        """Return how often a page has changed: from once a month to hourly."""
        luck = lot(name)
        return int(self.now * 24.0 ** (2.0 * luck - 1.0) + luck)

    def texts(self) -> list[str]:
        """Return the documents of the search; one in ten is new every day."""
        day = int(self.now)
        if self._texts[0] != day:
            born = [day if number % 10 == 0 else 0 for number in range(DOCUMENTS)]
            self._texts = day, [_text(i, at) for i, at in enumerate(born)]
        return self._texts[1]

    def application(self) -> web.Application:
        """Return it as something aiohttp can serve."""
        app = web.Application()
        app.router.add_get("/robots.txt", self.robots)
        app.router.add_get("/page/{number}", self.page)
        app.router.add_get("/site/{number}", self.site)
        app.router.add_get("/jobs.json", self.jobs)
        app.router.add_get("/es/_search", self.search)
        app.router.add_post("/told", self.told)
        return app

    async def robots(self, _: web.Request) -> web.Response:
        """Allow everything."""
        return web.Response(text="User-agent: *\nAllow: /\n")

    async def page(self, request: web.Request) -> web.Response:
        """Answer with a page; a host in ten fails from ten to two."""
        self.asked += 1
        if lot(request.host) < 0.1 and 10 <= self.hour < 14:
            return web.Response(status=500, text="something broke\n")
        body = f"<html><p>{request.path} {self.version(str(request.url))}</p></html>"
        return web.Response(text=body, content_type="text/html")

    async def site(self, request: web.Request) -> web.Response:
        """Answer with a page that leads to others."""
        self.asked += 1
        number = int(request.match_info["number"])
        said = self.version(request.path)
        links = "".join(
            f'<a href="/site/{i % SITE}">{i}</a> ' for i in (number + 1, number + 2)
        )
        body = f"<html><p>{number} {said}</p>{links}</html>"
        return web.Response(text=body, content_type="text/html")

    async def jobs(self, _: web.Request) -> web.Response:
        """Answer with the listing; it fails in the morning and lacks most at night."""
        self.asked += 1
        if 6 <= self.hour < 9:
            return web.Response(status=500, text="something broke\n")
        first = int(self.now * 8)
        last = first + (LISTED // 10 if 20 <= self.hour < 22 else LISTED)
        return web.json_response(
            [{"id": i, "title": f"job {i}"} for i in range(first, last)]
        )

    async def search(self, request: web.Request) -> web.Response:
        """Answer as a search engine does."""
        self.asked += 1
        asked = request.query
        words = set(asked.get("q", "").lower().split())
        skip, count = int(asked.get("from", "0")), int(asked.get("size", "10"))
        texts = enumerate(self.texts())
        found = [(i, text) for i, text in texts if words <= set(text.split())]
        hits = [
            {"_id": str(i), "_source": {"body": text}}
            for i, text in found[skip : skip + count]
        ]
        total = {"value": len(found), "relation": "eq"}
        return web.json_response({"took": 1, "hits": {"total": total, "hits": hits}})

    async def told(self, _: web.Request) -> web.Response:
        """Take in a message; one in four is not taken the first time."""
        self.messages += 1
        return web.Response(status=503 if self.messages % 4 == 0 else 204)


def _text(number: int, born: int) -> str:
    rng = np.random.default_rng([number, born])
    rank = np.minimum(rng.zipf(1.3, 25) - 1, len(TERMS) - 1)
    return " ".join(TERMS[i] for i in rank)


async def serve(world: World) -> None:
    """Serve until stdin is closed; the time is read from there."""
    loop, ended = asyncio.get_running_loop(), asyncio.Event()
    ports = []
    for app, address in (
        (world.application(), "0.0.0.0"),  # noqa: S104  (127.0.0.1 to .254)
        (world.office.application(), "127.0.0.1"),
    ):
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
        await runner.setup()
        await web.TCPSite(runner, address, 0, backlog=512).start()
        ports.append(runner.addresses[0][1])
    print(json.dumps({"port": ports[0], "form": ports[1]}), flush=True)

    def read() -> None:
        for line in sys.stdin:
            loop.call_soon_threadsafe(world.set, float(line))
        loop.call_soon_threadsafe(ended.set)

    threading.Thread(target=read, daemon=True).start()
    await ended.wait()
    served = {"asked": world.asked + world.office.asked, "messages": world.messages}
    print(json.dumps(served), flush=True)


if __name__ == "__main__":
    asyncio.run(serve(World()))
