"""Scores of databases by the ranks of their sampled documents among all samples."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from halflife.core.arrays import Floats, Ints
from halflife.core.errors import UsageError
from halflife.selection.lexicon import DatabaseScores
from halflife.selection.samples import SampleIndex
from halflife.selection.table import FrequencyTable


@dataclass(frozen=True, slots=True)
class ReddeScorer:
    """ReDDE: how many of the best documents of all are in each database.

    A sample of a database represents weight = |D| / |S| of its documents. The number of
    all documents ranked above a sample is
    rank(d) = sum(weight(d'), d' ranked above d), and the samples with
    rank(d) < ratio sum(|D|) count as relevant:
    score(D) = sum(weight(d), d in S(D) and relevant). Si and Callan, "Relevant
    document distribution estimation method for resource selection", SIGIR 2003.
    """

    index: SampleIndex
    ratio: float = 0.003

    def __call__(self, table: FrequencyTable, words: Sequence[str]) -> DatabaseScores:
        """Return the estimated number of relevant documents in each database."""
        documents, _ = self.index.ranked(words)
        weight = self.index.weight[self.index.home[documents]]
        above = np.cumsum(weight) - weight
        relevant = above < self.ratio * self.index.size.sum()
        return _by_database(self.index, table, documents, weight * relevant)


@dataclass(frozen=True, slots=True)
class CrcsScorer:
    """CRCS: samples count the more, the higher they rank among all samples.

    score(D) = |D| / (max|D| |S|) sum(R(j), samples of D at ranks j = 1, 2, ...),
    R(j) = top - j (linear) or alpha exp(-beta j) (exponential), for j < top.
    Shokouhi, "Central-rank-based collection selection in uncooperative distributed
    information retrieval", ECIR 2007.
    """

    index: SampleIndex
    exponential: bool = False
    top: int = 50
    alpha: float = 1.2
    beta: float = 0.28

    def __call__(self, table: FrequencyTable, words: Sequence[str]) -> DatabaseScores:
        """Return the sums over the ranks of each database's samples."""
        documents = self.index.ranked(words)[0][: self.top - 1]
        j = np.arange(1, documents.size + 1)
        gain = self.alpha * np.exp(-self.beta * j) if self.exponential else self.top - j
        weight = self.index.weight[self.index.home[documents]]
        largest = float(self.index.size.max(initial=0.0)) or 1.0
        return _by_database(self.index, table, documents, gain * weight / largest)


def _by_database(
    index: SampleIndex, table: FrequencyTable, documents: Ints, gain: Floats
) -> DatabaseScores:
    """Return the sums over each database's documents, in the order of the table."""
    databases = len(index.names)
    total = np.bincount(index.home[documents], gain, databases).astype(np.float64)
    if index.names != table.names:
        row = {name: i for i, name in enumerate(index.names)}
        lacking = [name for name in table.names if name not in row]
        if lacking:
            raise UsageError(f"the index of samples has no {lacking[0]!r}")
        total = total[[row[name] for name in table.names]]
    return DatabaseScores(total, total > 0)
