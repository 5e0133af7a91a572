"""Pages in the order of their names, and the pages near each other.

Pages that are edited together often have adjacent names in their folder: chapters,
parts of a series, versions of a page. A site is sorted by folder, then by name. Near a
page are those of its site within ``CLOSE`` places of it, also of the folders before and
after, because many folders are small. This is one range around the page, so two small
numbers a page define the pages near it.

A page whose address ends in a slash has the name of its last part, in the folder
around it: ``/blog/a/`` is near ``/blog/b/``.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from halflife.core.arrays import Ints
from halflife.core.keys import Keys

CLOSE = 24  # places; so far away, recorded pages change together 4 times as often
WIDTH = 24  # bytes of a name that it is sorted by
_BLOCK = 65_536
_SLASH = ord("/")
_MARKS = b"?", b"#"


@dataclass(frozen=True, slots=True)
class NameOrder:
    """Pages sorted by folder and name.

    Attributes:
        rows: The pages in their order: by site, folder and name.
        place: The position of each page in it.
        before: How many of the pages just before each are near it.
        after: How many of those just after it.

    """

    rows: NDArray[np.int32]
    place: NDArray[np.int32]
    before: NDArray[np.uint8]
    after: NDArray[np.uint8]

    def near(self, pages: Ints) -> tuple[Ints, Ints]:
        """Return pairs of an index into ``pages`` and a page near that page."""
        before = self.before[pages].astype(np.intp)
        count = before + self.after[pages]
        which = np.repeat(np.arange(pages.size), count)
        step = np.arange(which.size) - np.repeat(np.cumsum(count) - count, count)
        step = step - before[which]
        step += step >= 0  # not the page itself
        return which, self.rows[self.place[pages][which] + step].astype(np.intp)


def name_order(keys: Keys, folder: Ints, site: Ints) -> NameOrder:
    """Return pages in the order of their names; with the folder and site of each.

    >>> pages = Keys(["a/y/one", "a/x/two", "a/x/six", "b/x/two"])
    >>> name_order(pages, np.array([0, 1, 1, 2]), np.array([0, 0, 0, 1])).rows
    array([2, 1, 0, 3], dtype=int32)
    """
    names, shelf = _names(keys, folder)
    words = [names[:, i] for i in range(names.shape[1])]
    rows = np.lexsort((*reversed(words), shelf, site)).astype(np.int32)
    place = np.empty_like(rows)
    place[rows] = np.arange(rows.size, dtype=np.int32)
    site_of = site[rows]
    after = np.zeros(rows.size, dtype=np.uint8)
    before = np.zeros(rows.size, dtype=np.uint8)
    for step in range(1, min(CLOSE, rows.size - 1) + 1):
        near = site_of[step:] == site_of[:-step]
        after[:-step] += near
        before[step:] += near
    # Ranges, by construction: a page near at a step is near at every shorter one.
    return NameOrder(rows, place, before[place], after[place])


def _names(keys: Keys, folder: Ints) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Return the first bytes of each name as numbers, and the place of its folder."""
    n = len(keys)
    begin, end = np.empty(n, dtype=np.int64), keys.end[1 : n + 1].copy()
    for rows, text in _blocks(keys):
        first = keys.end[rows]
        slash = np.flatnonzero(text == _SLASH) + first[0]
        begin[rows] = np.maximum(_last(slash, end[rows]) + 1, first)
    shelf = folder.astype(np.int64)
    odd = begin == end  # ends in a slash, or has no name at all
    marked = _with_marks(keys)
    odd[marked] = True
    inner: dict[bytes, int] = {}
    for row in np.flatnonzero(odd).tolist():
        start, stop = int(keys.end[row]), int(keys.end[row + 1])
        name = bytes(keys.text[start:stop])
        cut = min([at for at in map(name.find, _MARKS) if at >= 0], default=len(name))
        bare = name[:cut].rstrip(b"/")
        at = bare.rfind(b"/") + 1
        begin[row] = start + at
        if cut == len(name):
            end[row] = start + len(bare)
        if name[:cut].endswith(b"/"):
            shelf[row] = -1 - inner.setdefault(bare[:at], len(inner))
    return _words(keys, begin, end), _in_order(keys, shelf, begin)


def _in_order(keys: Keys, shelf: Ints, begin: Ints) -> NDArray[np.int64]:
    """Return the place of each page's folder when folders are sorted by name."""
    _, page, code = np.unique(shelf, return_index=True, return_inverse=True)
    bounds = zip(keys.end[page].tolist(), begin[page].tolist(), strict=True)
    names = [bytes(keys.text[start:stop]) for start, stop in bounds]
    place = np.empty(len(names), dtype=np.int64)
    place[sorted(range(len(names)), key=names.__getitem__)] = np.arange(len(names))
    return place[code]


def _blocks(keys: Keys) -> Iterator[tuple[slice, NDArray[np.uint8]]]:
    """Yield slices of the names, with their text: all at once is large."""
    for start in range(0, len(keys), _BLOCK):
        stop = min(start + _BLOCK, len(keys))
        text = bytes(keys.text[int(keys.end[start]) : int(keys.end[stop])])
        yield slice(start, stop), np.frombuffer(text, np.uint8)


def _last(slash: Ints, end: Ints) -> Ints:
    """Return the last slash before each end; -1 if there is none."""
    place = np.searchsorted(slash, end) - 1
    last = slash[np.maximum(place, 0)] if slash.size else np.zeros(end.size, np.intp)
    return np.where(place >= 0, last, -1)


def _with_marks(keys: Keys) -> Ints:
    """Return the names with a mark that ends the path of an address."""
    text = keys.text
    if not any(mark in text for mark in _MARKS):
        return np.zeros(0, dtype=np.intp)
    marked = []
    for rows, flat in _blocks(keys):
        at = np.flatnonzero((flat == _MARKS[0][0]) | (flat == _MARKS[1][0]))
        ends = keys.end[rows.start + 1 : rows.stop + 1] - keys.end[rows.start]
        marked.append(np.unique(np.searchsorted(ends, at, side="right")) + rows.start)
    return np.concatenate(marked)


def _words(keys: Keys, begin: Ints, end: Ints) -> NDArray[np.uint64]:
    """Return the first bytes of each name as numbers with the same order."""
    words = np.empty((begin.size, WIDTH // 8), dtype=np.uint64)
    along = np.arange(WIDTH)
    for rows, text in _blocks(keys):
        first = keys.end[rows.start]
        place = begin[rows, None] - first + along
        inside = place < end[rows, None] - first
        letters = np.where(inside, text[np.where(inside, place, 0)], 0)
        packed = letters.astype(np.uint8).view(">u8")
        words[rows] = packed.astype(np.uint64)
    return words
