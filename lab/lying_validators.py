"""Servers whose "not modified" lies: what learned trust saves, against the truth.

    python -m lab.lying_validators [--pages 40] [--rounds 60] [--seed 1] [--from 1]

Pages on loopback change at random. Each round a third of them, the same ones for all,
is fetched by the product's own client, gate and store. There are four servers: an
honest one; one whose ETag never changes; one that answers every conditional request
with 304; and one with a Last-Modified that never changes and no ETag. There are three
ways to ask: believing every 304 but one in a hundred (``blind``), with learned trust
(``learned``), and without conditions (``ignored``). Freshness is the share of copies
that are as the server has them, over all rounds from ``--from`` on. JSON goes to
standard output.
"""

import argparse
import asyncio
import json
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import aclosing, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import numpy as np

from halflife.config import Config
from halflife.core.request import Fetch
from halflife.engine import bootstrap, network
from halflife.engine.loop import LEASE, Allowance
from halflife.kinds.pages import page_sources
from halflife.kinds.pages.client import PageClient
from halflife.kinds.pages.settings import PagesConfig
from halflife.kinds.pages.validators import ValidatorMemory
from halflife.net.dates import to_http
from halflife.stores import Store

BEGAN = 20_000.0  # days
SERVERS = ("honest", "frozen-etag", "always-304", "frozen-date")
WAYS = ("blind", "learned", "ignored")
CHANGED = 0.15  # the chance that a page changes between two rounds


@dataclass
class Server:
    """Pages and what is said of their versions."""

    kind: str
    version: dict[str, int]
    now: float = BEGAN
    url: str = ""
    whole: int = 0  # answers with a body

    def validators(self, path: str) -> dict[str, str]:
        """Return the headers that name a version."""
        version = self.version[path]
        if self.kind == "frozen-etag":
            return {"ETag": '"frozen"'}
        if self.kind == "frozen-date":
            return {"Last-Modified": to_http(BEGAN - 100.0)}
        return {"ETag": f'"{version}"', "Last-Modified": to_http(BEGAN + version / 24)}

    def is_unchanged(self, path: str, tag: str | None, since: str | None) -> bool:
        """Say whether a conditional request is answered with 304."""
        if tag is None and since is None:
            return False
        if self.kind == "always-304":
            return True
        said = self.validators(path)
        return tag == said.get("ETag") if tag else since == said.get("Last-Modified")

    def text(self, path: str) -> str:
        """Return a page."""
        return f"<html><title>{path}</title><p>version {self.version[path]}</p></html>"


@contextmanager
def served(server: Server) -> Iterator[Server]:
    """Serve pages on loopback during the block."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = 1 << 16

        def do_GET(self) -> None:
            tag = self.headers.get("If-None-Match")
            since = self.headers.get("If-Modified-Since")
            same = server.is_unchanged(self.path, tag, since)
            server.whole += not same
            body = b"" if same else server.text(self.path).encode()
            self.send_response(304 if same else 200)
            self.send_header("Content-Type", "text/html")
            for name, value in server.validators(self.path).items():
                self.send_header(name, value)
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
    """Return the share of copies that are as the server has them."""
    right = 0
    for path in server.version:
        copy = store.content(server.url + path)
        right += copy is not None and copy.body.decode() == server.text(path)
    return right / len(server.version)


async def _play(
    server: Server, way: str, rounds: int, seed: int, folder: Path
) -> list[float]:
    """Fetch round after round; return the freshness after each."""
    urls = ", ".join(f'"{server.url}{path}"' for path in server.version)
    text = (
        "[budget]\nrequests = 1000000\n[fetch]\ndelay = 0.0\n[[source]]\n"
        f'name = "s"\nallow = ["127.0.0.0/8"]\nrobots = false\npages = [{urls}]\n'
    )
    config = Config.parse(text, folder / "halflife.toml")
    (source,), fresh = PagesConfig.among(config.source), []
    rng = np.random.default_rng(seed)  # the same pages change for all
    with bootstrap.writing(config) as store:
        run = store.begin(["s"], server.now, lease=LEASE * 1e6)
        async with network.gate(config, store, lambda: server.now) as gate:
            site = page_sources.site(source)
            trust = ValidatorMemory(store, "s") if way == "learned" else None
            site = replace(site, validators=trust)
            client = PageClient(gate, {"s": site}, source_of=lambda _: "s")
            for turn in range(rounds):
                paths = list(server.version)
                for path in paths:
                    server.version[path] += int(rng.random() < CHANGED)
                some = rng.permutation(len(paths))[: len(paths) // 3]
                chosen = paths if not turn else [paths[i] for i in some]
                keys = [server.url + path for path in chosen]
                held = store.held(keys)
                if way == "ignored":
                    held = [h and replace(h, etag="", modified=None) for h in held]
                fetches = [Fetch(k, h) for k, h in zip(keys, held, strict=True)]
                looks = client.perform(fetches, server.now, Allowance(10**6))
                async with aclosing(looks) as batches:
                    async for batch in batches:
                        store.append(run, batch)
                fresh.append(_fresh(server, store))
                server.now += 0.25
        store.finish(run, server.now)
    return fresh


def measure(
    pages: int,
    rounds: int,
    seed: int,
    first: int = 1,
    servers: Sequence[str] = SERVERS,
    ways: Sequence[str] = WAYS,
) -> dict[str, dict[str, float]]:
    """Return freshness and bodies sent, by server and way to ask.

    Who ignores validators is as fresh at any server, so that is measured once.
    """
    fresh, bodies = _measured("honest", "ignored", pages, rounds, seed, first)
    found: dict[str, dict[str, float]] = {}
    for kind in servers:
        found[kind] = {"ignored": fresh, "ignored_bodies": bodies}
        for way in ways:
            if way != "ignored":
                got = _measured(kind, way, pages, rounds, seed, first)
                found[kind][way], found[kind][f"{way}_bodies"] = got
    return found


def _measured(
    kind: str, way: str, pages: int, rounds: int, seed: int, first: int
) -> tuple[float, float]:
    """Return the mean freshness and the bodies sent."""
    paths = {f"/p/{i}": 0 for i in range(pages)}
    with (
        tempfile.TemporaryDirectory() as folder,
        served(Server(kind, paths)) as server,
    ):
        fresh = asyncio.run(_play(server, way, rounds, seed, Path(folder)))
    return round(float(np.mean(fresh[first:])), 4), float(server.whole)


def main() -> None:
    """Print the figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--from", type=int, default=1, dest="first")
    given = parser.parse_args()
    found = measure(given.pages, given.rounds, given.seed, given.first)
    print(json.dumps(found, indent=1))  # noqa: T201


if __name__ == "__main__":
    main()
