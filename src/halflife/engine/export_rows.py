"""Export the copy of a source as rows of plain values."""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from halflife.core.errors import UsageError
from halflife.net.dates import to_iso
from halflife.stores import Store
from halflife.stores.holdings import PageRow, RecordRow

_QUOTE = json.encoder.encode_basestring
_NOW = ("first_seen", "last_seen")
_EVER = ("valid_from", "valid_to")
PAGE_FIELDS = ("digest", "media_type", "text")
_TOGETHER = 200  # records that are parsed at once; more save a tenth of the time
_TIMES = 100_000  # times that are cached; 20 MB


@dataclass(frozen=True, slots=True)
class ExportSelection:
    """The selection of a source's data.

    Attributes:
        source: The name of the source.
        at: The moment of the copy, in days; None: now.
        history: Whether to export all versions.

    """

    source: str
    at: float | None = None
    history: bool = False

    @property
    def times(self) -> tuple[str, str]:
        """The names of the two times in a row."""
        return _EVER if self.history else _NOW


def has_records(store: Store, source: str) -> bool:
    """Say whether a source has records rather than pages; raise if it has neither."""
    if source in store.collections():
        return True
    if store.item_count([source]):
        return False
    raise UsageError(
        f"nothing is held of {source} yet; run `halflife sync {source}`, and of a "
        "search see `halflife status`"
    )


def records(store: Store, wanted: ExportSelection) -> Iterator[RecordRow]:
    """Return the selected records."""
    if wanted.history:
        return store.holdings.record_history(wanted.source)
    return store.holdings.records(wanted.source, wanted.at)


def pages(store: Store, wanted: ExportSelection) -> Iterator[PageRow]:
    """Return the selected pages."""
    if wanted.history:
        return store.holdings.page_history(wanted.source)
    return store.holdings.pages(wanted.source, wanted.at)


def rows(store: Store, wanted: ExportSelection) -> Iterator[dict[str, Any]]:
    """Return the selected data as one mapping a row."""
    if has_records(store, wanted.source):
        for record in records(store, wanted):
            yield {**_head(record, wanted), "fields": json.loads(record.text)}
        return
    for page in pages(store, wanted):
        values = (page.digest, page.media_type, text_of(page))
        yield {**_head(page, wanted), **dict(zip(PAGE_FIELDS, values, strict=True))}


def lines(store: Store, wanted: ExportSelection) -> Iterator[str]:
    """Return the selected data as one line of JSON a row.

    Records are not parsed: there may be a million of them.
    """
    if not has_records(store, wanted.source):
        for row in rows(store, wanted):
            yield json.dumps(row, ensure_ascii=False)
        return
    first, last = wanted.times
    shown = ShownTimes(lambda at: "null" if at is None else _QUOTE(date(at) or ""))
    for key, begins, ends, text in records(store, wanted):
        yield (
            f'{{"key":{_QUOTE(key)},"{first}":{shown[begins]},'
            f'"{last}":{shown[ends]},"fields":{text}}}'
        )


def columns(
    store: Store, wanted: ExportSelection
) -> tuple[tuple[str, ...], dict[str, set[type]]]:
    """Return the fixed columns of rows, and the fields with their types."""
    head = ("key", *wanted.times)
    if not has_records(store, wanted.source):
        return head, {name: {str} for name in PAGE_FIELDS}
    return head, store.holdings.fields(wanted.source)


def column_name(name: str, taken: Iterable[str]) -> str:
    """Return the column of a field; a prefix keeps it apart from the fixed columns."""
    return f"field_{name}" if name in taken else name


def flat(
    store: Store,
    wanted: ExportSelection,
    shown: Callable[[float | None], Any],
    names: list[str],
) -> Iterator[list[Any]]:
    """Return rows as lists: the key, two times formatted by ``shown``, the fields."""
    times = ShownTimes(shown)
    if not has_records(store, wanted.source):
        for page in pages(store, wanted):
            head = [page.key, times[page.begins], times[page.ends]]
            yield [*head, page.digest, page.media_type, text_of(page)]
        return
    found = records(store, wanted)
    while batch := list(islice(found, _TOGETHER)):
        parsed = json.loads(f"[{','.join([row.text for row in batch])}]")
        for (key, begins, ends, _), fields in zip(batch, parsed, strict=True):
            usual = [*fields] == names
            values = fields.values() if usual else map(fields.get, names)
            yield [key, times[begins], times[ends], *values]


class ShownTimes(dict[float | None, Any]):
    """A cache of formatted times; records of one listing share theirs."""

    def __init__(self, show: Callable[[float | None], Any]) -> None:
        self._show = show

    def __missing__(self, at: float | None) -> Any:  # noqa: ANN401  (as shown)
        if len(self) >= _TIMES:
            self.clear()
        self[at] = found = self._show(at)
        return found


def _head(row: RecordRow | PageRow, wanted: ExportSelection) -> dict[str, Any]:
    first, last = wanted.times
    return {"key": row.key, first: date(row.begins), last: date(row.ends)}


def date(days: float | None) -> str | None:
    """Return a time in days since the epoch as ISO 8601, UTC; None stays None."""
    return None if days is None else to_iso(days)


def text_of(page: PageRow) -> str | None:
    """Return the readable text of a page; None if it has none."""
    from halflife.readers.text import readable  # noqa: PLC0415  (slow)

    return None if page.body is None else readable(page.media_type, page.body)
