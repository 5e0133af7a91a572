"""Match counts that check the current summary, and the results of these checks.

Each database has two notes: the counts of some words that it reported when the summary
was made, and the checks of that summary so far. Those of a summary that is no longer
current are dropped.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, nan
from typing import Any

from halflife.core.store import NoteBook
from halflife.stores.notes import NoteKind
from halflife.summary.count_check import ReferenceCounts

MOST = 200  # checks of a summary that are stored


@dataclass(frozen=True, slots=True)
class CountCheck:
    """A check by match counts.

    Attributes:
        version: The summary that was checked.
        at: When, in days.
        kl: The divergence by the counts; NaN if they showed nothing.

    """

    version: int
    at: float
    kl: float


def counts(store: NoteBook, source: str, version: int) -> ReferenceCounts | None:
    """Return the counts for a summary; None if there are none."""
    found = COUNTS.load(store, source)
    return found if found is not None and found.version == version else None


def note_counts(store: NoteBook, source: str, counts: ReferenceCounts) -> None:
    """Store the counts of the current summary, replacing those before."""
    COUNTS.save(store, counts, source)


def forget(store: NoteBook, source: str) -> None:
    """Stop checking a database by match counts until it is summarised again."""
    COUNTS.remove(store, source)


def checks(store: NoteBook, source: str, version: int) -> list[CountCheck]:
    """Return the checks of a summary so far, oldest first."""
    return [c for c in CHECKS.load(store, source) or [] if c.version == version]


def note_check(store: NoteBook, source: str, check: CountCheck) -> None:
    """Store a check after the earlier ones of the same summary."""
    rows = [*checks(store, source, check.version), check]
    CHECKS.save(store, rows[-MOST:], source)


def _write(reference: ReferenceCounts) -> Mapping[str, object]:
    return {
        "version": reference.version,
        "words": list(reference.words),
        "counts": list(reference.counts),
        "noise": reference.noise,
    }


def _read(row: Mapping[str, Any]) -> ReferenceCounts:
    words = tuple(str(word) for word in row["words"])
    numbers = tuple(float(count) for count in row["counts"])
    noise = float(row["noise"])
    if len(words) != len(numbers) or not all(map(isfinite, (*numbers, noise))):
        raise ValueError("counts that are not one for each word")
    return ReferenceCounts(words, numbers, noise, int(row["version"]))


def _write_checks(rows: Sequence[CountCheck]) -> list[list[float | None]]:
    return [[c.version, c.at, c.kl if isfinite(c.kl) else None] for c in rows]


def _read_checks(rows: Sequence[Sequence[Any]]) -> list[CountCheck]:
    return [
        CountCheck(int(version), float(at), nan if kl is None else float(kl))
        for version, at, kl in rows
    ]


COUNTS = NoteKind("summary_counts", 1, _write, _read)
CHECKS = NoteKind("summary_count_checks", 1, _write_checks, _read_checks)
