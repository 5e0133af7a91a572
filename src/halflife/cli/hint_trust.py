"""The share of hints that are right, for each kind of hint of a page's host."""

from collections.abc import Mapping
from copy import deepcopy
from typing import TYPE_CHECKING

from halflife.belief.hints import HintedBelief

if TYPE_CHECKING:
    from halflife.engine.bootstrap import Outlook

NAMES = {"": "sitemap", "feed": "feed", "hub": "WebSub", "push": "push"}


def hint_precision(seen: "Outlook", row: int) -> dict[str, float]:
    """Return the share of the hints of an item's host that are right, by kind."""
    belief = deepcopy(seen.belief)  # the outlook's own belief stays unchanged
    if not isinstance(belief, HintedBelief) or not seen.evidence.hinted().item.size:
        return {}
    belief(seen.evidence, seen.now, seen.now)
    shares = belief.precision(seen.evidence, row)
    return {NAMES[kind]: round(share, 3) for kind, share in shares.items()}


def lines(hints: Mapping[str, float]) -> list[str]:
    """Return the shares as a line; no line if there are none.

    >>> lines({"sitemap": 0.0, "feed": 0.913})
    ['hints of this host that are right: sitemap 0 %, feed 91 %']
    """
    shares = ", ".join(f"{name} {share:.0%}" for name, share in hints.items())
    shares = shares.replace("%", " %")
    return [f"hints of this host that are right: {shares}"] if hints else []
