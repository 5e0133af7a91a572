"""Read records from answers in JSON, JSON Lines, CSV, HTML or a feed.

The settings of a reader locate the records and their key. An answer that cannot be read
raises ``SourceError``; a single record that cannot be read is refused with a reason,
and the others are kept.
"""

import csv
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias

from jmespath.exceptions import JMESPathError

from halflife.core.errors import ConfigError, SourceError
from halflife.core.object_store import Attributes, Scalar
from halflife.core.wording import LONGEST_REASON, one_line
from halflife.readers.csv_rows import csv_rows
from halflife.readers.expressions import compiled
from halflife.readers.feed_entries import read_entries
from halflife.readers.json_document import load_json
from halflife.readers.markup import MarkupQuery, check_selector, first, only, select
from halflife.readers.page_hints import NO_HINTS, PageHints, find_hints
from halflife.readers.text import to_text

FORMATS = ("json", "jsonl", "csv", "html", "feed")
MOST = 200_000  # records of one listing
LONGEST_KEY = 1000  # characters
LARGEST = 1 << 16  # characters of a record's attributes
NAMED = 5  # reasons that are kept
UNREADABLE = "its answer cannot be read as the settings say"  # an error text of readers
_SUFFIX = {"ndjson": "jsonl", "htm": "html", "tsv": "csv", "geojson": "json"}
_ODD = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")
_SEPARATORS = ",;\t|"

Find: TypeAlias = Callable[[str], Any]  # returns the value of an expression in a record
Found: TypeAlias = tuple[str, Attributes | None, Find]  # the place, the record, a part


class ErrorAnswer(SourceError):  # noqa: N818  (as its base)
    """An answer that reports an error instead of records."""


@dataclass(slots=True)
class RecordPage:
    """The records of one answer.

    Attributes:
        records: The usable records, by key.
        duplicates: Records with a key that was read before; the first is kept.
        refused: Records that could not be used.
        keyless: Those of them that have no key.
        reasons: Why, for the first few.
        next: The address of the next page, as written; empty if there is none.
        kind: The format in which it was read.
        broken: Lines that could not be read at all, so that a record may be missing.
        hints: The hints of the answer about its list.
        found: The value of each of the ``wanted`` expressions in the whole answer.

    """

    records: dict[str, Attributes] = field(default_factory=dict)
    duplicates: int = 0
    refused: int = 0
    keyless: int = 0
    reasons: list[str] = field(default_factory=list)
    next: str = ""
    kind: str = ""
    broken: int = 0
    hints: PageHints = NO_HINTS
    found: dict[str, Any] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        """Records of the answer, usable or not."""
        return len(self.records) + self.refused + self.duplicates

    def refuse(self, where: str, why: str) -> None:
        """Refuse a record."""
        self.refused += 1
        if len(self.reasons) < NAMED:
            self.reasons.append(f"{where}: {why}")

    def note(self) -> str:
        """Return a line about duplicates and refused records; empty if none."""
        parts = [f"{self.duplicates} duplicate keys"] if self.duplicates else []
        if self.refused:
            parts.append(f"{self.refused} bad records ({self.reasons[0]})")
        return ", ".join(parts)


