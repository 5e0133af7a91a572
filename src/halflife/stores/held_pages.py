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
_SET_STATE = """
UPDATE held_page SET state = ?1, why = CASE WHEN ?2 = '' THEN why ELSE ?2 END
WHERE item = (SELECT id FROM item WHERE key = ?3)
"""
_HOST = """
SELECT name FROM item JOIN item_group ON item_group.id = item.grp WHERE key = ?
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

    observation: Observation
    state: str
    why: str
    was: str
    shape: str


def create(db: Database) -> None:
    """Make the table."""
    db.execute(_TABLE)


def clear_seen(db: Database, batch: Observations) -> list[tuple[HeldPage, float]]:
    """Delete the held answers of pages that have a good observation.

    Return those that waited for a decision and are accepted now, with the times of the
    observations that confirm them.
    """
    if db.execute("SELECT 1 FROM held_page LIMIT 1").fetchone() is None:
        return []
    at, seen = batch.at.tolist(), batch.seen.tolist()
    columns = batch.keys, at, seen, batch.digest
    accepted = []
    for key, moment, state, digest in zip(*columns, strict=True):
        page = _row(db, key) if state <= Seen.ABSENT else None
        if page is None:
            continue
        if is_accepted(page, state, digest):
            accepted.append((page, moment))
        db.execute(_CLEAR, (key,))
    return accepted


def is_accepted(page: HeldPage, seen: int, digest: str) -> bool:
    """Return whether a good observation has the text that waited for a decision."""
    return page.state != WAITS and seen == Seen.PRESENT and digest == page.digest


class HeldPages:
    """The held answers of a state file."""

    def __init__(self, store: "Tables") -> None:
        self._store = store

    def rows(self, sources: Iterable[str] = ()) -> list[HeldPage]:
        """Return the pages of sources, or of all, with held answers, oldest first."""
        with self._store.reading() as db:
            return [
                _page(row)
                for row in db.execute(_PAGE + _SOME, (json.dumps(list(sources)),))
            ]

    def row(self, key: str) -> HeldPage | None:
        """Return a page whose answer is held back; None if there is none."""
        with self._store.reading() as db:
            return _row(db, key)

    def save(self, run: int, answer: HeldFetch, *, room: bool = True) -> None:
        """Hold an answer back, replacing an earlier one of the same page.

        Without ``room`` its body is not stored, and accepting it takes another request.
        """
        with self._store.together() as db:
            _save(db, run, answer, room=room)

    def set_state(self, pages: Iterable[HeldPage], state: str, why: str = "") -> None:
        """Set the state of held answers, and the reason unless it is empty."""
        with self._store.together() as db:
            kept = [held for page in pages if (held := _row(db, page.key)) is not None]
            rows = [(state, why, page.key) for page in kept]
            db.executemany(_SET_STATE, rows)
            if state == HELD:
                _report(db, [page.key for page in kept if page.state != HELD])

    def observation(self, page: HeldPage) -> Observation | None:
        """Return a held answer as an observation; None if it is gone.

        If its body was too large to store, the observation has no validators: the next
        request then gets the whole page.
        """
        with self._store.reading() as db:
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

    def host(self, key: str) -> str:
        """Return the host of a page; empty if the page is not known."""
        with self._store.reading() as db:
            found = db.execute(_HOST, (key,)).fetchone()
        return str(found[0]) if found else ""

    def put_back(self, observation: Observation) -> None:
        """Restore a body as the copy of its page; the log stays as it is."""
        key = observation.key
        with self._store.together() as db:
            item = item_id(db, key)
            if item is not None:
                page_versions.put_back(db, observation, item)
                text = db.execute(_TEXT, (key,)).fetchone()
                old, source = unpack(text[0]) if text else "", source_of(db, key) or ""
                change_log.append(db, page_changes.put_back(observation, old, source))

    def well_since(self, source: str, host: str, at: float) -> int:
        """Return how many pages of a host had a good observation since a moment."""
        with self._store.reading() as db:
            return int(db.execute(_WELL, (source, host, at)).fetchone()[0])

    def others(self, source: str, host: str) -> int:
        """Return how many pages of a host have a copy and no held answer."""
        with self._store.reading() as db:
            return int(db.execute(_OTHERS, (source, host)).fetchone()[0])


def _row(db: Database, key: str) -> HeldPage | None:
    found = db.execute(f"{_PAGE} WHERE key = ?", (key,)).fetchone()
    return _page(found) if found else None


def _page(row: Sequence[Any]) -> HeldPage:
    return replace(HeldPage(*row), digest=unpack(row[-1]))


def _save(db: Database, run: int, answer: HeldFetch, *, room: bool) -> None:
    held = answer.observation
    item = item_id(db, held.key)
    if item is None:  # an unknown page will be fetched again
        return
    kind, body, head = "", None, None
    if held.content is not None:
        kind = held.content.media_type or "application/octet-stream"
        head = answer_heads.pack(held.content.head)
        packed = zlib.compress(held.content.body, 1)
        body = packed if room and len(packed) <= LARGEST else None
    old = db.execute("SELECT state FROM held_page WHERE item = ?", (item,)).fetchone()
    about = (item, run, answer.state, answer.why, held.at, answer.was)
    seen = (answer.shape, held.at, pack(held.digest), pack(held.raw), held.etag)
    db.execute(_SAVE, (*about, *seen, held.modified, held.note, kind, body, head))
    if answer.state == HELD and (old is None or old[0] != HELD):
        _report(db, [held.key])


def _report(db: Database, keys: Iterable[str]) -> None:
    """Log that the answers of pages wait for a decision from now on."""
    found = [(_row(db, key), db.execute(_AT, (key,)).fetchone()) for key in keys]
    held = [(page, float(at[0])) for page, at in found if page is not None]
    change_log.append(db, page_changes.holds(held))
