"""Sets of terms, candidate queries and choices of them, against plain Python."""

import math
from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from halflife.core.forms import Query, Term
from halflife.queries.incidence import Incidence
from halflife.queries.known import sets as module
from halflife.queries.known.greedy import (
    GreedyLimits,
    _State,
    choose,
    greedy_probes,
    offers,
    read,
    units_of,
)
from halflife.queries.known.keywords import attribute_of, most_frequent, pool_of
from halflife.queries.known.sets import (
    NONE,
    UNKNOWN,
    Ragged,
    SetTable,
    common_sets,
    concatenate,
)
from lab.exact_probes import (
    _mixed,
    _needed,
    _paid,
    _Program,
    full_cover,
    pruned,
    repriced,
    within_budget,
)
from lab.probe_knapsack import _begins, knapsack
from probe_worlds import relation, rows, worlds

LISTS = st.lists(st.lists(st.integers(0, 5), max_size=4), max_size=6)


def ragged(lists):
    sizes = np.array([len(x) for x in lists], dtype=np.intp)
    start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.intp)
    return Ragged(start, np.array([i for x in lists for i in x], dtype=np.intp))


# lists


@settings(max_examples=40)
@given(LISTS, LISTS, st.lists(st.booleans(), min_size=6, max_size=6))
def test_ragged_lists_do_what_lists_do(one, two, keep):
    first, second = ragged(one), ragged(two)
    assert first.lists() == one
    assert len(first) == len(one)
    assert first.sizes.tolist() == [len(x) for x in one]
    assert first.group.tolist() == [i for i, x in enumerate(one) for _ in x]
    assert [first.of(i).tolist() for i in range(len(one))] == one
    assert concatenate(first, second).lists() == one + two
    kept = np.array(keep[: len(one)], dtype=bool)
    some = [x for x, k in zip(one, keep, strict=False) if k]
    assert first.select(kept).lists() == some
    turned = [[i for i, x in enumerate(one) for y in x if y == j] for j in range(6)]
    assert first.inverted(6).lists() == turned
    pairs = [(y, i) for i, x in enumerate(one) for y in x]
    group = np.array([y for y, _ in pairs], dtype=np.intp)
    item = np.array([i for _, i in pairs], dtype=np.intp)
    assert Ragged.from_groups(group, item, 6).lists() == turned


# sets


def having(held, words):
    return [i for i, row in enumerate(held) if set(words) <= row]


@settings(max_examples=40)
@given(rows, st.integers(1, 4), st.integers(1, 3))
def test_common_sets_are_all_that_enough_records_share(held, together, fewest):
    local = relation(held)
    place = [set(local.of_record(i).tolist()) for i in range(len(local))]
    every = range(len(local.terms))
    found = list(common_sets(local, together, fewest))
    assert len(found) == together - 1
    for size, (parts, matches) in enumerate(found, 2):
        wanted = [s for s in combinations(every, size)
                  if len(having(place, s)) >= fewest]  # fmt: skip
        assert [tuple(row) for row in parts.tolist()] == wanted
        assert matches.lists() == [having(place, s) for s in wanted]


@pytest.mark.parametrize("chunk", [1, 2, 3, 100])
def test_sets_are_found_however_many_records_are_walked_at_a_time(chunk, monkeypatch):
    monkeypatch.setattr(module, "CHUNK", chunk)
    rng = np.random.default_rng(4)
    held = [set(rng.integers(0, 6, 4).tolist()) for _ in range(11)]
    local = relation(held)
    place = [set(local.of_record(i).tolist()) for i in range(len(local))]
    every = [list(s) for size in (1, 2, 3) for s in combinations(range(6), size)]
    parts = np.array([s + [NONE] * (3 - len(s)) for s in every])
    parts = np.vstack([parts, [[0, UNKNOWN, 3]], [[NONE] * 3], parts[7:9]])
    wanted = [having(place, s) for s in every]
    wanted += [[], [], wanted[7], wanted[8]]
    table = SetTable(parts)
    assert table.records(local).lists() == wanted
    assert table.counts(local).tolist() == [len(x) for x in wanted]
    nothing = relation([])
    assert table.counts(nothing).tolist() == [0] * len(parts)


