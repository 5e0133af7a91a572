"""How many pages a second are leased and acknowledged, beside a queue of others.

    python lab/scale/leases.py --workers 1,2,4,8 --json
    python lab/scale/leases.py --workers 4 --churn 3600 --json

Each worker is a process that leases pages of hosts in batches, charges the ledger,
acknowledges them and gives the hosts back, as ``halflife worker`` does, but fetches
nothing. A planner files what was acknowledged and hands pages out again. The rival is
pgqueuer or procrastinate from PyPI, on the same server, with the same number of
processes and batches of the same size (``--rival`` names the Python that has one; by
default that of ``.bench``). ``--churn`` goes on for so many seconds with the first
number of workers, and prints what that leaves behind: dead rows, vacuum, locks.
"""

import argparse
import json
import multiprocessing
import subprocess
import sys
import time
from contextlib import closing
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from halflife.core.item import Item
from halflife.stores.owner import Owner
from halflife.stores.postgres.store import PostgresStore
from halflife.stores.postgres.work_queue import BudgetWindow, WorkQueue
from halflife.stores.work import SeenAnswer
from lab.scale import fleet

HERE = Path(__file__).parent
ANSWER = b"x" * 200  # bytes: an answer that says "not modified"
WINDOW = BudgetWindow(10**9, 1.0)
DEAD = """
SELECT relname, n_live_tup, n_dead_tup, autovacuum_count, pg_total_relation_size(relid)
FROM pg_stat_user_tables WHERE schemaname = %s
AND relname IN ('work_item', 'host_lease', 'ledger')
"""
LOCKS = """
SELECT count(*) FILTER (WHERE granted), count(*) FILTER (WHERE NOT granted)
FROM pg_locks
"""


def work(address: str, ready: Any, stop: Event, most: int) -> int:
    """Lease and acknowledge until told to stop; return how many pages."""
    done = 0
    with closing(WorkQueue.open(address, 30.0)) as queue:
        queue.join("bench", Owner.here(shared=True))
        ready.wait()
        while not stop.is_set():
            batches = queue.lease_pages(8, most, WINDOW)
            for batch in batches:
                rows = [SeenAnswer(page.item, 1, ANSWER) for page in batch.pages]
                queue.acknowledge(batch, rows)
                queue.release(batch, (0.0, 0.0))
                done += len(rows)
            if not batches:
                time.sleep(0.002)
    return done


def _worker(address: str, ready: Any, stop: Event, most: int, told: Any) -> None:
    told.put(work(address, ready, stop, most))


class Bench:
    """Pages that are handed out, fetched by nobody, and handed out again."""

    def __init__(self, server: fleet.Server, hosts: int, pages: int) -> None:
        self.address, self.hosts = server.address("leases"), hosts
        self.server = server
        self.store = PostgresStore.open(self.address, create=True)
        keys = [f"http://h{i % hosts}.test/{i}" for i in range(pages)]
        self.store.add(Item(key, "site") for key in keys)
        self.queue = WorkQueue.open(self.address, 30.0)
        self.queue.stand_for_election()
        self.queue.take_over(self.store, 0.0)
        self.run = self.store.begin(["site"], time.time() / 86400.0, lease=10.0)
        self.rows = [(key, key.split("/")[2], 1.0, 0) for key in keys]

    def hand_out(self) -> None:
        """Hand all pages out; those that are out stay so."""
        self.queue.hand_out(self.run.id, self.rows)

    def file(self, most: int = 20_000) -> int:
        """Forget what was acknowledged, without reading it: return how many."""
        with self.queue._changing() as db:  # noqa: SLF001  (the planner's, in bulk)
            query = """DELETE FROM work_item WHERE item IN (SELECT item FROM work_item
                WHERE done IS NOT NULL LIMIT ?)"""
            return int(db.execute(query, (most,)).rowcount)

    def measure(self, workers: int, seconds: float, most: int) -> float:
        """Return the pages a second that so many workers lease and acknowledge."""
        self.hand_out()
        context = multiprocessing.get_context("spawn")
        ready, stop = context.Barrier(workers + 1), context.Event()
        told: Any = context.Queue()
        given = self.address, ready, stop, most, told
        many = [context.Process(target=_worker, args=given) for _ in range(workers)]
        for one in many:
            one.start()
        ready.wait()
        began = time.perf_counter()
        while time.perf_counter() - began < seconds:
            if self.file() < 1000:
                time.sleep(0.02)
            if self.queue.open_pages(["site"])[0] < len(self.rows) // 4:
                self.hand_out()
        stop.set()
        took = time.perf_counter() - began
        done = sum(told.get() for _ in many)
        for one in many:
            one.join()
        return done / took

    def left_behind(self) -> dict[str, Any]:
        """Return dead rows, vacuums, sizes and locks."""
        with self.server.connect() as db:
            db.execute("SELECT pg_stat_force_next_flush()")
            rows = db.execute(DEAD, ("leases",)).fetchall()
            locks = db.execute(LOCKS).fetchone()
        names = ("live", "dead", "autovacuums", "bytes")
        found: dict[str, Any] = {
            row[0]: dict(zip(names, row[1:], strict=True)) for row in rows
        }
        found["locks"] = {"granted": locks[0], "waiting": locks[1]} if locks else {}
        return found


def rival(python: str, server: fleet.Server, workers: int, seconds: float) -> Any:
    """Return what the rival does with as many processes; why not, if it cannot."""
    command = [python, HERE / "rival_queue.py", "--host", str(server.folder)]
    command += ["--workers", str(workers), "--seconds", str(seconds)]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=seconds * 6 + 120
    )
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or ["it failed"]
        return {"items_per_s": None, "why": last[0]}
    return json.loads(done.stdout)


def main() -> None:
    """Measure, and print one JSON object."""
    options = argparse.ArgumentParser(description=__doc__)
    add = options.add_argument
    add("--workers", default="1,2,4,8")
    add("--seconds", type=float, default=5.0)
    add("--pages", type=int, default=100_000)
    add("--hosts", type=int, default=2000)
    add("--batch", type=int, default=50, help="pages of a host leased at once")
    add("--churn", type=float, default=0.0, help="seconds; 3600 is an hour")
    add("--no-sync", action="store_true", help="do not wait for the disk")
    add("--rival", default=str(HERE.parents[1] / ".bench/bin/python"))
    add("--json", action="store_true")
    given = options.parse_args()
    numbers = [int(one) for one in given.workers.split(",")]
    found: dict[str, Any] = {"seconds": given.seconds, "batch": given.batch}
    with fleet.server(sync=not given.no_sync) as server:
        bench = Bench(server, given.hosts, given.pages)
        ours, theirs = {}, {}
        for many in numbers:
            ours[many] = round(bench.measure(many, given.seconds, given.batch))
            theirs[many] = rival(given.rival, server, many, given.seconds)
        found |= {"items_per_s": ours, "rival_items_per_s": theirs}
        if given.churn:
            rate = bench.measure(numbers[0], given.churn, given.batch)
            found["churn"] = {"seconds": given.churn, "items_per_s": round(rate)}
        found["left_behind"] = bench.left_behind()
        bench.queue.close()
        bench.store.close()
    sys.stdout.write(f"{json.dumps(found, indent=None if given.json else 2)}\n")


if __name__ == "__main__":
    main()
