"""Which hosts' "not modified" can be trusted, by kind of validator."""

from collections.abc import Mapping
from typing import Any, TypeAlias

from halflife.models.validator_trust import TrustRecord
from halflife.stores.notes import NoteKind, finite, text

MOST_HOSTS = 1000  # of a source; those that were checked last are stored

Trust: TypeAlias = dict[tuple[str, str], TrustRecord]  # by host and kind


def _write(trust: Trust) -> list[list[object]]:
    kept = sorted(trust.items(), key=lambda entry: -entry[1].at)[: 2 * MOST_HOSTS]
    return [[*place, r.truths, r.lies, r.at] for place, r in kept]


def _read(rows: list[Any]) -> Trust:
    return {
        (text(host), text(kind)): TrustRecord(finite(t), finite(lies), finite(at))
        for host, kind, t, lies, at in rows
    }


def doubted(trust: Mapping[tuple[str, str], TrustRecord], now: float) -> list[str]:
    """Return the hosts whose "not modified" is not trusted for some validator."""
    return sorted(
        {h for (h, _), record in trust.items() if not record.is_believed(now)}
    )


VALIDATOR_TRUST = NoteKind("validator_trust", 1, _write, _read)
