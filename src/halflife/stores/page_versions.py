"""Earlier bodies of pages, as rows: the SQL.

The table ``content`` holds the body of each page as it was last seen. When a body with
another text replaces it, the old one comes here, with the moment at which its text was
first seen. Equal bodies are stored once. An answer that waits for a decision is in
neither table, so it counts as a version only once it is accepted.
"""

import zlib
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from halflife.core.observation import Content, Observation
from halflife.stores import answer_heads
from halflife.stores.database import Database
from halflife.stores.tables import item_id, pack, unpack

if TYPE_CHECKING:
    from halflife.stores.connection import Tables

MOST = 5  # stored bodies of a page, the current one included
LEVEL = 3  # of zstd: its default; half the size of what ``content`` holds
LARGEST = 1 << 28  # bytes of a body; larger ones are never fetched
STATEMENTS = (
    # Of the text, as in the observation that brought the body.
    "ALTER TABLE content ADD COLUMN digest ANY NOT NULL DEFAULT ''",
    """
UPDATE content SET digest =
    coalesce((SELECT digest FROM evidence WHERE evidence.item = content.item), '')""",
    """
CREATE TABLE page_body (  -- bodies of earlier versions, each once
    id INTEGER PRIMARY KEY,
    hash BLOB NOT NULL UNIQUE,  -- BLAKE2 of the body, 16 bytes
    body BLOB NOT NULL  -- zstd
) STRICT""",
    """
CREATE TABLE page_version (  -- what a page was before it became another
    id INTEGER PRIMARY KEY,
    item INTEGER NOT NULL REFERENCES item (id),
    at REAL NOT NULL,  -- when its text was first seen
    digest ANY NOT NULL,
    raw ANY NOT NULL,
    media_type TEXT NOT NULL,
    body INTEGER NOT NULL REFERENCES page_body (id)
) STRICT""",
    "CREATE INDEX page_version_of_item ON page_version (item)",
    "CREATE INDEX page_version_of_body ON page_version (body)",
)
_CURRENT = "SELECT at, digest, raw, media_type, head, body FROM content WHERE item = ?"
_REPLACE = """
REPLACE INTO content (item, at, raw, media_type, body, digest, head)
VALUES (?, ?, ?, ?, ?, ?, ?)
"""
_ADD_BODY = "INSERT INTO page_body (hash, body) VALUES (?, ?) ON CONFLICT DO NOTHING"
_ADD = """
INSERT INTO page_version (item, at, digest, raw, media_type, head, body)
VALUES (?, ?, ?, ?, ?, ?, (SELECT id FROM page_body WHERE hash = ?))
"""
_OLD = """
SELECT id, body FROM page_version WHERE item = ? ORDER BY id DESC LIMIT -1 OFFSET ?
"""
_UNUSED = """
DELETE FROM page_body
WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM page_version WHERE body = ?1)
"""
_ITEMS = "SELECT item FROM page_version GROUP BY item HAVING count(*) > ?"
_ALL = """
SELECT at, digest, media_type, 0 AS n, length(body) FROM content WHERE item = ?1
UNION ALL
SELECT at, digest, media_type, id,
    (SELECT length(page_body.body) FROM page_body WHERE id = page_version.body)
FROM page_version WHERE item = ?1
"""
_BODY = """
SELECT media_type, page_body.body, head FROM page_version
JOIN page_body ON page_body.id = page_version.body WHERE page_version.id = ?
"""


@dataclass(frozen=True, slots=True)
class PageVersion:
    """A former or current text of a page.

    Attributes:
        at: When it was first seen, in days; for the current one, when its body was.
        digest: The fingerprint of the text.
        media_type: The media type of the body.
        number: Its number in the store; 0 is the current one.
        packed: The stored size of its body in bytes; 0 if unknown.

    """

    at: float
    digest: str
    media_type: str
    number: int = 0
    packed: int = field(default=0, compare=False)


def save(db: Database, new: Observation, item: int, most: int) -> None:
    """Store the body of an observation as the current one, and the one before it."""
    if new.content is None:
        return
    old = db.execute(_CURRENT, (item,)).fetchone()
    at = new.at
    if old is not None and unpack(old[1]) == new.digest:
        at = float(old[0])  # the text has not changed
    elif old is not None and most > 1:
        _archive(db, item, old)
        trim(db, item, most)
    _write(db, new, item, at)


