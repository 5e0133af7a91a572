"""Clearing may be cut off at any moment: nothing believed changes, and it goes on."""

import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from random import Random

import pytest

import gc_worker
import powerloss
from fault_points import count
from halflife.stores.sqlite import SqliteStore
from store_cases import state

CUTS = count(120, 15)
WRITES = count(range(9, 160, 8), (17, 130))
TABLES = ("observation", "rolled", "rolled_gap", "rolled_hinted", "rolled_ledger",
          "ledger", "run", "message")  # fmt: skip


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A file in which there is much to clear, and what is believed of it."""
    path = tmp_path_factory.mktemp("written") / "state.db"
    gc_worker.write(path)
    return path


@pytest.fixture(scope="module")
def cleared(written, tmp_path_factory):
    """The rows of that file after it was cleared and nothing went wrong."""
    path = tmp_path_factory.mktemp("cleared") / "state.db"
    shutil.copy(written, path)
    removed = gc_worker.clear(path)
    assert removed.observations > 400
    assert min(removed.ledger, removed.runs, removed.messages) > 20
    return rows(path)


def rows(path):
    with closing(sqlite3.connect(path)) as db:
        return {t: sorted(map(repr, db.execute(f"SELECT * FROM {t}"))) for t in TABLES}


def believed(path):
    with SqliteStore.open(path) as store:
        assert store.verify() == []
        spent = [store.spent(float(day)) for day in range(0, 120, 7)]
        return state(store.evidence()), store.held([f"k{i}" for i in range(7)]), spent


def test_clearing_changes_nothing_that_is_believed(written, cleared, tmp_path):
    path = shutil.copy(written, tmp_path / "state.db")
    before = believed(path)
    gc_worker.clear(path)
    assert believed(path) == before


def crashed(path, inject):
    """Clear a file under strace; return how the process ended."""
    strace = ["strace", "-f", "-o", "/dev/null", "-P", path, "-P", f"{path}-wal"]
    promises = path.with_name("promises")
    worker = [sys.executable, gc_worker.__file__, "clear", path, promises]
    return subprocess.run(
        [*strace, "-e", f"inject={inject}", *worker],
        capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.mark.parametrize("when", WRITES)
@pytest.mark.usefixtures("traced")
def test_kill_9_in_the_middle_leaves_steps_done_or_not_begun(
    written, cleared, tmp_path, when
):
    path = shutil.copy(written, tmp_path / "state.db")
    before = believed(path)
    done = crashed(path, f"pwrite64:signal=KILL:when={when}")
    assert done.returncode != 0
    assert believed(path) == before
    gc_worker.clear(path)
    assert rows(path) == cleared
    assert believed(path) == before


@pytest.mark.parametrize("error", ["fdatasync:error=EIO", "pwrite64:error=ENOSPC"])
@pytest.mark.usefixtures("traced")
def test_a_failing_disk_is_told_and_changes_nothing(written, cleared, tmp_path, error):
    path = shutil.copy(written, tmp_path / "state.db")
    before = believed(path)
    done = crashed(path, f"{error}:when=12")
    if done.returncode:
        assert done.stderr.splitlines()[-1].startswith(
            "halflife.core.errors.StoreError: "
        )
    assert believed(path) == before
    gc_worker.clear(path)
    assert rows(path) == cleared


@pytest.mark.usefixtures("traced")
def test_no_power_cut_while_clearing_loses_what_is_believed(tmp_path):
    folder, promises = tmp_path / "all", tmp_path / "promises"
    folder.mkdir()
    command = [sys.executable, gc_worker.__file__, "all", folder / "state.db", promises]
    events = powerloss.record(command, folder, promises)
    final = believed(folder / "state.db")
    first = next(i for i, e in enumerate(events) if e.what == "promise")
    rng, sizes = Random(3), set()
    for cut in range(CUTS):
        before = events[: rng.randint(first + 1, len(events))]
        place = tmp_path / f"cut{cut}"
        powerloss.write(powerloss.disk_after(before, rng), place)
        assert believed(place / "state.db") == final
        sizes.add(len(rows(place / "state.db")["observation"]))
    assert len(sizes) > 3  # the cuts fell into many steps
