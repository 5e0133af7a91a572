"""How long pages take, and how heavy they are, with many sources.

    python lab/benchmarks/web.py [--sources 10000] [--items 100] [--folder DIR]
        [--lifetimes 50000]

A store of that many sources, each with so many pages, and of a list with so many
lifetimes is made (in DIR it is kept and used again, also one that was made by others),
served on loopback, and visited. ``kb`` is the size of an answer, ``wire_kb`` what is
sent of it to who accepts gzip, as every browser does. Times
are of whole answers over HTTP: of the first page, which tells what is known at once,
until it fills itself in, until what a budget buys is known too, and of later visits.
``*_cpu_s`` are seconds of the processor, of the server and its visitor together.
"""

import argparse
import http.client
import json
import os
import sys
import tempfile
from contextlib import closing
from pathlib import Path
from time import perf_counter, process_time, sleep
from urllib.parse import urlsplit

import numpy as np
from numpy.random import Generator

from halflife.config import Config
from halflife.core.item import Item
from halflife.core.lifetimes import Collection, Lives
from halflife.core.observation import Observations
from halflife.engine import bootstrap
from halflife.stores.sqlite import SqliteStore
from halflife.web.server import ServeWish, running

VISITS = 20
LOOKS = 3  # at each page
PATIENCE = 600.0  # seconds
LIST = (
    '[[source]]\nname = "list"\nkind = "listing"\nkey = "id"\n'
    'url = "https://list.example/all.json"\n'
)
PAGES = {
    "overview": "/overview",
    "sources": "/sources",
    "sources, sorted, page 50": "/sources?sort=quality&page=50",
    "sources, filtered": "/sources?q=77",
    "source": "/source?name={name}",
    "list": "/source?name=list",
    "list as JSON": "/source.json?name=list",
    "plan": "/plan",
    "what-if": "/what-if?budget={n}",
    "inbox": "/inbox",
    "audit": "/audit",
}


def built(folder: Path, sources: int, items: int, lifetimes: int) -> Path:
    """Write settings and a state; return where the settings are."""
    path = folder / "halflife.toml"
    if path.exists():
        return path
    folder.mkdir(parents=True, exist_ok=True)
    lines = ["[budget]\nrequests = 100000\n"]
    lines += [
        f'[[source]]\nname = "s{i}"\ntarget = "freshness >= 0.{5 + i % 5}"\n'
        f'pages = ["https://s{i}.example/0"]\n'
        for i in range(sources)
    ]
    if lifetimes:
        lines.append(LIST)
    path.write_text("".join(lines))
    config = Config.load(path)
    rng, now = np.random.default_rng(1), bootstrap.clock()
    with bootstrap.writing(config) as store:
        for first in range(0, sources, 1000):
            names = [f"s{i}" for i in range(first, min(first + 1000, sources))]
            _looked(store, names, items, now, rng)
        if lifetimes:
            _listed(store, lifetimes, now, rng)
    return path


def _listed(store: SqliteStore, lifetimes: int, now: float, rng: Generator) -> None:
    """Let objects come and go for a year, seen once a day."""
    looks = now - 0.5 - np.arange(365.0)[::-1]
    start = rng.integers(0, looks.size - 1, lifetimes)
    stop = np.minimum(start + rng.geometric(0.05, lifetimes), looks.size) - 1
    padded, none = np.r_[-np.inf, looks, np.inf], np.zeros(0)
    city = np.array(["Oslo", "Rome", "Lima"], dtype=object)
    lives = Lives(
        tuple(f"object-{i}" for i in range(lifetimes)),
        padded[start],
        looks[start],
        looks[stop],
        padded[stop + 2],
        {"city": city[rng.integers(0, 3, lifetimes)]},
    )
    run = store.begin(["list"], now, lease=1.0)
    known = Collection("list", looks, lives, none.astype(np.intp), none)
    store.save_collection(run, known)
    store.finish(run, now)


