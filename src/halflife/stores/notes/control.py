"""Whether requests may be sent, as ``pause``, ``resume`` and ``drain`` set it."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from halflife.stores.notes import NoteKind, finite, text

RUNNING, PAUSED, DRAINING = "running", "paused", "draining"


class Control(NamedTuple):
    """The last command.

    Attributes:
        state: ``running``, ``paused`` or ``draining``.
        since: When it was given, in days; None if there was none.

    """

    state: str = RUNNING
    since: float | None = None

    @property
    def is_paused(self) -> bool:
        """Whether no new request may be sent, for now."""
        return self.state == PAUSED

    @property
    def is_draining(self) -> bool:
        """Whether all work must end once the requests under way are done."""
        return self.state == DRAINING


def _read(row: Mapping[str, Any]) -> Control:
    state = text(row["state"])
    if state not in {RUNNING, PAUSED, DRAINING}:
        raise ValueError(f"{state} is no state")
    return Control(state, None if row["since"] is None else finite(row["since"]))


CONTROL = NoteKind[Control]("control", 1, Control._asdict, _read)
