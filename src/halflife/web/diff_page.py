"""Two versions of a page or record beside each other.

The cost is bounded whatever the bodies hold: larger texts are compared by lines
instead of words, and of the largest only the sizes are shown.
"""

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from starlette.exceptions import HTTPException

from halflife.core import side_by_side
from halflife.core.errors import UsageError
from halflife.core.observation import Content
from halflife.core.side_by_side import Comparison, Line
from halflife.engine import bootstrap
from halflife.stores import Store
from halflife.stores.holdings import RecordRow
from halflife.web import api_values, words
from halflife.web.changes_page import exact
from halflife.web.pages import Answer, Params
from halflife.web.remote_text import field_text, link, reveal, shorten
from halflife.web.survey import Survey

READ = 3 << 20  # bytes of the largest body whose text is extracted; 0.25 s each
COMPARED = 2 << 20  # characters of the longest text that is compared
BROKEN = 0.001  # share of undecodable characters from which a note says so
SHOWN = 20_000  # characters of a value of a record
LOST = "\ufffd"  # replaces bytes that are not in the encoding of a page


class VersionRow(NamedTuple):
    """A version that can be chosen: when it began, and its row in the store."""

    at: float
    place: Any


def diff(seen: Survey, params: Params) -> Answer:
    """Return two versions of a page or record; raise ``UsageError`` if unknown."""
    key, name = params.get("item", ""), params.get("source", "")
    if not key:
        raise UsageError("name a page or record: /diff?source=NAME&item=KEY")
    with bootstrap.reading(seen.config) as store:
        owner = store.source_of(key)
        is_page = owner is not None and name in {"", owner}
        name = str(owner) if is_page else _holder(store, name, key)
        rows = _pages(store, key) if is_page else _records(store, name, key)
        new, old, wrong = _chosen(rows, params)
        pair = [rows[i].place if i < len(rows) else None for i in (old, new)]
        found = _page(store, key, pair) if is_page else _record(pair)
    return {
        "at": words.date(seen.now),
        "title": f"What differs: {shorten(reveal(key), 80)}",
        "source": name,
        "item": reveal(key),
        "key": key,
        "link": link(key) if is_page else _own_link(pair[1]),
        "page": is_page,
        "view": "inline" if params.get("view") == "inline" else "side",
        "versions": [
            {"at": words.date(row.at), "exact": exact(row.at)} for row in rows
        ],
        "from": exact(rows[old].at) if old < len(rows) else None,
        "to": exact(rows[new].at) if rows else None,
        "wrong": wrong,
        **found,
    }


def _holder(store: Store, name: str, key: str) -> str:
    """Return the source that has a record; raise ``UsageError`` if none has."""
    names = store.holdings.sources_of(key) if not name else [name]
    if len(names) > 1:
        raise UsageError(f"{', '.join(names)} have such a record; name the source")
    return names[0] if names else ""


def _pages(store: Store, key: str) -> list[VersionRow]:
    return [VersionRow(version.at, version) for version in store.versions.of(key)]


def _records(store: Store, name: str, key: str) -> list[VersionRow]:
    rows = list(store.holdings.record_history(name, key))[::-1]
    if not rows:
        raise UsageError(f"no page or record has the key {words.plain(key)!r}")
    return [VersionRow(row.begins, row) for row in rows]


def _chosen(rows: Sequence[VersionRow], params: Params) -> tuple[int, int, str]:
    """Return the versions to compare, and what is wrong with the address."""
    try:
        new = _place(rows, "to", params.get("to", ""), 0)
        old = _place(rows, "from", params.get("from", ""), new + 1)
    except HTTPException as error:
        return 0, 1, f"{error.detail}. The two latest versions are shown."
    if old == len(rows) and params.get("from"):
        return 0, 1, "That version is no longer kept. The two latest are shown."
    return new, old, ""


def _place(rows: Sequence[VersionRow], name: str, text: str, usual: int) -> int:
    """Return the index of a version; the number of rows if it is not kept."""
    if not text:
        return usual
    chosen = api_values.version(name, text)
    if chosen.at is None:
        return min(chosen.back, len(rows))
    old = (i for i, row in enumerate(rows) if row.at <= chosen.at)
    return next(old, len(rows))


def _own_link(row: RecordRow | None) -> str:
    """Return the address that a record itself names, if it names one."""
    fields = json.loads(row.text) if row is not None else {}
    values = [fields.get(name) for name in ("url", "link", "href", "uri", "web_url")]
    return next((link(v) for v in values if isinstance(v, str) and link(v)), "")


