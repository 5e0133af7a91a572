"""A check of a summary tells a database that changed from one that did not."""

import numpy as np
import pytest
from hypothesis import example, given, strategies as st

from halflife.core.search import Document, SearchAnswer
from halflife.probing.memory import InMemoryDatabase
from halflife.probing.query_sampling import query_based_sample
from halflife.probing.recheck import LIMIT, MOST, STAGES, recheck
from search_server import corpus

DICTIONARY = tuple(f"term{i}" for i in range(50))


def library(seed, documents=500):
    texts = corpus(documents, seed)
    return [
        Document(f"{seed}/{key}", tuple(sorted(set(text.split()))))
        for key, text in texts.items()
    ]


@pytest.fixture(scope="module")
def old():
    rng = np.random.default_rng(0)
    database = InMemoryDatabase(library(1), page=20)
    return query_based_sample(database, DICTIONARY, rng, shown=20).documents


class Counted:
    """A database that counts what it is asked."""

    def __init__(self, documents, page=20):
        self.database = InMemoryDatabase(documents, page=page)
        self.requests = 0

    def search(self, query, most, skip=0):
        answer = self.database.search(query, most, skip)
        self.requests += answer.requests
        return answer


def check(database, old, seed=0, **more):
    rng = np.random.default_rng(seed)
    return recheck(database, old, DICTIONARY, rng, shown=20, **more)


@pytest.mark.parametrize("seed", range(6))
def test_a_database_that_is_the_same_passes_with_few_requests(old, seed):
    database = Counted(library(1))
    found = check(database, old, seed)
    assert found.holds
    assert found.excess <= LIMIT
    assert database.requests <= MOST
    assert len({d.key for d in found.documents}) == len(found.documents)


def test_nothing_more_is_asked_once_the_verdict_is_clear(old):
    ends = []
    for seed in range(6):
        database = Counted(library(1))
        check(database, old, seed)
        ends.append(database.requests)
    # a query takes one or two requests; a stage ends with the first beyond it
    first = STAGES[0] * MOST
    assert min(ends) < first + 3
    assert all(any(s * MOST <= end < s * MOST + 3 for s in STAGES) for end in ends)


@pytest.mark.parametrize("seed", range(6))
def test_other_documents_with_the_same_habits_pass(old, seed):
    both = library(1, 800)[500:]
    assert check(Counted(both), old, seed).holds


@pytest.mark.parametrize("seed", range(6))
def test_another_database_does_not(old, seed):
    database = Counted(library(7))
    found = check(database, old, seed)
    assert found.holds is False
    assert database.requests <= MOST


def test_a_database_that_shows_nothing_more_does_not(old):
    database = Counted([])
    found = check(database, old)
    assert found.holds is False
    assert np.isnan(found.excess)
    assert database.requests == MOST


def test_a_check_that_is_cut_off_tells_nothing_and_keeps_what_it_read(old):
    database = Counted(library(1))
    found = check(database, old, over=lambda: database.requests >= 4)
    assert found.holds is None
    assert found.documents
    assert database.requests == 4


def test_no_word_is_asked_for_twice(old):
    asked = []

    class Deaf:
        def search(self, query, most, skip=0):
            del most, skip
            asked.append(query)
            return SearchAnswer(None, (), 1)

    check(Deaf(), old)
    assert len(asked) == len(set(asked)) == MOST


@given(
    sizes=st.lists(st.integers(0, 6), max_size=12),
    requests=st.integers(1, 12),
    seed=st.integers(0, 99),
)
@example(sizes=[3], requests=3, seed=0)  # answers alike, and no request left to ask why
def test_whatever_is_held_a_check_ends_with_a_verdict(sizes, requests, seed):
    rng = np.random.default_rng(seed)
    documents = [
        Document(str(i), tuple(sorted({f"w{k}" for k in rng.integers(0, 9, size)})))
        for i, size in enumerate(sizes)
    ]
    database = Counted(documents)
    kept = documents[::2]
    found = recheck(database, kept, ("w1", "w2"), rng, shown=5, requests=requests)
    assert found.holds in (True, False)
    assert database.requests <= requests
