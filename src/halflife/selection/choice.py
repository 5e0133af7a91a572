"""The ranking of databases for a query, with its reasons."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np

from halflife.core.arrays import Bools, Floats, Ints
from halflife.core.errors import UsageError
from halflife.selection.lexicon import DatabaseScores, Scorer
from halflife.selection.table import FrequencyTable

_WORD = re.compile(r"\w+")


class RankingStatus(Enum):
    """Whether a ranking is meaningful."""

    RANKED = "ranked"
    EMPTY = "the query has no words"
    UNKNOWN = "no database knows any word of the query"
    UNBACKED = "nothing speaks for any of the databases"


@dataclass(frozen=True, slots=True)
class SummaryFreshness:
    """The estimated freshness of each database's summary.

    Attributes:
        age: Days since it was made; nan if unknown.
        survival: Chance that it is still true, S(age); nan if unknown.

    """

    age: Floats
    survival: Floats


@dataclass(frozen=True, slots=True)
class Ranking:
    """Databases, best first.

    Attributes:
        names: The databases. Those with equal scores are in the order of their names.
        score: Their scores; the scale depends on the method.
        backed: Whether there is evidence for each; those with evidence come first.
        reasons: The evidence for each, and its age.
        fresh: Chance that each summary is still true; nan if unknown.
        status: Whether the order is meaningful.
        unknown: The query's words that no database has.

    """

    names: tuple[str, ...]
    score: Floats
    backed: Bools
    reasons: tuple[str, ...]
    fresh: Floats
    status: RankingStatus
    unknown: tuple[str, ...]


def parse(query: str) -> tuple[str, ...]:
    """Return the distinct words of a query in lower case, in their order.

    >>> parse("Cassini, SATURN & cassini")
    ('cassini', 'saturn')
    """
    return tuple(dict.fromkeys(_WORD.findall(query.lower())))


def order(names: Sequence[str], scores: DatabaseScores) -> Ints:
    """Return the databases with the best first; ties by name."""
    by_name = np.argsort(np.array(names, dtype=np.str_), kind="stable")
    ranks = np.lexsort((-scores.score[by_name], ~scores.backed[by_name]))
    return by_name[ranks]


def select(
    table: FrequencyTable,
    query: str,
    method: Scorer,
    *,
    most: int | None = None,
    belief: SummaryFreshness | None = None,
) -> Ranking:
    """Return the ``most`` most promising databases for a query, best first.

    Words that no database has are left out and named, as they would lower all scores.
    If no word is left, all databases score 0 and the status gives the reason.
    """
    words = parse(query)
    indexed = table.known(words)
    zeros = np.zeros(len(table.names))
    scores = method(table, indexed) if indexed else DatabaseScores(zeros, zeros > 0)
    best = order(table.names, scores)[:most]
    fresh = np.full(len(table.names), np.nan) if belief is None else belief.survival
    if fresh.shape != zeros.shape:
        raise UsageError(f"{fresh.size} survivals for {zeros.size} databases")
    return Ranking(
        names=tuple(table.names[i] for i in best.tolist()),
        score=scores.score[best],
        backed=scores.backed[best],
        reasons=_reasons(table, indexed, best, belief),
        fresh=fresh[best],
        status=_status(words, indexed, scores),
        unknown=tuple(w for w in words if w not in indexed),
    )


def _status(
    words: Sequence[str], indexed: Sequence[str], scores: DatabaseScores
) -> RankingStatus:
    if not words:
        return RankingStatus.EMPTY
    if not indexed:
        return RankingStatus.UNKNOWN
    return RankingStatus.RANKED if scores.backed.any() else RankingStatus.UNBACKED


def _reasons(
    table: FrequencyTable,
    words: Sequence[str],
    best: Ints,
    belief: SummaryFreshness | None,
) -> tuple[str, ...]:
    frequency = table.frequency(words)
    reasons = []
    for i in best.tolist():
        held = zip(words, frequency[:, i].tolist(), strict=True)
        parts = [f"{word} in {count:.0f}" for word, count in held if count > 0]
        counts = ", ".join(parts) or "none of the words"
        reasons.append(f"{counts} of {table.size[i]:.0f} documents{_note(belief, i)}")
    return tuple(reasons)


def _note(belief: SummaryFreshness | None, i: int) -> str:
    """Return the freshness of a summary in words; empty if unknown."""
    if belief is None:
        return ""
    age, alive = float(belief.age[i]), float(belief.survival[i])
    old = "; summary of unknown age" if np.isnan(age) else f"; summary {age:.0f} d old"
    return old if np.isnan(alive) else f"{old}, {alive:.0%} likely still true"
