"""Measures of the copies of single items."""

import numpy as np

from halflife.core.arrays import Bools, Floats


def freshness(current: Bools, weight: Floats) -> float:
    """Return the weighted share of copies that equal their source right now.

    Without items, or without weight, it is 1.

    >>> freshness(np.array([True, False]), np.array([3.0, 1.0]))
    0.75
    """
    total = float(weight.sum())
    return float((current * weight).sum() / total) if total > 0 else 1.0


def age(stale_since: Floats, now: float, weight: Floats) -> float:
    """Return the weighted mean time that copies have been out of date, in days.

    ``stale_since`` is when each copy went stale; a current copy has ``inf``.
    Cho and Garcia-Molina, "Effective page refresh policies", TODS 2003, s. 2.

    >>> age(np.array([1.0, np.inf]), 3.0, np.ones(2))
    1.0
    """
    total = float(weight.sum())
    late = np.maximum(now - stale_since, 0.0)
    return float((late * weight).sum() / total) if total > 0 else 0.0


def change_ratio(found_changed: int, looked_at: int) -> float:
    """Return the share of fetches that found a change; 0 without fetches.

    Papers/003 (Taleghani and Ugur-Ozekinci), s. 2.

    >>> change_ratio(3, 4)
    0.75
    """
    return found_changed / looked_at if looked_at else 0.0
