"""Differences between two texts, in bounded time.

Lines that occur once in both texts, in the same order, are anchors (a patience diff);
only what lies between two anchors is compared line with line. All such comparisons
together have an allowance: when it is used up, the rest is shown as replaced. So texts
of many megabytes take seconds, whatever their content.
"""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import pairwise
from typing import NamedTuple

ALLOWANCE = 1_000_000  # pairs of lines that are compared one by one; about a second
CONTEXT = 3  # lines shown around a difference
_WORDS = re.compile(r"\s+|\w+|[^\w\s]")


class DiffBlock(NamedTuple):
    """Lines ``a:b`` of the old text that became lines ``c:d`` of the new one."""

    a: int
    b: int
    c: int
    d: int


def differences(
    old: Sequence[str], new: Sequence[str], allowance: int = ALLOWANCE
) -> list[DiffBlock]:
    """Return the blocks in which two texts differ, in order.

    At most ``allowance`` pairs are compared one by one.

    >>> differences("abcd", "abxd")
    [DiffBlock(a=2, b=3, c=2, d=3)]
    """
    blocks: list[DiffBlock] = []
    left = allowance
    for part in _between_anchors(old, new):
        block = _trimmed(old, new, part)
        size = (block.b - block.a) * (block.d - block.c)
        if size == 0 and block.a == block.b and block.c == block.d:
            continue
        if size == 0 or size > left:
            blocks.append(block)
            continue
        left -= size
        old_part, new_part = old[block.a : block.b], new[block.c : block.d]
        # In long blocks it ignores very frequent lines: with them the time would grow
        # with the cube of the length.
        for tag, a, b, c, d in SequenceMatcher(None, old_part, new_part).get_opcodes():
            if tag != "equal":
                shifted = (a + block.a, b + block.a, c + block.c, d + block.c)
                blocks.append(DiffBlock(*shifted))
    return blocks


def _trimmed(old: Sequence[str], new: Sequence[str], block: DiffBlock) -> DiffBlock:
    """Return a block without the lines at its ends that are equal."""
    a, b, c, d = block
    while a < b and c < d and old[a] == new[c]:
        a, c = a + 1, c + 1
    while a < b and c < d and old[b - 1] == new[d - 1]:
        b, d = b - 1, d - 1
    return DiffBlock(a, b, c, d)


def _between_anchors(old: Sequence[str], new: Sequence[str]) -> Iterator[DiffBlock]:
    """Return the blocks between lines that occur once in both, in the same order."""
    whole = _trimmed(old, new, DiffBlock(0, len(old), 0, len(new)))
    old_part, new_part = old[whole.a : whole.b], new[whole.c : whole.d]
    often, often_new = Counter(old_part), Counter(new_part)
    place = {line: i for i, line in enumerate(new_part) if often_new[line] == 1}
    pairs = [
        (i, place[line])
        for i, line in enumerate(old_part)
        if often[line] == 1 and line in place
    ]
    anchors = [(whole.a + i, whole.c + j) for i, j in _ascending(pairs)]
    edges = [(whole.a - 1, whole.c - 1), *anchors, (whole.b, whole.d)]
    for (a, c), (b, d) in pairwise(edges):
        if b > a + 1 or d > c + 1:
            yield DiffBlock(a + 1, b, c + 1, d)


def _ascending(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the longest run of pairs whose second numbers ascend."""
    tails: list[int] = []
    last: list[int] = []
    before: list[int] = []
    for n, (_, j) in enumerate(pairs):
        at = bisect_left(tails, j)
        before.append(last[at - 1] if at else -1)
        tails[at : at + 1] = [j]
        last[at : at + 1] = [n]
    run, n = [], last[-1] if last else -1
    while n >= 0:
        run.append(pairs[n])
        n = before[n]
    return run[::-1]


def count_differences(old: Sequence[str], new: Sequence[str]) -> tuple[int, int]:
    """Return the number of lines added and of lines removed.

    >>> count_differences("abcd", "abxyd")
    (2, 1)
    """
    blocks = differences(old, new)
    return sum(b.d - b.c for b in blocks), sum(b.b - b.a for b in blocks)


def split_words(line: str) -> list[str]:
    """Return the words and punctuation marks of a line, without spaces.

    >>> split_words("it costs 5.")
    ['it', 'costs', '5', '.']
    """
    return [word for word in _WORDS.findall(line) if not word.isspace()]


def unified(
    old: Sequence[str], new: Sequence[str], context: int = CONTEXT
) -> Iterator[str]:
    """Return a unified diff of two texts, without the names of files.

    >>> list(unified(["a", "b"], ["a", "c"]))
    ['@@ -1,2 +1,2 @@', ' a', '-b', '+c']
    """
    for group in _grouped(differences(old, new), context):
        yield _head(group, len(old), len(new), context)
        first = max(group[0].a - context, 0)
        for block in group:
            yield from (f" {line}" for line in old[first : block.a])
            yield from (f"-{line}" for line in old[block.a : block.b])
            yield from (f"+{line}" for line in new[block.c : block.d])
            first = block.b
        yield from (f" {line}" for line in old[first : first + context])


def by_words(old: Sequence[str], new: Sequence[str]) -> Iterator[str]:
    """Return a diff in which the words that differ are marked.

    >>> list(by_words(["it costs 5 now"], ["it costs 7 now"]))
    ['@@ -1,1 +1,1 @@', 'it costs [-5-]{+7+} now']
    """
    for group in _grouped(differences(old, new), CONTEXT):
        yield _head(group, len(old), len(new), CONTEXT)
        first = max(group[0].a - CONTEXT, 0)
        for block in group:
            yield from old[first : block.a]
            old_text = "\n".join(old[block.a : block.b])
            yield from _mark_words(old_text, "\n".join(new[block.c : block.d])).split(
                "\n"
            )
            first = block.b
        yield from old[first : first + CONTEXT]


def _mark_words(old: str, new: str) -> str:
    old_words, new_words = _WORDS.findall(old), _WORDS.findall(new)
    parts, last = [], 0
    for block in differences(old_words, new_words):
        parts += old_words[last : block.a]
        removed, added = old_words[block.a : block.b], new_words[block.c : block.d]
        parts += [f"[-{''.join(removed)}-]"] if removed else []
        parts += [f"{{+{''.join(added)}+}}"] if added else []
        last = block.b
    return "".join([*parts, *old_words[last:]])


def _grouped(blocks: Sequence[DiffBlock], context: int) -> Iterator[list[DiffBlock]]:
    """Yield groups of blocks close enough to be shown together."""
    group: list[DiffBlock] = []
    for block in blocks:
        if group and block.a - group[-1].b > 2 * context:
            yield group
            group = []
        group.append(block)
    if group:
        yield group


def _head(group: Sequence[DiffBlock], old: int, new: int, context: int) -> str:
    before, after = group[0], group[-1]
    a, c = max(before.a - context, 0), max(before.c - context, 0)
    b, d = min(after.b + context, old), min(after.d + context, new)
    return f"@@ -{_span(a, b)} +{_span(c, d)} @@"


def _span(first: int, end: int) -> str:
    return f"{first + 1 if end > first else first},{end - first}"
