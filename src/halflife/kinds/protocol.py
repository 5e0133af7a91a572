"""What a kind of source is: all that the engine asks of one, and nothing else.

A kind reads the state of its sources once (``states``). Quality, offers, worth and the
rest are functions of that state; they read no store, no clock and no network. ``open``
gives the worker that does the I/O, and every piece of work comes back as a ``Report``.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from math import inf, nan
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Generic,
    NamedTuple,
    Protocol,
    TypeAlias,
    TypeVar,
)

import numpy as np

from halflife.config import Config, SourceConfig
from halflife.core.arrays import Floats
from halflife.core.forecast import Forecast
from halflife.core.lifetimes import Collection
from halflife.core.value_curve import Offers, Worth
from halflife.engine.breakers import Breaker
from halflife.engine.loop import Clock
from halflife.engine.renewals import shortest
from halflife.kinds.hooks import Hooks
from halflife.market.curves import Decay
from halflife.market.stand import TURN, Stand, TargetMemory
from halflife.market.target_rule import Goal
from halflife.models.recall_curve import Knots
from halflife.stores import Store
from halflife.stores.forecasts import Issued

if TYPE_CHECKING:
    from pathlib import Path

    from halflife.net.gate import Gate
    from halflife.replay.recorded_source import RecordedHistory, RecordedSource

NEVER_SEEN = 365.0  # quality-days that a first look buys, at most
OVERDUE = 1.5  # times the usual gap after which no look is expected any more

FEW = 3  # histories that are kept for pages

Group: TypeAlias = tuple[str, ...]
Seen: TypeAlias = tuple[str, int, float]  # a source, its looks, and when the last was
Source = TypeVar("Source", bound=SourceConfig)
State = TypeVar("State")


@dataclass(slots=True)
class Memo:
    """What was worked out before and holds until the next look at a source.

    Attributes:
        decays: How copies decay.
        casts: Forecasts, by source, looks, the last look and confidence.
        worths: What requests buy, by source, looks, the last look and what else counts.
        filed: The topics of pages, by the sources that are kept together.
        dues: When sources are due, by source, with what that goes by.
        rules: What the policies of a kind learned from all of its sources.
        histories: Histories that pages show, the latest few.

    """

    decays: dict[Seen, Decay] = field(default_factory=dict)
    casts: dict[tuple[str, int, float, float], Knots] = field(default_factory=dict)
    worths: dict[tuple[Seen, tuple[float, ...]], Worth] = field(default_factory=dict)
    filed: dict[Group, object] = field(default_factory=dict)
    dues: dict[str, tuple[object, float]] = field(default_factory=dict)
    rules: dict[Any, Any] = field(default_factory=dict)
    histories: dict[str, Collection] = field(default_factory=dict)

    def history(
        self, name: str, read: Callable[[], Collection | None]
    ) -> Collection | None:
        """Return a history, read once: who turns its pages asks again and again."""
        if name not in self.histories:
            found = read()
            if found is None:
                return None
            while len(self.histories) >= FEW:
                self.histories.pop(next(iter(self.histories)), None)
            self.histories[name] = found
        return self.histories.get(name)


@dataclass(frozen=True, slots=True)
class Reading:
    """What the state of sources is read from.

    Attributes:
        config: The settings.
        store: What is known.
        now: The time, in days.
        memo: What was worked out before.
        groups: Sources that are kept together.

    """

    config: Config
    store: Store
    now: float
    memo: Memo = field(default_factory=Memo)
    groups: Sequence[Sequence[SourceConfig]] = ()

    def shortest(self, source: SourceConfig, whole: float) -> float:
        """Return the days between two whole reads that settings allow."""
        return shortest(self.config, source, whole)


@dataclass(frozen=True, slots=True)
class Known:
    """A source and what requests buy there.

    Attributes:
        source: Its settings.
        whole: Requests that one look at all of it takes.
        worth: What requests buy; None if that is not known.
        why: Why it is not.
        pace: Requests a day that its policy spends, whatever they buy; None if the
            market decides.

    """

    source: SourceConfig
    whole: float
    worth: Worth | None = None
    why: str = ""
    pace: float | None = None


class Prospects(NamedTuple):
    """What renewing things of a source buys, the older they are.

    Attributes:
        gain: Weighted quality-days at ``market.price.AGES`` (things x ages).
        cost: Requests that each takes.
        many: How many things each stands for.

    """

    gain: Floats
    cost: Floats
    many: Floats


@dataclass(frozen=True, slots=True)
class Description:
    """What there is to say of a source besides its quality.

    Attributes:
        measure: What its quality is called.
        items: Items that are held.
        last: When it was last fetched, in days; ``-inf`` if never.
        rate: Items that arrive or change a day; nan if that is not known.
        gone: Items that were held and are known to be gone.
        why: Why nothing is known of its quality; empty if something is.
        note: What else should be known of it.

    """

    measure: str
    items: int = 0
    last: float = -inf
    rate: float = nan
    gone: int = 0
    why: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    """What would be fetched next.

    Attributes:
        what: The item or query.
        requests: Requests that it takes.
        gain: Quality-days that it buys, by request.
        why: Why it is worth that.

    """

    what: str
    requests: int
    gain: float
    why: str


class Result(Protocol):
    """What a piece of work came to, for people and programs."""

    def row(self) -> dict[str, object]:
        """Return it for programs."""
        ...

    def words(self, *, trouble: bool = True) -> str:
        """Return it in a line; without ``trouble`` not what went wrong."""
        ...


@dataclass(frozen=True, slots=True)
class Report:
    """What came of a piece of work.

    Attributes:
        group: The sources that were worked at.
        requests: Requests sent.
        result: What was seen; None if nothing could be done.
        trouble: What went wrong; empty if nothing did, or only with single items.
        held: Why the answer waits for a decision; empty if it does not.
        lost: Whether our own network kept something from being sent.
        heard: Whether anything was answered, or failed for another reason.
        partly: Whether something came of it although not all did.
        found: Items that became known.
        mishandled: The sources with an answer that our own code failed at, and which.
        failures: Fetches that failed, by source; those of our own network do not.
        section: What a program's answer calls such results; empty for pages.
        note: What else somebody who waits should know.
        troubles: What went wrong with each source, in words that follow its name.
        run: The run that put an answer aside; 0 if none did.

    """

    group: Group
    requests: int = 0
    result: Result | None = None
    trouble: str = ""
    held: str = ""
    lost: bool = False
    heard: bool = False
    partly: bool = False
    found: int = 0
    mishandled: Mapping[str, str] = field(default_factory=dict)
    failures: Mapping[str, int] = field(default_factory=dict)
    section: str = ""
    note: str = ""
    troubles: Mapping[str, str] = field(default_factory=dict)
    run: int = 0

    def failed(self) -> list[str]:
        """Return what went wrong, one line for each source."""
        lines = [f"source {name} {said}" for name, said in self.troubles.items()]
        rest = (n for n in self.mishandled if n not in self.troubles)
        return [*lines, *(f"source {name}: {self.mishandled[name]}" for name in rest)]


@dataclass(frozen=True, slots=True)
class Errand:
    """What somebody asks for who has sources fetched once.

    Attributes:
        most: Requests that may be spent, at most; None: what the budget has left.
        everything: Whether all items are looked at, not those that are worth most.
        told: Hears how many items were fetched, each time some were.
        income: What the sources get of the requests that have come in; None: all.
        draws: Whether somebody waits for it, so that what the window has left may be
            spent before it has come in.

    """

    most: int | None = None
    everything: bool = False
    told: Callable[[int], None] = lambda _: None
    income: int | None = None
    draws: bool = False


class Worker(Protocol):
    """Works at one group of sources."""

    async def sync(self, errand: Errand) -> Report:
        """Fetch the sources once, for somebody who asked for it."""
        ...

    async def work(self, requests: int) -> Report:
        """Spend up to so many requests."""
        ...

    def ease(self) -> None:
        """Begin nothing more."""
        ...

    async def keep(self) -> None:
        """Hold on to the sources between pieces of work; ends if they are lost."""
        ...


@dataclass(frozen=True, slots=True)
class Desk:
    """What workers share.

    Attributes:
        config: The settings.
        store: What is known.
        gate: The way out.
        clock: The time in days.
        audits: Whether a share of requests checks what is believed.
        remote: Makes what hands pages out to workers; None if they are fetched here.

    """

    config: Config
    store: Store
    gate: "Gate"
    clock: Clock
    audits: bool = False
    remote: Callable[..., Any] | None = None


class Kind(Hooks[Source], ABC, Generic[Source, State]):
    """A kind of source; one object serves all sources of it.

    What it may say besides is in ``Hooks``.

    Attributes:
        verb: The command that fetches such a source once.
        planned_as: What a program's answer calls its steps, and what each fetches.
        foreseen_by: How its forecasts are made, in a sentence.
        checked_by: What tells whether forecasts of it came true, in words.
        unchecked: Why nothing may have told that, in words.

    """

    verb: ClassVar[str] = "sync"
    planned_as: ClassVar[tuple[str, str]] = ("others", "what")
    foreseen_by: ClassVar[str] = ""
    checked_by: ClassVar[str] = "looks at it"
    unchecked: ClassVar[str] = "nothing was checked in the last 30 days"

    @abstractmethod
    def states(
        self, reading: Reading, sources: Sequence[Source]
    ) -> Mapping[str, State]:
        """Read what is known of sources; all that follows goes by it alone."""

    @abstractmethod
    def quality(
        self, state: State, sure: float, ahead: Floats, *, looks: bool
    ) -> Forecast | None:
        """Return the quality so many days ahead; None if nothing is known of it.

        ``sure`` is the confidence of each bound. With ``looks`` items are looked at as
        often as they were, else nobody looks.
        """

    @abstractmethod
    def worth(self, state: State, confidence: float) -> Known:
        """Return what requests buy in the long run."""

    @abstractmethod
    def offers(self, state: State) -> Offers:
        """Return what could be done now, in weighted quality-days."""

    @abstractmethod
    def measure(self, source: Source) -> str:
        """Return what the quality of a source is called."""

    @abstractmethod
    def describe(self, state: State) -> Description:
        """Return what there is to say of the source."""

    @abstractmethod
    def steps(self, state: State, most: int) -> list[Step]:
        """Return what would be fetched next for so many requests, best first."""

    @abstractmethod
    def ages(self, state: State, *, some: bool = False) -> Floats:
        """Return the days since the last look, one for each offer.

        ``inf`` where nobody has looked yet. With ``some``, of items that stand for all.
        """

    @abstractmethod
    def prospects(self, state: State) -> Prospects | None:
        """Return what renewing things buys, the older they are; None if not known."""

    @abstractmethod
    def stand(
        self, state: State, goal: Goal, memory: TargetMemory, settled: Sequence[Issued]
    ) -> tuple[Stand, TargetMemory] | None:
        """Return how the source stands to a goal, and what to remember of it.

        ``settled`` are the forecasts that got their outcomes since. None if nothing is
        known yet.
        """

    @abstractmethod
    def first_cost(self, reading: Reading, group: Sequence[Source], room: int) -> float:
        """Return the requests of the first look at what was never tried; 0 if all was.

        ``room`` is what the budget has left.
        """

    @abstractmethod
    def open(
        self, desk: Desk, group: Sequence[Source]
    ) -> AbstractAsyncContextManager[Worker]:
        """Hold all that it takes to work at sources during the block."""

    def was_seen(self, reading: Reading, source: Source) -> bool:
        """Say whether anything of it was ever fetched."""
        return source.name in reading.store.collections()

    def recorded(self, store: Store, source: Source) -> "RecordedSource | None":
        """Return what a store knows of a source as a recording; None if too little."""
        del store, source
        return None

    def recordings(self, folder: "Path") -> "Sequence[RecordedHistory]":
        """Return the histories in a folder that can be played as sources of this kind.

        Only names are read; none if the folder holds nothing of the kind.
        """
        del folder
        return ()

    def incomplete(self, store: Store, source: Source) -> str:
        """Return why the last answer was not all there is; empty if it was."""
        del store, source
        return ""

    def level(self, source: Source) -> tuple[float, float | None] | None:
        """Return the quality that keys of this kind alone ask for, and how surely."""
        del source
        return None

    def wanted(self, source: Source) -> float | None:
        """Return the quality that is good enough if the settings name none."""
        del source
        return None

    def least(self, state: State) -> float:
        """Return the days between two reads, at least."""
        del state
        return 0.0

    def is_scheduled(self, source: Source) -> bool:
        """Say whether its policy, and not the market, says when it is fetched."""
        del source
        return False

    def due(self, state: State) -> float:
        """Return the moment by which its policy has it fetched, in days.

        ``inf`` if the market decides. What is due is served before what is bought.
        """
        del state
        return inf

    def parts(self, state: State) -> Floats:
        """Return the age in days of each part that a target of ages counts."""
        return self.ages(state, some=True)

    def gaps(self, state: State) -> Floats:
        """Return the usual days between two looks at each of these parts."""
        return np.full(self.parts(state).size, inf)

    def looks(self, state: State) -> Floats:
        """Return when the source was read lately, in days."""
        del state
        return np.empty(0)

    def silence(self, state: State, breaker: Breaker, now: float) -> tuple[int, float]:
        """Return the failures since the last good look, and the days since then."""
        del state
        since = breaker.well if breaker.well > 0 else now
        return breaker.failures, max(now - since, 0.0)

    def drift(
        self, reading: Reading, source: Source, breaker: Breaker
    ) -> tuple[Sequence[str], Sequence[str]]:
        """Return what its answers lack now, and what is new about them, in words."""
        del reading, source, breaker
        return (), ()


def relief(looks: Floats, now: float) -> float:
    """Return the days until a look comes, by habit; ``inf`` if none may."""
    if looks.size < 2:
        return inf
    gap = float(np.median(np.diff(looks)))
    age = max(now - float(looks[-1]), 0.0)
    return inf if age > OVERDUE * gap + TURN else max(gap - age, 0.0)


def one_offer(source: SourceConfig, cost: float, gain: float) -> Offers:
    """Return the offer of what is renewed whole."""
    none = np.zeros(1, dtype=np.intp)
    return Offers(
        (source.name,), none, np.array([cost]), np.array([source.weight * gain])
    )
