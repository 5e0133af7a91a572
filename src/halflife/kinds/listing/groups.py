"""Listings whose groups of objects are fetched one by one, each when it is due.

The request for a group shows what came, changed and is missing in that group alone. It
is never taken for all of the list: what it lacks has gone when a full fetch lacks it
too, and only a full fetch finds groups that nobody knew. So everything is read every
``full_every``, and whenever that is no dearer than the groups that are due.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil

from halflife.core.budget import Purse
from halflife.core.errors import BudgetSpent
from halflife.core.lifetimes import Collection
from halflife.core.object_store import Attributes, Listing, group_text
from halflife.core.store import NoteBook
from halflife.kinds.listing import incremental
from halflife.kinds.listing.client import ListingSettings, look
from halflife.kinds.listing.settings import ListingConfig
from halflife.market.stand import SOONEST
from halflife.net.gate import Gate
from halflife.policies.listings.group_dues import REMEMBERED, GroupDue
from halflife.readers.text import fingerprint
from halflife.stores.notes.group_fetches import GROUP_FETCHES, GroupFetches


@dataclass(frozen=True, slots=True)
class GroupPlan:
    """What is fetched next of a listing with groups.

    Attributes:
        due: When, in days.
        values: The groups, by the value of their attribute; none for everything.
        cost: Requests that it takes.
        pace: Requests a day that all groups take, each at its own interval.
        refreshed: Since when every group was fetched at least once, in days.
        fetched: When any group was fetched last, in days.

    """

    due: float
    values: tuple[str, ...]
    cost: int
    pace: float
    refreshed: float
    fetched: float


def fetches(store: NoteBook, source: ListingConfig) -> GroupFetches:
    """Return when single groups were fetched, under the present settings."""
    asked = _asked(source)
    known = GROUP_FETCHES.load(store, source.name) if source.group_request else None
    return known if known and known.asked == asked else GroupFetches(asked, {}, {})


def plan(
    source: ListingConfig,
    known: Collection,
    dues: Sequence[GroupDue],
    done: GroupFetches,
    asked: tuple[float, int],
) -> GroupPlan | None:
    """Return what is fetched next; None if there are no groups to tell apart.

    ``asked`` are the time and the requests of a full fetch. Groups that are due at the
    same time, or nearly, are fetched together.
    """
    if len(dues) < 2:
        return None
    now, whole = asked
    last = float(known.looks[-1])
    full, first = last + source.full_days, min(one.due for one in dues)
    size = sum(one.size for one in dues)
    near = [one for one in dues if one.due <= max(now, first) + SOONEST]
    values = tuple(value for one in near for value in one.values)
    cost = sum(_cost(one, done, whole / max(size, 1)) for one in near)
    apart = full > max(now, first) and cost < whole and all(values)
    each = sum(
        _cost(one, done, whole / max(size, 1)) / max(one.due - one.last, SOONEST)
        for one in dues
    )
    fetched = max((times[-1] for times in done.at.values() if times), default=last)
    return GroupPlan(
        due=min(full, first),
        values=values if apart else (),
        cost=cost if apart else whole,
        pace=min(each, whole / max(first - last, SOONEST)),
        refreshed=min(one.last for one in dues),
        fetched=max(fetched, last),
    )


def _cost(group: GroupDue, done: GroupFetches, each: float) -> int:
    """Return the requests of a group: what they took, or its share of a full fetch."""
    new = max(ceil(group.size * each / len(group.values)), 1)
    return sum(done.cost.get(value, new) for value in group.values)


@dataclass(slots=True)
class _CountedPurse:
    """A purse that counts what is paid from it."""

    purse: Purse
    paid: int = 0

    @property
    def left(self) -> int:
        return self.purse.left

    def pay(self, requests: int = 1) -> None:
        self.purse.pay(requests)
        self.paid += requests


async def look_at_groups(
    gate: Gate,
    how: ListingSettings,
    source: ListingConfig,
    values: Sequence[str],
    purse: Purse,
) -> tuple[Listing | None, str]:
    """Fetch some groups; return what they list, and what went wrong.

    After the first group that is not read to its end no other is asked for. Raise
    ``BudgetSpent`` if there is nothing to pay the first request with.
    """
    found, costs = Listing(gate.clock(), {}, complete=False), dict[str, int]()
    trouble, read = "", False
    for value in values:
        payer = _CountedPurse(purse)
        try:
            one, trouble = await look(gate, _only(how, source, value), payer)
        except BudgetSpent as error:
            if not read:
                raise
            one, trouble = None, str(error)
        if one is None:
            break
        read, records = True, {**found.records, **one.records}
        found = replace(found, records=records, keyless=found.keyless + one.keyless)
        trouble = trouble or _strange(source, value, one)
        if trouble or not one.complete:
            break
        costs[value] = payer.paid
    return (replace(found, note=trouble, groups=costs) if read else None), trouble


def _strange(source: ListingConfig, value: str, listing: Listing) -> str:
    """Say that an answer lists other groups too; empty if it does not."""
    rows = listing.records.values()
    other = {group_text(row.get(source.group)) for row in rows} - {value}
    if not other:
        return ""
    return (
        f"asked for {source.group} {value!r} it also lists {min(other)!r}; check "
        "group_request, or leave it out"
    )


def with_absent(listing: Listing, held: Mapping[str, Attributes], by: str) -> Listing:
    """Return a listing of groups with the objects that these lack now.

    ``held`` are the objects that are there as far as anybody knows, ``by`` is the
    attribute of the groups. Those that were missing before are left to a full fetch:
    an object may have moved to another group.
    """
    wanted = listing.groups or {}
    mine = {key for key, row in held.items() if group_text(row.get(by)) in wanted}
    return replace(listing, absent=frozenset(mine - listing.records.keys()))


def note(store: NoteBook, source: ListingConfig, listing: Listing) -> None:
    """Write down that groups were fetched."""
    costs = listing.groups
    if not costs:
        return
    done = fetches(store, source)
    times = dict(done.at)
    for value in costs:
        times[value] = (*times.get(value, ()), listing.at)[-REMEMBERED:]
    made = GroupFetches(done.asked, times, {**done.cost, **costs})
    GROUP_FETCHES.save(store, made, source.name)


def _only(how: ListingSettings, source: ListingConfig, value: str) -> ListingSettings:
    """Return how one group is asked for."""
    name, _, pattern = source.group_request.partition("=")
    return incremental.asking(how, name, pattern.replace("{group}", value))


def _asked(source: ListingConfig) -> str:
    said = source.group_request, source.group, source.addresses, source.answer_reading
    return fingerprint(repr(said).encode())[:16]
