"""Laws that every policy for pages must keep, ours or a plug-in's.

Each law takes a strategy and returns what is wrong, in words; empty if nothing is. The
views are random with fixed seeds: pages of different weight, cost, host and history,
some tried in this turn, some that failed and must wait. A test checks all of them::

    from halflife.policies.laws import broken

    def test_my_policy_keeps_the_laws():
        assert broken(my_strategy) == []
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, replace
from typing import TypeAlias

import numpy as np

from halflife.belief import Belief
from halflife.core.budget import Budget
from halflife.core.errors import PolicyError
from halflife.core.evidence import Evidence
from halflife.core.item import Item
from halflife.core.observation import Observation, Observations, Seen
from halflife.core.plan import Plan
from halflife.core.view import View
from halflife.models.poisson import GammaSurvival
from halflife.policies import Strategy
from halflife.policies.valuation import gain_policy, offered

Law: TypeAlias = Callable[[Strategy], str]

NOW = 100.0  # days
_LAZY = frozenset({"survival", "unrest", "topics"})
SIZES = (1, 2, 5, 12, 40)  # pages of the views with which policies are checked
BUDGETS = (0, 1, 3, 20, 200)


def made_view(n: int, seed: int | np.random.Generator) -> View:
    """Return a view of ``n`` pages with various histories."""
    rng = np.random.default_rng(seed)
    looks = rng.integers(0, 5, n)
    age = np.where(looks > 0, rng.exponential(3.0, n), np.inf)
    shape, exposure = rng.gamma(1.0, 1.0, n) + 0.05, rng.exponential(5.0, n) + 1e-3
    return View(
        now=NOW,
        keys=tuple(f"https://h{i % 3}.example/f{i % 2}/{i}" for i in range(n)),
        weight=rng.integers(0, 4, n).astype(np.float64),
        cost=rng.integers(1, 3, n).astype(np.float64),
        group=rng.integers(0, 3, n),
        rate=shape / exposure,
        survival=GammaSurvival(shape, exposure),
        age=age,
        looks=looks,
        changes=rng.binomial(looks, 0.4),
        looked=rng.random(n) < 0.2,
        changed=rng.random(n) < 0.3,
        ready=rng.random(n) < 0.9,
        exposure=age * rng.uniform(1.0, 3.0, n),
        doubt=rng.exponential(1.0, n),
        room=np.full(n, np.inf),
        due=np.where(looks > 0, NOW + rng.normal(0, 3, n), -np.inf),
    )


def unseen_view(n: int) -> View:
    """Return a view of ``n`` pages that were never seen."""
    nothing = np.zeros(n, dtype=np.intp)
    never, none = np.full(n, np.inf), np.zeros((3, n), dtype=np.bool_)
    return replace(
        made_view(n, 0),
        weight=np.ones(n),
        cost=np.ones(n),
        age=never,
        exposure=never.copy(),
        due=-never,
        looks=nothing,
        changes=nothing.copy(),
        looked=none[0],
        changed=none[1],
        ready=~none[2],
    )


def _planned(strategy: Strategy, view: View, requests: int, seed: int = 0) -> Plan:
    return strategy.policy(view, Budget(requests), np.random.default_rng(seed))


def _cases() -> Iterator[tuple[View, int]]:
    for seed, n in enumerate(SIZES):
        for requests in BUDGETS:
            yield made_view(n, seed), requests


def stays_within_budget(strategy: Strategy) -> str:
    """Plan no more than the budget allows."""
    for view, requests in _cases():
        cost = float(view.cost[_planned(strategy, view, requests).rows].sum())
        if cost > requests:
            return f"a plan for {requests} requests costs {cost:g}"
    return ""


def asks_for_no_page_twice(strategy: Strategy) -> str:
    """Plan no page twice in a turn."""
    for view, requests in _cases():
        rows = _planned(strategy, view, requests).rows
        if np.unique(rows).size != rows.size:
            return "a plan names a page twice"
        if view.looked[rows].any():
            return "a plan names a page that was tried in this turn"
    return ""


def leaves_alone_what_is_not_ready(strategy: Strategy) -> str:
    """Plan no page that failed and must wait."""
    for view, requests in _cases():
        if not view.ready[_planned(strategy, view, requests).rows].all():
            return "a plan names a page that is not ready"
    return ""


def heeds_the_room_of_hosts(strategy: Strategy) -> str:
    """Plan no more requests to a host than its room in a turn."""
    for view, _ in _cases():
        limited = replace(view, room=np.where(view.group == 1, np.inf, 2.0))
        rows = _planned(strategy, limited, 50).rows
        for group in np.unique(limited.group[rows]).tolist():
            tried = limited.looked & (limited.group == group)
            planned = limited.cost[rows[limited.group[rows] == group]].sum()
            if group != 1 and planned + limited.cost[tried].sum() > 2.0:
                return "a plan has more requests to a host than its room"
    return ""


def is_determined_by_view_and_seed(strategy: Strategy) -> str:
    """Return the same plan for the same view and seed, whatever was planned between."""
    for view, requests in _cases():
        first = list(_planned(strategy, view, requests, 7))
        _planned(strategy, made_view(9, 99), 5)
        if list(_planned(strategy, view, requests, 7)) != first:
            return "the same view and seed gave two plans"
    return ""


def changes_nothing_in_the_view(strategy: Strategy) -> str:
    """Do not change the view."""
    for view, requests in _cases():
        names = [f.name for f in fields(view) if f.name not in _LAZY]
        before = {name: np.copy(getattr(view, name)) for name in names}
        list(_planned(strategy, view, requests))
        for name, value in before.items():
            if not np.array_equal(value, getattr(view, name)):
                return f"planning changed {name}"
    return ""


def gives_reasons_and_finite_gains(strategy: Strategy) -> str:
    """Return the key, a reason in one line and a finite gain for each row."""
    for view, requests in [*_cases(), (unseen_view(6), 4)]:
        plan = _planned(strategy, view, requests)
        rows = plan.rows.tolist()
        if [view.keys[row] for row in rows] != list(plan.keys):
            return "the names of a plan are not those of its rows"
        for step in plan:
            if not step.why.strip() or "\n" in step.why:
                return f"{step.why!r} is no reason in a line"
        if not np.isfinite(plan.gain).all():
            return "a gain is not finite"
    return ""


def weighs_pages_finitely(strategy: Strategy) -> str:
    """Return one finite gain for each page, and offer what is planned, if gains exist.

    A page that is not offered gets no requests: the market would never fetch it.
    """
    rule = gain_policy(strategy.policy)
    if rule is None:  # its offers follow from its plan
        return ""
    for view in (*(made_view(n, n) for n in SIZES), unseen_view(6)):
        gain = rule.gain(view)
        if gain.shape != (len(view),) or not np.isfinite(gain).all():
            return "gain(view) is not one finite number a page"
        offers = offered(strategy.policy, view, np.ones(len(view)), 5)
        if (offers[_planned(strategy, view, 5).rows] <= 0).any():
            return "it plans a page of which gain(view) offers nothing"
    return ""


def asks_nothing_of_nobody(strategy: Strategy) -> str:
    """Plan nothing without pages, and nothing without requests."""
    if len(_planned(strategy, made_view(0, 0), 5)):
        return "a plan of no pages names some"
    if len(_planned(strategy, made_view(12, 1), 0)):
        return "a plan without a request names pages"
    return ""


def begins_with_a_single_page(strategy: Strategy) -> str:
    """Fetch a single page that was never seen."""
    plan = _planned(strategy, unseen_view(1), 1)
    return "" if plan.rows.tolist() == [0] else "the only page is not fetched"


def sees_every_page_once(strategy: Strategy) -> str:
    """Fetch every page that was never seen, as far as the budget allows."""
    view, left = unseen_view(9), 9
    while left > 0:
        plan = _planned(strategy, view, left)
        if not len(plan):
            return f"{left} pages were never seen, and none is fetched"
        tried = view.looked.copy()
        tried[plan.rows] = True
        looks = np.maximum(view.looks, tried)
        age, due = np.where(tried, 0.0, np.inf), np.where(tried, NOW + 1.0, -np.inf)
        view = replace(
            view, looked=tried, looks=looks, age=age, exposure=age.copy(), due=due
        )
        left -= len(plan)
    return ""


def believes_by_itself(strategy: Strategy) -> str:
    """Make beliefs that learn separately, and views that the policy can use."""
    first, second = strategy.belief(), strategy.belief()
    if first is second:
        return "two beliefs are one: what one run learns, another would know"
    evidence = Evidence.of(Item(f"https://a.example/{i}", "s") for i in range(6))
    for day in range(4):
        if wrong := _kept_for_a_day(strategy, first, evidence, NOW + day):
            return wrong
    if not evidence.looks.all():
        return "in four days of three requests, six pages were not all seen"
    return ""


def _kept_for_a_day(
    strategy: Strategy, belief: Belief, evidence: Evidence, now: float
) -> str:
    """Spend three requests in the same way as the loop; return what is wrong."""
    left, since = 3, now
    while left > 0:
        view = belief(evidence, now, since)
        if len(view) != 6 or not np.isfinite(view.rate).all() or (view.rate < 0).any():
            return "the view is not one finite rate a page"
        plan = _planned(strategy, view, left)
        if not len(plan):
            break
        if not np.isfinite(plan.gain).all():
            return "a gain is not finite"
        now += 1e-4
        keys = plan.keys[:left]
        seen = [Observation(k, now, Seen.PRESENT, f"{k} {since // 2}") for k in keys]
        evidence.take(evidence.weigh(Observations.of(seen)))
        left -= len(keys)
    return ""


LAWS: Mapping[str, Law] = {
    law.__name__: law
    for law in (
        stays_within_budget,
        asks_for_no_page_twice,
        leaves_alone_what_is_not_ready,
        heeds_the_room_of_hosts,
        is_determined_by_view_and_seed,
        changes_nothing_in_the_view,
        gives_reasons_and_finite_gains,
        weighs_pages_finitely,
        asks_nothing_of_nobody,
        begins_with_a_single_page,
        sees_every_page_once,
        believes_by_itself,
    )
}


def broken(strategy: Strategy) -> list[str]:
    """Return the laws that a strategy breaks, with what is wrong."""
    found = ((name, _wrong(law, strategy)) for name, law in LAWS.items())
    return [f"{name}: {wrong}" for name, wrong in found if wrong]


def _wrong(law: Law, strategy: Strategy) -> str:
    """Return what is wrong by a law, or why the policy was stopped at it."""
    try:
        return law(strategy)
    except PolicyError as error:
        return str(error)
