"""Same state, seed and clock: the same plan, byte for byte, in every process."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from fault_points import count
from fault_world import SYNC

SCRIPT = Path(__file__).parent.parent / "determined.py"
MANY = count(20, 6)
VERBS = Path(__file__).parent.parent / "determined_verbs.py"


def planned(state, seed, script=SCRIPT):
    """Plan in a process of its own, with this seed of its hashes."""
    done = subprocess.run(
        [sys.executable, str(script), str(state)],
        env={**os.environ, "PYTHONHASHSEED": str(seed)},
        check=True,
        capture_output=True,
        timeout=110,
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


def test_verbs_say_the_same_bytes_whatever_the_hash_seed(world, nursery, tmp_path):
    folder = world.settle(tmp_path / "kept")
    for age in range(3):
        world.age(age)
        assert nursery.run(folder, *SYNC).code == 0
    first = planned(folder, 0, VERBS)
    for verb in (b"plan", b"whatif", b"budget"):
        assert b"# " + verb in first
    assert b"simulated" in first  # what would be asked of the form is in it
    assert b"# ends with 1" not in first
    assert b"# ends with 2" not in first
    seeds = ["random"] * count(19, 2)
    assert {planned(folder, seed, VERBS) for seed in seeds} == {first}
