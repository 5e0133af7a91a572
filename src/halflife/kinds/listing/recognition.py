"""Recognition of listings: where the records are, their key, and the paging."""

import csv
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from json import dumps
from typing import Any
from urllib.parse import urlsplit

from halflife.core.errors import ConfigError, SourceError
from halflife.core.wording import count
from halflife.readers import trees
from halflife.readers.csv_rows import csv_rows
from halflife.readers.expressions import compiled
from halflife.readers.feed_entries import is_feed
from halflife.readers.json_document import load_json
from halflife.readers.maps import may_be_map
from halflife.readers.page_hints import find_hints
from halflife.readers.records import RecordPage, RecordReader
from halflife.readers.text import is_html, to_text
from halflife.recognition import pagination
from halflife.recognition.guess import (
    LIKELY,
    SAMPLE,
    USABLE,
    VAGUE,
    SourceGuess,
    TrialAnswer,
    header_hints,
)
from halflife.recognition.pagination import ListAnswer, PagingGuess, TotalGuess
from halflife.recognition.record_keys import check_key, find_keys
from halflife.recognition.record_lists import RecordList, at_path, find_lists

LINES = 1000  # of JSON Lines or CSV from which the key is guessed
SHOWN = 200  # characters of a value in samples
_SEPARATORS = ",;\t|"
_VARIABLE = re.compile(r"\$(\w{1,100})\s*:")
_WHAT = {"json": "JSON listing", "jsonl": "JSON Lines", "csv": "table (CSV)"}


@dataclass(frozen=True, slots=True)
class _RecordsFound:
    """The records of an answer, before their key is known."""

    format: str
    where: RecordList
    document: object = None
    why: str = ""


def recognise(answer: TrialAnswer) -> list[SourceGuess]:
    """Return how an answer could be kept as a listing, most likely first."""
    try:
        if is_html(answer.content_type, answer.body):
            return _html(answer)
        if is_feed(answer.body):
            return _feed(answer)
        document = _document(answer)
        records = _json(answer, document) if document is not None else None
        if document is None:
            records = _lines(answer) or _table(answer)
    except (SourceError, RecursionError):  # no reader could read it either
        return []
    if records is not None:
        return [_guess(answer, records)]
    return _arrays(answer, document)


def _feed(answer: TrialAnswer) -> list[SourceGuess]:
    """Return how the entries of a feed could be kept as records."""
    settings = {"kind": "listing", "url": answer.url, "format": "feed", "key": "id"}
    key = answer.corrections.key
    reasons = {
        "format": "its root element says that it is a feed",
        "records": "each entry is a record; a feed shows the latest only",
        "key": "as you said" if key else "an entry's identifier, or else its link",
        "paging": "feeds have one page",
    }
    table = {**settings, "key": key or "id", "complete": False}
    score = LIKELY if key else USABLE + 0.1
    guess = SourceGuess("listing", "entries of a feed", score, table, reasons, reads=1)
    return [replace(_read(answer, guess), hints=header_hints(answer))]


def _text(answer: TrialAnswer) -> str:
    try:
        return answer.body.decode("utf-8-sig")
    except UnicodeDecodeError:
        return ""


def _json(answer: TrialAnswer, document: object) -> _RecordsFound | None:
    given = answer.corrections.records
    if given:
        found = _searched(document, given)
        return _RecordsFound("json", found, document, "as you said") if found else None
    lists = [found_list for found_list in find_lists(document) if found_list.score > 0]
    if not lists or (lists[0].size < 2 and lists[0].score < 0.3):
        return None
    best = lists[0]
    return _RecordsFound("json", best, document, _why_there(best, lists))


def _document(answer: TrialAnswer) -> object:
    text = _text(answer).strip()
    if text[:1] not in {"{", "["}:
        return None
    try:
        return load_json(text)
    except (ValueError, RecursionError):
        return None


def _searched(document: object, expression: str) -> RecordList | None:
    try:
        value = compiled(expression).search(document)
    except (ConfigError, ValueError):
        return None
    return at_path(value, expression)


def _why_there(best: RecordList, lists: Sequence[RecordList]) -> str:
    what = "members of an object" if best.named else "objects"
    place = f"at {best.path!r}" if best.path else "as the whole answer"
    others = [f"{one.path!r}" for one in lists[1:4] if one.path]
    beside = f"; other lists are at {', '.join(others)}" if others else ""
    return f"{count(best.size, 'object')} {place}{beside}".replace("objects", what, 1)


