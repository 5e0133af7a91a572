"""Containment: what goes wrong in a kind harms no source of another kind.

Whatever a kind raises, or says that cannot be so (``laws``), is written down with the
kind's name and answered with what is said of a source of which nothing is known. Such a
source is not worked at until its kind says something usable again. Only errors of our
own state pass, and those that are meant for whoever called.
"""

import asyncio
import logging
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Mapping,
    Sequence,
)
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from math import inf
from traceback import walk_tb
from typing import Any, TypeVar

import numpy as np

from halflife.config import SourceConfig
from halflife.core.arrays import Floats
from halflife.core.budget import Account
from halflife.core.errors import HalflifeError, SourceError, StoreError
from halflife.core.forecast import Forecast
from halflife.core.value_curve import Offers
from halflife.engine import logs
from halflife.engine.breakers import Breaker
from halflife.kinds import laws
from halflife.kinds.protocol import (
    Description,
    Desk,
    Errand,
    Kind,
    Known,
    Prospects,
    Reading,
    Report,
    Step,
    Worker,
)
from halflife.market.stand import Memory, Stand
from halflife.market.target_rule import Goal
from halflife.readers.containment import MARK, failure, is_own_state
from halflife.stores import Store
from halflife.stores.forecasts import Issued

GROWN = 2.0  # times a grant that work may send: what it fetches may have grown
SPARE = 10  # requests beyond that, for redirects and robots.txt

Answer = TypeVar("Answer")
_SAME = (
    "is_joint", "verb", "is_open_ended", "planned_as", "view", "foreseen_by",
    "checked_by", "unchecked",
)  # fmt: skip


@dataclass(slots=True)
class Held:
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


