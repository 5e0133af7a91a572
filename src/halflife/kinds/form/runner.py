"""Turns of forms: query, check, and save or put aside."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from math import inf, nextafter
from typing import TYPE_CHECKING

import numpy as np

from halflife import plugins
from halflife.alerts.schemas import ColumnFill
from halflife.core.errors import ConfigError, SourceError
from halflife.core.forms import Interface, ResultPage
from halflife.core.object_store import Attributes, Listing, Register
from halflife.core.tracker import TrackedChange, Tracker
from halflife.core.wording import count
from halflife.engine import rhythms
from halflife.engine.threads import submit
from halflife.kinds.form.claims import FormClaims
from halflife.kinds.form.client import FormClient, corrected
from halflife.kinds.form.corpus import load_word_counts
from halflife.kinds.form.settings import FormConfig
from halflife.kinds.form.web_form import FormEngine, WebForm
from halflife.kinds.listing import (
    runner as listing_runner,
    schema_drift as listing_schema_drift,
)
from halflife.kinds.listing.runner import ListingOutcome
from halflife.kinds.listing.schema_drift import TOTAL
from halflife.models.rhythm import Rhythm
from halflife.queries.first_crawl import first_crawl, start_crawl
from halflife.queries.form_copy import FormCopy, FormWish
from halflife.queries.frontier import CrawlState, read_crawl, write_crawl
from halflife.queries.known.content import measure, weigher
from halflife.queries.ledger import Ledger
from halflife.queries.policies import (
    EXPECTED,
    INDEX,
    KnownPolicy,
    NewPolicy,
)
from halflife.queries.reported_total import ReportedTotal
from halflife.queries.turn_result import PlannedQuery, TurnResult
from halflife.queries.upkeep import maintain, plan_ahead
from halflife.queries.value_reads import FormReads
from halflife.readers.containment import contained
from halflife.stores import NoteBook, Run, Store
from halflife.stores.notes import NoteKind
from halflife.stores.notes.form_crawl import FIRST_CRAWL, MISSING_SEARCH, CrawlNote
from halflife.stores.notes.form_queries import FORM_QUERIES, TriedQuery
from halflife.stores.notes.form_reads import FORM_READS
from halflife.stores.notes.form_round import FORM_ROUND, FormRound
from halflife.stores.notes.form_unseen import FORM_UNSEEN
from halflife.stores.notes.reported_total import REPORTED_TOTAL

if TYPE_CHECKING:
    from halflife.queries.split_crawl import CrawlRun

CRAWL, SEARCH = FIRST_CRAWL, MISSING_SEARCH  # notes on crawls that were cut short
REMEMBERED = 50  # queries whose results are kept
BROKEN = "an error of the program ended it"
NOTED = 20  # answers after which progress is saved


@dataclass(frozen=True, slots=True)
class FormOutcome:
    """The outcome of a turn of a form.

    Attributes:
        looked: The records seen, and the changes against the copy.
        kept: The queries, and why the turn ended.

    """

    looked: ListingOutcome
    kept: TurnResult

    @property
    def source(self) -> str:
        """The source."""
        return self.looked.source

    @property
    def run(self) -> int:
        """The run of the turn."""
        return self.looked.run

    @property
    def requests(self) -> int:
        """Requests sent."""
        return self.looked.requests

    @property
    def held(self) -> str:
        """Why the answer waits for a decision; empty if it does not."""
        return self.looked.held

    @property
    def trouble(self) -> str:
        """What went wrong; empty if nothing did."""
        return self.looked.trouble

    @property
    def section(self) -> str:
        """The key of such results in a program's answer."""
        return "listings"

    @property
    def partly(self) -> bool:
        """Whether some records were seen, although not all may have been."""
        return self.looked.partly

    def row(self) -> dict[str, object]:
        """Return it as a row for programs."""
        asked = [query._asdict() for query in self.kept.asked]
        turn = {"refreshed": self.kept.refreshed, "stop": self.kept.stop}
        return {**self.looked.row(), **turn, "asked": asked}

    def words(self, *, trouble: bool = True) -> str:
        """Return the same in a line; without ``trouble``, leave out what went wrong."""
        looked = self.looked
        if looked.held or (looked.trouble and not looked.listed):
            return looked.words(trouble=trouble)
        change = looked.change
        return (
            f"{looked.source}: {count(looked.requests, 'request')}, "
            f"{count(looked.listed, 'record')} "
            f"seen: {change.arrived} new, {change.updated} updated, "
            f"{change.missing} missing, {change.gone} gone; {self.kept.stop}"
        )


