"""Rules that keep known tuples fresh, and what they learn, against plain loops."""

import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.stats import norm

from halflife.core.errors import UsageError
from halflife.core.forms import Attribute, Interface, Query, Term
from halflife.queries.known.content import (
    ChangeProbability,
    MissedUpdates,
    SteadyCounter,
    SummedAges,
    expected_staleness,
    measure,
    number,
    staleness,
    weigher,
)
from halflife.queries.known.copies import Copy
from halflife.queries.known.frequency import disjoint_frequencies, frequencies
from halflife.queries.known.gains import Gains
from halflife.queries.known.keywords import pool_of
from halflife.queries.known.pace import VersionPace
from halflife.queries.known.refresh import Probe, Refresher
from halflife.queries.known.rules import (
    GreedyRounds,
    KnownEstimates,
    KnownIndex,
    KnownOracle,
    LookupIndex,
    Naive,
    QueryPace,
    Timetable,
    _own,
)
from halflife.queries.known_rounds import KnownPlan, refresh
from halflife.queries.ledger import Ledger
from halflife.queries.policies import INDEX
from halflife.queries.table_form import TableForm
from probe_worlds import relation
from refreshers import refresher
from summed_ages import summed_ages

RNG = np.random.default_rng


def turn(worker, copy, ledger, now, rng, truth=None):
    """Refresh known records as a live form would."""
    return refresh(KnownPlan(INDEX, copy, now, truth), worker, ledger, rng)


def standing(rows, *, lookup=True, **more):
    """Return what is believed of tuples with these words, of one page a query."""
    pool = pool_of(relation(rows), together=1, lookup=lookup)
    n = len(rows)
    plain = {
        "now": 1.0,
        "budget": 99.0,
        "gains": Gains(pool),
        "weight": np.ones(n),
        "age": np.ones(n),
        "rate": np.ones(n),
        "learned": np.ones(n, dtype=bool),
        "stale": np.ones(n),
        "worth": np.ones(n),
        "hits": np.maximum(pool.held, 1.0),
        "open": np.ones(len(pool), dtype=bool),
        "page_size": 10,
    }
    return KnownEstimates(**{**plain, **more})


def keys(at, choices):
    return [at.gains.pool.key(choice.number) for choice in choices]


# look-ups


def test_tuples_are_looked_up_in_turn_unless_they_are_known_to_be_fast():
    at = standing(
        [{0}] * 7,
        age=np.array([1.0, 5.0, 0.0, 3.0, 5.0, 2.0, 9.0]),
        rate=np.array([0.2, 1.0, 0.1, 0.9, 0.5, 7.0, 0.1]),
        learned=np.array([1, 1, 1, 1, 1, 0, 1]) > 0,
        weight=np.array([1.0, 1.0, 1.0, 2.0, 1.0, 1.0, 0.0]),
        stale=np.array([0.2, 5.0, 0.0, 2.7, 2.5, 14.0, 1.0]),
    )
    found = Naive(below=1.0)(at, RNG(0))
    assert keys(at, found) == ["r4", "r3", "r5", "r0"]
    assert [choice.gain for choice in found] == pytest.approx([2.5, 5.4, 14.0, 0.2])
    assert {(choice.pages, choice.why) for choice in found} == {(1, "its turn")}
    everyone = Naive()(at, RNG(0))
    assert keys(at, everyone) == ["r1", "r4", "r3", "r5", "r0"]


@pytest.mark.parametrize(("budget", "size"), [(0.0, 0), (1.0, 1), (2.9, 2), (9.0, 3)])
def test_as_many_look_ups_are_planned_as_there_are_requests(budget, size):
    worth = np.array([1.0, 4.0, 0.0, 2.0])
    at = standing(
        [{0}] * 4, worth=worth, weight=np.array([3, 1, 1, 1.0]), budget=budget
    )
    found = LookupIndex()(at, RNG(0))
    assert keys(at, found) == ["r1", "r0", "r3"][:size]
    assert all(choice.why == "buys most" for choice in found)
    blind = standing([{0}] * 4, lookup=False)
    assert LookupIndex()(blind, RNG(0)) == []
    assert Naive()(blind, RNG(0)) == []


def test_what_was_asked_in_this_turn_has_no_price():
    at = standing([{0}, {0, 1}], lookup=False, hits=np.array([25.0, 300.0]), cap=100,
                  open=np.array([True, True]))  # fmt: skip
    cost, share = at.costs()
    assert cost.tolist() == [3.0, 10.0]
    assert share == pytest.approx([1.0, 1 / 3])
    closed = standing([{0}, {0, 1}], lookup=False, open=np.array([False, True]))
    assert closed.costs()[0].tolist() == [math.inf, 1.0]


# what buys most


