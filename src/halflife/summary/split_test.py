"""The difference of two samples of a database beyond chance.

Two samples of documents contain different words and counts even if the database did
not change at all. If it did not, each document could as well have been drawn into the
other sample. So the documents of both are dealt out again, many times, and the
difference of two such halves is that of chance.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from halflife.core.arrays import Bools, Floats, Ints
from halflife.core.search import Document
from halflife.summary.metrics import compare_cells

DEALS = 39  # with so many, the observed one is beyond all by chance once in 40


class Excess(NamedTuple):
    """How far the current sample differs from an old one.

    Attributes:
        found: The divergence of the two samples.
        chance: Its mean if nothing changed.
        spread: Its standard deviation if nothing changed.
        beyond: The share of deals that differ at least as much, the observed included.

    """

    found: float
    chance: float
    spread: float
    beyond: float

    @property
    def excess(self) -> float:
        """The divergence less that of chance, at least 0."""
        return max(self.found - self.chance, 0.0)


def excess(
    old: Sequence[Document], new: Sequence[Document], rng: Generator
) -> Excess | None:
    """Return how far two samples differ; None if they share no two words.

    The divergence is KL(new, old) of the documents that contain each word, over the
    words of both (``summary.metrics``). The documents are dealt out again ``DEALS``
    times into samples of the same sizes; the mean of those divergences is that of
    chance (Fisher's randomisation).
    """
    document, word = _pairs([*old, *new])
    first = np.arange(len(old) + len(new)) < len(old)
    found = _divergence(document, word, first)
    dealt = [_divergence(document, word, rng.permutation(first)) for _ in range(DEALS)]
    chance = np.array([value for value in dealt if np.isfinite(value)])
    if not np.isfinite(found) or chance.size == 0:
        return None
    beyond = (1.0 + np.count_nonzero(chance >= found)) / (1.0 + chance.size)
    return Excess(found, float(chance.mean()), float(chance.std()), float(beyond))


def _pairs(documents: Sequence[Document]) -> tuple[Ints, Ints]:
    """Return which document contains which word, each pair once."""
    place: dict[str, int] = {}
    pairs = [
        (i, place.setdefault(word, len(place)))
        for i, entry in enumerate(documents)
        for word in dict.fromkeys(entry.words)
    ]
    table = np.array(pairs, dtype=np.intp).reshape(-1, 2)
    return table[:, 0], table[:, 1]


def _divergence(document: Ints, word: Ints, first: Bools) -> float:
    """Return KL of the documents in ``first`` from the others."""
    if word.size == 0:
        return float("nan")
    in_first, n = first[document], int(word.max()) + 1
    sides = [_counts(word[which], n) for which in (in_first, ~in_first)]
    return float(compare_cells(sides[0], sides[1], 1, n).kl[0])


def _counts(word: Ints, n: int) -> tuple[Ints, Floats]:
    count = np.bincount(word, minlength=n)
    present = np.flatnonzero(count)
    return present, count[present].astype(np.float64)