def wish(source: FormConfig) -> FormWish:
    """Return the purpose of a copy by the settings; or raise ``ConfigError``."""
    try:
        content_measure = measure(source.differs_by or "changed")
        weight = weigher(source.weight_by or None)
    except (ValueError, ImportError, AttributeError) as error:
        raise ConfigError(f"source {source.name}: {error}") from None
    new, known = policies_of(source)
    return FormWish(
        source.purpose,
        content_measure,
        weight,
        date=source.date,
        new=new,
        known=known,
        max_staleness=source.max_staleness,
        corpus=load_word_counts(source.corpus) if source.corpus else None,
    )


@lru_cache(64)  # needed at every turn, and installed packages are slow to list
def _policy(group: str, name: str) -> object:
    return plugins.load(group, name, object)


def policies_of(source: FormConfig) -> tuple[NewPolicy, KnownPolicy]:
    """Return the policies for new records and for known ones."""
    new, known = EXPECTED, INDEX
    for name in source.policies:
        policy = _policy(source.policy_group, name)
        if isinstance(policy, NewPolicy):
            new = policy
        elif isinstance(policy, KnownPolicy):
            known = policy
        else:
            raise ConfigError(
                f"source {source.name}: the policy {name!r} is neither a NewPolicy "
                "nor a KnownPolicy"
            )
    return new, known


def load_copy(store: Store, source: FormConfig) -> FormCopy:
    """Return the copy of a form's database, with an unfinished crawl if any."""
    exists = source.name in store.collections()
    copy = FormCopy.of(store.register(source.name) if exists else Register())
    unseen = FORM_UNSEEN.load(store, source.name)
    copy = replace(copy, reported=_reported(store, source), unseen=unseen)
    copy = replace(copy, reads=load_reads(store, source))
    rounds = FORM_ROUND.load(store, source.name)
    if rounds is not None and rounds.of == _rounds_of(store, source):
        copy = replace(copy, new_round=rounds.new, known_round=rounds.known)
    if not CRAWL.exists(store, source.name):
        return replace(copy, search=_restored(store, source, SEARCH, copy))
    # The position may not be known: then the crawl starts again.
    return replace(copy, since=inf, crawl=_restored(store, source, CRAWL, copy))


def load_reads(store: NoteBook, source: FormConfig) -> FormReads:
    """Return when the values of a form were last read, as far as it was noted."""
    return FORM_READS.load(store, source.name) or FormReads()


def _restored(
    store: Store, source: FormConfig, what: NoteKind[CrawlNote], copy: FormCopy
) -> CrawlState | None:
    """Return a crawl that was cut short; None if it cannot be continued."""
    kept = what.load(store, source.name)
    # What was proved by other claims does not hold.
    if kept is None or kept.of != _claims(store, source):
        return None
    return read_crawl(kept.crawl, copy.records)


def _reported(store: Store, source: FormConfig) -> ReportedTotal | None:
    """Return how many records a form reports, if its totals are credible."""
    reported = REPORTED_TOTAL.load(store, source.name)
    if reported and corrected(store, source).interface.counts == "none":
        return None
    return reported


def _rounds_of(store: Store, source: FormConfig) -> str:
    """Return what rounds of several turns depend on, in words."""
    by = " ".join(filter(None, (*source.policies, source.corpus)))
    return f"{by}: {_claims(store, source)}"


def _claims(store: Store, source: FormConfig) -> str:
    """Return the capabilities of a form that plans use, in words."""
    return str(corrected(store, source).interface)


async def sync(
    client: FormClient,
    source: FormConfig,
    *,
    most: int | None = None,
    notify: Callable[[PlannedQuery], None] = lambda _: None,
) -> FormOutcome:
    """Run the most valuable queries of a form, as far as budget or ``most`` allow.

    An answer that lacks more than is credible is put aside: nothing is removed, and
    ``held`` says why. Raise ``BudgetSpent`` if nothing can be spent.
    """
    wanted, copy = wish(source), load_copy(client.store, source)
    store, loop = client.store, asyncio.get_running_loop()
    how, link = corrected(store, source), _link(store, source, copy)
    rhythm = rhythms.rhythm(store, source.name)
    notes = _TurnRecorder(client, source, copy, loop)
    claims = FormClaims(store, source, loop)

    def work(desk: WebForm, run: Run) -> TurnResult:
        notes.run, notes.desk, rng = run, desk, np.random.default_rng(run.id)
        _continue(desk.engine, copy, link)
        refuted = partial(claims.refute, desk.engine)
        ledger = Ledger(desk, most, stopped=lambda: desk.stopped, refuted=refuted)
        notes.ledger, begins = ledger, notes.search_begins

        def turn() -> TurnResult:
            if not copy.records and claims.facts is None:
                claims.measure(ledger, desk.engine, rng)
            if not copy.records or not copy.begun:
                notes.crawl = start_crawl(ledger, copy)
                return first_crawl(notes.crawl, client.clock())
            own = rhythms.in_effective_time(copy, rhythm)
            now = float(rhythm.time(np.array(client.clock())))
            return maintain(ledger, own, wanted, now, rng, notify, begins=begins)

        return _contained(turn, source, ledger, notes)

    kept = await client.run(
        source, how, work, most=most, notify=notes.add, write=notes.write
    )
    assert notes.looked is not None
    return FormOutcome(notes.looked, kept)


