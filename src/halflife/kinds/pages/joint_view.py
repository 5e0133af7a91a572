"""Joint views and plans of pages that are kept by several policies."""

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

# Columns that are not joined from the parts.
_APART = frozenset({"group", "room", "due", "unsettled"})


class PlannedOffer(NamedTuple):
    """The next fetches of a policy, and their value.

    Attributes:
        plan: The plan; its rows are those of the policy's own pages.
        rows: The rows of its pages among all.
        value: The value of a fetch of each of its pages (``market_value``).
        cost: Requests of a fetch of each.

    """

    plan: Plan
    rows: Ints
    value: Floats
    cost: Floats


def joined_view(
    evidence: Evidence, views: Sequence[View], rows: Sequence[Ints]
) -> View:
    """Return one view of all evidence, joined from views of its parts.

    Groups come from the evidence, so a host is one group for all its sources. The
    unrest of a group is the mean of the beliefs about its pages.
    """
    n = len(evidence)
    columns: dict[str, Any] = {}
    for field in fields(View):
        values = [getattr(view, field.name) for view in views]
        if isinstance(values[0], np.ndarray) and field.name not in _APART:
            columns[field.name] = _scattered(values, rows, n)
    unrest = [view.unrest for view in views]

    def joined_unrest() -> Unrest:
        of_pages = [u().of(view.group) for u, view in zip(unrest, views, strict=True)]
        pairs = zip(of_pages, rows, strict=True)
        full = [[np.broadcast_to(x, r.size) for x in values] for values, r in pairs]
        columns = [_scattered(column, rows, n) for column in zip(*full, strict=True)]
        sizes = np.maximum(np.bincount(evidence.group), 1)
        return Unrest(*(np.bincount(evidence.group, c) / sizes for c in columns))

    return replace(
        views[0],
        keys=evidence.keys,
        group=evidence.group,
        room=np.broadcast_to(np.inf, n),
        due=np.zeros(0),
        survival=MixedSurvival(rows, [view.survival for view in views]),
        unrest=joined_unrest,
        unsettled=_scattered([view.unsettled_age for view in views], rows, n),
        topics=unfiled,
        **columns,
    )


def _scattered(values: Sequence[Any], rows: Sequence[Ints], n: int) -> Any:  # noqa: ANN401
    joined = np.empty(n, dtype=np.result_type(*values))
    for value, mine in zip(values, rows, strict=True):
        joined[mine] = value
    return joined


def by_value(plans: Sequence[PlannedOffer], requests: int) -> Plan:
    """Return a joint plan that spends requests where they buy most freshness.

    Each policy's order and reasons are kept.
    """
    keys = [key for offer in plans for key in offer.plan.keys]
    none: list[Any] = [np.zeros(0)]
    gain = np.concatenate([*none, *(offer.plan.gain for offer in plans)])
    cost = np.concatenate([*none, *(offer.cost[offer.plan.rows] for offer in plans)])
    rows = np.concatenate([*none, *(offer.rows[offer.plan.rows] for offer in plans)])
    value = np.concatenate([*none, *(_falling(offer) for offer in plans)])
    order = np.argsort(-value / np.maximum(cost, 1e-12), kind="stable")
    order = order[np.cumsum(cost[order]) <= requests]
    reasons = {
        int(row): (offer.plan, int(own))
        for offer in plans
        for own, row in zip(offer.plan.rows, offer.rows[offer.plan.rows], strict=True)
    }

    def reason(row: int) -> str:
        plan, own = reasons[row]
        return plan.reason(own)

    taken = rows[order].astype(np.intp)
    return Plan(tuple(keys[i] for i in order.tolist()), taken, gain[order], reason)


def _falling(offer: PlannedOffer) -> Floats:
    return falling(offer.value[offer.plan.rows], offer.cost[offer.plan.rows])


def shares(weight: Floats, source: SourceConfig) -> Floats:
    """Return the weights of pages, scaled to add up to the weight of their source."""
    share = weight / max(float(weight.sum()), 1e-12)
    return source.weight * share


def market_value(view: View, share: Floats) -> Floats:
    """Return the value of a fetch of each page now, in weighted quality-days.

    0 for a page that waits after a failure.
    """
    value = share * np.minimum(freshness_days(view), NEVER_SEEN)
    return np.where(view.ready, value, 0.0)
