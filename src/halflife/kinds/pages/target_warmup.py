"""What the looks before a target was set tell of pages: how evenly they change.

The rule for targets learns from its rounds by how much the loss of a day differs from
what is believed. Looks that were made for another reason tell the same: of the pages
that were looked at on a day, how many had changed, and how many were expected to.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from halflife.core.arrays import Bools, Floats, Ints
from halflife.kinds.pages.target import PageSnapshot
from halflife.market.target_rule import HALF, Past, TargetRound
from halflife.stores import Store

FARTHEST = int(2 * HALF)  # days that are looked back on
MOST = 500_000  # looks that are read at once, at most


def past(store: Store, pages: PageSnapshot) -> Past:
    """Return what the looks so far have shown, the latest day counting most.

    What pages are believed to lose is today's belief. Nothing is told if there are so
    many looks that to read them all would take too much memory.
    """
    found = Past()
    view, rows = pages.view, pages.rows
    if int(view.looks[rows].sum()) > MOST:
        return found
    things = 1.0 / max(float(pages.share @ pages.share), 1e-12)
    for page, gap, changed in _days(store, pages):
        ages = np.zeros(len(view))
        ages[rows[page]] = gap
        stale = 1.0 - np.clip(view.survival.alive(ages)[rows[page]], 0.0, 1.0)
        share = pages.share[page]
        believed, lost = float(share @ stale), float(share @ changed)
        days = float(np.mean(np.minimum(gap, 1.0)))
        told = TargetRound(things, believed, 0.0, lost, 0.0, 0.0, 0.0, days)
        found = found.learned(told, 1.0)
        found = replace(found, watched=found.watched + 1.0)
    return found


def _days(store: Store, pages: PageSnapshot) -> Iterator[tuple[Ints, Floats, Bools]]:
    """Return the pages that were looked at on each day, the oldest day first.

    With each the days since the look before, and whether it had changed; of several
    looks at a page on one day the last counts.
    """
    history = store.history([pages.source.name])
    number = {key: i for i, key in enumerate(history.keys)}
    keys = [pages.view.keys[row] for row in pages.rows.tolist()]
    mine = np.full(len(history), -1, dtype=np.intp)
    for place, key in enumerate(keys):
        if key in number:
            mine[number[key]] = place
    item, at = history.item, history.at
    again = (item[1:] == item[:-1]) & (np.diff(at) > 0) & (mine[item[1:]] >= 0)
    differs = (np.diff(history.digest) != 0) | (np.diff(history.seen) != 0)
    page, gap, changed = mine[item[1:]][again], np.diff(at)[again], differs[again]
    day = np.floor(pages.now - at[1:][again]).astype(np.intp)
    for ago in range(FARTHEST, -1, -1):
        some = np.flatnonzero(day == ago)
        last = some[np.r_[page[some][1:] != page[some][:-1], True][: some.size]]
        if last.size:
            yield page[last], gap[last], changed[last]
