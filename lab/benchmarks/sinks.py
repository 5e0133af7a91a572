"""CPU time that change events and a sink add to an observation.

A sync of some thousand pages over HTTP on loopback, with a sink that writes JSON Lines.
The writing of changes and the delivery are timed within the program, so that other
work on the machine blurs both parts alike: ``added_share`` is their CPU time over that
of all the rest. In the first sync every observation is a change, in the second, of the
same pages, none is. Imports count. Prints one JSON object.

    .venv/bin/python lab/benchmarks/sinks.py --pages 3000 --repeats 3
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

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
name = "site"
allow = ["127.0.0.0/8"]
pages = {pages}
"""
PROGRAM = """
import asyncio, json, sys, time

spent = {"events": 0.0, "sinks": 0.0}
clock = time.process_time
from halflife.cli import main
from halflife.engine import bootstrap, once, signals  # what every sync imports
from halflife.stores import observation_rows
began = clock()
from halflife.engine import deliveries
import halflife.sinks.jsonl
spent["sinks"] += clock() - began
report, deliver = observation_rows._report, deliveries.deliver

def timed_report(*given):
    began = clock()
    try:
        return report(*given)
    finally:
        spent["events"] += clock() - began

async def timed_deliver(*given, **more):
    began = clock()
    try:
        return await deliver(*given, **more)
    finally:
        spent["sinks"] += clock() - began

observation_rows._report, deliveries.deliver = timed_report, timed_deliver
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


def added(found: dict[str, float]) -> float:
    """Return what events and sinks cost, as a share of all the rest."""
    extra = found["events"] + found["sinks"]
    return extra / (found["all"] - extra)


def main() -> None:
    """Measure, and print JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=3000)
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    runs: dict[str, list[dict[str, float]]] = {"first": [], "second": []}
    with site(given.pages, 0.0) as address:
        urls = json.dumps([f"{address}/page/{n}" for n in range(given.pages)])
        for _ in range(given.repeats):
            with tempfile.TemporaryDirectory(prefix="halflife-sinks-") as name:
                folder = Path(name)
                (folder / "halflife.toml").write_text(CONFIG.format(pages=urls))
                for found in runs.values():
                    found.append(measure(folder))
                lines = (folder / "changes.jsonl").read_text().splitlines()
                assert len(lines) == given.pages, len(lines)
    answer: dict[str, object] = {"pages": given.pages, "repeats": given.repeats}
    for name, some in runs.items():
        answer[name] = {
            "added_share": round(statistics.median(map(added, some)), 4),
            "microseconds_an_observation": {
                part: round(
                    statistics.median(r[part] for r in some) / given.pages * 1e6
                )
                for part in some[0]
            },
        }
    print(json.dumps(answer, indent=2))


if __name__ == "__main__":
    main()
