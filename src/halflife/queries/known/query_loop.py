"""A loop of queries at a fixed interval: order and interval of the paper.

Yang, Wang, Lim, Wang (SIGMOD 2010), sections 4.3 and 4.4: the queries of a loop are
sent in ascending a_i, one every I days, where I makes the relative staleness
g(x, I) = F(L; k I) / (k I |L|) equal to the threshold alpha. F is the sum over L here:
the paper divides by |L| twice.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import floor, isfinite

from numpy.random import Generator

from halflife.queries.known.order import interval_for
from halflife.queries.known.rules import (
    GreedyRounds,
    KnownChoice,
    KnownEstimates,
    RuleMemory,
)

ALPHA = 0.1  # default limit of the staleness for each tuple and day of a loop
LONGEST = 365.0  # days of a loop, at most: static tuples may change again


@dataclass
class PacedLoop:
    """Send the queries of ``GreedyRounds`` one every I days, g(x, I) = ``alpha``.

    Late queries are sent as soon as the budget allows.

    Attributes:
        alpha: The relative staleness that is allowed.

    """

    alpha: float = ALPHA
    _rounds: GreedyRounds = field(default_factory=GreedyRounds)
    _queue: list[KnownChoice] = field(default_factory=list)
    _began: float = 0.0
    _interval: float = 0.0
    _sent: int = 0

    def __call__(self, standing: KnownEstimates, rng: Generator) -> list[KnownChoice]:
        """Return the due queries of the loop; begin a new loop if it has ended."""
        del rng
        now = standing.now
        if not self._queue and not self._begins(standing):
            return []
        slots = floor((now - self._began) / self._interval) + 1
        spent, due = 0.0, []
        while self._queue and self._sent < slots and spent < standing.budget:
            due.append(self._queue.pop(0))
            self._sent += 1
            spent += due[-1].pages
        return due

    def _begins(self, standing: KnownEstimates) -> bool:
        """Begin a new loop if the last one has ended; return whether it began."""
        if self._sent and standing.now < self._began + self._sent * self._interval:
            return False
        self._queue, a = self._rounds.plan(standing)
        if not self._queue:
            return False
        longest = LONGEST / len(self._queue)
        interval = interval_for(a, self.alpha, int((standing.weight > 0).sum()))
        self._interval = min(interval, longest) if isfinite(interval) else longest
        self._began, self._sent = standing.now, 0
        return True

    def so_far(self, unsent: Sequence[KnownChoice]) -> RuleMemory:
        """Return the rest of the loop, and when its queries are due."""
        return RuleMemory(
            (*unsent, *self._queue),
            began=self._began,
            interval=self._interval,
            sent=self._sent - len(unsent),
        )

    def go_on(self, memory: RuleMemory) -> None:
        """Restore the rest of a loop."""
        self._queue, self._sent = list(memory.choices), memory.sent
        self._began, self._interval = memory.began, memory.interval
