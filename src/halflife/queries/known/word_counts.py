"""A reference corpus whose word counts alone are known."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from halflife.core.arrays import Floats
from halflife.queries.known.keywords import Pool


@dataclass(frozen=True)
class WordCounts:
    """How many records of an open collection have each word.

    Attributes:
        words: The number of records that have each word, in lower case.
        size: Records in all.

    """

    words: Mapping[str, float] = field(repr=False)
    size: float

    def counts(self, pool: Pool) -> Floats:
        """Return how many of its records answer each candidate.

        Words of one query are taken as independent: size times the product of their
        shares.
        """
        words = self.words
        counts = [words.get(term.value.lower(), 0.0) for term in pool.local.terms]
        share = np.append(np.array(counts, dtype=np.float64) / self.size, 1.0)
        together: Floats = self.size * share[pool.parts].prod(axis=1)
        return np.where(pool.lookup, 1.0, together)
