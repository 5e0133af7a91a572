"""Made-up listings as files: the layout in which lifetimes of objects are recorded."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.random import Generator

from halflife.core.arrays import Bools, Floats, Ints
from halflife.recordings.parquet import write_columns
from halflife.worlds.objects import MOVES, PLACES, ListingHistory, name
from halflife.worlds.site_files import BEGAN

Columns: TypeAlias = Mapping[str, Any]
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
BULK = 0.2  # share of a listing that comes or goes at once, from which it is marked
STEP = 0.08  # size of a value's change: the standard deviation of its logarithm


def write_listing(
    folder: Path, history: ListingHistory, kind: str, rng: Generator
) -> None:
    """Write ``lifetimes``, ``versions`` and ``snapshots`` to a folder.

    The numbers of a ``ranking`` are counters: they grow.
    """
    keys = np.array(
        [f"{kind}-{i:06d}" for i in range(history.first.size)], dtype=object
    )
    versions = _versions(history, keys, rng, grows=kind == "ranking")
    count = 1 + np.bincount(history.changed, minlength=history.first.size)
    write_columns(folder / "lifetimes.parquet", _lifetimes(history, keys, count))
    write_columns(folder / "versions.parquet", versions)
    write_columns(folder / "snapshots.parquet", _snapshots(history))


def _times(history: ListingHistory, snapshots: Ints) -> list[Any]:
    """Return the times of snapshots as dates or moments; None for unknown ones."""
    known = _moments(history)
    if history.daily:
        known = [at.date() for at in known]
    return [known[i] if 0 <= i < len(known) else None for i in snapshots.tolist()]


def _moments(history: ListingHistory) -> list[Any]:
    return [EPOCH + timedelta(days=BEGAN + at) for at in history.taken.tolist()]


def _attributes(history: ListingHistory) -> dict[str, list[Any]]:
    return {
        "owner": [name(i) for i in history.owner.tolist()],
        "title": [" ".join(map(name, row)) for row in history.title.tolist()],
    }


def _lifetimes(history: ListingHistory, keys: Any, count: Ints) -> Columns:  # noqa: ANN401
    snapshots = history.taken.size
    censored = history.last == snapshots - 1
    gone = np.where(censored, -1, history.last + 1)
    return {
        "object_id": keys,
        "spell": np.zeros(keys.size, dtype=np.int16),
        "first_seen": _times(history, history.first),
        "last_seen": _times(history, history.last),
        "absent_before": _dated(history, history.first - 1),
        "gone_by": _dated(history, gone),
        "censored": censored,
        "left_censored": history.first == 0,
        "bulk_start": _bulk(history, history.first),
        "bulk_end": _bulk(history, history.last) & ~censored,
        "n_obs": (history.last - history.first + 1).astype(np.int32),
        "gap_filled": np.zeros(keys.size, dtype=np.int32),
        "n_versions": count.astype(np.int32),
        **_attributes(history),
    }


def _dated(history: ListingHistory, snapshots: Ints) -> Any:  # noqa: ANN401  (pyarrow)
    """Return times as a column with a type, even if all are missing."""
    import pyarrow as pa  # noqa: PLC0415  (an extra)

    kind = pa.date32() if history.daily else pa.timestamp("us", "UTC")
    return pa.array(_times(history, snapshots), kind)


def _bulk(history: ListingHistory, snapshot: Ints) -> Bools:
    size = np.maximum(_present(history), 1)
    together = np.bincount(snapshot, minlength=history.taken.size)
    return np.asarray((together >= BULK * size)[snapshot] & (snapshot > 0))


def _present(history: ListingHistory) -> Ints:
    came = np.bincount(history.first, minlength=history.taken.size + 1)
    went = np.bincount(history.last + 1, minlength=history.taken.size + 1)
    return np.cumsum(came - went)[:-1]


def _versions(
    history: ListingHistory,
    keys: Any,  # noqa: ANN401  (an array of texts)
    rng: Generator,
    *,
    grows: bool,
) -> Columns:
    """Return one row for each version; the last one ends with its object."""
    objects = np.arange(keys.size)
    item = np.concatenate([objects, history.changed])
    snapshot = np.concatenate([history.first, history.found_by])
    order = np.lexsort((snapshot, item))
    item, snapshot = item[order], snapshot[order]
    begins = np.append(True, np.diff(item) != 0)
    until = np.append(snapshot[1:] - 1, 0)
    until[np.append(begins[1:], True)] = history.last[item[np.append(begins[1:], True)]]
    value, place = _values(history, item, begins, rng, grows=grows)
    attributes = {
        n: np.array(v, dtype=object)[item] for n, v in _attributes(history).items()
    }
    return {
        "object_id": keys[item],
        "spell": np.zeros(item.size, dtype=np.int16),
        "seen_from": _times(history, snapshot),
        "seen_to": _times(history, until),
        **attributes,
        "place": [name(1000 + p) for p in place.tolist()],
        "value": value,
    }


def _values(
    history: ListingHistory, item: Ints, begins: Bools, rng: Generator, *, grows: bool
) -> tuple[Floats, Ints]:
    """Return value and place of each version; each differs from the one before."""
    moves: Bools = ~begins & (rng.random(item.size) < MOVES) & (not grows)
    step = 1.0 + rng.geometric(0.05, item.size) if grows else _steps(rng, item.size)
    step = np.where(begins | moves, 0.0, step)
    start = np.flatnonzero(begins)
    walked = np.cumsum(step) - np.repeat(
        np.cumsum(step)[start], np.diff(np.append(start, item.size))
    )
    value = history.value[item]
    value = np.floor(value) + walked if grows else value * np.exp(walked)
    shift = np.cumsum(moves)
    place = (history.place[item] + shift - shift[start][np.cumsum(begins) - 1]) % PLACES
    return np.round(value, 2), place


def _steps(rng: Generator, many: int) -> Floats:
    """Return steps of a price, up or down, of at least 1 %."""
    way = np.where(rng.random(many) < 0.5, -1.0, 1.0)
    return np.asarray(way * (0.01 + np.abs(rng.normal(0.0, STEP, many))))


def _snapshots(history: ListingHistory) -> Columns:
    snapshots = history.taken.size
    came = np.bincount(history.first, minlength=snapshots)
    went = np.bincount(history.last + 1, minlength=snapshots + 1)[:snapshots]
    moments = _moments(history)
    return {
        "date": [at.date() for at in moments],
        "taken_at": moments,
        "valid": np.ones(snapshots, dtype=np.bool_),
        "note": [""] * snapshots,
        "n_objects": _present(history),
        "n_inserted": np.append(0, came[1:]),
        "n_deleted": went,
        "n_updated": np.bincount(history.found_by, minlength=snapshots),
    }
