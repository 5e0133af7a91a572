"""How much a sync may spend, and a purse that cannot spend more.

The budget is a limit on every window of its length, kept by the store's ledger.
Within it requests come in evenly: a sync spends what has come in since the last
one, so that looks are spread over the window. What a sync leaves over is lost.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from halflife.config import BudgetConfig
from halflife.core.errors import BudgetSpent
from halflife.core.wording import count, span
from halflife.stores import Run, Store
from halflife.stores.notes.income import SPENT_UNTIL

DRAWN = 100  # requests that who asks for a sync by hand may draw ahead of the income
_ROUNDING = 1e-9  # of a request
_EXACT = 30  # halvings that find when some of the budget is there again


class Spend(NamedTuple):
    """What can be spent, and when; times in days.

    Attributes:
        now: Requests that have come in and can be spent by themselves.
        drawn: Requests that somebody who asks for a sync can spend at once.
        wait: Days until one more has come in; 0 if some have.
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
    """What the ledger and the clock allow.

    Attributes:
        store: Where the ledger is.
        budget: The limit.

    """

    store: Store
    budget: BudgetConfig

    def spent(self, now: float) -> int:
        """Return the requests spent in the window that ends now.

        What was spent exactly one window ago has just left it. What a clock that was
        ahead wrote down counts, but not from further ahead than a window: or a clock
        that was years ahead once would stop all work for years.
        """
        begin, end = now - self.budget.days, now + self.budget.days
        since = self.store.spent(math.nextafter(begin, math.inf))
        return since - self.store.spent(math.nextafter(end, math.inf))

    def room(self, now: float) -> int:
        """Return the requests left in the window that ends now."""
        return max(self.budget.requests - self.spent(now), 0)

    def income(self, now: float) -> int:
        """Return the requests that have come in since they were last spent."""
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
        """Write down that so much of the income is used; less than 0 gives back."""
        until = self._until(now) + requests / self.budget.pace
        SPENT_UNTIL.save(self.store, until)

    def offer(self, now: float, first: int) -> int:
        """Return the requests that a sync may spend now.

        That is what has come in, or what pages need that do not have to wait for that
        (``first``, see ``discovery``), as far as the window has room.
        """
        return min(max(self.income(now), first), self.room(now))

    def draw(self, now: float, wanted: int) -> int:
        """Return what somebody who asks for a sync by hand may spend now.

        The window allows it, though it may not have come in yet.
        """
        return min(max(self.income(now), min(wanted, DRAWN)), self.room(now))

    def refill(self, now: float) -> float:
        """Return the days until a spent budget has room again, if nothing is spent."""
        if self.room(now):
            return 0.0
        none, some = 0.0, self.budget.days
        for _ in range(_EXACT):
            middle = (none + some) / 2.0
            none, some = (none, middle) if self.room(now + middle) else (middle, some)
        return some

    def spend(self, now: float) -> Spend:
        """Return what can be spent, and when."""
        spent, room, refill = self.spent(now), self.room(now), self.refill(now)
        ready = min(self.income(now), room)
        wait = 0.0 if ready else max(self.next_income(now), refill)
        return Spend(ready, self.draw(now, DRAWN), wait, spent, room, refill)

    def _until(self, now: float) -> float:
        """Return the time up to which income was used; nobody is paid for the past."""
        until = SPENT_UNTIL.load(self.store)
        if until is None:
            return now
        # More than a window's worth never adds up, but for the part of a request that
        # is on its way; and a clock set back owes nothing.
        missed = max((now - self.budget.days - until) * self.budget.pace, 0.0)
        under_way = max(missed - math.floor(missed + _ROUNDING), 0.0)
        oldest = now - self.budget.days - under_way / self.budget.pace
        return min(max(until, oldest), now)


def spent(budget: BudgetConfig, wait: float = 0.0) -> BudgetSpent:
    """Return the error that says so, and in how many days there is room again."""
    how_long = f"wait {span(wait)}" if wait > 0 else "wait"
    return BudgetSpent(
        f"the budget of {count(budget.requests, 'request')} per {budget.per} is spent; "
        f"{how_long}, or raise [budget] requests"
    )


class WindowPurse:
    """A purse that keeps the budget at every moment, however many syncs there are.

    Requests are drawn from the ledger in blocks before they are sent. A draw is
    written down first and checked against the window afterwards: of two syncs
    that draw the last requests at once both see the sum, and whoever is over gives
    back. ``stop`` ends all spending; ``close`` gives back what was not spent.
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
        # What is given back counts as of when it was drawn, or it would still be
        # missing from the window after the draw itself has left it.
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
