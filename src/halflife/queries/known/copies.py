"""The known tuples: what is held of each, since when, and how fast it moves."""

from collections.abc import Mapping

import numpy as np

from halflife.core.arrays import Floats
from halflife.core.object_store import Attributes
from halflife.metrics.intervals import Interval
from halflife.queries.known.content import (
    Growth,
    Measure,
    Weigh,
    expected_staleness,
    weigher,
)
from halflife.queries.known.pace import VersionPace


class Copy:
    """A local relation that learns from all that it is shown.

    Args:
        records: What is held at the start, by key.
        measure: How versions differ.
        weight: How much a tuple matters.
        now: When the records were seen, in days.

    Attributes:
        keys: The tuples.
        held: What is held of each.
        seen: When each was last seen.
        gone: Which are known not to be there any more.
        doubted: Which were missing where they should have been.
        strayed: Which were doubted and found: they are not doubted again.
        taken: How many times a tuple was refreshed so far.

    """

    def __init__(
        self,
        records: Mapping[str, Attributes],
        *,
        measure: Measure,
        weight: Weigh | None = None,
        now: float,
    ) -> None:
        self.keys = tuple(records)
        self.row = {key: i for i, key in enumerate(self.keys)}
        self.held: list[Attributes] = list(records.values())
        self.measure = measure
        self.pace = VersionPace(len(self.keys), measure.kind)
        self.seen = np.full(len(self.keys), float(now))
        self.gone, self.doubted, self.strayed = np.zeros((3, len(self.keys)), bool)
        self._weigh = weight or weigher(None)
        self.weight = np.array([self._weigh(r) for r in self.held], dtype=np.float64)
        self.taken = 0
        self._new: list[tuple[int, float, float]] = []

    def __len__(self) -> int:
        return len(self.keys)

    def take(self, records: Mapping[str, Attributes], now: float) -> int:
        """Write down what was shown; return how many known tuples it refreshed.

        Everything shown counts, whichever tuples it was asked for.
        """
        known = [key for key in records if key in self.row]
        for key in known:
            row, record = self.row[key], records[key]
            amount = self.measure.differ(self.held[row], record)
            self._new.append((row, now - float(self.seen[row]), amount))
            self.held[row] = record
            self.weight[row] = self._weigh(record)
            self.seen[row] = now
            self.strayed[row] |= self.doubted[row]
            self.gone[row] = self.doubted[row] = False
        self.taken += len(known)
        return len(known)

    def lose(self, key: str) -> None:
        """Write down that a tuple is not there any more."""
        row = self.row[key]
        self.gone[row], self.doubted[row] = True, False

    def age(self, now: float) -> Floats:
        """Return the days since each tuple was seen."""
        return np.maximum(now - self.seen, 0.0)

    def growth(self) -> Growth:
        """Return how staleness is believed to grow, by all that was shown."""
        if self._new:
            item, days, amount = zip(*self._new, strict=True)
            self.pace.add(np.array(item), np.array(days), np.array(amount))
            self._new = []
        return self.pace.growth()

    def staleness(self, now: float, *, confidence: float = 0.95) -> Interval:
        """Return the believed content staleness of what is not gone (Eq. 3)."""
        here, growth = ~self.gone, self.growth()
        weight = np.where(here, self.weight, 0.0)
        found = expected_staleness(growth, self.age(now), weight, confidence=confidence)
        part = len(self) / max(int(here.sum()), 1)  # the mean is over those here
        return Interval(*(bound * part for bound in found))
