"""What the log of changes costs, and how long an export takes.

Each store is told the same observations twice, with and without the search for changes
and their writing; ``ratio`` is the processor time with them over that without, the
smallest of several tries each: ``first`` while all pages and records are new, ``later``
when one record of a listing in twenty differs, and one page in five. ``sync`` is a
whole sync of a made-up site on the loopback, fetching included, which is what a user
pays. Prints one line of JSON.

    .venv/bin/python lab/benchmarks/changes.py
    .venv/bin/python lab/benchmarks/changes.py --records 1000000 --formats jsonl csv
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TypeAlias
from unittest.mock import patch

import numpy as np

import halflife
from halflife.core.item import Item
from halflife.core.object_store import Attributes, Listing
from halflife.core.observation import Observation, Observations, Seen
from halflife.core.tracker import Tracker
from halflife.demo.process import running
from halflife.demo.world import build
from halflife.stores import Store
from halflife.stores.memory import MemoryStore
from halflife.stores.sqlite import SqliteStore

Spent: TypeAlias = tuple[float, float]

PAGES, BATCH, ROUNDS = 5_000, 100, 4
RECORDS, READS = 5_000, 8
CHANGED, DIFFERS = 0.2, 0.05
CHILD = """
import json, re, sys, time
began = time.perf_counter()
from halflife.cli import main
assert main(sys.argv[1:]) == 0
peak = re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]
print(json.dumps({"wall_s": round(time.perf_counter() - began, 1),
                  "cpu_s": round(time.process_time(), 1),
                  "peak_mb": round(int(peak) / 1024)}))
