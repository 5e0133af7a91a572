"""Decay far ahead, where nothing is left of the recent values."""

import numpy as np
import pytest

from halflife.models import decay


def test_independent_steps_add_their_variances_however_many_there_are():
    steps = np.array([0.0, 0.5, 3.0, float(decay.FAR), decay.FAR + 600.5])
    coefficients = np.full((5, 1), -0.1)
    assert decay.sum_variance(coefficients, (), steps) == pytest.approx(steps)


def test_before_anything_is_known_the_recent_values_are_none():
    series = decay.Series(1.0, np.array([-0.3, -0.2]), np.array([0, 1, 2]))
    found = decay.recent_values(series, 2)
    assert found.tolist() == [[0.0, 0.0], [-0.3, -0.3], [-0.3, -0.2]]
