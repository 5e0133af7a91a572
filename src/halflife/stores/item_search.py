"""The pages or records of a source as a person explores them; the SQL of it.

Sorted by a column, searched for text, page by page. A page ends with the place of its
last row, so the next one begins right after it, however many rows there are and
whatever is written meanwhile.
"""

import json
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from halflife.stores.connection import Tables

ItemState: TypeAlias = Literal["there", "missing", "gone", "failing", "all"]
Place: TypeAlias = tuple[str | int | float | None, int]  # of a row: its value, its id

_LATEST = """coalesce((SELECT attributes FROM version WHERE life = life.id
    AND attributes IS NOT NULL ORDER BY seen_from DESC LIMIT 1), attributes)"""
_RECORDS = f"""
SELECT id, key, first_seen, last_seen, gone_by, {_LATEST} AS fields,
    (SELECT count(*) FROM version WHERE life = life.id) AS changes,
    0 AS failures, missing_since
FROM life WHERE source = (SELECT id FROM source WHERE name = :source)
"""  # noqa: S608  (constants)
_PAGES = """
SELECT item.id AS id, key, NULL AS first_seen,
    CASE WHEN looks > 0 THEN last_at END AS last_seen,
    CASE WHEN seen = 1 THEN last_at END AS gone_by, NULL AS fields,
    coalesce(changes, 0) AS changes,
    coalesce(failures, 0) AS failures, NULL AS missing_since
FROM item LEFT JOIN evidence ON evidence.item = item.id
WHERE +item.source = (SELECT id FROM source WHERE name = :source)
"""
_HAS_RECORDS = """
SELECT EXISTS (SELECT 1 FROM life
    WHERE source = (SELECT id FROM source WHERE name = ?))
"""
_STATES = {
    "there": "gone_by IS NULL AND missing_since IS NULL",
    "missing": "gone_by IS NULL AND missing_since IS NOT NULL",
    "gone": "gone_by IS NOT NULL",
    "failing": "failures > 0",
    "all": "1",
}
COLUMNS = ("key", "first_seen", "last_seen", "gone_by", "changes")
_NONE = "x''"  # sorts after every number and text


@dataclass(frozen=True, slots=True)
class ItemQuery:
    """Which items are wanted, and in which order.

    Attributes:
        source: The source.
        text: What a key or a field holds somewhere, in upper or lower case.
        state: Whether it is there.
        sort: One of ``COLUMNS``, or a field after ``field:``.
        down: Whether the largest comes first.

    """

    source: str
    text: str = ""
    state: ItemState = "there"
    sort: str = "key"
    down: bool = False


class ItemRow(NamedTuple):
    """A page, or a record during one of its lifetimes.

    Attributes:
        key: The page's address or the record's key.
        first_seen: When it was first seen, in days; None of a page.
        last_seen: When it was last seen; None if never.
        gone_by: When it was known to be gone; None if it is not.
        fields: The fields of a record as last seen; None of a page.
        changes: How often it changed.
        failures: Fetches that have failed in a row since it was last seen.
        missing_since: The answer that first lacked a record that may still be there.
        place: Where it stands in the order.

    """

    key: str
    first_seen: float | None
    last_seen: float | None
    gone_by: float | None
    fields: dict[str, Any] | None
    changes: int
    failures: int
    missing_since: float | None
    place: Place


class ItemSlice(NamedTuple):
    """Some items in their order, how many there are in all, and where to go on."""

    rows: list[ItemRow]
    total: int
    next: Place | None


def find(
    store: "Tables", wanted: ItemQuery, after: Place | None, most: int
) -> ItemSlice:
    """Return the items after a place, and how many are wanted in all."""
    with store.looking() as db:
        base, given = _base(db, wanted)
        (total,) = db.execute(f"SELECT count(*) FROM ({base})", given).fetchone()  # noqa: S608
        rows = list(_rows(db, wanted, after, most + 1))
    more = len(rows) > most
    rows = rows[:most]
    return ItemSlice(rows, total, rows[-1].place if more else None)


def every(store: "Tables", wanted: ItemQuery) -> Iterator[ItemRow]:
    """Return all items that are wanted, one after the other."""
    with store.looking() as db:
        yield from _rows(db, wanted, None, -1)


def are_pages(store: "Tables", source: str) -> bool:
    """Say whether the items of a source are pages: it has no records."""
    with store.looking() as db:
        return _are_pages(db, source)


def _are_pages(db: sqlite3.Connection, source: str) -> bool:
    (records,) = db.execute(_HAS_RECORDS, (source,)).fetchone()
    return not records


def _base(db: sqlite3.Connection, wanted: ItemQuery) -> tuple[str, dict[str, Any]]:
    """Return the query of the items that are wanted, in any order."""
    query = _PAGES if _are_pages(db, wanted.source) else _RECORDS
    tests, given = [_STATES[wanted.state]], {"source": wanted.source}
    if wanted.text:
        fold = "lower"
        if not wanted.text.isascii():  # SQLite knows the case of ASCII letters alone
            fold = "folded"
            db.create_function(fold, 1, _folded, deterministic=True)
        tests.append(f"(instr({fold}(key), :text) OR instr({fold}(fields), :text))")
        is_ascii = wanted.text.isascii()
        given["text"] = wanted.text.lower() if is_ascii else wanted.text.casefold()
    return f"SELECT * FROM ({query}) WHERE {' AND '.join(tests)}", given  # noqa: S608


def _folded(text: object) -> str | None:
    return None if text is None else str(text).casefold()


def _rows(
    db: sqlite3.Connection, wanted: ItemQuery, after: Place | None, most: int
) -> Iterator[ItemRow]:
    base, given = _base(db, wanted)
    field = wanted.sort.removeprefix("field:")
    value = wanted.sort if wanted.sort in COLUMNS else "key"
    if field != wanted.sort:
        value, given["field"] = "fields ->> :field", _path(field)
    # The index knows the order of the keys of a source's records, not of its pages.
    if value != "key" or _are_pages(db, wanted.source):
        value = f"ifnull({value}, {_NONE})"
    sign, order = ("<", "DESC") if wanted.down else (">", "ASC")
    test = ""
    if after is not None:
        test = f"WHERE (value, id) {sign} (ifnull(:value, {_NONE}), :id)"
        given["value"], given["id"] = after
    query = (
        f"SELECT *, value FROM (SELECT *, {value} AS value FROM ({base})) {test}"  # noqa: S608
        f" ORDER BY value {order}, id {order} LIMIT {most:d}"
    )
    for row in db.execute(query, given):
        number, key, first, last, gone, text, changes, failures, missing, _, at = row
        fields = None if text is None else json.loads(text)
        place = (None if isinstance(at, bytes) else at, number)
        times = first, last, gone
        yield ItemRow(key, *times, fields, changes, failures, missing, place)


def _path(field: str) -> str:
    """Return where JSON has a field of a record.

    >>> _path("price")
    '$."price"'
    """
    return f"$.{json.dumps(field, ensure_ascii=False)}"
