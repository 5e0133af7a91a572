"""Images of a state file with bytes flipped, and what the program makes of them.

``python tests/damage.py 3000`` prints how many are told, harmless or silent.
"""

import json
import sqlite3
import sys
import tempfile
from collections import Counter
from contextlib import closing
from pathlib import Path
from random import Random

import store_worker
from halflife.core.errors import HalflifeError
from halflife.core.evidence import FOLDED
from halflife.core.host import HostState
from halflife.core.object_store import Listing
from halflife.core.observation import Observations
from halflife.core.store import Note
from halflife.core.tracker import Tracker
from halflife.stores.outbox import Outbox
from halflife.stores.retention import RetentionLimits, clear
from halflife.stores.sqlite import SqliteStore
from store_cases import hinted, tallies
from store_looks import failed, present


def write(path):
    """Write a file with some of everything in it; return its bytes."""
    store_worker.write(path, str, batches=12)
    with SqliteStore.open(path) as store:
        store.save_host(HostState("https://a:443", robots="User-agent: *\n" * 30))
        store.save_note("", "prior", Note(1, "[1, 2, 3]" * 20))
        run = store.begin(["site", "set"], 20.0, lease=1.0)
        store.append(run, Observations.of([failed("k1", 20.0, "timed out " * 9)]))
        store.append(run, Observations.of([present("k2", 21.0, "new", etag='"e"')]))
        tracker = Tracker()
        for day in range(3):
            tracker.take(Listing(float(day), {f"o{i}": {"n": i} for i in range(20)}))
        store.save_register(run, "set", tracker.news())
        store.stage(run, "set", Listing(9.0, {}, complete=True, note=""), "too few")
        store.finish(run, 22.0)
        clear(store, RetentionLimits(observations=12.0), 22.0)
        store.compact()
    return path.read_bytes()


def flipped(image, rng, used):
    """Return an image with one to eight bytes flipped; ``used`` are worth flipping."""
    data = bytearray(image)
    for _ in range(rng.randint(1, 8) if rng.random() < 0.5 else 1):
        place = rng.choice(used) if rng.random() < 0.9 else rng.randrange(len(data))
        data[place] ^= rng.randint(1, 255)
    return bytes(data)


def rows(path):
    """Return all rows of all tables; nothing of the file's own layout."""
    with closing(sqlite3.connect(path)) as db:
        db.text_factory = bytes
        query = "SELECT name FROM sqlite_schema WHERE type = 'table'"
        names = [name.decode() for (name,) in db.execute(query)]
        return {
            name: sorted(map(repr, db.execute(f'SELECT * FROM "{name}"')))
            for name in names
        }


def use(store):
    """Ask a store everything that a verb asks."""
    evidence = store.evidence()
    keys = list(evidence.keys)
    store.items()
    store.history()
    store.held(keys)
    store.links()
    for key in keys:
        store.content(key)
    store.host("https://a:443")
    store.note("", "prior")
    store.spent(0.0)
    for name in store.collections():
        store.collection(name)
        store.register(name)
    store.staged()
    Outbox(store).alarms()
    Outbox(store).tally()


def believed(store):
    """Return what plans, forecasts and budgets go by."""
    evidence = store.evidence()
    keys = tuple(evidence.keys)
    folded = [getattr(evidence, name).tolist() for name in FOLDED]
    copies = [store.content(key) for key in keys]
    spent = [store.spent(float(day)) for day in range(25)]
    return keys, folded, tallies(evidence), hinted(evidence), copies, spent


def verdict(path, image, whole):
    """Return what comes of an image: told, harmless, or silently wrong and where."""
    path.write_bytes(image)
    told = "told when opened"
    try:
        with SqliteStore.open(path) as store:
            told = "told by verify"
            if store.verify():
                return told
            told = "told when used"
            use(store)
            if believed(store) != whole["believed"]:
                return "silent: what is believed"
    except HalflifeError:
        return told
    found = rows(path)
    wrong = [name for name in found if found[name] != whole[name]]
    return f"silent: {', '.join(wrong)}" if wrong else "harmless"


def images(image, count, seed=0):
    """Return images with bytes flipped, most of them bytes that are in use."""
    used = [place for place, byte in enumerate(image) if byte]
    rng = Random(seed)
    return (flipped(image, rng, used) for _ in range(count))


def tally(folder, count, seed=0):
    """Return how often each verdict comes over so many images."""
    original = folder / "whole.db"
    image = write(original)
    with SqliteStore.open(original) as store:
        whole = {"believed": believed(store)}
    whole |= rows(original)
    found = Counter()
    for number, bad in enumerate(images(image, count, seed)):
        path = folder / f"{number}.db"
        found[verdict(path, bad, whole)] += 1
        for file in folder.glob(f"{number}.db*"):
            file.unlink()
    return found


def main(count):
    with tempfile.TemporaryDirectory() as folder:
        found = tally(Path(folder), count)
    sys.stdout.write(json.dumps(dict(found.most_common()), indent=2) + "\n")


if __name__ == "__main__":
    main(int(sys.argv[1]))
