"""The known tuples: their held versions, ages and rates of change."""

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
    """A local relation that learns rates of change from every record shown.

    Args:
        records: The records held at the start, by key.
        measure: How versions differ.
        weight: How much a tuple matters.
        now: When the records were seen, in days.

    Attributes:
        keys: The tuples.
        held: The held version of each.
        seen: When each was last seen.
        gone: Which are known to be deleted.
        doubted: Which are missing from a complete answer.
        strayed: Which were doubted and found: they are not doubted again.
        taken: The number of refreshes so far.

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
        """Note the records shown; return how many known tuples they refreshed.

        All records shown count, whichever tuples the query was sent for.
        """
        refreshed = [key for key in records if key in self.row]
        for key in refreshed:
            row, record = self.row[key], records[key]
            amount = self.measure.differ(self.held[row], record)
            self._new.append((row, now - float(self.seen[row]), amount))
            self.held[row] = record
            self.weight[row] = self._weigh(record)
            self.seen[row] = now
            self.strayed[row] |= self.doubted[row]
            self.gone[row] = self.doubted[row] = False
        self.taken += len(refreshed)
        return len(refreshed)

    def lose(self, key: str) -> None:
        """Note that a tuple was deleted."""
        row = self.row[key]
        self.gone[row], self.doubted[row] = True, False

    def age(self, now: float) -> Floats:
        """Return the days since each tuple was seen."""
        return np.maximum(now - self.seen, 0.0)

    def growth(self) -> Growth:
        """Return the estimated growth of staleness, from all records shown."""
        if self._new:
            item, days, amount = zip(*self._new, strict=True)
            self.pace.add(np.array(item), np.array(days), np.array(amount))
            self._new = []
        return self.pace.growth()

    def staleness(self, now: float, *, confidence: float = 0.95) -> Interval:
        """Return the estimated content staleness of existing tuples (Eq. 3)."""
        here, growth = ~self.gone, self.growth()
        weight = np.where(here, self.weight, 0.0)
        stale = expected_staleness(growth, self.age(now), weight, confidence=confidence)
        factor = len(self) / max(int(here.sum()), 1)  # the mean is over those here
        return Interval(*(bound * factor for bound in stale))
