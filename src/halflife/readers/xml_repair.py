"""Repair errors in XML that do not affect its structure.

A stray ``&`` or ``<`` is escaped, an entity of HTML becomes its character. An invalid
byte or an undefined entity becomes U+FFFD. Comments, processing instructions and CDATA
stay as they are.
"""

import re
from collections.abc import Iterable, Iterator
from html.entities import html5

UNKNOWN = "\ufffd"
_HELD_BACK = 64  # characters at the end of a piece that may be the start of a mark
_MARKS = re.compile(
    r"""(?x)
      (?P<opener><!\[CDATA\[ | <!-- | <\?)
    | (?P<ref>&(?:\#[0-9]{1,7};|\#[xX][0-9a-fA-F]{1,6};|[A-Za-z][A-Za-z0-9]{1,31};)?+)
    | <(?![A-Za-z_:/!?\u0080-\U0010ffff])
    """
)
_CLOSERS = {"<![CDATA[": "]]>", "<!--": "-->", "<?": "?>"}
_ILLEGAL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_OWN = frozenset({"&amp;", "&lt;", "&gt;", "&quot;", "&apos;"})


def repair(texts: Iterable[str]) -> Iterator[bytes]:
    r"""Return a document, given in pieces, with such errors repaired, in UTF-8.

    >>> b"".join(repair(["<a>Q & A&n", "bsp;<![CDATA[a&b]]></a>"])).decode()
    '<a>Q &amp; A\xa0<![CDATA[a&b]]></a>'
    """
    rest, closer = "", ""
    for text in texts:
        data = rest + _ILLEGAL.sub(UNKNOWN, text)
        done, rest, closer = _repair(data, closer, len(data) - _HELD_BACK)
        yield done.encode()
    yield _repair(rest, closer, len(rest))[0].encode()


def _repair(data: str, closer: str, limit: int) -> tuple[str, str, str]:
    """Return the repaired text, the text to keep back, and the closer at its end.

    ``closer`` ends the comment, instruction or CDATA in which the piece begins. Marks
    that begin at ``limit`` or later are kept back.
    """
    parts, at = [], 0
    while at < max(limit, 0):
        if closer:
            end = data.find(closer, at)
            if end < 0:
                break
            parts.append(data[at : end + len(closer)])
            at, closer = end + len(closer), ""
        found = _MARKS.search(data, at)
        if found is None or found.start() >= limit:
            break
        parts.append(data[at : found.start()])
        at = found.end()
        if found["opener"]:
            parts.append(found["opener"])
            closer = _CLOSERS[found["opener"]]
        else:
            parts.append(_reference(found["ref"]) if found["ref"] else "&lt;")
    limit = max(at, limit)
    return "".join([*parts, data[at:limit]]), data[limit:], closer


def _reference(text: str) -> str:
    """Return an HTML character reference in XML."""
    if text in _OWN:
        return text
    if text == "&":
        return "&amp;"
    if text[1] == "#":
        code = int(text[3:-1], 16) if text[2] in "xX" else int(text[2:-1])
        if code > 0x10FFFF or _ILLEGAL.match(chr(code)):
            return UNKNOWN
        return f"&#{code};"
    return html5.get(text[1:], UNKNOWN).replace("&", "&amp;").replace("<", "&lt;")
