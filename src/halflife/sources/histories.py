"""Recorded histories from files, for replay.

Two layouts are read:

- a CSV file with the columns ``key`` and ``at`` (ISO 8601 or days), one row for
  each moment at which an item changed, and optionally ``weight``;
- a folder with ``pages.parquet`` (site, page, created_at, deleted_at) and
  ``changes.parquet`` (site, page, timestamp, kind), times in Unix seconds. Sites
  were watched at different times, so each is moved to end at the same moment.
"""

import csv
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from halflife.arrays import Floats, Ints
from halflife.errors import UsageError
from halflife.sources.parquet import read_table
from halflife.sources.recorded import Recording

SECONDS_A_DAY = 86400.0


@dataclass(frozen=True, slots=True)
class Recorded:
    """A recording and the stretch of time it covers, in days."""

    recording: Recording
    begin: float
    end: float


def load(path: Path, *, days: float | None = None) -> Recorded:
    """Return the history in a file or folder; ``days`` keeps the last so many."""
    if path.is_dir():
        return _from_parquet(path, 360.0 if days is None else days)
    if not path.exists():
        raise UsageError(f"{path}: no such file or folder; give a recorded history")
    if path.suffix.lower() == ".csv":
        return _from_csv(path, days)
    raise UsageError(
        f"{path}: not a history I can read; give a .csv with the columns key and at, "
        "or a folder with pages.parquet and changes.parquet"
    )


def _from_csv(path: Path, days: float | None) -> Recorded:
    keys: list[str] = []
    at: list[float] = []
    weight: dict[str, float] = {}
    with path.open(newline="", encoding="utf-8") as file:
        rows = csv.DictReader(file)
        if not {"key", "at"} <= set(rows.fieldnames or ()):
            raise UsageError(f"{path}: needs the columns key and at in its first line")
        for number, row in enumerate(rows, start=2):
            try:
                at.append(_moment(row["at"]))
                weight[row["key"]] = float(row.get("weight") or 1.0)
            except ValueError as error:
                raise UsageError(f"{path}, line {number}: {error}") from error
            keys.append(row["key"])
    if not at:
        raise UsageError(f"{path}: holds no change; a history needs at least one")
    names = tuple(dict.fromkeys(keys))
    row_of = {name: i for i, name in enumerate(names)}
    item = np.array([row_of[k] for k in keys], dtype=np.intp)
    moments = np.array(at)
    begin, end = float(np.floor(moments.min())), float(np.ceil(moments.max()))
    end = max(end, begin + 1.0)
    if days is not None:
        begin = max(begin, end - days)
    weights = np.array([weight[name] for name in names])
    lives = np.full(len(names), -np.inf), np.full(len(names), np.inf)
    return Recorded(_recording(names, item, moments, weights, *lives), begin, end)


def _moment(text: str) -> float:
    """Return a time in days since the epoch; a bare number is days already."""
    try:
        return float(text)
    except ValueError:
        moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return moment.timestamp() / SECONDS_A_DAY


def _from_parquet(folder: Path, days: float) -> Recorded:
    pages = _table(
        folder / "pages.parquet", ("site", "page", "created_at", "deleted_at")
    )
    changes = _table(folder / "changes.parquet", ("site", "page", "timestamp", "kind"))
    end_of: dict[str, int] = {}
    for site, at in zip(changes["site"], changes["timestamp"], strict=True):
        end_of[site] = max(end_of.get(site, 0), at)
    row_of: dict[tuple[str, str], int] = {}
    died: list[float] = []
    columns = (pages[c] for c in ("site", "page", "created_at", "deleted_at"))
    for site, page, created, deleted in zip(*columns, strict=True):
        end = end_of.get(site)
        if end is None or created is None:
            continue
        gone = np.inf if deleted is None else days + (deleted - end) / SECONDS_A_DAY
        # Only pages that are there when the window opens: later ones are unknown.
        if days + (created - end) / SECONDS_A_DAY <= 0 < gone:
            row_of[site, page] = len(died)
            died.append(gone)
    item, at_days = _modified(changes, row_of, end_of, days)
    names = tuple(f"{site}/{page}" for site, page in row_of)
    n = len(names)
    born = np.full(n, -np.inf)
    group = tuple(site for site, _ in row_of)
    recording = _recording(names, item, at_days, np.ones(n), born, np.array(died))
    return Recorded(replace(recording, group=group), 0.0, days)


def _modified(
    changes: dict[str, list[Any]],
    row_of: dict[tuple[str, str], int],
    end_of: dict[str, int],
    days: float,
) -> tuple[Ints, Floats]:
    item: list[int] = []
    at: list[float] = []
    columns = (changes[c] for c in ("site", "page", "timestamp", "kind"))
    for site, page, timestamp, kind in zip(*columns, strict=True):
        row = row_of.get((site, page))
        moment = days + (timestamp - end_of[site]) / SECONDS_A_DAY
        if row is not None and kind == "M" and moment > 0:
            item.append(row)
            at.append(moment)
    return np.array(item, dtype=np.intp), np.array(at, dtype=np.float64)


def _table(path: Path, columns: Sequence[str]) -> dict[str, list[Any]]:
    table: dict[str, list[Any]] = (
        read_table(path, columns).select(list(columns)).to_pydict()
    )
    return table


def _recording(
    keys: tuple[str, ...],
    item: Ints,
    at: Floats,
    weight: Floats,
    born: Floats,
    died: Floats,
) -> Recording:
    order = np.lexsort((at, item))
    start = np.zeros(len(keys) + 1, dtype=np.intp)
    np.cumsum(np.bincount(item, minlength=len(keys)), out=start[1:])
    return Recording(keys, start, at[order], weight, born, died)
