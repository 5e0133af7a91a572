"""The likelihood of Weibull lifetimes against its definition and differences."""

import math

import numpy as np
import pytest
from scipy.integrate import quad

from halflife.models.spells import Spells
from halflife.models.weibull import Likelihood

AT = np.array([math.log(0.3), math.log(1.4)])
SCALE = 2.0


def spells(*rows, spread=None):
    entry, lower, upper, weight = (np.array(c, float) for c in zip(*rows, strict=True))
    off = None if spread is None else np.array(spread, float)
    return Spells.of(entry, lower, upper, weight=weight, spread=off)


ROWS = (
    (0.0, 2.0, 3.0, 1.0),  # ended between two looks
    (1.0, 2.5, 7.0, 3.0),
    (0.5, 4.0, np.inf, 2.0),  # still there
    (1.0, 1.5, 1.5, 1.0),  # ended at exactly this age
    (0.0, 0.0, 1.0, 1.0),  # never seen alive after its birth
)


def value(rows, at, scale=SCALE):
    """Return the log-likelihood by the formulas of the module."""
    a, k = math.exp(at[0]) / scale, math.exp(at[1])

    def cumulative(t):
        return (a * t) ** k

    total = 0.0
    for entry, lower, upper, weight in rows:
        term = cumulative(entry) - cumulative(lower)
        if upper == lower:  # in units of the scale
            term += math.log(k * (a * lower) ** k / (lower / scale))
        elif math.isfinite(upper):
            term += math.log(1 - math.exp(cumulative(lower) - cumulative(upper)))
        total += weight * term
    return total


def test_the_likelihood_is_that_of_its_definition():
    found, _, _ = Likelihood(spells(*ROWS), SCALE, 0.0, 0.0, 0.0)(AT)
    assert found == pytest.approx(value(ROWS, AT))


def test_the_prior_is_so_many_deaths_in_so_many_days_and_a_pull_on_the_shape():
    found, _, _ = Likelihood(spells(*ROWS), SCALE, 2.0, 5.0, 3.0)(AT)
    k = math.exp(AT[1])
    hazard = math.exp(AT[0]) ** k  # H at one unit of scaled time
    prior = 2.0 * math.log(k * hazard) - 5.0 * hazard - 3.0 * AT[1] ** 2 / 2
    assert found == pytest.approx(value(ROWS, AT) + prior)


def test_unsure_births_are_averaged_over():
    rows, off = ((2.0, 4.0, 6.0, 1.0), (1.0, 3.0, np.inf, 2.0)), (1.0, 0.5)
    a, k = math.exp(AT[0]) / SCALE, math.exp(AT[1])

    def alive(t):
        return math.exp(-((a * t) ** k))

    total = 0.0
    for (entry, lower, upper, weight), spread in zip(rows, off, strict=True):

        def part(shift, low=lower, high=upper):
            gone = 0.0 if math.isinf(high) else alive(high + shift)
            return alive(low + shift) - gone

        seen = quad(part, -spread, spread)[0]
        met = quad(lambda shift, e=entry: alive(e + shift), -spread, spread)[0]
        total += weight * math.log(seen / met)
    found, _, _ = Likelihood(spells(*rows, spread=off), SCALE, 0.0, 0.0, 0.0)(AT)
    assert found == pytest.approx(total, rel=1e-5)


@pytest.mark.parametrize("spread", [None, (1.0, 0.2, 0.4, 0.0, 0.3)])
@pytest.mark.parametrize("prior", [(0.0, 0.0, 0.0), (2.0, 5.0, 3.0)])
@pytest.mark.parametrize("at", [AT, np.array([-2.0, -0.4]), np.array([0.5, 0.0])])
def test_slopes_are_what_differences_show(spread, prior, at):
    rows = (
        ROWS
        if spread is None
        else tuple((e + 2, a + 2, b + 2, w) for e, a, b, w in ROWS)
    )
    likelihood = Likelihood(spells(*rows, spread=spread), SCALE, *prior)
    _, slope, curve = likelihood(at)
    step = 1e-5
    for i in range(2):
        ahead = np.eye(2)[i] * step
        (up, up_slope, _), (down, down_slope, _) = (
            likelihood(at + ahead),
            likelihood(at - ahead),
        )
        assert slope[i] == pytest.approx((up - down) / (2 * step), rel=1e-5, abs=1e-6)
        by_hand = (up_slope - down_slope) / (2 * step)
        assert curve[i] == pytest.approx(by_hand, rel=1e-5, abs=1e-6)


def test_rows_may_come_in_any_number():
    many = spells(*(ROWS * 1000))
    one = Likelihood(spells(*ROWS), SCALE, 0.0, 0.0, 0.0)(AT)
    all_ = Likelihood(many, SCALE, 0.0, 0.0, 0.0)(AT)
    assert all_[0] == pytest.approx(1000 * one[0])
    np.testing.assert_allclose(all_[1], 1000 * one[1])
    np.testing.assert_allclose(all_[2], 1000 * one[2])


def test_without_rows_only_the_prior_speaks():
    empty = Spells.of(np.zeros(0), np.zeros(0), np.zeros(0))
    found, slope, _ = Likelihood(empty, 1.0, 2.0, 5.0, 1.0)(np.zeros(2))
    assert found == pytest.approx(-5.0)  # H = h = 1 at shape and rate 1
    assert slope[0] == pytest.approx(2.0 - 5.0)
