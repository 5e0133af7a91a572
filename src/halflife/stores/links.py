"""The link graph as rows, and in memory."""

import json
from collections.abc import Container, Iterable, Mapping, Sequence
from itertools import chain

import numpy as np

from halflife.core.arrays import Ints
from halflife.core.links import Links
from halflife.core.observation import Observation, Observations, Outgoing
from halflife.stores.database import Database

STATEMENTS = (
    """
CREATE TABLE linked (  -- a page whose links were read
    item INTEGER PRIMARY KEY REFERENCES item,
    at REAL NOT NULL,  -- the look that read them
    same INTEGER REFERENCES item,  -- the page is another address of this one
    rules TEXT NOT NULL  -- by which the links were chosen
) STRICT""",
    """
CREATE TABLE link (
    page INTEGER NOT NULL REFERENCES item,
    target INTEGER NOT NULL REFERENCES item,
    PRIMARY KEY (page, target)
) STRICT, WITHOUT ROWID""",
)
_CHOSEN = (
    "(SELECT item.id FROM item JOIN source ON source.id = item.source"
    " WHERE ?1 = '[]' OR name IN (SELECT value FROM json_each(?1)))"
)
_KEYS = f"SELECT id, key FROM item WHERE id IN {_CHOSEN} ORDER BY id"  # noqa: S608  (constants)
_LINKED = f"SELECT item, same, rules FROM linked WHERE item IN {_CHOSEN}"  # noqa: S608
_LINKS = "SELECT page, target FROM link"
_ADD = """
INSERT INTO link SELECT ?1, id FROM item
WHERE key IN (SELECT value FROM json_each(?2))
"""
_ADD_LINKED = """
REPLACE INTO linked VALUES (?1, ?2, (SELECT id FROM item WHERE key = ?3), ?4)
"""


def read_links(batch: Observations) -> Iterable[tuple[Observation, Outgoing]]:
    """Return the observations with links, each with its links."""
    return ((o, o.links) for o in batch.details if o.links is not None)


def to_known(out: Outgoing, keys: Container[str]) -> Outgoing:
    """Return the links of a page to known items only."""
    to = tuple(dict.fromkeys(key for key in out.to if key in keys))
    return Outgoing(to, out.same if out.same in keys else "", out.under)


def save(db: Database, batch: Observations) -> None:
    """Replace the links of the pages whose links these observations read.

    Links to unknown items are left out.
    """
    for o, out in read_links(batch):
        row = db.execute("SELECT id FROM item WHERE key = ?", (o.key,)).fetchone()
        if row is None:
            continue
        db.execute("DELETE FROM link WHERE page = ?", row)
        db.execute(_ADD, (row[0], json.dumps(out.to)))
        db.execute(_ADD_LINKED, (row[0], o.at, out.same, out.under))


def read(db: Database, sources: Sequence[str]) -> Links:
    """Read the links between the items of sources, in the order of the items."""
    chosen = (json.dumps(list(sources)),)
    items = db.execute(_KEYS, chosen).fetchall()
    number = np.array([i for i, _ in items], dtype=np.intp)
    row = {i: at for at, (i, _) in enumerate(items)}
    linked = db.execute(_LINKED, chosen).fetchall()
    return Links.of_columns(
        tuple(key for _, key in items),
        _edges(db, number),
        {row[i]: row[same] for i, same, _ in linked if same in row},
        {row[i]: rules for i, _, rules in linked},
    )


def _edges(db: Database, number: Ints) -> tuple[Ints, Ints]:
    """Read the links between items of these numbers, which ascend, as their rows."""
    ends = chain.from_iterable(db.execute(_LINKS))
    pairs = np.fromiter(ends, dtype=np.int64).reshape(-1, 2)
    if number.size == 0:
        return pairs[:0, 0], pairs[:0, 1]
    rows = np.minimum(np.searchsorted(number, pairs), number.size - 1)
    page, target = rows[(number[rows] == pairs).all(axis=1)].T
    return page, target


def of_memory(keys: Sequence[str], out: Mapping[str, Outgoing]) -> Links:
    """Return the links between items, from the latest links of each page."""
    row = {key: i for i, key in enumerate(keys)}
    known = {row[key]: links for key, links in out.items() if key in row}
    pairs = [(i, row[t]) for i, links in known.items() for t in links.to if t in row]
    page, target = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
    return Links.of_columns(
        tuple(keys),
        (page, target),
        {i: row[links.same] for i, links in known.items() if links.same in row},
        {i: links.under for i, links in known.items()},
    )
