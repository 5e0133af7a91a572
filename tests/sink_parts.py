"""What sinks are tried with: a store with changes, and settings that name sinks."""

import asyncio
import json

from halflife.config import Config
from halflife.core.change import Change
from halflife.engine import deliveries
from halflife.stores.sqlite import SqliteStore

NOW = 20_500.0


class Time:
    """A clock that tests set, in days."""

    def __init__(self, now=NOW):
        self.now = now

    def __call__(self):
        return self.now


def settings(folder, text):
    """Write settings into a folder, and return them as they are read."""
    path = folder / "halflife.toml"
    path.write_text(text)
    return Config.load(path)


def opened(config):
    """Open the state file, made if need be, without waiting for the disk."""
    store = SqliteStore.open(config.store_path, create=True)
    store.skip_disk_syncs()
    return store


def change(key, kind="new", at=NOW, source="jobs", **fields):
    """Return a change; fields are new values, or pairs of old and new."""
    pairs = {n: v if isinstance(v, tuple) else (None, v) for n, v in fields.items()}
    return Change(at, source, key, kind, pairs)


def changes(count, first=1):
    """Return so many new records."""
    return [change(str(n), pay=n) for n in range(first, first + count)]


def deliver(config, store, clock=None, **how):
    """Deliver what is due; return the reports by name."""
    work = deliveries.deliver(config, store, clock=clock or Time(), **how)
    return {report.settings.name: report for report in asyncio.run(work)}


def lines(path):
    """Return the objects in a file of JSON Lines."""
    return [json.loads(line) for line in path.read_text().splitlines()]
