"""Summaries that borrow words from databases on the same topics."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from halflife.core.arrays import Floats
from halflife.core.errors import UsageError
from halflife.probing.hierarchy import Hierarchy
from halflife.summary import Summary

UNIFORM = "uniform"
OWN = "own"
ROUNDS = 200
TOLERANCE = 1e-6


@dataclass(frozen=True, slots=True)
class Shrunk:
    """A summary after shrinkage.

    Attributes:
        summary: The mixture, with the words that at least half a document holds.
        weights: Weight of the uniform summary, of each topic from the root down, and
            of the database's own summary; they sum to 1.
        likelihood: Log-likelihood after each round of EM; it never falls.

    """

    summary: Summary
    weights: Mapping[str, float]
    likelihood: tuple[float, ...]


def mixture_weights(
    parts: Floats, count: Floats, *, rounds: int = ROUNDS, tolerance: float = TOLERANCE
) -> tuple[Floats, tuple[float, ...]]:
    """Return the weights of a mixture that make counts likeliest, by EM.

    Maximises sum_w c(w) log sum_i L_i p_i(w), with L >= 0 and sum L = 1, by
    L_i <- mean over c of L_i p_i(w) / sum_j L_j p_j(w). Returns the log-likelihoods
    too. A part that is zero everywhere gets weight 0.

    Args:
        parts: Chance of each word (column) under each part (row).
        count: How often each word was seen.
        rounds: The most rounds.
        tolerance: Rise of the mean log-likelihood below which to stop.

    """
    alive = parts.sum(1) > 0.0
    weight = alive / alive.sum()
    told: list[float] = []
    for _ in range(rounds):
        mixed = weight @ parts
        told.append(float(count @ np.log(mixed)))
        if len(told) > 1 and told[-1] - told[-2] < tolerance * count.sum():
            break
        weight = weight * (parts @ (count / mixed)) / count.sum()
        weight /= weight.sum()
    return weight, tuple(told)


def shrink(
    summaries: Mapping[str, Summary],
    topics: Mapping[str, str],
    hierarchy: Hierarchy,
    *,
    least: float = 0.5,
    published: bool = False,
) -> dict[str, Shrunk]:
    """Return each database's summary mixed with those of its topics.

    f_R(w) = |D| (L_0 / V + sum_i L_i p(w|C_i) + L_own p(w|D)), p(w|D) = f(w, D)/|D|.
    A topic's summary is that of the databases on it, weighted by size, less those that
    are also on the next topic down the path, and less the database itself.
    Ipeirotis and Gravano, "When one sample is not enough", SIGMOD 2004.

    The weights maximise the likelihood of the sampled documents, each under the own
    summary without it: (df_S(w) - 1) takes the place of df_S(w), and all summaries
    are scaled to sum to 1. Otherwise the own summary would always explain itself best.

    Args:
        summaries: Summary of each database.
        topics: Topic of each database.
        hierarchy: The topics.
        least: Documents that must hold a word for it to stay.
        published: Weights as published: each word counts once, whole own summary,
            shares of documents not scaled.

    """
    missing = sorted(set(summaries).difference(topics))
    if missing:
        raise UsageError(f"databases without a topic: {missing}")
    names = sorted(summaries)
    table = _Table(names, [summaries[n] for n in names])
    paths = [hierarchy.path(topics[n]) for n in names]
    return {
        name: table.shrunk(row, paths, least, published=published)
        for row, name in enumerate(names)
    }


class _Table:
    """Document frequencies of all databases, one row each."""

    def __init__(self, names: Sequence[str], summaries: Sequence[Summary]) -> None:
        from scipy import sparse  # noqa: PLC0415  (slow)

        for name, summary in zip(names, summaries, strict=True):
            if not summary.words or summary.size <= 0:
                raise UsageError(f"the summary of {name!r} is empty")
        self.summaries = summaries
        self.words = np.array(sorted({w for s in summaries for w in s.words}))
        place = {w: j for j, w in enumerate(self.words.tolist())}
        column = [place[w] for s in summaries for w in s.words]
        start = np.cumsum([0, *(len(s.words) for s in summaries)])
        count = np.concatenate([s.count for s in summaries])
        shape = (len(summaries), self.words.size)
        self.count: Any = sparse.csr_matrix((count, column, start), shape=shape)
        self.size = np.array([s.size for s in summaries])

    def shrunk(
        self,
        row: int,
        paths: Sequence[tuple[str, ...]],
        least: float,
        *,
        published: bool,
    ) -> Shrunk:
        """Return one database's shrunk summary."""
        summary, path = self.summaries[row], paths[row]
        topics = np.array([self._topic(row, paths, d) for d in range(len(path))])
        uniform = np.full((1, self.words.size), 1.0 / self.words.size)
        own = self._own(row)
        parts = np.vstack([uniform, topics, own])
        read = own[0] > 0.0
        if published:
            weight, told = mixture_weights(parts[:, read], np.ones(int(read.sum())))
        else:
            weight, told = _apart(parts, own[0] * summary.sampled)
        count = summary.size * (weight @ parts)
        keep = (count >= least) | read
        words = tuple(self.words[keep].tolist())
        mixed = Summary(words, count[keep], summary.size, summary.sampled)
        named = dict(zip((UNIFORM, *path, OWN), weight.tolist(), strict=True))
        return Shrunk(mixed, named, told)

    def _own(self, row: int) -> Floats:
        """Return the share of the database's documents that hold each word."""
        return np.asarray(self.count[[row]].toarray() / self.size[row])

    def _topic(self, row: int, paths: Sequence[tuple[str, ...]], depth: int) -> Floats:
        """Return the summary of a topic on the path, less what is nearer."""
        topic = paths[row][depth]
        nearer = paths[row][depth + 1] if depth + 1 < len(paths[row]) else None
        others = [
            i
            for i, path in enumerate(paths)
            if i != row and topic in path and nearer not in path
        ]
        if not others:
            return np.zeros(self.words.size)
        total = np.asarray(self.count[others].sum(0)).ravel()
        return np.asarray(total / self.size[others].sum())


def _apart(parts: Floats, seen: Floats) -> tuple[Floats, tuple[float, ...]]:
    """Return the weights by documents that were left out of the own summary.

    Words that are known from one document alone would be in no summary without it.
    """
    apart = parts.copy()
    apart[-1] = np.maximum(seen - 1.0, 0.0)
    known = (seen > 0.0) & (apart[1:].sum(0) > 0.0)
    if not known.any():
        return np.eye(len(parts))[-1], ()
    scale = np.maximum(apart.sum(1, keepdims=True), 1e-300)
    return mixture_weights((apart / scale)[:, known], seen[known])
