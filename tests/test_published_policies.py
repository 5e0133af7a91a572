"""Rules that others published, as they are wired here."""

from dataclasses import replace

import numpy as np
import pytest

from contracts.views import view_of
from halflife.allocation import azar as azar_rates, lambdacrawl as lambdacrawl_rates
from halflife.belief.mirror import MirrorSync
from halflife.core.budget import Budget
from halflife.core.wording import number
from halflife.models.quality import alive_at
from halflife.policies import azar, champion, index, lambdacrawl, mirror
from halflife.policies.dates import due_by_chance, due_first, frequencies

VIEW = replace(
    view_of(9, np.random.default_rng(1)),
    weight=np.arange(1.0, 10.0),
    cost=np.linspace(1.0, 3.0, 9),
)


def test_the_rates_spend_the_budget_at_the_items_costs_and_weights():
    for module, best in ((azar, azar_rates), (lambdacrawl, lambdacrawl_rates)):
        found = module.rates(VIEW, 5.0)
        assert found @ VIEW.cost == pytest.approx(5.0)
        by_hand = best(VIEW.rate, 5.0, weight=VIEW.weight, cost=VIEW.cost)
        np.testing.assert_allclose(found, by_hand.frequency)
        light = replace(VIEW, weight=np.where(np.arange(9) == 4, 0.0, VIEW.weight))
        assert module.rates(light, 5.0)[4] == pytest.approx(0.0, abs=1e-12)


def test_the_approximation_looks_as_often_as_pages_matter():
    found = lambdacrawl.approx(replace(VIEW, cost=np.ones(9)), 5.0)
    np.testing.assert_allclose(found / found.sum(), VIEW.weight / VIEW.weight.sum())
    assert found.sum() == pytest.approx(5.0)


def test_published_rules_look_at_random_and_their_even_twins_by_date():
    by_chance = (
        azar.azar,
        lambdacrawl.lambdacrawl,
        lambdacrawl.lambdacrawl_published,
        lambdacrawl.lambdacrawl_approx,
    )
    assert all(strategy.policy is due_by_chance for strategy in by_chance)
    by_date = azar.azar_even, lambdacrawl.lambdacrawl_even, mirror.mirror_sync
    assert all(strategy.policy is due_first for strategy in by_date)
    assert isinstance(mirror.mirror_sync.belief(), MirrorSync)
    assert lambdacrawl.as_published().schedule is lambdacrawl.rates


def test_what_is_due_longest_comes_first_and_what_is_never_due_not_at_all():
    n = VIEW.due.size
    due = 100.0 - np.array([3.0, -2.0, 9.0, np.inf, 1.0, 0.5, -np.inf, 4.0, 2.0])
    ready = replace(
        VIEW,
        due=due,
        cost=np.ones(n),
        ready=np.ones(n, bool),
        looked=np.zeros(n, bool),
    )
    plan = due_first(ready, Budget(99), np.random.default_rng(0))
    keys = [step.request.key for step in plan]
    assert keys[0] == "k3"  # never seen yet
    assert keys[1:] == ["k2", "k7", "k0", "k8", "k4", "k5", "k1"]
    reasons = {step.request.key: step.why for step in plan}
    assert reasons["k2"] == "due 9 days ago"
    assert reasons["k1"] == "due in 2 days"
    assert reasons["k3"] == "never seen yet"


def test_frequencies_are_one_over_the_interval_that_the_dates_stand_for():
    often = frequencies(VIEW)
    for i in range(len(VIEW)):
        if VIEW.looks[i]:
            interval = VIEW.due[i] - (VIEW.now - VIEW.age[i])
            assert often[i] == pytest.approx(1.0 / max(interval, 1e-9))
        else:
            assert often[i] == 1.0


def test_reasons_name_a_weight_only_if_it_is_not_the_usual_one():
    n = len(VIEW)
    ready = replace(
        VIEW,
        weight=np.where(np.arange(n) % 2, 1.0, 3.0),
        age=np.full(n, 2.5),
        exposure=np.full(n, 2.5),
        looks=np.full(n, 4),
        ready=np.ones(n, bool),
        looked=np.zeros(n, bool),
    )
    plan = index.harmonic.policy(ready, Budget(99), np.random.default_rng(0))
    assert len(plan) == n
    for step in plan:
        row = ready.keys.index(step.request.key)
        weight = ", weight 3" if row % 2 == 0 else ""
        stale = -np.expm1(np.log(alive_at(ready, row)))
        assert step.why == (
            f"{stale:.0%} likely changed: {number(ready.rate[row])} changes a day, "
            f"last seen 2.5 days ago{weight}"
        )


def test_an_item_is_asked_for_within_its_bounds_whatever_it_buys():
    n = len(VIEW)
    age = np.arange(1.0, n + 1)
    ready = replace(
        VIEW,
        age=age,
        exposure=age,
        looks=np.full(n, 4),
        ready=np.ones(n, bool),
        looked=np.zeros(n, bool),
        cost=np.ones(n),
    )
    rule = index.Index("harmonic", shortest=2.5, longest=6.5)
    plan = rule(ready, Budget(99), np.random.default_rng(0))
    keys = [step.request.key for step in plan]
    assert set(keys) == {f"k{i}" for i in range(n) if age[i] >= 2.5}
    assert keys[:3] == ["k8", "k7", "k6"]  # the latest first
    assert plan[0].why == "not seen for more than 6.5 days"
    assert "likely changed" in plan[3].why


def test_only_freshness_needs_patience_so_that_no_page_is_left_alone():
    for objective in ("harmonic", "age", "freshness"):
        rule = champion.champion_of(objective).policy.policy
        assert rule.objective == objective
        assert (rule.patience > 0) == (objective == "freshness")
    view = replace(VIEW, looks=np.full(9, 3), exposure=np.linspace(1.0, 5.0, 9))
    plain, patient = (
        champion.PatientIndex("freshness", patience=p) for p in (0.0, 0.5)
    )
    slow = champion.PatientIndex("harmonic")
    both = plain.gain(view) + 0.5 * slow.gain(view)
    np.testing.assert_allclose(patient.gain(view), both)
    doubt = np.linspace(0.0, 2.0, 9)
    bold = champion.PatientIndex("harmonic", boldness=2.0).gain(
        replace(view, doubt=doubt)
    )
    older = slow.gain(replace(view, exposure=view.exposure + 2.0 * doubt))
    np.testing.assert_allclose(bold, older)


def test_stretches_of_time_are_told_in_the_unit_that_fits():
    hour = 1 / 24
    for length, said in (
        (2.0, "2 days"), (1.99, "48 h"), (hour, "1 h"), (hour * 0.999, "60 min"),
        (30 / 1440, "30 min"),
    ):  # fmt: skip
        assert index.days(length) == said
