"""How it goes with a source that is one thing: a listing, a form or a search."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from halflife.stores.notes import NoteKind, finite, text


@dataclass(frozen=True, slots=True)
class BreakerState:
    """How it goes with a source; times are days since the epoch.

    Attributes:
        failures: Syncs that failed since the last good one.
        not_before: When it may be asked again.
        well: When it last went well, or first failed; 0 if nobody has tried.
        trouble: What went wrong last.

    """

    failures: int = 0
    not_before: float = 0.0
    well: float = 0.0
    trouble: str = ""


def _read(row: Mapping[str, Any]) -> BreakerState:
    times = finite(row["not_before"]), finite(row["well"])
    return BreakerState(int(row["failures"]), *times, text(row["trouble"]))


BREAKER = NoteKind("breaker", 1, asdict, _read)
