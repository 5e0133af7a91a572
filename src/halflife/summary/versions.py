"""Summaries through time: every version kept, only what changed written down."""

import io
from dataclasses import dataclass
from typing import TypeAlias
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from halflife.core.arrays import Floats, Ints
from halflife.core.errors import Damaged
from halflife.summary import Summary
from halflife.summary.tables import Summaries, vocabulary

Arrays: TypeAlias = dict[str, NDArray[np.generic]]


@dataclass(frozen=True, slots=True)
class Versions:
    """Versions 0, 1, 2 ... of the summaries of the same databases; append-only.

    Version v is made of the cells written up to v, the last one of each; a count of
    0 says that the word is gone.

    Attributes:
        names: Names of the databases.
        words: Every word that any version had.
        start: Where the cells that a version wrote start, and the end of the last.
        row: The database of each such cell.
        word: Its word.
        count: Documents with the word from this version on.
        size: Documents in each database (versions x databases).
        sampled: Documents that were read (versions x databases).
        taken_at: When, in days (versions x databases).

    """

    names: tuple[str, ...]
    words: NDArray[np.object_]
    start: Ints
    row: NDArray[np.int32]
    word: NDArray[np.int32]
    count: Floats
    size: Floats
    sampled: Ints
    taken_at: Floats

    @classmethod
    def of(cls, names: tuple[str, ...]) -> "Versions":
        """Return a history of these databases without a version."""
        none, wide = np.zeros(0), np.zeros((0, len(names)))
        cell = none.astype(np.int32)
        start = np.zeros(1, dtype=np.intp)
        many = wide.astype(np.intp)
        return cls(names, vocabulary([]), start, cell, cell, none, wide, many, wide)

    def __len__(self) -> int:
        """Return how many versions there are."""
        return self.start.size - 1

    def append(self, new: Summaries) -> "Versions":
        """Return the history with one more version."""
        if new.names != self.names:
            raise ValueError("the new version is not of the same databases in order")
        words, fresh = _joined(self.words, new.words[np.unique(new.word)])
        new = new.over(words)
        cells, count = _difference(self._cells(len(self) - 1, words.size), new.cells())
        row, word = np.divmod(cells, max(words.size, 1))
        return Versions(
            names=self.names,
            words=words if fresh else self.words,
            start=np.append(self.start, self.start[-1] + cells.size),
            row=np.append(self.row, row.astype(np.int32)),
            word=np.append(self.word, word.astype(np.int32)),
            count=np.append(self.count, count),
            size=np.vstack((self.size, new.size)),
            sampled=np.vstack((self.sampled, new.sampled)),
            taken_at=np.vstack((self.taken_at, new.taken_at)),
        )

    def at(self, version: int) -> Summaries:
        """Return the summaries of a version."""
        if not 0 <= version < len(self):
            raise ValueError(f"no version {version}; there are {len(self)}, from 0")
        wide = max(self.words.size, 1)
        cells, count = self._cells(version, wide)
        row, word = np.divmod(cells, wide)
        return Summaries(
            names=self.names,
            words=self.words,
            start=np.searchsorted(row, np.arange(len(self.names) + 1)),
            word=word,
            count=count,
            size=self.size[version],
            sampled=self.sampled[version],
            taken_at=self.taken_at[version],
        )

    def row_at(self, version: int, name: str) -> Summary:
        """Return one database's summary in a version."""
        return self.at(version).row(name)

    def _cells(self, version: int, columns: int) -> tuple[Ints, Floats]:
        """Return the cells of a version that are not 0, and their counts."""
        written = slice(0, int(self.start[version + 1]) if version >= 0 else 0)
        cell = self.row[written].astype(np.intp) * columns + self.word[written]
        # Of equal cells np.unique takes the first, so the last come first.
        found, last = np.unique(cell[::-1], return_index=True)
        count = self.count[written][::-1][last]
        return found[count > 0], count[count > 0]

    def arrays(self) -> Arrays:
        """Return all of it as plain arrays, for a store."""
        return {
            "names": _text(list(self.names)),
            "words": _text(self.words.tolist()),
            "start": self.start.astype(np.int64),
            "row": self.row,
            "word": self.word,
            "count": self.count,
            "size": self.size,
            "sampled": self.sampled.astype(np.int64),
            "taken_at": self.taken_at,
        }

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> "Versions":
        """Return the history that ``arrays`` gave."""
        try:
            found = cls(
                names=tuple(_words(arrays["names"])),
                words=vocabulary(_words(arrays["words"])),
                start=arrays["start"].astype(np.intp),
                row=arrays["row"].astype(np.int32),
                word=arrays["word"].astype(np.int32),
                count=arrays["count"].astype(np.float64),
                size=arrays["size"].astype(np.float64),
                sampled=arrays["sampled"].astype(np.intp),
                taken_at=arrays["taken_at"].astype(np.float64),
            )
        except (KeyError, ValueError) as error:
            raise Damaged(f"not a history of summaries: {error}") from error
        found.check()
        return found

    def check(self) -> None:
        """Raise ``Damaged`` if the parts do not fit together."""
        cells = int(self.start[-1]) if self.start.size else -1
        shape = (self.start.size - 1, len(self.names))
        if (
            any(part.shape != (cells,) for part in (self.row, self.word, self.count))
            or (np.diff(self.start, prepend=0) < 0).any()
            or any(p.shape != shape for p in (self.size, self.sampled, self.taken_at))
            or ((self.row < 0) | (self.row >= len(self.names))).any()
            or ((self.word < 0) | (self.word >= self.words.size)).any()
        ):
            raise Damaged("the parts of a history of summaries do not fit together")

    def to_bytes(self) -> bytes:
        """Return all of it as bytes: a compressed archive of arrays."""
        out = io.BytesIO()
        np.savez_compressed(out, allow_pickle=False, **self.arrays())
        return out.getvalue()

    @classmethod
    def from_bytes(cls, raw: bytes) -> "Versions":
        """Return the history that ``to_bytes`` gave."""
        try:
            with np.load(io.BytesIO(raw), allow_pickle=False) as found:
                arrays = {name: found[name] for name in found.files}
        except (ValueError, OSError, EOFError, BadZipFile, AttributeError) as error:
            raise Damaged(f"not a history of summaries: {error}") from error
        return cls.from_arrays(arrays)


