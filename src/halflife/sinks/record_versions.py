"""The versions of records that follow from changes."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from halflife.core.change import Change
from halflife.sinks.event import moment
from halflife.sinks.protocol import Reader
from halflife.sinks.table_columns import clean, kind_of


@dataclass(frozen=True, slots=True)
class HeldVersion:
    """A version of a record.

    Attributes:
        key: The record.
        values: Its fields.
        seq_from: The change that began it.
        at: When that was.
        seq_to: The change that ended it; None if none did.
        until: When that was.

    """

    key: str
    values: Mapping[str, Any]
    seq_from: int
    at: datetime
    seq_to: int | None = None
    until: datetime | None = None


class VersionFold:
    """Applies changes to the current versions of records.

    Args:
        held: The current version of each record.

    """

    def __init__(self, held: Mapping[str, HeldVersion]) -> None:
        self.before = held
        self.now: dict[str, HeldVersion] = dict(held)
        self.ended: list[HeldVersion] = []

    def take(self, change: Change, reader: Reader) -> None:
        """Apply a change."""
        key, at = clean(change.key), moment(change.at)
        old = self.now.get(key)
        if change.kind == "gone":
            self._end(old, change, at)
            return
        if before := former_key(change):
            old = self.now.get(clean(before))
            if old is not None:
                self._end(old, change, at)
                self.now[key] = HeldVersion(key, old.values, change.seq, at)
            return
        news = {name: new for name, (_, new) in change.fields.items()}
        if change.kind in {"new", "returned"}:
            values = news
        elif old is not None:
            values = {**old.values, **news}
        else:  # the record's first change has left the log
            values = {**(reader.record(change.source, change.key) or {}), **news}
        values = {clean(n): clean(v) for n, v in values.items() if v is not None}
        if old is not None and old.values == values:
            return
        self._end(old, change, at)
        self.now[key] = HeldVersion(key, values, change.seq, at)

    def _end(self, old: HeldVersion | None, change: Change, at: datetime) -> None:
        if old is not None:
            self.ended.append(replace(old, seq_to=change.seq, until=at))
            del self.now[old.key]

    def fields(self) -> dict[str, set[str]]:
        """Return the fields of all new versions, with the types of their values."""
        found: dict[str, set[str]] = {}
        for version in (*self.ended, *self.now.values()):
            for name, value in version.values.items():
                found.setdefault(name, set()).add(kind_of(value))
        return found


def former_key(change: Change) -> str:
    """Return the key that a page had before it was renamed; empty if it was not."""
    renamed = change.kind == "moved" and "key" in change.fields
    return str(change.fields["key"][0]) if renamed else ""


def keys_of(change: Change) -> set[str]:
    """Return the keys of all records that a change affects."""
    return {change.key, former_key(change)} - {""}