def _lines(answer: TrialAnswer) -> _RecordsFound | None:
    lines = [one for one in _text(answer).split("\n", LINES + 1)[:LINES] if one.strip()]
    records: list[Mapping[str, Any]] = []
    for line in lines:
        try:
            record = load_json(line)
        except (ValueError, RecursionError):
            return None
        if not isinstance(record, Mapping):
            return None
        records.append(record)
    if len(records) < 2:
        return None
    size = _text(answer).count("\n") + (not answer.body.endswith(b"\n"))
    where = RecordList("", tuple(records), size)
    return _RecordsFound("jsonl", where, None, f"each of {size} lines is a JSON object")


def _table(answer: TrialAnswer) -> _RecordsFound | None:
    text = _text(answer)
    head = text.partition("\n")[0].strip()
    separator = max(_SEPARATORS, key=head.count)
    kind = answer.content_type.partition(";")[0].strip().lower()
    named = kind in {"text/csv", "text/tab-separated-values"}
    named = named or urlsplit(answer.url).path.lower().endswith((".csv", ".tsv"))
    if not head.count(separator) or may_be_map(answer.body):
        return None
    reader = csv_rows(text, separator)
    try:
        names = next(reader, [])
        rows = [row for row, _ in zip(reader, range(LINES), strict=False) if row]
    except csv.Error:
        return None
    whole = [row for row in rows if len(row) == len(names)]
    if not whole or len(set(names)) < len(names) or not all(names):
        return None
    if not named and (len(whole) < len(rows) or len(rows) < 3):
        return None
    records = tuple(dict(zip(names, row, strict=True)) for row in whole)
    size = len(rows) if len(rows) < LINES else text.count("\n")
    why = f"{len(names)} columns with a head, separated by {separator!r}"
    return _RecordsFound("csv", RecordList("", records, size), None, why)


def _guess(answer: TrialAnswer, records: _RecordsFound) -> SourceGuess:
    """Return the guess of a source, with the records as its reader will read them."""
    key, why_key = _key(answer, records.where)
    where = records.where
    last = str(where.records[-1].get(key, "")) if where.records else ""
    list_answer = ListAnswer(
        answer.url, records.document, answer.headers, where.path, where.size, key, last
    )
    total = pagination.find_total(list_answer)
    paging = _paging(answer, list_answer, total.many)
    settings = _settings(answer, records, key, paging) | _total(total, records)
    reasons = {
        "format": _WHAT[records.format],
        "records": records.why,
        "key": why_key,
        "paging": paging.why,
    }
    if total.many is not None:
        place = f"the header {total.where}" if total.header else repr(total.where)
        reasons["total"] = f"{place} says {total.many}"
    guess = SourceGuess(
        "listing",
        _WHAT[records.format],
        LIKELY,
        settings,
        reasons,
        records=where.size,
        total=total.many,
        reads=pagination.pages_of(total.many, where.size) if paging.second else 1,
        hints=_hints(answer, where),
        second=paging.second,
        second_body=_second_body(answer, paging) if answer.question else b"",
    )
    if not key and not where.named:
        lists = replace(guess, score=VAGUE, missing=("key",))
        return replace(lists, sample=_shown(where.records))
    best = _read(answer, guess)
    return replace(
        best, rivals=tuple(_rivals(answer, records, best, list_answer, paging))
    )


def _rivals(
    answer: TrialAnswer,
    records: _RecordsFound,
    guess: SourceGuess,
    list_answer: ListAnswer,
    paging: PagingGuess,
) -> Iterator[SourceGuess]:
    """Return the guess with other ways of paging, where its own is uncertain."""
    if answer.question or answer.corrections.next or records.format != "json":
        return
    reads = pagination.pages_of(guess.total, records.where.size)
    kept = {k: v for k, v in guess.settings.items() if k != "paging"}
    for way in pagination.alternatives(list_answer, paging, guess.total):
        settings = kept | {"paging": _PAGING[way.style](way)}
        reasons = {**guess.reasons, "paging": way.why}
        yield replace(
            guess, settings=settings, reasons=reasons, second=way.second, reads=reads
        )


