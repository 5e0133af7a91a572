"""Parse untrusted XML as a stream, within limits.

No tree is built. Elements, depth and the size of a single tag are limited, no entity is
ever defined or fetched, and the time is linear in the size of the document. A document
is parsed strictly first. If it has errors, those that do not change its structure are
repaired (stray ``&`` and ``<``, named entities of HTML, bytes and characters that XML
does not allow) and it is parsed again. A remaining error is reported, together with
everything before it.
"""

import re
import time
from collections.abc import Callable, Iterable, Iterator
from pyexpat import ExpatError, ParserCreate, errors
from typing import Protocol, TypeVar

from halflife.readers.characters import codec_of, decode_all
from halflife.readers.reader_thread import checkpoint
from halflife.readers.xml_repair import repair

ELEMENTS = (
    2_000_000  # of one document: a full sitemap with 30 languages has 1.75 million
)
DEPTH = 200  # elements inside each other; the deepest feed seen has 12
TOKEN = 1 << 20  # bytes of one tag or comment
SECONDS = 4.0  # of CPU for one document: a full sitemap of 5 MB takes 0.3
_STEP = 1 << 16  # bytes that are read at a time
_PROLOG = 1 << 14  # bytes in which the root element must begin
_UTF16 = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be", b"<\0": "utf-16-le",
          b"\0<": "utf-16-be"}  # fmt: skip
_BEFORE_ROOT = re.compile(
    rb"""(?xi)
    (?: \s++ | \xef\xbb\xbf | <\?(?:[^?]++|\?(?!>))*+\?> | <!--(?:[^-]++|-(?!->))*+-->
      | <!DOCTYPE\s[^\[<>]*+> )*+
    <([^\s<>/?!][^\s<>/]*+)"""
)
_ENCODING = re.compile(
    rb"""<\?xml\s[^>]{0,200}?encoding\s*=\s*["']([\w.:-]{1,40})["']"""
)


class Handler(Protocol):
    """Receives the parts of a document. Names are as written, with prefixes."""

    def start(self, name: str, attributes: list[str]) -> None:
        """Handle the start of an element; attributes are names and values in turn."""
        ...

    def end(self, name: str) -> None:
        """Handle the end of an element."""
        ...

    def text(self, data: str) -> None:
        """Handle a piece of text."""
        ...


H = TypeVar("H", bound=Handler)


class _Refused(Exception):  # noqa: N818  (caught below, never shown)
    """The document exceeds a limit; a repair would not help."""


def root_name(body: bytes) -> bytes:
    """Return the name of a document's root element; empty if it is not readable XML.

    Only the start is examined. A document whose DOCTYPE defines anything is refused: it
    can define entities that read files or grow without bound.

    >>> root_name(b"<?xml version='1.0'?><!-- made by x --><urlset xmlns='...'>")
    b'urlset'
    >>> root_name(b"<!DOCTYPE x [<!ENTITY e 'e'>]><urlset>")
    b''
    """
    start = body[:_PROLOG]
    wide = _UTF16.get(start[:2])
    if wide:
        start = start.decode(wide, "replace").lstrip("\ufeff").encode()
    found = _BEFORE_ROOT.match(start)
    return found[1].rpartition(b":")[2] if found else b""


def parse(
    pieces: Callable[[], Iterable[bytes]], handler: Callable[[], H]
) -> tuple[H, str]:
    """Return the handler of a document, and the error text; empty if it is sound.

    Args:
        pieces: Returns the document in pieces, from its start at each call.
        handler: Makes a new handler.

    """
    codec, end = _codec(pieces), time.thread_time() + SECONDS
    result = handler()
    try:
        encoded = pieces() if codec == "utf-8" else _to_utf8(pieces(), codec)
        trouble = _run(_limited(encoded, end), result)
    except _Refused as error:
        return result, str(error)
    if not trouble:
        return result, ""
    result = handler()
    try:
        repaired = repair(decode_all(_limited(pieces(), end), codec))
        return result, _run(repaired, result)
    except _Refused as error:
        return result, str(error)


def whole(body: bytes) -> Callable[[], Iterator[bytes]]:
    """Return a function that returns a body in pieces."""

    def give() -> Iterator[bytes]:
        start = len(body) - len(body.lstrip(b" \t\r\n"))
        for at in range(start, len(body), _STEP):
            yield body[at : at + _STEP]

    return give


def _codec(pieces: Callable[[], Iterable[bytes]]) -> str:
    start = next(iter(pieces()), b"")[:_PROLOG]
    if start[:2] in _UTF16:
        return _UTF16[start[:2]]
    named = _ENCODING.search(start[:400])
    codec = codec_of(named[1].decode()) if named else ""
    return "utf-8" if codec.startswith("utf-16") else codec or "utf-8"


def _limited(pieces: Iterable[bytes], end: float) -> Iterator[bytes]:
    """Return small pieces, until the time is over or the reading is cancelled."""
    for piece in pieces:
        for at in range(0, len(piece), _STEP):
            checkpoint()
            if time.thread_time() > end:
                raise _Refused(f"it takes more than {SECONDS:g} s to read")
            yield piece[at : at + _STEP]


def _to_utf8(pieces: Iterable[bytes], codec: str) -> Iterator[bytes]:
    for text in decode_all(pieces, codec):
        yield text.encode("utf-8", "replace")


def _run(pieces: Iterable[bytes], handler: Handler) -> str:
    """Run a handler over a document; return the error text, empty if there is none."""
    walk = _Walk(handler)
    try:
        for piece in pieces:
            if walk.feed(piece):
                return ""
        walk.finish()
    except ExpatError as error:
        if walk.over:  # errors after the root do not matter
            return ""
        return f"line {error.lineno}: {errors.messages[error.code]}"
    except _Skipped as error:
        return f"line {walk.parser.CurrentLineNumber}: undefined entity {error}"
    return ""


class _Skipped(Exception):  # noqa: N818  (caught below, never shown)
    """An entity that only a DTD could define; DTDs are not read."""


class _Walk:
    """A parser with limits."""

    def __init__(self, handler: Handler) -> None:
        # Without ``intern=None`` it would keep every name.
        self.parser = parser = ParserCreate("utf-8", intern=None)
        parser.buffer_text = True
        parser.buffer_size = _STEP
        parser.ordered_attributes = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = handler.text
        parser.EntityDeclHandler = _entity
        parser.SkippedEntityHandler = _skipped
        self.over = False
        self._fed = self._depth = self._elements = 0
        self._open, self._close = handler.start, handler.end

    def feed(self, piece: bytes) -> bool:
        """Parse a piece; return whether the root has ended."""
        self._fed += len(piece)
        self.parser.Parse(piece)
        if self._fed - self.parser.CurrentByteIndex > TOKEN:
            raise _Refused(f"it has a tag of more than {TOKEN} bytes")
        return self.over

    def finish(self) -> None:
        """Tell the parser that the document ends here."""
        self.parser.Parse(b"", True)  # noqa: FBT003  (the parser's own interface)

    def _start(self, name: str, attributes: list[str]) -> None:
        self._elements += 1
        self._depth += 1
        if self._elements > ELEMENTS:
            raise _Refused(f"it has more than {ELEMENTS} elements")
        if self._depth > DEPTH:
            raise _Refused(f"its elements lie more than {DEPTH} deep")
        self._open(name, attributes)

    def _end(self, name: str) -> None:
        self._depth -= 1
        self.over = not self._depth
        self._close(name)


def _entity(*_: object) -> None:
    raise _Refused("it defines entities")


def _skipped(name: str, _: object) -> None:
    raise _Skipped(name)
