"""Whenever a restore is killed there is a state file: the one before, or the copy."""

import shutil
import subprocess
import sys

import pytest

import powerloss
import restore_worker
import store_worker
from halflife.core.observation import Observations
from halflife.stores import backup
from halflife.stores.sqlite import SqliteStore
from store_cases import state
from store_looks import present

MOMENTS = (
    "rename:when=1",
    "unlink:when=8",
    "link:when=1",
    "rename:when=2",
    "rmdir:when=1",
)
NOW = 200.0


def believed(path):
    with SqliteStore.open(path, readonly=True) as store:
        assert store.verify() == []
        return state(store.evidence())


@pytest.fixture(scope="module")
def copied(tmp_path_factory):
    """A folder with a copy, and a state file that has gone on since."""
    folder = tmp_path_factory.mktemp("copied")
    store_worker.write(folder / "state.db", str, batches=10)
    with SqliteStore.open(folder / "state.db") as store:
        backup.back_up(store, folder / "copy.db")
        run = store.begin(["site"], 100.0, lease=1.0)
        store.charge(run, 9, 100.0)
        store.append(run, Observations.of([present("k0", 100.0, "later")]))
        store.finish(run, 101.0)
    return folder


def test_every_kill_leaves_the_old_file_or_the_new_one(copied, tmp_path):
    powerloss.need_recorder()
    old, new = believed(copied / "state.db"), believed(copied / "copy.db")
    found = []
    for number, moment in enumerate(MOMENTS):
        folder = tmp_path / str(number)
        shutil.copytree(copied, folder)
        path = folder / "state.db"
        kill = f"inject={moment}:signal=KILL"
        command = [sys.executable, restore_worker.__file__]
        done = subprocess.run(
            ["strace", "-f", "-o", "/dev/null", "-e", kill, *command,
             folder / "copy.db", path, str(NOW)],
            capture_output=True, check=False,
        )  # fmt: skip
        assert done.returncode != 0
        after = believed(path)
        assert after in (old, new)
        found.append(after == new)
        backup.restore(folder / "copy.db", path, NOW + 1.0)
        assert believed(path) == new
    assert found == [False, False, False, False, True]
