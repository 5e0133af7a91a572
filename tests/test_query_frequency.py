"""How often to send each query."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.optimize import minimize

from halflife.core.forms import Term
from halflife.queries.incidence import Incidence
from halflife.queries.known.frequency import disjoint_frequencies, frequencies
from halflife.queries.known.gains import Gains
from halflife.queries.known.greedy import GreedyLimits, choose, offers
from halflife.queries.known.keywords import pool_of


def gains_of(rows, *, lookup=False):
    """Return the pool of tuples that have these words."""
    terms = [tuple(Term("word", word) for word in row.split()) for row in rows]
    local = Incidence.from_terms(map(str, range(len(rows))), terms)
    return Gains(pool_of(local, together=1, lookup=lookup))


def overlapping(seed, tuples=12, words=5):
    rng = np.random.default_rng(seed)
    rows = [
        " ".join(f"w{w}" for w in rng.choice(words, rng.integers(1, 4), replace=False))
        for _ in range(tuples)
    ]
    return gains_of(rows, lookup=True), rng.pareto(1.5, tuples) + 0.1, rng


def solved(gains, b, cost, budget, power):
    """Return the least value of sum(b / F**k) that a general optimiser finds."""
    n = len(gains)

    def value(f):
        return np.sum(b / gains.shares(f) ** power)

    def slope(f):
        return -gains.sums(power * b / gains.shares(f) ** (power + 1))

    found = minimize(
        value,
        np.full(n, budget / cost.sum()),
        jac=slope,
        bounds=[(1e-9, None)] * n,
        constraints={
            "type": "eq",
            "fun": lambda f: cost @ f - budget,
            "jac": lambda _: cost,
        },
        method="SLSQP",
        options={"maxiter": 1000, "ftol": 1e-12},
    )
    return found.fun


@given(
    st.lists(
        st.tuples(st.floats(0.01, 100), st.floats(0.5, 20)), min_size=1, max_size=10
    ),
    st.floats(0.1, 50.0),
    st.sampled_from([1.0, 2.0]),
)
def test_disjoint_queries_have_the_same_index_at_the_optimum(pairs, budget, power):
    b, cost = np.array(pairs).T
    f = disjoint_frequencies(b, cost, budget, power=power)
    price = b / (cost * f ** (power + 1))
    assert cost @ f == pytest.approx(budget)
    assert price == pytest.approx(np.full(b.size, price[0]))


def test_the_cube_root_beats_even_and_proportional_frequencies():
    rng = np.random.default_rng(1)
    b, cost = rng.pareto(1.2, 200) + 0.1, np.ones(200)
    rivals = {
        "cube root": disjoint_frequencies(b, cost, 10.0),
        "even": np.full(200, 10.0 / 200),
        "proportional": 10.0 * b / b.sum(),
    }
    value = {name: float(np.sum(b / f**2)) for name, f in rivals.items()}
    assert value["cube root"] < value["even"] < value["proportional"]


def test_disjoint_groups_are_right_after_one_round():
    gains = gains_of(["a", "a", "b", "c"])
    b, cost = np.array([1.0, 2.0, 5.0, 0.5]), np.array([1.0, 3.0, 2.0])
    found = frequencies(gains, b, cost, 4.0, rounds=1)
    expected = disjoint_frequencies(np.array([3.0, 5.0, 0.5]), cost, 4.0)
    assert found.frequency == pytest.approx(expected)
    assert found.gap == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("power", [1.0, 2.0])
def test_shared_tuples_are_no_worse_than_a_general_optimiser_finds(seed, power):
    gains, b, rng = overlapping(seed)
    cost = rng.integers(1, 5, len(gains)).astype(float)
    found = frequencies(gains, b, cost, 6.0, power=power)
    assert cost @ found.frequency == pytest.approx(6.0)
    least = solved(gains, b, cost, 6.0, power)
    assert found.value <= least * (1 + 1e-3)
    assert found.value * (1 - found.gap) <= least * (1 + 1e-6)


@given(st.integers(0, 1000), st.integers(1, 40))
def test_a_round_never_makes_it_worse(seed, rounds):
    gains, b, rng = overlapping(seed)
    cost = rng.uniform(0.5, 5.0, len(gains))
    less = frequencies(gains, b, cost, 6.0, rounds=rounds).value
    more = frequencies(gains, b, cost, 6.0, rounds=rounds + 1).value
    assert more <= less * (1 + 1e-9)


def test_tuples_that_nothing_brings_are_left_out():
    gains = gains_of(["a", ""])
    found = frequencies(gains, np.array([2.0, 9.0]), np.ones(1), 3.0)
    assert found.frequency.tolist() == [3.0]
    assert frequencies(gains, np.zeros(2), np.ones(1), 3.0).frequency.tolist() == [0.0]


@pytest.mark.parametrize("seed", range(5))
def test_a_turn_picks_what_a_whole_cover_would_pick_first(seed):
    gains, value, rng = overlapping(seed, tuples=40, words=12)
    hits = gains.pool.held * rng.integers(1, 30, len(gains))
    offered = offers(hits.astype(float), page_size=10)
    whole = choose(gains.pool, value, offered, GreedyLimits())
    picked = gains.pick(value, offered.cost, np.inf)
    assert [number for number, _ in picked] == whole.queries.tolist()
    assert sum(gain for _, gain in picked) == pytest.approx(value.sum())


def test_sums_fall_by_what_is_covered():
    gains, value, _ = overlapping(3)
    sums = gains.sums(value)
    rows = np.array([1, 4, 7])
    gains.subtract(sums, rows, value)
    left = value.copy()
    left[rows] = 0.0
    assert sums == pytest.approx(gains.sums(left))
