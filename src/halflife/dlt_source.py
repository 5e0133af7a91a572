"""Changes as a resource for dlt pipelines (``halflife[dlt]``).

    pipeline.run(halflife.dlt_source.records(project, deletes="hard"))

The cursor is the number of the last change; dlt keeps it with the load.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from typing import Any, Literal

from halflife.core.change import Change
from halflife.core.errors import UsageError
from halflife.engine import bootstrap
from halflife.project import Project
from halflife.sinks.event import moment
from halflife.stores import Store

CHUNK = 10_000  # changes read at once
ROWS = 1000  # rows given to dlt at once; bodies of pages are among them
_HELD = {"new", "changed", "returned", "moved", "gone"}
Row = dict[str, Any]


def records(
    project: Project,
    sources: Sequence[str] = (),
    deletes: Literal["hard", "soft"] = "hard",
) -> Any:  # noqa: ANN401  (a dlt resource; dlt is an extra)
    """Return a dlt resource of the changes since the last load, a table per source.

    It yields each record once, as it is now, or as a deletion: with ``hard`` deletes
    the row is removed from the table, with ``soft`` ones its ``_deleted`` is true. All
    sources, if none is named.
    """
    try:
        dlt: Any = import_module("dlt")  # an extra, and slow
    except ImportError:
        raise UsageError(
            'this needs dlt; install it with: pip install "halflife[dlt]"'
        ) from None
    if deletes not in {"hard", "soft"}:
        raise UsageError(f"deletes must be hard or soft, got {deletes!r}")
    names = [source.name for source in project.config.named(sources)]
    deleted: dict[str, Any] = {"data_type": "bool"}
    if deletes == "hard":
        deleted["hard_delete"] = True

    def read(
        seq: Any = dlt.sources.incremental(  # noqa: ANN401, B008  (dlt reads it so)
            "_seq", initial_value=0, range_start="open"
        ),
    ) -> Iterator[list[Row]]:
        yield from changed_rows(project, names, int(seq.last_value or 0))

    return dlt.resource(
        read,
        name="halflife",
        table_name=lambda row: row["_source"],
        primary_key="_key",
        write_disposition="merge",
        columns={"_deleted": deleted, "_seq": {"data_type": "bigint"}},
    )


def changed_rows(
    project: Project, sources: Sequence[str], after: int
) -> Iterator[list[Row]]:
    """Return the rows that changed after a sequence number, in lists, each key once.

    Raise ``UsageError`` if some of these changes are no longer kept.
    """
    with bootstrap.reading(project.config) as store:
        last = _last_changes(store, sources, after)
        for source in sources:
            own = [change for (name, _), change in last.items() if name == source]
            for start in range(0, len(own), ROWS):
                yield [_row(store, change) for change in own[start : start + ROWS]]


def _last_changes(
    store: Store, sources: Sequence[str], after: int
) -> dict[tuple[str, str], Change]:
    """Return the last change of each key."""
    latest: dict[tuple[str, str], Change] = {}
    cursor, newest = after, store.changes.last()
    if after > newest:
        raise UsageError(
            f"the pipeline has loaded changes up to {after}, the log ends at {newest}; "
            "if this is another state file, drop the pipeline's state"
        )
    first = store.changes.read(after, 1)
    if after and first and first[0].seq > after + 1:
        raise UsageError(
            f"the changes {after + 1} to {first[0].seq - 1} are no longer kept ([keep] "
            "changes_days); drop the tables and the pipeline's state, and load again"
        )
    while chunk := store.changes.read(cursor, CHUNK):
        for change in chunk:
            if change.source in sources and change.key and change.kind in _HELD:
                latest[change.source, change.key] = change
                moved = change.fields.get("key") if change.kind == "moved" else None
                if moved is not None:
                    ended = replace(change, key=moved[0], kind="gone")
                    latest[change.source, moved[0]] = ended
        cursor = chunk[-1].seq
    return latest


def _fields(store: Store, source: str, key: str) -> Mapping[str, Any] | None:
    """Return the stored fields of a record or page; None if there are none."""
    record = store.holdings.record(source, key)
    if record is not None:
        fields: Row = json.loads(record.text)
        return fields
    content = store.content(key)
    if content is None:
        return None
    page: Row = {"url": key, "media_type": content.media_type}
    if content.media_type.startswith("text/"):
        page["body"] = content.body.decode("utf-8", "replace")
    return page


def _row(store: Store, change: Change) -> Row:
    gone = change.kind == "gone"
    fields = None if gone else _fields(store, change.source, change.key)
    return {
        "_source": change.source,
        "_key": change.key,
        "_seq": change.seq,
        "_changed_at": moment(change.at),
        "_deleted": gone,
        **(fields or {}),
    }
