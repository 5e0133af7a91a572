import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from cox_cases import spells
from halflife.core.errors import NotFitted
from halflife.models.cox import CoxModel, CoxStatus
from halflife.models.cox_baseline import Baseline, CurveFitStatus, weibull_curves
from halflife.models.cox_risk import score_residuals


def fitted(data, **options):
    x, time, ended, stratum, _ = data
    return CoxModel().fit(x, time, ended, strata=stratum, **options)


def finite(model):
    columns = (model.coefficient_, model.covariance_, model.robust_)
    assert all(np.isfinite(c).all() for c in columns)
    assert np.isfinite([model.log_likelihood_, model.null_]).all()
    assert np.isfinite(model.wald().p_value).all()
    assert 0 <= model.likelihood_ratio().p_value <= 1
    assert np.isfinite(model.proportionality().statistic).all()
    curves = weibull_curves(model.baseline())
    assert np.isfinite(curves.rate).all()
    assert np.isfinite(curves.shape).all()


@pytest.mark.parametrize("ties", ["efron", "breslow"])
def test_two_who_differ_and_a_third_who_outlives_them(ties):
    # With r = exp(b) the likelihood is r / (2 r + 1) / (r + 1): it peaks at r**2 = 1/2.
    x = np.array([[1.0], [0.0], [1.0]])
    found = CoxModel(ties=ties).fit(x, [1.0, 2.0, 3.0], [True, True, True])
    assert found.coefficient_ == pytest.approx([-np.log(2) / 2], abs=1e-9)


@settings(max_examples=20)
@given(
    seed=st.integers(0, 10**6),
    scale=st.floats(1e-6, 1e6),
    shift=st.floats(-1e3, 1e3),
)
def test_coefficients_follow_the_units_of_covariates(seed, scale, shift):
    x, time, ended, stratum, entry = spells(seed, n=60)
    one = fitted((x, time, ended, stratum, entry))
    moved = x * scale
    moved += shift * scale + stratum[:, None] * scale  # strata may shift apart
    other = fitted((moved, time, ended, stratum, entry))
    expected = one.coefficient_ / scale
    assert other.coefficient_ == pytest.approx(expected, rel=1e-5, abs=1e-6 / scale)
    assert other.log_likelihood_ == pytest.approx(one.log_likelihood_, abs=1e-7)


@settings(max_examples=20)
@given(seed=st.integers(0, 10**6), power=st.floats(0.2, 3.0))
def test_only_the_order_of_times_matters(seed, power):
    x, time, ended, stratum, entry = spells(seed, n=60, late=True)
    one, other = (
        CoxModel().fit(x, t, ended, strata=stratum, entry=e)
        for t, e in ((time, entry), (time**power, entry**power))
    )
    assert other.coefficient_ == pytest.approx(one.coefficient_, abs=1e-12)
    assert other.covariance_ == pytest.approx(one.covariance_, abs=1e-12)


@settings(max_examples=20)
@given(seed=st.integers(0, 10**6))
def test_the_order_of_spells_does_not_matter(seed):
    x, time, ended, stratum, entry = spells(seed, n=80, late=True)
    order = np.random.default_rng(seed).permutation(time.size)
    one, other = (
        CoxModel().fit(
            x[o], time[o], ended[o], strata=stratum[o], entry=entry[o], cluster=o // 5
        )
        for o in (np.arange(time.size), order)
    )
    assert other.coefficient_ == pytest.approx(one.coefficient_, abs=1e-9)
    assert other.robust_ == pytest.approx(one.robust_, rel=1e-6, abs=1e-12)


@settings(max_examples=60)
@given(data=st.data(), n=st.integers(0, 12), p=st.integers(0, 3))
def test_numbers_are_finite_whatever_the_spells(data, n, p):
    numbers = st.floats(-1e6, 1e6, allow_subnormal=False)
    few = st.sampled_from([0.0, 1.0, 2.0, 5.0])
    x = data.draw(st.lists(numbers | few, min_size=n * p, max_size=n * p))
    time = data.draw(st.lists(few, min_size=n, max_size=n))
    ended = data.draw(st.lists(st.booleans(), min_size=n, max_size=n))
    stratum = data.draw(st.lists(st.integers(0, 2), min_size=n, max_size=n))
    found = CoxModel().fit(
        np.reshape(x, (n, p)),
        time,
        np.array(ended, bool),
        strata=np.array(stratum, int),
        cluster=np.arange(n) // 2,
    )
    finite(found)


