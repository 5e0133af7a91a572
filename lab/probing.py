"""What summaries by queries are worth, and what they cost.

``python -m lab.probing`` samples made-up databases by query-based sampling
and by focused probing, with and without shrinkage, and compares each summary with the
complete one; it estimates sizes for each kind of totals. ``python -m
lab.probing DIR`` does the same with recorded sites (``docs_weekly.parquet``,
``vocab.parquet``, ``sites.parquet``), whose topics are the domains; probes are learned
on every other site and tried on the rest.
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.random import Generator

from halflife.core.errors import UsageError
from halflife.core.search import Document
from halflife.probing.focused_probe import FocusedSample, focused_sample
from halflife.probing.frequency import frequency_summary
from halflife.probing.hierarchy import Hierarchy
from halflife.probing.memory import InMemoryDatabase, MatchRanking, Totals
from halflife.probing.query_sampling import query_based_sample
from halflife.probing.rules import TopicProbes, learn_probes
from halflife.probing.sample import Sample, frequency
from halflife.probing.sample_resample import resample, sample_resample
from halflife.probing.size import estimate_size
from halflife.probing.stop_rule import StopRule
from halflife.recordings import textdb
from halflife.summary import Summary
from halflife.summary.metrics import METRICS, compare
from lab.capture import chao, chapman
from lab.shrinkage import shrink
from lab.synthetic_text import Language

TOPICS = {
    "Health": ["Diseases", "Fitness"],
    "Sports": ["Soccer", "Tennis"],
    "Computers": ["Programming", "Hardware"],
}
LENGTHS = (50, 100, 300)
SITES = 8  # tried of those recorded, with the most documents
TAUGHT = 40  # documents that probes learn from, a site or topic
MANNERS = (
    *((totals, MatchRanking.QUERY) for totals in Totals),
    *((Totals.EXACT, ranking) for ranking in (MatchRanking.STATIC, MatchRanking.SHORT)),
    *(
        (Totals.ABSENT, ranking)
        for ranking in (MatchRanking.STATIC, MatchRanking.SHORT)
    ),
)

Row: TypeAlias = dict[str, Any]


@dataclass(frozen=True)
class World:
    """Databases to sample, with what is true of them.

    Attributes:
        documents: All documents of each database.
        topic: The topic of each.
        probes: Probes learned on other documents.
        dictionary: Words to begin with.

    """

    documents: Mapping[str, tuple[Document, ...]]
    topic: Mapping[str, str]
    probes: TopicProbes
    dictionary: tuple[str, ...]


def made_up(seed: int, each: int = 2) -> World:
    """Return ``each`` databases of 200 to 2000 documents on each of six topics."""
    rng = np.random.default_rng(seed)
    hierarchy = Hierarchy.of(TOPICS)
    language = Language(hierarchy)
    documents, topic = {}, {}
    taught: list[tuple[tuple[str, ...], str]] = []
    for leaf in hierarchy.leaves:
        taught += [(d.words, leaf) for d in language.documents(leaf, TAUGHT, rng)]
        for k in range(each):
            number = int(np.exp(rng.uniform(np.log(200.0), np.log(2000.0))))
            name = f"{leaf} {k}"
            documents[name] = tuple(language.documents(leaf, number, rng, name))
            topic[name] = leaf
    words, labels = zip(*taught, strict=True)
    probes = learn_probes(hierarchy, words, labels, rng)
    dictionary = tuple(sorted({w for text in words for w in text}))
    return World(documents, topic, probes, dictionary)


def recorded(folder: Path, seed: int) -> World:
    """Return the recorded sites with the most documents in the last week.

    Every other one, of each domain, only teaches the probes.
    """
    weekly = textdb.load(folder)
    week = weekly.weeks - 1
    sizes = {s: len(weekly.present(s, week)) for s in weekly.sites}
    largest = sorted(weekly.sites, key=lambda s: (-sizes[s], s))[: 2 * SITES]
    domain = {s: weekly.stratum[weekly.place(s)] for s in largest}
    teachers = _every_other(largest, domain)
    learned = {domain[s] for s in teachers}
    rng = np.random.default_rng(seed)
    taught: list[tuple[tuple[str, ...], str]] = []
    for site in sorted(teachers):
        held = weekly.documents(site, week)
        some = rng.permutation(len(held))[:TAUGHT].tolist()
        taught += [(held[i].words, domain[site]) for i in some]
    words, labels = zip(*taught, strict=True)
    probes = learn_probes(Hierarchy.of(sorted(learned)), words, labels, rng)
    tried = [s for s in largest if s not in teachers and domain[s] in learned]
    documents = {s: weekly.documents(s, week) for s in tried}
    dictionary = tuple(sorted({w for text in words for w in text}))
    return World(documents, {s: domain[s] for s in tried}, probes, dictionary)


def _every_other(sites: Sequence[str], domain: Mapping[str, str]) -> set[str]:
    """Return half of the sites of each domain."""
    chosen: set[str] = set()
    for name in sorted(set(domain.values())):
        chosen |= set([s for s in sites if domain[s] == name][::2])
    if len({domain[s] for s in chosen}) < 2:
        raise UsageError("probes need sites of two domains or more")
    return chosen


def quality(world: World, seed: int) -> list[Row]:
    """Return how each summary of each database compares with the complete one."""
    found: dict[str, dict[str, tuple[Summary, int]]] = {}
    topics: dict[str, str] = {}
    for i, (name, documents) in enumerate(world.documents.items()):
        rng = np.random.default_rng((seed, i))
        db = InMemoryDatabase(documents)
        probed = focused_sample(db, world.probes)
        topics[name] = probed.topics[0]
        for method, sample, cost in _samples(db, world, probed, rng):
            for label, summary in _summaries(db, method, sample, rng):
                found.setdefault(label, {})[name] = summary, cost
    for method in ("qbs 300", "fps"):
        summaries = {name: s for name, (s, _) in found[method].items()}
        shrunk = shrink(summaries, topics, world.probes.hierarchy)
        found[f"{method} shrunk"] = {
            name: (s.summary, found[method][name][1]) for name, s in shrunk.items()
        }
    return [
        {"method": label, **_compared(summary, world.documents[name]), "requests": cost}
        for label, each in found.items()
        for name, (summary, cost) in each.items()
    ]


def _samples(
    db: InMemoryDatabase, world: World, probed: FocusedSample, rng: Generator
) -> Iterable[tuple[str, Sample, int]]:
    """Return samples of a database with their names and costs."""
    yield "fps", probed.sample, probed.sample.requests
    for length in LENGTHS:
        sample = query_based_sample(db, world.dictionary, rng, documents=length)
        yield f"qbs {length}", sample, sample.requests
    rule = StopRule()
    sample = query_based_sample(db, world.dictionary, rng, documents=1000, steady=rule)
    yield "qbs adaptive", sample, sample.requests


def _summaries(
    db: InMemoryDatabase, method: str, sample: Sample, rng: Generator
) -> Iterable[tuple[str, Summary]]:
    """Return the summaries that a sample gives; all use the same size."""
    size = estimate_size(db, sample, rng).size
    yield method, sample.summary(size)
    if method == "qbs 300":
        yield f"{method} by rank", frequency_summary(sample, size)


def _compared(summary: Summary, documents: Sequence[Document]) -> Row:
    true = frequency(documents)
    old = dict(zip(summary.words, summary.count.tolist(), strict=True))
    change = compare(old, {w: float(n) for w, n in true.items()})
    told = {m: float(change.of(m)[0]) for m in METRICS}
    return {**told, "read": summary.sampled, "words": len(summary.words)}


def classified(world: World) -> list[Row]:
    """Return whether focused probing finds each database's topic."""
    rows: list[Row] = []
    for name, documents in world.documents.items():
        whole = InMemoryDatabase(documents)
        for totals in (Totals.EXACT, Totals.ABSENT, Totals.LYING):
            db = whole.answering(totals, MatchRanking.QUERY)
            found = focused_sample(db, world.probes)
            rows.append(
                {
                    "totals": str(totals),
                    "right": float(world.topic[name] in found.topics),
                    "topics": len(found.topics),
                    "requests": found.sample.requests,
                }
            )
    return rows


