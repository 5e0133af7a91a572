"""How far summaries of a database had drifted when they were refreshed or checked.

Rules for summaries learn from these facts. Each database has one note of them, which
outlives the versions themselves: the first and the latest refreshes, the last check
and the number of checks.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from math import isfinite, nan
from typing import Any

from halflife.core.store import NoteBook
from halflife.core.wording import finite
from halflife.stores.notes import NoteKind, as_rows

MOST = 200  # refreshes of a database that are stored


@dataclass(frozen=True, slots=True)
class Refresh:
    """What a new summary showed about the one before.

    Attributes:
        version: The number of the new one.
        gap: Days between the two.
        kl: The divergence of the new one from the old one, less the usual divergence
            of two samples of one database.

    """

    version: int
    gap: float
    kl: float


@dataclass(frozen=True, slots=True)
class LastCheck:
    """The result of the last check of a summary.

    Attributes:
        version: The summary that was checked.
        at: When, in days.
        share: The share of changed documents among those of the summary that were
            seen again; if none was, 0 if the check was passed and 1 if not.
        kl: The divergence of the documents from those of the summary, beyond chance.
        asked: Checks of the database so far, this one included.
        passed: How many of them were passed.

    """

    version: int = 0
    at: float = 0.0
    share: float = 0.0
    kl: float = nan
    asked: int = 0
    passed: int = 0


def refreshes(store: NoteBook, source: str) -> list[Refresh]:
    """Return the refreshes of a database, oldest first."""
    return REFRESHES.load(store, source) or []


def note_refresh(store: NoteBook, source: str, *new: Refresh) -> None:
    """Store refreshes after the earlier ones; the first one always stays."""
    rows = [*refreshes(store, source), *new]
    REFRESHES.save(store, rows[:1] + rows[1:][1 - MOST :], source)


def last_check(store: NoteBook, source: str) -> LastCheck:
    """Return the last check; its version is 0 if there was none."""
    return CHECK.load(store, source) or LastCheck()


def note_check(store: NoteBook, source: str, check: LastCheck) -> None:
    """Store a check, replacing the one before."""
    CHECK.save(store, check, source)


def _read(rows: Sequence[Mapping[str, Any]]) -> list[Refresh]:
    found = [Refresh(int(r["version"]), float(r["gap"]), float(r["kl"])) for r in rows]
    if not all(isfinite(row.gap) and isfinite(row.kl) for row in found):
        raise ValueError("a refresh is without end")
    return found


def _write_check(check: LastCheck) -> object:
    return finite(asdict(check))


def _read_check(row: Mapping[str, Any]) -> LastCheck:
    kl = nan if row["kl"] is None else float(row["kl"])
    counts = {name: int(row[name]) for name in ("version", "asked", "passed")}
    return LastCheck(at=float(row["at"]), share=float(row["share"]), kl=kl, **counts)


REFRESHES = NoteKind("summary_refreshes", 1, as_rows, _read)
CHECK = NoteKind("summary_check", 1, _write_check, _read_check)
