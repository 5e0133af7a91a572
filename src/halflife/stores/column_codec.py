"""Columns of numbers and texts as they are packed into the state file."""

import json
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from halflife.stores.database import Database

Array: TypeAlias = NDArray[Any]

_PUT = "REPLACE INTO filed_column VALUES (?, ?, ?, ?, ?, ?, ?)"
_WHERE = "WHERE filed = ? AND name = ?"


@dataclass(frozen=True, slots=True)
class ColumnFiles:
    """Where evidence lies as columns."""

    id: int
    sources: str
    items: int
    upto: int
    groups: str
    texts: str


def put(
    db: Database, filed: ColumnFiles, name: str, column: Array, part: int = 0
) -> None:
    """Write a column down in the form that suits it.

    One value, if all are the same; as it is, if it hardly gets smaller: times and
    fingerprints; else all first bytes, all second ones and so on, packed.
    """
    form, data = "plain", column[:1].tobytes()
    if column.size and (column == column[0]).all():
        form = "same"
    elif column.dtype.kind in "fS":
        data = column.tobytes()
    else:
        wide = column.dtype.itemsize
        planes = np.ascontiguousarray(column).view(np.uint8).reshape(-1, wide).T
        form, data = "planes", zlib.compress(planes.tobytes(), 1)
    kind = column.dtype.str
    db.execute(_PUT, (filed.id, name, part, kind, column.size, form, data))


def put_text(
    db: Database, filed: ColumnFiles, name: str, text: bytes, part: int
) -> None:
    """Write a text down."""
    packed = zlib.compress(text, 1)
    db.execute(_PUT, (filed.id, name, part, "", len(text), "text", packed))


def put_list(
    db: Database,
    filed: ColumnFiles,
    name: str,
    values: Iterable[str],
    part: int,
) -> None:
    """Write texts down."""
    put_text(db, filed, name, json.dumps(list(values)).encode(), part)


def column(db: Database, filed: ColumnFiles, name: str, part: int = 0) -> Array:
    """Read a column."""
    query = f"SELECT kind, size, form, data FROM filed_column {_WHERE} AND part = ?"  # noqa: S608  (constants)
    kind, size, form, data = db.execute(query, (filed.id, name, part)).fetchone()
    if form == "same":
        # One value stands for all, until something else is to be written.
        return np.broadcast_to(np.frombuffer(data, kind), size)
    if form == "plain":
        return np.frombuffer(bytearray(data), kind, size)
    return _woven(zlib.decompress(data), np.dtype(kind), size)


def _woven(data: bytes, kind: np.dtype[Any], size: int) -> Array:
    """Return numbers of which all first bytes come first, then all second ones."""
    planes = np.frombuffer(data, np.uint8).reshape(kind.itemsize, size)
    whole = np.zeros((size, kind.itemsize), np.uint8)
    for place, plane in enumerate(planes):
        if plane.any():  # mostly only the lowest has anything in it
            whole[:, place] = plane
    return whole.reshape(-1).view(kind)


def parts(db: Database, filed: ColumnFiles, name: str) -> list[int]:
    """Return the parts in which a column came, in order."""
    query = f"SELECT part FROM filed_column {_WHERE} ORDER BY part"  # noqa: S608
    return [part for (part,) in db.execute(query, (filed.id, name))]


def joined(db: Database, filed: ColumnFiles, name: str) -> Array:
    """Read a column that came in parts."""
    found = [column(db, filed, name, part) for part in parts(db, filed, name)]
    if len(found) == 1:
        return found[0]
    return np.concatenate([np.zeros(0, np.int32), *found])


def texts(db: Database, filed: ColumnFiles, name: str) -> Iterator[bytes]:
    """Read the parts of a text, packed as they lie."""
    query = f"SELECT data FROM filed_column {_WHERE} ORDER BY part"  # noqa: S608
    return (data for (data,) in db.execute(query, (filed.id, name)))


def lists(db: Database, filed: ColumnFiles, name: str) -> tuple[str, ...]:
    """Read texts that came in parts."""
    found = texts(db, filed, name)
    return tuple(one for data in found for one in json.loads(zlib.decompress(data)))


def one_list(db: Database, filed: ColumnFiles, name: str, part: int) -> tuple[str, ...]:
    """Read the texts of one part."""
    query = f"SELECT data FROM filed_column {_WHERE} AND part = ?"  # noqa: S608
    (data,) = db.execute(query, (filed.id, name, part)).fetchone()
    return tuple(json.loads(zlib.decompress(data)))


def unpacked(found: Iterable[bytes]) -> bytearray:
    """Return a text from its packed parts."""
    text = bytearray()
    for data in found:
        text += zlib.decompress(data)
    return text


def crossed(one: Array, other: Array) -> Array:
    """Return the bits in which two columns differ: mostly none, so they pack well."""
    return np.asarray(one.view(np.int64) ^ other.view(np.int64)).view(np.float64)
