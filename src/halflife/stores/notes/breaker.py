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
        undecided: Answers in a row that somebody has to decide on.

    """

    failures: int = 0
    not_before: float = 0.0
    well: float = 0.0
    trouble: str = ""
    undecided: int = 0


def _write(state: BreakerState) -> dict[str, Any]:
    row = asdict(state)
    if not state.undecided:  # as before there was such a number
        del row["undecided"]
    return row


def _read(row: Mapping[str, Any]) -> BreakerState:
    times = finite(row["not_before"]), finite(row["well"])
    undecided = int(row.get("undecided", 0))
    return BreakerState(int(row["failures"]), *times, text(row["trouble"]), undecided)


BREAKER = NoteKind("breaker", 1, _write, _read)
