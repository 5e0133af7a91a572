"""What a request is worth at the sources of a store, in the long run."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from halflife.config import SourceConfig
from halflife.core.arrays import Floats
from halflife.engine.appraisal import Appraiser
from halflife.kinds.search import selection as search_selection
from halflife.kinds.search.settings import SearchConfig
from halflife.market import price
from halflife.policies.planner import taken
from halflife.stores import summaries

SOME = 2000  # pages of a source that stand for all


class Prospects(NamedTuple):
    """What renewing things of a source buys, the older they are.

    Attributes:
        gain: Weighted quality-days at ``pricing.AGES`` (things x ages).
        cost: Requests that each takes.
        many: How many things each stands for.

    """

    gain: Floats
    cost: Floats
    many: Floats


def long_run(
    appraiser: Appraiser, sources: Sequence[SourceConfig], budget: float
) -> float:
    """Return the gain per request at which sources take a budget, requests a day.

    What is not known yet takes nothing.
    """
    found = [known for s in sources if (known := _prospects(appraiser, s)) is not None]
    if not found:
        return 0.0
    gain, cost, many = (np.concatenate(column) for column in zip(*found, strict=True))
    return price.long_run(gain, cost, budget, many)


def _prospects(appraiser: Appraiser, source: SourceConfig) -> Prospects | None:
    if source.has_pages:
        return _pages(appraiser, source)
    if source.kind == "search":
        return _summary(appraiser, SearchConfig.of(source))
    decay, whole = appraiser.decay(source)
    if decay is None:
        return None
    gain = np.array([[decay.index(age) for age in price.AGES.tolist()]])
    return Prospects(source.weight * gain, np.array([whole]), np.ones(1))


def _pages(appraiser: Appraiser, source: SourceConfig) -> Prospects | None:
    view, of = appraiser.near(source).pages
    mine = of[source.name]
    rows = mine[:: max(mine.size // SOME, 1)]
    if not view.held[rows].any():
        return None
    share = view.weight[rows] / max(float(view.weight[mine].sum()), 1e-12)
    gain = price.gains(taken(view, rows).survival, rows.size)
    many = np.full(rows.size, mine.size / rows.size)
    return Prospects(source.weight * share[:, None] * gain, view.cost[rows], many)


def _summary(appraiser: Appraiser, source: SearchConfig) -> Prospects | None:
    kept = summaries.current(appraiser.store, source.name)
    if kept is None:
        return None
    survival = search_selection.survival(kept, source, appraiser.store)
    left = survival.alive(price.AGES)
    gain = price.gains(survival, 1) / search_selection.deal(left, source, kept)
    one = np.ones(1)
    return Prospects(source.weight * gain, kept.requests * one, one)
