"""The copies held of sources, one record or page after the other.

Nothing is read as a whole: a source may have a million records. Attributes are passed
as the stored JSON text, as most readers only copy them.
"""

import json
import sqlite3
import zlib
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from halflife.stores import answer_heads, page_versions
from halflife.stores.database import Database
from halflife.stores.tables import unpack

if TYPE_CHECKING:
    from halflife.core.object_store import Attributes, Spell
    from halflife.stores.connection import Tables
    from halflife.stores.memory import MemoryStore

CHUNK = 1000  # rows read at a time
_MINE = "(SELECT id FROM source WHERE name = ?1)"
_CURRENT = f"""
SELECT key, first_seen, last_seen, coalesce(
    (SELECT attributes FROM version WHERE life = life.id AND attributes IS NOT NULL
     ORDER BY seen_from DESC LIMIT 1), attributes)
FROM life WHERE +source = {_MINE} AND gone_by IS NULL ORDER BY id
"""  # noqa: S608  (constants)
_ONE = f"""
SELECT key, first_seen, last_seen, coalesce(
    (SELECT attributes FROM version WHERE life = life.id AND attributes IS NOT NULL
     ORDER BY seen_from DESC LIMIT 1), attributes)
FROM life WHERE source = {_MINE} AND key = ?2 AND gone_by IS NULL
"""  # noqa: S608
_THEN = f"""
SELECT key, first_seen, min(last_seen, ?2), coalesce(
    (SELECT attributes FROM version WHERE life = life.id AND attributes IS NOT NULL
     AND seen_from <= ?2 ORDER BY seen_from DESC LIMIT 1), attributes)
FROM life WHERE +source = {_MINE} AND first_seen <= ?2
    AND (gone_by IS NULL OR gone_by > ?2) ORDER BY id
"""  # noqa: S608
_HISTORY = f"""
SELECT life.id, key, first_seen, gone_by, life.attributes, seen_from, version.attributes
FROM life LEFT JOIN version ON version.life = life.id AND version.attributes IS NOT NULL
WHERE +life.source = {_MINE} ORDER BY life.id, seen_from
"""  # noqa: S608
# For one record, the index of keys leads to its lifetimes.
_HISTORY_OF = _HISTORY.replace("+life.source", "key = ?2 AND life.source")
_PAGES = f"""
SELECT item.id, item.key, evidence.last_at, evidence.digest, content.at,
    content.media_type, content.body, content.head
FROM item JOIN evidence ON evidence.item = item.id
LEFT JOIN content ON content.item = item.id
WHERE +item.source = {_MINE} AND evidence.seen = 0 ORDER BY item.id
"""  # noqa: S608
_ITEMS = f"SELECT id, key FROM item WHERE +source = {_MINE} ORDER BY id"  # noqa: S608
_VERSIONS = """
SELECT v.at, v.digest, v.media_type, b.body, 1, v.head FROM page_version AS v
JOIN page_body AS b ON b.id = v.body WHERE v.item = ?1
UNION ALL
SELECT at, digest, media_type, body, 0, head FROM content WHERE item = ?1 ORDER BY 1
"""
_SEEN = """
SELECT seen FROM observation WHERE item = ? AND at <= ? AND seen < 2
ORDER BY at DESC, id DESC LIMIT 1
"""
_FIELDS = f"""
SELECT DISTINCT j.key, j.type FROM life, json_each(life.attributes) AS j
WHERE +life.source = {_MINE}
UNION
SELECT j.key, j.type FROM life JOIN version ON version.life = life.id,
    json_each(version.attributes) AS j WHERE +life.source = {_MINE}
"""  # noqa: S608
_TYPES = {
    "integer": int, "real": float, "true": bool, "false": bool, "null": None,
    "array": list, "object": dict,
}  # fmt: skip
_NAMED = """
SELECT DISTINCT source.name FROM life JOIN source ON source.id = life.source
WHERE key = ? ORDER BY 1
"""


_NO_COPY = ("", None, "")


class RecordRow(NamedTuple):
    """A record, or one of its versions.

    Attributes:
        key: The record.
        begins: When it was first seen so, in days.
        ends: When it was last seen; of a version, when it was no longer so, or None
            while it is.
        text: Its attributes, JSON.

    """

    key: str
    begins: float
    ends: float | None
    text: str


class PageRow(NamedTuple):
    """A page, or one of its versions.

    Attributes:
        key: Its address.
        begins: When its text was first seen, in days, if its body is stored.
        ends: When it was last seen; of a version, when its text had changed.
        digest: The fingerprint of its text.
        media_type: The media type of its body.
        body: Its body; None if it is not stored.
        head: The headers that came with it; empty if they are not stored.

    """

    key: str
    begins: float | None
    ends: float | None
    digest: str
    media_type: str
    body: bytes | None
    head: str = ""