@dataclass(frozen=True)
class RecordReader:
    """Locates and reads the records of an answer.

    Expressions are JMESPath for JSON and JSON Lines, CSS selectors for HTML
    (``a@href`` is an attribute of the first such element, ``@id`` one of the record
    itself, ``h2`` the text), and names of columns for CSV.

    Attributes:
        key: The key of a record: one of ``fields``, or an expression. If it is empty,
            records that are members of a JSON object have the member's name as key.
        format: ``json``, ``jsonl``, ``csv``, ``html`` or ``feed``; detected from the
            answer if empty, except for feeds.
        records: The place of the records. In JSON: by default the list itself, the
            only list of objects in it, or the members of an object.
        fields: The attributes to keep, with their expressions; by default all.
        next: The place of the address of the next page.
        wanted: Further expressions for the whole answer.
        errors: The place of errors in a JSON answer with a good status.

    """

    key: str = ""
    format: str = ""
    records: str = ""
    fields: Mapping[str, str] = field(default_factory=dict)
    next: str = ""
    wanted: tuple[str, ...] = ()
    errors: str = ""

    def __post_init__(self) -> None:
        if self.format and self.format not in FORMATS:
            raise ConfigError(f"format must be one of {', '.join(FORMATS)}")
        if self.format == "html":
            self._check_html()
        elif self.format in {"json", "jsonl"}:
            expressions = (self.records, self.next, self._key, *self.fields.values())
            for expression in filter(None, (*expressions, *self.wanted)):
                compiled(expression)

    def read(self, body: bytes, content_type: str = "", name: str = "") -> RecordPage:
        """Return the records of an answer; raise ``SourceError`` if it is broken.

        ``name`` is the file's or page's name, whose ending may show the format.
        """
        kind = self.format or _format(content_type, name, body)
        page = RecordPage(kind=kind)
        try:
            found = self._found(kind, body, content_type, page)
            for where, given, find in found:
                self._take(page, where, given, find)
                if len(page.records) > MOST:
                    raise SourceError(f"it lists more than {MOST} records")
        except RecursionError:
            raise SourceError("it is nested too deeply to be read") from None
        except ConfigError as error:  # expressions meant for answers of another format
            raise SourceError(f"it is {kind}, and {error}") from None
        except (ValueError, csv.Error, JMESPathError) as error:
            raise SourceError(_unlike(kind, body, error)) from None
        if page.refused and not page.records:
            raise SourceError(f"none of its records can be used: {page.reasons[0]}")
        return page

    def read_objects(self, records: Iterable[object]) -> RecordPage:
        """Return the page of parsed records; raise ``SourceError`` if all are bad."""
        page = RecordPage()
        numbered = ((f"record {i}", record) for i, record in enumerate(records, 1))
        for where, given, find in self._objects(numbered):
            self._take(page, where, given, find)
        if page.refused and not page.records:
            raise SourceError(f"none of its records can be used: {page.reasons[0]}")
        return page

    @property
    def _key(self) -> str:
        return self.fields.get(self.key, self.key)

    def _check_html(self) -> None:
        if not (self.records and self._key):
            raise ConfigError("an HTML listing needs records and key")
        selectors = (self.records, self.next, self._key, *self.fields.values())
        for selector in (*selectors, *self.wanted):
            check_selector(selector)

    def _found(
        self, kind: str, body: bytes, content_type: str, page: RecordPage
    ) -> Iterator[Found]:
        if kind == "html":
            return self._html(to_text(content_type, body), page)
        if kind == "feed":
            entries = read_entries(body)
            return self._objects((f"entry {i}", e) for i, e in enumerate(entries, 1))
        text = body.decode("utf-8-sig")
        if kind == "csv":
            return self._csv(text, page)
        if kind == "jsonl":
            self._need_key()
            return self._objects(_lines(text, page))
        return self._json(text, page)

    def _json(self, text: str, page: RecordPage) -> Iterator[Found]:
        document = load_json(text)
        if self.errors:
            _check_errors(compiled(self.errors).search(document))
        page.hints = find_hints(document, self.records)
        if self.next:
            page.next = str(compiled(self.next).search(document) or "")
        page.found = {w: compiled(w).search(document) for w in self.wanted}
        expression = self.records
        found = compiled(expression).search(document) if expression else document
        if expression and found is None:
            raise SourceError(f"it has nothing at {expression!r}")
        records = found if expression else _only_list(document, named=not self.key)
        if isinstance(records, dict):
            if self.key:
                return self._objects((f"record {k!r}", r) for k, r in records.items())
            return self._members(records)
        if not isinstance(records, list):
            raise SourceError("its records are no list; say where they are")
        self._need_key()
        return self._objects((f"record {i}", r) for i, r in enumerate(records, 1))

    def _need_key(self) -> None:
        if not self.key:
            raise SourceError("its records are a list; say which field is the key")

    def _members(self, records: dict[str, Any]) -> Iterator[Found]:
        for name, record in records.items():
            where, given, find = next(self._objects([(f"record {name!r}", record)]))
            yield where, given, partial(_or_name, find, name)

    def _objects(self, records: Iterable[tuple[str, Any]]) -> Iterator[Found]:
        for where, record in records:
            given = record if isinstance(record, dict) else None
            yield where, given, partial(self._search, record)

    def _search(self, record: object, expression: str) -> object:
        if isinstance(record, dict) and expression in record:
            return record[expression]  # a name may contain dots or dashes
        return compiled(expression).search(record)

    def _csv(self, text: str, page: RecordPage) -> Iterator[Found]:
        head = text.partition("\n")[0]
        separator = max(_SEPARATORS, key=head.count)
        rows = csv_rows(text, separator)
        names = next(rows, [])
        for name in (self._key, *self.fields.values()):
            if name not in names:
                raise SourceError(f"it has no column {name!r}")
        for cells in rows:
            where = f"line {rows.line_num}"
            if not cells:
                continue
            if len(cells) != len(names):
                page.broken += 1
                page.refuse(where, "it has more or fewer cells than columns")
            else:
                row: dict[str, Scalar] = dict(zip(names, cells, strict=True))
                yield where, row, row.get

    def _html(self, text: str, page: RecordPage) -> Iterator[Found]:
        if not (self.records and self._key):
            raise SourceError("it is HTML; say where its records and their keys are")
        if not self.format:  # else they were checked with the settings
            self._check_html()
        wanted = tuple({self._key, *(self.fields.values() or ("",))})
        queries = [MarkupQuery(self.records, wanted, MOST + 1, LARGEST + 1)]
        queries += [first(selector) for selector in self.wanted]
        queries += [first(self.next, default="href")] if self.next else []
        rows, *after = select(text, queries)
        found = [(only(values) or "").strip() for values in after]
        page.next = found[-1] if self.next else ""
        page.found = dict(zip(self.wanted, found, strict=False))
        for i, row in enumerate(rows, 1):
            values = dict(zip(wanted, row, strict=True))
            yield f"record {i}", {"text": values.get("")}, values.get

    def _take(
        self, page: RecordPage, where: str, given: Attributes | None, find: Find
    ) -> None:
        """Add a record to the page, or refuse it."""
        if given is None:
            page.refuse(where, "it is not an object")
            return
        key = _key_text(find(self._key))
        if not key:
            page.keyless += 1
            page.refuse(where, f"it has no usable key at {self._key!r}")
        elif key in page.records:
            page.duplicates += 1
        else:
            named = {n: find(e) for n, e in self.fields.items()} or given
            attributes = {_writable(str(n)): _scalar(v) for n, v in named.items()}
            if sum(len(str(v)) for v in attributes.values()) > LARGEST:
                page.refuse(where, "it is too large")
            else:
                page.records[key] = attributes