def picked(at, value):
    """Return the best candidates by trying all of them each time."""
    cost, share = at.costs()
    left, chosen, budget = dict(enumerate(value.tolist())), [], at.budget
    while budget > 0:
        gains = [
            sum(left[row] for row in at.gains.pool.matches.of(j).tolist()) * share[j]
            for j in range(len(at.gains.pool))
        ]
        best = max(range(len(gains)), key=lambda j: gains[j] / cost[j])
        if gains[best] / cost[best] <= 0:
            break
        chosen.append((best, gains[best]))
        for row in at.gains.pool.matches.of(best).tolist():
            left[row] = 0.0
        budget -= cost[best]
    return chosen


@settings(max_examples=60)
@given(
    st.lists(st.sets(st.integers(0, 3), min_size=1), min_size=1, max_size=6),
    st.lists(st.sampled_from([0.0, 1.0, 2.5, 4.25]), min_size=6, max_size=6),
    st.lists(st.integers(1, 80), min_size=14, max_size=14),
    st.sampled_from([1.0, 2.0, 4.5, 99.0]),
    st.sampled_from([None, 15]),
)
def test_the_index_asks_what_brings_most_worth_for_a_request(
    rows, worth, hits, budget, cap
):
    n = len(rows)
    at = standing(rows, worth=np.array(worth[:n]), budget=budget, cap=cap)
    served = np.where(
        at.lookup, 1.0, np.maximum(at.gains.pool.held, hits[: len(at.open)])
    )
    at = standing(rows, worth=np.array(worth[:n]), budget=budget, cap=cap, hits=served,
                  weight=np.arange(1.0, n + 1.0))  # fmt: skip
    wanted = picked(at, at.weight * at.worth)
    found = KnownIndex()(at, RNG(0))
    assert [choice.number for choice in found] == [j for j, _ in wanted]
    assert [choice.gain for choice in found] == pytest.approx([g for _, g in wanted])
    for choice in found:
        held = at.gains.pool.held[choice.number]
        assert choice.why == f"buys most; {held} known tuples"
        assert choice.pages == at.costs()[0][choice.number]


def test_the_oracle_asks_what_is_most_stale():
    at = standing([{0}, {1}, {1}], lookup=False, truth=np.array([5.0, 1.0, 2.0]),
                  weight=np.array([1.0, 1.0, 3.0]))  # fmt: skip
    found = KnownOracle()(at, RNG(0))
    assert [(c.number, c.gain, c.why) for c in found] == [
        (1, 7.0, "is most stale; 2 known tuples"),
        (0, 5.0, "is most stale; 1 known tuples"),
    ]


# rounds


def test_a_tuple_belongs_to_the_first_of_the_queries_that_bring_it():
    at = standing(
        [{0}, {0, 1}, {1, 2}, {2}, {3}],
        lookup=False,
        weight=np.array([1.0, 2.0, 3.0, 4.0, 5.0]),
        rate=np.array([2.0, 4.0, 6.0, 8.0, 1.0]),
        stale=np.array([0.5, 0.25, 2.0, 1.0, 1.0]),
    )
    gain, a = _own(at, np.array([1, 0, 2]))
    assert gain == pytest.approx([0.5 + 6.0, 0.5, 4.0])
    assert a == pytest.approx([4.0 + 9.0, 1.0, 16.0])
    assert [x.tolist() for x in _own(at, np.zeros(0, np.intp))] == [[], []]


def test_a_round_covers_every_tuple_that_counts_in_ascending_order():
    rows = [{0}, {0}, {1}, {2}, {3}]
    at = standing(
        rows,
        weight=np.array([9.0, 1.0, 1.0, 2.0, 0.0]),
        stale=np.array([1.0, 1.0, 3.0, 0.0, 7.0]),  # the fourth was seen just now
        rate=np.array([1.0, 1.0, 0.5, 2.0, 1.0]),
        hits=np.array([2.0, 25.0, 3.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]),
    )
    found = GreedyRounds()(at, RNG(0))
    assert [choice.number for choice in found] == [1, 2, 0]  # a: 0.25, 2, 5
    assert [choice.gain for choice in found] == pytest.approx([3.0, 0.0, 10.0])
    assert [choice.pages for choice in found] == [3, 1, 1]
    assert {(c.why, c.firm, c.most) for c in found} == {
        ("its turn in the round", True, None)
    }
    first = GreedyRounds(reading="first")(at, RNG(0))
    assert {choice.most for choice in first} == {1}
    assert {choice.pages for choice in first} == {1}


