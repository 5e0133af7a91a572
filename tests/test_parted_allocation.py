"""Items in parts get the schedule that ``allocate`` gives them together."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, strategies as st

from halflife.allocation import Allocation, allocate, kkt_residual
from halflife.allocation.parts import (
    ArrayPart,
    ItemColumns,
    PartedAllocation,
    allocate_parts,
    bracket as brackets,
)
from halflife.bench.population import rates_and_weights
from halflife.executors import executor_named
from halflife.executors.local import InProcess

N = 20_000
RATE, WEIGHT = rates_and_weights(N, 5)
COST = np.random.default_rng(6).uniform(0.5, 3.0, N)
SHAPE = np.random.default_rng(7).uniform(0.5, 2.0, N)


def _cut(columns: dict[str, Any], parts: int) -> list[ArrayPart]:
    n = columns["rate"].size
    ends = np.linspace(0, n, parts + 1).astype(int)
    spans = [slice(a, b) for a, b in pairwise(ends)]
    return [
        ArrayPart(ItemColumns(**{name: c[rows] for name, c in columns.items()}))
        for rows in spans
    ]


def _parted(
    columns: dict[str, Any], budget: float, *, parts: int = 3, **more: Any
) -> tuple[np.ndarray, PartedAllocation]:
    cut = _cut(columns, parts)
    plan = allocate_parts(cut, budget, InProcess(), **more)
    return np.concatenate([part.frequency for part in cut]), plan


def _agree(columns: dict[str, Any], budget: float, **more: Any) -> PartedAllocation:
    frequency, plan = _parted(columns, budget, **more)
    rate = columns["rate"]
    others = {name: c for name, c in columns.items() if name != "rate"}
    more.pop("parts", None)
    expected = allocate(rate, budget, **others, **more)
    assert plan.price == pytest.approx(expected.price, rel=1e-9)
    assert plan.value == pytest.approx(expected.value, rel=1e-9)
    spent = float(columns.get("cost", np.ones(rate.size)) @ frequency)
    assert spent == pytest.approx(budget, rel=1e-9)
    assert plan.spent == pytest.approx(spent, rel=1e-12)
    assert frequency == pytest.approx(expected.frequency, rel=1e-5, abs=1e-7)
    found = Allocation(frequency, plan.price, plan.value)
    assert kkt_residual(found, rate, budget, **others, **more) < 1e-8
    assert plan.kkt_residual < 1e-8
    return plan


def test_the_worked_example_of_the_paper_in_two_parts() -> None:
    rate = np.arange(1.0, 6.0)
    frequency, plan = _parted({"rate": rate}, 5.0, parts=2)
    assert frequency.round(2).tolist() == [1.15, 1.36, 1.35, 1.14, 0.0]
    assert plan.spent == pytest.approx(5.0, rel=1e-10)
    assert plan.items == 5


@pytest.mark.parametrize("objective", ["freshness", "harmonic", "age"])
@pytest.mark.parametrize("share", [1e-4, 0.2, 30.0])
def test_every_objective_and_budget_gives_the_schedule_of_allocate(
    objective: str, share: float
) -> None:
    columns = {"rate": RATE, "weight": WEIGHT, "cost": COST}
    plan = _agree(columns, share * N, objective=objective)
    assert plan.passes <= 6


@pytest.mark.parametrize("objective", ["freshness", "age"])
def test_lifetimes_of_any_shape_give_the_schedule_of_allocate(objective: str) -> None:
    few = slice(0, 4000)
    columns = {"rate": RATE[few], "weight": WEIGHT[few], "shape": SHAPE[few]}
    _agree(columns, 800.0, objective=objective)


def test_items_that_nobody_gains_from_get_nothing() -> None:
    rate, weight = RATE[:5000].copy(), WEIGHT[:5000].copy()
    rate[::3], weight[::7] = 0.0, 0.0
    rate[2000:3500] = 0.0  # a whole part
    frequency, _ = _parted({"rate": rate, "weight": weight}, 500.0, parts=4)
    assert np.all(frequency[(rate == 0) | (weight == 0)] == 0)
    _agree({"rate": rate, "weight": weight}, 500.0, parts=4)


@pytest.mark.parametrize(("objective", "best"), [("freshness", 1.0), ("age", 0.0)])
def test_items_without_weight_lose_nothing(objective: str, best: float) -> None:
    nobody = {"rate": RATE[:10], "weight": np.zeros(10)}
    _, plan = _parted(nobody, 0.0, objective=objective)
    assert plan.value == best


def test_items_that_are_all_given_up_at_one_price_share_the_budget() -> None:
    frequency, plan = _parted({"rate": np.full(9000, 50.0)}, 1800.0)
    assert frequency == pytest.approx(np.full(9000, 0.2), rel=1e-9)
    assert plan.kkt_residual < 1e-9


def test_a_crowd_at_the_edge_is_not_kept_one_by_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(brackets, "_MOST_EDGES", 64)
    rate = np.geomspace(49.99, 50.01, 5000)
    _agree({"rate": rate}, 1000.0)


def test_no_budget_and_nothing_that_changes_leave_all_at_zero() -> None:
    frequency, plan = _parted({"rate": RATE[:100]}, 0.0)
    assert plan.price == pytest.approx(allocate(RATE[:100], 0.0).price, rel=1e-12)
    assert not frequency.any()
    frequency, plan = _parted({"rate": np.zeros(10)}, 5.0)
    assert (plan.price, plan.value, plan.spent) == (0.0, 1.0, 0.0)
    assert not frequency.any()


@given(
    rate=st.lists(st.floats(1e-6, 1e4), min_size=1, max_size=40),
    share=st.floats(1e-3, 1e3),
    parts=st.integers(1, 5),
    seed=st.integers(0, 99),
)
@example(rate=[5749.0, 3437.0], share=68.0, parts=1, seed=0)  # falls to 0 in one float
def test_any_few_items_spend_the_budget_at_one_price(
    rate: list[float], share: float, parts: int, seed: int
) -> None:
    rates = np.array(rate)
    weight = np.random.default_rng(seed).lognormal(0.0, 2.0, rates.size)
    budget = share * rates.size
    frequency, plan = _parted({"rate": rates, "weight": weight}, budget, parts=parts)
    assert float(frequency.sum()) == pytest.approx(budget, rel=1e-9)
    found = Allocation(frequency, plan.price, plan.value)
    assert kkt_residual(found, rates, budget, weight=weight) < 1e-7


def test_the_same_parts_give_the_same_bytes_whoever_does_the_work(tmp_path) -> None:
    pytest.importorskip("pyarrow")
    from halflife.bench.out_of_core import make_file  # noqa: PLC0415
    from halflife.recordings.item_parts import allocate_files, parts_of  # noqa: PLC0415

    source = tmp_path / "items"
    source.mkdir()
    for number in range(5):
        make_file(source, (number, 3000))
    seen = []
    for name in ("in-process", "local:2"):
        target = tmp_path / name.replace(":", "-")
        with executor_named(name) as executor:
            plan = allocate_files(parts_of(source, target), 3000.0, executor)
        files = {path.name: path.read_bytes() for path in target.iterdir()}
        seen.append((plan, files))
    assert len(seen[0][1]) == 6
    assert seen[0] == seen[1]


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"rate": np.array([1.0, np.nan])}, "items: rate must be finite"),
        ({"rate": np.array([1.0, -1.0])}, "got -1.0 at index 1"),
        ({"rate": np.ones(2), "cost": np.zeros(2)}, "cost must be between"),
        ({"rate": np.ones(2), "shape": np.full(2, 99.0)}, "shape must be between"),
    ],
)
def test_numbers_that_cannot_be_used_are_named(
    columns: dict[str, np.ndarray], said: str
) -> None:
    with pytest.raises(ValueError, match=said):
        _parted(columns, 1.0, parts=1)


def test_what_cannot_be_asked_is_refused() -> None:
    with pytest.raises(ValueError, match="objective must be"):
        _parted({"rate": np.ones(2)}, 1.0, objective="joy")
    bent = {"rate": np.ones(2), "shape": np.full(2, 2.0)}
    with pytest.raises(ValueError, match="needs shape 1"):
        _parted(bent, 1.0, objective="harmonic")
    with pytest.raises(ValueError, match="budget must be"):
        _parted({"rate": np.ones(2)}, -1.0)
    with pytest.raises(ValueError, match="at least one part"):
        allocate_parts([], 1.0, InProcess())
