"""The kind of source that only answers queries, of which a summary is kept."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from halflife.core.arrays import Floats
from halflife.core.forecast import Forecast
from halflife.core.value_curve import Offers, Worth
from halflife.core.wording import span
from halflife.engine.breakers import Breaker
from halflife.engine.renewals import POINTS, spread
from halflife.kinds.listing import schema_drift
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
from halflife.kinds.search import check, rules, runner, selection
from halflife.kinds.search.audit import audit_summary
from halflife.kinds.search.rules import SearchChoice
from halflife.kinds.search.selection import Holding
from halflife.kinds.search.settings import SearchConfig
from halflife.kinds.whole import WholeKind, WholeResult
from halflife.market import price
from halflife.market.curves import Decay
from halflife.market.target_rule import Goal, WholeCopy
from halflife.market.target_status import ROUND, SOONEST
from halflife.models.drift import WeibullSurvival
from halflife.models.rhythm import LearnedRhythm
from halflife.stores import summaries
from halflife.stores.summaries import StoredSummary

if TYPE_CHECKING:
    from pathlib import Path

    from halflife.kinds.page_view import PageRequest, PageTable, PageView
    from halflife.recognition.guess import SourceGuess, TrialAnswer
    from halflife.replay.recorded_source import RecordedHistory

RARE = 1000.0  # days between two summaries, at most
SUMMARY = 400  # requests of a first summary: 300 documents, four a query
FIRST_SHARE = 0.25  # share of the remaining budget for the first summary


@dataclass(frozen=True, slots=True)
class SummaryInUse:
    """The summary in use, and how long it holds.

    Attributes:
        kept: The summary.
        survival: How long a summary of this database holds.
        holding: How long this one does, from when it was last found to hold.
        checked_at: When the database was last summarised or checked, in days.
        requests: Requests of the next check or renewal.

    """

    kept: StoredSummary
    survival: WeibullSurvival
    holding: Holding
    checked_at: float
    requests: int


@dataclass(frozen=True, slots=True)
class SearchState:
    """The state of a database that only answers queries.

    Attributes:
        source: Its settings.
        now: When the state was read, in days.
        reading: The input of the state.
        used: The summary in use; None if there is none.
        choice: The decision of the rule in its settings; None if they name none, or
            there is no summary yet.
        habit: An empty rhythm: the hours at which it changes are unknown.

    """

    source: SearchConfig
    now: float
    reading: Reading
    used: SummaryInUse | None
    choice: SearchChoice | None = None
    habit: LearnedRhythm = field(default_factory=LearnedRhythm)

    @property
    def age(self) -> float:
        """Days since the last check or renewal; ``inf`` if there was none.

        With a rule, days since its present interval began.
        """
        if self.used is None:
            return inf
        begun = self.used.checked_at if self.choice is None else self.choice.since
        return max(self.now - begun, 0.0)

    @property
    def requests(self) -> int:
        """Requests of the next check or renewal."""
        if self.used is None:
            return 1
        return self.used.requests if self.choice is None else self.choice.requests


class SearchKind(WholeKind[SearchConfig, SearchState]):
    """Databases that only answer queries, kept as a summary."""

    verb = "summarize"
    not_synced = "of which no copy is kept"
    answer_keys = "hits, hit_key, hit_text and total"
    planned_as = "searches", "what"
    checked_by = "looks at the database"
    unchecked = "no check has shown whether its summary held in the last year"

    def recognise(self, answer: "TrialAnswer") -> "Sequence[SourceGuess]":
        """Return how an answer could be kept as a source of this kind."""
        from halflife.kinds.search import recognition  # noqa: PLC0415  (only `add`)

        return recognition.recognise(answer)

    def states(
        self, reading: Reading, sources: Sequence[SearchConfig]
    ) -> Mapping[str, SearchState]:
        """Read the states of databases.

        A rule needs all databases that name it, whichever are requested.
        """
        states: dict[str, SearchState] = {}
        for source in sources:
            if source.name not in states:
                states |= _joint_states(reading, source)
        return {source.name: states[source.name] for source in sources}

    def own_table(
        self, reading: Reading, sources: Sequence[SearchConfig]
    ) -> "PageTable":
        """Return the sizes of databases, and the ages of their summaries."""
        from halflife.kinds.page_view import PageTable  # noqa: PLC0415
        from halflife.kinds.search import status  # noqa: PLC0415

        return PageTable("searches", status.rows(reading.store, sources, reading.now))

    def page(self, request: "PageRequest[SearchConfig]") -> "PageView":
        """Return the summary in use, and its evidence."""
        from halflife.kinds.search.page import page  # noqa: PLC0415

        return page(request.reading.store, request.source.name)

    def quality(
        self, state: SearchState, sure: float, ahead: Floats, *, looks: bool
    ) -> Forecast | None:
        """Return the chance that the summary holds; a single one has no bounds."""
        del sure, looks
        if state.used is None:
            return None
        age = np.maximum(state.now - state.used.kept.at, 0.0) + ahead
        alive = state.used.holding.alive(age)
        return Forecast("summary", state.now + ahead, alive, alive, alive)

    def worth(self, state: SearchState, confidence: float) -> Known:
        """Return the value of renewing a summary: the share of time that it holds.

        A single summary holds or does not; its lower bound is the chance that it still
        holds at the end of an interval.
        """
        del confidence
        source, now = state.source, state.used
        if now is None:
            return Known(source, 1.0, None, "there is no summary yet")
        least = self.shortest(state)
        every = spread(min(least, RARE / 10.0), RARE, POINTS)[::-1]
        mean = np.concatenate([[0.0], now.survival.lasting(every) / every])
        alive = now.survival.alive(every)
        low = np.concatenate([[0.0], alive])
        per_check = now.kept.requests * _cost_in_renewals(state, now.kept, alive)
        requests = np.concatenate([[0.0], np.maximum.accumulate(per_check / every)])
        high = np.ones(requests.size)
        worth = Worth(source.name, "summary", source.weight, requests, mean, low, high)
        choice = state.choice
        pace = None if choice is None else choice.usual / choice.every
        return Known(source, float(now.kept.requests), worth, pace=pace)

    def offers(self, state: SearchState) -> Offers:
        """Return the value of a check, or of a renewal where one is due.

        A check leads to a renewal as often as the summary does not hold, and gets its
        proportion of the whole value. With a rule, what is due gets the value of the
        rule, and anything else has no value.
        """
        source, now = state.source, state.used
        if now is None:
            return one_offer(source, 1.0, NEVER_SEEN)
        if state.choice is not None:
            requests = float(state.choice.requests)
            value = (
                state.choice.gain * requests / source.weight
            )  # it is weighted already
            return one_offer(source, requests, value)
        cost = float(now.requests)
        if now.holding.doubted:
            life = float(now.survival.life()[0])
            return one_offer(source, cost, min(life, NEVER_SEEN))
        age = np.array([state.age])
        alive = now.survival.alive(age)
        gain = now.survival.lasting(age) - age * alive
        whole = now.kept.requests * selection.cost_in_renewals(alive, source, now.kept)
        return one_offer(source, cost, float((gain * cost / whole)[0]))

    def measure(self, source: SearchConfig) -> str:
        """Return the name of the quality measure of a summary."""
        del source
        return "summary"

    def recordings(self, folder: "Path") -> "Sequence[RecordedHistory]":
        """Return the recorded text databases in a folder."""
        from halflife.kinds.search.recorded_source import text_histories  # noqa: PLC0415  (slow)

        return text_histories(folder)

    def describe(self, state: SearchState) -> Description:
        """Return the number of documents in the summary."""
        if state.used is None:
            return Description("summary", why="there is no summary yet")
        kept = state.used.kept
        return Description("summary", kept.summary.sampled, kept.at)

    def steps(self, state: SearchState, most: int) -> list[Step]:
        """Return the only step: a check or a renewal."""
        if state.used is None:
            what, requests = "a first summary", min(SUMMARY, most)
            return [Step(what, requests, NEVER_SEEN / SUMMARY, "there is none yet")]
        offers = self.offers(state)
        gain = float(offers.gain[0] / offers.cost[0])
        seen = f"last checked {span(state.age)} ago"
        if state.choice is not None:
            seen = f"{state.choice.policy}: {state.choice.why}"
        what = f"its summary, {self.way(state)}"
        return [Step(what, state.requests, gain, seen)]

    def ages(self, state: SearchState, *, some: bool = False) -> Floats:
        """Return the days since it was summarised or checked."""
        del some
        return np.array([state.age])

    def decay(self, state: SearchState) -> Decay | None:
        """Return None: a summary holds or does not (``prospects``)."""
        del state
        return None

    def whole(self, state: SearchState) -> float:
        """Return the requests of a new summary."""
        return 1.0 if state.used is None else float(state.used.kept.requests)

    def cost(self, state: SearchState) -> float:
        """Return the requests of the next check or renewal."""
        return float(state.requests)

    def shortest(self, state: SearchState) -> float:
        """Return the days between two summaries that settings allow."""
        return state.reading.shortest(state.source, self.whole(state))

    def least(self, state: SearchState) -> float:
        """Return the shortest time between two checks or renewals, in days."""
        del state
        return SOONEST

    def prospects(self, state: SearchState) -> Prospects | None:
        """Return the gain of a check or renewal, by the age of the summary."""
        now = state.used
        if now is None:
            return None
        unit = np.ones(1)
        if (choice := state.choice) is not None:  # it gets its share at any price
            due = np.where(choice.every <= price.AGES, choice.price * choice.usual, 0.0)
            return Prospects(due[None, :], choice.usual * unit, unit)
        left = now.survival.alive(price.AGES)
        cost = selection.cost_in_renewals(left, state.source, now.kept)
        gain = price.gains(now.survival, 1) / cost
        return Prospects(state.source.weight * gain, now.kept.requests * unit, unit)

    def standing(
        self, state: SearchState, goal: Goal
    ) -> tuple[WholeCopy, float] | None:
        """Return how a summary stands: the chance that it does not hold.

        A summary that failed a check is renewed at once. Its rounds are days. A rule
        with its own survival model uses that.
        """
        del goal  # no level says how much of a summary holds
        now, choice = state.used, state.choice
        if now is None:
            return None
        if now.holding.doubted:
            return WholeCopy(1.0, ROUND, 1.0, 0.0, ROUND), 0.0
        old = max(state.now - now.kept.at, 0.0)
        holding = now.holding
        if choice is not None and choice.survival is not None:
            holding = Holding(choice.survival, holding.held)
        (later,) = 1.0 - holding.alive(np.array([old + ROUND]))
        (fresh,) = 1.0 - holding.survival.alive(np.array([ROUND]))
        whole = WholeCopy(1.0, state.age, float(later), float(fresh), ROUND)
        return whole, inf

    def is_due(self, now: WholeCopy, *, late: bool) -> bool:
        """Say whether it is due now: at most once a round."""
        return late and now.age >= ROUND

    def way(self, state: SearchState) -> str:
        """Return whether a summary is checked or renewed next, in words."""
        now = state.used
        if state.choice is not None:
            action = "renewed" if state.choice.renews else "by a check"
            return f"{action}, by the rule {state.choice.policy}"
        if now is not None and now.holding.doubted:
            return "renewed, as it did not pass a check"
        checked = now is not None and now.requests < now.kept.requests
        return "by a check" if checked else "renewed"

    def was_seen(self, reading: Reading, source: SearchConfig) -> bool:
        """Say whether it was ever summarised."""
        return summaries.current(reading.store, source.name) is not None

    def first_cost(
        self, reading: Reading, group: Sequence[SearchConfig], room: int
    ) -> float:
        """Return the requests of the first summary; 0 if there is one."""
        (source,) = group
        new = summaries.current(reading.store, source.name) is None
        return max(min(SUMMARY, room * FIRST_SHARE), 1.0) if new else 0.0

    def drift(
        self, reading: Reading, source: SearchConfig, breaker: Breaker
    ) -> tuple[Sequence[str], Sequence[str]]:
        """Return what its answers lack now, and what is new about them."""
        return schema_drift.report(reading.store, source, breaker, reading.now)

    def reader(self, desk: Desk, source: SearchConfig) -> "SearchReader":
        """Return the reader of a database."""
        return SearchReader(desk, source)


class SearchReader:
    """Summarises one database, or checks its summary if that is due."""

    def __init__(self, desk: Desk, source: SearchConfig) -> None:
        self._desk, self._source = desk, source
        self._worker: check.Checker | runner.Summarizer | None = None

    async def sync(
        self, errand: Errand
    ) -> "runner.SamplingOutcome | check.CheckOutcome":
        """Summarise the database again, as requested."""
        desk, source = self._desk, self._source
        kept = summaries.current(desk.store, source.name)
        wish = runner.renewal_wish(kept) if kept else runner.SummaryWish()
        self._worker = worker = self._summarizer(wish)
        return await worker.summarize(source, most=errand.most)

    def _summarizer(self, wish: runner.SummaryWish) -> runner.Summarizer:
        desk = self._desk
        return runner.Summarizer(desk.config, desk.store, wish, desk.clock, desk.gate)

    async def read(
        self, requests: int
    ) -> "runner.SamplingOutcome | check.CheckOutcome":
        """Check the summary, or renew it."""
        desk, source = self._desk, self._source
        kept = summaries.current(desk.store, source.name)
        if kept and self._checks(kept, requests):
            checker = check.Checker(desk.config, desk.store, desk.clock, desk.gate)
            self._worker = checker
            counts = rules.uses_match_counts(source)
            return await checker.check(source, kept, most=requests, counts=counts)
        wish = runner.renewal_wish(kept) if kept else runner.SummaryWish()
        self._worker = worker = self._summarizer(wish)
        return await worker.summarize(source, most=requests)

    def _checks(self, kept: StoredSummary, requests: int) -> bool:
        """Say whether the summary is checked; with a rule, the grant decides.

        A check is granted fewer requests than a renewal.
        """
        if rules.rule_of(self._source) is not None:
            return kept.method == "qbs" and requests < kept.requests
        requests = selection.next_requests(self._desk.store, self._source, kept)
        return requests < kept.requests

    def ease(self) -> None:
        """Send nothing more."""
        if self._worker is not None:
            self._worker.ease()

    def audit(self, result: WholeResult) -> None:
        """Score the forecasts of the previous summary."""
        del result
        audit_summary(self._desk.store, self._source)


def summary_in_use(reading: Reading, source: SearchConfig) -> SummaryInUse | None:
    """Return the summary in use; None if there is none."""
    store = reading.store
    kept = summaries.current(store, source.name)
    if kept is None:
        return None
    return SummaryInUse(
        kept,
        selection.survival(kept, source, store),
        selection.holding(kept, source, store),
        selection.last_checked(store, kept),
        selection.next_requests(store, source, kept),
    )


def _cost_in_renewals(state: SearchState, kept: StoredSummary, alive: Floats) -> Floats:
    """Return the cost of a check in renewals; a rule that never checks renews."""
    if state.choice is not None and state.choice.renews:
        return np.ones_like(alive)
    return selection.cost_in_renewals(alive, state.source, kept)


def _joint_states(reading: Reading, source: SearchConfig) -> dict[str, SearchState]:
    """Return the states of all databases that share the rule of a source.

    They are cached for each reading.
    """
    if rules.rule_of(source) is None:
        used = summary_in_use(reading, source)
        alone = SearchState(source, reading.now, reading, used)
        return {source.name: alone}
    key = "states", source.policies
    last = reading.memo.rules.get(key)
    if last is not None and last[0] is reading:
        states: dict[str, SearchState] = last[1]
        return states
    group = rules.sharing(reading, source)
    used_by = {member.name: summary_in_use(reading, member) for member in group}
    kept = {name: now.kept for name, now in used_by.items() if now is not None}
    chosen = rules.choices(reading, source, kept)
    states = {
        member.name: SearchState(
            member, reading.now, reading, used_by[member.name], chosen.get(member.name)
        )
        for member in group
    }
    reading.memo.rules[key] = reading, states
    return states


KIND = SearchKind()
