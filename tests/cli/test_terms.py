from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import integrate, optimize, stats

from halflife.allocation import allocate
from halflife.cli.terms import terms
from halflife.core.view import View
from halflife.models.poisson import Exponential, GammaSurvival
from halflife.policies.champion import PatientIndex
from halflife.policies.index import Index

NOW = 20_000.0


def view_of(age, survival, rate, looks=(5, 5, 5), changes=(2, 0, 4)):
    n = len(age)
    return View(
        now=NOW,
        keys=tuple(f"page{i}" for i in range(n)),
        weight=np.array([1.0, 4.0, 2.0]),
        cost=np.array([1.0, 1.0, 2.0]),
        group=np.zeros(n, dtype=np.intp),
        rate=np.asarray(rate, dtype=np.float64),
        survival=survival,
        age=np.asarray(age, dtype=np.float64),
        looks=np.array(looks),
        changes=np.array(changes),
        looked=np.zeros(n, dtype=np.bool_),
        changed=np.zeros(n, dtype=np.bool_),
        ready=np.ones(n, dtype=np.bool_),
        due=np.zeros(0),
        exposure=np.asarray(age, dtype=np.float64),
        doubt=np.zeros(n),
        room=np.full(n, np.inf),
    )


@pytest.fixture
def poisson():
    rate = np.array([0.5, 0.1, 2.0])
    return view_of([1.0, 3.0, 0.5], Exponential(rate), rate)


@pytest.fixture
def gamma():
    shape, exposure = np.array([2.0, 0.5, 9.0]), np.array([4.0, 20.0, 3.0])
    survival = GammaSurvival(shape, exposure)
    return view_of([1.0, 3.0, 0.5], survival, shape / exposure)


def test_a_worked_example(poisson):
    # U = t - (1 - exp(-r t)) / r = 1 - (1 - exp(-0.5)) / 0.5 = 0.2131 (harmonic)
    said = terms(poisson, 0, Index("harmonic"), pace=1.0)
    assert said.gain == pytest.approx(1 - (1 - np.exp(-0.5)) / 0.5)
    assert said.stale == pytest.approx(1 - np.exp(-0.5))
    assert said.rate == (0.5, 0.5, 0.5)
    assert said.looks == 5
    assert said.lines()[0] == "last seen 24 h ago; 5 fetches so far, 2 found a change"
    assert said.changes == 2


def test_gain_is_by_weight_and_per_request(poisson):
    said = terms(poisson, 2, Index("freshness"), pace=1.0)
    lasting = integrate.quad(lambda u: np.exp(-2 * u), 0, 0.5)[0]
    assert said.gain == pytest.approx(2.0 / 2.0 * (lasting - 0.5 * np.exp(-1.0)))


def test_the_terms_are_those_of_the_rule_that_chooses(gamma):
    rule = PatientIndex("freshness", patience=0.02)
    gains = rule.gain(gamma)
    for row in range(3):
        said = terms(gamma, row, rule, pace=1.0)
        assert said.gain == pytest.approx(gains[row])
        assert sum(said.parts.values()) == pytest.approx(gains[row])
        assert said.rank == int(np.sum(gains > gains[row]))
        assert all(gain in gains for _, gain in said.beside)
    assert "so that no item waits for ever" in "\n".join(said.lines())


def test_the_price_is_that_of_the_best_schedule(poisson):
    best = allocate(
        poisson.rate, 3.0, weight=poisson.weight, cost=poisson.cost, objective="age"
    )
    assert terms(poisson, 1, Index("age"), pace=3.0).price == pytest.approx(best.price)


@pytest.mark.parametrize("objective", ["harmonic", "age", "freshness"])
@pytest.mark.parametrize("row", [0, 1, 2])
def test_an_item_is_due_when_its_gain_reaches_the_price(gamma, objective, row):
    pace = 0.3
    said = terms(gamma, row, Index(objective), pace)

    def later(wait):
        aged = replace(gamma, age=gamma.age + wait, exposure=gamma.exposure + wait)
        return terms(aged, row, Index(objective), pace).gain - said.price

    if said.due == 0:
        assert later(0.0) >= 0
    elif np.isinf(said.due):
        assert later(3000.0) < 0
    else:
        root = optimize.brentq(later, 0.0, 4000.0)
        assert said.due == pytest.approx(root, rel=1e-6)


def test_an_item_that_lived_more_than_its_age_is_due_sooner(gamma):
    usual = terms(gamma, 1, Index("harmonic"), 0.3)
    told = terms(replace(gamma, exposure=gamma.age + 9.0), 1, Index("harmonic"), 0.3)
    assert told.age == usual.age
    assert told.stale > usual.stale
    assert told.due < usual.due


def test_the_interval_of_the_rate_holds_95_percent(gamma):
    mean, low, high = terms(gamma, 1, Index("harmonic"), 1.0).rate
    belief = stats.gamma(0.5, scale=1 / 20.0)
    assert mean == pytest.approx(belief.mean())
    assert belief.cdf(high) - belief.cdf(low) == pytest.approx(0.95)
    assert belief.cdf(low) == pytest.approx(0.025)


def test_an_item_never_seen_is_due_at_once(gamma):
    age = np.array([np.inf, 3.0, 0.5])
    unseen = replace(gamma, age=age, exposure=age, looks=np.array([0, 5, 5]))
    said = terms(unseen, 0, Index("harmonic"), 1.0)
    assert said.due == 0
    assert said.lines()[0].startswith("never seen")
    assert said.row(NOW)["last_seen"] is None


def test_a_page_too_fast_for_the_budget_is_never_worth_it():
    rate = np.array([0.01, 0.01, 500.0])
    view = view_of([30.0, 30.0, 1.0], Exponential(rate), rate)
    said = terms(view, 2, Index("freshness"), pace=0.01)
    assert np.isinf(said.due)
    assert said.lines()[-1] == "so at this budget it is never worth a request"
    assert said.row(NOW)["due"] is None


@pytest.mark.parametrize(
    ("looks", "changes", "words"),
    [
        (0, 0, "the other pages alone"),
        (1, 0, "the other pages alone"),
        (6, 0, "no change seen so far"),
        (6, 5, "a change at every fetch"),
        (6, 2, "its own fetches"),
    ],
)
def test_it_says_where_the_rate_comes_from(gamma, looks, changes, words):
    view = replace(gamma, looks=np.full(3, looks), changes=np.full(3, changes))
    assert terms(view, 0, Index("harmonic"), 1.0).rate_from.startswith(words)


@given(
    age=st.floats(0.0, 1000.0),
    shape=st.floats(0.05, 50.0),
    exposure=st.floats(0.01, 1000.0),
    pace=st.floats(0.01, 100.0),
)
def test_all_terms_are_sane_numbers(age, shape, exposure, pace):
    survival = GammaSurvival(np.full(3, shape), np.full(3, exposure))
    view = view_of([age] * 3, survival, np.full(3, shape / exposure))
    said = terms(view, 0, Index("harmonic"), pace)
    assert 0 <= said.stale <= 1
    assert said.gain >= 0
    assert said.price > 0
    assert said.due >= 0
    assert all(line.isprintable() for line in said.lines())
