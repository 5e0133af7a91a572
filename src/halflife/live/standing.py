"""How a source stands to its target: what the rule for targets says of it now.

Pages are kept in rounds: what is believed of each when a round begins is kept in the
store, so that the looks of the round can be held against it. A listing, a search or a
form is renewed whole. What came of the forecasts of these (``auditing``) is the measure
by which the rule becomes more careful, or less.
"""

from dataclasses import dataclass, field, replace
from math import ceil, floor, inf

import numpy as np

from halflife.arrays import Bools, Floats
from halflife.config import SourceConfig
from halflife.live import costs, form_worths, selecting, upkeeping
from halflife.live.schedule import FIRST, LATEST, SOONEST
from halflife.live.worths import Appraiser
from halflife.market import keeping
from halflife.market.keeping import Goal, Past, Round, Whole
from halflife.stores import Store, summaries
from halflife.stores.forecasts import Forecasts, Issued
from halflife.stores.sqlite import SqliteStore

TURN = 900.0 / 86400.0  # days between two turns while there is something left over
AHEAD = 2.0 * TURN
ROUND = 1.0  # days of a round, at most
QUARTER = 0.25  # of the loss that is allowed, what is to come in a round
STRIDE = 2  # lots that a turn looks at, or as many pages as the round has so far
NOTHING: Floats = np.zeros(0)


@dataclass(frozen=True)
class Memory:
    """What is remembered of a source between turns.

    Attributes:
        past: What its rounds and looks have shown.
        began: When the present round began, in days.
        length: How many days it lasts.
        unwatched: Days for which nobody had looked at pages then, in the mean.
        chances: The chance of each page to be out of date, as it was believed then.
        told: Until when outcomes of forecasts were learned from.
        needed: Requests a day that it needs in the long run; ``inf`` if none do.
        found: When that was found.
        level: For which level.

    """

    past: Past = field(default_factory=Past)
    began: float = -inf
    length: float = ROUND
    unwatched: float = ROUND
    chances: Floats = field(default_factory=lambda: NOTHING, compare=False)
    told: float = -inf
    needed: float = 0.0
    found: float = -inf
    level: float = 0.0


@dataclass(frozen=True, slots=True)
class Stand:
    """How a source with a target stands.

    Attributes:
        source: Its name.
        asked: Requests that it asks for now.
        needed: Requests a day that keep the level in the long run; ``inf`` if none do.
        said: Why it asks, in a few words.

    """

    source: str
    asked: float
    needed: float
    said: str

    def ask(self) -> float:
        """Return the requests that it asks for now."""
        return self.asked

    def why(self) -> str:
        """Say in a few words why it asks for that."""
        return self.said


