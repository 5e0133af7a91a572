"""What ``halflife run`` takes where a million pages are of several sources.

    python lab/benchmarks/many_sources.py [--items 1000000] [--sources 4]
        [--mode targets] [--folder DIR]

A state file is made as ``load.py`` makes it, but with its hosts dealt out to so many
sources, each with a target (in DIR it is kept and used again). Then, each in a process
of its own: decisions are taken one after the other, and the service runs until it has
worked, audited and judged, against a site on the loopback. Prints JSON; ``*_cpu_*`` are
of the processor, all others of the clock.
"""

import argparse
import json
import os
import tempfile
import time
from pathlib import Path

import load
import numpy as np

HEAD = """\
[budget]
requests = 1000000
per = "day"
mode = "{mode}"

[fetch]
delay = 0
concurrency = 8
"""
SOURCE = """
[[source]]
name = "site{number}"
keep = false
allow = ["127.0.0.0/8"]
target = "freshness >= {level}"
pages = ["{first}"]
"""
LEVEL = 0.5


def source_of(number: int, sources: int) -> int:
    """Return the source of an item: hosts are dealt out, some to each."""
    return number % load.HOSTS * sources // load.HOSTS


def build(folder: Path, items: int, sources: int, port: int) -> None:
    """Write a state file through the store itself."""
    from halflife.core.item import Item  # noqa: PLC0415
    from halflife.core.observation import Observations  # noqa: PLC0415
    from halflife.stores.sqlite import SqliteStore  # noqa: PLC0415

    today, rng = time.time() / load.DAY, np.random.default_rng(0)
    names = [f"site{k}" for k in range(sources)]
    with SqliteStore.open(folder / "halflife.db", create=True) as store:
        store.add(
            Item(
                load.key(i, port),
                names[source_of(i, sources)],
                group=f"127.0.0.{i % load.HOSTS + 1}:{port}",
            )
            for i in range(items)
        )
        run = store.begin(names, today, lease=1e3)
        for turn, share in ((0, 1.0), (1, 0.5)):
            rows = np.flatnonzero(rng.random(items) < share)
            at = today - 9.0 + 4 * turn + 3 * rng.random(rows.size)
            for part in np.array_split(np.arange(rows.size), rows.size // 20_000 + 1):
                keys = tuple(load.key(int(i), port) for i in rows[part])
                digest = tuple(
                    f"{turn * (int(i) % 3 == 0):02x}{int(i):030x}" for i in rows[part]
                )
                seen = np.zeros(part.size, np.int8)
                store.append(run, Observations(keys, at[part], seen, digest))
        store.finish(run, today)
    (folder / "port").write_text(str(port))


def settle(folder: Path, sources: int, mode: str, port: int) -> None:
    """Write the settings."""
    first = {source_of(i, sources): load.key(i, port) for i in range(load.HOSTS)[::-1]}
    text = HEAD.format(mode=mode) + "".join(
        SOURCE.format(number=k, level=LEVEL, first=first[k]) for k in range(sources)
    )
    (folder / "halflife.toml").write_text(text)


def decide(path: Path, times: int) -> dict[str, object]:
    """Time decisions of the service one after the other, as its turns take them."""
    from halflife.config import Config  # noqa: PLC0415
    from halflife.engine import bootstrap, scheduler, targets  # noqa: PLC0415

    config = Config.load(path)
    took, cpu = [], []
    with bootstrap.writing(config) as store:
        groups = scheduler.grouped(config.source, apart=targets.is_on(config))
        decays: dict[object, object] = {}
        now = bootstrap.clock()
        for turn in range(times):
            at = scheduler.Situation(
                config, store, now + 60.0 * turn / load.DAY, groups, (), decays
            )
            began, spent = time.time(), time.process_time()
            decision = scheduler.decide(at)
            targets.remember(store, decision.aim.memories)
            took.append(time.time() - began)
            cpu.append(time.process_time() - spent)
    return {
        "first_decision_cpu_ms": round(1e3 * cpu[0], 1),
        "decision_ms": round(1e3 * float(np.median(took[1:])), 2),
        "decision_cpu_ms": round(1e3 * float(np.median(cpu[1:])), 2),
        "decision_worst_ms": round(1e3 * max(took[1:]), 2),
        **{f"deciding_{name}": value for name, value in load.memory().items()},
    }


def measure(folder: Path, items: int, sources: int, mode: str) -> dict[str, object]:
    """Return all figures."""
    found: dict[str, object] = {"items": items, "sources": sources, "mode": mode}
    found["load"] = os.getloadavg()[0]
    with load.served(folder) as site:
        if not (folder / "port").exists():
            build(folder, items, sources, site.port)
        settle(folder, sources, mode, site.port)
        found |= load.aside(__file__, "--decide", folder / "halflife.toml")
        found["run"] = load.run(folder)
    return found


def main() -> None:
    """Measure, and print JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--items", type=int, default=20_000)
    parser.add_argument("--sources", type=int, default=4)
    parser.add_argument("--mode", choices=("quality", "targets"), default="quality")
    parser.add_argument("--folder", type=Path, help="keep the state here, or use it")
    parser.add_argument("--decide", type=Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.decide:
        print(json.dumps(decide(chosen.decide, 6)))
        return
    with tempfile.TemporaryDirectory() as made:
        folder = chosen.folder or Path(made)
        folder.mkdir(exist_ok=True)
        found = measure(folder, chosen.items, chosen.sources, chosen.mode)
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
