"""How fresh a copy was, as later observations tell."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from halflife.models.hindsight import (
    FetchGaps,
    PastFreshness,
    open_rate,
    past_freshness,
    past_recall,
)


def gaps(*rows):
    """Return gaps of (start, end, changed)."""
    start, end, changed = zip(*rows, strict=True)
    return FetchGaps(np.array(start, float), np.array(end, float), np.array(changed))


def test_a_page_that_did_not_change_was_right_all_the_time():
    past = past_freshness(gaps((0, 8, False)), np.array([0.0, 4.0, 7.9]), 8.0, 0.5)
    assert past.mean.tolist() == [1.0, 1.0, 1.0]


def test_a_page_that_changed_was_ever_less_likely_right():
    past = past_freshness(gaps((0, 8, True)), np.array([0.0, 2.0, 6.0]), 8.0, 0.5)
    assert past.mean == pytest.approx([1.0, 0.75, 0.25])


def test_before_anything_was_held_nothing_is_said():
    past = past_freshness(gaps((5, 8, False)), np.array([4.0, 6.0]), 8.0, 1.0)
    assert np.isnan(past.mean[0])
    assert np.isnan(past.low[0])
    assert past.mean[1] == 1.0


def test_the_line_ends_at_what_is_believed_now():
    seen = gaps((0, np.inf, False), (2, np.inf, False), (3.5, np.inf, False))
    past = past_freshness(seen, np.array([4.0]), 4.0, 0.6)
    assert past.mean[0] == pytest.approx(0.6)


def test_a_page_fetched_after_the_moment_counts_as_fetched_then():
    """The chance of a page fetched two days ago is 1/4, that of the other is 1."""
    later, then = 4.01, 4.0
    moments = np.array([3.0, 4.0])
    past = past_freshness(
        gaps((2, np.inf, False), (later, np.inf, False)), moments, 4.0, 0.625
    )
    same = past_freshness(
        gaps((2, np.inf, False), (then, np.inf, False)), moments, 4.0, 0.625
    )
    assert past.mean == pytest.approx([0.5, 0.25])
    assert past.mean[0] == same.mean[0]
    tiny = gaps((4 - 1e-9, np.inf, False), (5, np.inf, False))
    assert np.isfinite(past_freshness(tiny, np.array([4.0]), 4.0, 0.4).mean).all()


def test_a_change_is_as_likely_early_as_late():
    """The formula against a simulation: changes uniform within their gaps."""
    rng = np.random.default_rng(3)
    start = rng.uniform(0.0, 2.0, 400)
    end = start + rng.uniform(1.0, 3.0, 400)
    changed = rng.random(400) < 0.5
    at = np.array([1.0, 2.0, 2.5])
    past = past_freshness(FetchGaps(start, end, changed), at, 9.0, 1.0)
    moment = start + (end - start) * rng.random((4000, 400))
    for k, t in enumerate(at):
        held = (start <= t) & (t < end)
        right = np.where(changed, moment > t, True)[:, held].mean()
        assert past.mean[k] == pytest.approx(right, abs=0.005)


@given(
    st.lists(st.floats(0.0, 50.0), min_size=1, max_size=20),
    st.floats(0.0, 1.0, exclude_min=True),
)
def test_the_rate_of_open_gaps_gives_what_is_believed(ages, believed):
    found = open_rate(np.array(ages), believed)
    assert found >= 0.0
    reached = np.exp(-found * np.array(ages)).mean()
    least = np.mean(np.array(ages) == 0.0)  # those just observed are right anyway
    if believed > least + 1e-6 and max(ages) > 1e-3 and found < 1e5:
        assert reached == pytest.approx(believed, abs=1e-6)


@given(st.integers(0, 2**32 - 1))
def test_bounds_hold_the_mean_and_are_shares(seed):
    rng = np.random.default_rng(seed)
    start = rng.uniform(0.0, 9.0, 12)
    end = np.where(rng.random(12) < 0.3, np.inf, start + rng.uniform(0.1, 5.0, 12))
    changed = (rng.random(12) < 0.5) & np.isfinite(end)
    past = past_freshness(
        FetchGaps(start, end, changed), np.arange(0.0, 10.0), 10.0, 0.7
    )
    known = np.isfinite(past.mean)
    low, mean, high = past.low[known], past.mean[known], past.high[known]
    assert ((low >= 0.0) & (low <= mean) & (mean <= high) & (high <= 1.0)).all()


def test_no_past_is_empty():
    assert PastFreshness.none().at.size == 0


@given(st.integers(0, 2**32 - 1), st.integers(1, 12))
def test_the_recall_of_a_listing_is_what_sets_of_its_objects_tell(seed, most):
    rng = np.random.default_rng(seed)
    looks = np.cumsum(rng.uniform(0.1, 3.0, rng.integers(2, 20)))
    first = rng.integers(0, looks.size, 30)
    last = np.minimum(first + rng.integers(0, looks.size, 30), looks.size - 1)
    there = [
        {i for i in range(30) if first[i] <= k <= last[i]} for k in range(looks.size)
    ]
    past = past_recall(looks, looks[first], looks[last], looks[0], looks.size)
    told = past.mean.reshape(-1, 2)
    assert (told[:, 0] == 1.0).all()
    for k, recall in enumerate(told[:, 1]):
        after = there[k + 1]
        assert recall == pytest.approx(
            len(there[k] & after) / len(after) if after else 1.0
        )
    thin = past_recall(looks, looks[first], looks[last], looks[0], most)
    if looks.size - 1 > most:
        assert thin.at.size <= most
        assert told[:, 1].min() <= thin.mean.min() <= thin.mean.max() <= 1.0
        assert (np.diff(thin.at) > 0).all()


def test_one_look_tells_nothing_of_a_past():
    one = np.array([3.0])
    assert past_recall(one, one, one, 0.0, 9).at.size == 0
    late = np.array([3.0, 4.0])
    assert past_recall(late, late, late, 3.5, 9).at.size == 0
