"""The best choice of queries, by integer programming (HiGHS, with greedy to beat).

Section 3.3 of Yang, Wang, Lim, Wang (SIGMOD 2010) states the covering integer program
with |R_S(q)| as the cost; here the cost is requests.
"""

from dataclasses import dataclass, fields
from typing import Any, Literal, TypeAlias

import numpy as np

from halflife.core.arrays import Bools, Floats, Ints
from halflife.queries.known.greedy import ProbeOffers, choose
from halflife.queries.known.keywords import Pool
from lab.probe_knapsack import knapsack

Status: TypeAlias = Literal["optimal", "limit", "greedy"]
SLACK = 1e-6  # what HiGHS takes for nothing
TRIES = 10  # greedy covers, each with prices learned from those before
PACE = 0.3  # how fast prices follow
INFEASIBLE = 2  # scipy's word for it


@dataclass(frozen=True)
class Optimum:
    """The best choice found, and what the best there is could be at most.

    Attributes:
        queries: Positions in the pool.
        cost: Requests that they take.
        value: The value of the records that they cover.
        bound: No choice takes fewer requests (full cover) or is worth more (budget).
        gap: How far the choice is from the bound, as a share of the choice.
        status: ``optimal``; ``limit`` if time ran out with something better than
            greedy; ``greedy`` if it ran out with nothing better.

    """

    queries: Ints
    cost: int
    value: float
    bound: float
    gap: float
    status: Status


def full_cover(
    pool: Pool,
    offered: ProbeOffers,
    *,
    seconds: float = 60.0,
    gap: float = 0.0,
    tries: int = TRIES,
) -> Optimum:
    """Return the fewest requests that refresh every record within reach.

    min sum(pages x)  with  sum(x over the queries that a record answers) >= 1 for
    every record. Only queries that show all of their matches take part.

    Args:
        pool: The candidates.
        offered: What they cost and show.
        seconds: How long the relaxation, and then the search, may take.
        gap: How far from the bound, as a share, the search may stop.
        tries: Greedy covers of which the best has to be beaten.

    """
    kept = _needed(pool, offered)
    small, part = pool.only(kept), _only(offered, kept)
    cost = part.pages.astype(np.float64)
    start = repriced(small, part, tries=tries)
    rows = -_matrix(small)[np.flatnonzero(small.reachable)]
    best = float(cost[start].sum())
    program = _Program(cost, rows, -np.ones(rows.shape[0]), cost.size)
    found = program.beat(best, 1.0, seconds, gap)
    chosen = start if found.x is None else np.flatnonzero(found.x > 0.5)
    total = float(cost[chosen].sum())
    low = min(total, float(np.ceil(found.bound - SLACK)))
    value = float(np.count_nonzero(small.reachable))
    queries, gap = np.flatnonzero(kept)[chosen], (total - low) / max(total, 1.0)
    return Optimum(queries, int(total), value, low, gap, found.status)


def within_budget(
    pool: Pool,
    value: Floats,
    offered: ProbeOffers,
    requests: int,
    *,
    seconds: float = 60.0,
) -> Optimum:
    """Return the choice within so many requests that refreshes the most value.

    max sum(value y)  with  y <= 1, y <= sum(x over the queries that the record
    answers), sum(pages x) <= requests.
    """
    kept = _needed(pool, offered)
    small, part = pool.only(kept), _only(offered, kept)
    start = knapsack(small, value, part, requests)
    loss = np.r_[np.zeros(len(small)), -value]
    rows = _budgeted(_matrix(small), part.pages)
    most = np.r_[np.zeros(value.size), float(requests)]
    program = _Program(loss, rows, most, len(small))
    step = SLACK * float(value.max(initial=0.0))
    found = program.beat(-start.value, step, seconds, 0.0)
    x = found.x
    chosen = start.queries if x is None else np.flatnonzero(x[: len(small)] > 0.5)
    won = float(value[_covered(small, chosen)].sum())
    high = max(won, min(-found.bound, float(value.sum())))
    cost, gap = int(part.pages[chosen].sum()), (high - won) / won if won else 0.0
    queries = np.flatnonzero(kept)[chosen]
    return Optimum(queries, cost, won, high, gap, found.status)


def pruned(pool: Pool, offered: ProbeOffers, queries: Ints) -> Ints:
    """Return a choice without queries whose matches the others cover as well.

    The dearest go first; the order of the rest is kept.
    """
    times = np.zeros(len(pool.local), dtype=np.intp)
    for j in queries.tolist():
        times[pool.matches.of(j)] += 1
    kept = np.ones(queries.size, dtype=bool)
    for place in np.argsort(-offered.pages[queries], kind="stable").tolist():
        rows = pool.matches.of(int(queries[place]))
        if (times[rows] > 1).all():
            times[rows] -= 1
            kept[place] = False
    return queries[kept]


def repriced(pool: Pool, offered: ProbeOffers, *, tries: int = TRIES) -> Ints:
    """Return the cheapest full cover of several greedy ones, each pruned.

    Greedy first takes what covers many and pays dearly for the few left over. So
    each record is worth what it cost to cover it alone in the covers before, and
    records that come dear are seen to first (values move by ``PACE`` each time).
    """
    n = len(pool.local)
    price = np.full(n, np.inf)
    each = np.repeat(offered.pages / np.maximum(pool.held, 1), pool.held)
    np.minimum.at(price, pool.matches.item, each)
    value = np.ones(n)
    best, least = np.zeros(0, dtype=np.intp), np.inf
    for number in range(tries):
        found = pruned(pool, offered, choose(pool, value, offered).queries)
        if (cost := float(offered.pages[found].sum())) < least:
            best, least = found, cost
        before = value if number else np.where(np.isfinite(price), price, 1.0)
        value = (1.0 - PACE) * before + PACE * _paid(pool, offered, found) + SLACK
    return best


