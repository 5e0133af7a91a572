"""Search, sorting and paging of the pages or records of a source; the SQL.

A page of results ends with the place of its last row, so the next one begins right
after it, however many rows there are and whatever is written meanwhile.
"""

import json
import math
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from halflife.stores.database import Database

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
    "all": "1 = 1",
}
COLUMNS = ("key", "first_seen", "last_seen", "gone_by", "changes")
_NONE = "x''"  # sorts after every number and text


@dataclass(frozen=True, slots=True)
class ItemQuery:
    """A query for items of a source, with an order.

    Attributes:
        source: The source.
        text: Text that a key or a field contains, in upper or lower case.
        state: The state that items are in.
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
    """Some items in order, the number of all matches, and the next page's place."""

    rows: list[ItemRow]
    total: int
    next: Place | None


def find(
    store: "Tables", wanted: ItemQuery, after: Place | None, most: int
) -> ItemSlice:
    """Return the items after a place, and how many match in all."""
    with store.reading() as db:
        base, parameters = _base(db, wanted)
        count = f"SELECT count(*) FROM ({base}) AS wanted"  # noqa: S608
        (total,) = db.execute(count, parameters).fetchone()
        rows = list(_rows(db, wanted, after, most + 1))
    more = len(rows) > most
    rows = rows[:most]
    return ItemSlice(rows, total, rows[-1].place if more else None)


def iterate(store: "Tables", wanted: ItemQuery) -> Iterator[ItemRow]:
    """Yield all items that match, one after the other."""
    with store.reading() as db:
        yield from _rows(db, wanted, None, -1)


def are_pages(store: "Tables", source: str) -> bool:
    """Return whether the items of a source are pages, not records."""
    with store.reading() as db:
        return _are_pages(db, source)


def _are_pages(db: Database, source: str) -> bool:
    (records,) = db.execute(_HAS_RECORDS, (source,)).fetchone()
    return not records


def _base(db: Database, wanted: ItemQuery) -> tuple[str, dict[str, Any]]:
    """Return the query for the matching items, in any order."""
    query = _PAGES if _are_pages(db, wanted.source) else _RECORDS
    tests, parameters = [_STATES[wanted.state]], {"source": wanted.source}
    if wanted.text:
        fold = "lower"
        if not wanted.text.isascii():  # databases fold the case of ASCII letters only
            fold = "folded"
            if isinstance(db, sqlite3.Connection):  # PostgreSQL has it in the schema
                db.create_function(fold, 1, _folded, deterministic=True)
        tests.append(
            f"(instr({fold}(key), :text) > 0 OR instr({fold}(fields), :text) > 0)"
        )
        parameters["text"] = wanted.text.casefold()
    return f"SELECT * FROM ({query}) AS one WHERE {' AND '.join(tests)}", parameters  # noqa: S608


def _folded(text: object) -> str | None:
    return None if text is None else str(text).casefold()


def _rows(
    db: Database, wanted: ItemQuery, after: Place | None, most: int
) -> Iterator[ItemRow]:
    base, parameters = _base(db, wanted)
    if wanted.sort.startswith("field:"):
        parameters["field"] = wanted.sort.removeprefix("field:")
    order_by = _sqlite_order if isinstance(db, sqlite3.Connection) else _postgres_order
    value, bound = order_by(wanted.sort, is_indexed=not _are_pages(db, wanted.source))
    sign, order = ("<", "DESC") if wanted.down else (">", "ASC")
    test = ""
    if after is not None:
        test = f"WHERE (value, id) {sign} ({bound}, :id)"
        parameters["value"], parameters["id"] = after
    query = (
        f"SELECT *, value FROM (SELECT *, {value} AS value FROM ({base}) AS some)"  # noqa: S608
        f" AS sorted {test} ORDER BY value {order}, id {order} LIMIT {most:d}"
    )
    for row in db.execute(query, parameters):
        number, key, first, last, gone, text, changes, failures, missing, _, at = row
        fields = None if text is None else json.loads(text)
        place = (None if isinstance(at, bytes) or at == math.inf else at, number)
        times = first, last, gone
        yield ItemRow(key, *times, fields, changes, failures, missing, place)


def _sqlite_order(sort: str, *, is_indexed: bool) -> tuple[str, str]:
    """Return the expression that SQLite sorts by, and the bound where a page begins.

    The index has the order of the keys of a source's records, not of its pages.
    """
    value = sort if sort in COLUMNS else "key"
    if sort.startswith("field:"):
        value = "fields ->> ('$.' || json_quote(:field))"
    if value != "key" or not is_indexed:
        value = f"ifnull({value}, {_NONE})"
    return value, f"ifnull(:value, {_NONE})"


def _postgres_order(sort: str, **_: object) -> tuple[str, str]:
    """Return the same for PostgreSQL, in which a column has values of one type.

    A field becomes a text that sorts as SQLite sorts its values (``order_of``).
    """
    if sort.startswith("field:"):
        return 'order_of(fields, :field) COLLATE "C"', ":value"
    if sort not in COLUMNS or sort == "key":
        return "key", ":value"
    return (
        f"coalesce(CAST({sort} AS DOUBLE PRECISION), 9e999)",
        "coalesce(CAST(:value AS DOUBLE PRECISION), 9e999)",
    )
