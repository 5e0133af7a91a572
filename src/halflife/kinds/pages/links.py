"""Links of a web page: extraction, normal form, and scope of a crawl."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Self
from urllib.parse import parse_qsl, urlsplit

from halflife.core.errors import UsageError
from halflife.kinds.pages.session_ids import without_session
from halflife.net.addresses import canonical, host_of, resolve
from halflife.readers.characters import unescape

MOST = 1000  # links of one page
LONGEST = 2000  # characters of an address
DEEPEST = 24  # folders of an address
_TAGS = 20_000  # tags with an address that are read
_ATTRIBUTES = 1 << 13  # characters of a tag that are searched for attributes
# As in ``text``: no tree is built and no character is read twice.
_REST = r"""[^>=]*+(?:=(?:\s*+(?:"[^"]*+"|'[^']*+'))?+[^>=]*+)*+>?"""
_TAG = re.compile(
    rf"""<(?:
      ((?i:area|base|frame|iframe|link|meta|a))(?![\w:-])({_REST})
    | !--(?:-?>|(?:[^-]++|-(?!-!?>))*+(?:--!?>)?)
    | ((?i:script|style|template|noembed|textarea|title|xmp))\b{_REST}
      (?:[^<]++|<(?!/(?i:\3)\b))*+
    | [/?!a-zA-Z]{_REST}
    )""",
    re.VERBOSE,
)
_ATTRIBUTE = re.compile(
    r"""(?<![\w:-])([a-zA-Z][\w:-]*+)\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s"'>]++))"""
)
_PAGES = {"a": "href", "area": "href", "frame": "src", "iframe": "src", "link": "href"}
_TURNS = frozenset({"next", "prev"})  # relations of link elements that lead to a page
_BLANKS = re.compile(r"[\t\n\r]")
_ENDINGS = re.compile(
    r"(?i)\.(?:7z|avi|bmp|bz2|css|dmg|eot|exe|flv|gif|gz|ico|iso|jar|jpe?g|js|m4[av]"
    r"|mkv|mov|mp[34]|mpe?g|og[agv]|otf|png|rar|svg|tar|tiff?|tgz|ttf|wav|web[mp]"
    r"|wmv|woff2?|xz|zip)(?:\Z|\?)"
)
_PATH = re.compile(r"(?:/(?!\.)[A-Za-z0-9._~-]*+)++")
_NUMBER = re.compile(r"[0-9]+")


@dataclass(frozen=True, slots=True)
class FoundLinks:
    """The links of a page.

    Attributes:
        to: The keys of the pages it links to, without duplicates, in order.
        canonical: The key of its canonical address; empty if none.
        urls: The first URL found for each key that differs from it.
        languages: The language tag of each of its versions (``hreflang``), by key.

    """

    to: tuple[str, ...] = ()
    canonical: str = ""
    urls: Mapping[str, str] = field(default_factory=dict)
    languages: Mapping[str, str] = field(default_factory=dict, repr=False)


def read_links(page: str, url: str) -> FoundLinks:
    """Return the links of a web page at ``url``.

    Links are those of ``a``, ``area``, frames, and ``link`` with ``rel`` next or
    prev. ``base`` and ``nofollow`` (of a link or of the page) are respected. At most
    ``MOST`` links are read.

    >>> read_links('<base href="/b/"><a href="c#top">x</a>', "http://example.org/")
    FoundLinks(to=('http://example.org/b/c',), canonical='', urls={})
    """
    base, has_base, canonical_key, may_follow = _Base(url), False, "", True
    to: dict[str, str] = {}
    languages: dict[str, str] = {}
    for name, attributes in read_tags(page):
        if name == "meta":
            may_follow = may_follow and not _forbids_following(attributes)
        elif name == "base" and not has_base and "href" in attributes:
            has_base = True
            base = _Base(_joined(base.url, attributes["href"]) or base.url)
        elif _is_link(name, attributes) and len(to) < MOST:
            for key, found in _targets(base, attributes[_PAGES[name]]):
                to.setdefault(key, found)
        elif name == "link" and "canonical" in _rel(attributes) and not canonical_key:
            canonical_key = next(_targets(base, attributes.get("href", "")), ("", ""))[
                0
            ]
        elif name == "link" and len(languages) < MOST and _is_version(attributes):
            tag = attributes["hreflang"].strip().lower()
            for key, _ in _targets(base, attributes.get("href", "")):
                languages.setdefault(key, tag)
    if not may_follow:
        return FoundLinks((), canonical_key)
    urls = {k: u for k, u in to.items() if u != k}
    return FoundLinks(tuple(to), canonical_key, urls, languages)


def read_tags(page: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Return the tags of a page that can have an address, and ``meta``, in order."""
    seen = 0
    for tag in _TAG.finditer(page):
        if tag[1] is None:
            continue
        seen += 1
        if seen > _TAGS:
            return
        attributes: dict[str, str] = {}
        for name, double, single, bare in _ATTRIBUTE.findall(tag[2][:_ATTRIBUTES]):
            attributes.setdefault(name.lower(), unescape(double or single or bare))
        yield tag[1].lower(), attributes


def _is_version(attributes: dict[str, str]) -> bool:
    """Return whether a link element names a version in another language."""
    return "hreflang" in attributes and "alternate" in _rel(attributes)


def _rel(attributes: dict[str, str]) -> set[str]:
    return set(attributes.get("rel", "").lower().split())


def _forbids_following(meta: dict[str, str]) -> bool:
    """Return whether a meta element tells robots not to follow links."""
    directives = set(re.split(r"[\s,]+", meta.get("content", "").lower()))
    named = meta.get("name", "").strip().lower()
    return named in {"robots", "halflife"} and bool(directives & {"nofollow", "none"})


def _is_link(name: str, attributes: dict[str, str]) -> bool:
    """Return whether an element is a link that may be followed."""
    if name not in _PAGES or not attributes.get(_PAGES[name]):
        return False
    rel = _rel(attributes)
    return "nofollow" not in rel and (name != "link" or bool(rel & _TURNS))


def _joined(base: str, link: str) -> str:
    """Return the absolute URL of a link; empty if it cannot be fetched."""
    try:
        return resolve(base, _BLANKS.sub("", link.strip()))
    except UsageError:
        return ""


class _Base:
    """The base address of the links of a page."""

    __slots__ = ("folder", "prefix", "url")

    def __init__(self, url: str) -> None:
        self.url = url
        parts = urlsplit(_joined(url, url))
        self.prefix = f"{parts.scheme}://{parts.netloc}" if parts.netloc else ""
        self.folder = parts.path.rpartition("/")[0] + "/"

    def plain(self, link: str) -> str:
        """Return the URL of a link with a plain path; empty for any other link.

        Most links are plain, and full resolution takes ten times as long.
        """
        path = link.partition("#")[0]
        if path.startswith(self.prefix + "/"):
            path = path[len(self.prefix) :]
        if path and path[0] not in "/.":
            path = self.folder + path
        if not self.prefix or path.startswith("//") or not _PATH.fullmatch(path):
            return ""
        return self.prefix + path


def _targets(base: _Base, link: str) -> Iterator[tuple[str, str]]:
    """Return the key and URL of a link's target, if it can be a page."""
    if len(link) > LONGEST:
        return
    url = base.plain(link)
    key = url or without_session(url := _joined(base.url, link))
    if key and len(url) <= LONGEST and not _ENDINGS.search(key):
        yield key, url


def spelled(url: str) -> str:
    """Return the key of a URL in a crawl; empty if it cannot be fetched.

    The fragment, session ids and campaign parameters are removed.

    >>> spelled("http://example.org/a?utm_source=x&b=2&a=1#c")
    'http://example.org/a?b=2&a=1'
    """
    try:
        key = without_session(canonical(url))
    except UsageError:
        return ""
    return key if len(key) <= LONGEST else ""


def is_endless(url: str) -> bool:
    """Return whether an address seems to be one of an endless series.

    That is so if a folder is repeated three times in a row or a sequence of folders
    twice, or if there are more than ``DEEPEST`` folders. A relative link on a server
    that gives the same answer for any path creates such addresses.

    >>> is_endless("http://example.org/a/b/a/b/"), is_endless("http://example.org/a/a")
    (True, False)
    """
    parts = [part for part in urlsplit(url).path.split("/") if part]
    if len(parts) > DEEPEST:
        return True
    if any(a == b == c for (a, b), (_, c) in pairwise(pairwise(parts))):
        return True
    return any(
        parts[i : i + size] == parts[i + size : i + 2 * size]
        for size in range(2, len(parts) // 2 + 1)
        for i in range(len(parts) - 2 * size + 1)
    )


def shape(url: str) -> str:
    """Return the common form of an address and its variants; empty if it has none.

    Variants differ in the values of their query, or in the numbers of a date.

    >>> shape("http://example.org/list?page=2&by=x")
    'http://example.org/list?by&page'
    >>> shape("http://example.org/calendar/2024/05"), shape("http://example.org/a/7")
    ('http://example.org/calendar/0/0', '')
    """
    scheme, host, path, query, _ = urlsplit(url)
    numbers = sum(part.isdecimal() for part in path.split("/"))
    if not query and numbers < 2 and not re.search(r"[0-9]{4}-[0-9]{2}", path):
        return ""
    names = sorted({name for name, _ in parse_qsl(query, keep_blank_values=True)})
    alike = _NUMBER.sub("0", path) if numbers > 1 or not query else path
    return f"{scheme}://{host}{alike}" + ("?" + "&".join(names) if names else "")


@dataclass(frozen=True, slots=True)
class Scope:
    """The addresses that belong to a site.

    Attributes:
        start: The address where the crawl starts; always in scope.
        within: ``host`` (its host), ``folder`` (its folder on its host), or
            patterns of whole addresses in which ``*`` stands for anything.

    """

    start: str
    within: str | tuple[str, ...] = "host"
    _host: str = field(init=False, repr=False, compare=False, default="")
    _folder: str = field(init=False, repr=False, compare=False, default="")

    def __post_init__(self) -> None:
        object.__setattr__(self, "_host", host_of(self.start))
        folder = urlsplit(self.start).path.rpartition("/")[0] + "/"
        object.__setattr__(self, "_folder", folder)

    @classmethod
    def of(cls, start: str, within: str | tuple[str, ...] = "host") -> Self:
        """Return the scope of a site that starts at ``start``, in any spelling."""
        return cls(canonical(start), within)

    def __contains__(self, url: str) -> bool:
        if url == self.start:
            return True
        if not isinstance(self.within, str):
            return any(matches(pattern, url) for pattern in self.within)
        if host_of(url) != self._host:
            return False
        return self.within == "host" or urlsplit(url).path.startswith(self._folder)


def matches(pattern: str, text: str) -> bool:
    """Return whether a text matches a pattern in which ``*`` stands for anything.

    The time is linear in the text, whatever the pattern.

    >>> matches("http://example.org/*/a*", "http://example.org/b/c/abc")
    True
    """
    first, *rest = pattern.split("*")
    if not rest:
        return text == pattern
    *middle, last = rest
    if not text.startswith(first) or not text.endswith(last):
        return False
    at, end = len(first), len(text) - len(last)
    for part in middle:
        found = text.find(part, at, end)
        if found < 0:
            return False
        at = found + len(part)
    return at <= end