def _paid(pool: Pool, offered: ProbeOffers, queries: Ints) -> Floats:
    """Return what each record cost that one query alone covers, shared evenly."""
    times = np.zeros(len(pool.local), dtype=np.intp)
    for j in queries.tolist():
        times[pool.matches.of(j)] += 1
    paid = np.zeros(times.size)
    for j in queries.tolist():
        rows = pool.matches.of(j)
        alone = rows[times[rows] == 1]
        paid[alone] = offered.pages[j] / max(alone.size, 1)
    return paid


@dataclass(frozen=True)
class _Found:
    """What a program came to: a better choice or none, and what is proved."""

    x: Floats | None
    bound: float
    status: Status


@dataclass(frozen=True)
class _Program:
    """min cost x  with  rows x <= most, 0 <= x <= 1, the first ``whole`` 0 or 1."""

    cost: Floats
    rows: Any
    most: Floats
    whole: int

    def beat(self, best: float, step: float, seconds: float, gap: float) -> _Found:
        """Return something better than the best known by at least a step, if any.

        The relaxation is solved first. A variable whose reduced cost would take it
        beyond the best known is 0 in anything better and is left out.
        """
        easy = self._relaxed(seconds)
        if easy.status != 0:
            return self._searched(np.ones(self.cost.size, bool), best, seconds, gap)
        if easy.fun > best - step + SLACK:
            return _Found(None, best, "optimal")
        part = easy.x[: self.whole]
        if (np.abs(part - np.rint(part)) < SLACK).all():
            return _Found(easy.x, float(easy.fun), "optimal")
        keep = easy.fun + easy.lower.marginals <= best - step + SLACK
        keep[self.whole :] = True
        found = self._searched(keep, best, seconds, gap)
        return _Found(found.x, max(found.bound, float(easy.fun)), found.status)

    def _relaxed(self, seconds: float) -> Any:  # noqa: ANN401 (scipy has no types)
        from scipy.optimize import linprog  # noqa: PLC0415 (slow to import)

        return linprog(
            self.cost,
            A_ub=self.rows,
            b_ub=self.most,
            bounds=(0.0, 1.0),
            method="highs-ipm",
            options={"time_limit": seconds},
        )

    def _searched(self, keep: Bools, best: float, seconds: float, gap: float) -> _Found:
        """Return the best of what is kept, unless something better is known."""
        from scipy.optimize import (  # noqa: PLC0415 (slow to import)
            Bounds,
            LinearConstraint,
            milp,
        )

        found = milp(
            self.cost[keep],
            constraints=LinearConstraint(self.rows[:, keep], ub=self.most),
            integrality=(np.arange(self.cost.size) < self.whole)[keep],
            bounds=Bounds(0.0, 1.0),
            options={"time_limit": seconds, "mip_rel_gap": gap},
        )
        if found.status == INFEASIBLE:
            return _Found(None, best, "optimal")
        told = found.mip_dual_bound
        bound = -np.inf if told is None else min(best, float(told))
        if found.x is None or found.fun >= best - SLACK:
            return _Found(None, bound, "greedy" if found.status else "optimal")
        x = np.zeros(self.cost.size)
        x[keep] = found.x
        return _Found(x, bound, "limit" if found.status else "optimal")


def _needed(pool: Pool, offered: ProbeOffers) -> Bools:
    """Return the candidates that are sure, and the cheapest with their matches."""
    code = _mixed(np.arange(len(pool.local)))
    running = np.r_[np.uint64(0), np.cumsum(code[pool.matches.item], dtype=np.uint64)]
    print_ = np.diff(running[pool.matches.start])
    sure = (offered.reach >= 1.0) & (pool.held > 0)
    order = np.lexsort((offered.pages, ~sure, print_))
    first = np.r_[True, print_[order][1:] != print_[order][:-1]][: order.size]
    kept: Bools = np.zeros(len(pool), dtype=bool)
    kept[order[first]] = True
    return kept & sure


def _mixed(number: Ints) -> "np.ndarray[Any, np.dtype[np.uint64]]":
    """Return 64 bits for each number that look drawn at random (splitmix64)."""
    z = (number.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def _only(offered: ProbeOffers, keep: Bools) -> ProbeOffers:
    return ProbeOffers(*(getattr(offered, f.name)[keep] for f in fields(ProbeOffers)))


def _matrix(pool: Pool) -> Any:  # noqa: ANN401 (scipy has no types)
    """Return which record (row) answers which query (column), sparse."""
    from scipy.sparse import csc_matrix  # noqa: PLC0415 (slow to import)

    ones = np.ones(pool.matches.item.size)
    shape = (len(pool.local), len(pool))
    flat = (ones, pool.matches.item, pool.matches.start)
    return csc_matrix(flat, shape=shape).tocsr()


def _budgeted(matrix: Any, pages: Ints) -> Any:  # noqa: ANN401 (scipy has no types)
    """Return the rows of  y - sum(x) <= 0, and of what is spent."""
    from scipy.sparse import eye_array, hstack, vstack  # noqa: PLC0415 (slow to import)

    spent = np.r_[pages, np.zeros(matrix.shape[0])][None, :]
    return vstack([hstack([-matrix, eye_array(matrix.shape[0])]), spent]).tocsr()


def _covered(pool: Pool, queries: Ints) -> Bools:
    covered: Bools = np.zeros(len(pool.local), dtype=bool)
    for j in queries.tolist():
        covered[pool.matches.of(j)] = True
    return covered
