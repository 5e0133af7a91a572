"""Noise of a page: differences between two fetches a moment apart, and its masks.

A page was fetched twice, so close together that it was not edited. The differences are
noise: a clock, a token, a counter, an advertisement, a list in another order. A mask
locates the noise, as narrowly as the two fetches allow, and hides it from the
comparison of versions:

``words``  a block at a path, with anything instead of the words that differed; the
           words around them must be unchanged, so an edit of these is detected.
``any``    all text in an element in which nothing stayed the same.
``times``  a block at a path, with any clock, date or age in place of a present one.
``after``  a number of blocks at a path that also has stable text, behind a given block.
``order``  the blocks in an element, in any order; an edit of one is detected.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from math import nan
from typing import NamedTuple

from halflife.readers.text_blocks import Block
from halflife.readers.text_times import TIME, fits_pattern, time_pattern

MOST = 64  # masks of pages of the same template
MOST_BLOCKS = 5000  # blocks of a page in which noise is searched
MOST_WORDS = 60  # words of a block that is masked word by word
MOST_HIDDEN = 0.5  # of a page's characters; a larger difference is not noise
WILD, GAP = "\x00", "\x01"  # one word, and any number of words
_TIME = re.compile(r"\D{0,3}([0-2]?\d):([0-5]\d)(?::([0-5]\d))?\D{0,3}")
_SLOW = 120.0  # seconds by which a clock may differ
_DAY = 86400.0


class Mask(NamedTuple):
    """A mask for noise in a page.

    Attributes:
        kind: ``words``, ``times``, ``any``, ``after`` or ``order``.
        path: The element; for ``any`` and ``order`` with all elements in it.
        words: For ``words`` the words; for ``times`` the text; for ``after`` the name
            of the block before, and how many blocks are hidden behind it.

    """

    kind: str
    path: str
    words: tuple[str, ...] = ()


def hide(blocks: Sequence[Block], masks: Sequence[Mask]) -> list[Block]:
    """Return the blocks of a page with the masked noise hidden.

    >>> clock = Mask("words", "p", ("It", "is", WILD))
    >>> hide([Block("p", "It is 12:01"), Block("p", "It was late")], [clock])
    [Block(path='p', text='It is *'), Block(path='p', text='It was late')]
    """
    if not masks:
        return list(blocks)
    left, before, hidden = [], "", 0  # the last block shown, and those hidden behind it
    places = _Places(masks)
    for block in blocks:
        if places.is_hidden(block, before, hidden):
            hidden += 1
            continue
        shown = places.with_words(block)
        if shown is block:
            before, hidden = _name(block), 0
        left.append(shown)
    return _sorted(left, [mask.path for mask in masks if mask.kind == "order"])


class _Places:
    """Masks by their paths."""

    def __init__(self, masks: Iterable[Mask]) -> None:
        self._any: set[str] = set()
        self._after: dict[tuple[str, str], int] = {}
        self._words: dict[str, list[tuple[str, ...]]] = defaultdict(list)
        self._times: dict[str, list[str]] = defaultdict(list)
        for mask in masks:
            if mask.kind == "any":
                self._any.add(mask.path)
            elif mask.kind == "after":
                place = mask.path, mask.words[0]
                self._after[place] = max(self._after.get(place, 0), int(mask.words[1]))
            elif mask.kind == "words":
                self._words[mask.path].append(mask.words)
            elif mask.kind == "times":
                self._times[mask.path] += mask.words
        for patterns in self._words.values():  # narrow first: a text may fit several
            patterns.sort(key=lambda words: (GAP not in words, _fixes(words)))

    def is_hidden(self, block: Block, before: str, hidden: int) -> bool:
        if hidden < self._after.get((block.path, before), 0):
            return True
        return bool(self._any) and any(_lies_in(block.path, p) for p in self._any)

    def with_words(self, block: Block) -> Block:
        for words in self._words.get(block.path, ()):
            if fits(words, block.text.split()):
                return Block(block.path, " ".join(words).translate(_STARS))
        for pattern in self._times.get(block.path, ()):
            if fits_pattern(pattern, block.text):
                return Block(block.path, pattern.translate(_STARS))
        return block


_STARS = {ord(WILD): "*", ord(GAP): "**", ord(TIME): "*"}


def fits(pattern: Sequence[str], words: Sequence[str]) -> bool:
    """Say whether words match a pattern.

    >>> fits(("a", WILD), ["a", "b"]), fits(("a", GAP, "d"), ["a", "b", "c", "d"])
    (True, True)
    """
    if GAP in pattern:
        at = list(pattern).index(GAP)
        first, last = pattern[:at], pattern[at + 1 :]
        if len(words) < len(first) + len(last):
            return False
        end = len(words) - len(last)
        return tuple(words[:at]) == tuple(first) and tuple(words[end:]) == tuple(last)
    if len(words) != len(pattern):
        return False
    return all(p in (WILD, w) for p, w in zip(pattern, words, strict=True))


def _lies_in(path: str, element: str) -> bool:
    return path == element or path.startswith(element + "/")


def _sorted(blocks: list[Block], elements: Sequence[str]) -> list[Block]:
    """Return blocks with those of each element sorted among their places."""
    for element in elements:
        rows = [i for i, block in enumerate(blocks) if _lies_in(block.path, element)]
        for i, block in zip(rows, sorted(blocks[i] for i in rows), strict=True):
            blocks[i] = block
    return blocks


def _name(block: Block) -> str:
    return blake2b(repr(block).encode("utf-8", "replace"), digest_size=6).hexdigest()


def find_noise(
    first: Sequence[Block],
    second: Sequence[Block],
    known: Sequence[Mask] = (),
    at: float = nan,
) -> list[Mask]:
    """Return masks for the differences between two fetches, besides those known.

    ``at`` is the time of the fetches in days since the epoch, if it is known.

    >>> first = [Block("h1", "News"), Block("p", "Views: 17")]
    >>> second = [Block("h1", "News"), Block("p", "Views: 18")]
    >>> [mask.words for mask in find_noise(first, second)] == [("Views:", WILD)]
    True
    """
    one, two = hide(first, known), hide(second, known)
    if one == two or max(len(one), len(two)) > MOST_BLOCKS:
        return []
    gone, came = Counter(one) - Counter(two), Counter(two) - Counter(one)
    stable = _elements(block.path for block in (Counter(one) & Counter(two)))
    found, loose = _pair_texts(_by_path(one, gone), _by_path(two, came), at)
    if len(loose) > MOST:
        return []
    found = [_wider(mask, known) for mask in found[:MOST]]
    for path in loose:
        if path in stable:
            found += _behind(path, first, second) + _behind(path, second, first)
        else:
            found.append(Mask("any", _widest(path, loose, stable)))
    order = _order_masks(_without(one, gone), _without(two, came))
    masks = list(dict.fromkeys((*found, *order)))[: max(MOST - len(known), 0)]
    return masks if _leaves_enough(first, [*known, *masks]) else []


def _elements(paths: Iterable[str]) -> set[str]:
    """Return all elements on these paths.

    >>> sorted(_elements(["a/b/c", "a/d"]))
    ['a', 'a/b', 'a/b/c', 'a/d']
    """
    found: set[str] = set()
    for path in paths:
        rest = path
        while rest not in found:
            found.add(rest)
            rest = rest.rpartition("/")[0] or rest
    return found


def _without(blocks: Sequence[Block], removed: Counter[Block]) -> list[Block]:
    left, rest = Counter(removed), []
    for block in blocks:
        if left[block]:
            left[block] -= 1
        else:
            rest.append(block)
    return rest


def _pair_texts(
    before: dict[str, list[str]], after: dict[str, list[str]], at: float
) -> tuple[list[Mask], list[str]]:
    """Return masks for texts that differ in words, and the paths of all others."""
    masks: list[Mask] = []
    loose: list[str] = []
    for path in dict.fromkeys((*before, *after)):
        here, there = before.get(path, []), after.get(path, [])
        pairs = zip(here, there, strict=False)
        found = [_clock(path, *pair, 0.0, at) or _words(path, *pair) for pair in pairs]
        if len(here) == len(there) and all(found):
            masks += [mask for mask in found if mask is not None]
        else:
            loose.append(path)
    return masks, loose


def _words(path: str, one: str, two: str) -> Mask | None:
    """Return a mask for the words in which two texts differ; None if too many do."""
    words = _pattern(one, two)
    return Mask("words", path, words) if words else None


def _clock(path: str, one: str, two: str, days: float, at: float) -> Mask | None:
    """Return a mask for times that advanced; None if more differs.

    If a time is a single word among constant ones, only that word is masked.
    """
    pattern = time_pattern(one, two, days, at)
    if not pattern:
        return None
    words = _pattern(one, two)
    alone = GAP not in words and pattern.count(TIME) == words.count(WILD)
    if words and alone and _ticks(words, one, two, days):
        return Mask("words", path, words)
    return Mask("times", path, (pattern,))


def _by_path(blocks: Sequence[Block], chosen: Counter[Block]) -> dict[str, list[str]]:
    left: Counter[Block] = Counter(chosen)
    found: dict[str, list[str]] = {}
    for block in blocks:
        if left[block]:
            left[block] -= 1
            found.setdefault(block.path, []).append(block.text)
    return found


def _pattern(one: str, two: str) -> tuple[str, ...]:
    """Return the common words of two texts as a pattern; empty if there are too few."""
    a, b = one.split(), two.split()
    if max(len(a), len(b)) > MOST_WORDS:
        return ()
    if len(a) == len(b):
        words = [x if x == y else WILD for x, y in zip(a, b, strict=True)]
    else:
        first = _common(a, b)
        most = min(len(a), len(b)) - first
        last = min(_common(a[::-1], b[::-1]), most)
        words = [*a[:first], GAP, *(a[len(a) - last :] if last else ())]
    fixed = _fixes(words)
    return tuple(words) if fixed and 3 * fixed >= len(words) else ()


def _wider(mask: Mask, known: Sequence[Mask]) -> Mask:
    """Return a mask that also covers a known mask of the same text.

    Two patterns of one text show that its words vary in more than these two ways.
    """
    for other in known:
        if (other.kind, other.path) == ("words", mask.path):
            words = _around(mask.words, other.words)
            if words:
                return Mask("words", mask.path, words)
    return mask


def _around(a: Sequence[str], b: Sequence[str]) -> tuple[str, ...]:
    """Return the fixed words with which two patterns begin and end, with a gap."""
    first = _common(_fixed(a), _fixed(b))
    last = _common(_fixed(a[::-1]), _fixed(b[::-1]))
    words = (*a[:first], GAP, *(a[len(a) - last :] if last else ()))
    longest = max(len(a), len(b))
    return words if 3 * (first + last) >= longest and first + last < longest else ()


def _fixes(words: Sequence[str]) -> int:
    """Return the number of constant words in a pattern."""
    return sum(word not in {WILD, GAP} for word in words)


def _fixed(words: Sequence[str]) -> Sequence[str]:
    """Return the words before the first variable one."""
    at = next((i for i, w in enumerate(words) if w in {WILD, GAP}), len(words))
    return words[:at]


def _common(a: Sequence[str], b: Sequence[str]) -> int:
    """Return the number of words at the start that two texts share."""
    same = 0
    for x, y in zip(a, b, strict=False):
        if x != y:
            break
        same += 1
    return same


def _behind(path: str, blocks: Sequence[Block], other: Sequence[Block]) -> list[Mask]:
    """Return masks for blocks of a path, by the stable blocks before them."""
    left, before, hidden = Counter(blocks) - Counter(other), "", 0
    behind: dict[str, int] = {}
    for block in blocks:
        if left[block]:
            left[block] -= 1
            hidden += 1
            if block.path == path:
                behind[before] = hidden
        else:
            before, hidden = _name(block), 0
    return [Mask("after", path, (name, str(n))) for name, n in behind.items()]


def _widest(path: str, loose: Sequence[str], stable: set[str]) -> str:
    """Return the outermost element around a path that contains only noise.

    It is wider than the path only if noise was found elsewhere in it: a box of
    advertisements made of different elements.
    """
    found, parent = path, path.rpartition("/")[0]
    while parent and parent not in stable:
        if any(_lies_in(other, parent) and other != path for other in loose):
            found = parent
        parent = parent.rpartition("/")[0]
    return found


def _order_masks(one: Sequence[Block], two: Sequence[Block]) -> list[Mask]:
    """Return a mask for blocks that changed their order between two fetches."""
    moved = [a.path for a, b in zip(one, two, strict=True) if a != b]
    if not moved:
        return []
    names = [path.split("/") for path in moved]
    shared = names[0][: min(map(len, names))]
    while any(name[: len(shared)] != shared for name in names):
        shared.pop()
    return [Mask("order", "/".join(shared))] if shared else []


def _leaves_enough(blocks: Sequence[Block], masks: Sequence[Mask]) -> bool:
    """Say whether masks leave enough of a page to compare."""
    whole = sum(len(block.text) for block in blocks)
    left = sum(len(block.text) for block in hide(blocks, masks))
    return left >= (1.0 - MOST_HIDDEN) * whole


def find_clocks(
    before: Sequence[Block], after: Sequence[Block], days: float, at: float = nan
) -> list[Mask]:
    """Return masks for clocks, dates and ages that advanced as much as our clock.

    Two fetches a moment apart may show the same minute. Two versions ``days`` apart
    show times that differ by as much, in any time zone. ``at`` is when the later one
    was observed: a date counts only if it was today's.

    >>> one, two = [Block("p", "now 10:15")], [Block("p", "now 11:45")]
    >>> len(find_clocks(one, two, 1.5 / 24)), len(find_clocks(one, two, 2.5 / 24))
    (1, 0)
    """
    gone, came = Counter(before) - Counter(after), Counter(after) - Counter(before)
    old, new = _by_path(before, gone), _by_path(after, came)
    masks = []
    for path, texts in old.items():
        for one, two in zip(texts, new.get(path, ()), strict=False):
            mask = _clock(path, one, two, days, at)
            if mask is not None:
                masks.append(mask)
    return list(dict.fromkeys(masks))


def _ticks(words: Sequence[str], one: str, two: str, days: float) -> bool:
    """Say whether all words that differ are times that advanced with the clock."""
    ticks = False
    for word, a, b in zip(words, one.split(), two.split(), strict=True):
        if word != WILD:
            continue
        then, now = _TIME.fullmatch(a), _TIME.fullmatch(b)
        if then is None or now is None:
            return False
        passed = (_seconds(now) - _seconds(then) - days * _DAY) % _DAY
        if min(passed, _DAY - passed) > _SLOW:
            return False
        ticks = True
    return ticks


def _seconds(time: re.Match[str]) -> float:
    return 3600.0 * int(time[1]) + 60.0 * int(time[2]) + float(time[3] or 0)


def is_needed(
    mask: Mask, first: Sequence[Block], second: Sequence[Block]
) -> bool | None:
    """Say whether the text hidden by a mask differs between two fetches.

    None if it hides nothing of this page: another page may need it.
    """
    one, two = _hidden(mask, first), _hidden(mask, second)
    return one != two if one or two else None


def _hidden(mask: Mask, blocks: Sequence[Block]) -> list[Block]:
    """Return the blocks of a page that a mask applies to."""
    if mask.kind in {"any", "order"}:
        return [block for block in blocks if _lies_in(block.path, mask.path)]
    if mask.kind == "words":
        mine = (block for block in blocks if block.path == mask.path)
        return [block for block in mine if fits(mask.words, block.text.split())]
    if mask.kind == "times":
        mine = (block for block in blocks if block.path == mask.path)
        return [block for block in mine if fits_pattern(mask.words[0], block.text)]
    found, before, hidden = [], "", 0
    name, most = mask.words[0], int(mask.words[1])
    for block in blocks:
        if before == name and hidden < most and block.path == mask.path:
            found.append(block)
            hidden += 1
        else:
            before, hidden = _name(block), 0
    return found
