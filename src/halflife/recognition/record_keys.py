"""Guess which field of records is their key, from names and values."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from halflife.core.wording import count
from halflife.recognition.record_lists import quoted

FIELDS = 200  # of one record that may be the key
LONGEST = 200  # characters of a key; a text is none
_EXACT = {
    "id": 1.0, "_id": 0.98, "@id": 0.97, "uuid": 0.97, "guid": 0.97, "uid": 0.95,
    "pk": 0.95, "pageid": 0.95, "objectid": 0.95, "key": 0.9, "identifier": 0.9,
    "slug": 0.85, "sku": 0.85, "isbn": 0.85, "doi": 0.85, "handle": 0.8, "code": 0.75,
    "url": 0.75, "@odata.id": 0.75, "href": 0.7, "link": 0.7, "permalink": 0.7,
    "uri": 0.7, "number": 0.6, "login": 0.6, "username": 0.6, "email": 0.55,
    "name": 0.5, "title": 0.4,
}  # fmt: skip
_INNER = frozenset({
    "node", "properties", "attributes", "sys", "data", "fields", "_source", "resource",
})  # fmt: skip
# Fields that may differ between records but identify none of them.
_PASSING = re.compile(
    r"(?:^|_)(?:date|time|at|on|created|updated|modified|published|count|total|price"
    r"|score|rank|position|index|order|lat|lng|lon|latitude|longitude|size|length"
    r"|description|summary|body|text|content|etag|hash|cursor|lastrevid|touched"
    r"|timestamp|views|likes|amount)$"
)
_ID = re.compile(r".+(?:_id|Id|ID|-id|_uuid|_key|_no|_code)$")


@dataclass(frozen=True, slots=True)
class KeyGuess:
    """A field that may be the key.

    Attributes:
        key: Its name, or its JMESPath.
        score: How likely it is the key.
        why: The reason for the score.

    """

    key: str
    score: float
    why: str


def find_keys(records: Sequence[Mapping[str, Any]], noun: str = "") -> list[KeyGuess]:
    """Return the fields that may be the key of records, the likeliest first.

    Only fields that every record has, with values that are all different. ``noun``
    names the records, if known: ``product_id`` is then a likely key of products.

    >>> find_keys([{"n": 1, "id": 7}, {"n": 1, "id": 8}])[0].key
    'id'
    """
    if not records:
        return []
    guesses = []
    for key, name, values in _columns(records):
        if len(set(values)) < len(values):
            continue
        score = _by_name(name, noun) - (0.05 if "." in key else 0.0)
        if score > 0:
            guesses.append(KeyGuess(key, score, _reason(name, len(values), score)))
    return sorted(guesses, key=lambda guess: -guess.score)


def check_key(records: Sequence[Mapping[str, Any]], key: str) -> str:
    """Return what is wrong with a field as the key of records; empty if nothing is.

    >>> check_key([{"a": 1}, {"a": 1}], "a")
    "2 records have 1 different 'a'"
    """
    values = [record.get(key) for record in records]
    if not all(_is_key(value) for value in values):
        return f"not every record has {key!r}"
    different = len(set(map(str, values)))
    if different < len(values):
        return f"{count(len(values), 'record')} have {different} different {key!r}"
    return ""


def _columns(
    records: Sequence[Mapping[str, Any]],
) -> Iterator[tuple[str, str, list[str]]]:
    """Yield the expression, the name and the values of each field that may be a key."""
    for name, value in islice(records[0].items(), FIELDS):
        if isinstance(value, Mapping) and name.lower() in _INNER:
            inner = [record.get(name) for record in records]
            if all(isinstance(part, Mapping) for part in inner):
                for sub in islice(value, FIELDS):
                    values = [
                        part.get(sub) for part in inner if isinstance(part, Mapping)
                    ]
                    if all(map(_is_key, values)):
                        path = f"{quoted(name)}.{quoted(str(sub))}"
                        yield path, str(sub), [str(v) for v in values]
        elif _is_key(value):
            values = [record.get(name) for record in records]
            if all(map(_is_key, values)):
                yield name, name, [str(v).strip() for v in values]


def _is_key(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, str | int):
        return False
    text = str(value)
    return bool(text.strip()) and len(text) <= LONGEST and "\n" not in text


def _by_name(name: str, noun: str) -> float:
    """Return the score of a field by its name."""
    lowered = name.lower()
    if lowered in _EXACT:
        return _EXACT[lowered]
    stem = noun.lower().removesuffix("s")
    forms = {f"{stem}_id", f"{stem}id", f"{stem}-id", f"{stem}_uuid", stem}
    if stem and lowered in forms:
        return 0.93
    if _PASSING.search(lowered):
        return 0.0
    return 0.45 if _ID.fullmatch(name) else 0.2


def _reason(name: str, many: int, score: float) -> str:
    if many == 1:
        return f"{name!r} is in the one record there is"
    reason = f"{name!r} is in all {many} records, each with a different value"
    if score > 0.3:
        return reason
    return f"{reason}; its name does not say that it is a key"
