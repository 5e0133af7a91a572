"""The time and memory of the best schedule for items in Parquet files."""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from time import perf_counter, process_time

import numpy as np

from halflife.bench.population import rates_and_weights
from halflife.core.errors import UsageError
from halflife.core.executor import Executor, Part, Result
from halflife.executors import executor_named
from halflife.executors.local import InProcess
from halflife.recordings.item_parts import allocate_files, parts_of

PER_FILE = 1_000_000  # items
_PER_ITEM = 0.2  # requests a day
_BYTES = 40  # of disk for each item: three columns, and the frequency
_COSTS = (0.5, 3.0)


class MeasuredProcess(InProcess):
    """An executor that measures the memory and time of its processes.

    Attributes:
        memory: The most memory that each process had, in bytes, by its number.
        processor: Seconds of the processor that the parts took.

    """

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self.memory = dict[int, int]()
        self.processor = 0.0

    def map(
        self, work: Callable[[Part], Result], parts: Sequence[Part]
    ) -> Iterator[Result]:
        """Yield the result of each part, in their order."""
        for result, seconds, process, most in self._executor.map(
            partial(_measured, work), parts
        ):
            self.memory[process] = max(most, self.memory.get(process, 0))
            self.processor += seconds
            yield result

    @property
    def peak(self) -> int:
        """The most memory that all processes and this one had, in bytes."""
        return sum({**self.memory, os.getpid(): peak_memory()}.values())


def _measured(
    work: Callable[[Part], Result], part: Part
) -> tuple[Result, float, int, int]:
    began = process_time()
    result = work(part)
    return result, process_time() - began, os.getpid(), peak_memory()


def peak_memory() -> int:
    """Return the most memory that this process has had, in bytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return 0


def run(
    items: int, executor: str = "local", folder: Path | None = None
) -> dict[str, float | int | str]:
    """Return the time, the memory and the exactness of a plan from Parquet files.

    The files are made first, in ``folder`` or the temporary directory, and removed in
    the end; that is not counted. The start of the executor is timed separately.
    """
    with tempfile.TemporaryDirectory(prefix="halflife-", dir=folder) as made:
        source, target = Path(made) / "items", Path(made) / "plan"
        source.mkdir()
        _refuse_full(source, items)
        began = perf_counter()
        with executor_named(executor) as opened:
            list(opened.map(_nothing, range(2)))
            started = perf_counter() - began
            list(opened.map(partial(make_file, source), files_of(items)))
            workers = MeasuredProcess(opened)
            return {
                "items": items,
                "executor": executor,
                "start_seconds": started,
                **planned(items, source, target, workers),
            }


def planned(
    items: int, source: Path, target: Path, workers: MeasuredProcess
) -> dict[str, float | int]:
    """Return the figures of one plan."""
    budget = _PER_ITEM * items
    began, own = perf_counter(), process_time()
    plan = allocate_files(parts_of(source, target), budget, workers)
    seconds, own = perf_counter() - began, process_time() - own
    here = os.getpid() in workers.memory  # this process did the work itself
    return {
        "seconds": seconds,
        "processor_seconds": own + (0.0 if here else workers.processor),
        "peak_mb": workers.peak / 1e6,
        "processes": len(workers.memory),
        "kkt_residual": plan.kkt_residual,
        "budget_error": abs(plan.spent / budget - 1.0),
        "price": plan.price,
        "value": plan.value,
        "passes": plan.passes,
        "load": os.getloadavg()[0],
    }


def _refuse_full(folder: Path, items: int) -> None:
    free = shutil.disk_usage(folder).free
    if free < _BYTES * items:
        raise UsageError(
            f"{items:,} items take {_BYTES * items / 1e9:.1f} GB under {folder}, which "
            f"has {free / 1e9:.1f} GB left; name another folder with TMPDIR"
        )


def _nothing(_: int) -> None:
    """Do nothing: the first part waits for the start of its process."""


def files_of(items: int) -> list[tuple[int, int]]:
    """Return the number and the items of each file, four at least."""
    size = min(PER_FILE, -(-items // 4))
    sizes = [min(size, items - start) for start in range(0, items, size)]
    return list(enumerate(sizes))


def make_file(folder: Path, file: tuple[int, int]) -> None:
    """Write a file of synthetic items, the same every time."""
    import pyarrow as pa  # noqa: PLC0415  (an extra)
    from pyarrow import parquet  # noqa: PLC0415

    number, n = file
    rate, weight = rates_and_weights(n, number)
    cost = np.random.default_rng([number, 1]).uniform(*_COSTS, n)
    table = pa.table({"rate": rate, "weight": weight, "cost": cost})
    parquet.write_table(
        table, folder / f"part-{number:06}.parquet", use_dictionary=["weight"]
    )
