"""Ten hostile sources beside ten healthy ones, for some seconds; see lab."""

import json
import subprocess
import sys
from pathlib import Path

BENCHMARK = Path(__file__).parents[2] / "lab" / "benchmarks" / "hostile.py"


def test_healthy_sources_are_kept_beside_ten_hostile_ones():
    done = subprocess.run(
        [sys.executable, BENCHMARK, "--minutes", "0.35", "--every", "5"],
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    row = json.loads(done.stdout.splitlines()[-1])
    beside = row["with"]
    for one in (row["without"], beside):
        assert one["exit_code"] == 143
        assert one["tracebacks"] == 0
    # Times are measured by the benchmark; here only that nobody starves.
    assert row["requests_ratio"] > 0.4
    assert row["freshness_ratio"] > 0.8
    asked = beside["hostile_requests"]
    assert len(asked) == 10
    assert all(asked.values()), asked  # everybody has a turn
