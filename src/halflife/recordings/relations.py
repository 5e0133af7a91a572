"""Recorded histories of objects as relations: the content of a table at a moment.

The folders are those that ``halflife.recordings.objects`` reads; here every attribute
has the value of the current version.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime
from pathlib import Path

import numpy as np

from halflife.core.arrays import Floats, Ints
from halflife.core.errors import UsageError
from halflife.core.lifetimes import Values
from halflife.core.object_store import Attributes, Scalar
from halflife.recordings.objects import (
    BOOKKEEPING,
    in_days,
    observed_at,
    recorded_tables,
    version_rows,
)
from halflife.recordings.pages import Recording, recording_of_changes
from halflife.recordings.parquet import Table

_OF_VERSIONS = BOOKKEEPING | {"seen_from", "seen_to"}


@dataclass(frozen=True)
class Relation:
    """A table and its changes, one row for each version of a spell.

    Attributes:
        looks: When the table was observed, ascending, in days.
        keys: The objects, one for each spell.
        first_seen: The first observation that had the spell.
        last_seen: The last observation that had it.
        spell: The spell that each version belongs to; versions are in order.
        since: The first observation of each version.
        columns: The values of the versions.

    """

    looks: Floats
    keys: tuple[str, ...]
    first_seen: Floats
    last_seen: Floats
    spell: Ints
    since: Floats
    columns: Mapping[str, Values]

    def moved(self, days: float) -> "Relation":
        """Return the same relation with every observation ``days`` later."""
        return replace(
            self,
            looks=self.looks + days,
            first_seen=self.first_seen + days,
            last_seen=self.last_seen + days,
            since=self.since + days,
        )

    def last_observation(self, at: float) -> float:
        """Return the last observation by ``at``; raise ``UsageError`` if none."""
        before = self.looks[self.looks <= at]
        if not before.size:
            raise UsageError(f"the history has no observation until day {at:g}")
        return float(before[-1])

    def rows(self, at: float) -> Ints:
        """Return the versions shown by the last observation by ``at``, ascending."""
        moment = self.last_observation(at)
        seen = (self.since <= moment) & (self.first_seen[self.spell] <= moment)
        seen &= moment <= self.last_seen[self.spell]
        known = np.flatnonzero(seen)
        last = np.r_[self.spell[known][1:] != self.spell[known][:-1], True]
        rows: Ints = known[last[: known.size]]
        return rows

    def at(self, at: float) -> dict[str, Attributes]:
        """Return the records shown by the last observation by ``at``, by key."""
        rows = self.rows(at)
        columns = [self.columns[name][rows].tolist() for name in self.columns]
        keys = [self.keys[i] for i in self.spell[rows].tolist()]
        values = zip(*columns, strict=True) if columns else iter([()] * len(keys))
        return {
            key: dict(zip(self.columns, row, strict=True))
            for key, row in zip(keys, values, strict=True)
        }

    def first_seen_times(self, at: float) -> dict[str, float]:
        """Return when the objects shown by the last observation were first seen."""
        spells = self.spell[self.rows(at)].tolist()
        return {self.keys[i]: float(self.first_seen[i]) for i in spells}


KEY = "object_id"  # the name of the key where a column is expected


def column(relation: Relation, name: str) -> str:
    """Return the column that a name means; raise ``UsageError`` if it is ambiguous.

    That is the column of that name, or else the only one whose name contains its
    singular: ``authors`` means ``first_author``. ``object_id`` means the key.
    """
    names = (KEY, *relation.columns)
    if name in names:
        return name
    wanted = name.lower().removesuffix("s")
    alike = [known for known in names if wanted and wanted in known.lower()]
    if len(alike) == 1:
        return alike[0]
    raise UsageError(f"there is no column {name!r}; there is {', '.join(names)}")


def load_relation(folder: Path) -> Relation:
    """Return the relation recorded in a folder; raise ``UsageError`` if none is."""
    lifetimes, versions, snapshots = recorded_tables(folder)
    spell = version_rows(lifetimes, versions, folder)
    looks = observed_at(snapshots, lifetimes)
    if not looks.size:
        raise UsageError(f"{folder / 'snapshots.parquet'}: holds no valid snapshot")
    since = in_days(versions, "seen_from", np.nan)
    order = np.lexsort((since, spell))
    return Relation(
        looks=looks,
        keys=tuple(str(key) for key in lifetimes["object_id"].to_pylist()),
        first_seen=in_days(lifetimes, "first_seen", np.nan),
        last_seen=in_days(lifetimes, "last_seen", np.nan),
        spell=spell[order],
        since=since[order],
        columns={
            **{
                name: _values(lifetimes, name)[spell[order]]
                for name in lifetimes.column_names
                if name not in BOOKKEEPING and name not in versions.column_names
            },
            **{
                name: _values(versions, name)[order]
                for name in versions.column_names
                if name not in _OF_VERSIONS
            },
        },
    )


def items_of(relation: Relation) -> Recording:
    """Return when objects came, changed and went; one that returns is a new item."""
    observed = np.append(relation.looks, np.inf)
    died = observed[np.searchsorted(relation.looks, relation.last_seen, side="right")]
    first = relation.first_seen
    born = np.where(first <= relation.looks[0], -np.inf, first)
    later = relation.since > first[relation.spell]
    item, at = relation.spell[later], relation.since[later]
    return recording_of_changes(relation.keys, item, at, (born, died))


FILES = ("lifetimes.parquet", "versions.parquet", "snapshots.parquet")


def is_relation(folder: Path) -> bool:
    """Return whether a folder holds a recorded history of objects."""
    return all((folder / name).is_file() for name in FILES)


def _values(table: Table, name: str) -> Values:
    """Return a column as Python numbers and texts; gaps are None."""
    values = np.empty(len(table), dtype=object)
    values[:] = [_plain(value) for value in table[name].to_pylist()]
    return values


def _plain(value: object) -> Scalar:
    if isinstance(value, date | datetime):
        return value.isoformat()
    if value is None or isinstance(value, str | int | float):
        return value
    return str(value)
