"""Greedy choice of queries: the same as by the book, and as good as it must be."""

from fractions import Fraction
from itertools import combinations
from math import e

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from halflife.core.arrays import Floats
from halflife.queries.known.greedy import (
    GreedyLimits,
    ProbeOffers,
    Reading,
    choose,
    greedy_probes,
    offers,
    read,
    units_of,
)
from halflife.queries.known.keywords import Pool, most_frequent, pool_of
from lab.probe_knapsack import knapsack
from probe_worlds import relation, worlds

READINGS: tuple[Reading, ...] = ("all", "first", "some")
World = tuple[Pool, Floats, Floats]


def by_the_book(pool: Pool, value: Floats, hits: Floats, k: int | None) -> list[int]:
    """Algorithm 2, every candidate scored anew each round, in exact fractions."""
    worth = dict(enumerate(units_of(value)))
    open_ = set(worth)
    chosen: list[int] = []
    while True:
        mask = np.array([i in open_ for i in range(len(worth))])
        words = range(len(pool.local.terms))
        if k is not None:
            words = np.flatnonzero(most_frequent(pool.local, mask, k)).tolist()
        best, score = -1, Fraction(0)
        for j in range(len(pool)):
            parts = [p for p in pool.parts[j].tolist() if p >= 0]
            if k is not None and (not parts or not set(parts) <= set(words)):
                continue
            mine = open_ & set(pool.matches.of(j).tolist())
            now = Fraction(sum(worth[i] for i in mine)) / Fraction(hits[j])
            if now > score:
                best, score = j, now
        if best < 0:
            return chosen
        chosen.append(best)
        open_ -= set(pool.matches.of(best).tolist())


def plainly(pool: Pool, value: Floats, offered: ProbeOffers) -> list[int]:
    """The greedy choice of blocks, every candidate scored anew each round."""
    open_ = units_of(value)
    times = [0] * len(pool)
    chosen: list[int] = []
    while True:
        best, score = -1, 0.0
        for j in range(len(pool)):
            if times[j] >= offered.blocks[j]:
                continue
            now = _worth(pool, open_, offered, j, times[j])
            if now > score:
                best, score = j, now
        if best < 0:
            return chosen
        left = 1.0 - _chance(offered, best, times[best])
        for row in pool.matches.of(best).tolist():
            open_[row] = round(open_[row] * left) if left > 0 else 0
        times[best] += 1
        chosen.append(best)


def _chance(offered: ProbeOffers, j: int, times: int) -> float:
    reach, share = float(offered.reach[j]), float(offered.share[j])
    before = min(reach, times * share)
    return (min(reach, (times + 1) * share) - before) / (1.0 - before)


def _worth(
    pool: Pool, open_: list[int], offered: ProbeOffers, j: int, times: int
) -> float:
    total = sum(open_[row] for row in pool.matches.of(j).tolist())
    return total * _chance(offered, j, times) / float(offered.cost[j])


@given(worlds())
def test_the_choice_by_hits_is_that_of_algorithm_2(world: World) -> None:
    pool, value, hits = world
    assert greedy_probes(pool, value, hits).tolist() == by_the_book(*world, None)


@given(worlds(), st.integers(1, 4))
def test_so_it_is_with_the_most_frequent_keywords_only(world: World, k: int) -> None:
    pool, value, hits = world
    found = greedy_probes(pool, value, hits, k=k).tolist()
    assert found == by_the_book(*world, k)


@given(worlds(), st.sampled_from(READINGS), st.integers(1, 6))
def test_the_heap_chooses_what_scoring_everything_chooses(
    world: World, reading: Reading, page_size: int
) -> None:
    pool, value, hits = world
    offered = offers(hits, page_size=page_size, reading=reading, cap=3 * page_size)
    steps = plainly(pool, value, offered)
    found = choose(pool, value, offered)
    wanted = read(pool, value, offered, np.array(steps, dtype=np.intp))
    assert found.queries.tolist() == wanted.queries.tolist()
    assert found.pages.tolist() == wanted.pages.tolist()


@given(worlds(), st.sampled_from(READINGS), st.integers(0, 12))
def test_the_requests_are_never_exceeded(
    world: World, reading: Reading, requests: int
) -> None:
    pool, value, hits = world
    offered = offers(hits, page_size=4, reading=reading)
    assert (
        choose(pool, value, offered, GreedyLimits(requests=requests)).requests
        <= requests
    )
    assert knapsack(pool, value, offered, requests).requests <= requests


@given(worlds(), st.integers(0, 3))
def test_a_quota_of_queries_is_kept(world: World, queries: int) -> None:
    pool, value, hits = world
    offered = offers(hits, page_size=4)
    found = choose(pool, value, offered, GreedyLimits(queries=queries))
    assert found.queries.size <= queries
    again = greedy_probes(pool, value, hits, k=2, limits=GreedyLimits(queries=queries))
    assert again.size <= queries


@given(worlds(), st.floats(0.1, 1.0))
def test_it_stops_once_enough_is_covered(world: World, cover: float) -> None:
    pool, value, hits = world
    found = choose(pool, value, offers(hits, page_size=4), GreedyLimits(cover=cover))
    assert found.value >= cover * value.sum() * (1 - 1e-6)
    less = choose(
        pool,
        value,
        offers(hits, page_size=4),
        GreedyLimits(cover=cover, queries=found.queries.size - 1),
    )
    assert less.value < cover * value.sum() * (1 + 1e-6)


