"""One budget over sources of every kind: what it buys, and what targets cost.

Quality of every kind lies between 0 and 1, so a request goes where it adds most
weighted quality: all sources share one price. See docs/one-budget.md.
"""

from halflife.market.limits import FREE, Limits
from halflife.market.offers import TakenOffers, take
from halflife.market.shares import Shares, share
from halflife.market.targets import Bill, Need, Relaxed, Target, bill, parse
from halflife.market.windows import ALWAYS, Window, Zone

__all__ = [
    "ALWAYS",
    "FREE",
    "Bill",
    "Limits",
    "Need",
    "Relaxed",
    "Shares",
    "TakenOffers",
    "Target",
    "Window",
    "Zone",
    "bill",
    "parse",
    "share",
    "take",
]
