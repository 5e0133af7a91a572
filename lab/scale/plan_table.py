"""Plan the items of a table in PostgreSQL: seconds, processor seconds and memory.

    python lab/scale/plan_table.py --items 10000000 --json
    python lab/scale/plan_table.py --items 10000000 --executors in-process,local:2

A server of its own gets a table with rates, weights and costs; ``halflife allocate``
plans it by each executor, in processes of its own.
"""

import argparse
import hashlib
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from lab.scale import fleet

FILL = """
CREATE SCHEMA plan;
CREATE TABLE plan.items (rate float8 NOT NULL, weight float8 NOT NULL,
    cost float8 NOT NULL);
SELECT setseed(0.5);
INSERT INTO plan.items SELECT exp(-6 + 2 * (random() + random() + random() - 1.5)),
    exp(2 * random()), 1 + floor(3 * random()) FROM generate_series(1, {items});
VACUUM (ANALYZE) plan.items
"""


def plan(server: fleet.Server, items: int, executor: str, out: Path) -> dict[str, Any]:
    """Return what the verb says, and what it took."""
    command = [fleet.HALFLIFE, "allocate", server.address("plan"), "--json"]
    command += ["--budget", str(0.2 * items), "--out", str(out), "--executor", executor]
    began, before = time.perf_counter(), server.cpu_seconds()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, cwd=out.parent
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    told = json.loads(done.stdout)
    cpu = after.ru_utime + after.ru_stime - used.ru_utime - used.ru_stime
    files = sorted(out.glob("*.parquet"))
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in files))
    return {
        "seconds": round(time.perf_counter() - began, 1),
        "cpu_s": round(cpu, 1),
        "server_cpu_s": round(server.cpu_seconds() - before, 1),
        # Of the largest process so far: the driver, or a worker of a pool.
        "peak_mb": round(after.ru_maxrss / 1024),
        "parts": len(files),
        "sha256": digest.hexdigest()[:16],
        **{name: told[name] for name in ("items", "kkt_residual", "budget_error")},
    }


def main() -> None:
    """Measure, and print one JSON object."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--items", type=int, default=1_000_000)
    options.add_argument("--executors", default="in-process")
    options.add_argument("--json", action="store_true")
    given = options.parse_args()
    found: dict[str, Any] = {}
    with fleet.server() as server, tempfile.TemporaryDirectory() as name:
        with server.connect() as db:
            for statement in FILL.format(items=given.items).split(";"):
                db.execute(statement)
        for one in given.executors.split(","):
            out = Path(name) / one.replace(":", "-")
            found[one] = plan(server, given.items, one, out)
    sys.stdout.write(f"{json.dumps(found, indent=None if given.json else 2)}\n")


if __name__ == "__main__":
    main()
