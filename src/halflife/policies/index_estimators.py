"""The index policy with different rate estimators, to compare their losses.

All use the freshness index; only the estimator differs. See docs/estimators.md for the
formulas.
"""

from collections.abc import Callable
from functools import partial

from halflife.belief import Belief
from halflife.belief.pool import PooledBelief
from halflife.belief.rates import EstimatedRates
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
from halflife.policies import Strategy
from halflife.policies.best_schedule import FRESHEST
from halflife.policies.index import Index


def _index_on(belief: Callable[[], Belief], about: str, paper: str = "") -> Strategy:
    return Strategy(Index("freshness"), belief, about, paper, schedule=FRESHEST)


index_naive = _index_on(
    partial(EstimatedRates, partial(Counted, naive)),
    "Index on changes seen over days watched.",
)
index_smoothed = _index_on(
    partial(EstimatedRates, partial(Counted, smoothed)),
    "Index on changes over days, half a change in half a day added.",
)
index_cgm = _index_on(
    partial(EstimatedRates, partial(Counted, bias_reduced)),
    "Index on Cho and Garcia-Molina's bias-reduced rates.",
    "Cho and Garcia-Molina 2003, TOIT",
)
index_mle = _index_on(
    partial(EstimatedRates, MaximumLikelihood),
    "Index on maximum-likelihood rates, each page by itself.",
    "Cho and Garcia-Molina 2003, TOIT",
)
index_pseudo_mle = _index_on(
    partial(EstimatedRates, partial(MaximumLikelihood, pretend=0.5)),
    "Index on maximum-likelihood rates with one pseudo-observation of each kind.",
    "Kolobov et al. 2019, NeurIPS, s. 5",
)
index_moment = _index_on(
    partial(EstimatedRates, Moment),
    "Index on rates at which as many fetches would have found a change.",
    "Upadhyay et al. 2020, AAAI",
)
index_lln = _index_on(
    partial(EstimatedRates, partial(Counted, law_of_large_numbers)),
    "Index on the share of fetches that found a change, as if made at random.",
    "Avrachenkov, Patil and Thoppe 2020",
)
index_gamma = _index_on(
    partial(EstimatedRates, GammaPoisson),
    "Index on rates shrunk towards a Gamma spread learned from all pages.",
)
index_pooled = _index_on(
    PooledBelief,
    "Index on rates learned from a page, its folder, its host and all pages.",
)
index_forgetting = _index_on(
    partial(EstimatedRates, Forgetting),
    "Index on rates that forget old observations as fast as predicts best.",
)
