"""Rows that are added at the end, batch after batch, and read from a mark on."""

from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeAlias, TypeVar

import numpy as np

Columns = TypeVar("Columns", bound=tuple[Any, ...])
Make: TypeAlias = Callable[[Iterable[Any]], Columns]
Kinds: TypeAlias = tuple[type[np.generic], ...]


class GapLog(Generic[Columns]):
    """Gaps in the order in which they were added.

    They lie in pieces of falling size: a new piece is joined with those before it
    that are not larger, so that a million small batches make twenty pieces.
    """

    def __init__(self, make: "Make[Columns]", kinds: Kinds) -> None:
        self._make, self._kinds = make, kinds
        self._pieces: list[Columns] = []
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def add(self, gaps: Columns) -> None:
        """Add gaps at the end."""
        if not _rows(gaps):
            return
        self._size += _rows(gaps)
        while self._pieces and _rows(self._pieces[-1]) <= _rows(gaps):
            gaps = self._joined([self._pieces.pop(), gaps])
        self._pieces.append(gaps)

    def since(self, mark: int) -> Columns:
        """Return the gaps added when there were already ``mark``."""
        parts, start = [], self._size
        for piece in reversed(self._pieces):
            if start <= mark:
                break
            start -= _rows(piece)
            first = max(mark - start, 0)
            parts.append(self._make(column[first:] for column in piece))
        found = self._joined(parts[::-1])
        if mark == 0 and self._pieces:
            self._pieces = [found]  # two copies of all would take twice the memory
        return found

    def _joined(self, parts: list[Columns]) -> Columns:
        if not parts:
            return self._make(np.zeros(0, dtype=kind) for kind in self._kinds)
        if len(parts) == 1:  # never written to, so it need not be copied
            return parts.pop()
        return self._make(np.concatenate(c) for c in zip(*parts, strict=True))


def _rows(columns: tuple[Any, ...]) -> int:
    return int(columns[0].size)
