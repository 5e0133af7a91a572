"""How often a policy fetches each item in the long run, by what is believed now.

A policy may say so itself, by a ``pace`` or a ``schedule``. Any other is rehearsed: it
plans turn after turn for imagined days. What it fetches is as good as new, all else
grows older, and whether a fetch finds a change is drawn from what is believed. Rates
stay as they are, and a rule that keeps dates keeps its present intervals.
"""

from dataclasses import replace
from math import ceil

import numpy as np
from numpy.random import Generator

from halflife.allocation.budget_series import frequencies
from halflife.core.arrays import Floats, Ints
from halflife.core.budget import Budget
from halflife.core.view import View
from halflife.policies import Policy, Strategy
from halflife.policies.best_schedule import FRESHEST

TURNS = 16  # in which the requests of one fetch of each item are spent
ROUNDS = 6  # such fetches of each item; the first half of them is not counted
ITEMS = 400  # that are rehearsed, where there are more


def is_rehearsed(strategy: Strategy) -> bool:
    """Say whether a policy does not say itself how often it fetches items."""
    return strategy.pace is None and strategy.schedule is None


def some_rows(strategy: Strategy, rows: Ints) -> Ints:
    """Return the rows that stand for all: few of them, if there is a rehearsal."""
    if not is_rehearsed(strategy) or rows.size <= ITEMS:
        return rows
    return rows[np.linspace(0, rows.size - 1, ITEMS).astype(np.intp)]


def long_run(strategy: Strategy, view: View, requests: Floats) -> Floats:
    """Return the fetches a day of each item, a row for each many requests a day."""
    if strategy.schedule == FRESHEST:  # many budgets at once are quicker
        return frequencies(view.rate, requests, weight=view.weight, cost=view.cost)
    if strategy.schedule is not None:
        schedule = strategy.schedule
        return np.stack([schedule(view, budget) for budget in requests.tolist()])
    if strategy.pace is not None:
        often = strategy.pace(view)
        return np.outer(requests / max(float(often @ view.cost), 1e-12), often)
    return np.stack([rehearse(strategy.policy, view, b) for b in requests.tolist()])


def rehearse(policy: Policy, view: View, requests: float, seed: int = 0) -> Floats:
    """Return the fetches a day of each item in imagined turns of a policy.

    >>> from halflife.policies.laws import made_view
    >>> from halflife.policies.simple import oldest_first
    >>> view = replace(made_view(4, 0), cost=np.ones(4))
    >>> rehearse(oldest_first, view, 2.0).round(1)
    array([0.5, 0.5, 0.5, 0.5])
    """
    count, rng = np.zeros(len(view)), np.random.default_rng(seed)
    if requests <= 0 or not len(view):
        return count
    grant = max(ceil(float(view.cost.sum()) / TURNS), 1)
    days, turns = grant / requests, ROUNDS * TURNS
    interval, stage = _intervals(view, days), _at_rest(view)
    for turn in range(turns):
        stage = _turn(policy, _later(stage, days), grant, interval, rng)
        if turn >= turns // 2:
            count += stage.looked
    return count / (days * (turns - turns // 2))


def _at_rest(view: View) -> View:
    """Return the view without what holds for this turn alone."""
    return replace(
        view,
        ready=np.ones(len(view), dtype=np.bool_),
        room=np.full(len(view), np.inf),
        calendar=None,
    )


def _later(view: View, days: float) -> View:
    """Return what is believed at the next turn, if nobody has looked meanwhile."""
    return replace(
        view,
        now=view.now + days,
        age=view.age + days,
        exposure=view.exposure + days,
        looked=np.zeros(len(view), dtype=np.bool_),
    )


def _intervals(view: View, days: float) -> Floats:
    """Return the days between two looks that dates stand for; none without dates."""
    if not view.due.size:
        return view.due
    with np.errstate(invalid="ignore"):
        interval = view.due - (view.now - view.age)
    return np.where(np.isnan(interval), days, np.maximum(interval, 0.0))


def _turn(
    policy: Policy, view: View, grant: int, interval: Floats, rng: Generator
) -> View:
    """Return the view after a turn in which a policy spent its grant, if it did."""
    left = float(grant)
    while left >= 1.0:
        rows = policy(view, Budget(int(left)), rng).rows
        if not rows.size:
            break
        left -= float(view.cost[rows].sum())
        view = _fetched(view, rows, interval, rng)
    return view


def _fetched(view: View, rows: Ints, interval: Floats, rng: Generator) -> View:
    """Return the view after looks that found what chance and belief say."""
    alive = view.survival.alive(np.where(view.held, view.exposure, 0.0))[rows]
    found = rng.random(rows.size) >= alive
    columns = {
        name: getattr(view, name).copy()
        for name in ("age", "exposure", "doubt", "looks", "changes", "looked")
    }
    changed, due = view.changed.copy(), view.due.copy()
    for name in ("age", "exposure", "doubt"):
        columns[name][rows] = 0.0
    columns["looks"][rows] += 1
    columns["changes"][rows] += found
    columns["looked"][rows], changed[rows] = True, found
    if due.size:
        due[rows] = view.now + interval[rows]
    return replace(view, changed=changed, due=due, **columns)
