"""Policies for views with due dates."""

import numpy as np

from halflife.core.arrays import Floats
from halflife.core.budget import Budget
from halflife.core.plan import Plan
from halflife.core.view import View
from halflife.core.wording import count, span
from halflife.policies.choose import best

_LONG_AGO = 1e9  # days; an item never seen is due for that long


def due_first(view: View, budget: Budget, rng: np.random.Generator) -> Plan:
    """Plan the longest overdue items first; items without a due date are left out."""
    del rng
    late = view.now - view.due
    score = np.minimum(late, _LONG_AGO)
    return best(view, budget, score, score, lambda row: _when(late, row))


def due_by_chance(view: View, budget: Budget, rng: np.random.Generator) -> Plan:
    """Plan fetches at random times, at the rates of the due dates.

    Each item's next fetch comes after an exponential time with the mean of its
    interval, whenever it was last seen, and the first ones are taken. For rules whose
    rates are meant for random fetches.
    """
    often = frequencies(view)
    wait = rng.exponential(size=len(view))
    with np.errstate(divide="ignore"):
        score = np.where(view.held, np.log(often) - np.log(wait), np.inf)
    return best(view, budget, score, often, lambda row: _by_chance(view, often, row))


def frequencies(view: View) -> Floats:
    """Return the fetches a day implied by the due dates; 1 where never seen."""
    last = view.now - view.age
    with np.errstate(invalid="ignore"):
        interval = np.where(view.held, view.due - last, 1.0)
    return 1.0 / np.maximum(interval, 1e-9)


def _when(late: Floats, row: int) -> str:
    if np.isinf(late[row]):
        return "never seen yet"
    if late[row] < 0:
        return f"due in {span(-late[row])}"
    return f"due {span(late[row])} ago"


def _by_chance(view: View, often: Floats, row: int) -> str:
    if not view.held[row]:
        return "never seen yet"
    return f"drawn at random, at {count(often[row], 'fetch', 'fetches')} a day"
