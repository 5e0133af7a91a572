"""The decision of a turn of the service."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf

from halflife.config import Config
from halflife.engine import targets


@dataclass(frozen=True, slots=True)
class Decision:
    """The grants of a turn, and their reasons.

    Attributes:
        grants: Requests, by the names of a group.
        paid: How many of them are paid from the income.
        due: Offers with a gain that were not taken.
        waits: The source that requests are saved for; empty if there is none.
        aim: The demand of targets.
        why: The reason for a group's grant, if targets or schedules decide.
        values: The gain per request at a source, where that was computed.
        cut: Whether a first fetch got nothing because others were granted everything.
        idle: Whether there was no income, so that nothing was appraised.
        again: Days after which a target may demand a fetch.
        due_in: Days until a longest interval ends, or a schedule demands a fetch.

    """

    grants: Mapping[tuple[str, ...], int] = field(default_factory=dict)
    paid: Mapping[tuple[str, ...], float] = field(default_factory=dict)
    due: int = 0
    waits: str = ""
    aim: targets.Aim = field(default_factory=targets.Aim)
    why: Mapping[tuple[str, ...], str] = field(default_factory=dict)
    values: Mapping[str, float] = field(default_factory=dict)
    cut: bool = False
    idle: bool = False
    again: float = inf
    due_in: float = inf

    def beyond(self, config: Config) -> bool:
        """Say whether targets need more in the long run than the budget has."""
        return self.aim.needed() > config.budget.pace
