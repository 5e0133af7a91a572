"""The fold of observations removed from the log: the base of all that follow.

The evidence on an item is the fold of its observations in order. When the oldest are
removed, their fold is kept here; folding the rest of the log onto it must still give
the evidence, and ``verify`` checks that.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halflife.core.evidence import FOLDED, Evidence, Fold
from halflife.core.item import Item
from halflife.core.observation import Observation, Observations, Seen
from halflife.stores.database import Database
from halflife.stores.evidence_rows import gap_columns, hinted_columns
from halflife.stores.tables import pack, unpack

CHUNK = 5_000  # observations folded at once
_LAST = 2**62
STATEMENTS = (
    """
CREATE TABLE rolled (  -- as ``evidence``, of the looks that are no longer in the log
    item INTEGER PRIMARY KEY REFERENCES item,
    last_at REAL NOT NULL,
    tried_at REAL NOT NULL,
    failures INTEGER NOT NULL,
    looks INTEGER NOT NULL,
    changes INTEGER NOT NULL,
    quiet REAL NOT NULL,
    seen INTEGER NOT NULL,
    changed INTEGER NOT NULL,
    hints INTEGER NOT NULL,
    claimed REAL NOT NULL,
    digest ANY NOT NULL
) STRICT""",
    """
CREATE TABLE rolled_gap (
    item INTEGER NOT NULL REFERENCES item,
    class INTEGER NOT NULL,
    tally REAL NOT NULL,
    PRIMARY KEY (item, class)
) STRICT, WITHOUT ROWID""",
    """
CREATE TABLE rolled_hinted (
    item INTEGER NOT NULL REFERENCES item,
    class INTEGER NOT NULL,
    changed INTEGER NOT NULL CHECK (changed IN (0, 1)),
    hints INTEGER NOT NULL CHECK (hints > 0),
    tally REAL NOT NULL,
    PRIMARY KEY (item, class, changed, hints)
) STRICT, WITHOUT ROWID""",
    """
CREATE TABLE rolled_until (  -- one row: the last look that was rolled up
    one INTEGER PRIMARY KEY CHECK (one = 1),
    observation INTEGER NOT NULL,
    at REAL NOT NULL
) STRICT""",
    """
CREATE TABLE rolled_ledger (  -- requests charged on days that left the ledger
    day INTEGER PRIMARY KEY,
    requests INTEGER NOT NULL
) STRICT""",
)
_KEEP = f"""
REPLACE INTO rolled (item, {", ".join(FOLDED)})
VALUES (?{", ?" * len(FOLDED)})
"""  # noqa: S608  (constants)
_READ = f"SELECT item, {', '.join(FOLDED)} FROM rolled"  # noqa: S608
_GAP = """
INSERT INTO rolled_gap VALUES (?, ?, ?) ON CONFLICT (item, class)
DO UPDATE SET tally = rolled_gap.tally + excluded.tally
"""
_HINTED = """
INSERT INTO rolled_hinted VALUES (?, ?, ?, ?, ?)
ON CONFLICT (item, class, changed, hints)
DO UPDATE SET tally = rolled_hinted.tally + excluded.tally
"""
# As everywhere: a hint counts if the run that wrote it covers the item's source.
_LOG = """
SELECT o.item, item.key, o.at, o.seen, o.digest, o.modified
FROM observation AS o JOIN item ON item.id = o.item JOIN run ON run.id = o.run
JOIN source ON source.id = item.source
WHERE o.id > ? AND o.id <= ? AND
    (seen < 3 OR source.name IN (SELECT value FROM json_each(run.sources)))
