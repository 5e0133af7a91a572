"""Our copy of the demo site as it truly is, which only the demo can know."""

import numpy as np

from halflife.observation import Looks, Seen
from halflife.sources.recorded import Recording


class TrueCopy:
    """When each page of the copy went, or will go, out of date; times in days.

    Everything is taken to be current at the beginning. ``base`` is what stands
    before the recording's keys in the keys of looks.
    """

    def __init__(self, recording: Recording, began: float, base: str) -> None:
        self._recording, self._base, self._now = recording, base, began
        every = np.arange(len(recording))
        self._until = recording.next_change(every, began)
        self._share = recording.weight / recording.weight.sum()
        self._fresh = self._time = 0.0

    def pass_time(self, until: float, *, scored: bool) -> None:
        """Let time go by with nothing asked; add up what the copy was worth."""
        if scored:
            length = until - self._now
            fresh = np.clip(self._until - self._now, 0.0, length)
            self._fresh += float(self._share @ fresh)
            self._time += length
        self._now = until

    def refresh(self, looks: Looks) -> None:
        """Make the copies that were just looked at current."""
        keys = [o.key.removeprefix(self._base) for o in looks if o.seen <= Seen.ABSENT]
        row = self._recording.row
        rows = np.array([row[key] for key in keys if key in row], dtype=np.intp)
        self._until[rows] = self._recording.next_change(rows, self._now)

    @property
    def freshness(self) -> float:
        """The weighted share of copies that are current now."""
        return float(self._share @ (self._until > self._now))

    @property
    def mean_freshness(self) -> float:
        """The same, averaged over the time that was scored."""
        return self._fresh / self._time if self._time else self.freshness
