"""Learn how evenly pages change from the fetches before a target was set.

The rule for targets learns from its rounds how much the loss of a day differs from the
expected one. Earlier fetches give the same evidence: of the pages fetched on a day, how
many had changed, and how many were expected to.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from halflife.core.arrays import Bools, Floats, Ints
from halflife.kinds.pages.target import PageSnapshot
from halflife.market.target_rule import HALF, LossHistory, TargetRound
from halflife.stores import Store

FARTHEST = int(2 * HALF)  # days of history that are used
MOST = 500_000  # most observations that are read


def past(store: Store, pages: PageSnapshot) -> LossHistory:
    """Return the loss history learned from fetches so far; the latest day counts most.

    The expected loss is that of today's belief. The history is empty if there are too
    many observations to read into memory.
    """
    learned = LossHistory()
    view, rows = pages.view, pages.rows
    if int(view.looks[rows].sum()) > MOST:
        return learned
    things = 1.0 / max(float(pages.share @ pages.share), 1e-12)
    for page, gap, changed in _days(store, pages):
        ages = np.zeros(len(view))
        ages[rows[page]] = gap
        stale = 1.0 - np.clip(view.survival.alive(ages)[rows[page]], 0.0, 1.0)
        share = pages.share[page]
        believed, lost = float(share @ stale), float(share @ changed)
        days = float(np.mean(np.minimum(gap, 1.0)))
        day = TargetRound(things, believed, 0.0, lost, 0.0, 0.0, 0.0, days)
        learned = learned.with_round(day, 1.0)
        learned = replace(learned, watched=learned.watched + 1.0)
    return learned


def _days(store: Store, pages: PageSnapshot) -> Iterator[tuple[Ints, Floats, Bools]]:
    """Return the pages fetched on each day, the oldest day first.

    With each page the days since its fetch before, and whether it had changed. Of
    several fetches of a page on one day the last counts.
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
        on_day = np.flatnonzero(day == ago)
        last = on_day[np.r_[page[on_day][1:] != page[on_day][:-1], True][: on_day.size]]
        if last.size:
            yield page[last], gap[last], changed[last]
