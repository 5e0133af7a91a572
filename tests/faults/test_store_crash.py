"""Processes die and disks fail or fill up; what was accepted stays."""

import subprocess
import sys
import time
from random import Random

import pytest

import powerloss
import store_worker
from change_replay import held_keys
from fault_points import count
from halflife.core.errors import StoreError
from halflife.core.observation import Seen
from halflife.stores.sqlite import SqliteStore
from store_processes import rest, start

KILLS = count(100, 12)


def promises_kept(path, promises):
    with SqliteStore.open(path, create=True) as store:
        assert store.verify() == []
        assert store_worker.missing(store, "".join(promises)) == []
        evidence = store.evidence(["site"])
        seen = zip(evidence.keys, evidence.seen.tolist(), strict=True)
        there = {key for key, was in seen if was == Seen.PRESENT}
        assert held_keys(store.changes.read(most=10**6)).get("site", set()) == there
        return store.begin(["site"], 1.0, lease=1.0)


def test_kill_9_at_any_moment_loses_nothing_accepted(tmp_path):
    rng = Random(9)
    for trial in range(KILLS):
        path = tmp_path / f"{trial}.db"
        child, pipe = start(store_worker.write_until_killed, path)
        promises = [pipe.recv() for _ in range(rng.randint(1, 60))]
        time.sleep(rng.uniform(0.0, 0.004))
        child.kill()
        child.join()
        promises += rest(pipe)
        again = promises_kept(path, promises)
        assert (again.resumed, again.began) == (True, 0.0)


def test_a_full_disk_is_told_and_loses_nothing_accepted(tmp_path):
    path = tmp_path / "state.db"
    child, pipe = start(store_worker.write_until_full, path, 600_000)
    said = rest(pipe)
    child.join()
    complaints = [line for line in said if not line.startswith("batch ")]
    assert len(complaints) == 1
    assert str(path) in complaints[0]
    assert "disk" in complaints[0]
    # The last batch was accepted after there was room again.
    assert said[-1].startswith("batch ")
    said.remove(complaints[0])
    assert len(said) > 3
    promises_kept(path, said)


@pytest.mark.parametrize("when", count(range(1, 60, 3), (3, 4, 24)))
@pytest.mark.parametrize("error", ["fdatasync:error=EIO", "pwrite64:error=ENOSPC"])
def test_a_failing_disk_is_told_and_loses_nothing_accepted(tmp_path, error, when):
    powerloss.need_recorder()
    path, promises = tmp_path / "state.db", tmp_path / "promises"
    fail = f"inject={error}:when={when}"
    strace = ["strace", "-f", "-o", "/dev/null", "-P", path, "-P", f"{path}-wal"]
    worker = [sys.executable, store_worker.__file__, "FULL", path, promises]
    done = subprocess.run(
        [*strace, "-e", fail, *worker], capture_output=True, text=True, check=False
    )
    # An error while the log is copied back is no error: the log is still there.
    assert done.returncode in (0, 1)
    if done.returncode:
        assert done.stderr.splitlines()[-1].startswith(
            "halflife.core.errors.StoreError: "
        )
    promises_kept(path, promises.read_text() if promises.exists() else "")


def test_an_error_at_commit_makes_the_store_read_the_file_again(tmp_path):
    with SqliteStore.open(tmp_path / "state.db", create=True) as store:
        store.add(store_worker.ITEMS)
        run = store.begin(["site"], 0.0, lease=1e6)
        store.append(run, store_worker.batch(0))
        before = store.evidence(["site"])
        # A constraint that is checked at COMMIT stands in for a disk that fails there.
        store._db.execute("PRAGMA foreign_keys = OFF")
        store._db.execute(
            "CREATE TABLE late (x REFERENCES run DEFERRABLE INITIALLY DEFERRED)"
        )
        store._db.execute("PRAGMA foreign_keys = ON")
        store._db.execute(
            "CREATE TEMP TRIGGER t AFTER INSERT ON main.observation"
            " BEGIN INSERT INTO late VALUES (-1); END"
        )
        with pytest.raises(StoreError):
            store.append(run, store_worker.batch(1))
        assert store.evidence(["site"]) is not before
        assert store.evidence(["site"]).looks.sum() == 2
        store._db.execute("DROP TRIGGER t")
        store.append(run, store_worker.batch(1))
        assert store.evidence(["site"]).looks.sum() == 4
        assert store.verify() == []
