"""The page of all items of a source: search, sort, pages, and files to download."""

import csv
import io
import json
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast, get_args

from starlette.exceptions import HTTPException
from starlette.responses import Response, StreamingResponse

from halflife.config import Config
from halflife.core.errors import UsageError
from halflife.core.wording import finite
from halflife.engine import bootstrap
from halflife.stores import item_search
from halflife.stores.connection import Tables
from halflife.stores.item_search import (
    COLUMNS,
    ItemQuery,
    ItemRow,
    ItemSlice,
    ItemState,
    Place,
)
from halflife.web import words
from halflife.web.pages import Answer, Params
from halflife.web.record_stream import RecordStream, join_parts
from halflife.web.remote_text import field_text, link, reveal, shorten
from halflife.web.survey import Survey

PAGE = 50  # items at a time
SHOWN = 6  # fields of a record that have a column
TITLES = {
    "key": "key",
    "first_seen": "first seen",
    "last_seen": "last seen",
    "gone_by": "gone",
    "changes": "changes",
}
STATES = {
    "there": "there now",
    "missing": "missing from the last answer",
    "gone": "gone",
    "failing": "failing",
    "all": "all, past and present",
}
FORMS = {"csv": "text/csv", "json": "application/json"}
_FORMULA = ("=", "+", "-", "@", "\t", "\r")  # prefixes of formulas in a spreadsheet


def items(seen: Survey, params: Params) -> Answer:
    """Return the items of a source that match the parameters of the address."""
    wanted = _wanted(seen, params)
    with bootstrap.state_file(seen.config) as store:
        found, are_pages = ItemSlice([], 0, None), False
        turned: Answer = {}
        if store is not None:
            found, turned = _turned(store, wanted, params)
            are_pages = item_search.are_pages(store, wanted.source)
    fields = list(
        dict.fromkeys(name for row in found.rows for name in row.fields or ())
    )
    other = "missing" if are_pages else "failing"
    return {
        "at": words.date(seen.now),
        "title": f"Items of {wanted.source}",
        "source": wanted.source,
        "pages": are_pages,
        "q": reveal(wanted.text),
        "state": wanted.state,
        "states": {k: v for k, v in STATES.items() if k != other},
        "sort": wanted.sort,
        "order": "desc" if wanted.down else "asc",
        "columns": _columns(wanted, fields[:SHOWN], are_pages=are_pages),
        "total": found.total,
        "results": [_row(row, fields) for row in found.rows],
        "next": turned.get("next"),
        "previous": turned.get("previous"),
        "query": _query(wanted),
    }


def _turned(
    store: Tables, wanted: ItemQuery, params: Params
) -> tuple[ItemSlice, Answer]:
    """Return the items of one page, and where the pages beside it begin."""
    place = _place(params)
    if place is None or not params.get("back"):
        found = item_search.find(store, wanted, place, PAGE)
        first = found.rows[0].place if found.rows else place
        before = None if place is None else json.dumps(first)
        after = None if found.next is None else json.dumps(found.next)
        return found, {"previous": before, "next": after}
    other = replace(wanted, down=not wanted.down)
    found = item_search.find(store, other, place, PAGE)
    before = None if found.next is None else json.dumps(found.next)
    after = json.dumps(found.rows[0].place if found.rows else place)
    found = found._replace(rows=found.rows[::-1])
    return found, {"previous": before, "next": after}


def _wanted(seen: Survey, params: Params) -> ItemQuery:
    """Parse the query of an address; raise ``UsageError`` if it names no source."""
    name = params.get("source", "")
    if seen.row(name) is None:
        raise UsageError(f"no source is named {words.plain(name)!r}")
    state = params.get("state", "there")
    sort = params.get("sort", "key")
    is_known = sort in COLUMNS or sort.startswith("field:")
    return ItemQuery(
        name,
        params.get("q", "").strip(),
        cast("ItemState", state) if state in get_args(ItemState) else "there",
        sort if is_known else "key",
        params.get("order") == "desc",
    )


def _query(wanted: ItemQuery) -> dict[str, str]:
    """Return the filters of an address, for links to other pages of the list."""
    given = {
        "source": wanted.source,
        "q": wanted.text,
        "state": wanted.state,
        "sort": wanted.sort,
        "order": "desc" if wanted.down else "asc",
    }
    return {name: value for name, value in given.items() if value}


