"""Two texts side by side: matching lines, and the words that differ.

The work is bounded for any texts: lines are compared within an allowance, words within
another, and the number of rows is limited.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Literal, NamedTuple, TypeAlias

from halflife.core.text_diff import CONTEXT, DiffBlock, differences

LINES = 250_000  # pairs of lines that are compared; about a quarter of a second
WORDS = 250_000  # pairs of words that are compared, in all blocks together
MOST = 1500  # rows; twenty screens
_PAIR = 4  # pairs of words that take as long to compare as the likeness of two lines
LONGEST = 2000  # characters of a line that are shown
ALIKE = 0.3  # share in common from which two lines are one changed line
_TOKENS = re.compile(r"\n|[^\S\n]+|\w+|[^\w\s]")

RowKind: TypeAlias = Literal["same", "changed", "removed", "added", "gap"]


class TextPart(NamedTuple):
    """A part of a line, and whether it differs."""

    text: str
    differs: bool = False


Line: TypeAlias = tuple[TextPart, ...]


class SideRow(NamedTuple):
    """A line of the old text beside one of the new.

    Attributes:
        mark: The kind of difference; ``gap`` stands for equal lines that are left out.
        old_number: The number of the old line, from 1; for a gap, the number of lines.
        old: The old line; None if there is none.
        new_number: The number of the new line, from 1.
        new: The new line; None if there is none.

    """

    mark: RowKind
    old_number: int | None = None
    old: Line | None = None
    new_number: int | None = None
    new: Line | None = None


class Comparison(NamedTuple):
    """Two texts side by side.

    Attributes:
        rows: The rows in which they differ, with some lines around them.
        left_out: The number of further rows that differ, too many to be shown.
        removed: Lines that are only in the old text.
        added: Lines that are only in the new text.
        by_words: Whether all differing words are marked; otherwise whole lines are.

    """

    rows: list[SideRow]
    left_out: int
    removed: int
    added: int
    by_words: bool


def compare(
    old: Sequence[str], new: Sequence[str], *, context: int = CONTEXT, most: int = MOST
) -> Comparison:
    """Return two texts side by side.

    >>> rows = compare(["a", "it costs 5"], ["a", "it costs 7"]).rows
    >>> [row.mark for row in rows]
    ['same', 'changed']
    >>> rows[1].new
    (TextPart(text='it costs ', differs=False), TextPart(text='7', differs=True))
    """
    blocks = differences(old, new, LINES)
    words = _WordAllowance(WORDS)
    rows: list[SideRow] = []
    left_out, place = 0, 0
    for n, block in enumerate(blocks):
        if len(rows) >= most:
            left_out += sum(max(b.b - b.a, b.d - b.c) for b in blocks[n:])
            break
        rows += _around(old, block, place, context)
        room = max(most - len(rows), 1)
        cut = block._replace(
            b=min(block.b, block.a + room), d=min(block.d, block.c + room)
        )
        aligned = list(_align(old, new, cut, words))
        rows += aligned[:room]
        left_out += len(aligned[room:]) + block.b - cut.b + block.d - cut.d
        after = len(old) if n + 1 == len(blocks) else blocks[n + 1].a
        place = min(block.b + context, after)
        rows += _same(old, block.b, place, block.d - block.b)
    removed = sum(block.b - block.a for block in blocks)
    added = sum(block.d - block.c for block in blocks)
    return Comparison(rows, left_out, removed, added, words.sufficed)


def _around(
    old: Sequence[str], block: DiffBlock, place: int, context: int
) -> Iterator[SideRow]:
    """Return the lines before a block, and a gap if some are left out."""
    first = max(block.a - context, place)
    if first > place:
        yield SideRow("gap", first - place)
    yield from _same(old, first, block.a, block.c - block.a)


def _same(old: Sequence[str], a: int, b: int, shift: int) -> Iterator[SideRow]:
    for i in range(a, b):
        line = (TextPart(_short(old[i])),)
        yield SideRow("same", i + 1, line, i + shift + 1, line)


class _WordAllowance:
    """The number of pairs of words that may still be compared."""

    def __init__(self, pairs: int) -> None:
        self.left, self.sufficed = pairs, True

    def take(self, pairs: int) -> bool:
        """Return whether so many more may be compared."""
        if pairs > self.left:
            self.sufficed = False
            return False
        self.left -= pairs
        return True


def _align(
    old: Sequence[str], new: Sequence[str], block: DiffBlock, words: _WordAllowance
) -> Iterator[SideRow]:
    """Return the rows of a block in which the texts differ."""
    before = [_short(line) for line in old[block.a : block.b]]
    after = [_short(line) for line in new[block.c : block.d]]
    i = j = 0
    for a, c in [*_anchors(before, after, words), (len(before), len(after))]:
        for k, m in zip_longest(range(i, a), range(j, c)):
            numbers = (
                None if k is None else block.a + k + 1,
                None if m is None else block.c + m + 1,
            )
            pair = None if k is None else before[k], None if m is None else after[m]
            yield from _pair_rows(numbers, pair, words)
        i, j = a, c


def _anchors(
    before: Sequence[str], after: Sequence[str], words: _WordAllowance
) -> list[tuple[int, int]]:
    """Return the pairs of matching lines of two blocks, in order."""
    if len(before) == len(after):
        return [(k, k) for k in range(1, len(before))]
    old_words, new_words = (
        [set(_TOKENS.findall(x)) for x in lines] for lines in (before, after)
    )
    if (
        not old_words
        or not new_words
        or not words.take(_PAIR * len(old_words) * len(new_words))
    ):
        return []
    best = [[0.0] * (len(new_words) + 1) for _ in range(len(old_words) + 1)]
    for i in range(len(old_words) - 1, -1, -1):
        for j in range(len(new_words) - 1, -1, -1):
            pair = _likeness(old_words[i], new_words[j]) + best[i + 1][j + 1]
            best[i][j] = max(best[i + 1][j], best[i][j + 1], pair)
    anchors = []
    i = j = 0
    while i < len(old_words) and j < len(new_words):
        if best[i][j] == best[i + 1][j]:
            i += 1
        elif best[i][j] == best[i][j + 1]:
            j += 1
        else:
            anchors += [(i, j), (i + 1, j + 1)]
            i, j = i + 1, j + 1
    return anchors


def _likeness(old: set[str], new: set[str]) -> float:
    """Return the share of words that two lines have in common; 0 if it is small.

    >>> _likeness({"a", "b", "c"}, {"a", "b", "d"}), _likeness({"a"}, {"b"})
    (0.5, 0.0)
    """
    share = len(old & new) / max(len(old | new), 1)
    return share if share >= ALIKE else 0.0


def _end(old: Sequence[str], new: Sequence[str]) -> DiffBlock:
    return DiffBlock(len(old), len(old), len(new), len(new))


def _pair_rows(
    numbers: tuple[int | None, int | None],
    pair: tuple[str | None, str | None],
    words: _WordAllowance,
) -> Iterator[SideRow]:
    """Return a pair of lines as one row, or as two if they have little in common."""
    (k, m), (old, new) = numbers, pair
    if old is not None and new is not None:
        if old == new:
            line = (TextPart(old),)
            yield SideRow("same", k, line, m, line)
            return
        old_words, new_words = _TOKENS.findall(old), _TOKENS.findall(new)
        if words.take(len(old_words) * len(new_words)):
            left, right = _mark_words(old_words, new_words)
            if _shared_part(left, right) >= ALIKE:
                yield SideRow("changed", k, left, m, right)
                return
    if old is not None:
        yield SideRow("removed", k, (TextPart(old),))
    if new is not None:
        yield SideRow("added", None, None, m, (TextPart(new),))


def _mark_words(old: Sequence[str], new: Sequence[str]) -> tuple[Line, Line]:
    """Return two lines with the parts in which they differ."""
    left: list[TextPart] = []
    right: list[TextPart] = []
    last = 0
    for block in [*differences(old, new, WORDS), _end(old, new)]:
        for side, words, differs in (
            (left, old[last : block.a], False),
            (right, old[last : block.a], False),
            (left, old[block.a : block.b], True),
            (right, new[block.c : block.d], True),
        ):
            if words:
                side.append(TextPart("".join(words), differs))
        last = block.b
    return tuple(left), tuple(right)


def _shared_part(left: Line, right: Line) -> float:
    """Return the share of two lines that both have in common."""
    size = max(_size(left), _size(right))
    same = sum(len(part.text.strip()) for part in left if not part.differs)
    return same / size if size else 1.0


def _size(line: Line) -> int:
    return sum(len(part.text.strip()) for part in line)


def _short(line: str) -> str:
    return line if len(line) <= LONGEST else f"{line[:LONGEST]} …"
