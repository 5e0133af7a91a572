"""What the next requests of a policy are worth."""

from dataclasses import replace

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from scipy.optimize import isotonic_regression

from contracts.views import view_of, views
from halflife import plugins
from halflife.belief.weibull import Weibull
from halflife.core.budget import Budget
from halflife.models.mixed_survival import MixedSurvival, survival_rows
from halflife.models.poisson import Exponential, GammaSurvival
from halflife.models.signals import Announced
from halflife.policies.champion import PATIENCE, PatientIndex
from halflife.policies.simple import oldest_first
from halflife.policies.valuation import (
    falling,
    freshness_days,
    gain_policy,
    offered,
    turn_plan,
    valued,
)
from halflife.policies.view_rows import take_rows

CHAINS = st.lists(
    st.tuples(st.floats(0.0, 100.0), st.integers(1, 4)), min_size=1, max_size=12
)


@given(CHAINS)
def test_what_a_plan_offers_is_the_isotonic_regression_of_its_values(chain):
    value, cost = np.array(chain, dtype=np.float64).T
    found = falling(value, cost)
    oracle = isotonic_regression(value / cost, weights=cost, increasing=False)
    assert np.allclose(found / cost, oracle.x, rtol=1e-8, atol=1e-9)
    assert np.isclose(found.sum(), value.sum())
    assert np.all(np.cumsum(found) >= np.cumsum(value) - 1e-6)


def test_values_that_fall_already_are_left_as_they_are():
    value = np.array([0.3, 0.1 + 0.2, 0.2, 0.0])  # rounding is no rise
    assert falling(value, np.ones(4)).tolist() == value.tolist()
    assert falling(np.zeros(0), np.zeros(0)).size == 0


def test_the_value_of_a_page_is_what_the_champion_says_of_it():
    view = view_of(30, np.random.default_rng(3))
    gain = PatientIndex("freshness", patience=PATIENCE).gain(view)
    held = view.held
    mine = view.weight[held] * freshness_days(view)[held] / view.cost[held]
    assert np.allclose(mine, gain[held], rtol=1e-12)


@given(view=views(), requests=st.integers(1, 8))
def test_a_policy_that_plans_offers_its_plan_and_nothing_else(view, requests):
    value = np.arange(1.0, len(view) + 1.0)
    gain = offered(oldest_first, view, value, requests)
    plan = oldest_first(view, Budget(requests), np.random.default_rng(0))
    assert set(np.flatnonzero(gain > 0).tolist()) == set(plan.rows.tolist())
    assert np.isclose(gain.sum(), value[plan.rows].sum())
    assert np.all(np.diff((gain / view.cost)[plan.rows]) <= 1e-9)


@given(view=views())
def test_a_policy_that_weighs_pages_offers_each_at_its_value(view):
    value = np.arange(1.0, len(view) + 1.0)
    champion = plugins.strategy("champion").policy
    assert offered(champion, view, value, 1) is value
    hinted = plugins.strategy("index-hinted").policy
    picked = offered(hinted, view, value, 1) > 0
    assert np.array_equal(picked, hinted.gain(view) > 0)


def test_who_weighs_is_found_inside_of_what_shares_out_the_budget():
    assert isinstance(gain_policy(plugins.strategy("champion").policy), PatientIndex)
    assert gain_policy(oldest_first) is None


@pytest.mark.parametrize("name", ["site-sampling", "champion", "uniform"])
def test_the_plan_of_a_turn_goes_on_after_the_sample(name):
    view = view_of(60, np.random.default_rng(5))
    view = replace(view, looks=np.maximum(view.looks, 2), cost=np.ones(60))
    view = replace(view, looked=np.zeros(60, bool), age=np.minimum(view.age, 9.0))
    view = replace(view, exposure=np.minimum(view.exposure, 9.0), weight=np.ones(60))
    policy = plugins.strategy(name).policy
    rng = np.random.default_rng
    first = policy(view, Budget(20), rng(0))
    plan = turn_plan(policy, view, Budget(20), rng(0))
    assert plan.keys[: len(first)] == first.keys
    assert len(plan) == len(set(plan.keys)) == 20
    assert all(step.why for step in plan)
    assert np.isfinite(valued(plan, view).gain).all()


def test_a_part_of_items_survives_as_it_did_among_all():
    rng, t = np.random.default_rng(1), np.linspace(0.1, 9.0, 6)
    gamma = GammaSurvival(rng.gamma(1.0, 1.0, 3), rng.gamma(2.0, 1.0, 3))
    hints = Announced(Exponential(rng.random(3)), *rng.random((3, 3)))
    both = MixedSurvival([np.array([0, 2, 4]), np.array([5, 1, 3])], [gamma, hints])
    rows = np.array([5, 0, 3])
    some = both.take(rows)
    for name in ("alive", "lasting", "moment"):
        whole = getattr(both, name)(t)
        assert np.allclose(getattr(some, name)(t[rows]), whole[rows], rtol=1e-13)
        assert np.allclose(whole[[0, 2, 4]], getattr(gamma, name)(t[[0, 2, 4]]))
    wide = both.alive(np.tile(t, (2, 1)))
    assert wide.shape == (2, 6)
    picked = survival_rows(Opaque(both), rows, 6)
    for name in ("alive", "lasting", "moment"):
        assert np.allclose(getattr(picked, name)(t[rows]), getattr(some, name)(t[rows]))


class Opaque:
    """A law that does not say what it is made of."""

    def __init__(self, law):
        self.alive, self.lasting, self.moment = law.alive, law.lasting, law.moment


def test_some_pages_survive_as_they_did_among_all_where_one_shape_is_for_all():
    law, rows, t = Weibull(np.linspace(0.1, 1.0, 8), 0.7), np.array([6, 1]), np.ones(8)
    view = replace(view_of(8, np.random.default_rng(2)), survival=law)
    few = take_rows(view, rows)
    assert np.array_equal(few.survival.alive(t[:2]), law.alive(t)[rows])