class Pages:
    """The pages of a source at one moment.

    Args:
        appraiser: What is believed of all pages.
        source: The source.
        goal: What is to be kept of it.

    """

    def __init__(self, appraiser: Appraiser, source: SourceConfig, goal: Goal) -> None:
        self.view, of = appraiser.pages
        self.rows = of[source.name]
        self.now, self.source, self.goal = appraiser.now, source, goal
        weight = np.where(self.view.held, self.view.weight, 0.0)[self.rows]
        self.share = weight / max(float(weight.sum()), 1e-12)

    @property
    def known(self) -> bool:
        """Whether any page was seen."""
        return bool(self.share.any())

    def chances(self, ahead: float = 0.0) -> Floats:
        """Return the chance of each page to be out of date so many days from now."""
        view = self.view
        age = np.where(view.held, view.exposure + ahead, 0.0)
        return 1.0 - np.clip(view.survival.alive(age)[self.rows], 0.0, 1.0)

    def stand(self, memory: Memory) -> tuple[Stand, Memory]:
        """Return how they stand, and what to remember."""
        memory = self._turned(memory)
        unseen = self._unseen(memory)
        now = self._round(memory, unseen)
        seen = int(np.count_nonzero(~unseen & (self.share > 0)))
        lot = ceil(keeping.LOT * self.rows.size)
        count = min(self._enough(memory, unseen, lot), max(STRIDE * lot, seen))
        risk = keeping.risk(memory.past, now, self.goal.level)
        said = (
            f"{risk.miss:.1%} likely to fall below {self.goal.level:.4g},"
            f" {risk.least:.1%} at best, {seen} of {self.rows.size} pages looked at"
        )
        asked = float(ceil(count * float(self.view.cost[self.rows].mean())))
        return Stand(self.source.name, asked, memory.needed, said), memory

    def _enough(self, memory: Memory, unseen: Bools, lot: int) -> int:
        """Return how many pages to look at, if all is as it is believed.

        A lot is looked at each day, more often at first, and more as long as the rule
        wants it. Its pages are looked at one after the other, so that nothing that
        happens to all pages goes unnoticed for a day.
        """
        rest = np.flatnonzero(unseen)
        order = rest[np.argsort(-self.chances()[rest], kind="stable")]
        span = min(max(memory.past.days, FIRST), ROUND)
        quiet = min(float(self.view.age[self.rows].min()), span)
        count = min(floor(quiet * lot / span + 1e-9), order.size)
        while count < order.size:
            left, done = unseen.copy(), order[:count]
            left[done] = False
            then = self._round(memory, left)
            found = then.found + float(self.share[done] @ memory.chances[done])
            if not keeping.wants(memory.past, replace(then, found=found), self.goal):
                return count
            count = min(max(2 * count, lot), order.size)
        return count

    def _turned(self, memory: Memory) -> Memory:
        """Return the memory of the round that this moment belongs to."""
        same = memory.chances.size == self.rows.size
        if same and 0 <= self.now - memory.began < memory.length:
            return memory
        past = memory.past
        if same and self.now >= memory.began:
            ended = self._round(memory, self._unseen(memory))
            days = min(self.now - memory.began, ROUND)
            past = keeping.closed(past, ended, self.goal, days)
        pace = float(self.share @ self.view.rate[self.rows])
        length = QUARTER * self.goal.loss / max(pace, 1e-9)
        watched = max(past.days, FIRST)
        return replace(
            memory,
            past=past,
            began=self.now,
            length=min(max(length, FIRST), watched, ROUND),
            unwatched=float(self.share @ np.minimum(self.view.age[self.rows], ROUND)),
            chances=self.chances(),
        )

    def _unseen(self, memory: Memory) -> Bools:
        unseen: Bools = self.view.age[self.rows] >= self.now - memory.began
        return unseen

    def _round(self, memory: Memory, unseen: Bools) -> Round:
        share, before = self.share, memory.chances
        now, later = self.chances(), self.chances(memory.length)
        stale = float(share[unseen] @ now[unseen])
        changed = self.view.changed[self.rows] & ~self._unseen(memory)
        return Round(
            things=1.0 / max(float(share @ share), 1e-12),
            began=float(share @ before),
            left=float(share[unseen] @ before[unseen]),
            found=float(share @ changed),
            now=stale,
            coming=max(float(share @ later) - stale, 0.0),
            unseen=float(share[unseen].sum()),
            days=memory.unwatched,
            ahead=memory.length,
        )


def whole(
    appraiser: Appraiser, source: SourceConfig, goal: Goal, memory: Memory
) -> tuple[Stand, Memory] | None:
    """Return how a source without pages stands, and what to remember."""
    store = appraiser.store
    kinds = {"search": _search, "listing": _listing}
    found = kinds.get(source.kind, _form)(appraiser, source, goal)
    if found is None:
        return None
    now, most = found
    memory = _told(store, source, goal, now, memory)
    latest = min(keeping.longest(memory.past, goal, now.step), most)
    late = now.age + now.step > most or keeping.due(memory.past, now, goal)
    due = late and (source.kind != "search" or now.age >= ROUND)
    asked = _requests(store, source) if due else 0.0
    chance = now.chance(memory.past, goal.level)
    said = (
        f"{max(chance, 0.0):.1%} likely to fall below {goal.level:.4g}, looked at"
        f" {now.age:.3g} days ago, {latest:.3g} at most"
    )
    return Stand(source.name, asked, memory.needed, said), memory


