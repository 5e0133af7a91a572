"""OpenSearch descriptions: how a site can be searched."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import urljoin

from halflife.core.errors import SourceError, UsageError
from halflife.kinds.pages.links import read_tags
from halflife.net.addresses import parse_url
from halflife.readers import xml_stream
from halflife.readers.xml_stream import root_name

ROOT = b"OpenSearchDescription"
MOST = 100  # addresses of one description
LONGEST = 1000  # characters of its name
TYPE = "application/opensearchdescription+xml"
# Best first: formats that can be read without further settings.
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
class DescribedSearch:
    """How a site can be searched.

    Attributes:
        url: The address, with ``{query}`` and other placeholders.
        type: The media type of its answers.
        first_page: The number of the first page.
        first_offset: The number of the first result.
        name: Its name by the site.

    """

    url: str
    type: str
    first_page: int = 1
    first_offset: int = 1
    name: str = ""


def is_description(body: bytes) -> bool:
    """Say whether a document is an OpenSearch description."""
    return root_name(body) == ROOT


def description_link(page: str, url: str) -> str:
    """Return the address of the description that a web page links to, or empty text."""
    for name, given in read_tags(page):
        rels, kind = given.get("rel", "").lower().split(), given.get("type", "")
        if name == "link" and "search" in rels and kind.strip().lower() == TYPE:
            return _joined(url, given.get("href", "").strip())
    return ""


def read_description(body: bytes, url: str) -> DescribedSearch:
    """Return the best way to search in a description from ``url``.

    OpenSearch 1.1, draft 6. Addresses for suggestions and for POST are left out; of the
    others JSON comes before feeds, and feeds before HTML. Optional parameters that we
    do not know are left out. Raise ``SourceError`` if no address remains.
    """
    if not is_description(body):
        raise SourceError("it is not an OpenSearch description, or defines a DOCTYPE")
    read, trouble = xml_stream.parse(xml_stream.whole(body), _Description)
    if trouble:
        raise SourceError(f"it is not XML: {trouble}")
    name = " ".join("".join(read.name).split())
    ways = (way for given in read.urls for way in _ways(given, url, name))
    usable = sorted(ways, key=lambda way: _TYPES.index(way.type))
    if not usable:
        raise SourceError(
            "its description names no address that can be searched with GET for JSON, "
            "a feed or HTML"
        )
    return usable[0]


class _Description:
    """Collects the content of a description; see ``xml_stream.Handler``."""

    def __init__(self) -> None:
        self.name: list[str] = []
        self.urls: list[dict[str, str]] = []
        self._naming = False

    def start(self, name: str, attributes: list[str]) -> None:
        local = name.rpartition(":")[2]
        self._naming = local == "ShortName" and not self.name
        if local == "Url" and len(self.urls) < MOST:
            given = zip(attributes[::2], attributes[1::2], strict=True)
            self.urls.append(dict(given))

    def text(self, data: str) -> None:
        if self._naming:
            self.name.append(data[:LONGEST])

    def end(self, _: str) -> None:
        self._naming = False


def _ways(given: dict[str, str], url: str, name: str) -> Iterator[DescribedSearch]:
    """Return the way to search in a ``Url`` element, if we can use it."""
    kind = given.get("type", "").partition(";")[0].strip().lower()
    rels = given.get("rel", "results").split()
    method = given.get("method", "get").lower()
    if kind not in _TYPES or "results" not in rels or method != "get":
        return
    template = _translated(given.get("template", ""))
    address = _joined(url, template) if template and "{query}" in template else ""
    if address:
        yield DescribedSearch(
            address,
            kind,
            _first(given.get("pageOffset", "1")),
            _first(given.get("indexOffset", "1")),
            name,
        )


def _joined(url: str, link: str) -> str:
    """Return an absolute address; empty if it cannot be fetched."""
    try:
        address = urljoin(url, link) if link else ""
        if address:
            parse_url(_PLACE.sub("x", address))
    except (UsageError, ValueError):
        return ""
    return address


def _translated(template: str) -> str | None:
    """Return an address with our placeholders; None if it requires others."""
    lacking = False

    def ours(match: re.Match[str]) -> str:
        nonlocal lacking
        placeholder = _OURS.get(match[1])
        lacking = lacking or (placeholder is None and not match[2])
        return placeholder or ""

    translated = _PLACE.sub(ours, template.strip())
    if "{page}" in translated and "{offset}" in translated:
        translated = translated.replace("{page}", "")
    return None if lacking else translated


def _first(text: str) -> int:
    return 0 if text.strip() == "0" else 1
