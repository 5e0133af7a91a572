"""Choose the queries to send: GreedyProbes, and the largest gain for each request.

Yang, Wang, Lim, Wang (SIGMOD 2010), Algorithm 2, picks the query with the largest
(sum of w F over matches not covered yet) / |R_S(q)|. That ratio is at most the value
of one record, and a query that finds one record reaches it, so it prefers queries
with few hits. The cost is in requests, so a better ratio has the pages in the
denominator. Both are monotone submodular in the set of queries.
"""

import heapq
from dataclasses import dataclass, field
from math import inf
from typing import Literal, TypeAlias

import numpy as np

from halflife.core.arrays import Floats, Ints
from halflife.queries.known.keywords import Pool, most_frequent

Reading: TypeAlias = Literal["all", "first", "some"]
UNITS = 1 << 31  # of the largest value: whole numbers add up alike in any order


@dataclass(frozen=True)
class ProbeOffers:
    """The cost of each candidate, and the share of its matches that it shows.

    The rank of results does not depend on the query, so a match is among the first n
    of R_S with probability n / |R_S|. A query is read in blocks of pages: after t
    blocks each match was seen with probability min(reach, t share).

    Attributes:
        pages: Requests that a block takes.
        share: The probability that a block shows a match.
        blocks: The number of blocks.
        reach: The probability that a match can be shown at all.
        cost: The cost of a block in the ratio that is maximised.

    """

    pages: Ints
    share: Floats
    blocks: Ints
    reach: Floats
    cost: Floats

    def seen(self, blocks: Ints | int) -> Floats:
        """Return the probability that a match was seen after so many blocks."""
        found: Floats = np.minimum(self.reach, self.share * blocks)
        return found


def offers(
    hits: Floats,
    *,
    page_size: int,
    cap: int | None = None,
    reading: Reading = "all",
    by: Literal["requests", "hits"] = "requests",
) -> ProbeOffers:
    """Return the costs and shares of candidates with so many hits on the server.

    Args:
        hits: Records on the server that answer each query, |R_S(q)|.
        page_size: Records on a page, p.
        cap: Results of a query that can be reached, K; all if None.
        reading: ``all`` pages (the paper's Method 1), the ``first`` (Method 2), or
            ``some``: each page is a decision of its own.
        by: Whether the ratio is per request, or per hit as in equation 2.

    """
    hits = np.maximum(hits, 1.0)
    reachable = np.minimum(hits, inf if cap is None else cap)
    n_pages = np.maximum(1, np.ceil(reachable / page_size)).astype(np.intp)
    first = np.minimum(reachable, page_size) / hits
    one = np.ones_like(n_pages)
    reach = first if reading == "first" else reachable / hits
    pages = n_pages if reading == "all" else one
    return ProbeOffers(
        pages=pages,
        share=reach if reading == "all" else first,
        blocks=n_pages if reading == "some" else one,
        reach=reach,
        cost=hits if by == "hits" else pages.astype(np.float64),
    )


@dataclass(frozen=True)
class GreedyLimits:
    """The limits of a greedy choice.

    Attributes:
        requests: Requests that may be spent.
        queries: Steps that may be planned.
        cover: Share of the reachable value to cover.

    """

    requests: float = inf
    queries: float = inf
    cover: float = 1.0


UNLIMITED = GreedyLimits()


@dataclass(frozen=True)
class ProbePlan:
    """Queries to send.

    Attributes:
        queries: Positions in the pool, in the order chosen, each once.
        pages: Requests for each.
        value: The expected value of the refreshed records.
        chance: The probability that each local record is refreshed, if queries rank
            their results independently.
        alike: A lower bound of it, if all queries rank alike: the records on the first
            page of one query are on those of others too.

    """

    queries: Ints
    pages: Ints
    value: float
    chance: Floats = field(repr=False)
    alike: Floats = field(repr=False)

    @property
    def requests(self) -> int:
        """Requests in all."""
        return int(self.pages.sum())

    @property
    def covered(self) -> float:
        """Local records expected to be refreshed: the union, none counted twice."""
        return float(self.chance.sum())


def units_of(value: Floats) -> list[int]:
    """Return values in whole units; a positive value has at least one."""
    top = float(value.max(initial=0.0)) or 1.0
    units = np.rint(value / top * UNITS).astype(np.int64)
    found: list[int] = np.where(value > 0.0, np.maximum(units, 1), 0).tolist()
    return found


