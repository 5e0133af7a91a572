"""URLs that differ from the keys of their items, and keys of an older spelling.

Up to version 7 of the state file the query of a key was sorted and encoded again, and
the key was the URL to fetch. An item of such a file keeps its history: when a link, a
sitemap or the settings name it in the present spelling, that becomes its key. No
request is sent twice for it.

The key of an item changes only while it is not in use: not under a lease, and not in a
process that holds evidence on it. Until then the new key waits; it is fetched, and
observations under it are stored under the old one.
"""

import json
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import replace
from hashlib import blake2b
from urllib.parse import parse_qsl, unquote, urlsplit

from halflife.core.change import Change
from halflife.core.evidence import Evidence
from halflife.core.item import Item
from halflife.core.observation import Observation, Observations, Seen
from halflife.stores import change_log
from halflife.stores.database import Database, execute_all

STATEMENTS = (
    """
CREATE TABLE item_url (  -- what is sent for an item, where that is not its key
    item INTEGER PRIMARY KEY REFERENCES item ON DELETE CASCADE,
    url TEXT NOT NULL
) STRICT""",
    """
CREATE TABLE old_key (  -- an item whose key may be of an older spelling
    item INTEGER PRIMARY KEY REFERENCES item ON DELETE CASCADE,
    fold INTEGER NOT NULL,  -- what both spellings have in common
    now TEXT  -- its key in the present spelling, as soon as that is known
) STRICT""",
    "CREATE INDEX old_key_fold ON old_key (fold)",
    "CREATE UNIQUE INDEX old_key_now ON old_key (now) WHERE now IS NOT NULL",
)
# Keys without special characters have the same spelling in all versions.
_ODD = "SELECT id, key FROM item WHERE key GLOB 'http*[^A-Za-z0-9:/._~-]*'"
_ADD_URL = """
INSERT INTO item_url SELECT id, ?2 FROM item WHERE key = ?1 ON CONFLICT DO NOTHING
"""
_URL = """
SELECT coalesce(now, url) FROM item
LEFT JOIN item_url ON item_url.item = id LEFT JOIN old_key ON old_key.item = id
WHERE key = ?
"""
_WAITING = "SELECT key FROM old_key JOIN item ON id = item WHERE now = ?"
_ALIKE = """
SELECT id, key FROM old_key JOIN item ON id = item
WHERE fold = ? AND now IS NULL AND key <> ?
    AND source = (SELECT id FROM source WHERE name = ?)
"""
# A key that is named in its own spelling needs no other.
_CONFIRM = """
DELETE FROM old_key WHERE now IS NULL
    AND item IN (SELECT id FROM item WHERE key IN (SELECT value FROM json_each(?)))
"""
_HELD = """
SELECT last_at, name, key FROM item JOIN evidence ON evidence.item = item.id
JOIN source ON source.id = item.source WHERE item.id = ? AND evidence.seen = 0
"""
_SETTLED = """
SELECT item, now FROM old_key JOIN item ON id = item
WHERE now IS NOT NULL AND source NOT IN (SELECT source FROM lease)
"""


def create(db: Database) -> None:
    """Create the tables; mark the keys that may be of an older spelling."""
    execute_all(STATEMENTS, db)
    rows = ((item, fold(key)) for item, key in db.execute(_ODD).fetchall())
    db.executemany("INSERT INTO old_key VALUES (?, ?, NULL)", rows)


