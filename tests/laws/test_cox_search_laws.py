"""The search for Cox's coefficients, step by step, and the clocks of its tests."""

import numpy as np
import pytest

from cox_cases import spells
from halflife.models.cox_columns import check_columns
from halflife.models.cox_risk import RiskSets, slopes, sums
from halflife.models.cox_search import CoxPeak, _step, estimable, is_separated, peak
from halflife.models.cox_tests import (
    FittedCovariates,
    _before,
    _chi_square,
    _clock,
    _groups,
    _share_ended,
    sum_by_cluster,
)


def test_a_step_is_newtons_and_no_longer_than_five():
    information = np.array([[4.0, 1.0], [1.0, 3.0]])
    slope = np.array([2.0, -1.0])
    newton = np.linalg.solve(information, slope)
    assert _step(information, slope) == pytest.approx(newton)
    far = _step(information, 100 * slope)
    assert np.abs(far).max() == pytest.approx(5.0)
    assert far / np.abs(far).max() == pytest.approx(newton / np.abs(newton).max())
    # Without curvature the step is held by a trace of the largest.
    flat = _step(np.diag([1e6, 0.0]), np.array([0.0, 2e-8]))
    assert flat == pytest.approx([0.0, 2.0])


def test_a_covariate_is_told_by_what_is_left_of_it():
    whole = np.diag([2.0, 3.0])
    assert estimable(whole, 10.0).tolist() == [True, True]
    # The third is the sum of the first two, and the fourth is its own.
    base = np.array([[1.0, 0.0, 1.0, 0.2], [0.0, 1.0, 1.0, 0.3]])
    extra = np.array([0.0, 0.0, 0.0, 1.0])
    information = base.T @ base + np.outer(extra, extra)
    assert estimable(information, 1.0).tolist() == [True, True, False, True]
    # So little, for so many deaths, says nothing.
    assert estimable(np.diag([1e-12, 1.0]), 2000.0).tolist() == [False, True]
    assert estimable(np.diag([3e-9, 1.0]), 2000.0).tolist() == [True, True]
    assert estimable(np.diag([3e-9, 1.0]), 4e6).tolist() == [False, True]


def test_a_direction_has_faded_that_kept_less_than_a_hundred_thousandth():
    flat = np.array([[4.0, 1.0], [1.0, 2.0]])
    axes = np.linalg.cholesky(flat)

    def after(share):
        kept = axes @ np.diag([1.0, share]) @ axes.T
        return CoxPeak(np.zeros(2), 0.0, kept, settled=True)

    assert is_separated(after(0.9e-5), flat) is True
    assert is_separated(after(1.1e-5), flat) is False
    assert is_separated(after(7.0), flat) is False


def sets_of(seed=0, n=60, ties="efron", late=True):
    x, time, ended, stratum, entry = spells(seed, n=n, late=late)
    weight = np.random.default_rng(seed).uniform(0.5, 2.0, time.size)
    given = check_columns(x, time, ended, strata=stratum, entry=entry, weight=weight)
    return RiskSets.of(given.data, ties)


@pytest.mark.parametrize("ridge", [0.0, 2.0])
@pytest.mark.parametrize("start", [(0.0, 0.0, 0.0), (1.5, -3.0, 0.4)])
def test_at_the_peak_slope_and_ridge_cancel_and_the_rest_is_told(ridge, start):
    sets = sets_of()
    z = sets.data.x.T
    found = peak(sets, z, ridge, np.array(start))
    assert found.settled is True
    here = sums(sets, z, found.beta)
    slope, information = slopes(sets, z, here)
    assert slope == pytest.approx(ridge * found.beta, abs=1e-5)
    assert found.value == pytest.approx(here.value)  # without the penalty
    assert found.information == pytest.approx(information + ridge * np.eye(3))


# tests of proportionality


def test_clocks_have_the_mean_nought_and_follow_their_transform():
    sets = sets_of(1)
    died = sets.died
    time, weight = sets.data.time[died], sets.data.weight[died]
    mean = float(weight @ time / weight.sum())
    assert _clock(sets, "identity") == pytest.approx(time - mean)
    log = np.log(time)
    assert _clock(sets, "log") == pytest.approx(log - weight @ log / weight.sum())
    rank = np.array(
        [weight[time < t].sum() + (weight[time == t].sum() + 1) / 2 for t in time]
    )
    assert _clock(sets, "rank") == pytest.approx(rank - weight @ rank / weight.sum())
    alive, gone = 1.0, {}
    data = sets.data
    for t in sorted(set(time)):
        left = data.weight[(data.entry < t) & (data.time >= t)].sum()
        alive *= 1 - weight[time == t].sum() / left
        gone[t] = 1 - alive
    km = np.array([gone[t] for t in time])
    assert _clock(sets, "km") == pytest.approx(km - weight @ km / weight.sum())
    when = np.unique(time)
    mass = np.array([weight[time == t].sum() for t in when])
    assert _share_ended(sets, when, mass) == pytest.approx([gone[t] for t in when])


def test_what_happened_before_is_strictly_before():
    t, weight = np.array([3.0, 1.0, 2.0, 2.0]), np.array([1.0, 2.0, 4.0, 8.0])
    at = np.array([0.0, 1.0, 1.5, 2.0, 3.0, 4.0])
    assert _before(t, weight, at).tolist() == [0, 0, 2, 2, 14, 15]


def test_columns_are_added_up_by_cluster():
    rows = np.array([[1.0, 2.0, 3.0], [10.0, 20.0, 30.0]])
    assert sum_by_cluster(rows, np.array([1, 0, 1])).tolist() == [[2, 4], [20, 40]]


def test_chi_square_is_the_quadratic_form_of_the_inverse():
    variance = np.array([[2.0, 0.5, 0.1], [0.5, 1e-4, 0.0], [0.1, 0.0, 3.0]])
    variance[1, 1] = 1.0
    drift = np.array([0.7, -0.3, 1.1])
    for rows in ([0], [0, 2], [0, 1, 2]):
        part = variance[np.ix_(rows, rows)]
        by_hand = drift[rows] @ np.linalg.inv(part) @ drift[rows]
        found = _chi_square(drift, variance, np.array(rows))
        assert found == (pytest.approx(by_hand), len(rows))
    twice = np.array([[1.0, 2.0], [2.0, 4.0]])  # one direction only
    value, rank = _chi_square(np.array([1.0, 2.0]), twice, np.arange(2))
    assert (value, rank) == (pytest.approx(1.0), 1)


def test_dummies_are_grouped_and_what_is_not_told_is_left_out():
    names = ("size", "topic=arts", "topic=news", "age", "topic=law")
    seen = np.array([True, True, False, False, True])
    model = FittedCovariates(np.zeros((5, 1)), names, seen, np.eye(5))
    groups = [(name, rows.tolist()) for name, rows in _groups(model)]
    assert groups == [("size", [0]), ("topic", [1, 4])]
