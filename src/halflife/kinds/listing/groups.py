"""Listings whose groups of objects are fetched one by one, each when it is due.

The request for a group shows what arrived, changed and is missing in that group alone.
It is never taken for the whole list: a missing object is gone only when a full fetch
lacks it too, and only a full fetch finds new groups. So everything is read every
``full_every``, and whenever that costs no more than the groups that are due.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil

from halflife.core.budget import Purse
from halflife.core.errors import BudgetSpent
from halflife.core.lifetimes import Collection
from halflife.core.object_store import Attributes, Listing, group_text
from halflife.core.store import NoteBook
from halflife.engine.wallet import CountedPurse
from halflife.kinds.listing import incremental
from halflife.kinds.listing.client import ListingSettings, fetch_listing
from halflife.kinds.listing.settings import ListingConfig
from halflife.market.target_status import SOONEST
from halflife.net.gate import Gate
from halflife.policies.listings.group_dues import REMEMBERED, GroupDue
from halflife.readers.text import fingerprint
from halflife.stores.notes.group_fetches import GROUP_FETCHES, GroupFetches


@dataclass(frozen=True, slots=True)
class GroupPlan:
    """The next fetch of a listing with groups.

    Attributes:
        due: When, in days.
        values: The groups, by the value of their attribute; none for everything.
        cost: Its cost in requests.
        pace: Requests a day of all groups, each at its own interval.
        refreshed: Since when every group was fetched at least once, in days.
        fetched: When any group was last fetched, in days.

    """

    due: float
    values: tuple[str, ...]
    cost: int
    pace: float
    refreshed: float
    fetched: float


def fetches(store: NoteBook, source: ListingConfig) -> GroupFetches:
    """Return the fetches of single groups under the present settings."""
    mark = _settings_mark(source)
    known = GROUP_FETCHES.load(store, source.name) if source.group_request else None
    return known if known and known.asked == mark else GroupFetches(mark, {}, {})


def plan(
    source: ListingConfig,
    collection: Collection,
    dues: Sequence[GroupDue],
    fetches: GroupFetches,
    now_and_cost: tuple[float, int],
) -> GroupPlan | None:
    """Return the next fetch; None if the listing has no groups.

    ``now_and_cost`` are the time and the requests of a full fetch. Groups that are due
    at nearly the same time are fetched together.
    """
    if len(dues) < 2:
        return None
    now, whole = now_and_cost
    last = float(collection.looks[-1])
    full, first = last + source.full_days, min(group.due for group in dues)
    size = sum(group.size for group in dues)
    near = [group for group in dues if group.due <= max(now, first) + SOONEST]
    values = tuple(value for group in near for value in group.values)
    cost = sum(_cost(group, fetches, whole / max(size, 1)) for group in near)
    apart = full > max(now, first) and cost < whole and all(values)
    per_day = sum(
        _cost(group, fetches, whole / max(size, 1))
        / max(group.due - group.last, SOONEST)
        for group in dues
    )
    fetched = max((times[-1] for times in fetches.at.values() if times), default=last)
    return GroupPlan(
        due=min(full, first),
        values=values if apart else (),
        cost=cost if apart else whole,
        pace=min(per_day, whole / max(first - last, SOONEST)),
        refreshed=min(group.last for group in dues),
        fetched=max(fetched, last),
    )


def _cost(group: GroupDue, fetches: GroupFetches, per_object: float) -> int:
    """Return the cost of a group: of its last fetch, or its share of a full one."""
    estimate = max(ceil(group.size * per_object / len(group.values)), 1)
    return sum(fetches.cost.get(value, estimate) for value in group.values)


async def fetch_groups(
    gate: Gate,
    how: ListingSettings,
    source: ListingConfig,
    values: Sequence[str],
    purse: Purse,
) -> tuple[Listing | None, str]:
    """Fetch some groups; return what they list, and what went wrong.

    Stop after the first group that is not read to its end. Raise ``BudgetSpent`` if
    the first request cannot be paid.
    """
    found, costs = Listing(gate.clock(), {}, complete=False), dict[str, int]()
    trouble, any_read = "", False
    for value in values:
        payer = CountedPurse(purse)
        try:
            listing, trouble = await fetch_listing(
                gate, _only(how, source, value), payer
            )
        except BudgetSpent as error:
            if not any_read:
                raise
            listing, trouble = None, str(error)
        if listing is None:
            break
        any_read, records = True, {**found.records, **listing.records}
        found = replace(found, records=records, keyless=found.keyless + listing.keyless)
        trouble = trouble or _strange(source, value, listing)
        if trouble or not listing.complete:
            break
        costs[value] = payer.paid
    return (replace(found, note=trouble, groups=costs) if any_read else None), trouble


def _strange(source: ListingConfig, value: str, listing: Listing) -> str:
    """Return a complaint if the answer lists other groups too, else empty text."""
    rows = listing.records.values()
    other = {group_text(row.get(source.group)) for row in rows} - {value}
    if not other:
        return ""
    return (
        f"asked for {source.group} {value!r} it also lists {min(other)!r}; check "
        "group_request, or leave it out"
    )


def with_absent(listing: Listing, held: Mapping[str, Attributes], by: str) -> Listing:
    """Return a listing of groups with the objects that are absent from them now.

    ``held`` are the objects believed present, ``by`` is the attribute of the groups.
    Objects that were missing before are left to a full fetch: an object may have moved
    to another group.
    """
    fetched = listing.groups or {}
    expected = {key for key, row in held.items() if group_text(row.get(by)) in fetched}
    return replace(listing, absent=frozenset(expected - listing.records.keys()))


def note(store: NoteBook, source: ListingConfig, listing: Listing) -> None:
    """Save when groups were fetched."""
    costs = listing.groups
    if not costs:
        return
    earlier = fetches(store, source)
    times = dict(earlier.at)
    for value in costs:
        times[value] = (*times.get(value, ()), listing.at)[-REMEMBERED:]
    updated = GroupFetches(earlier.asked, times, {**earlier.cost, **costs})
    GROUP_FETCHES.save(store, updated, source.name)


def _only(how: ListingSettings, source: ListingConfig, value: str) -> ListingSettings:
    """Return the settings to request one group."""
    name, _, pattern = source.group_request.partition("=")
    return incremental.with_value(how, name, pattern.replace("{group}", value))


def _settings_mark(source: ListingConfig) -> str:
    keys = source.group_request, source.group, source.addresses, source.answer_reading
    return fingerprint(repr(keys).encode())[:16]
