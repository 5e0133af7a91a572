"""The long-run value of a request at the sources of a store."""

from collections.abc import Sequence

import numpy as np

from halflife.config import SourceConfig
from halflife.engine.appraisal import Appraiser
from halflife.kinds.registry import kind_of
from halflife.market import price

SAVED = 10.0  # the most days of income that are saved


def long_run(
    appraiser: Appraiser, sources: Sequence[SourceConfig], budget: float
) -> float:
    """Return the gain per request at which sources use up a budget of requests a day.

    Sources without prospects yet use nothing.
    """
    prospects = (kind_of(s).prospects(appraiser.state(s)) for s in sources)
    found = [prospect for prospect in prospects if prospect is not None]
    if not found:
        return 0.0
    gain, cost, many = (np.concatenate(column) for column in zip(*found, strict=True))
    return price.long_run(gain, cost, budget, many)


def kept_for_later(appraiser: Appraiser, credit: float) -> float:
    """Return the gain per request below which requests are saved for later.

    No more than a window's worth is saved, so that none is lost.
    """
    budget = appraiser.config.budget
    sources = [source for group in appraiser.reading.groups for source in group]
    soon, most = budget.hourly, min(float(budget.requests), SAVED * budget.pace)
    usual = long_run(appraiser, sources, budget.pace)
    return price.reserve_price(usual, credit - soon, most - soon)