class Holdings(Protocol):
    """The records and pages held of sources, as rows."""

    def records(self, source: str, at: float | None = None) -> Iterator[RecordRow]:
        """Return the records that exist now, or existed at a moment."""
        ...

    def record(self, source: str, key: str) -> RecordRow | None:
        """Return a record; None if it does not exist now."""
        ...

    def record_history(
        self, source: str, key: str | None = None
    ) -> Iterator[RecordRow]:
        """Return all versions of the records of a source, or of one of them."""
        ...

    def fields(self, source: str) -> dict[str, set[type]]:
        """Return the fields that records of a source have or had, and their types."""
        ...

    def pages(self, source: str, at: float | None = None) -> Iterator[PageRow]:
        """Return the pages that exist now, or existed at a moment if that is stored."""
        ...

    def page_history(self, source: str) -> Iterator[PageRow]:
        """Return all stored versions of pages."""
        ...

    def sources_of(self, key: str) -> list[str]:
        """Return the sources that have, or had, a record of this key."""
        ...


class HoldingRows:
    """The records and pages held in a database."""

    def __init__(self, store: "Tables") -> None:
        self._store = store

    def records(self, source: str, at: float | None = None) -> Iterator[RecordRow]:
        """Return the records that exist now, or existed at a moment."""
        with self._store.reading() as db:
            query = _CURRENT if at is None else _THEN
            parameters = (source,) if at is None else (source, at)
            yield from map(RecordRow._make, _rows(db, query, parameters))

    def record(self, source: str, key: str) -> RecordRow | None:
        """Return a record; None if it does not exist now."""
        with self._store.reading() as db:
            row = db.execute(_ONE, (source, key)).fetchone()
        return None if row is None else RecordRow._make(row)

    def record_history(
        self, source: str, key: str | None = None
    ) -> Iterator[RecordRow]:
        """Return all versions of the records of a source, or of one of them."""
        with self._store.reading() as db:
            life, last = None, None
            parameters = (source,) if key is None else (source, key)
            for row in _rows(db, _HISTORY if key is None else _HISTORY_OF, parameters):
                number, name, first, gone, text, seen_from, later = row
                if number != life:
                    if last is not None:
                        yield last
                    life, last = number, RecordRow(name, first, gone, text)
                if seen_from is not None and last is not None:
                    yield last._replace(ends=seen_from)
                    last = RecordRow(name, seen_from, gone, later)
            if last is not None:
                yield last

    def fields(self, source: str) -> dict[str, set[type]]:
        """Return the fields that records of a source have or had, and their types."""
        first = next(self.record_history(source), None)
        found: dict[str, set[type]] = {}
        if first is not None:  # in the order of a record
            found = {name: set() for name in json.loads(first.text)}
        with self._store.reading() as db:
            if not isinstance(db, sqlite3.Connection):
                return _fields(self.record_history(source))
            for name, kind in sorted(db.execute(_FIELDS, (source,))):
                kept = found.setdefault(name, set())
                python_type = _TYPES.get(kind, str)
                if python_type is not None:
                    kept.add(python_type)
        return found

    def pages(self, source: str, at: float | None = None) -> Iterator[PageRow]:
        """Return the pages that exist now, or existed at a moment if that is stored."""
        if at is not None:
            yield from self._pages_at(source, at)
            return
        with self._store.reading() as db:
            for _, key, last, digest, *copy in _rows(db, _PAGES, (source,)):
                first, kind, body, head = copy
                whole = None if body is None else zlib.decompress(body)
                values = (unpack(digest), kind or "", whole)
                yield PageRow(key, first, last, *values, answer_heads.unpack(head))

    def _pages_at(self, source: str, at: float) -> Iterator[PageRow]:
        with self._store.reading() as db:
            for item, key in _rows(db, _ITEMS, (source,)):
                seen = db.execute(_SEEN, (item, at)).fetchone()
                if seen is not None and seen[0] == 0:
                    rows = _versions(db, item, key)
                    yield from [r for r in rows if (r.begins or 0) <= at][-1:]

    def page_history(self, source: str) -> Iterator[PageRow]:
        """Return all stored versions of pages."""
        with self._store.reading() as db:
            for item, key in _rows(db, _ITEMS, (source,)):
                yield from _versions(db, item, key)

    def sources_of(self, key: str) -> list[str]:
        """Return the sources that have, or had, a record of this key."""
        with self._store.reading() as db:
            return [name for (name,) in db.execute(_NAMED, (key,))]


def _rows(
    db: Database, query: str, parameters: Sequence[object]
) -> Iterator[Sequence[Any]]:
    cursor = db.execute(query, parameters)
    while rows := cursor.fetchmany(CHUNK):
        yield from rows


