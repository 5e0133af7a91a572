"""Match counts of recorded text databases, as a check asks for them."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from halflife.core.arrays import Floats
from halflife.summary.count_check import WORDS, count_noise, counted_divergence
from halflife.summary.pairs import word_groups
from halflife.summary.weekly import Weekly

# How a database tells a count: exactly, rounded, by chance, up to a limit (then NaN).
Telling: TypeAlias = Callable[[Floats, Generator], Floats]
TWICE = 10  # words that are asked for twice, to see how far counts are off by chance


def exact(count: Floats, _: Generator) -> Floats:
    """Tell counts as they are."""
    return count


def rounded(digits: int) -> Telling:
    """Return a telling of so many significant digits: "about 1,200"."""

    def told(count: Floats, _: Generator) -> Floats:
        size = 10.0 ** (np.floor(np.log10(np.maximum(count, 1.0))) - digits + 1)
        return np.asarray(np.round(count / size) * size)

    return told


def noisy(spread: float) -> Telling:
    """Return a telling that is off by chance, another time by another amount."""

    def told(count: Floats, rng: Generator) -> Floats:
        return np.asarray(count * np.exp(spread * rng.standard_normal(count.size)))

    return told


def capped(limit: float) -> Telling:
    """Return a telling that stops at a limit, so that nothing is known from there."""
    return lambda count, _: np.where(count >= limit, np.nan, count)


class _Histories(NamedTuple):
    """Words that were in as many documents in every week, counted together."""

    table: NDArray[np.int32]  # documents, weeks x histories
    words: Floats  # of each


@dataclass(frozen=True)
class RecordedCounts:
    """What databases would have told of the words of their summaries.

    Attributes:
        weekly: Recorded databases.
        sites: Which of them are asked.
        told: How they tell counts.

    """

    weekly: Weekly
    sites: tuple[str, ...]
    told: Telling = exact
    _known: dict[str, _Histories] = field(default_factory=dict, repr=False)
    _noise: dict[str, float] = field(default_factory=dict, repr=False)

    def check(self, place: int, made: int, week: int, rng: Generator) -> float:
        """Return how far a summary is off by the counts of words drawn from it."""
        old, new = self.ask(place, made, week, WORDS, rng)
        return counted_divergence(old, new, noise=self._off(place, made, rng))

    def ask(
        self, place: int, made: int, week: int, words: int, rng: Generator
    ) -> tuple[Floats, Floats]:
        """Return the counts of words drawn by their share, then and now.

        Only words are drawn whose count was told when the summary was made.
        """
        known = self._histories(self.sites[place])
        told = self.told(known.table[made].astype(np.float64), rng)
        usable = np.where(np.isfinite(told), known.table[made] * known.words, 0.0)
        share = np.cumsum(usable)
        if not share[-1] > 0:
            return np.full(words, np.nan), np.full(words, np.nan)
        drawn = np.searchsorted(share, rng.random(words) * share[-1], side="right")
        now = known.table[week, drawn].astype(np.float64)
        return told[drawn], self.told(now, rng)

    def _histories(self, site: str) -> _Histories:
        if site not in self._known:
            count = self.weekly.weekly_summaries(site).count
            first, times = word_groups(count, count)
            self._known[site] = _Histories(count[:, first], times)
        return self._known[site]

    def _off(self, place: int, made: int, rng: Generator) -> float:
        """Return by how much counts are off by chance, asked for twice at once."""
        if self.told is exact:
            return 0.0
        site = self.sites[place]
        if site not in self._noise:
            self._noise[site] = count_noise(*self.ask(place, made, made, TWICE, rng))
        return self._noise[site]
