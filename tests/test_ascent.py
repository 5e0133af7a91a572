import numpy as np
import pytest

from halflife.models.ascent import climb

FAR = np.full(2, 50.0)


def hill(x):
    """Return a bent ridge whose peak is at (1, 1), with slopes; Rosenbrock's, upside
    down."""
    a, b = x
    value = -((1 - a) ** 2) - 10 * (b - a * a) ** 2
    slope = np.array([2 * (1 - a) + 40 * a * (b - a * a), -20 * (b - a * a)])
    bend = np.array([[-2 + 40 * b - 120 * a * a, 40 * a], [40 * a, -20.0]])
    return float(value), slope, bend


@pytest.mark.parametrize("start", [(-3.0, 4.0), (20.0, -20.0), (1.0, 1.0)])
def test_the_peak_is_reached_from_anywhere(start):
    peak = climb(hill, np.array(start), -FAR, FAR)
    assert peak.converged
    assert peak.at == pytest.approx([1.0, 1.0], abs=1e-8)
    assert not peak.bound.any()
    assert np.linalg.inv(peak.covariance) == pytest.approx(-hill(peak.at)[2])


def test_bounds_hold_and_are_named():
    peak = climb(hill, np.zeros(2), -FAR, np.array([0.5, 50.0]))
    assert peak.converged
    assert peak.at == pytest.approx([0.5, 0.25])
    assert peak.bound.tolist() == [True, False]
    assert peak.covariance[0].tolist() == [0.0, 0.0]
    assert peak.covariance[1, 1] == pytest.approx(1 / 20)


def test_a_parameter_whose_bounds_agree_stays():
    low, high = np.array([-50.0, 0.3]), np.array([50.0, 0.3])
    peak = climb(hill, np.zeros(2), low, high)
    assert peak.at[1] == 0.3
    assert abs(hill(peak.at)[1][0]) < 1e-6
    assert not peak.bound.any()


def test_a_saddle_is_left():
    def saddle(x):
        value = x[0] ** 2 - x[0] ** 4 - x[1] ** 2
        slope = np.array([2 * x[0] - 4 * x[0] ** 3, -2 * x[1]])
        return float(value), slope, np.diag([2 - 12 * x[0] ** 2, -2.0])

    peak = climb(saddle, np.array([1e-3, 1.0]), -FAR, FAR)
    assert peak.at == pytest.approx([np.sqrt(0.5), 0.0], abs=1e-8)


def test_flat_ground_ends_where_it_began():
    def plain(x):
        return 0.0, np.zeros(2), np.zeros((2, 2))

    peak = climb(plain, np.ones(2), -FAR, FAR)
    assert peak.converged
    assert peak.at.tolist() == [1.0, 1.0]
    assert not peak.covariance.any()


def test_an_endless_slope_ends_at_the_bound():
    def slope(x):
        return float(x.sum()), np.ones(2), np.zeros((2, 2))

    peak = climb(slope, np.zeros(2), -FAR, FAR)
    assert peak.at.tolist() == FAR.tolist()
    assert peak.bound.all()
