"""The gain of each candidate of a pool, updated as tuples are covered."""

import numpy as np

from halflife.core.arrays import Floats, Ints
from halflife.queries.known.keywords import Pool

_NOTHING = 1e-9  # share of the largest gain that counts as nothing


class Gains:
    """Sums of values over the tuples of each candidate.

    A tuple that is missing from the answer to a candidate is dropped from it; see
    ``drop``.

    Args:
        pool: The candidates.

    """

    def __init__(self, pool: Pool) -> None:
        self.pool = pool
        self._candidate = pool.matches.group
        self._of_record = pool.of_record
        self._turned = np.argsort(pool.matches.item, kind="stable")
        self._live = np.ones(pool.matches.item.size)

    def __len__(self) -> int:
        return len(self.pool)

    def sums(self, value: Floats) -> Floats:
        """Return the sum of the values of each candidate's tuples."""
        values = value[self.pool.matches.item] * self._live
        sums = np.bincount(self._candidate, weights=values, minlength=len(self))
        return sums.astype(np.float64)

    def shares(self, value: Floats) -> Floats:
        """Return the sum of the values of each tuple's candidates."""
        sums = np.bincount(
            self.pool.matches.item,
            weights=value[self._candidate] * self._live,
            minlength=len(self.pool.local),
        )
        return sums.astype(np.float64)

    def tuples_of(self, number: int) -> Ints:
        """Return the tuples that a candidate is expected to return."""
        start, end = self.pool.matches.start[number : number + 2]
        found: Ints = self.pool.matches.item[start:end][self._live[start:end] > 0]
        return found

    def drop(self, number: int, rows: Ints) -> None:
        """Note that a candidate does not return some of its tuples."""
        start, end = self.pool.matches.start[number : number + 2]
        self._live[start:end][np.isin(self.pool.matches.item[start:end], rows)] = 0.0

    def subtract(self, sums: Floats, rows: Ints, value: Floats) -> None:
        """Subtract the values of some tuples from the sums, in place."""
        start = self._of_record.start
        count = start[rows + 1] - start[rows]
        begins = np.repeat(start[rows] - np.cumsum(count) + count, count)
        entries = begins + np.arange(begins.size)
        gone = np.repeat(value[rows], count) * self._live[self._turned[entries]]
        np.subtract.at(sums, self._of_record.item[entries], gone)

    def pick(
        self,
        value: Floats,
        cost: Floats,
        budget: float,
        *,
        share: Floats | float = 1.0,
    ) -> list[tuple[int, float]]:
        """Return candidates, best first, each with the value it adds to those before.

        Each time it picks the largest value of uncovered tuples over its cost, until
        all is covered or the costs reach the budget; the last may exceed it.
        ``halflife.queries.known.greedy.choose`` makes the same choice for a whole
        cover; here only the candidates that share a tuple with the one chosen are
        updated, which is faster if a turn takes a few of many.

        Args:
            value: The value of each tuple.
            cost: The cost of each candidate; ``inf`` excludes it.
            budget: The sum of costs to spend.
            share: The share of its tuples that a candidate is expected to return.

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
            rows = self.tuples_of(best)
            rows = rows[left[rows] > 0]
            self.subtract(sums, rows, left)
            left[rows] = 0.0
            sums[best] = 0.0
            budget -= float(cost[best])
        return chosen
