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
    step_of,
    together,
)
from halflife.market import price
from halflife.market.curves import Decay
from halflife.market.stand import FIRST, LATEST, SOONEST, Stand, TargetMemory
from halflife.market.target_rule import Goal, Whole
from halflife.models.recall_curve import Knots, recall
from halflife.models.rhythm import FLAT, Rhythm
from halflife.readers.containment import contained
from halflife.stores import Store
from halflife.stores.forecasts import Issued

if TYPE_CHECKING:
    from pathlib import Path

    from halflife.kinds.listing.recorded_source import RecordedListing
    from halflife.kinds.page_view import PageRequest, PageView
    from halflife.recognition.guess import SourceGuess, TrialAnswer
    from halflife.recordings.relations import Relation
    from halflife.replay.recorded_source import RecordedHistory, RecordedSource

RECENT = 6  # looks that tell how often there is one


class ListingKind(WholeKind[ListingConfig, ListingState]):
    """Lists of objects: an API, a feed of records, a table in a page."""

    planned_as = "listings", "what"
    foreseen_by = (
        "The forecast is a weighted mean of several models; each counts by how "
        "well its forecasts of past syncs came true."
    )
    checked_by = "whole looks"
    unchecked = "no two whole looks followed each other in the last 30 days"

    def recognise(self, answer: "TrialAnswer") -> "Sequence[SourceGuess]":
        """Return how an answer could be kept as a source of this kind."""
        from halflife.kinds.listing import recognition  # noqa: PLC0415  (only `add`)

        return recognition.recognise(answer)

    def confirm(
        self, guess: "SourceGuess", first: "TrialAnswer", second: "TrialAnswer"
    ) -> "SourceGuess":
        """Return a guess with what the second page says of its paging."""
        from halflife.kinds.listing import recognition  # noqa: PLC0415  (only `add`)

        return recognition.check_second(guess, first, second)

    def states(
        self, reading: Reading, sources: Sequence[ListingConfig]
    ) -> Mapping[str, ListingState]:
        """Read what is known of listings."""
        return {source.name: state_of(reading, source) for source in sources}

    def quality(
        self, state: ListingState, sure: float, ahead: Floats, *, looks: bool
    ) -> Forecast | None:
        """Return the recall of the copy if nobody looks."""
        del looks  # it is read whole, or not at all
        known = state.known
        if known is None:
            return None
        both = max(2.0 * sure - 1.0, 0.01)
        rhythm, knots = state.habit.rhythm, state.knots(known, both)
        return listing_quality(
            known, state.now, ahead, both, rhythm=rhythm, known=knots, since=state.last
        )

    def worth(self, state: ListingState, confidence: float) -> Known:
        """Return what requests buy in the long run."""
        source, known, least = state.source, state.known, state.shortest
        pace = state.pace
        if known is None:
            once = state.collection is not None and state.collection.looks.size
            why = "it was looked at once" if once else "it was never looked at"
            return Known(source, state.whole, None, why, pace)
        cost, worths = (state.whole, least), state.memo.worths
        seen = source.name, int(known.looks.size), float(known.looks[-1])
        mark = seen, (confidence, source.weight, *cost)
        if mark not in worths:  # only another look changes it
            decay = state.decay_within(known, confidence)
            worths[mark] = renewed(source, "recall", decay, cost, confidence)
        return Known(source, state.whole, worths[mark], pace=pace)

    def offers(self, state: ListingState) -> Offers:
        """Return what a fetch buys now; nothing before it is due by a schedule."""
        scheduled = state.policy.schedule is not None
        gain = 0.0 if scheduled and state.now < state.due else state.gain
        return one_offer(state.source, state.cost, gain)

    def prospects(self, state: ListingState) -> Prospects | None:
        """Return what a fetch buys, the older the copy is.

        One that is fetched by a schedule takes its requests at any price.
        """
        policy, known = state.policy, state.known
        if known is None or (policy.schedule is None and policy.gain is None):
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
        """Return the moment by which its policy has it fetched."""
        return state.due

    def least(self, state: ListingState) -> float:
        """Return the days between two fetches, at least."""
        return SOONEST if state.known is None else state.shortest

    def stand(
        self,
        state: ListingState,
        goal: Goal,
        memory: TargetMemory,
        settled: Sequence[Issued],
    ) -> tuple[Stand, TargetMemory] | None:
        """Return how it stands to a goal.

        Under a schedule it asks for a fetch when it is due; what targets of its own ask
        for comes on top.
        """
        found = super().stand(state, goal, memory, settled)
        if found is None or state.policy.schedule is None:
            return found
        stand, memory = found
        wait = max(state.due - state.now, 0.0)
        asked = stand.asked if state.source.targets else 0.0
        again = stand.again if state.source.targets else inf
        asked = state.cost if wait <= 0 else asked
        said = f"{stand.said}; {state.when()}"
        again = min(again, wait or SOONEST)
        return replace(stand, asked=asked, said=said, again=again), memory

    def measure(self, source: ListingConfig) -> str:
        """Return what the quality of a listing is called."""
        del source
        return "recall"

    def describe(self, state: ListingState) -> Description:
        """Return how many objects are held, and how many come."""
        known = state.collection
        if known is None:
            return Description("recall", why="never looked at")
        held, gone = int(known.in_copy().size), int(known.gone().size)
        if not known.looks.size:
            why = "it was never read whole" if held else "never looked at"
            return Description("recall", held, gone=gone, why=why)
        first, last = float(known.looks[0]), float(known.looks[-1])
        if state.known is None:
            why = "looked at once: rates need a second look"
            return Description("recall", held, last, gone=gone, why=why)
        came = int(np.count_nonzero(known.lives.first_seen > first))
        rate = came / max(last - first, 1e-9)
        return Description("recall", held, last, rate, gone)

    def steps(self, state: ListingState, most: int) -> list[Step]:
        """Return the one step there is: read all of it, or the groups that are due."""
        del most
        known = state.collection
        why = "it was never read whole"
        if known is not None and known.looks.size:
            why = f"last read whole {span(state.now - float(known.looks[-1]))} ago"
        if state.source.policies:
            why = f"{why}; {state.when()}"
        what, cost = "all of it", state.expected
        if state.plan and state.plan.values:
            what = f"{state.source.group} {', '.join(state.plan.values)}"
            cost = state.plan.cost
        gain = state.source.weight * state.gain / max(cost, 1)
        return [Step(what, cost, gain, why)]

    def recorded(self, store: Store, source: ListingConfig) -> "RecordedSource | None":
        """Return what was listed as a recording."""
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
        """Return a history of objects as a source of this kind."""
        from halflife.kinds.listing.recorded_source import RecordedListing  # noqa: PLC0415  (slow)

        return RecordedListing(name, relation)

    def read_until(self, store: Store, source: ListingConfig) -> float:
        """Return when what was newer was read last; ``-inf`` if it is read whole."""
        done = incremental.remembered(store, source)
        return -inf if done is None else done.at

    def lifetimes(self, store: Store, source: ListingConfig) -> Collection | None:
        """Return the lifetimes of its objects: its forecasts follow from these."""
        known = source.name in store.collections()
        return store.collection(source.name) if known else None

    def page(self, asked: "PageRequest[ListingConfig]") -> "PageView":
        """Return what came and went, and what is there."""
        from halflife.kinds import object_page  # noqa: PLC0415
        from halflife.kinds.page_view import PageView  # noqa: PLC0415

        store, source = asked.reading.store, asked.source
        read = lambda: self.lifetimes(store, source)  # noqa: E731
        known = asked.reading.memo.history(source.name, read)
        if known is None:
            return PageView()
        now, group = asked.reading.now, asked.source.group
        return object_page.page(known, asked.about, now, group, self.foreseen_by)

    def incomplete(self, store: Store, source: ListingConfig) -> str:
        """Return why the last answer was not all of the list."""
        known = source.name in store.collections()
        return runner.incomplete(store, source.name) if known else ""

    def ages(self, state: ListingState, *, some: bool = False) -> Floats:
        """Return the days since anything of it was seen."""
        del some
        age = age_of(state.collection, state.now)
        return np.array([min(age, max(state.now - state.refreshed, 0.0))])

    def decay(self, state: ListingState) -> Decay | None:
        """Return how the copy decays after a look."""
        return state.decay

    def whole(self, state: ListingState) -> float:
        """Return the requests of a whole look."""
        return state.whole

    def shortest(self, state: ListingState) -> float:
        """Return the days between two looks that settings allow."""
        return state.shortest

    def standing(self, state: ListingState, goal: Goal) -> tuple[Whole, float] | None:
        """Return how it stands; it is foreseen for as long as it was watched."""
        known = state.collection
        if known is None or not known.looks.size:
            return None
        first, last = float(known.looks[0]), state.last
        age = max(state.now - last, 0.0)
        most = max(min(max(last - first, FIRST), LATEST), SOONEST)
        there = known.lives.present(float(known.looks[-1]))
        things = max(float(np.count_nonzero(there)), 1.0)
        if state.decay is None:  # one look tells nothing of how fast it changes
            return Whole(things, age, 0.0, 0.0, SOONEST), SOONEST
        step = step_of(state.decay, goal, state.shortest)
        lost = losses(state.decay, state.habit, np.array([last]), (state.now, step))
        return Whole(max(things / together(state.habit), 1.0), *lost, step), most

    def level(self, source: ListingConfig) -> tuple[float, float | None] | None:
        """Return the recall that the settings name, if they do."""
        if "recall" in source.model_fields_set:
            return source.recall, source.confidence
        return None

    def wanted(self, source: ListingConfig) -> float | None:
        """Return the recall that is good enough."""
        return source.recall

    def looks(self, state: ListingState) -> Floats:
        """Return when it was looked at lately."""
        known = state.collection
        return np.empty(0) if known is None else known.looks[-RECENT:]

    def first_cost(
        self, reading: Reading, group: Sequence[ListingConfig], room: int
    ) -> float:
        """Return the requests of the first look; 0 if there was one."""
        del room
        (source,) = group
        if source.name in reading.store.collections():
            return 0.0
        return SLACK * costs.noted(reading.store, source) + source.max_pages

    def drift(
        self, reading: Reading, source: ListingConfig, breaker: Breaker
    ) -> tuple[Sequence[str], Sequence[str]]:
        """Return what its records lack now, and what is new about them."""
        return schema_drift.told(reading.store, source, breaker, reading.now)

    def reader(self, desk: Desk, source: ListingConfig) -> "ListingReader":
        """Return what reads a listing."""
        return ListingReader(desk, source, self.read(desk, source))

    def read(self, desk: Desk, source: ListingConfig) -> runner.Read:
        """Return how a listing is read; a kind that reads in its own way says so."""
        return runner.reading(desk.config, source, desk.store, desk.clock)


