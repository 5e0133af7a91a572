"""Kill workers with kill -9 while they share a sync, and see what the sites saw.

    python lab/scale/kill_workers.py --rounds 50 --json
    python lab/scale/kill_workers.py --rounds 50 --cut --restart-server --json

Several workers sync many pages of many hosts (loopback addresses) with one PostgreSQL
server. In each round one worker, drawn at random, is killed and another is started.
With ``--cut`` a round may instead close all connections to the database; with
``--restart-server`` it may stop the server, by a crash or in order, and start it again.
When a sync is complete the next one begins with a new store, until ``--rounds`` rounds
are done or ``--within`` seconds have passed; the last sync is allowed to finish.

Workers run a copy of the package that is made at the start, so edits during the run
have no effect. After each sync the log of the sites is compared with the store and with
a list, kept by a trigger, of what workers acknowledged:

- ``lost``: answers that a worker had acknowledged and that are not in the store;
- ``unfinished``: pages that were not fetched in the time given, none of them lost;
- ``repeated``: requests for a page beyond the first, less those that a killed worker,
  or one whose lease ran out, may have had in flight;
- ``overspent``: requests beyond the budget, or that were not charged to the ledger;
- ``too_fast``: requests that came sooner after another than their host's delay allows.
"""

import argparse
import json
import random
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from lab.scale import fleet

CONCURRENCY = 16
# What workers acknowledge, kept apart in the same transactions.
WATCH = """
CREATE TABLE {schema}_acked (item BIGINT NOT NULL);
CREATE FUNCTION {schema}_note() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN INSERT INTO public.{schema}_acked SELECT unnest(NEW.items); RETURN NULL; END $$;
CREATE TRIGGER watched AFTER INSERT ON {schema}.work_answer
FOR EACH ROW EXECUTE FUNCTION public.{schema}_note()
"""
LOST = """
SELECT coalesce(sum(greatest(acked.many - coalesce(kept.many, 0), 0)), 0)
FROM (SELECT item, count(*) AS many FROM {schema}_acked GROUP BY item) AS acked
LEFT JOIN (SELECT item, count(*) AS many FROM (
    SELECT item FROM {schema}.observation
    UNION ALL SELECT unnest(items) FROM {schema}.work_answer) AS stored GROUP BY item)
    AS kept ON kept.item = acked.item
"""


@dataclass(slots=True)
class Sync:
    """What came of one sync.

    Attributes:
        killed: Workers that were killed.
        cuts: Times that all connections were cut, or the server restarted.
        died: Workers that ended by themselves, as a start without a database does.
        seconds: How long it took.
        pages: Pages that were to be fetched.
        requests: Requests that the sites saw.
        twice: Requests for a page beyond the first.
        allowed: Of these, those that may have been in flight under a lost lease.
        acknowledged: Pages that workers had acknowledged, as far as they were watched.
        unfinished: Pages that were not fetched in the time given.
        lost: Of those that were acknowledged, how many the store does not hold.
        repeated: Of ``twice``, those beyond ``allowed``.
        overspent: Requests beyond the budget or the ledger.
        too_fast: Requests that came too soon after another to the same host.
        wrong: What ``halflife verify`` finds.

    """

    killed: int = 0
    cuts: int = 0
    died: int = 0
    seconds: float = 0.0
    pages: int = 0
    requests: int = 0
    twice: int = 0
    allowed: int = 0
    acknowledged: int = 0
    unfinished: int = 0
    lost: int = 0
    repeated: int = 0
    overspent: int = 0
    too_fast: int = 0
    wrong: str = ""


