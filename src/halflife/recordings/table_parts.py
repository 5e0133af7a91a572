"""Change rates in a table of PostgreSQL, and the schedule written as Parquet files.

A partition is a part, and a large one is several: see ``stores.postgres.item_tables``.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from halflife.allocation.parts import ItemColumns
from halflife.core.arrays import Floats
from halflife.core.errors import UsageError
from halflife.recordings.parquet import write_plan

if TYPE_CHECKING:
    from halflife.stores.postgres.item_tables import ItemTable, TableRange

ROWS = 1 << 18  # in a block, as from files
# Types of columns that are copied; any other is written as text.
_ARROW = {
    "smallint": "int16",
    "integer": "int32",
    "bigint": "int64",
    "real": "float32",
    "double precision": "float64",
    "boolean": "bool_",
    "bytea": "binary",
}


@dataclass(frozen=True, slots=True)
class TablePart:
    """The items of a range of a table.

    Attributes:
        source: Has the columns.
        names: The columns of ``ItemColumns`` that the table has.
        target: Gets the column ``frequency``, in the same order.
        keep: Other columns to copy to the target, each with its type.

    """

    source: "TableRange"
    names: tuple[str, ...]
    target: Path
    keep: tuple[tuple[str, str], ...] = ()

    @property
    def name(self) -> str:
        """Its name in messages."""
        return self.source.name

    @property
    def rows(self) -> int:
        """An estimate of the number of its items."""
        return self.source.rows

    def blocks(self) -> Iterator[ItemColumns]:
        """Yield the items in blocks, in order."""
        for found in self.source.numbers(self.names, ROWS):
            yield ItemColumns(**found)

    def write(self, frequencies: Iterator[Floats]) -> None:
        """Write the fetches a day; the file appears when it is complete."""
        import pyarrow as pa  # noqa: PLC0415  (an extra)

        types = [getattr(pa, _ARROW.get(kind, "string"))() for _, kind in self.keep]
        kept = [
            pa.field(name, t) for (name, _), t in zip(self.keep, types, strict=True)
        ]
        write_plan(self.target, kept, frequencies, self._beside(types))

    def _beside(self, types: Sequence[Any]) -> Iterator[list[Any]] | None:
        """Return the copied columns, block by block; None if there are none."""
        import pyarrow as pa  # noqa: PLC0415  (an extra)

        if not self.keep:
            return None
        texts = [kind not in _ARROW for _, kind in self.keep]
        names = [name for name, _ in self.keep]
        return (
            [pa.array(c, t) for c, t in zip(columns, types, strict=True)]
            for columns in self.source.values(names, ROWS, texts)
        )


@contextmanager
def table_parts(
    address: str, target: Path, keep: Sequence[str] = ()
) -> Iterator[list[TablePart]]:
    """Hold a table as it is now, in parts.

    Raise ``UsageError`` if there is none, or a column is missing or not a number.
    """
    try:
        from halflife.stores.postgres import item_tables  # noqa: PLC0415  (an extra)
    except ImportError:
        raise UsageError(
            "reading PostgreSQL needs an extra; install halflife[postgres]"
        ) from None
    with item_tables.open_table(address) as table:
        types = {column.name: column.type for column in table.columns}
        _check(table, types, keep)
        names = tuple(name for name in ItemColumns._fields if name in types)
        kept = tuple((name, types[name]) for name in keep)
        yield [
            TablePart(block, names, target / f"{block.stem}.parquet", kept)
            for block in table.ranges
        ]


def _check(table: "ItemTable", types: dict[str, str], keep: Sequence[str]) -> None:
    from halflife.stores.postgres import item_tables  # noqa: PLC0415  (an extra)

    for name in ("rate", *keep):
        if name not in types:
            raise UsageError(f"{table.name}: has no column {name!r}")
    for column in table.columns:
        if column.name in ItemColumns._fields and not item_tables.is_number(column):
            raise UsageError(f"{table.name}: column {column.name!r} must be numbers")
