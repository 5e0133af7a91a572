"""The policies of listings that settings can name."""

from functools import partial
from math import inf

from halflife.core.arrays import Floats
from halflife.core.lifetimes import Collection
from halflife.policies.listings import ListingPolicy, ListingTerms
from halflife.policies.listings.pace import pace, worth_at
from halflife.policies.listings.schedules import (
    FixedInterval,
    GroupThreshold,
    ModelThreshold,
    PacedThreshold,
    Schedule,
    Threshold,
)

PAPER = "quality-aware repositories"
USUAL_DAYS = 1.0  # interval if the settings have none


def _by_model(model: str, terms: ListingTerms) -> Schedule:
    return ModelThreshold(model, terms.recall, confidence=terms.confidence)


def _pooled(terms: ListingTerms) -> Schedule:
    return Threshold(terms.recall, confidence=terms.confidence)


def _paced(terms: ListingTerms) -> Schedule:
    return PacedThreshold(terms.recall, confidence=terms.confidence)


def _grouped(terms: ListingTerms) -> GroupThreshold:
    return GroupThreshold(terms.group, terms.recall, confidence=terms.confidence)


def _fixed(terms: ListingTerms) -> Schedule:
    return FixedInterval(terms.longest if terms.longest < inf else USUAL_DAYS)


def _paced_gain(known: Collection, ages: Floats, terms: ListingTerms) -> Floats:
    del terms
    return worth_at(pace(known), ages, "recall")


market_price = ListingPolicy(
    "fetch when its gain, by the default forecast, reaches the market's price"
)
priced = ListingPolicy(
    "fetch when its gain, by the rates of the last 45 days, reaches the market's price",
    gain=_paced_gain,
)
threshold = ListingPolicy(
    "fetch before the bound of recall falls below the level: constant rates of ends "
    "and arrivals",
    f"{PAPER}, s. 3 and 6.2",
    partial(_by_model, "exponential"),
)
threshold_static = ListingPolicy(
    "threshold by an autoregression of the decay of the first 30 days, kept for good",
    f"{PAPER}, s. 4 and 6.2, Table 2 (static)",
    partial(_by_model, "static-ar"),
)
threshold_adaptive = ListingPolicy(
    "threshold by an autoregression of the decay that every fetch corrects",
    f"{PAPER}, s. 4 and 6.2, Table 2 (adaptive)",
    partial(_by_model, "adaptive-ar"),
)
threshold_kalman = ListingPolicy(
    "threshold by an autoregression of the decay that a Kalman filter follows",
    schedule=partial(_by_model, "kalman-ar"),
)
threshold_chosen = ListingPolicy(
    "threshold by the autoregression, static, adaptive or filtered, that erred least",
    schedule=partial(_by_model, "chosen-ar"),
)
threshold_pooled = ListingPolicy(
    "threshold by the default forecast: six models, bounds from past forecasts",
    schedule=_pooled,
)
threshold_paced = ListingPolicy(
    "threshold by the rates of the last 45 days, with bounds widened by bursts",
    schedule=_paced,
)
threshold_groups = ListingPolicy(
    "threshold for each group of objects with similar decay; groups are fetched apart "
    "where group_request says how, else the first one due decides",
    f"{PAPER}, s. 5 and 6.2",
    _grouped,
    groups=_grouped,
)
interval = ListingPolicy(
    "fetch every max_interval; once a day without that setting",
    schedule=_fixed,
    foresees=False,
)
