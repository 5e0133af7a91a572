"""Budgets of requests and their accounts."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
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
    """The account from which a source pays for requests before it sends them."""

    @property
    def left(self) -> int:
        """Requests that can still be paid for."""
        ...

    def pay(self, requests: int = 1) -> None:
        """Pay for requests about to be sent; raise ``BudgetSpent`` if too few."""
        ...


@dataclass(slots=True)
class Account:
    """The requests sent for some sources: each paid for, and none beyond a limit.

    Attributes:
        paid: Returns the requests charged to the ledger for these sources.
        sent: Requests sent so far.
        limit: How many may have been sent, at most.
        under_way: Requests that wait for their host or their answer.
        watch: Receives that number whenever a request begins or ends.

    """

    paid: Callable[[], int]
    sent: int = 0
    limit: float = inf
    under_way: int = 0
    watch: Callable[[int], None] = lambda _: None

    @contextmanager
    def request(self) -> Iterator[None]:
        """Count a request as under way during the block."""
        self.under_way += 1
        self.watch(self.under_way)
        try:
            yield
        finally:
            self.under_way -= 1
            self.watch(self.under_way)

    def check(self) -> None:
        """Raise ``BudgetSpent`` if nothing more may be sent."""
        if self.sent >= self.limit:
            raise BudgetSpent("the source has sent all the requests it was granted")

    def send(self) -> None:
        """Count a request; raise ``UsageError`` if the ledger was not charged."""
        if self.sent >= self.paid():
            raise UsageError(
                "a request must be paid with a purse that charges the ledger"
            )
        self.sent += 1
