import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import integrate

from halflife.allocation import index
from halflife.core.errors import NotFitted, UsageError
from halflife.models.cox import CoxStatus
from halflife.models.drift import (
    PAPER,
    DriftModel,
    WeibullSurvival,
    features,
    paper,
)
from halflife.models.drift_scores import brier, calibration, concordance, kaplan_meier
from halflife.models.drift_validation import validate
from halflife.models.spells import Spells

INF = np.inf


def databases(seed, count=24, each=60, domains=("com", "edu", "gov")):
    """Return weekly spells of databases that drift as the paper says."""
    rng = np.random.default_rng(seed)
    domain, size = rng.choice(domains, count), np.exp(rng.normal(7, 1.5, count))
    divergence = rng.gamma(2.0, 0.05, count)
    database = np.repeat(np.arange(count), each)
    threshold = rng.choice(np.arange(1, 11) / 10, database.size)
    x = features(size[database], divergence[database], threshold)
    rate, shape = PAPER.rates(domain[database].tolist(), x)
    gone = np.ceil((rng.exponential(size=rate.size) / rate) ** (1 / shape))
    seen = np.floor(rng.uniform(1, 52, rate.size))
    ended = gone <= seen
    lower, upper = np.where(ended, gone - 1, seen), np.where(ended, gone, INF)
    spells = Spells.of(np.zeros(rate.size), lower, upper)
    return spells, x, domain[database], database


@pytest.mark.parametrize("shape", [0.585, 1.0, 1.41])
@pytest.mark.parametrize("t", [0.0, 1e-9, 0.5, 20.0])
def test_integrals_of_survival_are_those_of_quadrature(shape, t):
    one = WeibullSurvival(np.array([0.08]), np.array([shape]))
    end = np.array([t])
    for power, found in ((0, one.lasting(end)), (1, one.moment(end))):
        expected = integrate.quad(
            lambda u, p=power: u**p * one.alive(np.array([u]))[0], 0, t, epsabs=1e-13
        )[0]
        assert found == pytest.approx([expected], rel=1e-8, abs=1e-13)


def test_what_never_changes_lasts():
    one = WeibullSurvival(np.zeros(2), np.array([0.5, 2.0]))
    t = np.array([3.0, INF])
    assert one.alive(t).tolist() == [1.0, 1.0]
    assert one.lasting(t).tolist() == [3.0, INF]
    assert one.moment(t).tolist() == [4.5, INF]


@given(rate=st.floats(0, 1e6), shape=st.floats(0.1, 10), t=st.floats(0, 1e6))
def test_survival_stays_within_its_bounds(rate, shape, t):
    one = WeibullSurvival(np.array([rate]), np.array([shape]))
    at = np.array([t])
    assert 0 <= one.alive(at)[0] <= 1
    assert 0 <= one.lasting(at)[0] <= t * (1 + 1e-9)
    assert 0 <= one.moment(at)[0] <= t * t / 2 * (1 + 1e-9)


def test_the_index_of_allocation_takes_the_survival():
    one = PAPER.survival(["com", "edu"], features(1000, [0.1, 0.2], 0.5))
    age = np.array([30.0, INF])
    gain = index(one, age, "freshness")
    assert gain[0] == pytest.approx(one.lasting(age)[0] - 30 * one.alive(age)[0])
    assert gain[1] == pytest.approx(one.life()[1])


def test_features_without_documents_are_refused():
    with pytest.raises(ValueError, match="size must be above 0"):
        features([10, 0], 0.1, 0.5)


def test_an_unknown_domain_is_named():
    with pytest.raises(UsageError, match="'xyz'; domains are com"):
        PAPER.survival(["com", "xyz"], features([1, 1], 0, 0))


def test_an_unknown_model_of_the_paper_is_named():
    with pytest.raises(UsageError, match="the paper has no model"):
        paper("QBS", ("size",))


@pytest.mark.parametrize("baseline", ["curve", "likelihood"])
def test_what_the_spells_were_made_of_is_found_again(baseline):
    spells, x, domain, database = databases(0, count=60, each=100)
    model = DriftModel(baseline=baseline).fit(
        spells, x, domain=domain, database=database
    )
    assert model.status_ == CoxStatus.OK
    assert model.drift_.domains == ("com", "edu", "gov")
    assert model.drift_.coefficient == pytest.approx(PAPER.coefficient, rel=0.2)
    assert model.drift_.shape == pytest.approx(PAPER.shape[:3], rel=0.12)
    week = np.array([1.0, 5, 20, 50])
    new = features(2000, 0.1, 0.5)
    for name in model.drift_.domains:
        one, other = (m.survival([name], new) for m in (model.drift_, PAPER))
        assert one.alive(7 * week) == pytest.approx(other.alive(7 * week), abs=0.06)


def test_a_curve_fitted_at_the_papers_origin_agrees_where_there_are_data():
    spells, x, domain, _ = databases(1)
    models = [
        DriftModel(origin=origin).fit(spells, x, domain=domain)
        for origin in ("mean", "zero")
    ]
    mean = x.mean(axis=0, keepdims=True)
    week = 7 * np.arange(1.0, 40)
    one, other = (m.predict(["com"], mean).alive(week) for m in models)
    assert one == pytest.approx(other, abs=0.08)


def test_robust_errors_are_wider_when_spells_repeat():
    spells, x, domain, database = databases(2)
    row = np.tile(np.arange(len(spells)), 5)
    cox = [
        DriftModel()
        .fit(spells.take(row), x[row], domain=domain[row], database=cluster)
        .learned_.cox
        for cluster in (None, database[row])
    ]
    assert np.all(cox[1].standard_error_ > 1.5 * cox[0].standard_error_)


