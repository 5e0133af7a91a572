import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from scipy import integrate, stats
from statsmodels.stats.proportion import proportion_confint

from halflife.models.fractions import (
    STRENGTHS,
    clopper_pearson,
    posterior,
    prior_strength,
    weighted_sample,
    wilson,
)

INTERVALS = {"wilson": wilson, "exact": clopper_pearson}
ORACLES = {"wilson": "wilson", "exact": "beta"}
confidences = st.sampled_from([0.5, 0.8, 0.9, 0.95, 0.99])


@st.composite
def counts(draw):
    n = draw(st.integers(1, 300))
    return draw(st.integers(0, n)), n


def one(value):
    return np.array([float(value)])


@pytest.mark.parametrize("name", INTERVALS)
@given(counts(), confidences)
def test_intervals_are_those_of_statsmodels(name, counted, confidence):
    x, n = counted
    found = INTERVALS[name](one(x), one(n), confidence=confidence)
    low, high = proportion_confint(x, n, 1 - confidence, method=ORACLES[name])
    assert found.low[0] == pytest.approx(low, abs=1e-9)
    assert found.high[0] == pytest.approx(high, abs=1e-9)


@pytest.mark.parametrize("method", INTERVALS.values(), ids=INTERVALS)
class TestEveryInterval:
    @given(counts(), confidences)
    def test_lies_within_0_and_1_and_holds_the_estimate(
        self, method, counted, confidence
    ):
        x, n = counted
        found = method(one(x), one(n), confidence=confidence)
        assert 0 <= found.low[0] <= x / n <= found.high[0] <= 1
        assert found.mean[0] == x / n

    @given(counts(), st.integers(2, 20))
    def test_narrows_with_more_looks_of_the_same_share(self, method, counted, times):
        x, n = counted
        few, many = method(one(x), one(n)), method(one(x * times), one(n * times))
        assert many.high[0] - many.low[0] < few.high[0] - few.low[0]

    @given(st.integers(2, 200), confidences)
    def test_rises_with_every_change_found(self, method, n, confidence):
        found = method(np.arange(n + 1.0), np.full(n + 1, n), confidence=confidence)
        assert np.all(np.diff(found.low) > 0)
        assert np.all(np.diff(found.high) > 0)

    @given(counts())
    def test_is_wider_for_more_confidence(self, method, counted):
        x, n = one(counted[0]), one(counted[1])
        sure, unsure = (method(x, n, confidence=c) for c in (0.99, 0.8))
        assert sure.low[0] <= unsure.low[0]
        assert unsure.high[0] <= sure.high[0]

    @given(counts())
    def test_is_the_mirror_image_for_what_stayed(self, method, counted):
        x, n = counted
        changed, stayed = method(one(x), one(n)), method(one(n - x), one(n))
        assert changed.low[0] == pytest.approx(1 - stayed.high[0], abs=1e-9)

    def test_says_nothing_without_a_look(self, method):
        found = method(np.zeros(1), np.zeros(1))
        assert (found.low[0], found.high[0]) == (0, 1)

    def test_takes_parts_of_looks_and_no_category_at_all(self, method):
        found = method(one(1.5), one(4.2))
        assert 0 < found.low[0] < 1.5 / 4.2 < found.high[0] < 1
        assert method(np.zeros(0), np.zeros(0)).mean.size == 0


def test_the_exact_interval_covers_at_least_as_often_as_it_says():
    share, n = 0.13, 25
    every = np.arange(n + 1.0)
    found = clopper_pearson(every, np.full(n + 1, n), confidence=0.9)
    held = (found.low <= share) & (share <= found.high)
    assert stats.binom.pmf(every, n, share)[held].sum() >= 0.9


