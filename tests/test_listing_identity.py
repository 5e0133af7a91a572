"""Whether an answer that lacks too much shows this listing at all."""

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.stats import betabinom

from halflife.core.object_store import Listing
from halflife.core.tracker import ShownObjects, Tracker
from halflife.models.guard import LEAST_CYCLES, DeleteGuard
from halflife.models.listing_identity import ListingIdentity


def learned(arrived=2, changed=2, cycles=40, n=100):
    columns = (np.full(cycles, x) for x in (n, arrived, changed))
    return ListingIdentity().fit(*columns, np.ones(cycles))


def test_at_least_ten_and_half_of_what_is_shown_must_be_known():
    lists = ListingIdentity()
    assert lists.is_shown_by(ShownObjects(10, 10, 0), 1.0)
    assert not lists.is_shown_by(ShownObjects(9, 9, 0), 1.0)
    assert not lists.is_shown_by(ShownObjects(0, 0, 0), 1.0)
    busy = learned(arrived=90)  # all may be new, and then nothing says what it is
    assert busy.is_shown_by(ShownObjects(100, 50, 0), 3.0)
    assert not busy.is_shown_by(ShownObjects(100, 49, 0), 3.0)


@pytest.mark.parametrize("lists", [ListingIdentity(), learned(), learned(cycles=3)])
def test_a_third_beyond_what_is_expected_may_be_new_or_changed(lists):
    share = 1.0 - math.exp(-lists.arrivals_.rate_)
    most = math.floor(90 * share + 90 * (1.0 - share) / 3.0)
    assert lists.is_shown_by(ShownObjects(90, 90 - most, 0), 1.0)
    assert not lists.is_shown_by(ShownObjects(90, 89 - most, 0), 1.0)
    share = 1.0 - math.exp(-lists.changes_.rate_)
    most = math.floor(90 * share + 90 * (1.0 - share) / 3.0)
    assert lists.is_shown_by(ShownObjects(90, 90, most), 1.0)
    assert not lists.is_shown_by(ShownObjects(90, 90, most + 1), 1.0)


def test_a_source_that_was_read_too_often_to_change_knows_its_next_batch():
    n, none, gap = np.full(7, 229), np.zeros(7, int), 0.01 * 2.0 ** np.arange(7)
    cars = ListingIdentity().fit(n, none, none, gap)
    assert cars.is_shown_by(ShownObjects(236, 202, 8), 0.7)


def test_where_everything_changes_each_time_it_may():
    assert not learned().is_shown_by(ShownObjects(50, 50, 50), 1.0)
    assert learned(changed=98).is_shown_by(ShownObjects(50, 50, 50), 1.0)


def test_most_of_what_is_new_must_not_have_been_there_before():
    assert learned().is_shown_by(ShownObjects(50, 46, 2, former=3), 1.0)
    assert not learned().is_shown_by(ShownObjects(50, 46, 2, former=4), 1.0)
    assert learned().is_shown_by(ShownObjects(50, 50, 0, former=0), 1.0)


@given(
    n=st.integers(1, 400), k=st.integers(0, 400), share=st.floats(0.001, 0.9),
    gap=st.floats(0.0, 20.0), cycles=st.integers(0, 60),
)  # fmt: skip
def test_usual_is_what_scipy_says(n, k, share, gap, cycles):
    k = min(k, n)
    counts = np.full(cycles, 200), np.full(cycles, round(200 * share))
    guard = DeleteGuard().fit(*counts, np.ones(cycles))
    q = -math.expm1(-guard.rate_ * gap)
    mean, r = min(max(q, 1e-9), 1 - 1e-9), guard.dispersion_
    tail = betabinom(n, mean * (1 - r) / r, (1 - mean) * (1 - r) / r).sf(k - 1)
    if abs(tail - 0.05) < 1e-6 or abs(k - n * q - n * (1 - q) / 3) < 1e-6:
        return
    often = cycles >= LEAST_CYCLES and tail >= 0.05
    assert guard.is_usual(n, k, gap) == (often or k - n * q <= n * (1 - q) / 3)


def test_objects_are_compared_with_the_copy_and_with_its_past():
    tracker = Tracker()
    for at, price in enumerate([1, 2, 3]):
        rows = {key: {"price": price} for key in "abcd"} | {"e": {"price": 0}}
        tracker.take(Listing(float(at), rows if at < 1 else {**rows, "f": {}}))
    for at in (3.0, 4.0):  # d goes
        tracker.take(Listing(at, {key: {"price": 3} for key in "abce"} | {"f": {}}))
    prices = {"a": 3, "b": 1, "c": 2, "d": 9, "e": 4, "g": 5}
    shown = tracker.shown(Listing(5.0, {k: {"price": p} for k, p in prices.items()}))
    assert shown == ShownObjects(listed=6, known=4, changed=3, former=3)  # b, c and d


def test_new_and_changed_objects_of_each_cycle_are_counted():
    tracker = Tracker()
    tracker.take(Listing(0.0, {"a": {"x": 1}}))
    tracker.take(Listing(1.0, {"b": {"x": 1}}, complete=False))
    tracker.take(Listing(2.0, {"a": {"x": 2}, "b": {"x": 1}, "c": {"x": 1}}))
    tracker.take(Listing(5.0, {"a": {"x": 3}, "b": {"x": 3}, "c": {"x": 1}}))
    listed, arrived, changed, gap = tracker.register().renewals()
    assert (listed.tolist(), gap.tolist()) == ([3, 3], [2.0, 3.0])
    assert (arrived.tolist(), changed.tolist()) == ([2, 0], [1, 2])
