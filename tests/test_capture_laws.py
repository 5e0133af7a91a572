"""Sizes from documents found again: every formula written out."""

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import stats

from halflife.core.search import Document
from halflife.probing.size import _ShownDocument, ratio
from lab.capture import chao, chapman, lognormal_interval

counts = st.integers(0, 60)


def log_normal(seen, size, variance, level):
    unseen = size - seen
    if unseen <= 0:
        return seen, seen, seen
    spread = math.sqrt(math.log(1 + variance / unseen**2))
    factor = math.exp(stats.norm.ppf((1 + level) / 2) * spread)
    return size, seen + unseen / factor, seen + unseen * factor


def as_tuple(found):
    return found.size, found.low, found.high


@given(first=st.integers(1, 60), second=st.integers(1, 60), part=st.floats(0, 1))
def test_chapmans_size_and_sebers_variance(first, second, part):
    both = int(part * min(first, second))
    size = (first + 1) * (second + 1) / (both + 1) - 1
    variance = (first + 1) * (second + 1) * (first - both) * (second - both)
    variance /= (both + 1) ** 2 * (both + 2)
    by_hand = log_normal(first + second - both, size, variance, 0.9)
    assert as_tuple(chapman(first, second, both, 0.9)) == pytest.approx(by_hand)


@given(once=counts, twice=counts, more=counts)
def test_chaos_size_and_variance(once, twice, more):
    seen = once + twice + more
    if twice:
        r = once / twice
        size = seen + once**2 / (2 * twice)
        variance = twice * (r**2 / 2 + r**3 + r**4 / 4)
    else:
        size = seen + once * (once - 1) / 2
        variance = once * (once - 1) / 2 + once * (2 * once - 1) ** 2 / 4
        variance -= once**4 / (4 * size) if size else 0.0
    by_hand = log_normal(seen, size, max(variance, 0.0), 0.95)
    assert as_tuple(chao(once, twice, seen)) == pytest.approx(by_hand)


def test_what_was_all_seen_has_no_doubt():
    assert as_tuple(lognormal_interval(7.0, 7.0, 99.0, 0.95)) == (7.0, 7.0, 7.0)
    assert as_tuple(lognormal_interval(7.0, 6.0, 99.0, 0.95)) == (7.0, 7.0, 7.0)


def test_a_document_is_as_easy_to_find_as_its_words_are_many():
    pool = {"red": 3, "blue": 1}
    known = {"a"}
    read, other, none = (
        _ShownDocument.of(Document(key, frozenset(words)), pool, known)
        for key, words in (("a", {"red", "blue"}), ("b", {"red", "x"}), ("a", {"x"}))
    )
    assert (read.read, other.read) == (True, False)
    assert other.ease(0.25, 1) == (1.0, 0.0)
    odds = 3 / (3 - 1 + 0.25) + 1 / max(1 - 1 + 0.25, 0.5)
    assert read.ease(0.25, 1) == pytest.approx((1 / odds, 1 / odds))
    # a document without a pool word counts as if one document had it
    assert none.ease(0.75, 1) == pytest.approx((0.75, 0.75))


def test_a_ratio_is_that_of_the_sums_with_a_studentised_bootstrap():
    rng = np.random.default_rng(0)
    below = rng.gamma(3.0, 1.0, 40)
    above = 5.0 * below + rng.normal(0.0, 0.5, 40)
    found = ratio(above, below, np.random.default_rng(1), 0.9)
    assert found.size == pytest.approx(above.sum() / below.sum())
    off = above / above.sum() - below / below.sum()
    spread = math.sqrt((off**2).sum())
    reach = stats.norm.ppf(0.95) * spread
    assert math.log(found.high / found.size) == pytest.approx(reach, rel=0.35)
    assert math.log(found.size / found.low) == pytest.approx(reach, rel=0.35)
    sure = ratio(3.0 * below, below, np.random.default_rng(1))
    assert as_tuple(sure) == pytest.approx((3.0, 3.0, 3.0))


def test_the_interval_of_a_ratio_holds_the_truth_about_as_often_as_it_says():
    hits = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        below = rng.gamma(2.0, 1.0, 25)
        above = below * rng.gamma(4.0, 0.5, 25)
        found = ratio(above, below, rng, 0.8)
        hits += found.low <= 2.0 <= found.high
    assert 0.65 <= hits / 60 <= 0.95
