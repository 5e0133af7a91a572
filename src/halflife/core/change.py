"""Changes of what is kept: one event for each thing that arrived, changed or went."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, get_args

ChangeKind: TypeAlias = Literal[
    "new", "changed", "gone", "returned", "moved", "held", "accepted"
]
CHANGE_KINDS: tuple[ChangeKind, ...] = get_args(ChangeKind)


@dataclass(frozen=True, slots=True)
class Change:
    """Something that became of a page or a record.

    Attributes:
        at: When it was observed, in days.
        source: The source.
        key: The page's address or the record's key.
        kind: What became of it. ``held`` is an answer that waits for a decision,
            ``accepted`` one that was believed after all.
        fields: The old and the new value of each field that differs. Of a page, the
            fingerprint of its text is the field ``text``, and of one that has moved,
            its address is ``url``.
        seq: Its place in the log, from 1; 0 while it is not written.

    """

    at: float
    source: str
    key: str
    kind: ChangeKind
    fields: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)
    seq: int = 0
