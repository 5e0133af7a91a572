"""The links between pages, as columns."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from halflife.core.arrays import Ints

FAR: int = np.iinfo(np.intp).max  # the depth of an unreachable page


@dataclass(frozen=True, slots=True)
class Links:
    """The links between items; row ``i`` of each column is item ``i``.

    Item ``i`` links to the rows ``to[start[i] : start[i + 1]]``, which ascend.

    Attributes:
        keys: The items' names.
        start: Where each item's links begin in ``to``; one more than items.
        to: Rows of the items linked to.
        same: The row of the item of which this one is another address; -1 if none.
        under: The rules by which its links were extracted; empty if never read.

    """

    keys: tuple[str, ...]
    start: Ints
    to: Ints
    same: Ints
    under: tuple[str, ...]

    @classmethod
    def of_columns(
        cls,
        keys: Sequence[str],
        edges: tuple[Ints, Ints],
        same: Mapping[int, int],
        under: Mapping[int, str],
    ) -> Self:
        """Return the links in which row ``edges[0][k]`` links to ``edges[1][k]``.

        A link given twice counts once.
        """
        n = len(keys)
        page, target = (np.asarray(column, dtype=np.int64) for column in edges)
        code = np.unique(page * n + target)
        start = np.searchsorted(code, np.arange(n + 1, dtype=np.int64) * n)
        other = np.full(n, -1, dtype=np.intp)
        other[list(same)] = list(same.values())
        rules = tuple(under.get(row, "") for row in range(n))
        to = (code % n).astype(np.intp)
        return cls(tuple(keys), start.astype(np.intp), to, other, rules)

    @classmethod
    def of(cls, out: Mapping[str, Iterable[str]]) -> Self:
        """Return the links of pages by name; every target must be a page.

        >>> Links.of({"a": ["b", "a"], "b": []}).out(0)
        array([0, 1])
        """
        row = {key: i for i, key in enumerate(out)}
        pairs = [(row[a], row[b]) for a, targets in out.items() for b in targets]
        page, target = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
        return cls.of_columns(tuple(out), (page, target), {}, {})

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def page(self) -> Ints:
        """The row of the page that has each link of ``to``."""
        return np.repeat(np.arange(len(self), dtype=np.intp), np.diff(self.start))

    def out(self, row: int) -> Ints:
        """Return the rows that an item links to."""
        return self.to[self.start[row] : self.start[row + 1]]

    def depth(self, roots: Iterable[int]) -> Ints:
        """Return the least number of links from a root to each item, else ``FAR``.

        Another address of a page is as deep as the page: a redirect is no link.

        >>> Links.of({"a": ["b"], "b": ["c"], "c": [], "d": []}).depth([0])[:3]
        array([0, 1, 2])
        """
        depth = np.full(len(self), FAR, dtype=np.intp)
        frontier = np.array(sorted(set(roots)), dtype=np.intp)
        steps = 0
        while frontier.size:
            frontier = self._with_same(frontier, depth)
            depth[frontier] = steps
            ends = np.concatenate([self.out(int(row)) for row in frontier])
            frontier = np.unique(ends[depth[ends] == FAR])
            steps += 1
        return depth

    def _with_same(self, rows: Ints, depth: Ints) -> Ints:
        """Return the rows and the unreached pages of which they are other addresses."""
        while True:
            same = self.same[rows]
            same = same[same >= 0]
            extended = np.union1d(rows, same[depth[same] == FAR]).astype(np.intp)
            if extended.size == rows.size:
                return rows
            rows = extended
