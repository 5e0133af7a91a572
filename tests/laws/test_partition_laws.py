"""When a cut is made: enough ends, sure enough, and lasting."""

from dataclasses import replace

import numpy as np
import pytest

from halflife.core.lifetimes import Lives
from halflife.grouping.partition import PartitionTerms, partition
from halflife.grouping.risk import (
    ExposureSpans,
    at_risk,
    cells,
    dispersion,
    rate_interval,
    totals,
)
from lab.grouping.pearson import life_bins, pearson_groups


def lives_of(spans, **attributes):
    """Return lives from day 0 that end after so many days; ``inf``: not by day 90."""
    spans = np.asarray(spans, float)
    n = spans.size
    ended = np.isfinite(spans)
    leave = np.where(ended, spans, 90.0)
    return Lives(
        tuple(map(str, range(n))),
        np.full(n, -1.0),
        np.zeros(n),
        leave,
        np.where(ended, leave, np.inf),
        {name: np.asarray(v) for name, v in attributes.items()},
    )


def kinds(*plans):
    """Return lives of kinds; each plan says how many end in each third of 90 days."""
    spans, kind = [], []
    for name, (thirds, last) in zip("ab", plans, strict=True):
        for third, many in enumerate(thirds):
            spans += (30.0 * third + 30.0 * (np.arange(many) + 0.5) / many).tolist()
        spans += [np.inf] * last
        kind += [name] * (sum(thirds) + last)
    return lives_of(spans, kind=np.array(kind, object))


def cut(lives, names=("kind",), **terms):
    given = {"bursts": False, **terms}
    return partition(
        lives, names, np.random.default_rng(0), terms=PartitionTerms(**given)
    )


STEADY = kinds(([40, 40, 40], 200), ([10, 10, 10], 300))
LATE = kinds(([60, 60, 10], 200), ([10, 10, 60], 300))  # turns round in the end
MIDDLE = kinds(([60, 10, 60], 200), ([10, 60, 10], 300))  # and here in between


def test_a_cut_must_hold_from_each_third_of_the_ends_to_the_next():
    for lives, lasts in ((STEADY, True), (LATE, False), (MIDDLE, False)):
        assert len(cut(lives, lasting=False)) == 2
        assert len(cut(lives)) == (2 if lasts else 1)


@pytest.mark.parametrize(("least", "groups"), [(75.0, 2), (76.0, 1)])
def test_a_group_is_cut_if_both_sides_may_have_enough_ends(least, groups):
    lives = kinds(([50, 50, 40], 0), ([4, 4, 2], 130))
    assert at_risk(lives).dead.sum() == 150
    terms = {"least": least, "lasting": False}
    found = cut(lives, **terms)
    assert len(found) in {1, groups}
    small = cut(lives, least=20.0, lasting=False)
    assert len(small) == 2


def test_exactly_twice_the_least_ends_may_be_cut_and_fewer_not():
    spans = [10.0] * 20 + [80.0] * 20
    lives = lives_of(spans, kind=np.array(["a"] * 20 + ["b"] * 20, object))
    risk = at_risk(lives)
    even = replace(risk, entry=risk.leave - 10.0)  # all watched for as long
    even = replace(even, dead=np.arange(40) < 20)
    terms = PartitionTerms(least=10.0, bursts=False, lasting=False)
    rng = np.random.default_rng(0)
    found = partition(lives, ["kind"], rng, terms=terms, risk=even)
    assert len(found) == 2
    fewer = replace(even, dead=np.arange(40) < 19)
    assert len(partition(lives, ["kind"], rng, terms=terms, risk=fewer)) == 1


def test_with_more_attributes_to_try_a_cut_is_less_sure():
    lives = replace(
        STEADY,
        attributes={
            **STEADY.attributes,
            "same": np.array(["x"] * len(STEADY), object),
        },
    )
    one, two = cut(lives), cut(lives, ("kind", "same", "kind"))
    assert two.splits[0].chance == pytest.approx(2 * one.splits[0].chance)
    assert two.splits[0].gain == one.splits[0].gain


def test_bursts_are_allowed_for_if_asked_to():
    plain, wide = cut(STEADY), cut(STEADY, bursts=True)
    assert plain.splits[0].dispersion == 1.0
    assert wide.splits[0].dispersion >= 1.0
    clumped = lives_of(
        [15.0] * 60 + [45.0] * 60 + [75.0] * 60 + [30.0] * 20 + [np.inf] * 300,
        kind=np.array(["a"] * 180 + ["b"] * 320, object),
    )
    found = cut(clumped, bursts=True, lasting=False, level=1.0)
    assert found.splits[0].dispersion > 2.0


def test_a_group_tells_what_it_was_learned_from():
    found = cut(STEADY)
    risk = at_risk(STEADY)
    for number, group in enumerate(found.groups):
        mine = risk.take(found.of == number)
        assert group.lives == mine.dead.size
        assert group.deaths == mine.dead.sum()
        assert group.time == pytest.approx(mine.time.sum())
        wanted = rate_interval(group.deaths, group.time)
        assert (group.rate, group.low, group.high) == wanted
    assert found.rates.tolist() == sorted(g.rate for g in found.groups)


