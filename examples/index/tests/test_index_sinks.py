"""Indexes that stay in step: they keep the laws of sinks, and find what is held."""

import sqlite3
from contextlib import closing

import pytest

from halflife.core.change import Change
from halflife.sinks import laws
from halflife.sinks.protocol import Batch, Outlet
from halflife_index.full_text import FullTextConfig, FullTextIndex
from halflife_index.vectors import VectorConfig, VectorIndex

KINDS = {"fts5": FullTextIndex, "sqlite-vec": VectorIndex}


class Held:
    """A reader of a table of records."""

    def __init__(self, records):
        self.records = records

    def content(self, key, text=""):
        return None

    def record(self, source, key):
        return self.records.get(key)


@pytest.fixture(params=KINDS)
def kind(request):
    if request.param == "sqlite-vec":
        skip_without_vectors()
    return request.param


def skip_without_vectors():
    pytest.importorskip("sqlite_vec", reason="needs sqlite-vec")
    if not hasattr(sqlite3.Connection, "enable_load_extension"):
        pytest.importorskip("pysqlite3", reason="needs pysqlite3-binary")


def keys(path):
    with closing(sqlite3.connect(path)) as db:
        return set(db.execute("SELECT source, key FROM document"))


@pytest.mark.parametrize("law", laws.LAWS, ids=lambda law: law.__name__)
def test_an_index_keeps_the_laws_of_sinks(kind, law, tmp_path):
    path = tmp_path / "index.db"
    early = law.__name__.startswith("keeps")  # which delivers the first five

    def read():
        # An index does not know which change brought a document: the last one did.
        known = laws.CHANGES[:5] if early else laws.CHANGES
        numbers = {(c.source, c.key): c.seq for c in known if c.kind != "held"}
        return [(*place, numbers[place]) for place in keys(path)]

    def wants(change):
        return change.kind not in {"held", "gone"} and not (early and change.key == "2")

    settings = {"name": "x", "kind": kind, "path": "index.db"}
    law(
        laws.SinkTrial(
            KINDS[kind], settings, read, tmp_path, complete=False, wants=wants
        )
    )


def deliver(sink, changes, held):
    first, last = changes[0].seq, changes[-1].seq
    sink.deliver(Batch("x", first, last, changes, last, Held(held)))


def story(sink):
    """Let records come, change and go."""
    held = {"1": {"title": "warm bread"}, "2": {"title": "cold soup"}}
    arrived = [Change(1.0, "menu", key, "new", {}, int(key)) for key in held]
    deliver(sink, arrived, held)
    held["2"] = {"title": "hot soup"}
    deliver(sink, [Change(2.0, "menu", "2", "changed", {}, 3)], held)
    del held["1"]
    deliver(sink, [Change(3.0, "menu", "1", "gone", {}, 4)], held)


def test_a_full_text_index_finds_what_is_held_and_nothing_else(tmp_path):
    settings = FullTextConfig(name="x", kind="fts5", path="index.db")
    sink = FullTextIndex(settings, Outlet(tmp_path, tmp_path / "halflife.db"))
    sink.open()
    story(sink)
    sink.close()
    with closing(sqlite3.connect(tmp_path / "index.db")) as db:

        def found(words):
            query = "SELECT key FROM document WHERE document MATCH ?"
            return [key for (key,) in db.execute(query, (words,))]

        assert found("soup") == found("hot") == ["2"]
        assert found("cold") == found("bread") == []


def test_a_vector_index_finds_what_is_nearest(tmp_path):
    skip_without_vectors()
    settings = VectorConfig(name="x", kind="sqlite-vec", path="index.db")
    sink = VectorIndex(settings, Outlet(tmp_path, tmp_path / "halflife.db"))
    sink.open()
    story(sink)
    deliver(
        sink, [Change(4.0, "menu", "3", "new", {}, 5)], {"3": {"title": "red wine"}}
    )
    assert sink.search("title: hot soup", 1) == [("menu", "2")]
    assert sink.search("red wine", 2)[0] == ("menu", "3")
    assert len(sink.search("bread", 5)) == 2
    sink.close()
