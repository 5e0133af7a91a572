import numpy as np
import pytest
from hypothesis import given, strategies as st

from halflife.models import decay
from halflife.models.decay import LONGEST, Series

LAGS = [(), (1,), (1, 2), (1, 7), (1, 2, 3)]


def series(values):
    values = np.asarray(values, float)
    return Series(1.0, values, np.arange(values.size + 1))


@pytest.fixture
def autoregression():
    """Return 400 steps of d = -0.02 + 0.6 d(t-1) + noise."""
    rng = np.random.default_rng(5)
    values = [-0.05]
    for _ in range(399):
        values.append(min(0.0, -0.02 + 0.6 * values[-1] + 0.005 * rng.normal()))
    return np.array(values)


def test_a_gap_of_several_steps_is_shared_among_them():
    looks = np.array([0.0, 2.0, 4.0, 10.0])
    made = Series.of(looks, np.array([0.9, 0.8, 0.5]), 2.0)
    assert made.place.tolist() == [0, 1, 2, 5]
    assert np.exp(made.decay.sum()) == pytest.approx(0.9 * 0.8 * 0.5)
    assert made.decay[2:] == pytest.approx(np.log(0.5) / 3)


def test_least_squares_finds_the_coefficients(autoregression):
    found, _ = decay.fit_ar(autoregression, (1,))
    assert found == pytest.approx([-0.02, 0.6], abs=0.08)
    assert decay.choose_lags(autoregression)[:1] == (1,)


def test_a_season_is_chosen_where_there_is_one():
    week = np.array([-0.01, -0.05, -0.05, -0.05, -0.05, -0.04, -0.01])
    noise = 0.002 * np.random.default_rng(2).normal(size=140)
    assert 7 in decay.choose_lags(np.tile(week, 20) + noise, season=7)


def test_noise_alone_mostly_has_no_lags():
    noise = -np.random.default_rng(0).uniform(0, 0.1, (40, 200))
    bare = [decay.choose_lags(row, season=7) == () for row in noise]
    assert np.mean(bare) > 0.5


def test_the_forecast_goes_to_the_mean_of_the_series():
    coefficients, recent = np.array([[-0.02, 0.5]]), np.array([[-0.10]])
    two = decay.forecast_decay(coefficients, (1,), recent, np.array([2.0]))
    assert two == pytest.approx([-0.07 - 0.055])
    half = decay.forecast_decay(coefficients, (1,), recent, np.array([0.5]))
    assert half == pytest.approx([-0.035])
    far = decay.forecast_decay(coefficients, (1,), recent, np.array([1000.0]))
    assert far == pytest.approx([-0.06 + -0.04 * 1000], rel=1e-3)


@pytest.mark.parametrize("lags", LAGS)
def test_slopes_are_the_derivatives_of_the_expected_decay(lags):
    rng = np.random.default_rng(1)
    at = np.array([-0.03, *rng.uniform(-0.2, 0.3, len(lags))])
    recent = -rng.uniform(0, 0.1, 8)
    total, slope = decay.slopes(at, lags, recent, 5)
    for c in range(at.size):
        nudge = np.eye(at.size)[c] * 1e-6
        up = decay.slopes(at + nudge, lags, recent, 5)[0]
        down = decay.slopes(at - nudge, lags, recent, 5)[0]
        assert slope[c] == pytest.approx((up - down) / 2e-6, rel=1e-4, abs=1e-9)
    rolled = decay.forecast_decay(at[None], lags, recent[None], np.array([5.0]))
    assert total == pytest.approx(rolled[0])


def test_slopes_of_the_first_order_have_the_closed_form():
    a, b, d0, steps = -0.02, 0.4, -0.08, 6
    j = np.arange(1, steps + 1)
    _, slope = decay.slopes(np.array([a, b]), (1,), np.array([d0]), steps)
    assert slope[0] == pytest.approx(((1 - b**j) / (1 - b)).sum())


def test_adapting_closes_the_share_of_the_gap_that_the_rate_says():
    now, slope = np.array([-0.02, 0.3]), np.array([2.0, -0.5])
    moved = decay._adapt(now, slope, 0.001, 0.2, np.array([0.02, 1.0]))
    closed = slope @ (moved - now) / 0.001
    assert closed == pytest.approx(1 - 0.8**2)  # each takes 0.2 of what is left


def test_adapting_follows_a_source_that_changes_its_pace():
    values = np.concatenate([np.full(40, -0.01), np.full(60, -0.05)])
    values += 0.001 * np.random.default_rng(4).normal(size=100)
    made = series(values)
    still = decay.static_coefficients(made, (), 40)
    adapted = decay.adaptive_coefficients(made, (), 40)
    filtered = decay.kalman_coefficients(made, (), 40)
    assert still[-1, 0] == pytest.approx(-0.01, abs=0.001)
    assert adapted[-1, 0] == pytest.approx(-0.05, abs=0.002)
    assert filtered[-1, 0] == pytest.approx(-0.05, abs=0.005)
    best = decay.best_coefficients(made, (), [still, adapted, filtered])
    assert best[-1, 0] != still[-1, 0]


@given(
    st.lists(st.floats(-3.0, 0.0), max_size=40),
    st.sampled_from(LAGS),
    st.integers(0, 40),
)
def test_every_autoregression_is_finite_and_returns(values, lags, trained):
    made = series(values)
    for coefficients in (
        decay.static_coefficients(made, lags, trained),
        decay.adaptive_coefficients(made, lags, trained),
        decay.kalman_coefficients(made, lags, trained),
    ):
        assert np.isfinite(coefficients).all()
        assert (np.abs(coefficients[:, 1:]).sum(axis=1) <= decay.STEEPEST + 1e-9).all()
        steps = np.full(len(values) + 1, 9.5)
        recent = decay.recent_values(made, max([*lags, 1]))
        loss = decay.forecast_decay(coefficients, lags, recent, steps)
        assert np.isfinite(loss).all()
        assert (loss <= 0).all()


@given(st.lists(st.floats(-1.0, 0.0), min_size=12, max_size=40), st.sampled_from(LAGS))
def test_what_is_held_at_a_look_does_not_depend_on_what_came_later(values, lags):
    half = len(values) // 2
    whole, part = series(values), series(values[:half])
    for make in (decay.adaptive_coefficients, decay.kalman_coefficients):
        early = make(part, lags, 5)
        assert np.allclose(make(whole, lags, 5)[: half + 1], early)


def test_noise_adds_up_as_the_lags_carry_it():
    white = decay.sum_variance(np.array([[0.0]]), (), np.array([4.0]))
    assert white == pytest.approx([4.0])
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(20_000, 4))
    d, total = np.zeros(20_000), np.zeros(20_000)
    for step in range(4):
        d = 0.5 * d + noise[:, step]
        total += d
    carried = decay.sum_variance(np.array([[0.0, 0.5]]), (1,), np.array([4.0]))
    assert carried == pytest.approx([total.var()], rel=0.05)


def test_years_without_a_look_are_not_a_million_steps():
    looks = np.array([0.0, 0.01, 0.02, 3650.0, 3650.01])
    series = Series.of(looks, np.exp([-0.1, -0.1, -3.0, -0.2]), 0.01)
    assert series.decay.size == 2 + LONGEST + 1
    assert series.place.tolist() == [0, 1, 2, 2 + LONGEST, 3 + LONGEST]
    assert series.decay[2] == pytest.approx(-3.0 / 364_998)
