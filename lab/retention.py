"""How large a state file grows over the years, with and without clearing.

``python -m lab.retention`` keeps some hundred sources for two years of
simulated days: a look at every page each day, charges, runs, alarms that come and go
and are told. One file is cleared every week, the other never.
"""

import argparse
import json
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from halflife.alerts import Health
from halflife.alerts.machine import step
from halflife.alerts.messages import Recipient, letters
from halflife.core.item import Item
from halflife.core.observation import Observations, Seen
from halflife.stores.outbox import Outbox
from halflife.stores.retention import RetentionLimits, clear
from halflife.stores.sqlite import SqliteStore

START = 20_000.0
WEEK = 7
TARGETS = (Recipient("ops"),)


@dataclass(frozen=True, slots=True)
class World:
    """What is kept, and for how long."""

    sources: int = 200
    pages: int = 5
    days: int = 730
    seed: int = 1


def items(world: World) -> list[Item]:
    """Return the pages of all sources."""
    return [
        Item(f"https://site{s:04}.example/page{p}", f"s{s:04}", group=f"site{s:04}")
        for s in range(world.sources)
        for p in range(world.pages)
    ]


def keep(
    world: World, path: Path, every: int, limits: RetentionLimits
) -> dict[str, object]:
    """Keep the world in a file that is cleared every so many days; 0 is never."""
    rng = np.random.default_rng(world.seed)
    known = items(world)
    keys, names = tuple(i.key for i in known), sorted({i.source for i in known})
    rates = rng.lognormal(-3.0, 1.5, len(keys))
    version = np.zeros(len(keys), np.int64)
    sizes, spent = [], 0.0
    with SqliteStore.open(path, create=True) as store:
        store.add(known)
        for day in range(world.days):
            now = START + day
            version += rng.poisson(rates)
            _look(store, names, keys, version, now)
            _judge(store, names, rng, now)
            if every and day % every == every - 1:
                began = time.perf_counter()
                clear(store, limits, now)
                spent += time.perf_counter() - began
                sizes.append(_bytes(store))
        wrong, believed = store.verify(), _believed(store)
        rows = _rows(store)
    return {
        "bytes": path.stat().st_size,
        "bytes_by_week": sizes[:: max(len(sizes) // 10, 1)],
        "seconds_clearing": round(spent, 2),
        "rows": rows,
        "verify": wrong,
        "believed": believed,
    }


def _look(
    store: SqliteStore,
    names: list[str],
    keys: tuple[str, ...],
    version: object,
    now: float,
) -> None:
    """Look at every page, and pay for it."""
    run = store.begin(names, now, lease=0.1)
    store.charge(run, len(keys), now)
    digests = tuple(f"{number:032x}" for number in np.asarray(version).tolist())
    at = now + np.arange(len(keys)) / (10.0 * len(keys))
    seen = np.full(len(keys), int(Seen.PRESENT), np.int8)
    store.append(run, Observations(keys, at, seen, digests))
    store.finish(run, now + 0.1)


def _judge(
    store: SqliteStore, names: list[str], rng: np.random.Generator, now: float
) -> None:
    """Let one source in fifty be in trouble, and tell of it."""
    outbox = Outbox(store)
    ill = rng.random(len(names)) < 0.02
    healths = [
        Health(name, held="too few" if bad else "")
        for name, bad in zip(names, ill, strict=True)
    ]
    with store.together():
        turns = step(outbox.alarms(), healths, now + 0.2)
        outbox.keep(turns)
        outbox.post(letters(turns, TARGETS, now + 0.2))
        for message in outbox.due(now + 0.5):
            outbox.sent(message, now + 0.5)


def _bytes(store: SqliteStore) -> int:
    """Return the bytes of the file, with what lies in its log."""
    with store.reading() as db:
        pages = db.execute("PRAGMA page_count").fetchone()[0]
        return int(pages * db.execute("PRAGMA page_size").fetchone()[0])


def _rows(store: SqliteStore) -> dict[str, int]:
    tables = ("observation", "rolled", "ledger", "rolled_ledger", "run", "message")
    with store.reading() as db:
        return {
            name: db.execute(f"SELECT count(*) FROM {name}").fetchone()[0]  # noqa: S608  (constants)
            for name in tables
        }


def _believed(store: SqliteStore) -> list[float]:
    evidence = store.evidence()
    sums = (evidence.looks, evidence.changes, evidence.quiet)
    return [float(column.sum()) for column in sums]


def main(argv: list[str] | None = None) -> None:
    """Print the sizes as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sources", type=int, default=200)
    parser.add_argument("--pages", type=int, default=5)
    parser.add_argument("--days", type=int, default=730)
    given = parser.parse_args(argv)
    world = World(given.sources, given.pages, given.days)
    limits = RetentionLimits()
    with tempfile.TemporaryDirectory() as folder:
        cleared = keep(world, Path(folder) / "cleared.db", WEEK, limits)
        whole = keep(world, Path(folder) / "whole.db", 0, limits)
    same = cleared.pop("believed") == whole.pop("believed")
    answer = {
        **asdict(world),
        "keep": asdict(limits),
        "same_belief": same,
        "cleared": cleared,
        "never_cleared": whole,
    }
    json.dump(answer, sys.stdout, indent=2)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
