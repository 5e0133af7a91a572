"""The kind of source that is a database behind a form."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil, inf
from typing import TYPE_CHECKING

import numpy as np

from halflife.core.arrays import Floats
from halflife.core.errors import SourceError
from halflife.core.forecast import Forecast
from halflife.core.forms import Interface
from halflife.core.lifetimes import Collection
from halflife.core.object_store import Register
from halflife.core.value_curve import Offers
from halflife.core.wording import count
from halflife.engine import rhythms
from halflife.engine.breakers import Breaker
from halflife.engine.renewals import renewed
from halflife.kinds.form import audit, client, runner, value
from halflife.kinds.form.quality import form_ages, form_quality
from halflife.kinds.form.settings import FormConfig
from halflife.kinds.listing import schema_drift
from halflife.kinds.listing.kind import RECENT
from halflife.kinds.listing.runner import ListingOutcome
from halflife.kinds.listing.state import age_of
from halflife.kinds.protocol import (
    NEVER_SEEN,
    Description,
    Desk,
    Errand,
    Known,
    Memo,
    Reading,
    Step,
    one_offer,
)
from halflife.kinds.whole import (
    AHEAD,
    WholeKind,
    WholeResult,
    losses,
    records_per_change,
    step_of,
)
from halflife.market.curves import Decay
from halflife.market.target_rule import Goal, WholeCopy
from halflife.models.rhythm import LearnedRhythm
from halflife.queries.form_copy import FormCopy
from halflife.queries.turn_result import PlannedQuery
from halflife.readers.containment import contained
from halflife.stores import Store

if TYPE_CHECKING:
    from pathlib import Path

    from halflife.kinds.page_view import PageRequest, PageView
    from halflife.recognition.guess import SourceGuess, TrialAnswer
    from halflife.replay.recorded_source import RecordedHistory, RecordedSource

FIRST_SHARE = 0.25  # share of the remaining budget for the first turn
SHOWN = 10  # queries on a page


@dataclass(frozen=True)
class FormState:
    """The state of a database behind a form.

    Attributes:
        source: Its settings.
        now: When the state was read, in days.
        reading: The settings, and cached results.
        collection: Its history; None if nothing of it was ever read.
        copy: Its copy; None if there is none.
        interface: The capabilities of the form.
        habit: The learned hours at which it changes.
        turns: The times of its latest turns, in days.

    """

    source: FormConfig
    now: float
    reading: Reading
    collection: Collection | None
    copy: FormCopy | None
    interface: Interface
    habit: LearnedRhythm
    turns: Floats

    @property
    def memo(self) -> Memo:
        """Cached results."""
        return self.reading.memo

    @cached_property
    def whole(self) -> float:
        """Requests of a full fetch."""
        return 1.0 if self.copy is None else value.whole(self.copy, self.source)

    @property
    def shortest(self) -> float:
        """Days between two full fetches that settings allow."""
        return self.reading.shortest(self.source, self.whole)

    @cached_property
    def decay(self) -> Decay | None:
        """How the copy decays after a full fetch."""
        copy = self.copy
        if copy is None:
            return None
        seen = self.source.name, len(copy.records), copy.last
        if seen not in self.memo.decays:
            wish = runner.wish(self.source)
            self.memo.decays[seen] = value.decay(copy, wish, 0.95)
        return self.memo.decays[seen]


class FormKind(WholeKind[FormConfig, FormState]):
    """Databases behind forms, read query by query."""

    answer_keys = "records, key, fields and total"
    planned_as = "queries", "query"
    foreseen_by = "The forecast lets records come and change at the rates seen so far."
    checked_by = "records drawn at random"
    unchecked = "no record was drawn to check it in the last 30 days"

    def recognise(self, answer: "TrialAnswer") -> "Sequence[SourceGuess]":
        """Return how an answer could be kept as a source of this kind."""
        from halflife.kinds.form import recognition  # noqa: PLC0415  (only `add`)

        return recognition.recognise(answer)

    def states(
        self, reading: Reading, sources: Sequence[FormConfig]
    ) -> Mapping[str, FormState]:
        """Read the states of databases."""
        return {source.name: _state(reading, source) for source in sources}

    def quality(
        self, state: FormState, sure: float, ahead: Floats, *, looks: bool
    ) -> Forecast | None:
        """Return the share of records that are present and right, without queries."""
        del looks
        if state.copy is None:
            return None
        rhythm = state.habit.rhythm
        return form_quality(
            state.copy, state.source, state.now, sure, ahead, rhythm=rhythm
        )

    def worth(self, state: FormState, confidence: float) -> Known:
        """Return the value of requests in the long run."""
        copy, source, whole = state.copy, state.source, state.whole
        if copy is None:
            return Known(source, whole, None, "nothing of it was read yet")
        if not copy.begun:
            return Known(source, whole, None, "its first crawl has not come to its end")
        decay = value.decay(copy, runner.wish(source), confidence)
        cost, measure = (whole, state.shortest), value.measure_of(source)
        return Known(source, whole, renewed(source, measure, decay, cost, confidence))

    def offers(self, state: FormState) -> Offers:
        """Return the gains of the next queries, best first."""
        copy, source = state.copy, state.source
        if copy is None:
            return one_offer(source, 1.0, NEVER_SEEN)
        budget = state.reading.config.budget
        # A turn that is cut short is continued by the next: a first crawl gets what
        # comes in, and nothing waits for more requests than there will ever be.
        most = budget.requests if copy.begun else budget.hourly
        cost, gain = value.gains(copy, self._plan(state, copy, value.PLANNED), most)
        none = np.zeros(cost.size, dtype=np.intp)
        return Offers((source.name,), none, cost, source.weight * gain)

    def _plan(self, state: FormState, copy: FormCopy, most: int) -> list[PlannedQuery]:
        rhythm, when = state.habit.rhythm, (state.now, most)
        return runner.planned(copy, state.interface, rhythm, state.source, when)

    def measure(self, source: FormConfig) -> str:
        """Return the name of the quality measure of the copy."""
        return value.measure_of(source)

    def recorded(self, store: Store, source: FormConfig) -> "RecordedSource | None":
        """Return the history of the copy as a recording."""
        from halflife.kinds.form.recorded_source import RecordedForm  # noqa: PLC0415  (slow)
        from halflife.recordings.registers import relation_of  # noqa: PLC0415

        if source.name not in store.collections():
            return None
        relation = relation_of(store.register(source.name), source.name)
        interface = client.interface(source)
        purpose = "known" if source.purpose == "known" else "new"
        differs = source.differs_by
        return RecordedForm(source.name, relation, interface, purpose, differs)

    def recordings(self, folder: "Path") -> "Sequence[RecordedHistory]":
        """Return the history of objects in a folder, as a table behind a form."""
        from halflife.kinds.form.recorded_tables import table_histories  # noqa: PLC0415  (slow)

        return table_histories(folder)

    def page(self, request: "PageRequest[FormConfig]") -> "PageView":
        """Return the page: objects that came and went, past and next queries."""
        from halflife.kinds import object_page  # noqa: PLC0415
        from halflife.kinds.page_view import PageView, QueryLog  # noqa: PLC0415

        store, source = request.reading.store, request.source
        facts = client.measured_facts(store, source)
        findings = [str(finding) for finding in facts.findings] if facts else []
        steps = self.queries(request.reading, source, SHOWN)
        log = QueryLog(steps, runner.latest_queries(store, source), findings)
        if source.name not in store.collections():
            return PageView(log=log)
        collection, now = store.collection(source.name), request.reading.now
        view = object_page.page(collection, request.about, now, "", self.foreseen_by)
        return replace(view, log=log)

    def sync_cost(self, steps: Sequence[Step]) -> float:
        """Return ``inf``: a sync goes on as long as queries are worth their cost."""
        del steps
        return inf

    def queries(self, reading: Reading, source: FormConfig, most: int) -> list[Step]:
        """Return the next queries, best first."""
        state = self.states(reading, [source])[source.name]
        return self.steps(state, most)

    def describe(self, state: FormState) -> Description:
        """Return how many records the copy has, and how many arrive."""
        measure, copy = value.measure_of(state.source), state.copy
        if copy is None:
            never = state.collection is None
            why = "never fetched" if never else "nothing of it was read yet"
            return Description(measure, why=why)
        items = len(copy.records)
        collection = state.collection
        gone = 0 if collection is None else int(collection.gone().size)
        if not copy.begun:
            why = f"its first crawl goes on; {count(items, 'record')} read so far"
            return Description(measure, items, copy.last, gone=gone, why=why)
        short = copy.reported.words(items) if copy.reported else ""
        short = short or (copy.unseen.words() if copy.unseen else "")
        note = short if measure == "recall" else ""
        rate = copy.arrival[0]
        return Description(measure, items, copy.last, rate, gone, note=note)

    def steps(self, state: FormState, most: int) -> list[Step]:
        """Return the next queries, best first."""
        planned = self._plan(state, state.copy or FormCopy.of(Register()), most)
        return [Step(q.what, q.requests, q.gain, q.why) for q in planned]

    def ages(self, state: FormState, *, some: bool = False) -> Floats:
        """Return the days since any part of it was fetched."""
        del some
        return np.array([age_of(state.collection, state.now)])

    def parts(self, state: FormState) -> Floats:
        """Return the days since each record was seen."""
        if state.copy is None:
            return self.ages(state)
        return form_ages(state.copy, state.source, state.now)

    def decay(self, state: FormState) -> Decay | None:
        """Return how the copy decays after a full fetch."""
        return state.decay

    def whole(self, state: FormState) -> float:
        """Return the requests of a full fetch."""
        return state.whole

    def cost(self, state: FormState) -> float:
        """Return the requests of a full fetch, rounded up."""
        return float(ceil(state.whole))

    def shortest(self, state: FormState) -> float:
        """Return the days between two full fetches that settings allow."""
        return state.shortest

    def standing(self, state: FormState, goal: Goal) -> tuple[WholeCopy, float] | None:
        """Return how it stands: the mean over records, each at its own age.

        Ages are effective days, and records that change together count as one.
        """
        copy, decay = state.copy, state.decay
        if copy is None or decay is None:
            return None
        things = float(len(copy.records))
        if not copy.begun:  # its first crawl is not complete
            return WholeCopy(things, 0.0, 1.0, 0.0, AHEAD), 0.0
        new = runner.wish(state.source).purpose == "new"
        seen = np.array([copy.last] if new else list(copy.seen.values()))
        step = step_of(decay, goal, state.shortest)
        lost = losses(decay, state.habit, seen, (state.now, step))
        units = max(things / records_per_change(state.habit), 1.0)
        return WholeCopy(units, *lost, step), inf

    def looks(self, state: FormState) -> Floats:
        """Return the times of its latest turns."""
        return state.turns

    def first_cost(
        self, reading: Reading, group: Sequence[FormConfig], room: int
    ) -> float:
        """Return the requests of the first turn; 0 if there was one."""
        (source,) = group
        if source.name in reading.store.collections():
            return 0.0
        return max(room * FIRST_SHARE, 1.0)

    def drift(
        self, reading: Reading, source: FormConfig, breaker: Breaker
    ) -> tuple[Sequence[str], Sequence[str]]:
        """Return what its answers lack now, and what is new about them."""
        return schema_drift.report(reading.store, source, breaker, reading.now)

    def reader(self, desk: Desk, source: FormConfig) -> "FormReader":
        """Return the reader of a form."""
        return FormReader(desk, source)


class FormReader:
    """Queries one form, and checks a share of its copy by randomly drawn records."""

    def __init__(self, desk: Desk, source: FormConfig) -> None:
        self._desk, self._source = desk, source
        self._client: client.FormClient | None = None
        self._owed = 0.0  # requests for checks; fractions add up
        self._short = 0  # the least that a read needs if the last had only redirects

    async def sync(self, errand: Errand) -> "runner.FormOutcome | ListingOutcome":
        """Run a turn as requested; a share of it goes into checks."""
        form_client, source = self._open_client(), self._source
        share = self._desk.config.audit.share if self._desk.audits else 0.0
        try:
            with contained(source.where):
                checks = audit.usual_checks(form_client, source, errand.most, share)
                return (await audit.turn(form_client, source, errand.most, checks))[0]
        except SourceError as error:
            return ListingOutcome(source.name, 0, trouble=str(error))

    def _open_client(self) -> client.FormClient:
        desk = self._desk
        self._client = client.FormClient(desk.config, desk.store, desk.clock, desk.gate)
        return self._client

    async def read(self, requests: int) -> "runner.FormOutcome":
        """Run a turn with the most valuable queries; a share goes into checks."""
        desk, form_client = self._desk, self._open_client()
        requests, self._short = max(requests, self._short), 0
        if desk.audits:
            self._owed += desk.config.audit.share * requests
        outcome, checked = await audit.turn(
            form_client, self._source, requests, int(self._owed)
        )
        self._owed -= checked
        seen = outcome.looked.listed or outcome.kept.absent or outcome.trouble
        if outcome.requests and not seen:
            # All of it went into redirects: allow one more request next time.
            self._short = outcome.requests + 1
        return outcome

    def ease(self) -> None:
        """Send nothing more."""
        if self._client is not None:
            self._client.ease()

    def audit(self, result: WholeResult) -> None:
        """Do nothing: randomly drawn records have scored the forecasts already."""


def _state(reading: Reading, source: FormConfig) -> FormState:
    store, name = reading.store, source.name
    collection = store.collection(name) if name in store.collections() else None
    turns = {query.at for query in runner.latest_queries(store, source)}
    return FormState(
        source=source,
        now=reading.now,
        reading=reading,
        collection=collection,
        copy=value.load_copy(store, source),
        interface=client.corrected(store, source).interface,
        habit=rhythms.recall(store, name),
        turns=np.array(sorted(turns))[-RECENT:],
    )


KIND = FormKind()
