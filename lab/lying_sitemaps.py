"""Sitemaps whose dates lie: what believing them costs, against a map without dates.

    python -m lab.lying_sitemaps [--pages 60] [--days 75] [--seeds 3]

Pages on loopback change at random, at rates spread as those of the table of bounds in
docs/hints.md. The product's own keeper turns once a day: it reads the site's map, and
has requests for a fifth of the pages besides. All maps name the same pages, which
change at the same moments. One map has no dates (``silent``), one tells the moment of
each change (``truthful``), and three lie: all pages changed just now (``always-now``),
a fifth of them drawn by lot did each day (``random``), nothing ever did (``frozen``).
Freshness is the share of time in which a copy is as the server has it, from day 31 on,
worked out from what was served when. ``told`` is the freshness of who knows all rates
and changes and turns once a day too; ``theory`` has the bounds with perfect hints and
with none for requests at any moment. JSON goes to standard output.
"""

import argparse
import asyncio
import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import numpy as np
from numpy.random import Generator

from halflife.allocation import blind_bound, signal_bound
from halflife.config import Config
from halflife.core.arrays import Floats
from halflife.engine import bootstrap
from halflife.kinds.pages.runner import keeping
from halflife.kinds.pages.settings import PagesConfig

BEGAN = 20_000.0  # days
LEARNING = 30.0  # days that are not scored
SHARE = 0.2  # requests a day for each page
MAPS = ("silent", "truthful", "always-now", "random", "frozen")


@dataclass
class Site:
    """Pages that change at known times, their map, and what was served when.

    Attributes:
        changes: The days at which each page changes.
        dates: What the map says of the pages: one of ``MAPS``.
        now: The time, in days since the site began.
        served: The days at which each page was fetched.

    """

    changes: list[Floats]
    dates: str
    rng: Generator
    now: float = 0.0
    url: str = ""
    served: list[list[float]] = field(default_factory=list)
    drawn: Floats = field(default_factory=lambda: np.zeros(0))

    def __post_init__(self) -> None:
        self.served = [[] for _ in self.changes]
        self.drawn = np.full(len(self.changes), -50.0)

    def begin(self, day: int) -> None:
        """Let a day begin; a lot decides which pages a random map names as changed."""
        self.now = float(day)
        lots = self.rng.random(self.drawn.size) < SHARE
        self.drawn = np.where(lots, self.now - 0.1, self.drawn)

    def answer(self, path: str) -> str:
        """Return a page or the map."""
        if path == "/map.xml":
            return self._map()
        page = int(path.rpartition("/")[2])
        self.served[page].append(self.now)
        version = int(np.searchsorted(self.changes[page], self.now, "right"))
        return f"<!doctype html><title>{page}</title><p>page {page}, edition {version}"

    def _map(self) -> str:
        entries = (
            f"<url><loc>{self.url}/p/{page}</loc>{self._date(page)}</url>"
            for page in range(len(self.changes))
        )
        return f'<?xml version="1.0"?><urlset>{"".join(entries)}</urlset>'

    def _date(self, page: int) -> str:
        """Return what the map says of a page."""
        if self.dates == "silent":
            return ""
        past = self.changes[page][self.changes[page] <= self.now]
        said = {
            "truthful": float(past[-1]) if past.size else -50.0,
            "always-now": self.now - 0.01,
            "random": float(self.drawn[page]),
            "frozen": -50.0,
        }[self.dates]
        seconds = np.timedelta64(round((BEGAN + said) * 86400.0), "s")
        return f"<lastmod>{np.datetime64('1970-01-01') + seconds}Z</lastmod>"

    def freshness(self, days: float) -> float:
        """Return the share of time in which copies were right, after learning."""
        fresh = [
            _fresh(np.array(served), changes, days)
            for served, changes in zip(self.served, self.changes, strict=True)
        ]
        return float(np.mean(fresh))


def _fresh(served: Floats, changes: Floats, days: float) -> float:
    """Return the share of the scored time in which a copy was right.

    >>> round(_fresh(np.array([40.0]), np.array([35.0, 50.0]), 60.0), 3)
    0.333
    """
    if not served.size:
        return 0.0
    until = np.append(served[1:], days)
    place = np.searchsorted(changes, served, "right")
    ends = np.append(changes, np.inf)[place]
    right = np.minimum(until, ends).clip(LEARNING) - served.clip(LEARNING)
    return float(right.clip(0.0).sum() / (days - LEARNING))


