"""Windows at their edges, and in places far from Greenwich."""

from math import inf

import numpy as np
import pytest
from hypothesis import given, strategies as st

from halflife.market.windows import ALWAYS, UTC, Window, Zone

HOURS = st.integers(0, 23)


def fixed(hours):
    return Zone(np.array([-inf]), np.array([hours / 24]))


@given(HOURS, st.integers(0, 24), st.integers(-12, 14), st.integers(0, 47))
def test_a_window_is_open_by_the_clock_on_the_wall(begin, end, offset, half):
    """Moments are half hours, so that none is near an edge."""
    window = Window(begin / 24, end / 24, fixed(offset))
    length = (end - begin - 1) % 24 + 1
    now = 20_000 + half / 48 + 1 / 96
    local = (half / 2 + 0.25 + offset - begin) % 24
    assert window.is_open(now) == (local < length)
    opens = window.next_open(now)
    if local < length:
        assert opens == now
    else:
        assert opens == pytest.approx(now + (24 - local) / 24, abs=1e-9)


def test_a_window_is_open_when_it_opens_and_closed_when_it_closes():
    window = Window(0.25, 0.75)
    assert not window.is_open(100.25 - 1e-6)
    assert window.is_open(100.25)
    assert window.is_open(100.75 - 1e-6)
    assert not window.is_open(100.75)
    assert window.next_open(100.75) == 101.25
    assert window.next_open(100.0) == 100.25
    assert ALWAYS.is_open(100.0)


@pytest.mark.parametrize(
    ("begin", "end"), [(-0.5, 0.5), (1.0, 0.5), (0.5, 1.5), (0.5, -0.5)]
)
def test_a_window_begins_and_ends_within_a_day(begin, end):
    with pytest.raises(ValueError, match="within a day"):
        Window(begin, end)


@pytest.mark.parametrize(
    ("begin", "end", "length"),
    [(0.0, 1.0, 1.0), (0.0, 0.0, 1.0), (0.5, 0.75, 0.25), (0.75, 0.5, 0.75)],
)
def test_a_window_that_ends_before_it_begins_ends_the_next_day(begin, end, length):
    assert Window(begin, end).length == length


def test_the_first_offset_of_a_zone_holds_for_ever_before():
    for since in ([], [0.0]):
        with pytest.raises(ValueError, match="-inf"):
            Zone(np.array(since), np.zeros(len(since)))
    assert UTC.reach(np.array([5.0])) == [5.0]


def test_openings_that_touch_a_stretch_are_all_told():
    opens, closes = Window(0.25, 0.5).spans(10.0, 12.3)
    assert opens.tolist() == [10.25, 11.25, 12.25]
    assert closes.tolist() == [10.5, 11.5, 12.5]
    night = Window(0.75, 0.25)
    assert night.spans(10.0, 10.5)[0].tolist() == [9.75]
    assert night.spans(10.25, 10.75)[0].tolist() == []  # edges do not touch
    assert night.spans(10.2, 10.8)[0].tolist() == [9.75, 10.75]


SPRING = Zone(np.array([-inf, 100.0]), np.array([0.0, 1 / 24]))  # 00:00 becomes 01:00
AUTUMN = Zone(np.array([-inf, 100.0]), np.array([1 / 24, 0.0]))  # 01:00 becomes 00:00


def test_an_hour_that_is_left_out_is_made_up_for_and_one_that_comes_twice_is_not():
    within = Window(0.0, 1 / 24, SPRING)  # wholly within what is left out
    opens, closes = within.spans(99.9, 100.1)
    assert opens == pytest.approx([100.0])
    assert closes == pytest.approx([100.0 + 1 / 24])
    reaching = Window(0.5 / 24, 3 / 24, SPRING)  # begins within it
    opens, closes = reaching.spans(99.9, 100.1)
    assert opens == pytest.approx([100.0])
    assert closes == pytest.approx([100.0 + 2 / 24])
    twice = Window(0.25 / 24, 0.75 / 24, AUTUMN)
    opens, closes = twice.spans(99.9, 100.1)
    assert opens == pytest.approx([100.0 - 0.75 / 24])
    assert closes == pytest.approx([100.0 - 0.25 / 24])
