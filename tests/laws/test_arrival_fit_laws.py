"""Which arrival model is fitted to what, and its slopes against differences."""

import math

import numpy as np
import pytest

from halflife.models.arrival import (
    ArrivalStatus,
    _covers_weekdays,
    _Fit,
    _rate_only,
    fit_arrivals,
    weekday_days,
)
from halflife.models.counts import LAWS

DAY = np.arange(28.0)


def looks_every(step, days):
    start = np.arange(0.0, days, step)
    return weekday_days(start, start + step)


@pytest.mark.parametrize(
    ("step", "days", "told"),
    [
        (1.0, 28, True),  # four of each
        (1.0, 27, False),  # of one weekday only three
        (0.25, 14, True),  # eight of each, two days long together
        (0.25, 13.75, False),
        (0.25, 7, False),  # four of each, but a day of each in all
        (2.0, 140, False),  # no day fills more than half of an interval
        (1.9, 133, True),
    ],
)
def test_weekdays_are_told_by_intervals_that_they_mostly_fill(step, days, told):
    assert _covers_weekdays(looks_every(step, days)) is told


def test_rates_by_weekday_are_tried_where_they_can_be_told():
    count = np.random.default_rng(0).poisson(5.0, 28)

    def tried(n, weekdays):
        found = fit_arrivals(
            DAY[:n], DAY[:n] + 1, count[:n], laws=("poisson",), weekdays=weekdays
        )
        return set(found.aic)

    assert tried(28, None) == {"poisson", "poisson+weekday"}
    assert tried(28, True) == {"poisson+weekday"}
    assert tried(28, False) == {"poisson"}
    assert tried(27, None) == tried(27, True) == tried(27, False) == {"poisson"}


def test_the_model_of_least_aic_is_returned_with_all_that_were_tried():
    count = np.random.default_rng(1).negative_binomial(1.0, 0.1, 28)
    found = fit_arrivals(DAY, DAY + 1, count)
    assert set(found.aic) == {law + s for law in LAWS for s in ("", "+weekday")}
    best = min(found.aic, key=found.aic.get)
    assert best.removesuffix("+weekday") == found.law
    alone = fit_arrivals(DAY, DAY + 1, count, laws=(found.law,), weekdays="+" in best)
    assert alone.log_likelihood == pytest.approx(found.log_likelihood)
    assert alone.weekday_p == 1.0  # nothing to compare with


def test_too_few_intervals_or_arrivals_leave_a_poisson_rate():
    two = fit_arrivals(np.array([0.0, 2.0]), np.array([2.0, 5.0]), np.array([3, 1]))
    assert two.status is ArrivalStatus.FEW_LOOKS
    assert two.rate == pytest.approx(4 / 5)
    assert two.rate_error == pytest.approx(math.sqrt(4) / 5)
    assert (two.law, two.aic, two.weekday_p) == ("poisson", {}, 1.0)
    three = fit_arrivals(DAY[:3], DAY[:3] + 1, np.array([3, 1, 2]), laws=("poisson",))
    assert three.status is ArrivalStatus.OK
    none = fit_arrivals(DAY, DAY + 1, np.zeros(28, int))
    assert none.status is ArrivalStatus.NO_ARRIVALS
    assert none.rate == pytest.approx(0.5 / 28)
    assert none.covariance.tolist() == [[2.0]]
    never = fit_arrivals(np.zeros(0), np.zeros(0), np.zeros(0, int))
    assert never.status is ArrivalStatus.NO_LOOKS
    assert never.rate == 0.5
    same = fit_arrivals(np.ones(4), np.ones(4), np.arange(4))
    assert same.status is ArrivalStatus.NO_LOOKS
    assert (same.spread, same.memory) == (1.0, 0.0)
    assert (same.log_likelihood, same.dispersion) == (0.0, 0.0)
    assert _rate_only(np.full((1, 7), 2.0), np.array([7.0])).rate == pytest.approx(0.5)


def test_intervals_of_no_length_are_left_out():
    start = np.array([0.0, 1.0, 1.0, 2.0, 3.0])
    end = np.array([1.0, 1.0, 2.0, 3.0, 4.0])
    count = np.array([2, 50, 1, 4, 3])
    found = fit_arrivals(start, end, count, laws=("poisson",))
    assert found.rate == pytest.approx(10 / 4)


@pytest.mark.parametrize("rate", [1e-4, 0.03, 4e6])
def test_poisson_rates_may_be_as_small_or_large_as_they_are(rate):
    gap = 2.0 / rate
    start = np.arange(5) * gap
    count = np.array([1, 3, 2, 4, 0])
    found = fit_arrivals(start, start + gap, count, laws=("poisson",), weekdays=False)
    assert found.rate == pytest.approx(rate)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("weekdays", [False, True])
def test_slopes_of_a_fit_are_those_of_differences(law, weekdays):
    rng = np.random.default_rng(2)
    gap = rng.uniform(0.4, 1.6, 20)
    end = np.cumsum(gap)
    days = weekday_days(end - gap, end)
    table = days if weekdays else days.sum(axis=1, keepdims=True)
    fit = _Fit(law, table, rng.poisson(4.0 * gap).astype(float))
    n = 7 if weekdays else 1
    spread = [] if law == "poisson" else [math.log(0.8)]
    at = np.array([*(1.2 + 0.1 * np.arange(n)), *spread])
    value, slope, bend = fit(at)
    assert np.isfinite(value)
    e = 1e-4
    for k in range(at.size):
        move = np.zeros(at.size)
        move[k] = e
        up, down = fit(at + move), fit(at - move)
        assert slope[k] == pytest.approx((up[0] - down[0]) / (2 * e), abs=1e-4)
        by_hand = (up[1] - down[1]) / (2 * e)
        np.testing.assert_allclose(bend[k], by_hand, rtol=1e-3, atol=2e-3)
    assert fit.dispersion(at) == pytest.approx(0.8 if spread else 0.0)
    assert fit.aic == pytest.approx(2 * at.size - 2 * fit.peak.value)
    assert fit.mean() == pytest.approx(table @ np.exp(fit.peak.at[:n]))
