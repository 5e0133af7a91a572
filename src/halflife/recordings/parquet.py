"""Tables in Parquet files; reading and writing them needs an extra."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from halflife.core.arrays import Floats
from halflife.core.errors import UsageError

Table: TypeAlias = Any  # a pyarrow table: an extra, so its types may be missing


def read_table(path: Path, needed: Sequence[str]) -> Table:
    """Return the table in a file; raise ``UsageError`` that names what is missing."""
    try:
        from pyarrow import ArrowInvalid, parquet  # noqa: PLC0415  (an extra)
    except ImportError as error:
        raise UsageError(
            f"{path}: reading Parquet needs an extra; install halflife[parquet]"
        ) from error
    if not path.is_file():
        raise UsageError(f"{path}: missing; the folder is no recorded history")
    try:
        table = parquet.read_table(path)
    except (ArrowInvalid, OSError) as error:
        raise UsageError(f"{path}: cannot be read as Parquet: {error}") from error
    for column in needed:
        if column not in table.column_names:
            raise UsageError(f"{path}: has no column {column!r}")
    return table


def write_columns(path: Path, columns: Mapping[str, Any]) -> None:
    """Write columns to a Parquet file; the folder is created if needed."""
    try:
        import pyarrow as pa  # noqa: PLC0415  (an extra)
        from pyarrow import parquet  # noqa: PLC0415
    except ImportError as error:
        raise UsageError(
            f"{path}: writing Parquet needs an extra; install halflife[parquet]"
        ) from error
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        parquet.write_table(pa.table(dict(columns)), path, compression="zstd")
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror}") from error


def write_plan(
    target: Path,
    kept: Sequence[Any],
    frequencies: Iterator[Floats],
    beside: Iterator[Sequence[Any]] | None,
) -> None:
    """Write fetches a day, with the columns ``kept``; the file appears when complete.

    ``beside`` yields the columns that are kept, in blocks of the same rows as
    ``frequencies``.
    """
    import pyarrow as pa  # noqa: PLC0415  (an extra)
    from pyarrow import parquet  # noqa: PLC0415

    partial = target.with_suffix(".partial")
    schema = pa.schema([*kept, pa.field("frequency", pa.float64())])
    with parquet.ParquetWriter(partial, schema, use_dictionary=False) as out:
        for frequency in frequencies:
            rows = [*(next(beside) if beside else ()), pa.array(frequency)]
            out.write_batch(pa.RecordBatch.from_arrays(rows, schema=schema))
    partial.replace(target)
