"""What it costs to read links, to keep the graph they make, and to load it.

``python -m lab.crawling`` makes a site of 20 000 pages with 50 links
each, a million in all, keeps it in a state file as a crawl does, and prints as JSON
what that took, bytes and seconds of the clock and of the processor. ``--pages`` and
``--links`` make it smaller or larger.
"""

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from halflife.core.arrays import Ints
from halflife.core.item import Item
from halflife.core.observation import Observation, Observations, Outgoing, Seen
from halflife.kinds.pages.links import MOST, read_links
from halflife.stores.sqlite import SqliteStore
from lab.turns import TimedTurns, timed

SITE = "http://example.org"
SOURCE = "site"
BATCH = 16  # looks that a crawl writes down together
LEASE = 1.0  # days
_REPEATS = 3
_TEXT = "<p>" + "Words that lead nowhere, as most words do. " * 20 + "</p>\n"
# What would take an hour, were any character of it looked at twice.
_HOSTILE = (
    "<a " * 700_000,
    '<a href="' * 230_000,
    "<!--" * 520_000,
    "<a " + "a= " * 700_000 + ">",
    "<" * 2_100_000,
)


def page(links: int) -> str:
    """Return a page with so many links and 860 characters of text for each tenth."""
    rows = [
        f'<li><a class="x" href="/d/{i}.html">To {i}</a></li>' for i in range(links)
    ]
    parts = (rows[i : i + 10] for i in range(0, links, 10))
    return "<!DOCTYPE html><title>A page</title>" + _TEXT.join(map("\n".join, parts))


def reading() -> dict[str, Any]:
    """Return what it takes to read the links of one page, and of hostile ones."""
    told: dict[str, Any] = {}
    for links in (50, MOST):
        text = page(links)
        found, took = _best(text)
        told[f"of_{links}_links"] = {
            "found": found,
            "bytes": len(text),
            **_seconds(took),
        }
    worst = max((_best(text)[1] for text in _HOSTILE), key=lambda took: took.processor)
    size = max(map(len, _HOSTILE))
    return {**told, "hostile": {"bytes": size, **_seconds(worst)}}


def _best(text: str) -> tuple[int, TimedTurns]:
    runs = [timed(lambda: read_links(text, f"{SITE}/")) for _ in range(_REPEATS)]
    return len(runs[0][0].to), min(took for _, took in runs)


def graph(pages: int, links: int, seed: int) -> Ints:
    """Return a row of targets for each page; half of them are neighbours."""
    rng = np.random.default_rng(seed)
    near = np.arange(pages)[:, None] + np.arange(1, links // 2 + 1)
    far = rng.integers(pages, size=(pages, links - links // 2))
    targets: Ints = np.hstack([near % pages, far])
    return targets


def crawled(keys: list[str], targets: Ints | None) -> Iterator[Observations]:
    """Return looks at all pages in batches; without targets nothing is linked."""
    for first in range(0, len(keys), BATCH):
        rows = range(first, min(first + BATCH, len(keys)))
        yield Observations.of(
            Observation(
                keys[row],
                1.0 + row / len(keys),
                Seen.PRESENT,
                digest=f"{row:032x}",
                links=Outgoing(
                    () if targets is None else tuple(keys[t] for t in targets[row])
                ),
            )
            for row in rows
        )


def keep(path: Path, keys: list[str], targets: Ints | None) -> int:
    """Keep looks at all pages in a state file; return its size in bytes."""
    with SqliteStore.open(path, create=True) as store:
        store.add([Item(key, SOURCE) for key in keys])
        run = store.begin((SOURCE,), 1.0, lease=LEASE)
        for looks in crawled(keys, targets):
            store.append(run, looks)
        store.finish(run, 2.0)
    return path.stat().st_size


def keeping(pages: int, links: int, seed: int) -> dict[str, Any]:
    """Return what the links of a whole site take: on disk, to write, to load."""
    keys, targets = (
        [f"{SITE}/{i}.html" for i in range(pages)],
        graph(pages, links, seed),
    )
    with tempfile.TemporaryDirectory() as folder:
        bare, without = timed(lambda: keep(Path(folder) / "bare.db", keys, None))
        path = Path(folder) / "linked.db"
        size, took = timed(lambda: keep(path, keys, targets))
        with SqliteStore.open(path, readonly=True) as store:
            loads = [timed(lambda: store.links((SOURCE,))) for _ in range(_REPEATS)]
    found = loads[0][0].to.size
    return {
        "links": found,
        "bytes_a_link": (size - bare) / found,
        "write": _seconds(took),
        "write_without_links": _seconds(without),
        "load": _seconds(min(took for _, took in loads)),
    }


def _seconds(took: TimedTurns) -> dict[str, float]:
    return {"seconds": took.wall, "processor_seconds": took.processor}


def main() -> None:
    """Print what links cost."""
    parser = argparse.ArgumentParser(
        description="Time the reading and keeping of links."
    )
    parser.add_argument("--pages", type=int, default=20_000)
    parser.add_argument("--links", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    told = {
        "pages": given.pages,
        "read": reading(),
        "kept": keeping(given.pages, given.links, given.seed),
        "load_average": os.getloadavg()[0],
    }
    sys.stdout.write(json.dumps(told, indent=1) + "\n")


if __name__ == "__main__":
    main()
