"""How many pages a second are leased and acknowledged, beside a queue of others.

    python lab/scale/leases.py --workers 1,2,4,8 --json
    python lab/scale/leases.py --workers 4 --churn 3600 --rate 1000 --json

Each worker is a process that leases pages of hosts in batches, charges the ledger,
acknowledges them and gives the hosts back, as ``halflife worker`` does, but fetches
nothing. A planner files what was acknowledged and hands the same pages out again. The
rival is pgqueuer from PyPI, on the same server, with the same number of processes and
batches of the same size (``--rival`` names the Python that has it; by default that of
``.bench``; ``--rival none`` leaves it out).

``--churn`` goes on for so many seconds with the first number of workers, at ``--rate``
pages a second, and prints every ``--every`` seconds to standard error what lies about:
live and dead rows, autovacuums, bytes, rows locked (``pgrowlocks``), locks waited for.
"""

import argparse
import json
import multiprocessing
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import dataclass
from math import inf
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
SELECT relname, n_live_tup, n_dead_tup, n_tup_upd, n_tup_hot_upd, autovacuum_count,
    pg_total_relation_size(relid)
FROM pg_stat_user_tables WHERE schemaname = %s
AND relname IN ('work_item', 'work_answer', 'host_lease', 'ledger')
"""
TABLE = ("live", "dead", "updates", "hot_updates", "autovacuums", "bytes")
LOCKS = """
SELECT count(*) FILTER (WHERE granted), count(*) FILTER (WHERE NOT granted)
FROM pg_locks
"""
ROWS_LOCKED = """
SELECT (SELECT count(*) FROM pgrowlocks('leases.host_lease'))
    + (SELECT count(*) FROM pgrowlocks('leases.work_item'))
