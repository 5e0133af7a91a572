"""A change as it is delivered: one JSON object."""

import json
import re
from collections.abc import Iterable
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from halflife.core.change import Change, LoggedFields
from halflife.net.dates import to_iso

# Plain ASCII: no reader takes a character of a value for the end of a line.
_WRITE = json.JSONEncoder(separators=(",", ":")).encode
_NOT_ASCII = re.compile(r"[^\x00-\x7f]+")


def moment(days: float) -> datetime:
    """Return a time in days since the epoch, to the second.

    >>> moment(19722.75).isoformat()
    '2023-12-31T18:00:00+00:00'
    """
    return datetime.fromtimestamp(round(days * 86400.0), tz=UTC)


@lru_cache(maxsize=16)  # all changes of one answer have the same time
def stamp(days: float) -> str:
    """Return a time in days since the epoch as ISO 8601, UTC."""
    return to_iso(days)


def as_row(change: Change) -> dict[str, Any]:
    """Return a change as ``halflife changes --json`` writes it.

    >>> as_row(Change(19722.75, "jobs", "7", "changed", {"pay": (1, 2)}, 3))["fields"]
    {'pay': [1, 2]}
    """
    return {
        "seq": change.seq,
        "at": stamp(change.at),
        "source": change.source,
        "key": change.key,
        "kind": change.kind,
        "fields": {name: list(pair) for name, pair in change.fields.items()},
    }


def as_line(change: Change) -> str:
    r"""Return a change as a line of JSON, its end included.

    >>> as_line(Change(19722.75, "jobs", "7", "gone", seq=3))
    '{"seq":3,"at":"2023-12-31T18:00:00Z","source":"jobs","key":"7","kind":"gone","fields":{}}\n'
    """
    return (
        f'{{"seq":{change.seq},"at":"{stamp(change.at)}",'
        f'"source":{_WRITE(change.source)},"key":{_WRITE(change.key)},'
        f'"kind":"{change.kind}","fields":{_fields(change)}}}\n'
    )


def _fields(change: Change) -> str:
    """Return the fields of a change as ASCII; the text of the log if it has one.

    In JSON, characters that are not ASCII occur inside strings only.
    """
    fields = change.fields
    if not isinstance(fields, LoggedFields):
        return _WRITE(dict(fields))  # a pair is written as a list
    if fields.text.isascii():
        return fields.text
    return _NOT_ASCII.sub(lambda match: _WRITE(match[0])[1:-1], fields.text)


def as_lines(changes: Iterable[Change]) -> bytes:
    """Return changes as JSON Lines."""
    return "".join(map(as_line, changes)).encode("ascii")
