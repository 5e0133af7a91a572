"""The worked example of sampling with correlation (s. 2.3, Table 1).

Two sites of 100 pages and five categories of 40, 20 from each site; 100 requests.
"""

import numpy as np
import pytest
from scipy.stats import hypergeom

from halflife.metrics.intervals import mean_interval
from lab.sampling_example import (
    CHANGES,
    by_site,
    by_topic,
    example,
    ratios,
)


@pytest.fixture(scope="module")
def without():
    replay = example()
    return ratios(replay, by_site(10))


@pytest.fixture(scope="module")
def together():
    replay = example()
    return ratios(replay, by_topic(replay, 4))


def test_samples_that_show_the_exact_shares_give_066_without_correlation(without):
    # Ten samples of each site, then 80 pages of A: (90 * 0.7 + 10 * 0.3) / 100.
    assert np.isclose(without, 0.66).any()
    likely = without[without > 0.6]  # the samples told A from B
    assert mean_interval(likely).mean == pytest.approx(0.66, abs=0.002)


def test_samples_that_show_the_exact_shares_give_077_with_correlation(together):
    # Four samples of each category, then 36 of C1, 36 of C2 and 8 of C3.
    assert np.isclose(together, 0.77).any()


def test_with_a_hundred_times_the_pages_samples_do_show_the_exact_shares():
    replay = example(times=100)
    score = replay.score(by_site(1000))
    assert score.change_ratio == pytest.approx(0.66, abs=0.005)
    assert score.requests == 10_000
    score = replay.score(by_topic(replay, 400))
    assert score.change_ratio == pytest.approx(0.77, abs=0.005)


def expected_without(samples=10):
    """Greedy by site, over all that its two samples can show."""
    x = np.arange(samples + 1)
    a, b = (hypergeom(100, 100 * p, samples).pmf(x) for p in (0.7, 0.3))
    rest = 100 - 2 * samples
    on_a = (x[:, None] + x + rest * (70 - x[:, None]) / (100 - samples)) / 100
    on_b = (x[:, None] + x + rest * (30 - x) / (100 - samples)) / 100
    odds = np.sign(x[:, None] - x) / 2 + 0.5
    return float((a[:, None] * b * (odds * on_a + (1 - odds) * on_b)).sum())


def test_samples_left_to_chance_do_a_little_worse_without_correlation(without):
    low, high = mean_interval(without, confidence=0.999)[1:]
    assert low <= expected_without() <= high
    assert 0.65 < expected_without() < 0.66


def plain_greedy(rng, samples=4):
    """The example with correlation once more, page by page and without arrays."""
    changed = {c: CHANGES["A"][c] + CHANGES["B"][c] for c in range(5)}
    found, shares = 0, []
    for c, many in changed.items():
        pages = rng.permutation([True] * many + [False] * (40 - many)).tolist()
        hits = sum(pages[:samples])
        found += hits
        shares.append((-hits / samples, rng.random(), c, pages[samples:]))
    left = 100 - 5 * samples
    for _, _, _, pages in sorted(shares):
        found += sum(pages[:left])
        left -= min(left, len(pages))
    return found / 100


def test_samples_left_to_chance_do_a_little_worse_with_correlation(together):
    rng = np.random.default_rng(0)
    plain = mean_interval(np.array([plain_greedy(rng) for _ in range(3000)]))
    ours = mean_interval(together, confidence=0.999)
    assert ours.low <= plain.mean <= ours.high
    assert 0.73 < plain.mean < 0.77


def test_correlation_pays_whatever_the_samples_show(without, together):
    assert mean_interval(together).low > mean_interval(without).high


def test_greedy_beats_proportional_on_the_example(without):
    proportional = ratios(example(), by_site(10, spend="proportional"), 100)
    # 56 and 24 more pages: (66 * 0.7 + 34 * 0.3) / 100, if the samples are exact.
    assert mean_interval(proportional).mean == pytest.approx(0.564, abs=0.02)
    assert mean_interval(proportional).high < mean_interval(without).low


@pytest.mark.parametrize("times", [1, 3])
def test_every_request_is_spent_and_none_beyond(times):
    replay = example(times)
    for strategy in (by_site(10), by_topic(replay, 4), by_topic(replay, 1000)):
        assert replay.score(strategy).requests == 100 * times
