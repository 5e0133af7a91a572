"""Categories of items; an item may be in several, or in none."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from halflife.core.arrays import Ints


@dataclass(frozen=True, slots=True)
class Categories:
    """Which items each category holds, as ragged columns.

    Category ``j`` holds the rows ``item[start[j] : start[j + 1]]``, which ascend.

    Attributes:
        names: The categories' names.
        start: Where each category begins in ``item``; one more than categories.
        item: Rows of the items.
        n_items: Items there are, in a category or not.

    """

    names: tuple[str, ...]
    start: Ints
    item: Ints
    n_items: int

    @classmethod
    def of_pairs(
        cls, names: Sequence[str], category: Ints, item: Ints, n_items: int
    ) -> Self:
        """Return the categories in which item ``item[k]`` is in ``category[k]``.

        A pair given twice counts once.
        """
        code = np.unique(category.astype(np.int64) * n_items + item)
        where, rows = np.divmod(code, n_items)
        start = np.searchsorted(where, np.arange(len(names) + 1))
        return cls(tuple(names), start.astype(np.intp), rows.astype(np.intp), n_items)

    @classmethod
    def of_labels(cls, labels: Iterable[str]) -> Self:
        """Return the categories given by one label for each item.

        >>> Categories.of_labels(["a", "b", "a"]).members(0)
        array([0, 2])
        """
        code: dict[str, int] = {}
        codes = [code.setdefault(label, len(code)) for label in labels]
        rows = np.arange(len(codes), dtype=np.intp)
        return cls.of_pairs(tuple(code), np.array(codes, np.intp), rows, len(codes))

    def __len__(self) -> int:
        return len(self.names)

    @property
    def size(self) -> Ints:
        """How many items each category holds."""
        return np.diff(self.start)

    @property
    def category(self) -> Ints:
        """The category of each entry of ``item``."""
        return np.repeat(np.arange(len(self), dtype=np.intp), self.size)

    def of_items(self, rows: Ints) -> Self:
        """Return the categories of some items, in the order of these rows.

        >>> Categories.of_labels(["a", "b", "a"]).of_items(np.array([2, 1])).members(0)
        array([0])
        """
        place = np.full(self.n_items, -1, dtype=np.intp)
        place[rows] = np.arange(rows.size)
        kept = place[self.item] >= 0
        category, item = self.category[kept], place[self.item[kept]]
        return type(self).of_pairs(self.names, category, item, int(rows.size))

    def members(self, category: int) -> Ints:
        """Return the rows of a category's items."""
        return self.item[self.start[category] : self.start[category + 1]]
