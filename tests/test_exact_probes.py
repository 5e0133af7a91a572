"""The best choice of queries against trying them all."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from halflife.core.arrays import Floats
from halflife.queries.known.greedy import choose, offers, read
from halflife.queries.known.keywords import Pool, pool_of
from lab.exact_probes import (
    _needed,
    full_cover,
    pruned,
    repriced,
    within_budget,
)
from probe_worlds import relation, worlds

World = tuple[Pool, Floats, Floats]
MOST = 9


def few(world: World) -> World:
    """Keep a pool small enough to try everything."""
    pool, value, hits = world
    keep = np.arange(len(pool)) < MOST
    return pool.only(keep), value, hits[:MOST]


def tried(pool: Pool) -> list[list[int]]:
    every = range(len(pool))
    return [list(s) for size in range(len(pool) + 1) for s in combinations(every, size)]


@settings(max_examples=30)
@given(worlds(), st.integers(1, 5))
def test_no_cover_takes_fewer_requests(world: World, page_size: int) -> None:
    pool, _, hits = few(world)
    offered = offers(hits, page_size=page_size)
    goal = set(np.flatnonzero(pool.reachable).tolist())
    costs = [
        int(offered.pages[some].sum())
        for some in tried(pool)
        if set().union(*(pool.matches.of(j).tolist() for j in some)) == goal
    ]
    found = full_cover(pool, offered)
    assert found.cost == found.bound == min(costs)
    assert (found.status, found.gap) == ("optimal", 0.0)
    rows = set().union(*(pool.matches.of(j).tolist() for j in found.queries))
    assert rows == goal
    assert found.cost == offered.pages[found.queries].sum()


@settings(max_examples=30)
@given(worlds(), st.integers(0, 5))
def test_no_choice_within_a_budget_is_worth_more(world: World, requests: int) -> None:
    pool, value, hits = few(world)
    offered = offers(hits, page_size=4)
    best = max(
        read(pool, value, offered, np.array(some, dtype=np.intp)).value
        for some in tried(pool)
        if offered.pages[some].sum() <= requests
    )
    found = within_budget(pool, value, offered, requests)
    assert found.value == pytest.approx(best, abs=1e-5)
    assert found.bound >= best - 1e-5
    assert found.cost <= requests


def test_greedy_is_kept_when_there_is_no_time() -> None:
    rng = np.random.default_rng(0)
    words = [set(rng.integers(0, 8, 4).tolist()) for _ in range(60)]
    pool = pool_of(relation(words), lookup=True)
    offered = offers(pool.held * 3.0, page_size=5)
    greedy = choose(pool, np.ones(60), offered)
    found = full_cover(pool, offered, seconds=0.0)
    assert found.cost <= greedy.requests
    assert 0.0 <= found.bound <= found.cost
    assert found.gap == pytest.approx((found.cost - found.bound) / found.cost)


@given(worlds())
def test_pruning_loses_nothing_and_costs_no_more(world: World) -> None:
    pool, value, hits = world
    offered = offers(hits, page_size=3)
    chosen = choose(pool, value, offered).queries
    left = pruned(pool, offered, chosen)
    assert set(left) <= set(chosen)
    covered = read(pool, value, offered, left).chance
    assert covered.tolist() == read(pool, value, offered, chosen).chance.tolist()


def test_of_queries_with_the_same_matches_the_cheapest_is_kept() -> None:
    pool = pool_of(relation([{0, 1}, {0, 1}, {2}]))
    offered = offers(np.array([50.0, 20.0, 1.0, 30.0]), page_size=10)
    assert _needed(pool, offered).tolist() == [False, True, True, False]


def test_queries_that_cannot_be_read_to_the_end_take_no_part() -> None:
    pool = pool_of(relation([{0, 1}, {0, 2}]), together=1)
    offered = offers(np.array([500.0, 1.0, 1.0]), page_size=10, cap=100)
    assert full_cover(pool, offered).queries.tolist() == [1, 2]


@given(worlds())
def test_prices_learned_give_a_full_cover_no_dearer_than_greedy(world: World) -> None:
    pool, _, hits = world
    offered = offers(hits, page_size=3)
    one = np.ones(len(pool.local))
    found = repriced(pool, offered, tries=4)
    assert read(pool, one, offered, found).chance.tolist() == one.tolist()
    greedy = choose(pool, one, offered)
    assert offered.pages[found].sum() <= greedy.requests


def test_prices_learned_get_out_of_the_trap_that_greedy_is_in() -> None:
    # Columns a and b cover all; the rows c, d and e look better one after the other.
    rows = [
        {w, c} for c, n in ((2, 4), (3, 2), (4, 1)) for w in (0, 1) for _ in range(n)
    ]
    pool = pool_of(relation(rows), together=1)
    offered = offers(np.ones(len(pool)), page_size=1)
    assert choose(pool, np.ones(14), offered).requests == 3
    assert sorted(pool.name(j) for j in repriced(pool, offered)) == ["word=a", "word=b"]
    # and without learning, the search for the best choice does
    best = full_cover(pool, offered, tries=1)
    assert sorted(pool.name(j) for j in best.queries) == ["word=a", "word=b"]
    assert (best.cost, best.bound, best.value) == (2, 2.0, 14.0)
    # nor is the best choice within two requests that which greedy begins with
    most = within_budget(pool, np.ones(14), offered, 2)
    assert (most.value, most.cost, most.bound) == (14.0, 2, 14.0)


@given(worlds())
def test_after_pruning_no_query_can_be_left_out(world: World) -> None:
    pool, _, hits = world
    offered = offers(hits, page_size=3)
    left = pruned(pool, offered, np.arange(len(pool)))
    whole = set().union(*(pool.matches.of(j).tolist() for j in range(len(pool))))
    for j in left.tolist():
        others = [pool.matches.of(i).tolist() for i in left.tolist() if i != j]
        assert set().union(*others) < whole
    assert set().union(*(pool.matches.of(j).tolist() for j in left)) == whole
