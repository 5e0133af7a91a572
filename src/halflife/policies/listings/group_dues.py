"""When each group of a listing is due, where groups can be fetched separately."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from halflife.core.arrays import Floats
from halflife.core.lifetimes import Collection
from halflife.policies.listings import ListingPolicy, ListingTerms
from halflife.policies.listings.pace import last_fetch
from halflife.policies.listings.schedules import group_column

REMEMBERED = 100  # most fetches of one group that are stored


@dataclass(frozen=True, slots=True)
class GroupDue:
    """A group of objects with similar decay.

    Attributes:
        values: The attribute values of its objects; an empty text for objects without
            a value.
        size: Its objects in the last fetch.
        last: When all of it was fetched last, in days.
        due: When it is to be fetched again.

    """

    values: tuple[str, ...]
    size: int
    last: float
    due: float


def group_dues(
    policy: ListingPolicy,
    known: Collection,
    terms: ListingTerms,
    groups: Sequence[tuple[str, ...]],
    fetched: Mapping[str, Sequence[float]],
) -> tuple[GroupDue, ...]:
    """Return when each group is due; empty if the policy has one schedule for all.

    ``groups`` are those of the policy, by their values; ``fetched`` has the times at
    which single values were fetched. A group was fetched completely when the whole
    listing was, and when all its values were fetched together.
    """
    if policy.groups is None or not known.looks.size:
        return ()
    schedule, found = policy.groups(terms), []
    column = np.array(group_column(known, terms.group), object)
    for values in groups:
        part = known.select(np.isin(column, values))
        mine = replace(
            part, looks=_observed(part, [fetched.get(v, ()) for v in values])
        )
        last = last_fetch(mine)
        due = last + policy.bounded(mine, schedule.holds_part(mine), terms)
        there = int(np.count_nonzero(part.lives.present(last)))
        found.append(GroupDue(values, there, last, due))
    return tuple(found)


def _observed(part: Collection, fetched: Sequence[Sequence[float]]) -> Floats:
    """Return when a group was fetched completely.

    Times before the oldest stored fetch of a value are left out: missing fetches would
    pass for a long interval with too few changes.
    """
    together = sorted(set.intersection(*(set(times) for times in fetched)))
    since = max(
        (times[0] for times in fetched if len(times) >= REMEMBERED), default=0.0
    )
    observed = np.union1d(part.looks, together)
    return observed[observed >= since]
