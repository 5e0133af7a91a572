"""A process that uses every table of the state file, to be cut off at any moment.

It says what it promises: ``batch n``, ``charge n``, ``message n``, ``set n``,
``forecast n``, ``staged n``, ``cleared n``.
"""

import os
import sys

import store_worker
from halflife.alerts.messages import Event, Letter
from halflife.core.object_store import Listing
from halflife.core.store import Note
from halflife.core.tracker import Tracker
from halflife.stores import columns, retention
from halflife.stores.forecasts import Forecasts, IssuedForecast
from halflife.stores.outbox import Outbox
from halflife.stores.sqlite import SqliteStore

ROUNDS = 24
KEEP = retention.RetentionLimits(observations=6.0, ledger=31.0, runs=6.0, messages=6.0)
SOURCES = ["set", "site"]


def letter(n):
    return Letter("ops", f"k{n}", "raised", float(n), n, (Event(f"s{n}", n, "why"),))


def listing(n):
    """Return the n-th look at a set source: three objects come, three go."""
    keys = range(3 * n, 3 * n + 9)
    return Listing(float(n), {f"o{k}": {"n": k + n // 4} for k in keys})


def tracked(looks):
    """Return what is known after so many looks."""
    tracker = Tracker(confirm=0.0)
    for n in range(looks):
        tracker.take(listing(n))
    return tracker.register()


def forecast(n):
    return IssuedForecast("site", "freshness", float(n), 1.0, 0.5, 0.4, 0.6)


def round_of(store, run, tracker, n, promise):
    """Write to every table once; promise what was written."""
    store.charge(run, 2, float(n))
    promise(f"charge {n}\n")
    store.append(run, store_worker.batch(n))
    promise(f"batch {n}\n")
    with store.together():
        store.save_note("", "cause", Note(1, "it happened"), n)
        Outbox(store).post([letter(n)])
    promise(f"message {n}\n")
    tracker.take(listing(n))
    store.save_register(run, "set", tracker.news())
    promise(f"set {n}\n")
    Forecasts(store).issue([forecast(n)])
    promise(f"forecast {n}\n")
    if n % 3 == 0:
        store.stage(run, "set", Listing(n + 0.5, {}, complete=True), "too few")
        promise(f"staged {n}\n")
    for message in Outbox(store).due(n - 2.0):
        Outbox(store).sent(message, float(n))
    if n % 8 == 7:
        retention.clear(store, KEEP, float(n))
        promise(f"cleared {n}\n")


def write(path, promise):
    """Go through all rounds; columns are filed now and then, layers over them often."""
    columns.FEWEST, columns.LAYER = 8, 3
    retention.CHUNK = 10
    with SqliteStore.open(path, create=True) as store:
        store._db.execute("PRAGMA wal_autocheckpoint = 25")
        store.add(store_worker.ITEMS)
        run, tracker = store.begin(SOURCES, 0.0, lease=1e6), Tracker(confirm=0.0)
        for n in range(ROUNDS):
            round_of(store, run, tracker, n, promise)
        store.finish(run, float(ROUNDS))
        store.compact()


def broken(store, promises):
    """Return which promises a store does not keep."""
    told = {}
    for line in promises.splitlines():
        what, n = line.split()
        told.setdefault(what, []).append(int(n))
    last = {what: max(numbers) for what, numbers in told.items()}
    return [
        what
        for what, kept in (
            ("charge", store.spent(-1.0) >= 2 * len(told.get("charge", ()))),
            ("batch", _looked(store, last.get("batch", -1))),
            ("message", _posted(store, last.get("message", -1))),
            ("set", _listed(store, last.get("set", -1))),
            ("forecast", _issued(store, last.get("forecast", -1))),
        )
        if not kept
    ]


def _looked(store, last):
    """Say whether the looks are there; of the oldest their sum is."""
    known = store.evidence(["site"]) if last >= 0 else None
    return known is None or (
        known.last_at[known.row("k0")] >= last + 0.1
        and known.looks[known.row("k0")] in (last + 1, last + 2)
    )


def _posted(store, last):
    """Say whether every message is there with its cause, and none without."""
    causes = store.note_numbers("", "cause")
    box = Outbox(store)
    waiting = {int(m.kind[1:]) for m in box.due(1e9, 10**6)}
    sent = {int(m.kind[1:]) for m in box.latest("sent", 10**6)}
    there = waiting | sent
    gone = set(causes) - there  # delivered, and cleared since
    return (
        causes == list(range(len(causes)))
        and len(causes) > last
        and there <= set(causes)
        and all(n < min(waiting, default=ROUNDS) for n in gone)
    )


def _listed(store, last):
    """Say whether each look at the set is there whole."""
    if "set" not in store.collections():
        return last < 0
    kept = store.register("set")
    expected = tracked(len(kept.snapshots))
    return len(kept.snapshots) > last and list(kept.spells) == list(expected.spells)


def _issued(store, last):
    """Say whether the newest forecasts are there; the oldest may be cleared."""
    made = [int(one.made) for one in Forecasts(store).made("site", -1.0)]
    newest = max(made, default=-1)
    return made == list(range(newest + 1))[-len(made) or ROUNDS :] and newest >= last


def main(path, promises):
    handle = os.open(promises, os.O_CREAT | os.O_WRONLY)
    write(path, lambda line: os.write(handle, line.encode()))


if __name__ == "__main__":
    main(*sys.argv[1:])
