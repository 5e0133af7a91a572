"""What each candidate of a pool would add, kept up to date as tuples are covered."""

import numpy as np

from halflife.arrays import Floats, Ints
from halflife.queries.known.keywords import Pool

_NOTHING = 1e-9  # of the largest gain: what is left when all is covered


class Gains:
    """Sums of values over the tuples of each candidate.

    Args:
        pool: The candidates.

    """

    def __init__(self, pool: Pool) -> None:
        self.pool = pool
        self._candidate = pool.matches.group
        self._of_record = pool.of_record

    def __len__(self) -> int:
        return len(self.pool)

    def sums(self, value: Floats) -> Floats:
        """Return the values of the tuples of each candidate, added up."""
        each = value[self.pool.matches.item]
        found = np.bincount(self._candidate, weights=each, minlength=len(self))
        return found.astype(np.float64)

    def shares(self, value: Floats) -> Floats:
        """Return the values of the candidates of each tuple, added up."""
        found = np.bincount(
            self.pool.matches.item,
            weights=value[self._candidate],
            minlength=len(self.pool.local),
        )
        return found.astype(np.float64)

    def less(self, sums: Floats, rows: Ints, value: Floats) -> None:
        """Take the values of some tuples off the sums, in place."""
        start = self._of_record.start
        count = start[rows + 1] - start[rows]
        begins = np.repeat(start[rows] - np.cumsum(count) + count, count)
        entries = begins + np.arange(begins.size)
        gone = np.repeat(value[rows], count)
        np.subtract.at(sums, self._of_record.item[entries], gone)

    def picked(
        self,
        value: Floats,
        cost: Floats,
        budget: float,
        *,
        share: Floats | float = 1.0,
    ) -> list[tuple[int, float]]:
        """Return candidates, best first, each with what it adds to those before.

        The largest value of tuples not covered yet over its cost, again and again,
        until all is covered or the costs reach the budget; the last may go beyond it.
        ``halflife.queries.known.greedy.choose`` makes the same choice for a whole
        cover; here only the candidates that share a tuple with the one chosen are
        touched, which is quicker where a turn takes a few of many.

        Args:
            value: What each tuple is worth.
            cost: What each candidate costs; ``inf`` keeps it out.
            budget: What may be spent.
            share: The share of its tuples that a candidate is expected to bring.

        """
        left = value.astype(np.float64)
        sums = self.sums(left)
        per = share / cost
        enough = _NOTHING * float(sums.max(initial=0.0))
        chosen: list[tuple[int, float]] = []
        while budget > 0 and sums.size:
            best = int(np.argmax(sums * per))
            if sums[best] <= enough or per[best] <= 0:
                break
            chosen.append((best, float(sums[best] * per[best] * cost[best])))
            rows = self.pool.matches.of(best)
            rows = rows[left[rows] > 0]
            self.less(sums, rows, left)
            left[rows] = 0.0
            sums[best] = 0.0
            budget -= float(cost[best])
        return chosen
