"""Laws of the passes over items in parts: surveys, brackets and what is written."""

import math
from functools import reduce

import numpy as np
import pytest

from halflife.allocation.demand import CLOSE
from halflife.allocation.parts import bracket as brackets
from halflife.allocation.parts.bracket import (
    Bracket,
    BudgetPrice,
    find_price,
    probe_part,
)
from halflife.allocation.parts.items import (
    BLOCK,
    ArrayPart,
    ItemColumns,
    Problem,
    stand_ins,
)
from halflife.allocation.parts.solver import (
    PartResult,
    _exp,
    _residual,
    allocate_parts,
    write_part,
)
from halflife.allocation.parts.survey import NOTHING, PartSurvey, survey_part
from halflife.allocation.solver import demand_of


def items(n=600, seed=0, *, bent=False):
    rng = np.random.default_rng(seed)
    rate, weight, cost = (np.exp(rng.normal(-0.5, 1.0, n)) for _ in range(3))
    shape = rng.uniform(0.5, 2.0, n) if bent else None
    return ItemColumns(rate, weight, cost, shape)


class Cut:
    """A part that comes in blocks of a few items."""

    name = "cut"

    def __init__(self, whole, size):
        self.whole, self.size, self.frequency = whole, size, []

    def blocks(self):
        for i in range(0, self.whole.rate.size, self.size):
            rows = slice(i, i + self.size)
            yield ItemColumns(*(c if c is None else c[rows] for c in self.whole))

    def write(self, frequencies):
        self.frequency = list(frequencies)


def alone(whole, objective):
    """Return pace * cost, ln(first) in the weights' unit, and the shape of items."""
    shape = np.ones(whole.rate.size) if whole.shape is None else whole.shape
    pace = whole.rate ** (1.0 / shape)
    first = whole.weight / (whole.cost * pace)
    if objective == "age":
        first /= pace
    elif objective == "freshness":
        first *= [math.gamma(1.0 + 1.0 / g) for g in shape]
    return pace * whole.cost, np.log(first), shape


# The survey

KINDS = [("freshness", False), ("age", False), ("freshness", True), ("age", True)]


@pytest.mark.parametrize(("objective", "bent"), KINDS)
def test_a_survey_keeps_the_sums_of_its_items_whatever_the_blocks(objective, bent):
    whole = items(bent=bent)
    mass, log, shape = alone(whole, objective)
    for size in (600, 250, 7):
        found = survey_part(objective, Cut(whole, size))
        assert (found.items, found.useful, found.is_weibull) == (600, 600, bent)
        assert found.heaviest == whole.weight.max()
        assert found.top == pytest.approx(log.max())
        sums = found.cells.sum(axis=(1, 2))
        assert sums[:2] == pytest.approx([mass.sum(), mass @ log])
        assert sums[2] == pytest.approx(mass @ shape if bent else 0.0)


@pytest.mark.parametrize(("objective", "bent"), KINDS)
def test_the_cells_of_a_survey_are_narrow_and_in_their_place(objective, bent):
    whole = items(bent=bent)
    found = survey_part(objective, Cut(whole, 100))
    mass, log, shape = alone(whole, objective)
    wide = 1.0 / (32 if bent else 8192)
    for i in range(0, 600, 59):
        column = math.floor(log[i] / wide) - found.low
        row = 0
        if bent:
            row = int((math.log(shape[i]) - math.log(0.1)) / math.log(100.0) * 47)
        total, sum_log, sum_shape = found.cells[:, row, column]
        assert total >= mass[i] * (1 - 1e-12)
        assert abs(sum_log / total - log[i]) <= wide
        if bent:
            assert abs(math.log(sum_shape / total / shape[i])) <= math.log(100.0) / 47
    assert found.cells.shape[1] == (48 if bent else 1)
    assert found.cells[0, :, 0].any()
    assert found.cells[0, :, -1].any()


@pytest.mark.parametrize(("objective", "bent"), [*KINDS, ("harmonic", False)])
def test_a_survey_asks_for_nearly_what_its_items_ask_for(objective, bent):
    whole = items(3000, bent=bent)
    scale = float(whole.weight.max())
    few = survey_part(objective, Cut(whole, 1000)).demand(objective, scale)
    exact = demand_of(Problem(objective, bent, scale).useful(whole), objective)
    for price in (1e-4, 0.01, 0.2):
        asked = few.at(price, np.empty(few.first.size))[0]
        wanted = exact.at(price, np.empty(3000))[0]
        assert asked == pytest.approx(wanted, rel=0.02 if bent else 1e-3)


