"""The whole program, killed with kill -9 in the middle of a sync."""

import json
import subprocess
import sys
from pathlib import Path

from fault_points import count

KILL9 = Path(__file__).parents[2] / "lab" / "benchmarks" / "kill9.py"
KILLS = count(12, 3)


def test_a_killed_sync_loses_nothing_and_does_not_overspend():
    out = subprocess.run(
        [sys.executable, str(KILL9), "--kills", str(KILLS)],
        capture_output=True,
        text=True,
        check=True,
        timeout=600,
    )
    result = json.loads(out.stdout)
    killed = result["halflife"]
    assert killed["trials"] == KILLS
    assert killed["killed_in_the_middle"] >= KILLS // 2
    assert killed["acknowledged_lost"] == 0
    assert killed["pages_missing"] == 0
    assert killed["pages_that_differ"] == 0
    assert killed["most_repeated"] <= result["concurrency"]
    assert killed["most_sent"] <= result["budget"]
    assert killed["exit_codes"] == [0]
