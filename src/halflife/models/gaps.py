"""Gaps between observations, validated and summed, for every model of change rates."""

from enum import IntEnum

import numpy as np

from halflife.core.arrays import Bools, Bytes, Floats, Ints
from halflife.core.history import Gaps


class RateStatus(IntEnum):
    """How far the observations of an item determine its rate.

    OK              some gaps saw a change and some did not
    NO_LOOKS        there is no gap at all: the rate is the prior's
    NO_CHANGE       no gap saw a change: at 95 % the rate is at most 3 / days observed
    ALWAYS_CHANGED  every gap saw one: the item changes faster than it is observed
    """

    OK = 0
    NO_LOOKS = 1
    NO_CHANGE = 2
    ALWAYS_CHANGED = 3


def check_gaps(
    item: Ints,
    length: Floats,
    changed: Bools,
    tally: Floats | None,
    n_items: int | None,
) -> tuple[Gaps, int]:
    """Return the columns as gaps, and the number of items; raise ``ValueError`` if bad.

    Rows with a tally of 0 are dropped.
    """
    rows = np.asarray(item, dtype=np.intp)
    days = np.asarray(length, dtype=np.float64)
    changes = np.asarray(changed, dtype=np.bool_)
    times = np.ones(rows.shape) if tally is None else np.asarray(tally, np.float64)
    if rows.ndim != 1 or not rows.shape == days.shape == changes.shape == times.shape:
        raise ValueError(
            "item, length, changed and tally must be columns of one length, got shapes "
            f"{rows.shape}, {days.shape}, {changes.shape} and {times.shape}"
        )
    n = int(rows.max(initial=-1)) + 1 if n_items is None else n_items
    _refuse("item", rows, (rows < 0) | (rows >= n), f"from 0 to {n - 1}")
    _refuse("length", days, ~((days > 0) & (days < np.inf)), "finite and above 0")
    _refuse("tally", times, ~((times >= 0) & (times < np.inf)), "finite, not negative")
    counted = times > 0
    if not counted.all():
        rows, days, changes, times = (
            rows[counted],
            days[counted],
            changes[counted],
            times[counted],
        )
    return Gaps(rows, days, changes, times), n


def quiet_days(gaps: Gaps, n_items: int) -> Floats:
    """Return the sum of each item's gaps that saw no change, in days."""
    quiet = ~gaps.changed
    days = gaps.length[quiet] * gaps.tally[quiet]
    return sum_by_item(gaps.item[quiet], days, n_items)


def sum_by_item(item: Ints, amount: Floats, n_items: int) -> Floats:
    """Return the sum of the amounts of each item."""
    return np.bincount(item, amount, minlength=n_items).astype(np.float64, copy=False)


def statuses(gaps: Gaps, n_items: int) -> Bytes:
    """Return the ``RateStatus`` of each item."""
    busy = np.bincount(gaps.item[gaps.changed], minlength=n_items) > 0
    quiet = np.bincount(gaps.item[~gaps.changed], minlength=n_items) > 0
    status = np.full(n_items, RateStatus.NO_LOOKS, dtype=np.int8)
    status[quiet] = RateStatus.NO_CHANGE
    status[busy] = RateStatus.ALWAYS_CHANGED
    status[busy & quiet] = RateStatus.OK
    return status


def _refuse(name: str, values: Ints | Floats, bad: Bools, must: str) -> None:
    if bad.any():
        at = int(np.flatnonzero(bad)[0])
        raise ValueError(f"{name} must be {must}, got {values[at]} at index {at}")
