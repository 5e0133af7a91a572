"""Page answers held back as doubtful, as rows: the SQL.

One row per page, with the whole observation, so that it can be accepted later without
another request. The transaction that writes a good observation of the page deletes
it: a page that recovers needs no decision.
"""

import json
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from halflife.core.observation import Content, Observation, Observations, Seen
from halflife.stores import answer_heads, change_log, page_changes, page_versions
from halflife.stores.database import Database
from halflife.stores.tables import item_id, pack, source_of, unpack

if TYPE_CHECKING:
    from halflife.stores.connection import Tables

MOST = 1000  # answers of a source that are stored with their bodies
LARGEST = 1 << 18  # bytes of a stored body; an outage page is a tenth of that
WAITS, HELD, KEPT = "wait", "hold", "keep"  # deferred, to be decided, dismissed

_TABLE = """
CREATE TABLE held_page (  -- an answer of a page that is not believed yet
    item INTEGER PRIMARY KEY REFERENCES item,
    run INTEGER NOT NULL,  -- that brought it first; its name in ``sync --accept``
    state TEXT NOT NULL CHECK (state IN ('wait', 'hold', 'keep')),
    why TEXT NOT NULL,
    since REAL NOT NULL,  -- when the page first answered so
    seen INTEGER NOT NULL,  -- how often it answered so
    was TEXT NOT NULL,  -- the shape of the text before; empty if there was none
    shape TEXT NOT NULL,
    at REAL NOT NULL,
    digest ANY NOT NULL,
    raw ANY NOT NULL,
    etag TEXT NOT NULL,
    modified REAL,
    note TEXT NOT NULL,
    media_type TEXT NOT NULL,
    body BLOB  -- zlib; NULL if it is not kept
) STRICT"""
_SAVE = """
INSERT INTO held_page VALUES
    (?, ?, ?, ?, ?, 1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (item) DO UPDATE SET
    state = excluded.state, why = excluded.why,
    since = CASE WHEN held_page.shape = excluded.shape
        THEN held_page.since ELSE excluded.since END,
    seen = CASE WHEN held_page.shape = excluded.shape
        THEN held_page.seen + 1 ELSE 1 END,
    shape = excluded.shape, at = excluded.at, digest = excluded.digest,
    raw = excluded.raw, etag = excluded.etag, modified = excluded.modified,
    note = excluded.note, media_type = excluded.media_type, body = excluded.body,
    head = excluded.head
"""
_PAGE = """
SELECT key, source.name, item_group.name, run, state, why, since, seen, was, shape,
    digest
FROM held_page JOIN item ON item.id = held_page.item
JOIN source ON source.id = item.source JOIN item_group ON item_group.id = item.grp
"""
_SOME = """
WHERE ?1 = '[]' OR source.name IN (SELECT value FROM json_each(?1))
ORDER BY since, held_page.item
"""
_WHOLE = """
SELECT at, digest, raw, etag, modified, note, media_type, body, head
FROM held_page JOIN item ON item.id = held_page.item WHERE key = ?
"""
_CLEAR = "DELETE FROM held_page WHERE item = (SELECT id FROM item WHERE key = ?)"
_AT = "SELECT held_page.at FROM held_page JOIN item ON item.id = item WHERE key = ?"
_TEXT = "SELECT digest FROM evidence JOIN item ON item.id = item WHERE key = ?"
_WELL = """
SELECT count(*) FROM item JOIN evidence ON evidence.item = item.id
WHERE item.source = (SELECT id FROM source WHERE name = ?1)
    AND item.grp = (SELECT id FROM item_group WHERE name = ?2) AND last_at >= ?3
    AND item.id NOT IN (SELECT item FROM held_page)
"""
_OTHERS = """
SELECT count(*) FROM item JOIN evidence ON evidence.item = item.id
WHERE item.source = (SELECT id FROM source WHERE name = ?1)
    AND item.grp = (SELECT id FROM item_group WHERE name = ?2) AND looks > 0
    AND seen = 0 AND item.id NOT IN (SELECT item FROM held_page)
"""


