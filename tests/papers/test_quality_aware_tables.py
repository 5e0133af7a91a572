"""Tables 3 and 4 of papers/000: which car makes and years decay alike."""

import numpy as np
import pytest

from lab.grouping.pearson import THRESHOLD, k_means

MAKES = {"BMW": 0.058, "Ford": 0.058, "Honda": 0.065, "Dodge": 0.069, "Toyota": 0.075}
YEARS = {
    "2000": 0.073,
    "2001": 0.07,
    "2002": 0.068,
    "2003": 0.063,
    "2004": 0.058,
    "2005": 0.059,
    "2006": 0.059,
}
TABLE_3 = {
    2: ("BMW Ford Honda", "Dodge Toyota"),
    3: ("BMW Ford", "Honda Dodge", "Toyota"),
    4: ("BMW Ford", "Honda", "Dodge", "Toyota"),
}
TABLE_4 = {
    2: ("2004 2005 2006 2003", "2002 2001 2000"),
    3: ("2004 2005 2006", "2003", "2002 2001 2000"),
    4: ("2004 2005 2006", "2003", "2002 2001", "2000"),
}
GAINS = {"makes": (61.34, 10.72, 0.64), "years": (25.0, 4.6, 0.9)}


def grouped(rates, clusters):
    label = k_means(np.array(list(rates.values())), clusters)
    names = np.array(list(rates))
    return [set(names[label == k].tolist()) for k in range(clusters)]


@pytest.mark.parametrize("clusters", [2, 3, 4])
def test_makes_are_grouped_as_in_table_3(clusters):
    expected = [set(group.split()) for group in TABLE_3[clusters]]
    assert grouped(MAKES, clusters) == expected


@pytest.mark.parametrize("clusters", [2, 3, 4])
def test_years_are_grouped_as_in_table_4(clusters):
    expected = [set(group.split()) for group in TABLE_4[clusters]]
    assert grouped(YEARS, clusters) == expected


def test_the_printed_rates_leave_the_first_cut_of_table_3_a_tie():
    rates = np.array(list(MAKES.values()))

    def spread(cut):
        return sum(((part - part.mean()) ** 2).sum() for part in np.split(rates, [cut]))

    assert spread(3) == pytest.approx(spread(2), rel=1e-9)


def test_the_groups_of_table_3_are_not_nested():
    two, three = grouped(MAKES, 2), grouped(MAKES, 3)
    assert not all(any(small <= large for large in two) for small in three)


def test_the_threshold_stops_where_the_paper_stops():
    for gains in GAINS.values():
        accepted = [gain > THRESHOLD for gain in gains]
        assert accepted == [True, True, False]
