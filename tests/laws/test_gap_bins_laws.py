"""Classes of gap lengths: eight to the octave, and back."""

from math import exp2, floor, log2

import numpy as np
import pytest
from hypothesis import given, strategies as st

from halflife.core.gap_bins import class_length, class_of, classes, tally_by_class

LENGTHS = st.lists(st.floats(1e-5, 3650.0), max_size=8)


def test_a_class_is_read_back_from_its_length():
    numbers = np.arange(-140, 100)
    assert class_of(class_length(numbers)).tolist() == numbers.tolist()
    # A length between two classes belongs to the one that is nearer by its logarithm.
    assert class_of(np.array([2.0, 2.05, 2.17, 0.5])).tolist() == [8, 8, 9, -8]


@given(LENGTHS)
def test_a_gap_is_split_between_its_neighbours_by_the_logarithm(lengths):
    below, share = classes(np.array(lengths))
    for length, number, part in zip(lengths, below, share, strict=True):
        place = 8 * log2(length)
        assert number + part == pytest.approx(place, abs=0.5 / 1024 + 1e-9)
        assert number == floor(number + part)
        assert part * 1024 == int(part * 1024)
    for number in below.tolist():
        assert class_length(np.array([number]))[0] == pytest.approx(exp2(number / 8))


@given(LENGTHS)
def test_each_gap_is_tallied_once_in_all(lengths):
    item, number, tally = tally_by_class(np.arange(len(lengths)), np.array(lengths))
    below, share = classes(np.array(lengths))
    assert item.size == number.size == tally.size
    wanted = {}
    for i, (low, part) in enumerate(zip(below.tolist(), share.tolist(), strict=True)):
        wanted[i, low] = 1.0 - part
        if part > 0:
            wanted[i, low + 1] = part
    found = dict(
        zip(zip(item.tolist(), number.tolist(), strict=True), tally, strict=True)
    )
    assert found == wanted