def fold(url: str) -> int:
    """Return a 64-bit number that is the same for all spellings of a URL.

    >>> fold("http://a.example/%7Eb?d&c=%20") == fold("http://a.example/~b?c=+&d=")
    True
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        parts = urlsplit("")
    pairs = sorted(parse_qsl(parts.query, keep_blank_values=True))
    text = repr((parts.netloc, unquote(parts.path), pairs))
    digest = blake2b(text.encode("utf-8", "replace"), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


def save_urls(db: Database, items: Iterable[Item]) -> None:
    """Store the URLs of new items, where they differ from the keys."""
    rows = ((i.key, i.url) for i in items if i.url and i.url != i.key)
    db.executemany(_ADD_URL, rows)


def url_of(db: Database, key: str) -> str:
    """Return the URL to fetch for an item."""
    row = db.execute(_URL, (key,)).fetchone()
    return str(row[0]) if row and row[0] else key


def urls(db: Database) -> dict[int, str]:
    """Return the URLs of items, by number, where they differ from the keys."""
    return dict(db.execute("SELECT item, url FROM item_url").fetchall())


class OldKeys:
    """Maps present keys to the keys that a state file has for the same items."""

    def __init__(self) -> None:
        self._empty = False  # once there are no old keys, there never will be

    def is_empty(self, db: Database) -> bool:
        """Return whether all keys are of the present spelling."""
        if not self._empty:
            query = "SELECT 1 FROM old_key LIMIT 1"
            self._empty = db.execute(query).fetchone() is None
        return self._empty

    def stored_items(
        self, db: Database, items: list[Item], *, used: bool
    ) -> list[Item]:
        """Return items with the keys under which they are stored.

        If no evidence is ``used``, items that no run leases get their present keys.
        """
        if self.is_empty(db):
            return items
        old = match(db, items)
        if not used:
            settle(db)
            old = {key: held for key, held in old.items() if waiting(db, key)}
        return [replace(item, key=old.get(item.key, item.key)) for item in items]

    def stored_observations(
        self, db: Database, batch: Observations, evidence: Evidence
    ) -> Observations:
        """Return observations with the keys under which their items are stored."""
        if self.is_empty(db):
            return batch
        names = {key for o in batch.details for key in _named(o)}
        db.execute(_CONFIRM, (json.dumps([*names]),))
        names |= {*batch.keys}
        unknown = {key for key in names if key and evidence.row(key) is None}
        if not unknown:
            return batch
        new = (o.item for o in batch.details if o.item is not None and o.key in unknown)
        old = match(db, new, names)
        old |= {key: held for key in unknown - old.keys() if (held := waiting(db, key))}
        return Observations.of(_rename(o, old) for o in batch.details) if old else batch


def match(
    db: Database, items: Iterable[Item], named: Iterable[str] = ()
) -> dict[str, str]:
    """Return the keys under which items are stored, where these are old ones.

    An old key that is itself in ``named`` is the present key of an item.
    """
    by_key = {item.key: item for item in items}
    named = {*by_key, *named}
    found = {}
    for key, item in by_key.items():
        old = waiting(db, key) or _older(db, item, named)
        if old:
            found[key] = old
    return found


def waiting(db: Database, key: str) -> str:
    """Return the old key of an item that waits for this key; empty if none does."""
    row = db.execute(_WAITING, (key,)).fetchone()
    return str(row[0]) if row else ""


def _older(db: Database, item: Item, named: Container[str]) -> str:
    """Let an item of an older spelling wait for its present key; return the old one.

    Return an empty text if there is none, or more than one.
    """
    if db.execute("SELECT 1 FROM item WHERE key = ?", (item.key,)).fetchone():
        return ""
    rows = db.execute(_ALIKE, (fold(item.key), item.key, item.source)).fetchall()
    alike = [(number, key) for number, key in rows if key not in named]
    if len(alike) != 1:
        return ""
    number, old = alike[0]
    db.execute("UPDATE old_key SET now = ? WHERE item = ?", (item.key, number))
    return str(old)


def settle(db: Database) -> int:
    """Give items their present keys, where no run uses them; return how many."""
    due = db.execute(_SETTLED).fetchall()
    free = [
        (now, item)
        for item, now in due
        if not db.execute("SELECT 1 FROM item WHERE key = ?", (now,)).fetchone()
    ]
    moves = [change for now, item in free for change in _moves(db, item, now)]
    change_log.append(db, moves)
    db.executemany("UPDATE item SET key = ? WHERE id = ?", free)
    db.executemany("DELETE FROM old_key WHERE item = ?", ((item,) for item, _ in due))
    return len(free)


def _moves(db: Database, item: int, now: str) -> Iterator[Change]:
    """Yield the change by which a held page gets another key."""
    for at, source, old in db.execute(_HELD, (item,)):
        yield Change(at, source, now, "moved", {"key": (old, now)})


def _named(observation: Observation) -> Iterator[str]:
    """Yield the keys named by a remote answer, which have the present spelling."""
    if observation.seen is Seen.HINT:
        yield observation.key
    if observation.links is not None:
        yield from observation.links.to
        yield observation.links.same


def _rename(named: Observation, old: Mapping[str, str]) -> Observation:
    links = named.links
    if links is not None:
        to = tuple(old.get(key, key) for key in links.to)
        links = replace(links, to=to, same=old.get(links.same, links.same))
    item = None if named.key in old else named.item
    return replace(
        named,
        key=old.get(named.key, named.key),
        item=item,
        links=links,
    )