def test_nothing_watched_is_said():
    found = CoxModel().fit(np.zeros((0, 2)), [], np.zeros(0, bool))
    assert found.status_ is CoxStatus.NO_SPELLS
    assert found.baseline() == ()
    finite(found)
    none = CoxModel().fit(np.ones((2, 1)), [1, 2], [True, True], weight=0.0)
    assert none.status_ is CoxStatus.NO_SPELLS  # who counts for nothing is nobody


def test_nothing_ended_is_said():
    x, time, ended, stratum, _ = spells(0, n=30)
    found = CoxModel().fit(x, time, np.zeros_like(ended), strata=stratum)
    assert found.status_ is CoxStatus.NO_DEATHS
    assert found.idle_ == ("0", "1", "2")
    finite(found)


def test_a_stratum_without_deaths_is_named_and_does_not_count():
    x, time, ended, stratum, _ = spells(0)
    quiet = ended & (stratum != 1)
    found = CoxModel().fit(x, time, quiet, strata=stratum)
    kept = stratum != 1
    other = CoxModel().fit(x[kept], time[kept], quiet[kept], strata=stratum[kept])
    assert found.status_ is CoxStatus.OK
    assert found.idle_ == ("1",)
    assert found.coefficient_ == pytest.approx(other.coefficient_, abs=1e-12)
    assert [curve.stratum for curve in found.baseline()] == ["0", "2"]


def test_a_covariate_that_does_not_vary_tells_nothing():
    x, time, ended, stratum, _ = spells(0)
    x[:, 1] = 7.0 + stratum  # it varies, but not within a stratum
    found = CoxModel().fit(x, time, ended, strata=stratum)
    assert found.estimable_.tolist() == [True, False, True]
    assert found.coefficient_[1] == found.standard_error_[1] == 0.0
    assert found.wald().p_value[1] == 1.0
    assert found.status_ is CoxStatus.OK


def test_a_sum_of_other_covariates_tells_nothing_more():
    x, time, ended, stratum, _ = spells(0)
    x[:, 2] = x[:, 0] - 2 * x[:, 1]
    assert fitted((x, time, ended, stratum, None)).estimable_.tolist() == [
        True,
        True,
        False,
    ]


def test_spells_all_alike_have_no_contrast():
    found = CoxModel().fit(np.ones((5, 1)), np.arange(1.0, 6), np.ones(5, bool))
    assert found.status_ is CoxStatus.NO_CONTRAST
    finite(found)


@pytest.mark.parametrize("ties", ["efron", "breslow"])
def test_a_covariate_that_tells_exactly_who_ends_is_reported_and_held(ties):
    rng = np.random.default_rng(0)
    gone = np.arange(60) < 20
    x = np.column_stack((gone, rng.normal(size=60)))
    found = CoxModel(ties=ties).fit(x, rng.uniform(1, 9, 60) + 20.0 * ~gone, gone)
    assert found.status_ is CoxStatus.SEPARATED
    assert 1 < found.coefficient_[0] < 30
    finite(found)


def test_a_strong_covariate_is_not_taken_for_a_perfect_one():
    rng = np.random.default_rng(0)
    x = rng.integers(0, 2, (400, 1)).astype(float)
    time = rng.exponential(size=400) / np.exp(4.0 * x[:, 0])
    found = CoxModel().fit(x, time, np.ones(400, bool))
    assert found.status_ is CoxStatus.OK
    assert found.coefficient_ == pytest.approx([4.0], abs=0.6)


def test_a_ridge_shrinks_coefficients():
    data = spells(0)
    x, time, ended, stratum, _ = data
    sizes = [
        np.abs(CoxModel(ridge=r).fit(x, time, ended, strata=stratum).coefficient_).sum()
        for r in (0.0, 10.0, 1000.0)
    ]
    assert sizes[0] > sizes[1] > sizes[2] > 0


