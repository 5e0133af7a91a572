"""Work on this machine, in this process or in a pool of processes."""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import reduce
from multiprocessing import get_context

from halflife.core.errors import ExecutorError
from halflife.core.executor import Part, Result


class InProcess:
    """Runs all work in this process, one part after the other."""

    def map(
        self, work: Callable[[Part], Result], parts: Sequence[Part]
    ) -> Iterator[Result]:
        """Yield the result of each part, in order."""
        return map(work, parts)

    def reduce(
        self,
        work: Callable[[Part], Result],
        parts: Sequence[Part],
        add: Callable[[Result, Result], Result],
    ) -> Result:
        """Return the sum of the results of the parts, from the first to the last."""
        return reduce(add, self.map(work, parts))

    def close(self) -> None:
        """Do nothing: there is nothing to close."""


class ProcessPool(InProcess):
    """Runs parts in processes on this machine.

    They are started when there are several parts and several workers, and import what
    they need themselves (``spawn``): a fork of a process with threads may hang.

    Args:
        workers: Processes; without it, one a core.

    """

    def __init__(self, workers: int | None = None) -> None:
        self.workers = workers or len(os.sched_getaffinity(0))
        self._pool: ProcessPoolExecutor | None = None

    def map(
        self, work: Callable[[Part], Result], parts: Sequence[Part]
    ) -> Iterator[Result]:
        """Yield the result of each part, in order."""
        if self.workers == 1 or len(parts) < 2:
            return super().map(work, parts)
        return self._mapped(work, parts)

    def _mapped(
        self, work: Callable[[Part], Result], parts: Sequence[Part]
    ) -> Iterator[Result]:
        if self._pool is None:
            self._pool = ProcessPoolExecutor(self.workers, get_context("spawn"))
        try:
            yield from self._pool.map(work, parts)
        except BrokenProcessPool:
            raise ExecutorError(
                "a worker process was killed, most likely because memory ran out; "
                "use fewer workers (executor = 'local:1') or smaller partitions"
            ) from None

    def close(self) -> None:
        """End the processes; work that has not begun is dropped."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
            self._pool = None
