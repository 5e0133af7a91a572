"""The pieces of the decay series, each against its definition written out."""

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st

from halflife.models import decay
from halflife.models.decay import FAR, STEEPEST, Series

LAGS = [(), (1,), (2,), (1, 2), (1, 7), (1, 2, 3)]
values_of = st.lists(st.floats(-2.0, 0.0), min_size=9, max_size=30).map(np.array)


def uneven(values, pieces):
    """Return a series whose looks come after so many values each."""
    place = np.concatenate([[0], np.cumsum(pieces)])
    assert place[-1] == len(values)
    return Series(1.0, np.asarray(values, float), place.astype(int))


def before(values, t, lag):
    """Return d(t - lag); before the series began its first value."""
    return values[max(t - lag, 0)]


@given(values=values_of, lags=st.sampled_from(LAGS))
def test_rows_hold_the_values_so_many_steps_before(values, lags):
    rows = decay.lagged(values, lags)
    assert rows.shape == (values.size + 1, 1 + len(lags))
    for t in range(values.size + 1):
        assert rows[t].tolist() == [1.0, *(before(values, t, lag) for lag in lags)]
    none = decay.lagged(np.zeros(0), lags)
    assert none.tolist() == [[1.0, *([0.0] * len(lags))]]


@given(values=values_of, lags=st.sampled_from(LAGS))
def test_least_squares_leave_errors_that_no_row_explains(values, lags):
    found, aicc = decay.fit_ar(values, lags)
    skip, p = max(lags, default=0), len(lags) + 2
    n = values.size - skip
    if n <= p + 1:
        assert found.tolist() == [values.mean(), *([0.0] * len(lags))]
        assert aicc == math.inf
        return
    rows = decay.lagged(values, lags)[skip:-1]
    left = values[skip:] - rows @ found
    np.testing.assert_allclose(rows.T @ left, 0.0, atol=1e-8)
    rest = max(float(np.mean(left**2)), 1e-30)
    by_hand = n * math.log(rest) + 2 * p + 2 * p * (p + 1) / (n - p - 1)
    if rest > 1e-20:
        assert aicc == pytest.approx(by_hand, rel=1e-6)


def test_lags_are_compared_on_the_same_values():
    rng = np.random.default_rng(8)
    for season in (0, 3, 5, 7):
        values = -rng.gamma(2.0, 0.05, 60)
        values[10:] += 0.4 * values[5:-5]
        plain = [(), (1,), (1, 2), (1, 2, 3)]
        seasonal = [(*lags, season) for lags in plain] if season > 3 else []
        longest = max(season, 3)

        def score(lags, values=values, longest=longest):
            rows = decay.lagged(values, lags)[longest:-1]
            y = values[longest:]
            left = y - rows @ np.linalg.lstsq(rows, y, rcond=None)[0]
            n, p = y.size, len(lags) + 2
            return (
                n * math.log(np.mean(left**2)) + 2 * p + 2 * p * (p + 1) / (n - p - 1)
            )

        best = min([*plain, *seasonal], key=score)
        assert decay.choose_lags(values, season=season) == best


def test_coefficients_are_drawn_in_until_the_series_returns():
    steep = np.array([-0.1, 0.9, -0.6])
    drawn = decay.stabilise(steep)
    assert drawn[0] == steep[0]
    assert np.abs(drawn[1:]).sum() == pytest.approx(STEEPEST)
    assert drawn[1] / drawn[2] == pytest.approx(steep[1] / steep[2])
    flat = np.array([-0.1, 0.5, -0.48])
    assert decay.stabilise(flat) is flat


