"""How long a source was below its level, by what fetches found afterwards."""

import numpy as np

from halflife.core.arrays import Floats

_TIGHT = 1e-9


def days_below(loss: float, share: Floats, last: Floats, found: Floats) -> float:
    """Return the expected days below a level that fetches of changed items ended.

    Item i has the share ``share[i]``; together they exceed the ``loss`` that the level
    allows. It was fetched ``found[i]`` days ago and had changed since the fetch before
    that, ``last[i]`` days ago. If all changed at once, they did so before the first was
    found and after the last of the fetches before, at any moment between equally
    likely. If that cannot be, as many changed by then as exceed the loss. The level was
    reached again when so many were found that the others do not exceed it.

    >>> half = np.full(2, 0.5)
    >>> days_below(0.4, half, last=np.array([3.0, 9.0]), found=np.array([1.0, 0.5]))
    1.5
    """
    first, latest = float(found.max()), float(last.min())
    if latest < first:
        oldest = np.argsort(-last)
        exceeds = np.cumsum(share[oldest]) > loss + _TIGHT
        latest = max(float(last[oldest[np.argmax(exceeds)]]), first)
    newest = np.argsort(found)
    exceeds = np.cumsum(share[newest]) > loss + _TIGHT
    return (first + latest) / 2.0 - float(found[newest[np.argmax(exceeds)]])
