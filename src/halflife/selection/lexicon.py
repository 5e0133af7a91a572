"""Scores of databases by how many of their documents contain the query's words.

A scorer gets a table and the distinct words of a query, each of which some database
has, and returns the score of each database.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from halflife.core.arrays import Bools, Floats
from halflife.core.errors import UsageError
from halflife.selection.table import FrequencyTable


class DatabaseScores(NamedTuple):
    """The score of each database, and whether there is any evidence for it."""

    score: Floats
    backed: Bools


class Scorer(Protocol):
    """A method of selection."""

    def __call__(self, table: FrequencyTable, words: Sequence[str]) -> DatabaseScores:
        """Return the scores for a query of these words."""
        ...


def bgloss(table: FrequencyTable, words: Sequence[str]) -> DatabaseScores:
    """Return how many documents are expected to contain all the words.

    score(D) = |D| prod(f(w, D) / |D|, w in q): words are taken to be independent. A
    database without one of them scores 0. Gravano, Garcia-Molina and Tomasic,
    "GlOSS: text-source discovery over the Internet", TODS 1999, section 3.1.
    """
    share = table.frequency(words) / np.where(table.size > 0, table.size, 1.0)
    score = table.size * np.minimum(share, 1.0).prod(axis=0)
    return DatabaseScores(score, score > 0)


@dataclass(frozen=True, slots=True)
class CoriScorer:
    """CORI: an inference network in which databases are treated as long documents.

    T = f / (f + low + slope cw / mean(cw)),  I = ln((C + .5) / cf) / ln(C + 1),
    score = mean(b + (1 - b) T I, w in q), with C databases of which cf have the
    word. Callan, Lu and Croft, "Searching distributed collections with inference
    networks", SIGIR 1995. The paper's cw counts occurrences; a summary has only
    document frequencies, so cw is the sum of f(w, D).
    """

    b: float = 0.4
    low: float = 50.0
    slope: float = 150.0

    def __call__(self, table: FrequencyTable, words: Sequence[str]) -> DatabaseScores:
        """Return the belief that each database satisfies the query."""
        frequency = table.frequency(words)
        databases = len(table.names)
        length = table.words * databases / (table.words.sum() or 1.0)
        t = frequency / (frequency + self.low + self.slope * length)
        cf = np.maximum((frequency > 0).sum(axis=1, keepdims=True), 1)
        i = np.log((databases + 0.5) / cf) / np.log(databases + 1.0)
        belief = self.b + (1.0 - self.b) * t * i
        return DatabaseScores(_mean(belief), _any(frequency))


@dataclass(frozen=True, slots=True)
class LanguageModel:
    """Likelihood of the query under each database's distribution of words.

    score(D) = mean(ln p(w | D), w in q), which ranks as -KL(q || D) does. With
    p(w | D) = f / cw and p(w) of all databases together (``mu`` None)
    Jelinek-Mercer:  share p(w | D) + (1 - share) p(w);
    else Dirichlet:  (f + mu p(w)) / (cw + mu).
    Xu and Croft, SIGIR 1999; Si, Jin, Callan and Ogilvie, "A language modeling
    framework for resource selection and results merging", CIKM 2002; Zhai and
    Lafferty, TOIS 2004.
    """

    share: float = 0.5
    mu: float | None = None

    def __post_init__(self) -> None:
        """Reject a smoothing that gives some words no chance."""
        if not 0.0 <= self.share < 1.0:
            raise UsageError(f"share must be at least 0 and below 1, got {self.share}")
        if self.mu is not None and not 0.0 < self.mu < np.inf:
            raise UsageError(f"mu must be above 0, got {self.mu}")

    def __call__(self, table: FrequencyTable, words: Sequence[str]) -> DatabaseScores:
        """Return the mean log likelihood of a word of the query."""
        frequency = table.frequency(words)
        whole = frequency.sum(axis=1, keepdims=True) / (table.words.sum() or 1.0)
        if self.mu is not None:
            smooth = (frequency + self.mu * whole) / (table.words + self.mu)
        else:
            own = frequency / np.where(table.words > 0, table.words, 1.0)
            smooth = self.share * own + (1.0 - self.share) * whole
        return DatabaseScores(_mean(np.log(smooth)), _any(frequency))


def _mean(values: Floats) -> Floats:
    total: Floats = values.sum(axis=0)
    return total / max(len(values), 1)


def _any(frequency: Floats) -> Bools:
    return np.asarray((frequency > 0).any(axis=0))
