"""Export the copy of a source as a Parquet file, in row groups.

The store has the attributes of records as JSON. pyarrow reads this JSON into columns, a
group at a time; no value becomes a Python object. Columns of mixed or nested values,
which pyarrow cannot read, and groups that it refuses are parsed by Python.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, BinaryIO

from halflife.core.errors import UsageError
from halflife.engine import export_rows
from halflife.engine.export_rows import ExportSelection
from halflife.stores import Store
from halflife.stores.holdings import RecordRow

if TYPE_CHECKING:
    import pyarrow as pa

ROWS = 20_000  # the most rows in a group
LETTERS = 1 << 24  # the most letters of records in a group
_TOGETHER = 200  # records that are added to a group at once
_WIDEST = 2**63


def write(store: Store, wanted: ExportSelection, file: BinaryIO) -> int:
    """Write the selected data; return the number of rows."""
    import pyarrow as pa  # noqa: PLC0415  (an extra)
    import pyarrow.parquet as pq  # noqa: PLC0415

    head, names = export_rows.columns(store, wanted)
    times = pa.timestamp("ms", tz="UTC")
    columns = [(head[0], pa.string()), *((name, times) for name in head[1:])]
    kinds = {name: _arrow(types) for name, types in names.items()}
    columns += [(export_rows.column_name(n, head), k) for n, k in kinds.items()]
    schema, n = pa.schema(columns), 0
    if export_rows.has_records(store, wanted.source):
        groups = _record_groups(store, wanted, _FieldReader(names, kinds))
    else:
        groups = _page_groups(store, wanted, schema.types)
    with pq.ParquetWriter(file, schema, compression="zstd") as table:
        for arrays in groups:
            table.write_batch(pa.RecordBatch.from_arrays(arrays, schema=schema))
            n += len(arrays[0])
    return n


def _page_groups(
    store: Store, wanted: ExportSelection, kinds: Sequence["pa.DataType"]
) -> Iterator[list["pa.Array"]]:
    import pyarrow as pa  # noqa: PLC0415

    names = list(export_rows.PAGE_FIELDS)
    rows = export_rows.flat(store, wanted, _milliseconds, names)
    while batch := list(islice(rows, ROWS)):
        columns = zip(*batch, strict=True)
        yield [pa.array(c, kind) for c, kind in zip(columns, kinds, strict=True)]


def _record_groups(
    store: Store, wanted: ExportSelection, reader: "_FieldReader"
) -> Iterator[list["pa.Array"]]:
    import pyarrow as pa  # noqa: PLC0415

    times = export_rows.ShownTimes(_milliseconds)
    moment = pa.timestamp("ms", tz="UTC")
    for group in _groups(export_rows.records(store, wanted)):
        keys, begins, ends, texts = zip(*group, strict=True)
        yield [
            pa.array(keys, pa.string()),
            pa.array([times[at] for at in begins], moment),
            pa.array([times[at] for at in ends], moment),
            *reader.columns(texts),
        ]


def _groups(rows: Iterator[RecordRow]) -> Iterator[list[RecordRow]]:
    """Return rows in groups of limited size, whatever the size of records."""
    group: list[RecordRow] = []
    letters = 0
    while batch := list(islice(rows, _TOGETHER)):
        group += batch
        letters += sum([len(row.text) for row in batch])
        if len(group) >= ROWS or letters >= LETTERS:
            yield group
            group, letters = [], 0
    if group:
        yield group


class _FieldReader:
    """Reads the fields of records, as JSON, into columns."""

    def __init__(
        self, names: Mapping[str, set[type]], kinds: Mapping[str, "pa.DataType"]
    ) -> None:
        import pyarrow as pa  # noqa: PLC0415
        from pyarrow import json as arrow_json  # noqa: PLC0415

        self._kinds = kinds
        # pyarrow converts no types: a column is all text, all numbers or all booleans.
        plain = [n for n, types in names.items() if types == {str} or _is_plain(types)]
        schema = pa.schema([(name, kinds[name]) for name in plain])
        self._plain = set(plain)
        self._options = arrow_json.ParseOptions(
            explicit_schema=schema, unexpected_field_behavior="ignore"
        )

    def columns(self, texts: Sequence[str]) -> list["pa.Array"]:
        """Return the columns of records, given as JSON."""
        found = self._read(texts) if self._plain else {}
        missing = [name for name in self._kinds if name not in found]
        if missing:
            found |= self._parse(texts, missing)
        return [found[name] for name in self._kinds]

    def _read(self, texts: Sequence[str]) -> dict[str, "pa.Array"]:
        """Return the columns that pyarrow can read; none if it refuses the texts."""
        import pyarrow as pa  # noqa: PLC0415
        from pyarrow import json as arrow_json  # noqa: PLC0415

        data = "\n".join(texts).encode("utf-8", "replace")
        whole = arrow_json.ReadOptions(use_threads=False, block_size=len(data) + 1)
        try:
            table = arrow_json.read_json(pa.BufferReader(data), whole, self._options)
        except pa.ArrowInvalid:
            return {}
        if table.num_rows != len(texts):
            return {}
        return {name: table[name].combine_chunks() for name in self._plain}

    def _parse(
        self, texts: Sequence[str], names: Sequence[str]
    ) -> dict[str, "pa.Array"]:
        import pyarrow as pa  # noqa: PLC0415

        rows = [json.loads(text) for text in texts]
        found = {}
        for name in names:
            kind = self._kinds[name]
            found[name] = pa.array(_values([r.get(name) for r in rows], kind), kind)
        return found


def _milliseconds(days: float | None) -> int | None:
    return None if days is None else round(days * 86_400) * 1000


def _values(column: Sequence[Any], kind: "pa.DataType") -> Sequence[Any]:
    """Return the values of a column; mixed types all become texts."""
    if str(kind) == "int64":
        if any(v is not None and not -_WIDEST <= v < _WIDEST for v in column):
            raise UsageError("a number is too large for Parquet; choose jsonl or csv")
        return column
    if str(kind) != "string":
        return column
    return [v if v is None or isinstance(v, str) else json.dumps(v) for v in column]


def _is_plain(kinds: set[type]) -> bool:
    return bool(kinds) and (kinds == {bool} or kinds <= {int, float})


def _arrow(kinds: set[type]) -> "pa.DataType":
    import pyarrow as pa  # noqa: PLC0415  (an extra)

    if kinds == {bool}:
        return pa.bool_()
    if kinds == {int}:
        return pa.int64()
    return pa.float64() if _is_plain(kinds) else pa.string()
