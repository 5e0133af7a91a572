"""The protocol of a kind of source: everything that the engine asks of one.

A kind reads the state of its sources once (``states``). Quality, offers, worth and the
rest are functions of that state; they use no store, no clock and no network. ``open``
gives the worker that does the I/O, and every piece of work returns a ``Report``.
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
from halflife.market.target_rule import Goal
from halflife.market.target_status import TURN, TargetMemory, TargetStatus
from halflife.models.recall_curve import Knots
from halflife.stores import Store
from halflife.stores.forecasts import IssuedForecast

if TYPE_CHECKING:
    from pathlib import Path

    from halflife.net.gate import Gate
    from halflife.replay.recorded_source import RecordedHistory, RecordedSource

NEVER_SEEN = 365.0  # quality-days that a first fetch gains, at most
OVERDUE = 1.5  # times the usual gap after which no further fetch is expected

FEW = 3  # histories cached for pages

Group: TypeAlias = tuple[str, ...]
Seen: TypeAlias = tuple[str, int, float]  # a source, its fetches, time of the last
Source = TypeVar("Source", bound=SourceConfig)
State = TypeVar("State")


@dataclass(slots=True)
class Memo:
    """Cached results that hold until the next fetch of a source.

    Attributes:
        decays: How copies decay.
        casts: Forecasts, by source, number of fetches, last fetch and confidence.
        worths: Value curves, by source, fetches, last fetch and other inputs.
        filed: The topics of pages, by the sources that are stored together.
        dues: When sources are due, by source, with the inputs of that date.
        rules: What the policies of a kind learned from all of its sources.
        histories: The latest few histories that pages showed.

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
        """Return a history, read only once although each page of it needs it."""
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
    """The input from which the state of sources is read.

    Attributes:
        config: The settings.
        store: The store.
        now: The time, in days.
        memo: Cached results.
        groups: Sources that are stored together.

    """

    config: Config
    store: Store
    now: float
    memo: Memo = field(default_factory=Memo)
    groups: Sequence[Sequence[SourceConfig]] = ()

    def shortest(self, source: SourceConfig, whole: float) -> float:
        """Return the shortest allowed time between two full reads, in days."""
        return shortest(self.config, source, whole)


@dataclass(frozen=True, slots=True)
class Known:
    """A source and its value curve: what requests gain there.

    Attributes:
        source: Its settings.
        whole: Requests of one full read.
        worth: The value curve; None if it is not known.
        why: Why it is not known.
        pace: Requests a day that its policy spends, whatever they gain; None if the
            market decides.

    """

    source: SourceConfig
    whole: float
    worth: Worth | None = None
    why: str = ""
    pace: float | None = None


class Prospects(NamedTuple):
    """The gain of renewing items of a source, as a function of their age.

    Attributes:
        gain: Weighted quality-days at ``market.price.AGES`` (items x ages).
        cost: Requests of each item.
        many: How many items each row represents.

    """

    gain: Floats
    cost: Floats
    many: Floats