def test_look_ups_take_part_only_if_requests_are_what_is_paid():
    rows = [{0}, {1}]
    hits = np.array([90.0, 90.0, 1.0, 1.0])
    at = standing(rows, hits=hits)
    assert sorted(c.number for c in GreedyRounds()(at, RNG(0))) == [0, 1]
    assert sorted(c.number for c in GreedyRounds(by_hits=False)(at, RNG(0))) == [2, 3]
    shut = standing(rows, hits=hits, open=np.array([True, True, False, True]))
    assert sorted(c.number for c in GreedyRounds(by_hits=False)(shut, RNG(0))) == [0, 3]
    # by hits a query with few is better, by requests one that fills its pages
    many = standing([{0, 1}, {0, 2}, {0, 3}], hits=np.array([20.0] + [1.0] * 6),
                    page_size=20, lookup=True)  # fmt: skip
    assert len(GreedyRounds()(many, RNG(0))) == 3
    assert [c.number for c in GreedyRounds(by_hits=False)(many, RNG(0))] == [0]


def test_nothing_is_sent_if_nothing_is_stale_or_open():
    assert GreedyRounds()(standing([{0}], stale=np.zeros(1)), RNG(0)) == []
    assert GreedyRounds()(standing([{0}], weight=np.zeros(1)), RNG(0)) == []
    assert GreedyRounds()(standing([{0}], open=np.zeros(2, dtype=bool)), RNG(0)) == []


def test_what_does_not_fit_in_a_turn_waits_for_the_next():
    rows = [{0}, {1}, {2}]
    shape = {
        "hits": np.array([15.0, 5.0, 25.0] + [1.0] * 3),
        "rate": np.array([1.0, 2.0, 3.0]),
    }
    rule = GreedyRounds()
    two = rule(standing(rows, budget=2.0, **shape), RNG(0))
    assert [choice.pages for choice in two] == [2]
    more = rule(standing(rows, budget=1.5, **shape), RNG(0))
    assert [choice.pages for choice in more] == [1, 3]
    again = rule(standing(rows, budget=99.0, **shape), RNG(0))
    assert [choice.pages for choice in again] == [2, 1, 3]
    assert rule(standing(rows, budget=0.0, **shape), RNG(0)) == []


# timetables


def timetable(at, times, budgets, seed):
    """Return what is due, turn by turn, for queries that share no tuple."""
    reach = np.minimum(at.hits, at.cap or np.inf)
    cost = np.ceil(reach / at.page_size)
    b = np.array([(at.weight * at.rate)[at.gains.pool.matches.of(j)].sum()
                  for j in range(len(cost))])  # fmt: skip
    dear = cost * at.hits / reach  # what is not shown must be asked for again
    share = (b / dear) ** (1 / (at.power + 1))
    rate = budgets[0] * share / (dear * share).sum()
    every = 1 / rate
    sent = times[0] - RNG(seed).random(cost.size) * every
    for turns, (now, budget) in enumerate(zip(times, budgets, strict=True), 1):
        if turns in {1, 2, 4, 8, 16}:
            rate = budget * share / (dear * share).sum()
            every = 1 / rate
            sent = np.maximum(sent, now - 2 * every)
        due = (now - sent) / every
        asked, left = [], budget
        for j in sorted(range(cost.size), key=lambda j: -due[j]):
            if left <= 0 or due[j] <= 0:
                break
            asked.append((j, f"due {due[j]:.1f} times"))
            # late by more than one turn is late by one
            sent[j] = min(now, max(sent[j] + every[j], now - every[j]))
            left -= cost[j]
        yield asked


@pytest.mark.parametrize("power", [1.0, 2.0])
@pytest.mark.parametrize(("budget", "cap"), [(1.0, None), (3.0, None), (3.0, 20)])
def test_queries_are_sent_when_they_are_due(power, budget, cap):
    rows = [{0}, {0}, {1}, {2}, {2}, {2}]
    shape = {
        "lookup": False,
        "power": power,
        "cap": cap,
        "hits": np.array([2.0, 31.0, 14.0]),
        "weight": np.array([1.0, 3.0, 40.0, 0.2, 0.2, 0.2]),
        "rate": np.array([1.0, 2.0, 1.5, 0.3, 0.5, 0.7]),
    }
    times = [1.0, 2.0, 2.5, 4.0, 9.0, 9.5, 10.0, 11.0, 30.0, 31.0, 32.0, 33.0]
    budgets = [budget] * 8 + [2 * budget] * 4
    wanted = list(timetable(standing(rows, **shape), times, budgets, 7))
    rule, found = Timetable(), []
    rng = RNG(7)
    for now, each in zip(times, budgets, strict=True):
        at = standing(rows, now=now, budget=each, **shape)
        asked = rule(at, rng)
        found.append([(choice.number, choice.why) for choice in asked])
        for choice in asked:
            mine = at.gains.pool.matches.of(choice.number)
            hits = at.hits[choice.number]
            shown = min(hits, cap or hits)
            gain = (at.weight * at.stale)[mine].sum() * shown / hits
            assert choice.gain == pytest.approx(gain)
            assert choice.pages == math.ceil(shown / 10)
    assert found == wanted
    assert sum(map(len, found)) > 6