def _check_errors(found: object) -> None:
    """Raise ``ErrorAnswer`` if an answer names errors."""
    if found:
        raise ErrorAnswer(f"it answered with an error: {error_text(found)}")


def error_text(found: object) -> str:
    """Return the text of an API's error, in one line.

    >>> error_text([{"message": "no such field", "path": ["jobs"]}])
    'no such field'
    """
    if isinstance(found, list) and found:
        more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
        return f"{error_text(found[0])}{more}"
    if isinstance(found, Mapping):
        for name in ("errors", "error_description", "message", "detail", "error"):
            if found.get(name):
                return error_text(found[name])
    text = found if isinstance(found, str) else json.dumps(found)
    return " ".join(_ODD.sub(" ", text).split())[:LONGEST_REASON]


def _or_name(find: Find, name: str, expression: str) -> object:
    """Return the value of an expression in a member; without one, the member's name."""
    return find(expression) if expression else name


def _format(content_type: str, name: str, body: bytes) -> str:
    """Return the format of an answer, by its type, its name or its first bytes."""
    for kind in ("jsonl", "ndjson", "json", "csv", "html"):
        if kind in content_type.partition(";")[0].lower():
            return _SUFFIX.get(kind, kind)
    ending = name.lower().rpartition(".")[2]
    ending = _SUFFIX.get(ending, ending)
    if ending in FORMATS:
        return ending
    start = body[:64].removeprefix(b"\xef\xbb\xbf").lstrip()
    if start[:1] == b"<":
        return "html"
    return "json" if start[:1] in {b"[", b"{", b""} else "csv"


def _lines(text: str, page: RecordPage) -> Iterator[tuple[str, Any]]:
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            yield f"line {number}", load_json(line)
        except ValueError as error:
            page.broken += 1
            page.refuse(f"line {number}", f"not JSON: {one_line(error)}")


def _only_list(document: object, *, named: bool) -> object:
    """Return the records of a document without a configured place."""
    if not isinstance(document, dict):
        return document
    if named and document and all(isinstance(v, dict) for v in document.values()):
        return document
    lists = [v for v in document.values() if isinstance(v, list)]
    return lists[0] if len(lists) == 1 else document if not lists else None


def _key_text(value: object) -> str:
    """Return a key as text; empty if the value cannot be one."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        return ""
    text = str(value).strip()
    good = len(text) <= LONGEST_KEY and not _ODD.search(text)
    return text if good else ""


def _scalar(value: object) -> Scalar:
    """Return a value that can be stored: lists and objects become JSON text."""
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if not isinstance(value, str):
        value = json.dumps(value, sort_keys=True, ensure_ascii=False)
    return _writable(value)


def _writable(text: str) -> str:
    """Return text that can be encoded: JSON may hold half a surrogate pair."""
    return text.encode("utf-8", "replace").decode()


def _unlike(kind: str, body: bytes, error: Exception) -> str:
    """Return the error for an answer that is not in the expected format."""
    start = body[:256].removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    if kind != "html" and start.startswith((b"<!doctype html", b"<html")):
        return f"it answered HTML where {kind} was expected"
    return f"it is not {kind}: {one_line(error)}"