def sizes(world: World, seed: int) -> list[Row]:
    """Return the error of each estimate of size, for each kind of database."""
    rows: list[Row] = []
    for i, documents in enumerate(world.documents.values()):
        whole = InMemoryDatabase(documents)
        for totals, ranking in MANNERS:
            db = whole.answering(totals, ranking)
            rng = np.random.default_rng((seed, i))
            sample = query_based_sample(db, world.dictionary, rng)
            row = {"totals": str(totals), "ranking": str(ranking)}
            rows += [row | r for r in _sized(db, sample, rng, len(documents))]
    return rows


def _sized(
    db: InMemoryDatabase, sample: Sample, rng: Generator, true: int
) -> list[Row]:
    """Return our estimate and the published ones that can be had."""
    ours = estimate_size(db, sample, rng)
    again = resample(db, sample, rng)
    known = {d.key for d in sample.documents}
    times: dict[str, int] = {}
    for shown in again.shown:
        for document in shown:
            times[document.key] = times.get(document.key, 0) + 1
    values = list(times.values())
    two = chapman(len(known), len(times), len(known & set(times)))
    many = chao(values.count(1), values.count(2), len(times))
    told = [
        _error("estimate_size", true, ours.size, ours.low, ours.high, ours.requests),
        _error("chapman", true, two.size, two.low, two.high, again.requests),
        _error("chao", true, many.size, many.low, many.high, again.requests),
    ]
    if np.isfinite(again.totals).all():
        plain = sample_resample(len(known), again.held, again.totals)
        some = plain[rng.integers(plain.size, size=(1000, plain.size))]
        for name, take in (("mean", np.mean), ("median", np.median)):
            low, high = np.quantile(take(some, axis=1), [0.025, 0.975]).tolist()
            label, size = f"sample-resample, {name}", float(take(plain))
            told.append(_error(label, true, size, low, high, again.requests))
    return told


