"""Pages that are kept by several policies, seen as one."""

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any, NamedTuple

import numpy as np

from halflife.config import SourceConfig
from halflife.core.arrays import Floats, Ints
from halflife.core.evidence import Evidence
from halflife.core.plan import Plan
from halflife.core.view import Unrest, View, unfiled
from halflife.kinds.protocol import NEVER_SEEN
from halflife.models.mixed_survival import MixedSurvival
from halflife.policies.valuation import falling, freshness_days

# Columns that are not those of the parts.
_APART = frozenset({"group", "room", "due", "unsettled"})


class Offered(NamedTuple):
    """What a policy would fetch next of its own pages.

    Attributes:
        plan: What it would fetch; rows are those of its own pages.
        rows: The rows of its pages among all.
        value: What a fetch of each of its pages buys (``market_value``).
        cost: Requests that each takes.

    """

    plan: Plan
    rows: Ints
    value: Floats
    cost: Floats


def joined_view(
    evidence: Evidence, views: Sequence[View], rows: Sequence[Ints]
) -> View:
    """Return views of parts of the evidence as one view of all of it.

    Groups come from the evidence, so that a host is one group for all sources that
    fetch from it; its unrest is the mean of what is believed of its pages.
    """
    n = len(evidence)
    columns: dict[str, Any] = {}
    for field in fields(View):
        values = [getattr(view, field.name) for view in views]
        if isinstance(values[0], np.ndarray) and field.name not in _APART:
            columns[field.name] = _scattered(values, rows, n)
    unrest = [view.unrest for view in views]

    def both() -> Unrest:
        told = [each().of(view.group) for each, view in zip(unrest, views, strict=True)]
        pairs = zip(told, rows, strict=True)
        wide = [[np.broadcast_to(x, r.size) for x in one] for one, r in pairs]
        columns = [_scattered(each, rows, n) for each in zip(*wide, strict=True)]
        many = np.maximum(np.bincount(evidence.group), 1)
        return Unrest(*(np.bincount(evidence.group, c) / many for c in columns))

    return replace(
        views[0],
        keys=evidence.keys,
        group=evidence.group,
        room=np.broadcast_to(np.inf, n),
        due=np.zeros(0),
        survival=MixedSurvival(rows, [view.survival for view in views]),
        unrest=both,
        unsettled=_scattered([unsettled(view) for view in views], rows, n),
        topics=unfiled,
        **columns,
    )


def unsettled(view: View) -> Floats:
    """Return the days in which unrest counts, of each item."""
    return view.unsettled if view.unsettled.size else view.age


def _scattered(values: Sequence[Any], rows: Sequence[Ints], n: int) -> Any:  # noqa: ANN401
    whole = np.empty(n, dtype=np.result_type(*values))
    for value, mine in zip(values, rows, strict=True):
        whole[mine] = value
    return whole


def by_value(plans: Sequence[Offered], requests: int) -> Plan:
    """Return what requests are spent on if they go where they buy most freshness.

    Each policy's own order is kept; the reasons are its own, too.
    """
    keys = [key for one in plans for key in one.plan.keys]
    none: list[Any] = [np.zeros(0)]
    gain = np.concatenate([*none, *(one.plan.gain for one in plans)])
    cost = np.concatenate([*none, *(one.cost[one.plan.rows] for one in plans)])
    rows = np.concatenate([*none, *(one.rows[one.plan.rows] for one in plans)])
    value = np.concatenate([*none, *(_falling(one) for one in plans)])
    order = np.argsort(-value / np.maximum(cost, 1e-12), kind="stable")
    order = order[np.cumsum(cost[order]) <= requests]
    reasons = {
        int(row): (one.plan, int(own))
        for one in plans
        for own, row in zip(one.plan.rows, one.rows[one.plan.rows], strict=True)
    }

    def reason(row: int) -> str:
        plan, own = reasons[row]
        return plan.reason(own)

    taken = rows[order].astype(np.intp)
    return Plan(tuple(keys[i] for i in order.tolist()), taken, gain[order], reason)


def _falling(one: Offered) -> Floats:
    return falling(one.value[one.plan.rows], one.cost[one.plan.rows])


def shares(weight: Floats, source: SourceConfig) -> Floats:
    """Return how much each page of a source counts: its share, times its weight."""
    share = weight / max(float(weight.sum()), 1e-12)
    return source.weight * share


def market_value(view: View, share: Floats) -> Floats:
    """Return what a fetch of each page buys now, in weighted quality-days.

    Nothing where a page is not asked for now, because it failed.
    """
    value = share * np.minimum(freshness_days(view), NEVER_SEEN)
    return np.where(view.ready, value, 0.0)
