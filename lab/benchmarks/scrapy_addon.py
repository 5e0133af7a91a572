"""Requests that the Scrapy add-on saves against recrawling everything, as JSON.

A site on loopback has 150 pages and a front page that links to them all. The pages
change at random, as often as Cho and Garcia-Molina found pages to do ("The evolution of
the web", VLDB 2000): 23 % daily or more often, 15 % weekly, 16 % monthly, 16 % every
four months, 30 % less. A spider with the add-on crawls it once a day of a clock that
the script turns, within a budget per week. Every request is sent, by Scrapy. Its mean
freshness over time is worked out from what the site served when, and so is that of a
spider which fetches everything every so many days: the longest such interval with the
same freshness tells what the same copy would have cost.

    .venv/bin/python lab/benchmarks/scrapy_addon.py
    .venv/bin/python lab/benchmarks/scrapy_addon.py --budgets 30 60 --policy round-robin
"""

import argparse
import json
import logging
import tempfile
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
from scrapy import Request, Spider
from scrapy.crawler import AsyncCrawlerRunner
from scrapy.http import Response
from scrapy.utils.defer import deferred_from_coro
from scrapy.utils.reactor import install_reactor

from halflife.allocation import allocate
from halflife.scrapy.revisits import Revisits

BEGIN = 20_000.0  # days since the epoch
BURN = 20.0  # days of learning that are not scored
# Of the pages, the share with so many changes a day, spread evenly by their logarithm.
MIX = (
    (0.23, 1.0, 2.0),
    (0.15, 1 / 7, 1.0),
    (0.16, 1 / 30, 1 / 7),
    (0.16, 1 / 120, 1 / 30),
    (0.30, 1 / 1000, 1 / 120),
)
PHASES = 16  # beginnings of a full recrawl over which its freshness is averaged


def drawn_rates(pages: int, rng: np.random.Generator) -> np.ndarray:
    """Return how many changes a day each page has; each part has its exact share."""
    share = np.array([part for part, _, _ in MIX])
    edges = np.rint(np.append(0.0, share.cumsum()) * pages / share.sum()).astype(int)
    parts = zip(np.diff(edges), MIX, strict=True)
    drawn = [rng.uniform(np.log(lo), np.log(hi), n) for n, (_, lo, hi) in parts]
    return rng.permutation(np.exp(np.concatenate(drawn)))


