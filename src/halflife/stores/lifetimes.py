"""Set sources as rows: snapshots, lifetimes and their versions; the SQL.

Unknown values are NULL: a beginning before the first snapshot, an end not seen yet,
the content of a version of which only the time was recorded.
"""

import json
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np

from halflife.core.arrays import Ints
from halflife.core.errors import UsageError
from halflife.core.lifetimes import Collection, Lives
from halflife.core.object_store import (
    NEVER,
    Attributes,
    Listing,
    Register,
    Snapshot,
    Spell,
    Version,
    columns,
)
from halflife.core.store import Run, Staged
from halflife.stores import attribute_text, change_log, record_changes
from halflife.stores.database import Database
from halflife.stores.leases import source_id

_SAVE_LIFE = """
INSERT INTO life
    (source, key, spell, absent_before, first_seen, last_seen, gone_by, missing_since,
     attributes)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (source, key, spell)
DO UPDATE SET
    last_seen = excluded.last_seen, gone_by = excluded.gone_by,
    missing_since = excluded.missing_since
"""
_TOUCH_LIFE = """
UPDATE life SET last_seen = ?, gone_by = ?, missing_since = ?
WHERE source = ? AND key = ? AND spell = ?
"""
_SAVE_VERSION = """
INSERT INTO version
SELECT id, ?, ? FROM life WHERE source = ? AND key = ? AND spell = ?
ON CONFLICT (life, seen_from) DO UPDATE SET attributes = excluded.attributes
"""
_LIVES = """
SELECT id, key, spell, coalesce(absent_before, -9e999), first_seen, last_seen,
    coalesce(gone_by, 9e999), coalesce(missing_since, 9e999), attributes
FROM life WHERE source = ? ORDER BY id
"""
_VERSIONS = """
SELECT life, seen_from{} FROM version
WHERE life IN (SELECT id FROM life WHERE source = ?) ORDER BY life, seen_from
"""
_KEPT = """
SELECT id FROM source WHERE name = ?1 AND EXISTS
    (SELECT 1 FROM snapshot WHERE snapshot.source = source.id)
"""
_WAITING = """
SELECT at FROM staged JOIN source ON source.id = staged.source WHERE name = ?
"""


def check_covered(run: Run, source: str) -> None:
    """Raise ``UsageError`` unless the run covers the source."""
    if source not in run.sources:
        held = ", ".join(run.sources)
        raise UsageError(f"run {run.id} covers {held}, not {source!r}")


def unknown_source(source: str) -> UsageError:
    """Return the error for a set source without data."""
    return UsageError(f"no set source is named {source!r}; import or sync it first")


def merge(
    old: Register, new: Register, known: record_changes.LivesInMemory
) -> Register:
    """Return the new register added to the old, in copies throughout.

    ``known`` has the lifetimes and versions of the old one.
    """
    spells = {**known.spells}
    for spell in new.spells:
        first = spells.get((spell.key, spell.spell), spell)
        spells[spell.key, spell.spell] = replace(
            first,
            last_seen=spell.last_seen,
            gone_by=spell.gone_by,
            missing_since=spell.missing_since,
        )
    versions = {**known.versions}
    versions |= {(v.key, v.spell, v.seen_from): v for v in new.versions}
    snapshots = {s.at: s for s in (*old.snapshots, *new.snapshots)}
    place = {spell: i for i, spell in enumerate(spells)}
    order = sorted(versions, key=lambda v: (place[v[0], v[1]], v[2]))
    return Register(
        [snapshots[at] for at in sorted(snapshots)],
        [replace(spell) for spell in spells.values()],
        [versions[v] for v in order],
        dict(new.unobserved),
    )


def overtakes(register: Register) -> bool:
    """Return whether the new snapshots include a valid one."""
    return any(snapshot.valid for snapshot in register.snapshots)


def names(db: Database) -> list[str]:
    """Return the set sources that have data."""
    query = (
        "SELECT name FROM source WHERE EXISTS"
        " (SELECT 1 FROM snapshot WHERE snapshot.source = source.id) ORDER BY name"
    )
    return [row[0] for row in db.execute(query)]


