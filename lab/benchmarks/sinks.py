"""CPU time that change events and a sink add to an observation.

A sync of some thousand pages over HTTP on loopback, with a sink that writes JSON Lines.
The writing of changes and the delivery are timed within the program, so that other
work on the machine blurs both parts alike: ``added_share`` is their CPU time over that
of all the rest. In the first sync every observation is a change, in the second, of the
same pages, none is. A listing follows: in its first sync all records are new, in its
second one in twenty has changed. Imports count. Prints one JSON object.

    .venv/bin/python lab/benchmarks/sinks.py --pages 3000 --repeats 3
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

from kill9 import site

CONFIG = """\
[budget]
requests = 1000000
per = "day"

[fetch]
delay = 0
concurrency = 16

[[sink]]
name = "log"
kind = "jsonl"
path = "changes.jsonl"

[[source]]
name = "it"
allow = ["127.0.0.0/8"]
{source}
"""
PROGRAM = """
import asyncio, json, sys, time

spent = {"events": 0.0, "sinks": 0.0}
clock = time.process_time
from halflife.cli import main
from halflife.engine import bootstrap, once, signals  # what every sync imports
from halflife.stores import change_log, lifetimes, observation_rows
began = clock()
from halflife.engine import deliveries
import halflife.sinks.jsonl
spent["sinks"] += clock() - began
deliver, inside = deliveries.deliver, []

def timed(function):
    def call(*given, **more):
        if inside:
            return function(*given, **more)  # its time is that of its caller
        inside.append(1)
        began = clock()
        try:
            return function(*given, **more)
        finally:
            inside.pop()
            spent["events"] += clock() - began
    return call

async def timed_deliver(*given, **more):
    began = clock()
    try:
        return await deliver(*given, **more)
    finally:
        spent["sinks"] += clock() - began

deliveries.deliver = timed_deliver
observation_rows._report = timed(observation_rows._report)
lifetimes.log_changes = timed(lifetimes.log_changes)
change_log.append = timed(change_log.append)
code = main(["sync", "--all", "--json"])
print(json.dumps({"all": clock(), **spent}), file=sys.stderr)
sys.exit(code)
"""


def measure(folder: Path) -> dict[str, float]:
    """Run a sync in a folder; return the seconds of CPU of its parts."""
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=True
    )
    found: dict[str, float] = json.loads(done.stderr.splitlines()[-1])
    return found


def compare(
    runs: dict[str, list[dict[str, float]]], what: str, source: str, changes: int
) -> None:
    """Sync a source twice in a new folder; add the seconds to the runs."""
    with tempfile.TemporaryDirectory(prefix="halflife-sinks-") as name:
        folder = Path(name)
        (folder / "halflife.toml").write_text(CONFIG.format(source=source))
        for turn in ("first", "second"):
            runs.setdefault(f"{what}, {turn}", []).append(measure(folder))
        lines = (folder / "changes.jsonl").read_text().splitlines()
        assert len(lines) == changes, len(lines)


@contextmanager
def listing(many: int) -> Iterator[str]:
    """Serve a list of records; in every later answer one in twenty has changed."""
    asked = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path != "/list":
                self.send_error(404)
                return
            asked.append(1)
            rows = [
                {"id": n, "title": f"thing {n}", "town": f"town {n % 97}",
                 "price": 10 + (len(asked) if n % 20 == 0 else 1)}
                for n in range(many)
            ]  # fmt: skip
            body = json.dumps(rows).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/list"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def added(found: dict[str, float]) -> float:
    """Return what events and sinks cost, as a share of all the rest."""
    extra = found["events"] + found["sinks"]
    return extra / (found["all"] - extra)


def main() -> None:
    """Measure, and print JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=3000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--records", type=int, default=20_000)
    given = parser.parse_args()
    runs: dict[str, list[dict[str, float]]] = {}
    with site(given.pages, 0.0) as address:
        urls = json.dumps([f"{address}/page/{n}" for n in range(given.pages)])
        for _ in range(given.repeats):
            compare(runs, "pages", f"pages = {urls}", given.pages)
    for _ in range(given.repeats):
        with listing(given.records) as url:
            table = f'kind = "listing"\nurl = "{url}"\nkey = "id"'
            compare(runs, "records", table, given.records * 21 // 20)
    answer: dict[str, object] = {"pages": given.pages, "repeats": given.repeats}
    many = {"pages": given.pages, "records": given.records}
    for name, some in runs.items():
        answer[name] = {
            "added_share": round(statistics.median(map(added, some)), 4),
            "microseconds_an_observation": {
                part: round(
                    statistics.median(r[part] for r in some)
                    / many[name.partition(",")[0]]
                    * 1e6
                )
                for part in some[0]
            },
        }
    print(json.dumps(answer, indent=2))


if __name__ == "__main__":
    main()
