"""Rates of a population: tables, priors and posteriors entry by entry."""

import math

import numpy as np
import pytest

from halflife.models import empirical_bayes
from halflife.models.empirical_bayes import (
    GRID,
    RateGrid,
    _as_gamma,
    _losses,
    _parts,
    add_log_likelihood,
    fit_prior,
    posterior,
    wide_prior,
)
from halflife.models.gaps import check_gaps
from lab.rates.empirical_bayes import EmpiricalBayesRate, grid_posterior, log_likelihood

SMALL = RateGrid(0.01, 10.0, 7)


def some_gaps(seed=0, n=40, items=5):
    rng = np.random.default_rng(seed)
    item, length = rng.integers(0, items, n), rng.uniform(0.1, 9.0, n)
    changed, tally = rng.random(n) < 0.5, rng.integers(1, 4, n).astype(float)
    return check_gaps(item, length, changed, tally, items)


def table_by_hand(gaps, items, grid):
    table = np.zeros((items, grid.points))
    columns = gaps.item, gaps.length, gaps.changed, gaps.tally
    for i, g, c, t in zip(*columns, strict=True):
        for k, r in enumerate(grid.rate):
            table[i, k] += t * (math.log(-math.expm1(-r * g)) if c else -r * g)
    return table


def test_rates_of_the_grid_are_even_in_the_logarithm():
    assert SMALL.rate == pytest.approx(10.0 ** np.linspace(-2, 1, 7))
    assert SMALL.step == pytest.approx(math.log(10) / 2)
    with pytest.raises(ValueError, match="read-only"):
        SMALL.rate[0] = 1.0


@pytest.mark.parametrize(
    ("few", "items", "chunk"),  # both ways to add up; most rows have a gap, or few
    [(0, 5, 3), (2048, 5, 8192), (2048, 400, 3), (0, 400, 8192)],
)
def test_the_table_is_the_likelihood_gap_by_gap(monkeypatch, few, items, chunk):
    monkeypatch.setattr(empirical_bayes, "_FEW", few)
    monkeypatch.setattr(empirical_bayes, "_CHUNK", chunk)
    monkeypatch.setattr(empirical_bayes, "_GAP_CHUNK", 7)
    gaps, _ = some_gaps(1)
    by_hand = np.zeros((items, 7))
    by_hand[:5] = table_by_hand(gaps, 5, SMALL)
    found = log_likelihood(gaps, items, SMALL)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, by_hand, rtol=1e-4, atol=1e-4)
    add_log_likelihood(found, gaps, SMALL)
    np.testing.assert_allclose(found, 2 * by_hand, rtol=1e-4, atol=1e-4)


def test_gaps_beyond_measure_count_as_the_longest_or_shortest():
    item = np.arange(2)
    long, _ = check_gaps(item, np.array([1e12, 1e-12]), np.zeros(2, bool), None, 2)
    table = np.zeros((2, 7))
    add_log_likelihood(table, long, SMALL)
    assert table[0] == pytest.approx(-1e9 * SMALL.rate)
    assert table[1] == pytest.approx(-1e-9 * SMALL.rate)


def test_the_wide_prior_is_normal_about_once_a_month():
    weight = [math.exp(-0.5 * (math.log(30 * r) / 2.5) ** 2) for r in SMALL.rate]
    assert wide_prior(SMALL) == pytest.approx(np.array(weight) / sum(weight))


@pytest.mark.parametrize("pretend", [0.5, 20.0])
def test_the_prior_is_the_fixed_point_of_expectation_maximisation(pretend):
    gaps, items = some_gaps(2)
    table = table_by_hand(gaps, items, SMALL)
    found = fit_prior(table, SMALL, pretend=pretend)
    wide = wide_prior(SMALL)
    mass = wide
    for _ in range(400):
        shares = [np.exp(row) * mass / (np.exp(row) @ mass) for row in table]
        mass = (sum(shares) + pretend * wide) / (items + pretend)
    assert found.sum() == pytest.approx(1.0)
    assert found == pytest.approx(mass, abs=2e-3)
    # One round from the wide prior, if it is not moved far by that, is the end.
    few = fit_prior(np.zeros((3, 7)), SMALL, pretend=pretend)
    assert few == pytest.approx(wide)


def test_of_many_items_evenly_spaced_ones_tell_the_prior():
    gaps, items = some_gaps(3, 200, 21)
    table = table_by_hand(gaps, items, SMALL)
    some = fit_prior(table, SMALL, sample=5)
    rows = table[[0, 5, 10, 15, 20]]
    assert some == pytest.approx(fit_prior(rows, SMALL))
    assert fit_prior(table, SMALL, sample=21) == pytest.approx(fit_prior(table, SMALL))


def test_posteriors_are_likelihood_times_prior():
    gaps, items = some_gaps(4)
    table = table_by_hand(gaps, items, SMALL)
    prior = np.random.default_rng(0).dirichlet(np.ones(7))
    found = grid_posterior(table, prior)
    for row, mine in zip(table, found, strict=True):
        weight = np.exp(row) * prior
        assert mine == pytest.approx(weight / weight.sum())


