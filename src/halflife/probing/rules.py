"""Probe queries: words that distinguish a topic from its siblings."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Self

import numpy as np
from numpy.random import Generator

from halflife.core.arrays import Bools, Floats
from halflife.core.errors import ConfigError, UsageError
from halflife.probing.classifier import LinearClassifier, incidence
from halflife.probing.hierarchy import Hierarchy

MOST = 20  # probes of a topic
PRECISION = 0.8
HEAVIEST = 40  # words considered for a topic


@dataclass(frozen=True, slots=True)
class TopicProbes:
    """The queries of each topic of a hierarchy.

    Attributes:
        hierarchy: The topics.
        queries: Queries of each topic except the root.

    """

    hierarchy: Hierarchy
    queries: Mapping[str, tuple[str, ...]]

    @classmethod
    def of(cls, hierarchy: Hierarchy, queries: Mapping[str, Iterable[str]]) -> Self:
        """Return the probes; every topic except the root needs at least one."""
        by_topic = {topic: tuple(q) for topic, q in queries.items()}
        unknown = sorted(set(by_topic).difference(hierarchy.names))
        bare = [n for n in hierarchy.names[1:] if not by_topic.get(n)]
        if unknown or bare:
            raise ConfigError(
                f"probes name unknown topics {unknown} and lack queries for {bare}"
            )
        return cls(hierarchy, by_topic)


def learn_probes(  # noqa: PLR0913  (the training data, and the settings)
    hierarchy: Hierarchy,
    documents: Sequence[Iterable[str]],
    labels: Sequence[str],
    rng: Generator,
    *,
    most: int = MOST,
    precision: float = PRECISION,
    held_out: float = 0.3,
    model: LinearClassifier | None = None,
) -> TopicProbes:
    """Learn the probes of a hierarchy from documents labelled with its topics.

    At every topic, a classifier learns to distinguish its children on a part of the
    documents. Rules are single words and pairs of the heaviest words of a child; those
    that are right on enough of the held-out documents are kept, greedily by how many
    further documents of the child they find. After Gravano, Ipeirotis and Sahami,
    "QProber", TOIS 2003.

    Args:
        hierarchy: The topics.
        documents: Words of each document.
        labels: Topic of each document, at any depth below the root.
        rng: The random generator.
        most: The most probes of a topic.
        precision: Share of the held-out documents found by a rule that must be right.
        held_out: Share of the documents by which rules are judged.
        model: The classifier, with its settings.

    """
    texts = [frozenset(d) for d in documents]
    aside = rng.random(len(texts)) < held_out
    model = LinearClassifier() if model is None else model
    queries: dict[str, tuple[str, ...]] = {}
    for topic in hierarchy.inner:
        below = _children(hierarchy, topic, labels)
        for child in hierarchy.children(topic):
            if below.count(child) < 2:
                raise UsageError(f"topic {child!r} needs two or more documents")
        queries |= _between(texts, below, aside, model, most, precision)
    return TopicProbes.of(hierarchy, queries)


def _children(
    hierarchy: Hierarchy, topic: str, labels: Sequence[str]
) -> list[str | None]:
    """Return the child of the topic that each label is in, None if in none."""
    depth = len(hierarchy.path(topic))
    child_of: dict[str, str | None] = {}
    for label in set(labels):
        path = hierarchy.path(label)
        child_of[label] = path[depth] if topic in path and len(path) > depth else None
    return [child_of[label] for label in labels]


def _between(
    texts: Sequence[frozenset[str]],
    below: Sequence[str | None],
    aside: Bools,
    model: LinearClassifier,
    most: int,
    precision: float,
) -> dict[str, tuple[str, ...]]:
    """Return the rules that distinguish siblings."""
    rows = [i for i, child in enumerate(below) if child is not None]
    children = [str(below[i]) for i in rows]
    if len(set(children)) == 1:
        return {children[0]: _frequent([texts[i] for i in rows], most)}
    taught, judging = (
        [k for k, i in enumerate(rows) if aside[i] == held] for held in (False, True)
    )
    model.fit([texts[rows[k]] for k in taught], [children[k] for k in taught])
    judges = [texts[rows[k]] for k in judging]
    right = np.array([children[k] for k in judging])
    return {
        child: _rules(
            model, model.weight_[:, j], judges, right == child, most, precision
        )
        for j, child in enumerate(model.classes_)
    }


def _frequent(texts: Sequence[frozenset[str]], most: int) -> tuple[str, ...]:
    """Return the words in most documents, for a topic without siblings."""
    words = tuple(sorted(frozenset().union(*texts)))
    held = np.asarray(incidence(texts, words).sum(0)).ravel()
    return tuple(words[int(j)] for j in np.argsort(-held, kind="stable")[:most])


def _rules(
    model: LinearClassifier,
    weight: Floats,
    judges: Sequence[frozenset[str]],
    right: Bools,
    most: int,
    precision: float,
) -> tuple[str, ...]:
    """Return the rules of a class, the broadest first; at least its heaviest word."""
    heaviest = np.argsort(-weight, kind="stable")[:HEAVIEST]
    words = [model.words_[int(j)] for j in heaviest if weight[j] > 0]
    held = incidence(judges, words).toarray() > 0
    pairs = list(combinations(range(len(words)), 2))
    singles = [held[:, j] for j in range(len(words))]
    both = [held[:, a] & held[:, b] for a, b in pairs]
    names = [*words, *(f"{words[a]} {words[b]}" for a, b in pairs)]
    chosen = covering_rules(np.array(singles + both), right, most, precision)
    return tuple(names[i] for i in chosen) or tuple(words[:1])


def covering_rules(
    finds: Bools, right: Bools, most: int, precision: float
) -> list[int]:
    """Return rules that find many of the right documents and few others.

    Greedy: in each step the rule that finds most of the right documents that are not
    found yet; the earlier rule in a tie. When no rule finds a further one, it starts
    again with the remaining rules.

    Args:
        finds: Which rule (row) finds which document (column).
        right: Which documents are of the class.
        most: The most rules.
        precision: Share of the documents found by a rule that must be right.

    """
    hits = finds @ right.astype(np.float64)
    good = hits >= precision * np.maximum(finds.sum(1), 1)
    usable = list(np.flatnonzero(good & (hits > 0)))
    left, chosen = right.copy(), list[int]()
    while usable and len(chosen) < most:
        gain = finds[usable] @ left.astype(np.float64)
        if gain.max() <= 0.0:
            left = right.copy()
            continue
        best = int(usable.pop(int(gain.argmax())))
        chosen.append(best)
        left &= ~finds[best]
    return chosen
