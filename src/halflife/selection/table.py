"""The summaries of many databases as one table, grouped by word."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from halflife.core.arrays import Floats, Ints
from halflife.core.errors import UsageError
from halflife.summary import Summary
from halflife.summary.tables import Summaries


@dataclass(frozen=True, slots=True)
class FrequencyTable:
    """Document frequencies of databases, grouped by word.

    Attributes:
        names: The databases.
        code: The row of each word in the table; may be shared by many tables.
        start: Where each word's entries start and, last, where they end.
        database: The database of each entry.
        count: f(w, D) of each entry.
        size: |D| of each database.
        words: cw(D), the sum of f(w, D) over the words of each database.

    """

    names: tuple[str, ...]
    code: Mapping[str, int]
    start: Ints
    database: Ints
    count: Floats
    size: Floats
    words: Floats

    @classmethod
    def of(cls, names: Sequence[str], summaries: Sequence[Summary]) -> "FrequencyTable":
        """Return the table of these databases' summaries."""
        _check(names, summaries)
        vocabulary = sorted({w for s in summaries for w in s.words})
        code = {w: j for j, w in enumerate(vocabulary)}
        word = np.array([code[w] for s in summaries for w in s.words], np.intp)
        database = np.repeat(
            np.arange(len(summaries)), [len(s.words) for s in summaries]
        )
        count = np.concatenate([np.zeros(0), *(s.count for s in summaries)])
        size = np.array([s.size for s in summaries], np.float64)
        return cls.of_entries(names, code, (word, database, count), size)

    @classmethod
    def of_summaries(cls, summaries: Summaries) -> "FrequencyTable":
        """Return the same table, grouped by word."""
        code = {w: j for j, w in enumerate(summaries.words.tolist())}
        rows = np.arange(len(summaries.names))
        database = np.repeat(rows, np.diff(summaries.start))
        entries = (summaries.word, database, summaries.count)
        return cls.of_entries(summaries.names, code, entries, summaries.size)

    @classmethod
    def of_entries(
        cls,
        names: Sequence[str],
        code: Mapping[str, int],
        entries: tuple[Ints, Ints, Floats],
        size: Floats,
        words: Floats | None = None,
    ) -> "FrequencyTable":
        """Return the table of (word, database, count) entries, each pair once.

        ``words`` is cw(D) where the entries are only some of the words that a
        database has; else it is summed from them.
        """
        word, database, count = entries
        kept = np.flatnonzero(count > 0)
        kept = kept[np.lexsort((database[kept], word[kept]))]
        start = np.searchsorted(word[kept], np.arange(len(code) + 1))
        if words is None:
            words = _sums(database, count, len(names))
        return cls(tuple(names), code, start, database[kept], count[kept], size, words)

    def known(self, words: Sequence[str]) -> list[str]:
        """Return those of the words that some database has, in their order."""
        rows = ((w, self.code.get(w, -1)) for w in words)
        return [w for w, j in rows if j >= 0 and self.start[j + 1] > self.start[j]]

    def frequency(self, words: Sequence[str]) -> Floats:
        """Return f(w, D): a row a word, a column a database."""
        rows = np.zeros((len(words), len(self.names)))
        for row, word in zip(rows, words, strict=True):
            j = self.code.get(word, -1)
            if j >= 0:
                entries = slice(self.start[j], self.start[j + 1])
                row[self.database[entries]] = self.count[entries]
        return rows


def _sums(database: Ints, count: Floats, databases: int) -> Floats:
    return np.bincount(database, count, minlength=databases).astype(np.float64)


def _check(names: Sequence[str], summaries: Sequence[Summary]) -> None:
    if len(names) != len(summaries):
        raise UsageError(f"{len(names)} names for {len(summaries)} summaries")
    if len(set(names)) < len(names):
        repeated = next(n for n in names if list(names).count(n) > 1)
        raise UsageError(f"two databases are called {repeated!r}; names must differ")
    for name, summary in zip(names, summaries, strict=True):
        if not (np.isfinite(summary.size) and summary.size >= 0):
            raise UsageError(f"{name!r} has {summary.size} documents")
        if not (np.isfinite(summary.count).all() and (summary.count >= 0).all()):
            raise UsageError(f"{name!r} has a document frequency that is no count")
