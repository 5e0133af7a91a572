"""The value of the next requests to pages, under their policy.

The value of a policy's choices is computed in days of freshness, so that it can be
compared with the offers of other sources. A policy with a gain for every item
(``GainPolicy``) may fetch any of them. Of any other policy only the items of its plan
are offered, in the order of the plan.
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

_ROUNDING = 1e-9  # relative tolerance in comparisons of gains


@runtime_checkable
class GainPolicy(Protocol):
    """A policy with a gain of a fetch for each item."""

    def gain(self, view: View) -> Floats:
        """Return the gain of a fetch of each item now, per request."""
        ...


def gain_policy(policy: object) -> GainPolicy | None:
    """Return the policy with gains inside of wrappers that share its budget.

    None if the policy has no gains.
    """
    while policy is not None and not isinstance(policy, GainPolicy):
        policy = getattr(policy, "policy", None)
    return policy


def freshness_days(view: View) -> Floats:
    """Return the unweighted value of a fetch of each item now, in days of freshness.

    With the champion's patience, so that every page has some value.
    """
    gain = np.empty(len(view))
    for at, some in item_blocks(view):
        late = index(some, view.exposure[at], "harmonic")
        gain[at] = index(some, view.exposure[at], "freshness") + PATIENCE * late
    return gain


def turn_plan(
    policy: Policy, view: View, budget: Budget, rng: np.random.Generator
) -> Plan:
    """Return all that a policy would plan in a turn, if its fetches showed nothing new.

    A policy that samples first plans only the sample, and is called again after it was
    fetched. Here it is called again as if the sample had shown nothing: that is the
    best guess of the rest of the turn.
    """
    plan = total = policy(view, budget, rng)
    left = budget.requests - float(view.cost[plan.rows].sum())
    while len(plan) and left >= 1:
        view = _tried(view, plan.rows)
        plan = policy(view, Budget(int(left)), rng)
        if not len(plan):
            break
        total = _after(total, plan)
        left -= float(view.cost[plan.rows].sum())
    return total


def valued(plan: Plan, view: View) -> Plan:
    """Return a plan whose gains are the values of its fetches in days of freshness.

    Weighted and per request, like the gains of an index.
    """
    rows = plan.rows
    days = np.minimum(freshness_days(view)[rows], NEVER_SEEN_DAYS)
    return replace(plan, gain=view.weight[rows] * days / view.cost[rows])


def offered(policy: Policy, view: View, value: Floats, requests: int) -> Floats:
    """Return the value of each item that a policy with these requests would realise.

    The k-th item of a plan is available only with those before it. So offered values
    fall along the plan: where a later item has a higher value, both offer their mean.
    """
    rule = gain_policy(policy)
    if isinstance(rule, Index):  # its gain is positive wherever that of freshness is
        return value
    if rule is not None:
        return np.where(rule.gain(view) > 0, value, 0.0)
    plan = turn_plan(policy, view, Budget(requests), np.random.default_rng(0))
    gain = np.zeros(len(view))
    gain[plan.rows] = falling(value[plan.rows], view.cost[plan.rows])
    return gain


def falling(value: Floats, cost: Floats) -> Floats:
    """Return values per cost made non-increasing along a fixed order.

    Adjacent items out of order are pooled, repeatedly: the results are the slopes of
    the concave hull of the running sum of the values.

    >>> falling(np.array([1.0, 3.0, 1.0]), np.ones(3))
    array([2., 2., 1.])
    """
    if not value.size:
        return np.zeros(0)
    blocks: list[tuple[float, float, int]] = []  # value, cost, and first item
    for i, (worth, price) in enumerate(zip(value.tolist(), cost.tolist(), strict=True)):
        block = (worth, max(price, 1e-12), i)
        while blocks and _exceeds(block, blocks[-1]):
            before = blocks.pop()
            block = (before[0] + block[0], before[1] + block[1], before[2])
        blocks.append(block)
    pooled = value.astype(np.float64).copy()
    ends = [*(start for _, _, start in blocks[1:]), value.size]
    for (worth, price, start), end in zip(blocks, ends, strict=True):
        if end - start > 1:
            pooled[start:end] = worth / price * cost[start:end]
    return pooled


def _exceeds(block: tuple[float, float, int], before: tuple[float, float, int]) -> bool:
    return block[0] / block[1] > before[0] / before[1] * (1.0 + _ROUNDING)


def _tried(view: View, rows: Ints) -> View:
    """Return the view after fetches of items that showed nothing."""
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
