"""What is taken next, against a plain loop over the offers."""

from math import inf

import numpy as np
import pytest
from hypothesis import given, strategies as st

from halflife.core.value_curve import Offers
from halflife.market.limits import Limits
from halflife.market.offers import OfferTurn, intervals, take

SOURCES = ("b", "a", "c")


@st.composite
def markets(draw):
    n = draw(st.integers(0, 9))
    many = {"min_size": n, "max_size": n}
    offers = Offers(
        SOURCES,
        np.array(draw(st.lists(st.integers(0, 2), **many)), np.intp),
        np.array(draw(st.lists(st.sampled_from([1, 2, 3, 5]), **many)), float),
        np.array(draw(st.lists(st.integers(0, 8), **many)), float),
    )
    ready = np.array(draw(st.lists(st.sampled_from([True, True, False]), **many)), bool)
    urgent = np.array(draw(st.lists(st.sampled_from([False, True]), **many)), bool)
    turn = draw(st.sampled_from([None, OfferTurn(ready, urgent & ready)]))
    limits = Limits(
        most=draw(st.dictionaries(st.sampled_from("ab"), st.integers(0, 9))),
        host=draw(st.dictionaries(st.sampled_from("abc"), st.sampled_from("hk"))),
        room=draw(st.dictionaries(st.sampled_from("hk"), st.integers(0, 9))),
    )
    return offers, draw(st.integers(0, 16)), limits, turn


def fitting(order, offers, limits, spent, row):
    """Say what keeps an offer out: its source or host, the budget, or nothing."""
    name = SOURCES[offers.source[row]]
    host = limits.host.get(name)
    cost = offers.cost[row]

    def used(of):
        return sum(offers.cost[i] for i in spent if of(SOURCES[offers.source[i]]))

    if used(lambda other: other == name) + cost > limits.most.get(name, inf):
        return "limit"
    shared = used(lambda other: host and limits.host.get(other) == host)
    if host and shared + cost > limits.room.get(host, inf):
        return "limit"
    return "budget" if used(lambda _: True) + cost > order["budget"] else ""


def walked(rows, offers, limits, budget, *, patient):
    spent = []
    for row in rows:
        why = fitting({"budget": budget}, offers, limits, spent, row)
        if patient and why == "budget":
            return spent, row
        if not why:
            spent.append(row)
    return spent, None


def by_hand(offers, budget, limits, turn, price, *, patient):
    rows = range(len(offers))
    dense = offers.gain / offers.cost
    must = [turn is not None and bool(turn.urgent[i]) for i in rows]
    may = [turn is None or bool(turn.ready[i]) for i in rows]
    wanted = [
        i
        for i in rows
        if may[i] and (must[i] or (offers.gain[i] > 0 and dense[i] >= price))
    ]
    wanted.sort(key=lambda i: (not must[i], -dense[i], SOURCES[offers.source[i]], i))
    chosen, waits = walked(wanted, offers, limits, budget, patient=patient)
    left = [i for i in wanted if i not in chosen and not must[i]]
    if left and not patient:
        best = max(left, key=lambda i: offers.gain[i])
        order = [i for i in wanted if must[i]]
        order += [best] + [i for i in wanted if not must[i] and i != best]
        other, _ = walked(order, offers, limits, budget, patient=False)
        if sum(offers.gain[other]) > sum(offers.gain[chosen]):
            chosen = other
    paid = [dense[i] for i in chosen if not must[i]]
    return chosen, waits, min(paid, default=0.0)


@given(markets(), st.sampled_from([0.0, 0.5, 1.0, 2.0]), st.booleans())
def test_offers_are_taken_as_a_plain_loop_takes_them(market, price, patient):
    offers, budget, limits, turn = market
    found = take(offers, budget, limits, turn=turn, price=price, patient=patient)
    chosen, waits, last = by_hand(offers, budget, limits, turn, price, patient=patient)
    assert found.rows.tolist() == chosen
    assert found.waits == waits
    assert found.price == pytest.approx(last)
    assert found.requests == sum(offers.cost[chosen])
    assert found.gain == pytest.approx(sum(offers.gain[chosen]))


def test_an_offer_at_the_usual_price_is_taken_and_rounding_does_not_matter():
    gain = np.array([3.0, 3.0 * (1 - 5e-10), 3.0 * (1 - 1e-6)])
    offers = Offers(("a",), np.zeros(3, np.intp), np.ones(3), gain)
    assert take(offers, 9.0, price=3.0).rows.tolist() == [0, 1]


def test_what_waits_for_a_budget_is_known_behind_an_offer_at_its_limit():
    offers = Offers(("a", "b"), np.array([0, 1]), np.ones(2), np.array([2.0, 1.0]))
    found = take(offers, 0.0, Limits(most={"a": 0}), patient=True)
    assert found.rows.size == 0
    assert found.waits == 1


def test_costs_that_do_not_add_up_exactly_fit_a_budget_of_their_sum():
    offers = Offers(("a",), np.zeros(3, np.intp), np.full(3, 0.1), np.ones(3))
    assert take(offers, 0.3).rows.size == 3  # 0.1 + 0.1 + 0.1 is a little more
    limits = Limits(most={"a": 0.3})
    assert take(offers, 9.0, limits).rows.size == 3
    assert take(offers, 9.0, limits, patient=True).waits is None
    assert take(offers, 0.3 - 1e-6).rows.size == 2


def test_what_costs_nothing_is_taken_even_without_a_budget():
    offers = Offers(("a",), np.zeros(2, np.intp), np.array([0.0, 1.0]), np.ones(2))
    assert take(offers, 0.0).rows.tolist() == [0]


def test_an_interval_is_over_when_it_has_passed_and_not_before():
    age = np.array([0.9, 1.0, 1.9, 2.0, inf, inf, 1.0 - 5e-10])
    soonest, latest = np.ones(7), np.array([2.0, 2.0, 2.0, 2.0, 2.0, inf, 1.0])
    turn = intervals(age, soonest, latest)
    assert turn.ready.tolist() == [False, True, True, True, True, True, True]
    assert turn.urgent.tolist() == [False, False, False, True, True, False, True]


def test_beside_the_dear_offer_what_fits_is_taken_past_what_does_not():
    cost, gain = np.array([2.0, 5.0, 1.0]), np.array([6.0, 10.0, 1.0])
    offers = Offers(("a",), np.zeros(3, np.intp), cost, gain)
    found = take(offers, 6.0)  # the first and the last gain 7, and leave 3 unspent
    assert found.rows.tolist() == [1, 2]
    assert found.gain == 11.0
