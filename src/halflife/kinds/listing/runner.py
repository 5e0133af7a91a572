"""Runs of listings: fetch, check, and save or put aside."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import ClassVar, TypeAlias

from halflife.config import Config, SourceConfig
from halflife.config.answers import RecordsConfig
from halflife.core.budget import Purse
from halflife.core.errors import SourceError, UsageError
from halflife.core.object_store import Listing, Register
from halflife.core.tracker import TrackedChange, Tracker
from halflife.core.wording import count
from halflife.engine import bootstrap, costs, network, rhythms
from halflife.engine.leased_session import Visitor
from halflife.engine.loop import LEASE, Clock
from halflife.engine.offline import is_lost
from halflife.kinds.listing import (
    function,
    groups,
    incremental,
    requests,
    schema_drift,
)
from halflife.kinds.listing.client import fetch_listing
from halflife.kinds.listing.settings import CONFIRM_HOURS, ListingConfig
from halflife.kinds.listing.state import state_of
from halflife.kinds.protocol import Memo, Reading
from halflife.models.guard import DeleteGuard, LossVerdict
from halflife.models.listing_identity import ListingIdentity
from halflife.net.addresses import shown
from halflife.net.gate import Gate
from halflife.readers.containment import contained
from halflife.readers.records import UNREADABLE
from halflife.stores import Run, Staged, Store
from halflife.stores.notes.held_removals import HELD_REMOVALS, HeldRemovals

HOURS = 24.0
SHOWN = "what it shows is in the copy"  # of an answer whose removals alone are held

Read: TypeAlias = Callable[[Gate, Purse], Awaitable[tuple[Listing | None, str]]]
"""Reads a listing; returns it, and what went wrong."""


@dataclass(frozen=True, slots=True)
class ListingOutcome:
    """The outcome of a fetch of a listing.

    Attributes:
        source: The source.
        run: The run that fetched it.
        requests: Requests sent.
        listed: Objects listed.
        change: The changes against the copy.
        trouble: What went wrong; empty if nothing did.
        held: Why the answer waits for a decision; empty if it does not.
        shown: Whether what a held answer shows was taken: only removals wait.
        scheduled: Whether it is known, too, how soon that is out of date.
        newer: Whether only newer records were requested.
        groups: The groups that were requested; none if it was everything.

    """

    section: ClassVar[str] = "listings"  # the key in a program's answer

    source: str
    run: int
    requests: int = 0
    listed: int = 0
    change: TrackedChange = field(default_factory=TrackedChange)
    trouble: str = ""
    held: str = ""
    shown: bool = False
    scheduled: bool = False
    newer: bool = False
    groups: tuple[str, ...] = ()

    @property
    def partly(self) -> bool:
        """Whether something was listed, although not all may have been."""
        return self.listed > 0

    def row(self) -> dict[str, object]:
        """Return it as a row for programs."""
        change = self.change
        row: dict[str, object] = {
            "source": self.source,
            "run": self.run,
            "requests": self.requests,
            "listed": self.listed,
            "arrived": change.arrived,
            "updated": change.updated,
            "missing": change.missing,
            "gone": change.gone,
        }
        return {
            **row,
            "unobserved": list(change.unobserved),
            "trouble": self.trouble,
            "held": self.held,
            "held_removals_only": self.shown,
            "newer_only": self.newer,
            "groups": list(self.groups),
        }

    def words(self, *, trouble: bool = True) -> str:
        """Return the same in a line.

        Without ``trouble`` what went wrong is left out, if it is shown elsewhere; the
        line is empty if there is nothing else.
        """
        change = self.change
        if self.held:
            taken = f": {change.arrived} new, {change.updated} updated"
            return f"{self.source}: held: {self.held}{taken if self.shown else ''}"
        if self.trouble and not self.listed:
            return f"{self.source}: {self.trouble}" if trouble else ""
        text = (
            f"{self.source}: {count(self.listed, 'object')}: {change.arrived} new, "
            f"{change.updated} updated, {change.missing} missing, {change.gone} gone"
        )
        if self.newer:
            text = (
                f"{self.source}: {count(self.listed, 'newer object')}: "
                f"{change.arrived} new, {change.updated} updated"
            )
        if self.groups:
            text += f"; only of {', '.join(self.groups)}"
        if change.unobserved:
            text += f"; not seen: {', '.join(change.unobserved)}"
        if not self.trouble:
            return text
        return (
            f"{text}; incomplete: {self.trouble}" if trouble else f"{text}; incomplete"
        )


def tracker(store: Store, source: SourceConfig) -> Tracker:
    """Return a tracker with the stored state of a source."""
    collections = store.collections()
    register = store.register(source.name) if source.name in collections else Register()
    if not isinstance(source, ListingConfig):
        return Tracker(register, confirm=CONFIRM_HOURS / HOURS)
    return Tracker(register, group=source.group, confirm=source.confirm_hours / HOURS)


def doubt(tracked: Tracker, listing: Listing) -> LossVerdict | None:
    """Return the verdict of the guard on a listing; None if it is credible.

    Objects that were taken from held answers must not make a loss look smaller, so
    then the loss of the others is judged, too.
    """
    if not (listing.complete or listing.absent):
        return None
    guard: DeleteGuard | None = None
    for old in (False, True) if tracked.took_shown else (False,):
        held, gone, gap = tracked.losses(listing, old=old)
        if held:
            guard = guard or DeleteGuard().fit(*tracked.register().cycles())
            verdict = guard.judge(held, gone, gap)
            if not verdict.credible:
                return verdict
    return None


async def sync(  # noqa: PLR0913  (the source, its reader, and the limits)
    config: Config,
    store: Store,
    source: ListingConfig,
    *,
    most: int | None = None,
    clock: Clock = bootstrap.clock,
    gate: Gate | None = None,
    read: Read | None = None,
) -> ListingOutcome:
    """Fetch a listing once, as far as the budget allows.

    ``read`` reads it; by default as the settings say.

    An answer that lacks more than is credible is put aside: nothing is removed, and
    ``held`` says why. What it shows is taken if it is this listing. Requests that our
    own network kept from being sent leave no trace. Raise ``BudgetSpent`` if nothing
    can be spent.
    """
    read = read or reading(config, source, store, clock)
    visitor = Visitor(config, store, clock, gate)
    async with visitor.visit(source.name, most) as (run, way, purse):
        listing, trouble = await read(way, purse)
        if listing is not None and _is_unreadable(store, source, listing):
            listing, trouble = None, _unlike(source)
        if listing is None:
            if not is_lost(trouble):
                _note_failure(store, run, source, trouble, clock())
            return ListingOutcome(source.name, run.id, purse.spent, trouble=trouble)
        if listing.groups is not None:
            held = tracker(store, source).held
            listing = groups.with_absent(listing, held, source.group)
        elif not listing.newer:
            costs.note(store, source.name, purse.spent)
        try:
            with contained(source.where):
                outcome = write(store, run, source, listing, purse.spent, trouble)
        except SourceError as error:
            _note_failure(store, run, source, str(error), clock())
            return ListingOutcome(source.name, run.id, purse.spent, trouble=str(error))
        if not outcome.held:
            rhythms.learn_listing(store, source.name)
            incremental.note(store, source, listing, purse.spent)
        if outcome.shown or not outcome.held:
            groups.note(store, source, listing)
        return outcome


def reading(config: Config, source: ListingConfig, store: Store, clock: Clock) -> Read:
    """Return the reader of a listing: by its addresses, or by its function.

    Where groups can be requested, it fetches those that are due; all if none is.
    """
    if source.python:
        listing_function = function.load(source.python, config.path.parent)
        access = network.access(source)
        return lambda gate, purse: function.fetch_records(
            gate, listing_function, access, purse
        )
    how, memo = requests.settings(source, network.access(source)), Memo()

    async def read(gate: Gate, purse: Purse) -> tuple[Listing | None, str]:
        due = _groups_due(Reading(config, store, clock(), memo), source)
        if due:
            return await groups.fetch_groups(gate, how, source, due, purse)
        position = incremental.progress(store, source, clock())
        settings = incremental.newer(how, source, position) if position else how
        return await fetch_listing(gate, settings, purse)

    return read


def _groups_due(reading: Reading, source: ListingConfig) -> tuple[str, ...]:
    """Return the groups to be fetched now; none if everything is."""
    if not source.group_request:
        return ()
    planned = state_of(reading, source).plan
    return planned.values if planned and planned.due <= reading.now else ()


def _is_unreadable(store: Store, source: ListingConfig, listing: Listing) -> bool:
    """Say whether an empty answer may not be the list at all.

    That is so until something was listed; afterwards the guard decides.
    """
    return listing.blank and not tracker(store, source).register().spells


def _unlike(source: ListingConfig) -> str:
    return (
        f"{shown(source.where)}: {UNREADABLE}: nothing in its HTML matches "
        f"records {source.records!r}, and it never listed anything before"
    )


def incomplete(store: Store, name: str) -> str:
    """Return why the last answer was incomplete; empty if it was complete."""
    snapshots = store.register(name).snapshots
    last = snapshots[-1] if snapshots else None
    return last.note if last and last.valid and not last.complete else ""


def _note_failure(
    store: Store, run: Run, source: ListingConfig, why: str, now: float
) -> None:
    tracked = tracker(store, source)
    tracked.reject(now, why)
    store.save_register(run, source.name, tracked.news())


def put_aside(store: Store, run: Run, source: SourceConfig, listing: Listing) -> None:
    """Let a run list something that is not credible; it waits for a decision."""
    outcome = write(store, run, ListingConfig.of(source), listing, 3, "")
    if not outcome.held:
        raise ValueError(f"{source.name} would accept it")


def write(
    store: Store,
    run: Run,
    source: RecordsConfig,
    listing: Listing,
    requests: int,
    trouble: str,
) -> ListingOutcome:
    """Save a listing, or put it aside if it is not credible."""
    tracked = tracker(store, source)
    outcome = ListingOutcome(source.name, run.id, requests, trouble=trouble)
    why = _against(store, source, tracked, listing)
    if why:
        outcome = replace(outcome, listed=len(listing.records), trouble="", held=why)
        with store.together():
            return _hold(store, run, source, tracked, listing, outcome)
    return save_listing(store, run, tracked, listing, outcome)


def _hold(
    store: Store,
    run: Run,
    source: RecordsConfig,
    tracked: Tracker,
    listing: Listing,
    outcome: ListingOutcome,
) -> ListingOutcome:
    """Put a listing aside; save what it shows if it is this listing at all."""
    name, why = source.name, outcome.held
    if not is_recognised(store, source, tracked, listing):
        store.stage(run, name, listing, why)
        return outcome
    change = tracked.take_shown(listing)
    why = f"{why}; {SHOWN}"
    store.stage(run, name, listing, why, tracked.news())
    _, lacked, _ = tracked.losses(listing)
    waits = HeldRemovals(listing.at, lacked, len(tracked.held))
    HELD_REMOVALS.save(store, waits, name)
    scheduled = tracked.register().cycles()[0].size > 0
    outcome = replace(outcome, held=why, change=change, shown=True)
    return replace(outcome, scheduled=scheduled)


def is_recognised(
    store: Store, source: RecordsConfig, tracked: Tracker, listing: Listing
) -> bool:
    """Say whether an answer that lacks too much still shows this listing.

    Else it may be anything: a login page, another list, another language.
    """
    if schema_drift.loses(store, source, listing):
        return False
    history = tracked.register()
    identity = ListingIdentity().fit(*history.renewals())
    _, _, gap = tracked.losses(listing)
    return identity.is_shown_by(tracked.shown(listing), gap)


def save_listing(
    store: Store, run: Run, tracked: Tracker, listing: Listing, outcome: ListingOutcome
) -> ListingOutcome:
    """Save a listing without a check."""
    change = tracked.take(listing)
    with store.together():
        store.save_register(run, outcome.source, tracked.news())
        HELD_REMOVALS.remove(store, outcome.source)  # it replaces what waited
    return replace(
        outcome,
        listed=len(listing.records),
        change=change,
        newer=listing.newer,
        groups=tuple(listing.groups or ()),
    )


def _against(
    store: Store, source: RecordsConfig, tracked: Tracker, listing: Listing
) -> str:
    """Return why the user has to decide on a listing; empty if it is credible.

    A listing that lacks too much does not change the remembered columns, and neither do
    a few newer records.
    """
    if listing.newer:
        return ""
    verdict = doubt(tracked, listing)
    if verdict is not None and listing.records:
        return verdict.why
    drift = schema_drift.note_listing(store, source, listing)
    return "; ".join(filter(None, (verdict.why if verdict else "", drift)))


def accept(
    config: Config, store: Store, run: int, clock: Clock = bootstrap.clock
) -> ListingOutcome:
    """Accept the answer that a run put aside; raise ``UsageError`` if it did not.

    It then counts as a normal fetch: an object that it lacks is gone when the next
    complete fetch lacks it too.
    """
    waiting = _waiting(store, run)
    source = config.named([waiting.source])[0]
    own_run = store.begin([source.name], clock(), lease=LEASE)
    try:
        waiting = _waiting(store, run)  # from here on the lease protects it
        tracked = tracker(store, source)
        change = tracked.take_accepted(waiting.listing)
        with store.together():
            store.save_register(own_run, source.name, tracked.news())
            HELD_REMOVALS.remove(store, source.name)
            schema_drift.accept(store, source, waiting.listing)
    finally:
        store.finish(own_run, clock())
    return ListingOutcome(source.name, run, 0, len(waiting.listing.records), change)


def accept_group(
    config: Config, store: Store, name: str, group: str, clock: Clock = bootstrap.clock
) -> int:
    """Accept that a group is gone; return how many objects that are."""
    source = config.named([name])[0]
    own_run = store.begin([name], clock(), lease=LEASE)
    try:
        tracked = tracker(store, source)
        objects = tracked.accept(group)
        store.save_register(own_run, name, tracked.news())
    finally:
        store.finish(own_run, clock())
    return objects


def _waiting(store: Store, run: int) -> Staged:
    staged = store.staged()
    for waiting in staged:
        if waiting.run == run:
            return waiting
    waiting_runs = ", ".join(f"{w.run} ({w.source})" for w in staged) or "none"
    raise UsageError(f"run {run} left nothing to decide; waiting: {waiting_runs}")