def _place(params: Params) -> Place | None:
    """Parse the cursor of an address; return None if it is malformed."""
    try:
        value, number = json.loads(params.get("cursor", ""))
    except (ValueError, TypeError, RecursionError):
        return None
    is_place = type(number) is int and isinstance(value, str | int | float | None)
    is_small = abs(number) < 2**62 if is_place else False
    if is_small and isinstance(value, int):
        is_small = abs(value) < 2**62
    return (value, number) if is_small else None


def _columns(
    wanted: ItemQuery, fields: Sequence[str], *, are_pages: bool
) -> list[Answer]:
    """Return the heads of the table: the sort key and the title of each column.

    The field that the table is sorted by always has a column.
    """
    own = ["key", "last_seen", "changes"] if are_pages else ["key"]
    ends = [] if are_pages else ["first_seen", "last_seen", "changes"]
    if wanted.state in {"gone", "all"}:
        ends.append("gone_by")
    chosen = wanted.sort.removeprefix("field:")
    names = list(fields)
    if chosen != wanted.sort and chosen not in names:
        names.append(chosen)
    found = [{"sort": name, "title": TITLES[name], "field": None} for name in own]
    if are_pages:
        found[0]["title"] = "page"
    found += [
        {"sort": f"field:{name}", "title": shorten(reveal(name), 40), "field": name}
        for name in names
    ]
    return found + [{"sort": n, "title": TITLES[n], "field": None} for n in ends]


def _row(row: ItemRow, names: Sequence[str]) -> Answer:
    fields = row.fields or {}
    return {
        "key": row.key,
        "first_seen": words.date(row.first_seen),
        "last_seen": words.date(row.last_seen),
        "gone_by": words.date(row.gone_by),
        "missing_since": words.date(row.missing_since),
        "changes": row.changes,
        "failures": row.failures,
        "fields": {name: fields[name] for name in names if name in fields},
    }


def cell(row: Answer, column: Mapping[str, Any]) -> Answer:
    """Return a cell of the table: its text, and its link to another site."""
    name = column["field"]
    value = row["fields"].get(name) if name is not None else row[column["sort"]]
    text = field_text(value)
    return {
        "text": shorten(text, 160),
        "link": link(value) if isinstance(value, str) else "",
        "is_moment": name is None and column["sort"] not in {"key", "changes"},
        "is_number": isinstance(value, int | float) and not isinstance(value, bool),
        "value": value,
    }


async def download(seen: Survey, params: Params, form: str) -> Response:
    """Answer with all items that match the parameters, as a file."""
    wanted = _wanted(seen, params)
    if form not in FORMS:
        raise HTTPException(404)
    stream = RecordStream(_parts(seen.config, wanted, form))
    await stream.begin()
    headers = {
        "content-disposition": f'attachment; filename="items.{form}"',
        "content-security-policy": "default-src 'none'; sandbox",
    }
    return StreamingResponse(stream.parts(), media_type=FORMS[form], headers=headers)


def _parts(config: Config, wanted: ItemQuery, form: str) -> Generator[bytes]:
    with bootstrap.state_file(config) as store:
        rows: Iterator[ItemRow] = iter(())
        fields: list[str] = []
        if store is not None:
            rows = item_search.iterate(store, wanted)
            if form == "csv" and not item_search.are_pages(store, wanted.source):
                fields = list(store.holdings.fields(wanted.source))
        yield from join_parts(_csv(rows, fields) if form == "csv" else _json(rows))


def _csv(rows: Iterator[ItemRow], fields: Sequence[str]) -> Iterator[str]:
    own = ["key", "first_seen", "last_seen", "gone_by", "missing_since", "changes"]
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow([*own, *map(_harmless, fields)])
    for row in rows:
        item = _row(row, fields)
        values = [item[name] for name in own]
        values += [_written(item["fields"].get(name)) for name in fields]
        writer.writerow([_harmless(value) for value in values])
        yield text.getvalue()
        text.seek(0)
        text.truncate()
    yield text.getvalue()


def _written(value: object) -> object:
    return json.dumps(value) if isinstance(value, dict | list | bool) else value


def _harmless(value: object) -> object:
    """Return a value that a spreadsheet reads as text, not as a formula.

    >>> _harmless("=1+1"), _harmless(-5), _harmless("a")
    ("'=1+1", -5, 'a')
    """
    runs = isinstance(value, str) and value.startswith(_FORMULA)
    return f"'{value}" if runs else value


def _json(rows: Iterator[ItemRow]) -> Iterator[str]:
    start = "[\n"
    for row in rows:
        item = finite(_row(row, list(row.fields or ())))
        yield start + json.dumps(item, allow_nan=False)
        start = ",\n"
    yield "[]\n" if start == "[\n" else "\n]\n"
