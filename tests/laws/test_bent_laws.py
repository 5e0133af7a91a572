"""Weibull copies: the likelihood written out, and when it is fit_weibull again."""

from math import exp, log

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize_scalar

from halflife.belief import weibull
from halflife.belief.weibull import SHAPES, Weibull, WeibullBelief, _fit, fit_weibull
from halflife.core.evidence import Evidence
from halflife.core.history import Gaps
from halflife.core.item import Item
from halflife.core.observation import Observations
from store_looks import present

GAPS = Gaps(
    np.array([0, 0, 0, 1, 1]),
    np.array([1.0, 3.0, 0.5, 2.0, 8.0]),
    np.array([True, False, True, False, True]),
    np.array([2.0, 1.0, 1.0, 3.0, 0.5]),
)


def best(item, shape):
    """Return the best log-posterior of one item's rate, and that rate."""
    rows = [
        (length**shape, changed, tally)
        for i, length, changed, tally in zip(*GAPS, strict=True)
        if i == item
    ]

    def loss(rate):
        seen = sum(
            n * (log(1 - exp(-rate * t)) if changed else -rate * t)
            for t, changed, n in rows
        )
        return -(seen + 0.5 * log(rate) - 1.0 * rate)

    found = minimize_scalar(loss, bounds=(1e-4, 20), method="bounded")
    return -found.fun, found.x


@pytest.mark.parametrize("shape", [0.4, 1.0, 1.5])
def test_the_fit_is_the_most_likely_rate_and_says_how_likely(shape):
    score, found = _fit(GAPS, 2, shape)
    each = [best(item, shape) for item in (0, 1)]
    assert found.rate == pytest.approx([rate for _, rate in each], rel=1e-3)
    usual = -((log(shape) / 0.5) ** 2) / 2
    assert score == pytest.approx(sum(s for s, _ in each) + usual, abs=1e-5)
    assert found.shape == shape


def test_the_shape_is_the_most_likely_of_those_there_are():
    scores = {shape: _fit(GAPS, 2, shape)[0] for shape in SHAPES}
    assert fit_weibull(GAPS, 2).shape == max(scores, key=scores.get)
    assert fit_weibull(GAPS, 2, 0.33).shape == 0.33


@pytest.mark.parametrize("shape", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("t", [0.3, 4.0])
def test_survival_and_its_integrals(shape, t):
    law = Weibull(np.array([0.7]), shape)

    def alive(u):
        return exp(-0.7 * u**shape)

    assert law.alive(np.array([t]))[0] == pytest.approx(alive(t))
    assert law.lasting(np.array([t]))[0] == pytest.approx(quad(alive, 0, t)[0])
    whole = quad(lambda u: u * alive(u), 0, t)[0]
    assert law.moment(np.array([t]))[0] == pytest.approx(whole)


def looked(evidence, number):
    """Look once more, at the items in turn."""
    key = "abcd"[number % 4]
    evidence.take(evidence.weigh(Observations.of([present(key, 1.0 + number)])))


@pytest.mark.parametrize("shape", [None, 0.7])
def test_rates_are_learned_again_as_looks_grow_and_the_shape_when_they_double(
    monkeypatch, shape
):
    evidence, belief, asked = (
        Evidence.of(Item(k) for k in "abcd"),
        WeibullBelief(shape),
        [],
    )

    def watch(gaps, n_items, given):
        asked.append((int(evidence.looks.sum()), given))
        return Weibull(np.ones(n_items), given or 0.55)

    monkeypatch.setattr(weibull, "fit_weibull", watch)
    for number in range(12):
        looked(evidence, number)
        if number >= 3:
            belief(evidence, 20.0, 20.0)
    kept = 0.55 if shape is None else shape
    assert asked == [(4, shape), (6, kept), (8, kept), (11, shape)]
    belief(evidence, 20.0, 20.0)
    assert len(asked) == 4
    evidence.add([Item("e")])
    belief(evidence, 20.0, 20.0)
    assert asked[4:] == [(12, kept)]
    other = Evidence.of(Item(k) for k in "abcde")
    belief(other, 20.0, 20.0)
    assert asked[5:] == [(12, shape)]


def test_the_rate_told_is_one_over_the_mean_life():
    evidence = Evidence.of(Item(k) for k in "abcd")
    for number in range(12):
        looked(evidence, number)
    view = WeibullBelief(0.7)(evidence, 20.0, 20.0)
    assert view.survival.shape == 0.7
    for i, rate in enumerate(view.survival.rate):
        life = quad(lambda u, r=rate: exp(-r * u**0.7), 0, np.inf)[0]
        assert view.rate[i] == pytest.approx(1.0 / life, rel=1e-6)
