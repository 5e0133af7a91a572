"""Containment: faults of one kind harm no source of another kind.

What a kind raises, and answers that break its contract (``laws``), are logged with the
kind's name and replaced by the answer for an unknown source. Such a source is not
worked at until its kind answers properly again. Only errors of our own state pass, and
those that are meant for the caller.
"""

from collections.abc import (
    AsyncIterator,
    Callable,
    Mapping,
    Sequence,
)
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from math import inf
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from halflife.config import SourceConfig
from halflife.core.arrays import Floats
from halflife.core.budget import Account
from halflife.core.errors import HalflifeError, StoreError
from halflife.core.forecast import Forecast
from halflife.core.lifetimes import Collection
from halflife.core.value_curve import Offers
from halflife.engine.breakers import Breaker
from halflife.kinds import laws
from halflife.kinds.contained_worker import (
    RAISED,
    ContainedWorker,
    blame,
    charged,
    log,
    log_kind,
)
from halflife.kinds.page_view import PageRequest, PageTable, PageView, Panorama
from halflife.kinds.protocol import (
    Description,
    Desk,
    Kind,
    Known,
    Prospects,
    Reading,
    Report,
    Step,
    Worker,
)
from halflife.market.target_rule import Goal
from halflife.market.target_status import TargetMemory, TargetStatus
from halflife.readers.containment import is_own_state
from halflife.recognition.guess import SourceGuess, TrialAnswer
from halflife.stores import Store
from halflife.stores.forecasts import IssuedForecast

Answer = TypeVar("Answer")
_SAME = (
    "terms", "not_synced", "known_as", "answer_keys", "verb", "planned_as",
    "foreseen_by", "checked_by", "unchecked",
)  # fmt: skip


@dataclass(slots=True)
class ContainedState:
    """The state of a source, and how many offers its kind last made of it.

    Attributes:
        source: Its settings.
        state: The state that its kind read; None if that failed.
        offers: The number of its offers; None if they were not requested.

    """

    source: SourceConfig
    state: Any
    offers: int | None = None

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  (of its kind)
        """Return an attribute of the state itself."""
        return getattr(self.state, name)


