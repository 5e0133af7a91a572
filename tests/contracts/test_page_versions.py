"""What every store keeps of the bodies that pages had."""

import pytest
from hypothesis import given, settings, strategies as st

from contracts.test_stores import STORES
from halflife.core.item import Item
from halflife.core.observation import Content, Observations
from halflife.stores.held_pages import HELD, HeldFetch
from halflife.stores.memory import MemoryStore
from halflife.stores.page_versions import MOST
from halflife.stores.sqlite import SqliteStore
from halflife.stores.table_store import TableStore
from store_looks import absent, present


@pytest.fixture(params=STORES)
def store(request, tmp_path):
    made = STORES[request.param](tmp_path)
    made.add([Item("a", "s", group="g"), Item("b", "s", group="g")])
    yield made
    if isinstance(made, TableStore):
        assert made.verify() == []
        made.close()


@pytest.fixture
def run(store):
    return store.begin(["s"], 0.0, lease=1e6)


def page(key, at, text, noise=""):
    body = Content("text/html", f"<p>{text}{noise}".encode())
    return present(key, at, text, content=body)


def put(store, run, *looks):
    store.append(run, Observations.of(looks))


def bodies(store, key="a"):
    found = [store.versions.content(key, one) for one in store.versions.of(key)]
    return [content.body.decode() for content in found]


def test_a_page_keeps_its_last_five_bodies_newest_first(store, run):
    for n in range(8):
        put(store, run, page("a", float(n), f"text {n}"))
    assert MOST == 5
    assert bodies(store) == [f"<p>text {n}" for n in (7, 6, 5, 4, 3)]
    assert [one.at for one in store.versions.of("a")] == [7.0, 6.0, 5.0, 4.0, 3.0]
    assert [one.digest for one in store.versions.of("a")][:2] == ["text 7", "text 6"]
    assert store.content("a").body == b"<p>text 7"
    assert store.versions.of("b") == []


def test_another_body_with_the_same_text_is_the_same_version(store, run):
    put(store, run, page("a", 1.0, "x"))
    put(store, run, page("a", 2.0, "x", "<!-- 2 -->"))
    (only,) = store.versions.of("a")
    assert (only.at, only.digest) == (1.0, "x")
    assert bodies(store) == ["<p>x<!-- 2 -->"]


def test_a_page_that_returns_has_its_versions_still(store, run):
    put(store, run, page("a", 1.0, "x"), absent("a", 2.0), page("a", 3.0, "y"))
    assert bodies(store) == ["<p>y", "<p>x"]


def test_an_answer_that_is_held_is_no_version_until_it_is_accepted(store, run):
    put(store, run, page("a", 1.0, "x"))
    look = page("a", 2.0, "y")
    store.held_answers.save(run.id, HeldFetch(look, HELD, "odd", "x", "y"))
    assert bodies(store) == ["<p>x"]
    put(store, run, store.held_answers.observation(store.held_answers.row("a")))
    assert bodies(store) == ["<p>y", "<p>x"]


def test_a_copy_that_is_put_back_leaves_no_trace_of_what_replaced_it(store, run):
    for at, text in enumerate("wxy"):
        put(store, run, page("a", float(at), text))
    store.held_answers.put_back(page("a", 9.0, "x"))
    assert bodies(store) == ["<p>x", "<p>w"]
    assert [one.at for one in store.versions.of("a")] == [1.0, 0.0]


@settings(max_examples=30)
@given(
    texts=st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("xyz"))),
    most=st.integers(1, 4),
)
def test_both_stores_keep_the_same_versions(texts, most, tmp_path_factory):
    memory, path = MemoryStore(), tmp_path_factory.mktemp("versions") / "state.db"
    with SqliteStore.open(path, create=True) as file:
        file.page_versions = memory.versions.most = most
        for store in (memory, file):
            store.add([Item("a", "s"), Item("b", "s")])
            run = store.begin(["s"], 0.0, lease=1e6)
            for at, (key, text) in enumerate(texts):
                put(store, run, page(key, float(at), text))
        for key in "ab":
            assert bodies(memory, key) == bodies(file, key)
            shown = [
                [(v.at, v.digest, v.media_type) for v in store.versions.of(key)]
                for store in (memory, file)
            ]
            assert shown[0] == shown[1]
            assert len(shown[0]) <= most
        assert file.verify() == []


def test_equal_bodies_are_kept_once_and_leave_with_the_last_page(tmp_path):
    with SqliteStore.open(tmp_path / "state.db", create=True) as store:
        store.add([Item("a", "s"), Item("b", "s")])
        run = store.begin(["s"], 0.0, lease=1e6)
        for at in range(6):
            text = "xy"[at % 2]
            put(store, run, page("a", float(at), text), page("b", float(at), text))

        def kept():
            with store.reading() as db:
                query = "SELECT count(*) FROM page_body"
                return db.execute(query).fetchone()[0]

        assert kept() == 2
        assert len(store.versions.of("b")) == 5
        store.page_versions = 2
        put(store, run, page("a", 9.0, "z"), page("b", 9.0, "z"))
        assert kept() == 1
        assert bodies(store) == ["<p>z", "<p>y"]
