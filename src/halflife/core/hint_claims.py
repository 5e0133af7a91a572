"""The claims of hints, and their kinds."""

import numpy as np

from halflife.core.arrays import Floats, Ints
from halflife.core.observation import HINT_KINDS, Observations, Seen

_CODES = {name: code for code, name in enumerate(HINT_KINDS)}
_HINT = int(Seen.HINT)  # reading an enum member is slow


def by_kind(hints: Ints) -> Ints:
    """Return the hints of each kind, a row for each.

    >>> by_kind(np.array([3, 3 + (1 << 16)])).tolist()
    [[3, 3], [0, 0], [0, 1], [0, 0]]
    """
    shifts = 8 * np.arange(len(HINT_KINDS))
    counts: Ints = (np.asarray(hints)[None] >> shifts[:, None]) & 0xFF
    return counts


def hint_kinds(batch: Observations) -> Ints:
    """Return the index of each hint's kind in ``HINT_KINDS``; 0 for other rows."""
    if not (batch.seen == _HINT).any():
        return np.zeros(len(batch), dtype=np.intp)
    codes = (_CODES.get(text, 0) for text in batch.digest)
    kinds = np.fromiter(codes, np.intp, len(batch))
    return np.where(batch.seen == _HINT, kinds, 0)


def claimed_times(batch: Observations) -> Floats:
    """Return the moment at which each hint claims that its item changed.

    ``-inf`` if it names none, and for rows that are not hints.
    """
    hint = batch.seen == _HINT
    if not hint.any():
        return np.full(len(batch), -np.inf)
    claimed = batch.at
    if batch.details:
        moments = (-np.inf if o.modified is None else o.modified for o in batch.details)
        claimed = np.fromiter(moments, np.float64, len(batch))
    return np.where(hint & np.isfinite(claimed), claimed, -np.inf)
