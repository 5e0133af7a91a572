"""Made-up databases: documents on topics, with words that follow Zipf's law."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from halflife.core.arrays import Floats, Ints
from halflife.core.search import Document
from halflife.probing.hierarchy import Hierarchy


@dataclass(frozen=True, slots=True)
class Language:
    """How documents on each topic are worded.

    A word of a document is of its topic with chance ``share[-1]``, of the topic above
    with ``share[-2]`` and so on; what is left is common to all. The words of each
    follow a Zipf-Mandelbrot law of their own, and no two topics share their own words.

    Attributes:
        hierarchy: The topics.
        common: Words common to all topics.
        special: Words of each topic.
        share: Shares of a document's words of the topics from the top to its own.
        length: Words of a document, in the median, repeated ones too.
        spread: Standard deviation of the log of the length.

    """

    hierarchy: Hierarchy
    common: int = 20_000
    special: int = 2_000
    share: tuple[float, ...] = (0.1, 0.2)
    length: float = 150.0
    spread: float = 0.8

    def documents(
        self, topic: str, number: int, rng: Generator, name: str = ""
    ) -> Iterator[Document]:
        """Return documents on a topic; their keys begin with the name."""
        path = self.hierarchy.path(topic)[1:]
        share = np.array(self.share[len(self.share) - len(path) :])
        chances = np.concatenate([[1.0 - share.sum()], share])
        laws = [zipf(self.common), *(zipf(self.special) for _ in path)]
        for i in range(number):
            length = int(rng.lognormal(np.log(self.length), self.spread)) + 2
            parts = rng.multinomial(length, chances).tolist()
            words: set[str] = set()
            for place, law, many in zip(("", *path), laws, parts, strict=True):
                words.update(f"{place}{j}" for j in draw(law, many, rng).tolist())
            yield Document(f"{name}{i}", tuple(sorted(words)))


def zipf(words: int, shift: float = 2.7) -> Floats:
    """Return the cumulative law with chances in proportion to 1 / (rank + shift)."""
    chance = 1.0 / (np.arange(1.0, words + 1.0) + shift)
    return np.cumsum(chance / chance.sum())


def draw(law: Floats, many: int, rng: Generator) -> Ints:
    """Return ranks drawn from a cumulative law."""
    return np.minimum(np.searchsorted(law, rng.random(many)), law.size - 1)