def test_terms_beyond_those_of_a_relation_are_in_none_of_its_records():
    table = SetTable(np.array([[0, 7], [7, NONE], [1, NONE]]))
    local = relation([{0, 1}, {1}])
    assert table.counts(local).tolist() == [0, 0, 2]
    assert table.records(local).lists() == [[], [], [0, 1]]
    none = SetTable(np.zeros((0, 2), dtype=np.intp))
    assert none.counts(local).tolist() == []


# candidates


@settings(max_examples=40)
@given(rows, st.integers(1, 3), st.integers(2, 3), st.booleans())
def test_candidates_are_terms_shared_sets_rare_sets_and_keys(
    held, together, fewest, lookup
):
    local = relation(held)
    place = [tuple(local.of_record(i).tolist()) for i in range(len(local))]
    hits = Counter(t for row in place for t in row)
    shared = Counter(
        s
        for row in place
        for size in range(2, together + 1)
        for s in combinations(row, size)
    )
    rare = {
        tuple(sorted(sorted(row, key=lambda t: (hits[t], t))[:together]))
        for row in place
    }
    wanted = [(t,) for t in range(len(local.terms))]
    for size in range(2, together + 1):
        wanted += sorted(s for s in shared if len(s) == size and shared[s] >= fewest)
    own = {s for s in rare if len(s) > 1 and shared[s] < fewest}
    pool = pool_of(local, together=together, fewest=fewest, lookup=lookup)
    sets = [tuple(p for p in row if p != NONE) for row in pool.parts.tolist()]
    n = len(wanted)
    assert sets[:n] == wanted
    assert set(sets[n : n + len(own)]) == own
    assert sets[n + len(own) :] == [()] * (len(local) if lookup else 0)
    for j, terms in enumerate(sets):
        if terms:
            mine = [i for i, row in enumerate(place) if set(terms) <= set(row)]
            assert pool.matches.of(j).tolist() == mine
            assert pool.find(Query.of(*(local.terms[t] for t in terms))) == j
    assert pool.lookup.tolist() == [not terms for terms in sets]
    keys = [pool.key(j) for j in np.flatnonzero(pool.lookup)]
    assert keys == (list(local.keys) if lookup else [])


@settings(max_examples=40)
@given(
    st.lists(st.sets(st.sampled_from("abcxyz"), min_size=1), min_size=1, max_size=6),
    st.lists(st.booleans(), min_size=6, max_size=6),
    st.integers(1, 3),
    st.booleans(),
)
def test_the_most_frequent_terms_come_first_in_their_attribute(held, open_, k, each):
    kind = {c: "first" if c < "m" else "second" for c in "abcxyz"}
    terms = [tuple(Term(kind[c], c) for c in row) for row in held]
    local = Incidence.from_terms(map(str, range(len(held))), terms)
    mask = np.array(open_[: len(held)])
    count = Counter(t for row, o in zip(terms, mask, strict=True) if o for t in row)
    groups = [["first"], ["second"]] if each else [["first", "second"]]
    wanted = set()
    for names in groups:
        mine = [t for t in local.terms if t.attribute in names]
        wanted |= set(sorted(mine, key=lambda t: -count[t])[:k])
    found = most_frequent(local, mask, k, each=each)
    chosen = {t for t, f in zip(local.terms, found, strict=True) if f}
    assert chosen == {t for t in wanted if count[t]}
    names = sorted({t.attribute for t in local.terms})
    assert attribute_of(local).tolist() == [
        names.index(t.attribute) for t in local.terms
    ]


# offers


