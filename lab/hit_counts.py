"""Hits that a form reports, requested only where they matter, and what is sent then."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from halflife.core.arrays import Bools, Floats
from halflife.core.errors import BudgetSpent
from halflife.core.forms import ResultPage
from halflife.queries.incidence import Incidence
from halflife.queries.known.coverage import (
    Hits,
    ReportedCoverage,
    at_least_held,
    count_matches,
)
from halflife.queries.known.greedy import (
    GreedyLimits,
    ProbeOffers,
    ProbePlan,
    choose,
    offers,
)
from halflife.queries.known.guess import count_hits
from halflife.queries.known.keywords import Pool
from halflife.queries.ledger import Ledger

ROUNDED = 0.05 / 3.0**0.5  # relative error of a count rounded to two digits, at most
ROUNDS = 20  # times that a choice is repeated after counting


class Coverage(Protocol):
    """A way to estimate the server coverage of candidates."""

    def hits(self, pool: Pool) -> Hits:
        """Return how many records of the server answer each candidate."""
        ...


@dataclass(frozen=True)
class TrueCoverage:
    """The true coverage, from the server's relation."""

    server: Incidence

    def hits(self, pool: Pool) -> Hits:
        """Return how many records of the server answer each candidate."""
        count = count_matches(pool, self.server)
        return at_least_held(pool, count, np.zeros(len(pool)))


class HitCounts:
    """The hits that the form reports, requested only where they matter.

    Others are estimated by another coverage. A count that the form does not report is
    only known to exceed the records shown.

    Args:
        ledger: Sends and counts the requests.
        guess: The estimates of the other hits.

    """

    def __init__(self, ledger: Ledger, guess: Coverage) -> None:
        self.ledger = ledger
        self.guess = guess
        self._reported: tuple[Pool, ReportedCoverage] | None = None

    def hits(self, pool: Pool) -> Hits:
        """Return the reported hits, and the estimate where there are none."""
        if self._reported is None or self._reported[0] is not pool:
            self._reported = pool, ReportedCoverage(pool, self.guess.hits(pool))
        reported = self._reported[1]
        rounded = self.ledger.interface.counts == "rounded"
        for query in self.ledger.totals:
            j = pool.find(query)
            hits = None if j is None else count_hits(self.ledger, pool, j)
            if j is not None and hits is not None:
                reported.note_hits(j, hits, ROUNDED if rounded and hits >= 100 else 0.0)
            elif j is not None:
                reported.note_least(j, self._least())
        return reported.hits()

    def ask(self, pool: Pool, which: Iterable[int]) -> int:
        """Count candidates that were not counted yet; return how many these are."""
        sent = self.ledger.totals
        new = [j for j in which if (q := pool.query(j)) is not None and q not in sent]
        for j in new:
            count_hits(self.ledger, pool, j)
        return len(new)

    def _least(self) -> int:
        """Return a lower bound of hits beyond a page, or beyond the cap."""
        interface = self.ledger.interface
        if interface.counts == "capped" and interface.cap is not None:
            return interface.cap + 1
        return interface.page_size + 1


def settle(
    pool: Pool,
    coverage: HitCounts,
    decide: Callable[[Hits], ProbePlan],
    rounds: int = ROUNDS,
) -> ProbePlan:
    """Return a choice whose queries were all counted, if the budget lasts.

    Choose by the estimates, count the chosen queries, and choose again. So only good
    candidates cost requests, and each of these reads the first page of a query that is
    likely to be sent. Otherwise the choice prefers queries whose hits are estimated
    too low.
    """
    probes = decide(coverage.hits(pool))
    for _ in range(rounds):
        try:
            new = coverage.ask(pool, probes.queries.tolist())
        except BudgetSpent:
            new = 0
        probes = decide(coverage.hits(pool))
        if not new:
            break
    return probes


def send(pool: Pool, probes: ProbePlan, ledger: Ledger) -> Bools:
    """Send the queries, page by page; return which local records were shown.

    If the budget ends before the queries do, the records shown until then count.
    """
    shown: set[str] = set()
    with suppress(BudgetSpent):
        for j, pages in zip(
            probes.queries.tolist(), probes.pages.tolist(), strict=True
        ):
            for found in _answers(pool, j, pages, ledger):
                shown.update(found.records)
    return np.array([key in shown for key in pool.local.keys], dtype=bool)


def _answers(
    pool: Pool, number: int, pages: int, ledger: Ledger
) -> Iterator[ResultPage]:
    query = pool.query(number)
    if query is None:
        yield ledger.fetch(pool.key(number))
    else:
        yield from ledger.pages(query, pages)


def refresh(
    pool: Pool,
    coverage: HitCounts,
    value: Floats,
    *,
    batch: int = 10,
    rounds: int = 1000,
) -> Bools:
    """Choose and send queries by turns; return which local records were shown.

    No request only counts: the best few queries by the estimates are sent, and their
    first pages report their hits. A query that takes more pages than expected becomes
    a candidate again, without the cost of its first page. Records that any query has
    shown have no value any more.
    """
    ledger = coverage.ledger
    sent = np.zeros(len(pool), dtype=bool)
    with suppress(BudgetSpent):
        for _ in range(rounds):
            offered = _open_offers(pool, coverage, sent)
            worth = np.where(_shown(pool, ledger), 0.0, value)
            chosen = choose(pool, worth, offered, GreedyLimits(queries=batch)).queries
            if not chosen.size:
                break
            for j in chosen.tolist():
                sent[j] = _sent(pool, j, int(offered.pages[j]), ledger)
    return _shown(pool, ledger)


def _shown(pool: Pool, ledger: Ledger) -> Bools:
    return np.array([key in ledger.seen for key in pool.local.keys], dtype=bool)


def _open_offers(pool: Pool, coverage: HitCounts, sent: Bools) -> ProbeOffers:
    """Return the offers left; first pages that were read cost nothing."""
    interface = coverage.ledger.interface
    hits = coverage.hits(pool).count
    offered = offers(hits, page_size=interface.page_size, cap=interface.cap)
    begun = [pool.find(query) for query in coverage.ledger.totals]
    pages = offered.pages.copy()
    pages[[j for j in begun if j is not None]] -= 1
    pages = np.maximum(pages, 1)
    blocks = np.where(sent, 0, offered.blocks)
    return replace(offered, pages=pages, cost=pages.astype(np.float64), blocks=blocks)


def _sent(pool: Pool, number: int, believed: int, ledger: Ledger) -> bool:
    """Send a candidate, unless its first page shows that it costs too much."""
    query = pool.query(number)
    if query is None:
        ledger.fetch(pool.key(number))
        return True
    begun = query in ledger.totals
    count = count_hits(ledger, pool, number)
    if not begun and count is not None and ledger.interface.pages(count) > believed:
        return False
    for _ in ledger.pages(query):
        continue
    return True
