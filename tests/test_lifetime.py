import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as nps

from halflife.core.errors import NotFitted
from halflife.models.ascent import climb
from halflife.models.lifetime import (
    ExponentialLifetime,
    LifeStatus,
    WeibullLifetime,
    choose_lifetime,
)
from halflife.models.spells import Spells, spells
from lifetime_worlds import watched, world

INF = np.inf
BOTH = pytest.mark.parametrize("model", [ExponentialLifetime, WeibullLifetime])
AGES = np.concatenate(([0.0], np.geomspace(1e-6, 1e6, 40)))


def of(lower, upper, entry=None):
    lower = np.asarray(lower, float)
    start = np.zeros(lower.size) if entry is None else np.asarray(entry, float)
    return Spells.of(start, lower, np.asarray(upper, float))


def numbers_of(found):
    low, high = found.rate_interval()
    single = [found.rate_, found.shape_, found.log_likelihood_, found.aic_, low, high]
    return np.concatenate(
        [
            np.array([*single, found.mean(), found.deaths_, found.exposure_]),
            found.covariance_.ravel(),
            found.survival(AGES),
            found.conditional(AGES, AGES[::-1]),
            found.of_unknown_age(AGES),
            found.hazard(AGES),
        ]
    )


@st.composite
def any_spells(draw, apart=1e3):
    """Draw spells of every kind: exact, in intervals, censored, met late, of no age."""
    n = draw(st.integers(0, 12))
    age = st.one_of(st.just(0.0), st.floats(1 / apart, apart))
    entry, more, width = (draw(nps.arrays(float, n, elements=age)) for _ in range(3))
    ended, aged = (draw(nps.arrays(np.bool_, n)) for _ in range(2))
    lower = entry + more
    upper = np.where(ended, lower + width, INF)
    off = entry * draw(nps.arrays(float, n, elements=st.floats(0, 1)))
    return Spells.of(entry, lower, upper, aged, spread=off)


# What comes from the looks


def test_ages_count_from_midway_between_the_looks_around_a_birth():
    looks = np.array([0.0, 4.0, 6.0, 9.0])
    lives = watched(looks, np.array([-3.0, 1.0, 5.0]), np.array([5.0, 8.0, 99.0]))
    found = spells(lives, looks)
    assert found.entry.tolist() == [0.0, 2.0, 1.0]
    assert found.lower.tolist() == [4.0, 4.0, 4.0]
    assert found.upper.tolist() == [6.0, 7.0, INF]
    assert found.aged.tolist() == [False, True, True]
    assert found.spread.tolist() == [0.0, 2.0, 1.0]
    assert (found.deaths, found.exposure) == (2.0, 5.0 + 3.5 + 3.0)


def test_a_window_lets_older_spells_enter_at_the_age_they_had():
    looks = np.arange(11.0)
    lives = watched(
        looks, np.array([-1.0, 1.5, 2.5, 6.5]), np.array([9.5, 4.5, 8.5, 99.0])
    )
    recent = spells(lives, looks, window=5.0)
    assert recent.entry.tolist() == [0.0, 2.5, 0.5]  # the second had gone by then
    assert recent.lower.tolist() == [4.0, 5.5, 3.5]
    assert recent.upper.tolist() == [5.0, 6.5, INF]
    assert recent.spread.tolist() == [0.0, 0.5, 0.5]
    with pytest.raises(ValueError, match="looks"):
        spells(lives, window=5.0)


def test_a_window_sees_the_present_rate():
    rng = np.random.default_rng(1)
    looks = np.arange(200.0)
    birth = rng.uniform(-100, 200, 6000)
    slow = birth + rng.exponential(100.0, birth.size)
    fast = np.maximum(birth, 120.0) + rng.exponential(10.0, birth.size)
    lives = watched(looks, birth, np.where(slow < 120.0, slow, fast))
    recent = ExponentialLifetime().fit(spells(lives, looks, window=60.0))
    assert recent.rate_ == pytest.approx(0.1, rel=0.1)
    assert ExponentialLifetime().fit(lives).rate_ < 0.05


@pytest.mark.parametrize("shape", [0.7, 1.5])
def test_a_window_does_not_bias_the_weibull(shape):
    found = []
    for seed in range(10):
        looks, lives = world(seed, shape=shape, gaps=(1, 5), rate=20.0)
        found.append(WeibullLifetime().fit(spells(lives, looks, window=90.0)))
    assert np.mean([f.shape_ for f in found]) == pytest.approx(shape, rel=0.03)
    assert np.mean([f.rate_ for f in found]) == pytest.approx(1 / 60, rel=0.05)