def test_what_is_hardly_ever_worth_a_request_is_never_sent():
    rows = [{0}, {1}, {2}]
    weight = np.array([1.0, 1.1e-8, 0.9e-8])  # a root of 1e-8 is 1e-4
    rule = Timetable()
    at = standing(rows, lookup=False, weight=weight)
    rule(at, RNG(0))
    assert (rule._frequency > 0).tolist() == [True, True, False]


def test_what_was_asked_in_this_turn_is_not_due():
    at = standing([{0}, {1}], lookup=False, budget=1.0)
    rule = Timetable()
    (first,) = rule(at, RNG(1))
    shut = np.arange(2) != first.number
    again = rule(standing([{0}, {1}], lookup=False, budget=1.0, open=shut), RNG(1))
    assert [choice.number for choice in again] == [1 - first.number]
    assert rule._turns == 1


def test_what_was_asked_before_a_timetable_was_made_is_not_due_either():
    rows, shut = [{0}, {1}], np.array([False, True])
    at = standing(rows, lookup=False, budget=9.0, open=shut)
    found = Timetable()(at, RNG(1))
    assert [choice.number for choice in found] == [1]


# gains


def test_a_tuple_that_a_candidate_does_not_bring_is_dropped_from_it_alone():
    pool = pool_of(relation([{0}, {0, 1}, {1}]), together=1, lookup=True)
    gains, value = Gains(pool), np.array([1.0, 2.0, 4.0])
    assert gains.sums(value).tolist() == [3.0, 6.0, 1.0, 2.0, 4.0]
    assert gains.shares(np.arange(1.0, 6.0)).tolist() == [4.0, 7.0, 7.0]
    gains.drop(1, np.array([0, 1]))
    assert gains.tuples_of(1).tolist() == [2]
    assert gains.tuples_of(0).tolist() == [0, 1]
    assert gains.sums(value).tolist() == [3.0, 4.0, 1.0, 2.0, 4.0]
    assert gains.shares(np.arange(1.0, 6.0)).tolist() == [4.0, 5.0, 7.0]
    sums = gains.sums(value)
    gains.subtract(sums, np.array([1, 2]), value)
    assert sums.tolist() == [1.0, 0.0, 1.0, 0.0, 0.0]
    assert len(gains) == 5


def test_picking_ends_with_the_budget_or_when_all_is_covered():
    pool = pool_of(relation([{0}, {1}, {2}]), together=1)
    gains, value = Gains(pool), np.array([4.0, 2.0, 1.0])
    cost = np.array([1.0, 1.0, 2.0])
    for budget, size in ((0.0, 0), (0.5, 1), (1.0, 1), (1.5, 2), (2.0, 2), (9.0, 3)):
        found = gains.pick(value, cost, budget)
        assert found == [(0, 4.0), (1, 2.0), (2, 1.0)][:size]
    shared = gains.pick(value, cost, 9.0, share=np.array([0.25, 1.0, 1.0]))
    assert shared == [(1, 2.0), (0, 1.0), (2, 1.0)]
    shut = gains.pick(value, np.array([np.inf, 1.0, 2.0]), 9.0)
    assert [j for j, _ in shut] == [1, 2]
    assert gains.pick(np.zeros(3), cost, 9.0) == []
    assert (
        Gains(pool_of(relation([]), together=1)).pick(np.zeros(0), np.zeros(0), 9) == []
    )


# frequencies


def test_what_nothing_moves_is_never_sent():
    assert disjoint_frequencies(np.zeros(2), np.ones(2), 3.0).tolist() == [0.0, 0.0]
    # 4 is twice as often as 1 for drifts, and twice of half the cost is one again
    found = disjoint_frequencies(np.array([1.0, 4.0]), np.ones(2), 6.0, power=1.0)
    assert found == pytest.approx([2.0, 4.0])
    found = disjoint_frequencies(np.array([1.0, 2.0]), np.array([1.0, 2.0]), 6.0)
    assert found == pytest.approx([2.0, 2.0])


def test_the_value_and_gap_of_frequencies_are_those_of_the_last_round():
    gains = Gains(pool_of(relation([{0, 1}, {1}, {0}]), together=1))
    b, cost = np.array([3.0, 1.0, 2.0]), np.array([1.0, 2.0])
    for power in (1.0, 2.0):
        found = frequencies(gains, b, cost, 5.0, power=power, rounds=200)
        f = found.frequency
        each = np.array([f[0] + f[1], f[1], f[0]])
        assert (cost * f).sum() == pytest.approx(5.0)
        assert found.value == pytest.approx((b / each**power).sum(), rel=1e-3)
        slope = power * b / each ** (power + 1)
        price = np.array([slope[0] + slope[2], slope[0] + slope[1]]) / cost
        gap = (5.0 * price.max() - power * found.value) / found.value
        assert found.gap < 1e-4
        assert gap == pytest.approx(found.gap, abs=1e-3)
        # no other division of the budget is better
        for part in np.linspace(0.02, 0.98, 97):
            other = np.array([5.0 * part, 5.0 * (1 - part) / 2.0])
            each = np.array([other[0] + other[1], other[1], other[0]])
            assert (b / each**power).sum() >= found.value * (1 - 2e-4)


