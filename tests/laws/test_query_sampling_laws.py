"""Laws of query-based sampling: which words are asked for, and when it ends."""

import numpy as np
import pytest

from halflife.core.search import Document, SearchAnswer
from halflife.probing.query_sampling import WordPool, query_based_sample
from halflife.probing.sample import Ending


class Shelf:
    """Answers each word with the documents that a table has for it."""

    def __init__(self, requests=1, **answers):
        self.answers, self.requests, self.asked = answers, requests, []

    def search(self, query, most, skip=0):
        self.asked.append((query, most))
        found = self.answers.get(query, ())
        return SearchAnswer(len(found), tuple(found[:most]), self.requests)


def document(key, *words):
    return Document(key, words or ("x",))


def sample(shelf, words, **more):
    return query_based_sample(shelf, words, np.random.default_rng(0), **more)


def test_words_are_drawn_once_those_of_documents_before_the_dictionary():
    hat, rng = WordPool(["d1", "d2", "d1", "r1"]), np.random.default_rng(1)
    assert hat.draw(rng) in {"d1", "d2", "r1"}
    hat.put(["r1", "r2"])
    hat.put(["r2", "r3"])
    drawn = [hat.draw(rng) for _ in range(6)]
    assert drawn[-1] is None
    words = [w for w in drawn if w is not None]
    assert len(set(words)) == len(words)
    later = [w for w in words if w.startswith("d")]
    assert words[len(words) - len(later) :] == later  # the dictionary's come last


def test_every_word_is_as_likely_to_be_drawn_first():
    rng = np.random.default_rng(0)
    first = [WordPool("abc").draw(rng) for _ in range(600)]
    for word in "abc":
        assert first.count(word) == pytest.approx(200, abs=60)


def test_a_sample_ends_when_it_has_enough_or_nothing_is_left_to_ask():
    docs = tuple(document(f"k{i}") for i in range(4))
    full = sample(Shelf(a=docs), ["a"], documents=4)
    assert (full.ending, len(full.documents)) == (Ending.ENOUGH, 4)
    more = sample(Shelf(a=docs), ["a"], documents=5)
    assert (more.ending, len(more.documents)) == (Ending.EXHAUSTED, 4)
    nothing = sample(Shelf(), ["a", "b"], documents=5)
    assert nothing.ending is Ending.SILENT


def test_queries_in_a_row_without_a_new_document_end_a_sample():
    docs = (document("k0", "u", "v", "w"),)
    shelf = Shelf(a=docs)
    found = sample(shelf, ["a"], documents=5, fruitless=2)
    assert found.ending is Ending.FRUITLESS
    assert len(shelf.asked) == 3  # the fruitful one, and two that were not
    patient = Shelf(a=docs)
    assert sample(patient, ["a"], documents=5, fruitless=4).ending is Ending.EXHAUSTED
    assert len(patient.asked) == 4
    # One that brings something begins the row anew.
    chain = Shelf(
        a=(document("k0", "b", "c"),), b=(document("k1", "d", "e"),),
        c=(document("k2", "f", "g"),), d=(document("k3"),), e=(document("k4"),),
    )  # fmt: skip
    assert len(sample(chain, ["a"], documents=9, fruitless=6).documents) == 5


def test_no_more_requests_are_made_than_may_be_spent():
    docs = tuple(document(f"k{i}", f"w{i}") for i in range(9))
    shelf = Shelf(requests=2, a=docs, w0=docs)
    found = sample(shelf, ["a", "b", "c"], documents=9, requests=4)
    assert (found.ending, len(shelf.asked)) == (Ending.SPENT, 2)
    odd = Shelf(requests=2, a=docs)
    sample(odd, ["a", "b", "c"], documents=9, requests=3)
    assert len(odd.asked) == 2


def test_so_many_matches_are_looked_at_and_fewer_kept():
    docs = tuple(document(f"k{i}") for i in range(9))
    for shown, looked in ((None, 2), (1, 2), (6, 6)):
        shelf = Shelf(a=docs)
        found = sample(shelf, ["a"], documents=2, per_query=2, shown=shown)
        assert shelf.asked == [("a", looked)]
        assert len(found.documents) == 2
