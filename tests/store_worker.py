"""What other processes do to a state file while a test watches, or kills them."""

import json
import os
import resource
import sys

from halflife.core.errors import AlreadyRunning, StoreError
from halflife.core.item import Item
from halflife.core.observation import Content, Observations
from halflife.stores import schema
from halflife.stores.sqlite import SqliteStore
from store_looks import HEX, hint, present

ITEMS = [Item(f"k{i}", "site", group=f"g{i % 3}") for i in range(7)]


def batch(n):
    """Return the n-th batch of looks: some change, some bring a copy or an item."""
    copy = Content("text/plain", f"copy {n} ".encode() * 300)
    return Observations.of(
        [
            present("k0", n + 0.1, f"{n:032x}", raw=HEX, etag=f'"{n}"', content=copy),
            present(f"k{1 + n % 6}", n + 0.2, f"{n // 20}"),
            hint(f"new{n}", n + 0.3, item=Item(f"new{n}", "site")),
        ]
    )


def write(path, promise, *, batches=40, synchronous="FULL"):
    """Write batches; promise ``charge n`` and ``batch n`` when they are accepted."""
    with SqliteStore.open(path, create=True) as store:
        # Few pages between checkpoints, so that cuts fall into many of them.
        store._db.execute("PRAGMA wal_autocheckpoint = 25")
        store._db.execute(f"PRAGMA synchronous = {synchronous}")
        store.add(ITEMS)
        run = store.begin(["site"], 0.0, lease=1e6)
        for n in range(batches):
            store.charge(run, 2, float(n))
            promise(f"charge {n}\n")
            store.append(run, batch(n))
            promise(f"batch {n}\n")
        store.finish(run, float(batches))


def missing(store, promises):
    """Return which promises a store does not keep."""
    told = [line.split() for line in promises.splitlines()]
    times = set(store.history().at.tolist())
    broken = [
        f"batch {n}"
        for what, n in told
        if what == "batch" and not {int(n) + 0.1, int(n) + 0.2} <= times
    ]
    charged = 2 * sum(what == "charge" for what, _ in told)
    if store.spent(0.0) < charged:
        broken.append(f"charges: {store.spent(0.0)} of {charged}")
    return broken


def write_until_killed(path, pipe):
    write(path, pipe.send, batches=10**6)


def write_until_full(path, limit, pipe):
    """Write until files may not grow, then let them grow and go on."""
    store = SqliteStore.open(path, create=True)
    store.add(ITEMS)
    run = store.begin(["site"], 0.0, lease=1e6)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    n = 0
    try:
        while True:
            store.append(run, batch(n))
            pipe.send(f"batch {n}\n")
            n += 1
    except StoreError as error:
        pipe.send(str(error))
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
    store.append(run, batch(n))
    pipe.send(f"batch {n}\n")
    os._exit(0)


def hold(path, sources, pipe):
    """Take a lease and keep it until told to end."""
    store = SqliteStore.open(path, create=True)
    try:
        pipe.send(store.begin(sources, 0.0, lease=1e6).token)
    except AlreadyRunning as error:
        pipe.send(str(error))
    pipe.recv()
    os._exit(0)  # as if killed: nothing is given back


def upgrade(path, pipe):
    """Open a file, whatever version it is of, and say what is in it."""
    pipe.recv()
    with SqliteStore.open(path) as store:
        pipe.send(json.loads(store.note("", "memo: kept").text))


def next_step(db):
    """Make a schema that no release has, out of the last."""
    db.execute("ALTER TABLE host ADD COLUMN mood TEXT NOT NULL DEFAULT 'calm'")
    db.execute("CREATE TABLE host_copy AS SELECT * FROM host")
    for n in range(200):
        row = ("", f"new {n}", 0, 1, "x" * 500)
        db.execute("INSERT INTO note VALUES (?, ?, ?, ?, ?)", row)


MORE_STEPS = (*schema.STEPS, next_step)


def migrate(path, promise):
    """Write a little, then bring the file up to the next schema."""
    write(path, promise, batches=3)
    schema.STEPS = MORE_STEPS
    SqliteStore.open(path).close()
    promise("next schema\n")


def main(task, path, promises):
    handle = os.open(promises, os.O_CREAT | os.O_WRONLY)

    def promise(line):
        os.write(handle, line.encode())

    if task == "migrate":
        migrate(path, promise)
    else:
        write(path, promise, synchronous=task)


if __name__ == "__main__":
    main(*sys.argv[1:])
