"""How long a database's summaries last is learned from what came of its own."""

from math import inf

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.integrate import quad

from halflife.models.drift import WeibullSurvival
from halflife.summary.lifetime import WEIGHT, SummaryOutcome, pace, posterior

DAYS = st.floats(0.0, 1000.0)
HELD = st.builds(SummaryOutcome, DAYS)
FAILED = st.builds(lambda a, more: SummaryOutcome(a, a + more), DAYS, DAYS)
OUTCOMES = st.lists(st.one_of(HELD, FAILED), max_size=8)


def law(rate=0.02, shape=0.9):
    return WeibullSurvival(np.array([rate]), np.array([shape]))


def brute(survival, outcomes):
    """The mean of theta by adaptive quadrature of prior times likelihood."""
    rate, shape = survival.rate[0], survival.shape[0]

    def density(theta):
        found = theta ** (WEIGHT - 1.0) * np.exp(-WEIGHT * theta)
        for one in outcomes:
            found *= np.exp(-theta * rate * one.held**shape)
            if one.failed < inf:
                width = rate * (one.failed**shape - one.held**shape)
                found *= 1.0 - np.exp(-theta * width)
        return found

    limits = {"points": (0.1, 1.0, 3.0), "limit": 400, "epsabs": 0.0, "epsrel": 1e-10}
    whole = quad(density, 0.0, 60.0, **limits)[0]
    return quad(lambda theta: theta * density(theta), 0.0, 60.0, **limits)[0] / whole


def test_thirty_days_at_a_tenth_a_day_count_as_three_summaries():
    # x = 0.1 * 30 = 3, and 1 / (1 + 3) = 0.25
    assert pace(law(0.1, 1.0), [SummaryOutcome(30.0)]) == pytest.approx(0.25)


def test_nothing_known_leaves_the_model_as_it_is():
    found = posterior(law(), [])
    assert found.rate == pytest.approx(law().rate)
    assert found.shape == law().shape


@pytest.mark.parametrize(
    "outcomes",
    [
        [SummaryOutcome(0.0, 1.0)],
        [SummaryOutcome(10.0, 12.0), SummaryOutcome(100.0)],
        [SummaryOutcome(5.0, 6.0)] * 3 + [SummaryOutcome(1.0)] * 4,
        [SummaryOutcome(0.0, 400.0), SummaryOutcome(20.0, 20.5), SummaryOutcome(300.0)],
    ],
)
def test_the_mean_is_that_of_the_posterior(outcomes):
    assert pace(law(), outcomes) == pytest.approx(brute(law(), outcomes), rel=1e-5)


@given(outcomes=OUTCOMES, age=st.floats(0.5, 1000.0))
def test_one_that_held_makes_life_longer_and_the_longer_the_more(outcomes, age):
    before = pace(law(), outcomes)
    once = pace(law(), [*outcomes, SummaryOutcome(age)])
    longer = pace(law(), [*outcomes, SummaryOutcome(2.0 * age)])
    assert longer < once < before


@given(outcomes=OUTCOMES, age=st.floats(0.0, 100.0))
def test_one_that_failed_at_once_makes_life_shorter(outcomes, age):
    before = pace(law(), outcomes)
    assert pace(law(), [*outcomes, SummaryOutcome(0.0, 1e-6)]) > before
    held = pace(law(), [*outcomes, SummaryOutcome(age)])
    assert pace(law(), [*outcomes, SummaryOutcome(age, age + 1.0)]) > held


@given(outcomes=OUTCOMES, rate=st.floats(0.0, 100.0), shape=st.floats(0.2, 3.0))
def test_it_is_between_nothing_and_one_more_for_each_that_failed(outcomes, rate, shape):
    failed = sum(one.failed < inf for one in outcomes)
    found = pace(law(rate, shape), outcomes)
    assert 0.0 < found <= (WEIGHT + failed) * (1.0 + 1e-6)
    assert np.isfinite(posterior(law(rate, shape), outcomes).alive(np.array([3.0]))[0])


@pytest.mark.parametrize(
    "outcomes",
    [
        [SummaryOutcome(0.0)],
        [SummaryOutcome(5.0, 5.0)],
        [SummaryOutcome(0.0, 0.0)],
        [SummaryOutcome(-1.0, -2.0)],
        [SummaryOutcome(1e9, 1e12)],
        [SummaryOutcome(1e9)] * 50,
        [SummaryOutcome(1.0, 2.0)] * 200,
    ],
)
def test_odd_ages_give_a_number(outcomes):
    assert 0.0 < pace(law(), outcomes) < inf
