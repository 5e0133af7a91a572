"""After a power cut every promise holds, on any disk that honours fsync."""

import sys
from collections import Counter

import pytest

import powerloss
import store_worker
from fault_points import count
from halflife.core.errors import StoreError, TooNew
from halflife.stores import schema
from halflife.stores.sqlite import SqliteStore

CUTS = count(400, 120)


@pytest.fixture
def recorded(tmp_path):
    powerloss.need_recorder()

    def record(task):
        folder, promises = tmp_path / task, tmp_path / f"{task}.promises"
        folder.mkdir()
        worker = [sys.executable, store_worker.__file__, task]
        return powerloss.record(
            [*worker, folder / "state.db", promises], folder, promises
        )

    return record


def cuts(events, folder, many, since=0):
    """Cut the power at random moments; yield the file after, and what was promised."""
    for place, promises in powerloss.cuts(events, folder, range(many), since=since):
        yield place / "state.db", promises


def fault(path, promises):
    """Return what is wrong with a file, if anything."""
    try:
        with SqliteStore.open(path, create=True) as store:
            if store.verify():
                return "contradicts itself"
            return "broken promise" if store_worker.missing(store, promises) else None
    except StoreError:
        return "unusable"


def faults(events, folder, many):
    found = Counter(fault(*cut) for cut in cuts(events, folder, many))
    del found[None]
    return found


def test_no_power_cut_breaks_a_promise(recorded, tmp_path):
    events = recorded("FULL")
    assert Counter(e.what for e in events)["promise"] == 80
    assert faults(events, tmp_path, CUTS) == {}


@pytest.mark.parametrize("synchronous", ["NORMAL", "OFF"])
def test_the_harness_finds_what_lazier_settings_lose(recorded, tmp_path, synchronous):
    found = faults(recorded(synchronous), tmp_path, 40)
    assert found["broken promise"] + found["unusable"] >= 10


def test_no_power_cut_spoils_an_upgrade(recorded, tmp_path, monkeypatch):
    upgraded, events = 0, recorded("migrate")
    told = [n for n, event in enumerate(events) if event.what == "promise"]
    begun = told[-2]  # after it nothing is written but the upgrade
    for path, promises in cuts(events, tmp_path, CUTS // 4, begun):
        kept = promises.replace("next schema\n", "")
        try:
            assert fault_before(path, kept) is None
        except TooNew:
            upgraded += 1
            backup = path.with_name(f"state.db.backup-v{len(schema.STEPS)}")
            assert fault(backup, kept) is None
        else:
            assert "next schema" not in promises
        with monkeypatch.context() as patch:
            patch.setattr(schema, "STEPS", store_worker.MORE_STEPS)
            assert fault(path, kept) is None
    assert 0 < upgraded < CUTS // 4


def fault_before(path, promises):
    """Return what an older halflife finds wrong; a newer file it must not touch."""
    with SqliteStore.open(path, create=True) as store:
        return store.verify() or store_worker.missing(store, promises) or None
