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
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias

from halflife.core.errors import UsageError
from halflife.engine import export_rows
from halflife.engine.export_rows import Selection
from halflife.stores import Store

if TYPE_CHECKING:
    import pyarrow as pa

Write: TypeAlias = Callable[[bytes], Any]

CHUNK = 20_000  # rows of Parquet in one group; 20 MB of usual records
_LINES = 1000  # rows written at once
_ODD = re.compile(r"[^A-Za-z0-9._-]+")
_LONGEST = 80  # letters of a key in the name of a file
EXTRA = {"parquet": ("pyarrow", "parquet"), "warc": ("warcio", "warc")}
TEXTS = ("jsonl", "json", "csv")  # formats that a terminal can show
FILES = ("parquet", "warc", "folder")
FORMATS = (*TEXTS, *FILES)


def save(store: Store, wanted: Selection, form: str, out: Path) -> int:
    """Write what is wanted to a file or folder; return how many rows."""
    if form == "folder":
        return _folder(store, wanted, out)
    with _whole(out) as file:
        if form in TEXTS:
            return write(store, wanted, form, file.write)
        return _BINARY[form](store, wanted, file)


def write(store: Store, wanted: Selection, form: str, put: Write) -> int:
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


def _jsonl(store: Store, wanted: Selection, put: Write) -> int:
    lines, n = export_rows.lines(store, wanted), 0
    while some := list(islice(lines, _LINES)):
        put(("\n".join(some) + "\n").encode("utf-8", "replace"))
        n += len(some)
    return n


def _json(store: Store, wanted: Selection, put: Write) -> int:
    n = 0
    for line in export_rows.lines(store, wanted):
        put(((",\n" if n else "[\n") + line).encode("utf-8", "replace"))
        n += 1
    put(b"\n]\n" if n else b"[]\n")
    return n


def _csv(store: Store, wanted: Selection, put: Write) -> int:
    head, names = _columns(store, wanted)
    buffer = io.StringIO()
    table = csv.writer(buffer, lineterminator="\n")
    table.writerow([*head, *(_apart(name, head) for name in names)])
    n = 0
    for row in export_rows.rows(store, wanted):
        fields = row.get("fields", row)
        values = [row[name] for name in head] + [fields.get(name) for name in names]
        table.writerow(map(_cell, values))
        n += 1
        if n % _LINES == 0:
            put(buffer.getvalue().encode("utf-8", "replace"))
            buffer.seek(0)
            buffer.truncate()
    put(buffer.getvalue().encode("utf-8", "replace"))
    return n


def _cell(value: object) -> object:
    """Return a value as a table shows it; true and false as in JSON."""
    return json.dumps(value) if isinstance(value, bool) else value


def _columns(
    store: Store, wanted: Selection
) -> tuple[tuple[str, ...], dict[str, set[type]]]:
    """Return the columns that every row has, and the fields with their types.

    What fields there are is known only when all records were read.
    """
    head = ("key", *wanted.times)
    if not export_rows.has_records(store, wanted.source):
        return head, {name: {str} for name in export_rows.PAGE_FIELDS}
    found: dict[str, set[type]] = {}
    for record in export_rows.records(store, wanted):
        for name, value in json.loads(record.text).items():
            kinds = found.setdefault(name, set())
            if value is not None:
                kinds.add(type(value))
    return head, found


def _apart(name: str, taken: Iterable[str]) -> str:
    """Return the column of a field; one that has the name of another gets a mark."""
    return f"field_{name}" if name in taken else name


def _parquet(store: Store, wanted: Selection, file: BinaryIO) -> int:
    import pyarrow as pa  # noqa: PLC0415  (an extra)
    import pyarrow.parquet as pq  # noqa: PLC0415

    head, names = _columns(store, wanted)
    times = pa.timestamp("ms", tz="UTC")
    columns = [(head[0], pa.string()), *((name, times) for name in head[1:])]
    columns += [(_apart(n, head), _arrow(kinds)) for n, kinds in names.items()]
    schema, n = pa.schema(columns), 0
    rows = _flat(store, wanted, head, names)
    with pq.ParquetWriter(file, schema, compression="zstd") as table:
        while some := list(islice(rows, CHUNK)):
            table.write_batch(pa.RecordBatch.from_pylist(some, schema=schema))
            n += len(some)
    return n


def _flat(
    store: Store, wanted: Selection, head: tuple[str, ...], names: dict[str, set[type]]
) -> Iterator[dict[str, Any]]:
    from datetime import datetime  # noqa: PLC0415

    shown: dict[str | None, datetime | None] = {None: None}
    texts = {name for name, kinds in names.items() if _is_mixed(kinds)}
    for row in export_rows.rows(store, wanted):
        fields = row.get("fields", row)
        flat: dict[str, Any] = {"key": row["key"]}
        for name in head[1:]:
            if row[name] not in shown:
                shown[row[name]] = datetime.fromisoformat(row[name])
            flat[name] = shown[row[name]]
        for name in names:
            value = fields.get(name)
            if name in texts and value is not None and not isinstance(value, str):
                value = json.dumps(value)
            flat[_apart(name, head)] = value
        yield flat


def _is_mixed(kinds: set[type]) -> bool:
    return not (len(kinds) == 1 or kinds == {int, float})


def _arrow(kinds: set[type]) -> "pa.DataType":
    import pyarrow as pa  # noqa: PLC0415  (an extra)

    if kinds == {bool}:
        return pa.bool_()
    if kinds == {int}:
        return pa.int64()
    return pa.float64() if kinds and kinds <= {int, float} else pa.string()


def _warc(store: Store, wanted: Selection, file: BinaryIO) -> int:
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


def _folder(store: Store, wanted: Selection, out: Path) -> int:
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
    store: Store, wanted: Selection
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


_TEXT: dict[str, Callable[[Store, Selection, Write], int]] = {
    "jsonl": _jsonl,
    "json": _json,
    "csv": _csv,
}
_BINARY: dict[str, Callable[[Store, Selection, BinaryIO], int]] = {
    "parquet": _parquet,
    "warc": _warc,
}
