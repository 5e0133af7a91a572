"""Pages with noise and real edits: how often "changed" is right.

    python -m lab.page_noise [--pages 6] [--rounds 14] [--seed 1] [--set second]

A server on loopback has pages of ten kinds: with a clock, one of minutes, a token, a
counter of views, a rotating quotation, advertisements made of different elements, a
shuffled list, "so long ago", several of these at once, and none. Each page is edited
now and then, and the server knows when. All pages are fetched round after round by the
product's own client, gate and store, without looking for noise and with it. The second
set of pages is in ``lab.noise_sites``.

Precision is the share of reported changes that were edits; recall the share of edits
that were reported. JSON goes to standard output.
"""

import argparse
import asyncio
import json
import tempfile
from collections.abc import Callable, Iterator
from contextlib import aclosing, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import numpy as np
from numpy.random import Generator

from halflife.config import Config
from halflife.core.observation import Observation, Seen
from halflife.core.request import Fetch
from halflife.engine import bootstrap, network
from halflife.engine.loop import LEASE, Allowance
from halflife.kinds.pages import page_sources
from halflife.kinds.pages.client import PageClient
from halflife.kinds.pages.settings import PagesConfig
from lab.noise_sites import PARTS, SitePage

BEGAN = 20_000.0  # days
EDITED = 0.25  # the chance that a page is edited between two rounds
SHARE = 0.2  # of requests that may go into second fetches
QUOTES = (
    "Haste makes waste", "Still waters run deep", "Many hands make light work",
    "No smoke without fire", "The early bird catches the worm",
)  # fmt: skip
ADS = (
    "<a class=banner href=/x>Buy two hats</a><em>Now</em>", "<p>Fly to Rome</p>",
    "<h4>Insurance</h4><p>for all you own</p>", "<span>Win a car</span>",
)  # fmt: skip


@dataclass
class Page:
    """One page: its text, and what of it is noise."""

    kind: str
    number: int
    words: list[str]
    items: list[str]
    label: str = "Views"
    edits: int = 0
    views: int = 0

    def edit(self, rng: Generator) -> None:
        """Change something that matters."""
        self.edits += 1
        what = int(rng.integers(4))
        if what == 0:
            self.words[int(rng.integers(len(self.words)))] = f"word{self.edits}"
        elif what == 1:
            self.words.append(f"more{self.edits}")
        elif what == 2:
            self.items[int(rng.integers(len(self.items)))] = f"item {self.edits}x"
        else:
            self.label = f"Views of edition {self.edits}"

    def html(self, now: float, rng: Generator) -> str:
        """Return the page as it is served now."""
        self.views += 1
        half = len(self.words) // 2
        noise = NOISE[self.kind]
        parts = [one(self, now, rng) for one in noise]
        items = list(self.items)
        if self.kind in {"shuffled", "several"}:
            rng.shuffle(items)
        rows = "".join(f"<li><b>{item}</b> in stock" for item in items)
        return (
            f"<!DOCTYPE html><html><title>{self.kind} {self.number}</title><body>"
            f"<h1>Number {self.number}</h1><p>{' '.join(self.words[:half])}"
            f"<p>{' '.join(self.words[half:])}<ul id=stock>{rows}</ul>"
            f"<p>{self.label} of page {self.number}</p>{''.join(parts)}"
            "<footer><p>All rights reserved</footer></body></html>"
        )


Noise = Callable[[Page, float, Generator], str]


def _seconds(now: float) -> int:
    return round(now * 86400.0)


def _clock(page: Page, now: float, rng: Generator) -> str:
    del page, rng
    at = _seconds(now) % 86400
    said = f"{at // 3600:02d}:{at // 60 % 60:02d}:{at % 60:02d}"
    return f"<div class=now>It is <b>{said}</b> at our office</div>"


def _minutes(page: Page, now: float, rng: Generator) -> str:
    del page, rng
    at = (_seconds(now) + 7200) % 86400
    return f"<p>Local time: {at // 3600:02d}:{at // 60 % 60:02d}</p>"


def _token(page: Page, now: float, rng: Generator) -> str:
    del page, now
    word = rng.bytes(12).hex()
    return (
        f"<form><input type=hidden name=csrf value={word}></form>"
        f"<p class=id>Request {rng.bytes(8).hex()} was served</p>"
    )


