"""A process that writes changes and delivers them to three sinks, to be killed.

As a program it imports all that it needs once, and then forks a child for each order on
its input: a line of JSON with the folder, a seed, and the seconds after which the child
is killed, counted from its start or, with ``wait``, from its first change. With null
instead it ends by itself, when everything is delivered.
"""

import asyncio
import json
import os
import signal
import sys
import time
from pathlib import Path
from random import Random

from halflife.config import Config
from halflife.core.change import Change
from halflife.engine import deliveries
from halflife.stores.sqlite import SqliteStore

SETTINGS = """
[[sink]]
name = "file"
kind = "jsonl"
path = "file.jsonl"
batch = 7
[[sink]]
name = "db"
kind = "sql"
url = "{url}"
batch = 5
[[sink]]
name = "prog"
kind = "command"
command = ["/bin/sh", "-c", "cat >> prog.jsonl"]
batch = 11
"""
FAST = 1e-7  # days between two tries: nobody should wait for an old program


def news(store, rng):
    """Return some changes that fit what is held, as the log says."""
    held = {}
    for change in store.changes.read(0, 10**9):
        place = change.source, change.key
        held[place] = None if change.kind == "gone" else change
    found = []
    for _ in range(rng.randint(1, 6)):
        source, key = rng.choice("ab"), str(rng.randint(1, 12))
        at = 20_000.0 + len(held) + rng.random()
        value = rng.choice([rng.randint(0, 9), "some", 2.5])
        old = held.get((source, key), "")
        if old == "":
            change = Change(at, source, key, "new", {"v": (None, value)})
        elif old is None:
            change = Change(at, source, key, "returned", {"v": (None, value)})
        elif rng.random() < 0.3:
            change = Change(at, source, key, "gone")
        else:
            name = rng.choice(["v", "w"])
            change = Change(at, source, key, "changed", {name: (None, value)})
        held[source, key] = None if change.kind == "gone" else change
        found.append(change)
    return found


async def write(config, store, rng, ready):
    """Write and deliver changes for ever."""
    async with deliveries.delivering(config, store, poll=0.0005):
        while True:
            store.changes.append(news(store, rng))
            os.write(ready, b"!")
            for _ in range(rng.randint(1, 8)):
                await asyncio.sleep(rng.random() * 0.004)


async def finish(config, store):
    """Deliver until nothing is left."""
    while True:
        found = await deliveries.deliver(config, store)
        if not any(report.behind for report in found):
            return
        for report in found:
            store.sinks.retry(report.settings.name, 0.0)
        await asyncio.sleep(0.02)


def work(order, ready):
    """Do what was ordered, in the child."""
    folder = Path(order["folder"])
    config = Config.load(folder / "halflife.toml")
    deliveries.pause = lambda *_: FAST
    with SqliteStore.open(config.store_path, create=True) as store:
        if order["kill"] is None:
            asyncio.run(finish(config, store))
        else:
            asyncio.run(write(config, store, Random(order["seed"]), ready))


def serve(order):
    """Run a child; kill it when it is time; return how it ended."""
    said, ready = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            work(order, ready)
        finally:
            os._exit(0 if sys.exc_info()[0] is None else 1)
    os.close(ready)
    if order["kill"] is not None:
        if order["wait"]:
            os.read(said, 1)  # it has begun
        time.sleep(order["kill"])
        os.kill(pid, signal.SIGKILL)
    os.close(said)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def main():
    import halflife.sinks.command  # noqa: PLC0415
    import halflife.sinks.database  # noqa: PLC0415
    import halflife.sinks.jsonl  # noqa: PLC0415
    import halflife.sinks.scd2  # noqa: PLC0415
    import halflife.sinks.sql  # noqa: F401, PLC0415

    for line in sys.stdin:
        sys.stdout.write(f"{serve(json.loads(line))}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
