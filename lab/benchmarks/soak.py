"""What grows while the service runs for days: memory, file handles, threads.

The real service keeps sources of every kind (pages on many hosts, a site, a listing, a
search, a form), with targets, alerts, audits and retention, and its endpoint is asked;
the web it keeps is a process of its own. The clock runs as fast as the work allows:
what the service would sleep, the clock is put forward. Twice a day of that clock the
service rests until kept connections have run out, and is measured; between, the most of
each is noted. Prints JSON.

    .venv/bin/python lab/benchmarks/soak.py --days 7 --json

Flat: the 95 % interval of the slope from the second day on includes 0, or the slope is
below 0.5 % a day.
"""

import argparse
import asyncio
import gc
import io
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from scipy.special import stdtrit
from soak_world import ATTRIBUTES

from halflife.config import Config
from halflife.core.forms import Interface
from halflife.engine import bootstrap, logs
from halflife.engine.endpoint import serve_status
from halflife.engine.reload import Settings
from halflife.engine.service import Service, ServiceEnvironment
from halflife.engine.signals import Stop
from halflife.kinds.form.recorded_pages import snippet
from halflife.kinds.listing.audit import audit_set
from halflife.kinds.listing.runner import ListingOutcome
from halflife.kinds.protocol import Report

DAY = 86400.0
REST = 9.0  # seconds; kept connections run out within eight
RESTS = 14
STEEP = 0.005  # a day, as a share of the mean: more than this is growth
SETTINGS = """\
[budget]
requests = {budget}
per = "day"

[fetch]
delay = 0
concurrency = 8

[audit]
share = 0.05

[keep]
observations_days = 2.0
runs_days = 2.0
messages_days = 1.0
summaries = 3

[[alert]]
url = "{home}/told"
allow = ["127.0.0.0/8"]
every = "6h"

[[source]]
name = "pages"
allow = ["127.0.0.0/8"]
pages = [{pages}]

[[source]]
name = "prompt"
allow = ["127.0.0.0/8"]
target = "freshness >= 0.8"
max_interval = "12h"
pages = [{prompt}]

[[source]]
name = "site"
kind = "site"
allow = ["127.0.0.0/8"]
start = "{home}/site/0"

[[source]]
name = "jobs"
kind = "listing"
allow = ["127.0.0.0/8"]
key = "id"
url = "{home}/jobs.json"
target = "recall >= 0.9"

[[source]]
name = "words"
kind = "search"
allow = ["127.0.0.0/8"]
engine = "elasticsearch"
search_url = "{home}/es/_search?q={{query}}&from={{offset}}&size={{count}}"

"""


@dataclass(frozen=True, slots=True)
class Size:
    """How much there is to keep, for how long; rests in seconds."""

    days: float = 7.0
    pages: int = 400
    hosts: int = 120
    budget: int = 720
    rest: float = REST
    rests: int = RESTS


def settings(home: str, form: str, size: Size) -> str:
    """Return settings with sources of every kind."""

    def listed(first: int, last: int) -> str:
        port = home.rpartition(":")[2]
        return ", ".join(
            f'"http://127.0.0.{i % size.hosts + 1}:{port}/page/{i}"'
            for i in range(first, last)
        )

    few = max(size.pages // 10, 1)
    pages, prompt = listed(few, size.pages), listed(0, few)
    said = SETTINGS.format(budget=size.budget, home=home, pages=pages, prompt=prompt)
    return said + snippet(form, Interface(ATTRIBUTES, page_size=20, everything=True))


@contextmanager
def served() -> Iterator["subprocess.Popen[str]"]:
    """Run the web in a process of its own during the block."""
    command = [sys.executable, str(Path(__file__).with_name("soak_world.py"))]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, text=True, **pipes) as process:
        try:
            yield process
        finally:
            if process.stdin and not process.stdin.closed:
                process.stdin.close()
            process.wait(30)


