"""What the state file costs: looks written a second, bytes an item, time to open.

Every figure is for the durable setting (write-ahead log, ``synchronous = FULL``), with
items named by URLs of 59 characters, 128-bit fingerprints, ETags and dates. One look in
three finds a change. Prints one line of JSON.

    .venv/bin/python lab/benchmarks/store.py
    .venv/bin/python lab/benchmarks/store.py --items 1000000 --folder /var/tmp

A figure ``*_per_cpu_s`` does not depend on the disk or on what else the machine does;
``bare_commits_per_s`` is what the disk allows: one row to a transaction, nothing else.
"""

import argparse
import hashlib
import json
import sqlite3
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np

from halflife.core.item import Item
from halflife.core.observation import Observation, Observations, Seen
from halflife.stores import Run
from halflife.stores.sqlite import SqliteStore


class Timer:
    """Wall and processor seconds, added up over the stretches that were timed."""

    def __init__(self) -> None:
        self.wall = self.cpu = 0.0

    @contextmanager
    def running(self) -> Iterator[None]:
        """Time a stretch."""
        wall, cpu = time.perf_counter(), time.process_time()
        yield
        self.wall += time.perf_counter() - wall
        self.cpu += time.process_time() - cpu

    def rates(self, name: str, count: int) -> dict[str, int]:
        """Return how many a second, by the clock and by the processor."""
        return {
            f"{name}_per_s": round(count / self.wall),
            f"{name}_per_cpu_s": round(count / self.cpu),
        }


def look(number: int, at: float, rng: np.random.Generator) -> Observation:
    """Return a look at an item; its content is one of two."""
    content = hashlib.blake2b(b"%d %d" % (number, rng.random() < 1 / 3), digest_size=16)
    return Observation(
        key(number),
        at,
        Seen.PRESENT,
        content.hexdigest(),
        raw=content.hexdigest(),
        etag=f'"5f3e-{number:x}"',
        modified=at - 1.0,
    )


def key(number: int) -> str:
    """Return an item's name."""
    return f"https://www.host{number % 500:03}.example/section/{number:08}/page.html"


def write(store: SqliteStore, run: Run, looks: int, *, batch: int, now: float) -> Timer:
    """Append looks at random items, ``batch`` to a transaction."""
    rng, timer = np.random.default_rng(0), Timer()
    known = len(store.evidence(run.sources))
    for turn in range(looks // batch):
        rows = rng.choice(known, batch, replace=False)
        at = now + turn * 1e-6
        made = Observations.of(look(int(row), at, rng) for row in rows)
        with timer.running():
            store.append(run, made)
    return timer


def bare(path: Path, commits: int) -> Timer:
    """Commit one row at a time, durably, with nothing around it."""
    timer = Timer()
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = FULL")
        db.execute("CREATE TABLE bare (at REAL, digest BLOB)")
        with timer.running():
            for n in range(commits):
                db.execute("INSERT INTO bare VALUES (?, zeroblob(16))", (n,))
    return timer


def sizes(path: Path, items: int) -> dict[str, float]:
    """Return the bytes an item takes beside its looks, and those a look takes."""
    query = "SELECT name, sum(pgsize) FROM dbstat GROUP BY name"
    with closing(sqlite3.connect(path)) as db:
        used = dict(db.execute(query).fetchall())
        looks, gaps = (
            db.execute(f"SELECT count(*) FROM {table}").fetchone()[0]  # noqa: S608
            for table in ("observation", "gap")
        )
    log = used.pop("observation") + used.pop("observation_once")
    return {
        "bytes_per_item": round(sum(used.values()) / items, 1),
        "of_which_gaps": round(used["gap"] / items, 1),
        "gap_rows_per_item": round(gaps / items, 2),
        "bytes_per_look": round(log / looks, 1),
    }


def measure(path: Path, items: int) -> dict[str, float]:
    """Return all figures for a file with this many items."""
    with SqliteStore.open(path, create=True) as store:
        timer = Timer()
        with timer.running():
            store.add(Item(key(i), "x", group=f"h{i % 500}") for i in range(items))
        figures: dict[str, float] = {
            "items": items,
            **timer.rates("items_added", items),
        }
        run = store.begin(["x"], 0.0, lease=1e9)
        everything = Observations.of(
            look(i, 1.0, np.random.default_rng(i)) for i in range(items)
        )
        store.append(run, everything)
        for batch, looks, now in ((32, 32_000, 10.0), (1, 4_000, 20.0)):
            timer = write(store, run, looks, batch=batch, now=now)
            figures |= timer.rates(f"looks_in_batches_of_{batch}", looks)
        store.finish(run, 30.0)
    figures |= bare(path.with_name("bare.db"), 4_000).rates("bare_commits", 4_000)
    with SqliteStore.open(path) as store:
        timer = Timer()
        with timer.running():
            store.evidence(["x"])
        figures["evidence_read_cpu_s"] = round(timer.cpu, 2)
        figures["verify_found"] = len(store.verify())
    return figures | sizes(path, items)


def main() -> None:
    """Measure, and print one line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=20_000)
    parser.add_argument("--folder", type=Path)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=chosen.folder) as folder:
        print(json.dumps(measure(Path(folder) / "state.db", chosen.items)))


if __name__ == "__main__":
    main()
