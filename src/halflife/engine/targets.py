"""How sources stand to their targets, for a budget of which no more is spent than that.

The rule is that of ``market.keeping``. What it goes by is kept in the store, and what a
source needs in the long run is worked out once an hour, so that both outlive a restart.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from halflife.config import Config, SourceConfig
from halflife.core import lazy_scipy
from halflife.engine.appraisal import Appraiser
from halflife.kinds.registry import kind_of
from halflife.market.target_rule import Goal
from halflife.market.target_status import TURN, TargetMemory, TargetStatus
from halflife.stores import NoteBook
from halflife.stores.notes.target_memory import ROUND_CHANCES, TARGET_MEMORY

FRESH = 1.0 / 24.0  # days for which what is needed in the long run is believed
USUAL = 0.95  # the confidence of bounds where a target names none


@dataclass(frozen=True, slots=True)
class Aim:
    """What sources with targets ask for.

    Attributes:
        stands: How they stand, by source.
        memories: What to remember of them.

    """

    stands: Mapping[str, TargetStatus] = field(default_factory=dict)
    memories: Mapping[str, TargetMemory] = field(default_factory=dict)

    @property
    def asks(self) -> dict[str, float]:
        """What each asks for, where that is anything."""
        found = {name: stand.requests for name, stand in self.stands.items()}
        return {name: ask for name, ask in found.items() if ask > 0}

    def needed(self) -> float:
        """Return what all need in the long run, a day; ``inf`` if one cannot be."""
        return sum(stand.needed for stand in self.stands.values())


def is_on(config: Config) -> bool:
    """Say whether only as much is spent as targets ask for."""
    return config.budget.mode == "targets"


def latest(source: SourceConfig) -> float:
    """Return the days that a look may be put off for; an age's target counts too.

    A look comes up to a turn late, so one that an age asks for is due a turn before.
    """
    ages = [t.interval for t in source.targets if t.measure == "age"]
    if not ages:
        return source.latest
    return min(source.latest, max(min(ages) - TURN, min(ages) / 2.0))


def level(source: SourceConfig) -> tuple[float, float | None] | None:
    """Return the quality to be kept, and how surely; None if there is no such target.

    Of several the highest level counts, and the surest. Where there is none, keys of
    the source's own kind may ask for one, as the ``recall`` of a listing does.
    """
    asked = [t for t in source.targets if t.measure != "age"]
    if not asked:
        return kind_of(source).level(source)
    sure = [t.confidence for t in asked if t.confidence is not None]
    return max(t.level for t in asked), max(sure, default=None)


def get_ready(sources: Sequence[SourceConfig]) -> None:
    """Import what it takes to judge targets, if any source has one: that takes long."""
    if any(level(source) is not None for source in sources):
        lazy_scipy.preload()


def aim(appraiser: Appraiser, sources: Sequence[SourceConfig]) -> Aim:
    """Return what sources with targets ask for now."""
    stands, memories = {}, {}
    for source in sources:
        wanted = level(source)
        if wanted is None:
            continue
        memory = _renewed(appraiser, source, wanted)
        found = stand(appraiser, source, Goal(*wanted), memory)
        if found is not None:
            stands[source.name], memories[source.name] = found
    return Aim(stands, memories)


def stand(
    appraiser: Appraiser, source: SourceConfig, goal: Goal, memory: TargetMemory
) -> tuple[TargetStatus, TargetMemory] | None:
    """Return how a source stands to a goal; None if nothing is known of it yet."""
    kind = kind_of(source)
    settled = kind.settled(appraiser.store, source, memory.told)
    return kind.stand(appraiser.state(source), goal, memory, settled)


def _renewed(
    appraiser: Appraiser, source: SourceConfig, wanted: tuple[float, float | None]
) -> TargetMemory:
    """Return what is remembered of a source; what it needs is found anew at times.

    What was missed of another level says nothing of this one.
    """
    memory = recall(appraiser.store, source.name)
    asked, confidence = wanted
    if memory.level != asked:
        memory = replace(memory, past=replace(memory.past, days=0.0, missed=0.0))
    elif 0 <= appraiser.now - memory.found < FRESH:
        return memory
    worth = appraiser.known(source, confidence or USUAL).worth
    if worth is None:
        return replace(memory, level=asked)
    needed = worth.needed(asked, sure=confidence is not None)
    return replace(memory, needed=needed, found=appraiser.now, level=asked)


def recall(store: NoteBook, name: str) -> TargetMemory:
    """Return what is remembered of a source."""
    memory = TARGET_MEMORY.load(store, name)
    if memory is None:
        return TargetMemory()
    chances = ROUND_CHANCES.load(store, name)
    return memory if chances is None else replace(memory, chances=chances)


def remember(store: NoteBook, memories: Mapping[str, TargetMemory]) -> None:
    """Keep what is to be remembered of sources."""
    for name, one in memories.items():
        before = recall(store, name).began
        TARGET_MEMORY.save(store, one, name)
        if one.began != before:
            ROUND_CHANCES.save(store, one.chances, name)
