"""What a turn of the service decides."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf

from halflife.config import Config
from halflife.engine import targets
from halflife.market.target_status import TargetMemory


@dataclass(frozen=True, slots=True)
class Decision:
    """What is done next.

    Attributes:
        grants: Requests, by the names of a group.
        paid: How many of them come out of what has come in.
        due: Offers that gained something and were not taken.
        waits: The source that requests are saved for; empty if there is none.
        aim: What targets ask for, if no more than that is spent.
        why: Why a group gets what it gets, in a few words, if targets decide.
        memories: What to remember until the next decision.
        values: Gain per request of what a source gets, where that was weighed.
        cut: Whether a first look got nothing because others were granted all there is.
        idle: Whether nothing had come in, so that nobody asked what there is to do.
        again: Days after which a target may ask for something.
        due_in: Days until a longest interval is over, or a schedule asks for a fetch.

    """

    grants: Mapping[tuple[str, ...], int] = field(default_factory=dict)
    paid: Mapping[tuple[str, ...], float] = field(default_factory=dict)
    due: int = 0
    waits: str = ""
    aim: targets.Aim = field(default_factory=targets.Aim)
    why: Mapping[tuple[str, ...], str] = field(default_factory=dict)
    memories: Mapping[str, TargetMemory] = field(default_factory=dict)
    values: Mapping[str, float] = field(default_factory=dict)
    cut: bool = False
    idle: bool = False
    again: float = inf
    due_in: float = inf

    def beyond(self, config: Config) -> bool:
        """Say whether targets need more in the long run than the budget has."""
        return self.aim.needed() > config.budget.pace
