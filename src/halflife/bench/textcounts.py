"""Match counts of recorded text databases, as a check of summaries requests them."""

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

# How a database reports a count: exact, rounded, noisy, or up to a limit (then NaN).
CountReport: TypeAlias = Callable[[Floats, Generator], Floats]
TWICE = 10  # words that are queried twice, to measure the noise of counts


def exact(count: Floats, _: Generator) -> Floats:
    """Report the true counts."""
    return count


class _Histories(NamedTuple):
    """Words with equal document counts in every week, grouped."""

    table: NDArray[np.int32]  # documents, weeks x histories
    words: Floats  # the number of words of each history


@dataclass(frozen=True)
class RecordedCounts:
    """The counts that databases would have reported for words of their summaries.

    Attributes:
        weekly: Recorded databases.
        sites: Which of them are queried.
        reported: How they report counts.

    """

    weekly: Weekly
    sites: tuple[str, ...]
    reported: CountReport = exact
    _known: dict[str, _Histories] = field(default_factory=dict, repr=False)
    _noise: dict[str, float] = field(default_factory=dict, repr=False)

    def check(self, place: int, made: int, week: int, rng: Generator) -> float:
        """Return the divergence of a summary, by the counts of random words of it."""
        old, new = self.ask(place, made, week, WORDS, rng)
        return counted_divergence(old, new, noise=self._off(place, made, rng))

    def ask(
        self, place: int, made: int, week: int, words: int, rng: Generator
    ) -> tuple[Floats, Floats]:
        """Return the counts of words drawn by their share, then and now.

        Only words are drawn whose count was known when the summary was made.
        """
        histories = self._histories(self.sites[place])
        then = self.reported(histories.table[made].astype(np.float64), rng)
        weight = histories.table[made] * histories.words
        usable = np.where(np.isfinite(then), weight, 0.0)
        share = np.cumsum(usable)
        if not share[-1] > 0:
            return np.full(words, np.nan), np.full(words, np.nan)
        drawn = np.searchsorted(share, rng.random(words) * share[-1], side="right")
        now = histories.table[week, drawn].astype(np.float64)
        return then[drawn], self.reported(now, rng)

    def _histories(self, site: str) -> _Histories:
        if site not in self._known:
            count = self.weekly.weekly_summaries(site).count
            first, times = word_groups(count, count)
            self._known[site] = _Histories(count[:, first], times)
        return self._known[site]

    def _off(self, place: int, made: int, rng: Generator) -> float:
        """Return the noise of counts, from queries sent twice at once."""
        if self.reported is exact:
            return 0.0
        site = self.sites[place]
        if site not in self._noise:
            self._noise[site] = count_noise(*self.ask(place, made, made, TWICE, rng))
        return self._noise[site]
