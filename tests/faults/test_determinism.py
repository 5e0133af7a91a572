"""Same state, seed and clock: the same plan, byte for byte, in every process."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent.parent / "determined.py"
MANY = int(os.environ.get("HALFLIFE_RUNS", "6"))  # 20 where there is time


def planned(state, seed):
    """Plan in a process of its own, with this seed of its hashes."""
    done = subprocess.run(
        [sys.executable, str(SCRIPT), str(state)],
        env={**os.environ, "PYTHONHASHSEED": str(seed)},
        check=True,
        capture_output=True,
        timeout=60,
    )
    return done.stdout


def test_plans_of_one_state_are_the_same_bytes_whatever_the_hash_seed(tmp_path):
    state = tmp_path / "state.db"
    first = planned(state, 0)
    assert first.count(b"\n") == 6
    assert {planned(state, seed) for seed in range(1, MANY)} == {first}


@pytest.mark.parametrize("seed", ["1", "random"])
def test_the_same_looks_make_the_same_state_whatever_the_hash_seed(tmp_path, seed):
    assert planned(tmp_path / "one.db", 0) == planned(tmp_path / "two.db", seed)
