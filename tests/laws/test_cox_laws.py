"""Cox's regression: baselines, tests and proposals, one death after another."""

import math

import numpy as np
import pytest
from scipy import stats

from cox_cases import spells
from halflife.models.cox import CoxModel, CoxStatus
from halflife.models.cox_baseline import (
    Baseline,
    CurveFitStatus,
    _Points,
    _start,
    _step,
    weibull_curves,
)
from halflife.models.cox_columns import check_columns
from halflife.models.cox_risk import (
    RiskSets,
    expected_covariates,
    expected_deaths,
    sums,
)
from halflife.models.cox_tests import Proportionality


@pytest.fixture(scope="module")
def fitted():
    x, time, ended, stratum, entry = spells(3, n=90, late=True)
    weight = np.random.default_rng(0).integers(1, 4, time.size).astype(float)
    model = CoxModel().fit(x, time, ended, strata=stratum, entry=entry, weight=weight)
    return (x, time, ended, stratum, entry, weight), model


def steps_by_hand(data, beta, point, name, ties):
    """Return the times and steps of one stratum's cumulative hazard."""
    x, time, ended, stratum, entry, weight = data
    risk = weight * np.exp((x - point) @ beta)
    mine, found = stratum == name, []
    for t in sorted(set(time[ended & mine & (entry < time)])):
        there = mine & (entry < t) & (time >= t)
        dead = there & ended & (time == t)
        m, mass = int(dead.sum()), weight[dead].sum()
        if ties == "breslow":
            step = mass / risk[there].sum()
        else:
            left = [risk[there].sum() - k / m * risk[dead].sum() for k in range(m)]
            step = sum(mass / m / s for s in left)
        found.append((t, step))
    return found


@pytest.mark.parametrize("ties", ["efron", "breslow"])
@pytest.mark.parametrize("point", [None, [0.5, -0.3, 2.0]])
def test_baselines_add_up_deaths_over_who_is_at_risk(fitted, ties, point):
    data, model = fitted
    at = np.zeros(3) if point is None else np.array(point)
    for curve in model.baseline(point, ties=ties):
        name = int(curve.stratum)
        rows = steps_by_hand(data, model.coefficient_, at, name, ties)
        assert curve.time.tolist() == [t for t, _ in rows]
        assert curve.hazard == pytest.approx(np.cumsum([s for _, s in rows]))
    assert len(model.baseline()) == 3
    usual = [c.hazard for c in model.baseline()]
    for one, two in zip(usual, model.baseline(ties="efron"), strict=True):
        assert one == pytest.approx(two.hazard)


def test_a_baseline_steps_down_at_its_times():
    curve = Baseline("a", np.array([1.0, 3.0]), np.array([0.2, 0.7]))
    at = np.array([0.0, 0.99, 1.0, 2.0, 3.0, 9.0])
    hazard = [0.0, 0.0, 0.2, 0.2, 0.7, 0.7]
    assert curve.survival(at) == pytest.approx(np.exp(-np.array(hazard)))


def test_who_is_expected_to_end_is_the_risk_times_the_steps_lived_through(fitted):
    (x, time, ended, stratum, entry, weight), _ = fitted
    given = check_columns(x, time, ended, strata=stratum, entry=entry, weight=weight)
    sets = RiskSets.of(given.data, "efron")
    beta = np.array([0.3, -0.5, 0.05])
    found = sums(sets, sets.data.x.T, beta)
    expects, mean = expected_deaths(sets, found), expected_covariates(sets, found)
    assert expects.sum() == pytest.approx(sets.mass.sum())
    risk = sets.data.weight * np.exp(sets.data.x @ beta)
    by_hand, column = np.zeros(risk.size), 0
    for s in np.unique(sets.data.stratum):
        mine = sets.data.stratum == s
        died = sets.data.ended & mine
        for t in np.unique(sets.data.time[died]):
            there = mine & (sets.data.entry < t) & (sets.data.time >= t)
            dead = there & sets.data.ended & (sets.data.time == t)
            m, mass = int(dead.sum()), sets.data.weight[dead].sum()
            drawn = np.zeros(3)
            for k in range(m):
                part = risk * there - k / m * risk * dead
                by_hand += mass / m * part / part.sum()
                drawn += part @ sets.data.x / part.sum() / m
            assert mean[:, column] == pytest.approx(drawn)
            column += 1
    assert expects == pytest.approx(by_hand)


