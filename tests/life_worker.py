"""A process that keeps a set source, to be killed at any moment."""

import sys

from halflife.core.object_store import Listing
from halflife.core.tracker import Tracker
from halflife.stores.sqlite import SqliteStore


def look(number):
    """Return the listing of a look; a third of it changes, a few come and go."""
    keys = range(3 * number, 3 * number + 200)
    return Listing(
        float(number), {f"k{k}": {"price": k + number // 3 * (k % 3)} for k in keys}
    )


def known(looks):
    """Return what is known after so many looks."""
    tracker = Tracker()
    for number in range(looks):
        tracker.take(look(number))
    return tracker.register()


def main(path):
    store = SqliteStore.open(path, create=True)
    run = store.begin(["set"], 0.0, lease=1e6)
    tracker, number = Tracker(), 0
    while True:
        tracker.take(look(number))
        store.save_register(run, "set", tracker.news())
        number += 1
        sys.stdout.write(f"{number}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1])