@pytest.mark.parametrize(
    ("reading", "pages", "share", "blocks", "reach"),
    [
        ("all", [1, 1, 2, 5], [1, 1, 1, 0.5], [1, 1, 1, 1], [1, 1, 1, 0.5]),
        ("first", [1] * 4, [1, 1, 10 / 15, 0.1], [1] * 4, [1, 1, 10 / 15, 0.1]),
        ("some", [1] * 4, [1, 1, 10 / 15, 0.1], [1, 1, 2, 5], [1, 1, 1, 0.5]),
    ],
)
def test_offers_are_pages_of_ten_up_to_a_cap_of_fifty(
    reading, pages, share, blocks, reach
):
    hits = np.array([0.0, 10.0, 15.0, 100.0])
    found = offers(hits, page_size=10, cap=50, reading=reading)
    assert found.pages.tolist() == pages
    assert found.share == pytest.approx(share)
    assert found.blocks.tolist() == blocks
    assert found.reach == pytest.approx(reach)
    assert found.cost.tolist() == pages
    by_hits = offers(hits, page_size=10, cap=50, reading=reading, by="hits")
    assert by_hits.cost.tolist() == [1.0, 10.0, 15.0, 100.0]
    assert found.seen(1) == pytest.approx(np.minimum(reach, share))
    assert found.seen(3) == pytest.approx(
        [min(r, 3 * s) for r, s in zip(reach, share, strict=True)]
    )


@settings(max_examples=40)
@given(worlds(), st.sampled_from(["all", "first", "some"]), st.data())
def test_what_is_read_refreshes_by_what_was_seen_of_each_query(world, reading, data):
    pool, value, hits = world
    offered = offers(hits, page_size=3, cap=12, reading=reading)
    number = st.integers(0, len(pool) - 1)
    steps = data.draw(st.lists(number, max_size=6))
    found = read(pool, value, offered, np.array(steps, dtype=np.intp))
    times = Counter(steps)
    order = list(dict.fromkeys(steps))
    assert found.queries.tolist() == order
    assert found.pages.tolist() == [offered.pages[j] * times[j] for j in order]
    assert found.requests == sum(offered.pages[j] * n for j, n in times.items())
    for row in range(len(pool.local)):
        mine = [j for j in order if row in pool.matches.of(j)]
        seen = [min(offered.reach[j], offered.share[j] * times[j]) for j in mine]
        assert found.chance[row] == pytest.approx(1 - math.prod(1 - s for s in seen))
        assert found.alike[row] == pytest.approx(max(seen, default=0.0))
    assert found.value == pytest.approx((value * found.chance).sum())
    assert found.covered == pytest.approx(found.chance.sum())


def plain_choice(pool, value, offered, limits, begin=()):
    """Return the greedy choice, every candidate scored anew each time."""
    open_ = units_of(np.where(pool.reachable, value, 0.0))
    enough = sum(open_) * (1.0 - limits.cover)
    times, taken, spent = [0] * len(pool), [], 0

    def chance(j):
        if times[j] >= offered.blocks[j]:
            return 0.0
        seen = [min(offered.reach[j], n * offered.share[j])
                for n in (times[j], times[j] + 1)]  # fmt: skip
        return (seen[1] - seen[0]) / (1 - seen[0])

    def take(j):
        left = 1.0 - chance(j)
        for row in pool.matches.of(j).tolist():
            open_[row] = round(open_[row] * left) if left > 0 else 0
        times[j] += 1
        taken.append(j)
        return offered.pages[j]

    for j in begin:
        spent += take(j)
    shut = set()
    while sum(open_) > enough and len(taken) < limits.queries:
        score = {
            j: sum(open_[r] for r in pool.matches.of(j)) * chance(j) / offered.cost[j]
            for j in range(len(pool))
            if j not in shut
        }
        best = max(score, key=lambda j: (score[j], -j), default=None)
        if best is None or score[best] <= 0:
            break
        if spent + offered.pages[best] > limits.requests:
            shut.add(best)
        else:
            spent += take(best)
    return taken


@settings(max_examples=60)
@given(
    worlds(),
    st.sampled_from(["all", "some"]),
    st.sampled_from([math.inf, 0, 1, 2, 3, 5]),
    st.sampled_from([math.inf, 1, 2]),
    st.sampled_from([1.0, 0.5, 0.8]),
    st.sampled_from([(), (0,), (1, 0)]),
)
def test_the_choice_keeps_every_limit_as_scoring_all_anew_does(
    world, reading, requests, queries, cover, begin
):
    pool, value, hits = world
    begin = tuple(j for j in begin if j < len(pool))
    offered = offers(hits, page_size=4, reading=reading)
    limits = GreedyLimits(requests, queries, cover)
    steps = plain_choice(pool, value, offered, limits, begin)
    wanted = read(pool, value, offered, np.array(steps, dtype=np.intp))
    found = choose(pool, value, offered, limits, begin=begin)
    assert found.queries.tolist() == wanted.queries.tolist()
    assert found.pages.tolist() == wanted.pages.tolist()
    assert found.value == pytest.approx(wanted.value)


