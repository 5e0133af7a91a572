"""The turnover of a form: how fast its records come and go."""

from math import inf
from typing import TYPE_CHECKING

import numpy as np

from halflife.core.arrays import Floats
from halflife.models.turnover import Turnover, unrest_of_events

if TYPE_CHECKING:
    from halflife.queries.form_copy import FormCopy

# Days that rates are learned from. With 14, 28 and all days, forecasts of a week had
# interval scores of 0.352, 0.311 and 0.295 on a list of jobs, and of 0.612, 0.614 and
# 0.808 after all began to happen three times as fast.
RECENT = 28.0
EVENTS = 50  # at least: with fewer, errors of the rates would be larger than 1 in 7


def turnover(copy: "FormCopy") -> Turnover:
    """Return the rates at which records arrive and depart, from a copy's history.

    A record departed halfway between when it was last seen and when it was found gone.
    Arrivals are counted since the first crawl. Both are those of the last ``RECENT``
    days, or of the last ``EVENTS`` if these took longer. ``hidden`` is how much smaller
    the copy is than the first crawl left it: these records may have gone without a
    replacement.
    """
    came = np.array(list(copy.came.values()), dtype=np.float64)
    last = np.array([copy.seen[key] for key in copy.came], dtype=np.float64)
    first, seen, ended = np.array(copy.gone, dtype=np.float64).reshape(-1, 3).T
    days = max(copy.last - copy.since, 0.0)
    began = np.concatenate([came, first])
    new = began[began > copy.since]
    begin = _begin(np.concatenate([new, ended]), copy.last)
    until = np.where(ended > begin, (seen + ended) / 2.0, seen)
    return Turnover(
        came=float(np.count_nonzero(new > begin)),
        went=float(np.count_nonzero(ended > begin)),
        days=max(copy.last - max(begin, copy.since), 0.0),
        seen=_lived(came, last, begin) + _lived(first, until, begin),
        unrest=unrest_of_events(
            np.concatenate([new, ended]), copy.since, days, ended - seen
        ),
        hidden=float(began.size - new.size - len(copy.records)),
    )


def _begin(moments: Floats, now: float) -> float:
    """Return when the recent past began, that rates are learned from."""
    if moments.size <= EVENTS:
        return -inf
    earlier = float(np.partition(moments, -EVENTS - 1)[-EVENTS - 1])
    return min(now - RECENT, earlier)


def _lived(came: Floats, until: Floats, begin: float) -> float:
    """Return the days that records lived after ``begin``, summed."""
    return float(np.sum(np.maximum(until - np.maximum(came, begin), 0.0)))
