import warnings

import numpy as np
import pytest

from halflife.models.spells import Spells
from halflife.models.survival_curves import KaplanMeier
from lab.turnbull import Turnbull

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import lifelines
    from lifelines.fitters.npmle import npmle

INF = np.inf


@pytest.mark.parametrize("late", [False, True], ids=["from birth", "delayed entry"])
def test_kaplan_meier_agrees_with_lifelines(late):
    rng = np.random.default_rng(1)
    entry = rng.integers(0, 8, 300).astype(float) if late else np.zeros(300)
    end = entry + rng.integers(1, 40, 300)
    died = rng.random(300) < 0.6
    ours = KaplanMeier().fit(Spells.of(entry, end, np.where(died, end, INF)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        other = lifelines.KaplanMeierFitter().fit(end, died, entry=entry)
    theirs = other.survival_function_at_times(ours.time_).to_numpy()
    assert ours.survival_ == pytest.approx(theirs, abs=1e-12)
    bands = other.confidence_interval_.loc[ours.time_].to_numpy()
    alive = ours.survival_ > 0
    assert ours.low_[alive] == pytest.approx(bands[alive, 0], abs=1e-9)
    narrow = np.minimum.accumulate(bands[alive, 1])
    assert ours.high_[alive] == pytest.approx(narrow, abs=1e-9)


def intervals(seed, n=60):
    """Return intervals no two of which share an end."""
    rng = np.random.default_rng(seed)
    life = 20 * rng.weibull(1.3, n)
    width = rng.uniform(1, 9, n)
    lower = np.floor(life / width) * width + rng.uniform(0, 0.1, n)
    return lower, np.where(rng.random(n) < 0.8, lower + width, INF)


@pytest.mark.parametrize("seed", range(3))
def test_turnbull_agrees_with_lifelines_as_far_as_that_goes(seed):
    """Theirs stops early: ours must be near it, and at least as likely."""
    lower, upper = intervals(seed)
    ours = Turnbull(close=1e-10).fit(Spells.of(np.zeros(60), lower, upper))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mass, cells = npmle(lower, upper, tol=1e-6, max_iter=5000)
    left, right = (np.array([c[k] for c in cells], float) for k in (0, 1))
    some = np.isfinite(right)
    alive = 1 - np.cumsum(mass)
    assert ours.survival(right[some]) == pytest.approx(alive[some], abs=6e-3)
    inside = (left >= lower[:, None]) & (right <= upper[:, None])
    assert ours.log_likelihood_ >= np.log(inside @ mass).sum() - 1e-9


@pytest.mark.parametrize("seed", range(6))
def test_moving_mass_to_any_other_place_makes_turnbull_less_likely(seed):
    """The gradient is n where there is mass and at most n elsewhere (Gentleman and
    Geyer, 1994): so no curve at all is likelier."""
    lower, upper = intervals(seed, 200)
    found = Turnbull(close=1e-12).fit(Spells.of(np.zeros(200), lower, upper))
    left, right = found.time_[:-1], found.time_[1:]
    mass = -np.diff(found.survival_)
    inside = (left >= lower[:, None]) & (right <= upper[:, None])
    rest = np.isinf(upper)  # what lives longer than all looks
    chance = inside @ mass + np.where(rest, found.survival_[-1], 0.0)
    pull = np.append(inside.T @ (1 / chance), np.sum(rest / chance))
    assert pull.max() <= 200 * (1 + 1e-3)
    assert pull[:-1][mass > 1e-4] == pytest.approx(200, rel=1e-3)