def test_the_chance_of_a_change_is_averaged_over_the_cell_of_a_rate():
    time, losses = _losses(SMALL)
    assert (time[0], time[-1], time.size) == pytest.approx((0.001, 100.0, 64))
    assert time[1:] / time[:-1] == pytest.approx(np.full(63, (1e5) ** (1 / 63)))
    for k, rate in enumerate(SMALL.rate):
        near = [rate * math.exp(SMALL.step * j / 5) for j in (-2, -1, 0, 1, 2)]
        for j in (0, 20, 63):
            mean = sum(1 - math.exp(-r * time[j]) for r in near) / 5
            assert losses[k, j] == pytest.approx(mean)


@pytest.mark.parametrize("chunk", [2, 8192])
def test_a_posterior_keeps_its_mean_and_its_survival_at_two_moments(monkeypatch, chunk):
    monkeypatch.setattr(empirical_bayes, "_parts", lambda n: _parts(n, chunk))
    gaps, items = some_gaps(5)
    table = table_by_hand(gaps, items, SMALL)
    prior = np.random.default_rng(1).dirichlet(np.ones(7))
    found = posterior(table, prior, SMALL)
    mass = grid_posterior(table, prior)
    assert found.mean == pytest.approx(mass @ SMALL.rate)
    time, losses = _losses(SMALL)
    lost = mass @ losses
    for i in range(items):
        late = min(max(int((lost[i] < 0.7).sum()), 1), 63)
        early = min(int((lost[i] < 0.25 * lost[i, late]).sum()), late - 1)
        for j in (early, late):
            alive = (1 + time[j] / found.exposure[i]) ** -found.shape[i]
            assert alive == pytest.approx(1 - lost[i, j], abs=1e-6)
    rows = np.array([3, 0, 4])
    some = posterior(table, prior, SMALL, rows=rows)
    for one, every in zip(some, found, strict=True):
        assert one == pytest.approx(every[rows])


@pytest.mark.parametrize(("shape", "exposure"), [(0.4, 3.0), (2.0, 10.0), (9.0, 500.0)])
def test_a_gamma_is_found_again_by_its_own_survival(shape, exposure):
    time, _ = _losses(GRID)
    lost = 1 - (1 + time / exposure) ** -shape
    found = _as_gamma(lost[None], time)
    assert found[0] == pytest.approx([shape], rel=1e-4)
    assert found[1] == pytest.approx([exposure], rel=1e-4)


@pytest.mark.parametrize("log_b", [-26.0, -20.0, -13.0, -3.0, 4.0])
def test_a_gamma_is_found_however_soon_or_late_its_exposure(log_b):
    # Half are lost at the later of two moments; the exposure is any share of the first.
    time = np.array([2.0, 8.0])
    exposure = 2.0 * math.exp(log_b)
    shape = math.log(2.0) / math.log1p(8.0 / exposure)
    lost = 1.0 - (1.0 + time / exposure) ** -shape
    found = _as_gamma(lost[None], time)
    assert found[1] == pytest.approx([exposure], rel=1e-3)
    assert found[0] == pytest.approx([shape], rel=1e-3)


def test_the_model_is_made_of_its_parts():
    gaps, items = some_gaps(6)
    model = EmpiricalBayesRate(grid=SMALL, pretend=3.0)
    model.fit(gaps.item, gaps.length, gaps.changed, gaps.tally, n_items=items + 1)
    table = log_likelihood(gaps, items + 1, SMALL)
    prior = fit_prior(table, SMALL, pretend=3.0)
    assert model.prior_ == pytest.approx(prior)
    believed = posterior(table, prior, SMALL)
    assert model.rate_ == pytest.approx(believed.mean)
    alive = model.survival().alive(np.full(items + 1, 2.0))
    assert alive == pytest.approx((1 + 2.0 / believed.exposure) ** -believed.shape)


def test_rows_are_cut_into_parts_of_a_size():
    assert _parts(7, 3) == [slice(0, 3), slice(3, 6), slice(6, 9)]
    assert _parts(6, 3) == [slice(0, 3), slice(3, 6)]
    assert _parts(0, 3) == []


@pytest.mark.parametrize("first", [0.71, 0.9])
def test_a_gamma_fits_the_first_two_moments_where_most_is_lost_at_once(first):
    # However soon an item goes stale, two different moments are needed.
    time = np.array([1.0, 3.0, 9.0, 27.0])
    lost = np.array([[first, 1 - (1 - first) ** 2.5, 0.9999, 0.99999]])
    shape, exposure = _as_gamma(lost, time)
    for j in (0, 1):
        alive = (1 + time[j] / exposure) ** -shape
        assert alive == pytest.approx([1 - lost[0, j]], rel=1e-5)
