"""What a request is worth at the sources of a store, in the long run."""

from collections.abc import Sequence

import numpy as np

from halflife.config import SourceConfig
from halflife.engine.appraisal import Appraiser
from halflife.kinds.registry import kind_of
from halflife.market import price

SAVED = 10.0  # days of income that are kept for later, at most


def long_run(
    appraiser: Appraiser, sources: Sequence[SourceConfig], budget: float
) -> float:
    """Return the gain per request at which sources take a budget, requests a day.

    What is not known yet takes nothing.
    """
    each = (kind_of(source).prospects(appraiser.state(source)) for source in sources)
    found = [prospects for prospects in each if prospects is not None]
    if not found:
        return 0.0
    gain, cost, many = (np.concatenate(column) for column in zip(*found, strict=True))
    return price.long_run(gain, cost, budget, many)


def kept_for_later(appraiser: Appraiser, credit: float) -> float:
    """Return the gain per request below which requests are kept for later.

    No more than a window's worth adds up, so that none is lost.
    """
    budget = appraiser.config.budget
    sources = [source for group in appraiser.reading.groups for source in group]
    soon, most = budget.hourly, min(float(budget.requests), SAVED * budget.pace)
    usual = long_run(appraiser, sources, budget.pace)
    return price.reserve_price(usual, credit - soon, most - soon)