def collection(db: Database, name: str) -> Collection:
    """Return the history of a set source; raise ``UsageError`` if there is none."""
    source = _source(db, name)
    whole = [s.at for s in _snapshots(db, source) if s.valid and s.complete]
    ids, lives = _lives(db, source)
    found = db.execute(_VERSIONS.format(""), (source,)).fetchall()
    versions = np.array(found, dtype=np.float64).reshape(-1, 2)
    # Numbers are handed out in order, so rows are found by searching.
    row = np.searchsorted(ids, versions[:, 0].astype(np.intp))
    times = np.array(whole, dtype=np.float64)
    return Collection(name, times, lives, row, versions[:, 1].copy())


def _lives(db: Database, source: int) -> tuple[Ints, Lives]:
    """Return lifetimes as columns, and their numbers; fast for very many."""
    rows = db.execute(_LIVES, (source,)).fetchall()
    ids, keys, _, *times, _, texts = zip(*rows, strict=True) if rows else [()] * 9
    before, first, last, gone = (np.array(column, dtype=np.float64) for column in times)
    attributes = columns(json.loads(f"[{','.join(texts)}]"))
    lives = Lives(tuple(keys), before, first, last, gone, attributes)
    return np.array(ids, dtype=np.intp), lives


def read(db: Database, name: str) -> Register:
    """Return the register of a set source; raise ``UsageError`` if there is none."""
    source = _source(db, name)
    ids, spells = _spells(db, source)
    spell_of = dict(zip(ids, spells, strict=True))
    versions = []
    for life, seen_from, text in db.execute(
        _VERSIONS.format(", attributes"), (source,)
    ):
        spell = spell_of[life]
        content = json.loads(text) if text else None
        versions.append(Version(spell.key, spell.spell, seen_from, content))
    query = "SELECT grp, seen_until FROM unobserved WHERE source = ?"
    unobserved = dict(db.execute(query, (source,)))
    return Register(list(_snapshots(db, source)), spells, versions, unobserved)


def _is_kept(db: Database, name: str) -> bool:
    return db.execute(_KEPT, (name,)).fetchone() is not None


def _source(db: Database, name: str) -> int:
    row = db.execute(_KEPT, (name,)).fetchone()
    if row is None:
        raise unknown_source(name)
    return int(row[0])


def _spells(db: Database, source: int) -> tuple[list[int], list[Spell]]:
    rows = db.execute(_LIVES, (source,)).fetchall()
    # Parsing one long text is much faster than parsing many short ones.
    attributes = json.loads(f"[{','.join(row[-1] for row in rows)}]")
    spells = [
        Spell(key, spell, before, first, last, gone, missing, record)
        for (_, key, spell, before, first, last, gone, missing, _), record in zip(
            rows, attributes, strict=True
        )
    ]
    return [row[0] for row in rows], spells


def log_changes(
    db: Database, run: Run, name: str, register: Register, *, anew: bool
) -> None:
    """Log the changes that saving this register will make."""
    if anew:
        old = read(db, name) if _is_kept(db, name) else Register()
        found = record_changes.replacement_changes(name, old, register, run.began)
        change_log.append(db, found)
        return
    at = db.execute(_WAITING, (name,)).fetchone()
    change_log.append(
        db, record_changes.acceptance_changes(name, register, at and float(at[0]))
    )
    log_shown(db, name, register)


def log_shown(db: Database, name: str, register: Register) -> None:
    """Log the changes of records that adding to a register will make."""
    lives = record_changes.LifeRows(db, name)
    # Rows, not changes: a new listing has as many as it has records.
    make = change_log.as_rows(source_id(db, name))
    change_log.append_rows(db, record_changes.find(register, lives, make))


def save(
    db: Database,
    name: str,
    register: Register,
    *,
    anew: bool = False,
    keeps_staged: bool = False,
) -> None:
    """Add to the stored register of a set source, or replace it.

    A listing that waits for a decision is dropped when a valid snapshot is saved,
    unless this is a part of that listing (``keeps_staged``).
    """
    source = source_id(db, name)
    if anew:
        forget(db, source)
    if overtakes(register) and not keeps_staged:
        db.execute("DELETE FROM staged WHERE source = ?", (source,))
    db.execute("DELETE FROM unobserved WHERE source = ?", (source,))
    db.executemany(
        "REPLACE INTO snapshot VALUES (?, ?, ?, ?, ?, ?, ?)",
        (
            (source, s.at, int(s.valid), int(s.complete), s.note, s.n, s.missing)
            for s in register.snapshots
        ),
    )
    _save_lives(db, source, register)
    rows = (
        (v.seen_from, _text(v.attributes), source, v.key, v.spell)
        for v in register.versions
    )
    db.executemany(_SAVE_VERSION, rows)
    db.executemany(
        "INSERT INTO unobserved VALUES (?, ?, ?)",
        [(source, group, seen) for group, seen in register.unobserved.items()],
    )


