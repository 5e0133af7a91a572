"""Ticks are round, few, in order and within the axis."""

import math

import numpy as np
from hypothesis import given, strategies as st

from halflife.study import axes

finite = st.floats(-1e9, 1e9)
moments = st.floats(-25_000, 60_000)  # the years 1901 to 2134


def check(axis):
    values = [v for v, _ in axis.ticks]
    said = [s for _, s in axis.ticks]
    assert axis.low < axis.high
    assert values == sorted(values)
    assert len(set(said)) == len(said) <= 14
    slack = 1e-6 * max(1.0, abs(axis.low), abs(axis.high))
    assert all(axis.low - slack <= v <= axis.high + slack for v in values)


@given(finite, finite)
def test_plain_numbers(low, high):
    axis = axes.linear("n", low, high)
    check(axis)
    assert axis.low <= min(low, high) + 1e-6 * max(1.0, abs(low), abs(high))
    assert len(axis.ticks) >= 2


@given(st.floats(0, 1e5))
def test_stretches_of_time(high):
    check(axes.spans("after", high))


@given(moments, st.floats(0.0, 20_000))
def test_dates(low, length):
    check(axes.calendar("date", low, low + length))


def test_units_fit_the_stretch():
    assert axes.spans("after", 60.0).label == "after (days)"
    assert axes.spans("after", 0.5).label == "after (hours)"
    assert axes.spans("after", 0.03).label == "after (minutes)"


def test_values_that_are_none_still_give_an_axis():
    check(axes.linear("n", math.nan, math.inf))
    check(axes.spans("after", math.nan))
    check(axes.calendar("date", math.nan, math.nan))


def test_a_place_is_a_share_of_the_way():
    axis = axes.linear("n", 0.0, 10.0)
    assert axis.place(np.array([0.0, 5.0]), 100.0, 200.0).tolist() == [100.0, 150.0]
