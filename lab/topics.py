"""How long it takes to find the topics of pages, and what fewer in-links change.

``python -m lab.topics --pages 100000 --links 1000000 --terms 50`` times a
random web. ``python -m lab.topics SITES --in-links 10 20 50 100 300`` takes
the pages of a recorded history with ``links.parquet`` and ``page_terms.parquet``, and
compares each limit with no limit.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np

from halflife.core.arrays import Floats, Ints
from halflife.core.categories import Categories
from halflife.grouping.topic import JUMP, TOPICS, LinkMatrix, Surfer, common_terms
from halflife.recordings.histories import load
from lab.linkgraph import LinkGraph, load_graph

SMALL = 50  # times fewer pages and links for the plain loop
HELD = 5  # terms a page


def random_graph(pages: int, links: int, terms: int, seed: int = 0) -> LinkGraph:
    """Return a web in which links and terms are drawn evenly."""
    rng = np.random.default_rng(seed)
    source, target = rng.integers(0, pages, (2, links))
    held = rng.integers(0, terms, pages * HELD)
    page = np.repeat(np.arange(pages), HELD)
    names = [f"term {t}" for t in range(terms)]
    return LinkGraph(
        LinkMatrix.of_pairs(source, target, pages),
        Categories.of_pairs(names, held, page, pages),
    )


def speed(pages: int, links: int, terms: int, seed: int = 0) -> dict[str, Any]:
    """Return the seconds that topics take, and how many times a plain loop takes.

    The plain loop is Algorithm 1 with a dictionary of terms a page. It is timed on
    a web ``SMALL`` times smaller, to the same tolerance, and its time is taken to grow
    with the links: it needs as many rounds, and touches each link once in each.
    """
    graph = random_graph(pages, links, terms, seed)
    surfer = Surfer()
    wall, cpu, found = _timed(surfer, graph)
    small = random_graph(pages // SMALL, links // SMALL, terms, seed)
    begin = process_time()
    rank, rounds = by_loop(small, surfer)
    loop = process_time() - begin
    exact = Surfer(tolerance=1e-12).reputation(small.links, small.terms)
    return {
        "pages": pages,
        "links": len(graph.links),
        "terms": terms,
        "topics": found.item.size,
        "seconds": wall,
        "cpu_seconds": cpu,
        "loop_links": len(small.links),
        "loop_rounds": rounds,
        "loop_cpu_seconds": loop,
        "loop_error": float(np.abs(rank - exact).sum(axis=0).max()),
        "times_faster_than_loop": loop * len(graph.links) / len(small.links) / cpu,
    }


def by_loop(graph: LinkGraph, surfer: Surfer) -> tuple[Floats, int]:
    """Return the reputations by Algorithm 1, link by link, and the rounds it took.

    A term's reputations have converged when they change so little in a round that
    what is left to come, (1 - d) / d times as much, is within the tolerance.
    """
    links, terms = graph.links, graph.terms
    out = links.out.tolist()
    pairs = list(zip(links.source.tolist(), links.target.tolist(), strict=True))
    start: list[dict[int, float]] = [{} for _ in range(links.n_pages)]
    for page, term in zip(terms.item.tolist(), terms.category.tolist(), strict=True):
        start[page][term] = 1.0 / float(terms.size[term])
    rank, rounds, moved = start, 0, np.inf
    while moved * (1.0 - surfer.jump) / surfer.jump > surfer.tolerance:
        after = [{t: surfer.jump * r for t, r in each.items()} for each in start]
        for source, target in pairs:
            share, mine = (1.0 - surfer.jump) / out[source], after[target]
            for term, value in rank[source].items():
                mine[term] = mine.get(term, 0.0) + share * value
        moved = _moved(rank, after)
        rank, rounds = after, rounds + 1
    return _matrix(rank, len(terms)), rounds


def _moved(before: list[dict[int, float]], after: list[dict[int, float]]) -> float:
    """Return the largest change of a term's reputations, summed over pages."""
    total: dict[int, float] = {}
    for one, two in zip(before, after, strict=True):
        for term in one.keys() | two.keys():
            change = abs(two.get(term, 0.0) - one.get(term, 0.0))
            total[term] = total.get(term, 0.0) + change
    return max(total.values(), default=0.0)


