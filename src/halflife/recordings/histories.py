"""Recorded histories from files, for replay.

Two layouts are read:

- a CSV file with the columns ``key`` and ``at`` (ISO 8601 or days), one row for
  each moment at which an item changed, and optionally ``weight``;
- a folder with ``pages.parquet`` (site, page, created_at, deleted_at) and
  ``changes.parquet`` (site, page, timestamp, kind), times in Unix seconds. Sites
  were watched at different times, so each is moved to end at the same moment.
  Where the folder has ``sites.parquet`` (site, window_start) and
  ``docs_weekly.parquet`` (site, page, week_from, week_to, n_tokens), a page is as
  long as in the last weekly snapshot before the window begins; a later one would
  reveal the future.
"""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from math import isfinite
from pathlib import Path

import numpy as np

from halflife.core.arrays import Floats, Ints
from halflife.core.errors import UsageError
from halflife.recordings.pages import Recording, recording_of_changes
from halflife.recordings.parquet import Table, read_table

SECONDS_A_DAY = 86400.0
DAYS_A_WEEK = 7.0


@dataclass(frozen=True, slots=True)
class RecordedSpan:
    """A recording and the period it covers, in days."""

    recording: Recording
    begin: float
    end: float


def load(path: Path, *, days: float | None = None, later: bool = False) -> RecordedSpan:
    """Return the history in a file or folder; ``days`` keeps the last ones only.

    For a folder, ``later`` also keeps the pages that came after the beginning.
    """
    if path.is_dir():
        return _from_parquet(path, 360.0 if days is None else days, later=later)
    if not path.exists():
        raise UsageError(f"{path}: no such file or folder; give a recorded history")
    if not path.is_file():  # reading a pipe might never end
        raise UsageError(f"{path}: not a file; give a recorded history")
    if path.suffix.lower() == ".csv":
        return _from_csv(path, days)
    raise UsageError(
        f"{path}: not a history I can read; give a .csv with the columns key and at, "
        "or a folder with pages.parquet and changes.parquet"
    )


def _from_csv(path: Path, days: float | None) -> RecordedSpan:
    keys, at, weight = _lines(path)
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
    recording = recording_of_changes(names, item, moments, lives, weights)
    return RecordedSpan(recording, begin, end)


def _lines(path: Path) -> tuple[list[str], list[float], dict[str, float]]:
    """Return the keys and times of a file, line by line, and the weights of keys."""
    keys: list[str] = []
    at: list[float] = []
    weight: dict[str, float] = {}
    number = 1
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = csv.DictReader(file)
            if not {"key", "at"} <= set(rows.fieldnames or ()):
                raise ValueError("needs the columns key and at")  # noqa: TRY301
            for row in rows:
                number = rows.line_num
                key, moment, heavy = _row(row)
                keys.append(key)
                at.append(moment)
                weight[key] = heavy
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: not UTF-8 text (byte {error.start})") from None
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from None
    except (ValueError, OverflowError, csv.Error) as error:
        raise UsageError(f"{path}, line {number}: {error}") from None
    return keys, at, weight


def _row(row: Mapping[str, str | None]) -> tuple[str, float, float]:
    """Return the key, the time and the weight of a line; raise ``ValueError``."""
    key, at = row["key"], row["at"]
    if not key or not at:
        raise ValueError("it lacks a key or a time")
    moment, weight = _moment(at), float(row.get("weight") or 1.0)
    if not (isfinite(moment) and isfinite(weight)):
        raise ValueError("its time and weight must be finite numbers")
    return key, moment, weight


def _moment(text: str) -> float:
    """Return a time in days since the epoch; a bare number is days already."""
    try:
        return float(text)
    except ValueError:
        moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return moment.timestamp() / SECONDS_A_DAY


