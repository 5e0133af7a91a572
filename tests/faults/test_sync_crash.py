"""The whole program, killed with kill -9 in the middle of a sync."""

import json
import subprocess
import sys
from pathlib import Path

import postgres_store
from fault_points import count
from postgres_server import USER

KILL9 = Path(__file__).parents[2] / "lab" / "benchmarks" / "kill9.py"
KILLS = count(12, 3)


def test_a_killed_sync_loses_nothing_and_does_not_overspend():
    loses_nothing(KILLS, "--pages", str(count(500, 150)))


def test_with_postgres_neither_kills_nor_cut_connections_lose_anything():
    database = f"postgresql://{USER}@/postgres?host={postgres_store.folder()}"
    loses_nothing(count(12, 2), "--pages", "100", "--postgres", database)


def loses_nothing(kills, *words):
    out = subprocess.run(
        [sys.executable, str(KILL9), "--kills", str(kills), *words],
        capture_output=True,
        text=True,
        check=True,
        timeout=600,
    )
    result = json.loads(out.stdout)
    killed = result["halflife"]
    assert killed["trials"] == kills
    assert killed["killed_in_the_middle"] >= kills // 2
    assert killed["acknowledged_lost"] == 0
    assert killed["pages_missing"] == 0
    assert killed["pages_that_differ"] == 0
    assert killed["most_repeated"] <= result["concurrency"]
    assert killed["most_sent"] <= result["budget"]
    assert killed["exit_codes"] == [0]
