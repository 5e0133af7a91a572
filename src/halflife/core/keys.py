"""Compact columns of item names: one run of bytes, without an object for each name."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, pairwise
from operator import index
from typing import NamedTuple, Self, SupportsIndex, overload

import numpy as np

from halflife.core.arrays import Ints

_CODEC = "utf-8", "surrogatepass"  # restores any text
RECENT = 100_000  # names that may be kept in a dict until they are sorted in
SCANS = 8  # searches in the text before hashes are sorted
MISSES = 1000  # names that contain the one searched for, before the search is given up
UNKNOWN = -1
UNDECIDED = -2
_BLOCK = 65_536


class Folders(NamedTuple):
    """The folders of the first names of a sequence, computed once.

    Attributes:
        names: Names of folders.
        code: The folder of each name, an index into ``names``.

    """

    names: tuple[str, ...]
    code: Ints


class Keys(Sequence[str]):
    """A growing sequence of names; the string of a name is made when it is read.

    ``extended`` returns a longer sequence and leaves this one as it was; both share
    memory: ``text`` holds all names in UTF-8, ``end`` where each ends. ``folders``
    holds their folders, if already known.

    >>> first = Keys(["a", "b"])
    >>> first.extended(["c"])[1:], len(first), first == ("a", "b")
    (('b', 'c'), 2, True)
    """

    __slots__ = ("end", "folders", "size", "text")

    def __init__(self, names: Iterable[str] = ()) -> None:
        self.folders: Folders | None = None
        self.text, self.end, self.size = bytearray(), np.zeros(1, np.int64), 0
        more = self.extended(list(names))
        self.end, self.size = more.end, more.size

    @classmethod
    def of_bytes(cls, text: bytearray, lengths: Ints) -> Self:
        """Return the names that lie one after the other in ``text``, in UTF-8."""
        keys = cls()
        keys.text, keys.size = text, lengths.size
        keys.end = np.zeros(lengths.size + 1, np.int64)
        np.cumsum(lengths, out=keys.end[1:])
        return keys

    def extended(self, names: Sequence[str]) -> "Keys":
        """Return these names and more after them."""
        encoded = [name.encode(*_CODEC) for name in names]
        keys, old = Keys.__new__(Keys), self.size
        keys.folders = self.folders
        keys.text, keys.end, keys.size = self.text, self.end, old + len(encoded)
        if int(self.end[old]) != len(self.text):  # already extended by another sequence
            keys.text, keys.end = self.text[: int(self.end[old])], self.end.copy()
        if keys.end.size <= keys.size:
            room = np.zeros(max(keys.size + 1, keys.end.size * 3 // 2), np.int64)
            room[: old + 1] = keys.end[: old + 1]
            keys.end = room
        lengths = np.fromiter(map(len, encoded), np.int64, len(encoded))
        keys.end[old + 1 : keys.size + 1] = keys.end[old] + np.cumsum(lengths)
        keys.text += b"".join(encoded)
        return keys

    def encoded(self, first: int) -> tuple[bytes, Ints]:
        """Return the names from ``first`` on as bytes, and their lengths."""
        ends = self.end[first : self.size + 1]
        return bytes(self.text[int(ends[0]) : int(ends[-1])]), np.diff(ends)

    def is_prefix_of(self, longer: Sequence[str]) -> bool:
        """Return whether another sequence begins with these names."""
        if isinstance(longer, Keys) and longer.text is self.text:
            return len(longer) >= len(self)
        return len(longer) >= len(self) and longer[: len(self)] == self[:]

    def __len__(self) -> int:
        return self.size

    @overload
    def __getitem__(self, at: SupportsIndex) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[str, ...]: ...
    def __getitem__(self, at: SupportsIndex | slice) -> str | tuple[str, ...]:
        if isinstance(at, slice):
            start, stop, step = at.indices(self.size)
            if step == 1:
                return tuple(self._between(start, max(start, stop)))
            return tuple(self[i] for i in range(start, stop, step))
        row = index(at)
        row = row + self.size if row < 0 else row
        if not 0 <= row < self.size:
            raise IndexError(at)
        first, last = self.end[row : row + 2].tolist()
        return self.text[first:last].decode(*_CODEC)

    def __iter__(self) -> Iterator[str]:
        return self._between(0, self.size)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Keys):
            return self.encoded(0)[0] == other.encoded(0)[0] and np.array_equal(
                self.end[: self.size + 1], other.end[: other.size + 1]
            )
        return isinstance(other, tuple) and tuple(self) == other

    __hash__ = None  # type: ignore[assignment]  # equal to tuples, and as long

    def __repr__(self) -> str:
        return f"Keys({list(self[:5])!r}{', ...' if self.size > 5 else ''})"

    def _between(self, start: int, stop: int) -> Iterator[str]:
        text = self.text
        for block in range(start, stop, _BLOCK):
            ends = self.end[block : min(block + _BLOCK, stop) + 1].tolist()
            for first, last in pairwise(ends):
                yield text[first:last].decode(*_CODEC)


class KeySubset(Sequence[str]):
    """Some names of a sequence, in any order; each is made when it is read."""

    __slots__ = ("keys", "rows")

    def __init__(self, keys: Sequence[str], rows: Ints) -> None:
        self.keys, self.rows = keys, rows

    def __len__(self) -> int:
        return self.rows.size

    @overload
    def __getitem__(self, at: SupportsIndex) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[str, ...]: ...
    def __getitem__(self, at: SupportsIndex | slice) -> str | tuple[str, ...]:
        if isinstance(at, slice):
            return names_at(self.keys, self.rows[at])
        return self.keys[int(self.rows[index(at)])]


def names_at(names: Sequence[str], rows: Ints) -> tuple[str, ...]:
    """Return the names at these rows, in their order.

    For many names this is ten times as fast as reading them one by one.
    """
    if isinstance(names, KeySubset):
        return names_at(names.keys, names.rows[rows])
    if not isinstance(names, Keys):
        return tuple(map(names.__getitem__, rows.tolist()))
    if rows.size and not 0 <= int(rows.min()) <= int(rows.max()) < len(names):
        raise IndexError("no such row")
    text, first, last = names.text, names.end[rows], names.end[rows + 1]
    return tuple(
        text[start:end].decode(*_CODEC)
        for start, end in zip(first.tolist(), last.tolist(), strict=True)
    )


class KeyIndex:
    """An index of the positions of names in a sequence.

    Recent names are in a dict; all others are found by their sorted hashes: 12 bytes a
    name, where a dict and its texts take 190. Sorting takes most of a second for a
    million names, so the first few searches are made in the text itself.
    """

    __slots__ = ("_hash", "_recent", "_row", "_scans", "_sorted", "keys")

    def __init__(self, keys: Keys) -> None:
        self.keys = keys
        self._recent: dict[str, int] = {}
        self._sorted = 0  # names that the sorted hashes cover
        self._scans = 0  # searches made in the text
        self._hash, self._row = np.zeros(0, np.int64), np.zeros(0, np.int32)
        self._add_recent(0)

    def extend(self, names: Sequence[str]) -> None:
        """Add names at the end; none of them may be known."""
        old = len(self.keys)
        self.keys = self.keys.extended(names)
        self._add_recent(old, names)

    def row(self, name: str) -> int | None:
        """Return the position of a name, or None if it is not known."""
        found = self._recent.get(name)
        if found is not None or not self._sorted:
            return found
        return self._search(name)

    def rows(self, names: Sequence[str]) -> Ints:
        """Return the position of each name; ``UNKNOWN`` if it is not known."""
        get = self._recent.get
        if not self._sorted:
            return np.array([get(name, UNKNOWN) for name in names], dtype=np.intp)
        found = (self.row(name) for name in names)
        return np.array([UNKNOWN if r is None else r for r in found], dtype=np.intp)

    def knows(self, names: Iterable[str]) -> bool:
        """Return whether all these names are known."""
        if not self._sorted:
            return all(map(self._recent.__contains__, names))
        return all(self.row(name) is not None for name in names)

    def _search(self, name: str) -> int | None:
        if self._hash.size < self._sorted:
            if self._scans < SCANS and name:
                self._scans += 1
                found = self._scan(name)
                if found != UNDECIDED:
                    return found
            self._sort()
        value = hash(name)
        at = int(np.searchsorted(self._hash, value))
        while at < self._hash.size and self._hash[at] == value:
            row = int(self._row[at])
            if self.keys[row] == name:
                return row
            at += 1
        return None

    def _scan(self, name: str) -> int | None:
        """Search the text for a name; ``UNDECIDED`` if too many others contain it."""
        text, end = self.keys.text, self.keys.end[: self._sorted + 1]
        wanted, at, last = name.encode(*_CODEC), 0, int(end[-1])
        for _ in range(MISSES):
            at = text.find(wanted, at, last)
            if at < 0:
                return None
            row = int(np.searchsorted(end, at, "right")) - 1
            if end[row] == at and end[row + 1] == at + len(wanted):
                return row
            at = int(end[row + 1])
        return UNDECIDED

    def _add_recent(self, old: int, names: Sequence[str] | None = None) -> None:
        """Add names from ``old`` on to the dict until they are sorted in."""
        if len(self.keys) - self._sorted > RECENT:
            self._sorted = len(self.keys)
            self._recent = {}
            return
        added = self.keys[old:] if names is None else names
        self._recent.update((name, old + i) for i, name in enumerate(added))

    def _sort(self) -> None:
        """Sort the hashes, at the first search that needs them."""
        names = islice(self.keys, self._sorted)
        hashes = np.fromiter(map(hash, names), np.int64, self._sorted)
        order = np.argsort(hashes, kind="stable")
        self._hash, self._row = hashes[order], order.astype(np.int32)