class ContainedKind(Kind[SourceConfig, Held]):
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
            answer, said = neutral, _blame(error)
        for source in sources:
            self._note(source, method, said)
        return neutral if said else answer

    def _of(
        self,
        held: Held,
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
                _log([source], method, said)
            self._faults[place] = text
        else:
            self._faults.pop(place, None)

    def states(
        self, reading: Reading, sources: Sequence[SourceConfig]
    ) -> Mapping[str, Held]:
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
        return {s.name: Held(s, found.get(s.name)) for s in sources}

    def quality(
        self, state: Held, sure: float, ahead: Floats, *, looks: bool
    ) -> Forecast | None:
        """Return the quality so many days ahead."""
        wrong = lambda found: laws.bad_quality(found, ahead)  # noqa: E731
        none: Forecast | None = None
        return self._of(state, "quality", none, sure, ahead, looks=looks, wrong=wrong)

    def worth(self, state: Held, confidence: float) -> Known:
        """Return what requests buy in the long run."""
        neutral = Known(state.source, 1.0, None, "its kind does not say")
        found = self._of(state, "worth", neutral, confidence, wrong=laws.bad_known)
        if found.worth is not None:
            return found
        return replace(found, why=self.fault(state.source.name) or found.why)

    def offers(self, state: Held) -> Offers:
        """Return what could be done now."""
        none = Offers((state.source.name,), np.zeros(0, np.intp), *np.zeros((2, 0)))
        found = self._of(state, "offers", none, wrong=laws.bad_offers)
        state.offers = len(found)
        return found

    def measure(self, source: SourceConfig) -> str:
        """Return what the quality of a source is called."""
        call = lambda: self._kind.measure(source)  # noqa: E731
        return self._ask([source], "measure", "quality", call)

    def describe(self, state: Held) -> Description:
        """Return what there is to say of the source, and what its kind fails at."""
        name = state.source.name
        neutral = Description(self.measure(state.source))
        found = self._of(state, "describe", neutral, wrong=laws.bad_description)
        said = self.fault(name)
        return replace(found, why=said, note=said) if said else found

    def steps(self, state: Held, most: int) -> list[Step]:
        """Return what would be fetched next."""
        none: list[Step] = []
        return self._of(state, "steps", none, most, wrong=laws.bad_steps)

    def ages(self, state: Held, *, some: bool = False) -> Floats:
        """Return the days since the last look, one for each offer."""
        none = np.zeros(0 if some else state.offers or 0)

        def wrong(found: Floats) -> str:
            one = some or state.offers is None or np.size(found) == 1  # it is of all
            return laws.bad_column("ages", found, None if one else state.offers)

        return self._of(state, "ages", none, some=some, wrong=wrong)

    def prospects(self, state: Held) -> Prospects | None:
        """Return what renewing things buys, the older they are."""
        none: Prospects | None = None
        return self._of(state, "prospects", none, wrong=laws.bad_prospects)

    def stand(
        self, state: Held, goal: Goal, memory: Memory, settled: Sequence[Issued]
    ) -> tuple[Stand, Memory] | None:
        """Return how the source stands to a goal."""
        none: tuple[Stand, Memory] | None = None
        given = goal, memory, settled
        return self._of(state, "stand", none, *given, wrong=laws.bad_stand)

    def first_cost(
        self, reading: Reading, group: Sequence[SourceConfig], room: int
    ) -> float:
        """Return the requests of the first look; 0 if nobody can say."""
        call = lambda: self._kind.first_cost(reading, group, room)  # noqa: E731
        return self._ask(group, "first_cost", 0.0, call, laws.bad_number)

    def was_seen(self, reading: Reading, source: SourceConfig) -> bool:
        """Say whether anything of it was ever fetched."""
        call = lambda: self._kind.was_seen(reading, source)  # noqa: E731
        return self._ask([source], "was_seen", True, call)  # noqa: FBT003

    def recorded(self, store: Store, source: SourceConfig) -> Any:  # noqa: ANN401
        """Return what a store knows of a source; whoever asks hears what is wrong."""
        return self._kind.recorded(store, source)

    def grouped_by(self, source: SourceConfig) -> str:
        """Return the attribute by which its page groups objects."""
        call = lambda: self._kind.grouped_by(source)  # noqa: E731
        return self._ask([source], "grouped_by", "", call)

    def details(self, store: Store, source: SourceConfig) -> dict[str, list[Any]]:
        """Return what else its page shows."""
        none: dict[str, list[Any]] = {}
        call = lambda: self._kind.details(store, source)  # noqa: E731
        return self._ask([source], "details", none, call)

    def incomplete(self, store: Store, source: SourceConfig) -> str:
        """Return why the last answer was not all there is."""
        call = lambda: self._kind.incomplete(store, source)  # noqa: E731
        return self._ask([source], "incomplete", "", call)

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

    def least(self, state: Held) -> float:
        """Return the days between two reads, at least."""
        return self._of(state, "least", 0.0, wrong=laws.bad_number)

    def is_scheduled(self, source: SourceConfig) -> bool:
        """Say whether its policy says when it is fetched."""
        call = lambda: self._kind.is_scheduled(source)  # noqa: E731
        return self._ask([source], "is_scheduled", False, call)  # noqa: FBT003

    def due(self, state: Held) -> float:
        """Return the moment by which its policy has it fetched."""
        return self._of(state, "due", inf, wrong=laws.bad_number)

    def parts(self, state: Held) -> Floats:
        """Return the age in days of each part that a target of ages counts."""
        wrong = lambda found: laws.bad_column("parts", found)  # noqa: E731
        return self._of(state, "parts", np.zeros(0), wrong=wrong)

    def gaps(self, state: Held) -> Floats:
        """Return the usual days between two looks at each of these parts."""
        size = self.parts(state).size
        wrong = lambda found: laws.bad_column("gaps", found, size)  # noqa: E731
        return self._of(state, "gaps", np.full(size, inf), wrong=wrong)

    def looks(self, state: Held) -> Floats:
        """Return when the source was read lately."""
        wrong = lambda found: laws.bad_column("looks", found)  # noqa: E731
        return self._of(state, "looks", np.zeros(0), wrong=wrong)

    def count(self, state: Held) -> int | None:
        """Return how many pages it has."""
        none: int | None = None
        return self._of(state, "count", none)

    def silence(self, state: Held, breaker: Breaker, now: float) -> tuple[int, float]:
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
        paid = partial(_charged, desk.store, frozenset(names))
        account = Account(paid, sent=paid())
        own = replace(desk, gate=desk.gate.on_account(account))
        guard = ContainedWorker(group, account)
        async with AsyncExitStack() as stack:
            await guard.enter(self._kind, own, stack)
            yield guard


class ContainedWorker:
    """Works at a group of sources; whatever that raises becomes its report.

    Args:
        group: The sources.
        account: What is sent in their name.

    """

    def __init__(self, group: Sequence[SourceConfig], account: Account) -> None:
        self._group, self._account = group, account
        self._worker: Worker | None = None
        self._closed = ""  # why it could not be opened

    async def enter(
        self, kind: Kind[Any, Any], desk: Desk, stack: AsyncExitStack
    ) -> None:
        """Hold what the work needs until the stack ends, as far as the kind can."""
        try:
            held = kind.open(desk, self._group)
            self._worker = await held.__aenter__()
        except Exception as error:
            if is_meant(error):
                raise
            self._closed = str(failure(error, self._group[0].where))
            return

        async def leave(*why: Any) -> bool:  # noqa: ANN401  (type, error, traceback)
            try:
                return bool(await held.__aexit__(*why))
            except Exception as error:
                if error is why[1] or is_meant(error):
                    raise
                _log(self._group, "close", _blame(error))
                return False

        stack.push_async_exit(leave)

    @property
    def _names(self) -> tuple[str, ...]:
        return tuple(source.name for source in self._group)

    async def sync(self, errand: Errand) -> Report:
        """Fetch the sources once."""
        if self._worker is None:
            return self._report(self._closed)
        return await self._done(self._worker.sync(errand), self._account.sent)

    async def work(self, requests: int) -> Report:
        """Spend up to so many requests."""
        if self._worker is None:
            return self._report(self._closed)
        before = self._account.sent
        self._account.limit = before + GROWN * requests + SPARE
        try:
            return await self._done(self._worker.work(requests), before)
        finally:
            self._account.limit = inf

    async def _done(self, work: Awaitable[Report], before: int) -> Report:
        """Return the report; what it says of requests is what was sent."""
        try:
            report: object = await work
        except Exception as error:
            if is_meant(error):
                raise
            said = str(failure(error, self._group[0].where))
            return self._report(said, self._account.sent - before)
        sent = self._account.sent - before
        said = laws.bad_report(report, self._names, sent)
        if not isinstance(report, Report) or report.group != self._names:
            return self._report(f"{MARK}: {said}", sent)
        if not said:
            return report
        _log(self._group, "report", said)
        return replace(report, requests=sent)

    def _report(self, said: str, sent: int = 0) -> Report:
        """Return the report on work that ended in an error of its kind."""
        _log(self._group, "work", said)
        text, names = f"{said}; kind {self._group[0].kind!r}", self._names
        return Report(
            names,
            sent,
            trouble=text,
            heard=True,
            mishandled=dict.fromkeys(names, text),
            failures=dict.fromkeys(names, 1),
            troubles=dict.fromkeys(names, f"could not be worked at: {text}"),
        )

    def ease(self) -> None:
        """Begin nothing more."""
        try:
            if self._worker is not None:
                self._worker.ease()
        except Exception as error:  # noqa: BLE001  (it may be anybody's code)
            _log(self._group, "ease", _blame(error))

    async def keep(self) -> None:
        """Hold on to the sources; ends only if our own state says they are lost."""
        try:
            if self._worker is not None:
                await self._worker.keep()
        except Exception as error:
            if is_meant(error):
                raise
            _log(self._group, "keep", _blame(error))
        await asyncio.Event().wait()


def is_meant(error: Exception) -> bool:
    """Say whether an error is meant for whoever called, or is one of our own state."""
    purpose = isinstance(error, HalflifeError) and not isinstance(error, SourceError)
    return purpose or is_own_state(error)


def _charged(store: Store, names: frozenset[str]) -> int:
    """Return the requests that the ledger was charged with for any of some sources."""
    return sum(n for run, n in store.charged_here.items() if not names.isdisjoint(run))


def _blame(error: Exception) -> str:
    """Return an exception in a line: its name, and where the kind raised it."""
    frames = [frame for frame, _ in walk_tb(error.__traceback__)]
    lines = [line for _, line in walk_tb(error.__traceback__)]
    own = [i for i, frame in enumerate(frames) if frame.f_globals is globals()]
    place = min((own[-1] if own else -1) + 1, len(frames) - 1)
    module = frames[place].f_globals.get("__name__", "?")
    return f"{type(error).__name__} in {module}, line {lines[place]}"


def _log(group: Sequence[SourceConfig], method: str, said: str) -> None:
    names = "+".join(source.name for source in group)
    told = {"source": names, "kind": group[0].kind, "trouble": f"{method}: {said}"}
    logs.event("kind failed", level=logging.ERROR, fields=told)
