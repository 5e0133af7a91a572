r"""Items, observations and copies as rows: the SQL, and the format of values.

A fingerprint of 128 bits is written as its 16 bytes, any other as its text; both are
read back unchanged. PostgreSQL stores the bytes as text, ``\x`` and 32 digits.
"""

import json
import re
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import astuple, replace
from itertools import repeat
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from halflife.core.arrays import Ints
from halflife.core.evidence import Evidence
from halflife.core.history import History
from halflife.core.host import HostState
from halflife.core.item import Item
from halflife.core.observation import Content, Observation, Observations, Seen
from halflife.stores import answer_heads, spellings
from halflife.stores.database import Database
from halflife.stores.leases import source_id

Row: TypeAlias = tuple[Any, ...]

CHUNK = 10_000  # rows read at a time
_HEX = re.compile(r"[0-9a-f]{32}")
_WRITTEN = re.compile(r"\\x[0-9a-f]{32}")
_FAILURE = """
SELECT note FROM observation JOIN item ON item.id = item
WHERE key = ? AND at = ? AND seen = 2
"""
# CHOSEN in the queries below: the sources in a JSON list, or all if it is empty.
CHOSEN = (
    "(SELECT id FROM source"
    " WHERE ?1 = '[]' OR name IN (SELECT value FROM json_each(?1)))"
)
_ADD_ITEM = """
INSERT INTO item (source, key, weight, cost, grp, added_at) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (key)
DO UPDATE SET weight = excluded.weight WHERE item.weight <> excluded.weight
"""
_ADD = """
INSERT INTO observation VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (item, at, seen, digest) DO NOTHING
"""
ITEMS = """
SELECT item.id, key, source.name, weight, cost, item_group.name
FROM item JOIN source ON source.id = source JOIN item_group ON item_group.id = grp
WHERE source IN CHOSEN ORDER BY item.id
"""
_NUMBERS = "SELECT source, id FROM item WHERE source IN CHOSEN ORDER BY id"
_RANGES = (
    "SELECT source, count(*), min(id), max(id) FROM item"
    " WHERE source IN CHOSEN GROUP BY source"
)
# A hint counts if it was written by a run that covers the item's source: while another
# run holds the lease on that source, only that one may change its evidence.
_LOG = """
SELECT item.id, key, at, seen, digest, modified
FROM observation JOIN item ON item.id = item
JOIN run ON run.id = run JOIN source ON source.id = source
WHERE source IN CHOSEN AND
    (seen < 3 OR source.name IN (SELECT value FROM json_each(run.sources)))
ORDER BY observation.id
"""
_HELD = """
SELECT o.at, o.seen, o.digest, raw, etag, modified, note
FROM item JOIN evidence ON evidence.item = item.id
JOIN observation AS o ON o.id = held WHERE key = ?
"""
_CONTENT = """
SELECT media_type, body, head FROM content JOIN item ON item.id = item WHERE key = ?
"""


class ItemFilter(NamedTuple):
    """A condition on the items of sources, with its parameters."""

    where: str = ""
    parameters: tuple[int, ...] = ()


ALL = ItemFilter()


def pack(fingerprint: str) -> bytes | str:
    """Return a fingerprint as it is stored."""
    return bytes.fromhex(fingerprint) if _HEX.fullmatch(fingerprint) else fingerprint


def unpack(value: bytes | str) -> str:
    """Return a stored fingerprint as text."""
    if isinstance(value, bytes):
        return value.hex()
    return value[2:] if _WRITTEN.fullmatch(value) else value


def add_items(db: Database, items: Iterable[Item], at: float | None = None) -> None:
    """Add items; of a known one, only the weight is updated."""
    items = list(items)
    source = {name: source_id(db, name) for name in {i.source for i in items}}
    group = {name: _group_id(db, name) for name in {i.group for i in items}}
    db.executemany(
        _ADD_ITEM,
        (
            (source[i.source], i.key, i.weight, i.cost, group[i.group], at)
            for i in items
        ),
    )
    spellings.save_urls(db, items)


def item_id(db: Database, key: str) -> int | None:
    """Return the number of an item; None if it is not known."""
    row = db.execute("SELECT id FROM item WHERE key = ?", (key,)).fetchone()
    return row and int(row[0])


