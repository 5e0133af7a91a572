"""Pages that list other pages: sitemaps and feeds.

Sitemaps are XML or plain text; feeds are RSS, Atom, RDF, CDF or JSON Feed. The content
of a document decides its format, not its media type.
"""

import re
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

from halflife.core.errors import UsageError
from halflife.net import decoding
from halflife.net.addresses import host_of, resolve
from halflife.net.dates import from_iso, from_mail
from halflife.net.decoding import Undecodable
from halflife.readers import xml_stream
from halflife.readers.json_document import load_json
from halflife.readers.reader_thread import checkpoint
from halflife.readers.xml_stream import root_name

MOST = 50_000  # entries of one map, by the sitemap protocol
LARGEST = 50 << 20  # bytes of a sitemap, by the protocol
_LONGEST = 2048  # characters of a link or date, by the protocol
_GZIP = b"\x1f\x8b"
_START = 1 << 14  # bytes by which a list of addresses is recognised
_SITEMAPS = frozenset({b"urlset", b"sitemapindex"})
_FEEDS = frozenset({b"rss", b"feed", b"rdf", b"channel"})
_MAPS = _SITEMAPS | _FEEDS
_LISTED = re.compile(rb"(?:\s*+https?://[^\s<>\"]++[ \t]*+(?:\r?\n|\Z))++\s*+\Z")
_JSON_FEED = re.compile(r"https?://(?:www\.)?jsonfeed\.org/version/")
_ITEMS = {"urlset": "url", "sitemapindex": "sitemap", "channel": "item", "rss": "item",
          "rdf": "item", "feed": "entry"}  # fmt: skip
# Best first: the date of the last change, rather than that of publication.
_DATES = (
    "lastmod", "updated", "modified", "date", "pubdate", "published", "issued",
    "created", "publication_date",
)  # fmt: skip
_NAMES = frozenset({"loc", "link", "guid", "id"})  # elements that may hold the address
_PARTS = _NAMES | frozenset(_DATES)
_FEED_SPACES = ("/atom", "purl.org/rss", "netscape.com/rdf", "backend.userland.com")
_WEB_PAGES = frozenset({"", "text/html", "application/xhtml+xml"})


@dataclass(frozen=True, slots=True)
class MapEntry:
    """One page in a map; ``modified`` in days, if the map states it."""

    key: str
    modified: float | None = None


@dataclass(frozen=True, slots=True)
class MapEntries:
    """The entries of a map, each page once.

    Attributes:
        kind: ``urlset``, ``sitemapindex`` or ``feed``.
        entries: The pages on the map's own hosts, in its order.
        left_out: How many entries were not URLs, on other hosts, or too many.
        trouble: Why not all of the map could be read; empty if it could. The entries
            before the error are kept.

    """

    kind: str
    entries: tuple[MapEntry, ...]
    left_out: int = 0
    trouble: str = ""

    def text(self) -> str:
        """Return the text that versions of a map are compared by: its pages.

        Dates are left out: a map in which only dates of known pages change is the same.
        """
        return "\n".join(sorted(entry.key for entry in self.entries))


class _Entry(NamedTuple):
    """An entry as it stands in a map."""

    link: str
    date: str = ""
    bases: tuple[str, ...] = ()  # what the link is relative to, outermost first


def may_be_map(body: bytes) -> bool:
    """Say whether ``read_map`` may find a map in a body."""
    return body[:2] == _GZIP or bool(_kind(body))


def _kind(body: bytes) -> str:
    """Return the root element of a map, ``text`` or ``json``; empty if it is none."""
    start = body[:64].removeprefix(b"\xef\xbb\xbf").lstrip()
    if start[:1] == b"{":
        return "json" if b"jsonfeed.org" in body else ""
    if start[:4].lower() == b"http":
        return "text" if _is_list(body[:_START]) else ""
    root = root_name(body).lower()
    return root.decode() if root in _MAPS else ""


def _is_list(start: bytes) -> bool:
    """Say whether a text consists of addresses, one a line."""
    lines = start if len(start) < _START else start[: start.rfind(b"\n") + 1]
    return bool(_LISTED.match(lines.removeprefix(b"\xef\xbb\xbf")))