def used() -> dict[str, float]:
    """Return what this process uses: memory, handles, threads."""
    lines = Path("/proc/self/status").read_text().splitlines()
    found = dict(line.split(":", 1) for line in lines if ":" in line)
    handles = os.listdir("/proc/self/fd")  # noqa: PTH208  (names only)
    return {
        "resident_mb": int(found["VmRSS"].split()[0]) / 1024,
        "handles": len(handles) - 1,  # one reads the folder itself
        "threads": int(found["Threads"]),
    }


def kinds() -> dict[str, int]:
    """Return how many handles there are of each kind."""
    found: Counter[str] = Counter()
    for one in Path("/proc/self/fd").iterdir():
        try:
            target = str(one.readlink())
        except FileNotFoundError:
            continue
        if target.startswith("/") and not target.startswith("/proc"):
            target = "file"
        found[target.partition(":")[0]] += 1
    return dict(found)


@dataclass
class Notes:
    """What was measured: at rest, and the most between two rests."""

    rest: list[dict[str, float]] = field(default_factory=list)
    most: list[dict[str, float]] = field(default_factory=list)
    results: Counter[str] = field(default_factory=Counter)
    rests: int = 0

    def look(self) -> None:
        """Note what is used now, if it is the most since the last rest."""
        while len(self.most) <= self.rests:
            self.most.append({})
        here = self.most[self.rests]
        for name, value in used().items():
            here[name] = max(here.get(name, 0.0), value)


class Soak:
    """A service on a clock of its own, which is looked at as it runs."""

    def __init__(self, config: Config, web: "subprocess.Popen[str]") -> None:
        self.config, self.web = config, web
        self.began = time.time() / DAY
        self.days = 0.0
        self.notes = Notes()
        self.events = io.StringIO()
        self.stop = Stop()
        self.told = Counter[str]()
        self._turn, self._said = -1, -1.0

    def __call__(self) -> float:
        """Return the time, in days; a little later each time it is asked."""
        self.days += 1e-9
        return self.began + self.days

    async def run(self, until: float, each: float, rest: float) -> Service:
        """Run so many days; rest for so many seconds every ``each`` days."""
        with bootstrap.writing(self.config) as store:

            def told(report: Report) -> None:
                result = report.result
                self.notes.results[type(result).__name__] += 1
                if isinstance(result, ListingOutcome):
                    audit_set(store, result.source, result.run)

            outside = ServiceEnvironment(clock=self, on_report=told, audits=True)
            service = Service(Settings(self.config), store, self.stop, outside)
            async with serve_status(service.status, 0, self) as port:

                async def sleep(seconds: float) -> None:
                    self.days += seconds / DAY
                    self._look(service)
                    if self.days >= (len(self.notes.rest) + 1) * each:
                        await self._rest(rest, port)
                    if self.days >= until and not self.stop.asked.is_set():
                        self.stop.ask(15)
                    await asyncio.sleep(0)

                self.stop.sleep = sleep  # type: ignore[method-assign]
                await service.run()
        return service

    def _look(self, service: Service) -> None:
        """Note what is used once a turn; tell the web the time every few minutes."""
        if service.status.turns != self._turn:
            self._turn = service.status.turns
            self.notes.look()
            self._count()
        if self.days - self._said > 1.0 / 288.0 and self.web.stdin:
            self._said = self.days
            self.web.stdin.write(f"{self.days!r}\n")
            self.web.stdin.flush()

    def _count(self) -> None:
        """Count the events that were written, and forget them."""
        for line in self.events.getvalue().splitlines():
            self.told[json.loads(line)["event"]] += 1
        self.events.seek(0)
        self.events.truncate()

    async def _rest(self, seconds: float, port: int) -> None:
        """Let kept connections run out, ask the endpoint, and note what is used."""
        await asyncio.sleep(seconds)
        url = f"http://127.0.0.1:{port}/metrics"
        await asyncio.to_thread(lambda: urllib.request.urlopen(url).read())
        gc.collect()
        await asyncio.sleep(0.1)
        self.notes.rest.append({"day": self.days, **used()})
        self.notes.rests += 1


