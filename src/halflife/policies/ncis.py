"""Policies that use hints of change, as far as they have proved true."""

from dataclasses import dataclass

import numpy as np

from halflife.allocation import index
from halflife.allocation.signals import SignalRates, value
from halflife.belief.hints import HintedBelief
from halflife.belief.poisson import PoissonBelief
from halflife.core.arrays import Floats
from halflife.core.budget import Budget
from halflife.core.plan import Plan
from halflife.core.view import View
from halflife.models.poisson import Exponential
from halflife.models.quality import alive_at
from halflife.models.signals import Announced
from halflife.policies import Strategy
from halflife.policies.choose import best
from halflife.policies.index import NEVER_SEEN_DAYS, Index, days


def greedy_ncis(view: View, budget: Budget, rng: np.random.Generator) -> Plan:
    """Fetch where w V(T) / c is largest, with an age T that each hint increases.

    GREEDY-NCIS of Busa-Fekete et al., WWW 2025, with estimates in place of the truth;
    without hints in the view it is the plain index of freshness.
    """
    del rng  # ties go to the earlier row: nothing is random
    gain = _gain(view)
    score = np.where(gain > 0, gain, -np.inf)
    return best(view, budget, score, gain, lambda row: _why(view, row))


def _gain(view: View) -> Floats:
    age = np.where(view.held, view.exposure, NEVER_SEEN_DAYS)
    gain: Floats = view.weight * value(_hints(view), age) / view.cost
    return gain


@dataclass(frozen=True, slots=True)
class HintedIndex:
    """The index of freshness, less the part that hints will reveal anyway.

    The index U of silent changes ignores that other changes will be announced, so it
    overestimates the lifetime of a new copy. It is multiplied by the ratio V / U for
    exactly known rates, at the age with the same chance of a change.
    """

    def __call__(self, view: View, budget: Budget, rng: np.random.Generator) -> Plan:
        """Return the next requests, best first, costing at most ``budget``."""
        del rng
        gain = self.gain(view)
        score = np.where(gain > 0, gain, -np.inf)
        return best(view, budget, score, gain, lambda row: _why(view, row))

    def gain(self, view: View) -> Floats:
        """Return the gain of a fetch of each item now, per request."""
        plain = Index("freshness").gain(view)
        hints = _hints(view)
        age = np.where(view.held, view.exposure, NEVER_SEEN_DAYS)
        load = -np.log(np.maximum(view.survival.alive(age), 1e-12))
        rate = np.maximum(hints.silent, 1e-9)
        exact = index(Exponential(rate), load / rate, "freshness")
        share = value(hints, load / rate) / np.maximum(exact, 1e-300)
        gain: Floats = plain * np.where(exact > 0, np.clip(share, 0.0, 1.0), 1.0)
        return gain


def _hints(view: View) -> SignalRates:
    survival = view.survival
    if isinstance(survival, Announced):
        return SignalRates(survival.silent, survival.hint_rate, survival.worth)
    nothing = np.zeros(len(view))
    return SignalRates(view.rate, nothing, nothing)


def _why(view: View, row: int) -> str:
    if not view.looks[row] > 0:
        return "never seen yet"
    stale = 1.0 - alive_at(view, row)
    age = days(float(view.age[row]))
    hinted = ", hints say so" if view.exposure[row] > view.age[row] else ""
    return f"{stale:.0%} likely changed: last seen {age} ago{hinted}"


def _plugged_in() -> HintedBelief:
    return HintedBelief(PoissonBelief(), plug_in=True)


def _hinted() -> HintedBelief:
    return HintedBelief(PoissonBelief())


ncis = Strategy(
    greedy_ncis,
    _plugged_in,
    "Refresh where it buys most current copies, by hints as far as they prove true.",
    "Busa-Fekete et al. 2025, WWW",
)
index_hinted = Strategy(
    HintedIndex(),
    _hinted,
    "The index of freshness on ages that hints increase as far as they prove true.",
)