def _error(
    method: str, true: int, size: float, low: float, high: float, requests: int
) -> Row:
    return {
        "method": method,
        "error": abs(size / true - 1.0),
        "bias": size / true - 1.0,
        "covered": float(low <= true <= high),
        "requests": requests,
    }


def averaged(rows: Iterable[Row], by: Sequence[str]) -> list[Row]:
    """Return the means of each group, with 1.96 standard errors."""
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[b] for b in by), []).append(row)
    told: list[Row] = []
    for key, some in groups.items():
        mean: Row = {**dict(zip(by, key, strict=True)), "databases": len(some)}
        for name in (n for n in some[0] if n not in by):
            values = np.array([r[name] for r in some], np.float64)
            error = 1.96 * values.std() / max(len(some) - 1, 1) ** 0.5
            mean[name] = [round(float(values.mean()), 4), round(float(error), 4)]
        told.append(mean)
    return told


def run(make: Callable[[int], World], seeds: int) -> dict[str, list[Row]]:
    """Return all figures, over the databases of some seeds."""
    good: list[Row] = []
    topics: list[Row] = []
    size: list[Row] = []
    for seed in range(seeds):
        world = make(seed)
        good += quality(world, seed)
        topics += classified(world)
        size += sizes(world, seed)
    return {
        "quality": averaged(good, ["method"]),
        "topics": averaged(topics, ["totals"]),
        "size": averaged(size, ["totals", "ranking", "method"]),
    }


def main() -> None:
    """Print the figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, help="recorded sites")
    parser.add_argument("--seeds", type=int, default=2)
    given = parser.parse_args()
    folder: Path | None = given.folder
    make = made_up if folder is None else (lambda seed: recorded(folder, seed))
    json.dump(run(make, given.seeds), sys.stdout, indent=1)


if __name__ == "__main__":
    main()
