"""How far summaries of a database were off when they were renewed, or checked.

Facts that rules for summaries learn from. They are kept in one note a database, which
outlives the versions themselves: of refreshes the first and the latest, of checks the
last one and how many there were.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from math import isfinite, nan
from typing import Any

from halflife.core.store import NoteBook
from halflife.stores.notes import NoteKind

MOST = 200  # refreshes of a database that are remembered


@dataclass(frozen=True, slots=True)
class Refresh:
    """What a new summary told of the one before.

    Attributes:
        version: The number of the new one.
        gap: Days between the two.
        kl: How far the new one is from the old one, less what two samples of one
            database differ by.

    """

    version: int
    gap: float
    kl: float


@dataclass(frozen=True, slots=True)
class LastCheck:
    """What the last check of a summary showed.

    Attributes:
        version: The summary that was checked.
        at: When, in days.
        share: Of the documents of the summary that were seen again, those that had
            changed; if none was, 0 if the check was passed and 1 if not.
        kl: How far the documents were from those of the summary, beyond chance.
        asked: Checks of the database so far, this one included.
        passed: Those of them that were passed.

    """

    version: int = 0
    at: float = 0.0
    share: float = 0.0
    kl: float = nan
    asked: int = 0
    passed: int = 0


def refreshes(store: NoteBook, source: str) -> list[Refresh]:
    """Return what refreshes of a database showed, oldest first."""
    return REFRESHES.load(store, source) or []


def note_refresh(store: NoteBook, source: str, *new: Refresh) -> None:
    """Keep what refreshes showed, after those that are known; the first one stays."""
    rows = [*refreshes(store, source), *new]
    REFRESHES.save(store, rows[:1] + rows[1:][1 - MOST :], source)


def last_check(store: NoteBook, source: str) -> LastCheck:
    """Return what the last check showed; of version 0 if there was none."""
    return CHECK.load(store, source) or LastCheck()


def note_check(store: NoteBook, source: str, told: LastCheck) -> None:
    """Keep what a check showed in place of the one before."""
    CHECK.save(store, told, source)


def _write(rows: Sequence[Refresh]) -> list[Mapping[str, float | int]]:
    return [asdict(row) for row in rows]


def _read(rows: Sequence[Mapping[str, Any]]) -> list[Refresh]:
    found = [Refresh(int(r["version"]), float(r["gap"]), float(r["kl"])) for r in rows]
    if not all(isfinite(one.gap) and isfinite(one.kl) for one in found):
        raise ValueError("a refresh is without end")
    return found


def _write_check(told: LastCheck) -> Mapping[str, float | int | None]:
    return {k: v if isfinite(v) else None for k, v in asdict(told).items()}


def _read_check(row: Mapping[str, Any]) -> LastCheck:
    kl = nan if row["kl"] is None else float(row["kl"])
    whole = {name: int(row[name]) for name in ("version", "asked", "passed")}
    return LastCheck(at=float(row["at"]), share=float(row["share"]), kl=kl, **whole)


REFRESHES = NoteKind("summary_refreshes", 1, _write, _read)
CHECK = NoteKind("summary_check", 1, _write_check, _read_check)
