"""Which source owns what in the state file, and how that is moved or removed.

An item belongs to one source, set sources have rows of their own, and notes,
forecasts and alerts carry a source's name. Every function here runs inside a
transaction of the caller (``SqliteStore.together``), so that a crash leaves all of a
change or none of it. The ledger and the runs are never changed: what was spent stays
spent.
"""

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from halflife.core.errors import UsageError
from halflife.stores import (
    change_log,
    columns,
    leases,
    note_rows,
    page_changes,
    page_versions,
)
from halflife.stores.database import Database
from halflife.stores.leases import source_id
from halflife.stores.tables import unpack

if TYPE_CHECKING:
    from halflife.stores import Store

_MINE = "(SELECT id FROM item WHERE source = ?1)"
# In this order no row is left that refers to a removed one.
_FORGET_ITEMS = (
    f"UPDATE linked SET same = NULL WHERE same IN {_MINE}",  # noqa: S608  (constants)
    f"DELETE FROM link WHERE page IN {_MINE} OR target IN {_MINE}",  # noqa: S608
    *(
        f"DELETE FROM {table} WHERE item IN {_MINE}"  # noqa: S608
        for table in (
            "held_page", "item_url", "old_key", "linked", "content", "gap",
            "hinted_gap", "evidence", "observation", "rolled", "rolled_gap",
            "rolled_hinted", "checked",
        )
    ),
    "DELETE FROM item WHERE source = ?1",
)  # fmt: skip
_SET_TABLES = ("life", "snapshot", "unobserved", "staged")
_OWNERS = """
SELECT s.name, count(item.id), count(*) FILTER (WHERE evidence.looks > 0),
    count(*) FILTER (WHERE evidence.seen = 1)
FROM source AS s LEFT JOIN item ON item.source = s.id
LEFT JOIN evidence ON evidence.item = item.id GROUP BY s.id ORDER BY s.name
"""
_HELD_PAGE = """
SELECT key, source.name, evidence.digest FROM item
JOIN evidence ON evidence.item = item.id JOIN source ON source.id = item.source
WHERE key = ? AND evidence.seen = 0 AND source.name <> ?
"""
_HELD_FOUND = """
SELECT key, source.name, evidence.digest FROM item
JOIN evidence ON evidence.item = item.id JOIN source ON source.id = item.source
WHERE added_at IS NOT NULL AND evidence.seen = 0 AND source.name = ?
"""
FOREIGN = """
SELECT j.value ->> 0, source.name, j.value ->> 1
FROM json_each(?) AS j JOIN item ON item.key = j.value ->> 0
JOIN source ON source.id = item.source WHERE source.name <> j.value ->> 1
"""


@dataclass(frozen=True, slots=True)
class SourceHoldings:
    """The number of pages and records that the state file holds of a source.

    Attributes:
        name: The source.
        items: Pages that belong to it.
        looked: Pages that were observed with success, including those that are gone.
        gone: Pages that were missing when they were last observed.
        objects: Objects of a set source that existed when it was last listed.
        history: Whether a reset would remove anything.

    """

    name: str
    items: int = 0
    looked: int = 0
    gone: int = 0
    objects: int = 0
    history: bool = False


@contextmanager
def reassigning(
    store: "Store", sources: tuple[str, ...], now: float
) -> Iterator[Database]:
    """Let the caller change the owner of what belongs to sources, all or nothing.

    Raise ``AlreadyRunning`` if another process syncs one of them, and ``UsageError`` if
    the store is in memory: it belongs to the settings of one program.
    """
    from halflife.stores.table_store import TableStore  # noqa: PLC0415  (it imports this)

    if not isinstance(store, TableStore):
        raise UsageError("pages change hands in a store that is kept only")
    with store.clearing(), store.together() as db:
        leases.free(db, sources, now, store.owner)
        yield db
    store.reread()


def owners(db: Database) -> list[SourceHoldings]:
    """Return every source that the file has data of, by name."""
    sets = dict(
        db.execute(
            "SELECT source, count(*) FILTER (WHERE gone_by IS NULL) FROM life"
            " GROUP BY source"
        ).fetchall()
    )
    listed = {row[0] for row in db.execute("SELECT DISTINCT source FROM snapshot")}
    number = dict(db.execute("SELECT name, id FROM source").fetchall())
    noted = note_rows.sources(db)
    found = []
    for name, items, looked, gone in db.execute(_OWNERS):
        has = bool(items) or number[name] in listed or name in noted
        objects = int(sets.get(number[name], 0))
        found.append(SourceHoldings(name, items, looked, gone, objects, has))
    return [holdings for holdings in found if holdings.history]


def foreign(
    db: Database, claims: Iterable[tuple[str, str]]
) -> list[tuple[str, str, str]]:
    """Return (key, owner, claimant) of items that another source owns.

    ``claims`` are pairs of an item's key and the source that claims it.
    """
    return [
        (str(key), str(owner), str(wants))
        for key, owner, wants in db.execute(FOREIGN, (json.dumps(list(claims)),))
    ]