def test_equal_rows_are_added_up_and_tell_the_same():
    _, lives = world(2, shape=1.3, gaps=(1, 4))
    data = spells(lives)
    tallied = data.merge_equal()
    assert len(tallied) < len(data) / 2
    assert tallied.weight.sum() == len(data)
    assert tallied.deaths == data.deaths
    assert tallied.exposure == pytest.approx(data.exposure)


def test_a_weight_stands_for_that_many_spells():
    data = of([1, 2, 2], [2, INF, 3])
    thrice = Spells.of(data.entry, data.lower, data.upper, weight=np.full(3, 3.0))
    copies = data.take(np.tile(np.arange(3), 3))
    for model in (ExponentialLifetime, WeibullLifetime):
        one, other = model().fit(thrice), model().fit(copies)
        assert numbers_of(one) == pytest.approx(numbers_of(other), rel=1e-6)


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        (([0.0], [1.0, 2.0], [3.0]), "one length"),
        (([-1.0], [1.0], [2.0]), "not negative"),
        (([0.0], [INF], [INF]), "finite"),
        (([np.nan], [1.0], [2.0]), "not negative"),
        (([2.0], [1.0], [3.0]), "entry <= lower"),
        (([0.0], [2.0], [1.0]), "lower <= upper"),
        (([0.0], [2.0], [np.nan]), "lower <= upper"),
    ],
)
def test_senseless_spells_are_refused(columns, reason):
    with pytest.raises(ValueError, match=reason):
        Spells.of(*map(np.array, columns))


# What is right


def test_the_exponential_rate_of_exact_deaths_is_deaths_over_exposure():
    found = ExponentialLifetime().fit(of([2, 3, 5, 4], [2, 3, INF, INF], [0, 1, 0, 2]))
    assert found.rate_ == pytest.approx(2 / 11, rel=1e-12)
    assert found.covariance_[0, 0] == pytest.approx(found.rate_**2 / 2)
    assert found.log_likelihood_ == pytest.approx(2 * np.log(2 / 11) - 2)
    assert found.status_ is LifeStatus.OK


def test_the_exponential_rate_of_daily_looks_is_of_the_share_that_lasts_a_day():
    """Ten spells at risk on each day and one gone: exp(-rate) = 0.9."""
    seen = of(np.repeat([0.0, 1.0], [1, 9]), np.repeat([1.0, INF], [1, 9]))
    assert ExponentialLifetime().fit(seen).rate_ == pytest.approx(-np.log(0.9))


def test_what_was_there_at_the_first_look_tells_the_exponential_as_much():
    looks, lives = world(3, days=120)
    old = lives.take(lives.truncated)
    found = ExponentialLifetime().fit(spells(old, looks))
    assert found.rate_ == pytest.approx(1 / 60, abs=4 * found.covariance_[0, 0] ** 0.5)


@pytest.mark.parametrize("shape", [0.6, 1.0, 1.6])
def test_what_was_there_at_the_first_look_does_not_mislead_the_weibull(shape):
    """Counted as if born then, old objects would bias the shape."""
    _, lives = world(4, shape=shape, days=200, rate=20.0)
    found = WeibullLifetime().fit(lives)
    error = np.sqrt(np.diag(found.covariance_))
    assert abs(found.shape_ - shape) < 3 * error[1]
    assert abs(found.rate_ - 1 / 60) < 3 * error[0]
    data = spells(lives)
    young = Spells.of(data.entry, data.lower, data.upper)
    naive = WeibullLifetime().fit(young)
    if shape != 1.0:
        assert abs(naive.shape_ - shape) > 3 * error[1]


@pytest.mark.parametrize("gaps", [(1, 1), (1, 18), (30, 30)], ids=str)
@pytest.mark.parametrize("shape", [0.6, 1.4])
def test_wide_gaps_do_not_bias_what_is_learned(shape, gaps):
    """Without averaging over births the shape of 0.6 is found as 0.56 at 30 days."""
    found = [
        WeibullLifetime().fit(world(seed, shape=shape, gaps=gaps, rate=15.0)[1])
        for seed in range(12)
    ]
    assert np.mean([f.shape_ for f in found]) == pytest.approx(shape, rel=0.025)
    assert np.mean([f.rate_ for f in found]) == pytest.approx(1 / 60, rel=0.04)