def read_map(
    body: bytes, url: str, *, hosts: Collection[str] = ()
) -> MapEntries | None:
    """Return the pages that a sitemap or feed lists; None if it is neither.

    Only pages on the host of ``url``, or on one of ``hosts``, are kept.
    """
    try:
        pieces = _unzipped(body) if body[:2] == _GZIP else xml_stream.whole(body)
        root = _kind(body if body[:2] != _GZIP else next(pieces(), b""))
        if not root:
            return None
        if root in {"json", "text"}:
            data = b"".join(pieces())
            found, trouble = _json(data) if root == "json" else (_lines(data), "")
        else:
            sink, trouble = xml_stream.parse(pieces, lambda: _Entries(root))
            found = sink.entries()
    except Undecodable:
        return None
    known = {host_of(url), *hosts}
    kind = (
        "urlset" if root == "text" else root if root.encode() in _SITEMAPS else "feed"
    )
    return _select(MapEntries(kind, (), trouble=trouble), found, url, known)


def _unzipped(body: bytes) -> Callable[[], Iterator[bytes]]:
    """Return a function that decodes a gzip file, up to the protocol's limit."""

    def give() -> Iterator[bytes]:
        size = 0
        for piece in decoding.pieces("gzip", body):
            size += len(piece)
            if size > LARGEST:
                raise Undecodable(f"is larger than {LARGEST} bytes once decoded")
            yield piece

    return give


def _lines(data: bytes) -> Iterator[_Entry]:
    for line in data.removeprefix(b"\xef\xbb\xbf").split(b"\n", 4 * MOST)[: 4 * MOST]:
        link = line[: _LONGEST + 1].strip()
        if link[:7].lower() == b"http://" or link[:8].lower() == b"https://":
            yield _Entry(link.decode("utf-8", "replace"))


