"""Which hosts' "not modified" can be believed, by kind of validator."""

from collections.abc import Mapping
from typing import Any, TypeAlias

from halflife.models.validator_trust import TrustRecord
from halflife.stores.notes import NoteKind, finite, text

MOST_HOSTS = 1000  # of a source; those that were checked last are kept

Trust: TypeAlias = dict[tuple[str, str], TrustRecord]  # by host and kind


def _write(trust: Trust) -> list[list[object]]:
    kept = sorted(trust.items(), key=lambda one: -one[1].at)[: 2 * MOST_HOSTS]
    return [[*place, one.truths, one.lies, one.at] for place, one in kept]


def _read(rows: list[Any]) -> Trust:
    return {
        (text(host), text(kind)): TrustRecord(finite(t), finite(lies), finite(at))
        for host, kind, t, lies, at in rows
    }


def doubted(trust: Mapping[tuple[str, str], TrustRecord], now: float) -> list[str]:
    """Return the hosts of which some "not modified" is not believed."""
    return sorted({h for (h, _), one in trust.items() if not one.is_believed(now)})


VALIDATOR_TRUST = NoteKind("validator_trust", 1, _write, _read)