def slope(day: Sequence[float], value: Sequence[float]) -> dict[str, object]:
    """Return the slope of a straight line a day, with its 95 % interval.

    Least squares; with n points Student's t has n - 2 degrees of freedom.
    """
    x, y = np.array(day), np.array(value)
    n = x.size
    around = x - x.mean()
    found = float(around @ y / (around @ around))
    rest = y - y.mean() - found * around
    spread = np.sqrt(float(rest @ rest) / max(n - 2, 1) / float(around @ around))
    half = float(stdtrit(max(n - 2, 1), 0.975) * spread)
    low, high = found - half, found + half
    return {
        "first": round(float(y[0]), 1),
        "last": round(float(y[-1]), 1),
        "most": round(float(y.max()), 1),
        "each": [round(float(one), 1) for one in y],
        "a_day": round(found, 4),
        "a_day_low": round(low, 4),
        "a_day_high": round(high, 4),
        "percent_a_day": round(100.0 * found / float(y.mean()), 3),
        "flat": bool(low <= 0.0 <= high or found < STEEP * float(y.mean())),
    }


def judged(notes: Notes, after: float) -> dict[str, object]:
    """Return the slopes of what is used, at rest and at most."""
    late = [i for i, one in enumerate(notes.rest) if one["day"] >= after]
    day = [notes.rest[i]["day"] for i in late]
    names = ("resident_mb", "handles", "threads")
    at_rest = {name: slope(day, [notes.rest[i][name] for i in late]) for name in names}
    at_most = {
        f"most_{name}": slope(day, [notes.most[i][name] for i in late])
        for name in names
    }
    return {**at_rest, **at_most}


def soak(size: Size) -> dict[str, object]:
    """Run the service; return what it did and what grew."""
    days, each = size.days, size.days / size.rests
    with tempfile.TemporaryDirectory() as made, served() as web:
        assert web.stdout
        ports = json.loads(web.stdout.readline())
        home, form = (f"http://127.0.0.1:{ports[name]}" for name in ("port", "form"))
        path = Path(made) / "halflife.toml"
        path.write_text(settings(home, form, size))
        began, cpu = time.time(), time.process_time()
        run = Soak(Config.load(path), web)
        handler = logs.set_up(as_json=True, stream=run.events)
        try:
            service = asyncio.run(run.run(days + each / 2.0, each, size.rest))
        finally:
            logs.end(handler)
        run._count()  # noqa: SLF001  (the events of the end)
        size = Path(run.config.store_path).stat().st_size / 2**20
        assert web.stdin
        web.stdin.close()
        heard = json.loads(web.stdout.readline())
    grown = judged(run.notes, 1.01 * days / 7.0)
    return {
        "days": round(run.days, 2),
        "took_s": round(time.time() - began),
        "took_cpu_s": round(time.process_time() - cpu),
        "load": os.getloadavg()[0],
        "turns": service.status.turns,
        "requests": heard["asked"],
        "messages": heard["messages"],
        "results": dict(run.notes.results),
        "events": dict(run.told),
        "store_mb": round(size, 1),
        "handles_at_the_end": kinds(),
        **grown,
        "met": {name: one["flat"] for name, one in grown.items()},
    }


def main() -> None:
    """Measure, and print JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--days", type=float, default=7.0)
    parser.add_argument("--pages", type=int, default=400)
    parser.add_argument("--hosts", type=int, default=120)
    parser.add_argument("--budget", type=int, default=720, help="requests a day")
    parser.add_argument("--rest", type=float, default=REST, help="seconds")
    parser.add_argument("--rests", type=int, default=RESTS, help="how many")
    parser.add_argument("--json", action="store_true", help="on one line")
    given = vars(parser.parse_args())
    one_line = given.pop("json")
    found = soak(Size(**given))
    print(json.dumps(found, indent=None if one_line else 2))


if __name__ == "__main__":
    main()
