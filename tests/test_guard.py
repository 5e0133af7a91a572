import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.stats import betabinom

from halflife.models.guard import DeleteGuard, log_pmf


def steady(n=1000, share=0.02, cycles=60, dispersion=0.01, seed=0):
    """Return a guard that has seen a source lose its objects as it says."""
    rng = np.random.default_rng(seed)
    gone = draw(rng, n, share, dispersion, cycles)
    gap = np.ones(cycles)
    return DeleteGuard().fit(np.full(cycles, n), gone, gap)


def draw(rng, n, share, dispersion, size):
    a, b = (m * (1 - dispersion) / dispersion for m in (share, 1 - share))
    return rng.binomial(n, rng.beta(a, b, size))


@pytest.mark.parametrize("n", [1, 7, 300])
@pytest.mark.parametrize(("mean", "r"), [(0.02, 0.01), (0.4, 0.3), (1e-6, 1e-3)])
def test_the_law_is_the_beta_binomial_of_scipy(n, mean, r):
    a, b = mean * (1 - r) / r, (1 - mean) * (1 - r) / r
    ours = np.exp(log_pmf(n, mean, r))
    assert ours == pytest.approx(betabinom(n, a, b).pmf(np.arange(n + 1)), abs=1e-9)


def test_the_rate_is_losses_over_exposure():
    guard = DeleteGuard().fit(np.array([100, 50]), np.array([3, 6]), np.array([1.0, 4]))
    assert guard.rate_ == pytest.approx(9.5 / 300)


def test_the_dispersion_is_found_again():
    guard = steady(cycles=2000, dispersion=0.05)
    upper = 0.05 * (1 + np.sqrt(8 / 2000))
    assert guard.dispersion_ == pytest.approx(upper, rel=0.2)


def test_usual_losses_are_believed_and_odd_ones_are_not():
    guard = steady()
    assert guard.judge(1000, 20, 1.0).credible
    verdict = guard.judge(1000, 200, 1.0)
    assert not verdict.credible
    assert verdict.tail < 1e-4
    assert "200 of 1000 objects are missing" in verdict.why
    assert f"between {verdict.low} and {verdict.high} were expected" in verdict.why


def test_after_a_longer_gap_more_may_be_gone():
    guard = steady()
    assert not guard.judge(1000, 250, 1.0).credible
    assert guard.judge(1000, 250, 14.0).credible


@given(
    st.integers(10, 20_000),
    st.floats(1e-4, 0.4),
    st.integers(0, 100),
    st.floats(1e-3, 30.0),
)
def test_an_emptied_source_is_always_held(n, share, cycles, gap):
    guard = steady(n, share, cycles)
    assert not guard.judge(n, n, gap).credible


@given(st.integers(20, 20_000), st.floats(1e-4, 0.2), st.integers(0, 100))
def test_a_halved_source_is_always_held(n, share, cycles):
    guard = steady(n, share, cycles)
    usual = round(n * share)
    assert not guard.judge(n, usual + (n - usual + 1) // 2, 1.0).credible


def test_a_handful_may_go_at_once():
    guard = steady(n=30, share=0.001)
    assert guard.judge(30, 9, 1.0).credible
    assert not guard.judge(30, 12, 1.0).credible


def test_without_a_history_a_fifth_is_the_limit():
    guard = DeleteGuard()
    assert guard.judge(1000, 200, 1.0).credible
    verdict = guard.judge(1000, 201, 1.0)
    assert not verdict.credible
    assert "0 earlier cycles are too few" in verdict.why


def test_a_small_source_that_is_often_empty_may_be_empty():
    held, gone = np.full(40, 3), np.tile([0, 3], 20)
    guard = DeleteGuard().fit(held, gone, np.ones(40))
    assert guard.judge(3, 3, 1.0).credible
    assert not DeleteGuard().judge(3, 3, 1.0).credible


counts = st.lists(
    st.tuples(st.integers(0, 500), st.integers(0, 500), st.floats(0.0, 1e4)),
    max_size=12,
)


@given(counts, st.integers(0, 500), st.integers(0, 500), st.floats(0.0, 1e6))
def test_every_history_gives_finite_bounded_verdicts(cycles, held, gone, gap):
    columns = np.array(cycles, dtype=float).reshape(-1, 3).T
    guard = DeleteGuard().fit(
        columns[0].astype(np.intp), columns[1].astype(np.intp), columns[2]
    )
    verdict = guard.judge(held, min(gone, held), gap)
    assert np.isfinite(guard.rate_)
    assert 0.0 < guard.dispersion_ <= 0.5
    assert 0.0 <= verdict.tail <= 1.0
    assert 0 <= verdict.low <= verdict.high <= held


def test_false_holds_are_rare_at_every_size_and_rate():
    rng = np.random.default_rng(1)
    held = tried = 0
    for n in (50, 500, 5000, 50_000):
        for share in (0.01, 0.1, 0.4):
            for dispersion in (0.002, 0.02):
                guard = steady(n, share, 40, dispersion, seed=n)
                for gone in draw(rng, n, share, dispersion, 25):
                    held += not guard.judge(n, int(gone), 1.0).credible
                    tried += 1
    assert held <= 0.01 * tried


def test_one_object_and_one_cycle_are_in_the_singular():
    one = DeleteGuard().fit(*np.array([[1], [0], [1.0]])).judge(1, 1, 1.0)
    assert one.why == (
        "1 of 1 object is missing; 1 earlier cycle is too few to know what is usual"
    )