def test_a_domain_in_which_nothing_ended_is_named_and_slow():
    spells, x, domain, _ = databases(3)
    quiet = Spells.of(
        spells.entry, spells.lower, np.where(domain == "gov", INF, spells.upper)
    )
    for baseline in ("curve", "likelihood"):
        model = DriftModel(baseline=baseline).fit(quiet, x, domain=domain)
        assert model.idle_ == ("gov",)
        assert model.drift_.shape[2] == 1.0
        assert 0 < model.drift_.rate[2] < model.drift_.rate[0]


def test_nothing_can_be_predicted_before_a_fit():
    with pytest.raises(NotFitted):
        DriftModel().predict(["com"], features(1, 0, 0))


def test_an_unknown_baseline_is_refused():
    with pytest.raises(ValueError, match="'curve' or 'likelihood'"):
        DriftModel(baseline="guess").fit(
            Spells.of(np.zeros(1), np.ones(1), np.ones(1)),
            np.zeros((1, 3)),
            domain=["a"],
        )


def test_databases_left_out_are_predicted_better_than_by_their_domain_alone():
    spells, x, domain, database = databases(4)
    told = validate(DriftModel(), spells, x, domain=domain, database=database)
    assert told.predictable.all()
    assert told.spells.sum() == len(spells)
    assert told.skill > 0.1
    assert told.overall.value > 0.65
    assert told.off.mean() < 0.1


def test_the_only_database_of_a_domain_cannot_be_predicted():
    spells, x, domain, database = databases(5, count=8)
    alone = domain.astype(object)
    alone[database == 3] = "misc"
    told = validate(
        DriftModel(), spells, x, domain=alone.astype(str), database=database
    )
    assert told.predictable.tolist() == [k != 3 for k in range(8)]
    assert told.brier[3] == 0.0


def test_covariates_that_say_nothing_have_no_skill():
    spells, _, domain, database = databases(6)
    noise = np.random.default_rng(0).normal(size=(24, 3))[database]
    told = validate(DriftModel(), spells, noise, domain=domain, database=database)
    assert told.skill < 0.05


def test_a_risk_that_is_right_about_all_pairs_has_concordance_1():
    time = np.arange(1.0, 6)
    found = concordance(-time, time, np.array([1, 0, 1, 1, 0], bool))
    assert found == (1.0, 4 + 2 + 1)
    assert concordance(time, time, np.ones(5, bool)).value == 0.0
    assert concordance(time, time, np.zeros(5, bool)) == (0.5, 0.0)
    assert concordance(np.zeros(0), np.zeros(0), np.zeros(0, bool)) == (0.5, 0.0)


@given(seed=st.integers(0, 10**6), n=st.integers(1, 40))
def test_concordance_is_that_of_all_pairs_looked_at(seed, n):
    rng = np.random.default_rng(seed)
    time, risk = rng.integers(0, 6, n).astype(float), rng.integers(0, 5, n) / 7
    ended = rng.random(n) < 0.6
    later = (time[:, None] < time) | ((time[:, None] == time) & ~ended)
    pair = ended[:, None] & later & (np.eye(n) == 0)
    good = (risk[:, None] > risk) + 0.5 * (risk[:, None] == risk)
    found = concordance(risk, time, ended)
    assert found.pairs == pair.sum()
    if pair.any():
        assert found.value == pytest.approx(good[pair].mean())


def test_brier_of_certain_and_right_predictions_is_0():
    time, ended = np.array([1.0, 2, 3]), np.array([True, True, False])
    grid = np.array([0.5, 1.5, 2.5])
    right = (time[:, None] > grid).astype(float)
    assert brier(right, time, ended, grid) == 0.0
    assert brier(1 - right, time, ended, grid) == 1.0
    assert brier(np.full((3, 3), 0.5), time, ended, grid) == 0.25


def test_calibration_is_the_distance_to_kaplan_and_meier():
    time, ended = np.array([1.0, 2, 3, 4]), np.array([True, False, True, True])
    curve = kaplan_meier(time, ended)
    assert curve(time) == pytest.approx([3 / 4, 3 / 4, 3 / 8, 0.0])
    grid = np.array([0.5, 1.5, 3.5])
    same = np.tile(curve(grid), (4, 1))
    assert calibration(same, time, ended, grid) == 0.0
    assert calibration(same - 0.1, time, ended, grid) == pytest.approx(0.1)


@pytest.mark.parametrize("baseline", ["curve", "likelihood"])
@pytest.mark.parametrize(
    ("lower", "upper", "settled"),
    [([], [], False), ([1, 2, 3], [INF] * 3, False), ([0, 0, 0], [1, 1, 1], None)],
    ids=["nothing watched", "nothing ended", "all gone in a week"],
)
def test_spells_that_tell_little_give_finite_numbers_and_a_status(
    baseline, lower, upper, settled
):
    n = len(lower)
    spells = Spells.of(np.zeros(n), np.array(lower, float), np.array(upper, float))
    x = np.random.default_rng(0).normal(size=(n, 3))
    names, database = np.full(n, "com"), np.arange(n)
    model = DriftModel(baseline=baseline)
    told = validate(model, spells, x, domain=names, database=database)
    assert np.isfinite(told.brier).all()
    model.fit(spells, x, domain=names, database=database)
    assert np.isfinite(model.drift_.rate).all()
    assert np.isfinite(model.drift_.coefficient).all()
    assert settled is None or (model.status_ == CoxStatus.OK) is settled