@BOTH
def test_intervals_of_the_parameters_cover_the_truth(model):
    shape = 1.0 if model is ExponentialLifetime else 1.3
    hits = []
    for seed in range(100):
        found = model().fit(world(seed, shape=shape, gaps=(1, 18), rate=3.0)[1])
        low, high = found.rate_interval()
        off = abs(found.shape_ - shape) <= 1.96 * found.covariance_[1, 1] ** 0.5
        hits.append((low < 1 / 60 < high, off))
    rate, shapes = np.mean(hits, axis=0)
    assert 0.90 <= rate <= 0.99
    assert shapes == 1.0 if model is ExponentialLifetime else 0.90 <= shapes <= 0.99


@pytest.mark.parametrize("shape", [0.7, 1.0, 1.5])
def test_what_is_there_now_lasts_as_the_weibull_says_of_unknown_age(shape):
    """Steady arrivals: precision of a copy is survival at a random moment of life."""
    rng = np.random.default_rng(5)
    birth = rng.uniform(-4000, 0, 80_000)
    death = birth + 60 * rng.weibull(shape, birth.size)
    here = death > 0
    found = WeibullLifetime()
    found.rate_, found.shape_ = 1 / 60, shape
    for t in (5.0, 60.0, 150.0):
        stayed = np.mean(death[here] > t)
        assert found.of_unknown_age(np.array([t]))[0] == pytest.approx(stayed, abs=0.03)


def test_the_simpler_law_is_chosen_unless_the_other_earns_its_parameter():
    assert type(choose_lifetime(world(6, shape=1.0)[1])) is ExponentialLifetime
    assert type(choose_lifetime(world(6, shape=1.5)[1])) is WeibullLifetime
    assert type(choose_lifetime(of([], []))) is ExponentialLifetime


def test_a_prior_pulls_towards_itself():
    data = of([2.0, 3.0], [2.0, INF])
    pulled = ExponentialLifetime(prior_deaths=3.0, prior_days=15.0).fit(data)
    assert pulled.rate_ == pytest.approx((1 + 3) / (5 + 15))
    assert pulled.log_likelihood_ == pytest.approx(np.log(0.2) - 1.0)
    with pytest.raises(ValueError, match="prior_days"):
        ExponentialLifetime(prior_days=-1.0).fit(data)


# What little data can tell


@BOTH
def test_nothing_watched_is_said(model):
    found = model().fit(of([], []))
    assert found.status_ is LifeStatus.NO_SPELLS
    assert np.isfinite(numbers_of(found)).all()


@BOTH
@pytest.mark.parametrize("n", [1, 5])
def test_without_deaths_the_rate_is_half_a_death_and_at_most_three(model, n):
    found = model().fit(of(np.full(n, 4.0), np.full(n, INF)))
    assert found.status_ is LifeStatus.NO_DEATHS
    assert found.rate_ == pytest.approx(0.5 / (4 * n))
    low, high = found.rate_interval()
    assert (low, high * 4 * n) == (0.0, pytest.approx(2.9957, abs=1e-3))
    assert np.isfinite(numbers_of(found)).all()


def test_the_bound_without_deaths_holds_as_often_as_it_says():
    """Exposure of three expected deaths: none is seen in one world of twenty."""
    rng = np.random.default_rng(7)
    life = rng.exponential(1.0, (4000, 30))
    quiet = np.all(life > 0.1, axis=1)
    bound = ExponentialLifetime().fit(of(np.full(30, 0.1), np.full(30, INF)))
    held = bound.rate_interval()[1] >= 1.0
    assert held or quiet.mean() <= 0.055
    assert quiet.mean() == pytest.approx(np.exp(-3), abs=0.012)


def test_when_all_go_before_the_next_look_the_rate_is_bounded():
    """Cho and Garcia-Molina: -ln((n - X + 0.5) / (n + 0.5)) / gap with X = n."""
    found = ExponentialLifetime().fit(of(np.zeros(6), np.full(6, 2.0)))
    assert found.status_ is LifeStatus.FASTER_THAN_LOOKS
    assert found.rate_ == pytest.approx(-np.log(0.5 / 6.5) / 2)
    assert np.isfinite(numbers_of(found)).all()
    assert WeibullLifetime().fit(of(np.zeros(6), np.full(6, 2.0))).shape_ == 1.0


def test_one_death_tells_no_shape():
    found = WeibullLifetime().fit(of([3, 9], [4, INF]))
    assert found.status_ is LifeStatus.FEW_DEATHS
    assert found.shape_ == 1.0
    assert found.rate_ == pytest.approx(
        ExponentialLifetime().fit(of([3, 9], [4, INF])).rate_
    )


