"""What is held of a source, written in the formats that other programs read.

All of them are written row by row. A file is there in full or not at all: it is written
beside its place first.
"""

import csv
import io
import json
import mimetypes
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias

from halflife.core.errors import UsageError
from halflife.engine import export_rows
from halflife.engine.export_rows import ExportSelection
from halflife.stores import Store
from halflife.stores.holdings import PageRow

if TYPE_CHECKING:
    import pyarrow as pa

Write: TypeAlias = Callable[[bytes], Any]

CHUNK = 20_000  # rows of Parquet in one group; 20 MB of usual records
_LINES = 1000  # rows written at once
_ODD = re.compile(r"[^A-Za-z0-9._-]+")
_WIDEST = 2**63
_LONGEST = 80  # letters of a key in the name of a file
EXTRA = {"parquet": ("pyarrow", "parquet"), "warc": ("warcio", "warc")}
TEXTS = ("jsonl", "json", "csv")  # formats that a terminal can show
FILES = ("parquet", "warc", "folder")
FORMATS = (*TEXTS, *FILES)


def save(store: Store, wanted: ExportSelection, form: str, out: Path) -> int:
    """Write what is wanted to a file or folder; return how many rows."""
    if form == "folder":
        return _folder(store, wanted, out)
    with _whole(out) as file:
        if form in TEXTS:
            return write(store, wanted, form, file.write)
        return _BINARY[form](store, wanted, file)


def write(store: Store, wanted: ExportSelection, form: str, put: Write) -> int:
    """Write what is wanted as text; return how many rows."""
    return _TEXT[form](store, wanted, put)


@contextmanager
def _whole(path: Path) -> Iterator[BinaryIO]:
    """Let a file be written; it takes its place when all of it is on the disk."""
    if path.is_dir():
        raise UsageError(f"--out: {path} is a folder; name a file")
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)


def _jsonl(store: Store, wanted: ExportSelection, put: Write) -> int:
    lines, n = export_rows.lines(store, wanted), 0
    while some := list(islice(lines, _LINES)):
        put(("\n".join(some) + "\n").encode("utf-8", "replace"))
        n += len(some)
    return n


def _json(store: Store, wanted: ExportSelection, put: Write) -> int:
    n = 0
    for line in export_rows.lines(store, wanted):
        put(((",\n" if n else "[\n") + line).encode("utf-8", "replace"))
        n += 1
    put(b"\n]\n" if n else b"[]\n")
    return n


def _csv(store: Store, wanted: ExportSelection, put: Write) -> int:
    head, names = _columns(store, wanted)
    flags = [i for i, kinds in enumerate(names.values(), len(head)) if bool in kinds]
    buffer = io.StringIO()
    table = csv.writer(buffer, lineterminator="\n")
    table.writerow([*head, *(_apart(name, head) for name in names)])
    rows, n = _flat(store, wanted, export_rows.date, list(names)), 0
    while some := list(islice(rows, _LINES)):
        for row in some:
            for place in flags:
                if isinstance(row[place], bool):  # as in JSON
                    row[place] = "true" if row[place] else "false"
        table.writerows(some)
        n += len(some)
        put(buffer.getvalue().encode("utf-8", "replace"))
        buffer.seek(0)
        buffer.truncate()
    put(buffer.getvalue().encode("utf-8", "replace"))
    return n


def _columns(
    store: Store, wanted: ExportSelection
) -> tuple[tuple[str, ...], dict[str, set[type]]]:
    """Return the columns that every row has, and the fields with their types."""
    head = ("key", *wanted.times)
    if not export_rows.has_records(store, wanted.source):
        return head, {name: {str} for name in export_rows.PAGE_FIELDS}
    return head, store.holdings.fields(wanted.source)


def _flat(
    store: Store,
    wanted: ExportSelection,
    shown: Callable[[float | None], Any],
    names: Sequence[str],
) -> Iterator[list[Any]]:
    """Return rows as lists: the key, two times as they are to be shown, the fields."""
    times: dict[float | None, Any] = {}
    is_page = not export_rows.has_records(store, wanted.source)
    found = (export_rows.pages if is_page else export_rows.records)(store, wanted)
    for row in found:
        for at in (row.begins, row.ends):
            if at not in times:
                times[at] = shown(at)
        head = [row.key, times[row.begins], times[row.ends]]
        if isinstance(row, PageRow):
            yield [*head, row.digest, row.media_type, export_rows.text_of(row)]
        else:
            get = json.loads(row.text).get
            yield [*head, *(get(name) for name in names)]


def _apart(name: str, taken: Iterable[str]) -> str:
    """Return the column of a field; one that has the name of another gets a mark."""
    return f"field_{name}" if name in taken else name