@given(
    lags=st.sampled_from(LAGS),
    steps=st.lists(st.floats(0.0, 12.0), min_size=1, max_size=4).map(np.array),
    seed=st.integers(0, 99),
)
def test_rolling_forward_adds_up_step_by_step(lags, steps, seed):
    rng = np.random.default_rng(seed)
    coefficients = rng.uniform(-0.3, 0.3, (steps.size, 1 + len(lags)))
    recent = -rng.uniform(0.0, 0.2, (steps.size, max([*lags, 1])))
    found = decay.forecast_decay(coefficients, lags, recent, steps)
    for row, length in enumerate(steps):
        past, total, left = recent[row].tolist(), 0.0, length
        while left > 0:
            a, *b = coefficients[row]
            d = min(a + sum(c * past[-j] for c, j in zip(b, lags, strict=True)), 0.0)
            total += d * min(left, 1.0)
            past.append(d)
            left -= 1.0
        assert found[row] == pytest.approx(total, abs=1e-12)


def test_far_ahead_the_last_decay_goes_on():
    found = decay.forecast_decay(
        np.array([[-0.02, 0.5]]), (1,), np.array([[-0.3]]), np.array([FAR + 100.5])
    )
    near = decay.forecast_decay(
        np.array([[-0.02, 0.5]]), (1,), np.array([[-0.3]]), np.array([float(FAR)])
    )
    assert found - near == pytest.approx([-0.04 * 100.5])


@given(values=values_of, length=st.integers(1, 8))
def test_the_recent_values_of_a_look_are_those_known_then(values, length):
    pieces = [1, 3, values.size - 4]
    made = uneven(values, pieces)
    found = decay.recent_values(made, length)
    for look, known in enumerate(made.place):
        first = values[0] if known else 0.0
        past = [first] * length + values[:known].tolist()
        assert found[look].tolist() == past[-length:]
    none = Series(1.0, np.zeros(0), np.zeros(1, int))
    assert decay.recent_values(none, 3).tolist() == [[0.0, 0.0, 0.0]]


@given(values=values_of, lags=st.sampled_from(LAGS), seed=st.integers(0, 99))
def test_errors_are_those_of_the_look_before_each_value(values, lags, seed):
    made = uneven(values, [2, 3, values.size - 5])
    rng = np.random.default_rng(seed)
    coefficients = rng.uniform(-0.4, 0.4, (4, 1 + len(lags)))
    found = decay.one_step_errors(made, lags, coefficients)
    for t, value in enumerate(values):
        look = max(i for i, known in enumerate(made.place) if known <= t)
        row = [1.0, *(before(values, t, lag) for lag in lags)]
        assert found[t] == pytest.approx(value - min(coefficients[look] @ row, 0.0))
    variance = decay.error_variance(made, lags, coefficients)
    assert variance[0] == 0.0
    for look in range(1, 4):
        known = made.place[look]
        assert variance[look] == pytest.approx(np.mean(found[:known] ** 2))


def test_after_one_value_its_error_is_the_mean():
    made = Series(1.0, np.array([-0.3, -0.1]), np.array([0, 1, 2]))
    flat = np.tile([-0.2, 0.0], (3, 1))
    found = decay.error_variance(made, (1,), flat)
    assert found == pytest.approx([0.0, 0.01, 0.01])


def test_the_rival_of_least_error_so_far_is_chosen_look_by_look():
    values = np.r_[np.full(10, -0.1), np.full(30, -0.5)]
    made = uneven(values, [5, 5, 10, 10, 10])
    slow, fast = (np.tile([level], (6, 1)) for level in (-0.1, -0.5))
    best = decay.best_coefficients(made, (), [slow, fast])
    # 10 values at -0.1 against 10 at -0.5: even; then the fast one is better
    assert best[1] == pytest.approx([-0.1])
    assert best[2] == pytest.approx([-0.1])
    assert best[4] == pytest.approx([-0.5])


def test_adapting_waits_for_the_training_and_takes_its_share_of_the_surprise():
    values = np.r_[np.full(8, -0.1), np.full(4, -0.3)]
    made = uneven(values, [4, 4, 2, 2])
    found = decay.adaptive_coefficients(made, (), 8, rate=0.25)
    assert found[:3, 0] == pytest.approx([-0.1] * 3)
    # over two steps 0.6 was lost and 0.2 expected; a quarter of it, by two steps
    one = -0.1 + 0.25 * (-0.6 + 0.2) / 2
    assert found[3, 0] == pytest.approx(one)
    assert found[4, 0] == pytest.approx(one + 0.25 * (-0.6 - 2 * one) / 2)