def _key(answer: TrialAnswer, where: RecordList) -> tuple[str, str]:
    given = answer.corrections.key
    if given:
        wrong = check_key(where.records, given) if given in where.records[0] else ""
        return given, f"as you said{f'; but {wrong}' if wrong else ''}"
    noun = where.path.rpartition(".")[2].removesuffix("[]").strip('"')
    keys = find_keys(where.records, noun)
    if keys and (not where.named or keys[0].score >= 0.9):
        return keys[0].key, keys[0].why
    if where.named:
        return "", "the members' names name them"
    return "", "no field is in every record and different in each; say it with --key"


def _paging(
    answer: TrialAnswer, list_answer: ListAnswer, total: int | None
) -> PagingGuess:
    given = answer.corrections.next
    if not given:
        return pagination.find_paging(list_answer, total)
    return PagingGuess(pagination.NEXT_LINK, given, why="as you said")


def _settings(
    answer: TrialAnswer, records: _RecordsFound, key: str, paging: PagingGuess
) -> dict[str, object]:
    """Return the table of the source."""
    settings: dict[str, object] = {
        "kind": "listing",
        "url": answer.url,
        "format": records.format,
    }
    if records.where.path:
        settings["records"] = records.where.path
    if key:
        settings["key"] = key
    if may_be_map(answer.body):  # a JSON Feed shows the latest entries only
        settings["complete"] = False
    if answer.question:
        return settings | {"graphql": _question(answer.question, paging)}
    if paging.style == pagination.NEXT_LINK:
        settings["next"] = paging.where
    elif paging.style and paging.second:
        settings["paging"] = _PAGING[paging.style](paging)
    return settings


_PAGING: dict[str, Callable[[PagingGuess], dict[str, object]]] = {
    pagination.LINK_HEADER: lambda _: {"kind": "header"},
    pagination.CURSOR: lambda way: {
        "kind": "cursor",
        "at": way.where,
        "parameter": way.param,
        **({"more": way.more} if way.more else {}),
    },
    pagination.PAGE_NUMBER: lambda way: {
        "kind": "page",
        "parameter": way.param,
        "first": way.first,
    },
    pagination.OFFSET: lambda way: {
        "kind": "offset",
        "parameter": way.param,
        "first": way.first,
    },
}


def _total(total: TotalGuess, records: _RecordsFound) -> dict[str, object]:
    """Return where the total is, unless readers find it by themselves."""
    if total.header:
        return {"total_header": total.where}
    seen = find_hints(records.document, records.where.path).total
    return {"total": total.where} if total.many not in {None, seen} else {}


def _question(question: str, paging: PagingGuess) -> dict[str, object]:
    """Return a GraphQL query as settings, with the variable for its cursor."""
    table: dict[str, object] = {"query": question}
    declared = _VARIABLE.findall(question)
    usual = [name for name in ("after", "cursor", paging.param) if name in declared]
    if paging.style == pagination.CURSOR and usual:
        table |= {"cursor": paging.where}
        table |= {"variable": usual[0]} if usual[0] != "after" else {}
    return table


def _second_body(answer: TrialAnswer, paging: PagingGuess) -> bytes:
    """Return the body that requests the second GraphQL page; empty if none."""
    table = _question(answer.question, paging)
    if "cursor" not in table:
        return b""
    token = compiled(paging.where).search(_document(answer))
    variables = {str(table.get("variable", "after")): token}
    return dumps({"query": answer.question, "variables": variables}).encode()


def _read(answer: TrialAnswer, guess: SourceGuess) -> SourceGuess:
    """Return a guess with the records that its reader finds in the answer."""
    try:
        page = read_page(guess, answer)
    except (SourceError, ConfigError) as error:
        return replace(guess, score=VAGUE, missing=("records, key",), reasons={
            **guess.reasons, "trouble": str(error),
        })  # fmt: skip
    records = ({"key": k, **v} for k, v in page.records.items())
    shown = tuple(r for r, _ in zip(records, range(SAMPLE), strict=False))
    reasons = dict(guess.reasons)
    if page.note():
        reasons["trouble"] = page.note()
    kept = max(len(page.records), guess.records if guess.records > LINES else 0)
    return replace(guess, sample=_shown(shown), reasons=reasons, records=kept)


