"""Change events: one for each page or record that arrived, changed or went."""

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, get_args

ChangeKind: TypeAlias = Literal[
    "new", "changed", "gone", "returned", "moved", "held", "accepted"
]
CHANGE_KINDS: tuple[ChangeKind, ...] = get_args(ChangeKind)
CHANGE_MEANINGS: Mapping[ChangeKind, str] = {
    "new": "A page or record is there for the first time.",
    "changed": "It differs from the version before.",
    "gone": "A page answered 404 or 410, or a record is missing from two listings.",
    "returned": "A page or record that was gone is there again.",
    "moved": "Its server redirects for good, or its key is written in another way.",
    "held": "An answer is not credible and waits for a decision.",
    "accepted": "An answer that was held was accepted; the changes in it follow.",
}


@dataclass(frozen=True, slots=True)
class Change:
    """A change of a page or a record.

    Attributes:
        at: When it was observed, in days.
        source: The source.
        key: The page's address or the record's key; empty where an answer of a whole
            listing is held or accepted.
        kind: The kind of change. ``held`` is an answer that waits for a decision,
            ``accepted`` one that was then accepted; the changes in it follow.
        fields: The old and the new value of each field that differs. A record that is
            new or has returned has all of its fields here, the old values None. Of a
            page, the fingerprint of its text is the field ``text``. One that has moved
            has its address in ``url``, or in ``key`` if its key is another now. ``why``
            is the reason why an answer is held.
        seq: Its position in the log, from 1; 0 until it is written.

    """

    at: float
    source: str
    key: str
    kind: ChangeKind
    fields: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)
    seq: int = 0


class NewFields(Mapping[str, tuple[Any, Any]]):
    """All fields of a new record; made when they are read."""

    __slots__ = ("attributes",)

    def __init__(self, attributes: Mapping[str, Any]) -> None:
        self.attributes = attributes

    def __getitem__(self, name: str) -> tuple[Any, Any]:
        return None, plain(self.attributes[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self.attributes)

    def __len__(self) -> int:
        return len(self.attributes)

    def __repr__(self) -> str:
        return repr(dict(self))


class LoggedFields(Mapping[str, tuple[Any, Any]]):
    """Fields as stored in the log: JSON, parsed when a field is read.

    Most sinks pass the text on as it is.
    """

    __slots__ = ("_parsed", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._parsed: dict[str, tuple[Any, Any]] | None = None

    def __getitem__(self, name: str) -> tuple[Any, Any]:
        return self._pairs()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._pairs())

    def __len__(self) -> int:
        return len(self._pairs())

    def __repr__(self) -> str:
        return repr(self._pairs())

    def _pairs(self) -> dict[str, tuple[Any, Any]]:
        if self._parsed is None:
            pairs = json.loads(self.text)
            self._parsed = {name: (old, new) for name, (old, new) in pairs.items()}
        return self._parsed


def plain(value: Any) -> Any:  # noqa: ANN401  (of a field)
    """Return a value as it is stored; a number that is not finite becomes None."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
