"""Servers that say how long pages stay as they are: what it saves to heed that.

    python -m lab.cache_lifetimes [--pages 30] [--rounds 120] [--seeds 1,2,3,4]

Pages on loopback, kept by the product's own keeper with a clock of its own, four rounds
a day. All say ``Cache-Control: max-age``. At the ``honest`` server a page may change
only at its own hour of the day, and ``max-age`` ends there. At the ``liar`` it changes
at any moment, as often, and ``max-age`` is a day. There are three budgets: in a round a
request for each page (``plenty``), for a half or for a quarter of them (``scarce``).
Freshness is the share of copies that are as the server has them, in the middle between
two rounds, over the second half of all rounds. JSON goes to standard output.
"""

import argparse
import asyncio
import json
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import numpy as np

from halflife.config import Config
from halflife.core.arrays import Floats
from halflife.engine import bootstrap
from halflife.kinds.pages.runner import keeping
from halflife.kinds.pages.settings import PagesConfig
from halflife.stores import Store

BEGAN = 20_000.0  # days
EACH = 0.25  # days between two rounds
CHANGED = 0.6  # the chance that a page changes at its hour
SERVERS = ("honest", "liar")
WAYS = ("heeded", "ignored")
SHARES = {"plenty": 1.0, "half": 0.5, "scarce": 0.25}


@dataclass
class Server:
    """Pages that change at known moments."""

    kind: str
    phase: Floats  # the hour of each page, as a part of the day
    changes: list[Floats]  # the moments of each page's changes
    now: float = BEGAN
    url: str = ""
    sent: int = 0

    def version(self, page: int) -> str:
        """Return a page as it is now."""
        many = int(np.searchsorted(self.changes[page], self.now, side="right"))
        return f"<html><p>page {page}, version {many}</p></html>"

    def seconds(self, page: int) -> int:
        """Return for how long a page says to stay as it is."""
        if self.kind == "liar":
            return 86400
        left = (self.phase[page] - self.now) % 1.0
        return int(left * 86400.0)


def draw(kind: str, pages: int, days: float, seed: int) -> Server:
    """Draw the changes of a server; each page changes ``CHANGED`` times a day."""
    rng = np.random.default_rng(seed)
    phase, changes = rng.random(pages), []
    for page in range(pages):
        if kind == "honest":
            hours = BEGAN + phase[page] + np.arange(int(days) + 1)
            changes.append(hours[rng.random(hours.size) < CHANGED])
        else:
            many = rng.poisson(CHANGED * days)
            changes.append(np.sort(BEGAN + days * rng.random(many)))
    return Server(kind, phase, changes)


@contextmanager
def served(server: Server) -> Iterator[Server]:
    """Serve pages on loopback during the block."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = 1 << 16

        def do_GET(self) -> None:
            server.sent += 1
            page = int(self.path.rpartition("/")[2])
            body = server.version(page).encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Cache-Control", f"max-age={server.seconds(page)}")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    web = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    web.daemon_threads = True
    server.url = f"http://127.0.0.1:{web.server_address[1]}"
    thread = Thread(target=partial(web.serve_forever, 0.02), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        web.shutdown()
        web.server_close()
        thread.join()


def _fresh(server: Server, store: Store) -> float:
    right = 0
    for page in range(len(server.changes)):
        copy = store.content(f"{server.url}/p/{page}")
        right += copy is not None and copy.body.decode() == server.version(page)
    return right / len(server.changes)


async def _play(
    server: Server, way: str, rounds: int, requests: int, folder: Path
) -> tuple[float, int]:
    """Keep the pages; return the freshness and the requests of the second half."""
    urls = ", ".join(f'"{server.url}/p/{i}"' for i in range(len(server.changes)))
    text = (
        '[budget]\nrequests = 1000000\n[fetch]\ndelay = 0.0\n[[source]]\nname = "s"\n'
        f'allow = ["127.0.0.0/8"]\nrobots = false\nnoise = 0\npages = [{urls}]\n'
    )
    config, fresh, sent = Config.parse(text, folder / "halflife.toml"), [], 0
    chosen = PagesConfig.among(config.source)
    with bootstrap.writing(config) as store:
        async with keeping(config, store, chosen, lambda: server.now) as keeper:
            if keeper.promised is not None:
                keeper.promised.is_on = way == "heeded"
            for turn in range(rounds):
                if turn == rounds // 2:
                    sent = server.sent
                await keeper.turn(len(server.changes) if not turn else requests)
                server.now += EACH / 2.0
                fresh.append(_fresh(server, store))
                server.now += EACH / 2.0
    return float(np.mean(fresh[rounds // 2 :])), server.sent - sent


def freshness_of_all(server: Server, rounds: int) -> float:
    """Return the freshness if every page is fetched in every round, by the truth.

    It is what ``plenty`` comes to for who heeds nothing.
    """
    begin = BEGAN + EACH * np.arange(rounds // 2, rounds)
    many = [
        np.searchsorted(one, begin + EACH / 2.0, side="right")
        - np.searchsorted(one, begin, side="right")
        for one in server.changes
    ]
    return float(np.mean(np.array(many) == 0))


def measure(
    pages: int, rounds: int, seeds: Sequence[int], budgets: Sequence[str] = ("plenty",)
) -> list[dict[str, object]]:
    """Return freshness and requests, by server and budget, in the mean over seeds."""
    rows: list[dict[str, object]] = []
    for kind in SERVERS:
        for budget in budgets:
            row: dict[str, object] = {"server": kind, "budget": budget}
            for way in WAYS:
                many = max(round(SHARES[budget] * pages), 1)
                found = [play(kind, way, pages, rounds, many, s) for s in seeds]
                fresh, sent = np.mean(found, axis=0)
                row |= {way: round(float(fresh), 4), f"{way}_requests": float(sent)}
            rows.append(row)
    return rows


def play(
    kind: str, way: str, pages: int, rounds: int, requests: int, seed: int
) -> tuple[float, float]:
    """Return the freshness of a server's copy, and the requests it took."""
    server = draw(kind, pages, rounds * EACH, seed)
    with tempfile.TemporaryDirectory() as folder, served(server):
        return asyncio.run(_play(server, way, rounds, requests, Path(folder)))


def main() -> None:
    """Print the figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=30)
    parser.add_argument("--rounds", type=int, default=120)
    parser.add_argument("--seeds", default="1,2,3,4")
    given = parser.parse_args()
    seeds = [int(one) for one in given.seeds.split(",")]
    for row in measure(given.pages, given.rounds, seeds, tuple(SHARES)):
        print(json.dumps(row))  # noqa: T201


if __name__ == "__main__":
    main()
