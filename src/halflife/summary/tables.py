"""Summaries of many databases in one sparse table."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halflife.core.arrays import Floats, Ints
from halflife.summary import Summary
from halflife.summary.metrics import SummaryChange, compare_cells


@dataclass(frozen=True, slots=True)
class Summaries:
    """Summaries of several databases: rows are databases, columns words.

    The cells that are not 0 are stored row by row, as in a CSR matrix.

    Attributes:
        names: Names of the databases, each once.
        words: The vocabulary, each word once, in any order.
        start: Where the cells of each row start, and the end of the last.
        word: The column of each cell, ascending within a row.
        count: Estimated documents with the word; above 0.
        size: Documents in each database.
        sampled: Documents that were read for it.
        taken_at: When, in days.

    """

    names: tuple[str, ...]
    words: NDArray[np.object_]
    start: Ints
    word: Ints
    count: Floats
    size: Floats
    sampled: Ints
    taken_at: Floats

    @classmethod
    def of(cls, rows: Mapping[str, Summary], taken_at: float = 0.0) -> "Summaries":
        """Return the table of these summaries, all taken at one time."""
        words = sorted({w for summary in rows.values() for w in summary.words})
        place = {w: k for k, w in enumerate(words)}
        cells = [_cells(summary, place) for summary in rows.values()]
        none = np.zeros(0)
        lengths = [0, *(word.size for word, _ in cells)]
        return cls(
            names=tuple(rows),
            words=vocabulary(words),
            start=np.cumsum(lengths).astype(np.intp),
            word=np.concatenate([*(w for w, _ in cells), none]).astype(np.intp),
            count=np.concatenate([*(c for _, c in cells), none]),
            size=np.array([s.size for s in rows.values()], dtype=np.float64),
            sampled=np.array([s.sampled for s in rows.values()], dtype=np.intp),
            taken_at=np.full(len(rows), taken_at),
        )

    def place(self, name: str) -> int:
        """Return the row of the database with this name."""
        try:
            return self.names.index(name)
        except ValueError:
            raise ValueError(f"no summary of a database {name!r}") from None

    def row(self, name: str) -> Summary:
        """Return the summary of one database."""
        i = self.place(name)
        cells = slice(int(self.start[i]), int(self.start[i + 1]))
        words = self.words[self.word[cells]].tolist()
        order = sorted(range(len(words)), key=words.__getitem__)
        return Summary(
            tuple(words[k] for k in order),
            self.count[cells][order],
            float(self.size[i]),
            int(self.sampled[i]),
        )

    def cells(self) -> tuple[Ints, Floats]:
        """Return the places ``row * columns + column`` of the cells, and the counts."""
        row = np.repeat(np.arange(len(self.names)), np.diff(self.start))
        return row * self.words.size + self.word, self.count

    def matrix(self) -> Any:  # noqa: ANN401  (scipy is not typed)
        """Return the counts as a ``scipy.sparse.csr_array``."""
        from scipy.sparse import csr_array  # noqa: PLC0415  (slow)

        shape = len(self.names), self.words.size
        return csr_array((self.count, self.word, self.start), shape=shape)

    def over(self, words: NDArray[np.object_]) -> "Summaries":
        """Return the same table with the columns of another vocabulary.

        It must contain every word of this one that is in use.
        """
        if words is self.words:
            return self
        place = {w: k for k, w in enumerate(words.tolist())}
        used = [place.get(self.words[k], -1) for k in np.unique(self.word)]
        if -1 in used:
            lost = self.words[np.unique(self.word)[used.index(-1)]]
            raise ValueError(f"the word {lost!r} is not in the other vocabulary")
        new = np.zeros(self.words.size, dtype=np.intp)
        new[np.unique(self.word)] = used
        row = np.repeat(np.arange(len(self.names)), np.diff(self.start))
        order = np.lexsort((new[self.word], row))
        return Summaries(
            self.names,
            words,
            self.start,
            new[self.word][order],
            self.count[order],
            self.size,
            self.sampled,
            self.taken_at,
        )


def compare(old: Summaries, new: Summaries, *, base: float = math.e) -> SummaryChange:
    """Compare each database's old summary with its new one; arrays over databases.

    The tables must be of the same databases in the same order.
    """
    if old.names != new.names:
        raise ValueError("the tables are not of the same databases in the same order")
    if not 1.0 < base < math.inf:
        raise ValueError(f"the base of a logarithm must be above 1, got {base}")
    old, new = align(old, new)
    rows, columns = len(old.names), max(old.words.size, 1)
    change = compare_cells(old.cells(), new.cells(), rows, columns)
    kl = change.kl / math.log(base)
    return SummaryChange(change.ur, change.up, change.wr, change.wp, kl, change.status)


def align(old: Summaries, new: Summaries) -> tuple[Summaries, Summaries]:
    """Return two tables with one vocabulary: the words of the first come first."""
    if old.words is new.words:
        return old, new
    words = vocabulary(list(dict.fromkeys([*old.words.tolist(), *new.words.tolist()])))
    return old.over(words), new.over(words)


def vocabulary(words: list[str]) -> NDArray[np.object_]:
    """Return words as an array of strings of any length."""
    array = np.empty(len(words), dtype=object)
    array[:] = words
    return array


def _cells(summary: Summary, place: Mapping[str, int]) -> tuple[Ints, Floats]:
    """Return columns and counts of a summary's words without counts of 0."""
    word = np.array([place[w] for w in summary.words], dtype=np.intp)
    count = np.asarray(summary.count, dtype=np.float64)
    order = np.argsort(word, kind="stable")
    order = order[count[order] != 0]
    return word[order], count[order]