def _save_lives(db: Database, source: int, register: Register) -> None:
    """Write lifetimes; of those that began before, only their progress.

    Their attributes, most of the data, are as they were first seen.
    """
    began = min((s.at for s in register.snapshots), default=-NEVER)
    old = [s for s in register.spells if s.first_seen < began]
    rows = (
        (s.last_seen, _finite(s.gone_by), _finite(s.missing_since), source, s.key,
         s.spell)
        for s in old
    )  # fmt: skip
    known = db.executemany(_TOUCH_LIFE, rows).rowcount if old else 0
    fresh = register.spells
    if known == len(old):  # else some are not stored yet, and all are written whole
        fresh = [s for s in register.spells if not s.first_seen < began]
    db.executemany(_SAVE_LIFE, _life_rows(source, fresh))


def forget(db: Database, source: int) -> None:
    """Remove all data of a set source."""
    db.execute(
        "DELETE FROM version WHERE life IN (SELECT id FROM life WHERE source = ?)",
        (source,),
    )
    for table in ("life", "snapshot", "unobserved", "staged"):
        db.execute(f"DELETE FROM {table} WHERE source = ?", (source,))  # noqa: S608  (our own names)


def stage(db: Database, run: int, name: str, listing: Listing, why: str) -> None:
    """Put a listing aside until a decision; it replaces an earlier one."""
    source = source_id(db, name)
    old = db.execute("DELETE FROM staged WHERE source = ?", (source,)).rowcount
    if not old:  # people need only one notice of a pending decision
        change_log.append(db, [record_changes.staging_change(name, listing.at, why)])
    fields = [listing.complete, listing.note, dict(listing.records)]
    body = json.dumps([*fields, sorted(listing.absent), listing.keyless])
    packed = zlib.compress(body.encode())
    db.execute(
        "INSERT INTO staged VALUES (?, ?, ?, ?, ?)",
        (source, run, listing.at, why, packed),
    )


def staged(db: Database) -> list[Staged]:
    """Return the listings that wait for a decision, oldest first."""
    query = (
        "SELECT run, name, at, why, listing FROM staged"
        " JOIN source ON source.id = source ORDER BY run, name"
    )
    found = []
    for run, name, at, why, packed in db.execute(query):
        complete, note, records, *rest = json.loads(zlib.decompress(packed))
        absent = frozenset(rest[0] if rest else ())
        keyless = rest[1] if len(rest) > 1 else 0
        listing = Listing(at, records, complete, note, absent, keyless)
        found.append(Staged(run, name, listing, why))
    return found


def dismiss(db: Database, run: int) -> int:
    """Drop the listings that a run put aside; return how many there were."""
    return db.execute("DELETE FROM staged WHERE run = ?", (run,)).rowcount


def _snapshots(db: Database, source: int) -> Iterator[Snapshot]:
    query = (
        "SELECT at, n, missing, valid, complete, note FROM snapshot"
        " WHERE source = ? ORDER BY at"
    )
    for at, n, missing, valid, complete, note in db.execute(query, (source,)):
        yield Snapshot(at, n, missing, bool(valid), bool(complete), note)


def _life_rows(source: int, spells: Iterable[Spell]) -> Iterator[tuple[object, ...]]:
    for s in spells:
        bounds = (_finite(s.absent_before), s.first_seen, s.last_seen)
        end = (_finite(s.gone_by), _finite(s.missing_since))
        text = attribute_text.of_record(s.attributes)
        yield (source, s.key, s.spell, *bounds, *end, text)


def _finite(moment: float) -> float | None:
    return moment if -NEVER < moment < NEVER else None


def _text(attributes: Attributes | None) -> str | None:
    return None if attributes is None else attribute_text.of_record(attributes)
