"""Doubt widens whatever is believed of a source, and never narrows it."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, strategies as st

from halflife.core.forecast import Forecast
from halflife.core.value_curve import Worth
from halflife.engine.bound_widening import FULL, Trust
from halflife.market.curves import Decay

unit = st.floats(0.0, 1.0)
factors = st.floats(1.0, 20.0)
bands = st.lists(st.tuples(unit, unit, unit), min_size=1, max_size=6)


def columns(rows):
    """Low, mean and high of each row, in order."""
    return np.sort(np.array(rows), axis=1).T


def forecast(rows):
    low, mean, high = columns(rows)
    return Forecast("recall", np.arange(mean.size, dtype=float), mean, low, high)


def decay(rows):
    low, mean, _ = np.minimum.accumulate(columns(rows), axis=1)
    return Decay(np.arange(1.0, mean.size + 1.0), mean, low)


def worth(rows):
    low, mean, high = np.maximum.accumulate(columns(rows), axis=1)
    return Worth("s", "recall", 1.0, np.arange(float(mean.size)), mean, low, high)


@given(rows=bands)
def test_full_trust_changes_nothing(rows):
    cast, falls, curve = forecast(rows), decay(rows), worth(rows)
    assert FULL.forecast(cast) is cast
    assert FULL.decay(falls) is falls
    assert FULL.worth(curve) is curve


@given(rows=bands, one=factors, two=factors)
def test_more_doubt_never_narrows_and_bounds_stay_in_order(rows, one, two):
    less, more = (Trust(factor) for factor in sorted([one, two]))
    cast, falls, curve = forecast(rows), decay(rows), worth(rows)
    told = [
        [
            (c.mean, c.low, c.high)
            for c in (cast, less.forecast(cast), more.forecast(cast))
        ],
        [
            (d.mean, d.low, d.mean)
            for d in (falls, less.decay(falls), more.decay(falls))
        ],
        [
            (w.quality, w.low, w.high)
            for w in (curve, less.worth(curve), more.worth(curve))
        ],
    ]
    for kind in told:
        for (mean, low, high), (same, lower, higher) in pairwise(kind):
            assert np.array_equal(mean, same)
            assert np.all(lower <= low + 1e-12)
            assert np.all(higher >= high - 1e-12)
            assert np.all((lower >= 0.0) & (lower <= same) & (same <= higher))
            assert np.all(higher <= 1.0)


@given(rows=bands, factor=factors)
def test_doubted_copies_still_fall_with_time_and_rise_with_requests(rows, factor):
    falls, curve = Trust(factor).decay(decay(rows)), Trust(factor).worth(worth(rows))
    assert np.all(np.diff(falls.low) <= 0)
    assert np.all(np.diff(curve.low) >= 0)


@given(rows=bands, factor=factors, level=unit)
def test_whoever_doubts_needs_no_fewer_requests_and_syncs_no_later(rows, factor, level):
    doubted = Trust(factor)
    curve, cast = worth(rows), forecast(rows)
    stated = curve.needed(level, sure=True)
    assert doubted.worth(curve).needed(level, sure=True) >= stated - 1e-9
    late = cast.first_below(level)
    soon = doubted.forecast(cast).first_below(level)
    assert late is None or (soon is not None and soon <= late + 1e-9)


def test_bounds_are_widened_by_the_factor():
    mean, low, high = np.array([0.8]), np.array([0.7]), np.array([0.85])
    below, above = Trust(2.0).band(mean, low, high)
    assert below == pytest.approx([0.6])
    assert above == pytest.approx([0.9])
    below, above = Trust(3.0).band(10 * mean, 10 * low, 10 * high, most=np.inf)
    assert below == pytest.approx([5.0])
    assert above == pytest.approx([9.5])


def test_it_is_said_how_far_and_why():
    assert FULL.words() == "bounds are as the forecasts say"
    said = Trust(2.0, "3 of the last 9 forecasts missed their bounds").words()
    assert said.endswith("3 of the last 9 forecasts missed their bounds")
