"""Allocation against scipy's general optimisers, quadrature and long decimals."""

from decimal import Decimal, getcontext
from itertools import combinations

import numpy as np
import pytest
from scipy import integrate, optimize

from halflife.allocation import (
    allocate,
    hindsight_bound,
    hindsight_bound_on_trace,
    marginal,
    mean_age,
    mean_freshness,
    mean_harmonic,
    signal_bound,
)
from halflife.allocation.curves import harmonic, inverse_log_gap, poisson_age

RATE = np.array([0.03, 0.4, 1.0, 2.5, 9.0])
WEIGHT = np.array([1.0, 3.0, 1.0, 2.0, 5.0])
COST = np.array([1.0, 1.0, 2.0, 0.5, 1.0])
SHAPE = np.array([0.6, 1.0, 1.7, 3.0, 0.9])


def survival(t, rate, shape):
    return np.exp(-rate * t**shape)


def loss(objective, t, rate, shape):
    """Return D(t), straight from its definition."""
    if objective == "freshness":
        return 1 - survival(t, rate, shape)
    if objective == "age":
        return t - integrate.quad(survival, 0, t, args=(rate, shape), epsrel=1e-12)[0]
    return integrate.quad(lambda u: -np.expm1(-rate * u) / u, 0, t, epsrel=1e-12)[0]


def mean_loss(objective, frequency, rate, shape):
    end = 1 / frequency
    total, _ = integrate.quad(
        lambda t: loss(objective, t, rate, shape), 0, end, epsrel=1e-10
    )
    return total / end


def worth(objective, interval, rate, shape):
    """Return U = T D(T) - integral of D, by quadrature."""
    return interval * (
        loss(objective, interval, rate, shape)
        - mean_loss(objective, 1 / interval, rate, shape)
    )


@pytest.mark.parametrize("objective", ["freshness", "age", "harmonic"])
def test_a_general_optimiser_finds_nothing_better(objective):
    mean = {"freshness": mean_freshness, "age": mean_age, "harmonic": mean_harmonic}
    sign = -1.0 if objective == "freshness" else 1.0

    def cost(looks):
        return sign * float(WEIGHT @ mean[objective](looks, RATE)) / WEIGHT.sum()

    found = optimize.minimize(
        cost,
        np.full(5, 3.0 / COST.sum()),
        method="SLSQP",
        bounds=[(1e-9, None)] * 5,
        constraints={"type": "eq", "fun": lambda looks: COST @ looks - 3.0},
        options={"maxiter": 500, "ftol": 1e-14},
    )
    plan = allocate(RATE, 3.0, weight=WEIGHT, cost=COST, objective=objective)
    assert sign * plan.value <= found.fun + 1e-12
    assert sign * plan.value == pytest.approx(found.fun, rel=1e-6)
    assert plan.frequency == pytest.approx(found.x, abs=2e-3)


def fifty():
    """Return rates, weights, costs and shapes of fifty items, and a budget."""
    rng = np.random.default_rng(7)
    rate, weight = rng.lognormal(-0.5, 0.8, 50), rng.lognormal(0.0, 0.7, 50)
    return rate, weight, rng.uniform(0.5, 2.0, 50), rng.uniform(0.6, 1.8, 50), 40.0


