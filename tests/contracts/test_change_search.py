"""Browsing the log of changes: every store finds the same, none twice, none skipped."""

import math

import pytest
from hypothesis import given, settings, strategies as st

from contracts.test_stores import STORES
from halflife.core.change import CHANGE_KINDS, Change
from halflife.stores import change_search
from halflife.stores.change_search import ChangeFilter
from halflife.stores.memory import MemoryStore
from halflife.stores.table_store import TableStore

CHANGES = st.builds(
    Change,
    st.sampled_from([1.0, 2.0, 3.0, 9.5]),
    st.sampled_from(["s", "t", "Straße"]),
    st.sampled_from(["a", "B", "ÄRGER", '"<x>', ""]),
    st.sampled_from(CHANGE_KINDS),
    st.dictionaries(
        st.sampled_from(["price", "Näme"]),
        st.tuples(st.none(), st.sampled_from(["5 €", "x\u202ey", None])),
        max_size=2,
    ),
)
FILTERS = st.builds(
    ChangeFilter,
    st.sampled_from(["", "s", "Straße", "nobody"]),
    st.sampled_from([(), ("new",), ("gone", "held")]),
    st.sampled_from(["", "a", "ÄRGER"]),
    st.sampled_from(["", "A", "ärger", "5 €", "näme", '"', "no such"]),
    st.sampled_from([-math.inf, 2.0, 100.0]),
    st.sampled_from([math.inf, 3.0]),
)


def walk(log, wanted, most, *, upwards=False):
    found, at = [], 0 if upwards else 2**60
    for _ in range(100):
        some = (log.newer if upwards else log.older)(wanted, at, most)
        assert len(some.changes) <= most
        found += some.changes[::-1] if upwards else some.changes
        if some.next is None:
            return found
        assert some.next > at if upwards else some.next < at
        at = some.next
    raise AssertionError("it does not end")


@pytest.fixture(scope="module")
def emptied(tmp_path_factory):
    """A file that each example uses anew: to make one takes longer than the test."""
    store = STORES["sqlite"](tmp_path_factory.mktemp("log"))
    yield store
    store.close()


@settings(max_examples=60, deadline=None)
@given(
    changes=st.lists(CHANGES, max_size=25),
    wanted=FILTERS,
    most=st.integers(1, 7),
    window=st.sampled_from([3, 10**6]),
)
def test_page_by_page_each_wanted_change_is_seen_once(
    emptied, changes, wanted, most, window
):
    memory = MemoryStore()
    memory.changes.append(changes)
    with emptied.together() as db:
        db.execute("DELETE FROM change")
        db.execute("DELETE FROM sqlite_sequence WHERE name = 'change'")
    emptied.changes.append(changes)
    everything = memory.changes.read(0, 1000)
    oracle = [c for c in everything if _is_wanted(c, wanted)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(change_search, "WINDOW", window)
        patch.setattr(change_search, "COMPARED", window)
        for log in (memory.changes, emptied.changes):
            assert walk(log, wanted, most) == oracle[::-1]
            assert walk(log, wanted, most, upwards=True) == oracle


def _is_wanted(change, wanted):
    said = [change.key, *change.fields, *map(str, _values(change))]
    part = wanted.text.casefold()
    return (
        (not wanted.source or change.source == wanted.source)
        and (not wanted.kinds or change.kind in wanted.kinds)
        and (not wanted.key or change.key == wanted.key)
        and wanted.since <= change.at < wanted.until
        and (
            not part
            or any(part in one.casefold() for one in said)
            or (part == '"' and bool(change.fields))  # of the JSON
        )
    )


def _values(change):
    return [value for pair in change.fields.values() for value in pair]


@pytest.mark.parametrize("kind", STORES)
def test_what_is_written_meanwhile_moves_no_page(kind, tmp_path):
    store = STORES[kind](tmp_path)
    for n in range(10):
        store.changes.append([Change(float(n), "s", str(n), "new")])
    first = store.changes.older(ChangeFilter(), 2**60, 4)
    store.changes.append([Change(99.0, "s", "later", "new")])
    second = store.changes.older(ChangeFilter(), first.next, 4)
    assert [c.key for c in first.changes + second.changes] == list("98765432")
    back = store.changes.newer(ChangeFilter(), second.changes[0].seq, 4)
    assert [c.key for c in back.changes] == list("9876")
    if isinstance(store, TableStore):
        store.close()
