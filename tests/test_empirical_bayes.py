"""Rates of a population: what one item learns from all the others."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from halflife.core.errors import NotFitted
from halflife.core.history import Gaps
from halflife.models.empirical_bayes import (
    GRID,
    RateGrid,
    _losses,
    add_log_likelihood,
    fit_prior,
    posterior,
    wide_prior,
)
from halflife.models.gaps import RateStatus
from lab.fit import watch
from lab.projection import mostly_still, projection, spread, three_kinds
from lab.rates.empirical_bayes import EmpiricalBayesRate, grid_posterior, log_likelihood


def no_gaps():
    return np.zeros(0, np.intp), np.zeros(0), np.zeros(0, np.bool_), np.zeros(0)


def test_the_grid_spans_seven_decades():
    assert GRID.rate[[0, -1]] == pytest.approx([1e-4, 1e3])
    assert np.diff(np.log(GRID.rate)) == pytest.approx(np.full(79, GRID.step))


def test_gaps_can_be_added_bit_by_bit():
    rng = np.random.default_rng(0)
    gaps = watch(spread(rng, 40), 12, seed=1)
    whole = log_likelihood(gaps, 40)
    table = np.zeros((40, GRID.points))
    for part in np.array_split(rng.permutation(gaps.item.size), 9):
        add_log_likelihood(table, Gaps(*(column[part] for column in gaps)))
    assert table == pytest.approx(whole.astype(float), rel=1e-4, abs=1e-4)


def test_a_tally_multiplies_the_evidence():
    gaps = Gaps(
        np.array([0, 0]), np.array([2.0, 3.0]), np.array([True, False]), np.ones(2)
    )
    thrice = gaps._replace(tally=np.full(2, 3.0))
    once = log_likelihood(gaps, 1).astype(float)
    assert log_likelihood(thrice, 1) == pytest.approx(3 * once, rel=1e-6)


def test_nothing_seen_leaves_the_wide_prior():
    table = log_likelihood(Gaps(*no_gaps()), 3)
    assert fit_prior(table) == pytest.approx(wide_prior(), rel=1e-9)
    assert fit_prior(table[:0]) == pytest.approx(wide_prior(), rel=1e-9)


def test_the_prior_finds_two_kinds_of_items():
    rate = np.where(np.arange(3000) % 3 == 0, 3.0, 0.01)
    prior = fit_prior(log_likelihood(watch(rate, 40, seed=2), 3000))
    assert prior.sum() == pytest.approx(1.0)
    assert prior[(GRID.rate > 2) & (GRID.rate < 4.5)].sum() == pytest.approx(
        1 / 3, abs=0.03
    )
    assert prior[GRID.rate < 0.03].sum() == pytest.approx(2 / 3, abs=0.03)


def test_a_few_items_do_not_make_a_population():
    always = np.ones(5, np.bool_)
    gaps = Gaps(np.arange(5), np.full(5, 0.01), always, np.ones(5))
    prior = fit_prior(log_likelihood(gaps, 5))
    assert prior[GRID.rate < 1].sum() > 0.5


def test_long_histories_pin_the_rate():
    rate = np.geomspace(0.01, 5, 50)
    model = EmpiricalBayesRate().fit(*watch(rate, 3000, seed=3))
    assert np.log(model.rate_) == pytest.approx(np.log(rate), abs=0.35)
    # and yet the grid's own coarseness is not mistaken for knowledge
    assert model.shape_.max() < 12 / GRID.step**2 * 1.2


def test_an_unseen_item_is_like_its_population():
    rng = np.random.default_rng(5)
    gaps = watch(np.exp(rng.normal(np.log(0.5), 0.3, 2000)), 30, seed=6)
    model = EmpiricalBayesRate().fit(*gaps, n_items=2001)
    assert model.rate_[2000] == pytest.approx(0.55, rel=0.25)
    assert model.status_[2000] == RateStatus.NO_LOOKS


def test_the_status_is_that_of_the_looks():
    item, changed = np.array([0, 0, 1, 3]), np.array([1, 0, 0, 1], bool)
    model = EmpiricalBayesRate().fit(item, np.ones(4), changed, n_items=4)
    assert model.status_.tolist() == [0, RateStatus.NO_CHANGE, RateStatus.NO_LOOKS, 3]


@pytest.mark.parametrize("n", [0, 1, 5])
def test_small_populations_are_no_trouble(n):
    model = EmpiricalBayesRate().fit(*no_gaps(), n_items=n)
    assert model.rate_.shape == model.shape_.shape == model.exposure_.shape == (n,)
    assert np.all(np.isfinite(model.rate_))
    assert model.survival().alive(np.ones(n)).shape == (n,)


@given(
    length=st.lists(st.floats(-300, 300), min_size=1, max_size=8),
    changed=st.booleans(),
    tally=st.sampled_from([0.0, 1e-3, 1.0, 1e6]),
)
def test_every_number_stays_finite(length, changed, tally):
    n = len(length)
    days = np.array([10.0**e for e in length])
    model = EmpiricalBayesRate().fit(
        np.arange(n) % 3, days, np.full(n, changed), np.full(n, tally), n_items=3
    )
    for column in (model.rate_, model.shape_, model.exposure_):
        assert np.all((column > 0) & (column < 1e12))


@pytest.mark.parametrize("population", [spread, mostly_still, three_kinds])
@pytest.mark.parametrize("looks", [0, 1, 5, 40])
def test_two_numbers_an_item_keep_the_survival(population, looks):
    rng = np.random.default_rng(7)
    known = watch(population(rng, 1500), 20, seed=8)
    prior = fit_prior(log_likelihood(known, 1500))
    table = log_likelihood(watch(population(rng, 300), looks, seed=9), 300)
    weight, kept = grid_posterior(table, prior), posterior(table, prior)
    assert kept.mean == pytest.approx(weight @ GRID.rate)
    time = np.geomspace(1e-3, 200, 60)
    exact = weight @ np.exp(-np.multiply.outer(GRID.rate, time))
    ours = (1 + time / kept.exposure[:, None]) ** -kept.shape[:, None]
    assert np.max(np.abs(ours - exact)) < 0.11
    assert np.mean(np.abs(ours - exact)) < 0.03


def test_the_bench_measures_what_two_numbers_lose():
    row = projection(items=200)
    assert row["survival_error_mean"] < 0.03
    assert row["survival_error_worst"] < 0.13
    assert row["index_factor_mean"] < 1.1


def test_another_grid_can_be_used():
    grid = RateGrid(slowest=1e-2, fastest=1e2, points=40)
    gaps = watch(np.full(200, 1.0), 50, seed=10)
    model = EmpiricalBayesRate(grid=grid).fit(*gaps)
    assert model.prior_.shape == (40,)
    assert model.rate_ == pytest.approx(np.ones(200), rel=0.5)


def test_a_model_that_was_not_fitted_says_so():
    with pytest.raises(NotFitted, match="call fit"):
        EmpiricalBayesRate().survival()


def test_the_same_looks_give_the_same_numbers():
    gaps = watch(np.geomspace(0.01, 10, 30), 9, seed=11)
    first, again = (EmpiricalBayesRate().fit(*gaps) for _ in range(2))
    assert first.shape_.tolist() == again.shape_.tolist()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_numbers_of_an_item_do_not_depend_on_the_items_beside_it(dtype):
    """Matrix products round differently at the edge of a block."""
    rng = np.random.default_rng(3)
    kinds = (-rng.exponential(30.0, (7, GRID.points))).astype(dtype)
    prior = wide_prior()
    alone = np.array([posterior(row[None], prior) for row in kinds])[:, :, 0]
    for items in (8, 61, 300):
        kind = rng.integers(0, 7, items)
        together = np.array(posterior(kinds[kind], prior)).T
        assert together == pytest.approx(alone[kind], rel=1e-14)
        for each in range(7):
            assert len(np.unique(together[kind == each], axis=0)) <= 1


def test_the_chance_of_a_change_is_the_mean_over_the_cell_around_a_rate():
    grid = RateGrid()
    time, lost = _losses(grid)
    assert lost.shape == (grid.rate.size, time.size)
    edge = grid.step / 2
    fine = np.exp(np.linspace(-edge, edge, 2001))
    for row in (0, grid.rate.size // 2, grid.rate.size - 1):
        for column in (0, 20, 40, 63):
            exact = -np.expm1(-grid.rate[row] * fine * time[column])
            assert lost[row, column] == pytest.approx(exact.mean(), rel=5e-3)