def test_scores_add_up_to_nothing_at_the_peak():
    found = fitted(spells(0))
    score = score_residuals(found._sets, found._scaled.z, found._sums())
    assert score.sum(axis=1) == pytest.approx(np.zeros(3), abs=1e-6)


@pytest.mark.parametrize("late", [False, True])
def test_scores_are_the_slopes_in_the_weights(late):
    x, time, ended, stratum, entry = spells(3, n=50, p=2, late=late)
    entry = entry if late else None
    found = CoxModel().fit(x, time, ended, strata=stratum, entry=entry)
    score = score_residuals(found._sets, found._scaled.z, found._sums())
    for k, row in enumerate(found._sets.rows[:8]):
        weight = np.ones(time.size)
        weight[row] += 1e-5
        moved = CoxModel().fit(
            x, time, ended, strata=stratum, entry=entry, weight=weight
        )
        pull = (moved.coefficient_ - found.coefficient_) / 1e-5
        unit = found._scaled.deviation
        assert found._inverse @ score[:, k] / unit == pytest.approx(pull, abs=1e-4)


def test_repeating_every_spell_does_not_make_robust_errors_smaller():
    x, time, ended, stratum, _ = spells(0, n=100)
    one, many = (
        CoxModel(ties="breslow").fit(
            np.tile(x, (k, 1)),
            np.tile(time, k),
            np.tile(ended, k),
            strata=np.tile(stratum, k),
            cluster=np.tile(np.arange(time.size), k),
        )
        for k in (1, 10)
    )
    assert many.standard_error_ == pytest.approx(one.standard_error_, rel=1e-9)
    plain = np.sqrt(np.diag(many.covariance_))
    assert plain == pytest.approx(np.sqrt(np.diag(one.covariance_) / 10), rel=1e-9)


def test_hazards_that_cross_are_proposed_as_strata():
    rng = np.random.default_rng(1)
    kind = rng.integers(0, 2, 1500)
    other = rng.normal(size=1500)
    shape = np.where(kind, 2.0, 0.6)
    time = 10 * (rng.exponential(size=1500) / np.exp(0.5 * other)) ** (1 / shape)
    x = np.column_stack((kind, other))
    names = ("domain=gov", "size")
    ended = np.ones(1500, bool)
    found = CoxModel().fit(x, time, ended, names=names)
    assert found.propose_strata() == ("domain",)
    assert found.proportionality().overall < 1e-6
    cured = CoxModel().fit(x[:, 1:], time, ended, strata=kind, names=("size",))
    assert cured.propose_strata() == ()


def test_dummies_of_one_feature_are_tested_together():
    x, time, ended, stratum, _ = spells(0)
    names = ("topic=arts", "topic=sports", "size")
    told = CoxModel().fit(x, time, ended, strata=stratum, names=names).proportionality()
    assert told.names == ("topic", "size")
    assert told.freedom.tolist() == [2, 1]


def test_overlapping_spells_do_not_make_a_test_of_proportionality_surer():
    x, time, ended, stratum, _ = spells(0, n=150)
    one, many = (
        CoxModel(ties="breslow")
        .fit(
            np.tile(x, (k, 1)),
            np.tile(time, k),
            np.tile(ended, k),
            strata=np.tile(stratum, k),
            cluster=np.tile(np.arange(time.size), k),
        )
        .proportionality("identity")
        for k in (1, 10)
    )
    assert many.p_value == pytest.approx(one.p_value, abs=1e-6)


def test_the_baseline_of_alike_spells_is_that_of_nelson_and_aalen():
    time = np.array([1.0, 2, 3, 4])
    found = CoxModel().fit(np.zeros((4, 1)), time, np.array([1, 0, 1, 1], bool))
    curve = found.baseline()[0]
    assert curve.time.tolist() == [1, 3, 4]
    assert curve.hazard == pytest.approx([1 / 4, 1 / 4 + 1 / 2, 1 / 4 + 1 / 2 + 1])
    alive = curve.survival(np.array([0.5, 1.0, 3.5]))
    assert alive == pytest.approx(np.exp([0, -0.25, -0.75]))