def _views(page: Page, now: float, rng: Generator) -> str:
    del now, rng
    return f"<div>{page.views} people have read this</div>"


def _quote(page: Page, now: float, rng: Generator) -> str:
    del page, now
    return f"<p>Thought of the moment<p>{QUOTES[int(rng.integers(len(QUOTES)))]}</p>"


def _ads(page: Page, now: float, rng: Generator) -> str:
    del page, now
    return f"<aside><div class=ad>{ADS[int(rng.integers(len(ADS)))]}</div></aside>"


def _ago(page: Page, now: float, rng: Generator) -> str:
    del page, now
    n, unit = int(rng.integers(1, 60)), ("seconds", "minutes")[int(rng.integers(2))]
    said = "just now" if n < 10 else f"{n} {unit} ago"
    return f"<div class=ago>The last visitor came {said}</div>"


NOISE: dict[str, tuple[Noise, ...]] = {
    "clock": (_clock,),
    "minutes": (_minutes,),
    "token": (_token,),
    "views": (_views,),
    "quote": (_quote,),
    "ads": (_ads,),
    "shuffled": (),
    "ago": (_ago,),
    "several": (_clock, _views, _ads),
    "quiet": (),
}


@dataclass
class World:
    """The pages of the server, and its clock."""

    pages: dict[str, Page] | dict[str, SitePage]
    rng: Generator
    now: float = BEGAN
    asked: int = 0
    url: str = ""
    fails: list[str] = field(default_factory=list)

    @classmethod
    def made(cls, many: int, seed: int) -> "World":
        """Return a world with so many pages of each kind."""
        rng = np.random.default_rng(seed)
        pages = {
            f"/{kind}/{i}": Page(
                kind,
                i,
                [f"w{int(n)}" for n in rng.integers(1000, size=60)],
                [f"thing {int(n)}" for n in rng.integers(1000, size=8)],
            )
            for kind in NOISE
            for i in range(many)
        }
        return cls(pages, rng)

    @classmethod
    def second(cls, many: int, seed: int) -> "World":
        """Return a world with so many pages of each kind of the second set."""
        rng = np.random.default_rng(seed)
        pages = {
            f"/{kind.replace(' ', '-')}/{i}": SitePage.made(kind, i, rng)
            for kind in PARTS
            for i in range(many)
        }
        return cls(pages, rng)

    def answer(self, path: str) -> str:
        """Return a page; each request takes a second of the server's time."""
        self.asked += 1
        self.now += 1.0 / 86400.0
        page = self.pages.get(path)
        return "" if page is None else page.html(self.now, self.rng)

    def later(self) -> None:
        """Let some hours pass, and somebody edit."""
        self.now += float(self.rng.uniform(0.2, 0.6))
        for page in self.pages.values():
            if self.rng.random() < EDITED:
                page.edit(self.rng)


