"""The demand of sources with targets.

The rule is that of ``market.target_rule``. Its state is kept in the store, and the
long-run need of a source is computed once an hour, so that both survive a restart.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf

from halflife.config import Config, SourceConfig
from halflife.core import lazy_scipy
from halflife.core.wording import number
from halflife.engine.appraisal import Appraiser
from halflife.kinds.registry import kind_of
from halflife.market.target_rule import Goal
from halflife.market.target_status import TURN, TargetMemory, TargetStatus
from halflife.stores import NoteBook
from halflife.stores.notes.target_memory import ROUND_AGES, ROUND_CHANCES, TARGET_MEMORY

FRESH = 1.0 / 24.0  # days for which a computed long-run need is used
USUAL = 0.95  # the confidence of bounds where a target names none


@dataclass(frozen=True, slots=True)
class Aim:
    """The demand of sources with targets.

    Attributes:
        stands: Their standing relative to the target, by source.
        memories: The state to store for each.

    """

    stands: Mapping[str, TargetStatus] = field(default_factory=dict)
    memories: Mapping[str, TargetMemory] = field(default_factory=dict)

    @property
    def asks(self) -> dict[str, float]:
        """The demand of each source that has any."""
        found = {name: stand.requests for name, stand in self.stands.items()}
        return {name: ask for name, ask in found.items() if ask > 0}

    def needed(self) -> float:
        """Return the requests a day that all need in the long run.

        ``inf`` if a target cannot be met.
        """
        return sum(stand.needed for stand in self.stands.values())


def is_on(config: Config) -> bool:
    """Say whether no more is spent than targets demand."""
    return config.budget.mode == "targets"


def latest(source: SourceConfig) -> float:
    """Return the longest interval between fetches, by settings and targets on age.

    A fetch comes up to a turn late, so one that a target on age demands is due a turn
    earlier.
    """
    ages = [t.interval for t in source.targets if t.measure == "age"]
    if not ages:
        return source.latest
    return min(source.latest, max(min(ages) - TURN, min(ages) / 2.0))


def level(source: SourceConfig) -> tuple[float, float | None] | None:
    """Return the target quality and its confidence; None if there is no such target.

    Of several targets the highest level and the highest confidence count. Without one,
    keys of the source's own kind may set it, as the ``recall`` of a listing does.
    """
    chosen = [t for t in source.targets if t.measure != "age"]
    if not chosen:
        return kind_of(source).level(source)
    confidences = [t.confidence for t in chosen if t.confidence is not None]
    return max(t.level for t in chosen), max(confidences, default=None)


def get_ready(sources: Sequence[SourceConfig]) -> None:
    """Import the slow modules that judge targets, if any source has one."""
    if any(level(source) is not None for source in sources):
        lazy_scipy.preload()


def aim(appraiser: Appraiser, sources: Sequence[SourceConfig]) -> Aim:
    """Return the demand of sources with targets now."""
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
    """Return a source's standing relative to a goal; None before its first data."""
    kind = kind_of(source)
    settled = kind.settled(appraiser.store, source, memory.told)
    return kind.stand(appraiser.state(source), goal, memory, settled)


def _renewed(
    appraiser: Appraiser, source: SourceConfig, wanted: tuple[float, float | None]
) -> TargetMemory:
    """Return the stored state of a source, with its long-run need computed if old.

    The shortfall of another target level does not count for this one.
    """
    memory = recall(appraiser.store, source.name)
    target, confidence = wanted
    if memory.level != target:
        memory = replace(memory, past=replace(memory.past, days=0.0, missed=0.0))
    elif 0 <= appraiser.now - memory.found < FRESH:
        return memory
    worth = appraiser.known(source, confidence or USUAL).worth
    if worth is None:
        return replace(memory, level=target)
    needed = worth.needed(target, sure=confidence is not None)
    return replace(memory, needed=needed, found=appraiser.now, level=target)


def out_of_reach(config: Config, store: NoteBook) -> list[str]:
    """Return which targets cannot be kept, by the last forecast, in words."""
    needs, certainty = {}, {}
    for source in config.source:
        wanted, memory = level(source), recall(store, source.name)
        if wanted is not None and memory.level == wanted[0]:
            needs[source.name] = memory.needed
            certainty[source.name] = "expected" if wanted[1] is None else "sure"
    total = sum(need for need in needs.values() if need < inf)
    found = [
        f"no number of requests is {certainty[name]} to keep the target of {name}"
        for name, need in needs.items()
        if need == inf
    ]
    if total > config.budget.pace:
        has = number(config.budget.pace, 3)
        found.append(
            f"targets are expected to need {number(total, 3)} of {has} requests a day"
        )
    return found


def recall(store: NoteBook, name: str) -> TargetMemory:
    """Return the stored state of a source's target."""
    memory = TARGET_MEMORY.load(store, name)
    if memory is None:
        return TargetMemory()
    chances, ages = ROUND_CHANCES.load(store, name), ROUND_AGES.load(store, name)
    memory = memory if chances is None else replace(memory, chances=chances)
    return memory if ages is None else replace(memory, ages=ages)


def round_began(store: NoteBook, name: str) -> float:
    """Return when the present round of a source began; ``-inf`` before the first."""
    memory = TARGET_MEMORY.load(store, name)
    return -inf if memory is None else memory.began


def remember(store: NoteBook, memories: Mapping[str, TargetMemory]) -> None:
    """Store the state of sources' targets."""
    for name, one in memories.items():
        before = recall(store, name).began
        TARGET_MEMORY.save(store, one, name)
        if one.began != before:
            ROUND_CHANCES.save(store, one.chances, name)
            ROUND_AGES.save(store, one.ages, name)