@pytest.mark.parametrize(
    ("objective", "bent"),
    [
        ("freshness", False),
        ("age", False),
        ("harmonic", False),
        ("freshness", True),
        ("age", True),
    ],
)
def test_fifty_items_get_what_sequential_quadratic_programming_gives_them(
    objective, bent
):
    rate, weight, cost, shape, budget = fifty()
    shape = shape if bent else np.ones(50)
    args = () if objective == "harmonic" else (shape,)
    mean = {"freshness": mean_freshness, "age": mean_age, "harmonic": mean_harmonic}
    sign = -1.0 if objective == "freshness" else 1.0

    def loss_and_slope(spent):
        looks = spent / cost
        lost = sign * float(weight @ mean[objective](looks, rate, *args))
        more = marginal(looks, rate, shape=shape, objective=objective)
        return lost, -weight * more / cost

    found = optimize.minimize(
        loss_and_slope,
        np.full(50, budget / 50),
        jac=True,
        method="SLSQP",
        bounds=[(1e-7, None)] * 50,
        constraints={
            "type": "eq",
            "fun": lambda spent: spent.sum() - budget,
            "jac": lambda _: np.ones(50),
        },
        options={"maxiter": 1000, "ftol": 1e-15},
    )
    shaped = {"shape": shape} if bent else {}
    plan = allocate(
        rate, budget, weight=weight, cost=cost, objective=objective, **shaped
    )
    assert sign * plan.value * weight.sum() == pytest.approx(found.fun, rel=1e-6)
    assert plan.frequency == pytest.approx(found.x / cost, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize(
    ("objective", "bent"),  # harmonic loss counts changes, which a shape does not tell
    [
        ("freshness", False),
        ("age", False),
        ("harmonic", False),
        ("freshness", True),
        ("age", True),
    ],
)
def test_no_point_of_a_fine_grid_is_better(objective, bent):
    some, shaped = [1, 2, 4], {"shape": SHAPE[[1, 2, 4]]} if bent else {}
    rate, weight, cost, budget = RATE[some], WEIGHT[some], COST[some], 2.5
    mean = {"freshness": mean_freshness, "age": mean_age, "harmonic": mean_harmonic}
    sign = -1.0 if objective == "freshness" else 1.0
    share = np.linspace(1e-6, 1.0, 401)
    first, second = (grid.ravel() for grid in np.meshgrid(share, share))
    third = 1.0 - first - second
    spent = budget * np.stack([first, second, np.maximum(third, 1e-9)])
    lost = np.zeros(first.size)
    for i in range(3):
        law = (SHAPE[some][i],) if bent else ()
        each = mean[objective](spent[i] / cost[i], np.full(first.size, rate[i]), *law)
        lost += sign * weight[i] * each / weight.sum()
    lost = np.where(third >= 0, lost, np.inf)
    plan = allocate(
        rate, budget, weight=weight, cost=cost, objective=objective, **shaped
    )
    assert sign * plan.value <= lost.min() + 1e-12
    assert sign * plan.value == pytest.approx(lost.min(), rel=1e-3)
    near = spent[:, lost.argmin()] / cost
    assert plan.frequency == pytest.approx(near, abs=0.02 / cost.min())


@pytest.mark.parametrize("objective", ["freshness", "age"])
def test_weibull_intervals_solve_equation_4_by_quadrature(objective):
    plan = allocate(
        RATE, 4.0, weight=WEIGHT, cost=COST, shape=SHAPE, objective=objective
    )
    x = RATE / plan.frequency**SHAPE
    assert x.max() > 20 or objective == "age"
    for i, looks in enumerate(plan.frequency):
        price = plan.price * COST[i] / WEIGHT[i]

        def off(t, i=i, price=price):
            return worth(objective, t, RATE[i], SHAPE[i]) - price

        assert off(1 / looks) == pytest.approx(0.0, abs=1e-9 * price)
        # Past x = 20 the worth is flat: quadrature cannot tell one interval from
        # another, and what is left of the budget decides.
        if x[i] < 20:
            interval = optimize.brentq(off, 0.3 / looks, 3.0 / looks)
            assert 1 / interval == pytest.approx(looks, rel=1e-7)
    assert COST @ plan.frequency == pytest.approx(4.0)


@pytest.mark.parametrize(
    ("objective", "mean"),
    [("freshness", mean_freshness), ("age", mean_age), ("harmonic", mean_harmonic)],
)
def test_closed_forms_are_their_integrals(objective, mean):
    looks = np.array([0.5, 2.0, 1.0, 0.3, 4.0])
    shaped = objective != "harmonic"
    shape = SHAPE if shaped else np.ones(5)
    args = (shape,) if shaped else ()
    rows = list(zip(looks, RATE, shape, strict=True))
    lost = np.array([mean_loss(objective, *row) for row in rows])
    expected = 1 - lost if objective == "freshness" else lost
    assert mean(looks, RATE, *args) == pytest.approx(expected, rel=1e-8)
    bought = [worth(objective, 1 / f, r, g) for f, r, g in rows]
    assert marginal(looks, RATE, shape=shape, objective=objective) == pytest.approx(
        bought, rel=1e-7
    )


def relative_error(x, value, slope):
    """Return the error of ``x`` as a root, given its residual in long decimals."""
    return abs(float(value / (slope * Decimal(float(x)))))


def test_the_inverse_of_x_minus_log_is_right_over_the_whole_range():
    getcontext().prec = 400
    for z in 10.0 ** np.arange(-150.0, 151.0, 5.0):
        x = Decimal(float(inverse_log_gap(np.array([z]))[0]))
        off = x - (1 + x).ln() - Decimal(float(z))
        assert relative_error(x, off, x / (1 + x)) < 1e-12


def test_the_harmonic_and_age_inverses_are_right_over_the_whole_range():
    getcontext().prec = 400
    one = np.ones(1)
    for y in 10.0 ** np.arange(-120.0, 121.0, 5.0):
        exact = Decimal(float(y))
        x = Decimal(float(harmonic(np.array([y]), one)[0][0]))
        gone = (-x).exp() if x < 900 else Decimal(0)
        assert relative_error(x, x - 1 + gone - exact, 1 - gone) < 1e-12
        x = Decimal(float(poisson_age(np.array([y]), one)[0][0]))
        gone = (-x).exp() if x < 900 else Decimal(0)
        off = x * x / 2 - 1 + (1 + x) * gone - exact
        assert relative_error(x, off, x * (1 - gone)) < 1e-12


def test_inverses_have_no_seams():
    getcontext().prec = 60
    for z in np.concatenate([np.linspace(0.01, 4.0, 150), np.geomspace(4, 700, 30)]):
        x = Decimal(float(inverse_log_gap(np.array([z]))[0]))
        off = x - (1 + x).ln() - Decimal(float(z))
        assert relative_error(x, off, x / (1 + x)) < 1e-12
        x = Decimal(float(harmonic(np.array([z]), np.ones(1))[0][0]))
        off = x - 1 + (-x).exp() - Decimal(float(z))
        assert relative_error(x, off, 1 - (-x).exp()) < 1e-12


def test_the_signal_bound_is_a_linear_programme():
    for budget in (0.5, 3.0, 8.0, 30.0):
        found = optimize.linprog(
            -WEIGHT / WEIGHT.sum(),
            A_ub=[COST * RATE],
            b_ub=[budget],
            bounds=[(0, 1)] * 5,
        )
        bound = signal_bound(RATE, budget, weight=WEIGHT, cost=COST)
        assert bound == pytest.approx(-found.fun, rel=1e-9)


def test_the_hindsight_bound_is_what_a_long_trace_gives():
    rng = np.random.default_rng(0)
    rate, days = np.array([0.2, 1.0, 5.0]), 3000.0
    counts = rng.poisson(rate * days)
    at = np.concatenate([np.sort(rng.uniform(0, days, k)) for k in counts])
    start = np.concatenate([[0], np.cumsum(counts)])
    traced = hindsight_bound_on_trace(
        start, at, days, 2.0 * days, weight=WEIGHT[:3], cost=COST[:3]
    )
    known = hindsight_bound(rate, 2.0, weight=WEIGHT[:3], cost=COST[:3])
    assert traced == pytest.approx(known, abs=0.005)


def test_no_choice_of_looks_beats_the_hindsight_bound_on_a_trace():
    rng = np.random.default_rng(1)
    changes = [np.sort(rng.uniform(0, 10, k)) for k in (4, 2, 3)]
    weight = [1.0, 2.0, 0.5]
    pairs = list(zip(changes, weight, strict=True))
    worths = np.concatenate([np.diff(at, append=10.0) * w for at, w in pairs])
    free = sum(at[0] * w for at, w in pairs)
    start, at = np.array([0, 4, 6, 9]), np.concatenate(changes)
    for k in range(5):
        best = max(worths[list(some)].sum() for some in combinations(range(9), k))
        bound = hindsight_bound_on_trace(start, at, 10.0, k, weight=weight)
        assert bound == pytest.approx((free + best) / 35.0)