@contextmanager
def served(world: World) -> Iterator[World]:
    """Serve a world on loopback during the block."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = 1 << 16  # an answer goes out in one piece

        def do_GET(self) -> None:
            body = world.answer(self.path).encode()
            self.send_response(200 if body else 404)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    world.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = Thread(target=partial(server.serve_forever, 0.02), daemon=True)
    thread.start()
    try:
        yield world
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@dataclass
class Score:
    """Reported changes against edits."""

    right: int = 0
    wrong: int = 0
    missed: int = 0
    by_round: dict[int, int] = field(default_factory=dict)
    right_by_round: dict[int, int] = field(default_factory=dict)
    by_kind: dict[str, list[int]] = field(default_factory=dict)

    def add(self, turn: int, kind: str, *, edited: bool, reported: bool) -> None:
        """Count one page of one round."""
        self.by_round.setdefault(turn, 0)
        self.by_round[turn] += reported and not edited
        self.right_by_round.setdefault(turn, 0)
        self.right_by_round[turn] += reported and edited
        self.right += edited and reported
        self.wrong += reported and not edited
        self.missed += edited and not reported
        row = self.by_kind.setdefault(kind, [0, 0, 0])
        row[0] += edited and reported
        row[1] += reported and not edited
        row[2] += edited and not reported

    def judge(
        self,
        world: World,
        turn: int,
        look: Observation,
        was: Observation | None,
        before: dict[str, int],
    ) -> None:
        """Compare one observation with what the server knows."""
        path = look.key[len(world.url) :]
        if look.seen is not Seen.PRESENT:
            world.fails.append(look.note)
        elif turn and was is not None:
            page = world.pages[path]
            edited, reported = page.edits != before[path], look.digest != was.digest
            self.add(turn, page.kind, edited=edited, reported=reported)

    def _later(self) -> float:
        """Return the precision of the second half of the rounds."""
        turns = sorted(self.by_round)[len(self.by_round) // 2 :]
        right = sum(self.right_by_round[turn] for turn in turns)
        wrong = sum(self.by_round[turn] for turn in turns)
        return round(right / max(right + wrong, 1), 4)

    def row(self) -> dict[str, object]:
        """Return it for programs."""
        return {
            "precision": round(self.right / max(self.right + self.wrong, 1), 4),
            "precision_once_learned": self._later(),
            "recall": round(self.right / max(self.right + self.missed, 1), 4),
            "edits": self.right + self.missed,
            "wrong": self.wrong,
            "missed": self.missed,
            "wrong_by_round": [*self.by_round.values()],
            "by_kind": self.by_kind,
        }


async def _rounds(world: World, rounds: int, share: float, folder: Path) -> Score:
    """Fetch all pages round after round; return how right the reports were."""
    urls = ", ".join(f'"{world.url}{path}"' for path in world.pages)
    text = (
        "[budget]\nrequests = 1000000\n[fetch]\ndelay = 0.0\n"
        f'[[source]]\nname = "noisy"\nallow = ["127.0.0.0/8"]\nrobots = false\n'
        f"noise = {share}\npages = [{urls}]\n"
    )
    path = folder / "halflife.toml"
    path.write_text(text, encoding="utf-8")
    config, score = Config.parse(text, path), Score()
    (source,) = PagesConfig.among(config.source)
    with bootstrap.writing(config) as store:
        run = store.begin([source.name], world.now, lease=LEASE * 1e6)
        async with network.gate(config, store, lambda: world.now) as gate:
            site = page_sources.site(source)
            memory = page_sources.memory(source, site, store, gate.clock)
            site = replace(site, memory=memory, moment=0.0)
            # One at a time, as a host is asked that has a delay to keep.
            client = PageClient(
                gate, {source.name: site}, source_of=lambda _: "noisy", concurrency=1
            )
            before = dict.fromkeys(world.pages, -1)
            for turn in range(rounds):
                keys = [world.url + path for path in world.pages]
                held = dict(zip(keys, store.held(keys), strict=True))
                fetches = [Fetch(*one) for one in held.items()]
                looks = client.perform(fetches, world.now, Allowance(10**6))
                async with aclosing(looks) as batches:
                    async for batch in batches:
                        store.append(run, batch)
                        for look in batch:
                            score.judge(world, turn, look, held[look.key], before)
                before = {path: page.edits for path, page in world.pages.items()}
                world.later()
        store.finish(run, world.now)
    return score


SETS: dict[str, Callable[[int, int], World]] = {
    "first": World.made,
    "second": World.second,
}


def measure(
    pages: int, rounds: int, seed: int, which: str = "first"
) -> dict[str, object]:
    """Return precision and recall, without looking for noise and with it."""
    count = len(SETS[which](pages, seed).pages)
    return {
        "pages": count,
        "rounds": rounds,
        "before": judge(SETS[which](pages, seed), rounds, 0.0),
        "after": judge(SETS[which](pages, seed), rounds, SHARE),
    }


def judge(world: World, rounds: int, share: float) -> dict[str, object]:
    """Return precision and recall if a share of requests goes into second fetches."""
    with tempfile.TemporaryDirectory() as folder, served(world):
        score = asyncio.run(_rounds(world, rounds, share, Path(folder)))
    return score.row() | {
        "requests": world.asked,
        "second_fetches": world.asked - rounds * len(world.pages),
        "failed": len(world.fails),
    }


def main() -> None:
    """Print the figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=6)
    parser.add_argument("--rounds", type=int, default=14)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--set", choices=[*SETS], default="first", dest="which")
    given = parser.parse_args()
    found = measure(given.pages, given.rounds, given.seed, given.which)
    print(json.dumps(found, indent=1))  # noqa: T201


if __name__ == "__main__":
    main()
