"""Pages that list other pages: sitemaps and feeds."""

import io
from calendar import timegm
from collections.abc import Collection, Iterator
from dataclasses import dataclass

import feedparser
from lxml import etree

from halflife.errors import UsageError
from halflife.sources.addresses import canonical, host_of
from halflife.sources.dates import SECONDS, from_iso
from halflife.sources.decoding import Undecodable, pieces, unpack

MOST = 50_000  # entries of one map, as the sitemap protocol has it
LARGEST = 50 << 20  # bytes of a sitemap, as the protocol has it
LARGEST_FEED = 4 << 20  # feeds are read by a slower parser
_GZIP = b"\x1f\x8b"
_PROLOG = 1 << 14  # bytes in which the root element must begin
_SITEMAPS = frozenset({b"urlset", b"sitemapindex"})
_FEEDS = frozenset({b"rss", b"feed", b"RDF"})
_MAPS = _SITEMAPS | _FEEDS


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
        """Return what matters of the map: which pages, and their dates."""
        return "\n".join(f"{e.key} {e.modified}" for e in self.entries)


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
    if root in _SITEMAPS:
        return _chosen(root.decode(), _sitemap(data), {host_of(url), *hosts})
    if root in _FEEDS and len(data) <= LARGEST_FEED:
        return _chosen("feed", _feed(data), {host_of(url), *hosts})
    return None


def _unzipped(body: bytes) -> bytes:
    """Return what a gzip file holds, if it looks like a map."""
    start = next(pieces("gzip", body), b"")
    return unpack("gzip", body, LARGEST) if root_name(start) in _MAPS else b""


def _chosen(
    kind: str, found: Iterator[tuple[str, float | None]], hosts: set[str]
) -> MapEntries:
    entries: dict[str, MapEntry] = {}
    left_out = 0
    for url, modified in found:
        try:
            key = canonical(url)
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


def _sitemap(data: bytes) -> Iterator[tuple[str, float | None]]:
    """Read a sitemap as far as it can be read; entities are never resolved."""
    parts = etree.iterparse(
        io.BytesIO(data),
        events=("end",),
        tag=("{*}loc", "{*}lastmod", "{*}url", "{*}sitemap"),
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        huge_tree=False,
        recover=True,
    )
    found: dict[str, str] = {}
    for _, element in parts:
        name = etree.QName(element).localname
        if name in {"loc", "lastmod"}:
            found.setdefault(name, (element.text or "").strip())
            continue
        if found.get("loc"):
            yield found["loc"], from_iso(found.get("lastmod", ""))
        found = {}
        element.clear()


def _feed(data: bytes) -> Iterator[tuple[str, float | None]]:
    """Read a feed; only links and dates are taken, so no markup is let in."""
    # From a stream: a bare string might be taken for a URL or a file to open.
    feed = feedparser.parse(
        io.BytesIO(data), sanitize_html=False, resolve_relative_uris=False
    )
    for entry in feed.entries:
        when = dict.get(entry, "updated_parsed") or dict.get(entry, "published_parsed")
        yield str(entry.get("link", "")), timegm(when) / SECONDS if when else None
