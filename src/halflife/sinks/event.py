"""A change as it is written for others: one JSON object."""

import json
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from halflife.core.change import Change

# Plain ASCII: no reader takes a character of a value for the end of a line.
_WRITE = json.JSONEncoder(separators=(",", ":")).encode


def moment(days: float) -> datetime:
    """Return a time in days since the epoch, to the second.

    >>> moment(19722.75).isoformat()
    '2023-12-31T18:00:00+00:00'
    """
    return datetime.fromtimestamp(round(days * 86400.0), tz=UTC)


def stamp(days: float) -> str:
    """Return a time in days since the epoch as ISO 8601, UTC."""
    return moment(days).isoformat().replace("+00:00", "Z")


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
    """Return a change as a line of JSON, its end included."""
    return _WRITE(as_row(change)) + "\n"


def as_lines(changes: Iterable[Change]) -> bytes:
    """Return changes as JSON Lines."""
    return "".join(map(as_line, changes)).encode("ascii")