"""


@dataclass(frozen=True, slots=True)
class Load:
    """How hard the workers work.

    Attributes:
        workers: Processes.
        seconds: For how long.
        batch: Pages of a host leased at once.
        rate: Pages a second of all workers together, at most.

    """

    workers: int
    seconds: float
    batch: int
    rate: float = inf


def work(address: str, ready: Any, stop: Event, load: Load) -> tuple[int, float]:
    """Lease and acknowledge until told to stop; return pages and processor seconds."""
    done, mine = 0, load.rate / load.workers
    with closing(WorkQueue.open(address, 30.0)) as queue:
        queue.join("bench", Owner.here(shared=True))
        ready.wait()
        began, before = time.perf_counter(), time.process_time()
        while not stop.is_set():
            batches = queue.lease_pages(8, load.batch, WINDOW)
            for batch in batches:
                rows = [SeenAnswer(page.item, 1, ANSWER) for page in batch.pages]
                queue.acknowledge(batch, rows)
                queue.release(batch, (0.0, 0.0))
                done += len(rows)
            ahead = done / mine - (time.perf_counter() - began)
            if not batches or ahead > 0:
                time.sleep(max(ahead, 0.002))
        return done, time.process_time() - before


def _worker(address: str, ready: Any, stop: Event, load: Load, told: Any) -> None:
    told.put(work(address, ready, stop, load))


class Bench:
    """Pages that are handed out, fetched by nobody, and handed out again."""

    def __init__(self, server: fleet.Server, hosts: int, pages: int) -> None:
        self.address, self.hosts = server.address("leases"), hosts
        self.server = server
        with server.connect() as db:
            db.execute("CREATE EXTENSION IF NOT EXISTS pgrowlocks")
        self.store = PostgresStore.open(self.address, create=True)
        keys = [f"http://h{i % hosts}.test/{i}" for i in range(pages)]
        self.store.add(Item(key, "site") for key in keys)
        self.queue = WorkQueue.open(self.address, 30.0)
        self.queue.stand_for_election()
        self.queue.take_over(self.store, 0.0)
        self.run = self.store.begin(["site"], time.time() / 86400.0, lease=10.0)
        with server.connect() as db:
            known = dict(db.execute("SELECT key, id FROM leases.item").fetchall())
        self.rows = {known[key]: (key, key.split("/")[2], 1.0, 0) for key in keys}
        self.away = list(self.rows)  # pages that are to be handed out again

    def hand_out(self) -> None:
        """Hand out all pages that are not."""
        self.queue.hand_out(self.run.id, [self.rows[item] for item in self.away])
        self.away = []

    def file(self, most: int = 400) -> int:
        """Forget what was acknowledged, without reading it: return how many pages."""
        with self.queue._changing() as db:  # noqa: SLF001  (the planner's, in bulk)
            query = """DELETE FROM work_answer WHERE item IN (SELECT item FROM
                work_answer ORDER BY at LIMIT ?) RETURNING items"""
            found = [one for (many,) in db.execute(query, (most,)) for one in many]
        self.away += found
        return len(found)

    def measure(self, load: Load, every: float = inf) -> dict[str, float]:
        """Return the pages a second that are leased and acknowledged, and the cost."""
        self.hand_out()
        context = multiprocessing.get_context("spawn")
        ready, stop = context.Barrier(load.workers + 1), context.Event()
        told: Any = context.Queue()
        given = self.address, ready, stop, load, told
        many = [
            context.Process(target=_worker, args=given) for _ in range(load.workers)
        ]
        for one in many:
            one.start()
        ready.wait()
        began, cpu = time.perf_counter(), self.server.cpu_seconds()
        self._plan(load.seconds, every)
        stop.set()
        took, cpu = time.perf_counter() - began, self.server.cpu_seconds() - cpu
        done, used = map(sum, zip(*(told.get() for _ in many), strict=True))
        for one in many:
            one.join()
        found = {"items_per_s": done / took, "server_cpu_us": 1e6 * cpu / done}
        found["workers_cpu_us"] = 1e6 * used / done
        return {name: round(value, 1) for name, value in found.items()}

    def _plan(self, seconds: float, every: float) -> None:
        """File what comes in and hand it out again; say now and then how it stands."""
        began = said = time.perf_counter()
        while (now := time.perf_counter()) - began < seconds:
            if self.file() < 1000:
                time.sleep(0.02)
            if len(self.away) > len(self.rows) // 4:
                self.hand_out()
            if now - said >= every:
                said = now
                state = {"seconds": round(now - began), **self.left_behind()}
                sys.stderr.write(f"{json.dumps(state)}\n")
                sys.stderr.flush()

    def left_behind(self) -> dict[str, Any]:
        """Return dead rows, vacuums, sizes and locks."""
        with self.server.connect() as db:
            db.execute("SELECT pg_stat_force_next_flush()")
            rows = db.execute(DEAD, ("leases",)).fetchall()
            locks = db.execute(LOCKS).fetchone()
            locked = db.execute(ROWS_LOCKED).fetchone()
        found: dict[str, Any] = {
            row[0]: dict(zip(TABLE, row[1:], strict=True)) for row in rows
        }
        found["locks"] = {"granted": locks[0], "waiting": locks[1]} if locks else {}
        found["rows_locked"] = locked[0] if locked else 0
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
    add("--rate", type=float, default=inf, help="pages a second of the churn")
    add("--every", type=float, default=60.0, help="seconds between its lines")
    add("--no-sync", action="store_true", help="do not wait for the disk")
    add("--rival", default=str(HERE.parents[1] / ".bench/bin/python"))
    add("--json", action="store_true")
    given = options.parse_args()
    numbers = [int(one) for one in given.workers.split(",")]
    found: dict[str, Any] = {"seconds": given.seconds, "batch": given.batch}
    with fleet.server(sync=not given.no_sync) as server:
        bench = Bench(server, given.hosts, given.pages)
        if given.churn:
            load = Load(numbers[0], given.churn, given.batch, given.rate)
            churn = bench.measure(load, given.every)
            found["churn"] = {"seconds": given.churn, **churn}
        else:
            found |= compare(bench, given, numbers)
        found["left_behind"] = bench.left_behind()
        bench.queue.close()
        bench.store.close()
    sys.stdout.write(f"{json.dumps(found, indent=None if given.json else 2)}\n")


def compare(bench: Bench, given: argparse.Namespace, numbers: list[int]) -> Any:
    """Return what so many workers do, ours and the rival's, one after the other."""
    ours, theirs = {}, {}
    for many in numbers:
        ours[many] = bench.measure(Load(many, given.seconds, given.batch))
        if given.rival != "none":
            theirs[many] = rival(given.rival, bench.server, many, given.seconds)
    rates = {many: round(one["items_per_s"]) for many, one in ours.items()}
    return {"items_per_s": rates, "rival_items_per_s": theirs, "cost": ours}


if __name__ == "__main__":
    main()
