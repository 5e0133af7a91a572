"""Measures of a selection, by hand and against plain loops."""

from math import log2

import numpy as np
import pytest
from hypothesis import given, strategies as st

from halflife.selection.quality import ndcg, overlap, r_n, recall
from halflife.selection.trial import FIRST, _measure

orders = st.permutations(range(6)).map(lambda p: np.array(p, np.intp))
gains = st.lists(st.integers(0, 9), min_size=6, max_size=6).map(
    lambda g: np.array(g, np.float64)
)


def test_measures_by_hand():
    order, relevant = np.array([3, 0, 1, 2]), np.array([4.0, 0.0, 5.0, 1.0])
    assert recall(order, relevant, 2) == pytest.approx(5 / 10)
    assert r_n(order, relevant, 2) == pytest.approx(5 / 9)
    best = 5 + 4 / log2(3)
    assert ndcg(order, relevant, 2) == pytest.approx((1 + 4 / log2(3)) / best)
    assert overlap(order, np.array([0, 1, 2, 3]), 2) == 0.5
    assert overlap(order, np.array([0]), 3) == pytest.approx(1 / 3)


def test_nothing_relevant_or_chosen_has_no_measure():
    order, nothing = np.array([0, 1]), np.zeros(2)
    none = np.zeros(0, np.intp)
    assert np.isnan(recall(order, nothing, 1))
    assert np.isnan(r_n(order, nothing, 1))
    assert np.isnan(ndcg(order, nothing, 1))
    assert np.isnan(overlap(none, none, 5))
    assert overlap(none, order, 5) == 0.0
    assert recall(none, np.ones(2), 1) == 0.0


@given(order=orders, relevant=gains, n=st.integers(1, 6))
def test_measures_lie_between_nothing_and_the_best_order(order, relevant, n):
    if relevant.sum() == 0:
        return
    best = np.argsort(-relevant, kind="stable")
    for measure in (recall, r_n, ndcg):
        assert 0.0 <= measure(order, relevant, n) <= 1.0 + 1e-12
        found = measure(order, relevant, n)
        assert found <= measure(best, relevant, n) + 1e-12
    assert r_n(best, relevant, n) == ndcg(best, relevant, n) == 1.0
    assert recall(order, relevant, 6) == 1.0
    assert recall(order, relevant, n) <= r_n(order, relevant, n)


@given(one=orders, two=orders, k=st.integers(1, 6), cut=st.integers(0, 6))
def test_overlap_does_not_tell_which_order_came_first(one, two, k, cut):
    one = one[:cut]
    assert overlap(one, two, k) == overlap(two, one, k)
    assert overlap(two, two, k) == 1.0
    shared = set(one[:k].tolist()) & set(two[:k].tolist())
    assert overlap(one, two, k) == len(shared) / k


def test_five_databases_are_what_overlap_and_discounted_gain_look_at():
    one, fresh = np.arange(8), np.array([0, 1, 2, 3, 7, 4, 5, 6])
    relevant = np.array([1.0, 0.0, 3.0, 0.0, 2.0, 50.0, 0.0, 9.0])
    found = _measure(4, one, fresh, relevant)
    assert found["overlap_5"] == 4 / 5  # with six it would be five of six
    gain = sum(relevant[j] / np.log2(j + 2) for j in range(5))
    best = sorted(relevant, reverse=True)[:5]
    ideal = sum(x / np.log2(j + 2) for j, x in enumerate(best))
    assert found["ndcg_5"] == pytest.approx(gain / ideal)
    assert found["sent"] == 1.0
    for n in FIRST:
        assert found[f"known_{n}"] == float(n > 4)
        top = sum(sorted(relevant, reverse=True)[:n])
        assert found[f"r_{n}"] == pytest.approx(relevant[:n].sum() / top)
    assert _measure(4, one[:0], fresh, relevant)["sent"] == 0.0