@given(counts(), st.floats(0.01, 0.99), st.sampled_from([0.5, 2.0, 40.0]))
def test_the_posterior_is_the_beta_distribution_of_prior_and_sample(
    counted, mean, strength
):
    x, n = counted
    found = posterior(one(x), one(n), mean=one(mean), strength=strength)
    beta = stats.beta(strength * mean + x, strength * (1 - mean) + n - x)
    assert found.mean[0] == pytest.approx(beta.mean())
    low, high = beta.interval(0.95)
    assert found.low[0] == pytest.approx(min(low, beta.mean()), abs=1e-7)
    assert found.high[0] == pytest.approx(max(high, beta.mean()), abs=1e-7)


@given(counts(), st.floats(0, 1), st.sampled_from(STRENGTHS.tolist()))
def test_the_posterior_mean_lies_between_prior_and_sample(counted, mean, strength):
    x, n = counted
    found = posterior(one(x), one(n), mean=one(mean), strength=strength).mean[0]
    low, high = sorted([np.clip(mean, 1e-6, 1 - 1e-6), x / n])
    assert low - 1e-9 <= found <= high + 1e-9


def test_the_posterior_agrees_with_bayes_rule_by_quadrature():
    def density(p):
        return stats.beta(3, 1).pdf(p) * p**2 * (1 - p) ** 5

    whole = integrate.quad(density, 0, 1)[0]
    mean = integrate.quad(lambda p: p * density(p), 0, 1)[0] / whole
    found = posterior(one(2), one(7), mean=one(0.75), strength=4.0)
    assert found.mean[0] == pytest.approx(mean)


def test_a_prior_that_foretells_the_samples_counts_for_much():
    rng = np.random.default_rng(1)
    share, n = rng.uniform(0.05, 0.95, 300), np.full(300, 12.0)
    found = rng.binomial(12, share).astype(float)
    assert prior_strength(found, n, share) >= 50
    assert prior_strength(found, n, rng.permutation(share)) <= 4


def test_the_strength_of_a_prior_is_found_again():
    rng = np.random.default_rng(2)
    mean, n = rng.uniform(0.1, 0.6, 2000), np.full(2000, 10.0)
    share = rng.beta(8 * mean, 8 * (1 - mean))
    found = prior_strength(rng.binomial(10, share).astype(float), n, mean)
    assert 5 <= found <= 12


def test_without_samples_the_prior_is_all_there_is():
    nothing = np.zeros(3)
    assert prior_strength(nothing, nothing, np.full(3, 0.5)) == STRENGTHS[-1]


def test_equal_chances_give_the_plain_share():
    changed = np.array([True, False, True, False, False])
    of = np.array([0, 0, 0, 2, 2])
    found = weighted_sample(of, changed, np.ones(5), np.full(5, 0.1), 3)
    assert found.mean[[0, 2]].tolist() == pytest.approx([2 / 3, 0.0])
    assert np.isnan(found.mean[1])
    assert found.count.tolist() == pytest.approx([3, 0, 2])
    assert found.changed.tolist() == pytest.approx([2, 0, 0])


def test_unequal_chances_are_made_up_for():
    rng = np.random.default_rng(3)
    n, draws = 400, 3000
    weight, chance = rng.uniform(0.5, 4, n), rng.uniform(0.05, 0.6, n)
    changed = rng.random(n) < chance  # what changes is sampled more often
    truth = weight[changed].sum() / weight.sum()
    found = []
    for _ in range(draws):
        rows = np.flatnonzero(rng.random(n) < chance)
        of = np.zeros(rows.size, int)
        sample = weighted_sample(of, changed[rows], weight[rows], chance[rows], 1)
        found.append((sample.mean[0], sample.variance[0]))
    mean, variance = np.array(found).T
    assert mean.mean() == pytest.approx(truth, abs=4 * mean.std() / draws**0.5 + 5e-3)
    assert np.mean(variance) == pytest.approx(np.var(mean), rel=0.1)


def test_a_sample_of_everything_leaves_no_doubt():
    found = weighted_sample(
        np.zeros(4, int),
        np.array([True, False, False, False]),
        np.ones(4),
        np.ones(4),
        1,
    )
    assert found.mean[0] == 0.25
    assert found.variance[0] == 0
