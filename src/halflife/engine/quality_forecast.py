"""Forecasts of the quality of a source's copy, now and in the next hours.

For a listing, a form or a search they assume no further fetch. For pages they assume
the present rate of fetches, unless something prevents that.
"""

import numpy as np

from halflife.config import SourceConfig
from halflife.core.arrays import Floats
from halflife.core.forecast import Forecast
from halflife.engine.appraisal import Appraiser
from halflife.engine.bound_widening import Trust
from halflife.kinds.registry import kind_of

AHEAD = np.linspace(0.0, 0.5, 25)  # days; alerts need no longer horizon
NOW = np.zeros(1)
SURE = 0.975  # the confidence of each bound where a target names none


def quality(
    appraiser: Appraiser,
    source: SourceConfig,
    sure: float | None,
    *,
    looks: bool,
    ahead: Floats = AHEAD,
) -> Forecast | None:
    """Return the quality from now on; None if nothing is known of it.

    ``sure`` is the confidence of each bound; bounds are widened where forecasts of the
    source are not trusted. With ``looks`` pages are fetched at their present rate.
    """
    kind, state = kind_of(source), appraiser.state(source)
    cast = kind.quality(state, sure or SURE, ahead, looks=looks)
    if cast is None:
        return None
    trust = appraiser.trust(source)
    return trust.forecast(cast) if looks else stated(cast, trust)


def stated(cast: Forecast, trust: Trust) -> Forecast:
    """Return a forecast of a copy without further fetches, as users see it."""
    return trust.forecast(cast).unfetched()


def quality_now(appraiser: Appraiser, source: SourceConfig) -> Forecast | None:
    """Return the quality at this moment with 95 % bounds; None if it is not known.

    Every surface states this number. It assumes no future fetch.
    """
    return quality(appraiser, source, None, looks=False, ahead=NOW)
