import numpy as np
import pytest
from hypothesis import given, strategies as st

from halflife.core.lifetimes import Collection, Lives
from halflife.models.arrival import ArrivalStatus, fit_arrivals, weekday_days
from lab.arrival_counts import arrivals

INF = np.inf
DAYS = np.arange(140.0)


def numbers_of(model):
    return np.concatenate(
        [
            model.weekday,
            model.covariance.ravel(),
            np.array([model.rate, model.rate_error, model.shape, model.scale]),
            np.array([model.log_likelihood, model.spread, model.memory]),
            np.atleast_1d(model.mean(0.0, 7.0)),
            np.atleast_1d(model.variance(0.0, 7.0)),
        ]
    )


def test_arrivals_are_counted_between_looks_and_not_at_the_first():
    lives = Lives(
        ("a", "b", "c", "d"),
        np.array([-INF, 0.0, 0.0, 5.0]),
        np.array([0.0, 3.0, 3.0, 6.0]),
        np.array([6.0, 3.0, 6.0, 6.0]),
        np.array([INF, 5.0, INF, INF]),
        {},
    )
    looks = np.array([0.0, 3.0, 5.0, 6.0])
    source = Collection("x", looks, lives, np.zeros(0, np.intp), np.zeros(0))
    start, end, count = arrivals(source)
    assert start.tolist() == [0.0, 3.0, 5.0]
    assert end.tolist() == [3.0, 5.0, 6.0]
    assert count.tolist() == [2, 0, 1]
    start, end, count = arrivals(source, step=4.0)
    assert (start.tolist(), end.tolist(), count.tolist()) == ([0.0], [5.0], [2])


def test_a_source_never_looked_at_has_no_arrivals():
    lives = Lives((), *np.zeros((4, 0)), {})
    for looks in (np.zeros(0), np.ones(1)):
        source = Collection("x", looks, lives, np.zeros(0, np.intp), np.zeros(0))
        assert [len(column) for column in arrivals(source)] == [0, 0, 0]
        assert fit_arrivals(*arrivals(source)).status is ArrivalStatus.NO_LOOKS


def test_days_are_shared_out_to_weekdays():
    days = weekday_days(np.array([0.25, 6.5, 2.0]), np.array([0.75, 8.0, 16.0]))
    assert days[0].tolist() == [0, 0, 0, 0.5, 0, 0, 0]
    assert days[1].tolist() == [0, 0, 0.5, 1.0, 0, 0, 0]
    assert days[2].tolist() == [2.0] * 7


@given(
    start=st.floats(-1e4, 1e4),
    length=st.floats(0, 60),
    decay=st.floats(0, 30),
)
def test_an_interval_counts_as_the_days_whose_arrivals_are_still_there(
    start, length, decay
):
    days = weekday_days(np.array([start]), np.array([start + length]), decay)
    gone = decay * length
    expected = length if gone < 1e-9 else -np.expm1(-gone) / decay
    assert days.sum() == pytest.approx(expected, rel=1e-6, abs=1e-9)
    assert (days >= 0).all()


def test_a_weekly_rhythm_is_found():
    rng = np.random.default_rng(1)
    factor = np.array([1.2, 1.4, 1.2, 1.1, 1.0, 0.4, 0.7])
    count = rng.poisson(20 * factor[((DAYS + 3) % 7).astype(int)])
    model = fit_arrivals(DAYS, DAYS + 1, count)
    assert model.weekday_p < 1e-6
    assert min(model.aic, key=model.aic.get).endswith("+weekday")
    assert model.factors == pytest.approx(factor, abs=0.15)
    assert model.rate == pytest.approx(count.mean(), rel=1e-3)
    saturday = 2.0  # day 2 of the epoch
    assert model.mean(saturday, saturday + 1) == pytest.approx(model.weekday[5])


def test_no_rhythm_is_found_where_there_is_none():
    rng = np.random.default_rng(2)
    found = [
        fit_arrivals(DAYS, DAYS + 1, rng.poisson(6.0, DAYS.size)).weekday_p < 0.05
        for _ in range(40)
    ]
    assert np.mean(found) <= 0.15


@pytest.mark.parametrize("law", ["poisson", "negative-binomial", "gamma"])
def test_the_law_that_made_the_counts_is_chosen(law):
    rng = np.random.default_rng(3)
    count = {
        "poisson": lambda: rng.poisson(9.0, 400),
        "negative-binomial": lambda: rng.negative_binomial(1.5, 1.5 / 10.5, 400),
        "gamma": lambda: np.round(rng.gamma(6.0, 1.5 * 9 / 9, 400)),
    }[law]()
    day = np.arange(400.0)
    model = fit_arrivals(day, day + 1, count, weekdays=False)
    assert model.law == law
    assert model.spread == pytest.approx(1.0, abs=0.25)


