"""Match counts by which the summary in use is checked, and what checks by them showed.

Two notes a database: the counts of some words as the database told them when the
summary was made, and the checks of that summary so far. Those of a summary that is no
longer in use are forgotten.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, nan
from typing import Any

from halflife.core.store import NoteBook
from halflife.stores.notes import NoteKind
from halflife.summary.count_check import ReferenceCounts

MOST = 200  # checks of a summary that are remembered


@dataclass(frozen=True, slots=True)
class CountCheck:
    """A check by match counts.

    Attributes:
        version: The summary that was checked.
        at: When, in days.
        kl: How far it was off by the counts; NaN if they told nothing.

    """

    version: int
    at: float
    kl: float


def counts(store: NoteBook, source: str, version: int) -> ReferenceCounts | None:
    """Return the counts for a summary; None if there are none to check it by."""
    found = COUNTS.load(store, source)
    return found if found is not None and found.version == version else None


def note_counts(store: NoteBook, source: str, told: ReferenceCounts) -> None:
    """Keep the counts of the summary in use in place of those before."""
    COUNTS.save(store, told, source)


def forget(store: NoteBook, source: str) -> None:
    """Check a database by match counts no more, until it is summarised anew."""
    COUNTS.remove(store, source)


def checks(store: NoteBook, source: str, version: int) -> list[CountCheck]:
    """Return the checks of a summary so far, oldest first."""
    return [c for c in CHECKS.load(store, source) or [] if c.version == version]


def note_check(store: NoteBook, source: str, told: CountCheck) -> None:
    """Keep what a check showed, after those of the same summary."""
    rows = [*checks(store, source, told.version), told]
    CHECKS.save(store, rows[-MOST:], source)


def _write(told: ReferenceCounts) -> Mapping[str, object]:
    return {
        "version": told.version,
        "words": list(told.words),
        "counts": list(told.counts),
        "noise": told.noise,
    }


def _read(row: Mapping[str, Any]) -> ReferenceCounts:
    words = tuple(str(word) for word in row["words"])
    told = tuple(float(count) for count in row["counts"])
    noise = float(row["noise"])
    if len(words) != len(told) or not all(map(isfinite, (*told, noise))):
        raise ValueError("counts that are not one for each word")
    return ReferenceCounts(words, told, noise, int(row["version"]))


def _write_checks(rows: Sequence[CountCheck]) -> list[list[float | None]]:
    return [[c.version, c.at, c.kl if isfinite(c.kl) else None] for c in rows]


def _read_checks(rows: Sequence[Sequence[Any]]) -> list[CountCheck]:
    return [
        CountCheck(int(version), float(at), nan if kl is None else float(kl))
        for version, at, kl in rows
    ]


COUNTS = NoteKind("summary_counts", 1, _write, _read)
CHECKS = NoteKind("summary_count_checks", 1, _write_checks, _read_checks)
