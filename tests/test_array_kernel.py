"""Allocation on arrays of other libraries, and in single precision."""

from decimal import Decimal, getcontext
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from halflife.allocation import allocate, curves
from halflife.allocation.array_kernel import (
    KernelPlan,
    allocate_array,
    freshness_worth,
    residual,
)
from halflife.bench.population import rates_and_weights
from halflife.core.arrays import namespace

N, BUDGET = 20_000, 4000.0
SINGLE = 1e-6  # what single precision must reach, relatively


def _torch() -> Any:
    return pytest.importorskip("torch", reason="PyTorch is not installed")


def _numpy_arrays(precision: str) -> Any:
    return lambda column: column.astype(precision)


def _torch_arrays(precision: str) -> Any:
    torch = _torch()
    return lambda column: torch.asarray(column, dtype=getattr(torch, precision))


LIBRARIES = {"numpy": _numpy_arrays, "torch": _torch_arrays}


def _solved(library: str, precision: str) -> tuple[KernelPlan, float]:
    make = LIBRARIES[library](precision)
    rate, weight, cost = (make(column) for column in _population())
    plan = allocate_array(rate, BUDGET, weight=weight, cost=cost)
    assert namespace(plan.frequency) is namespace(rate)
    assert plan.frequency.dtype == rate.dtype
    return plan, residual(plan, rate, weight=weight, cost=cost)


def _population() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rate, weight = rates_and_weights(N, 3)
    return rate, weight, np.random.default_rng(4).uniform(0.5, 3.0, N)


@pytest.mark.parametrize("library", LIBRARIES)
def test_double_precision_gives_the_schedule_of_allocate(library: str) -> None:
    rate, weight, cost = _population()
    expected = allocate(rate, BUDGET, weight=weight, cost=cost)
    plan, off = _solved(library, "float64")
    found = np.asarray(plan.frequency)
    assert plan.price == pytest.approx(expected.price, rel=1e-10)
    assert found == pytest.approx(expected.frequency, rel=1e-6, abs=1e-9)
    assert float(cost @ found) == pytest.approx(BUDGET, rel=1e-10)
    assert off < 1e-9


@pytest.mark.parametrize("library", LIBRARIES)
def test_single_precision_keeps_the_optimum_to_a_millionth(library: str) -> None:
    plan, off = _solved(library, "float32")
    _, _, cost = _population()
    spent = float(cost @ np.asarray(plan.frequency, dtype=np.float64))
    assert off < SINGLE
    assert spent == pytest.approx(BUDGET, rel=SINGLE)


def test_items_that_are_all_given_up_at_one_price_share_the_budget() -> None:
    rate = np.full(50, 40.0)
    plan = allocate_array(rate, 5.0, weight=np.ones(50))
    assert plan.frequency == pytest.approx(np.full(50, 0.1), rel=1e-9)


def _exact_worth(x: float) -> Decimal:
    getcontext().prec = 50
    d = Decimal(x)
    return 1 - (1 + d) * (-d).exp()


@given(st.floats(2.0**-40, 60.0, width=32))
def test_the_worth_keeps_its_digits_near_zero(x: float) -> None:
    exact = _exact_worth(x)
    single = freshness_worth(np.array([x], dtype=np.float32))
    double = freshness_worth(np.array([x]))
    assert single.dtype == np.float32
    assert abs(Decimal(float(single[0])) / exact - 1) < Decimal(SINGLE)
    assert abs(Decimal(float(double[0])) / exact - 1) < Decimal("4e-15")


@pytest.mark.parametrize("curve", [curves.freshness, curves.harmonic])
def test_curves_in_single_precision_follow_those_in_double(curve: Any) -> None:
    y = np.geomspace(1e-12, 0.99, 20_001).astype(np.float32)
    if curve is curves.harmonic:
        y = y * np.float32(200.0)
    spacing, bend = curve(y, y)
    spacing64, bend64 = curve(y.astype(np.float64), y)
    assert spacing.dtype == bend.dtype == np.float32
    assert np.max(np.abs(spacing / spacing64 - 1)) < SINGLE
    assert np.max(np.abs(bend / bend64 - 1)) < SINGLE


def test_an_array_of_the_standard_names_its_own_functions() -> None:
    class Strict:
        def __array_namespace__(self) -> str:
            return "its own"

    assert namespace(Strict()) == "its own"
