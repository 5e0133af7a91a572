"""The kind of source that lists objects."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from halflife.core.arrays import Floats
from halflife.core.errors import SourceError
from halflife.core.forecast import Forecast
from halflife.core.lifetimes import Collection
from halflife.core.value_curve import Offers
from halflife.core.wording import span
from halflife.engine import costs
from halflife.engine.breakers import Breaker
from halflife.engine.renewals import renewed
from halflife.kinds.listing import incremental, runner, schema_drift
from halflife.kinds.listing.audit import audit_set
from halflife.kinds.listing.settings import ListingConfig
from halflife.kinds.listing.state import ListingState, age_of, policy_of, state_of
from halflife.kinds.protocol import (
    NEVER_SEEN,
    Description,
    Desk,
    Errand,
    Known,
    Prospects,
    Reading,
    Step,
    one_offer,
)
from halflife.kinds.whole import (
    SLACK,
    WholeKind,
    WholeResult,
    losses,
    records_per_change,
    step_of,
)
from halflife.market import price
from halflife.market.curves import Decay
from halflife.market.target_rule import Goal, WholeCopy
from halflife.market.target_status import (
    FIRST,
    LATEST,
    SOONEST,
    TargetMemory,
    TargetStatus,
)
from halflife.models.held_quality import held_recall
from halflife.models.recall_curve import recall
from halflife.net.pacing import LONGEST_CLOSURE
from halflife.readers.containment import contained
from halflife.stores import Store
from halflife.stores.forecasts import IssuedForecast
from halflife.stores.notes.held_removals import HELD_REMOVALS

if TYPE_CHECKING:
    from pathlib import Path

    from halflife.kinds.listing.recorded_source import RecordedListing
    from halflife.kinds.page_view import PageRequest, PageView
    from halflife.recognition.guess import SourceGuess, TrialAnswer
    from halflife.recordings.relations import Relation
    from halflife.replay.recorded_source import RecordedHistory, RecordedSource

RECENT = 6  # fetches from which the usual interval is estimated


class ListingKind(WholeKind[ListingConfig, ListingState]):
    """Lists of objects: an API, a feed of records, a table in a page."""

    planned_as = "listings", "what"
    foreseen_by = (
        "The forecast is a weighted mean of several models; each counts by how "
        "well its forecasts of past syncs came true."
    )
    checked_by = "whole looks"
    unchecked = "no forecast came due in 30 days; the third full fetch scores the first"

    def recognise(self, answer: "TrialAnswer") -> "Sequence[SourceGuess]":
        """Return how an answer could be kept as a source of this kind."""
        from halflife.kinds.listing import recognition  # noqa: PLC0415  (only `add`)

        return recognition.recognise(answer)

    def confirm(
        self, guess: "SourceGuess", first: "TrialAnswer", second: "TrialAnswer"
    ) -> "SourceGuess":
        """Return a guess updated with the second page."""
        from halflife.kinds.listing import recognition  # noqa: PLC0415  (only `add`)

        return recognition.check_second(guess, first, second)

    def states(
        self, reading: Reading, sources: Sequence[ListingConfig]
    ) -> Mapping[str, ListingState]:
        """Read the states of listings."""
        return {source.name: state_of(reading, source) for source in sources}

    def quality(
        self, state: ListingState, sure: float, ahead: Floats, *, looks: bool
    ) -> Forecast | None:
        """Return the recall of the copy without further fetches.

        Days since the last fetch are effective days of the source's rhythm. They count
        from when newer records were read, if that was after the last full fetch.
        """
        del looks  # it is read whole, or not at all
        collection = state.history
        if collection is None:
            return None
        two_sided = max(2.0 * sure - 1.0, 0.01)
        rhythm, knots = state.habit.rhythm, state.knots(collection, two_sided)
        at = max(state.now, state.last) + ahead
        last = np.array(state.last)
        ages = at - last if rhythm.flat else rhythm.between(last, at)
        band = recall(collection, ages, two_sided, knots)
        if state.waits is not None:
            whole = np.array(collection.looks[-1])
            older = at - whole if rhythm.flat else rhythm.between(whole, at)
            hidden = recall(collection, older, two_sided, knots)
            band = held_recall(band, hidden, state.waits.share)
        return Forecast("recall", state.now + ahead, *band, two_sided)

    def worth(self, state: ListingState, confidence: float) -> Known:
        """Return the value of requests in the long run."""
        source, collection, least = state.source, state.history, state.shortest
        pace = state.pace
        if collection is None:
            once = state.collection is not None and state.collection.looks.size
            why = "it was fetched only once" if once else "it was never fetched"
            return Known(source, state.whole, None, why, pace)
        cost, worths = (state.whole, least), state.memo.worths
        seen = source.name, int(collection.looks.size), float(collection.looks[-1])
        mark = seen, (confidence, source.weight, *cost)
        if mark not in worths:  # only another fetch changes it
            decay = state.decay_within(collection, confidence)
            worths[mark] = renewed(source, "recall", decay, cost, confidence)
        return Known(source, state.whole, worths[mark], pace=pace)

    def offers(self, state: ListingState) -> Offers:
        """Return the gain of a fetch now; 0 before it is due by a schedule."""
        scheduled = state.policy.schedule is not None
        gain = 0.0 if scheduled and state.now < state.due else state.gain
        return one_offer(state.source, state.cost, gain)

    def prospects(self, state: ListingState) -> Prospects | None:
        """Return the gain of a fetch, by the age of the copy.

        A listing with a schedule gets its requests at any price.
        """
        policy, history = state.policy, state.history
        if history is None or (policy.schedule is None and policy.gain is None):
            return super().prospects(state)
        if policy.schedule is not None:
            days = max(state.due - state.last, state.shortest)
            gain = np.where(days <= price.AGES, NEVER_SEEN, 0.0)
        else:
            gain = state.gains(price.AGES)
        cost = np.array([state.cost])
        return Prospects(state.source.weight * gain[None, :], cost, np.ones(1))

    def is_scheduled(self, source: ListingConfig) -> bool:
        """Say whether the settings name a policy that has a schedule."""
        return policy_of(source).schedule is not None

    def due(self, state: ListingState) -> float:
        """Return the time at which its policy wants it fetched."""
        return state.due

    def least(self, state: ListingState) -> float:
        """Return the shortest time between two fetches, in days."""
        return SOONEST if state.history is None else state.shortest

    def stand(
        self,
        state: ListingState,
        goal: Goal,
        memory: TargetMemory,
        settled: Sequence[IssuedForecast],
    ) -> tuple[TargetStatus, TargetMemory] | None:
        """Return how it stands to a goal.

        With a schedule it requests a fetch when it is due, besides those that its own
        targets need.
        """
        standing = super().stand(state, goal, memory, settled)
        if standing is None or state.policy.schedule is None:
            return standing
        stand, memory = standing
        wait = max(state.due - state.now, 0.0)
        requests = stand.requests if state.source.targets else 0.0
        again = stand.recheck_in if state.source.targets else inf
        requests = state.cost if wait <= 0 else requests
        text = f"{stand.reason}; {state.when()}"
        again = min(again, wait or SOONEST)
        return replace(stand, requests=requests, reason=text, recheck_in=again), memory

    def measure(self, source: ListingConfig) -> str:
        """Return the name of its quality measure."""
        del source
        return "recall"

    def describe(self, state: ListingState) -> Description:
        """Return how many objects the copy has, and how many arrive."""
        collection = state.collection
        if collection is None:
            return Description("recall", why="never fetched")
        held, gone = int(collection.in_copy().size), int(collection.gone().size)
        if not collection.looks.size:
            why = "it was never read whole" if held else "never fetched"
            return Description("recall", held, gone=gone, why=why)
        first, last = float(collection.looks[0]), float(collection.looks[-1])
        if state.history is None:
            why = "fetched once: rates need a second fetch"
            return Description("recall", held, last, gone=gone, why=why)
        came = int(np.count_nonzero(collection.lives.first_seen > first))
        rate = came / max(last - first, 1e-9)
        return Description("recall", held, last, rate, gone)

    def steps(self, state: ListingState, most: int) -> list[Step]:
        """Return the only step: read all of it, or the groups that are due."""
        del most
        collection = state.collection
        why = "it was never read whole"
        if collection is not None and collection.looks.size:
            why = f"last read whole {span(state.now - float(collection.looks[-1]))} ago"
        if state.source.policies:
            why = f"{why}; {state.when()}"
        what, cost = "all of it", state.expected
        if state.plan and state.plan.values:
            what = f"{state.source.group} {', '.join(state.plan.values)}"
            cost = state.plan.cost
        gain = state.source.weight * state.gain / max(cost, 1)
        return [Step(what, cost, gain, why)]

    def recorded(self, store: Store, source: ListingConfig) -> "RecordedSource | None":
        """Return its history as a recording."""
        from halflife.kinds.listing.recorded_source import RecordedListing  # noqa: PLC0415  (slow)
        from halflife.recordings.registers import relation_of  # noqa: PLC0415

        if source.name not in store.collections():
            return None
        relation = relation_of(store.register(source.name), source.name)
        group = source.group if source.group_request else ""
        return RecordedListing(source.name, relation, group=group)

    def recordings(self, folder: "Path") -> "Sequence[RecordedHistory]":
        """Return the history of objects in a folder, under the folder's name."""
        from halflife.recordings.relations import is_relation, load_relation  # noqa: PLC0415  (slow)
        from halflife.replay.recorded_source import (  # noqa: PLC0415
            RecordedHistory,
            source_name,
        )

        def load(_: float) -> "RecordedListing":
            return self.replayed(name, load_relation(folder))

        name = source_name(folder.resolve().name)
        return [RecordedHistory(name, load)] if is_relation(folder) else []

    def replayed(self, name: str, relation: "Relation") -> "RecordedListing":
        """Return a history of objects as a recorded listing."""
        from halflife.kinds.listing.recorded_source import RecordedListing  # noqa: PLC0415  (slow)

        return RecordedListing(name, relation)

    def read_until(self, store: Store, source: ListingConfig) -> float:
        """Return when newer records were last read; ``-inf`` if it is read whole."""
        done = incremental.last_progress(store, source)
        waits = HELD_REMOVALS.load(store, source.name)
        return max(-inf if seen is None else seen.at for seen in (done, waits))

    def lifetimes(self, store: Store, source: ListingConfig) -> Collection | None:
        """Return the lifetimes of its objects; its forecasts follow from them."""
        known = source.name in store.collections()
        return store.collection(source.name) if known else None

    def page(self, request: "PageRequest[ListingConfig]") -> "PageView":
        """Return arrivals, departures and the present objects."""
        from halflife.kinds import object_page  # noqa: PLC0415
        from halflife.kinds.page_view import PageView  # noqa: PLC0415

        store, source = request.reading.store, request.source
        read = lambda: self.lifetimes(store, source)  # noqa: E731
        collection = request.reading.memo.history(source.name, read)
        if collection is None:
            return PageView()
        now, group = request.reading.now, request.source.group
        return object_page.page(collection, request.about, now, group, self.foreseen_by)

    def incomplete(self, store: Store, source: ListingConfig) -> str:
        """Return why the last answer was incomplete."""
        known = source.name in store.collections()
        return runner.incomplete(store, source.name) if known else ""

    def ages(self, state: ListingState, *, some: bool = False) -> Floats:
        """Return the days since any part of it was fetched."""
        del some
        age = age_of(state.collection, state.now)
        return np.array([min(age, max(state.now - state.refreshed, 0.0))])

    def decay(self, state: ListingState) -> Decay | None:
        """Return how the copy decays after a fetch."""
        return state.decay

    def whole(self, state: ListingState) -> float:
        """Return the requests of a full fetch."""
        return state.whole

    def shortest(self, state: ListingState) -> float:
        """Return the days between two fetches that settings allow."""
        return state.shortest

    def standing(
        self, state: ListingState, goal: Goal
    ) -> tuple[WholeCopy, float] | None:
        """Return how it stands; forecasts reach as far as its history is long."""
        collection = state.collection
        if collection is None or not collection.looks.size:
            return None
        first, last = float(collection.looks[0]), state.last
        age = max(state.now - last, 0.0)
        most, learned = LATEST, last
        if state.waits is not None:  # nothing is learned from what a held answer shows
            most, learned = LONGEST_CLOSURE, float(collection.looks[-1])
        most = max(min(max(learned - first, FIRST), most), SOONEST)
        there = collection.lives.present(float(collection.looks[-1]))
        things = max(float(np.count_nonzero(there)), 1.0)
        if state.decay is None:  # one fetch says nothing of how fast it changes
            return WholeCopy(things, age, 0.0, 0.0, SOONEST), SOONEST
        step = step_of(state.decay, goal, state.shortest)
        lost = losses(state.decay, state.habit, np.array([last]), (state.now, step))
        return WholeCopy(
            max(things / records_per_change(state.habit), 1.0), *lost, step
        ), most

    def level(self, source: ListingConfig) -> tuple[float, float | None] | None:
        """Return the recall that the settings name, if any."""
        if "recall" in source.model_fields_set:
            return source.recall, source.confidence
        return None

    def wanted(self, source: ListingConfig) -> float | None:
        """Return the recall that suffices."""
        return source.recall

    def looks(self, state: ListingState) -> Floats:
        """Return the times of its latest fetches."""
        collection = state.collection
        return np.empty(0) if collection is None else collection.looks[-RECENT:]

    def first_cost(
        self, reading: Reading, group: Sequence[ListingConfig], room: int
    ) -> float:
        """Return the requests of the first fetch; 0 if there was one."""
        del room
        (source,) = group
        if source.name in reading.store.collections():
            return 0.0
        return SLACK * costs.noted(reading.store, source) + source.max_pages

    def drift(
        self, reading: Reading, source: ListingConfig, breaker: Breaker
    ) -> tuple[Sequence[str], Sequence[str]]:
        """Return what its records lack now, and what is new about them."""
        return schema_drift.report(reading.store, source, breaker, reading.now)

    def reader(self, desk: Desk, source: ListingConfig) -> "ListingReader":
        """Return the reader of a listing."""
        return ListingReader(desk, source, self.read(desk, source))

    def read(self, desk: Desk, source: ListingConfig) -> runner.Read:
        """Return how a listing is read; derived kinds may override it."""
        return runner.reading(desk.config, source, desk.store, desk.clock)


