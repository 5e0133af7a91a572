"""Executors: they run the same work on many parts, here or on other machines."""

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, TypeVar

Part = TypeVar("Part")
Result = TypeVar("Result")


class Executor(Protocol):
    """Runs work on parts that do not depend on each other.

    Work and parts must be picklable. Results come in the order of the parts, and are
    added up in that order, so that they do not depend on which workers did the work,
    nor on how many.
    """

    def map(
        self, work: Callable[[Part], Result], parts: Sequence[Part]
    ) -> Iterator[Result]:
        """Yield the result of each part, in their order."""
        ...

    def reduce(
        self,
        work: Callable[[Part], Result],
        parts: Sequence[Part],
        add: Callable[[Result, Result], Result],
    ) -> Result:
        """Return the results of the parts added up, from the first to the last."""
        ...

    def close(self) -> None:
        """End the processes; the executor cannot be used afterwards."""
        ...