def _matrix(rank: list[dict[int, float]], terms: int) -> Floats:
    found = np.zeros((len(rank), terms))
    for page, each in enumerate(rank):
        for term, value in each.items():
            found[page, term] = value
    return found


def table(graph: LinkGraph, limits: Sequence[int], k: int = TOPICS) -> dict[str, Any]:
    """Return time, and likeness to no limit, by how many links to a page count.

    ``jaccard`` is the mean over the pages in any category of |A and B| / |A or B|,
    with A and B a page's topics under the limit and under none; ``linked_jaccard``
    over those with more links to them than the limit, which alone lose some.
    """
    in_links = np.bincount(graph.links.target, minlength=graph.links.n_pages)
    _timed(Surfer(), graph, k)  # what is slow the first time
    wall, cpu, whole = _timed(Surfer(), graph, k)
    told = [{"in_links": None, "seconds": wall, "cpu_seconds": cpu, "jaccard": 1.0}]
    for limit in limits:
        wall, cpu, found = _timed(Surfer(in_links=limit), graph, k)
        alike = likeness(found, whole)
        cut = in_links > limit
        told.append(
            {
                "in_links": limit,
                "seconds": wall,
                "cpu_seconds": cpu,
                "jaccard": float(np.nanmean(alike)),
                "pages_over": int(cut.sum()),
                "linked_jaccard": float(np.nanmean(alike[cut])) if cut.any() else 1.0,
            }
        )
    return {
        "pages": graph.links.n_pages,
        "links": len(graph.links),
        "pages_linked": int((in_links > 0).sum()),
        "terms": len(graph.terms),
        "categories": len(whole),
        "table": told,
    }


def likeness(one: Categories, two: Categories) -> Floats:
    """Return |A and B| / |A or B| of each item's categories by name; nan if none."""
    names = sorted({*one.names, *two.names})
    both = np.intersect1d(_codes(one, names), _codes(two, names)) // max(len(names), 1)
    n = one.n_items
    shared = np.bincount(both, minlength=n)
    each = np.bincount(np.concatenate([one.item, two.item]), minlength=n)
    either = each - shared
    return np.where(either > 0, shared / np.maximum(either, 1), np.nan)


def _codes(each: Categories, names: Sequence[str]) -> Ints:
    code = {name: j for j, name in enumerate(names)}
    mine = np.array([code[name] for name in each.names], np.intp)
    return each.item * max(len(names), 1) + mine[each.category]


def _timed(
    surfer: Surfer, graph: LinkGraph, k: int = TOPICS
) -> tuple[float, float, Categories]:
    wall, cpu = perf_counter(), process_time()
    found = surfer.topics(graph.links, graph.terms, k)
    return perf_counter() - wall, process_time() - cpu, found


def main(arguments: list[str] | None = None) -> None:
    """Print the figures as JSON."""
    parser = argparse.ArgumentParser(prog="python -m lab.topics")
    parser.add_argument("sites", type=Path, nargs="?", help="a recorded history")
    parser.add_argument("--in-links", type=int, nargs="+", default=[10, 20, 50, 100])
    parser.add_argument("--fewest", type=int, default=20, help="pages a topic is on")
    parser.add_argument("--topics", type=int, help="the commonest so many terms")
    parser.add_argument("--pages", type=int, default=100_000)
    parser.add_argument("--links", type=int, default=1_000_000)
    parser.add_argument("--terms", type=int, default=50)
    asked = parser.parse_args(arguments)
    if asked.sites is None:
        told = speed(asked.pages, asked.links, asked.terms)
    else:
        graph = load_graph(asked.sites, load(asked.sites).recording)
        terms = common_terms(graph.terms, asked.fewest, asked.topics)
        told = table(LinkGraph(graph.links, terms), asked.in_links)
    whole = {"jump": JUMP, "topics_a_page": TOPICS, **told}
    sys.stdout.write(json.dumps(whole, indent=1, allow_nan=False) + "\n")


if __name__ == "__main__":
    main()
