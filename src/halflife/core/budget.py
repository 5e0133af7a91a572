"""How much we may still ask."""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import Protocol

from halflife.core.errors import BudgetSpent, UsageError


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


@dataclass(slots=True)
class Account:
    """Requests sent in the name of some sources: none unpaid, none beyond a limit.

    Attributes:
        paid: Returns the requests that the ledger was charged with for them.
        sent: Requests sent so far.
        limit: How many may have been sent, at most.

    """

    paid: Callable[[], int]
    sent: int = 0
    limit: float = inf

    def check(self) -> None:
        """Raise ``BudgetSpent`` if nothing more may be sent."""
        if self.sent >= self.limit:
            raise BudgetSpent("more requests were asked for than were granted")

    def send(self) -> None:
        """Count a request; raise ``UsageError`` if the ledger was not charged."""
        if self.sent >= self.paid():
            raise UsageError(
                "a request must be paid with a purse that charges the ledger"
            )
        self.sent += 1
