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

_MET = 1e-10  # relative; a budget missed by more is sought again
_TRIES = 4
_PROBES = 60


@dataclass(frozen=True, slots=True)
class PartedAllocation:
    """What is known of a schedule whose frequencies the parts keep.

    Attributes:
        items: How many there are.
        price: What the last request a day buys, as in ``Allocation``.
        value: The weighted mean over all items, as in ``Allocation``.
        spent: Requests a day.
        kkt_residual: The largest miss of an item's worth from the price, relative.
        passes: How often all parts were gone through.

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
    """Write the schedule of ``allocate`` into the parts; return what it comes to.

    Weights, costs, shapes and objectives are as in ``allocate``. Limits of single items
    and of hosts are not known here. The budget is met to 1e-9, relatively.

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
    problem = Problem(objective, survey.bent, survey.heaviest or 1.0)
    market = _Market(problem, survey, spend, parts, executor)
    priced = market.first_price()
    for _ in range(_TRIES):
        if not priced.nothing:
            priced = market.meet(priced.low)
        done = market.write(priced)
        if priced.nothing or abs(done.spent - spend) <= _MET * spend:
            break
    return PartedAllocation(
        items=survey.items,
        price=priced.low * problem.scale,
        value=done.mean(objective),
        spent=done.spent,
        kkt_residual=done.worst,
        passes=market.passes,
    )


class _Market:
    """The passes over the parts, and how many there were."""

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
        """The price above which nobody asks for anything."""
        limited = self.problem.objective == "freshness"
        return _exp(self.survey.top - np.log(self.problem.scale)) if limited else np.inf

    def first_price(self) -> BudgetPrice:
        """Return the price that the histogram gives."""
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
        """Return the price at which the budget is met, from one that is near it.

        Each probe says on which side of its price the budget is met, so that the
        bracket shrinks whatever the slopes say.
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

    def write(self, priced: BudgetPrice) -> "Written":
        """Hand the frequencies to the parts; return what they come to."""
        self.passes += 1
        work = partial(write_part, self.problem, priced)
        return self.executor.reduce(work, self.parts, Written.add)


class Written(NamedTuple):
    """What the frequencies of a part come to.

    Attributes:
        spent: Requests a day.
        weight: The sum of the weights, as shares of the largest of all.
        value: The sum of the objective, weighed by them.
        worst: The largest miss of an item's worth from the price, relative.

    """

    spent: float
    weight: float
    value: float
    worst: float

    def add(self, other: Self) -> "Written":
        """Return what both come to together."""
        return Written(
            self.spent + other.spent,
            self.weight + other.weight,
            self.value + other.value,
            max(self.worst, other.worst),
        )

    def mean(self, objective: Objective) -> float:
        """Return the mean of the objective; without weight nothing is lost."""
        if self.weight > 0:
            return self.value / self.weight
        return 1.0 if objective == "freshness" else 0.0


def write_part(problem: Problem, priced: BudgetPrice, part: ItemPart) -> Written:
    """Hand the frequencies at a price to a part; return what they come to."""
    total = [Written(0.0, 0.0, 0.0, 0.0)]

    def frequencies() -> Iterator[Floats]:
        for block in part.blocks():
            found = []
            for some in block.cut():
                frequency, written = _written(problem, priced, some)
                total[0] = total[0].add(written)
                found.append(frequency)
            yield np.concatenate(found) if found else np.zeros(0)

    part.write(frequencies())
    return total[0]


def _written(
    problem: Problem, priced: BudgetPrice, block: ItemColumns
) -> tuple[Floats, Written]:
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
    return frequency, Written(spent, weight, weight * mean, worst)


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
    """Return the largest miss of an item's worth from the price, relative."""
    seen = frequency > 0
    if objective == "freshness" and not given.bent:
        x = given.pace / np.where(seen, frequency, 1.0)
        worth = np.where(seen, freshness_worth(x), 1.0) / given.pace
    else:
        g = given.shape if given.bent else 1.0
        worth = marginal(frequency, given.rate, shape=g, objective=objective)
    off = given.weight * worth / (given.cost * price) - 1.0
    return float(np.where(seen, np.abs(off), off).max(initial=0.0))


def _exp(log: float) -> float:
    return float(np.exp(min(log, 700.0)))
