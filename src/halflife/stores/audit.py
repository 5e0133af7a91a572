"""Checks of the integrity and consistency of the state file."""

import json
import zlib
from collections.abc import Iterator

import numpy as np

from halflife.core.evidence import FOLDED, Evidence
from halflife.stores import (
    columns,
    compaction,
    evidence_rows,
    page_versions,
    schema,
)
from halflife.stores.database import Database


def problems(db: Database) -> list[str]:
    """Return the problems of a SQLite file, in words."""
    found = [row[0] for row in db.execute("PRAGMA integrity_check") if row[0] != "ok"]
    if found:
        return found
    found = list(_tables(db))
    if found:
        return found
    broken = db.execute("PRAGMA foreign_key_check")
    found += [f"{row[0]} row {row[1]} names no {row[2]}" for row in broken]
    return [*found, *inconsistencies(db)]


def inconsistencies(db: Database) -> Iterator[str]:
    """Yield the contradictions between tables, in words, for any engine."""
    parts = (
        _folds(db),
        columns.problems(db),
        _held(db),
        _copies(db),
        _changes(db),
        _ledger(db),
        _runs(db),
        _lives(db),
        _messages(db),
    )
    return (problem for part in parts for problem in part)


def _tables(db: Database) -> Iterator[str]:
    """Compare the tables, indexes and triggers with those of a new file."""
    query = "SELECT type, name, tbl_name, sql FROM sqlite_schema"
    with schema.new_database() as new:
        wanted = set(new.execute(query))
    for kind, name, *_ in sorted(wanted - set(db.execute(query)), key=str):
        yield f"the {kind} {name} is not as it was made"


def _folds(db: Database) -> Iterator[str]:
    """Fold the log again, onto the stored fold, and compare."""
    stored = evidence_rows.evidence(db, ())
    rebuilt = compaction.rebuild(db, stored)
    for batch in compaction.log_since(db):
        rebuilt.take(rebuilt.weigh(batch))
    for name in FOLDED:
        wrong = np.flatnonzero(getattr(stored, name) != getattr(rebuilt, name))
        if wrong.size:
            key = stored.keys[wrong[0]]
            yield f"{name} of {wrong.size} items does not follow from the log: {key}"
    if _tally(stored) != _tally(rebuilt):
        yield "the tally of gaps does not follow from the log"
    if _hinted(stored) != _hinted(rebuilt):
        yield "the tally of gaps with hints does not follow from the log"


def _tally(evidence: Evidence) -> dict[tuple[int, float], float]:
    gaps = evidence.gaps()
    tally: dict[tuple[int, float], float] = {}
    changed = (column[gaps.changed].tolist() for column in gaps)
    for item, length, _, count in zip(*changed, strict=True):
        tally[item, length] = tally.get((item, length), 0.0) + count
    return tally


def _hinted(evidence: Evidence) -> dict[tuple[float, ...], float]:
    item, length, changed, tally, hints = (c.tolist() for c in evidence.hinted())
    found: dict[tuple[float, ...], float] = {}
    rows = zip(item, length, changed, hints, strict=True)
    for row, count in zip(rows, tally, strict=True):
        found[row] = found.get(row, 0.0) + count
    return found


def _held(db: Database) -> Iterator[str]:
    wrong = db.execute(
        "SELECT count(*) FROM evidence AS e LEFT JOIN observation AS o ON o.id = e.held"
        " WHERE e.looks > 0 AND (o.item, o.at, o.seen, o.digest)"
        " IS NOT (e.item, e.last_at, e.seen, e.digest)"
    ).fetchone()[0]
    if wrong:
        yield f"the last good observation of {wrong} items is not the one in the log"


def _copies(db: Database) -> Iterator[str]:
    query = "SELECT key, body FROM content JOIN item ON item.id = item"
    for key, body in db.execute(query):
        try:
            zlib.decompress(body)
        except zlib.error as error:
            yield f"the copy of {key} cannot be read: {error}"
    for name, packed in db.execute("SELECT hash, body FROM page_body"):
        try:
            body = page_versions.decompress(packed)
        except ValueError as error:
            yield f"an earlier version of a page cannot be read: {error}"
        else:
            if page_versions.hash_of(body) != name:
                yield "an earlier version of a page is not what it was"


def _changes(db: Database) -> Iterator[str]:
    query = (
        "SELECT count(*), min(seq) FROM change"
        " WHERE NOT json_valid(fields) OR json_type(fields) <> 'object'"
    )
    count, first = db.execute(query).fetchone()
    if count:
        yield f"the fields of {count} changes cannot be read, from number {first} on"
    ahead = "SELECT 1 FROM change_removed WHERE seq >= (SELECT min(seq) FROM change)"
    if db.execute(ahead).fetchone():
        yield "changes are kept that were removed already"


def _ledger(db: Database) -> Iterator[str]:
    query = "SELECT run FROM ledger GROUP BY run HAVING sum(requests) < 0"
    for (run,) in db.execute(query):
        yield f"run {run} gave back more requests than it was charged"


def _runs(db: Database) -> Iterator[str]:
    """Check that runs under way hold leases, and that only these do."""
    query = (
        "SELECT id FROM run WHERE (state = 'running')"
        " <> EXISTS (SELECT 1 FROM lease WHERE lease.run = run.id)"
    )
    for (run,) in db.execute(query):
        yield f"run {run} is under way and holds nothing, or the other way round"
    query = (
        "SELECT id FROM run WHERE NOT json_valid(sources)"
        " OR (state = 'running' AND NOT json_valid(owner))"
    )
    for (run,) in db.execute(query):
        yield f"run {run} cannot be read"


def _messages(db: Database) -> Iterator[str]:
    for (number,) in db.execute("SELECT id FROM message WHERE NOT json_valid(body)"):
        yield f"message {number} cannot be read"


def _lives(db: Database) -> Iterator[str]:
    """Check that lifetimes are bounded by observations in order, and readable."""
    wrong = db.execute(
        "SELECT count(*) FROM life WHERE first_seen > last_seen"
        " OR absent_before >= first_seen OR gone_by <= last_seen"
        " OR missing_since <= last_seen OR NOT json_valid(attributes)"
    ).fetchone()[0]
    if wrong:
        yield f"the bounds or attributes of {wrong} lives make no sense"
    for name, packed in db.execute(
        "SELECT name, listing FROM staged JOIN source ON source.id = source"
    ):
        try:
            json.loads(zlib.decompress(packed))
        except (ValueError, zlib.error) as error:
            yield f"the answer of {name} that waits cannot be read: {error}"