class ContainedKind(Kind[SourceConfig, ContainedState]):
    """A kind whose faults are contained.

    Args:
        kind: The kind.

    """

    def __init__(self, kind: Kind[Any, Any]) -> None:
        self._kind = kind
        self._faults: dict[tuple[str, str], str] = {}
        for attribute in _SAME:
            setattr(self, attribute, getattr(kind, attribute))

    def fault(self, source: str) -> str:
        """Return what is wrong with the answers on a source; empty if nothing is."""
        return next((t for (n, _), t in self._faults.items() if n == source), "")

    def _contained(
        self,
        sources: Sequence[SourceConfig],
        method: str,
        neutral: Answer,
        call: Callable[[], Answer],
        wrong: Callable[[Answer], str] = lambda _: "",
        passes: type[HalflifeError] = StoreError,
    ) -> Answer:
        """Return the answer of a method, or the neutral one if it fails."""
        try:
            answer = call()
            trouble = wrong(answer)
        except RAISED as error:
            if isinstance(error, passes) or is_own_state(error):
                raise
            answer, trouble = neutral, blame(error)
        for source in sources:
            self._note(source, method, trouble)
        if trouble and not sources:
            log_kind(type(self._kind).__name__, method, trouble)
        return neutral if trouble else answer

    def _ask(
        self,
        sources: Sequence[SourceConfig],
        method: str,
        neutral: Answer,
        *given: Any,  # noqa: ANN401  (each method has its own)
        wrong: Callable[[Any], str] = lambda _: "",
        **named: Any,  # noqa: ANN401
    ) -> Answer:
        """Return the answer of a method to what is given, or the neutral one."""
        call = lambda: getattr(self._kind, method)(*given, **named)  # noqa: E731
        return self._contained(sources, method, neutral, call, wrong)

    def _of(
        self,
        held: ContainedState,
        method: str,
        neutral: Answer,
        *given: Any,  # noqa: ANN401
        wrong: Callable[[Any], str] = lambda _: "",
        **named: Any,  # noqa: ANN401
    ) -> Answer:
        """Return the answer of a method on a state; the neutral one without a state."""
        if held.state is None:
            return neutral
        given = held.state, *given
        return self._ask([held.source], method, neutral, *given, wrong=wrong, **named)

    def _note(self, source: SourceConfig, method: str, trouble: str) -> None:
        """Remember what is wrong, and log it when it is new."""
        place = source.name, method
        if trouble:
            text = f"kind {source.kind!r}: {method}: {trouble}"
            if self._faults.get(place) != text:
                log([source], method, trouble)
            self._faults[place] = text
        else:
            self._faults.pop(place, None)

    def states(
        self, reading: Reading, sources: Sequence[SourceConfig]
    ) -> Mapping[str, ContainedState]:
        """Read the states of sources."""
        names = {source.name for source in sources}
        none: dict[str, Any] = {}
        answer = self._contained(
            sources,
            "states",
            none,
            lambda: dict(self._kind.states(reading, sources)),
            lambda all_: "" if all_.keys() >= names else "a source has no state",
        )
        return {s.name: ContainedState(s, answer.get(s.name)) for s in sources}

    def quality(
        self, state: ContainedState, sure: float, ahead: Floats, *, looks: bool
    ) -> Forecast | None:
        """Return the quality so many days ahead."""
        wrong = lambda answer: laws.bad_quality(answer, ahead)  # noqa: E731
        none: Forecast | None = None
        return self._of(state, "quality", none, sure, ahead, looks=looks, wrong=wrong)

    def worth(self, state: ContainedState, confidence: float) -> Known:
        """Return the value of requests in the long run."""
        neutral = Known(state.source, 1.0, None, "its kind does not say")
        answer = self._of(state, "worth", neutral, confidence, wrong=laws.bad_known)
        if answer.worth is not None:
            return answer
        return replace(answer, why=self.fault(state.source.name) or answer.why)

    def offers(self, state: ContainedState) -> Offers:
        """Return the possible fetches now."""
        none = Offers((state.source.name,), np.zeros(0, np.intp), *np.zeros((2, 0)))
        answer = self._of(state, "offers", none, wrong=laws.bad_offers)
        state.offers = len(answer)
        return answer

    def together(self, source: SourceConfig, usual: str) -> str | None:
        """Return the key that sources which are fetched together share."""
        none: str | None = None
        return self._ask([source], "together", none, source, usual, wrong=laws.bad_key)

    def measure(self, source: SourceConfig) -> str:
        """Return the name of the quality measure of a source."""
        return self._ask([source], "measure", "quality", source, wrong=laws.bad_text)

    def describe(self, state: ContainedState) -> Description:
        """Return what reports show of the source, and how its kind fails."""
        name = state.source.name
        neutral = Description(self.measure(state.source))
        answer = self._of(state, "describe", neutral, wrong=laws.bad_description)
        fault = self.fault(name)
        return replace(answer, why=fault, note=fault) if fault else answer

    def steps(self, state: ContainedState, most: int) -> list[Step]:
        """Return the next fetches."""
        none: list[Step] = []
        return self._of(state, "steps", none, most, wrong=laws.bad_steps)

    def ages(self, state: ContainedState, *, some: bool = False) -> Floats:
        """Return the days since the last fetch, one for each offer."""
        none = np.zeros(0 if some else state.offers or 0)

        def wrong(answer: Floats) -> str:
            single = (
                some or state.offers is None or np.size(answer) == 1
            )  # it is of all
            return laws.bad_column("ages", answer, None if single else state.offers)

        return self._of(state, "ages", none, some=some, wrong=wrong)

    def prospects(self, state: ContainedState) -> Prospects | None:
        """Return the gain of renewing items by their age."""
        none: Prospects | None = None
        return self._of(state, "prospects", none, wrong=laws.bad_prospects)

    def stand(
        self,
        state: ContainedState,
        goal: Goal,
        memory: TargetMemory,
        settled: Sequence[IssuedForecast],
    ) -> tuple[TargetStatus, TargetMemory] | None:
        """Return how the source stands to a goal."""
        none: tuple[TargetStatus, TargetMemory] | None = None
        given = goal, memory, settled
        return self._of(state, "stand", none, *given, wrong=laws.bad_stand)

    def first_cost(
        self, reading: Reading, group: Sequence[SourceConfig], room: int
    ) -> float:
        """Return the requests of a first fetch; 0 if unknown."""
        return self._ask(
            group, "first_cost", 0.0, reading, group, room, wrong=laws.bad_number
        )

    def read_with(
        self, source: SourceConfig, alike: Sequence[SourceConfig]
    ) -> Sequence[SourceConfig]:
        """Return the sources that are read with one, itself included."""
        wrong = lambda answer: laws.bad_sources(answer, source, alike)  # noqa: E731
        return self._ask([source], "read_with", (source,), source, alike, wrong=wrong)

    def settled(
        self, store: Store, source: SourceConfig, since: float
    ) -> Sequence[IssuedForecast]:
        """Return the forecasts from which its target control learns."""
        return self._ask(
            [source], "settled", (), store, source, since, wrong=laws.bad_forecasts
        )

    def was_seen(self, reading: Reading, source: SourceConfig) -> bool:
        """Say whether anything of it was ever fetched."""
        seen: bool = True
        return self._ask(
            [source], "was_seen", seen, reading, source, wrong=laws.bad_flag
        )

    def recorded(self, store: Store, source: SourceConfig) -> Any:  # noqa: ANN401
        """Return the stored history of a source; its errors are the caller's."""
        return self._kind.recorded(store, source)

    def recordings(self, folder: Path) -> Any:  # noqa: ANN401
        """Return the histories in a folder; none if the kind fails."""
        none: Sequence[Any] = ()
        call = lambda: tuple(self._kind.recordings(folder))  # noqa: E731
        return self._contained((), "recordings", none, call, passes=HalflifeError)

    def incomplete(self, store: Store, source: SourceConfig) -> str:
        """Return why the last answer was incomplete."""
        return self._ask([source], "incomplete", "", store, source, wrong=laws.bad_text)

    def gone(self, store: Store, source: SourceConfig) -> Mapping[str, float]:
        """Return the addresses of items that no longer exist."""
        none: Mapping[str, float] = {}
        return self._ask([source], "gone", none, store, source, wrong=laws.bad_moments)

    def sync_cost(self, steps: Sequence[Step]) -> float:
        """Return the requests of a sync that begins with these steps."""
        return self._ask((), "sync_cost", 0.0, steps, wrong=laws.bad_number)

    def queries(self, reading: Reading, source: SourceConfig, most: int) -> list[Step]:
        """Return the next queries."""
        none: list[Step] = []
        return self._ask(
            [source], "queries", none, reading, source, most, wrong=laws.bad_steps
        )

    def own_table(
        self, reading: Reading, sources: Sequence[SourceConfig]
    ) -> PageTable | None:
        """Return its own table in ``status``."""
        none: PageTable | None = None
        return self._ask(
            sources, "own_table", none, reading, sources, wrong=laws.bad_table
        )

    def read_until(self, store: Store, source: SourceConfig) -> float:
        """Return when newer items were last read; ``-inf`` if it is read whole."""
        return self._ask(
            [source], "read_until", -inf, store, source, wrong=laws.bad_moment
        )

    def lifetimes(self, store: Store, source: SourceConfig) -> Collection | None:
        """Return the lifetimes of its objects if its forecasts follow from them."""
        none: Collection | None = None
        return self._ask(
            [source], "lifetimes", none, store, source, wrong=laws.bad_lifetimes
        )

    def panorama(
        self, reading: Reading, sources: Sequence[SourceConfig], ahead: Floats
    ) -> Panorama | None:
        """Return all its sources at once; None: each is described by itself."""
        none: Panorama | None = None
        names = {source.name for source in sources}
        wrong = lambda answer: laws.bad_panorama(answer, names)  # noqa: E731
        return self._ask(
            sources, "panorama", none, reading, sources, ahead, wrong=wrong
        )

    def page(self, request: PageRequest[SourceConfig]) -> PageView:
        """Return what the page of a source shows; empty if the kind fails."""
        return self._ask(
            [request.source], "page", PageView(), request, wrong=laws.bad_page
        )

    def level(self, source: SourceConfig) -> tuple[float, float | None] | None:
        """Return the target and confidence in settings of this kind alone."""
        none: tuple[float, float | None] | None = None
        return self._ask([source], "level", none, source, wrong=laws.bad_level)

    def wanted(self, source: SourceConfig) -> float | None:
        """Return the quality that suffices."""
        none: float | None = None
        return self._ask([source], "wanted", none, source, wrong=laws.bad_wanted)

    def least(self, state: ContainedState) -> float:
        """Return the shortest time between two reads, in days."""
        return self._of(state, "least", 0.0, wrong=laws.bad_number)

    def is_scheduled(self, source: SourceConfig) -> bool:
        """Say whether its policy decides when it is fetched."""
        scheduled: bool = False
        return self._ask(
            [source], "is_scheduled", scheduled, source, wrong=laws.bad_flag
        )

    def due(self, state: ContainedState) -> float:
        """Return the time at which its policy wants it fetched."""
        return self._of(state, "due", inf, wrong=laws.bad_number)

    def parts(self, state: ContainedState) -> Floats:
        """Return the age in days of each part that a target on ages counts."""
        wrong = lambda answer: laws.bad_column("parts", answer)  # noqa: E731
        return self._of(state, "parts", np.zeros(0), wrong=wrong)

    def gaps(self, state: ContainedState) -> Floats:
        """Return the usual days between two fetches of each of these parts."""
        size = self.parts(state).size
        wrong = lambda answer: laws.bad_column("gaps", answer, size)  # noqa: E731
        return self._of(state, "gaps", np.full(size, inf), wrong=wrong)

    def looks(self, state: ContainedState) -> Floats:
        """Return the times of the latest reads of the source."""
        wrong = lambda answer: laws.bad_column("looks", answer)  # noqa: E731
        return self._of(state, "looks", np.zeros(0), wrong=wrong)

    def count(self, store: Store, source: SourceConfig) -> int | None:
        """Return how many items have an address each."""
        none: int | None = None
        return self._ask([source], "count", none, store, source, wrong=laws.bad_size)

    def covers(self, source: SourceConfig, address: str) -> bool | None:
        """Say whether an address belongs to a source."""
        none: bool | None = None
        return self._ask(
            [source], "covers", none, source, address, wrong=laws.bad_maybe
        )

    def recognise(self, answer: TrialAnswer) -> Sequence[SourceGuess]:
        """Return how an answer could be kept; nothing if the kind fails."""
        none: tuple[SourceGuess, ...] = ()
        call = lambda: tuple(self._kind.recognise(answer))  # noqa: E731
        return self._contained((), "recognise", none, call, laws.bad_guesses)

    def confirm(
        self, guess: SourceGuess, first: TrialAnswer, second: TrialAnswer
    ) -> SourceGuess:
        """Return a guess updated with the second page; unchanged if that fails."""
        wrong = lambda answer: laws.bad_guesses((answer,))  # noqa: E731
        return self._ask((), "confirm", guess, guess, first, second, wrong=wrong)

    def breaker(
        self, source: SourceConfig, old: Breaker, report: Report, now: float
    ) -> Breaker:
        """Return the updated breaker of a source."""
        neutral = super().breaker(source, old, report, now)
        return self._ask(
            [source],
            "breaker",
            neutral,
            source,
            old,
            report,
            now,
            wrong=laws.bad_breaker,
        )

    def faults(self, store: Store, source: SourceConfig) -> Sequence[str]:
        """Return why answers could not be handled when last fetched."""
        return self._ask([source], "faults", (), store, source, wrong=laws.bad_texts)

    def advice(self, store: Store, source: SourceConfig) -> Sequence[tuple[str, str]]:
        """Return how its settings could be improved."""
        return self._ask([source], "advice", (), store, source, wrong=laws.bad_pairs)

    def keep_faults(
        self, store: Store, group: Sequence[SourceConfig], faults: Mapping[str, str]
    ) -> None:
        """Save which answers of a group could not be handled."""
        self._ask(group, "keep_faults", None, store, group, faults)

    def silence(
        self, state: ContainedState, breaker: Breaker, now: float
    ) -> tuple[int, float]:
        """Return the failures since the last good fetch, and the days since then."""
        neutral = super().silence(state, breaker, now)
        return self._of(state, "silence", neutral, breaker, now, wrong=laws.bad_silence)

    def drift(
        self, reading: Reading, source: SourceConfig, breaker: Breaker
    ) -> tuple[Sequence[str], Sequence[str]]:
        """Return what its answers lack now, and what is new about them."""
        none: tuple[Sequence[str], Sequence[str]] = ((), ())
        return self._ask(
            [source], "drift", none, reading, source, breaker, wrong=laws.bad_drift
        )

    @asynccontextmanager
    async def open(
        self, desk: Desk, group: Sequence[SourceConfig]
    ) -> AsyncIterator[Worker]:
        """Hold all that the work needs; a failure to open becomes the report."""
        names = tuple(source.name for source in group)
        paid = partial(charged, desk.store, frozenset(names))
        account = Account(paid, sent=paid())
        own = replace(desk, gate=desk.gate.on_account(account))
        guard = ContainedWorker(group, account)
        async with AsyncExitStack() as stack:
            await guard.enter(self._kind, own, stack)
            yield guard