def test_items_that_nobody_gains_from_are_counted_and_take_no_cell():
    one = items(5)
    still = ItemColumns(np.zeros(4), np.full(4, 50.0))
    both = [survey_part("freshness", ArrayPart(some)) for some in (one, still)]
    assert (both[1].items, both[1].useful, both[1].heaviest) == (4, 0, 50.0)
    assert both[1].cells.size == 0
    assert both[1].top == -np.inf
    for found in (both[0].add(both[1]), both[1].add(both[0])):
        assert (found.items, found.useful, found.heaviest) == (9, 5, 50.0)
        assert (found.low, found.top) == (both[0].low, both[0].top)
        np.testing.assert_array_equal(found.cells, both[0].cells)
    nothing = NOTHING.add(NOTHING)
    assert (nothing.items, nothing.useful, nothing.is_weibull) == (0, 0, False)
    assert nothing.cells.shape == (3, 1, 0)


def test_surveys_of_other_places_and_shapes_are_laid_over_one_another():
    def one(low, *rows):
        cells = np.array([rows] * 3, float)
        return PartSurvey(1, 1, len(rows) > 1, 1.0, 0.0, low, cells)

    found = one(4, [1.0, 2.0]).add(one(3, [10.0, 20.0], [30.0, 40.0]))
    assert (found.low, found.is_weibull) == (3, True)
    assert found.cells[0].tolist() == [[10.0, 21.0, 2.0], [30.0, 40.0, 0.0]]
    assert found.cells[2].tolist() == found.cells[0].tolist()


def test_a_row_that_cannot_be_used_is_named_with_its_part_and_block():
    rate = np.ones(7)
    rate[5] = -1.0
    whole = ItemColumns(rate)
    message = r"^cut: rate must be .* at index 5$"
    with pytest.raises(ValueError, match=message):
        survey_part("freshness", Cut(whole, 7))
    later = r"^cut: rate must be .* at index 2, counted from row 3$"
    with pytest.raises(ValueError, match=later):
        survey_part("freshness", Cut(whole, 3))


# Items


def test_a_cacheful_at_a_time_gives_all_items_in_their_order():
    whole = ItemColumns(np.arange(2.0 * BLOCK + 3), cost=np.arange(2.0 * BLOCK + 3) + 1)
    found = list(whole.cut())
    assert [some.rate.size for some in found] == [BLOCK, BLOCK, 3]
    np.testing.assert_array_equal(np.concatenate([s.rate for s in found]), whole.rate)
    np.testing.assert_array_equal(np.concatenate([s.cost for s in found]), whole.cost)
    assert {(s.weight, s.shape) for s in found} == {(None, None)}


def test_what_is_not_given_is_1_and_weights_are_shares_of_the_largest():
    plain = Problem("freshness", is_weibull=False, scale=4.0)
    found = plain.columns(ItemColumns(np.array([3.0, 1e-31])))
    assert found.weight.tolist() == [0.25, 0.25]
    assert found.cost.tolist() == found.shape.tolist() == [1.0, 1.0]
    assert found.pace.tolist() == [3.0, 0.0]  # below 1e-30 counts as nothing
    assert plain.useful(ItemColumns(np.array([3.0, 1e-31]))).rate.tolist() == [3.0]
    shape = np.array([2.0])
    one = ItemColumns(np.array([9.0]), np.array([2.0]), np.array([5.0]), shape)
    bent = plain._replace(is_weibull=True).columns(one)
    assert (bent.pace[0], bent.shape[0], bent.cost[0]) == (pytest.approx(3.0), 2.0, 5.0)
    assert bent.weight[0] == 0.5
    assert plain.columns(one).pace[0] == 9.0  # where all are Poisson shapes are 1


# The bracket


def test_brackets_add_up_and_follow_their_slope_and_their_edges():
    rows = np.array([[1.0], [2.0], [1.0]])
    one = Bracket(0.5, 3.0, 6.0, rows)
    two = Bracket(0.5, 1.0, 2.0, rows * 2)
    both = one.add(two)
    assert (both.price, both.asked, both.falls) == (0.5, 4.0, 8.0)
    assert both.edges.tolist() == [[1.0, 2.0], [2.0, 4.0], [1.0, 2.0]]
    edges = stand_ins(rows, "freshness")
    some, change = edges.at(0.55, np.empty(1))
    asked, falls = one.at(0.55, edges)
    power = 3.0 * (0.55 / 0.5) ** -2.0  # 6 / 3 is the slope
    assert asked == pytest.approx(power + some)
    assert falls == pytest.approx(change - 2.0 * power)
    empty = Bracket(0.5, 0.0, 0.0, rows)
    assert empty.at(0.55, edges) == pytest.approx((some, change))


