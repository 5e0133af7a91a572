import numpy as np
import pytest

from halflife.models.ages import LifeTable, weibull_hazard
from halflife.models.census import Census
from halflife.models.experts import Experts
from halflife.models.lifetime import ExponentialLifetime, WeibullLifetime
from set_worlds import arrival_survival, collection


@pytest.mark.parametrize("seed", range(3))
def test_the_running_rate_ends_at_the_fitted_one(seed):
    world = arrival_survival(seed, days=100)
    fitted = ExponentialLifetime().fit(world.lives)
    assert Experts(Census.of(world)).rates(np.inf)[0][-1] == pytest.approx(
        fitted.rate_, rel=0.03
    )


@pytest.mark.parametrize("shape", [0.8, 1.0, 2.0])
def test_the_running_weibull_ends_near_the_fitted_one(shape):
    rng = np.random.default_rng(1)
    born = rng.uniform(-50.0, 150.0, 6000)
    world = collection(np.arange(151.0), born, born + 25.0 * rng.weibull(shape, 6000))
    fitted = WeibullLifetime().fit(world.lives)
    summed, _ = weibull_hazard(LifeTable.of(Census.of(world)))
    ages = np.array([5.0, 20.0, 50.0])
    found = np.exp(-summed(np.tile(ages, (151, 1)))[-1])
    assert found == pytest.approx(fitted.survival(ages), abs=0.05)
