"""From stored snapshots to the history of a set source.

A snapshot that lacks more than is credible cannot be fetched again. It is put aside:
if the next one is complete again it was broken; if three in a row agree, it is true.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from halflife.core.errors import SourceError, UsageError
from halflife.core.object_store import Listing, Register
from halflife.core.tracker import Tracker
from halflife.models.guard import DeleteGuard
from halflife.readers.records import RecordReader

AGREEING = 3  # doubtful snapshots in a row that are accepted
REFUSED = 0.05  # share of bad records above which a listing is not complete


@dataclass(frozen=True, slots=True)
class DatedFile:
    """A stored snapshot: its time, its name and its content."""

    at: float
    name: str
    body: bytes | None
    note: str = ""


def listing(snapshot: DatedFile, reader: RecordReader) -> Listing:
    """Return the listing of a snapshot; raise ``SourceError`` if it is broken."""
    if snapshot.body is None:
        raise SourceError(snapshot.note or "it is not there")
    page = reader.read(snapshot.body, name=snapshot.name)
    acceptable = page.refused <= REFUSED * (len(page.records) + page.refused)
    complete = acceptable and not page.broken
    return Listing(snapshot.at, page.records, complete, page.note())


def fold(snapshots: Iterable[DatedFile], reader: RecordReader) -> Register:
    """Return the history of snapshots, given in order; see ``Tracker``."""
    folder = _Folder(Tracker())
    for snapshot in snapshots:
        try:
            folder.take(listing(snapshot, reader))
        except SourceError as error:
            folder.reject(snapshot.at, str(error))
    folder.settle()
    register = folder.tracker.register()
    if not any(s.valid for s in register.snapshots):
        notes = [s.note for s in register.snapshots]
        raise UsageError(
            "no snapshot can be read" + (f"; the first: {notes[0]}" if notes else "")
        )
    return register


class _Folder:
    """Folds listings, and puts aside those that lack too much."""

    def __init__(self, tracker: Tracker) -> None:
        self.tracker = tracker
        self._guard = DeleteGuard()
        self._aside: list[tuple[float, Listing | None, str]] = []
        self._cycles: list[tuple[int, int, float]] = []

    def take(self, found: Listing) -> None:
        """Fold in a listing, or put it aside."""
        why = self._doubt(found)
        if why:
            self._aside.append((found.at, found, why))
            agreeing = sum(listing is not None for _, listing, _ in self._aside)
            if agreeing >= AGREEING:
                self.settle(believe=True)
        else:
            self.settle()
            self._believe(found)

    def reject(self, at: float, why: str) -> None:
        """Record a broken snapshot, in order among those put aside."""
        self._aside.append((at, None, why))

    def settle(self, *, believe: bool = False) -> None:
        """Accept the listings that were put aside, or reject them."""
        waiting, self._aside = self._aside, []
        for at, found, why in waiting:
            if found is not None and believe:
                self._believe(found)
            else:
                n = 0 if found is None else len(found.records)
                self.tracker.reject(at, why, n)

    def _doubt(self, found: Listing) -> str:
        """Return why a listing is not credible; empty if it is."""
        if not found.complete:
            return ""
        held, gone, gap = self.tracker.losses(found)
        if not held or (gone < self._guard.least and gone < held):
            return ""
        columns = np.array(self._cycles, dtype=np.float64).reshape(-1, 3).T
        counts = columns[:2].astype(np.intp)
        self._guard.fit(counts[0], counts[1], columns[2])
        verdict = self._guard.judge(held, gone, gap)
        return "" if verdict.credible else verdict.why

    def _believe(self, found: Listing) -> None:
        held, gone, gap = self.tracker.losses(found)
        if found.complete and gap > 0.0:
            self._cycles.append((held, gone, gap))
        self.tracker.take(found)