def test_deaths_all_at_one_age_give_a_shape_that_is_shrunk():
    found = WeibullLifetime().fit(of(np.full(9, 7.0), np.full(9, 7.0)))
    assert found.status_ is LifeStatus.SHRUNK
    assert 1 < found.shape_ < 20
    assert found.quantile(np.array([0.5]))[0] == pytest.approx(7, rel=0.2)


def test_a_search_that_does_not_settle_ends_in_an_exponential(monkeypatch):
    def lost(function, start, low, high):
        found = climb(function, start, low, high)
        return found._replace(converged=bool(low[1] == high[1]))

    monkeypatch.setattr("halflife.models.lifetime.climb", lost)
    _, lives = world(8, shape=1.5)
    found = WeibullLifetime().fit(lives)
    assert found.status_ is LifeStatus.SIMPLER
    assert found.shape_ == 1.0
    assert found.rate_ == ExponentialLifetime().fit(lives).rate_


def test_spells_of_unknown_age_alone_give_an_exponential():
    data = of(np.arange(1.0, 9), np.arange(2.0, 10))
    data = Spells.of(data.entry, data.lower, data.upper, np.zeros(8, np.bool_))
    found = WeibullLifetime().fit(data)
    assert found.status_ is LifeStatus.FEW_DEATHS
    assert found.rate_ == ExponentialLifetime().fit(data).rate_


@BOTH
def test_an_unfitted_model_says_so(model):
    with pytest.raises(NotFitted):
        model().survival(np.ones(1))


# Laws


@BOTH
@given(data=any_spells(apart=1e7))
def test_any_spells_give_finite_numbers_and_a_survival_that_falls(model, data):
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        found = model().fit(data)
        assert np.isfinite(numbers_of(found)).all()
    assert found.rate_ > 0
    assert (np.diag(found.covariance_) >= 0).all()
    for curve in (found.survival(AGES), found.of_unknown_age(AGES)):
        assert ((curve >= 0) & (curve <= 1)).all()
        assert (np.diff(curve) <= 0).all()
    rest = found.conditional(AGES, np.full(AGES.size, 3.0))
    assert ((rest >= 0) & (rest <= 1)).all()


@BOTH
@given(data=any_spells(), unit=st.sampled_from([1 / 144, 7.0, 365.0]))
def test_the_unit_of_time_does_not_matter(model, data, unit):
    if not data.exposure:
        return
    scaled = Spells.of(
        data.entry * unit,
        data.lower * unit,
        data.upper * unit,
        data.aged,
        spread=data.spread * unit * (1 - 1e-12),
    )
    one, other = model().fit(data), model().fit(scaled)
    if LifeStatus.NO_SPELLS in (one.status_, other.status_):
        return
    if np.any((data.upper == data.lower) & (data.lower == 0)):
        return  # how soon after birth is too soon to tell is said in days
    assert one.status_ == other.status_
    assert other.rate_ * unit == pytest.approx(one.rate_, rel=1e-4)
    assert other.shape_ == pytest.approx(one.shape_, rel=1e-4)


@given(data=any_spells(), t=st.floats(0, 1e3), s=st.floats(0, 1e3))
def test_lasting_t_and_then_s_is_lasting_both(data, t, s):
    found = WeibullLifetime().fit(data)
    first = found.conditional(np.array([t]), np.zeros(1))
    then = found.conditional(np.array([s]), np.array([t]))
    assert first * then == pytest.approx(found.survival(np.array([t + s])), rel=1e-6)


@given(data=any_spells())
def test_no_shape_is_likelier_than_the_weibull_fit(data):
    """The exponential lies within the Weibull family."""
    aged = data.take(data.aged)
    bent, plain = WeibullLifetime().fit(aged), ExponentialLifetime().fit(aged)
    if bent.status_ is LifeStatus.OK:
        assert bent.log_likelihood_ >= plain.log_likelihood_ - 1e-6


@pytest.mark.parametrize("unit", [1.0, 1 / 144, 7.0, 365.0])
def test_a_climb_that_never_ends_is_not_taken_for_a_peak(unit):
    entry = np.array([1.0, 16.0, 592.40625, 1.0, 0.0]) * unit
    lower = np.array([1.0, 16.0, 1115.6748, 1.0, 0.0]) * unit
    upper = np.array([1.0, 474.90625, np.inf, 1.0, np.inf]) * unit
    found = WeibullLifetime().fit(Spells.of(entry, lower, upper, np.ones(5, bool)))
    assert found.status_ == LifeStatus.SHRUNK
    assert found.rate_ * unit == pytest.approx(6.5668, rel=1e-4)