def test_chances_of_coefficients_and_of_the_fit_are_those_of_scipy(fitted):
    _, model = fitted
    z, p = model.wald()
    assert z == pytest.approx(model.coefficient_ / model.standard_error_)
    assert p == pytest.approx(2 * stats.norm.sf(np.abs(z)))
    gain, freedom, chance = model.likelihood_ratio()
    assert gain == pytest.approx(2 * (model.log_likelihood_ - model.null_))
    assert freedom == 3
    assert chance == pytest.approx(stats.chi2.sf(gain, 3))
    x = np.array([[0.1, 0.2, -3.0], [0.0, 0.0, 0.0]])
    assert model.relative(x) == pytest.approx(np.exp(x @ model.coefficient_))


def test_a_search_that_ended_below_no_covariates_gained_nothing():
    x = np.array([[1.0], [0.0], [1.0], [0.0]])
    model = CoxModel().fit(x, [1.0, 2.0, 3.0, 4.0], [True] * 4)
    for lost in (0.25, 3.0):
        model.log_likelihood_ = model.null_ - lost
        assert model.likelihood_ratio() == (0.0, 1, 1.0)
    alike = CoxModel().fit(np.ones((3, 1)), [1.0, 2.0, 3.0], [True] * 3)
    assert alike.likelihood_ratio() == (0.0, 0, 1.0)


def test_strata_are_proposed_by_holms_rule(fitted, monkeypatch):
    _, model = fitted
    chances = np.array([0.02, 0.001, 0.008, 0.9])
    asked = []

    def told(self, transform):
        asked.append(transform)
        one = np.ones(4)
        return Proportionality(("a", "b", "c", "d"), one, one, chances, 0.5)

    monkeypatch.setattr(CoxModel, "proportionality", told)
    # Times 4, 3, 2 and 1, least first: 0.004, 0.024, 0.04 and 0.9.
    assert model.propose_strata() == ("b",)
    assert model.propose_strata(0.004) == ()
    assert model.propose_strata(0.0241) == ("b", "c")
    assert model.propose_strata(0.05, "log") == ("b", "c", "a")
    assert model.propose_strata(1.0) == ("b", "c", "a", "d")
    assert asked == ["km", "km", "km", "log", "km"]
    chances[:] = [0.004, 0.0039, 0.5, 0.02]
    # 4 times 0.0039 is more than 3 times 0.004: what comes later is no less likely.
    assert model.propose_strata(0.0125) == ()
    assert model.propose_strata(0.016) == ("b", "a")


def test_a_ridge_pulls_by_squared_deviations(fitted):
    (x, time, ended, stratum, entry, weight), _ = fitted
    given = {"strata": stratum, "entry": entry, "weight": weight}
    held = CoxModel(ridge=2.0).fit(x, time, ended, **given)
    free = CoxModel().fit(x, time, ended, **given)
    scale = held._scaled.deviation

    def value(beta):
        sets = held._sets
        return sums(sets, held._scaled.z, beta * scale).value

    def pulled(beta):
        return value(beta) - np.sum((beta * scale) ** 2)

    for one in np.eye(3) * 1e-5:
        b = held.coefficient_
        slope = (pulled(b + one) - pulled(b - one)) / 2e-5
        assert slope == pytest.approx(0.0, abs=1e-3)
    assert held.log_likelihood_ == pytest.approx(value(held.coefficient_))
    assert held.log_likelihood_ < free.log_likelihood_
    assert held.null_ == pytest.approx(free.null_)
    assert held.status_ is free.status_ is CoxStatus.OK
    start = CoxModel(ridge=2.0).fit(x, time, ended, **given, start=[1.0, -2.0, 0.3])
    assert start.coefficient_ == pytest.approx(held.coefficient_, abs=1e-7)


