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
        key: The page's address or the record's key; empty where an answer of a whole
            listing is held or accepted.
        kind: What became of it. ``held`` is an answer that waits for a decision,
            ``accepted`` one that was believed after all; what that changes follows.
        fields: The old and the new value of each field that differs. A record that is
            new or has returned has all of its fields here, the old values None. Of a
            page, the fingerprint of its text is the field ``text``. One that has moved
            has its address in ``url``, or in ``key`` if its key is another now. ``why``
            says why an answer is held.
        seq: Its place in the log, from 1; 0 while it is not written.

    """

    at: float
    source: str
    key: str
    kind: ChangeKind
    fields: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)
    seq: int = 0