def test_a_tree_with_branches_on_both_sides_leads_every_object_to_its_group():
    rng = np.random.default_rng(3)
    make = np.repeat(["a", "b"], 800).astype(object)
    size = np.tile(np.repeat([0.0, 1.0], 400), 2)
    mean = np.repeat([500.0, 120.0, 30.0, 6.0], 400)
    spans = rng.exponential(mean)
    spans[spans > 90] = np.inf
    found = cut(lives_of(spans, make=make, size=size), ("make", "size"), most=4)
    assert len(found) == 4
    assert found.of.tolist() == np.repeat([0, 1, 2, 3], 400).tolist()
    assert np.array_equal(found.assign({"make": make, "size": size}), found.of)
    assert (
        len(cut(lives_of(spans, make=make, size=size), ("make", "size"), most=3)) == 3
    )


def test_ends_and_days_are_counted_by_label_and_stretch_of_time():
    risk = ExposureSpans(
        np.array([0.0, 1.0, 4.0]),
        np.array([5.0, 9.0, 6.0]),
        np.array([True, False, True]),
    )
    label, edges = np.array([0, 1, 1]), np.array([0.0, 5.0, 10.0])
    deaths, time = cells(risk, label, 2, edges)
    assert deaths.tolist() == [[1.0, 0.0], [0.0, 1.0]]
    assert time.tolist() == [[5.0, 0.0], [5.0, 5.0]]
    assert [column.tolist() for column in totals(risk, label, 2)] == [
        [1.0, 1.0],
        [5.0, 10.0],
    ]


def test_dispersion_is_pearsons_statistic_by_its_degrees_of_freedom():
    deaths = np.array([[9.0, 0.0, 3.0], [1.0, 8.0, 2.0]])
    time = np.array([[10.0, 12.0, 9.0], [20.0, 18.0, 30.0]])
    row = [12 / 31, 11 / 68]
    mean = np.array([[row[i] * time[i, j] for j in range(3)] for i in range(2)])
    for j in range(3):
        mean[:, j] *= deaths[:, j].sum() / mean[:, j].sum()
    wanted = ((deaths - mean) ** 2).sum() / mean.sum() * 6 / 2
    assert dispersion(deaths, time) == pytest.approx(wanted)
    assert dispersion(np.zeros((2, 3)), time) == 1.0
    assert dispersion(deaths[:1], time[:1]) == 1.0
    empty = np.hstack([time, np.zeros((2, 1))])  # a stretch in which nobody was watched
    more = np.hstack([deaths, np.zeros((2, 1))])
    assert dispersion(more, empty) == pytest.approx(wanted / 6 * 8 * 2 / 3)
    even = np.array([[2.0, 2.0], [2.0, 2.0]])
    assert dispersion(even, even) == 1.0


def test_bins_of_life_span_end_as_soon_as_they_hold_enough():
    spans = np.arange(1.0, 7.0)
    risk = ExposureSpans(np.zeros(6), spans, np.ones(6, bool))
    assert life_bins(risk, enough=2).tolist() == [0.0, 2.0, 4.0, np.inf]
    assert life_bins(risk, enough=4).tolist() == [0.0, np.inf]
    assert life_bins(risk, enough=1, most=2).tolist() == [0.0, 3.0, np.inf]
    tied = ExposureSpans(np.zeros(6), np.array([1.0, 1, 1, 2, 3, 4]), np.ones(6, bool))
    assert life_bins(tied, enough=2).tolist() == [0.0, 1.0, np.inf]


def test_groups_of_categories_grow_while_the_statistic_falls_by_more_than_asked():
    rng = np.random.default_rng(2)
    mean = np.repeat([50.0, 20.0, 5.0], 60)
    risk = ExposureSpans(np.zeros(180), rng.exponential(mean), np.ones(180, bool))
    label, names = np.repeat([0, 1, 2], 60), ["a", "b", "c", "never seen"]
    edges = np.array([0.0, 5.0, 20.0, np.inf])
    every = pearson_groups(risk, label, names, threshold=-np.inf, edges=edges)
    assert [step.groups for step in every] == [
        (("a", "b", "c"),),
        (("a", "b"), ("c",)),
        (("a",), ("b",), ("c",)),
    ]
    deaths, time = cells(risk, label, 3, edges)
    for step in every:
        wanted = 0.0
        for group in step.groups:
            rows = ["abc".index(name) for name in group]
            rate = deaths[rows].sum() / time[rows].sum()
            expected = rate * time[rows]
            wanted += ((deaths[rows] - expected) ** 2 / expected).sum()
        assert step.statistic == pytest.approx(wanted)
    gain = every[1].gain
    assert gain == pytest.approx(every[0].statistic - every[1].statistic)
    assert every[0].gain == 0.0
    for threshold, steps in ((gain, 1), (gain - 1e-9, 2)):
        found = pearson_groups(risk, label, names, threshold=threshold, edges=edges)
        assert len(found) in {steps, 3 if every[2].gain > threshold else steps}
        assert (len(found) > 1) == (steps > 1)


def test_an_end_between_two_looks_is_taken_to_be_midway():
    lives = lives_of([10.0, np.inf, 30.0])
    lives = replace(lives, gone_by=np.array([14.0, np.inf, 30.0]))
    risk = at_risk(lives)
    assert risk.leave.tolist() == [12.0, 90.0, 30.0]
    assert risk.dead.tolist() == [True, False, True]
    assert risk.time.tolist() == [12.0, 90.0, 30.0]