def curve_of(rate, shape, time, noise=0.0, seed=0):
    hazard = rate * time**shape
    if noise:
        rng = np.random.default_rng(seed)
        hazard = np.sort(hazard * np.exp(rng.normal(0, noise, time.size)))
    return Baseline("a", time, hazard)


def test_curves_are_least_squares_of_survival():
    time = np.linspace(0.5, 9.0, 15)
    curves = (
        curve_of(0.1, 1.3, time, 0.3),
        curve_of(0.4, 0.7, time, 0.2, 1),
        curve_of(0.02, 2.5, time[:6], 0.2, 2),
    )
    found = weibull_curves(curves)
    assert set(found.status) == {CurveFitStatus.OK}

    def squares(k, log_rate, log_shape):
        curve = curves[k]
        model = np.exp(-math.exp(log_rate) * curve.time ** math.exp(log_shape))
        return float(np.sum((model - np.exp(-curve.hazard)) ** 2))

    for k in range(3):
        a, b = math.log(found.rate[k]), math.log(found.shape[k])
        e, least = 1e-4, squares(k, a, b)
        up = squares(k, a + e, b), squares(k, a, b + e)
        down = squares(k, a - e, b), squares(k, a, b - e)
        for one, two in zip(up, down, strict=True):
            assert (one - two) / (2 * e) == pytest.approx(0.0, abs=1e-7)
            assert min(one, two) > least
        size = curves[k].time.size
        assert found.error[k] == pytest.approx(math.sqrt(least / size))


def test_a_curve_of_few_points_has_shape_one_through_its_last():
    one = Baseline("a", np.array([4.0]), np.array([0.6]))
    same = Baseline("b", np.array([2.0, 8.0]), np.array([0.3, 800.0]))
    none = weibull_curves(())
    assert (none.rate.size, none.status) == (0, ())
    found = weibull_curves((one, same))
    assert found.status == (CurveFitStatus.FEW_POINTS,) * 2
    assert found.shape.tolist() == [1.0, 1.0]
    assert found.rate[0] == pytest.approx(0.6 / 4.0)
    assert found.error[0] == pytest.approx(0.0, abs=1e-12)
    two = weibull_curves((Baseline("a", np.array([2.0, 8.0]), np.array([0.3, 0.9])),))
    assert two.status == (CurveFitStatus.OK,)
    assert two.shape == pytest.approx([math.log(3) / math.log(4)])
    assert two.rate == pytest.approx([0.3 / 2 ** (math.log(3) / math.log(4))])


def points_of(curve):
    own = np.zeros(curve.time.size, int)
    size = np.array([curve.time.size])
    return _Points(own, np.log(curve.time), np.exp(-curve.hazard), size)


def test_the_search_begins_with_the_line_through_logarithms():
    curve = curve_of(0.2, 1.1, np.array([0.5, 1.0, 2.0, 5.0]), 0.3)
    at, fit = _start(points_of(curve), curve.hazard)
    slope, level = np.polyfit(np.log(curve.time), np.log(curve.hazard), 1)
    assert fit.tolist() == [True]
    assert at[:, 0] == pytest.approx([level, math.log(slope)])


def test_a_damped_step_solves_the_normal_equations():
    curve = curve_of(0.2, 1.1, np.array([0.5, 1.0, 2.0, 5.0]), 0.5)
    points, at = points_of(curve), np.array([[-1.2], [0.1]])
    for damping in (0.0, 0.5, 10.0):
        slopes = np.array(points.slopes(at))
        normal = slopes @ slopes.T
        normal += damping * np.diag(np.diag(normal))
        by_hand = -np.linalg.solve(normal, slopes @ points.residuals(at))
        found = _step(points, at, np.array([damping]))[:, 0]
        assert found == pytest.approx(np.clip(by_hand, -2.0, 2.0))
    e = 1e-6
    for k, slope in enumerate(points.slopes(at)):
        move = np.zeros((2, 1))
        move[k] = e
        by_hand = (points.residuals(at + move) - points.residuals(at - move)) / (2 * e)
        assert slope == pytest.approx(by_hand, rel=1e-6)
