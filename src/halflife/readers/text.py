"""The text of a page, and its fingerprint."""

import re
from hashlib import blake2b
from importlib.util import find_spec

from halflife.core.errors import ConfigError
from halflife.readers import trees
from halflife.readers.characters import decode, encoding_of, unescape

_HTML = frozenset({"text/html", "application/xhtml+xml"})
_TYPE = re.compile(r"[a-z0-9!#$&^_.+-]{1,127}/[a-z0-9!#$&^_.+-]{1,127}")
# Tags within a line; the rest of them end it.
_INLINE = re.compile(
    r"</?(?:a|abbr|b|bdi|bdo|big|cite|code|data|del|dfn|em|font|i|ins|kbd|label|mark|q"
    r"|s|samp|small|span|strong|sub|sup|time|tt|u|var|wbr)\b|<!--",
    re.IGNORECASE,
)
_BREAK = "\0"  # never in the text of a page: a browser shows U+FFFD in its place
_NO_TEXT = ("audio/", "font/", "image/", "video/", "application/pdf", "application/zip")
_SAMPLE = 4096  # bytes in which a zero shows that this is not text
_WIDE = (b"\xff\xfe", b"\xfe\xff")  # of UTF-16, where zeros are usual
_SPACE = b" \t\n\r\f\v"
# The time of a parser that builds a tree grows with the square of the depth of a page,
# or of the attributes of a tag: 700 kB can take half a minute. Text needs no tree, and
# this pattern reads each character once.
_REST = r"""[^>=]*+(?:=(?:\s*+(?:"[^"]*+"|'[^']*+'))?+[^>=]*+)*+>?"""  # of a tag
MARKUP = re.compile(
    rf"""<(?:
      [/?a-hj-mo-ru-zA-HJ-MO-RU-Z]{_REST}  # most tags: none of those below
    | !--(?:-?>|(?:[^-]++|-(?!-!?>))*+(?:--!?>)?)  # a comment
    | ((?i:script|style|template|noscript|iframe|noembed|noframes))\b{_REST}
      (?:[^<]++|<(?!/(?i:\1)\b))*+  # what nobody sees, up to its end tag
    | [!a-zA-Z]{_REST}
    )""",
    re.VERBOSE,
)


def fingerprint(data: bytes) -> str:
    """Return a short digest by which content is compared: 16 bytes of BLAKE2b.

    >>> fingerprint(b"halflife")
    'fa20dc343b8e4440c731b36e2eb84c57'
    """
    return blake2b(data, digest_size=16).hexdigest()


def media_type(content_type: str) -> str:
    """Return the media type that a Content-Type header names; empty if none.

    >>> media_type("Text/HTML; charset=utf-8"), media_type("<b>")
    ('text/html', '')
    """
    named = content_type.partition(";")[0].strip().lower()
    return named if _TYPE.fullmatch(named) else ""


def is_html(content_type: str, body: bytes) -> bool:
    """Say whether a body is a web page, by its type or else by its first bytes."""
    named = media_type(content_type)
    if named:
        return named in _HTML
    start = body[:256].lstrip().lower()
    return start.startswith((b"<!doctype html", b"<html"))


def to_text(content_type: str, body: bytes) -> str:
    """Decode a page as browsers do: BOM, header, declaration, else UTF-8.

    Bytes that cannot be decoded become U+FFFD; nothing is raised.
    """
    return decode(body, encoding_of(content_type, body))


def visible(page: str) -> str:
    """Return the visible text of a page: its title and text, without markup.

    Only invisible parts are left out (scripts, styles, comments, templates, fallbacks).
    Menus and footers stay: a page may consist of nothing else, and a missed change is
    worse than an unimportant one.

    >>> visible("<title>A</title><script>x</script><p>one <b>two</b></p><!-- c -->")
    'A one two'
    """
    return " ".join(unescape(MARKUP.sub(" ", page)).split())


def readable(content_type: str, body: bytes) -> str | None:
    """Return the readable lines of a body; None if it is not text.

    >>> readable("text/html", b"<p>one <b>two</b></p><p>three").splitlines()
    ['one two', 'three']
    """
    if _is_binary(content_type, body):
        return None
    text = to_text(content_type, body)
    if not is_html(content_type, body):
        return text
    plain = unescape(MARKUP.sub(_break, text))
    lines = (" ".join(line.split()) for line in plain.split(_BREAK))
    return "\n".join(line for line in lines if line)


def _break(tag: re.Match[str]) -> str:
    return " " if _INLINE.match(tag[0]) else _BREAK


def _is_binary(content_type: str, body: bytes) -> bool:
    named = media_type(content_type)
    if named.startswith(_NO_TEXT) and not named.endswith(("+xml", "+json")):
        return True
    return b"\0" in body[:_SAMPLE] and not body.startswith(_WIDE)


_MODES = frozenset({"visible", "main", "raw"})
_EXTRAS = ("trafilatura", "lxml_html_clean")  # modules that find the main content


def check_mode(mode: str) -> None:
    """Raise ``ConfigError`` unless this mode can be used."""
    if mode not in _MODES:
        raise ConfigError(f"text must be visible, main or raw, got {mode!r}")
    lacking = [name for name in _EXTRAS if mode == "main" and not find_spec(name)]
    if lacking:
        raise ConfigError(
            "text = 'main' needs an extra: install halflife[extract] "
            f"({lacking[0]} is missing)"
        )


def digest(mode: str, content_type: str, body: bytes, raw: str) -> str:
    """Return the fingerprint of the part of an answer that counts.

    ``mode`` names that part: the ``visible`` text, the ``main`` content, or the ``raw``
    bytes, whose fingerprint is given. White space does not count, and of other formats
    than web pages all bytes count. Raise ``SourceError`` if extracting the main content
    exceeds the limits of time or memory.
    """
    if mode == "raw" or not is_html(content_type, body):
        return raw
    page = to_text(content_type, body)
    if mode == "main":
        text = str(trees.ask("main_text", page, small=0) if page else "")
    else:
        text = unescape(MARKUP.sub("", page))
    return fingerprint(text.encode("utf-8", "replace").translate(None, _SPACE))
