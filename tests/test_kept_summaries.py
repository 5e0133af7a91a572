"""Which summary of a database is in use, and which are still there."""

import numpy as np
import pytest

from halflife.core.change import Change
from halflife.core.search import Document
from halflife.stores import summaries
from halflife.stores.memory import MemoryStore
from halflife.stores.summaries import StoredSummary
from halflife.summary import Summary


def kept(read, *, whole, at=1.0):
    documents = tuple(Document(str(i), ("word",)) for i in range(read))
    return StoredSummary(
        source="books",
        at=at,
        method="qbs",
        ending="",
        whole=whole,
        summary=Summary(("word",), np.array([float(read)]), 1000.0, read),
        low=900.0,
        high=1100.0,
        sized="",
        told="",
        requests=50,
        documents=documents,
    )


@pytest.mark.parametrize(
    ("read", "whole", "used"),
    [(300, False, 2), (240, False, 2), (239, False, 1), (10, True, 2)],
)
def test_one_that_was_cut_off_is_used_if_it_read_four_fifths_as_much(read, whole, used):
    store = MemoryStore()
    summaries.save(store, kept(300, whole=True))
    summaries.save(store, kept(read, whole=whole, at=2.0))
    assert summaries.current(store, "books").version == used


def test_versions_that_are_cleared_away_meanwhile_do_no_harm():
    class Tidied(MemoryStore):
        """A store from which another removes a version right after it was read."""

        reads = 0

        def note(self, source, kind, number=0):
            if (source, kind, number) == ("books", "summary", 1):
                self.reads += 1
                if self.reads > 1:
                    return None
            return super().note(source, kind, number)

    store = Tidied()
    for day in (1.0, 2.0):
        summaries.save(store, kept(10, whole=True, at=day))
    store.reads = 0
    assert [one.version for one in summaries.versions(store, "books")] == [1, 2]
    assert [one.version for one in summaries.versions(store, "books")] == [2]


def test_the_summary_in_use_is_what_a_search_source_holds():
    store = MemoryStore()
    for at, read in enumerate([300, 100, 300], 1):
        summaries.save(store, kept(read, whole=False, at=float(at)))
    assert store.changes.read() == [
        Change(1.0, "books", "summary", "new", {"version": (None, 1)}, 1),
        Change(3.0, "books", "summary", "changed", {"version": (1, 3)}, 2),
    ]
