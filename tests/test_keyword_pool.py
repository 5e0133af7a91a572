"""Candidate queries for what is held."""

from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from form_worlds import ATTRIBUTES, behind, cars
from halflife.core.forms import Interface, Query, Term
from halflife.queries.known.coverage import count_matches
from halflife.queries.known.keywords import (
    attribute_of,
    most_frequent,
    pool_for,
    pool_of,
)
from halflife.queries.known.sets import NONE, Ragged, SetTable
from probe_worlds import WORDS, relation, rows


@pytest.mark.parametrize("together", [1, 2, 3, 4])
def test_the_matches_of_a_candidate_are_those_of_the_table(together: int) -> None:
    table = behind(cars(120))
    pool = pool_of(table.incidence, together=together, lookup=True)
    for j in range(len(pool)):
        query = pool.query(j)
        if query is not None:
            assert pool.matches.of(j).tolist() == table.matches(query).tolist()
            assert pool.find(query) == j


@given(rows, st.integers(1, 4), st.integers(2, 3))
def test_every_shared_set_is_a_candidate_once(
    held: list[set[int]], together: int, fewest: int
) -> None:
    local = relation(held)
    pool = pool_of(local, together=together, fewest=fewest)
    sets = [tuple(p for p in row if p != NONE) for row in pool.parts.tolist()]
    shared = Counter(
        s
        for row in range(len(local))
        for size in range(2, together + 1)
        for s in combinations(local.of_record(row).tolist(), size)
    )
    wanted = {s for s, n in shared.items() if n >= fewest}
    assert len(sets) == len(set(sets))
    assert wanted | {(t,) for t in range(len(local.terms))} <= set(sets)


@given(rows, st.integers(1, 3))
def test_every_record_with_a_term_can_be_reached_alone_or_not(
    held: list[set[int]], together: int
) -> None:
    pool = pool_of(relation(held), together=together)
    assert pool.reachable.all()


def test_the_rarest_terms_of_a_record_are_a_candidate() -> None:
    pool = pool_of(relation([{0, 1, 2}, {0, 1}, {0, 2}, {0, 3, 4}]))
    assert pool.find(Query.of(WORDS[3], WORDS[4])) is not None
    assert pool.find(Query.of(WORDS[0], WORDS[3])) is None


def test_a_record_without_terms_is_reached_by_its_key_only() -> None:
    local = relation([{0, 1}, set()])
    assert pool_of(local).reachable.tolist() == [True, False]
    pool = pool_of(local, lookup=True)
    assert pool.reachable.all()
    assert pool.name(len(pool) - 1) == "look-up of r1"
    assert pool.query(len(pool) - 1) is None
    assert pool.held[pool.lookup].tolist() == [1, 1]


def test_a_form_bounds_how_many_terms_go_together() -> None:
    narrow = Interface(ATTRIBUTES, together=1, lookup=True)
    pool = pool_for(narrow, cars(30), together=3)
    assert pool.parts.shape[1] == 1
    assert pool.lookup.sum() == 30


def test_a_query_of_unknown_words_is_no_candidate() -> None:
    pool = pool_of(relation([{0, 1}, {0}]))
    assert pool.find(Query.of(Term("word", "zebra"))) is None


def test_an_empty_relation_has_no_candidates() -> None:
    assert len(pool_of(relation([]), together=3, lookup=True)) == 0


@given(rows, rows, st.integers(1, 3))
def test_counts_in_another_relation_are_those_of_sets(
    held: list[set[int]], served: list[set[int]], together: int
) -> None:
    pool, server = pool_of(relation(held), together=together), relation(served)
    for j, count in enumerate(count_matches(pool, server).tolist()):
        query = pool.query(j)
        assert query is not None
        words = {WORDS.index(term) for term in query}
        assert count == sum(words <= row for row in served)


@given(rows, st.integers(1, 3))
def test_records_of_sets_are_the_matches(held: list[set[int]], together: int) -> None:
    local = relation(held)
    pool = pool_of(local, together=together)
    found = SetTable(np.r_[pool.parts, pool.parts[:2]]).records(local)
    assert found.lists()[: len(pool)] == pool.matches.lists()
    assert found.lists()[len(pool) :] == pool.matches.lists()[:2]


def test_the_most_frequent_terms_are_of_open_records_and_of_every_attribute() -> None:
    local = behind(cars(60)).incidence
    open_ = np.arange(60) % 3 == 0
    chosen = most_frequent(local, open_, 2)
    count = np.zeros(len(local.terms), dtype=int)
    for row in np.flatnonzero(open_):
        count[local.of_record(row)] += 1
    for group in range(3):
        mine = np.flatnonzero(attribute_of(local) == group)
        best = mine[np.lexsort((mine, -count[mine]))][:2]
        assert set(np.flatnonzero(chosen[mine])) == set(best - mine[0])
    assert most_frequent(local, open_, 2, each=False).sum() == 2
    assert not most_frequent(local, open_ & False, 5).any()


@given(st.lists(st.lists(st.integers(0, 6), max_size=5), max_size=6))
def test_turning_lists_twice_gives_them_back_sorted(lists: list[list[int]]) -> None:
    sizes = [len(set(x)) for x in lists]
    item = np.array([i for x in lists for i in sorted(set(x))], dtype=np.intp)
    ragged = Ragged(np.r_[0, np.cumsum(sizes)].astype(np.intp), item)
    again = ragged.inverted(7).inverted(len(lists))
    assert again.lists() == ragged.lists()