@dataclass(frozen=True, slots=True)
class Description:
    """What reports show of a source besides its quality.

    Attributes:
        measure: The name of its quality measure.
        items: Items in the copy.
        last: When it was last fetched, in days; ``-inf`` if never.
        rate: Items that arrive or change a day; nan if that is not known.
        gone: Items that were in the copy and no longer exist.
        why: Why its quality is unknown; empty if it is known.
        note: A further remark for the user.

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
    """A planned fetch.

    Attributes:
        what: The item or query.
        requests: Its cost in requests.
        gain: Expected gain in quality-days, by request.
        why: Why it gains that.

    """

    what: str
    requests: int
    gain: float
    why: str


class Result(Protocol):
    """The outcome of a piece of work, for people and programs."""

    def row(self) -> dict[str, object]:
        """Return it as a row for programs."""
        ...

    def words(self, *, trouble: bool = True) -> str:
        """Return it in a line; without ``trouble``, leave out what went wrong."""
        ...


@dataclass(frozen=True, slots=True)
class Report:
    """The report on a piece of work.

    Attributes:
        group: The sources that were worked at.
        requests: Requests sent.
        result: The outcome; None if nothing could be done.
        trouble: What went wrong; empty if nothing did, or only with single items.
        held: Why the answer waits for a decision; empty if it does not.
        lost: Whether our own network kept something from being sent.
        heard: Whether anything was answered, or failed for another reason.
        partly: Whether some of the work succeeded although not all did.
        found: Items that were discovered.
        mishandled: The sources with an answer that our own code failed at, and why.
        failures: Failed fetches by source, without those caused by our own network.
        section: The key of such results in a program's answer; empty for pages.
        note: A further remark for the user who waits.
        troubles: What went wrong with each source, in words that follow its name.
        run: The run that put an answer aside; 0 if none did.
        scheduled: Whether its policy decides all the same when the next one is due.

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
    scheduled: bool = False

    def failed(self) -> list[str]:
        """Return what went wrong, one line for each source."""
        lines = [f"source {name} {trouble}" for name, trouble in self.troubles.items()]
        rest = (n for n in self.mishandled if n not in self.troubles)
        return [*lines, *(f"source {name}: {self.mishandled[name]}" for name in rest)]


@dataclass(frozen=True, slots=True)
class Errand:
    """A request of a user or a program to fetch sources once.

    Attributes:
        most: Requests that may be spent, at most; None: what the budget has left.
        everything: Whether all items are fetched, not only the most valuable ones.
        told: Receives the number of fetched items after each batch.
        income: Share of the incoming requests that the sources get; None: all.
        draws: Whether a user waits for it, so that requests left in the window may be
            spent before they have come in.

    """

    most: int | None = None
    everything: bool = False
    told: Callable[[int], None] = lambda _: None
    income: int | None = None
    draws: bool = False


class Worker(Protocol):
    """Works at one group of sources."""

    async def sync(self, errand: Errand) -> Report:
        """Fetch the sources once, as requested."""
        ...

    async def work(self, requests: int) -> Report:
        """Spend up to ``requests`` requests."""
        ...

    def ease(self) -> None:
        """Start nothing more."""
        ...

    async def keep(self) -> None:
        """Keep the leases between pieces of work; return if they are lost."""
        ...


@dataclass(frozen=True, slots=True)
class Desk:
    """What workers share.

    Attributes:
        config: The settings.
        store: The store.
        gate: The gate through which all requests are sent.
        clock: The time in days.
        audits: Whether a share of the requests audits forecasts.
        remote: Makes the queue that gives pages to remote workers; None if they are
            fetched here.

    """

    config: Config
    store: Store
    gate: "Gate"
    clock: Clock
    audits: bool = False
    remote: Callable[..., Any] | None = None


