"""Crawlers of several makes in the same world: ``python -m lab.entries``.

Each plays by the protocol of ``docs/worlds.md`` in a world of its own, made of the same
files. The first crawl is free for all; then everybody may send the same number of
requests a day, and gets them in equal parts at the turns of a day. The server counts
requests and scores what it handed out.
"""

import json
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias

from halflife.worlds.make import make
from halflife.worlds.server import World
from lab.entries import halflife_entry

HERE = Path(__file__).parent
EVERYTHING = 10**6  # requests that the first crawl may send


@dataclass(frozen=True, slots=True)
class Turn:
    """What a client is told at a turn.

    Attributes:
        site: The address of the site.
        requests: How many requests it may send; as many as it likes at the first.
        now: The time of the world, in days.
        folder: Where it keeps what it knows.

    """

    site: str
    requests: int
    now: float
    folder: Path


Entry: TypeAlias = Callable[[Turn], None]


def _script(*words: str) -> Entry:
    """Return a client that is a program: it gets site, requests, time and folder."""

    def turn(told: Turn) -> None:
        given = told.site, str(told.requests), f"{told.now:.6f}", str(told.folder)
        subprocess.run([*words, *given], check=True, timeout=120)  # noqa: S603

    return turn


ENTRIES: dict[str, Entry] = {
    "halflife": lambda told: halflife_entry.turn(
        told.site, told.requests, told.now, told.folder
    ),
    "nutch-rule": _script(sys.executable, str(HERE / "nutch_rule.py")),
    "scrapy-timer": _script(sys.executable, str(HERE / "scrapy_timer.py")),
    "cron-curl": _script("bash", str(HERE / "cron_curl.sh")),
}


@dataclass(frozen=True, slots=True)
class EntryRules:
    """The same for every client: the site, the days, requests and turns a day."""

    site: str = "site01"
    days: int = 20
    requests: int = 20
    turns: int = 2
    faults: tuple[str, ...] = ()


def play(folder: Path, entry: Entry, rules: EntryRules) -> dict[str, Any]:
    """Return how one client did."""
    world = World.open(folder, (rules.site,), days=rules.days, faults=rules.faults)
    with world.served() as desk, TemporaryDirectory() as place:
        entry(Turn(world.origins[1], EVERYTHING, world.clock(), Path(place)))
        for number in range(1, rules.days * rules.turns):
            _advance(desk, 1.0 / rules.turns)
            granted = rules.requests * number // rules.turns
            granted -= rules.requests * (number - 1) // rules.turns
            entry(Turn(world.origins[1], granted, world.clock(), Path(place)))
        _advance(desk, 1.0 / rules.turns)
        (found,) = json.loads(_asked(f"{desk}/score"))["results"]
    return {**found, **found["sources"][rules.site]}


def _advance(desk: str, days: float) -> None:
    _asked(f"{desk}/clock", json.dumps({"days": days}).encode())


def _asked(url: str, body: bytes | None = None) -> bytes:
    with urllib.request.urlopen(url, body, timeout=60) as answer:  # noqa: S310
        return bytes(answer.read())


def table(
    names: Sequence[str], rules: EntryRules, seed: int = 4, size: float = 0.03
) -> list[dict[str, Any]]:
    """Return one row for each client, all of them in the world of a seed."""
    with TemporaryDirectory() as place:
        folder = Path(place) / "world"
        make(folder, ("sites",), seed, size)
        return [play(folder, ENTRIES[name], rules) for name in names]
