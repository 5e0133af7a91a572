"""The long-run fetch rates of a policy, under the present belief.

A policy may have a ``pace`` or a ``schedule``. Any other is rehearsed: it plans turn
after turn in a simulation. Fetched items become fresh, all others grow older, and
whether a fetch finds a change is drawn from the belief. Rates stay constant, and due
dates keep their present intervals.
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

TURNS = 16  # turns for the requests of one fetch of each item
ROUNDS = 6  # such rounds; the first half is not counted
ITEMS = 400  # most items of a rehearsal


def is_rehearsed(strategy: Strategy) -> bool:
    """Return whether a policy has neither a pace nor a schedule."""
    return strategy.pace is None and strategy.schedule is None


def some_rows(strategy: Strategy, rows: Ints) -> Ints:
    """Return the rows, or a sample of them for a rehearsal."""
    if not is_rehearsed(strategy) or rows.size <= ITEMS:
        return rows
    return rows[np.linspace(0, rows.size - 1, ITEMS).astype(np.intp)]


def long_run(strategy: Strategy, view: View, requests: Floats) -> Floats:
    """Return the fetches a day of each item, a row for each of ``requests`` a day."""
    if strategy.schedule == FRESHEST:  # faster for many budgets at once
        return frequencies(view.rate, requests, weight=view.weight, cost=view.cost)
    if strategy.schedule is not None:
        schedule = strategy.schedule
        return np.stack([schedule(view, budget) for budget in requests.tolist()])
    if strategy.pace is not None:
        often = strategy.pace(view)
        return np.outer(requests / max(float(often @ view.cost), 1e-12), often)
    return np.stack([rehearse(strategy.policy, view, b) for b in requests.tolist()])


def rehearse(policy: Policy, view: View, requests: float) -> Floats:
    """Return the fetches a day of each item in simulated turns of a policy.

    >>> from halflife.policies.laws import made_view
    >>> from halflife.policies.simple import oldest_first
    >>> view = replace(made_view(4, 0), cost=np.ones(4))
    >>> rehearse(oldest_first, view, 2.0).round(1)
    array([0.5, 0.5, 0.5, 0.5])
    """
    count, rng = np.zeros(len(view)), np.random.default_rng(0)
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
    """Return the view without the state of the present turn."""
    return replace(
        view,
        ready=np.ones(len(view), dtype=np.bool_),
        room=np.full(len(view), np.inf),
        calendar=None,
    )


def _later(view: View, days: float) -> View:
    """Return the view at the next turn, without fetches in between."""
    return replace(
        view,
        now=view.now + days,
        age=view.age + days,
        exposure=view.exposure + days,
        looked=np.zeros(len(view), dtype=np.bool_),
    )


def _intervals(view: View, days: float) -> Floats:
    """Return the intervals implied by due dates; empty without dates."""
    if not view.due.size:
        return view.due
    with np.errstate(invalid="ignore"):
        interval = view.due - (view.now - view.age)
    return np.where(np.isnan(interval), days, np.maximum(interval, 0.0))


def _turn(
    policy: Policy, view: View, grant: int, interval: Floats, rng: Generator
) -> View:
    """Return the view after a turn in which a policy spends its grant."""
    left = float(grant)
    while left >= 1.0:
        rows = policy(view, Budget(int(left)), rng).rows
        if not rows.size:
            break
        left -= float(view.cost[rows].sum())
        view = _fetched(view, rows, interval, rng)
    return view


def _fetched(view: View, rows: Ints, interval: Floats, rng: Generator) -> View:
    """Return the view after fetches with random outcomes drawn from the belief."""
    alive = view.survival.alive(np.where(view.held, view.exposure, 0.0))[rows]
    is_changed = rng.random(rows.size) >= alive
    columns = {
        name: getattr(view, name).copy()
        for name in ("age", "exposure", "doubt", "looks", "changes", "looked")
    }
    changed, due = view.changed.copy(), view.due.copy()
    for name in ("age", "exposure", "doubt"):
        columns[name][rows] = 0.0
    columns["looks"][rows] += 1
    columns["changes"][rows] += is_changed
    columns["looked"][rows], changed[rows] = True, is_changed
    if due.size:
        due[rows] = view.now + interval[rows]
    return replace(view, changed=changed, due=due, **columns)
