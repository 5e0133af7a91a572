"""How much we may still ask."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Budget:
    """Requests left to spend in this turn; a hard limit."""

    requests: int

    def __post_init__(self) -> None:
        if self.requests < 0:
            raise ValueError(f"a budget cannot be negative, got {self.requests}")

    def __bool__(self) -> bool:
        return self.requests > 0


class Purse(Protocol):
    """What a source pays from, before it sends anything."""

    @property
    def left(self) -> int:
        """Requests that can still be paid for."""
        ...

    def pay(self, requests: int = 1) -> None:
        """Pay for requests about to be sent; raise ``BudgetSpent`` if too few."""
        ...
