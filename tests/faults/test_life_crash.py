"""A look at a set source is kept whole or not at all, whenever the process dies."""

import subprocess
import sys
import time

import numpy as np
import pytest

import life_worker
from change_replay import records
from fault_points import count
from halflife.stores import record_changes
from halflife.stores.sqlite import SqliteStore


@pytest.mark.parametrize("seed", range(count(30, 4)))
def test_no_half_of_a_look_shows_after_a_kill(tmp_path, seed):
    rng = np.random.default_rng(seed)
    path = tmp_path / "state.db"
    command = [sys.executable, life_worker.__file__, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as worker:
        for _ in range(rng.integers(3, 15)):
            assert worker.stdout.readline()
        time.sleep(rng.uniform(0.0, 0.02))
        worker.kill()
        promised = [line for line in worker.stdout if line.endswith("\n")]
    least = int(promised[-1]) if promised else 0
    with SqliteStore.open(path) as store:
        kept = store.register("set")
        assert store.verify() == []
        changes = store.changes.read(most=10**6)
    assert len(kept.snapshots) >= max(least, 3)
    expected = life_worker.known(len(kept.snapshots))
    assert list(kept.snapshots) == list(expected.snapshots)
    assert list(kept.spells) == list(expected.spells)
    told = {(v.key, v.spell, v.seen_from): v.attributes for v in expected.versions}
    assert {(v.key, v.spell, v.seen_from): v.attributes for v in kept.versions} == told
    assert records(changes) == record_changes.current(kept)
