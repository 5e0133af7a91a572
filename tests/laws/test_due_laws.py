"""Intervals that grow and shrink, look by look and from counts alone."""

import numpy as np
import pytest

from halflife.belief.due import IntervalRule

RULE = IntervalRule(start=8.0, grow=1.5, shrink=0.5, shortest=0.25, longest=64.0)


def test_an_interval_grows_after_a_quiet_look_and_shrinks_after_a_change():
    found = RULE.after(np.array([2.0, 2.0]), np.array([False, True]))
    assert found.tolist() == [3.0, 1.0]
    pulled = IntervalRule(8.0, 1.5, 0.5, 0.25, 64.0, pull=0.4)
    assert pulled.after(np.full(2, 2.0), np.array([False, True])).tolist() == [3.0, 1.1]


@pytest.mark.parametrize("looks", [0, 1, 2, 5, 9])
def test_of_counts_alone_the_interval_is_that_of_any_order(looks):
    # The first look finds neither a change nor none.
    for changes in range(max(looks, 1)):
        wanted = np.array([8.0])
        for k in range(max(looks - 1, 0)):
            wanted = RULE.after(wanted, np.array([k < changes]))
        found = RULE.after_many(np.array([float(looks)]), np.array([float(changes)]))
        assert found == pytest.approx(wanted)


def test_histories_of_any_length_have_a_finite_interval():
    many, none = np.array([1e9, 1e9]), np.array([0.0, 1e9])
    found = RULE.after_many(many, none)
    assert found == pytest.approx(8.0 * np.exp([50.0, -50.0]))
