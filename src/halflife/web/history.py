"""The freshness of pages on past days, as known from later fetches."""

from collections.abc import Sequence

import numpy as np
from numpy.random import default_rng

from halflife.models.hindsight import FetchGaps, PastFreshness, past_freshness
from halflife.stores import Store

DAYS = 30.0  # days that are shown
FARTHER = 60.0  # days before them in which the first fetch of a page is searched
MOST = 400  # pages drawn at random where there are more: within 5 points, and quick
STEP = 1.0  # days between two points
DELETED = 1.25  # the largest number of an item, as a multiple of the items


def take(store: Store, now: float, believed: float) -> PastFreshness | None:
    """Return the freshness of the past days; None if pages were fetched only once.

    ``believed`` is its present estimate.
    """
    total = store.item_count()
    if not total or not 0.0 <= believed <= 1.0:
        return None
    numbers = np.arange(1, int(DELETED * total) + 100)
    if total > MOST:
        numbers = default_rng(total).choice(numbers, MOST, replace=False)
    return of_items(store, numbers.tolist(), now, believed)


def of_items(
    store: Store, numbers: Sequence[int], now: float, believed: float
) -> PastFreshness | None:
    """Return the freshness of some pages, by their numbers in the store."""
    if not numbers or not 0.0 <= believed <= 1.0:
        return None
    gaps = _gaps(store.reports.observations(numbers, now - DAYS - FARTHER))
    if not np.isfinite(gaps.end).any():
        return None
    first = max(float(gaps.start.min()), now - DAYS)
    at = np.append(np.arange(first, now, STEP), now)
    return past_freshness(gaps, at, now, believed)


def _gaps(found: list[tuple[int, float, bool]]) -> FetchGaps:
    """Return the gaps between observations, which are sorted by item and time."""
    item = np.array([number for number, _, _ in found], dtype=np.int64)
    at = np.array([moment for _, moment, _ in found])
    changed = np.array([change for *_, change in found], dtype=bool)
    same = np.append(item[1:] == item[:-1], np.zeros(min(item.size, 1), dtype=bool))
    end = np.where(same, np.append(at[1:], np.zeros(min(at.size, 1))), np.inf)
    after = np.append(changed[1:], np.zeros(min(at.size, 1), dtype=bool))
    return FetchGaps(at, end, after & same)
