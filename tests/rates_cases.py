"""Every estimator of change rates, and gaps to feed it."""

from functools import partial

import hypothesis.strategies as st
import numpy as np

from halflife.models.rates.counts import (
    Counted,
    bias_reduced,
    law_of_large_numbers,
    naive,
    smoothed,
)
from halflife.models.rates.drift import Forgetting
from halflife.models.rates.gamma import GammaPoisson
from halflife.models.rates.likelihood import MaximumLikelihood, Moment
from halflife.models.rates.pool import PooledRates
from lab.rates.last_modified import LastModified
from lab.rates.restarts import Restarting
from lab.rates.stochastic import StochasticApproximation

ESTIMATORS = {
    "naive": partial(Counted, naive),
    "smoothed": partial(Counted, smoothed),
    "bias-reduced": partial(Counted, bias_reduced),
    "large-numbers": partial(Counted, law_of_large_numbers),
    "mle": MaximumLikelihood,
    "pseudo-mle": partial(MaximumLikelihood, pretend=0.5),
    "moment": Moment,
    "stochastic": StochasticApproximation,
    "momentum": partial(StochasticApproximation, momentum=0.3),
    "last-modified": LastModified,
    "gamma": partial(GammaPoisson, refit=1.0),  # so that batches do not matter
    "population": partial(PooledRates, refit=1.0),
    "forgetting": partial(Forgetting, prior=(0.5, 0.5)),
    "restarting": Restarting,
}
# With momentum a step depends on the last move; restarts make a surprise a new start.
MONOTONE = [
    name for name in ESTIMATORS if name not in ("momentum", "restarting", "forgetting")
]


def fed(factory, item, length, changed, tally=None, n=None):
    model = factory()
    model.grow(int(np.max(item, initial=-1)) + 1 if n is None else n)
    model.add(item, length, changed, tally)
    return model


@st.composite
def gaps(draw, items=3, least=1, most=24):
    """Gaps of a few items, with ordinary and extreme lengths."""
    n = draw(st.integers(least, most))
    item = draw(st.lists(st.integers(0, items - 1), min_size=n, max_size=n))
    days = st.floats(1e-3, 1e3)
    length = draw(st.lists(days, min_size=n, max_size=n))
    changed = draw(st.lists(st.booleans(), min_size=n, max_size=n))
    return np.array(item), np.array(length), np.array(changed)