# staleness


def test_growth_is_what_its_definition_says():
    t = np.array([2.0])
    assert SteadyCounter(np.array([4.0])).mean(t) == [0.5]
    assert SteadyCounter(np.array([4.0])).worth(t) == [0.5]
    assert SteadyCounter(np.array([4.0])).variance(t).tolist() == [0.0]
    counted = MissedUpdates(np.array([3.0]), 0.5, 7.0)
    assert counted.variance(t) == [7.0 * 3.0 * 2.0 + 0.5 * 4.0]
    assert counted.worth(t) == [6.0]
    ages = SummedAges(np.array([3.0]), 0.5)
    assert ages.mean(t) == [6.0]
    assert ages.variance(t) == [3.0 * 8.0 / 3.0 + 0.5 * 16.0 / 4.0]
    assert ages.worth(t) == [8.0]


def test_a_change_or_none_is_a_coin():
    class Half:
        def alive(self, t):
            return np.full(t.shape, 0.25)

    changed = ChangeProbability(Half())
    assert changed.mean(np.ones(2)).tolist() == [0.75, 0.75]
    assert changed.variance(np.ones(2)).tolist() == [0.1875, 0.1875]


def test_updates_count_from_the_last_look_on_up_to_the_moment():
    updates = [1.0, 2.0, 3.0]
    assert summed_ages(updates, 1.0, 3.0) == 1.0  # at 1 it was seen, at 3 it is new
    assert summed_ages(updates, 0.5, 2.5) == 2.0
    assert summed_ages(updates, 0.0, 0.5) == 0.0


@pytest.mark.parametrize("confidence", [0.5, 0.95])
def test_bounds_of_staleness_are_those_of_a_normal_sum(confidence):
    rate, t = np.array([3.0, 1.0, 2.0]), np.array([1.0, 4.0, 2.0])
    weight = np.array([1.0, 2.0, 0.5])
    found = expected_staleness(MissedUpdates(rate), t, weight, confidence=confidence)
    mean = (3.0 + 8.0 + 2.0) / 3.0
    spread = math.sqrt(1.0 * 3.0 + 4.0 * 4.0 + 0.25 * 4.0) / 3.0
    far = norm.ppf(0.5 + confidence / 2.0) * spread
    assert found == pytest.approx((mean, max(mean - far, 0.0), mean + far))
    wide = expected_staleness(MissedUpdates(rate / 100), t, weight, confidence=0.999)
    assert wide.low == 0.0
    assert staleness([1.0, 3.0], [1.0, 2.0]) == 3.5


@pytest.mark.parametrize(
    ("said", "held", "there", "wanted"),
    [
        ("stars", {"stars": 7}, {"stars": 3}, 4.0),
        ("stars", {"stars": None}, {"stars": 3}, 3.0),
        ("relative:stars", {"stars": 4}, {"stars": 1}, 0.75),
        ("relative:stars", {"stars": -4}, {"stars": 4}, 2.0),
        ("relative:stars", {"stars": 0}, {"stars": 0}, 0.0),
        ("relative:stars,n", {"stars": 4, "n": 1}, {"stars": 1, "n": 2}, 1.25),
        ("changed", {"a": 1}, {"a": 1}, 0.0),
        ("changed", {"a": 1}, {"a": 2}, 1.0),
        ("changed:a,b", {"a": 1, "b": 1, "c": 1}, {"a": 1, "b": 2, "c": 1}, 1.0),
        ("changed:a,b", {"a": 1, "b": 1, "c": 1}, {"a": 1, "b": 1, "c": 2}, 0.0),
        ("words:a", {"a": "red car"}, {"a": "red bus"}, 2 / 3),
        ("words:a", {"a": None}, {"a": ""}, 0.0),
        ("words:a,b", {"a": "red", "b": "old"}, {"a": "red", "b": "new"}, 2 / 3),
    ],
)
def test_versions_differ_by_as_much_as_is_said(said, held, there, wanted):
    found = measure(said)
    assert found.differ(held, there) == pytest.approx(wanted)
    assert found.differ(there, held) == pytest.approx(wanted)
    assert found.kind == ("changed" if said.startswith("changed") else "amount")
    assert found.how == (said.partition(":")[0] if said != "stars" else "absolute")
    names = said.partition(":")[2] or ("stars" if said == "stars" else "")
    assert found.columns == tuple(name for name in names.split(",") if name)


