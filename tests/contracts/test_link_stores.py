"""What every store does with the links of pages."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from contracts.test_stores import STORES
from halflife.core.item import Item
from halflife.core.observation import Observation, Observations, Outgoing, Seen
from halflife.stores.sqlite import SqliteStore
from halflife.stores.table_store import TableStore

KEYS = ("a", "b", "c", "d")


@pytest.fixture(params=STORES)
def store(request, tmp_path):
    made = STORES[request.param](tmp_path)
    made.add([*(Item(key, "site") for key in KEYS), Item("z", "other")])
    yield made
    if isinstance(made, TableStore):
        made.close()


@pytest.fixture
def run(store):
    return store.begin(["site"], 0.0, lease=1000.0)


def page(key, at, *to, same="", under="rules", digest="1"):
    out = Outgoing(to, same, under)
    return Observation(key, at, Seen.PRESENT, digest, links=out)


def told(store, sources=("site",)):
    links = store.links(sources)
    assert links.keys == store.evidence(sources).keys
    return {
        key: [links.keys[i] for i in links.out(row)]
        for row, key in enumerate(links.keys)
        if links.under[row]
    }


def test_a_store_without_looks_has_no_links(store):
    links = store.links(["site"])
    assert links.keys == KEYS
    assert links.to.size == 0
    assert links.under == ("",) * 4
    assert links.same.tolist() == [-1] * 4


def test_links_are_kept_and_replaced_page_by_page(store, run):
    store.append(run, Observations.of([page("a", 1.0, "b", "c"), page("b", 1.0, "a")]))
    assert told(store) == {"a": ["b", "c"], "b": ["a"]}
    store.append(run, Observations.of([page("a", 2.0, "d", digest="2")]))
    assert told(store) == {"a": ["d"], "b": ["a"]}
    store.append(run, Observations.of([page("b", 3.0, digest="2")]))
    assert told(store) == {"a": ["d"], "b": []}


@pytest.mark.parametrize("seen", [Seen.PRESENT, Seen.FAILED, Seen.HINT])
def test_a_look_that_reads_no_links_loses_none(store, run, seen):
    store.append(run, Observations.of([page("a", 1.0, "b", "c")]))
    digest = "1" if seen is Seen.PRESENT else ""
    store.append(run, Observations.of([Observation("a", 2.0, seen, digest)]))
    assert told(store) == {"a": ["b", "c"]}


def test_a_page_found_by_a_look_can_be_linked_by_it(store, run):
    new = Observation("new", 1.0, Seen.HINT, item=Item("new", "site"))
    store.append(run, Observations.of([page("a", 1.0, "new"), new]))
    assert told(store) == {"a": ["new"]}


def test_links_to_what_is_not_known_are_left_out_for_good(store, run):
    store.append(run, Observations.of([page("a", 1.0, "b", "nobody", same="nobody")]))
    store.add([Item("nobody", "site")])
    assert told(store) == {"a": ["b"]}
    assert store.links(["site"]).same[0] == -1


def test_links_to_other_sources_show_when_those_are_asked_for_too(store, run):
    store.append(run, Observations.of([page("a", 1.0, "b", "z")]))
    assert told(store) == {"a": ["b"]}
    assert told(store, ()) == {"a": ["b", "z"]}


def test_another_address_and_the_rules_come_back(store, run):
    store.append(run, Observations.of([page("a", 1.0, same="c", under="host 1")]))
    links = store.links(["site"])
    assert links.same.tolist() == [2, -1, -1, -1]
    assert links.under == ("host 1", "", "", "")


def test_the_same_look_twice_changes_nothing(store, run):
    looks = Observations.of([page("a", 1.0, "b", "b", "c")])
    store.append(run, looks)
    store.append(run, looks)
    assert told(store) == {"a": ["b", "c"]}


def test_links_outlive_the_program(tmp_path):
    path = tmp_path / "state.db"
    with SqliteStore.open(path, create=True) as store:
        store.add(Item(key, "site") for key in KEYS)
        run = store.begin(["site"], 0.0, lease=1.0)
        store.append(
            run, Observations.of([page("a", 1.0, "b"), page("b", 1.0, "a", "d")])
        )
    with SqliteStore.open(path, readonly=True) as store:
        assert told(store) == {"a": ["b"], "b": ["a", "d"]}
        assert store.verify() == []


reads = st.lists(
    st.tuples(st.sampled_from(KEYS), st.lists(st.sampled_from(KEYS))), max_size=12
)


@settings(max_examples=25)
@given(reads)
def test_both_stores_tell_the_same_graph(tmp_path_factory, reads):
    graphs = []
    for make in STORES.values():
        store = make(tmp_path_factory.mktemp("s"))
        store.add(Item(key, "site") for key in KEYS)
        run = store.begin(["site"], 0.0, lease=1.0)
        for at, (key, to) in enumerate(reads):
            store.append(run, Observations.of([page(key, at + 1.0, *to)]))
        graphs.append(store.links(["site"]))
        if isinstance(store, TableStore):
            store.close()
    first, *others = graphs
    for other in others:
        assert first.keys == other.keys
        assert first.under == other.under
        assert np.array_equal(first.start, other.start)
        assert np.array_equal(first.to, other.to)
    assert dict(zip(first.keys, np.diff(first.start), strict=True)) == {
        key: len(set(dict(reads).get(key, []))) for key in KEYS
    }
