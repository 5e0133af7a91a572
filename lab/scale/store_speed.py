"""How fast a store is: a file, or a schema of PostgreSQL.

    python lab/scale/store_speed.py --items 100000 --store "postgresql://…" --json

The store must not exist yet; it is left as it is. Seconds are of this process and the
server together, so they mean something on a machine that does nothing else.
"""

import argparse
import json
import sys
from pathlib import Path
from time import perf_counter, process_time

import numpy as np

from halflife.core.item import Item
from halflife.core.observation import Observations
from halflife.core.store_address import is_address
from halflife.stores.location import open_store
from halflife.stores.table_store import TableStore

NOW = 20_000.0  # days; any moment will do
LOOKED = 50_000  # observations that are appended at most


def items(many: int) -> list[Item]:
    """Return the pages of one site."""
    place = "https://example.org/{}/page-{:09d}.html"
    return [
        Item(place.format(n // 100, n), "site", group="example.org")
        for n in range(many)
    ]


def appended(store: TableStore, keys: list[str], at: float, size: int) -> float:
    """Append observations of pages in batches; return how many a second."""
    run = store.begin(["site"], at, lease=1.0)
    store.evidence(["site"])
    start, done = perf_counter(), 0
    for first in range(0, min(len(keys), LOOKED), size):
        some = tuple(keys[first : first + size])
        texts = tuple(f"{hash((key, at)) & (1 << 64) - 1:032x}" for key in some)
        seen = np.zeros(len(some), np.int8)
        store.append(run, Observations(some, np.full(len(some), at), seen, texts))
        done += len(some)
    rate = done / (perf_counter() - start)
    store.finish(run, at)
    return rate


def measure(place: Path | str, many: int) -> dict[str, float]:
    """Return the figures of one store."""
    pages = items(many)
    keys = [item.key for item in pages]
    figures: dict[str, float] = {"items": many}
    with open_store(place, create=True) as store:
        start, busy = perf_counter(), process_time()
        store.add(pages)
        figures["add_s"] = perf_counter() - start
        figures["add_client_cpu_s"] = process_time() - busy
        figures["appended_per_s_by_1000"] = appended(store, keys, NOW, 1000)
        figures["appended_per_s_by_100"] = appended(store, keys, NOW + 1.0, 100)
    start, busy = perf_counter(), process_time()
    with open_store(place) as store:
        store.evidence(["site"])
        figures["reopen_s"] = perf_counter() - start
        figures["reopen_client_cpu_s"] = process_time() - busy
        figures["bytes_per_item"] = store.size() / many
    return figures


def main(words: list[str]) -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=100_000)
    parser.add_argument("--store", required=True)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(words)
    place = given.store if is_address(given.store) else Path(given.store)
    figures = measure(place, given.items)
    if given.json:
        print(json.dumps(figures))
        return
    for name, value in figures.items():
        print(f"{name:24} {value:12.2f}")


if __name__ == "__main__":
    main(sys.argv[1:])