def item_ids(db: Database, keys: Sequence[str]) -> dict[str, int]:
    """Return the numbers of known items by their keys."""
    if isinstance(db, sqlite3.Connection):  # single queries cost no round trip
        found = ((key, item_id(db, key)) for key in keys)
        return {key: number for key, number in found if number is not None}
    query = "SELECT key, id FROM item WHERE key = ANY(?)"
    parts = (list(keys[at : at + CHUNK]) for at in range(0, len(keys), CHUNK))
    return {key: n for part in parts for key, n in db.execute(query, (part,))}


def is_known(db: Database, key: str) -> bool:
    """Return whether an item is known."""
    return item_id(db, key) is not None


def source_of(db: Database, key: str) -> str | None:
    """Return the source that an item belongs to; None if it is not known."""
    query = "SELECT name FROM source JOIN item ON source.id = source WHERE key = ?"
    row = db.execute(query, (key,)).fetchone()
    return row and str(row[0])


def items(db: Database, sources: Sequence[str]) -> list[Item]:
    """Return the items of sources, in the order in which they were added."""
    urls = spellings.urls(db)
    rows = (row for rows in chunks(db, ITEMS, sources) for row in rows)
    items = ((row[0], Item(*row[1:])) for row in rows)
    return [replace(i, url=urls[n]) if n in urls else i for n, i in items]


def numbers(db: Database, sources: Sequence[str]) -> dict[str, Ints]:
    """Return the numbers of each source's items, ascending."""
    names = dict(db.execute("SELECT id, name FROM source").fetchall())
    found = [row for rows in chunks(db, _RANGES, sources) for row in rows]
    if all(last - first + 1 == count for _, count, first, last in found):
        # Added one after the other, like a million pages of one site.
        return {names[c]: np.arange(a, b + 1, dtype=np.intp) for c, _, a, b in found}
    return _each_number(db, sources, names)


def _each_number(
    db: Database, sources: Sequence[str], names: dict[int, str]
) -> dict[str, Ints]:
    """Return the same where the numbers of sources are interleaved."""
    codes, numbers = [np.zeros(0, np.int32)], [np.zeros(0, np.intp)]
    for rows in chunks(db, _NUMBERS, sources):
        code, number = zip(*rows, strict=True)
        codes.append(np.array(code, np.int32))
        numbers.append(np.array(number, np.intp))
    source = np.concatenate(codes)
    order = np.argsort(source, kind="stable")
    present, first = np.unique(source[order], return_index=True)
    mine = np.split(np.concatenate(numbers)[order], first[1:])
    found = zip(present.tolist(), mine, strict=False)  # splitting nothing gives a part
    return {names[code]: rows for code, rows in found}


def number(db: Database, known: Evidence) -> None:
    """Set the numbers of items that were added to the evidence."""
    rows = np.flatnonzero(known.number < 0)
    found = item_ids(db, [known.keys[row] for row in rows])
    for row in rows:
        known.number[row] = found.get(known.keys[row], -1)


def rows_by_source(
    db: Database, sources: Sequence[str], evidence: Evidence
) -> dict[str, Ints]:
    """Return the rows of each source's items in evidence, ascending."""
    order = np.argsort(evidence.number, kind="stable")
    have = evidence.number[order]
    found = {}
    for name, own in numbers(db, sources).items():
        at = np.minimum(np.searchsorted(have, own), max(have.size - 1, 0))
        found[name] = np.sort(order[at[have[at] == own]]) if have.size else at[:0]
    return found


def item_count(db: Database, sources: Sequence[str]) -> int:
    """Return how many items sources have; of all, quickly, the newest number."""
    if not sources:
        return int(db.execute("SELECT coalesce(max(id), 0) FROM item").fetchone()[0])
    return sum(rows.size for rows in numbers(db, sources).values())


def failure_notes(db: Database, tried: Iterable[tuple[str, float]]) -> list[str]:
    """Return the notes of failed observations, given by item and time."""
    return [str(row[0]) for fetch in tried for row in db.execute(_FAILURE, fetch)]


def host(db: Database, name: str) -> HostState | None:
    """Return the stored state of a host."""
    row = db.execute("SELECT * FROM host WHERE name = ?", (name,)).fetchone()
    return HostState(*row) if row else None


