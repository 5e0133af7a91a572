"""The purse of a worker while it fetches the pages of one host."""

from collections.abc import Callable

from halflife.core.errors import BudgetSpent

DRAWN = 4  # requests drawn at once beyond one for each page: redirects, robots.txt


class BatchPurse:
    """Pays from the requests charged with the lease, and draws more where needed.

    Args:
        paid: Requests that are charged already.
        draw: Charges more to the ledger; returns how many it had room for.

    """

    def __init__(self, paid: int, draw: Callable[[int], int]) -> None:
        self._paid, self._draw = paid, draw
        self.spent = 0
        self.is_stopped = False

    @property
    def left(self) -> int:
        """Requests that are paid for and not sent."""
        return self._paid

    def pay(self, requests: int = 1) -> None:
        """Pay for requests about to be sent; raise ``BudgetSpent`` if too few."""
        if requests > self._paid and not self.is_stopped:
            self._paid += self._draw(max(requests - self._paid, DRAWN))
        if self.is_stopped or requests > self._paid:
            self.is_stopped = True
            raise BudgetSpent("the budget of this window is spent")
        self._paid -= requests
        self.spent += requests

    def stop(self) -> None:
        """Let nothing more be paid for."""
        self.is_stopped = True