def test_what_refreshes_nothing_of_worth_is_not_asked_even_if_it_fits():
    pool = pool_of(relation([{0}, {1}]), together=1, lookup=False)
    offered = offers(np.array([1.0, 100.0]), page_size=4)
    found = choose(pool, np.array([0.0, 5.0]), offered, GreedyLimits(1, 9, 1.0))
    assert found.queries.size == 0
    rich = choose(pool, np.array([0.0, 5.0]), offered, GreedyLimits(99, 9, 1.0))
    assert rich.queries.tolist() == [1]


@settings(max_examples=30)
@given(worlds(lookup=False), st.integers(0, 5), st.integers(0, 2))
def test_a_knapsack_is_the_best_of_all_its_beginnings(world, requests, depth):
    pool, value, hits = world
    pool = pool.only(np.arange(len(pool)) < 7)
    offered = offers(hits[:7], page_size=4)
    limits = GreedyLimits(requests=requests)
    fits = [j for j in range(len(pool)) if offered.pages[j] <= requests]
    begins = [c for size in range(1, depth + 1) for c in combinations(fits, size)]
    if not depth and fits:
        alone = {j: value[pool.matches.of(j)].sum() * offered.reach[j] for j in fits}
        begins = [(max(fits, key=lambda j: (alone[j], -j)),)]
    found_begins = list(_begins(pool, value, offered, np.array(fits, int), depth))
    assert found_begins == begins
    tried = [choose(pool, value, offered, limits)]
    tried += [
        choose(pool, value, offered, limits, begin=begin)
        for begin in begins
        if sum(offered.pages[j] for j in begin) <= requests
    ]
    found = knapsack(pool, value, offered, requests, depth=depth)
    assert found.value == max(each.value for each in tried)
    assert found.requests <= requests


