"""The budget of a sync, and a purse that cannot spend more.

The budget limits every window of its length, by the store's ledger. Within it requests
become available at an even rate, the income: a sync spends the income since the last
sync, so that fetches are spread over the window. Income that a sync leaves is lost.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from halflife.config import BudgetConfig
from halflife.core.budget import Purse
from halflife.core.errors import BudgetSpent
from halflife.core.wording import count, span
from halflife.stores import Run, Store
from halflife.stores.notes.income import SPENT_UNTIL

DRAWN = 100  # requests that a sync by hand may draw ahead of the income
_ROUNDING = 1e-9  # of a request
_EXACT = 30  # bisection steps that find when some of the budget is available again


class Spend(NamedTuple):
    """The requests that can be spent, and when; times in days.

    Attributes:
        now: Requests of the income that a running service can spend.
        drawn: Requests that a sync by hand can spend at once.
        wait: Days until one more is available; 0 if some are.
        spent: Requests spent in the window that ends now.
        left: Requests that the window still allows.
        refill: Days until the window allows one; 0 if it does.

    """

    now: int
    drawn: int
    wait: float
    spent: int
    left: int
    refill: float


@dataclass(frozen=True, slots=True)
class Wallet:
    """The requests that the ledger and the clock allow.

    Attributes:
        store: The store with the ledger.
        budget: The limit.

    """

    store: Store
    budget: BudgetConfig

    def spent(self, now: float) -> int:
        """Return the requests spent in the window that ends now.

        Requests spent exactly one window ago have just left it. Requests dated in the
        future, by a clock that was ahead, count up to one window ahead: otherwise a
        clock that was years ahead once would stop all work for years.
        """
        begin, end = now - self.budget.days, now + self.budget.days
        since = self.store.spent(math.nextafter(begin, math.inf))
        return since - self.store.spent(math.nextafter(end, math.inf))

    def room(self, now: float) -> int:
        """Return the requests left in the window that ends now."""
        return max(self.budget.requests - self.spent(now), 0)

    def income(self, now: float) -> int:
        """Return the requests that became available since income was last spent."""
        return math.floor((now - self._until(now)) * self.budget.pace + _ROUNDING)

    def next_income(self, now: float) -> float:
        """Return the days until the next request is available."""
        whole = self.income(now) + 1
        return max(self._until(now) + whole / self.budget.pace - now, 0.0)

    def take_income(self, now: float) -> int:
        """Return the income and write down that it is used; fractions stay."""
        income = self.income(now)
        until = self._until(now) + income / self.budget.pace
        SPENT_UNTIL.save(self.store, until)
        return income

    def use(self, requests: float, now: float) -> None:
        """Write down that this much of the income is used; a negative gives back."""
        until = self._until(now) + requests / self.budget.pace
        SPENT_UNTIL.save(self.store, until)

    def offer(self, now: float, first: int) -> int:
        """Return the requests that a sync may spend now.

        That is the income, or the needs of pages that do not have to wait for it
        (``first``, see ``discovery``), as far as the window has room.
        """
        return min(max(self.income(now), first), self.room(now))

    def draw(self, now: float, wanted: int) -> int:
        """Return the requests that a sync by hand may spend now.

        The window allows them, even ahead of the income.
        """
        return min(max(self.income(now), min(wanted, DRAWN)), self.room(now))

    def refill(self, now: float) -> float:
        """Return the days until a spent budget has room again, if nothing is spent."""
        if self.room(now):
            return 0.0
        low, high = 0.0, self.budget.days
        for _ in range(_EXACT):
            middle = (low + high) / 2.0
            low, high = (low, middle) if self.room(now + middle) else (middle, high)
        return high

    def spend(self, now: float) -> Spend:
        """Return the requests that can be spent, and when."""
        spent, room, refill = self.spent(now), self.room(now), self.refill(now)
        ready = min(self.income(now), room)
        wait = 0.0 if ready else max(self.next_income(now), refill)
        return Spend(ready, self.draw(now, DRAWN), wait, spent, room, refill)

    def _until(self, now: float) -> float:
        """Return the time up to which income was used; at first, now."""
        until = SPENT_UNTIL.load(self.store)
        if until is None:
            return now
        # Income never exceeds one window's worth plus the fraction of a request under
        # way; a clock that was set back causes no debt.
        missed = max((now - self.budget.days - until) * self.budget.pace, 0.0)
        under_way = max(missed - math.floor(missed + _ROUNDING), 0.0)
        oldest = now - self.budget.days - under_way / self.budget.pace
        return min(max(until, oldest), now)


def spent(budget: BudgetConfig, wait: float = 0.0) -> BudgetSpent:
    """Return the error for a spent budget, with the wait until there is room again."""
    how_long = f"wait {span(wait)}" if wait > 0 else "wait"
    return BudgetSpent(
        f"the budget of {count(budget.requests, 'request')} per {budget.per} is spent; "
        f"{how_long}, or raise [budget] requests"
    )


class GrantPurse:
    """A granted number of requests that the granting process charges to the ledger."""

    def __init__(self, requests: int) -> None:
        self.left = requests
        self.spent = 0

    def pay(self, requests: int = 1) -> None:
        """Pay for requests about to be sent; raise ``BudgetSpent`` if too few."""
        if requests > self.left:
            raise BudgetSpent(f"{count(requests, 'request')} needed, {self.left} left")
        self.settle(requests)

    def settle(self, requests: int) -> None:
        """Count requests that others have sent, even if more than were granted."""
        self.left = max(self.left - requests, 0)
        self.spent += requests

    def stop(self) -> None:
        """Let nothing more be spent."""
        self.left = 0

    def close(self) -> None:
        """Do nothing: nothing was drawn."""


class CountedPurse:
    """A purse that counts what is paid from another."""

    def __init__(self, purse: Purse) -> None:
        self._purse = purse
        self.paid = 0

    @property
    def left(self) -> int:
        """Requests that can still be paid for."""
        return self._purse.left

    def pay(self, requests: int = 1) -> None:
        """Pay for requests about to be sent; raise ``BudgetSpent`` if too few."""
        self._purse.pay(requests)
        self.paid += requests


class WindowPurse:
    """A purse that keeps the budget at every moment, however many syncs there are.

    Requests are drawn from the ledger in blocks before they are sent. A draw is
    written down first and checked against the window afterwards: of two syncs that draw
    the last requests at once both see the sum, and the one over the limit gives back.
    ``stop`` ends all spending; ``close`` gives back what was not spent.
    """

    def __init__(
        self,
        wallet: Wallet,
        run: Run,
        requests: int,
        *,
        clock: Callable[[], float],
        block: int = 16,
    ) -> None:
        self._wallet, self._run, self._clock = wallet, run, clock
        self._block = max(block, 1)
        self._undrawn, self._drawn, self._drawn_at = requests, 0, -math.inf
        self.spent = 0

    @property
    def left(self) -> int:
        """Requests that can still be paid for."""
        return self._undrawn + self._drawn

    def pay(self, requests: int = 1) -> None:
        """Pay for requests about to be sent; raise ``BudgetSpent`` if too few."""
        if requests > self._drawn:
            self._draw(requests - self._drawn)
        if requests > self._drawn:
            self.stop()
            raise spent(self._wallet.budget)
        self._drawn -= requests
        self.spent += requests

    def _draw(self, needed: int) -> None:
        """Draw a block, or as much of it as the window has room for."""
        draw = min(max(self._block, needed), self._undrawn)
        if draw == 0:
            return
        self._drawn_at = self._clock()
        self._charge(draw)
        budget = self._wallet.budget
        over = self._wallet.spent(self._drawn_at) - budget.requests
        self._undrawn -= draw
        if over > 0:
            back = min(over, draw)
            self._charge(-back)
            draw, self._undrawn = draw - back, 0
        self._drawn += draw

    def _charge(self, requests: int) -> None:
        # A return is dated at its draw, or it would still reduce the window's sum
        # after the draw itself has left the window.
        self._wallet.store.charge(self._run, requests, self._drawn_at)

    def stop(self) -> None:
        """Let nothing more be paid for."""
        self._undrawn = 0
        self.close()

    def close(self) -> None:
        """Give back what was drawn and not spent."""
        if self._drawn:
            self._charge(-self._drawn)
            self._drawn = 0
