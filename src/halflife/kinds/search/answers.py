"""Answers of search engines: the number of matches, and the first hits."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from jmespath.exceptions import JMESPathError

from halflife.core.errors import ConfigError, SourceError, UsageError
from halflife.core.wording import one_line
from halflife.kinds.search.counts import total_of
from halflife.net.addresses import resolve
from halflife.readers import xml_stream
from halflife.readers.expressions import compiled
from halflife.readers.json_document import load_json
from halflife.readers.markup import MarkupQuery, check_selector, first, only, select
from halflife.readers.text import is_html, to_text, visible
from halflife.readers.xml_stream import root_name

MOST = 1000  # hits of one answer
LONGEST = 1 << 20  # characters read of one document
LONGEST_KEY = 500
DEEPEST = 20  # levels of nested objects that are searched for text
_FEEDS = frozenset({b"rss", b"feed", b"rdf"})
# Highlighting marks that are escaped once more than their format asks for.
_MARKS = re.compile(r"&lt;/?(?:b|em|i|mark|span|strong)(?: [^<>&]{0,99})?&gt;")
_OWN = "id || _id || key || objectID || url"  # the usual keys of records


class Hit(NamedTuple):
    """A document in an answer.

    Attributes:
        key: Its key at the database.
        link: Where it can be read; empty if the answer does not say.
        text: All of its text; empty if the answer does not have it.
        snippet: A part of its text.

    """

    key: str
    link: str = ""
    text: str = ""
    snippet: str = ""


class Results(NamedTuple):
    """One page of an answer; ``total`` is None if it has none."""

    total: int | None
    hits: tuple[Hit, ...]


@dataclass(frozen=True)
class AnswerReader:
    """Where the hits of an answer are, and where their fields are.

    It is given as JMESPath for JSON, as CSS selectors for HTML (``a@href`` is an
    attribute of the first such element within a hit). An expression that finds an
    object or a list stands for all the text in it.

    Attributes:
        engine: ``elasticsearch``, ``solr`` or ``meilisearch``, whose answers are
            known; ``json`` or ``html``; ``feed`` for RSS and Atom; recognised from the
            answer if empty.
        hits: Where the hits are.
        key: Where the key of a hit is; its link if empty.
        link: Where the link to the document is.
        text: Where its full text is.
        snippet: Where a part of its text is.
        total: Where the number of matches is, as a number or in words.

    """

    engine: str = ""
    hits: str = ""
    key: str = ""
    link: str = ""
    text: str = ""
    snippet: str = ""
    total: str = ""

    def __post_init__(self) -> None:
        given = (self.hits, self.key, self.link, self.text, self.snippet, self.total)
        if self.engine == "html":
            if not (self.hits and (self.link or self.key)):
                raise ConfigError("HTML answers need hits, and hit_link or hit_key")
            for selector in filter(None, given):
                check_selector(selector)
        elif self.engine == "json" and not (self.hits and (self.key or self.link)):
            raise ConfigError("JSON answers need hits, and hit_key or hit_link")
        elif self.engine != "feed":
            for expression in filter(None, given if self.engine else ()):
                compiled(expression)

    def read(self, body: bytes, content_type: str, url: str) -> Results:
        """Return the results in an answer; ``SourceError`` if it is broken."""
        kind = self.engine or _kind(body, content_type)
        try:
            if kind == "html":
                total, hits = self._html(to_text(content_type, body))
            elif kind == "feed":
                total, hits = _feed(body)
            else:
                total, hits = self._json(body)
            return Results(total, tuple(_usable(hits, url)))
        except RecursionError:
            raise SourceError("its answer is nested too deeply to be read") from None
        except (ValueError, JMESPathError) as error:
            raise SourceError(
                f"its answer is not {kind or 'JSON'}: {one_line(error)}"
            ) from None

    def _json(self, body: bytes) -> tuple[int | None, Iterator[Hit]]:
        document = load_json(body.decode("utf-8-sig"))
        shape = self._shape(document)
        hits = self._find(shape.hits, document)
        if not isinstance(hits, list):
            raise SourceError(f"its answer has no list of hits at {shape.hits!r}")
        total = total_of(self._find(shape.total, document))
        return total, (self._hit(shape, hit) for hit in hits[:MOST])

    def _shape(self, document: object) -> "AnswerReader":
        """Return where the fields are; the settings take precedence."""
        known = _SHAPES.get(self.engine)
        if known is None and not self.hits:
            name = _engine_of(document)
            if not name:
                raise SourceError(
                    "its answer is like that of no engine we know; say where the hits "
                    "are: engine, hits, hit_key and so on"
                )
            known = _SHAPES[name]
        if known is None:
            return self
        return AnswerReader(
            hits=self.hits or known.hits,
            key=self.key or self.link or known.key,
            link=self.link or known.link,
            text=self.text or ("" if self.snippet else known.text),
            snippet=self.snippet or known.snippet,
            total=self.total or known.total,
        )

    def _find(self, expression: str, record: object) -> object:
        return compiled(expression).search(record) if expression else None

    def _hit(self, shape: "AnswerReader", hit: object) -> Hit:
        link = self._find(shape.link, hit)
        key = self._find(shape.key, hit) if shape.key else link
        text = self._find(shape.text, hit)
        if isinstance(text, dict):  # its keys and links are not part of its text
            text = {n: v for n, v in text.items() if v not in (key, link)}
        named = isinstance(key, str | int) and not isinstance(key, bool)
        return Hit(
            str(key) if named else "",
            link if isinstance(link, str) else "",
            text_of(text),
            text_of(self._find(shape.snippet, hit)),
        )

    def _html(self, text: str) -> tuple[int | None, Iterator[Hit]]:
        if not self.hits:
            raise SourceError("its answer is HTML; say where the hits and links are")
        wanted = tuple({self.link, self.key, self.text, self.snippet, ""})
        queries = [MarkupQuery(self.hits, wanted, MOST, LONGEST)]
        queries += [first(self.total)] if self.total else []
        rows, *totals = select(text, queries)
        total = total_of(only(totals[0])) if totals else None
        return total, (self._row(dict(zip(wanted, r, strict=True))) for r in rows)

    def _row(self, fields: Mapping[str, str | None]) -> Hit:
        """Return a hit of a page, with the fields in the settings only."""
        link = (fields[self.link] or "").strip() if self.link else ""
        key = (fields[self.key] or "").strip() if self.key else link
        whole = (fields[self.text] or "") if self.text else ""
        return Hit(key, link, whole, fields[self.snippet] or "")


_SHAPES: Mapping[str, AnswerReader] = {
    "elasticsearch": AnswerReader(
        hits="hits.hits",
        key="_id",
        link="_source.url || _source.link",
        text="_source",
        snippet="highlight",
        total="hits.total.value || hits.total",
    ),
    "solr": AnswerReader(
        hits="response.docs",
        key=_OWN,
        link="url || link",
        text="@",
        total="response.numFound",
    ),
    "meilisearch": AnswerReader(
        hits="hits",
        key=_OWN,
        link="url || link",
        text="@",
        total="estimatedTotalHits || totalHits || nbHits",
    ),
}


def _engine_of(document: object) -> str:
    """Return the engine with such answers; empty if it is none that we know."""
    if not isinstance(document, dict):
        return ""
    hits, response = document.get("hits"), document.get("response")
    if isinstance(hits, dict) and isinstance(hits.get("hits"), list):
        return "elasticsearch"
    if isinstance(response, dict) and isinstance(response.get("docs"), list):
        return "solr"
    return "meilisearch" if isinstance(hits, list) else ""


def text_of(value: object) -> str:
    """Return all the text in a value, without markup.

    Numbers are left out, and so are fields named ``_x``, which are the engine's own.

    >>> text_of({"title": "A <em>b</em>", "tags": ["c", 4], "_version_": "x"})
    'A b c'
    >>> text_of("a &lt;strong&gt;b&lt;/strong&gt; c")
    'a b c'
    """
    parts, size = [], 0
    for whole in _texts(value, DEEPEST):
        text = _MARKS.sub("", whole)
        parts.append(visible(text) if "<" in text else text)
        size += len(whole)
        if size > LONGEST:
            break
    return " ".join(parts)[:LONGEST]


def _texts(value: object, depth: int) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif depth and isinstance(value, list):
        for part in value:
            yield from _texts(part, depth - 1)
    elif depth and isinstance(value, dict):
        for name, part in value.items():
            if not name.startswith("_"):
                yield from _texts(part, depth - 1)


def _kind(body: bytes, content_type: str) -> str:
    """Return the format of an answer: ``feed``, ``html``, or empty for JSON."""
    if root_name(body).lower() in _FEEDS:
        return "feed"
    start = body[:64].removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
    return "html" if is_html(content_type, body) or start == b"<" else ""


def _feed(body: bytes) -> tuple[int | None, Iterator[Hit]]:
    if not root_name(body):
        raise SourceError("it is not readable XML, or defines a DOCTYPE")
    read, trouble = xml_stream.parse(xml_stream.whole(body), _Hits)
    if trouble:
        raise SourceError(f"it is not XML: {trouble}")
    return total_of("".join(read.total).strip()), (_item(item) for item in read.items)


class _Hits:
    """Collects the items of a feed; see ``xml_stream.Handler``."""

    def __init__(self) -> None:
        self.items: list[dict[str, str]] = []
        self.total: list[str] = []
        self._depth = self._item = 0  # the depth of the item we are in
        self.fields: dict[str, str] = {}
        self._part: list[str] = []
        self._room = 0  # characters that may still be read of an item
        self.in_total = False

    def start(self, name: str, attributes: list[str]) -> None:
        self._depth += 1
        local = name.rpartition(":")[2]
        self.in_total = local == "totalResults" and not self.total
        if not self._item:
            if local in {"item", "entry"} and len(self.items) < MOST:
                self._item, self.fields, self._room = self._depth, {}, LONGEST
        elif self._depth == self._item + 1:
            self._part = []
            if local == "link":
                given = dict(zip(attributes[::2], attributes[1::2], strict=True))
                if given.get("rel", "alternate") == "alternate" and given.get("href"):
                    self.fields.setdefault("link", given["href"])

    def text(self, data: str) -> None:
        if self.in_total:
            self.total.append(data[:100])
        elif self._item and self._depth > self._item and self._room > 0:
            self._part.append(data[: self._room])
            self._room -= len(data)

    def end(self, name: str) -> None:
        self.in_total = False
        if self._depth == self._item:
            self._item = 0
            self.items.append(self.fields)
        elif self._item and self._depth == self._item + 1:
            value = " ".join("".join(self._part).split())
            if value:
                self.fields.setdefault(name.rpartition(":")[2], value)
        self._depth -= 1


def _item(fields: dict[str, str]) -> Hit:
    parts = ("title", "description", "summary", "content")
    texts = [fields[name] for name in parts if name in fields]
    link = fields.get("link", "")
    return Hit(
        link or fields.get("guid") or fields.get("id", ""), link, "", text_of(texts)
    )


def _usable(hits: Iterator[Hit], base: str) -> Iterator[Hit]:
    """Return hits with absolute links and usable keys, each once."""
    seen = set[str]()
    for hit in hits:
        link = _absolute(hit.link, base)
        key = link if hit.key == hit.link else hit.key.strip()
        key = key.encode("utf-8", "replace").decode()
        if 0 < len(key) <= LONGEST_KEY and key.isprintable() and key not in seen:
            seen.add(key)
            yield hit._replace(key=key, link=link)


def _absolute(link: str, base: str) -> str:
    if not link:
        return ""
    try:
        return resolve(base, link)
    except UsageError:
        return ""