class World:
    """Pages that change at known times, and what was served of them when."""

    def __init__(self, pages: int, days: int, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.days = days
        self.rates = drawn_rates(pages, rng)
        self.changes = [
            np.sort(rng.uniform(0.0, days, rng.poisson(rate * days)))
            for rate in self.rates
        ]
        self.began = time.monotonic()
        self.day = 0
        self.served: list[list[float]] = [[] for _ in self.rates]
        self.requests = 0

    def now(self) -> float:
        """Return the time; within a crawl it runs as the real one does."""
        return self.day + (time.monotonic() - self.began) / 86400.0

    def begin(self, day: int) -> None:
        """Let a day begin."""
        self.day, self.began = day, time.monotonic()

    def body(self, path: str) -> str:
        """Return a page as it is now."""
        self.requests += 1
        if path == "/":
            return "".join(f"<a href=/{n}>{n}</a> " for n in range(len(self.changes)))
        page, now = int(path[1:]), self.now()
        self.served[page].append(now)
        version = int(np.searchsorted(self.changes[page], now, side="right"))
        return f"<p>page {page} has been rewritten {version} times until today</p>"


def freshness(changes: np.ndarray, fetches: np.ndarray, days: float) -> float:
    """Return the share of time from BURN on in which a copy is as the page is.

    >>> freshness(np.array([35.0]), np.array([5.0, 37.5]), 40.0)
    0.875
    """
    ends = np.append(fetches[1:], days)
    after = np.searchsorted(changes, fetches, side="right")
    until = np.minimum(np.append(changes, np.inf)[after], ends)
    return float(np.maximum(until - np.maximum(fetches, BURN), 0.0).sum()) / (
        days - BURN
    )


def recrawled(world: World, every: float) -> float:
    """Return the mean freshness if all pages are fetched every so many days."""
    return float(
        np.mean(
            [
                freshness(c, np.arange(phase * every, world.days, every), world.days)
                for phase in np.arange(PHASES) / PHASES - 1.0
                for c in world.changes
            ]
        )
    )


def equal_interval(world: World, wanted: float) -> float:
    """Return the days between full recrawls that give this freshness, by bisection."""
    low, high = 0.02, BURN
    for _ in range(20):
        middle = (low * high) ** 0.5
        low, high = (
            (middle, high) if recrawled(world, middle) > wanted else (low, middle)
        )
    return low


@contextmanager
def serving(world: World) -> Iterator[str]:
    """Serve the pages on loopback."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            body = world.body(self.path).encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()


class PagesSpider(Spider):
    """Fetches all that the front page links to."""

    name = "pages"
    address = ""

    async def start(self) -> AsyncIterator[Any]:
        """Begin at the front page."""
        yield Request(self.address)

    def parse(self, response: Response) -> Iterator[Any]:
        """Follow every link."""
        yield {"url": response.url, "text": response.css("p::text").get()}
        yield from response.follow_all(css="a")


async def crawls(world: World, budget: int, rule: argparse.Namespace) -> dict[str, Any]:
    """Crawl the world once a day; return what came of it."""
    totals = dict.fromkeys(("fetched", "changed", "saved"), 0)
    with tempfile.TemporaryDirectory() as folder, serving(world) as address:
        given = {
            "ADDONS": {"halflife.scrapy.Addon": 500},
            "HALFLIFE_BUDGET": f"{7 * budget}/week",
            "HALFLIFE_STATE": str(Path(folder, "halflife.db")),
            "HALFLIFE_POLICY": rule.policy,
            "HALFLIFE_OBJECTIVE": rule.objective,
            "TELNETCONSOLE_ENABLED": False,
            "REMOTE_CONTROL_ENABLED": False,
        }
        for day in range(world.days):
            world.begin(day)
            runner = AsyncCrawlerRunner(given)
            crawler = runner.create_crawler(PagesSpider)
            await runner.crawl(crawler, address=address)
            for name in totals:
                totals[name] += crawler.stats.get_value(f"halflife/{name}")
    return totals


def figures(world: World, budget: int, totals: dict[str, Any]) -> dict[str, Any]:
    """Return what a budget bought, and what the same would have cost otherwise."""
    fetched = zip(world.changes, map(np.asarray, world.served), strict=True)
    fresh = float(np.mean([freshness(c, f, world.days) for c, f in fetched]))
    every = equal_interval(world, fresh)
    full = (len(world.changes) + 1) / every
    return {
        "budget_per_day": budget,
        "requests_per_day": round(world.requests / world.days, 1),
        "freshness": round(fresh, 4),
        "full_recrawl_every_days": round(every, 3),
        "full_recrawl_requests_per_day": round(full, 1),
        "requests_saved": round(1.0 - world.requests / world.days / full, 3),
        "full_recrawl_freshness_at_equal_requests": round(
            recrawled(world, (len(world.changes) + 1) * world.days / world.requests), 4
        ),
        "best_freshness_if_rates_were_known": round(
            best(world.rates, world.requests / world.days), 4
        ),
        **totals,
    }


def best(rates: np.ndarray, requests: float) -> float:
    """Return the freshness of the best plan of all, for pages whose rates are known."""
    frequency = np.maximum(allocate(rates, requests).frequency, 1e-9)
    return float((frequency / rates * -np.expm1(-rates / frequency)).mean())


async def measure(given: argparse.Namespace) -> None:
    """Print a JSON object with a row for each budget."""
    rows = []
    for budget in given.budgets:
        world = World(given.pages, given.days, given.seed)
        Revisits.clock = lambda _, w=world: BEGIN + w.now()  # type: ignore[method-assign]
        totals = await crawls(world, budget, given)
        rows.append(figures(world, budget, totals))
    head = vars(given) | {"scored_from_day": BURN}
    print(json.dumps({**head, "rows": rows}, indent=1))


def main() -> None:
    """Read the arguments and measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=150)
    parser.add_argument("--days", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--policy", default="champion")
    parser.add_argument("--objective", default="freshness")
    parser.add_argument("--budgets", type=int, nargs="+", default=[50, 75])
    given = parser.parse_args()
    logging.disable(logging.WARNING)
    install_reactor("twisted.internet.asyncioreactor.AsyncioSelectorReactor")
    from twisted.internet.task import react  # noqa: PLC0415  (the reactor comes first)

    react(lambda _: deferred_from_coro(measure(given)))


if __name__ == "__main__":
    main()