def _looked(
    store: SqliteStore, names: list[str], items: int, now: float, rng: Generator
) -> None:
    keys = tuple(f"https://{name}.example/{k}" for name in names for k in range(items))
    store.add(
        Item(key, urlsplit(key).netloc.partition(".")[0], group=urlsplit(key).netloc)
        for key in keys
    )
    run = store.begin(names, now - 9.0, lease=99.0)
    rate = rng.lognormal(-2.0, 1.0, len(keys))
    version = np.zeros(len(keys), dtype=int)
    for look in range(LOOKS):
        version += rng.poisson(rate * 2.0)
        at = np.full(len(keys), now - 6.5 + 2.0 * look)
        digest = tuple(f"{v:032x}" for v in version.tolist())
        store.append(run, Observations(keys, at, np.zeros(len(keys), np.int8), digest))
    store.finish(run, now)


def visited(host: str, token: str, path: str, form: str = "") -> tuple[float, int]:
    """Return the seconds and the bytes of a visit; ``form`` is a coding to accept."""
    with closing(http.client.HTTPConnection(host, timeout=600)) as line:
        start = perf_counter()
        headers = {"Authorization": f"Bearer {token}", "Accept-Encoding": form}
        line.request("GET", path, headers=headers)
        answer = line.getresponse()
        size = len(answer.read())
        assert answer.status == 200, (path, answer.status)
        return perf_counter() - start, size


def begun(host: str, token: str) -> dict[str, float]:
    """Return the seconds until the first page, until it is whole, and until all is."""
    start, spent = perf_counter(), process_time()
    found = {"first_s": visited(host, token, "/overview")[0]}
    found["first_cpu_s"] = process_time() - spent
    for name, page in (("whole_s", "/overview"), ("prices_s", "/what-if")):
        while _lacks(host, token, page) and perf_counter() - start < PATIENCE:
            sleep(0.2)
        found[name] = perf_counter() - start
        found[name.replace("_s", "_cpu_s")] = process_time() - spent
    return {name: round(seconds, 2) for name, seconds in found.items()}


def _lacks(host: str, token: str, page: str) -> bool:
    """Say whether something of a page is still being worked out."""
    with closing(http.client.HTTPConnection(host, timeout=600)) as line:
        line.request("GET", page, headers={"Authorization": f"Bearer {token}"})
        return b'id="working"' in line.getresponse().read()


def main() -> None:
    """Build, serve, visit, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sources", type=int, default=10_000)
    parser.add_argument("--items", type=int, default=100)
    parser.add_argument("--lifetimes", type=int, default=50_000)
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        start = perf_counter()
        folder = given.folder or Path(scratch) / "many"
        path = built(folder, given.sources, given.items, given.lifetimes)
        print(f"built in {perf_counter() - start:.0f} s", file=sys.stderr)
        with running(ServeWish(path, port=0)) as served:
            parts = urlsplit(served.address)
            host, token = parts.netloc, parts.query.removeprefix("token=")
            head = begun(host, token)
            names = [source.name for source in Config.load(path).source]
            rows = {}
            for name, page in PAGES.items():
                if "=list" in page and "list" not in names:
                    continue
                some = [(17 + 97 * k) % max(len(names), 100) for k in range(VISITS)]
                paths = [page.format(n=n, name=names[n % len(names)]) for n in some]
                first = visited(host, token, paths[0])[0]
                small = [visited(host, token, path, "gzip") for path in paths]
                times = np.array([seconds for seconds, _ in small])
                rows[name] = {
                    "p50_ms": round(1000 * float(np.median(times)), 1),
                    "p95_ms": round(1000 * float(np.quantile(times, 0.95)), 1),
                    "first_ms": round(1000 * first, 1),
                    "wire_kb": round(max(size for _, size in small) / 1024, 1),
                    "kb": round(visited(host, token, paths[0])[1] / 1024, 1),
                }
    about = {"sources": len(names), "load": round(os.getloadavg()[0], 1)}
    print(json.dumps({**about, **head, "pages": rows}, indent=1))


if __name__ == "__main__":
    main()