@dataclass(frozen=True, slots=True)
class HeldPage:
    """A page whose answer is held back.

    Attributes:
        key: The page.
        source: Its source.
        host: Its host.
        run: The run that brought the answer first.
        state: ``wait``, ``hold`` or ``keep``.
        why: Why it is doubted.
        since: When the page first answered so, in days.
        seen: How often it answered so.
        was: The shape of the text before.
        shape: The shape of the text.
        digest: The digest of the text.

    """

    key: str
    source: str
    host: str
    run: int
    state: str
    why: str
    since: float
    seen: int
    was: str
    shape: str
    digest: str


@dataclass(frozen=True, slots=True)
class HeldFetch:
    """An answer to hold back: the observation, and why it is doubted."""

    look: Observation
    state: str
    why: str
    was: str
    shape: str


def create(db: Database) -> None:
    """Make the table."""
    db.execute(_TABLE)


def rows(db: Database, sources: Iterable[str] = ()) -> list[HeldPage]:
    """Return the pages of sources, or of all, whose answers are held back."""
    found = db.execute(_PAGE + _SOME, (json.dumps(list(sources)),))
    return [_page(row) for row in found]


def row(db: Database, key: str) -> HeldPage | None:
    """Return a page whose answer is held back; None if there is none."""
    found = db.execute(f"{_PAGE} WHERE key = ?", (key,)).fetchone()
    return _page(found) if found else None


def _page(row: Sequence[Any]) -> HeldPage:
    return replace(HeldPage(*row), digest=unpack(row[-1]))


def save(db: Database, run: int, answer: HeldFetch, *, room: bool = True) -> None:
    """Hold an answer back, replacing an earlier one of the same page.

    Without ``room`` its body is not stored, and accepting it takes another request.
    """
    look = answer.look
    item = item_id(db, look.key)
    if item is None:  # an unknown page will be fetched again
        return
    kind, body, head = "", None, None
    if look.content is not None:
        kind = look.content.media_type or "application/octet-stream"
        head = answer_heads.pack(look.content.head)
        packed = zlib.compress(look.content.body, 1)
        body = packed if room and len(packed) <= LARGEST else None
    old = db.execute("SELECT state FROM held_page WHERE item = ?", (item,)).fetchone()
    about = (item, run, answer.state, answer.why, look.at, answer.was)
    seen = (answer.shape, look.at, pack(look.digest), pack(look.raw), look.etag)
    db.execute(_SAVE, (*about, *seen, look.modified, look.note, kind, body, head))
    if answer.state == HELD and (old is None or old[0] != HELD):
        _report(db, [look.key])


def set_state(
    db: Database, pages: Iterable[HeldPage], state: str, why: str = ""
) -> None:
    """Set the state of held answers, and the reason unless it is empty."""
    kept = [found for page in pages if (found := row(db, page.key)) is not None]
    db.executemany(
        "UPDATE held_page SET state = ?1, why = CASE WHEN ?2 = '' THEN why ELSE ?2 END"
        " WHERE item = (SELECT id FROM item WHERE key = ?3)",
        [(state, why, page.key) for page in kept],
    )
    if state == HELD:
        _report(db, [page.key for page in kept if page.state != HELD])


def _report(db: Database, keys: Iterable[str]) -> None:
    """Log that the answers of pages wait for a decision from now on."""
    found = [(row(db, key), db.execute(_AT, (key,)).fetchone()) for key in keys]
    held = [(page, float(at[0])) for page, at in found if page is not None]
    change_log.append(db, page_changes.holds(held))


def observation(db: Database, page: HeldPage) -> Observation | None:
    """Return a held answer as an observation; None if it is gone.

    If its body was too large to store, the observation has no validators: the next
    request then gets the whole page.
    """
    row = db.execute(_WHOLE, (page.key,)).fetchone()
    if row is None:
        return None
    at, digest, raw, etag, modified, note, kind, body, head = row
    if body is None and kind:  # with no body to compare with, fetch it whole
        return Observation(page.key, at, Seen.PRESENT, unpack(digest), note=note)
    content = None
    if body is not None:
        content = Content(kind, zlib.decompress(body), answer_heads.unpack(head))
    fields = (unpack(digest), unpack(raw), etag, modified, note, content)
    return Observation(page.key, at, Seen.PRESENT, *fields)