class ListingReader:
    """Reads one listing."""

    def __init__(self, desk: Desk, source: ListingConfig, read: runner.Read) -> None:
        self._desk, self._source, self._read = desk, source, read

    async def sync(self, errand: Errand) -> "runner.Looked":
        """Look at it once, for somebody who asked for it."""
        try:
            with contained(self._source.where):
                return await self._look(errand.most)
        except SourceError as error:
            return runner.Looked(self._source.name, 0, trouble=str(error))

    async def read(self, requests: int) -> "runner.Looked":
        """Look at it once; it may have grown since it was priced."""
        return await self._look(int(SLACK * requests) + 2)

    async def _look(self, most: int | None) -> "runner.Looked":
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
        """Let the look end: it is short."""

    def audit(self, result: WholeResult) -> None:
        """Score the forecasts of which this look shows what came of them."""
        assert isinstance(result, runner.Looked)
        if result.run and not (result.newer or result.groups):
            audit_set(self._desk.store, self._source.name, result.run)


def listing_quality(  # noqa: PLR0913  (what is foreseen, and from what)
    collection: Collection,
    now: float,
    ahead: Floats,
    confidence: float = 0.95,
    *,
    rhythm: Rhythm = FLAT,
    known: Knots | None = None,
    since: float | None = None,
) -> Forecast:
    """Return the recall of a listing's copy from now on, if nobody looks.

    Days since the last look count as the source's rhythm has it, or ``since`` then, if
    all that was newer was read later; ``known`` has the forecasts that were made since
    that look.
    """
    last = float(collection.looks[-1]) if since is None else since
    at = max(now, last) + ahead
    ages = at - last if rhythm.flat else rhythm.between(np.array(last), at)
    band = recall(collection, ages, confidence, known)
    return Forecast("recall", now + ahead, *band, confidence)


KIND = ListingKind()