def test_what_is_no_finite_number_counts_for_nothing():
    assert [number(x) for x in ("inf", "nan", "-3", 2, "x", None)] == [
        0.0, 0.0, -3.0, 2.0, 0.0, 0.0
    ]  # fmt: skip
    assert weigher("a")({"a": -3}) == 0.0
    assert weigher("a", ("a", "b"))({"a": 3}) == 3.0
    with pytest.raises(UsageError, match="there is no column 'c'; there is a, b"):
        weigher("c", ("a", "b"))
    with pytest.raises(UsageError, match="no column"):
        measure("relative:a,c", ("a", "b"))


# pace


def test_the_rate_is_learned_again_when_gaps_have_grown_by_a_quarter():
    pace = VersionPace(3, "ages")
    assert pace.rate().tolist() == [0.5, 0.5, 0.5]  # half an update a day
    assert not pace.learned.any()
    item, days = np.array([0, 1, 0, 1]), np.full(4, 2.0)
    pace.add(item, days, np.array([1.0, 0.0, 2.0, 5.0]))
    assert pace.learned.tolist() == [True, True, False]
    first = pace._prior
    assert pace._gaps == pace._learned_on == 4
    pace.add(np.array([2]), np.array([1.0]), np.array([9.0]))  # five are a quarter more
    assert pace._prior == first
    shape, exposure = first
    wanted = np.array([3.0, 5.0, 9.0]) + shape
    assert pace.rate() == pytest.approx(wanted / (np.array([4.0, 4.0, 1.0]) + exposure))
    pace.add(np.array([2]), np.array([1.0]), np.array([9.0]))
    assert pace._prior != first
    assert pace._learned_on == 6


def test_gaps_of_no_days_teach_nothing():
    for kind in ("ages", "amount", "changed"):
        pace = VersionPace(2, kind)
        before = pace.rate().tolist()
        pace.add(np.array([0, 1]), np.array([0.0, -1.0]), np.array([9.0, 9.0]))
        assert pace.rate().tolist() == before
        assert not pace.learned.any()
        assert pace._gaps == 0
        mixed = VersionPace(2, kind)
        mixed.add(np.array([0, 1]), np.array([0.0, 2.0]), np.array([9.0, 1.0]))
        assert mixed.learned.tolist() == [False, True]
        assert mixed._amount.tolist() == [0.0, 1.0]


def test_amounts_are_counted_in_usual_steps():
    pace = VersionPace(2, "amount")
    pace.add(np.array([0, 0, 1, 1]), np.ones(4), np.array([2.0, 0.0, 4.0, 6.0]))
    assert pace.step == 4.0  # the median of those that moved
    shape, exposure = pace._prior
    counts, days = np.array([0.5, 2.5]) + shape, 2.0 + exposure
    assert pace.rate() == pytest.approx(4.0 * counts / days)
    growth = pace.growth()
    assert growth.doubt == pytest.approx(16.0 * counts / days**2)
    assert growth.size == 4.0
    updates = VersionPace(2, "ages")
    updates.add(np.array([0, 1]), np.ones(2), np.array([2.0, 4.0]))
    assert updates.step == 1.0
    assert isinstance(updates.growth(), SummedAges)
    assert isinstance(VersionPace(2, "changed").growth(), ChangeProbability)


def test_whether_a_tuple_changed_is_left_to_the_model_of_changes():
    pace = VersionPace(2, "changed")
    for _ in range(6):
        pace.add(np.array([0, 1]), np.ones(2), np.array([3.0, 0.0]))
    many = VersionPace(2, "changed")
    for _ in range(6):
        many.add(np.array([0, 1]), np.ones(2), np.array([1.0, 0.0]))
    assert pace.rate().tolist() == many.rate().tolist()  # how much does not matter
    assert pace.rate()[0] > pace.rate()[1]
    assert pace.learned.all()


# a copy


def test_a_copy_remembers_who_was_doubted_and_found():
    held = {key: {"n": 1} for key in "abc"}
    copy = Copy(held, measure=measure("n"), now=1.0)
    assert len(copy) == 3
    copy.doubted[0] = copy.gone[1] = True
    assert copy.take({"b": {"n": 2}, "a": {"n": 1}, "z": {"n": 1}}, 3.0) == 2
    assert copy.strayed.tolist() == [True, False, False]
    assert not copy.doubted.any()
    assert not copy.gone.any()
    assert copy.taken == 2
    assert copy.seen.tolist() == [3.0, 3.0, 1.0]
    copy.doubted[2] = True
    copy.lose("c")
    assert (copy.gone[2], copy.doubted[2]) == (True, False)
    assert copy.age(2.0).tolist() == [0.0, 0.0, 1.0]
    pace = copy.growth()
    assert copy.pace._days.tolist() == [2.0, 2.0, 0.0]
    assert copy.pace._amount.tolist() == [0.0, 1.0, 0.0]
    assert copy.growth().mean(np.ones(3)).tolist() == pace.mean(np.ones(3)).tolist()
    assert copy.pace._days.tolist() == [2.0, 2.0, 0.0]  # nothing is learned twice


