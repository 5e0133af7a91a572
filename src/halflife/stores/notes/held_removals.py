"""Objects of a listing that an answer lacks, while nobody has decided on it."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from halflife.stores.notes import NoteKind, finite


class HeldRemovals(NamedTuple):
    """Removals that wait for a decision, although what the answer shows was taken.

    Attributes:
        at: When the answer was fetched, in days.
        missing: Objects of the copy that it lacks.
        copied: Objects of the copy.

    """

    at: float
    missing: int
    copied: int

    @property
    def share(self) -> float:
        """The share of the copy that waits."""
        return min(self.missing / max(self.copied, 1), 1.0)


def _read(row: Mapping[str, Any]) -> HeldRemovals:
    missing, copied = int(row["missing"]), int(row["copied"])
    if not 0 <= missing <= copied:
        raise ValueError(f"{missing} of {copied} objects are impossible")
    return HeldRemovals(finite(row["at"]), missing, copied)


HELD_REMOVALS = NoteKind("held_removals", 1, HeldRemovals._asdict, _read)
