"""Life tables of a census, counted object by object."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings

from halflife.models.ages import (
    BINS,
    PRIOR,
    SHAPES,
    LifeTable,
    age_edges,
    life_table_hazard,
    survivors,
    weibull_hazard,
)
from halflife.models.census import Census
from set_worlds import worlds


def counted(census):
    """Return objects, deaths and days by look and class of age, one by one."""
    edges, looks = age_edges(census), census.looks
    shape = (looks.size, edges.size + 1)
    present, deaths, lived = np.zeros(shape), np.zeros(shape), np.zeros(shape)

    def class_at(start, look):
        if start == 0:
            return -1
        age = looks[look] - looks[start]
        return int(np.flatnonzero(edges * (1 - 1e-9) <= age + 1e-12)[-1])

    for start, stop in zip(census.start.tolist(), census.stop.tolist(), strict=True):
        for look in range(start, stop + 1):
            here = class_at(start, look)
            present[look, here] += 1
            if look + 1 < looks.size:
                gap = looks[look + 1] - looks[look]
                lived[look + 1, here] += gap if look < stop else gap / 2
        if stop + 1 < looks.size:
            deaths[stop + 1, class_at(start, stop)] += 1
    return present, np.cumsum(deaths, axis=0), np.cumsum(lived, axis=0)


@settings(max_examples=30)
@given(worlds())
def test_a_life_table_is_what_counting_one_by_one_gives(world):
    census = Census.of(world)
    table = LifeTable.of(census)
    present, deaths, lived = counted(census)
    np.testing.assert_array_equal(table.present, present)
    np.testing.assert_allclose(table.deaths, deaths)
    np.testing.assert_allclose(table.exposure, lived, atol=1e-9)


def test_classes_of_age_begin_a_step_wide_and_reach_to_the_whole_span():
    looks = np.arange(0.0, 41.0, 2.0)
    nothing = np.zeros(0, np.intp)
    edges = age_edges(Census(looks, nothing, nothing, nothing, nothing))
    assert edges.size == BINS
    assert edges[0] == 0.0
    assert edges[1] == pytest.approx(2.0)
    assert edges[-1] == pytest.approx(40.0)
    ratio = edges[2:] / edges[1:-1]
    np.testing.assert_allclose(ratio, ratio[0])
    few = age_edges(Census(looks[:2], nothing, nothing, nothing, nothing))
    assert few[-1] == pytest.approx(8.0)  # four steps at least


def a_table(seed=0, looks=3):
    rng = np.random.default_rng(seed)
    edges = np.array([0.0, 1.0, 2.5, 6.0])
    deaths = np.cumsum(rng.integers(0, 9, (looks, 5)), axis=0).astype(float)
    exposure = np.cumsum(rng.uniform(20, 90, (looks, 5)), axis=0)
    return LifeTable(
        edges, rng.integers(1, 30, (looks, 5)).astype(float), exposure, deaths
    )


def mean_rate(table, i):
    floor = max(table.present[i].sum(), 1.0) * table.edges[1]
    return (table.deaths[i].sum() + 0.5) / max(table.exposure[i].sum(), floor)


def test_the_summed_hazard_goes_through_the_classes():
    table = a_table()
    summed, old = life_table_hazard(table)
    ages = np.array([0.0, 0.5, 1.0, 2.0, 4.0, 6.0, 9.0])
    found = summed(np.tile(ages, (3, 1)))
    for i in range(3):
        lent = PRIOR / mean_rate(table, i)
        rate = (table.deaths[i] + PRIOR) / (table.exposure[i] + lent)
        for j, age in enumerate(ages):
            total, ends = 0.0, [*table.edges[1:], math.inf]
            for k, (begin, end) in enumerate(zip(table.edges, ends, strict=True)):
                total += rate[k] * max(min(age, end) - begin, 0.0)
            assert found[i, j] == pytest.approx(total)
        assert old[i, 0] == pytest.approx(rate[-1])


def test_the_weibull_law_is_the_likeliest_of_a_grid():
    table = a_table(4)
    summed, old = weibull_hazard(table)
    edges = [*table.edges, 1.25 * table.edges[-1]]
    one, two = summed(np.array([[1.0, 2.0]] * 3)).T
    for i in range(3):
        found = []
        count = table.deaths[i, :-1].sum() + 0.5
        for k in SHAPES:
            mean = [(b**k - a**k) / (b - a) for a, b in pairwise(edges)]
            rate = count / (table.exposure[i, :-1] @ mean)
            fit = sum(
                d * math.log(m) for d, m in zip(table.deaths[i], mean, strict=False)
            )
            found.append((fit + count * math.log(rate), k, rate))
        _, shape, rate = max(found)
        assert one[i] == pytest.approx(rate)
        assert math.log2(two[i] / one[i]) == pytest.approx(shape)
        lent = 0.5 / mean_rate(table, i)
        by_hand = (table.deaths[i, -1] + 0.5) / (table.exposure[i, -1] + lent)
        assert old[i, 0] == pytest.approx(by_hand)


def test_survivors_are_the_mean_over_the_ages_that_are_held():
    table = a_table(2)
    summed, old = life_table_hazard(table)
    ahead = np.array([0.5, 2.0, 7.0])
    kept, fresh = survivors(table, (summed, old), ahead)
    middle = [0.5, 1.75, 4.25, 6.6]
    for i, t in enumerate(ahead):
        total = 0.0
        for n, age in zip(table.present[i], middle, strict=False):
            both = summed(np.array([[age, age + t]] * 3))[i]
            total += n * math.exp(both[0] - both[1])
        total += table.present[i, -1] * math.exp(-old[i, 0] * t)
        assert kept[i] == pytest.approx(total / table.present[i].sum())
        fine = (np.arange(1200) + 0.5) / 1200 * t
        exact = np.exp(-summed(np.tile(fine, (3, 1)))[i]).mean()
        assert fresh[i] == pytest.approx(exact, rel=1e-2)


def test_where_nothing_was_ever_held_half_a_death_a_step_is_believed():
    none = np.zeros((2, 5))
    table = LifeTable(np.array([0.0, 2.0, 5.0, 9.0]), none, none, none)
    summed, old = life_table_hazard(table)
    assert old.tolist() == [[0.25], [0.25]]
    assert summed(np.array([[4.0], [8.0]])).tolist() == [[1.0], [2.0]]
