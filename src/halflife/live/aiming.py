"""How sources stand to their targets, for a budget of which no more is spent than that.

What a source needs in the long run is worked out once an hour, and its pace is kept in
the store, so that both outlive a restart.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil, inf, isfinite

import numpy as np

from halflife.arrays import Bools, Floats
from halflife.config import Config, SourceConfig
from halflife.live import costs, form_worths, selecting, upkeeping
from halflife.live.schedule import FIRST, LATEST, SOONEST
from halflife.live.worths import Appraiser, Decays, recall_decay
from halflife.lives import Collection
from halflife.market.curves import Decay
from halflife.market.keeping import Pace, Stand, steered
from halflife.models.quality import freshness_forecast
from halflife.stores import Store, summaries

TURN = 900.0 / 86400.0  # days between two turns while there is something left over
AHEAD = 2.0 * TURN
FRESH = 1.0 / 24.0  # days for which what is needed in the long run is believed
AGAIN = 0.25  # days after which a page that was seen once tells nothing any more
USUAL = 0.95  # the confidence of bounds where a target names none


@dataclass(frozen=True, slots=True)
class Memory:
    """What is remembered of a source between turns.

    Attributes:
        pace: How fast its pages are looked at.
        at: When that was, in days.
        needed: Requests a day that it needs in the long run; ``inf`` if none do.
        found: When that was found.
        level: For which level.

    """

    pace: Pace = field(default_factory=Pace)
    at: float = -inf
    needed: float = 0.0
    found: float = -inf
    level: float = 0.0


@dataclass(frozen=True, slots=True)
class Aim:
    """What sources with targets ask for.

    Attributes:
        stands: How they stand, by source.
        memories: What to remember of them.

    """

    stands: Mapping[str, Stand] = field(default_factory=dict)
    memories: Mapping[str, Memory] = field(default_factory=dict)

    @property
    def asks(self) -> dict[str, float]:
        """What each asks for, where that is anything."""
        found = {name: stand.ask() for name, stand in self.stands.items()}
        return {name: ask for name, ask in found.items() if ask > 0}

    def needed(self) -> float:
        """Return what all need in the long run, a day; ``inf`` if one cannot be."""
        return sum(stand.needed for stand in self.stands.values())

    def paid(self, shares: Mapping[str, float]) -> dict[str, Memory]:
        """Return what to remember once so much was spent on each."""
        return {
            name: replace(one, pace=one.pace.paid(shares.get(name, 0.0)))
            for name, one in self.memories.items()
        }


def is_on(config: Config) -> bool:
    """Say whether only as much is spent as targets ask for."""
    return config.budget.mode == "targets"


def latest(config: Config, source: SourceConfig) -> float:
    """Return the days that a look may be put off for; an age's target counts too.

    A look comes up to a turn late, so one that an age asks for is due a turn before.
    """
    ages = [t.interval for t in source.targets if t.measure == "age"]
    if not is_on(config) or not ages:
        return source.latest
    return min(source.latest, max(min(ages) - TURN, min(ages) / 2.0))


def level(source: SourceConfig) -> tuple[float, float | None] | None:
    """Return the quality to be kept, and how surely; None if there is no such target.

    Of several the highest level counts, and the surest. The ``recall`` of a listing is
    such a target, if the settings name it.
    """
    asked = [t for t in source.targets if t.measure != "age"]
    if not asked and source.kind == "listing" and "recall" in source.model_fields_set:
        return source.recall, source.confidence
    if not asked:
        return None
    sure = [t.confidence for t in asked if t.confidence is not None]
    return max(t.level for t in asked), max(sure, default=None)


def aim(appraiser: Appraiser, sources: Sequence[SourceConfig], decays: Decays) -> Aim:
    """Return what sources with targets ask for now."""
    stands, memories = {}, {}
    for source in sources:
        wanted = level(source)
        if wanted is None:
            continue
        memory = _renewed(appraiser, source, wanted)
        stand = _stand(appraiser, source, wanted, memory, decays)
        if stand is None:
            continue
        days = appraiser.now - memory.at if isfinite(memory.at) else 0.0
        stand = steered(stand, days, appraiser.config.budget.pace)
        stands[source.name] = stand
        pace = stand.pace or Pace()
        memories[source.name] = replace(memory, pace=pace, at=appraiser.now)
    return Aim(stands, memories)


def _renewed(
    appraiser: Appraiser, source: SourceConfig, wanted: tuple[float, float | None]
) -> Memory:
    """Return what is remembered of a source; what it needs is found anew at times."""
    memory = recall(appraiser.store, source.name)
    asked, confidence = wanted
    if memory.level == asked and 0 <= appraiser.now - memory.found < FRESH:
        return memory
    worth = appraiser.known(source, confidence or USUAL).worth
    if worth is None:
        return memory
    needed = worth.needed(asked, sure=confidence is not None)
    return replace(memory, needed=needed, found=appraiser.now, level=asked)


def _stand(
    appraiser: Appraiser,
    source: SourceConfig,
    wanted: tuple[float, float | None],
    memory: Memory,
    decays: Decays,
) -> Stand | None:
    """Return how a source stands; None if nothing of it was seen."""
    asked, confidence = wanted
    needed = memory.needed
    if source.has_pages:
        believed = _pages(appraiser, source, confidence)
        needed = max(needed, np.count_nonzero(_doubtful(appraiser, source)) / AGAIN)
    elif source.kind == "search":
        believed = _search(appraiser, source, confidence)
    elif source.kind == "form":
        believed = _form(appraiser, source, confidence)
    else:
        believed = _listing(appraiser, source, confidence, decays)
    if believed is None:
        return None
    whole = 0.0 if source.has_pages else _whole(appraiser.store, source)
    pace = memory.pace if source.has_pages else None
    now, later = believed
    return Stand(source.name, asked, now, later, whole, needed, pace)


def _whole(store: Store, source: SourceConfig) -> float:
    """Return the requests of a whole look at what has no pages."""
    if source.kind == "form":
        copy = form_worths.held(store, source)
        return 1.0 if copy is None else float(ceil(form_worths.whole(copy, source)))
    kept = summaries.current(store, source.name) if source.kind == "search" else None
    return float(costs.noted(store, source) if kept is None else kept.requests)


def _pages(
    appraiser: Appraiser, source: SourceConfig, confidence: float | None
) -> tuple[float, float] | None:
    view, of = appraiser.pages
    mine = np.zeros(len(view))
    mine[of[source.name]] = view.weight[of[source.name]]
    if not mine.any() or not view.held[of[source.name]].any():
        return None
    # A lower bound at 95 % is one end of an interval that holds for 90 %.
    sure = max(2.0 * (confidence or USUAL) - 1.0, 0.01)
    doubtful = _doubtful(appraiser, source)
    seen = replace(view, weight=mine, looks=np.where(doubtful, 0, view.looks))
    cast = freshness_forecast(seen, np.array([0.0, AHEAD]), confidence=sure)
    cast = appraiser.trust(source).forecast(cast)
    column = cast.mean if confidence is None else cast.low
    return float(column[0]), float(column[1])


def _doubtful(appraiser: Appraiser, source: SourceConfig) -> Bools:
    """Say which pages count as lost: seen once, which tells nothing of their changes.

    Whoever believed what is usual elsewhere might not look again for days.
    """
    view, of = appraiser.pages
    mine = np.zeros(len(view), dtype=np.bool_)
    mine[of[source.name]] = True
    doubtful: Bools = mine & (view.looks < 2) & view.held & (view.age > AGAIN)
    return doubtful


def _search(
    appraiser: Appraiser, source: SourceConfig, confidence: float | None
) -> tuple[float, float] | None:
    kept = summaries.current(appraiser.store, source.name)
    if kept is None:
        return None
    age = max(appraiser.now - kept.at, 0.0)
    survival = selecting.survival(kept, source)
    holds = np.array(
        [float(survival.alive(np.array([t]))[0]) for t in (age, age + AHEAD)]
    )
    if confidence is not None:
        holds, _ = appraiser.trust(source).chance(holds)
    return float(holds[0]), float(holds[1])


def _form(
    appraiser: Appraiser, source: SourceConfig, confidence: float | None
) -> tuple[float, float] | None:
    """Return the mean over records, each as long after it was last seen as it is."""
    copy = form_worths.held(appraiser.store, source)
    if copy is None:
        return None
    if not copy.begun:  # it was not read to its end yet
        return 0.0, 0.0
    wish = upkeeping.wish(source)
    seen = [copy.last] if wish.purpose == "new" else list(copy.seen.values())
    age = np.maximum(appraiser.now - np.array(seen), 0.0)
    decay = form_worths.decay(copy, wish, confidence or USUAL)
    decay = appraiser.trust(source).decay(decay)
    return _after(decay, age, confidence), _after(decay, age + AHEAD, confidence)


def _listing(
    appraiser: Appraiser,
    source: SourceConfig,
    confidence: float | None,
    decays: Decays,
) -> tuple[float, float] | None:
    """Return what is foreseen, no further ahead than it was watched so far."""
    store = appraiser.store
    if source.name not in store.collections():
        return None
    known = store.collection(source.name)
    if not known.looks.size:
        return None
    first, last = float(known.looks[0]), float(known.looks[-1])
    age = max(appraiser.now - last, 0.0)
    longest = max(min(max(last - first, FIRST), LATEST), SOONEST)
    if known.looks.size < 2:
        return 1.0, float(age + AHEAD < longest)
    decay = _decay(source, known, confidence or USUAL, decays)
    decay = appraiser.trust(source).decay(decay)
    now, later = (_after(decay, np.array([t]), confidence) for t in (age, age + AHEAD))
    return now, later if age < longest else 0.0


def _decay(
    source: SourceConfig, known: Collection, confidence: float, decays: Decays
) -> Decay:
    seen = f"{source.name} {confidence!r}", known.looks.size, float(known.looks[-1])
    if seen not in decays:
        decays[seen] = recall_decay(known, confidence)
    return decays[seen]


def _after(decay: Decay, age: Floats, confidence: float | None) -> float:
    mean, low = decay.at(age)
    return float(np.mean(mean if confidence is None else low))


def recall(store: Store, name: str) -> Memory:
    """Return what is remembered of a source."""
    text = store.memo(f"keeping {name}")
    if text is None:
        return Memory()
    owed, times, at, needed, found, asked = json.loads(text)
    return Memory(Pace(owed, times), at, needed, found, asked)


def remember(store: Store, memories: Mapping[str, Memory]) -> None:
    """Keep what is to be remembered of sources."""
    for name, one in memories.items():
        row = (one.pace.owed, one.pace.times, one.at, one.needed, one.found, one.level)
        store.save_memo(f"keeping {name}", json.dumps(row))
