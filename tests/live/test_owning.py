"""Which rows of evidence are of which source."""

from contextlib import nullcontext

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from halflife.core.item import Item
from halflife.kinds.pages.source_rows import rows_of
from halflife.stores.memory import MemoryStore
from halflife.stores.sqlite import SqliteStore

NAMES = ("a", "b", "c")


@pytest.fixture(scope="module", params=["sqlite", "memory"])
def opened(request, tmp_path_factory):
    folder, made = tmp_path_factory.mktemp("owning"), []

    def store():
        made.append(folder / f"{len(made)}.db")
        if request.param == "memory":
            return nullcontext(MemoryStore())
        return SqliteStore.open(made[-1], create=True)

    return store


@settings(max_examples=25)
@given(st.lists(st.sampled_from(NAMES), max_size=12), st.integers(0, 3))
def test_each_row_is_of_the_source_that_named_its_item(opened, owners, later):
    with opened() as store:
        items = [Item(f"http://x/{i}", name) for i, name in enumerate(owners)]
        store.add(items[::-1])
        evidence = store.evidence(NAMES)
        unknown = [Item(f"http://y/{i}", NAMES[i % 3]) for i in range(later)]
        evidence.add(unknown)
        rows = rows_of(store, NAMES, evidence, lambda: [*items, *unknown])
        told = np.concatenate(list(rows.values()))
        assert sorted(told) == list(range(len(evidence)))
        for item in (*items, *unknown):
            assert evidence.row(item.key) in rows[item.source]
        for mine in rows.values():
            assert (np.diff(mine) > 0).all()


def test_all_rows_are_of_the_only_source():
    store = MemoryStore()
    store.add([Item("http://x/1", "a")])
    rows = rows_of(store, ["a"], store.evidence(["a"]))
    assert rows["a"].tolist() == [0]