class ListingReader:
    """Reads one listing."""

    def __init__(self, desk: Desk, source: ListingConfig, read: runner.Read) -> None:
        self._desk, self._source, self._read = desk, source, read

    async def sync(self, errand: Errand) -> "runner.ListingOutcome":
        """Fetch it once, as requested."""
        try:
            with contained(self._source.where):
                return await self._fetch(errand.most)
        except SourceError as error:
            return runner.ListingOutcome(self._source.name, 0, trouble=str(error))

    async def read(self, requests: int) -> "runner.ListingOutcome":
        """Fetch it once; it may have grown since its cost was estimated."""
        return await self._fetch(int(SLACK * requests) + 2)

    async def _fetch(self, most: int | None) -> "runner.ListingOutcome":
        desk = self._desk
        return await runner.sync(
            desk.config,
            desk.store,
            self._source,
            most=most,
            clock=desk.clock,
            gate=desk.gate,
            read=self._read,
        )

    def ease(self) -> None:
        """Let the fetch end: it is short."""

    def audit(self, result: WholeResult) -> None:
        """Score the forecasts that this fetch verifies."""
        assert isinstance(result, runner.ListingOutcome)
        if result.run and not (result.newer or result.groups or result.held):
            audit_set(self._desk.store, self._source.name, result.run)


KIND = ListingKind()