def test_a_baseline_moves_with_its_covariates():
    found = fitted(spells(0))
    at = np.array([1.0, 0.2, -3.0])
    for here, there in zip(found.baseline(), found.baseline(at), strict=True):
        expected = here.hazard * found.relative(at)
        assert there.hazard == pytest.approx(expected, rel=1e-9)


def test_curves_recover_what_they_were_made_of():
    time = np.arange(1.0, 40)
    made = ((0.02, 0.9), (0.3, 0.5), (0.001, 1.9), (1e-5, 1.0))
    curves = tuple(Baseline("", time, rate * time**shape) for rate, shape in made)
    found = weibull_curves(curves)
    assert found.rate == pytest.approx([rate for rate, _ in made], rel=1e-6)
    assert found.shape == pytest.approx([shape for _, shape in made], rel=1e-6)
    assert set(found.status) == {CurveFitStatus.OK}


def test_a_curve_of_one_point_has_shape_1_and_says_so():
    found = weibull_curves((Baseline("", np.array([4.0]), np.array([0.8])),))
    assert found.status == (CurveFitStatus.FEW_POINTS,)
    assert found.shape.tolist() == [1.0]
    assert found.rate == pytest.approx([0.2])


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"x": np.zeros((2, 1))}, "x must have a row"),
        ({"x": np.array([[0.0], [np.nan], [1.0]])}, "column 0"),
        ({"time": [1.0, -2.0, 3.0]}, "row 1"),
        ({"time": [1.0, np.inf, 3.0]}, "row 1"),
        ({"entry": [0.0, 0.0, 9.0]}, "entry must not be after time"),
        ({"weight": [1.0, -1.0, 1.0]}, "weight must be finite"),
        ({"ended": [0, 1, 2]}, "ended must be true or false"),
        ({"strata": ["a"]}, "strata must be one for each"),
        ({"cluster": ["a"]}, "cluster must be one for each"),
        ({"names": ("a", "b")}, "names must be 1"),
    ],
)
def test_bad_columns_are_refused_by_name(change, says):
    good = {"x": np.array([[0.0], [1], [2]]), "time": [1.0, 2, 3], "ended": [1, 1, 0]}
    with pytest.raises(ValueError, match=says):
        CoxModel().fit(**(good | change))


def test_bad_settings_are_refused():
    data = (np.zeros((1, 1)), [1.0], [True])
    with pytest.raises(ValueError, match="ties must be"):
        CoxModel(ties="exact").fit(*data)
    with pytest.raises(ValueError, match="ridge must be"):
        CoxModel(ridge=-1.0).fit(*data)
    with pytest.raises(ValueError, match="transform must be"):
        fitted(spells(0)).proportionality("sideways")


def test_nothing_can_be_asked_before_a_fit():
    with pytest.raises(NotFitted):
        CoxModel().wald()


@pytest.mark.parametrize("shape", [0.001, 400.0])
def test_a_shape_at_its_bound_is_said_to_be_no_estimate(shape):
    time = np.exp(np.linspace(-0.2, 0.2, 30) / max(shape / 40, 0.02))
    curve = Baseline("", time, 0.7 * time**shape)
    found = weibull_curves(
        (curve, Baseline("", np.arange(1.0, 9), np.arange(1.0, 9) / 9))
    )
    assert found.status == (CurveFitStatus.BOUND, CurveFitStatus.OK)
    assert found.shape[0] in (pytest.approx(0.02), pytest.approx(50.0))
    assert found.shape[1] == pytest.approx(1.0)


def test_what_tells_nothing_has_no_score_and_chance_one():
    x, time, ended, stratum, entry = spells(0)
    flat = np.column_stack([x[:, 0], np.full(len(x), 3.0)])
    found = CoxModel().fit(flat, time, ended, strata=stratum, entry=entry)
    z, chance = found.wald()
    assert (z[1], chance[1]) == (0.0, 1.0)
    assert z[0] == pytest.approx(found.coefficient_[0] / found.standard_error_[0])
    assert 0.0 <= chance[0] < 1.0