def _json(data: bytes) -> tuple[list[_Entry], str]:
    """Return the entries of a JSON Feed; version 1.1 at jsonfeed.org."""
    try:
        feed = load_json(data.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return [], "it is no JSON that can be read"
    version = feed.get("version") if isinstance(feed, dict) else None
    items = feed.get("items") if isinstance(feed, dict) else None
    if not (isinstance(version, str) and _JSON_FEED.match(version)):
        return [], "it is no JSON Feed"
    if not isinstance(items, list):
        return [], "it has no items"
    return [_Entry(*_item(item)) for item in items[: 2 * MOST] if _item(item)[0]], ""


def _item(item: object) -> tuple[str, str]:
    if not isinstance(item, dict):
        return "", ""
    links = (item.get("url"), item.get("external_url"), item.get("id"))
    link = next((text for text in links if isinstance(text, str) and text), "")
    if not item.get("url") and not item.get("external_url") and "://" not in link:
        link = ""  # an id may be anything
    dates = (item.get("date_modified"), item.get("date_published"))
    date = next((text for text in dates if isinstance(text, str)), "")
    return link[:_LONGEST], date[:_LONGEST]


def _select(
    empty: MapEntries, found: Iterable[_Entry], base: str, hosts: set[str]
) -> MapEntries:
    entries: dict[str, MapEntry] = {}
    left_out, end = 0, time.thread_time() + xml_stream.SECONDS
    for place, entry in enumerate(found):
        if place % 256 == 0:
            checkpoint()
            if time.thread_time() > end:
                trouble = "its addresses take too long to read"
                return replace(empty, entries=tuple(entries.values()), trouble=trouble)
        try:
            key = _address(entry, base)
        except UsageError:
            left_out += 1
            continue
        if key in entries:
            continue
        if host_of(key) in hosts and len(entries) < MOST:
            moment = from_iso(entry.date)
            modified = from_mail(entry.date) if moment is None else moment
            entries[key] = MapEntry(key, modified)
        else:
            left_out += 1
    return replace(empty, entries=tuple(entries.values()), left_out=left_out)


def _address(entry: _Entry, base: str) -> str:
    """Return the address of an entry; raise ``UsageError`` if it is not certain."""
    if "\ufffd" in entry.link:  # a character was lost
        raise UsageError("not a URL")
    for outer in () if "://" in entry.link else entry.bases:
        base = resolve(base, outer)
    return resolve(base, entry.link)


class _Entries:
    """Collects the entries of an XML map; see ``xml_stream.Handler``.

    Of an entry only its own children count: the address of an image, or the link of
    the feed that an entry was taken from, lies deeper.
    """

    def __init__(self, root: str) -> None:
        self._sitemap = root.encode() in _SITEMAPS
        self._names = {_ITEMS[root]} if self._sitemap else {"item", "entry"}
        # CDF has an attribute of its own.
        self._base_names = {"xml:base", "BASE"} if root == "channel" else {"xml:base"}
        self._found: list[_Entry] = []
        self._depth = 0
        self._bases: list[tuple[int, str]] = []  # with the depth of their elements
        self._spaces: list[tuple[int, str, str]] = []  # depth, prefix, namespace
        self._item = 0  # the depth of the entry we are in
        self._own = ""  # its namespace
        self._parts: dict[str, str] = {}
        self._links: list[tuple[int, _Entry]] = []  # best first by the number
        self._part, self._part_depth = "", 0  # what is being read
        self._text: list[str] = []
        self._room = 0  # characters that may still be read of it

    def entries(self) -> list[_Entry]:
        """Return the entries, with one that was cut off after its link."""
        if self._item:
            self._finish()
        return self._found

    def start(self, name: str, attributes: list[str]) -> None:
        """Handle the start of an element."""
        self._depth += 1
        if attributes:
            self._declare(attributes)
        prefix, _, local = name.rpartition(":")
        local = local.lower()
        if not self._item:
            if local in self._names:
                self._begin(prefix, _lowered(attributes))
        elif local in _PARTS and self._counts(prefix, local):
            self._take(local, _lowered(attributes))

    def text(self, data: str) -> None:
        """Handle a piece of text."""
        if self._part and self._room > 0 and self._depth == self._part_depth:
            self._text.append(data[: self._room])
            self._room -= len(data)

    def end(self, _: str) -> None:
        """Handle the end of an element."""
        if self._part and self._depth == self._part_depth:
            self._keep("".join(self._text).strip())
            self._part = ""
        if self._depth == self._item:
            self._finish()
        while self._bases and self._bases[-1][0] == self._depth:
            self._bases.pop()
        while self._spaces and self._spaces[-1][0] == self._depth:
            self._spaces.pop()
        self._depth -= 1

    def _declare(self, attributes: list[str]) -> None:
        for i in range(0, len(attributes), 2):
            name = attributes[i]
            if name in self._base_names:
                self._bases.append((self._depth, attributes[i + 1][:_LONGEST]))
            elif name == "xmlns" or name.startswith("xmlns:"):
                self._spaces.append((self._depth, name[6:], attributes[i + 1]))

    def _space(self, prefix: str) -> str:
        """Return the namespace of a prefix, invented if it was not declared."""
        for _, known, space in reversed(self._spaces):
            if known == prefix:
                return space
        return f"undeclared:/{prefix}" if prefix else ""

    def _begin(self, prefix: str, given: dict[str, str]) -> None:
        self._item, self._own = self._depth, self._space(prefix)
        self._parts, self._links, self._part = {}, [], ""
        if not self._sitemap and given.get("href"):  # CDF
            self._links.append((0, self._entry(given["href"])))
            self._parts["lastmod"] = given.get("lastmod", "")

    def _counts(self, prefix: str, local: str) -> bool:
        """Say whether an element of this name belongs to the entry."""
        if local == "publication_date":  # of news, one level down
            return self._depth <= self._item + 2
        if self._depth != self._item + 1:
            return False
        if local not in _NAMES:
            return True
        if self._sitemap != (local == "loc"):
            return False
        space = self._space(prefix)
        feeds = any(known in space.lower() for known in _FEED_SPACES)
        return space == self._own or (local == "link" and feeds)

    def _take(self, local: str, given: dict[str, str]) -> None:
        """Begin to read a part of an entry."""
        if local == "guid" and given.get("ispermalink", "").strip().lower() == "false":
            return
        if local == "link":
            kind = given.get("type", "").partition(";")[0].strip().lower()
            relation = given.get("rel", "alternate").strip().lower()
            if relation.rpartition("/")[2] != "alternate":
                return
            if given.get("href"):
                rank = 0 if kind in _WEB_PAGES else 1
                self._links.append((rank, self._entry(given["href"])))
                return
        self._part, self._part_depth = local, self._depth
        self._text, self._room = [], _LONGEST + 1

    def _keep(self, value: str) -> None:
        if not value or len(value) > _LONGEST:
            return
        if self._part in {"link", "loc"}:
            self._links.append((0, self._entry(value)))
        elif self._part in {"guid", "id"}:  # it may be an address
            if value[:7].lower() == "http://" or value[:8].lower() == "https://":
                self._links.append((2, self._entry(value)))
        else:
            self._parts.setdefault(self._part, value)

    def _entry(self, link: str) -> _Entry:
        # Double escaping is a common mistake; no address contains «&amp;» on purpose.
        link = link.strip().replace("&amp;", "&")
        return _Entry(link, bases=tuple(base for _, base in self._bases))

    def _finish(self) -> None:
        self._item, self._part = 0, ""
        if self._links and len(self._found) < 4 * MOST:
            best = min(self._links, key=lambda link: link[0])[1]
            date = next((self._parts[n] for n in _DATES if self._parts.get(n)), "")
            self._found.append(best._replace(date=date))


def _lowered(attributes: list[str]) -> dict[str, str]:
    return {
        attributes[i].lower(): attributes[i + 1] for i in range(0, len(attributes), 2)
    }