def test_no_coefficient_moves_by_more_than_its_unit_or_along_a_flat_slope():
    now, unit = np.array([-0.1, 0.2]), np.array([0.1, 1.0])
    jump = decay._adapt(now, np.array([1.0, 1.0]), -50.0, 0.2, unit)
    assert jump == pytest.approx([-0.2, 0.2 - 1.0])
    flat = decay._adapt(now, np.array([1.0, 1e-4]), 0.01, 0.2, unit)
    assert flat == pytest.approx([-0.1 + 0.2 * 0.01, 0.2])
    steep = decay._adapt(now, np.array([0.0, -0.5]), 0.01, 0.2, unit)
    assert steep == pytest.approx([-0.1, 0.2 - 0.2 * 0.01 / 0.5])


@pytest.mark.parametrize("lags", [(1,), (1, 2), (3,)])
@pytest.mark.parametrize("steps", [1.0, 2.5, 7.0])
def test_the_variance_of_a_sum_is_that_of_its_noise_carried_on(lags, steps):
    b = np.linspace(0.4, -0.2, len(lags))
    whole = math.ceil(steps)
    # psi: what one unit of noise does later; the sum of n steps is a linear map of it
    psi = [1.0]
    for t in range(1, whole):
        psi.append(sum(c * psi[t - j] for c, j in zip(b, lags, strict=True) if t >= j))
    carried = np.cumsum(psi) ** 2
    share = [min(steps - done, 1.0) for done in range(whole)]
    found = decay.sum_variance(np.array([[0.0, *b]]), lags, np.array([steps]))
    assert found == pytest.approx([float(carried @ share)])


def test_the_filter_measures_in_units_of_the_training_and_keeps_to_its_looks():
    rng = np.random.default_rng(0)
    values = -rng.gamma(2.0, 0.05, 40)
    made = uneven(values, [10, 10, 20])
    unit = np.abs(values[:10]).mean()
    path = decay.kalman(values / unit, (1,), np.array([0.0, 1e-2]))
    found = decay.kalman_coefficients(made, (1,), 10, drifts=(0.0, 1e-2))
    for look, known in enumerate(made.place):
        a, b = path[known]
        assert found[look] == pytest.approx([a * unit, np.clip(b, -STEEPEST, STEEPEST)])


def unlikely(values, drift):
    """Return -2 ln of the likelihood of values about -1, their scale at its best."""
    times = np.arange(1, values.size + 1)
    between = np.eye(times.size) + 1.0 + drift * np.minimum.outer(times, times)
    off = values + 1.0
    squares = float(off @ np.linalg.solve(between, off))
    return np.linalg.slogdet(between)[1] + times.size * math.log(squares)


@pytest.mark.parametrize("jump", [0.0, 2.0])
def test_of_several_filters_the_likeliest_speaks(jump):
    values = np.r_[np.full(20, -1.3), np.full(20, -1.3 - jump)]
    values = values + 0.2 * np.random.default_rng(0).normal(size=40)
    drifts = (0.0, 0.01, 1.0)
    alone = [decay.kalman(values, (), np.array([d])) for d in drifts]
    found = decay.kalman(values, (), np.array(drifts))
    for known in (5, 19, 23, 40):
        best = int(np.argmin([unlikely(values[:known], d) for d in drifts]))
        assert found[known] == pytest.approx(alone[best][known])


def test_too_few_values_are_taken_to_have_no_memory():
    found, aicc = decay.fit_ar(np.array([-0.1, -0.3, -0.2]), (1, 2))
    assert found == pytest.approx([-0.2, 0.0, 0.0])
    assert aicc == math.inf
    assert decay.fit_ar(np.zeros(0), (1,))[0].tolist() == [0.0, 0.0]
