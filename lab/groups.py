"""How long it takes to group pages, and whether pages of a group change together.

``python -m lab.groups --keys 1000000`` times places on made-up addresses.
``python -m lab.groups SITES`` groups the pages of a recorded history with
``links.parquet`` and ``page_terms.parquet`` in every way there is. Behaviour is learned
from a look every two weeks in the first half; all are judged on the second half.
"""

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

from halflife.core.arrays import Ints
from halflife.core.categories import Categories
from halflife.core.history import History
from halflife.grouping.topic import LinkMatrix, Surfer, common_terms
from halflife.grouping.topic_book import TopicBook
from halflife.recordings.histories import load
from halflife.recordings.pages import Recording
from lab.grouping.behaviour import PACES, paced, together, windows
from lab.grouping.places import ancestors, by_site, folders
from lab.grouping.texts import clusters
from lab.linkgraph import LinkGraph, load_graph
from lab.rates.empirical_bayes import EmpiricalBayesRate
from lab.topics import likeness

EVERY = 14.0  # days from look to look
ONLINE = 6000  # pages filed as they are downloaded
FEWEST = 100  # pages that a topic is on at least

Grouping = Callable[[], Categories]


def places(keys: int) -> dict[str, Any]:
    """Return the CPU seconds it takes to group so many addresses by place."""
    made = [
        f"https://host{i % 500}.example.org/v{i % 7}/part{i % 97}/page{i}.html?x=/{i}"
        for i in range(keys)
    ]
    ways: dict[str, Grouping] = {
        "site": lambda: by_site(made),
        "folder": lambda: folders(made),
        "folder, 1 deep": lambda: folders(made, 1),
        "folders above": lambda: ancestors(made),
    }
    return {name: _timed(way)[0] for name, way in ways.items()}


def looked(recording: Recording, begin: float, end: float) -> History:
    """Return the history of a look at every page every two weeks."""
    rows = np.arange(len(recording))
    times = np.arange(begin, end + 1e-9, EVERY)
    item, at = np.tile(rows, times.size), np.repeat(times, rows.size)
    seen = np.concatenate([recording.seen(rows, float(t)) for t in times])
    digest = np.concatenate([recording.states(rows, float(t)) for t in times])
    return History.from_columns(recording.keys, item, at, seen, digest)


def compare(recording: Recording, graph: LinkGraph, end: float) -> list[dict[str, Any]]:
    """Return time, number and size of the groups, and how much more alike they are.

    ``chance`` is that of another page of the group having changed in the same two
    weeks as one that did, and ``lift`` the same over the chance of any page; pages
    in a group of their own do not count.
    """
    names = tuple(dict.fromkeys(recording.group))
    code = {name: i for i, name in enumerate(names)}
    group = np.array([code[name] for name in recording.group], np.intp)
    past, later = looked(recording, 0.0, end / 2), looked(recording, end / 2, end)
    ways = {
        **_told(recording, graph),
        "pace": lambda: _pace(past, group, names),
        "together": lambda: together(
            windows(past, EVERY), group, names, np.random.default_rng(0)
        ),
    }
    changed = windows(later, EVERY)
    base = changed.item.size / (len(recording) * (later.at.size / len(recording) - 1))
    rows = []
    for name, way in ways.items():
        seconds, made = _timed(way)
        chance = _chance(made, changed)
        rows.append(
            {
                "grouping": name,
                "cpu_seconds": seconds,
                "groups": len(made),
                "median_size": float(np.median(made.size)) if len(made) else 0.0,
                "pages": int(np.unique(made.item).size),
                "chance": chance,
                "lift": chance / base,
            }
        )
    return rows


def _told(recording: Recording, graph: LinkGraph) -> dict[str, Grouping]:
    """Return the groupings that need no looks."""
    terms = common_terms(graph.terms, FEWEST)
    return {
        "site": lambda: by_site(recording.keys, recording.group),
        "folder": lambda: folders(recording.keys),
        "text": lambda: clusters(
            common_terms(graph.terms, 2), np.random.default_rng(0)
        ),
        "topic": lambda: Surfer().topics(graph.links, terms),
        "topic, best alone": lambda: Surfer().topics(graph.links, terms, 1),
    }


def online(graph: LinkGraph, pages: int, tolerance: float = 0.1) -> dict[str, float]:
    """Return what it takes to file the first pages as they are downloaded.

    ``filed`` and ``refiled`` are the mean likeness |A and B| / |A or B| of a page's
    topics to those of the whole computation, as filed at once and at the end.
    """
    first = (graph.links.source < pages) & (graph.links.target < pages)
    links = LinkMatrix(graph.links.source[first], graph.links.target[first], pages)
    terms = common_terms(graph.terms, FEWEST)
    here = terms.item < pages
    terms = Categories.of_pairs(
        terms.names, terms.category[here], terms.item[here], pages
    )
    on: list[list[str]] = [[] for _ in range(pages)]
    for page, term in zip(terms.item.tolist(), terms.category.tolist(), strict=True):
        on[page].append(terms.names[term])
    leads: list[list[str]] = [[] for _ in range(pages)]
    for source, target in zip(
        links.source.tolist(), links.target.tolist(), strict=True
    ):
        leads[source].append(str(target))
    book = TopicBook(tolerance=tolerance)
    begin = process_time()
    for page in range(pages):
        book.download(str(page), on[page], leads[page])
    seconds = process_time() - begin
    whole, filed = Surfer().topics(links, terms), book.categories()
    book.refile()
    return {
        "pages": pages,
        "cpu_seconds": seconds,
        "filed": float(np.nanmean(likeness(filed, whole))),
        "refiled": float(np.nanmean(likeness(book.categories(), whole))),
    }


def _pace(past: History, group: Ints, names: tuple[str, ...]) -> Categories:
    model = EmpiricalBayesRate().fit(*past.gaps(), n_items=len(past))
    return paced(model.rate_, np.ones(len(past), np.bool_), group, names, PACES)


def _chance(made: Categories, changed: Categories) -> float:
    """Return the share of other pages that changed with each that did."""
    pairs, others = 0.0, 0.0
    there = np.zeros(made.n_items, np.bool_)
    for number in range(len(changed)):
        there[:] = False
        there[changed.members(number)] = True
        count = np.bincount(made.category, there[made.item], len(made))
        pairs += float((count * (count - 1.0)).sum())
        others += float((count * (made.size - 1.0)).sum())
    return pairs / others if others else 0.0


def _timed(way: Grouping) -> tuple[float, Categories]:
    begin = process_time()
    made = way()
    return process_time() - begin, made


def main(arguments: list[str] | None = None) -> None:
    """Print the figures as JSON."""
    parser = argparse.ArgumentParser(prog="python -m lab.groups")
    parser.add_argument("sites", type=Path, nargs="?", help="a recorded history")
    parser.add_argument("--keys", type=int, default=1_000_000)
    parser.add_argument("--tolerance", type=float, default=0.1, help="of the book")
    asked = parser.parse_args(arguments)
    told: dict[str, Any]
    if asked.sites is None:
        told = {"keys": asked.keys, "cpu_seconds": places(asked.keys)}
    else:
        recorded = load(asked.sites)
        graph = load_graph(asked.sites, recorded.recording)
        rows = compare(recorded.recording, graph, recorded.end)
        pages = min(ONLINE, len(recorded.recording))
        filed = online(graph, pages, asked.tolerance)
        told = {
            "pages": len(recorded.recording),
            "groupings": rows,
            "as_downloaded": filed,
        }
    sys.stdout.write(json.dumps(told, indent=1, allow_nan=False) + "\n")


if __name__ == "__main__":
    main()