def clear_seen(db: Database, looks: Observations) -> list[tuple[HeldPage, float]]:
    """Delete the held answers of pages that have a good observation.

    Return those that waited for a decision and are accepted now, with the times of the
    observations that confirm them.
    """
    if db.execute("SELECT 1 FROM held_page LIMIT 1").fetchone() is None:
        return []
    columns = zip(
        looks.keys, looks.at.tolist(), looks.seen.tolist(), looks.digest, strict=True
    )
    accepted = []
    for key, at, seen, digest in columns:
        page = row(db, key) if seen <= Seen.ABSENT else None
        if page is None:
            continue
        if is_accepted(page, seen, digest):
            accepted.append((page, at))
        db.execute(_CLEAR, (key,))
    return accepted


def is_accepted(page: HeldPage, seen: int, digest: str) -> bool:
    """Return whether a good observation has the text that waited for a decision."""
    return page.state != WAITS and seen == Seen.PRESENT and digest == page.digest


def host(db: Database, key: str) -> str:
    """Return the host of a page; empty if the page is not known."""
    query = (
        "SELECT name FROM item JOIN item_group ON item_group.id = item.grp"
        " WHERE key = ?"
    )
    found = db.execute(query, (key,)).fetchone()
    return str(found[0]) if found else ""


def well_since(db: Database, source: str, host: str, at: float) -> int:
    """Return how many pages of a host have had a good observation since a moment."""
    return int(db.execute(_WELL, (source, host, at)).fetchone()[0])


def others(db: Database, source: str, host: str) -> int:
    """Return how many pages of a host have a copy and no held answer."""
    return int(db.execute(_OTHERS, (source, host)).fetchone()[0])


class HeldPages:
    """The held answers of a state file."""

    def __init__(self, store: "Tables") -> None:
        self._store = store

    def rows(self, sources: Iterable[str] = ()) -> list[HeldPage]:
        """Return the pages of sources, or of all, with held answers, oldest first."""
        with self._store.reading() as db:
            return rows(db, sources)

    def row(self, key: str) -> HeldPage | None:
        """Return a page whose answer is held back; None if there is none."""
        with self._store.reading() as db:
            return row(db, key)

    def save(self, run: int, answer: HeldFetch, *, room: bool = True) -> None:
        """Hold an answer back, replacing an earlier one of the same page."""
        with self._store.together() as db:
            save(db, run, answer, room=room)

    def set_state(self, pages: Iterable[HeldPage], state: str, why: str = "") -> None:
        """Set the state of held answers, and the reason unless it is empty."""
        with self._store.together() as db:
            set_state(db, pages, state, why)

    def observation(self, page: HeldPage) -> Observation | None:
        """Return a held answer as an observation; None if it is gone."""
        with self._store.reading() as db:
            return observation(db, page)

    def host(self, key: str) -> str:
        """Return the host of a page; empty if the page is not known."""
        with self._store.reading() as db:
            return host(db, key)

    def put_back(self, look: Observation) -> None:
        """Restore a body as the copy of its page; the log stays as it is."""
        with self._store.together() as db:
            item = item_id(db, look.key)
            if item is not None:
                page_versions.put_back(db, look, item)
                text = db.execute(_TEXT, (look.key,)).fetchone()
                old = unpack(text[0]) if text else ""
                source = source_of(db, look.key) or ""
                change_log.append(db, page_changes.put_back(look, old, source))

    def well_since(self, source: str, host: str, at: float) -> int:
        """Return how many pages of a host had a good observation since a moment."""
        with self._store.reading() as db:
            return well_since(db, source, host, at)

    def others(self, source: str, host: str) -> int:
        """Return how many pages of a host have a copy and no held answer."""
        with self._store.reading() as db:
            return others(db, source, host)
