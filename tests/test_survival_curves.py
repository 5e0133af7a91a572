import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as nps
from scipy import optimize

from halflife.core.errors import NotFitted
from halflife.models.lifetime import WeibullLifetime
from halflife.models.spells import Spells, spells
from halflife.models.survival_curves import CurveStatus, KaplanMeier
from lab.turnbull import Turnbull, _log_likelihood, _steps_of
from lifetime_worlds import world

INF = np.inf
BOTH = pytest.mark.parametrize("curve", [KaplanMeier, Turnbull])


@st.composite
def any_spells(draw):
    """Draw spells at few different ages, so that many tie."""
    n = draw(st.integers(0, 15))
    few = st.integers(0, 6)
    entry, more, width = (
        draw(nps.arrays(float, n, elements=few.map(float))) for _ in range(3)
    )
    ended, aged = (draw(nps.arrays(np.bool_, n)) for _ in range(2))
    lower = entry + more
    return Spells.of(entry, lower, np.where(ended, lower + width, INF), aged)


def of(lower, upper, entry=None):
    lower = np.asarray(lower, float)
    start = np.zeros(lower.size) if entry is None else np.asarray(entry, float)
    return Spells.of(start, lower, np.asarray(upper, float))


def test_kaplan_meier_on_the_freireich_remission_times():
    """Kalbfleisch and Prentice 2002, s. 1.3: 6-MP arm, 21 patients."""
    died = [6, 6, 6, 7, 10, 13, 16, 22, 23]
    lost = [6, 9, 10, 11, 17, 19, 20, 25, 32, 32, 34, 35]
    data = of([*died, *lost], [*died, *[INF] * 12])
    found = KaplanMeier().fit(data)
    assert found.time_.tolist() == [6, 7, 10, 13, 16, 22, 23]
    assert found.at_risk_.tolist() == [21, 17, 15, 12, 11, 7, 6]
    assert found.survival_ == pytest.approx(
        [0.8571, 0.8067, 0.7529, 0.6902, 0.6275, 0.5378, 0.4482], abs=5e-5
    )
    assert np.sqrt(found.variance_) == pytest.approx(
        [0.0764, 0.0869, 0.0963, 0.1068, 0.1141, 0.1282, 0.1346], abs=5e-5
    )


def test_who_enters_late_is_not_at_risk_before():
    found = KaplanMeier().fit(of([1, 3, 4], [1, 3, 4], [0, 1, 2]))
    assert found.at_risk_.tolist() == [1, 2, 1]


def test_turnbull_on_exact_deaths_is_kaplan_meier():
    rng = np.random.default_rng(1)
    entry = rng.integers(0, 5, 80).astype(float)
    end = entry + rng.integers(1, 20, 80)
    data = of(end, np.where(rng.random(80) < 0.7, end, INF), entry)
    km = KaplanMeier().fit(data)
    turnbull = Turnbull(close=1e-12).fit(data)
    assert turnbull.survival(km.time_) == pytest.approx(km.survival_, abs=1e-9)


def _likeliest(data, cells):
    """Return the survival at the cells' ends that a general optimiser finds best."""
    left, right = cells

    def surprise(log_mass):
        mass = np.exp(log_mass - log_mass.max())
        mass /= mass.sum()
        inside = (left >= data.lower[:, None]) & (right <= data.upper[:, None])
        watched = left >= data.entry[:, None]
        return -np.sum(np.log(inside @ mass) - np.log(watched @ mass))

    found = optimize.minimize(
        surprise, np.zeros(left.size), method="BFGS", options={"gtol": 1e-9}
    )
    mass = np.exp(found.x - found.x.max())
    return 1 - np.cumsum(mass / mass.sum()), -found.fun


def test_turnbull_is_the_likeliest_curve():
    """Against a general optimiser over masses on all cells, ends open to the right."""
    data = of(
        [0, 1, 1, 2, 3, 0, 4, 2], [2, 3, 4, 3, 6, 5, INF, 5], [0, 0, 1, 1, 2, 0, 3, 0]
    )
    edge = np.unique(np.concatenate([data.lower, data.upper]))
    alive, value = _likeliest(data, (edge[:-1], edge[1:]))
    found = Turnbull(close=1e-12).fit(data)
    assert found.log_likelihood_ == pytest.approx(value, abs=1e-5)
    assert found.survival(edge[1:-1]) == pytest.approx(alive[:-1], abs=2e-3)


