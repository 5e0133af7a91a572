"""The visible text of a page in blocks, each with the path of its elements.

No tree is built: a tag opens or closes an element, and the text between two tags is a
block. So a block's path is a guess where tags are left out, but the same guess at each
fetch, and the time is that of one pass over the characters.
"""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from halflife.readers.characters import unescape

DEEPEST = 32  # elements above a block that are named
LONGEST = 24  # characters of a name, an id or a class
# As in ``text``: each character is read once.
_REST = r"""[^>=]*+(?:=(?:\s*+(?:"[^"]*+"|'[^']*+'))?+[^>=]*+)*+>?"""
_PIECE = re.compile(
    rf"""<(?:
      !--(?:-?>|(?:[^-]++|-(?!-!?>))*+(?:--!?>)?)
    | ((?i:script|style|template|noscript|iframe|noembed|noframes))\b{_REST}
      (?:[^<]++|<(?!/(?i:\1)\b))*+
    | (/?)([a-zA-Z][a-zA-Z0-9]*+)({_REST})
    | [!?/a-zA-Z]{_REST}
    )""",
    re.VERBOSE,
)
_NAMED = re.compile(
    r"""(?<![\w-])(id|class)\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s"'>]++))""",
    re.IGNORECASE,
)
_ATTRIBUTES = 2000  # characters of a tag in which its id and class are searched
_DIGITS = re.compile(r"[0-9]+")
_VOID = frozenset(
    {
        "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta",
        "param", "source", "track", "wbr",
    }
)  # fmt: skip
# Inline elements are in one block with the text around them.
_INLINE = frozenset(
    {
        "a", "abbr", "b", "bdi", "bdo", "big", "cite", "code", "dfn", "em", "font", "i",
        "ins", "kbd", "mark", "q", "s", "samp", "small", "strong", "sub", "sup", "tt",
        "u", "var", "wbr", "script", "style", "template", "noscript", "iframe",
    }
)  # fmt: skip
# Each of these elements ends the one before it of the same name.
_SIBLINGS = frozenset({"p", "li", "dt", "dd", "tr", "td", "th", "option"})


class Block(NamedTuple):
    """A block of text.

    Attributes:
        path: The elements around it, from the outermost.
        text: Its words, separated by single spaces.

    """

    path: str
    text: str


def read_blocks(page: str) -> list[Block]:
    """Return the blocks of a page's visible text, in order.

    >>> read_blocks("<div id=a><p>one <b>two</b></div><p class='x y'>three")
    [Block(path='div#a/p', text='one two'), Block(path='p.x', text='three')]
    """
    return [
        Block(path, " ".join(words))
        for path, text in _pieces(page)
        if (words := unescape(text).split())
    ]


def _pieces(page: str) -> Iterator[tuple[str, str]]:
    """Return runs of text between tags that separate blocks, with their paths."""
    stack: list[tuple[str, str]] = []  # the name of each open element, and its mark
    path, parts, at = "", [], 0
    for tag in _PIECE.finditer(page):
        parts.append(page[at : tag.start()])
        at = tag.end()
        name = (tag[3] or "").lower()
        if tag[1] is not None or not name or name in _INLINE:
            continue
        yield path, "".join(parts)
        parts = []
        if tag[2]:
            _close(stack, name)
        elif name not in _VOID:
            _open(stack, name, tag[4])
        path = "/".join(mark for _, mark in stack)
    parts.append(page[at:])
    yield path, "".join(parts)


def _open(stack: list[tuple[str, str]], name: str, rest: str) -> None:
    if name in _SIBLINGS and stack and stack[-1][0] == name:
        stack.pop()
    if len(stack) < DEEPEST:
        stack.append((name, name[:LONGEST] + _mark(rest)))


def _close(stack: list[tuple[str, str]], name: str) -> None:
    """Close the innermost element of a name, if there is one."""
    for at in range(len(stack) - 1, -1, -1):
        if stack[at][0] == name:
            del stack[at:]
            return


def _mark(rest: str) -> str:
    """Return the mark of an element: its id, or its first class.

    Runs of digits become one digit, because they often are counters.
    """
    found: dict[str, str] = {}
    for name, double, single, bare in _NAMED.findall(rest[:_ATTRIBUTES]):
        found.setdefault(name.lower(), double or single or bare)
    for name, sign in (("id", "#"), ("class", ".")):
        words = found.get(name, "").split()
        if words:
            plain = words[0].replace("/", "")[:LONGEST]
            return sign + _DIGITS.sub("0", plain)
    return ""


def joined(blocks: Iterable[Block]) -> str:
    """Return the text of blocks, one in a line."""
    return "\n".join(block.text for block in blocks)