def test_the_staleness_of_a_copy_leaves_out_what_is_gone():
    held = {key: {"n": 1} for key in "abcd"}
    copy = Copy(held, measure=measure("n"), weight=lambda _: 2.0, now=0.0)
    copy.take({"a": {"n": 4}, "b": {"n": 2}}, 1.0)
    copy.lose("d")
    found = copy.staleness(3.0, confidence=0.5)
    growth, age = copy.growth(), np.array([2.0, 2.0, 3.0])
    mean, variance = (
        f(np.append(age, 3.0))[:3] for f in (growth.mean, growth.variance)
    )
    far = norm.ppf(0.75) * math.sqrt((4.0 * variance).sum()) / 3.0
    wanted = (2.0 * mean).mean()
    assert found == pytest.approx((wanted, max(wanted - far, 0.0), wanted + far))


# turns

CITY = Attribute("city", "select")


def form_of(sizes, **interface):
    records = {
        f"{city}{i}": {"city": city, "n": 1}
        for city, size in sizes.items()
        for i in range(size)
    }
    shape = Interface((CITY,), **{"page_size": 5, **interface})
    return TableForm(shape, records, rng=RNG(0))


def at_work(form, held, name="index", said="n"):
    copy = Copy(held, measure=measure(said), now=0.0)
    return refresher(copy, form.interface, name), copy


def probe_of(worker, city, *, pages=1, **more):
    query = Query.of(Term("city", city))
    return Probe(worker.pool.find(query), query, "", pages, 1.0, "", **more)


@pytest.mark.parametrize(
    ("hits", "firm", "asked"),
    [(25, False, 5), (26, False, 1), (26, True, 6), (60, False, 1)],
)
def test_a_query_more_than_twice_as_dear_and_one_page_is_broken_off(hits, firm, asked):
    form = form_of({"Oslo": hits})
    worker, copy = at_work(form, dict(list(form.records.items())[:8]))
    ledger = Ledger(form)
    probe = probe_of(worker, "Oslo", pages=2, firm=firm)  # five pages are 2 * 2 + 1
    refreshed = worker.carry_out(probe, copy, ledger, 3.0)
    assert ledger.requests == asked
    assert refreshed == copy.taken == np.count_nonzero(copy.seen == 3.0)
    assert worker.reported.total[probe.number] == hits
    broken = asked == 1
    assert (worker._read[probe.number] == 3.0) is not broken
    assert not copy.gone.any()


@pytest.mark.parametrize(
    ("cap", "lookup", "gone", "doubted"),
    [(None, False, 2, 0), (None, True, 0, 2), (6, True, 0, 2), (5, True, 0, 0)],
)
def test_a_tuple_that_a_whole_answer_lacks_is_doubted_or_gone(
    cap, lookup, gone, doubted
):
    form = form_of({"Oslo": 5}, cap=cap, lookup=lookup)
    more = {"x": {"city": "Oslo", "n": 1}, "y": {"city": "Oslo", "n": 1}}
    worker, copy = at_work(form, {**form.records, **more})
    probe = probe_of(worker, "Oslo")
    assert worker.carry_out(probe, copy, Ledger(form), 1.0) == 5
    assert (copy.gone.sum(), copy.doubted.sum()) == (gone, doubted)
    brought = worker.gains.tuples_of(probe.number).size
    assert brought == (7 if cap == 5 else 5)


def test_what_strayed_or_is_gone_already_is_not_doubted_again():
    form = form_of({"Oslo": 3}, lookup=True)
    more = {key: {"city": "Oslo", "n": 1} for key in "xyz"}
    worker, copy = at_work(form, {**form.records, **more})
    copy.strayed[copy.row["x"]] = copy.gone[copy.row["y"]] = True
    worker.carry_out(probe_of(worker, "Oslo"), copy, Ledger(form), 1.0)
    assert np.flatnonzero(copy.doubted).tolist() == [copy.row["z"]]
    assert worker.reported.total[0] == 3.0


def test_a_look_up_finds_a_tuple_or_loses_it():
    form = form_of({"Oslo": 2}, lookup=True)
    worker, copy = at_work(form, {**form.records, "x": {"city": "Oslo", "n": 1}})
    number = int(np.flatnonzero(worker.pool.lookup)[0])
    found = worker.carry_out(Probe(number, None, "Oslo0", 1, 1.0, ""), copy,
                             Ledger(form), 2.0)  # fmt: skip
    assert (found, copy.seen.tolist()) == (1, [2.0, 0.0, 0.0])
    lost = worker.carry_out(Probe(number, None, "x", 1, 1.0, ""), copy, Ledger(form), 2)
    assert (lost, copy.gone.tolist()) == (0, [False, False, True])