@pytest.mark.parametrize("objective", ["freshness", "age"])
def test_a_bracket_is_exact_at_its_price_and_nearly_so_close_by(objective):
    whole = items(900)
    problem = Problem(objective, is_weibull=False, scale=float(whole.weight.max()))
    exact = demand_of(problem.useful(whole), objective)
    price = float(np.median(exact.first)) * 1.0001
    found = probe_part(problem, price, Cut(whole, 200))
    edges = stand_ins(found.edges, objective)
    for by, close in ((1.0, 1e-12), (1.0 + 5e-6, 1e-9), (1.0 - 5e-6, 1e-9)):
        wanted, slope = exact.at(price * by, np.empty(900))
        asked, change = found.at(price * by, edges)
        assert asked == pytest.approx(wanted, rel=close)
        assert change == pytest.approx(slope, rel=1e-3)
    near = np.abs(np.log(price / exact.first)) < 1e-3
    kept = np.unique(exact.first[near]) if objective == "freshness" else []
    assert found.edges[0].tolist() == pytest.approx(list(kept))


def test_equal_items_at_the_edge_are_one_that_asks_for_as_much():
    rows = np.array([[2.0, 1.0, 2.0, 2.0], [1.0, 2.0, 4.0, 8.0], [1.0, 1.0, 1.0, 2.0]])
    found = brackets._merge(Bracket(1.5, 3.0, 4.0, rows), "freshness")
    assert found.edges.tolist() == [[1.0, 2.0, 2.0], [2.0, 5.0, 8.0], [1.0, 1.0, 2.0]]
    assert (found.asked, found.falls) == (3.0, 4.0)
    twice = rows[:, [0, 0]]
    found = brackets._merge(Bracket(1.5, 3.0, 4.0, twice), "freshness")
    assert found.edges.tolist() == [[2.0], [2.0], [1.0]]


def test_of_a_crowd_at_the_edge_the_nearest_are_kept_and_the_rest_asks_on(monkeypatch):
    monkeypatch.setattr(brackets, "_MOST_EDGES", 2)
    first = np.array([1.0009, 0.9995, 1.0001, 1.0004])
    rows = np.stack([first, np.array([1.0, 2.0, 3.0, 4.0]), np.ones(4)])
    found = brackets._merge(Bracket(1.0, 10.0, 20.0, rows), "freshness")
    assert found.edges[0].tolist() == [1.0001, 1.0004]
    frequency, slope = np.empty(2), np.empty(2)
    rest = rows[:, [0, 1]]
    stand_ins(rest, "freshness").at(1.0, frequency, slope)
    assert frequency[1] == 0.0  # given up below this price
    assert found.asked == pytest.approx(10.0 + frequency[0])
    assert found.falls == pytest.approx(20.0 + frequency[0] * slope[0])
    monkeypatch.setattr(brackets, "_MOST_EDGES", 4)
    assert brackets._merge(Bracket(1.0, 10.0, 20.0, rows), "freshness").asked == 10.0


def test_the_price_of_a_bracket_spends_the_budget():
    whole = items(900)
    problem = Problem("freshness", is_weibull=False, scale=float(whole.weight.max()))
    found = probe_part(problem, 0.1, ArrayPart(whole))
    edges = stand_ins(found.edges, "freshness")
    asked = found.at(0.1, edges)[0]
    for budget in (asked, 1.0001 * asked, 0.9999 * asked):
        priced = find_price(found, budget, 100.0, "freshness")
        assert priced.low == priced.high
        assert found.at(priced.low, edges)[0] == pytest.approx(budget, rel=2 * CLOSE)
        assert (priced.low < 0.1) == (budget > asked)