def _contained(
    turn: Callable[[], TurnResult],
    source: FormConfig,
    ledger: Ledger,
    notes: "_TurnRecorder",
) -> TurnResult:
    """Return the result of a turn; an error of the program becomes its trouble."""
    try:
        with contained(source.where):
            return turn()
    except SourceError as error:
        return _broken(ledger, notes.crawl, str(error))


def _continue(form: FormEngine, copy: FormCopy, link: str) -> None:
    """Give a form what an earlier turn learned of the unfinished query.

    Otherwise a form with one request a turn would get only its first page every time.
    """
    crawl = copy.crawl or copy.search
    begun = None if crawl is None else crawl.begun
    if begun is None or not begun.pages:
        return
    form.take_page_size(begun.page_size)
    if link:
        form.bookmark(begun.query, begun.pages, link)


def _broken(ledger: Ledger, crawl: "CrawlRun | None", why: str) -> TurnResult:
    """Return the result of a turn that failed: what it read until then counts."""
    left = None if crawl is None else crawl.so_far()
    return TurnResult(dict(ledger.seen), stop=BROKEN, trouble=why, left=left)


class _TurnRecorder:
    """Saves the answers of a form, from time to time and at the end.

    So a crash costs no more than the answers since the last note.
    """

    def __init__(
        self,
        client: FormClient,
        source: FormConfig,
        copy: FormCopy,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self.run: Run | None = None
        self.desk: WebForm | None = None
        self.ledger: Ledger | None = None
        self.crawl: CrawlRun | None = None
        self._search: CrawlRun | None = None
        self.looked: ListingOutcome | None = None
        self._client, self._source, self._loop = client, source, loop
        self._copy = copy
        self._fresh: dict[str, Attributes] = {}
        self._answers = 0
        self._before = TrackedChange()
        self._totals = ColumnFill(0, 0)  # answers, and those with the number of hits

    def search_begins(self, crawl: "CrawlRun") -> None:
        """Note that missing records are searched for from now on."""
        self._search = crawl

    def add(self, found: ResultPage) -> None:
        """Add an answer; called in the thread that queries."""
        self._fresh.update(found.records)
        answers, totals = self._totals.records, self._totals.filled
        self._totals = ColumnFill(answers + 1, totals + (found.total is not None))
        self._answers += 1
        if self._answers >= NOTED and self.run is not None:
            note = submit(self._note(self.run), self._loop)
            note.result()

    async def _note(self, run: Run) -> None:
        store, source = self._client.store, self._source
        self._answers = 0
        if listing_schema_drift.holds(store, source, self._fresh):
            return  # that is decided at the end
        if self._fresh:
            tracked = listing_runner.tracker(store, source)
            listing = Listing(self._now(tracked), dict(self._fresh), complete=False)
            self._before = _summed(self._before, tracked.take(listing))
            store.save_register(run, source.name, tracked.news())
        if self.crawl is not None:  # after its records, which it only names
            self._save(CRAWL, self.crawl.so_far())
        if self._search is not None:
            self._save(SEARCH, self._search.so_far())
        self._fresh = {}

    def write(self, kept: TurnResult, run: Run) -> None:
        """Save the result of the turn, or put it aside if it is not credible."""
        store, source, spent = self._client.store, self._source, self._client.spent
        _remember(store, source, kept, self._client.clock())
        looked = ListingOutcome(source.name, run.id, spent, trouble=kept.trouble)
        if kept.records or kept.absent or self._ends(kept):
            tracked = listing_runner.tracker(store, source)
            at, note = self._now(tracked), "" if kept.left else kept.stop
            listing = Listing(at, dict(kept.records), kept.complete, note, kept.absent)
            if kept.records or kept.absent:
                looked = listing_runner.write(
                    store, run, source, listing, spent, kept.trouble
                )
            else:  # only the end of what was read before: an answer without records
                looked = listing_runner.save_listing(
                    store, run, tracked, listing, looked
                )
            if not looked.held:
                shown = rhythms.TurnRecords(at, listing.records, listing.absent)
                wanted = wish(source)
                rhythms.learn(store, source.name, self._copy, wanted, shown)
        if self._totals.records and source.total:
            listing_schema_drift.note_answers(
                store, source, {TOTAL: self._totals}, self._client.clock()
            )
        if self.crawl is not None and not looked.held:
            self._save(CRAWL, kept.left)
        if not looked.held:
            self._save_rounds(kept)
            self._save(SEARCH, kept.search)
            if kept.reported:
                REPORTED_TOTAL.save(store, kept.reported, source.name)
            else:
                REPORTED_TOTAL.remove(store, source.name)
            self._save_reads()
            if kept.unseen:
                FORM_UNSEEN.save(store, kept.unseen, source.name)
        self.looked = replace(looked, change=_summed(self._before, looked.change))

    def _save(self, what: NoteKind[CrawlNote], crawl: CrawlState | None) -> None:
        """Save the position of a crawl, or remove it."""
        store, source = self._client.store, self._source
        if crawl is None:
            what.remove(store, source.name)
            return
        begun, link = crawl.begun, ""
        if begun is not None and self.desk is not None:
            link = self.desk.engine.address_of(begun.query, begun.pages)
        kept = CrawlNote(_claims(store, source), write_crawl(crawl), link)
        what.save(store, kept, source.name)

    def _save_reads(self) -> None:
        """Save when the values of the form were last read."""
        if self.ledger is not None:
            copy, now = self._copy, self._client.clock()
            reads = copy.reads.after(self.ledger, copy, now)
            FORM_READS.save(self._client.store, reads, self._source.name)

    def _save_rounds(self, kept: TurnResult) -> None:
        """Save the position of rounds, or remove it."""
        store, source = self._client.store, self._source
        if kept.new_round is None and kept.known_round is None:
            FORM_ROUND.remove(store, source.name)
            return
        of = _rounds_of(store, source)
        rounds = FormRound(of, kept.new_round, kept.known_round)
        FORM_ROUND.save(store, rounds, source.name)

    def _ends(self, kept: TurnResult) -> bool:
        """Say whether a crawl of several turns has come to its end."""
        return self.crawl is not None and self.crawl.resumed and kept.left is None

    def _now(self, tracked: Tracker) -> float:
        """Return the time, or just after the last turn if the clock stood still."""
        return max(self._client.clock(), nextafter(tracked.last, inf))


def _link(store: Store, source: FormConfig, copy: FormCopy) -> str:
    """Return the address of the next page of a crawl, if only a link leads there.

    So a crawl that the budget cuts short does not read the same pages every turn.
    """
    what = CRAWL if copy.crawl is not None else SEARCH
    kept = what.load(store, source.name)
    return kept.link if kept else ""


def _remember(store: Store, source: FormConfig, kept: TurnResult, now: float) -> None:
    """Save the results of the latest queries, for display."""
    rows = [TriedQuery(now, *row) for row in reversed(kept.tried)]
    latest = [*rows, *latest_queries(store, source)][:REMEMBERED]
    FORM_QUERIES.save(store, latest, source.name)


def latest_queries(store: NoteBook, source: FormConfig) -> list[TriedQuery]:
    """Return the results of the latest queries, the last one first."""
    return FORM_QUERIES.load(store, source.name) or []


def _summed(first: TrackedChange, second: TrackedChange) -> TrackedChange:
    return TrackedChange(
        first.arrived + second.arrived,
        first.updated + second.updated,
        second.missing,
        second.gone,
        first.flapped + second.flapped,
        second.unobserved,
    )


def planned(
    copy: FormCopy,
    interface: Interface,
    rhythm: Rhythm,
    source: FormConfig,
    when: tuple[float, int],
) -> list[PlannedQuery]:
    """Return the first queries of a turn; ``when`` is now, and the number of requests.

    It uses the capabilities of the form, and effective days of the source's rhythm.
    """
    now, most = when
    if not copy.records:
        first = "everything, query by query"
        return [PlannedQuery(first, most, 0.0, "there is no copy yet")]
    rng = np.random.default_rng(0)
    own = rhythms.in_effective_time(copy, rhythm)
    moment = float(rhythm.time(np.array(now)))
    return plan_ahead(own, interface, wish(source), moment, rng, most)
