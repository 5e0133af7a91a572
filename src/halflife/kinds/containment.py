"""Containment: what goes wrong in a kind harms no source of another kind.

Whatever a kind raises, or says that cannot be so (``laws``), is written down with the
kind's name and answered with what is said of a source of which nothing is known. Such a
source is not worked at until its kind says something usable again. Only errors of our
own state pass, and those that are meant for whoever called.
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
from halflife.core.errors import StoreError
from halflife.core.forecast import Forecast
from halflife.core.lifetimes import Collection
from halflife.core.value_curve import Offers
from halflife.engine.breakers import Breaker
from halflife.kinds import laws
from halflife.kinds.contained_worker import ContainedWorker, blame, charged, log
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
from halflife.market.stand import Stand, TargetMemory
from halflife.market.target_rule import Goal
from halflife.readers.containment import is_own_state
from halflife.recognition.guess import SourceGuess, TrialAnswer
from halflife.stores import Store
from halflife.stores.forecasts import Issued

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
        state: What its kind knows of it; None if it could not say.
        offers: How many offers were made; None if nobody asked.

    """

    source: SourceConfig
    state: Any
    offers: int | None = None

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  (of its kind)
        """Return what the state itself has; whoever looks inside sees that."""
        return getattr(self.state, name)


class ContainedKind(Kind[SourceConfig, ContainedState]):
    """A kind whose faults stay its own.

    Args:
        kind: The kind.

    """

    def __init__(self, kind: Kind[Any, Any]) -> None:
        self._kind = kind
        self._faults: dict[tuple[str, str], str] = {}
        for attribute in _SAME:
            setattr(self, attribute, getattr(kind, attribute))

    def fault(self, source: str) -> str:
        """Return what is wrong with what is said of a source; empty if nothing is."""
        return next((t for (n, _), t in self._faults.items() if n == source), "")

    def _ask(
        self,
        sources: Sequence[SourceConfig],
        method: str,
        neutral: Answer,
        call: Callable[[], Answer],
        wrong: Callable[[Answer], str] = lambda _: "",
    ) -> Answer:
        """Return what a method says, or what is said if nothing is known."""
        try:
            answer = call()
            said = wrong(answer)
        except Exception as error:
            if isinstance(error, StoreError) or is_own_state(error):
                raise
            answer, said = neutral, blame(error)
        for source in sources:
            self._note(source, method, said)
        return neutral if said else answer

    def _of(
        self,
        held: ContainedState,
        method: str,
        neutral: Answer,
        *given: Any,  # noqa: ANN401  (each method has its own)
        wrong: Callable[[Any], str] = lambda _: "",
        **named: Any,  # noqa: ANN401
    ) -> Answer:
        """Return what a method says of a state; nothing is asked if there is none."""
        if held.state is None:
            return neutral
        asked = getattr(self._kind, method)
        return self._ask(
            [held.source],
            method,
            neutral,
            lambda: asked(held.state, *given, **named),
            wrong,
        )

    def _note(self, source: SourceConfig, method: str, said: str) -> None:
        """Remember what is wrong, and write it down when it is new."""
        place = source.name, method
        if said:
            text = f"kind {source.kind!r}: {method}: {said}"
            if self._faults.get(place) != text:
                log([source], method, said)
            self._faults[place] = text
        else:
            self._faults.pop(place, None)

    def states(
        self, reading: Reading, sources: Sequence[SourceConfig]
    ) -> Mapping[str, ContainedState]:
        """Read what is known of sources."""
        names = {source.name for source in sources}
        none: dict[str, Any] = {}
        found = self._ask(
            sources,
            "states",
            none,
            lambda: dict(self._kind.states(reading, sources)),
            lambda all_: "" if all_.keys() >= names else "a source has no state",
        )
        return {s.name: ContainedState(s, found.get(s.name)) for s in sources}

    def quality(
        self, state: ContainedState, sure: float, ahead: Floats, *, looks: bool
    ) -> Forecast | None:
        """Return the quality so many days ahead."""
        wrong = lambda found: laws.bad_quality(found, ahead)  # noqa: E731
        none: Forecast | None = None
        return self._of(state, "quality", none, sure, ahead, looks=looks, wrong=wrong)

    def worth(self, state: ContainedState, confidence: float) -> Known:
        """Return what requests buy in the long run."""
        neutral = Known(state.source, 1.0, None, "its kind does not say")
        found = self._of(state, "worth", neutral, confidence, wrong=laws.bad_known)
        if found.worth is not None:
            return found
        return replace(found, why=self.fault(state.source.name) or found.why)

    def offers(self, state: ContainedState) -> Offers:
        """Return what could be done now."""
        none = Offers((state.source.name,), np.zeros(0, np.intp), *np.zeros((2, 0)))
        found = self._of(state, "offers", none, wrong=laws.bad_offers)
        state.offers = len(found)
        return found

    def together(self, source: SourceConfig, usual: str) -> str | None:
        """Return what sources that are worked at together have in common."""
        none: str | None = None
        call = lambda: self._kind.together(source, usual)  # noqa: E731
        return self._ask([source], "together", none, call)

    def measure(self, source: SourceConfig) -> str:
        """Return what the quality of a source is called."""
        call = lambda: self._kind.measure(source)  # noqa: E731
        return self._ask([source], "measure", "quality", call)

    def describe(self, state: ContainedState) -> Description:
        """Return what there is to say of the source, and what its kind fails at."""
        name = state.source.name
        neutral = Description(self.measure(state.source))
        found = self._of(state, "describe", neutral, wrong=laws.bad_description)
        said = self.fault(name)
        return replace(found, why=said, note=said) if said else found

    def steps(self, state: ContainedState, most: int) -> list[Step]:
        """Return what would be fetched next."""
        none: list[Step] = []
        return self._of(state, "steps", none, most, wrong=laws.bad_steps)

    def ages(self, state: ContainedState, *, some: bool = False) -> Floats:
        """Return the days since the last look, one for each offer."""
        none = np.zeros(0 if some else state.offers or 0)

        def wrong(found: Floats) -> str:
            one = some or state.offers is None or np.size(found) == 1  # it is of all
            return laws.bad_column("ages", found, None if one else state.offers)

        return self._of(state, "ages", none, some=some, wrong=wrong)

    def prospects(self, state: ContainedState) -> Prospects | None:
        """Return what renewing things buys, the older they are."""
        none: Prospects | None = None
        return self._of(state, "prospects", none, wrong=laws.bad_prospects)

    def stand(
        self,
        state: ContainedState,
        goal: Goal,
        memory: TargetMemory,
        settled: Sequence[Issued],
    ) -> tuple[Stand, TargetMemory] | None:
        """Return how the source stands to a goal."""
        none: tuple[Stand, TargetMemory] | None = None
        given = goal, memory, settled
        return self._of(state, "stand", none, *given, wrong=laws.bad_stand)

    def first_cost(
        self, reading: Reading, group: Sequence[SourceConfig], room: int
    ) -> float:
        """Return the requests of the first look; 0 if nobody can say."""
        call = lambda: self._kind.first_cost(reading, group, room)  # noqa: E731
        return self._ask(group, "first_cost", 0.0, call, laws.bad_number)

    def read_with(
        self, source: SourceConfig, alike: Sequence[SourceConfig]
    ) -> Sequence[SourceConfig]:
        """Return the sources that are read with one; at least that one itself."""
        call = lambda: self._kind.read_with(source, alike)  # noqa: E731
        wrong = lambda found: laws.bad_sources(found, source, alike)  # noqa: E731
        return self._ask([source], "read_with", (source,), call, wrong)

    def settled(
        self, store: Store, source: SourceConfig, since: float
    ) -> Sequence[Issued]:
        """Return the forecasts that its stand to a target learns from."""
        call = lambda: self._kind.settled(store, source, since)  # noqa: E731
        return self._ask([source], "settled", (), call)

    def was_seen(self, reading: Reading, source: SourceConfig) -> bool:
        """Say whether anything of it was ever fetched."""
        call = lambda: self._kind.was_seen(reading, source)  # noqa: E731
        return self._ask([source], "was_seen", True, call)  # noqa: FBT003

    def recorded(self, store: Store, source: SourceConfig) -> Any:  # noqa: ANN401
        """Return what a store knows of a source; whoever asks hears what is wrong."""
        return self._kind.recorded(store, source)

    def recordings(self, folder: Path) -> Any:  # noqa: ANN401
        """Return the histories in a folder; whoever asks hears what is wrong."""
        return self._kind.recordings(folder)

    def incomplete(self, store: Store, source: SourceConfig) -> str:
        """Return why the last answer was not all there is."""
        call = lambda: self._kind.incomplete(store, source)  # noqa: E731
        return self._ask([source], "incomplete", "", call)

    def gone(self, store: Store, source: SourceConfig) -> Mapping[str, float]:
        """Return the addresses of items that are gone."""
        none: Mapping[str, float] = {}
        return self._ask([source], "gone", none, lambda: self._kind.gone(store, source))

    def sync_cost(self, steps: Sequence[Step]) -> float:
        """Return the requests of a sync that begins with these steps."""
        call = lambda: self._kind.sync_cost(steps)  # noqa: E731
        return self._ask((), "sync_cost", 0.0, call, laws.bad_number)

    def queries(self, reading: Reading, source: SourceConfig, most: int) -> list[Step]:
        """Return the queries that would be asked next."""
        none: list[Step] = []
        call = lambda: self._kind.queries(reading, source, most)  # noqa: E731
        return self._ask([source], "queries", none, call, laws.bad_steps)

    def own_table(
        self, reading: Reading, sources: Sequence[SourceConfig]
    ) -> PageTable | None:
        """Return the table of its own that ``status`` has."""
        none: PageTable | None = None
        call = lambda: self._kind.own_table(reading, sources)  # noqa: E731
        return self._ask(sources, "own_table", none, call, laws.bad_table)

    def read_until(self, store: Store, source: SourceConfig) -> float:
        """Return when what was newer was read last; ``-inf`` if it is read whole."""
        call = lambda: self._kind.read_until(store, source)  # noqa: E731
        return self._ask([source], "read_until", -inf, call)

    def lifetimes(self, store: Store, source: SourceConfig) -> Collection | None:
        """Return the lifetimes of its objects if its forecasts follow from these."""
        none: Collection | None = None
        call = lambda: self._kind.lifetimes(store, source)  # noqa: E731
        return self._ask([source], "lifetimes", none, call)

    def panorama(
        self, reading: Reading, sources: Sequence[SourceConfig], ahead: Floats
    ) -> Panorama | None:
        """Return all its sources at once; None: each is described by itself."""
        none: Panorama | None = None
        call = lambda: self._kind.panorama(reading, sources, ahead)  # noqa: E731
        names = {source.name for source in sources}
        wrong = lambda found: laws.bad_panorama(found, names)  # noqa: E731
        return self._ask(sources, "panorama", none, call, wrong)

    def page(self, asked: PageRequest[SourceConfig]) -> PageView:
        """Return what the page of a source shows; nothing more if it cannot say."""
        call = lambda: self._kind.page(asked)  # noqa: E731
        return self._ask([asked.source], "page", PageView(), call, laws.bad_page)

    def level(self, source: SourceConfig) -> tuple[float, float | None] | None:
        """Return the quality that keys of this kind alone ask for."""
        none: tuple[float, float | None] | None = None
        call = lambda: self._kind.level(source)  # noqa: E731
        return self._ask([source], "level", none, call)

    def wanted(self, source: SourceConfig) -> float | None:
        """Return the quality that is good enough."""
        none: float | None = None
        call = lambda: self._kind.wanted(source)  # noqa: E731
        return self._ask([source], "wanted", none, call)

    def least(self, state: ContainedState) -> float:
        """Return the days between two reads, at least."""
        return self._of(state, "least", 0.0, wrong=laws.bad_number)

    def is_scheduled(self, source: SourceConfig) -> bool:
        """Say whether its policy says when it is fetched."""
        call = lambda: self._kind.is_scheduled(source)  # noqa: E731
        return self._ask([source], "is_scheduled", False, call)  # noqa: FBT003

    def due(self, state: ContainedState) -> float:
        """Return the moment by which its policy has it fetched."""
        return self._of(state, "due", inf, wrong=laws.bad_number)

    def parts(self, state: ContainedState) -> Floats:
        """Return the age in days of each part that a target of ages counts."""
        wrong = lambda found: laws.bad_column("parts", found)  # noqa: E731
        return self._of(state, "parts", np.zeros(0), wrong=wrong)

    def gaps(self, state: ContainedState) -> Floats:
        """Return the usual days between two looks at each of these parts."""
        size = self.parts(state).size
        wrong = lambda found: laws.bad_column("gaps", found, size)  # noqa: E731
        return self._of(state, "gaps", np.full(size, inf), wrong=wrong)

    def looks(self, state: ContainedState) -> Floats:
        """Return when the source was read lately."""
        wrong = lambda found: laws.bad_column("looks", found)  # noqa: E731
        return self._of(state, "looks", np.zeros(0), wrong=wrong)

    def count(self, store: Store, source: SourceConfig) -> int | None:
        """Return how many items have an address each."""
        none: int | None = None
        call = lambda: self._kind.count(store, source)  # noqa: E731
        return self._ask([source], "count", none, call)

    def covers(self, source: SourceConfig, address: str) -> bool | None:
        """Say whether an address belongs to a source."""
        none: bool | None = None
        call = lambda: self._kind.covers(source, address)  # noqa: E731
        return self._ask([source], "covers", none, call)

    def recognise(self, answer: TrialAnswer) -> Sequence[SourceGuess]:
        """Return how an answer could be kept; not at all if the kind fails at it."""
        none: Sequence[SourceGuess] = ()
        call = lambda: tuple(self._kind.recognise(answer))  # noqa: E731
        return self._ask((), "recognise", none, call)

    def confirm(
        self, guess: SourceGuess, first: TrialAnswer, second: TrialAnswer
    ) -> SourceGuess:
        """Return a guess with what the second page says; as it was if that fails."""
        call = lambda: self._kind.confirm(guess, first, second)  # noqa: E731
        return self._ask((), "confirm", guess, call)

    def breaker(
        self, source: SourceConfig, old: Breaker, report: Report, now: float
    ) -> Breaker:
        """Return for how long a source that failed is left alone."""
        call = lambda: self._kind.breaker(source, old, report, now)  # noqa: E731
        neutral = super().breaker(source, old, report, now)
        return self._ask([source], "breaker", neutral, call, laws.bad_breaker)

    def faults(self, store: Store, source: SourceConfig) -> Sequence[str]:
        """Return why answers could not be handled when last fetched."""
        call = lambda: self._kind.faults(store, source)  # noqa: E731
        return self._ask([source], "faults", (), call)

    def advice(self, store: Store, source: SourceConfig) -> Sequence[tuple[str, str]]:
        """Return what its settings could do better."""
        call = lambda: self._kind.advice(store, source)  # noqa: E731
        return self._ask([source], "advice", (), call)

    def keep_faults(
        self, store: Store, group: Sequence[SourceConfig], faults: Mapping[str, str]
    ) -> None:
        """Write down the answers of a group that could not be handled."""
        call = lambda: self._kind.keep_faults(store, group, faults)  # noqa: E731
        self._ask(group, "keep_faults", None, call)

    def silence(
        self, state: ContainedState, breaker: Breaker, now: float
    ) -> tuple[int, float]:
        """Return the failures since the last good look, and the days since then."""
        neutral = super().silence(state, breaker, now)
        return self._of(state, "silence", neutral, breaker, now)

    def drift(
        self, reading: Reading, source: SourceConfig, breaker: Breaker
    ) -> tuple[Sequence[str], Sequence[str]]:
        """Return what its answers lack now, and what is new about them."""
        none: tuple[Sequence[str], Sequence[str]] = ((), ())
        call = lambda: self._kind.drift(reading, source, breaker)  # noqa: E731
        return self._ask([source], "drift", none, call)

    @asynccontextmanager
    async def open(
        self, desk: Desk, group: Sequence[SourceConfig]
    ) -> AsyncIterator[Worker]:
        """Hold all that it takes to work; what cannot be opened reports so."""
        names = tuple(source.name for source in group)
        paid = partial(charged, desk.store, frozenset(names))
        account = Account(paid, sent=paid())
        own = replace(desk, gate=desk.gate.on_account(account))
        guard = ContainedWorker(group, account)
        async with AsyncExitStack() as stack:
            await guard.enter(self._kind, own, stack)
            yield guard
