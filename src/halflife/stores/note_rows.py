"""Notes as rows: the SQL, and the conversion of the memos of older files.

Up to version 9 a state file had such state as texts under sentences: ``how it goes
with jobs``. Each of them becomes a row of its source and kind. A memo with another
name is stored, too, under that name.
"""

import json
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from halflife.core.store import Note
from halflife.stores.database import Database

SUMMARY, VERSIONS = "summary", "summary_versions"  # kinds that other modules use
UNKNOWN = "memo: "  # prefix of the kind of an unknown memo
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
    """A note with its source, kind and number."""

    source: str
    kind: str
    number: int
    body: str


def read(db: Database, source: str, kind: str, number: int = 0) -> Note | None:
    """Return a note as it was stored; None if there is none."""
    row = db.execute(_READ, (source, kind, number)).fetchone()
    return Note(*row) if row else None


def numbers(db: Database, source: str, kind: str) -> list[int]:
    """Return the numbers of the notes of a kind about a source, ascending."""
    return [int(n) for (n,) in db.execute(_NUMBERS, (source, kind))]


def save(db: Database, source: str, kind: str, number: int, note: Note) -> None:
    """Store a note, replacing the one before."""
    db.execute(_SAVE, (source, kind, number, note.version, note.text))


def remove(db: Database, source: str, kind: str, number: int = 0) -> None:
    """Remove a note, if there is one."""
    db.execute(_REMOVE, (source, kind, number))


def sources(db: Database) -> set[str]:
    """Return the names of the sources with notes."""
    query = "SELECT DISTINCT source FROM note WHERE source <> ''"
    return {str(name) for (name,) in db.execute(query)}


def rename(db: Database, old: str, new: str) -> None:
    """Move the notes of a source to a new name; notes under that name stay."""
    db.execute(_RENAME, (new, old))
    forget(db, old)


def forget(db: Database, source: str) -> None:
    """Remove all notes about a source."""
    db.execute("DELETE FROM note WHERE source = ?", (source,))


def create(db: Database) -> None:
    """Create the table, and convert all memos to notes."""
    db.execute(_TABLE)
    memos = db.execute("SELECT name, text FROM memo").fetchall()
    for name, text in memos:
        for row in notes_of_memo(str(name), str(text)):
            save(db, row.source, row.kind, row.number, Note(1, row.body))
    db.execute("DROP TABLE memo")


# Prefix of a source's memo; the kind of its note, and the conversion of its text.
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


def notes_of_memo(name: str, text: str) -> Iterator[NoteRow]:
    """Yield the note that a memo becomes; nothing if the memo was empty.

    >>> list(notes_of_memo("round of jobs", "AAA="))
    [NoteRow(source='jobs', kind='round_chances', number=0, body='"AAA="')]
    """
    if not text:  # a removed memo
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
