"""How far hints at a page are trusted, apart for each kind of hint of its host."""

from collections.abc import Mapping
from copy import deepcopy
from typing import TYPE_CHECKING

from halflife.belief.hints import HintedBelief

if TYPE_CHECKING:
    from halflife.engine.bootstrap import Outlook

NAMES = {"": "sitemap", "feed": "feed", "hub": "WebSub", "push": "push"}


def learned(seen: "Outlook", row: int) -> dict[str, float]:
    """Return which share of the hints of an item's host is right, by kind."""
    belief = deepcopy(seen.belief)  # an outlook keeps nothing that was learned
    if not isinstance(belief, HintedBelief) or not seen.evidence.hinted().item.size:
        return {}
    belief(seen.evidence, seen.now, seen.now)
    found = belief.precision(seen.evidence, row)
    return {NAMES[kind]: round(share, 3) for kind, share in found.items()}


def lines(hints: Mapping[str, float]) -> list[str]:
    """Say it in a line.

    >>> lines({"sitemap": 0.0, "feed": 0.913})
    ['hints of this host that are right: sitemap 0 %, feed 91 %']
    """
    shares = ", ".join(f"{name} {share:.0%}" for name, share in hints.items())
    said = shares.replace("%", " %")
    return [f"hints of this host that are right: {said}"] if hints else []
