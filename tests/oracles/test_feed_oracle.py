"""Feeds against feedparser: the same entries, at the same addresses.

feedparser also takes a name (``id``, ``guid``) that is no absolute address for a link,
and resolves it; we do not, since such a page would be asked for and is never there.
"""

import os
from itertools import product
from pathlib import Path

import feedparser
import pytest

from halflife.core.errors import UsageError
from halflife.net.addresses import canonical, host_of
from halflife.readers.maps import read_map

HOME = "http://example.org/feeds/all.xml"
KNOWN = {"atom10_id.xml"}  # names that feedparser resolves and quotes
SUITE = "HALFLIFE_FEEDPARSER_TESTS"  # the folder tests/ of feedparser's source archive


def theirs(body: bytes) -> list[str]:
    """Return the addresses of the entries that feedparser finds."""
    found = feedparser.parse(
        body,
        response_headers={"content-location": HOME, "content-type": "application/xml"},
        resolve_relative_uris=False,
        sanitize_html=False,
    )
    keys: dict[str, None] = {}
    for entry in found.entries:
        link = entry.get("link")
        made_up = link == entry.get("id") and str(link).encode() not in body
        try:
            if link and not made_up:
                keys.setdefault(canonical(link))
        except UsageError:
            continue
    return list(keys)


def ours(body: bytes, hosts: set[str]) -> list[str]:
    found = read_map(body, HOME, hosts=hosts)
    return [entry.key for entry in found.entries] if found else []


LINKS = {
    "text": "<link>{}</link>",
    "cdata": "<link><![CDATA[{}]]></link>",
    "comment": "<link><!-- c -->{}</link>",
    "href": "<a:link xmlns:a='http://www.w3.org/2005/Atom' href='{}'/>",
    "guid": "<guid>{}</guid>",
    "permanent": "<guid isPermaLink='true'>{}</guid>",
    "not permanent": "<guid isPermaLink='false'>{}</guid>",
    "guid and link": "<guid>http://example.org/other</guid><link>{}</link>",
    "link and guid": "<link>{}</link><guid isPermaLink='false'>x</guid>",
    "empty": "<link></link><title>{}</title>",
}
ATOM_LINKS = {
    "plain": "<link href='{}'/>",
    "alternate": "<link rel='alternate' href='{}'/>",
    "edit first": "<link rel='edit' href='/edit'/><link href='{}'/>",
    "html": "<link type='text/html' rel='alternate' href='{}'/>",
    "source first": "<source><link href='/source'/></source><link href='{}'/>",
    "source last": "<link href='{}'/><source><link href='/source'/></source>",
    "self": "<link rel='self' href='{}'/>",
    "enclosure": "<link rel='enclosure' href='/x.mp3'/><link href='{}'/>",
    "author": "<author><uri>http://example.org/me</uri></author><link href='{}'/>",
}
TARGETS = ("http://example.org/a", "/a", "a?x=1&amp;y=2", "//example.org/b")
BASES = ("", "xml:base='http://example.org/base/'", "xml:base='/other/'")
ROOTS = {
    "rss": "<rss {}><channel><link>http://example.org/</link>{}</channel></rss>",
    "rss without channel": "<rss version='2.0' {}>{}</rss>",
    "rdf": (
        "<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#' "
        "xmlns='http://purl.org/rss/1.0/' {}>{}</rdf:RDF>"
    ),
    "userland": "<rss xmlns='http://backend.userland.com/rss2' {}>{}</rss>",
}


def items() -> list[bytes]:
    """Return feeds of every root, base, way to link and target, two entries each."""
    made = []
    for root, base, link, target in product(
        ROOTS.values(), BASES, LINKS.values(), TARGETS
    ):
        named = "guid>{" in link or "'true'>{" in link
        address = TARGETS[0] if named else target
        entry = f"<item><title>t</title>{link.format(address)}</item>"
        last = "<item><link>http://example.org/last</link></item>"
        made.append(root.format(base, entry + last))
    for base, link, target in product(BASES, ATOM_LINKS.values(), TARGETS):
        entry = f"<entry {base}><title>t</title>{link.format(target)}</entry>"
        last = "<entry><link href='http://example.org/last'/></entry>"
        spaces = ("http://www.w3.org/2005/Atom", "http://purl.org/atom/ns#")
        made += [f"<feed xmlns='{space}'>{entry}{last}</feed>" for space in spaces]
    return [text.encode() for text in dict.fromkeys(made)]


def test_made_up_feeds_have_the_entries_that_feedparser_finds():
    made = items()
    assert len(made) > 400
    wrong = [
        (body, theirs(body), ours(body, {"example.org"}))
        for body in made
        if theirs(body) != ours(body, {"example.org"})
    ]
    assert wrong == []


@pytest.mark.skipif(SUITE not in os.environ, reason=f"{SUITE} names no folder")
def test_the_feeds_of_its_own_tests_have_the_entries_that_feedparser_finds():
    seen, lost = 0, []
    for path in sorted(Path(os.environ[SUITE]).rglob("*.xml")):
        body = path.read_bytes()
        keys = theirs(body)
        if keys:
            seen += 1
            hosts = {host_of(key) for key in keys}
            if set(keys) - set(ours(body, hosts)) and path.name not in KNOWN:
                lost.append(str(path))
    assert seen > 50
    assert lost == []
