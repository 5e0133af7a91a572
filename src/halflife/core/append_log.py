"""An append-only log of rows, read from any mark onwards."""

from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeAlias, TypeVar

import numpy as np

Columns = TypeVar("Columns", bound=tuple[Any, ...])
Make: TypeAlias = Callable[[Iterable[Any]], Columns]
Kinds: TypeAlias = tuple[type[np.generic], ...]


class GapLog(Generic[Columns]):
    """Gaps in the order in which they were added.

    They are stored in chunks of decreasing size: a new chunk is merged with earlier
    ones that are not larger, so that a million small batches make twenty chunks.
    """

    def __init__(self, make: "Make[Columns]", kinds: Kinds) -> None:
        self._make, self._kinds = make, kinds
        self._chunks: list[Columns] = []
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def add(self, gaps: Columns) -> None:
        """Add gaps at the end."""
        if not _rows(gaps):
            return
        self._size += _rows(gaps)
        while self._chunks and _rows(self._chunks[-1]) <= _rows(gaps):
            gaps = self._concatenated([self._chunks.pop(), gaps])
        self._chunks.append(gaps)

    def since(self, mark: int) -> Columns:
        """Return the gaps added after the first ``mark``."""
        columns, start = [], self._size
        for chunk in reversed(self._chunks):
            if start <= mark:
                break
            start -= _rows(chunk)
            first = max(mark - start, 0)
            columns.append(self._make(column[first:] for column in chunk))
        gaps = self._concatenated(columns[::-1])
        if mark == 0 and self._chunks:
            self._chunks = [gaps]  # keep only one copy
        return gaps

    def _concatenated(self, parts: list[Columns]) -> Columns:
        if not parts:
            return self._make(np.zeros(0, dtype=kind) for kind in self._kinds)
        if len(parts) == 1:  # read-only, so it need not be copied
            return parts.pop()
        return self._make(np.concatenate(c) for c in zip(*parts, strict=True))


def _rows(columns: tuple[Any, ...]) -> int:
    return int(columns[0].size)
