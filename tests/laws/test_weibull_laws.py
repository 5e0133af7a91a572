"""The likelihood of lifetimes is a sum over spells, however sure their births are."""

import numpy as np
import pytest

from halflife.models.spells import Spells
from halflife.models.weibull import Likelihood


def test_sure_and_unsure_births_add_up():
    entry, lower = np.array([1.0, 0.5, 0.0]), np.array([2.0, 3.0, 1.0])
    upper, spread = np.array([4.0, np.inf, 2.0]), np.array([0.8, 0.0, 0.0])
    data = Spells.of(entry, lower, upper, spread=spread)
    at = np.array([-0.4, 0.5])
    whole = Likelihood(data, 2.0, 0.0, 0.0, 0.0)(at)
    parts = [
        Likelihood(data.take(slice(i, i + 1)), 2.0, 0.0, 0.0, 0.0)(at) for i in range(3)
    ]
    for k in range(3):
        assert whole[k] == pytest.approx(sum(part[k] for part in parts))
    sure = Spells.of(entry, lower, upper)
    assert Likelihood(sure, 2.0, 0.0, 0.0, 0.0)(at)[0] != pytest.approx(whole[0])
