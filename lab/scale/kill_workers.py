"""Kill workers with kill -9 while they share a sync, and see what the sites saw.

    python lab/scale/kill_workers.py --rounds 50 --json
    python lab/scale/kill_workers.py --rounds 10 --cut --restart-server --json

Each round syncs many pages of many hosts (loopback addresses) with several workers on
one PostgreSQL. Every few seconds a random worker is killed, and another is started in
its place. With ``--cut`` all connections to the database are ended now and then, with
``--restart-server`` the server is stopped and started again. Then the log of the sites
is compared with the store:

- ``lost``: pages that a site has answered and of which the store holds nothing when
  all is done (what a killed worker had not handed in is fetched again);
- ``repeated``: requests for a page beyond the first, less those that a killed worker,
  or one whose lease ran out, may have had in flight;
- ``overspent``: requests beyond the budget, or that the ledger was not charged with;
- ``too_fast``: requests that came sooner after another than the delay of their host.
"""

import argparse
import json
import random
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from lab.scale import fleet

CONCURRENCY = 16


@dataclass(slots=True)
class Round:
    """What came of one round.

    Attributes:
        killed: Workers that were killed.
        cuts: Times that all connections were cut, or the server restarted.
        died: Workers that ended by themselves, as a start without a database does.
        seconds: How long it took.
        pages: Pages that were to be fetched.
        requests: Requests that the sites saw.
        twice: Requests for a page beyond the first.
        allowed: Of these, those that may have been in flight under a lost lease.
        unfinished: Pages that were not fetched in the time given.
        lost: Pages that a worker had acknowledged and that the store does not hold.
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
    unfinished: int = 0
    lost: int = 0
    repeated: int = 0
    overspent: int = 0
    too_fast: int = 0
    wrong: str = ""


class Trial:
    """One round: a sync with workers that are killed."""

    def __init__(self, given: argparse.Namespace, server: fleet.Server, n: int) -> None:
        self.given, self.server, self.schema = given, server, f"round_{n}"
        self.rng = random.Random(given.seed + n)
        self.budget = given.pages + given.hosts + given.spare
        self.found = Round(pages=given.pages)

    def run(self) -> Round:
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
        """Fetch all pages; kill and cut until that is done."""
        given = self.given
        for _ in range(given.workers):
            many.start()
        until = time.monotonic() + given.timeout
        while not self._is_done() and time.monotonic() < until:
            time.sleep(self.rng.uniform(0.5, 1.5) * given.every)
            if self._is_done():
                break
            self._replace(many)
            if self.found.killed + self.found.cuts >= given.harms:
                continue
            kinds = ["kill"] + ["cut"] * given.cut + ["restart"] * given.restart_server
            self._harm(many, self.rng.choice(kinds))

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
        # What a page server answered was fetched; what nobody asked for was not.
        found.unfinished = given.pages - len(asked.pages)
        found.lost = max(len(asked.pages) - held["filed"], 0)
        over = max(held["charged"] - self.budget, 0)
        found.overspent = max(over, asked.requests - held["charged"], 0)
        found.too_fast = asked.too_fast
        try:
            many.run("verify")
        except RuntimeError as error:
            found.wrong = str(error)


def read_options(words: list[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    options = argparse.ArgumentParser(description=__doc__)
    add = options.add_argument
    add("--rounds", type=int, default=50)
    add("--pages", type=int, default=20_000)
    add("--hosts", type=int, default=200)
    add("--workers", type=int, default=4)
    add("--delay", type=float, default=0.02, help="seconds between requests to a host")
    add("--pause", type=float, default=0.0, help="seconds that an answer takes")
    add("--lease", type=float, default=3.0)
    add("--every", type=float, default=3.0, help="seconds between two kills")
    add("--harms", type=int, default=8, help="kills and cuts in a round, at most")
    add("--cut", action="store_true", help="cut connections to the database, too")
    add("--restart-server", action="store_true", help="restart the database, too")
    add("--spare", type=int, default=2000, help="requests beyond one a page and host")
    add("--timeout", type=float, default=600.0)
    add("--seed", type=int, default=1)
    add("--keep-log", default="")
    add("--json", action="store_true")
    return options.parse_args(words)


def main() -> None:
    """Run all rounds and print what came of them."""
    given = read_options()
    rounds = []
    with fleet.server() as server:
        for n in range(given.rounds):
            one = Trial(given, server, n).run()
            rounds.append(asdict(one))
            if not given.json:
                sys.stdout.write(f"{json.dumps(rounds[-1])}\n")
                sys.stdout.flush()
    sums = ("killed", "cuts", "died", "twice", "unfinished")
    sums = (*sums, "lost", "repeated", "overspent", "too_fast")
    total = {name: sum(one[name] for one in rounds) for name in sums}
    wrong = [one["wrong"] for one in rounds if one["wrong"]]
    whole = {"rounds": len(rounds), **total, "wrong": wrong, "each": rounds}
    sys.stdout.write(f"{json.dumps(whole)}\n")


if __name__ == "__main__":
    main()