def test_a_page_limit_is_kept_and_says_nothing_of_the_rest():
    form = form_of({"Oslo": 12})
    worker, copy = at_work(form, form.records)
    ledger = Ledger(form)
    probe = probe_of(worker, "Oslo", most=1, firm=True)
    assert worker.carry_out(probe, copy, ledger, 1.0) == 5
    assert ledger.requests == 1
    assert not copy.gone.any()
    assert worker._read[0] == 1.0


def test_what_is_believed_leaves_out_what_is_gone_or_in_doubt():
    form = form_of({"Oslo": 4}, cap=50)
    worker, copy = at_work(form, form.records)
    copy.gone[0] = copy.doubted[1] = True
    at = worker.standing(copy, 2.0, 7.0, truth=np.ones(4))
    assert at.weight.tolist() == [0.0, 0.0, 1.0, 1.0]
    assert at.age.tolist() == [2.0] * 4
    assert at.stale.tolist() == [1.0] * 4  # half a step a day
    assert at.worth.tolist() == [1.0] * 4  # rate t**2 / 2
    assert (at.now, at.budget, at.page_size, at.cap) == (2.0, 7.0, 5, 50)
    assert (at.power, at.truth.tolist()) == (1.0, [1.0] * 4)
    assert at.open.all()
    worker._read[0] = 2.0
    assert not worker.standing(copy, 2.0, 7.0).open.any()
    assert worker.standing(copy, 2.5, 7.0).open.all()


def test_a_part_of_a_turn_goes_to_tuples_in_doubt():
    form = form_of({"Oslo": 30}, lookup=True)
    worker, copy = at_work(form, form.records)
    copy.doubted[:] = True
    for budget, size in ((10.0, 1), (11.0, 2), (20.0, 2), (0.0, 0)):
        fresh = Refresher(worker.pool, form.interface, worker.rule)
        probes = fresh._doubted(copy, 1.0, budget)
        assert [probe.key for probe in probes] == [f"Oslo{i}" for i in range(size)]
        assert all((p.pages, p.gain) == (1, 0.0) for p in probes)
    fresh = Refresher(worker.pool, form.interface, worker.rule)
    assert len(fresh._doubted(copy, 1.0, 20.0)) == 2
    assert fresh._doubted(copy, 1.0, 18.0) == ()  # two of twenty were used
    assert len(fresh._doubted(copy, 1.0, 19.0)) == 1
    assert len(fresh._doubted(copy, 2.0, 20.0)) == 2
    first = fresh.next(copy, 3.0, 10.0, RNG(0))
    assert [probe.why for probe in first] == ["was missing from an answer"]


def test_a_turn_ends_with_its_requests_and_tells_what_came():
    form = form_of({"Oslo": 9, "Rome": 3})
    worker, copy = at_work(form, form.records)
    done = turn(worker, copy, Ledger(form, 2), 1.0, RNG(0))
    assert [str(probe.query) for probe in done.probes] == ["city=Oslo"]
    assert done.refreshed == (9,)
    worker, copy = at_work(form, form.records)
    ledger = Ledger(form, 1)
    done = turn(worker, copy, ledger, 1.0, RNG(0))
    assert (ledger.requests, sum(done.refreshed)) == (1, np.sum(copy.seen == 1.0))
    worker, copy = at_work(form, form.records)
    done = turn(worker, copy, Ledger(form), 1.0, RNG(0))
    assert sorted(done.refreshed) == [3, 9]
    assert turn(worker, copy, Ledger(form, 0), 2.0, RNG(0)) == ((), ())


def test_the_oracle_is_told_that_what_was_refreshed_is_no_longer_different():
    form = form_of({"Oslo": 2, "Rome": 2, "Lima": 1})
    worker, copy = at_work(form, form.records, "oracle")
    truth = np.array([0.0, 5.0, 1.0, 1.0, 0.0])
    ledger = Ledger(form, 9)
    done = turn(worker, copy, ledger, 1.0, RNG(0), truth=truth)
    assert [str(probe.query) for probe in done.probes] == ["city=Oslo", "city=Rome"]
    assert [probe.gain for probe in done.probes] == [5.0, 2.0]
    assert ledger.requests == 2


def test_a_timetable_keeps_the_queries_that_are_sent_at_all():
    rule = Timetable(3, np.array([0.0, 0.5, 2.0]), np.array([7.0, 8.0, 9.0]), 5.0)
    kept = rule.so_far(())
    assert kept.paces == (QueryPace(1, 0.5, 8.0), QueryPace(2, 2.0, 9.0))
    assert (kept.turns, kept.last, kept.choices) == (3, 5.0, ())
    assert Timetable().so_far(()).last == 0.0  # there was no turn yet
    again = Timetable()
    again.go_on(kept)
    assert (again._turns, again._last, again._kept) == (3, 5.0, kept.paces)