"""
BESIDE = "halflife.stores"


@contextmanager
def silent() -> Iterator[None]:
    """Let nothing be searched for changes, nor written."""
    with ExitStack() as stack:
        pages, records = f"{BESIDE}.page_changes", f"{BESIDE}.record_changes"
        stack.enter_context(patch(f"{pages}.find", lambda *_: None))
        stack.enter_context(patch(f"{pages}.moves", lambda *_: []))
        stack.enter_context(patch(f"{records}.find", lambda *_: []))
        yield


def batches(*, details: bool) -> list[Observations]:
    """Return observations of pages, in batches; as replays have them, or with more."""
    rng = np.random.default_rng(1)
    text = np.zeros(PAGES, np.intp)
    made = []
    for day in range(ROUNDS):
        text += rng.random(PAGES) < CHANGED
        for first in range(0, PAGES, BATCH):
            rows = range(first, first + BATCH)
            keys = tuple(f"http://host{i % 50}.example/page/{i}" for i in rows)
            digest = tuple(f"{i:016x}{text[i]:016x}" for i in rows)
            if details:
                made.append(
                    Observations.of(
                        Observation(k, day + i / PAGES, Seen.PRESENT, d, d)
                        for i, k, d in zip(rows, keys, digest, strict=True)
                    )
                )
            else:
                at = day + np.arange(first, first + BATCH) / PAGES
                made.append(Observations(keys, at, np.zeros(BATCH, np.int8), digest))
    return made


def append_pages(store: Store, looks: list[Observations]) -> Spent:
    """Append observations; return the processor seconds of the first, and the rest."""
    keys = dict.fromkeys(key for batch in looks for key in batch.keys)
    store.add([Item(key, "site", group="g") for key in keys])
    run = store.begin(["site"], 0.0, lease=1e6)
    store.evidence(["site"])
    times = [time.process_time()]
    for batch in looks:
        store.append(run, batch)
        times.append(time.process_time())
    first = times[PAGES // BATCH]
    return first - times[0], times[-1] - first


def save_records(store: Store) -> Spent:
    """Read a listing again and again; return the seconds of the first and the rest."""
    rng, run = np.random.default_rng(1), store.begin(["cars"], 0.0, lease=1e6)
    price = np.zeros(RECORDS, np.intp)
    times = [time.process_time()]
    for day in range(READS):
        price += rng.random(RECORDS) < DIFFERS
        found = {f"car {i}": record(i, int(price[i])) for i in range(RECORDS)}
        known = store.register("cars") if day else None
        tracker = Tracker(known)
        tracker.take(Listing(float(day), found))
        store.save_register(run, "cars", tracker.news())
        times.append(time.process_time())
    return times[1] - times[0], times[-1] - times[1]


def record(number: int, price: int) -> Attributes:
    """Return a record of a usual size."""
    return {
        "id": number,
        "title": f"a car of the make {number % 40} and the model {number % 400}",
        "price": 1000 + price,
        "town": f"town {number % 97}",
        "sold": number % 7 == 0,
    }


def ratios(work: Callable[[Path], Spent], tries: int) -> dict[str, object]:
    """Return what changes cost, while all is new and later on."""
    told: list[Spent] = []
    quiet: list[Spent] = []
    for _ in range(tries):
        with tempfile.TemporaryDirectory() as folder, silent():
            quiet.append(work(Path(folder)))
        with tempfile.TemporaryDirectory() as folder:
            told.append(work(Path(folder)))
    found: dict[str, object] = {}
    for place, name in enumerate(("first", "later")):
        with_, without = (min(one[place] for one in all_) for all_ in (told, quiet))
        found[name] = {
            "with_s": round(with_, 4),
            "without_s": round(without, 4),
            "ratio": round(with_ / without, 3),
        }
    return found


def ratio(work: Callable[[Path], float], tries: int) -> dict[str, float]:
    """Return the processor seconds with and without changes, taken in turns."""
    told, quiet = [], []
    for _ in range(tries):
        with tempfile.TemporaryDirectory() as folder, silent():
            quiet.append(work(Path(folder)))
        with tempfile.TemporaryDirectory() as folder:
            told.append(work(Path(folder)))
    with_, without = min(told), min(quiet)
    return {
        "with_s": round(with_, 4),
        "without_s": round(without, 4),
        "ratio": round(with_ / without, 3),
    }


def in_file(work: Callable[[Store], Spent]) -> Callable[[Path], Spent]:
    """Return work on a state file of its own."""

    def done(folder: Path) -> Spent:
        with SqliteStore.open(folder / "state.db", create=True) as store:
            store.skip_disk_syncs()
            return work(store)

    return done


def sync(folder: Path) -> float:
    """Sync a made-up site of which every page is new; return processor seconds."""
    with running(build(seed=1, pages=150, days=2.0, began=20_000.0)) as site:
        (folder / "halflife.toml").write_text(
            "[budget]\nrequests = 500\n[fetch]\ndelay = 0.0\n[[source]]\n"
            f'name = "demo"\nmaps = ["{site.url}/sitemap.xml"]\n'
            'allow = ["127.0.0.0/8"]\n'
        )
        began = time.process_time()
        halflife.sync(halflife.open_project(folder), everything=True)
        return time.process_time() - began


def export(records: int, form: str, folder: Path) -> dict[str, float]:
    """Export so many records in a process of its own; return its time and memory."""
    path = folder / "halflife.toml"
    if not path.exists():
        path.write_text(
            '[[source]]\nname = "cars"\nkind = "listing"\nkey = "id"\n'
            'url = "http://127.0.0.1:9/"\n'
        )
        with SqliteStore.open(folder / "halflife.db", create=True) as store:
            store.skip_disk_syncs()
            run = store.begin(["cars"], 0.0, lease=1e6)
            tracker = Tracker()
            tracker.take(
                Listing(1.0, {f"car {i}": record(i, 0) for i in range(records)})
            )
            store.save_register(run, "cars", tracker.news())
            store.finish(run, 1.0)
    words = ["export", "cars", "--format", form, "--out", str(folder / "out")]
    done = subprocess.run(
        [sys.executable, "-c", CHILD, *words], cwd=folder, check=True,
        capture_output=True, text=True,
    )  # fmt: skip
    size = (folder / "out").stat().st_size
    return {**json.loads(done.stdout.splitlines()[-1]), "bytes": size}


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tries", type=int, default=5)
    parser.add_argument("--records", type=int, default=0)
    parser.add_argument("--formats", nargs="*", default=["jsonl", "csv", "parquet"])
    parser.add_argument("--sync", action="store_true")
    given = parser.parse_args()
    plain, whole = batches(details=False), batches(details=True)
    found: dict[str, object] = {
        "memory_pages": ratios(
            lambda _: append_pages(MemoryStore(), plain), given.tries
        ),
        "memory_records": ratios(lambda _: save_records(MemoryStore()), given.tries),
        "file_pages": ratios(in_file(lambda s: append_pages(s, whole)), given.tries),
        "file_records": ratios(in_file(save_records), given.tries),
    }
    if given.sync:
        found["sync"] = ratio(sync, given.tries)
    if given.records:
        with tempfile.TemporaryDirectory() as folder:
            found["export"] = {
                form: export(given.records, form, Path(folder))
                for form in given.formats
            }
    sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
