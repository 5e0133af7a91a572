"""Containment of policies: their faults are named, and harm no other policy.

A policy that raises, or chooses what cannot be chosen, ends in a ``PolicyError`` with
its name. It gets a view that it cannot change.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any

import numpy as np

from halflife.belief import Belief
from halflife.core.arrays import Floats
from halflife.core.budget import Budget
from halflife.core.errors import HalflifeError, PolicyError
from halflife.core.evidence import Evidence
from halflife.core.plan import Plan
from halflife.core.view import View
from halflife.core.wording import count, number
from halflife.policies import Strategy
from halflife.policies.valuation import GainPolicy
from halflife.readers.containment import describe

_TIGHT = 1e-6  # by which a sum of costs may miss the budget


@contextmanager
def blaming(name: str) -> Iterator[None]:
    """Turn an error within the block into a ``PolicyError`` that names the policy."""
    try:
        yield
    except HalflifeError:
        raise
    except (Exception, SystemExit) as error:
        raise PolicyError(name, f"failed: {describe(error)}") from error


def check(name: str, wrong: str) -> None:
    """Raise ``PolicyError`` if anything is wrong with what a policy chose."""
    if wrong:
        raise PolicyError(name, wrong)


def bad_plan(plan: object, view: View, budget: Budget) -> str:
    """Return what is wrong with a plan; empty if nothing is."""
    if not isinstance(plan, Plan):
        return "returns no Plan"
    if wrong := _bad_columns(plan, view):
        return wrong
    rows = plan.rows
    if np.unique(rows).size != rows.size or view.looked[rows].any():
        return "plans an item twice in a turn"
    if not view.ready[rows].all():
        return "plans an item that must wait after a failure"
    cost, most = float(view.cost[rows].sum()), count(budget.requests, "request")
    over = cost > budget.requests + _TIGHT
    return f"plans a cost of {number(cost, 4)} where it has {most}" if over else ""


def _bad_columns(plan: Plan, view: View) -> str:
    """Return what is wrong with the columns of a plan."""
    rows = plan.rows
    if np.ndim(rows) != 1 or np.asarray(rows).dtype.kind != "i":
        return "returns a plan whose rows are no column of integers"
    if len(plan.keys) != rows.size or np.shape(plan.gain) != rows.shape:
        return "returns a plan whose columns differ in length"
    if rows.size and (rows.min() < 0 or rows.max() >= len(view)):
        return "plans a row that the view has not"
    if tuple(view.keys[row] for row in rows.tolist()) != tuple(plan.keys):
        return "plans keys that are not those of the rows"
    return "" if np.isfinite(plan.gain).all() else "plans a gain that is not finite"


def bad_column(column: object, view: View, *, least: float = -np.inf) -> str:
    """Return what is wrong with a number for each item; empty if nothing is."""
    if not isinstance(column, np.ndarray) or column.shape != (len(view),):
        return "does not return one number for each item"
    fine = column.dtype.kind in "fiub" and np.isfinite(column).all()
    return "" if fine and (column >= least).all() else "returns an impossible number"


@dataclass(frozen=True, slots=True)
class ContainedPolicy:
    """A policy whose faults are named.

    Attributes:
        name: Its name in settings.
        rule: The policy itself.

    """

    name: str
    rule: Any

    def __call__(self, view: View, budget: Budget, rng: np.random.Generator) -> Plan:
        """Return the next requests; raise ``PolicyError`` if they cannot be sent."""
        with blaming(self.name):
            plan: Plan = self.rule(_frozen(view), budget, rng)
            wrong = bad_plan(plan, view, budget)
        check(self.name, wrong)
        return plan


class ContainedGains(ContainedPolicy):
    """A policy with gains whose faults are named."""

    __slots__ = ()

    def gain(self, view: View) -> Floats:
        """Return the gain of a fetch of each item; raise ``PolicyError`` if odd."""
        return _column(self.name, "gain", self.rule.gain, view)


@dataclass(slots=True)
class ContainedBelief:
    """A belief of a plug-in whose faults are named.

    Attributes:
        name: The policy that uses it.
        belief: The belief itself.

    """

    name: str
    belief: Belief

    def __call__(self, evidence: Evidence, now: float, since: float) -> View:
        """Return the view; raise ``PolicyError`` if there is none."""
        with blaming(self.name):
            view = self.belief(evidence, now, since)
            wrong = "" if type(view) is View else "has a belief that returns no View"
        check(self.name, wrong)
        return view


def contained(name: str, strategy: Strategy) -> Strategy:
    """Return the strategy of a plug-in with its faults contained."""
    rule, pace, schedule = strategy.policy, strategy.pace, strategy.schedule
    wrapped = ContainedGains if isinstance(rule, GainPolicy) else ContainedPolicy

    def believe() -> Belief:
        with blaming(name):
            belief = strategy.belief()
        ours = type(belief).__module__.startswith("halflife.")
        return belief if ours else ContainedBelief(name, belief)

    def column(method: str, call: Callable[[View], Floats], view: View) -> Floats:
        return _column(name, method, call, view, least=0.0)

    def scheduled(view: View, a_day: float) -> Floats:
        assert schedule is not None
        return column("schedule", lambda given: schedule(given, a_day), view)

    return replace(
        strategy,
        policy=wrapped(name, rule),
        belief=believe,
        pace=pace and partial(column, "pace", pace),
        schedule=schedule and scheduled,
    )


def _column(
    name: str,
    method: str,
    call: Callable[[View], Floats],
    view: View,
    *,
    least: float = -np.inf,
) -> Floats:
    with blaming(name):
        column = call(_frozen(view))
        wrong = bad_column(column, view, least=least)
    check(name, f"{wrong} as {method}" if wrong else "")
    return column


def _frozen(view: View) -> View:
    """Return the view with columns that cannot be changed."""
    columns: dict[str, Any] = {
        field.name: column.view()
        for field in fields(view)
        if isinstance(column := getattr(view, field.name), np.ndarray)
    }
    for column in columns.values():
        column.flags.writeable = False
    return replace(view, **columns)
