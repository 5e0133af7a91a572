"""Server coverage as the form tells it, on account."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress

import numpy as np
from numpy.random import Generator

from halflife.arrays import Bools
from halflife.errors import BudgetSpent
from halflife.forms import Found
from halflife.queries.incidence import Incidence
from halflife.queries.known.coverage import (
    Coverage,
    Hits,
    Scaled,
    counted,
    ratio,
    settled,
)
from halflife.queries.known.greedy import Probes
from halflife.queries.known.keywords import Pool
from halflife.queries.ledger import Ledger

ROUNDED = 0.05 / 3.0**0.5  # relative error of a count kept to two digits, at most
ROUNDS = 20  # of choosing anew after asking


def told(ledger: Ledger, pool: Pool, number: int) -> int | None:
    """Return the hits of a candidate, for a request; None if the form keeps them back.

    A count that is cut off, or not given while there is more than a page, is None.
    """
    query = pool.query(number)
    if query is None:
        return 1
    found = ledger.first(query)
    if not found.more:
        return len(found.records)
    cut = ledger.interface.counts == "capped" and found.total == ledger.interface.cap
    return None if cut else found.total


def learned(
    pool: Pool, reference: Incidence, ledger: Ledger, queries: int, rng: Generator
) -> Scaled:
    """Return a scaled reference; its factor is learned from a few counted queries.

    The queries are drawn in proportion to their count in the reference, without
    return, since the ratio is of sums; each costs a request.
    """
    shown = counted(pool, reference).astype(np.float64)
    fit = np.flatnonzero(shown > 0)
    weight = shown[fit] / shown[fit].sum()
    drawn = rng.choice(fit, min(queries, fit.size), replace=False, p=weight)
    hits = {int(j): told(ledger, pool, int(j)) for j in drawn}
    known = np.array([j for j, count in hits.items() if count is not None], np.intp)
    counts = np.array([hits[int(j)] for j in known], dtype=np.float64)
    return Scaled(reference, ratio(counts, shown[known]))


class Told:
    """The hits that the form reports, asked for only where it matters.

    What was not asked for is guessed by another coverage. A count that the form keeps
    back says only that there is more than was shown.

    Args:
        ledger: The form, on account.
        guess: What to believe of the rest.

    """

    def __init__(self, ledger: Ledger, guess: Coverage) -> None:
        self.ledger = ledger
        self.guess = guess
        self._guessed: tuple[Pool, Hits] | None = None

    def hits(self, pool: Pool) -> Hits:
        """Return what was told where it was, and the guess elsewhere."""
        if self._guessed is None or self._guessed[0] is not pool:
            self._guessed = pool, self.guess.hits(pool)
        guess = self._guessed[1]
        count, error = guess.count.copy(), guess.error.copy()
        rounded = self.ledger.interface.counts == "rounded"
        for query in self.ledger.totals:
            j = pool.find(query)
            hits = None if j is None else told(self.ledger, pool, j)
            if hits is not None:
                count[j], error[j] = hits, ROUNDED if rounded and hits >= 100 else 0.0
            elif j is not None:
                count[j] = max(count[j], self._shown())
        return settled(pool, count, error)

    def ask(self, pool: Pool, which: Iterable[int]) -> int:
        """Ask for candidates that were not asked for yet; return how many these are."""
        asked = self.ledger.totals
        new = [j for j in which if (q := pool.query(j)) is not None and q not in asked]
        for j in new:
            told(self.ledger, pool, j)
        return len(new)

    def _shown(self) -> int:
        """Return what a query with more than a page, or more than can be had, has."""
        interface = self.ledger.interface
        if interface.counts == "capped" and interface.cap is not None:
            return interface.cap + 1
        return interface.page_size + 1


def settle(
    pool: Pool, coverage: Told, choose: Callable[[Hits], Probes], rounds: int = ROUNDS
) -> Probes:
    """Return a choice whose queries were all counted, if the budget lasts.

    Choose by what is believed, ask for what was chosen, and choose again. So only
    queries that looked good are paid for, and what is paid for is the first page of
    a query that is likely to be sent. Without this the choice falls on queries whose
    hits are guessed too low.
    """
    probes = choose(coverage.hits(pool))
    for _ in range(rounds):
        try:
            new = coverage.ask(pool, probes.queries.tolist())
        except BudgetSpent:
            new = 0
        probes = choose(coverage.hits(pool))
        if not new:
            break
    return probes


def send(pool: Pool, probes: Probes, ledger: Ledger) -> Bools:
    """Send the queries, page by page; return which local records were shown.

    If the budget ends before the queries do, what came until then counts.
    """
    shown: set[str] = set()
    with suppress(BudgetSpent):
        for j, pages in zip(
            probes.queries.tolist(), probes.pages.tolist(), strict=True
        ):
            for found in _answers(pool, j, pages, ledger):
                shown.update(found.records)
    return np.array([key in shown for key in pool.local.keys], dtype=bool)


def _answers(pool: Pool, number: int, pages: int, ledger: Ledger) -> Iterator[Found]:
    query = pool.query(number)
    if query is None:
        yield ledger.fetch(pool.key(number))
    else:
        yield from ledger.pages(query, pages)
