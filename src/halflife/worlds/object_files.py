"""Made-up listings as files: the layout in which lives of objects are recorded."""

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
STEP = 0.08  # by how much a value moves, as a standard deviation of its logarithm


def write_listing(
    folder: Path, told: ListingHistory, kind: str, rng: Generator
) -> None:
    """Write ``lifetimes``, ``versions`` and ``snapshots`` to a folder.

    The numbers of a ``ranking`` are counters: they grow.
    """
    keys = np.array([f"{kind}-{i:06d}" for i in range(told.first.size)], dtype=object)
    versions = _versions(told, keys, rng, grows=kind == "ranking")
    count = 1 + np.bincount(told.changed, minlength=told.first.size)
    write_columns(folder / "lifetimes.parquet", _lifetimes(told, keys, count))
    write_columns(folder / "versions.parquet", versions)
    write_columns(folder / "snapshots.parquet", _snapshots(told))


def _times(told: ListingHistory, looks: Ints) -> list[Any]:
    """Return when looks were, as dates or moments; None for those that never were."""
    known = _moments(told)
    return [known[i] if 0 <= i < len(known) else None for i in looks.tolist()]


def _moments(told: ListingHistory) -> list[Any]:
    found = [EPOCH + timedelta(days=BEGAN + at) for at in told.looks.tolist()]
    return [at.date() for at in found] if told.daily else found


def _attributes(told: ListingHistory) -> dict[str, list[Any]]:
    return {
        "owner": [name(i) for i in told.owner.tolist()],
        "title": [" ".join(map(name, row)) for row in told.title.tolist()],
    }


def _lifetimes(told: ListingHistory, keys: Any, count: Ints) -> Columns:  # noqa: ANN401
    looks = told.looks.size
    censored = told.last == looks - 1
    gone = np.where(censored, -1, told.last + 1)
    return {
        "object_id": keys,
        "spell": np.zeros(keys.size, dtype=np.int16),
        "first_seen": _times(told, told.first),
        "last_seen": _times(told, told.last),
        "absent_before": _dated(told, told.first - 1),
        "gone_by": _dated(told, gone),
        "censored": censored,
        "left_censored": told.first == 0,
        "bulk_start": _bulk(told, told.first),
        "bulk_end": _bulk(told, told.last) & ~censored,
        "n_obs": (told.last - told.first + 1).astype(np.int32),
        "gap_filled": np.zeros(keys.size, dtype=np.int32),
        "n_versions": count.astype(np.int32),
        **_attributes(told),
    }


def _dated(told: ListingHistory, looks: Ints) -> Any:  # noqa: ANN401  (pyarrow)
    """Return times of which some are missing, also if all are."""
    import pyarrow as pa  # noqa: PLC0415  (an extra)

    kind = pa.date32() if told.daily else pa.timestamp("us", "UTC")
    return pa.array(_times(told, looks), kind)


def _bulk(told: ListingHistory, look: Ints) -> Bools:
    size = np.maximum(_present(told), 1)
    together = np.bincount(look, minlength=told.looks.size)
    return np.asarray((together >= BULK * size)[look] & (look > 0))


def _present(told: ListingHistory) -> Ints:
    came = np.bincount(told.first, minlength=told.looks.size + 1)
    went = np.bincount(told.last + 1, minlength=told.looks.size + 1)
    return np.cumsum(came - went)[:-1]


def _versions(
    told: ListingHistory,
    keys: Any,  # noqa: ANN401  (an array of texts)
    rng: Generator,
    *,
    grows: bool,
) -> Columns:
    """Return one row for each version; the last one lasts as long as its object."""
    objects = np.arange(keys.size)
    item = np.concatenate([objects, told.changed])
    look = np.concatenate([told.first, told.look])
    order = np.lexsort((look, item))
    item, look = item[order], look[order]
    begins = np.append(True, np.diff(item) != 0)
    until = np.append(look[1:] - 1, 0)
    until[np.append(begins[1:], True)] = told.last[item[np.append(begins[1:], True)]]
    value, place = _values(told, item, begins, rng, grows=grows)
    every = {n: np.array(v, dtype=object)[item] for n, v in _attributes(told).items()}
    return {
        "object_id": keys[item],
        "spell": np.zeros(item.size, dtype=np.int16),
        "seen_from": _times(told, look),
        "seen_to": _times(told, until),
        **every,
        "place": [name(1000 + p) for p in place.tolist()],
        "value": value,
    }


def _values(
    told: ListingHistory, item: Ints, begins: Bools, rng: Generator, *, grows: bool
) -> tuple[Floats, Ints]:
    """Return value and place of each version; each differs from the one before."""
    moves: Bools = ~begins & (rng.random(item.size) < MOVES) & (not grows)
    step = 1.0 + rng.geometric(0.05, item.size) if grows else _steps(rng, item.size)
    step = np.where(begins | moves, 0.0, step)
    start = np.flatnonzero(begins)
    walked = np.cumsum(step) - np.repeat(
        np.cumsum(step)[start], np.diff(np.append(start, item.size))
    )
    value = told.value[item]
    value = np.floor(value) + walked if grows else value * np.exp(walked)
    shift = np.cumsum(moves)
    place = (told.place[item] + shift - shift[start][np.cumsum(begins) - 1]) % PLACES
    return np.round(value, 2), place


def _steps(rng: Generator, many: int) -> Floats:
    """Return steps of a price: up or down, never too small to be seen."""
    way = np.where(rng.random(many) < 0.5, -1.0, 1.0)
    return np.asarray(way * (0.01 + np.abs(rng.normal(0.0, STEP, many))))


def _snapshots(told: ListingHistory) -> Columns:
    looks = told.looks.size
    came = np.bincount(told.first, minlength=looks)
    went = np.bincount(told.last + 1, minlength=looks + 1)[:looks]
    moments = [EPOCH + timedelta(days=BEGAN + at) for at in told.looks.tolist()]
    return {
        "date": [at.date() for at in moments],
        "taken_at": moments,
        "valid": np.ones(looks, dtype=np.bool_),
        "note": [""] * looks,
        "n_objects": _present(told),
        "n_inserted": np.append(0, came[1:]),
        "n_deleted": went,
        "n_updated": np.bincount(told.look, minlength=looks),
    }