def _record(pair: Sequence[RecordRow | None]) -> Answer:
    """Return the fields of two versions of a record."""
    old, new = (None if row is None else json.loads(row.text) for row in pair)
    if new is None:
        return {"fields": [], "note": "That version is not kept.", "ended": None}
    if old is None:
        note = "Only one version is known: there is nothing to compare it with."
    else:
        note = "" if old != new else "Nothing differs."
    names = list(dict.fromkeys([*new, *(old or {})]))
    fields = [_field(name, old, new) for name in names]
    fields.sort(key=lambda field: not field["differs"])
    ended = pair[1].ends if pair[1] is not None else None
    return {"fields": fields, "note": note, "ended": words.date(ended)}


def _field(name: str, old: dict[str, Any] | None, new: dict[str, Any]) -> Answer:
    before, after = (
        shorten(field_text(fields.get(name)) if fields else "", SHOWN)
        for fields in (old, new)
    )
    differs = old is not None and old.get(name) != new.get(name)
    left, right = _words(before, after) if differs else ([before], [after])
    return {
        "field": reveal(name),
        "old": left,
        "new": right,
        "differs": differs,
        "had": old is not None and old.get(name) is not None,
        "has": new.get(name) is not None,
        "link": link(new.get(name)) if isinstance(new.get(name), str) else "",
    }


def _words(before: str, after: str) -> tuple[list[Any], list[Any]]:
    """Return two values with their differing words marked."""
    rows = side_by_side.compare([before], [after]).rows
    if len(rows) == 1 and rows[0].old and rows[0].new:
        return _parts(rows[0].old), _parts(rows[0].new)
    return [[before, True]], [[after, True]]


def _parts(line: Line) -> list[Any]:
    return [[part.text, part.differs] for part in line]


def _page(store: Store, key: str, pair: Sequence[Any]) -> Answer:
    """Return the texts of two versions of a page side by side."""
    if pair[1] is None:
        return _nothing("No copy of this page is kept yet.")
    bodies = [store.versions.content(key, v) if v else None for v in pair]
    if bodies[1] is None:
        return _nothing("That version was just removed; reload this page.")
    if bodies[0] is None:
        return _nothing("Only one version of this page is kept: nothing to compare.")
    return compare(bodies[0], bodies[1])


def _nothing(note: str, sizes: Sequence[int] = ()) -> Answer:
    return {"rows": [], "note": note, "notes": [], "sizes": list(sizes)}


def compare(old: Content, new: Content) -> Answer:
    """Return two bodies as rows side by side, or a note that says why not."""
    sizes = [len(old.body), len(new.body)]
    change = f"{_bytes(sizes[0])} became {_bytes(sizes[1])}"
    if old.body == new.body:
        return _nothing("Nothing differs: both bodies are equal.", sizes)
    if max(sizes) > READ:
        return _nothing(f"Too large to be compared here: {change}.", sizes)
    texts = [_text(content) for content in (old, new)]
    if texts[0] is None or texts[1] is None:
        kind = reveal(new.media_type) or "of a type that its server does not name"
        return _nothing(f"This is no text but {kind}: {change}.", sizes)
    if max(len(texts[0]), len(texts[1])) > COMPARED:
        return _nothing(f"Too long to be compared here: {change}.", sizes)
    result = side_by_side.compare(texts[0].splitlines(), texts[1].splitlines())
    return {
        "rows": [_row(row) for row in result.rows],
        "note": "" if result.rows else "No word differs: only markup or spaces do.",
        "notes": _notes(result, texts),
        "sizes": sizes,
        "removed": result.removed,
        "added": result.added,
        "left_out": result.left_out,
    }


def _text(content: Content) -> str | None:
    from halflife.readers.text import readable  # noqa: PLC0415  (slow)

    return readable(content.media_type, content.body)


def _notes(result: Comparison, texts: Sequence[str | None]) -> list[str]:
    notes = []
    if not result.by_words:
        notes.append("So much differs that lines are compared, not words.")
    for which, text in zip(("old", "new"), texts, strict=True):
        lost = text.count(LOST) if text else 0
        if text and lost > BROKEN * len(text):
            notes.append(
                f"{lost / len(text):.1%} of the characters of the {which} version are "
                f"not in the encoding that it names; {LOST} stands for them."
            )
    return notes


def _bytes(size: int) -> str:
    """Return a size with its unit.

    >>> _bytes(812), _bytes(8_400_000)
    ('812 bytes', '8.4 MB')
    """
    if size < 10_000:
        return f"{size:,} bytes"
    return f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{size / 1e3:.0f} kB"


def _row(row: side_by_side.SideRow) -> Answer:
    return {
        "mark": row.mark,
        "old_number": row.old_number,
        "old": None if row.old is None else _revealed(row.old),
        "new_number": row.new_number,
        "new": None if row.new is None else _revealed(row.new),
    }


def _revealed(line: Line) -> list[Any]:
    return [[reveal(part.text), part.differs] for part in line]
