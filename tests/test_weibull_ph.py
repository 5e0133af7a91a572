import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from cox_cases import TRUE, spells
from halflife.models.spells import Spells
from halflife.models.weibull_ph import WeibullPH, WeibullPHStatus, _Likelihood, _Rows

INF = np.inf


def exact(time, ended, entry=None):
    start = np.zeros(time.size) if entry is None else entry
    return Spells.of(start, time, np.where(ended, time, INF))


def finite(model):
    columns = (model.coefficient_, model.covariance_, model.rate_, model.shape_)
    assert all(np.isfinite(c).all() for c in columns)
    assert np.isfinite(model.log_likelihood_)


def test_coefficients_rates_and_shapes_are_recovered():
    x, time, ended, stratum, _ = spells(0, n=8000, weekly=False)
    found = WeibullPH().fit(exact(time, ended), x, strata=stratum)
    assert found.status_ is WeibullPHStatus.OK
    off = np.abs(found.coefficient_ - TRUE) / found.standard_error_
    assert np.all(off < 3)
    assert found.shape_ == pytest.approx(np.full(3, 1.25), abs=0.06)
    expected = (10.0 * np.array([1, 2, 3])) ** -1.25
    assert found.rate_ == pytest.approx(expected, rel=0.15)


@pytest.mark.parametrize("looks", [False, True], ids=["exact", "between looks"])
def test_slopes_are_those_of_the_likelihood(looks):
    x, time, ended, stratum, entry = spells(1, n=40, p=2, weekly=looks, late=True)
    lower = np.maximum(np.where(ended & looks, time - 1, time), entry)
    data = Spells.of(entry, lower, np.where(ended, time, INF))
    likelihood = _Likelihood(_Rows(data, x, stratum))
    at = np.concatenate((np.full(3, -1.0), [0.1, -0.2, 0.3], [0.4, -0.5]))
    value, slope, bend = likelihood(at)
    for k in range(at.size):
        step = np.zeros(at.size)
        step[k] = 1e-5
        up, down = likelihood(at + step), likelihood(at - step)
        assert (up[0] - down[0]) / 2e-5 == pytest.approx(slope[k], rel=1e-5, abs=1e-5)
        moved = (up[1] - down[1]) / 2e-5
        assert moved == pytest.approx(bend[k], rel=1e-5, abs=1e-5)
    assert np.isfinite(value)


def test_shape_1_is_deaths_over_exposure():
    rng = np.random.default_rng(0)
    time = rng.exponential(5.0, 20000)
    found = WeibullPH().fit(exact(time, time < 20), np.zeros((20000, 0)))
    assert found.rate_ == pytest.approx([0.2], rel=0.05)
    assert found.shape_ == pytest.approx([1.0], abs=0.03)


def test_late_entry_does_not_bias():
    x, time, ended, stratum, entry = spells(2, n=8000, weekly=False, late=True)
    found = WeibullPH().fit(exact(time, ended, entry), x, strata=stratum)
    assert found.coefficient_ == pytest.approx([0.5, -1.0, 0.1], abs=0.07)
    assert found.shape_ == pytest.approx(np.full(3, 1.25), abs=0.07)


def test_a_weight_counts_as_so_many_spells():
    x, time, ended, stratum, _ = spells(3, n=80)
    times = np.random.default_rng(0).integers(0, 4, time.size)
    data = exact(time, ended)
    weighed = Spells.of(data.entry, data.lower, data.upper, weight=times)
    one = WeibullPH().fit(weighed, x, strata=stratum)
    row = np.repeat(np.arange(time.size), times)
    other = WeibullPH().fit(data.take(row), x[row], strata=stratum[row])
    assert one.coefficient_ == pytest.approx(other.coefficient_, abs=1e-7)
    assert one.log_likelihood_ == pytest.approx(other.log_likelihood_, abs=1e-7)


def test_repeating_every_spell_does_not_make_robust_errors_smaller():
    x, time, ended, stratum, _ = spells(7, n=120)
    row = np.arange(time.size)
    one, many = (
        WeibullPH().fit(
            exact(time, ended).take(r), x[r], strata=stratum[r], cluster=row[r]
        )
        for r in (row, np.tile(row, 10))
    )
    assert many.robust_ == pytest.approx(one.robust_, rel=1e-6)
    assert many.covariance_ == pytest.approx(one.covariance_ / 10, rel=1e-6)


def test_robust_errors_are_plain_ones_where_the_model_is_true():
    x, time, ended, stratum, _ = spells(8, n=8000, weekly=False)
    own = np.arange(time.size)
    found = WeibullPH().fit(exact(time, ended), x, strata=stratum, cluster=own)
    plain = np.sqrt(np.diag(found.covariance_))
    assert found.standard_error_ == pytest.approx(plain, rel=0.1)


def test_weeks_become_days():
    x, time, ended, stratum, _ = spells(4, n=200)
    weeks = WeibullPH().fit(exact(time, ended), x, strata=stratum)
    days = WeibullPH().fit(exact(7 * time, ended), x, strata=stratum)
    assert days.coefficient_ == pytest.approx(weeks.coefficient_, abs=1e-6)
    assert days.rate_ == pytest.approx(weeks.rate_ * 7.0**-weeks.shape_, rel=1e-5)


def test_a_stratum_without_deaths_is_named_and_counts_as_half_a_death():
    x, time, ended, stratum, _ = spells(5)
    quiet = ended & (stratum != 2)
    found = WeibullPH().fit(exact(time, quiet), x, strata=stratum)
    assert found.idle_ == ("2",)
    mine = stratum == 2
    exposure = float(time[mine] @ found.relative(x[mine]))
    assert found.rate_[2] == pytest.approx(0.5 / exposure)
    assert found.shape_[2] == 1.0


def test_nothing_ended_and_nothing_watched_are_said():
    x, time, ended, _, _ = spells(6, n=20)
    none = WeibullPH().fit(exact(time, np.zeros_like(ended)), x)
    assert none.status_ is WeibullPHStatus.NO_DEATHS
    empty = WeibullPH().fit(exact(np.zeros(0), np.zeros(0, bool)), np.zeros((0, 2)))
    assert empty.status_ is WeibullPHStatus.NO_SPELLS
    finite(none)
    finite(empty)


def test_all_gone_at_one_moment_is_said():
    found = WeibullPH().fit(exact(np.full(9, 3.0), np.ones(9, bool)), np.zeros((9, 1)))
    assert found.status_ is WeibullPHStatus.BOUND
    finite(found)


def test_covariates_that_are_not_finite_are_refused():
    with pytest.raises(ValueError, match="finite numbers for each of 1 spells"):
        WeibullPH().fit(exact(np.ones(1), np.ones(1, bool)), [[np.nan]])


@settings(max_examples=40)
@given(data=st.data(), n=st.integers(0, 10), p=st.integers(0, 2))
def test_numbers_are_finite_whatever_the_spells(data, n, p):
    number = st.floats(-1e6, 1e6, allow_subnormal=False)
    few = st.sampled_from([0.0, 1.0, 2.0, 50.0])
    x = data.draw(st.lists(number | few, min_size=n * p, max_size=n * p))
    lower = np.array(data.draw(st.lists(few, min_size=n, max_size=n)))
    width = np.array(data.draw(st.lists(few | st.just(INF), min_size=n, max_size=n)))
    stratum = data.draw(st.lists(st.integers(0, 1), min_size=n, max_size=n))
    given_spells = Spells.of(np.zeros(n), lower, lower + width)
    strata = np.array(stratum, int)
    finite(WeibullPH().fit(given_spells, np.reshape(x, (n, p)), strata=strata))
