"""Export the copy of a source in the formats that other programs read.

Every format is written row by row. A file is written beside its place first, so that it
is never there in part.
"""

import csv
import io
import json
import mimetypes
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

from halflife.core.errors import UsageError
from halflife.core.observation import Content
from halflife.core.wording import date
from halflife.engine import export_rows
from halflife.engine.export_rows import ExportSelection
from halflife.stores import Store

Write: TypeAlias = Callable[[bytes], Any]

_LINES = 1000  # rows written at once
_ODD = re.compile(r"[^A-Za-z0-9._-]+")
_IN_JSON = {bool, list, dict}  # types whose values are JSON in a CSV
_LONGEST = 80  # letters of a key in the name of a file
EXTRA = {"parquet": ("pyarrow", "parquet"), "warc": ("warcio", "warc")}
TEXTS = ("jsonl", "json", "csv")  # formats that a terminal can show
FILES = ("parquet", "warc", "folder")
FORMATS = (*TEXTS, *FILES)


def save(store: Store, wanted: ExportSelection, form: str, out: Path) -> int:
    """Write the selected data to a file or folder; return the number of rows."""
    if form == "folder":
        return _folder(store, wanted, out)
    with _whole(out) as file:
        if form in TEXTS:
            return write(store, wanted, form, file.write)
        return _BINARY[form](store, wanted, file)


def write(store: Store, wanted: ExportSelection, form: str, put: Write) -> int:
    """Write the selected data as text; return the number of rows."""
    return _TEXT[form](store, wanted, put)


@contextmanager
def _whole(path: Path) -> Iterator[BinaryIO]:
    """Open a file that is moved to its place when all of it is on the disk."""
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
    while batch := list(islice(lines, _LINES)):
        put(("\n".join(batch) + "\n").encode("utf-8", "replace"))
        n += len(batch)
    return n


def _json(store: Store, wanted: ExportSelection, put: Write) -> int:
    n = 0
    for line in export_rows.lines(store, wanted):
        put(((",\n" if n else "[\n") + line).encode("utf-8", "replace"))
        n += 1
    put(b"\n]\n" if n else b"[]\n")
    return n


def _csv(store: Store, wanted: ExportSelection, put: Write) -> int:
    head, names = export_rows.columns(store, wanted)
    odd = [i for i, kinds in enumerate(names.values(), len(head)) if kinds & _IN_JSON]
    buffer = io.StringIO()
    table = csv.writer(buffer, lineterminator="\n")
    table.writerow([*head, *(export_rows.column_name(name, head) for name in names)])
    rows, n = export_rows.flat(store, wanted, date, list(names)), 0
    while batch := list(islice(rows, _LINES)):
        for place in odd:
            for row in batch:
                value = row[place]
                if value is True or value is False:  # faster than ``json.dumps``
                    row[place] = "true" if value else "false"
                elif isinstance(value, (list, dict)):
                    row[place] = json.dumps(value, ensure_ascii=False)
        table.writerows(batch)
        n += len(batch)
        put(buffer.getvalue().encode("utf-8", "replace"))
        buffer.seek(0)
        buffer.truncate()
    put(buffer.getvalue().encode("utf-8", "replace"))
    return n


def _parquet(store: Store, wanted: ExportSelection, file: BinaryIO) -> int:
    from halflife.engine import export_parquet  # noqa: PLC0415  (needs an extra)

    return export_parquet.write(store, wanted, file)


def _warc(store: Store, wanted: ExportSelection, file: BinaryIO) -> int:
    from halflife.sinks.warc_records import ArchiveFile  # noqa: PLC0415  (an extra)

    if export_rows.has_records(store, wanted.source):
        raise UsageError(
            f"{wanted.source} has records, and a WARC holds pages; choose jsonl, csv "
            "or parquet"
        )
    archive, n = ArchiveFile(file, f"{wanted.source}.warc.gz", {}), 0
    for page in export_rows.pages(store, wanted):
        if page.body is not None:
            content = Content(page.media_type, page.body, page.head)
            archive.add(page.key, date(page.begins) or "", content)
            n += 1
    return n


def _folder(store: Store, wanted: ExportSelection, out: Path) -> int:
    """Write a file for each record or page, and an index."""
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
        begins, ends = date(page.begins), date(page.ends)
        about = {"key": page.key, first: begins, last: ends, "digest": page.digest}
        ending = mimetypes.guess_extension(page.media_type or "") or ".bin"
        mark = str(begins) if wanted.history else ""
        yield file_name(page.key, mark, ending), page.body, about


def file_name(key: str, mark: str, ending: str) -> str:
    """Return a safe file name for a key.

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
