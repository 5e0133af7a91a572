"""Attributes that part objects into groups, and schedules by fixed intervals."""

from math import inf

import numpy as np
import pytest

from halflife.grouping.attributes import splitting_attributes
from halflife.policies.listings import ListingTerms
from halflife.policies.listings.names import USUAL_DAYS, interval


def words(*values):
    return np.array(values, dtype=object)


@pytest.mark.parametrize(
    ("column", "parts"),
    [
        (words(*"aaaaaaab"), True),  # two values of eight objects: one in four
        (words(*"aaaaaab"), False),  # of seven they are more
        (words(*"aaaaaaaa"), False),  # a single value parts nothing
        (words(*"aaaaaaa", None), False),
        (words(*"aaaab", None, None, None), True),  # objects without a value count
        (np.arange(8.0), True),  # numbers may all differ
        (np.full(8, 3.0), False),
        (np.array([np.nan, 3.0, 3.0, np.nan]), False),
        (np.array([np.nan, 3.0, 4.0, np.nan]), True),
        (np.array([True, False, True]), False),  # a truth is no number
        (np.array([True, False] * 4), True),
        (np.zeros(0), False),
    ],
)
def test_few_values_or_numbers_part_objects(column, parts):
    assert splitting_attributes({"x": column}) == ["x"] * parts


def test_attributes_are_named_in_order():
    columns = {"b": np.arange(3.0), "c": words(*"xyz"), "a": np.arange(3.0)}
    assert splitting_attributes(columns) == ["a", "b"]


@pytest.mark.parametrize(("longest", "days"), [(inf, USUAL_DAYS), (3.5, 3.5)])
def test_fixed_intervals_are_the_longest_allowed_or_the_usual_ones(longest, days):
    assert interval.schedule(ListingTerms(longest=longest)).days == days