def test_a_state_forgets_what_was_shown():
    pool = pool_of(relation([{0}, {0, 1}, {1}]), together=1)
    offered = offers(np.array([8.0, 4.0]), page_size=2, reading="some")
    state = _State(pool, np.array([4.0, 2.0, 1.0]), offered)
    unit = state.open[2]
    assert state.open == [4 * unit, 2 * unit, unit]
    assert state.sums == [6 * unit, 3 * unit]
    assert state.score(0) == pytest.approx(6 * unit / 4)
    assert state.score(1) == pytest.approx(3 * unit / 2)
    state.take(1)
    assert state.open == [4 * unit, unit, unit // 2]
    assert state.sums == [5 * unit, unit + unit // 2]
    assert (state.spent, state.read, state.left) == (1, [0, 1], sum(state.open))
    state.take(1)  # half of what is left is on the last page: all of it
    assert state.open == [4 * unit, 0, 0]
    assert state.chance(1) == 0.0


@pytest.mark.parametrize(("cover", "size"), [(1.0, 3), (0.875, 3), (0.75, 2), (0.5, 1)])
def test_keyword_choices_end_when_enough_is_covered(cover, size):
    pool = pool_of(relation([{0}] * 5 + [{1}] * 3 + [{2}] * 2), together=1)
    hits = np.ones(3)
    for k in (None, 3):
        found = greedy_probes(
            pool, np.ones(10), hits, k=k, limits=GreedyLimits(cover=cover)
        )
        assert found.tolist() == [0, 1, 2][:size]
    for k in (None, 3):
        two = greedy_probes(
            pool, np.ones(10), hits, k=k, limits=GreedyLimits(queries=2)
        )
        assert two.tolist() == [0, 1]


# the best choice


def test_numbers_are_mixed_as_splitmix64_mixes_them():
    # the first outputs of the generator that is seeded with 0
    wanted = [
        0xE220A8397B1DCDAF,
        0x6E789E6AA1B965F4,
        0x06C45D188009454F,
        0xF88BB8A8724C81EC,
        0x1B39896A51A8749B,
    ]
    assert _mixed(np.arange(5)).tolist() == wanted


@settings(max_examples=50)
@given(worlds(), st.integers(1, 4), st.sampled_from([None, 6]))
def test_of_candidates_with_the_same_matches_the_cheapest_sure_one_is_needed(
    world, page_size, cap
):
    pool, _, hits = world
    offered = offers(hits, page_size=page_size, cap=cap)
    best = {}
    for j in range(len(pool)):
        if offered.reach[j] >= 1.0:
            mine = tuple(pool.matches.of(j).tolist())
            if mine not in best or offered.pages[j] < offered.pages[best[mine]]:
                best[mine] = j
    assert np.flatnonzero(_needed(pool, offered)).tolist() == sorted(best.values())


def test_a_sure_query_is_kept_beside_one_that_costs_as_much_and_is_cut_off():
    pool = pool_of(relation([{0, 1}, {0, 1}]), together=1)
    offered = offers(np.array([500.0, 95.0]), page_size=10, cap=100)
    assert offered.pages.tolist() == [10, 10]
    assert _needed(pool, offered).tolist() == [False, True]
    found = full_cover(pool, offered)
    assert (found.queries.tolist(), found.value) == ([1], 2.0)


@settings(max_examples=40)
@given(worlds(), st.data())
def test_what_a_record_cost_is_shared_by_those_that_one_query_covers(world, data):
    pool, _, hits = world
    offered = offers(hits, page_size=3)
    number = st.integers(0, len(pool) - 1)
    chosen = sorted(data.draw(st.sets(number, max_size=4)))
    times = Counter(r for j in chosen for r in pool.matches.of(j).tolist())
    wanted = np.zeros(len(pool.local))
    for j in chosen:
        alone = [r for r in pool.matches.of(j).tolist() if times[r] == 1]
        for row in alone:
            wanted[row] = offered.pages[j] / len(alone)
    found = _paid(pool, offered, np.array(chosen, dtype=np.intp))
    assert found.tolist() == pytest.approx(wanted.tolist())
    # the dearest that the others cover as well goes first
    left, kept = dict(times), list(chosen)
    for j in sorted(chosen, key=lambda j: -offered.pages[j]):
        mine = pool.matches.of(j).tolist()
        if all(left[row] > 1 for row in mine):
            kept.remove(j)
            for row in mine:
                left[row] -= 1
    assert pruned(pool, offered, np.array(chosen, dtype=np.intp)).tolist() == kept


def program(cost, cover, whole=None):
    """Return a program that covers rows with columns."""
    from scipy.sparse import csr_matrix  # noqa: PLC0415

    rows_ = -csr_matrix(np.array(cover, dtype=float))
    costs = np.array(cost, dtype=float)
    least = -np.ones(rows_.shape[0])
    return _Program(costs, rows_, least, costs.size if whole is None else whole)


TRIANGLE = [[1, 1, 0], [0, 1, 1], [1, 0, 1]]  # two of three columns; relaxed 1.5


def test_a_program_beats_what_is_known_or_proves_it():
    triangle = program([1, 1, 1], TRIANGLE)
    better = triangle.beat(3.0, 1.0, 60.0, 0.0)
    assert (better.status, np.count_nonzero(better.x > 0.5)) == ("optimal", 2)
    assert better.bound == pytest.approx(2.0)
    known = triangle.beat(2.0, 1.0, 60.0, 0.0)
    assert (known.x, known.bound, known.status) == (None, 2.0, "optimal")
    # a step of half is not enough to beat 2, for the relaxation is 1.5
    small = triangle.beat(2.0, 0.5, 60.0, 0.0)
    assert (small.x, small.status) == (None, "optimal")
    assert small.bound == pytest.approx(2.0)
    single = program([1, 2, 1], [[1, 1, 0], [0, 1, 1]])
    easy = single.beat(3.0, 1.0, 60.0, 0.0)
    assert (easy.status, easy.bound) == ("optimal", pytest.approx(2.0))
    assert easy.x is not None


def test_a_search_tells_what_it_could_not_beat():
    triangle = program([1, 1, 1], TRIANGLE)
    every = np.ones(3, dtype=bool)
    found = triangle._searched(every, 3.0, 60.0, 0.0)
    assert (found.status, found.bound) == ("optimal", pytest.approx(2.0))
    assert found.x.sum() == pytest.approx(2.0)
    none = triangle._searched(every, 2.0, 60.0, 0.0)
    assert (none.x, none.status, none.bound) == (None, "optimal", pytest.approx(2.0))
    # without one of the columns there is only one cover, without two there is none
    two = triangle._searched(np.array([True, True, False]), 3.0, 60.0, 0.0)
    assert two.x.tolist() == pytest.approx([1.0, 1.0, 0.0])
    lone = triangle._searched(np.array([True, False, False]), 3.0, 60.0, 0.0)
    assert (lone.x, lone.bound, lone.status) == (None, 3.0, "optimal")
    late = triangle._searched(every, 3.0, 0.0, 0.0)
    assert late.status in {"greedy", "limit"}
    assert late.bound <= 3.0


def test_the_best_within_a_budget_is_told_with_its_bound_and_gap():
    pool = pool_of(relation([{0}, {0}, {1}, {2}]), together=1)
    offered = offers(np.array([2.0, 12.0, 25.0]), page_size=10)
    value = np.array([1.0, 2.0, 5.0, 9.0])
    for requests, queries, won in (
        (0, [], 0.0),
        (1, [0], 3.0),
        (2, [1], 5.0),
        (3, [2], 9.0),
        (4, [0, 2], 12.0),
        (6, [0, 1, 2], 17.0),
    ):
        found = within_budget(pool, value, offered, requests)
        assert sorted(found.queries.tolist()) == queries
        assert found.value == pytest.approx(won)
        assert found.cost == offered.pages[queries].sum()
        assert found.bound == pytest.approx(won, abs=1e-4)
        assert found.gap == pytest.approx(0.0, abs=1e-4)


def test_a_full_cover_tells_cost_bound_and_gap():
    pool = pool_of(relation([{0, 1}, {1, 2}, {0, 2}]), together=1)
    offered = offers(np.array([2.0, 2.0, 25.0]), page_size=10)
    found = full_cover(pool, offered)
    assert sorted(found.queries.tolist()) == [0, 1]
    assert (found.cost, found.bound, found.gap, found.value) == (2, 2.0, 0.0, 3.0)


def test_a_search_that_may_stop_early_tells_how_far_it_may_be_from_the_best():
    # The lines of the projective space over two elements: 15 points are to meet 35
    # lines. A plane does, with seven, and a relaxed choice takes five.
    lines = sorted(
        {tuple(sorted((a, b, a ^ b))) for a in range(1, 16) for b in range(1, a)}
    )
    terms = [tuple(Term("point", f"{p:02}") for p in line) for line in lines]
    pool = pool_of(Incidence.from_terms(map(str, lines), terms), together=1)
    offered = offers(np.ones(15), page_size=1)
    early = full_cover(pool, offered, gap=0.99, tries=1)
    assert 5.0 <= early.bound < early.cost
    assert early.gap == pytest.approx((early.cost - early.bound) / early.cost)
    whole = full_cover(pool, offered)
    assert (whole.cost, whole.bound, whole.gap) == (7, 7.0, 0.0)


@settings(max_examples=30)
@given(worlds())
def test_of_covers_that_cost_the_same_the_first_is_kept(world):
    pool, _, hits = world
    offered = offers(hits, page_size=3)
    first, later = (repriced(pool, offered, tries=tries) for tries in (1, 4))
    costs = [offered.pages[found].sum() for found in (first, later)]
    assert costs[1] <= costs[0]
    if costs[0] == costs[1]:
        assert first.tolist() == later.tolist()


def test_prices_follow_what_records_cost():
    # One word covers all for four pages; greedy takes the cheap ones first.
    pool = pool_of(relation([{0, 1}, {0, 2}, {0, 3}]), together=1)
    offered = offers(np.array([4.0, 1.0, 1.0, 2.0]), page_size=1)
    assert repriced(pool, offered, tries=1).tolist() == [1, 2, 3]
    assert sum(offered.pages[repriced(pool, offered)]) == 4
    assert repriced(pool, offered, tries=0).tolist() == []