@given(worlds(), st.sampled_from(READINGS), st.data())
def test_the_value_is_monotone_and_submodular(
    world: World, reading: Reading, data: st.DataObject
) -> None:
    pool, value, hits = world
    offered = offers(hits, page_size=3, reading=reading)
    number = st.integers(0, len(pool) - 1)
    some = data.draw(st.sets(number, max_size=3))
    more = some | data.draw(st.sets(number, max_size=3))
    new = data.draw(number)

    def worth(chosen: set[int]) -> float:
        steps = np.array(sorted(chosen), dtype=np.intp)
        return read(pool, value, offered, steps).value

    assert worth(more) >= worth(some) - 1e-9
    if new not in more:
        gain, late = (
            worth(some | {new}) - worth(some),
            worth(more | {new}) - worth(more),
        )
        assert gain >= late - 1e-9


@settings(max_examples=40)
@given(worlds(lookup=False), st.integers(1, 3))
def test_a_quota_is_used_at_least_1_minus_1_over_e_as_well_as_can_be(
    world: World, queries: int
) -> None:
    pool, value, _ = world
    equal = offers(np.ones(len(pool)), page_size=1)
    best = max(
        read(pool, value, equal, np.array(some, dtype=np.intp)).value
        for some in combinations(range(len(pool)), min(queries, len(pool)))
    )
    found = choose(pool, value, equal, GreedyLimits(queries=queries))
    assert found.value >= (1 - 1 / e) * best - 1e-6


@settings(max_examples=25)
@given(worlds(lookup=False), st.integers(1, 6))
def test_a_budget_is_used_at_least_half_as_well_as_that(
    world: World, requests: int
) -> None:
    pool, value, hits = world
    pool = pool.only(np.arange(len(pool)) < 9)
    offered = offers(hits[:9], page_size=4)
    best = 0.0
    for size in range(len(pool) + 1):
        for some in combinations(range(len(pool)), size):
            if offered.pages[list(some)].sum() <= requests:
                steps = np.array(some, dtype=np.intp)
                best = max(best, read(pool, value, offered, steps).value)
    found = knapsack(pool, value, offered, requests)
    deep = knapsack(pool, value, offered, requests, depth=2)
    assert found.value >= (1 - 1 / e) / 2 * best - 1e-6
    assert best + 1e-6 >= deep.value >= found.value - 1e-6


def test_the_best_single_query_saves_greedy_from_a_trap() -> None:
    pool = pool_of(relation([{0, 1}, {0}, {0}, {0}]), together=1)
    offered = offers(np.array([40.0, 4.0]), page_size=4)
    value = np.array([1.2, 1.0, 1.0, 1.0])
    assert choose(
        pool, value, offered, GreedyLimits(requests=10)
    ).value == pytest.approx(1.2)
    assert knapsack(pool, value, offered, 10).value == pytest.approx(4.2)


def test_equation_2_prefers_what_finds_one_and_pages_prefer_what_finds_many() -> None:
    pool = pool_of(relation([{0, 1}, {0, 2}, {0, 3}]), together=1)
    hits = np.array([20.0, 1.0, 1.0, 1.0])
    value = np.ones(3)
    names = [pool.name(j) for j in greedy_probes(pool, value, hits)]
    assert names == ["word=b", "word=c", "word=d"]
    found = choose(pool, value, offers(hits, page_size=20))
    assert [pool.name(j) for j in found.queries] == ["word=a"]
    assert (found.requests, found.covered) == (1, 3.0)


def test_the_first_page_shows_a_match_with_probability_p_over_hits() -> None:
    pool = pool_of(relation([{0, 1}, {0, 1}]), together=1)
    offered = offers(np.array([40.0, 20.0]), page_size=10, reading="first")
    found = read(pool, np.ones(2), offered, np.array([0, 1]))
    assert found.chance.tolist() == pytest.approx([1 - 0.75 * 0.5] * 2)
    assert found.requests == 2


def test_pages_are_read_one_by_one_and_add_up() -> None:
    pool = pool_of(relation([{0}, {0}]), together=1)
    offered = offers(np.array([25.0]), page_size=10, reading="some")
    values = [
        choose(pool, np.ones(2), offered, GreedyLimits(requests=n)).value
        for n in range(5)
    ]
    assert values == pytest.approx([0.0, 0.8, 1.6, 2.0, 2.0])


def test_what_lies_beyond_the_reach_of_a_form_is_not_counted_on() -> None:
    offered = offers(np.array([400.0, 30.0]), page_size=20, cap=100)
    assert offered.pages.tolist() == [5, 2]
    assert offered.reach.tolist() == [0.25, 1.0]


def test_records_worth_nothing_are_left_alone() -> None:
    pool = pool_of(relation([{0}, {1}]), together=1)
    found = choose(pool, np.array([0.0, 1e-12]), offers(np.ones(2), page_size=5))
    assert [pool.name(j) for j in found.queries] == ["word=b"]
