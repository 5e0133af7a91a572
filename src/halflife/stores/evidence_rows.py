"""Evidence as rows: the fold of all observations, written and read."""

from collections.abc import Iterable, Sequence

import numpy as np

from halflife.core.arrays import Bools, Floats, Ints
from halflife.core.evidence import FOLDED, Evidence, Fold
from halflife.stores.database import Database
from halflife.stores.tables import ALL, ITEMS, ItemFilter, Row, chunks, pack, unpack

_TOUCHED = " AND item.id IN (SELECT item FROM touched WHERE id > ?2"
_SAVE_FOLD = f"""
INSERT INTO evidence (item, {", ".join(FOLDED)}, held)
VALUES (?, {"?, " * len(FOLDED)}?) ON CONFLICT (item)
DO UPDATE SET {", ".join(f"{name} = excluded.{name}" for name in FOLDED)},
    held = coalesce(excluded.held, evidence.held)
"""  # noqa: S608  (constants)
_ADD_GAP = """
INSERT INTO gap VALUES (?, ?, ?) ON CONFLICT (item, class)
DO UPDATE SET tally = gap.tally + excluded.tally
"""
_ADD_HINTED = """
INSERT INTO hinted_gap VALUES (?, ?, ?, ?, ?) ON CONFLICT (item, class, changed, hints)
DO UPDATE SET tally = hinted_gap.tally + excluded.tally
"""
_SETTINGS = "SELECT id, weight, cost FROM item WHERE source IN CHOSEN ORDER BY id"
_FOLDS = f"""
SELECT item, {", ".join(FOLDED)} FROM evidence JOIN item ON item.id = item
WHERE source IN CHOSEN ORDER BY item
"""  # noqa: S608
_GAPS = """
SELECT gap.* FROM gap JOIN item ON item.id = item
WHERE source IN CHOSEN ORDER BY item, class
"""
_HINTED = """
SELECT hinted_gap.* FROM hinted_gap JOIN item ON item.id = item
WHERE source IN CHOSEN ORDER BY item, class, changed, hints
"""


def since(upto: int, mark: int, last: int) -> ItemFilter:
    """Select items whose rows were written after ``upto``.

    Items up to number ``last`` only if their rows were written after ``mark``.
    """
    return ItemFilter(f"{_TOUCHED} AND (id > ?3 OR item > ?4))", (upto, mark, last))


def among(mark: int, last: int) -> ItemFilter:
    """Select items up to number ``last`` whose rows were written after ``mark``."""
    return ItemFilter(f"{_TOUCHED} AND item <= ?3)", (mark, last))


def evidence(
    db: Database, sources: Sequence[str], chosen: ItemFilter = ALL
) -> Evidence:
    """Read the evidence on the items of sources."""
    found = Evidence()
    for rows in chunks(db, ITEMS, sources, chosen):
        number, keys, _, weight, cost, group = zip(*rows, strict=True)
        found.extend(keys, weight=weight, cost=cost, group=group)
        found.number[-len(rows) :] = number
    for rows in chunks(db, _FOLDS, sources, chosen):
        _restore(found, zip(*rows, strict=True))
    found.restore_gaps(*gap_columns(found, chunks(db, _GAPS, sources, chosen)))
    found.restore_hinted(*hinted_columns(found, chunks(db, _HINTED, sources, chosen)))
    return found


def agrees(
    db: Database, sources: Sequence[str], known: Evidence, upto: int | None
) -> bool:
    """Return whether evidence has all items written since; update its weights."""
    written = ALL if upto is None else since(upto, upto, 0)
    for rows in chunks(db, _SETTINGS, sources, written):
        number, weight, cost = (np.array(c) for c in zip(*rows, strict=True))
        row = np.searchsorted(known.number, number)
        row = np.minimum(row, len(known) - 1)
        if (known.number[row] != number).any() or (known.cost[row] != cost).any():
            return False
        known.reweigh(row.tolist(), weight.tolist())
    return True


def gap_columns(
    found: Evidence, parts: Iterable[Sequence[Row]]
) -> tuple[Ints, Ints, Floats]:
    """Return the arguments of ``Evidence.restore_gaps``: item, class and tally."""
    item, number, tally = _columns(parts, 3)
    return np.searchsorted(found.number, item), number.astype(np.intp), tally


def hinted_columns(
    found: Evidence, parts: Iterable[Sequence[Row]]
) -> tuple[Ints, Ints, Bools, Floats, Ints]:
    """Return the arguments of ``Evidence.restore_hinted`` likewise."""
    item, number, changed, hints, tally = _columns(parts, 5)
    row, whole = np.searchsorted(found.number, item), np.intp
    flags = changed.astype(np.bool_)
    return row, number.astype(whole), flags, tally, hints.astype(whole)


def _columns(parts: Iterable[Sequence[Row]], width: int) -> Floats:
    tables = [np.array(rows, dtype=np.float64).reshape(-1, width) for rows in parts]
    columns: Floats = np.concatenate([np.zeros((0, width)), *tables]).T
    return columns


def _restore(found: Evidence, columns: Iterable[Row]) -> None:
    number, *folded, digest = columns
    rows = np.searchsorted(found.number, number)
    for name, values in zip(FOLDED[:-1], folded, strict=True):
        getattr(found, name)[rows] = values
    found.digest[rows] = [unpack(d) for d in digest]


def save_fold(db: Database, known: Evidence, fold: Fold, good: dict[str, int]) -> None:
    """Add a fold; ``good`` has the row of each item's last good observation."""
    item = known.number[fold.rows].tolist()
    columns = [getattr(fold, name).tolist() for name in FOLDED[:-1]]
    digest = map(pack, fold.digest)
    held = [good.get(known.keys[row]) for row in fold.rows]
    db.executemany(_SAVE_FOLD, zip(item, *columns, digest, held, strict=True))
    if fold.gap_item.size:
        item = known.number[fold.gap_item].tolist()
        rows = zip(item, fold.gap_class.tolist(), fold.gap_tally.tolist(), strict=True)
        db.executemany(_ADD_GAP, rows)
    if fold.hinted_item.size:
        item = known.number[fold.hinted_item].tolist()
        hinted = (fold.hinted_class, fold.hinted_changed, fold.hinted_hints)
        rest = [column.tolist() for column in (*hinted, fold.hinted_tally)]
        db.executemany(_ADD_HINTED, zip(item, *rest, strict=True))
