"""Changed shares of categories, one category and one look at a time."""

import math

import numpy as np
import pytest
from scipy import special, stats

from halflife.models.fractions import (
    STRENGTHS,
    CategorySample,
    clopper_pearson,
    posterior,
    prior_strength,
    weighted_sample,
    wilson,
)

CHANGED = np.array([0.0, 0.0, 2.5, 4.0, 9.0, 9.0])
COUNT = np.array([0.0, 3.0, 4.0, 8.0, 9.0, 30.0])


@pytest.mark.parametrize("confidence", [0.6, 0.95])
def test_wilsons_bounds_are_where_the_score_is_a_quantile_off(confidence):
    z = stats.norm.ppf(0.5 + confidence / 2)
    found = wilson(CHANGED, COUNT, confidence=confidence)
    assert (found.mean[0], found.low[0], found.high[0]) == (0.5, 0.0, 1.0)
    for k in range(1, 6):
        x, n = CHANGED[k], COUNT[k]
        p = x / n
        assert found.mean[k] == pytest.approx(p)
        # The bounds q solve (p - q)^2 = z^2 q (1 - q) / n.
        roots = np.roots([1 + z * z / n, -2 * p - z * z / n, p * p])
        low, high = sorted(roots.real)
        assert found.low[k] == pytest.approx(max(low, 0.0), abs=1e-9)
        assert found.high[k] == pytest.approx(min(high, 1.0), abs=1e-9)


@pytest.mark.parametrize("confidence", [0.6, 0.95])
def test_exact_bounds_leave_a_tail_on_either_side(confidence):
    tail = (1 - confidence) / 2
    found = clopper_pearson(CHANGED, COUNT, confidence=confidence)
    for k in range(6):
        x, rest = CHANGED[k], COUNT[k] - CHANGED[k]
        low = stats.beta(x, rest + 1).ppf(tail) if x else 0.0
        high = stats.beta(x + 1, rest).ppf(1 - tail) if rest else 1.0
        share = x / COUNT[k] if COUNT[k] else 0.5
        assert found.mean[k] == pytest.approx(share)
        assert found.low[k] == pytest.approx(min(low, share))
        assert found.high[k] == pytest.approx(max(high, share))


@pytest.mark.parametrize("strength", [0.5, 16.0])
def test_a_posterior_adds_looks_to_those_that_the_prior_is_worth(strength):
    mean = np.array([0.0, 0.1, 0.5, 0.9, 1.0, 0.3])
    found = posterior(CHANGED, COUNT, mean=mean, strength=strength, confidence=0.9)
    for k in range(6):
        m = min(max(mean[k], 1e-6), 1 - 1e-6)
        a = strength * m + CHANGED[k]
        b = strength * (1 - m) + COUNT[k] - CHANGED[k]
        law = stats.beta(a, b)
        assert found.mean[k] == pytest.approx(a / (a + b))
        assert found.low[k] == pytest.approx(min(law.ppf(0.05), a / (a + b)), abs=1e-9)
        assert found.high[k] == pytest.approx(max(law.ppf(0.95), a / (a + b)), abs=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_the_strength_is_the_likeliest_of_the_grid(seed):
    rng = np.random.default_rng(seed)
    mean = rng.uniform(0.1, 0.9, 12)
    truth = rng.beta(mean * 4.0 * (1 + 3 * seed), (1 - mean) * 4.0 * (1 + 3 * seed))
    count = rng.integers(0, 40, 12).astype(float)
    changed = rng.binomial(count.astype(int), truth).astype(float)
    scores = []
    for k in STRENGTHS:
        total = 0.0
        for m, x, n in zip(mean, changed, count, strict=True):
            a, b = k * m, k * (1 - m)
            total += special.betaln(a + x, b + n - x) - special.betaln(a, b)
        scores.append(total)
    best = max(range(len(scores)), key=lambda i: (scores[i], i))
    assert prior_strength(changed, count, mean) == STRENGTHS[best]
    none = np.zeros(3)
    assert prior_strength(none, none, np.full(3, 0.4)) == STRENGTHS[-1]
    assert STRENGTHS[0] == 0.5
    assert np.diff(np.log2(STRENGTHS)) == pytest.approx(np.full(23, 0.5))


def test_weighted_shares_are_hajeks_with_the_looks_that_weights_are_worth():
    rng = np.random.default_rng(7)
    n, categories = 30, 4
    category = rng.integers(0, 3, n)  # nothing was drawn of the last
    changed, weight = rng.random(n) < 0.4, rng.uniform(0.5, 3.0, n)
    chance = rng.uniform(0.1, 1.0, n)
    found = weighted_sample(category, changed, weight, chance, categories)
    for k in range(3):
        rows = [i for i in range(n) if category[i] == k]
        v = [weight[i] / chance[i] for i in rows]
        total = sum(v)
        p = sum(a * changed[i] for a, i in zip(v, rows, strict=True)) / total
        off = sum(
            (1 - chance[i]) * (a * (changed[i] - p)) ** 2
            for a, i in zip(v, rows, strict=True)
        )
        assert found.mean[k] == pytest.approx(p)
        assert found.count[k] == pytest.approx(total**2 / sum(a * a for a in v))
        assert found.variance[k] == pytest.approx(off / total**2)
        assert found.changed[k] == pytest.approx(p * found.count[k])
    assert math.isnan(found.mean[3])
    assert math.isnan(found.variance[3])
    assert (found.count[3], found.changed[3]) == (0.0, 0.0)
    nothing = CategorySample(np.array([np.nan]), np.zeros(1), np.array([np.nan]))
    assert nothing.changed.tolist() == [0.0]


def test_no_fewer_than_none_are_left_where_more_changed_than_were_counted():
    three, two, half = np.array([3.0]), np.array([2.0]), np.array([0.5])
    assert prior_strength(three, two, half) == prior_strength(three, three, half)
    found = posterior(three, two, mean=half, strength=4.0)
    assert found.mean == pytest.approx(5.0 / 7.0)
