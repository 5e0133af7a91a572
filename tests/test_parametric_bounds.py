"""Bounds of set quality from the models' own assumptions, recomputed by hand."""

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import stats

from halflife.models.census import Census
from halflife.models.experts import Experts
from halflife.models.parametric import arrival_scale, model_bounds, paper_interval
from halflife.models.roots import falling_roots
from set_lives import grown


@pytest.fixture(scope="module")
def experts():
    known = grown(np.random.default_rng(3), (0.05, 0.1), days=40, arrivals=8.0)
    return Experts(Census.of(known))


@given(
    share=st.floats(0.0, 1.0), size=st.floats(0.0, 1e4), confidence=st.floats(0.5, 0.99)
)
def test_the_papers_interval_is_that_of_a_binomial_share(share, size, confidence):
    low, high = paper_interval(np.array([share]), np.array([size]), confidence)[:, 0]
    z = stats.norm.ppf((1 + confidence) / 2)
    half = z * math.sqrt(share * (1 - share) / max(size, 1.0))
    assert low == pytest.approx(max(share - half, 0.0))
    assert high == pytest.approx(min(share + half, 1.0))


def test_the_scale_of_arrivals_is_their_variance_over_their_mean(experts):
    found = arrival_scale(experts)
    new = experts.census.turnover.new
    assert found[0] == 0.0
    for look in range(1, new.size + 1):
        seen = new[:look]
        assert found[look] == pytest.approx(np.var(seen) / np.mean(seen), abs=1e-9)


@pytest.mark.parametrize("name", ["exponential", "last-cycle"])
def test_counted_bounds_are_the_delta_method_look_by_look(experts, name):
    census = experts.census
    n = census.looks.size
    ahead = np.full(n, 3.0)
    loss = experts.expected(name, 3.0, ahead)
    bounds = model_bounds(experts, name, loss, ahead, 0.9)
    window = 1.01 * census.step if name == "last-cycle" else np.inf
    rate, arrivals, deaths = experts.rates(window)
    theta, z = arrival_scale(experts), stats.norm.ppf(0.95)
    for i in range(2, n):
        size, kept = float(census.size[i]), math.exp(-loss[0, i])
        recall = math.exp(-loss[1, i])
        k = size * kept
        m = k * (1 / recall - 1)
        time = min(window, census.looks[i] - census.looks[0])
        var_k = size * kept * (1 - kept) + (k * rate[i] * 3.0) ** 2 / max(deaths[i], 1)
        var_m = m * theta[i] + m**2 / max(arrivals[i] * time, 1.0)
        spread = recall * (1 - recall) * math.sqrt(var_k / k**2 + var_m / m**2)
        for metric, mean, half in (
            (0, kept, z * math.sqrt(var_k) / size),
            (1, recall, z * spread),
        ):
            assert bounds[metric, 0, i] == pytest.approx(
                max(mean - half, 0.0), rel=1e-6
            )
            assert bounds[metric, 1, i] == pytest.approx(
                min(mean + half, 1.0), rel=1e-6
            )


def test_bounds_of_series_are_symmetric_in_the_logarithm(experts):
    n = experts.census.looks.size
    ahead = np.full(n, 4.0)
    loss = experts.expected("static-ar", 4.0, ahead) + 1.0  # clear of both ends
    narrow, wide = (
        model_bounds(experts, "static-ar", loss, ahead, c)[:, :, n // 2 :]
        for c in (0.8, 0.95)
    )
    middle = loss[:, n // 2 :]
    for found in (narrow, wide):
        low, high = -np.log(found[:, 0]), -np.log(found[:, 1])
        inside = high > 0
        np.testing.assert_allclose(((low + high) / 2)[inside], middle[inside])
    ratio = stats.norm.ppf(0.975) / stats.norm.ppf(0.9)
    np.testing.assert_allclose(
        -np.log(wide[:, 0]) - middle, ratio * (-np.log(narrow[:, 0]) - middle)
    )


# roots


@given(
    root=st.lists(st.floats(0.1, 9.0), min_size=1, max_size=6),
    power=st.sampled_from([0.3, 1.0, 3.0]),
    start=st.floats(0.0, 10.0),
)
def test_roots_of_many_falling_functions_are_found_from_anywhere(root, power, start):
    at = np.array(root)
    low, high, begin = (np.full(at.size, x) for x in (1e-6, 10.0, start))

    def function(x):
        return at**power - x**power, -power * x ** (power - 1.0)

    np.testing.assert_allclose(falling_roots(function, low, high, begin), at, rtol=1e-9)


def test_without_a_root_the_nearer_end_is_returned():
    ends = np.full(2, 1.0), np.full(2, 4.0)

    def function(x):
        return np.array([1.0, -1.0]) - 0.01 * (x - 2.5), np.full(2, -0.01)

    found = falling_roots(function, *ends, np.full(2, 2.0))
    assert found == pytest.approx([4.0, 1.0])


def test_where_the_ends_are_one_nothing_moves():
    same = np.array([3.0])
    found = falling_roots(lambda x: (5 - x, -np.ones(1)), same, same, np.zeros(1))
    assert found.tolist() == [3.0]
