"""A part of a plan, written as a Parquet file."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from halflife.core.arrays import Floats


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