@pytest.mark.parametrize("law", ["negative-binomial", "gamma"])
def test_sums_over_steps_have_the_same_law_so_merged_looks_tell_the_same(law):
    rng = np.random.default_rng(4)
    day = np.arange(3000.0)
    count = rng.negative_binomial(4.0, 0.25, day.size)
    single = fit_arrivals(day, day + 1, count, laws=(law,), weekdays=False)
    triple = count.reshape(-1, 3).sum(axis=1)
    merged = fit_arrivals(day[::3], day[::3] + 3, triple, laws=(law,), weekdays=False)
    assert merged.rate == pytest.approx(single.rate, rel=0.02)
    assert merged.scale == pytest.approx(single.scale, rel=0.15)


@pytest.mark.parametrize("law", ["gamma", "gamma-density"])
def test_days_without_arrivals_do_not_break_the_gamma(law):
    count = np.where(DAYS % 3 == 0, 5, 0)
    model = fit_arrivals(DAYS, DAYS + 1, count, laws=(law,), weekdays=False)
    assert model.status is ArrivalStatus.OK
    assert np.isfinite(numbers_of(model)).all()
    assert model.rate == pytest.approx(count.mean(), rel=0.15)


def test_a_long_gap_is_no_burst():
    rng = np.random.default_rng(5)
    gap = np.ones(60)
    gap[30] = 30.0
    end = np.cumsum(gap)
    count = rng.poisson(10 * gap)
    model = fit_arrivals(end - gap, end, count)
    assert model.law == "poisson"
    assert model.rate == pytest.approx(10, abs=4 * model.rate_error)


def test_who_came_and_went_unseen_is_counted_when_the_decay_is_known():
    rng = np.random.default_rng(6)
    gap, decay = np.full(200, 10.0), 0.1
    end = np.cumsum(gap)
    seen = rng.poisson(30 * -np.expm1(-decay * gap) / decay)
    assert fit_arrivals(end - gap, end, seen).rate < 20
    model = fit_arrivals(end - gap, end, seen, decay=decay)
    assert model.rate == pytest.approx(30, abs=4 * model.rate_error)
    still_there = model.mean(0.0, 10.0, decay=decay)
    assert still_there == pytest.approx(seen.mean(), rel=1e-3)


@pytest.mark.parametrize("law", ["poisson", "negative-binomial", "gamma"])
def test_intervals_of_the_rate_cover_the_truth(law):
    rng = np.random.default_rng(7)
    draw = {
        "poisson": lambda: rng.poisson(8.0, DAYS.size),
        "negative-binomial": lambda: rng.negative_binomial(8 / 3, 0.25, DAYS.size),
        "gamma": lambda: np.round(rng.gamma(2.0, 4.0, DAYS.size)),
    }[law]
    hits = []
    for _ in range(200):
        model = fit_arrivals(DAYS, DAYS + 1, draw(), laws=(law,), weekdays=False)
        hits.append(abs(model.rate - 8.0) < 1.96 * model.rate_error)
    assert 0.90 <= np.mean(hits) <= 0.99


def test_statuses_say_what_the_looks_can_tell():
    none = fit_arrivals(np.zeros(0), np.zeros(0), np.zeros(0, np.intp))
    quiet = fit_arrivals(DAYS, DAYS + 1, np.zeros(140, np.intp))
    short = fit_arrivals(DAYS[:2], DAYS[:2] + 1, np.array([3, 5]))
    assert none.status is ArrivalStatus.NO_LOOKS
    assert quiet.status is ArrivalStatus.NO_ARRIVALS
    assert quiet.rate == pytest.approx(0.5 / 140)
    assert short.status is ArrivalStatus.FEW_LOOKS
    assert short.rate == 4.0
    for model in (none, quiet, short):
        assert np.isfinite(numbers_of(model)).all()


def test_senseless_counts_are_refused():
    with pytest.raises(ValueError, match="counts"):
        fit_arrivals(DAYS, DAYS + 1, DAYS - 3)


@given(
    counts=st.lists(
        st.one_of(st.integers(0, 3), st.integers(0, 10**6)), min_size=0, max_size=40
    ),
    gap=st.floats(1e-3, 1e3),
)
def test_any_counts_give_finite_numbers(counts, gap):
    start = gap * np.arange(len(counts))
    model = fit_arrivals(start, start + gap, np.array(counts, np.intp))
    assert np.isfinite(numbers_of(model)).all()
    assert (model.weekday > 0).all()
    assert (np.diag(model.covariance) >= 0).all()