@contextmanager
def serving(site: Site) -> Iterator[Site]:
    """Serve a site on loopback during the block."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = 1 << 16

        def do_GET(self) -> None:
            body = site.answer(self.path).encode()
            kind = "text/xml" if self.path.endswith(".xml") else "text/html"
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    site.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = Thread(target=partial(server.serve_forever, 0.02), daemon=True)
    thread.start()
    try:
        yield site
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


async def _keep(site: Site, days: int, folder: Path) -> None:
    """Keep a site, one turn a day."""
    names = ", ".join(f'"{site.url}/p/{page}"' for page in range(len(site.changes)))
    more = 'allow = ["127.0.0.0/8"]\nrobots = false\nnoise = 0\n'
    text = (
        '[budget]\nrequests = 1000000\n[policy]\nobjective = "freshness"\n'
        f'[fetch]\ndelay = 0.0\n[[source]]\nname = "pages"\npages = [{names}]\n{more}'
        f'[[source]]\nname = "map"\nweight = 1000.0\nmaps = ["{site.url}/map.xml"]\n'
        f"{more}"
    )
    config = Config.parse(text, folder / "halflife.toml")
    chosen, many = PagesConfig.among(config.source), len(site.changes)
    with bootstrap.writing(config) as store:
        clock = lambda: BEGAN + site.now  # noqa: E731  (a clock that the days turn)
        async with keeping(config, store, chosen, clock) as keeper:
            for day in range(days):
                site.begin(day)
                await keeper.turn(2 * many if not day else round(SHARE * many) + 1)


def told(rate: Floats, days: int, seed: int) -> float:
    """Return the freshness of who is told all: the slowest of the stale pages first."""
    site, requests = _site("truthful", rate, days, seed), round(SHARE * rate.size)
    for served in site.served:
        served.append(0.0)
    order = np.argsort(rate)
    for day in range(1, days):
        held = [served[-1] for served in site.served]
        stale = [
            page
            for page in order
            if ((site.changes[page] > held[page]) & (site.changes[page] <= day)).any()
        ]
        for page in stale[:requests]:
            site.served[page].append(float(day))
    return site.freshness(float(days))


def _site(dates: str, rate: Floats, days: int, seed: int) -> Site:
    rng = np.random.default_rng(seed)  # the same changes for all maps
    changes = [np.sort(rng.uniform(0, days, rng.poisson(r * days))) for r in rate]
    return Site(changes, dates, np.random.default_rng(seed + 1))


def play(dates: str, rate: Floats, days: int, seed: int) -> float:
    """Return the freshness that a map with such dates leads to."""
    site = _site(dates, rate, days, seed)
    with tempfile.TemporaryDirectory() as folder, serving(site):
        asyncio.run(_keep(site, days, Path(folder)))
    return site.freshness(float(days))


def measure(pages: int, days: int, seeds: int) -> dict[str, object]:
    """Return freshness by map, and the bounds with hints and without."""
    rate = np.geomspace(0.02, 2.0, pages)
    found = {
        dates: [play(dates, rate, days, seed) for seed in range(1, seeds + 1)]
        for dates in MAPS
    }
    silent = np.array(found["silent"])
    budget = SHARE * pages
    return {
        "pages": pages,
        "freshness": {d: round(float(np.mean(v)), 4) for d, v in found.items()},
        "points_over_silent": {
            dates: [round(100 * float(v), 2) for v in np.array(some) - silent]
            for dates, some in found.items()
            if dates != "silent"
        },
        "told": round(
            float(np.mean([told(rate, days, seed) for seed in range(1, seeds + 1)])), 4
        ),
        "theory": {
            "no hints": round(blind_bound(rate, budget), 4),
            "perfect hints": round(signal_bound(rate, budget), 4),
        },
    }


def main() -> None:
    """Print the figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=60)
    parser.add_argument("--days", type=int, default=75)
    parser.add_argument("--seeds", type=int, default=3)
    given = parser.parse_args()
    found = measure(given.pages, given.days, given.seeds)
    print(json.dumps(found, indent=1))  # noqa: T201


if __name__ == "__main__":
    main()