class Kind(Hooks[Source], ABC, Generic[Source, State]):
    """A kind of source; one object serves all sources of it.

    Optional methods are in ``Hooks``.

    Attributes:
        verb: The command that fetches such a source once.
        planned_as: The key of its steps in a program's answer, and that of each item.
        foreseen_by: How its forecasts are made, in a sentence.
        checked_by: What verifies its forecasts, in words.
        unchecked: Why its forecasts may be unverified, in words.

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
        """Read the states of sources; all methods below use nothing else."""

    @abstractmethod
    def quality(
        self, state: State, sure: float, ahead: Floats, *, looks: bool
    ) -> Forecast | None:
        """Return the quality ``ahead`` days from now; None if it is unknown.

        ``sure`` is the confidence of each bound. With ``looks`` items are fetched as
        often as before, otherwise not at all.
        """

    @abstractmethod
    def worth(self, state: State, confidence: float) -> Known:
        """Return the value of requests in the long run."""

    @abstractmethod
    def offers(self, state: State) -> Offers:
        """Return the possible fetches now, in weighted quality-days."""

    @abstractmethod
    def measure(self, source: Source) -> str:
        """Return the name of the quality measure of a source."""

    @abstractmethod
    def describe(self, state: State) -> Description:
        """Return what reports show of the source besides its quality."""

    @abstractmethod
    def steps(self, state: State, most: int) -> list[Step]:
        """Return the next fetches for at most ``most`` requests, best first."""

    @abstractmethod
    def ages(self, state: State, *, some: bool = False) -> Floats:
        """Return the days since each offer's last fetch; with ``some``, of a sample."""

    @abstractmethod
    def prospects(self, state: State) -> Prospects | None:
        """Return the gain of renewing items by their age; None if not known."""

    @abstractmethod
    def stand(
        self,
        state: State,
        goal: Goal,
        memory: TargetMemory,
        settled: Sequence[IssuedForecast],
    ) -> tuple[TargetStatus, TargetMemory] | None:
        """Return how the source stands to a goal, and its memory; None if unknown.

        ``settled`` are the forecasts that got their outcomes since.
        """

    @abstractmethod
    def first_cost(self, reading: Reading, group: Sequence[Source], room: int) -> float:
        """Return the requests of a first fetch; 0 if everything was tried before.

        ``room`` is what the budget has left.
        """

    @abstractmethod
    def open(
        self, desk: Desk, group: Sequence[Source]
    ) -> AbstractAsyncContextManager[Worker]:
        """Hold all that the work at sources needs during the block."""

    def was_seen(self, reading: Reading, source: Source) -> bool:
        """Say whether anything of a source was ever fetched."""
        return source.name in reading.store.collections()

    def recorded(self, store: Store, source: Source) -> "RecordedSource | None":
        """Return the stored history of a source as a recording; None if too short."""
        del store, source
        return None

    def recordings(self, folder: "Path") -> "Sequence[RecordedHistory]":
        """Return the histories in a folder that can be replayed as such sources."""
        del folder
        return ()

    def incomplete(self, store: Store, source: Source) -> str:
        """Return why the last answer was incomplete; empty if it was complete."""
        del store, source
        return ""

    def level(self, source: Source) -> tuple[float, float | None] | None:
        """Return the target and confidence in settings of this kind alone."""
        del source
        return None

    def wanted(self, source: Source) -> float | None:
        """Return the quality that suffices if the settings name no target."""
        del source
        return None

    def least(self, state: State) -> float:
        """Return the shortest time between two reads, in days."""
        del state
        return 0.0

    def is_scheduled(self, source: Source) -> bool:
        """Say whether its policy, not the market, decides when it is fetched."""
        del source
        return False

    def due(self, state: State) -> float:
        """Return the time at which its policy wants it fetched, in days.

        ``inf`` if the market decides. Due sources are served before other offers.
        """
        del state
        return inf

    def parts(self, state: State) -> Floats:
        """Return the age in days of each part that a target on ages counts."""
        return self.ages(state, some=True)

    def gaps(self, state: State) -> Floats:
        """Return the usual days between two fetches of each of these parts."""
        return np.full(self.parts(state).size, inf)

    def looks(self, state: State) -> Floats:
        """Return the times of the latest reads of the source, in days."""
        del state
        return np.empty(0)

    def silence(self, state: State, breaker: Breaker, now: float) -> tuple[int, float]:
        """Return the failures since the last good fetch, and the days since then."""
        del state
        since = breaker.well if breaker.well > 0 else now
        return breaker.failures, max(now - since, 0.0)

    def drift(
        self, reading: Reading, source: Source, breaker: Breaker
    ) -> tuple[Sequence[str], Sequence[str]]:
        """Return what its answers lack now, and what is new about them, in words."""
        del reading, source, breaker
        return (), ()


def relief(reads: Floats, now: float) -> float:
    """Return the days until the next usual fetch; ``inf`` if none is expected."""
    if reads.size < 2:
        return inf
    gap = float(np.median(np.diff(reads)))
    age = max(now - float(reads[-1]), 0.0)
    return inf if age > OVERDUE * gap + TURN else max(gap - age, 0.0)


def one_offer(source: SourceConfig, cost: float, gain: float) -> Offers:
    """Return the offer of a source that is renewed whole."""
    none = np.zeros(1, dtype=np.intp)
    return Offers(
        (source.name,), none, np.array([cost]), np.array([source.weight * gain])
    )
