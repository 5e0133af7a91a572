"""OpenSearch descriptions: how a site says that it can be searched."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import urljoin

from lxml import etree

from halflife.errors import SourceError
from halflife.sources.maps import root_name
from halflife.sources.markup import Elements
from halflife.sources.search_answers import local, xml

ROOT = b"OpenSearchDescription"
TYPE = "application/opensearchdescription+xml"
# Best first: what can be read without being told where things are.
_TYPES = (
    "application/json", "application/atom+xml", "application/rss+xml", "text/html",
    "application/xhtml+xml",
)  # fmt: skip
_PLACE = re.compile(r"\{([^{}?]*)(\??)\}")
_OURS = {
    "searchTerms": "{query}",
    "count": "{count}",
    "startIndex": "{offset}",
    "startPage": "{page}",
    "inputEncoding": "UTF-8",
    "outputEncoding": "UTF-8",
    "language": "*",
}


@dataclass(frozen=True, slots=True)
class Described:
    """How a site says that it can be searched.

    Attributes:
        url: The address, with ``{query}`` and so on in it.
        type: The media type of its answers.
        first_page: The number of the first page.
        first_offset: The number of the first result.
        name: What the site calls it.

    """

    url: str
    type: str
    first_page: int = 1
    first_offset: int = 1
    name: str = ""


def is_description(body: bytes) -> bool:
    """Say whether a document is an OpenSearch description."""
    return root_name(body) == ROOT


def linked(page: str, url: str) -> str:
    """Return the address of the description that a web page names; empty if none."""
    found = Elements(page).address(f"link[rel~=search][type='{TYPE}']@href")
    return _joined(url, found) if found else ""


def _joined(url: str, template: str) -> str:
    """Return a template as an absolute address; empty if it cannot become one.

    Its places stand in braces, so it is not yet a URL that could be parsed.
    """
    try:
        return urljoin(url, template)
    except ValueError:
        return ""


def read_description(body: bytes, url: str) -> Described:
    """Return the best way to search that a description from ``url`` gives.

    OpenSearch 1.1, draft 6. Addresses for suggestions and those that are posted to are
    left out; of the others JSON comes before feeds, and these before HTML. Parameters
    that may be left out and are not ours are. Raise ``SourceError`` if none is left.
    """
    root = xml(body)
    names = [e.text or "" for e in root.iter() if local(e) == "ShortName"]
    name = " ".join(names[0].split()) if names else ""
    found = sorted(_ways(root, url, name), key=lambda way: _TYPES.index(way.type))
    if not found:
        raise SourceError(
            "its description names no address that can be searched with GET for JSON, "
            "a feed or HTML"
        )
    return found[0]


def _ways(root: etree._Element, url: str, name: str) -> Iterator[Described]:
    for element in root.iter():
        kind = element.get("type", "").partition(";")[0].strip().lower()
        rels = element.get("rel", "results").split()
        method = element.get("method", "get").lower()
        if local(element) != "Url" or kind not in _TYPES:
            continue
        if "results" not in rels or method != "get":
            continue
        template = _joined(url, _translated(element.get("template", "")) or "")
        if "{query}" in template:
            yield Described(
                template,
                kind,
                _first(element.get("pageOffset", "1")),
                _first(element.get("indexOffset", "1")),
                name,
            )


def _translated(template: str) -> str | None:
    """Return an address with our names for its places; None if it needs others."""
    lacking = False

    def ours(found: re.Match[str]) -> str:
        nonlocal lacking
        known = _OURS.get(found[1])
        lacking = lacking or (known is None and not found[2])
        return known or ""

    translated = _PLACE.sub(ours, template.strip())
    if "{page}" in translated and "{offset}" in translated:
        translated = translated.replace("{page}", "")
    return None if lacking else translated


def _first(text: str) -> int:
    return 0 if text.strip() == "0" else 1
