"""The state of the circuit breaker of a listing, a form or a search."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from halflife.stores.notes import NoteKind, finite, text


@dataclass(frozen=True, slots=True)
class BreakerState:
    """The state of a source's circuit breaker; times are days since the epoch.

    Attributes:
        failures: Syncs that failed since the last good one.
        not_before: When it may be fetched again.
        well: When a sync last succeeded, or the first failed; 0 before any sync.
        trouble: What went wrong last.
        undecided: Answers in a row that wait for a decision.

    """

    failures: int = 0
    not_before: float = 0.0
    well: float = 0.0
    trouble: str = ""
    undecided: int = 0


def _write(state: BreakerState) -> dict[str, Any]:
    row = asdict(state)
    if not state.undecided:  # as written by versions without this field
        del row["undecided"]
    return row


def _read(row: Mapping[str, Any]) -> BreakerState:
    times = finite(row["not_before"]), finite(row["well"])
    undecided = int(row.get("undecided", 0))
    return BreakerState(int(row["failures"]), *times, text(row["trouble"]), undecided)


BREAKER = NoteKind("breaker", 1, _write, _read)