class Trial:
    """One sync with workers that are killed.

    Args:
        given: The options.
        server: The database.
        n: Its number.
        rounds: How often something is harmed, at most.
        until: When no more harm is done.

    """

    def __init__(
        self,
        given: argparse.Namespace,
        server: fleet.Server,
        n: int,
        *,
        rounds: int,
        until: float,
    ) -> None:
        self.given, self.server, self.schema = given, server, f"sync_{n}"
        self.rng = random.Random(given.seed + n)
        self.budget = given.pages + given.hosts + given.spare
        self.rounds, self.until, self.watched = rounds, until, False
        self.found = Sync(pages=given.pages)

    def run(self) -> Sync:
        """Sync, kill, and compare."""
        given = self.given
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            log = folder / "asked.log"
            with fleet.site(given.hosts, log, given.pause) as port:
                settings = fleet.SETTINGS.format(
                    store=self.server.address(self.schema),
                    budget=self.budget,
                    delay=given.delay,
                    concurrency=CONCURRENCY,
                )
                many = fleet.Fleet(folder, settings, given.lease)
                try:
                    many.know(fleet.urls(given.hosts, given.pages, port))
                    began = time.monotonic()
                    self._sync(many)
                    self.found.seconds = round(time.monotonic() - began, 1)
                    many.end()
                finally:
                    many.kill_all()
                self._compare(many, fleet.Asked.read(log, given.delay))
                if given.keep_log:
                    text = (folder / "workers.log").read_text(errors="replace")
                    Path(given.keep_log).write_text(text)
        return self.found

    def _sync(self, many: fleet.Fleet) -> None:
        """Fetch all pages; do harm while there are rounds and time left."""
        given = self.given
        for _ in range(given.workers):
            many.start()
        fleet.wait_until(self._watch, given.timeout)
        until = max(self.until, time.monotonic()) + given.timeout
        while not self._is_done() and time.monotonic() < until:
            if not self._may_harm():
                self._replace(many)
                time.sleep(0.5)
                continue
            time.sleep(self.rng.uniform(0.5, 1.5) * given.every)
            if self._is_done():
                break
            self._replace(many)
            kinds = ["kill"] + ["cut"] * given.cut + ["restart"] * given.restart_server
            self._harm(many, self.rng.choice(kinds))

    def _may_harm(self) -> bool:
        done = self.found.killed + self.found.cuts
        return done < self.rounds and time.monotonic() < self.until

    def _watch(self) -> bool:
        """Begin to note what is acknowledged, once the tables are there."""
        with self.server.connect() as db:
            found = db.execute(
                "SELECT to_regclass(%s)", (f"{self.schema}.work_answer",)
            )
            self.watched = found.fetchone() != (None,)
            if self.watched:
                db.execute(WATCH.format(schema=self.schema))
        return self.watched

    def _replace(self, many: fleet.Fleet) -> None:
        """Start workers in place of those that ended by themselves."""
        for one in [one for one in many.workers if one.poll() is not None]:
            many.workers.remove(one)
            self.found.died += 1
            many.start()

    def _harm(self, many: fleet.Fleet, kind: str) -> None:
        """Kill a worker, cut all connections, or restart the server."""
        if kind == "kill":
            many.kill(self.rng.choice(many.workers))
            self.found.killed += 1
            many.start()
        elif kind == "cut":
            self.server.cut()
            self.found.cuts += 1
        else:
            self.server.stop(self.rng.choice(["fast", "immediate"]))
            time.sleep(self.rng.uniform(0.0, 2.0))
            self.server.start()
            self.found.cuts += 1

    def _is_done(self) -> bool:
        try:
            with self.server.connect() as db:
                held = fleet.figures(db, self.schema)
        except fleet.psycopg.Error:
            return False
        return held["filed"] >= self.given.pages and not held["waiting"]

    def _compare(self, many: fleet.Fleet, asked: fleet.Asked) -> None:
        """Compare what the sites saw with what the store holds."""
        found, given = self.found, self.given
        with self.server.connect() as db:
            held = fleet.figures(db, self.schema)
        found.requests = asked.requests
        found.twice = sum(asked.pages.values()) - len(asked.pages)
        # A worker has so many requests in flight; one that was answered may be lost,
        # and so may one whose acknowledgement is on its way.
        flight = 2 * CONCURRENCY
        harmed = found.killed + found.cuts * given.workers
        found.allowed = harmed * flight
        found.repeated = max(found.twice - found.allowed, 0)
        found.unfinished = given.pages - held["filed"]
        found.acknowledged, found.lost = self._acknowledged()
        over = max(held["charged"] - self.budget, 0)
        found.overspent = max(over, asked.requests - held["charged"], 0)
        found.too_fast = asked.too_fast
        try:
            many.run("verify")
        except RuntimeError as error:
            found.wrong = str(error)
        with self.server.connect() as db:
            db.execute(f"DROP SCHEMA {self.schema} CASCADE")

    def _acknowledged(self) -> tuple[int, int]:
        """Return how many answers were acknowledged, and how many of them are lost."""
        with self.server.connect() as db:
            (many,) = db.execute(
                f"SELECT count(*) FROM {self.schema}_acked"  # noqa: S608  (ours)
            ).fetchone() or (0,)
            (lost,) = db.execute(LOST.format(schema=self.schema)).fetchone() or (0,)
            db.execute(f"DROP TRIGGER watched ON {self.schema}.work_answer")
        return int(many), int(lost)


def read_options(words: list[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    options = argparse.ArgumentParser(description=__doc__)
    add = options.add_argument
    add("--rounds", type=int, default=50, help="kills, cuts and restarts in all")
    add("--within", type=float, default=480.0, help="seconds in which they fall")
    add("--pages", type=int, default=20_000)
    add("--hosts", type=int, default=200)
    add("--workers", type=int, default=4)
    add("--delay", type=float, default=0.02, help="seconds between requests to a host")
    add("--pause", type=float, default=0.0, help="seconds that an answer takes")
    add("--lease", type=float, default=3.0)
    add("--every", type=float, default=5.0, help="seconds between two rounds")
    add("--cut", action="store_true", help="cut connections to the database, too")
    add("--restart-server", action="store_true", help="restart the database, too")
    add("--spare", type=int, default=2000, help="requests beyond one a page and host")
    add("--timeout", type=float, default=240.0, help="seconds to finish a sync in")
    add("--seed", type=int, default=1)
    add("--keep-log", default="")
    add("--json", action="store_true")
    return options.parse_args(words)


def main() -> None:
    """Run all rounds and print what came of them."""
    given = read_options()
    syncs: list[dict[str, Any]] = []
    rounds, until = 0, time.monotonic() + given.within
    with fleet.server() as server, fleet.frozen_package():
        while rounds < given.rounds and time.monotonic() < until:
            left = given.rounds - rounds
            one = Trial(given, server, len(syncs), rounds=left, until=until).run()
            rounds += one.killed + one.cuts
            syncs.append(asdict(one))
            if not given.json:
                sys.stdout.write(f"{json.dumps(syncs[-1])}\n")
                sys.stdout.flush()
    sums = ("killed", "cuts", "died", "twice", "acknowledged", "unfinished")
    sums = (*sums, "lost", "repeated", "overspent", "too_fast")
    total = {name: sum(one[name] for one in syncs) for name in sums}
    wrong = [one["wrong"] for one in syncs if one["wrong"]]
    whole = {"rounds": rounds, "syncs": len(syncs), **total, "wrong": wrong}
    sys.stdout.write(f"{json.dumps({**whole, 'each': syncs})}\n")


if __name__ == "__main__":
    main()
