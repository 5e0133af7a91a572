"""How long pages promised to stay unchanged, and which hosts kept their promises."""

from collections.abc import Mapping
from dataclasses import astuple, dataclass
from typing import Any, TypeAlias

from halflife.models.promise_trust import PromiseRecord
from halflife.stores.notes import NoteKind, finite, text


@dataclass(frozen=True, slots=True)
class Promise:
    """The promise of a page's last answer.

    Attributes:
        since: When it was fetched, in days.
        until: Until when it promised to stay unchanged.
        kind: The header that promised it.

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
    lambda promises: {key: list(astuple(one)) for key, one in promises.items()},
    _read,
)  # numbered by the start of the digest of the pages' keys
PROMISE_TRUST = NoteKind(
    "promise_trust",
    1,
    lambda trust: [[*place, *astuple(record)] for place, record in trust.items()],
    _read_trust,
)