def _from_parquet(folder: Path, days: float, *, later: bool) -> RecordedSpan:
    pages = read_table(
        folder / "pages.parquet", ("site", "page", "created_at", "deleted_at")
    )
    changes = read_table(
        folder / "changes.parquet", ("site", "page", "timestamp", "kind")
    )
    ends = changes.group_by("site").aggregate([("timestamp", "max")])
    born, died = _days(pages, ends, ("created_at", "deleted_at"), days)
    died = np.where(np.isnan(died), np.inf, died)
    # Only pages that are there when the window opens: later ones are unknown.
    there = np.flatnonzero((born <= (days if later else 0.0)) & (died > 0))
    known = dict(zip(_keys(pages.take(there)).to_pylist(), there.tolist(), strict=True))
    rows = np.array(list(known.values()), dtype=np.intp)
    item, at = _modified(changes, ends, _keys(pages.take(rows)), days)
    site, page = (pages[c].take(rows).to_pylist() for c in ("site", "page"))
    names = tuple(map("{}/{}".format, site, page))
    lives = np.where(born > 0, born, -np.inf)[rows], died[rows]
    recording = recording_of_changes(names, item, at, lives)
    length = _lengths(folder, ends, _keys(pages.take(rows)), days)
    recording = replace(recording, group=tuple(site), length=length)
    return RecordedSpan(recording, 0.0, days)


def _lengths(folder: Path, ends: Table, keys: Table, days: float) -> Floats:
    """Return the words of each page before the window begins; nan if unknown."""
    files = folder / "sites.parquet", folder / "docs_weekly.parquet"
    if not all(file.is_file() for file in files):
        return np.zeros(0)
    sites = read_table(files[0], ("site", "window_start"))
    texts = read_table(files[1], ("site", "page", "week_from", "week_to", "n_tokens"))
    (start,) = _days(sites, ends, ("window_start",), days)
    week = np.append(np.floor(-start / DAYS_A_WEEK), np.nan)
    week = week[_places(texts["site"], sites["site"])]
    first, last = (_numbers(texts[c]) for c in ("week_from", "week_to"))
    rows = np.flatnonzero((first <= week) & (week <= last))
    item = _places(_keys(texts.take(rows)), keys)
    length = np.full(len(keys) + 1, np.nan)
    length[item] = _numbers(texts["n_tokens"])[rows]  # -1, if not known, is the last
    return length[:-1]


def _days(
    table: Table, ends: Table, columns: Sequence[str], days: float
) -> list[Floats]:
    """Return columns of moments, in days of a window that ends with each site."""
    home = _places(table["site"], ends["site"])
    end = np.append(_numbers(ends["timestamp_max"]), np.nan)[home]
    return [days + (_numbers(table[c]) - end) / SECONDS_A_DAY for c in columns]


def _modified(
    changes: Table, ends: Table, keys: Table, days: float
) -> tuple[Ints, Floats]:
    """Return the changes of known pages within the window: which page, and when."""
    (at,) = _days(changes, ends, ("timestamp",), days)
    modified = np.array(changes["kind"].to_pylist(), dtype=np.object_) == "M"
    inside = np.flatnonzero(modified & (at > 0))
    item = _places(_keys(changes.take(inside)), keys)
    known = item >= 0
    return item[known], at[inside][known]


def _keys(table: Table) -> Table:
    """Return site and page as one column; no name contains the separator."""
    from pyarrow import compute  # noqa: PLC0415  (an extra)

    names = (compute.cast(table[c], "string") for c in ("site", "page"))
    return compute.binary_join_element_wise(*names, "\x1f")


def _places(values: Table, among: Table) -> Ints:
    """Return the position of each value in another column; -1 if it is missing."""
    from pyarrow import compute  # noqa: PLC0415  (an extra)

    found = compute.index_in(values, value_set=among.combine_chunks())
    places: Ints = compute.fill_null(found, -1).to_numpy().astype(np.intp)
    return places


def _numbers(column: Table) -> Floats:
    """Return a column as numbers; nan where it has no value."""
    numbers: Floats = column.cast("float64").to_numpy()
    return numbers
