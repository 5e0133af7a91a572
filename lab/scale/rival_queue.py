"""How many jobs a second pgqueuer takes and acknowledges; see ``leases.py``.

It is run by the Python of ``.bench``, which has pgqueuer and psycopg. Each worker is a
process that takes jobs in batches and logs them as done, by pgqueuer's own queries and
without its scheduling: the best that it can do.
"""

import argparse
import asyncio
import json
import multiprocessing
import sys
import time
import uuid
from datetime import timedelta
from multiprocessing.synchronize import Event
from typing import Any

import psycopg
from pgqueuer.db import PsycopgDriver
from pgqueuer.queries import EntrypointExecutionParameter, Queries

BATCH = 400  # as many as eight hosts with 50 pages each
JOBS = 20_000  # put into the queue at once


async def _queries(host: str) -> Queries:
    link = await psycopg.AsyncConnection.connect(
        host=host, user="postgres", dbname="rival", autocommit=True
    )
    return Queries(PsycopgDriver(link))


async def _work(host: str, ready: Any, stop: Event) -> int:
    queries, done = await _queries(host), 0
    entries: Any = {"fetch": EntrypointExecutionParameter(0)}
    me: Any = uuid.uuid4()
    ready.wait()
    while not stop.is_set():
        late = timedelta(seconds=30)
        jobs = await queries.dequeue(BATCH, entries, me, None, late)
        if jobs:
            await queries.log_jobs([(job, "successful", None) for job in jobs])
            done += len(jobs)
        else:
            await asyncio.sleep(0.002)
    return done


def _worker(host: str, ready: Any, stop: Event, told: Any) -> None:
    told.put(asyncio.run(_work(host, ready, stop)))


async def _fill(queries: Queries, many: int) -> None:
    await queries.enqueue(["fetch"] * many, [b"x" * 200] * many, [0] * many)


async def _measure(host: str, workers: int, seconds: float) -> float:
    queries = await _queries(host)
    await _fill(queries, 5 * JOBS)
    context = multiprocessing.get_context("spawn")
    ready, stop = context.Barrier(workers + 1), context.Event()
    told: Any = context.Queue()
    given = host, ready, stop, told
    many = [context.Process(target=_worker, args=given) for _ in range(workers)]
    for one in many:
        one.start()
    ready.wait()
    began = time.perf_counter()
    while time.perf_counter() - began < seconds:
        left = sum(row.count for row in await queries.queue_size())
        if left < 2 * JOBS:
            await _fill(queries, JOBS)
        await asyncio.sleep(0.05)
    stop.set()
    took = time.perf_counter() - began
    done = sum(told.get() for _ in many)
    for one in many:
        one.join()
    return float(done / took)


async def _made(host: str) -> None:
    with psycopg.connect(host=host, user="postgres", autocommit=True) as link:
        link.execute("DROP DATABASE IF EXISTS rival")
        link.execute("CREATE DATABASE rival")
    await (await _queries(host)).install()


def main() -> None:
    """Measure, and print one JSON object."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--host", required=True)
    options.add_argument("--workers", type=int, default=1)
    options.add_argument("--seconds", type=float, default=5.0)
    given = options.parse_args()
    asyncio.run(_made(given.host))
    rate = asyncio.run(_measure(given.host, given.workers, given.seconds))
    found = {"rival": "pgqueuer", "items_per_s": round(rate)}
    sys.stdout.write(f"{json.dumps(found)}\n")


if __name__ == "__main__":
    main()
