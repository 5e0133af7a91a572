"""Recorded histories of set sources: folders of three Parquet files.

``lifetimes.parquet`` has one row a spell (object_id, spell, first_seen, last_seen,
absent_before, gone_by, and attributes), ``versions.parquet`` one row for each
version of a spell (object_id, spell, seen_from, and attributes) and
``snapshots.parquet`` one row a snapshot (date, taken_at, valid). Times are dates, read
as whole days since the epoch, or moments in UTC.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from halflife.core.arrays import Bools, Floats, Ints
from halflife.core.errors import UsageError
from halflife.core.lifetimes import Collection, Lives, Values
from halflife.recordings.parquet import Table, read_table

LIFE = ("object_id", "spell", "first_seen", "last_seen", "absent_before", "gone_by")
VERSION = ("object_id", "spell", "seen_from")
SNAPSHOT = ("date", "taken_at", "valid")
_TIMES = frozenset({*LIFE[2:], "seen_from", "date", "taken_at"})
_MAY_LACK = frozenset({"absent_before", "gone_by", "date", "taken_at"})
# Columns about how a spell was observed are no attributes of the object, and many of
# them are known only afterwards.
BOOKKEEPING = frozenset(
    {
        *LIFE, "censored", "left_censored", "bulk_start", "bulk_end",
        "n_obs", "gap_filled", "n_versions",
    }
)  # fmt: skip


def load_parquet(folder: Path, name: str) -> Collection:
    """Return the history of a set source recorded in a folder.

    An attribute that the versions have is given as it was first seen; one that only
    the lifetimes have, as it is there. Raise ``UsageError`` that names the file and
    the column if something is missing.
    """
    lifetimes, versions, snapshots = recorded_tables(folder)
    row = version_rows(lifetimes, versions, folder)
    seen_from = in_days(versions, "seen_from", np.nan)
    order = np.lexsort((seen_from, row))
    first = np.r_[True, np.diff(row[order]) != 0][: order.size]
    later = order[~first]
    return Collection(
        name=name,
        looks=observed_at(snapshots, lifetimes),
        lives=_lives(lifetimes, versions, row[order[first]], order[first]),
        changed=row[later],
        changed_at=seen_from[later],
    )


def recorded_tables(folder: Path) -> tuple[Table, Table, Table]:
    """Return the lifetimes, the versions and the snapshots of a folder, checked."""
    return (
        _checked(folder / "lifetimes.parquet", LIFE),
        _checked(folder / "versions.parquet", VERSION),
        _checked(folder / "snapshots.parquet", SNAPSHOT),
    )


def _checked(path: Path, needed: Sequence[str]) -> Table:
    """Return a table whose columns exist and have the right values."""
    table = read_table(path, needed)
    for column in needed:
        _check(path, column, table[column])
    return table


def _check(path: Path, column: str, values: Any) -> None:  # noqa: ANN401  (pyarrow)
    """Raise if times have another type, or required values are missing."""
    from pyarrow import types  # noqa: PLC0415  (an extra)

    timely = types.is_date(values.type) or types.is_timestamp(values.type)
    if column in _TIMES and not timely:
        raise UsageError(f"{path}: column {column!r} holds {values.type}, not times")
    if column not in _MAY_LACK and values.null_count:
        raise UsageError(f"{path}: column {column!r} has {values.null_count} gaps")


def in_days(table: Table, column: str, missing: float) -> Floats:
    """Return a column of dates or moments in days since the epoch, UTC."""
    import pyarrow as pa  # noqa: PLC0415  (an extra)

    kind = table.schema.field(column).type
    values = table[column].combine_chunks()
    if pa.types.is_date(kind):
        found, unit = values.cast(pa.date32()).cast(pa.int32()), 1.0
    else:
        moments = values.cast(pa.timestamp("us", kind.tz), safe=False)
        found, unit = moments.cast(pa.int64()), 86400e6
    days = found.to_numpy(zero_copy_only=False).astype(np.float64) / unit
    absent = values.is_null().to_numpy(zero_copy_only=False)
    return np.where(absent, missing, days)


def observed_at(snapshots: Table, lifetimes: Table) -> Floats:
    """Return the times of valid snapshots, on the same grid as the lifetimes."""
    import pyarrow as pa  # noqa: PLC0415  (an extra)

    daily = pa.types.is_date(lifetimes.schema.field("first_seen").type)
    at = in_days(snapshots, "date" if daily else "taken_at", np.nan)
    valid: Bools = snapshots["valid"].to_numpy().astype(np.bool_)
    observed: Floats = np.unique(at[valid & np.isfinite(at)])
    return observed


def version_rows(lifetimes: Table, versions: Table, folder: Path) -> Ints:
    """Return the row of the lifetime that each version belongs to."""
    import pyarrow as pa  # noqa: PLC0415  (an extra)

    key = lifetimes["object_id"]
    parts = [key, versions["object_id"].cast(key.type)]
    names = pa.concat_arrays([part.combine_chunks() for part in parts])
    number = names.dictionary_encode().indices.to_numpy().astype(np.int64)
    spells = [t["spell"].to_numpy().astype(np.int64) for t in (lifetimes, versions)]
    code = number * (1 + max(s.max(initial=0) for s in spells)) + np.concatenate(spells)
    life, version = code[: len(lifetimes)], code[len(lifetimes) :]
    order = np.argsort(life, kind="stable")
    known = life[order]
    if np.any(known[1:] == known[:-1]):
        raise UsageError(
            f"{folder / 'lifetimes.parquet'}: the columns 'object_id' and 'spell' name "
            "the same spell twice"
        )
    at = np.searchsorted(known, version)
    if not np.isin(version, known).all():
        raise UsageError(
            f"{folder / 'versions.parquet'}: the columns 'object_id' and 'spell' name "
            "a spell that lifetimes.parquet lacks"
        )
    rows: Ints = order[at]
    return rows


def _lives(lifetimes: Table, versions: Table, row: Ints, first: Ints) -> Lives:
    attributes: dict[str, Values] = {}
    for column in lifetimes.column_names:
        if column in BOOKKEEPING:
            continue
        values = lifetimes[column].to_numpy()
        if column in versions.column_names:
            early = versions[column].to_numpy()
            values = values.astype(np.result_type(values, early), copy=True)
            values[row] = early[first]
        attributes[column] = values
    return Lives(
        keys=tuple(str(key) for key in lifetimes["object_id"].to_pylist()),
        absent_before=in_days(lifetimes, "absent_before", -np.inf),
        first_seen=in_days(lifetimes, "first_seen", np.nan),
        last_seen=in_days(lifetimes, "last_seen", np.nan),
        gone_by=in_days(lifetimes, "gone_by", np.inf),
        attributes=attributes,
    )