def move(db: Database, keys: Iterable[str], to: str, now: float) -> int:
    """Give items to another source; return how many."""
    number = source_id(db, to)
    rows = [(number, key) for key in keys]
    held = [row for _, key in rows for row in db.execute(_HELD_PAGE, (key, to))]
    _report(db, held, to, now)
    db.executemany("UPDATE item SET source = ? WHERE key = ?", rows)
    return len(rows)


def _report(
    db: Database,
    held: Iterable[tuple[str, str, bytes | str]],
    to: str,
    now: float,
) -> None:
    """Log that held pages move to another source."""
    pages = ((key, source, unpack(digest)) for key, source, digest in held)
    change_log.append(db, page_changes.change_owner(pages, to, now))


def move_found(db: Database, source: str, to: str, now: float) -> int:
    """Give the items that a source discovered by itself to another; return how many."""
    _report(db, db.execute(_HELD_FOUND, (source,)).fetchall(), to, now)
    return db.execute(
        "UPDATE item SET source = ?"
        " WHERE added_at IS NOT NULL AND source = (SELECT id FROM source"
        " WHERE name = ?)",
        (source_id(db, to), source),
    ).rowcount


def rename(db: Database, old: str, new: str) -> None:
    """Give everything that belongs to a source to another name.

    If that source exists, its items stay and the others join them. A set source, and
    notes, can have only one history: raise ``UsageError`` if both have one.
    """
    mine, theirs = source_id(db, old), source_id(db, new)
    for table in _SET_TABLES:
        used = [_any(db, table, number) for number in (mine, theirs)]
        if all(used):
            raise UsageError(
                f"both {old} and {new} have a history of listings, which cannot be "
                f"joined; run `halflife source reset {new}` first"
            )
    db.execute("UPDATE item SET source = ? WHERE source = ?", (theirs, mine))
    for table in (*_SET_TABLES, "change"):
        db.execute(f"UPDATE {table} SET source = ? WHERE source = ?", (theirs, mine))  # noqa: S608
    for table in ("forecast", "checked"):
        db.execute(f"UPDATE {table} SET source = ? WHERE source = ?", (new, old))  # noqa: S608
    db.execute("DELETE FROM alarm WHERE source = ?", (new,))
    db.execute("UPDATE alarm SET source = ? WHERE source = ?", (new, old))
    _rename_notes(db, old, new)
    _rename_runs(db, old, new)
    columns.forget(db)
    db.execute("DELETE FROM source WHERE id = ?", (mine,))


def forget(db: Database, name: str) -> None:
    """Remove everything about a source, as if it had never been observed.

    Runs and the ledger stay: what was spent still counts.
    """
    number = source_id(db, name)
    page_versions.forget(db, number)
    for statement in _FORGET_ITEMS:
        db.execute(statement, (number,))
    _keep_numbers_apart(db)
    mine = "SELECT id FROM life WHERE source = ?"
    db.execute(f"DELETE FROM version WHERE life IN ({mine})", (number,))  # noqa: S608
    for table in (*_SET_TABLES, "change"):
        db.execute(f"DELETE FROM {table} WHERE source = ?", (number,))  # noqa: S608
    for table in ("forecast", "checked", "alarm"):
        db.execute(f"DELETE FROM {table} WHERE source = ?", (name,))  # noqa: S608
    note_rows.forget(db, name)
    columns.forget(db)


def _any(db: Database, table: str, source: int) -> bool:
    query = f"SELECT 1 FROM {table} WHERE source = ? LIMIT 1"  # noqa: S608
    return db.execute(query, (source,)).fetchone() is not None


def _rename_notes(db: Database, old: str, new: str) -> None:
    """Move the notes of a source to a new name; notes under that name stay."""
    if all(note_rows.numbers(db, name, note_rows.SUMMARY) for name in (old, new)):
        raise UsageError(
            f"both {old} and {new} have summaries, which cannot be joined; "
            f"run `halflife source reset {new}` first"
        )
    note_rows.rename(db, old, new)


def _rename_runs(db: Database, old: str, new: str) -> None:
    """Replace the old name by the new one in the runs that covered it.

    A hint counts if it was written by a run that covers the item's source.
    """
    query = "SELECT id, sources FROM run WHERE instr(sources, ?) > 0"
    for run, text in db.execute(query, (json.dumps(old),)).fetchall():
        names = json.loads(text)
        if old in names:
            covered = sorted({new if name == old else name for name in names})
            db.execute(
                "UPDATE run SET sources = ? WHERE id = ?", (json.dumps(covered), run)
            )


def _keep_numbers_apart(db: Database) -> None:
    """Keep new observations from getting numbers that were compacted already.

    The next number follows the largest in the log, which may have been removed.
    """
    newest = db.execute("SELECT coalesce(max(id), 0) FROM observation").fetchone()[0]
    db.execute(
        "UPDATE rolled_until SET observation = ?1 WHERE observation > ?1", (newest,)
    )
