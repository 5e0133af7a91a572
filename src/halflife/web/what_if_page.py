"""Contents of the page What-if: the quality and targets under another budget."""

import math
from dataclasses import dataclass

import numpy as np

from halflife.core.arrays import Floats
from halflife.kinds.protocol import Known
from halflife.market.targets import SourceTarget, Target
from halflife.study.svg import Chart
from halflife.web import budget_curve, charts, words
from halflife.web.pages import PAGE, Answer, Params, whole
from halflife.web.slider import BudgetOutcome
from halflife.web.survey import Survey

EVEN = 0.0005  # quality by which a source must change to gain or lose
NEAR = 4.0  # the end of the slider, in budgets
FARTHEST = 100  # the largest budget that is accepted, in budgets
POINTS = 65
SURE = 0.95  # the confidence of the known bounds
SLACK = 1e-9  # of the requests that a target needs; they are sums of floats


@dataclass(frozen=True, slots=True)
class TargetNeed:
    """A target, and the requests a day that keep it.

    Attributes:
        target: The target.
        needed: Requests a day; ``inf`` if none keep it, nan if that is not known.

    """

    target: Target
    needed: float

    def kept(self, requests: float) -> bool | None:
        """Return whether so many requests a day keep it; None if it is not known."""
        if math.isnan(self.needed):
            return None
        return requests >= self.needed * (1.0 - SLACK)


class BudgetQuestion:
    """A hypothetical budget, beside the present one.

    Args:
        seen: The survey of all sources.
        params: The parameters of the address; ``budget`` is the hypothetical one.

    """

    def __init__(self, seen: Survey, params: Params) -> None:
        self.seen, budget = seen, seen.config.budget
        requests = whole(params.get("budget", ""), budget.requests)
        self.requests = min(max(requests, 1), FARTHEST * budget.requests, 10**9)
        self.most = max(math.ceil(NEAR * budget.requests), self.requests, 10)
        self.now = seen.slider.at(budget.pace)
        self.then = seen.slider.at(self.requests / budget.days)

    @property
    def curve(self) -> tuple[Floats, Floats]:
        """Budgets in requests a day, and the total quality that each buys."""
        days = self.seen.config.budget.days
        budgets = np.geomspace(1.0, self.most, POINTS) / days
        return budgets, self.seen.slider.curve(budgets)

    @property
    def ends(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """Both budgets, each with the quality that it buys."""
        budget = self.seen.config.budget
        then = self.requests / budget.days, self.then.total
        return (budget.pace, self.now.total), then

    def chart(self) -> Chart:
        """Return the curve with both budgets on it."""
        return budget_curve.draw(*self.curve, *self.ends)


def what_if(seen: Survey, params: Params) -> Answer:
    """Return the quality under another budget, winners and losers, and targets kept."""
    budget, slider = seen.config.budget, seen.slider
    question = BudgetQuestion(seen, params)
    now, then = question.now, question.then
    lacking = [
        {"source": k.source.name, "why": words.plain(k.why)}
        for k in seen.appraised
        if k.worth is None
    ]
    answer: Answer = {
        "at": words.date(seen.now),
        "budget": {
            "now": budget.requests,
            "then": question.requests,
            "per": budget.per,
        },
        "most": question.most,
        "farthest": min(FARTHEST * budget.requests, 10**9),
        "quality": {"now": now.total, "then": then.total},
        "price": {"now": now.price, "then": then.price},
        "spent": {
            "now": float(now.requests.sum()),
            "then": float(then.requests.sum()),
        },
        "without_worth": lacking[:PAGE],
        "targets": {"all": 0, "now": 0, "then": 0},
        "results": [],
        "figures": [],
    }
    if slider.worths:
        answer |= _compared(seen, now, then, _needs(seen))
        answer["figures"] = [charts.budget_chart(*question.curve, *question.ends)]
    return answer


def picture(seen: Survey, params: Params) -> str:
    """Return the curve as an SVG that stands alone."""
    return budget_curve.picture(BudgetQuestion(seen, params).chart())


def _needs(seen: Survey) -> list[list[TargetNeed]]:
    """Return the targets of each source on the slider, and the requests they need."""
    if seen.slider.needs is None:
        known = {one.source.name: one for one in seen.appraised}
        names = [worth.source for worth in seen.slider.worths]
        seen.slider.needs = [_needed(known[name]) for name in names]
    return seen.slider.needs


def _needed(known: Known) -> list[TargetNeed]:
    """Return the requests that the targets of a source need.

    Bounds are known at one confidence; the need of a target at another is unknown.
    """
    needs = []
    for target in known.source.targets:
        need = SourceTarget(known.source.name, target, known.worth, known.whole)
        sure = target.measure == "age" or target.confidence in {None, SURE}
        needed = need.requests() if sure and need.known else math.nan
        needs.append(TargetNeed(target, needed))
    return needs


def _compared(
    seen: Survey, now: BudgetOutcome, then: BudgetOutcome, needs: list[list[TargetNeed]]
) -> Answer:
    """Return who gains and who loses, most first, and which targets are kept.

    The quality that a budget buys is a mean over the long run; ``quality_today`` is
    that of the present copy, as on every page.
    """
    slider, copy = seen.slider, {row.name: row.mean for row in seen.rows}
    change = then.quality - now.quality
    rows = np.argsort(-np.abs(change), kind="stable")[:PAGE]
    results = [
        {
            "source": slider.worths[i].source,
            "measure": slider.worths[i].measure,
            "requests_now": float(now.requests[i]),
            "requests_then": float(then.requests[i]),
            "quality_today": copy[slider.worths[i].source],
            "quality_now": float(now.quality[i]),
            "quality_then": float(then.quality[i]),
            "change": float(change[i]),
            "targets": [
                {
                    "target": str(need.target),
                    "now": need.kept(float(now.requests[i])),
                    "then": need.kept(float(then.requests[i])),
                    "needs": need.needed,
                }
                for need in needs[i]
            ],
        }
        for i in rows.tolist()
    ]
    return {
        "winners": int(np.count_nonzero(change > EVEN)),
        "losers": int(np.count_nonzero(change < -EVEN)),
        "targets": {
            "all": sum(len(own) for own in needs),
            "now": _kept(needs, now),
            "then": _kept(needs, then),
        },
        "results": results,
    }


def _kept(needs: list[list[TargetNeed]], bought: BudgetOutcome) -> int:
    """Return how many targets a budget keeps."""
    pairs = zip(needs, bought.requests.tolist(), strict=True)
    return sum(need.kept(requests) is True for own, requests in pairs for need in own)
