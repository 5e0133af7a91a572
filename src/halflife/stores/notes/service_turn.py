"""When the service took its last turn, and which process it is."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from halflife.stores.notes import NoteKind, finite, text


class ServiceTurn(NamedTuple):
    """The last recorded state of the service; moments in days.

    Attributes:
        owner: Its process, as ``stores.owner.Owner`` writes it.
        began: When it was started.
        turned: When its last turn ended; None before the first.
        ended: When it was stopped; None while it runs, or if it was killed.

    """

    owner: str
    began: float
    turned: float | None = None
    ended: float | None = None


def _read(row: Mapping[str, Any]) -> ServiceTurn:
    turned, ended = (
        None if row[name] is None else finite(row[name]) for name in ("turned", "ended")
    )
    return ServiceTurn(text(row["owner"]), finite(row["began"]), turned, ended)


SERVICE_TURN = NoteKind[ServiceTurn]("service_turn", 1, ServiceTurn._asdict, _read)
