"""After a power cut every table keeps its promises, and they agree with each other."""

import sys

import pytest

import keeper_worker
import powerloss
from fault_points import count, shares
from halflife.stores import columns
from halflife.stores.sqlite import SqliteStore
from store_cases import state

CUTS = count(400, 40)
PARTS = count(4, 1)


@pytest.fixture(scope="module")
def events(traced, tmp_path_factory):
    """What a process that uses every table does to its files."""
    folder = tmp_path_factory.mktemp("tables")
    promises = folder.with_name(f"{folder.name}.promises")
    command = [sys.executable, keeper_worker.__file__, folder / "state.db", promises]
    found = powerloss.record(command, folder, promises)
    with SqliteStore.open(folder / "state.db") as store:
        assert store.verify() == []
        assert keeper_worker.broken(store, promises.read_text()) == []
        filed = store._db.execute("SELECT count(*) FROM filed").fetchone()[0]
        rolled = store._db.execute("SELECT count(*) FROM rolled").fetchone()[0]
        assert filed
        assert rolled
    return found


@pytest.mark.parametrize("share", shares(CUTS, PARTS), ids=len)
def test_no_power_cut_breaks_a_promise_of_any_table(events, tmp_path, share):
    filed = 0
    for place, promises in powerloss.cuts(events, tmp_path, share, seed=7):
        with SqliteStore.open(place / "state.db", create=True) as store:
            assert store.verify() == []
            assert keeper_worker.broken(store, promises) == []
            with store.reading() as db:
                quick = columns.load(db, ["set", "site"])
            if quick is not None:
                filed += 1
                assert state(quick) == state(store.evidence(["set", "site"]))
            # Whoever comes next can go on.
            store.add(keeper_worker.store_worker.ITEMS)
            again = store.begin(["site"], 99.0, lease=1.0)
            store.append(again, keeper_worker.store_worker.batch(200))
            store.finish(again, 100.0)
    assert filed > len(share) // 4
