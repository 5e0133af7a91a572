"""Notes as rows; the SQL of it, and how the memos of older files become notes.

Up to version 9 a state file kept such state as texts under sentences: ``how it goes
with jobs``. Each of them becomes a row of its source and kind. What no halflife has
named so is kept, too, under the name that it had.
"""

import json
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from halflife.core.store import Note
from halflife.stores.database import Database

SUMMARY, VERSIONS = "summary", "summary_versions"  # kinds that others look for
UNKNOWN = "memo: "  # the kind of a memo that nobody knows begins so
_TABLE = """
CREATE TABLE note (  -- typed state between runs; see stores/notes
    source TEXT NOT NULL,  -- the name of a source; '' is all of them
    kind TEXT NOT NULL,
    number INTEGER NOT NULL,  -- tells several of one kind apart
    version INTEGER NOT NULL,  -- of the format of the kind
    body TEXT NOT NULL,  -- JSON
    PRIMARY KEY (source, kind, number)
) STRICT, WITHOUT ROWID"""
_READ = "SELECT version, body FROM note WHERE source = ? AND kind = ? AND number = ?"
_NUMBERS = "SELECT number FROM note WHERE source = ? AND kind = ? ORDER BY number"
_SAVE = "REPLACE INTO note (source, kind, number, version, body) VALUES (?, ?, ?, ?, ?)"
_RENAME = """
UPDATE note SET source = ?1 WHERE source = ?2 AND NOT EXISTS (
    SELECT 1 FROM note AS other WHERE other.source = ?1 AND other.kind = note.kind
    AND other.number = note.number)
"""
_REMOVE = "DELETE FROM note WHERE source = ? AND kind = ? AND number = ?"


class NoteRow(NamedTuple):
    """A note with its place."""

    source: str
    kind: str
    number: int
    body: str


def read(db: Database, source: str, kind: str, number: int = 0) -> Note | None:
    """Return a note as it was written; None if there is none."""
    row = db.execute(_READ, (source, kind, number)).fetchone()
    return Note(*row) if row else None


def numbers(db: Database, source: str, kind: str) -> list[int]:
    """Return the numbers of the notes of a kind about a source, ascending."""
    return [int(n) for (n,) in db.execute(_NUMBERS, (source, kind))]


def save(db: Database, source: str, kind: str, number: int, note: Note) -> None:
    """Write a note in place of the one before."""
    db.execute(_SAVE, (source, kind, number, note.version, note.text))


def remove(db: Database, source: str, kind: str, number: int = 0) -> None:
    """Remove a note, if there is one."""
    db.execute(_REMOVE, (source, kind, number))


def sources(db: Database) -> set[str]:
    """Return the names of the sources with notes."""
    query = "SELECT DISTINCT source FROM note WHERE source <> ''"
    return {str(name) for (name,) in db.execute(query)}


def rename(db: Database, old: str, new: str) -> None:
    """Let notes go with the source; those that the new name has already stay."""
    db.execute(_RENAME, (new, old))
    forget(db, old)


def forget(db: Database, source: str) -> None:
    """Remove all notes about a source."""
    db.execute("DELETE FROM note WHERE source = ?", (source,))


def create(db: Database) -> None:
    """Make the table, and notes of all memos."""
    db.execute(_TABLE)
    memos = db.execute("SELECT name, text FROM memo").fetchall()
    for name, text in memos:
        for row in translated(str(name), str(text)):
            save(db, row.source, row.kind, row.number, Note(1, row.body))
    db.execute("DROP TABLE memo")


# How a source's memo began; the kind of note that it is now, and what becomes of it.
_OF_SOURCES: dict[str, tuple[str, Callable[[str], str]]] = {
    "how it goes with ": ("breaker", str),
    "requests of a look at ": ("sync_cost", str),
    "how its records look: ": ("record_columns", str),
    "how its answers look: ": ("answer_columns", str),
    "what a form does: ": ("form_facts", str),
    "where it has moved: ": ("redirects", str),
    "rhythm of ": ("rhythm", str),
    "what was asked of ": ("form_queries", str),
    "the first crawl of ": ("first_crawl", str),
    "the search for missing records of ": ("missing_records_search", str),
    "records reported by ": ("reported_total", str),
    "keeping ": ("target_memory", str),
    "round of ": ("round_chances", json.dumps),
    "summaries of ": (VERSIONS, str),
    "lives of summaries of ": ("summary_lifetimes", str),
    "accepted answers of ": ("accepted_texts", str),
    "maps followed of ": ("followed_maps", str),
    "what could not be handled of ": ("fault", json.dumps),
}
_OF_ALL = {
    "income spent until": "income_spent_until",
    "tidied at": "tidied_at",
    "prior of change rates": "rate_prior",
    "busy times of sites and folders": "busy_times",
    "the state file was made anew": "made_anew",
}
_SUMMARY = re.compile(r"summary of (.*), version (\d+)", re.DOTALL)


def translated(name: str, text: str) -> Iterator[NoteRow]:
    """Yield the notes that a memo becomes: one, or none if it was empty.

    >>> list(translated("round of jobs", "AAA="))
    [NoteRow(source='jobs', kind='round_chances', number=0, body='"AAA="')]
    """
    if not text:  # that is how a memo was removed
        return
    if found := _SUMMARY.fullmatch(name):
        yield NoteRow(found[1], SUMMARY, int(found[2]), text)
    elif name in _OF_ALL:
        yield NoteRow("", _OF_ALL[name], 0, text)
    else:
        yield _of_source(name, text)


def _of_source(name: str, text: str) -> NoteRow:
    for prefix, (kind, change) in _OF_SOURCES.items():
        if name.startswith(prefix):
            return NoteRow(name.removeprefix(prefix), kind, 0, change(text))
    return NoteRow("", UNKNOWN + name, 0, json.dumps(text))