def _joined(
    words: NDArray[np.object_], more: NDArray[np.object_]
) -> tuple[NDArray[np.object_], int]:
    """Return words and those of ``more`` that are new, and how many these are."""
    known = set(words.tolist())
    fresh = [w for w in more.tolist() if w not in known]
    return vocabulary([*words.tolist(), *fresh]), len(fresh)


def _difference(
    old: tuple[Ints, Floats], new: tuple[Ints, Floats]
) -> tuple[Ints, Floats]:
    """Return the cells to write so that old becomes new; 0 for those that go."""
    every = np.union1d(old[0], new[0])
    before, after = np.zeros(every.size), np.zeros(every.size)
    before[np.searchsorted(every, old[0])] = old[1]
    after[np.searchsorted(every, new[0])] = new[1]
    changed = before != after
    return every[changed], after[changed]


def _text(words: list[str]) -> NDArray[np.uint8]:
    """Return words as UTF-8, each after its length in bytes (four of them)."""
    raw = [w.encode("utf-8", "surrogatepass") for w in words]
    joined = b"".join(len(r).to_bytes(4, "little") + r for r in raw)
    return np.frombuffer(joined, dtype=np.uint8)


def _words(text: NDArray[np.generic]) -> list[str]:
    """Return the words that ``_text`` wrote."""
    raw, at, found = text.tobytes(), 0, []
    while at < len(raw):
        end = at + 4 + int.from_bytes(raw[at : at + 4], "little")
        if end > len(raw):
            raise ValueError("a word is cut off")
        found.append(raw[at + 4 : end].decode("utf-8", "surrogatepass"))
        at = end
    return found