def _told(
    store: Store, source: SourceConfig, goal: Goal, now: Whole, memory: Memory
) -> Memory:
    """Return the memory with what came of forecasts since; of each look the latest."""
    if not isinstance(store, SqliteStore):
        return memory
    last: dict[float, Issued] = {}
    for one in Forecasts(store).settled(source.name, memory.told):
        told = one.told or 0.0
        if told > memory.told and one.made >= last.get(told, one).made:
            last[told] = one
    past = memory.past
    for told, one in sorted(last.items()):
        things = now.things if one.looks is None else min(now.things, one.looks)
        since = one.ahead if one.ahead > 0 else min(told - memory.told, ROUND)
        look = replace(now, things=max(things, 1.0), age=since)
        found = 1.0 - (one.found or 0.0)
        past = keeping.looked(past, look, found, 1.0 - one.mean, goal)
    return replace(memory, past=past, told=max(last, default=memory.told))


def _requests(store: Store, source: SourceConfig) -> float:
    """Return the requests of a whole look at what has no pages."""
    if source.kind == "form":
        copy = form_worths.held(store, source)
        return 1.0 if copy is None else float(ceil(form_worths.whole(copy, source)))
    kept = summaries.current(store, source.name) if source.kind == "search" else None
    return float(costs.noted(store, source) if kept is None else kept.requests)


def _search(
    appraiser: Appraiser, source: SourceConfig, goal: Goal
) -> tuple[Whole, float] | None:
    """Return how a summary stands: it is taken to hold while the chance is the level.

    That is what `halflife budget` counts on. The chance is that of the databases of a
    study; how often this one failed tells the longest interval. Its rounds are days.
    """
    kept = summaries.current(appraiser.store, source.name)
    if kept is None:
        return None
    # A new summary that is not put in use is a look at the database, too.
    tried = [one.at for one in summaries.versions(appraiser.store, source.name)]
    age = max(appraiser.now - max([kept.at, *tried]), 0.0)
    alive = selecting.survival(kept, source).alive(np.array([age + AHEAD]))[0]
    return Whole(1.0, age, float(alive < goal.level), 0.0, ROUND), inf


def _form(
    appraiser: Appraiser, source: SourceConfig, goal: Goal
) -> tuple[Whole, float] | None:
    """Return the mean over records, each as long after it was last seen as it is."""
    del goal
    copy = form_worths.held(appraiser.store, source)
    if copy is None:
        return None
    things = float(len(copy.records))
    if not copy.begun:  # it was not read to its end yet
        return Whole(things, 0.0, 1.0, 0.0, AHEAD), 0.0
    decay, _ = appraiser.decay(source)
    assert decay is not None
    new = upkeeping.wish(source).purpose == "new"
    seen = [copy.last] if new else list(copy.seen.values())
    ages = np.maximum(appraiser.now - np.array(seen), 0.0)
    later = 1.0 - float(np.mean(decay.at(ages + AHEAD)[0]))
    fresh = 1.0 - float(decay.at(np.array([AHEAD]))[0][0])
    return Whole(things, float(np.median(ages)), later, fresh, AHEAD), inf


def _listing(
    appraiser: Appraiser, source: SourceConfig, goal: Goal
) -> tuple[Whole, float] | None:
    """Return how a listing stands; it is foreseen for as long as it was watched."""
    del goal
    store = appraiser.store
    if source.name not in store.collections():
        return None
    known = store.collection(source.name)
    if not known.looks.size:
        return None
    first, last = float(known.looks[0]), float(known.looks[-1])
    age = max(appraiser.now - last, 0.0)
    most = max(min(max(last - first, FIRST), LATEST), SOONEST)
    things = max(float(np.count_nonzero(known.lives.present(last))), 1.0)
    decay, _ = appraiser.decay(source)
    if decay is None:
        return Whole(things, age, 0.0, 0.0, AHEAD), most

    def lost(days: float) -> float:
        return 1.0 - float(decay.at(np.array([days]))[0][0])

    return Whole(things, age, lost(age + AHEAD), lost(AHEAD), AHEAD), most
