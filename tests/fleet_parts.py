"""A fleet in tests: a project on PostgreSQL, sites on loopback, and its queue."""

import threading
from contextlib import closing, contextmanager

import postgres_store
from halflife.core.item import Item
from halflife.stores.owner import Owner
from halflife.stores.postgres.store import PostgresStore
from halflife.stores.postgres.work_queue import BudgetWindow, WorkQueue

LEASE = 30.0
WINDOW = BudgetWindow(1000, 1.0)
ME = Owner.here(shared=True)


class Clock:
    """Ends leases in the database, as if time had passed."""

    def __init__(self, address):
        self.schema = address.rpartition("=")[2]

    def run(self, statement, *values):
        statement = statement.replace("@", f"{self.schema}.")
        return postgres_store.connect().execute(statement, values)

    def pass_by(self, seconds):
        for column in ("expires", "heard", "ready"):
            earlier = f"{column} - %s * interval '1 second'"
            self.run(f"UPDATE @host_lease SET {column} = {earlier}", seconds)


@contextmanager
def handed_out(pages, gains=None, hosts=1, window=WINDOW):
    """Yield the address of a store in which pages are handed out, and the planner."""
    address = postgres_store.fresh()
    keys = [f"http://h{i % hosts}.test/{i}" for i in range(pages)]
    with PostgresStore.open(address, create=True) as store:
        store.add(Item(key, "site") for key in keys)
        run = store.begin(["site"], 20000.0, lease=1.0)
        with closing(WorkQueue.open(address, LEASE)) as queue:
            assert queue.stand_for_election()
            queue.take_over(store, 20000.0)
            gains = gains or [1.0] * pages
            rows = [
                (k, k.split("/")[2], g, 0) for k, g in zip(keys, gains, strict=True)
            ]
            queue.hand_out(run.id, rows)
            yield address, queue


@contextmanager
def worker(address, name="w"):
    """Yield the queue of a worker."""
    with closing(WorkQueue.open(address, LEASE)) as queue:
        queue.join(name, ME)
        yield queue


def in_thread(work):
    """Run something in a thread; return a function that waits for its result."""
    found = []
    thread = threading.Thread(target=lambda: found.append(work()))
    thread.start()

    def result():
        thread.join(30)
        return found[0]

    return result