def read_page(guess: SourceGuess, answer: TrialAnswer) -> RecordPage:
    """Return the records of a page as a source with the guessed settings reads them.

    Raise ``SourceError`` if it cannot read them.
    """
    given = guess.settings
    fields = given.get("fields")
    reader = RecordReader(
        str(given.get("key", "")),
        str(given.get("format", "")),
        str(given.get("records", "")),
        dict(fields) if isinstance(fields, Mapping) else {},
        str(given.get("next", "")),
    )
    name = urlsplit(answer.url).path.rpartition("/")[2]
    return reader.read(answer.body, answer.content_type, name)


def check_second(
    guess: SourceGuess, first: TrialAnswer, second: TrialAnswer
) -> SourceGuess:
    """Return a guess updated with what the second page shows of its paging."""
    reasons = dict(guess.reasons)
    try:
        before = read_page(guess, first).records.keys()
        new = [key for key in read_page(guess, second).records if key not in before]
    except (SourceError, ConfigError) as error:
        new, why = [], f"the second page cannot be read: {error}"
    else:
        why = f"the second page had {count(len(new), 'record')} that the first has not"
    if new:
        reasons["paging"] += f"; {why}"
        return replace(guess, reasons=reasons)
    way = guess.settings.get("paging")
    if not isinstance(way, Mapping) or way["kind"] == "header":
        reasons["paging"] += f"; but {why}"
        return replace(guess, reasons=reasons)
    reasons["paging"] += f"; but {why}, so that only the first page will be read"
    settings = {k: v for k, v in guess.settings.items() if k != "paging"}
    return replace(guess, reasons=reasons, settings=settings, reads=1, second="")


def _shown(records: Sequence[Mapping[str, object]]) -> tuple[dict[str, object], ...]:
    """Return records shortened for display."""
    return tuple(
        {str(k)[:SHOWN]: _short(v) for k, v in list(record.items())[:20]}
        for record in records[:SAMPLE]
    )


def _short(value: object) -> object:
    if value is None or isinstance(value, bool | int | float):
        return value
    text = str(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"


def _hints(answer: TrialAnswer, where: RecordList) -> tuple[str, ...]:
    dated = ("updated_at", "updated", "modified", "last_modified", "updatedAt",
             "modified_at", "lastModified", "date_modified", "touched")  # fmt: skip
    named = next((name for name in dated if name in where.records[0]), "")
    hints = [f"{named!r} says when each record changed"] if named else []
    return (*header_hints(answer), *hints)


def _arrays(answer: TrialAnswer, document: object) -> list[SourceGuess]:
    """Return the address that gives rows as objects instead of lists, if known.

    Datasette before 1.0 returns lists unless another shape is requested.
    """
    if not isinstance(document, Mapping):
        return []
    rows, columns = document.get("rows"), document.get("columns")
    datasette = isinstance(columns, list) and "primary_keys" in document
    if not (datasette and isinstance(rows, list) and "_shape=" not in answer.url):
        return []
    instead = pagination.with_parameter(answer.url, "_shape", "objects")
    reasons = {"format": "Datasette: its rows are lists; as objects they have names"}
    return [SourceGuess("listing", "table of Datasette", USABLE + 0.05, {}, reasons,
                  missing=("records",), instead=instead)]  # fmt: skip


def _html(answer: TrialAnswer) -> list[SourceGuess]:
    """Return how a web page could be kept as a list of its links."""
    given = answer.corrections
    text = to_text(answer.content_type, answer.body)
    lists = trees.ask("repeated", text)
    if given.records:
        lists = [{"records": given.records, "next": "", "size": 0}]
    if not lists:
        return []
    best = lists[0]
    settings: dict[str, object] = {
        "kind": "listing",
        "url": answer.url,
        "format": "html",
        "records": best["records"],
        "key": given.key or "a@href",
        "fields": {"link": "a@href", "title": "a", "text": ""},
    }
    where = given.next or best["next"]
    settings |= {"next": where} if where else {}
    origin = "as you said" if given.records else f"{best['size']} alike, with links"
    reasons = {
        "format": "list in a web page",
        "records": f"{best['records']!r}: {origin}",
        "key": "as you said" if given.key else "the address that each links to",
        "paging": f"{where!r} leads to the next page" if where else "no next page",
    }
    score = LIKELY if given.given else VAGUE + 0.05
    guess = SourceGuess(
        "listing", "list in a web page", score, settings, reasons, reads=1
    )
    return [replace(_read(answer, guess), hints=header_hints(answer))]