ORDER BY o.id
"""


def until(db: Database) -> int:
    """Return the number of the last folded observation; 0 if there is none."""
    row = db.execute("SELECT observation FROM rolled_until").fetchone()
    return int(row[0]) if row else 0


def roll(db: Database, last: int, at: float) -> None:
    """Fold the observations up to number ``last`` into the stored fold."""
    rows = db.execute(_LOG, (until(db), last)).fetchall()
    if rows:
        base = _base(db, {key: item for item, key, *_ in rows})
        _save(db, base, base.weigh(Observations.of(_observation(*row) for row in rows)))
    db.execute("REPLACE INTO rolled_until VALUES (1, ?, ?)", (last, at))


def _base(db: Database, items: Mapping[str, int]) -> Evidence:
    """Return the stored fold of items, given by their keys and numbers."""
    base = Evidence.of(map(Item, items))
    base.number[:] = list(items.values())
    query = f"{_READ} WHERE item = ?"
    for row, item in enumerate(items.values()):
        for _, *values in db.execute(query, (item,)):
            _restore(base, row, values)
    return base


def _restore(base: Evidence, row: int, values: Sequence[Any]) -> None:
    *numbers, digest = values
    for name, value in zip(FOLDED[:-1], numbers, strict=True):
        getattr(base, name)[row] = value
    base.digest[[row]] = [unpack(digest)]


def _save(db: Database, base: Evidence, fold: Fold) -> None:
    base.take(fold)
    rows = fold.rows.tolist()
    columns = [getattr(base, name)[rows].tolist() for name in ("number", *FOLDED[:-1])]
    digest = (pack(str(base.digest[row])) for row in rows)
    db.executemany(_KEEP, zip(*columns, digest, strict=True))
    gap = (fold.gap_class, fold.gap_tally)
    _tally(db, _GAP, base.number[fold.gap_item].tolist(), gap)
    hinted = (
        fold.hinted_class,
        fold.hinted_changed.astype(np.int8),
        fold.hinted_hints,
        fold.hinted_tally,
    )
    _tally(db, _HINTED, base.number[fold.hinted_item].tolist(), hinted)


def _tally(
    db: Database,
    query: str,
    item: Sequence[int],
    columns: Iterable[NDArray[np.generic]],
) -> None:
    rest = [column.tolist() for column in columns]
    db.executemany(query, zip(item, *rest, strict=True))


def rebuild(db: Database, known: Evidence) -> Evidence:
    """Return evidence on the same items, rebuilt from the database.

    That is the stored fold, with the observations of the log since.
    """
    rebuilt = Evidence()
    rebuilt.extend(
        known.keys,
        weight=known.weight.tolist(),
        cost=known.cost.tolist(),
        group=[known.groups[g] for g in known.group.tolist()],
    )
    rebuilt.number[:] = known.number
    for item, *values in db.execute(_READ):
        _restore(rebuilt, int(np.searchsorted(rebuilt.number, item)), values)
    gaps = db.execute("SELECT * FROM rolled_gap").fetchall()
    rebuilt.restore_gaps(*gap_columns(rebuilt, [gaps]))
    hinted = db.execute("SELECT * FROM rolled_hinted").fetchall()
    rebuilt.restore_hinted(*hinted_columns(rebuilt, [hinted]))
    return rebuilt


def log_since(db: Database) -> Iterator[Observations]:
    """Yield the observations after the last folded one, in order."""
    cursor = db.execute(_LOG, (until(db), _LAST))
    while rows := cursor.fetchmany(CHUNK):
        yield Observations.of(_observation(*row) for row in rows)


def spent(db: Database, moment: float) -> int:
    """Return how many requests were charged at or after a moment.

    Days that left the ledger have only sums; such a day counts as a whole.
    """
    ledger = "SELECT coalesce(sum(requests), 0) FROM ledger WHERE at >= ?"
    before = "SELECT coalesce(sum(requests), 0) FROM rolled_ledger WHERE day + 1 > ?"
    return sum(int(db.execute(q, (moment,)).fetchone()[0]) for q in (ledger, before))


def _observation(
    _: int,
    key: str,
    at: float,
    seen: int,
    digest: bytes | str,
    modified: float | None,
) -> Observation:
    return Observation(key, at, Seen(seen), unpack(digest), modified=modified)
