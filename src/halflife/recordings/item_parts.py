"""Change rates in a folder of Parquet files, and the schedule written beside them.

Each file is a part. Its items are read in blocks, so memory does not grow with their
number. pyarrow is an extra.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from halflife.allocation.columns import Objective
from halflife.allocation.parts import ItemColumns, PartedAllocation, allocate_parts
from halflife.core.arrays import Floats
from halflife.core.errors import UsageError
from halflife.core.executor import Executor
from halflife.core.store_address import is_address
from halflife.executors import executor_named
from halflife.recordings.parquet import write_plan
from halflife.recordings.table_parts import TablePart, table_parts

ROWS = 1 << 18  # in a block: a few megabytes
COLUMNS = ItemColumns._fields
SUMMARY = "_plan.json"  # readers of Parquet folders skip names with an underscore
_PAYS = 2_000_000  # items from which starting a pool of processes pays


@dataclass(frozen=True, slots=True)
class ParquetPart:
    """The items of one file.

    Attributes:
        source: Has the columns ``rate`` and, where they are not 1, ``weight``, ``cost``
            and ``shape``.
        target: Gets the column ``frequency``, in the same order.
        keep: Other columns to copy from the source to the target.

    """

    source: Path
    target: Path
    keep: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Its name in messages."""
        return str(self.source)

    @property
    def rows(self) -> int:
        """The number of its items."""
        with _opened(self.source) as file:
            return int(file.metadata.num_rows)

    def blocks(self) -> Iterator[ItemColumns]:
        """Yield the items in blocks, in order."""
        with _opened(self.source) as file:
            names = [name for name in COLUMNS if name in file.schema_arrow.names]
            for batch in _batches(file, names):
                found = {name: _numbers(batch, name, self.name) for name in names}
                yield ItemColumns(**found)

    def write(self, frequencies: Iterator[Floats]) -> None:
        """Write the fetches a day; the file appears when it is complete."""
        with _opened(self.source) as file:
            kept = [file.schema_arrow.field(name) for name in self.keep]
            batches = _batches(file, self.keep) if self.keep else None
            beside = (batch.columns for batch in batches) if batches else None
            write_plan(self.target, kept, frequencies, beside)


def allocate_folder(
    source: Path | str,
    target: Path | str,
    budget: float,
    *,
    objective: Objective = "freshness",
    keep: Sequence[str] = (),
    executor: str = "in-process",
) -> PartedAllocation:
    """Plan the items of a folder of Parquet files, in bounded memory.

    The folder ``target`` gets a file for each file of ``source``, with the fetches a
    day that ``allocate`` would give each item, and ``_plan.json``, written last, with
    the totals. ``source`` may be a table instead, as
    ``postgresql://…&table=items``; its partitions, and ranges of large ones, take the
    place of the files. Raise ``UsageError`` if the items cannot be used.
    """
    target = Path(target)
    if is_address(str(source)):
        _check_target(target)
        with table_parts(str(source), target, keep) as found:
            return _allocated(found, budget, executor, objective)
    files = parts_of(Path(source), target, keep)
    return _allocated(files, budget, executor, objective)


def _allocated(
    parts: Sequence[ParquetPart | TablePart],
    budget: float,
    executor: str,
    objective: Objective,
) -> PartedAllocation:
    if executor.partition(":")[0] == "local" and sum(p.rows for p in parts) < _PAYS:
        executor = "in-process"
    with executor_named(executor) as workers:
        return allocate_files(parts, budget, workers, objective)


def allocate_files(
    parts: Sequence[ParquetPart | TablePart],
    budget: float,
    executor: Executor,
    objective: Objective = "freshness",
) -> PartedAllocation:
    """Plan the items of files, and write the totals of the plan."""
    parts[0].target.parent.mkdir(parents=True, exist_ok=True)
    try:
        plan = allocate_parts(parts, budget, executor, objective=objective)
    except ValueError as error:
        raise UsageError(str(error)) from None
    summary = {"budget": budget, "objective": objective, **asdict(plan)}
    (parts[0].target.parent / SUMMARY).write_text(json.dumps(summary) + "\n")
    return plan


def parts_of(source: Path, target: Path, keep: Sequence[str] = ()) -> list[ParquetPart]:
    """Return the files of a folder, in the order of their names.

    Raise ``UsageError`` if there are none, a column is missing, or the target is not
    empty.
    """
    files = sorted(source.glob("*.parquet")) if source.is_dir() else []
    if not files:
        raise UsageError(f"{source}: no folder with Parquet files (*.parquet)")
    _check_target(target)
    parts = [ParquetPart(path, target / path.name, tuple(keep)) for path in files]
    for part in parts:
        _check(part)
    return parts


def _check_target(target: Path) -> None:
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise UsageError(f"{target}: is not empty; name a new folder for the plan")


def _check(part: ParquetPart) -> None:
    with _opened(part.source) as file:
        names = file.schema_arrow.names
    for name in ("rate", *part.keep):
        if name not in names:
            raise UsageError(f"{part.name}: has no column {name!r}")
    if "frequency" in part.keep:
        raise UsageError("frequency is what the plan writes; it cannot be kept")


def _opened(path: Path) -> Any:  # noqa: ANN401  (pyarrow has no types)
    try:
        from pyarrow import ArrowInvalid, parquet  # noqa: PLC0415  (an extra)
    except ImportError:
        raise UsageError(
            f"{path}: reading Parquet needs an extra; install halflife[parquet]"
        ) from None
    try:
        return parquet.ParquetFile(path)
    except (ArrowInvalid, OSError) as error:
        reason = str(error).partition("\n")[0]
        raise UsageError(f"{path}: cannot be read as Parquet: {reason}") from None


def _batches(file: Any, names: Sequence[str]) -> Iterator[Any]:  # noqa: ANN401
    found: Iterator[Any] = file.iter_batches(ROWS, columns=names, use_threads=False)
    return found


def _numbers(batch: Any, name: str, where: str) -> Floats:  # noqa: ANN401
    column = batch.column(name)
    if column.null_count:
        raise UsageError(f"{where}: column {name!r} has rows without a value")
    try:
        return np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.float64)
    except (TypeError, ValueError):
        raise UsageError(f"{where}: column {name!r} must be numbers") from None
