"""Quality targets: parsing, costs, and which target to lower.

recall >= 0.9                          the mean over time is at least 0.9
recall >= 0.9 with confidence 0.95     it is at least 0.9 at 95 % of all moments
age p95 <= 6 h                         at 95 % of all moments the last fetch of any
                                       part of the source is at most 6 hours ago
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf, isfinite

import numpy as np

from halflife.core.value_curve import Worth
from halflife.core.wording import number

MEASURES = ("freshness", "recall", "content", "summary")
_UNITS = {
    "s": 1 / 86400,
    "min": 1 / 1440,
    "h": 1 / 24,
    "d": 1.0,
    "day": 1.0,
    "days": 1.0,
    "w": 7.0,
}
_NUMBER = r"(\d*\.?\d+)\s*(%?)"
_LEVEL = re.compile(
    rf"(?P<measure>\w+)\s*>=\s*{_NUMBER}(?:\s+with\s+confidence\s+{_NUMBER})?"
)
_AGE = re.compile(r"age\s+p(\d+(?:\.\d+)?)\s*<=\s*(.+)")
_SPAN = re.compile(r"(\d*\.?\d+)\s*([a-z]+)")
_SAMPLE = "write 'recall >= 0.9 with confidence 0.95' or 'age p95 <= 6 h'"


@dataclass(frozen=True, slots=True)
class Target:
    """A quality target.

    Attributes:
        measure: ``age``, or one of ``MEASURES``.
        level: The least quality; for an age, the most days.
        confidence: The share of moments at which the level must hold; None: the mean.

    """

    measure: str
    level: float
    confidence: float | None = None

    def __str__(self) -> str:
        if self.measure == "age":
            return (
                f"age p{100 * (self.confidence or 0):g} <= "
                f"{number(24 * self.level, 3)} h"
            )
        sure = f" with confidence {self.confidence:g}" if self.confidence else ""
        return f"{self.measure} >= {number(self.level, 4)}{sure}"

    @property
    def interval(self) -> float:
        """The longest interval between fetches that keeps an age, in days.

        Between fetches every T days the age is uniform over 0..T, so its quantile p
        is p T.
        """
        return self.level / (self.confidence or 1.0) if self.measure == "age" else inf


def parse(text: str) -> Target:
    """Return the target in a text; raise ``ValueError``.

    >>> parse("recall >= 90 % with confidence 0.95")
    Target(measure='recall', level=0.9, confidence=0.95)
    >>> parse("age p95 <= 6 h").interval * 24 * 0.95
    6.0
    """
    words = text.strip().lower()
    if found := _AGE.fullmatch(words):
        return Target("age", days_of(found[2]), _share(found[1], "%"))
    found = _LEVEL.fullmatch(words)
    if not found or found["measure"] not in MEASURES:
        raise ValueError(f"{text!r} is not a target; {_SAMPLE}")
    sure = _share(found[4], found[5]) if found[4] else None
    return Target(found["measure"], _share(found[2], found[3]), sure)


def days_of(text: str) -> float:
    """Return a duration such as ``6 h`` or ``2 days``, in days.

    >>> days_of("6 h"), days_of("2days")
    (0.25, 2.0)
    """
    found = _SPAN.fullmatch(text.strip().lower())
    if not found or found[2] not in _UNITS:
        raise ValueError(f"{text!r} is not a time; write '6 h', '30 min' or '2 d'")
    return float(found[1]) * _UNITS[found[2]]


def _share(number: str, percent: str) -> float:
    share = float(number) / (100.0 if percent else 1.0)
    if not 0 < share < 1:
        raise ValueError(f"{number}{percent} is not between 0 and 1; {_SAMPLE}")
    return share


@dataclass(frozen=True, slots=True)
class SourceTarget:
    """A target of a source, with the source's value curve and cost.

    Attributes:
        source: Its name.
        target: The target.
        worth: The value curve, with bounds at the target's confidence; None if it is
            not known yet.
        whole: Requests of one fetch of the whole source.
        most: Most requests a day.

    """

    source: str
    target: Target
    worth: Worth | None
    whole: float
    most: float = inf

    @property
    def known(self) -> bool:
        """Whether the cost of the target is known."""
        return self.target.measure == "age" or self.worth is not None

    def requests(self) -> float:
        """Return the requests a day that keep the target; ``inf`` if none do."""
        if self.target.measure == "age":
            needed = self.whole / self.target.interval
        else:
            assert self.worth is not None
            sure = self.target.confidence is not None
            needed = self.worth.needed(self.target.level, sure=sure)
        return needed if needed <= self.most else inf

    def kept_by(self, requests: float) -> Target:
        """Return the strictest target of the same kind that these requests keep."""
        if self.target.measure == "age":
            per = (self.target.confidence or 1.0) * self.whole
            level = per / requests if requests > 0 else inf
            return replace(self.target, level=max(level, self.target.level))
        assert self.worth is not None
        sure = self.target.confidence is not None
        kept = np.maximum.accumulate(self.worth.low if sure else self.worth.quality)
        level = float(np.interp(requests, self.worth.requests, kept))
        return replace(self.target, level=min(level, self.target.level))


@dataclass(frozen=True, slots=True)
class RelaxedTarget:
    """A target that is lowered as far as necessary.

    Attributes:
        source: The source.
        target: The original target.
        to: The lowered target.
        share: The relative reduction: a quarter for an age of 6 h that becomes 8 h, a
            tenth for a recall of 0.9 that becomes 0.81.

    """

    source: str
    target: Target
    to: Target
    share: float


@dataclass(frozen=True, slots=True)
class TargetCosts:
    """The costs of targets, in requests a day.

    Attributes:
        needs: The targets, in the given order.
        requests: The cost of each by itself; ``inf`` if it cannot be kept, nan if
            that is not known yet.
        total: The cost of all targets that can be kept; the targets of a source share
            its requests.
        missing: Requests a day that the budget lacks for them.
        unreachable: Targets that no number of requests keeps, with the best that can
            be kept.
        relaxed: The target with the smallest relative reduction by which all others
            fit; None if nothing is missing, or lowering one is not enough.

    """

    needs: tuple[SourceTarget, ...]
    requests: tuple[float, ...]
    total: float
    missing: float
    unreachable: tuple[RelaxedTarget, ...]
    relaxed: RelaxedTarget | None

    @property
    def covered(self) -> bool:
        """Whether the budget keeps every target whose cost is known."""
        return self.missing <= 0 and not self.unreachable


def target_costs(needs: Sequence[SourceTarget], budget: float) -> TargetCosts:
    """Return the least requests a day that keep all targets.

    Sources do not share requests, so the least is the sum over sources of the largest
    cost among its targets.
    """
    costs = tuple(n.requests() if n.known else float("nan") for n in needs)
    by_source: dict[str, list[float]] = {}
    for need, cost in zip(needs, costs, strict=True):
        if isfinite(cost):
            by_source.setdefault(need.source, []).append(cost)
    total = sum(max(source_costs) for source_costs in by_source.values())
    missing = max(total - budget, 0.0)
    unreachable = tuple(
        _relaxed(need, need.kept_by(min(need.most, _end(need))))
        for need, cost in zip(needs, costs, strict=True)
        if cost == inf
    )
    options = [
        lowered
        for need, cost in zip(needs, costs, strict=True)
        if missing > 0 and isfinite(cost)
        for lowered in _lowered(need, cost, by_source[need.source], missing)
    ]
    best = min(options, key=lambda r: (r.share, r.source), default=None)
    return TargetCosts(tuple(needs), costs, total, missing, unreachable, best)


def _end(need: SourceTarget) -> float:
    """Return the largest requests a day of the value curve."""
    return inf if need.worth is None else float(need.worth.requests[-1])


def _lowered(
    need: SourceTarget, cost: float, of_source: Sequence[float], missing: float
) -> list[RelaxedTarget]:
    """Return the target lowered to save the missing requests, if that is possible."""
    others = sorted(of_source)[:-1] if cost == max(of_source) else of_source
    saved = cost - max(others, default=0.0)
    if saved < missing:
        return []
    to = need.kept_by(cost - missing)
    return [_relaxed(need, to)] if isfinite(to.level) else []


def _relaxed(need: SourceTarget, to: Target) -> RelaxedTarget:
    old, new = need.target.level, to.level
    share = 1.0 - (old / new if need.target.measure == "age" else new / old)
    return RelaxedTarget(need.source, need.target, to, share)
