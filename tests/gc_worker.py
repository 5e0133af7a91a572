"""A process that clears a state file, to be killed or cut off at any moment."""

import os
import sys

import store_worker
from halflife.alerts import Health
from halflife.config import Config
from halflife.core.observation import Observations
from halflife.engine import notifications
from halflife.stores import retention
from halflife.stores.outbox import Outbox
from halflife.stores.sqlite import SqliteStore
from store_looks import present

NOW = 120.0
KEEP = retention.RetentionLimits(
    observations=10.0, ledger=31.0, runs=10.0, messages=10.0
)
CONFIG = Config.parse('[[alert]]\nname = "ops"\nurl = "https://hook.example/"\n')


def write(path):
    """Write a file in which there is much to clear."""
    store_worker.write(path, str, batches=60)
    with SqliteStore.open(path) as store:
        for day in range(60, 118):
            run = store.begin(["site"], float(day), lease=1.0)
            store.charge(run, 1, float(day))
            looks = [present(f"k{i}", day + i / 10, f"{day // 4}") for i in range(7)]
            store.append(run, Observations.of(looks))
            store.finish(run, float(day))
            notifications.update_alarms(
                CONFIG, store, [Health("site", held="x" * (day % 2))], day
            )
            for message in Outbox(store).due(day + 1.0):
                Outbox(store).sent(message, float(day))


def clear(path):
    """Clear the file, in many small steps."""
    retention.CHUNK = 40
    with SqliteStore.open(path) as store:
        store._db.execute("PRAGMA wal_autocheckpoint = 25")
        return retention.clear(store, KEEP, NOW)


def main(task, path, promises):
    handle = os.open(promises, os.O_CREAT | os.O_WRONLY)
    if task == "all":
        write(path)
        os.write(handle, b"written\n")
    clear(path)
    os.write(handle, b"cleared\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
