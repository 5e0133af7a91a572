"""Queries that refresh what is held: how fast they are chosen, and how good they are.

``python -m lab.probes [FOLDER]`` prints the time that choosing takes on a
relation made up (``speed``); and, on the recorded relations in the folder, requests
that cover everything (``cover``), coverage and speedup by keyword set, method and
policy (``quality``), how near estimates of the server coverage come (``accuracy``),
and what they cost when the plan is carried out (``carried_out``).
"""

import argparse
import heapq
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from halflife.core.arrays import Floats, Ints
from halflife.core.forms import Interface
from halflife.queries.incidence import Incidence
from halflife.queries.known.association import SampledCoverage
from halflife.queries.known.coverage import Hits, count_matches
from halflife.queries.known.greedy import (
    GreedyLimits,
    ProbeOffers,
    ProbePlan,
    Reading,
    choose,
    greedy_probes,
    offers,
    read,
    units_of,
)
from halflife.queries.known.guess import learn_factor
from halflife.queries.known.keywords import Pool, pool_of
from halflife.queries.ledger import Ledger
from lab.exact_probes import full_cover, pruned, repriced, within_budget
from lab.hit_counts import Coverage, HitCounts, TrueCoverage, refresh, send, settle
from lab.probe_knapsack import knapsack
from lab.probeworlds import World, known_worlds, made_up
from lab.tables import listed

Row = dict[str, Any]
T = TypeVar("T")
PAGE_SIZES = (10, 20, 50)
KEYWORDS = (1, 2, 5, 10, 20, 50, 75, 100)
METHODS: dict[int, Reading] = {1: "all", 2: "first"}
SECONDS = 60.0  # for the integer program
SHARE = 0.05  # of the server in a sample or a reference
COUNTED = 20  # queries counted to learn a factor
ROUNDS = 3  # of the naive choice, from which the whole is extrapolated


def timed(work: Callable[[], T]) -> tuple[T, float]:
    """Return what the work returns, and the CPU seconds it took."""
    begin = time.process_time()
    result = work()
    return result, time.process_time() - begin


def speed() -> list[Row]:
    """Return how long it takes to pool and to choose, on a relation made up."""
    rng = np.random.default_rng(0)
    local, server = made_up(rng)
    pool, pooling = timed(lambda: pool_of(local))
    count, counting = timed(lambda: count_matches(pool, server))
    importance = rng.pareto(2.0, len(local)) + 1.0
    value = 0.125 * importance**2  # w F with F = rate t^2 / 2, rate = w / 4, t = 1
    size = {"candidates": len(pool), "matches": int(pool.matches.item.size)}
    rows: list[Row] = [{"step": "pool", "seconds": pooling, **size}]
    rows.append({"step": "server counts", "seconds": counting})
    for by in ("hits", "requests"):
        offered = offers(count.astype(np.float64), page_size=20, by=by)
        rows.append({"ratio": by, **_speed_of(pool, value, offered)})
    return rows


def _speed_of(pool: Pool, value: Floats, offered: ProbeOffers) -> Row:
    fast, seconds = timed(lambda: choose(pool, value, offered))
    slow, naive = timed(lambda: naively(pool, value, offered, ROUNDS))
    lazy, lazily = timed(lambda: celf(pool, value, offered))
    _, setting_up = timed(lambda: naively(pool, value, offered, 0))
    each = (naive - setting_up) / ROUNDS
    return {
        "queries": fast.queries.size,
        "requests": fast.requests,
        "decremental_s": seconds,
        "lazy_s": lazily,
        "naive_s_per_round": each,
        "naive_s_extrapolated": each * fast.queries.size,
        "times_faster": each * fast.queries.size / seconds,
        "same_as_lazy": fast.queries.tolist() == lazy,
        "same_as_naive": fast.queries[:ROUNDS].tolist() == slow,
    }


def naively(pool: Pool, value: Floats, offered: ProbeOffers, rounds: int) -> list[int]:
    """Return the first queries by scoring every candidate anew each round."""
    worth, cost = units_of(value), offered.cost.tolist()
    rows = [set(some) for some in pool.matches.lists()]
    open_ = set(range(len(worth)))
    chosen = []
    for _ in range(rounds):
        scores = [
            sum(worth[i] for i in mine if i in open_) / paid
            for mine, paid in zip(rows, cost, strict=True)
        ]
        chosen.append(max(range(len(rows)), key=scores.__getitem__))
        open_ -= rows[chosen[-1]]
    return chosen


def celf(pool: Pool, value: Floats, offered: ProbeOffers) -> list[int]:
    """Return the greedy choice by a lazy heap alone (Minoux; Leskovec's CELF)."""
    open_, cost, rows = units_of(value), offered.cost.tolist(), pool.matches.lists()
    gains = [sum(open_[i] for i in mine) for mine in rows]
    heap = [(-gain / cost[j], j, 0) for j, gain in enumerate(gains)]
    heapq.heapify(heap)
    chosen: list[int] = []
    while heap:
        _, j, when = heapq.heappop(heap)
        if when == len(chosen):
            chosen.append(j)
            for i in rows[j]:
                open_[i] = 0
        elif gain := sum(open_[i] for i in rows[j]):
            heapq.heappush(heap, (-gain / cost[j], j, len(chosen)))
    return chosen


