"""The WebSub links of a page: the hub that announces its changes.

A page or feed names its hubs (``rel="hub"``) and its own address, the topic
(``rel="self"``), in the header ``Link``, or in ``<link>`` and ``<atom:link>`` elements.
W3C WebSub, section 4. Links in the entries of a feed and in the body of a page do not
count: they may be written by readers.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from html import unescape

from halflife.core.errors import UsageError
from halflife.net.addresses import resolve

MOST = 1 << 16  # bytes in which links are searched: heads are short
LONGEST = 2048  # characters of an address
_HEADER = re.compile(r"<([^<>]{1,2048})>((?:[^,<\"]|\"[^\"]{0,500}\"){0,500})")
_REL = re.compile(r";\s*+rel\s*+=\s*+(?:\"([^\"]*+)\"|([^\s;,\"]++))", re.IGNORECASE)
_TAG = re.compile(r"<(?:[\w.-]{1,40}:)?link\s([^<>]{1,4096})>", re.IGNORECASE)
_ATTRIBUTE = re.compile(
    r"([\w:-]{1,40})\s*+=\s*+(?:\"([^\"]*+)\"|'([^']*+)'|([^\s\"'>]++))"
)
_ENTRIES = re.compile(
    r"<(?:[\w.-]{1,40}:)?(?:item|entry|body)[\s>/]|</head\s*+>", re.IGNORECASE
)
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class HubLinks:
    """The hub of a page and the address under which the hub knows the page."""

    hub: str
    topic: str


def find_hub(url: str, headers: Mapping[str, str], body: bytes) -> HubLinks | None:
    """Return the first hub that a page names; None if it names none.

    Links in the header come before those in the text. The topic of a page that does not
    name its own address is the address it was fetched from.

    >>> link = '<https://hub.example/>; rel="hub", <https://a.example/feed>; rel=self'
    >>> find_hub("https://a.example/f", {"Link": link}, b"")
    HubLinks(hub='https://hub.example/', topic='https://a.example/feed')
    """
    links: dict[str, str] = {}
    for rel, target in (*_in_header(headers), *_in_text(body)):
        for name in rel.lower().split():
            if name in {"hub", "self"} and name not in links:
                address = _address(url, target)
                if address:
                    links[name] = address
    if "hub" not in links:
        return None
    return HubLinks(links["hub"], links.get("self", url))


def _in_header(headers: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for target, rest in _HEADER.findall(headers.get("Link", "")[:MOST]):
        rel = _REL.search(rest)
        if rel:
            yield rel[1] or rel[2] or "", target


def _in_text(body: bytes) -> Iterator[tuple[str, str]]:
    if b"hub" not in body[:MOST]:
        return
    text = _COMMENT.sub("", body[:MOST].decode("utf-8", "replace"))
    end = _ENTRIES.search(text)
    for tag in _TAG.findall(text[: end.start()] if end else text):
        attributes = {
            name.lower(): unescape(double or single or bare)
            for name, double, single, bare in _ATTRIBUTE.findall(tag)
        }
        if "rel" in attributes and "href" in attributes:
            yield attributes["rel"], attributes["href"]


def _address(base: str, target: str) -> str:
    """Return a link as an absolute address; empty if it is invalid.

    An absolute address stays as it is written: a hub may know no other spelling.
    """
    text = target.strip()
    try:
        found = resolve(base, text)
    except UsageError:
        return ""
    if text.lower().startswith(("http://", "https://")):
        found = text
    return found if len(found) <= LONGEST else ""
