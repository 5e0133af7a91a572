"""Plans of 10^5 to 10^8 items from Parquet files, and what 10^9 would take.

    python lab/scale/plan.py --items 100000,1000000,10000000,100000000 --json
    python lab/scale/plan.py --executors in-process,local:2,ray:2 --json
    python lab/scale/plan.py --sample 1000000000 --files 20 --json

The first prints a row for each size, and the slope of processor seconds over items in
the logarithms: 1 is proportional. With several executors every size is planned by each,
and ``same`` says whether they wrote the same bytes. With ``--sample`` some of the files
that so many items would fill are made and planned, and the rest is extrapolated.
Temporary files go where TMPDIR says.
"""

import argparse
import hashlib
import json
import os
import sys
import tempfile
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from halflife.bench import out_of_core
from halflife.bench.out_of_core import PER_FILE, MeasuredProcess, make_file, run
from halflife.executors import executor_named
from halflife.recordings.item_parts import allocate_files, parts_of


def main() -> None:
    """Measure, and print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", default="100000,1000000,10000000")
    parser.add_argument("--executors", default="local")
    parser.add_argument("--sample", type=int, default=0)
    parser.add_argument("--files", type=int, default=20)
    parser.add_argument("--json", action="store_true", help="(it always is)")
    given = parser.parse_args()
    executors = given.executors.split(",")
    if given.sample:
        answer = sampled(given.sample, given.files, executors[0])
    else:
        sizes = [int(float(part)) for part in given.items.split(",")]
        rows = [row for n in sizes for row in compared(n, executors)]
        answer = {"cores": os.cpu_count(), "results": rows, "slope": slope(rows)}
    print(json.dumps(answer, indent=1))


def compared(items: int, executors: list[str]) -> list[dict[str, Any]]:
    """Return a row for each executor, with what they wrote compared."""
    if len(executors) == 1:
        return [run(items, executors[0])]
    rows = []
    with tempfile.TemporaryDirectory(prefix="halflife-") as made:
        source = Path(made) / "items"
        source.mkdir()
        for file in out_of_core.files_of(items):
            make_file(source, file)
        for name in executors:
            target = Path(made) / f"plan-{len(rows)}"
            rows.append(planned(name, source, target, items))
            rows[-1]["digest"] = digest(target)
    first = rows[0]
    for row in rows:
        row["same"] = row["digest"] == first["digest"]
        row["speed_up"] = first["seconds"] / row["seconds"]
        row["overhead"] = row["processor_seconds"] / first["processor_seconds"] - 1.0
    return rows


def planned(name: str, source: Path, target: Path, items: int) -> dict[str, Any]:
    """Return the row of one executor."""
    began = perf_counter()
    with executor_named(name) as opened:
        list(opened.map(abs, range(8)))
        started = perf_counter() - began
        row = out_of_core.planned(items, source, target, MeasuredProcess(opened))
    return {"items": items, "executor": name, "start_seconds": started, **row}


def digest(folder: Path) -> str:
    """Return a fingerprint of the files of a folder."""
    total = hashlib.sha256()
    for path in sorted(folder.iterdir()):
        total.update(path.read_bytes())
    return total.hexdigest()[:16]


def slope(rows: list[dict[str, Any]]) -> float | None:
    """Return d ln(processor seconds) / d ln(items)."""
    items = [row["items"] for row in rows]
    if len(set(items)) < 2:
        return None
    spent = [row["processor_seconds"] for row in rows]
    return float(np.polyfit(np.log(items), np.log(spent), 1)[0])


def sampled(items: int, files: int, executor: str) -> dict[str, Any]:
    """Return what so many items would take, from some of their files."""
    whole = -(-items // PER_FILE)
    chosen = np.linspace(0, whole - 1, min(files, whole)).astype(int)
    with tempfile.TemporaryDirectory(prefix="halflife-") as made:
        source, target = Path(made) / "items", Path(made) / "plan"
        source.mkdir()
        for number in chosen.tolist():
            make_file(source, (number, PER_FILE))
        n = len(chosen) * PER_FILE
        with executor_named(executor) as opened:
            workers = MeasuredProcess(opened)
            parts = parts_of(source, target)
            plan = allocate_files(parts, 0.2 * n, workers)
    core_seconds = workers.processor
    return {
        "items": items,
        "files": whole,
        "sampled_files": len(chosen),
        "sampled_items": n,
        "core_seconds_sampled": core_seconds,
        "core_seconds_extrapolated": core_seconds * items / n,
        "passes": plan.passes,
        "kkt_residual": plan.kkt_residual,
        "peak_mb": workers.peak / 1e6,
        "load": os.getloadavg()[0],
    }


if __name__ == "__main__":
    sys.exit(main())