def cover(world: World, page_sizes: Sequence[int] = PAGE_SIZES) -> Iterator[Row]:
    """Return requests that refresh everything, by policy and page size."""
    pool = pool_of(world.held, lookup=True)
    hits = TrueCoverage(world.open).hits(pool).count
    one = np.ones(len(pool.local))
    by_hits = greedy_probes(pool, one, hits)
    for page_size in page_sizes:
        offered = offers(hits, page_size=page_size)
        greedy = choose(pool, one, offered)
        left = pruned(pool, offered, greedy.queries)
        again, seconds = timed(partial(repriced, pool, offered))
        begin = time.process_time()
        best = full_cover(pool, offered, seconds=SECONDS)
        yield {
            "world": world.name,
            "server": len(world.server),
            "candidates": len(pool),
            "page_size": page_size,
            "by_key": len(pool.local),
            "equation_2": int(offered.pages[by_hits].sum()),
            "per_request": greedy.requests,
            "pruned": int(offered.pages[left].sum()),
            "repriced": int(offered.pages[again].sum()),
            "repriced_s": seconds,
            "optimum": best.cost,
            "bound": best.bound,
            "status": best.status,
            "optimum_s": time.process_time() - begin,
        }


def quality(
    world: World, page_size: int = 20, keywords: Sequence[int] = KEYWORDS
) -> Iterator[Row]:
    """Return coverage and speedup by attribute, method, policy and keyword set."""
    for attribute in world.interface.attributes:
        shape = Interface((attribute,), lookup=True)
        part = World(world.name, shape, world.server, world.local)
        pool = pool_of(part.held, fewest=1)
        hits = TrueCoverage(part.open).hits(pool).count
        one = np.ones(len(pool.local))
        sets = (*keywords, None)
        by_hits = {k: greedy_probes(pool, one, hits, k=k) for k in sets}
        for method, reading in METHODS.items():
            offered = offers(hits, page_size=page_size, reading=reading)
            for policy, k, queries in _rivals(pool, offered, by_hits, reading):
                probes = read(pool, one, offered, queries)
                yield {
                    "world": world.name,
                    "attribute": attribute.name,
                    "method": method,
                    "policy": policy,
                    "k": k,
                    **measured(part, pool, probes, (hits, page_size), method),
                }


def _rivals(
    pool: Pool, offered: ProbeOffers, by_hits: dict[int | None, Ints], reading: Reading
) -> Iterator[tuple[str, int | None, Ints]]:
    """Return the plans to compare: their policy, keyword set and queries."""
    for k, queries in by_hits.items():
        yield "equation_2", k, queries
    one = np.ones(len(pool.local))
    yield "per_request", None, choose(pool, one, offered).queries
    if reading == "all":
        yield "optimum", None, full_cover(pool, offered, seconds=SECONDS).queries
    else:  # as many requests as equation 2 sends
        for k, queries in by_hits.items():
            few = choose(pool, one, offered, GreedyLimits(requests=queries.size))
            yield "per_request_as_many", k, few.queries


def measured(
    world: World,
    pool: Pool,
    probes: ProbePlan,
    pages: tuple[Floats, int],
    method: int,
) -> Row:
    """Return what a plan covers and costs, expected and carried out.

    ``pages`` are the hits on the server and the page size. ``printed_coverage`` and
    ``request_ratio`` are as section 5.1 prints them: matches are counted as often as
    they come, pages are not rounded up, and the "speedup" is requests for each tuple.
    """
    (hits, page_size), n = pages, len(pool.local)
    held, mine = pool.held[probes.queries], hits[probes.queries]
    shown = held if method == 1 else held * page_size / mine
    sent = mine / page_size if method == 1 else np.ones(mine.size)
    union = np.zeros(n, dtype=bool)
    for j in probes.queries.tolist():
        union[pool.matches.of(j)] = True
    ledger = Ledger(world.form(np.random.default_rng(1), page_size))
    achieved = send(pool, probes, ledger).mean()
    return {
        "queries": probes.queries.size,
        "requests": probes.requests,
        "coverage": probes.covered / n,
        "coverage_if_ranked_alike": float(probes.alike.mean()),
        "achieved": float(achieved),
        "tuples_per_request": probes.covered / max(probes.requests, 1),
        "achieved_per_request": achieved * n / max(ledger.requests, 1),
        "printed_coverage": float(shown.sum() / n),
        "request_ratio": float(sent.sum() / max(union.sum(), 1)),
    }


