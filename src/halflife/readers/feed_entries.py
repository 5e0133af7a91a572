"""Entries of a feed as records: RSS, Atom and RDF."""

from collections.abc import Mapping

from halflife.core.errors import SourceError
from halflife.readers import xml_stream

MOST = 50_000  # entries of one feed, as of one map
LONGEST = 1 << 14  # characters of a part
ROOTS = frozenset({b"rss", b"feed", b"rdf"})
# Our names for the parts of an entry.
PARTS = {
    "id": "id", "guid": "id", "title": "title", "link": "link", "summary": "summary",
    "description": "summary", "updated": "updated", "modified": "updated",
    "pubdate": "published", "published": "published", "date": "published",
    "author": "author", "creator": "author",
}  # fmt: skip


class _Entries:
    """Collects entries; see ``xml_stream.Handler``."""

    def __init__(self) -> None:
        self.found: list[dict[str, str]] = []
        self._depth = self._item = self._part_depth = 0
        self._entry: dict[str, str] = {}
        self._part = ""
        self._text: list[str] = []
        self._room = 0

    def start(self, name: str, attributes: list[str]) -> None:
        """Handle the start of an element."""
        self._depth += 1
        local = name.rpartition(":")[2].lower()
        given = dict(zip(attributes[::2], attributes[1::2], strict=True))
        if not self._item:
            if local in {"item", "entry"} and len(self.found) < MOST:
                self._item, self._entry = self._depth, {}
                about = given.get("rdf:about", "")
                self._entry |= {"id": about[:LONGEST]} if about else {}
        elif self._depth == self._item + 1 and local in PARTS:
            self._take(PARTS[local], given)

    def _take(self, part: str, given: Mapping[str, str]) -> None:
        if part == "link" and given.get("href"):
            if given.get("rel", "alternate") == "alternate":
                self._entry.setdefault("link", given["href"][:LONGEST])
            return
        self._part, self._part_depth = part, self._depth
        self._text, self._room = [], LONGEST

    def text(self, data: str) -> None:
        """Handle text; also that of elements inside a part."""
        if self._part and self._room > 0:
            self._text.append(data[: self._room])
            self._room -= len(data)

    def end(self, _: str) -> None:
        """Handle the end of an element."""
        if self._part and self._depth == self._part_depth:
            value = " ".join("".join(self._text).split())
            if value:
                self._entry.setdefault(self._part, value)
            self._part = ""
        if self._depth == self._item:
            self._item, self._part = 0, ""
            self.found.append(self._entry)
        self._depth -= 1


def is_feed(body: bytes) -> bool:
    """Say whether a document is a feed in XML."""
    return xml_stream.root_name(body).lower() in ROOTS


def read_entries(body: bytes) -> list[dict[str, str]]:
    """Return the entries of a feed; raise ``SourceError`` if it is none.

    The link of an entry without an identifier is used as its identifier.

    >>> read_entries(b"<rss><item><link>http://a.example/1</link></item></rss>")
    [{'link': 'http://a.example/1', 'id': 'http://a.example/1'}]
    """
    if not is_feed(body):
        raise SourceError("it is no feed (RSS, Atom or RDF)")
    read, trouble = xml_stream.parse(xml_stream.whole(body), _Entries)
    if trouble:
        raise SourceError(f"it is no feed that can be read: {trouble}")
    for entry in read.found:
        if "id" not in entry and "link" in entry:
            entry["id"] = entry["link"]
    return read.found
