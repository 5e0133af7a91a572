"""How often policies fetch pages in the long run, and what that is worth."""

from dataclasses import replace
from importlib.metadata import entry_points

import numpy as np
import pytest

from contracts.views import view_of
from halflife import plugins
from halflife.allocation import allocate
from halflife.kinds.pages.kind import fresh
from halflife.models.poisson import Exponential
from halflife.policies import rehearsal, simple
from halflife.policies.adaptive import nutch
from halflife.policies.azar import azar, azar_even
from halflife.policies.champion import champion
from halflife.policies.index import Index, freshness
from halflife.policies.rehearsal import is_rehearsed, long_run, rehearse, some_rows

NAMES = sorted(entry_points(group="halflife.policies").names)
REQUESTS = np.array([0.0, 2.0, 20.0])


def view_at(rate, weight=None, cost=None):
    """Return what is believed of pages whose rates are known."""
    n = len(rate)
    view = view_of(n, np.random.default_rng(0))
    return replace(
        view,
        rate=np.asarray(rate, dtype=np.float64),
        survival=Exponential(np.asarray(rate, dtype=np.float64)),
        weight=np.ones(n) if weight is None else weight,
        cost=np.ones(n) if cost is None else cost,
        age=np.ones(n),
        exposure=np.ones(n),
        doubt=np.zeros(n),
        looks=np.full(n, 5),
        changes=np.ones(n, dtype=np.intp),
        due=np.zeros(0),
    )


def believed(strategy, view):
    """Return the view with dates, if the rule keeps any: pages are due every day."""
    dated = strategy.belief().__class__.__name__ in {"DueDates", "Scheduled"}
    dated = dated or "Mirror" in strategy.belief().__class__.__name__
    return replace(view, due=view.now - view.age + 1.0) if dated else view


SPREAD = np.geomspace(0.02, 2.0, 40)


@pytest.mark.parametrize(
    ("rule", "pace"),
    [
        (simple.oldest_first, simple.equally),
        (simple.oldest_first_by_chance, simple.equally),
        (simple.most_missed, simple.by_rate),
        (simple.heaviest_unseen, simple.by_weight),
    ],
)
def test_a_rehearsal_finds_the_pace_that_is_known(rule, pace):
    view = view_at(np.geomspace(0.2, 2.0, 40), weight=np.geomspace(1.0, 5.0, 40))
    often = pace(view)
    known = 10.0 * often / often.sum()
    found = rehearse(rule, view, 10.0)
    assert found.sum() == pytest.approx(10.0, rel=1e-9)
    once = 10.0 / 40 / (rehearsal.ROUNDS / 2)  # a look more or less in the days counted
    assert found == pytest.approx(known, abs=1.001 * once)


def test_the_index_comes_near_the_best_schedule_and_not_above_it():
    view = view_at(SPREAD)
    for requests in (2.0, 8.0, 30.0):
        mine = rehearse(Index("freshness"), view, requests)
        best = allocate(view.rate, requests).frequency
        (ours, bound), _ = fresh(view, np.stack([mine, best]))
        assert bound - 0.02 <= ours <= bound + 1e-3


def test_looks_at_random_are_worth_less_than_evenly_spaced_ones():
    view = view_at([1.0, 0.5])
    often = np.array([[1.0, 2.0], [0.0, 0.0]])
    mean, variance = fresh(view, often, at_random=True)
    chance = np.array([1.0 / (1.0 + 1.0), 2.0 / (2.0 + 0.5)])  # f / (f + r)
    assert mean == pytest.approx([chance.mean(), 0.0], abs=1e-6)
    assert variance[0] == pytest.approx(np.sum(chance * (1 - chance)) / 4, abs=1e-6)
    even = [1.0 - np.exp(-1.0), (1.0 - np.exp(-0.25)) / 0.25]
    assert fresh(view, often)[0][0] == pytest.approx(np.mean(even))
    budgets = np.array([3.0])
    by_chance, evenly = (long_run(one, view, budgets) for one in (azar, azar_even))
    assert np.array_equal(by_chance, evenly)
    assert azar.at_random
    assert not azar_even.at_random


def test_intervals_that_follow_changes_are_worth_less_than_the_best_schedule():
    view, budgets = view_at(SPREAD), np.array([4.0])
    worth = {
        name: fresh(view, long_run(one, view, budgets))[0][0]
        for name, one in (("nutch", nutch), ("index", freshness), ("best", champion))
    }
    assert worth["nutch"] < worth["best"] - 0.1
    assert worth["index"] == worth["best"]


@pytest.mark.parametrize("name", NAMES)
def test_every_policy_keeps_to_the_budget_and_none_is_above_the_best(name):
    strategy, plain = plugins.strategy(name), view_at(SPREAD[::2])
    view = believed(strategy, plain)
    often = long_run(strategy, view, REQUESTS)
    assert often.shape == (3, 20)
    assert (often >= 0).all()
    assert not often[0].any()
    assert (often @ view.cost <= REQUESTS * (1 + 1e-9) + 1e-9).all()
    best = np.stack([allocate(view.rate, r).frequency for r in REQUESTS.tolist()])
    mean, _ = fresh(view, often, at_random=strategy.at_random)
    assert (mean <= fresh(view, best)[0] + 1e-3).all()
    assert mean[0] <= mean[1] + 0.02
    assert mean[1] <= mean[2] + 0.02


def test_dates_are_kept_to_and_what_is_given_up_stays_so():
    view = replace(view_at(np.ones(4)), age=np.full(4, 1.0))
    view = replace(view, due=view.now - 1.0 + np.array([1.0, 2.0, 4.0, np.inf]))
    often = rehearse(azar_even.policy, view, 1.75)
    assert often[0] > often[1] > often[2] > often[3] == 0.0


def test_of_many_pages_few_are_rehearsed():
    rows = np.arange(10_000)
    assert is_rehearsed(plugins.strategy("site-sampling"))
    few = some_rows(plugins.strategy("site-sampling"), rows)
    assert few.size == rehearsal.ITEMS
    assert (few[0], few[-1]) == (0, 9_999)
    assert some_rows(champion, rows) is rows
    assert some_rows(plugins.strategy("site-sampling"), rows[:9]).size == 9