def save_host(db: Database, state: HostState) -> None:
    """Store the state of a host."""
    db.execute("REPLACE INTO host VALUES (?, ?, ?, ?, ?, ?)", astuple(state))


def insert_observations(
    db: Database, run: int, batch: Observations, known: Evidence
) -> tuple[Observations, Ints]:
    """Write observations; return the new ones, and their places in the log."""
    first = 1 + (db.execute("SELECT max(id) FROM observation").fetchone()[0] or 0)
    rows = _observation_rows(run, batch, _numbers(db, batch.keys, known), first)
    written = db.executemany(_ADD, rows)
    if written.rowcount == len(batch):
        return batch, np.arange(first, first + len(batch))
    query = "SELECT id FROM observation WHERE id >= ? ORDER BY id"
    places = [row[0] for row in db.execute(query, (first,))]
    return batch.take([p - first for p in places]), np.array(places, dtype=np.intp)


def content(db: Database, key: str) -> Content | None:
    """Read the copy of an item."""
    row = db.execute(_CONTENT, (key,)).fetchone()
    if row is None:
        return None
    return Content(row[0], zlib.decompress(row[1]), answer_heads.unpack(row[2]))


def held(db: Database, key: str) -> Observation | None:
    """Read the last good observation of an item."""
    row = db.execute(_HELD, (key,)).fetchone()
    if row is None:
        return None
    at, seen, digest, raw, *rest = row
    return Observation(key, at, Seen(seen), unpack(digest), unpack(raw), *rest)


def history(db: Database, sources: Sequence[str]) -> History:
    """Read every good observation."""
    known = [row[:2] for rows in chunks(db, ITEMS, sources) for row in rows]
    number = np.array([row[0] for row in known], dtype=np.intp)
    codes: dict[bytes | str, int] = {}
    parts = [np.zeros((0, 4))]
    for rows in chunks(db, _LOG, sources):
        good = [
            (item, at, seen, codes.setdefault(digest, len(codes)))
            for item, _, at, seen, digest, _ in rows
            if seen <= Seen.ABSENT
        ]
        parts.append(np.array(good, dtype=np.float64).reshape(-1, 4))
    item, at, seen, code = np.concatenate(parts).T
    return History.from_columns(
        tuple(row[1] for row in known),
        np.searchsorted(number, item),
        at,
        seen.astype(np.int8),
        code.astype(np.intp),
    )


def _observation_rows(
    run: int, batch: Observations, numbers: Sequence[int | None], first: int
) -> Iterator[Row]:
    digest = map(pack, batch.digest)
    columns = numbers, batch.at.tolist(), batch.seen.tolist(), digest
    more: Iterable[Row] = repeat(("", "", None, ""), len(batch))
    if batch.details:
        more = ((pack(o.raw), _text(o.etag), o.modified, _text(o.note)) for o in batch)
    rows = zip(zip(*columns, strict=True), more, strict=True)
    return ((first + i, run, *row, *rest) for i, (row, rest) in enumerate(rows))


def _numbers(db: Database, keys: Sequence[str], known: Evidence) -> list[int | None]:
    """Return the numbers of items; those of other sources need a query."""
    rows = [known.row(key) for key in keys]
    return [
        item_id(db, key) if row is None else int(known.number[row])
        for key, row in zip(keys, rows, strict=True)
    ]


def _text(remote: str) -> str:
    """Return a text of a server in a form that can be stored."""
    return remote.encode("utf-8", "replace").decode()


def _group_id(db: Database, name: str) -> int:
    insert = "INSERT INTO item_group (name) VALUES (?) ON CONFLICT DO NOTHING"
    db.execute(insert, (name,))
    query = "SELECT id FROM item_group WHERE name = ?"
    return int(db.execute(query, (name,)).fetchone()[0])


def chunks(
    db: Database, query: str, sources: Sequence[str], chosen: ItemFilter = ALL
) -> Iterator[list[Row]]:
    """Yield the rows of sources in chunks; ``query`` contains CHOSEN."""
    query = query.replace("CHOSEN", CHOSEN + chosen.where)
    cursor = db.execute(query, (json.dumps(list(sources)), *chosen.parameters))
    while rows := cursor.fetchmany(CHUNK):
        yield rows