def _versions(db: Database, item: object, key: object) -> list[PageRow]:
    """Return the versions of a page, oldest first."""
    found = []
    for at, digest, kind, packed, is_old, head in db.execute(_VERSIONS, (item,)):
        body = page_versions.decompress(packed) if is_old else zlib.decompress(packed)
        values = (unpack(digest), kind, body, answer_heads.unpack(head))
        found.append(PageRow(str(key), at, None, *values))
    return _ended(found)


def _ended(rows: Sequence[PageRow]) -> list[PageRow]:
    """Return versions that end where the next one begins."""
    later = [row.begins for row in rows[1:]]
    return [row._replace(ends=end) for row, end in zip_longest(rows, later)]


def _fields(rows: Iterator[RecordRow]) -> dict[str, set[type]]:
    """Return the fields of records in the order of the first, the others by name."""
    found: dict[str, set[type]] = {}
    own: list[str] | None = None
    for row in rows:
        fields = json.loads(row.text)
        own = list(fields) if own is None else own
        for name, value in fields.items():
            kept = found.setdefault(name, set())
            if value is not None:
                kept.add(type(value))
    first = own or []
    return {name: found[name] for name in [*first, *sorted(found.keys() - set(first))]}


class MemoryHoldings:
    """The records and pages held by a store in memory."""

    def __init__(self, store: "MemoryStore") -> None:
        self._store = store

    def records(self, source: str, at: float | None = None) -> Iterator[RecordRow]:
        """Return the records that exist now, or existed at a moment."""
        for spell, rows in self._lives(source):
            if at is None and spell.gone_by == float("inf"):
                last = spell.last_seen
                yield RecordRow(spell.key, spell.first_seen, last, rows[-1].text)
            elif at is not None and spell.first_seen <= at < spell.gone_by:
                text = [row.text for row in rows if row.begins <= at][-1]
                last = min(spell.last_seen, at)
                yield RecordRow(spell.key, spell.first_seen, last, text)

    def record(self, source: str, key: str) -> RecordRow | None:
        """Return a record; None if it does not exist now."""
        return next((row for row in self.records(source) if row.key == key), None)

    def record_history(
        self, source: str, key: str | None = None
    ) -> Iterator[RecordRow]:
        """Return all versions of the records of a source, or of one of them."""
        for spell, rows in self._lives(source):
            if key in {None, spell.key}:
                yield from rows

    def _lives(self, source: str) -> Iterator[tuple["Spell", list[RecordRow]]]:
        if source not in self._store.collections():
            return
        register = self._store.register(source)
        later: dict[tuple[str, int], list[tuple[float, str]]] = {}
        for version in register.versions:
            if version.attributes is not None:
                mine = later.setdefault((version.key, version.spell), [])
                mine.append((version.seen_from, _text(version.attributes)))
        for spell in register.spells:
            versions = [(spell.first_seen, _text(spell.attributes))]
            versions += later.get((spell.key, spell.spell), [])
            gone = None if spell.gone_by == float("inf") else spell.gone_by
            ends = [at for at, _ in versions[1:]] + [gone]
            yield (
                spell,
                [
                    RecordRow(spell.key, at, end, text)
                    for (at, text), end in zip(versions, ends, strict=True)
                ],
            )

    def fields(self, source: str) -> dict[str, set[type]]:
        """Return the fields that records of a source have or had, and their types."""
        return _fields(self.record_history(source))

    def pages(self, source: str, at: float | None = None) -> Iterator[PageRow]:
        """Return the pages that exist now, or existed at a moment if that is stored."""
        for item in self._store.items([source]):
            (held,) = self._store.held([item.key])
            if at is None and held is not None and held.seen == 0:
                found = self._store.content(item.key)
                first = next((v.at for v in self._store.versions.of(item.key)), None)
                copy = (found.media_type, found.body, found.head) if found else _NO_COPY
                yield PageRow(item.key, first, held.at, held.digest, *copy)
            elif at is not None:
                rows = [r for r in self._versions(item.key) if (r.begins or 0) <= at]
                yield from rows[-1:]

    def page_history(self, source: str) -> Iterator[PageRow]:
        """Return all stored versions of pages."""
        for item in self._store.items([source]):
            yield from self._versions(item.key)

    def _versions(self, key: str) -> list[PageRow]:
        found = []
        for version in self._store.versions.of(key)[::-1]:
            content = self._store.versions.content(key, version)
            copy = (None,) if content is None else (content.body, content.head)
            about = (version.digest, version.media_type)
            found.append(PageRow(key, version.at, None, *about, *copy))
        return _ended(found)

    def sources_of(self, key: str) -> list[str]:
        """Return the sources that have, or had, a record of this key."""
        names = self._store.collections()
        return [n for n in names if any(self.record_history(n, key))]


def _text(attributes: "Attributes") -> str:
    return json.dumps(dict(attributes), ensure_ascii=False, separators=(",", ":"))
