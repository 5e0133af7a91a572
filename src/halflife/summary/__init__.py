"""Content summaries of text databases: how many documents contain each word."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from halflife.core.arrays import Floats
from halflife.summary.metrics import (
    DivergenceStatus,
    SummaryChange,
    compare,
    kl,
    status,
    unweighted_precision,
    unweighted_recall,
    weighted_precision,
    weighted_recall,
)

__all__ = [
    "DivergenceStatus",
    "Summary",
    "SummaryChange",
    "compare",
    "kl",
    "status",
    "unweighted_precision",
    "unweighted_recall",
    "weighted_precision",
    "weighted_recall",
]


@dataclass(frozen=True, slots=True)
class Summary:
    """The words of one database, with document frequencies.

    Attributes:
        words: The words, sorted.
        count: Estimated documents of the database with each of them, f(w, D).
        size: Documents in the database, |D|.
        sampled: Documents that were read for it; ``size`` if all were.

    """

    words: tuple[str, ...]
    count: Floats
    size: float
    sampled: int

    @classmethod
    def of(cls, counts: Mapping[str, float], size: float, sampled: int) -> "Summary":
        """Return the summary with these document frequencies."""
        words = tuple(sorted(counts))
        return cls(words, np.array([counts[w] for w in words]), size, sampled)

    def counts(self) -> dict[str, float]:
        """Return the count of each word."""
        return dict(zip(self.words, self.count.tolist(), strict=True))
