"""What the next requests buy at pages, under the policy that would spend them.

A policy chooses; what its choice is worth is told in one currency, days of freshness,
so that it can be weighed against what other sources offer. A policy that weighs every
item by itself (``Weighing``) may come to fetch any of them. Any other is asked for its
plan: what it picks is offered in the order in which it picks it, and nothing else.
"""

from dataclasses import replace
from typing import Protocol, runtime_checkable

import numpy as np

from halflife.allocation import index
from halflife.core.arrays import Bools, Floats, Ints
from halflife.core.budget import Budget
from halflife.core.plan import Plan
from halflife.core.view import View
from halflife.models.quality import item_blocks
from halflife.policies import Policy
from halflife.policies.champion import PATIENCE
from halflife.policies.index import NEVER_SEEN_DAYS, Index

_ROUNDING = 1e-9  # by which a gain may exceed the one before it and still be no larger


@runtime_checkable
class Weighing(Protocol):
    """A policy that says what a fetch of each item buys, item by item."""

    def gain(self, view: View) -> Floats:
        """Return what a fetch of each item would buy now, per request."""
        ...


def weighing(policy: object) -> Weighing | None:
    """Return the policy that weighs items, inside of what shares out its budget.

    None if the policy does not weigh them one by one.
    """
    while policy is not None and not isinstance(policy, Weighing):
        policy = getattr(policy, "policy", None)
    return policy


def freshness_days(view: View) -> Floats:
    """Return what a fetch of each item buys now, in days of freshness, unweighted.

    With a little patience, as the champion has it: no page is left for ever.
    """
    gain = np.empty(len(view))
    for at, some in item_blocks(view):
        late = index(some, view.exposure[at], "harmonic")
        gain[at] = index(some, view.exposure[at], "freshness") + PATIENCE * late
    return gain


def turn_plan(
    policy: Policy, view: View, budget: Budget, rng: np.random.Generator
) -> Plan:
    """Return all that a policy would ask for in a turn, if nothing new came of it.

    A policy that looks at a sample first plans that alone, and is called again when it
    was fetched. Here it is called again as if its items had been tried and had shown
    nothing: what it would do then is the best guess at the rest of the turn.
    """
    plan = whole = policy(view, budget, rng)
    left = budget.requests - float(view.cost[plan.rows].sum())
    while len(plan) and left >= 1:
        view = _tried(view, plan.rows)
        plan = policy(view, Budget(int(left)), rng)
        if not len(plan):
            break
        whole = _after(whole, plan)
        left -= float(view.cost[plan.rows].sum())
    return whole


def valued(plan: Plan, view: View) -> Plan:
    """Return a plan whose gains are what its fetches buy in days of freshness.

    By weight and per request, as the gains of an index are.
    """
    rows = plan.rows
    days = np.minimum(freshness_days(view)[rows], NEVER_SEEN_DAYS)
    return replace(plan, gain=view.weight[rows] * days / view.cost[rows])


def offered(policy: Policy, view: View, value: Floats, requests: int) -> Floats:
    """Return what each item offers of its value, under a policy and its next requests.

    The k-th item of the plan can be had only with those before it. So what is offered
    falls along the plan: where a later item is worth more, both offer their mean.
    """
    rule = weighing(policy)
    if isinstance(rule, Index):  # it gains wherever freshness does
        return value
    if rule is not None:
        return np.where(rule.gain(view) > 0, value, 0.0)
    plan = turn_plan(policy, view, Budget(requests), np.random.default_rng(0))
    gain = np.zeros(len(view))
    gain[plan.rows] = falling(value[plan.rows], view.cost[plan.rows])
    return gain


def falling(value: Floats, cost: Floats) -> Floats:
    """Return values that fall, per cost, along an order that must be kept.

    Neighbours out of order share what they are worth by their costs, as often as it
    takes: the slopes of the least concave curve above the running sum of the values.

    >>> falling(np.array([1.0, 3.0, 1.0]), np.ones(3))
    array([2., 2., 1.])
    """
    if not value.size:
        return np.zeros(0)
    blocks: list[tuple[float, float, int]] = []  # value, cost, and from which item on
    for i, (worth, price) in enumerate(zip(value.tolist(), cost.tolist(), strict=True)):
        block = (worth, max(price, 1e-12), i)
        while blocks and _exceeds(block, blocks[-1]):
            before = blocks.pop()
            block = (before[0] + block[0], before[1] + block[1], before[2])
        blocks.append(block)
    found = value.astype(np.float64).copy()
    ends = [*(start for _, _, start in blocks[1:]), value.size]
    for (worth, price, start), end in zip(blocks, ends, strict=True):
        if end - start > 1:
            found[start:end] = worth / price * cost[start:end]
    return found


def _exceeds(one: tuple[float, float, int], before: tuple[float, float, int]) -> bool:
    return one[0] / one[1] > before[0] / before[1] * (1.0 + _ROUNDING)


def _tried(view: View, rows: Ints) -> View:
    """Return the view after items were tried, and showed nothing that could be used."""
    done: Bools = np.zeros(len(view), dtype=np.bool_)
    done[rows] = True
    return replace(view, looked=view.looked | done, ready=view.ready & ~done)


def _after(first: Plan, then: Plan) -> Plan:
    mine = frozenset(first.rows.tolist())
    return Plan(
        (*first.keys, *then.keys),
        np.concatenate([first.rows, then.rows]),
        np.concatenate([first.gain, then.gain]),
        lambda row: first.reason(row) if row in mine else then.reason(row),
    )