def _parquet(store: Store, wanted: ExportSelection, file: BinaryIO) -> int:
    import pyarrow as pa  # noqa: PLC0415  (an extra)
    import pyarrow.parquet as pq  # noqa: PLC0415

    head, names = _columns(store, wanted)
    times = pa.timestamp("ms", tz="UTC")
    columns = [(head[0], pa.string()), *((name, times) for name in head[1:])]
    columns += [(_apart(n, head), _arrow(kinds)) for n, kinds in names.items()]
    schema, n = pa.schema(columns), 0
    rows = _flat(store, wanted, _milliseconds, list(names))
    with pq.ParquetWriter(file, schema, compression="zstd") as table:
        while some := list(islice(rows, CHUNK)):
            arrays = [
                pa.array(_plain(column, kind), kind)
                for column, kind in zip(
                    zip(*some, strict=True), schema.types, strict=True
                )
            ]
            table.write_batch(pa.RecordBatch.from_arrays(arrays, schema=schema))
            n += len(some)
    return n


def _milliseconds(days: float | None) -> int | None:
    return None if days is None else round(days * 86_400) * 1000


def _plain(column: Sequence[Any], kind: "pa.DataType") -> Sequence[Any]:
    """Return the values of a column; where types are mixed, all are texts."""
    if str(kind) == "int64":
        if any(v is not None and not -_WIDEST <= v < _WIDEST for v in column):
            raise UsageError("a number is too large for Parquet; choose jsonl or csv")
        return column
    if str(kind) != "string":
        return column
    return [v if v is None or isinstance(v, str) else json.dumps(v) for v in column]


def _arrow(kinds: set[type]) -> "pa.DataType":
    import pyarrow as pa  # noqa: PLC0415  (an extra)

    if kinds == {bool}:
        return pa.bool_()
    if kinds == {int}:
        return pa.int64()
    return pa.float64() if kinds and kinds <= {int, float} else pa.string()


def _warc(store: Store, wanted: ExportSelection, file: BinaryIO) -> int:
    from warcio.warcwriter import WARCWriter  # noqa: PLC0415  (an extra)

    if export_rows.has_records(store, wanted.source):
        raise UsageError(
            f"{wanted.source} has records, and a WARC holds pages; choose jsonl, csv "
            "or parquet"
        )
    writer, n = WARCWriter(file, gzip=True), 0
    for page in export_rows.pages(store, wanted):
        if page.body is None:
            continue
        record = writer.create_warc_record(
            page.key,
            "resource",
            payload=io.BytesIO(page.body),
            warc_content_type=page.media_type or "application/octet-stream",
            warc_headers_dict={"WARC-Date": export_rows.date(page.begins)},
        )
        writer.write_record(record)
        record.raw_stream.close()  # a copy that the writer made to count its bytes
        n += 1
    return n


def _folder(store: Store, wanted: ExportSelection, out: Path) -> int:
    """Write a file for each record or page, and a list of them."""
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UsageError(f"--out: {out} is there already; name a new folder")
    out.mkdir(parents=True, exist_ok=True)
    n = 0
    with _whole(out / "index.jsonl") as index:
        for name, body, about in _files(store, wanted):
            (out / name).write_bytes(body)
            line = json.dumps({"file": name, **about}, ensure_ascii=False) + "\n"
            index.write(line.encode("utf-8", "replace"))
            n += 1
    return n


def _files(
    store: Store, wanted: ExportSelection
) -> Iterator[tuple[str, bytes, dict[str, Any]]]:
    first, last = wanted.times
    if export_rows.has_records(store, wanted.source):
        for row in export_rows.rows(store, wanted):
            body = json.dumps(row["fields"], ensure_ascii=False, indent=2) + "\n"
            about = {name: row[name] for name in ("key", first, last)}
            mark = str(row[first]) if wanted.history else ""
            yield file_name(row["key"], mark, ".json"), body.encode(), about
        return
    for page in export_rows.pages(store, wanted):
        if page.body is None:
            continue
        begins, ends = export_rows.date(page.begins), export_rows.date(page.ends)
        about = {"key": page.key, first: begins, last: ends, "digest": page.digest}
        ending = mimetypes.guess_extension(page.media_type or "") or ".bin"
        mark = str(begins) if wanted.history else ""
        yield file_name(page.key, mark, ending), page.body, about


def file_name(key: str, mark: str, ending: str) -> str:
    """Return a name for the file of a key that no key of a stranger can abuse.

    >>> file_name("http://x.example/../a?b", "", ".html")
    'x.example-..-a-b-6c402193.html'
    """
    digest = blake2b(f"{key} {mark}".encode("utf-8", "replace"), digest_size=4)
    plain = _ODD.sub("-", key.partition("://")[2] or key).strip("-.")[:_LONGEST]
    return f"{plain or 'x'}-{digest.hexdigest()}{ending}"


_TEXT: dict[str, Callable[[Store, ExportSelection, Write], int]] = {
    "jsonl": _jsonl,
    "json": _json,
    "csv": _csv,
}
_BINARY: dict[str, Callable[[Store, ExportSelection, BinaryIO], int]] = {
    "parquet": _parquet,
    "warc": _warc,
}
