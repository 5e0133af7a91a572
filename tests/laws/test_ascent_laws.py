"""Newton's search step by step: who may move, how far, and what is known in the end."""

import numpy as np
import pytest

from halflife.models.ascent import _free, _inverse, _step, climb


@pytest.mark.parametrize(
    ("at", "slope", "free"),
    [
        (0.0, -1.0, False),  # at the lower bound, and downhill beyond it
        (0.0, 0.0, False),
        (0.0, 0.5, True),
        (1.0, 0.5, False),
        (1.0, 0.0, False),
        (1.0, -0.5, True),
        (0.5, 0.0, True),
        (0.5, -3.0, True),
    ],
)
def test_a_parameter_at_a_bound_moves_only_where_uphill_leads_inside(at, slope, free):
    found = _free(np.array([at]), np.array([slope]), np.zeros(1), np.ones(1))
    assert found.tolist() == [free]


def test_a_parameter_whose_bounds_agree_is_not_free():
    one = np.ones(1)
    assert _free(one, np.zeros(1), one, one).tolist() == [False]
    assert _free(one, one, one, one).tolist() == [False]


def test_a_step_is_the_slope_over_the_curvature_whatever_its_sign():
    slope, bend = np.array([0.6, -0.5, 0.3]), np.diag([-2.0, 5.0, -4.0])
    every = np.ones(3, bool)
    assert _step(slope, bend, every, 0.0) == pytest.approx([0.3, -0.1, 0.075])
    assert _step(slope, bend, every, 1.0) == pytest.approx([0.15, -0.05, 0.0375])
    some = np.array([True, False, True])
    assert _step(slope, bend, some, 0.0) == pytest.approx([0.3, 0.0, 0.075])
    assert _step(slope, bend, ~every, 0.0).tolist() == [0.0, 0.0, 0.0]


def test_a_step_in_turned_axes_is_newtons():
    bend = -np.array([[3.0, 1.0], [1.0, 2.0]])
    slope = np.array([0.2, -0.7])
    step = _step(slope, bend, np.ones(2, bool), 0.0)
    assert step == pytest.approx(np.linalg.solve(-bend, slope))


def test_a_long_step_keeps_its_direction_and_its_longest_part_is_two():
    every, bend = np.ones(2, bool), -np.eye(2)
    assert _step(np.array([100.0, -50.0]), bend, every, 0.0) == pytest.approx([2, -1])
    assert _step(np.array([0.0, 50.0]), bend, every, 0.0) == pytest.approx([0, 2])
    assert _step(np.array([1.9, -1.0]), bend, every, 0.0) == pytest.approx([1.9, -1])


def test_flat_ground_counts_as_bent_a_trillionth_of_the_steepest():
    bend, every = np.diag([-1e3, 0.0]), np.ones(2, bool)
    step = _step(np.array([0.0, 1e-10]), bend, every, 0.0)
    assert step == pytest.approx([0.0, 0.1])


def test_the_covariance_is_the_inverse_over_what_is_free():
    information = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 2.0]])
    every = np.ones(3, bool)
    inverse = np.linalg.inv(information)
    assert _inverse(information, every) == pytest.approx(inverse)
    some = np.array([True, False, True])
    part = np.zeros((3, 3))
    part[np.ix_(some, some)] = np.linalg.inv(information[np.ix_(some, some)])
    assert _inverse(information, some) == pytest.approx(part)
    assert not _inverse(information, ~every).any()


def test_directions_that_say_nothing_have_no_variance():
    every = np.ones(3, bool)
    for scale in (1e-3, 1.0, 1e6):
        told = _inverse(scale * np.diag([4.0, -1.0, 1e-14]), every)
        assert told == pytest.approx(np.diag([0.25 / scale, 0.0, 0.0]))
    # A valley that is steeper than any hill still is the measure.
    assert not _inverse(np.diag([-1.0, 1e-14, 1e-15]), every).any()


def parabola(x):
    """Return a hill whose top is at (3, -2)."""
    off = x - np.array([3.0, -2.0])
    return float(-(off @ off)), -2 * off, -2 * np.eye(2)


@pytest.mark.parametrize(
    ("low", "high", "at", "bound"),
    [
        ([-9.0, -9.0], [9.0, 9.0], [3.0, -2.0], [False, False]),
        ([-9.0, -1.0], [9.0, 9.0], [3.0, -1.0], [False, True]),
        ([-9.0, -9.0], [2.5, 9.0], [2.5, -2.0], [True, False]),
        ([4.0, -9.0], [9.0, -3.0], [4.0, -3.0], [True, True]),
        ([1.0, -9.0], [1.0, 9.0], [1.0, -2.0], [False, False]),
    ],
)
def test_the_peak_within_bounds_is_named_where_it_touches_them(low, high, at, bound):
    found = climb(parabola, np.zeros(2), np.array(low), np.array(high))
    assert found.converged
    assert found.at == pytest.approx(at)
    assert found.bound.tolist() == bound
    assert found.value == pytest.approx(parabola(np.array(at))[0])
    held = np.array(bound) | (np.array(low) == np.array(high))
    assert np.diag(found.covariance) == pytest.approx(np.where(held, 0.0, 0.5))


def test_newtons_method_knows_the_top_of_a_parabola_after_one_step():
    calls = []

    def counted(x):
        calls.append(x.copy())
        return parabola(x)

    start = np.array([1.5, -1.0])
    found = climb(counted, start, np.full(2, -9.0), np.full(2, 9.0))
    assert found.at.tolist() == [3.0, -2.0]
    assert len(calls) == 3  # start, step, and a step of no length


def test_a_step_that_leads_down_is_taken_back_and_shortened():
    calls = []

    def bell(x):
        # Newton's step from far out overshoots: |curvature| is small there.
        value = np.exp(-(x[0] ** 2))
        bend = (4 * x[0] ** 2 - 2) * value
        calls.append(float(x[0]))
        return float(value), -2 * x * value, np.array([[bend]])

    found = climb(bell, np.array([0.8]), np.full(1, -9.0), np.full(1, 9.0))
    assert found.converged
    assert found.at == pytest.approx([0.0], abs=1e-7)
    assert found.value == pytest.approx(1.0)
    values = [np.exp(-(x**2)) for x in calls]
    assert min(values[1:3]) < values[0]  # the first try was indeed worse


def test_a_search_that_may_not_end_says_so():
    def stairs(x):
        # The slope promises more than the function holds, whatever the step.
        return -float(np.floor(abs(x[0]))), np.array([1.0]), np.array([[-1.0]])

    found = climb(stairs, np.zeros(1), np.full(1, -1e9), np.full(1, 1e9))
    assert not found.converged
    assert found.value == 0.0
