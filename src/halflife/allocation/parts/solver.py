"""The price for items in parts, and the third pass: their frequencies, checked."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, Self

import numpy as np

from halflife.allocation.array_kernel import freshness_worth
from halflife.allocation.columns import Columns, Objective, amount
from halflife.allocation.demand import spend_budget
from halflife.allocation.objectives import marginal, unknown_objective
from halflife.allocation.parts.bracket import (
    TRUST,
    Bracket,
    BudgetPrice,
    find_price,
    probe_part,
)
from halflife.allocation.parts.items import ItemColumns, ItemPart, Problem
from halflife.allocation.parts.survey import PartSurvey, survey_part
from halflife.allocation.solver import demand_of, start_of, value_of
from halflife.core.arrays import Floats
from halflife.core.executor import Executor

_MET = 1e-10  # relative error of the budget above which the price is sought again
_TRIES = 4
_PROBES = 60


@dataclass(frozen=True, slots=True)
class PartedAllocation:
    """The summary of a schedule whose frequencies are stored in the parts.

    Attributes:
        items: The number of items.
        price: The gain of the last request a day, as in ``Allocation``.
        value: The weighted mean over all items, as in ``Allocation``.
        spent: Requests a day.
        kkt_residual: The largest relative error of the optimality condition.
        passes: The number of passes over all parts.

    """

    items: int
    price: float
    value: float
    spent: float
    kkt_residual: float
    passes: int


def allocate_parts(
    parts: Sequence[ItemPart],
    budget: float,
    executor: Executor,
    *,
    objective: Objective = "freshness",
) -> PartedAllocation:
    """Write the schedule of ``allocate`` into the parts; return its summary.

    Weights, costs, shapes and objectives are as in ``allocate``. Limits of items and
    hosts are not supported. The budget is met to a relative error of 1e-9.

    >>> from halflife.allocation.parts import ArrayPart, ItemColumns
    >>> from halflife.executors.local import InProcess
    >>> part = ArrayPart(ItemColumns(np.array([1.0, 2.0, 3.0, 4.0, 5.0])))
    >>> round(allocate_parts([part], 5.0, InProcess()).spent, 8)
    5.0
    >>> part.frequency.round(2)
    array([1.15, 1.36, 1.35, 1.14, 0.  ])
    """
    spend = amount("budget", budget)
    if objective not in ("freshness", "age", "harmonic"):
        raise unknown_objective(objective)
    if not parts:
        raise ValueError("there must be at least one part")
    survey = executor.reduce(partial(survey_part, objective), parts, PartSurvey.add)
    problem = Problem(objective, survey.is_weibull, survey.heaviest or 1.0)
    market = _Market(problem, survey, spend, parts, executor)
    priced = market.first_price()
    for _ in range(_TRIES):
        if not priced.nothing:
            priced = market.meet(priced.low)
        result = market.write(priced)
        if priced.nothing or abs(result.spent - spend) <= _MET * spend:
            break
    return PartedAllocation(
        items=survey.items,
        price=priced.low * problem.scale,
        value=result.mean(objective),
        spent=result.spent,
        kkt_residual=result.worst,
        passes=market.passes,
    )


class _Market:
    """The passes over the parts, and their number."""

    def __init__(
        self,
        problem: Problem,
        survey: PartSurvey,
        budget: float,
        parts: Sequence[ItemPart],
        executor: Executor,
    ) -> None:
        self.problem = problem
        self.survey = survey
        self.budget = budget
        self.parts = parts
        self.executor = executor
        self.passes = 1

    @property
    def _top(self) -> float:
        """The price above which demand is 0."""
        limited = self.problem.objective == "freshness"
        return _exp(self.survey.top - np.log(self.problem.scale)) if limited else np.inf

    def first_price(self) -> BudgetPrice:
        """Return the price from the histogram."""
        if not self.survey.useful:
            return BudgetPrice(0.0, 0.0, nothing=True)
        if not self.budget:
            return BudgetPrice(self._top, self._top, nothing=True)
        objective = self.problem.objective
        few = self.survey.demand(objective, self.problem.scale)
        start = start_of(few, self.budget, objective)
        price = spend_budget(few, self.budget, start)[1]
        return BudgetPrice(price, price)

    def meet(self, price: float) -> BudgetPrice:
        """Return the price at which the budget is met, starting near it.

        Each probe shows on which side of its price the budget is met, so that the
        bracket shrinks for any slopes.
        """
        low, high = 0.0, self._top
        for _ in range(_PROBES):
            bracket = self._probe(price)
            found = find_price(bracket, self.budget, self._top, self.problem.objective)
            if abs(np.log(found.low / price)) <= TRUST:
                return found
            low, high = (price, high) if found.low > price else (low, price)
            price = found.low if low < found.low < high else np.sqrt(low * high)
        return found

    def _probe(self, price: float) -> Bracket:
        self.passes += 1
        work = partial(probe_part, self.problem, price)
        return self.executor.reduce(work, self.parts, Bracket.add)

    def write(self, priced: BudgetPrice) -> "PartResult":
        """Write the frequencies to the parts; return their summary."""
        self.passes += 1
        work = partial(write_part, self.problem, priced)
        return self.executor.reduce(work, self.parts, PartResult.add)


class PartResult(NamedTuple):
    """The summary of the frequencies of a part.

    Attributes:
        spent: Requests a day.
        weight: The sum of the weights, as shares of the largest of all.
        value: The sum of the objective, weighed by them.
        worst: The largest relative error of the optimality condition.

    """

    spent: float
    weight: float
    value: float
    worst: float

    def add(self, other: Self) -> "PartResult":
        """Return the summary of both together."""
        return PartResult(
            self.spent + other.spent,
            self.weight + other.weight,
            self.value + other.value,
            max(self.worst, other.worst),
        )

    def mean(self, objective: Objective) -> float:
        """Return the mean of the objective; without weight there is no loss."""
        if self.weight > 0:
            return self.value / self.weight
        return 1.0 if objective == "freshness" else 0.0


def write_part(problem: Problem, priced: BudgetPrice, part: ItemPart) -> PartResult:
    """Write the frequencies at a price to a part; return their summary."""
    total = [PartResult(0.0, 0.0, 0.0, 0.0)]

    def frequencies() -> Iterator[Floats]:
        for block in part.blocks():
            found = []
            for some in block.cut():
                frequency, written = _frequencies_and_result(problem, priced, some)
                total[0] = total[0].add(written)
                found.append(frequency)
            yield np.concatenate(found) if found else np.zeros(0)

    part.write(frequencies())
    return total[0]


def _frequencies_and_result(
    problem: Problem, priced: BudgetPrice, block: ItemColumns
) -> tuple[Floats, PartResult]:
    given = problem.columns(block)
    useful = given.useful
    every = bool(useful.all())
    some = given if every else given.take(useful)
    got, worst = np.zeros(some.rate.size), 0.0
    if some.rate.size and not priced.nothing:
        got = _looks(some, priced, problem.objective)
        worst = _residual(some, got, priced.low, problem.objective)
    frequency = got
    if not every:
        frequency = np.zeros(given.rate.size)
        frequency[useful] = got
    weight = float(given.weight.sum())
    mean = value_of(given, frequency, problem.objective)
    spent = float(given.cost @ frequency)
    return frequency, PartResult(spent, weight, weight * mean, worst)


def _looks(given: Columns, priced: BudgetPrice, objective: Objective) -> Floats:
    demand = demand_of(given, objective)
    frequency = np.empty(given.rate.size)
    demand.at(priced.low, frequency)
    if priced.high > priced.low:
        fewer = np.empty_like(frequency)
        demand.at(priced.high, fewer)
        frequency = fewer + priced.share * (frequency - fewer)
    return frequency


def _residual(
    given: Columns, frequency: Floats, price: float, objective: Objective
) -> float:
    """Return the largest relative error of the optimality condition."""
    fetched = frequency > 0
    if objective == "freshness" and not given.is_weibull:
        x = given.pace / np.where(fetched, frequency, 1.0)
        worth = np.where(fetched, freshness_worth(x), 1.0) / given.pace
    else:
        g = given.shape if given.is_weibull else 1.0
        worth = marginal(frequency, given.rate, shape=g, objective=objective)
    error = given.weight * worth / (given.cost * price) - 1.0
    return float(np.where(fetched, np.abs(error), error).max(initial=0.0))


def _exp(log: float) -> float:
    return float(np.exp(min(log, 700.0)))
