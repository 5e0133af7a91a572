"""How much we may still ask."""

from dataclasses import dataclass, replace
from typing import Protocol, Self


@dataclass(frozen=True, slots=True)
class Budget:
    """Requests left to spend, and how fast they come in.

    Attributes:
        requests: Requests left now; a hard limit.
        pace: Requests a day that the budget grants in the long run. A policy
            that knows it can leave a request unspent because a better use will
            come; without it the policy spends all it has.

    """

    requests: int
    pace: float | None = None

    def __post_init__(self) -> None:
        if self.requests < 0:
            raise ValueError(f"a budget cannot be negative, got {self.requests}")
        if self.pace is not None and not 0 <= self.pace < float("inf"):
            raise ValueError(f"a budget's pace must be finite, got {self.pace}")

    def __bool__(self) -> bool:
        return self.requests > 0

    def left(self, requests: int) -> Self:
        """Return the same budget with ``requests`` left."""
        return replace(self, requests=requests)


class Purse(Protocol):
    """What a source pays from, before it sends anything."""

    @property
    def left(self) -> int:
        """Requests that can still be paid for."""
        ...

    def pay(self, requests: int = 1) -> None:
        """Pay for requests about to be sent; raise ``BudgetSpent`` if too few."""
        ...