def put_back(db: Database, new: Observation, item: int) -> None:
    """Restore an earlier body as the current one, and drop the one it replaces."""
    if new.content is None:
        return
    rows = db.execute(_OLD, (item, 0)).fetchall()
    at = new.at
    if rows:
        number, body = rows[0]
        query = "SELECT at, digest FROM page_version WHERE id = ?"
        first, digest = db.execute(query, (number,)).fetchone()
        if unpack(digest) == new.digest:
            at = first
            _remove(db, [(number, body)])
    _write(db, new, item, at)


def _write(db: Database, new: Observation, item: int, at: float) -> None:
    assert new.content is not None  # checked by the caller
    kind, body = (
        new.content.media_type,
        zlib.compress(new.content.body, 1),
    )
    head = answer_heads.pack(new.content.head)
    row = (item, at, pack(new.raw), kind, body, pack(new.digest), head)
    db.execute(_REPLACE, row)


def _archive(db: Database, item: int, row: tuple[Any, ...]) -> None:
    import zstandard  # noqa: PLC0415  (only changed pages need it)

    at, digest, raw, kind, head, packed = row
    body = zlib.decompress(packed)
    name = hash_of(body)
    if not db.execute("SELECT 1 FROM page_body WHERE hash = ?", (name,)).fetchone():
        db.execute(_ADD_BODY, (name, zstandard.compress(body, LEVEL)))
    db.execute(_ADD, (item, at, digest, raw, kind, head, name))


def trim(db: Database, item: int, most: int) -> int:
    """Remove the oldest versions of a page; ``most`` stay, the current one included."""
    return _remove(db, db.execute(_OLD, (item, max(most - 1, 0))).fetchall())


def trim_all(db: Database, most: int) -> int:
    """Remove the oldest versions of all pages; return how many."""
    items = db.execute(_ITEMS, (max(most - 1, 0),)).fetchall()
    return sum(trim(db, item, most) for (item,) in items)


def forget(db: Database, source: int) -> None:
    """Remove all versions of the pages of a source."""
    query = (
        "SELECT id, body FROM page_version"
        " WHERE item IN (SELECT id FROM item WHERE source = ?)"
    )
    _remove(db, db.execute(query, (source,)).fetchall())


def _remove(db: Database, rows: list[tuple[int, int]]) -> int:
    db.executemany("DELETE FROM page_version WHERE id = ?", [(n,) for n, _ in rows])
    db.executemany(_UNUSED, [(body,) for body in {body for _, body in rows}])
    return len(rows)


def hash_of(body: bytes) -> bytes:
    """Return the hash by which equal bodies are stored once."""
    return blake2b(body, digest_size=16).digest()


def decompress(body: bytes) -> bytes:
    """Return the decompressed body of an earlier version."""
    import zstandard  # noqa: PLC0415  (slow)

    try:
        return zstandard.ZstdDecompressor().decompress(body, max_output_size=LARGEST)
    except zstandard.ZstdError as error:
        raise ValueError(f"a body cannot be read: {error}") from error


class PageVersions:
    """The versions of pages in a database."""

    def __init__(self, store: "Tables") -> None:
        self._store = store

    def of(self, key: str) -> list[PageVersion]:
        """Return the stored versions of a page, newest first."""
        with self._store.reading() as db:
            item = item_id(db, key)
            rows = db.execute(_ALL, (item,)).fetchall()
        found = [
            PageVersion(at, unpack(digest), kind, number, packed)
            for at, digest, kind, number, packed in rows
        ]
        return sorted(found, key=lambda version: (version.number > 0, -version.number))

    def content(self, key: str, version: PageVersion) -> Content | None:
        """Return the body of a version; None if it is not stored any more."""
        with self._store.reading() as db:
            if version.number == 0:
                query = "SELECT media_type, body, head FROM content WHERE item = ?"
                row = db.execute(query, (item_id(db, key),)).fetchone()
                body = row and zlib.decompress(row[1])
            else:
                row = db.execute(_BODY, (version.number,)).fetchone()
                body = row and decompress(row[1])
        return row and Content(row[0], body, answer_heads.unpack(row[2]))
