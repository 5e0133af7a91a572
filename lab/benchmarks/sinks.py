"""CPU time that change events and sinks add to an observation.

A sync of some thousand pages over HTTP on loopback runs without events (the writing of
changes is taken out), with events, and with events and a sink that writes JSON Lines.
Each is repeated, in turn; the least CPU time of each counts. In the first sync every
observation is a change; in the second, of the same pages, none is.

    .venv/bin/python lab/benchmarks/sinks.py --pages 3000 --repeats 3
"""

import argparse
import json
import os
import shutil
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
{sink}
[[source]]
name = "site"
allow = ["127.0.0.0/8"]
pages = {pages}
"""
SINK = '[[sink]]\nname = "log"\nkind = "jsonl"\npath = "changes.jsonl"\n'
PROGRAM = """
import sys
if sys.argv[1] == "without":
    from halflife.stores import held_pages, observation_rows
    observation_rows._report = lambda db, looks, *_: held_pages.clear_seen(db, looks)
from halflife.cli import main
sys.exit(main(["sync", "--all", "--json"]))
"""
VARIANTS = {"without": "", "events": "", "sink": SINK}


def cpu(folder: Path, variant: str) -> float:
    """Run a sync in a folder; return the seconds of CPU that it took."""
    command = [sys.executable, "-c", PROGRAM, variant]
    with (folder / "out.json").open("w") as out:
        process = subprocess.Popen(command, cwd=folder, stdout=out)
        _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"sync ended with {process.returncode}")
    return used.ru_utime + used.ru_stime


def measure(address: str, pages: int, repeats: int) -> dict[str, dict[str, float]]:
    """Return the least CPU time of both syncs of each variant, in seconds."""
    urls = json.dumps([f"{address}/page/{n}" for n in range(pages)])
    found: dict[str, dict[str, float]] = {
        name: {"first": float("inf"), "second": float("inf")} for name in VARIANTS
    }
    for _ in range(repeats):
        for name, sink in VARIANTS.items():
            folder = Path(tempfile.mkdtemp(prefix="halflife-sinks-"))
            config = CONFIG.format(sink=sink, pages=urls)
            (folder / "halflife.toml").write_text(config)
            for which, best in found[name].items():
                found[name][which] = min(best, cpu(folder, name))
            if name == "sink":
                lines = (folder / "changes.jsonl").read_text().splitlines()
                assert len(lines) == pages, len(lines)
            shutil.rmtree(folder)
    return found


def main() -> None:
    """Measure, and print JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=3000)
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    with site(given.pages, 0.0) as address:
        found = measure(address, given.pages, given.repeats)
    base = found["without"]
    added = {
        name: {which: found[name][which] / base[which] - 1.0 for which in base}
        for name in ("events", "sink")
    }
    each = {
        name: {which: seconds / given.pages * 1e6 for which, seconds in one.items()}
        for name, one in found.items()
    }
    answer = {"pages": given.pages, "repeats": given.repeats, "cpu_seconds": found}
    answer |= {"microseconds_an_observation": each, "added_share": added}
    print(json.dumps(answer, indent=2))


if __name__ == "__main__":
    main()
