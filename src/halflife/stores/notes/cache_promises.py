"""Until when pages said to stay as they are, and whose word was kept."""

from collections.abc import Mapping
from dataclasses import astuple, dataclass
from typing import Any, TypeAlias

from halflife.models.promise_trust import PromiseRecord
from halflife.stores.notes import NoteKind, finite, text


@dataclass(frozen=True, slots=True)
class Promise:
    """What a page said when it was last fetched.

    Attributes:
        since: When that was, in days.
        until: Until when it said to stay as it was.
        kind: By what it said so.

    """

    since: float
    until: float
    kind: str


Promises: TypeAlias = dict[str, Promise]  # by page
PromiseTrust: TypeAlias = dict[tuple[str, str], PromiseRecord]  # by host and kind


def _read(rows: Mapping[str, Any]) -> Promises:
    return {
        text(key): Promise(finite(since), finite(until), text(kind))
        for key, (since, until, kind) in rows.items()
    }


def _read_trust(rows: list[Any]) -> PromiseTrust:
    return {
        (text(host), text(kind)): PromiseRecord(*map(finite, row))
        for host, kind, *row in rows
    }


CACHE_PROMISES = NoteKind(
    "cache_promises",
    1,
    lambda known: {key: list(astuple(one)) for key, one in known.items()},
    _read,
)  # numbered by a part of the pages' digests
PROMISE_TRUST = NoteKind(
    "promise_trust",
    1,
    lambda known: [[*place, *astuple(one)] for place, one in known.items()],
    _read_trust,
)
