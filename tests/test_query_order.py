"""The order of a loop of queries, and the time between them."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays

from halflife.queries.known.order import (
    ascending,
    interval_for,
    relative_staleness,
    snapshot,
)
from lab.query_order import best_order, loop_mean

A = np.array([0.375, 0.875])
positive = st.floats(0.01, 100.0)


@pytest.mark.parametrize(
    ("slots", "expected"),
    [
        ((0, 0), 5.0),
        ((1, 0), 3.875),
        ((2, 0), 3.5),
        ((0, 1), 2.375),
        ((2, 1), 0.875),
        ((0, 2), 1.5),
        ((1, 2), 0.375),
    ],
)
def test_table_3_to_the_digit(slots, expected):
    assert snapshot(A, np.array(slots)) == expected


def test_the_groups_of_table_3_have_their_weights():
    rate = np.array([1.0, 2.0, 3.0, 4.0])
    assert (rate.reshape(2, 2).sum(axis=1) / 2 / 4).tolist() == A.tolist()


@given(arrays(float, st.integers(1, 6), elements=positive))
def test_ascending_is_the_best_snapshot_of_all_orders(a):
    every = [np.array(p) for p in permutations(range(1, a.size + 1))]
    best = min(snapshot(a, slot) for slot in every)
    assert snapshot(a, ascending(a)) == pytest.approx(best)


@given(
    st.integers(1, 5).flatmap(
        lambda k: st.tuples(
            arrays(float, k, elements=positive),
            arrays(float, k, elements=st.floats(0.0, 50.0)),
        )
    )
)
def test_the_assignment_is_the_best_loop_of_all_orders(columns):
    a, age = columns
    every = [np.array(p) for p in permutations(range(1, a.size + 1))]
    best = min(loop_mean(a, age, slot) for slot in every)
    assert loop_mean(a, age, best_order(a, age)) == pytest.approx(best)


def test_the_mean_over_a_loop_is_that_of_a_fine_clock():
    a, age, slot = np.array([1.0, 3.0, 2.0]), np.array([4.0, 0.5, 9.0]), [2, 3, 1]
    clock = (np.arange(30_000) + 0.5) / 10_000
    total = 0.0
    for i, sent in enumerate(slot):
        stale = np.where(clock < sent, age[i] + clock, clock - sent)
        total += a[i] * np.mean(stale**2)
    assert loop_mean(a, age, np.array(slot)) == pytest.approx(total, rel=1e-6)


def test_ascending_can_be_far_from_the_best_loop_when_ages_differ():
    rng = np.random.default_rng(0)
    a, age = rng.pareto(1.5, 40) + 0.1, rng.uniform(0, 200, 40)
    found = {
        "paper": loop_mean(a, age, ascending(a)),
        "turned": loop_mean(a, age, ascending(-a)),
        "best": loop_mean(a, age, best_order(a, age)),
    }
    assert found["best"] <= found["turned"] < found["paper"] / 2


def bisected(a, threshold, size):
    """Return the interval as section 4.4 finds it: doubling, then bisection."""
    step = 1.0
    while relative_staleness(a, step, size) < threshold:
        step *= 2.0
    while relative_staleness(a, step, size) >= threshold:
        step /= 2.0
    low, high = step, 2.0 * step
    for _ in range(80):
        middle = (low + high) / 2.0
        if relative_staleness(a, middle, size) < threshold:
            low = middle
        else:
            high = middle
    return low


@given(
    arrays(float, st.integers(2, 8), elements=positive),
    st.floats(0.001, 10.0),
    st.integers(1, 50),
)
def test_the_interval_is_that_of_doubling_and_bisection(a, threshold, size):
    found = interval_for(a, threshold, size)
    assert found == pytest.approx(bisected(a, threshold, size), rel=1e-9)
    assert relative_staleness(a, found, size) == pytest.approx(threshold)


def test_a_single_query_may_wait_for_ever():
    # It is sent at the end of the loop, when nothing is left to be stale.
    assert interval_for(np.array([2.0]), 0.1, 3) == float("inf")
    assert interval_for(np.zeros(0), 0.1, 3) == float("inf")
