"""One budget for sources of every kind: what it buys, and what targets cost.

Quality of every kind is between 0 and 1, so each request goes where it adds most
weighted quality: all sources share one price. See docs/one-budget.md.
"""

from halflife.market.limits import FREE, Limits
from halflife.market.offers import TakenOffers, take
from halflife.market.shares import Shares, share
from halflife.market.targets import (
    RelaxedTarget,
    SourceTarget,
    Target,
    TargetCosts,
    parse,
    target_costs,
)
from halflife.market.windows import ALWAYS, Window, Zone

__all__ = [
    "ALWAYS",
    "FREE",
    "Limits",
    "RelaxedTarget",
    "Shares",
    "SourceTarget",
    "TakenOffers",
    "Target",
    "TargetCosts",
    "Window",
    "Zone",
    "parse",
    "share",
    "take",
    "target_costs",
]