@pytest.mark.parametrize("gaps", [(1, 1), (1, 18)], ids=str)
def test_turnbull_follows_the_truth_through_wide_gaps(gaps):
    _, lives = world(2, shape=1.5, gaps=gaps, rate=30.0)
    t = np.array([20.0, 40.0, 60.0, 90.0])
    truth = np.exp(-((t / 60) ** 1.5))
    assert Turnbull().fit(lives).survival(t) == pytest.approx(truth, abs=0.03)


def test_the_fitted_weibull_and_the_curves_agree():
    _, lives = world(3, shape=1.3, rate=30.0)
    fit = WeibullLifetime().fit(lives)
    t = np.array([10.0, 30.0, 60.0, 120.0])
    for curve in (KaplanMeier().fit(lives), Turnbull().fit(lives)):
        assert curve.survival(t) == pytest.approx(fit.survival(t), abs=0.03)


def test_bands_cover_the_truth():
    t = np.array([10.0, 30.0, 60.0])
    truth = np.exp(-((t / 60) ** 1.3))
    hits = []
    for seed in range(120):
        _, lives = world(seed, shape=1.3, rate=2.0, days=200, past=10)
        low, high = KaplanMeier().fit(lives).band(t)
        hits.append((low <= truth) & (truth <= high))
    assert (np.mean(hits, axis=0) >= 0.9).all()


def test_rounding_ages_to_a_grid_changes_little():
    _, lives = world(4, shape=1.2, rate=20.0)
    fine = Turnbull().fit(lives)
    coarse = Turnbull(grid=2.0).fit(lives)
    t = np.array([10.0, 30.0, 60.0, 120.0])
    assert coarse.time_.size < 0.6 * fine.time_.size
    assert coarse.survival(t) == pytest.approx(fine.survival(t), abs=0.03)


def test_many_different_ages_are_put_on_a_grid():
    rng = np.random.default_rng(6)
    lower = 20 * rng.weibull(1.3, 8000)
    data = of(lower, lower + rng.uniform(0.5, 1.5, 8000))
    found = Turnbull().fit(data)
    assert found.status_ is CurveStatus.OK
    # a quarter of the usual day between looks: some 400 steps in 100 days
    assert 4 * 60 < found.time_.size < 1000
    t = np.array([5.0, 20.0])
    assert found.survival(t + 0.5) == pytest.approx(
        np.exp(-((t / 20) ** 1.3)), abs=0.02
    )


@BOTH
def test_statuses_say_what_the_spells_can_tell(curve):
    t = np.array([0.0, 5.0])
    none = curve().fit(of([], []))
    assert none.status_ is CurveStatus.NO_SPELLS
    assert none.survival(t).tolist() == [1.0, 1.0]
    quiet = curve().fit(of([3, 4], [INF, INF]))
    assert quiet.status_ is CurveStatus.NO_DEATHS
    assert quiet.survival(t).tolist() == [1.0, 1.0]
    with pytest.raises(NotFitted):
        curve().survival(t)


@BOTH
@given(data=any_spells())
def test_any_spells_give_a_curve_that_falls_within_its_bands(curve, data):
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        found = curve().fit(data)
    t = np.linspace(0, 20, 81)
    alive = found.survival(t)
    assert np.isfinite(alive).all()
    assert ((alive >= 0) & (alive <= 1)).all()
    assert (np.diff(alive) <= 1e-12).all()
    if curve is KaplanMeier:
        low, high = found.band(t)
        assert (low <= alive + 1e-12).all()
        assert (alive <= high + 1e-12).all()
        assert np.isfinite(found.variance_).all()
    else:
        assert found.status_ is not CurveStatus.NOT_SETTLED


@given(data=any_spells())
def test_no_likelier_curve_lies_on_the_way_to_another(data):
    """The likelihood of the curve is at least that of any made-up one."""
    found = Turnbull(close=1e-9).fit(data)
    aged = data.take(data.aged)
    if not aged.deaths:
        return
    steps = _steps_of(aged.merge_equal())
    rival = np.exp(-found.time_ / 5.0)
    for share in (0.001, 0.1, 0.9):
        mixed = (1 - share) * found.survival_ + share * rival
        assert _log_likelihood(steps, mixed) <= found.log_likelihood_ + 1e-6


def test_lives_and_their_spells_give_one_curve():
    _, lives = world(5)
    for curve in (KaplanMeier, Turnbull):
        one, other = curve().fit(lives), curve().fit(spells(lives))
        assert np.array_equal(one.survival_, other.survival_)