def test_where_no_price_meets_the_budget_two_prices_share_it():
    """Items all given up at 1 ask for much just below, and for nothing there."""
    rows = np.array([[1.0], [1e6], [1.0]])
    bracket = Bracket(1.0, 0.0, 0.0, rows)
    edges = stand_ins(rows, "freshness")
    priced = find_price(bracket, 10.0, 1.0, "freshness")
    most, least = (bracket.at(p, edges)[0] for p in (priced.low, priced.high))
    assert priced.low < priced.high <= 1.0
    assert least + priced.share * (most - least) == pytest.approx(10.0)


# What is written


def test_what_parts_come_to_adds_up_and_the_worst_miss_counts():
    found = PartResult(1.0, 2.0, 3.0, 4.0).add(PartResult(10.0, 20.0, 30.0, 0.5))
    assert found == PartResult(11.0, 22.0, 33.0, 4.0)
    assert found.mean("freshness") == 1.5
    none = PartResult(0.0, 0.0, 0.0, 0.0)
    assert [none.mean(each) for each in ("freshness", "age", "harmonic")] == [1, 0, 0]


@pytest.mark.parametrize("objective", ["freshness", "harmonic"])
def test_parts_get_the_frequencies_of_their_price_in_the_order_of_blocks(objective):
    whole = items(50)
    whole.weight[::7] = 0.0
    problem = Problem(objective, is_weibull=False, scale=float(whole.weight.max()))
    useful = whole.weight > 0
    exact, wanted = demand_of(problem.useful(whole), objective), np.zeros(50)
    low, high = np.empty(useful.sum()), np.empty(useful.sum())
    exact.at(0.05, low)
    exact.at(0.06, high)
    for priced, looks, worst in (
        (BudgetPrice(0.05, 0.05), low, 1e-9),
        (BudgetPrice(0.05, 0.06, 0.25), high + 0.25 * (low - high), 1.0),
        (BudgetPrice(0.05, 0.05, nothing=True), 0.0 * low, 0.0),
    ):
        wanted[useful] = looks
        part = Cut(whole, 20)
        done = write_part(problem, priced, part)
        assert [some.size for some in part.frequency] == [20, 20, 10]
        np.testing.assert_allclose(np.concatenate(part.frequency), wanted)
        assert done.spent == pytest.approx(whole.cost @ wanted)
        assert done.weight == pytest.approx(whole.weight.sum() / whole.weight.max())
        assert done.worst <= worst


def test_a_part_without_items_is_written_without_a_frequency():
    part = ArrayPart(ItemColumns(np.zeros(0)))
    problem = Problem("freshness", is_weibull=False, scale=1.0)
    assert write_part(problem, BudgetPrice(1.0, 1.0), part) == PartResult(0, 0, 0, 0)
    assert part.frequency.size == 0


def test_the_residual_is_the_largest_miss_and_who_gets_nothing_may_be_worth_less():
    """At freshness the worth of a look at x = rate / frequency is u(x) / rate."""
    one = Problem("freshness", is_weibull=False, scale=1.0).columns(
        ItemColumns(np.array([2.0, 2.0]))
    )
    looks = np.array([1.0, 0.0])
    worth = (1.0 - 3.0 * math.exp(-2.0)) / 2.0  # of the first
    found = _residual(one, looks, worth, "freshness")
    assert found == pytest.approx(0.5 / worth - 1.0)  # the second is worth 1 / rate
    assert _residual(one, looks, 0.5, "freshness") == pytest.approx(1.0 - worth / 0.5)
    assert _residual(one, np.zeros(2), 1.0, "freshness") == 0.0
    assert _exp(1e9) == math.exp(700.0)
    assert _exp(2.0) == math.exp(2.0)


def test_surveys_and_brackets_add_up_in_any_order():
    parts = [items(40, seed) for seed in range(3)]
    surveys = [survey_part("age", ArrayPart(part)) for part in parts]
    one, two = reduce(PartSurvey.add, surveys), reduce(PartSurvey.add, surveys[::-1])
    assert one[:6] == two[:6]
    np.testing.assert_allclose(one.cells, two.cells)


class Here:
    """Does all the work in this process."""

    def reduce(self, work, parts, add):
        return reduce(add, map(work, parts))


@pytest.mark.parametrize("objective", ["freshness", "age"])
def test_every_pass_over_the_parts_is_counted(objective):
    class Counted(Cut):
        passes = 0

        def blocks(self):
            self.passes += 1
            return super().blocks()

    part = Counted(items(200), 60)
    plan = allocate_parts([part], 20.0, Here(), objective=objective)
    assert plan.passes == part.passes
    assert plan.items == 200
    assert plan.spent == pytest.approx(20.0)
