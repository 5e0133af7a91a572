"""Pages that list other pages: sitemaps and feeds."""

import io
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from lxml import etree

from halflife.errors import UsageError
from halflife.sources.addresses import host_of, resolve
from halflife.sources.dates import from_http, from_iso
from halflife.sources.decoding import Undecodable, pieces, unpack

MOST = 50_000  # entries of one map, as the sitemap protocol has it
LARGEST = 50 << 20  # bytes of a sitemap, as the protocol has it
_GZIP = b"\x1f\x8b"
_PROLOG = 1 << 14  # bytes in which the root element must begin
_SITEMAPS = frozenset({b"urlset", b"sitemapindex"})
_FEEDS = frozenset({b"rss", b"feed", b"RDF"})
_MAPS = _SITEMAPS | _FEEDS
_PAGES = frozenset({"url", "sitemap"})
_NEWS = frozenset({"item", "entry"})
_LINKS = ("loc", "link", "guid")
# Best first: when it changed, rather than when it came out.
_DATES = (
    "lastmod", "updated", "modified", "date", "pubDate", "published", "issued",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class MapEntry:
    """One page that a map names; ``modified`` in days, if the map says when."""

    key: str
    modified: float | None = None


@dataclass(frozen=True, slots=True)
class MapEntries:
    """What a map lists, each page once.

    Attributes:
        kind: ``urlset``, ``sitemapindex`` or ``feed``.
        entries: The pages on the map's own hosts, in its order.
        left_out: How many entries were not URLs, on other hosts, or too many.

    """

    kind: str
    entries: tuple[MapEntry, ...]
    left_out: int = 0

    def text(self) -> str:
        """Return what matters of the map: which pages it names.

        Its dates change with every page; a map that only tells news of pages we
        know already is the same map.
        """
        return "\n".join(sorted(entry.key for entry in self.entries))


def root_name(body: bytes) -> bytes:
    """Return the name of a document's root element; nothing if there is a DOCTYPE.

    Only the start is looked at, and only as ASCII. A DOCTYPE can define entities
    that read files or grow without bound, and no map needs one.

    >>> root_name(b"<?xml version='1.0'?><!-- made by x --><urlset xmlns='...'>")
    b'urlset'
    >>> root_name(b"<!DOCTYPE urlset><urlset>")
    b''
    """
    rest = body[:_PROLOG].removeprefix(b"\xef\xbb\xbf").lstrip()
    while rest.startswith((b"<?", b"<!--")):
        end = b"?>" if rest.startswith(b"<?") else b"-->"
        rest = rest.partition(end)[2].lstrip()
    if not rest.startswith(b"<") or rest.startswith(b"<!"):
        return b""
    name = rest[1:].split(b">", 1)[0].split(maxsplit=1)[:1]
    return name[0].rstrip(b"/").rpartition(b":")[2] if name else b""


def may_be_map(body: bytes) -> bool:
    """Say whether a look into a body with ``read_map`` is worth while."""
    return body[:2] == _GZIP or root_name(body) in _MAPS


def read_map(
    body: bytes, url: str, *, hosts: Collection[str] = ()
) -> MapEntries | None:
    """Return the pages that a sitemap or feed lists; nothing if it is neither.

    What it is, is told by its root element and not by its type. Only pages on the
    host of ``url``, or on one of ``hosts``, are believed.
    """
    try:
        data = _unzipped(body) if body[:2] == _GZIP else body
    except Undecodable:
        return None
    root = root_name(data)
    if root not in _MAPS:
        return None
    kind, items = (root.decode(), _PAGES) if root in _SITEMAPS else ("feed", _NEWS)
    return _chosen(kind, _entries(data, items), url, {host_of(url), *hosts})


def _unzipped(body: bytes) -> bytes:
    """Return what a gzip file holds, if it looks like a map."""
    start = next(pieces("gzip", body), b"")
    return unpack("gzip", body, LARGEST) if root_name(start) in _MAPS else b""


def _chosen(
    kind: str, found: Iterable[tuple[str, float | None]], base: str, hosts: set[str]
) -> MapEntries:
    entries: dict[str, MapEntry] = {}
    left_out = 0
    for link, modified in found:
        try:
            key = resolve(base, link)
        except UsageError:
            left_out += 1
            continue
        if key in entries:
            continue
        if host_of(key) in hosts and len(entries) < MOST:
            entries[key] = MapEntry(key, modified)
        else:
            left_out += 1
    return MapEntries(kind, tuple(entries.values()), left_out)


def _entries(data: bytes, items: frozenset[str]) -> Iterator[tuple[str, float | None]]:
    """Return links and dates, as far as the document can be read.

    Entities are never resolved, nothing else is ever opened, and the time it
    takes grows with the document and no faster.
    """
    parts = etree.iterparse(
        io.BytesIO(data),
        events=("start", "end"),
        tag=[f"{{*}}{name}" for name in (*items, *_LINKS, *_DATES)],
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        huge_tree=False,
        recover=True,
    )
    found: dict[str, str] = {}
    for event, element in parts:
        name = etree.QName(element).localname
        if name in items:
            if event == "end":
                yield from _entry(found)
                element.clear()
            found = {}
        elif event == "end":
            text = element.get("href") or element.text or ""
            if element.get("rel", "alternate") == "alternate":
                found.setdefault(name, text.strip())


def _entry(found: dict[str, str]) -> Iterator[tuple[str, float | None]]:
    link = next((found[name] for name in _LINKS if found.get(name)), None)
    date = next((found[name] for name in _DATES if found.get(name)), "")
    if link:
        moment = from_iso(date)
        yield link, from_http(date) if moment is None else moment