class _State:
    """The uncovered values, and the gain of each candidate."""

    def __init__(self, pool: Pool, value: Floats, offered: ProbeOffers) -> None:
        self.offered = offered
        self.open = units_of(np.where(pool.reachable, value, 0.0))
        self.left = sum(self.open)
        self.rows = pool.matches.lists()
        self._of_record = pool.of_record.lists()
        self._share, self._reach = offered.share.tolist(), offered.reach.tolist()
        self._blocks, self._cost = offered.blocks.tolist(), offered.cost.tolist()
        self.pages = offered.pages.tolist()
        self.read = [0] * len(pool)
        running = np.r_[0, np.cumsum(np.array(self.open)[pool.matches.item])]
        self.sums: list[int] = np.diff(running[pool.matches.start]).tolist()
        self.spent = 0

    def chance(self, j: int) -> float:
        """Return the probability that the next block shows a match not yet shown."""
        read = self.read[j]
        if read >= self._blocks[j]:
            return 0.0
        before = min(self._reach[j], read * self._share[j])
        after = min(self._reach[j], (read + 1) * self._share[j])
        found: float = (after - before) / (1.0 - before)
        return found

    def score(self, j: int) -> float:
        """Return the value over the cost of a candidate's next block."""
        found: float = self.sums[j] * self.chance(j) / self._cost[j]
        return found

    def take(self, j: int) -> None:
        """Read the next block of a candidate."""
        left = 1.0 - self.chance(j)
        self.read[j] += 1
        self.spent += self.pages[j]
        for row in self.rows[j]:
            worth = self.open[row]
            if worth:
                rest = round(worth * left) if left > 0.0 else 0
                self.open[row] = rest
                self.left -= worth - rest
                for other in self._of_record[row]:
                    self.sums[other] -= worth - rest


def choose(
    pool: Pool,
    value: Floats,
    offered: ProbeOffers,
    limits: GreedyLimits = UNLIMITED,
    *,
    begin: tuple[int, ...] = (),
) -> ProbePlan:
    """Return the greedy choice: each time the block with the best ratio.

    The gains of all candidates are kept exact as records are covered (an index from
    records to candidates finds those whose gains fall), and heap entries are corrected
    only when they reach the top, so every step takes the first of the best, as if all
    were scored again. Candidates that exceed the requests left are skipped.

    Args:
        pool: The candidates.
        value: The value of refreshing each local record, w(r) F(r; t).
        offered: The costs and shares of the candidates.
        limits: When to stop.
        begin: Candidates that are taken first in any case.

    """
    state = _State(pool, value, offered)
    enough = state.left * (1.0 - limits.cover)
    for j in begin:
        state.take(j)
    taken = list(begin)
    scores = np.array(state.sums) * offered.seen(1) / offered.cost
    for j in begin:  # their next block is not the first
        scores[j] = state.score(j)
    heap = list(zip((-scores).tolist(), range(len(pool)), strict=True))
    heapq.heapify(heap)
    while heap and state.left > enough and len(taken) < limits.queries:
        stored, j = heap[0]
        score = state.score(j)
        if score <= 0.0 or state.spent + state.pages[j] > limits.requests:
            heapq.heappop(heap)
        elif -stored != score:
            heapq.heapreplace(heap, (-score, j))
        else:
            state.take(j)
            taken.append(j)
            heapq.heapreplace(heap, (-state.score(j), j))
    return read(pool, value, offered, np.array(taken, dtype=np.intp))


def read(pool: Pool, value: Floats, offered: ProbeOffers, taken: Ints) -> ProbePlan:
    """Return the plan of reading given blocks of candidates.

    A record is refreshed with probability 1 - prod(1 - seen(q)) over the queries q
    that it answers, or max(seen(q)) if all rank alike; the expected value is
    sum(value * probability).
    """
    queries, first, blocks = np.unique(taken, return_index=True, return_counts=True)
    order = np.argsort(first, kind="stable")
    queries, blocks = queries[order], blocks[order]
    seen = np.minimum(offered.reach[queries], offered.share[queries] * blocks)
    missed = np.ones(len(pool.local))
    start, sizes = pool.matches.start[queries], pool.held[queries]
    source = np.repeat(np.arange(queries.size), sizes)
    step = np.arange(source.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    rows = pool.matches.item[start[source] + step]
    np.multiply.at(missed, rows, 1.0 - seen[source])
    alike = np.zeros(missed.size)
    np.maximum.at(alike, rows, seen[source])
    pages = offered.pages[queries] * blocks
    return ProbePlan(queries, pages, float(value @ (1.0 - missed)), 1.0 - missed, alike)


def greedy_probes(
    pool: Pool,
    value: Floats,
    hits: Floats,
    *,
    k: int | None = None,
    limits: GreedyLimits = UNLIMITED,
) -> Ints:
    """Return the queries of Algorithm 2, which picks by equation 2.

    q = argmax sum(value over matches not covered) / |R_S(q)|, over the subsets of
    the ``k`` most frequent keywords of each attribute among the records not covered
    (5.3), formed again for each query; over all keywords if None. Of equals the first
    in the pool is taken. Every match of a query counts as covered afterwards.
    """
    by_hits = offers(hits, page_size=1, by="hits")
    if k is None:
        return choose(pool, value, by_hits, limits).queries
    state = _State(pool, value, by_hits)
    taken: list[int] = []
    enough = state.left * (1.0 - limits.cover)
    while state.left > enough and len(taken) < limits.queries:
        open_ = np.array(state.open) > 0
        words = np.r_[most_frequent(pool.local, open_, k), True]
        allowed = np.flatnonzero(words[pool.parts].all(axis=1) & ~pool.lookup)
        if not allowed.size:
            break
        sums = np.array([state.sums[j] for j in allowed.tolist()])
        gain = sums / by_hits.cost[allowed]
        best = int(allowed[np.argmax(gain)])
        state.take(best)
        taken.append(best)
    return np.array(taken, dtype=np.intp)
