"""Whether requests may be sent: what ``pause``, ``resume`` and ``drain`` say."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from halflife.stores.notes import NoteKind, finite, text

RUNNING, PAUSED, DRAINING = "running", "paused", "draining"


class Control(NamedTuple):
    """What was said last.

    Attributes:
        state: ``running``, ``paused`` or ``draining``.
        since: When that was said, in days; None if nothing was.

    """

    state: str = RUNNING
    since: float | None = None

    @property
    def is_paused(self) -> bool:
        """Whether nothing new may be sent, for now."""
        return self.state == PAUSED

    @property
    def is_draining(self) -> bool:
        """Whether all work is to end once what is under way is done."""
        return self.state == DRAINING


def _read(row: Mapping[str, Any]) -> Control:
    state = text(row["state"])
    if state not in {RUNNING, PAUSED, DRAINING}:
        raise ValueError(f"{state} is no state")
    return Control(state, None if row["since"] is None else finite(row["since"]))


CONTROL = NoteKind[Control]("control", 1, Control._asdict, _read)
