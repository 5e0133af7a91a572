"""Schema steps for state files in which hints did not count, or not by their kinds."""

from collections.abc import Iterator

from halflife.core.evidence import CLAIMED, Evidence
from halflife.core.gap_bins import classes
from halflife.core.item import Item
from halflife.core.observation import Observation, Observations, Seen
from halflife.stores.database import Database

CLAIMS = tuple(
    f"ALTER TABLE {table} ADD COLUMN {name} REAL NOT NULL DEFAULT -9e999"
    for table in ("evidence", "rolled")
    for name in CLAIMED[1:]
)  # the latest moment claimed by a feed, a hub or a push
_CHUNK = 10_000
# As in ``tables``: a hint counts if the run that wrote it covers the item's source.
_LOG = """
SELECT item.id, at, seen, digest, modified FROM observation AS o
JOIN item ON item.id = o.item JOIN run ON run.id = o.run
JOIN source ON source.id = item.source
WHERE o.item IN (SELECT item FROM observation WHERE seen = 3) AND
    (seen < 3 OR source.name IN (SELECT value FROM json_each(run.sources)))
ORDER BY o.id
"""
_SAVE = """
INSERT INTO evidence (item, last_at, tried_at, failures, looks, changes, quiet, seen,
    changed, digest, held, hints, claimed)
VALUES (?, -9e999, -9e999, 0, 0, 0, 0.0, -1, 0, '', NULL, ?, ?)
ON CONFLICT (item) DO UPDATE SET hints = excluded.hints, claimed = excluded.claimed
"""
_TALLY = """
INSERT INTO hinted_gap VALUES (?, ?, ?, ?, ?) ON CONFLICT (item, class, changed, hints)
DO UPDATE SET tally = tally + excluded.tally
"""


def refold(db: Database) -> None:
    """Count the hints that the log already holds."""
    known = Evidence()
    for batch in _log(db):
        known.add(Item(key) for key in batch.keys)
        known.take(known.weigh(batch))
    columns = known.hints.tolist(), known.claimed.tolist()
    db.executemany(_SAVE, zip(map(int, known.keys), *columns, strict=True))
    item, length, changed, tally, hints = known.hinted()
    number, _ = classes(length)
    keys = [int(known.keys[i]) for i in item.tolist()]
    rest = (column.tolist() for column in (number, changed, hints, tally))
    db.executemany(_TALLY, zip(keys, *rest, strict=True))


def _log(db: Database) -> Iterator[Observations]:
    cursor = db.execute(_LOG)
    while rows := cursor.fetchmany(_CHUNK):
        yield Observations.of(_observation(*row) for row in rows)


def _observation(
    item: int, at: float, seen: int, digest: bytes | str, modified: float | None
) -> Observation:
    text = digest.hex() if isinstance(digest, bytes) else digest
    return Observation(str(item), at, Seen(seen), text, modified=modified)