def accuracy(world: World, share: float = SHARE) -> Iterator[Row]:
    """Return how far estimates of |R_S(q)| are from the truth."""
    pool = pool_of(world.held)
    truth = count_matches(pool, world.open).astype(np.float64)
    pairs = (pool.parts >= 0).all(axis=1)
    for name, coverage, requests in estimators(world, pool, share):
        found = coverage.hits(pool)
        for least in (2, 10, 50):
            some = pairs & (truth >= least)
            if not some.any():  # of a small table
                continue
            off = np.abs(found.count[some] / truth[some] - 1.0)
            yield {
                "world": world.name,
                "estimator": name,
                "requests": requests,
                "hits_at_least": least,
                "pairs": int(some.sum()),
                "mean_relative_error": float(off.mean()),
                "median_relative_error": float(np.median(off)),
                "sum_over_truth": float(found.count[some].sum() / truth[some].sum()),
            }


def estimators(
    world: World, pool: Pool, share: float
) -> Iterator[tuple[str, Coverage, int]]:
    """Return ways to estimate, each with the requests it took to learn.

    A random sample of records is what a drill-down gives; here it is drawn. The
    frequency of a term is a request for each term of the local relation. The
    reference is the older half of the records, which has other topics in fashion.
    """
    rng = np.random.default_rng(2)
    keys = list(world.server)
    drawn = rng.choice(len(keys), int(share * len(keys)), replace=False)
    sample = _part(world, [keys[i] for i in drawn.tolist()])
    size = float(len(keys))
    margins = dict(zip(world.open.terms, world.open.hits.tolist(), strict=True))
    yield "scaling", SampledCoverage(sample, size, {}, scaling=True), 0
    yield "li_church", SampledCoverage(sample, size, margins), len(pool.local.terms)
    yield "li_church, margins scaled", SampledCoverage(sample, size, {}), 0
    older = _part(world, sorted(keys)[: len(keys) // 2])
    ledger = Ledger(world.form(rng, 20))
    yield "reference", learn_factor(pool, older, ledger, COUNTED, rng), ledger.requests
    yield "none: what is held", SampledCoverage(sample, 1.0, {}, scaling=True), 0


def _part(world: World, keys: list[str]) -> Incidence:
    return Incidence.of(world.interface, {key: world.server[key] for key in keys})


def carried_out(world: World, page_size: int = 20) -> Iterator[Row]:
    """Return what a plan by estimates takes when it is sent, probes included."""
    pool = pool_of(world.held, lookup=True)
    one = np.ones(len(pool.local))
    known = TrueCoverage(world.open)
    ways = [("truth", known, 0), *estimators(world, pool, SHARE)]
    for name, coverage, learning in ways:
        for how in ("believed", "counted", "by turns"):
            ledger = Ledger(world.form(np.random.default_rng(1), page_size))
            told = HitCounts(ledger, coverage)
            decide = _decider(pool, one, page_size)
            if how == "by turns":
                shown = refresh(pool, told, one)
            elif how == "counted":
                shown = send(pool, settle(pool, told, decide), ledger)
            else:
                shown = send(pool, decide(told.hits(pool)), ledger)
            yield {
                "world": world.name,
                "estimator": name,
                "how": how,
                "learning": learning,
                "requests": ledger.requests,
                "achieved": float(shown.mean()),
            }


def _decider(pool: Pool, value: Floats, page_size: int) -> Callable[[Hits], ProbePlan]:
    return lambda hits: choose(pool, value, offers(hits.count, page_size=page_size))


def budgeted(world: World, page_size: int = 20) -> Iterator[Row]:
    """Return the share refreshed within a number of requests, by policy."""
    pool = pool_of(world.held, lookup=True)
    hits = TrueCoverage(world.open).hits(pool).count
    one = np.ones(len(pool.local))
    whole, some = (
        offers(hits, page_size=page_size, reading=how) for how in ("all", "some")
    )
    by_hits = offers(hits, page_size=page_size, by="hits")
    for requests in (25, 50, 100, 200):
        limits = GreedyLimits(requests=requests)
        best = within_budget(pool, one, whole, requests, seconds=SECONDS)
        shares = {
            "by_key": min(requests, one.size),
            "equation_2": choose(pool, one, by_hits, limits).value,
            "per_request": choose(pool, one, whole, limits).value,
            "knapsack": knapsack(pool, one, whole, requests).value,
            "page_by_page": choose(pool, one, some, limits).value,
            "optimum": best.value,
            "bound": best.bound,
        }
        told = {name: float(share / one.size) for name, share in shares.items()}
        yield {"world": world.name, "budget": requests, **told, "status": best.status}


PARTS: dict[str, Callable[[World], Iterator[Row]]] = {
    "cover": cover,
    "budgeted": budgeted,
    "quality": quality,
    "accuracy": accuracy,
    "carried_out": carried_out,
}


def run(folder: Path | None, only: Sequence[str] = ()) -> dict[str, list[Row]]:
    """Return all tables."""
    worlds = [] if folder is None else known_worlds(folder, only)
    told = {name: [r for w in worlds for r in rows(w)] for name, rows in PARTS.items()}
    return {"speed": speed(), **told}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(prog="python -m lab.probes")
    parser.add_argument("folder", type=Path, nargs="?", help="recorded tables")
    parser.add_argument("--only", metavar="A,B,...", help="some of the tables")
    given = parser.parse_args(arguments)
    sys.stdout.write(json.dumps(run(given.folder, listed(given.only)), indent=1))


if __name__ == "__main__":
    main()
