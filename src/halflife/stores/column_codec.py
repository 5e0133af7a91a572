"""The compressed form of columns of numbers and texts in the state file."""

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
    """The row of evidence that is stored as columns."""

    id: int
    sources: str
    items: int
    upto: int
    groups: str
    texts: str


def put(
    db: Database, filed: ColumnFiles, name: str, column: Array, part: int = 0
) -> None:
    """Store a column in the form that suits it.

    That is one value if all are the same; the plain values of times and fingerprints,
    which hardly compress; else all first bytes, all second ones and so on, compressed.
    """
    form, data = "plain", column[:1].tobytes()
    if column.size and (column == column[0]).all():
        form = "same"
    elif column.dtype.kind in "fS":
        data = column.tobytes()
    else:
        width = column.dtype.itemsize
        planes = np.ascontiguousarray(column).view(np.uint8).reshape(-1, width).T
        form, data = "planes", zlib.compress(planes.tobytes(), 1)
    kind = column.dtype.str
    db.execute(_PUT, (filed.id, name, part, kind, column.size, form, data))


def put_text(
    db: Database, filed: ColumnFiles, name: str, text: bytes, part: int
) -> None:
    """Store a text."""
    packed = zlib.compress(text, 1)
    db.execute(_PUT, (filed.id, name, part, "", len(text), "text", packed))


def put_list(
    db: Database,
    filed: ColumnFiles,
    name: str,
    values: Iterable[str],
    part: int,
) -> None:
    """Store a list of texts."""
    put_text(db, filed, name, json.dumps(list(values)).encode(), part)


def column(db: Database, filed: ColumnFiles, name: str, part: int = 0) -> Array:
    """Read a column."""
    query = f"SELECT kind, size, form, data FROM filed_column {_WHERE} AND part = ?"  # noqa: S608  (constants)
    kind, size, form, data = db.execute(query, (filed.id, name, part)).fetchone()
    if form == "same":
        # One value stands for all, until another one is written.
        return np.broadcast_to(np.frombuffer(data, kind), size)
    if form == "plain":
        return np.frombuffer(bytearray(data), kind, size)
    return _interleave(zlib.decompress(data), np.dtype(kind), size)


def _interleave(data: bytes, kind: np.dtype[Any], size: int) -> Array:
    """Return numbers stored as all first bytes, then all second ones, and so on."""
    planes = np.frombuffer(data, np.uint8).reshape(kind.itemsize, size)
    whole = np.zeros((size, kind.itemsize), np.uint8)
    for place, plane in enumerate(planes):
        if plane.any():  # mostly only the lowest byte is not 0
            whole[:, place] = plane
    return whole.reshape(-1).view(kind)


def parts(db: Database, filed: ColumnFiles, name: str) -> list[int]:
    """Return the parts of a column, in order."""
    query = f"SELECT part FROM filed_column {_WHERE} ORDER BY part"  # noqa: S608
    return [part for (part,) in db.execute(query, (filed.id, name))]


def whole_column(db: Database, filed: ColumnFiles, name: str) -> Array:
    """Read a column that is stored in parts."""
    found = [column(db, filed, name, part) for part in parts(db, filed, name)]
    if len(found) == 1:
        return found[0]
    return np.concatenate([np.zeros(0, np.int32), *found])


def packed_parts(db: Database, filed: ColumnFiles, name: str) -> Iterator[bytes]:
    """Return the parts of a text, still compressed."""
    query = f"SELECT data FROM filed_column {_WHERE} ORDER BY part"  # noqa: S608
    return (data for (data,) in db.execute(query, (filed.id, name)))


def lists(db: Database, filed: ColumnFiles, name: str) -> tuple[str, ...]:
    """Read a list of texts that is stored in parts."""
    found = packed_parts(db, filed, name)
    return tuple(text for data in found for text in json.loads(zlib.decompress(data)))


def list_part(
    db: Database, filed: ColumnFiles, name: str, part: int
) -> tuple[str, ...]:
    """Read one part of a list of texts."""
    query = f"SELECT data FROM filed_column {_WHERE} AND part = ?"  # noqa: S608
    (data,) = db.execute(query, (filed.id, name, part)).fetchone()
    return tuple(json.loads(zlib.decompress(data)))


def unpack_text(found: Iterable[bytes]) -> bytearray:
    """Return a text from its compressed parts."""
    text = bytearray()
    for data in found:
        text += zlib.decompress(data)
    return text


def xor_bits(one: Array, other: Array) -> Array:
    """Return the differing bits of two columns: mostly none, so they compress well."""
    return np.asarray(one.view(np.int64) ^ other.view(np.int64)).view(np.float64)
