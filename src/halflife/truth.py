"""Our copy as it truly is, which only those who know the whole recording can say."""

import numpy as np

from halflife.arrays import Ints
from halflife.sources.recorded import Recording


class TrueCopy:
    """When each part of a copy went, or will go, out of date; times in days.

    Everything is taken to be current at the beginning. Time before ``scored``
    counts for nothing but the daily figures.

    Attributes:
        now: The time reached.
        daily: Freshness of each day since the beginning.
        looked: Which items were looked at in the time that is scored.

    """

    def __init__(self, recording: Recording, began: float, end: float) -> None:
        self.now = began
        self.daily = np.zeros(max(int(np.ceil(end - began)), 1))
        self.looked = np.zeros(len(recording), dtype=np.bool_)
        self._recording, self._began, self._scored = recording, began, began
        self._until = recording.next_change(np.arange(len(recording)), began)
        total = float(recording.weight.sum())
        self._share = recording.weight / (total if total > 0 else 1.0)
        self._fresh = self._age = self._time = 0.0

    def score_from(self, moment: float) -> None:
        """Let what happens before a moment count for nothing."""
        self._scored = moment

    @property
    def scoring(self) -> bool:
        """Whether what happens now counts."""
        return self.now >= self._scored - 1e-9

    @property
    def freshness(self) -> float:
        """The weighted share of copies that are current now."""
        return float(self._share @ (self._until > self.now))

    @property
    def mean_freshness(self) -> float:
        """The same, averaged over the time that was scored."""
        return self._fresh / self._time if self._time else self.freshness

    @property
    def mean_age(self) -> float:
        """The weighted mean time that copies had been out of date, in days."""
        return self._age / self._time if self._time else 0.0

    def pass_time(self, until: float) -> None:
        """Let time go by with nothing asked; add up what the copy was worth."""
        length = until - self.now
        fresh = float(self._share @ np.clip(self._until - self.now, 0.0, length))
        day = int(self.now - self._began + 1e-9)
        self.daily[min(day, self.daily.size - 1)] += fresh
        if self.scoring:
            before = np.maximum(self.now - self._until, 0.0)
            after = np.maximum(until - self._until, 0.0)
            self._age += float(self._share @ (after**2 - before**2)) / 2.0
            self._fresh += fresh
            self._time += length
        self.now = until

    def refresh(self, rows: Ints) -> None:
        """Make the copies of these items current."""
        self._until[rows] = self._recording.next_change(rows, self.now)
        if self.scoring:
            self.looked[rows] = True
