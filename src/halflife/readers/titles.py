"""The title of a page, and the terms of its title and headings."""

import re
from collections.abc import Iterator

from halflife.readers.characters import unescape

MOST = 40  # terms of one page
_START = 1 << 17  # characters of a page in which they are searched
_HEADING = re.compile(
    r"<(title|h[1-3])\b[^<>]{0,500}+>(.{0,400}?)</\1", re.IGNORECASE | re.DOTALL
)
_TAG = re.compile(r"<[^>]*+>?")
_WORD = re.compile(r"[^\W\d_][\w'-]{2,39}")
# Stop words.
_COMMON = frozenset(
    {
        "all", "and", "are", "but", "can", "for", "from", "has", "have", "home", "how",
        "its", "new", "not", "off", "one", "our", "out", "page", "that", "the", "their",
        "this", "was", "welcome", "what", "when", "with", "you", "your",
    }
)  # fmt: skip


def terms(page: str) -> tuple[str, ...]:
    """Return the words of a page's title and first headings, each once.

    >>> terms("<title>The tea of Assam</title><h1>Black <b>tea</b></h1>")
    ('tea', 'assam', 'black')
    """
    found: dict[str, None] = {}
    for word in _words(page[:_START]):
        found.setdefault(word)
        if len(found) == MOST:
            break
    return tuple(found)


def title(page: str) -> str:
    """Return the first title or heading of a page; empty if it has none.

    >>> title("<h1>Black <b>tea</b></h1>")
    'Black tea'
    """
    for heading in _HEADING.finditer(page[:_START]):
        text = " ".join(unescape(_TAG.sub(" ", heading[2])).split())
        if text:
            return text
    return ""


def _words(page: str) -> Iterator[str]:
    for heading in _HEADING.finditer(page):
        text = unescape(_TAG.sub(" ", heading[2])).lower()
        yield from (word for word in _WORD.findall(text) if word not in _COMMON)
