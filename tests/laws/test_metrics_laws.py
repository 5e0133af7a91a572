"""Bounds, intervals and sums against plain loops and the formulas of the papers."""

from itertools import combinations
from math import inf, log
from statistics import NormalDist, mean, stdev

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats

from halflife.metrics.bounds import (
    Trace,
    best_in_hindsight,
    closeness,
    headroom,
    requests_for,
    staleness_cut,
)
from halflife.metrics.copies import age, change_ratio, freshness
from halflife.metrics.intervals import (
    Ratio,
    cluster_interval,
    draws,
    mean_interval,
    series_interval,
)
from halflife.metrics.sums import (
    GroupSums,
    average_runs,
    group_codes,
    ratio,
    sum_by_group,
)

# What no schedule exceeds


@st.composite
def traces(draw):
    """A few items that change at quarters of days, ticks at some whole days."""
    quarter = st.integers(1, 31).map(lambda n: n / 4)
    changes = draw(st.lists(st.sets(quarter, max_size=3), min_size=1, max_size=3))
    rows = [(i, at) for i, mine in enumerate(changes) for at in sorted(mine)]
    ticks = sorted(draw(st.sets(st.integers(0, 8), max_size=4)))
    granted = [draw(st.integers(0, 2)) for _ in ticks]
    weight = [draw(st.integers(0, 3)) for _ in changes]
    return Trace(
        np.array([i for i, _ in rows], np.intp),
        np.array([at for _, at in rows], np.float64),
        np.array(weight, np.float64),
        np.array(ticks, np.float64),
        np.array(granted, np.intp),
    )


def by_every_set(trace, since, end):
    """Return the best value of any set of changes that requests may be spent on."""
    rows = list(zip(trace.item.tolist(), trace.at.tolist(), strict=True))
    ticks, granted = trace.ticks.tolist(), trace.granted.tolist()
    free, value = 0.0, []
    for item, weight in enumerate(trace.weight.tolist()):
        mine = [at for i, at in rows if i == item]
        free += weight * max((mine[0] if mine else end) - since, 0.0)
        for at, until in zip(mine, [*mine[1:], end], strict=False):
            opens = max(min([t for t in ticks if t >= at], default=inf), since)
            value.append((weight * max(min(until, end) - opens, 0.0), at > since))
    late = sum(g for t, g in zip(ticks, granted, strict=True) if t > since)
    best = 0.0
    for size in range(min(sum(granted), len(value)) + 1):
        for chosen in combinations(value, size):
            if sum(later for _, later in chosen) <= late:
                best = max(best, sum(worth for worth, _ in chosen))
    return min((free + best) / (sum(trace.weight.tolist()) * (end - since)), 1.0)


@settings(max_examples=80)
@given(trace=traces(), since=st.integers(0, 16).map(lambda n: n / 4))
def test_no_set_of_requests_buys_more_than_the_bound(trace, since):
    found = best_in_hindsight(trace, since, 8.0)
    if trace.weight.sum() == 0:
        assert found == 1.0
    else:
        assert found == pytest.approx(by_every_set(trace, since, 8.0))


def trace_of(at, ticks, granted, weight=(1.0,), item=None):
    rows = [0] * len(at) if item is None else item
    return Trace(
        np.array(rows, np.intp), np.array(at, np.float64), np.array(weight),
        np.array(ticks, np.float64), np.array(granted, np.intp),
    )  # fmt: skip


def test_a_request_at_the_moment_of_a_change_catches_it():
    assert best_in_hindsight(trace_of([2.0], [2.0], [1]), 0.0, 8.0) == 1.0
    assert best_in_hindsight(trace_of([2.25], [2.0, 4.25], [1, 1]), 0.0, 8.0) == 0.75


def test_requests_before_the_score_begins_buy_only_what_was_stale_then():
    # two changes after day 4 and a request on day 4: it comes too early for both
    early = trace_of([5.0, 6.0], [4.0], [1])
    assert best_in_hindsight(early, 4.0, 8.0) == 0.25
    # nor does it help that one could ask again later, if nothing is left for that
    assert best_in_hindsight(trace_of([6.0], [4.0, 7.0], [1, 0]), 4.0, 8.0) == 0.5
    # a change on day 4 itself left the copy stale; the request on day 4 mends that
    assert best_in_hindsight(trace_of([4.0], [4.0], [1]), 4.0, 8.0) == 1.0


def test_without_weight_or_time_nothing_is_stale():
    light = trace_of([4.0], [], [], weight=(0.0625,))
    assert best_in_hindsight(light, 0.0, 8.0) == 0.5  # however little it weighs
    assert best_in_hindsight(trace_of([1.0], [], [], weight=(0.0,)), 0.0, 8.0) == 1.0
    assert best_in_hindsight(trace_of([1.0], [], []), 8.0, 8.0) == 1.0
    assert best_in_hindsight(trace_of([1.0], [], []), 9.0, 8.0) == 1.0


@given(
    fresh=st.floats(0.0, 0.99), rival=st.floats(0.0, 0.99), more=st.floats(0.01, 1.0)
)
def test_shares_are_shares_of_what_they_are_of(fresh, rival, more):
    assert closeness(fresh, more) * more == pytest.approx(fresh)
    cut = staleness_cut(fresh, rival)
    assert (1 - cut) * (1 - rival) == pytest.approx(1 - fresh)
    bound = rival + more
    assert rival + headroom(fresh, rival, bound) * (bound - rival) == pytest.approx(
        fresh
    )


def test_shares_of_nothing():
    assert closeness(0.5, 0.0) == 1.0
    assert headroom(0.5, 0.75, 0.5) is None  # uniform is beyond the bound
    assert headroom(0.5, 0.5, 0.5) is None
    assert headroom(0.5, 0.25, 0.75) == 0.5
    assert staleness_cut(0.5, 1.0) is None
    assert staleness_cut(0.5, 0.0) == 0.5
    assert closeness(0.25, 0.5) == 0.5


@given(
    scale=st.floats(0.001, 0.1),
    power=st.floats(0.2, 2.0),
    at=st.floats(0.0, 1.0),
    order=st.permutations(range(4)),
)
def test_a_staleness_that_is_a_power_of_the_budget_is_found_again(
    scale, power, at, order
):
    shares = scale * np.array([1.0, 2.0, 4.0, 8.0])
    reached = 1.0 - 0.9 * (shares / scale) ** -power
    wanted = scale * 8.0**at
    asked = 1.0 - 0.9 * 8.0 ** (-power * at)
    found, known = requests_for(asked, shares[order], reached[order])
    assert known
    assert found == pytest.approx(wanted, rel=1e-6)


def test_a_budget_beyond_those_tried_is_not_known():
    shares, reached = np.array([1.0, 2.0, 4.0]), np.array([0.5, 0.4, 0.75])
    # more that did worse counts as the best so far: half is reached at 1 already
    assert requests_for(0.5, shares, reached)[1]
    assert requests_for(0.49, shares, reached) == (1.0, False)
    assert requests_for(0.75, shares, reached) == (4.0, True)
    assert requests_for(0.76, shares, reached) == (4.0, False)
    # a freshness that is off by rounding is that of the budget all the same
    assert requests_for(0.5 - 1e-14, shares, reached)[1]
    assert requests_for(0.75 + 1e-14, shares, reached)[1]
    middle = 1.0 - 0.5 * 0.5**0.5  # halfway in log staleness between 2 and 4
    assert requests_for(middle, shares, reached)[0] == pytest.approx(8.0**0.5)
    assert requests_for(1.0, shares, np.array([0.5, 0.5, 1.0])) == (4.0, True)


# Copies


@given(
    st.lists(
        st.tuples(st.booleans(), st.floats(0.0, 9.0), st.floats(0.1, 5.0)), max_size=6
    )
)
def test_freshness_and_age_are_weighted_means(copies):
    weight = np.array([w for *_, w in copies])
    current = np.array([c for c, *_ in copies], np.bool_)
    since = np.array([s for _, s, _ in copies])
    total = sum(w for *_, w in copies)
    fresh = sum(w for c, _, w in copies if c) / total if copies else 1.0
    late = sum(w * max(4.0 - s, 0.0) for _, s, w in copies)
    assert freshness(current, weight) == pytest.approx(fresh)
    assert age(since, 4.0, weight) == pytest.approx(late / total if copies else 0.0)


def test_of_nothing_all_is_fresh_and_nothing_is_old():
    assert freshness(np.ones(1, np.bool_), np.zeros(1)) == 1.0
    assert age(np.zeros(1), 4.0, np.zeros(1)) == 0.0
    assert (change_ratio(0, 0), change_ratio(1, 2), change_ratio(0, 3)) == (0, 0.5, 0)
    assert freshness(np.array([True, False]), np.array([0.25, 0.25])) == 0.5
    assert age(np.array([0.0, 4.0]), 4.0, np.array([0.25, 0.25])) == 2.0


# Intervals


@given(
    st.lists(st.integers(-50, 50), min_size=2, max_size=12),
    st.sampled_from([0.5, 0.8, 0.95]),
)
def test_a_mean_has_students_interval(values, confidence):
    found = mean_interval(np.array(values, np.float64), confidence=confidence)
    half = stats.t.ppf((1 + confidence) / 2, len(values) - 1)
    half *= stdev(values) / len(values) ** 0.5
    assert found == pytest.approx(
        (mean(values), mean(values) - half, mean(values) + half), abs=1e-9
    )


@given(st.lists(st.integers(-50, 50), min_size=1, max_size=17), st.integers(1, 6))
def test_a_series_is_cut_into_stretches_of_equal_length_from_its_end(values, blocks):
    few = min(blocks, len(values))
    long = len(values) // few
    whole = values[len(values) - few * long :]
    means = [mean(whole[i * long : (i + 1) * long]) for i in range(few)]
    found = series_interval(np.array(values, np.float64), blocks=blocks, confidence=0.8)
    assert found == pytest.approx(
        mean_interval(np.array(means, np.float64), confidence=0.8), abs=1e-9
    )


def test_draws_choose_as_many_groups_as_there_are_each_alike():
    found = draws(5, np.random.default_rng(0), resamples=4000)
    assert found.shape == (4000, 5)
    assert (found.sum(axis=1) == 5).all()
    assert found.mean(axis=0) == pytest.approx(np.ones(5), abs=0.06)
    assert found.var() == pytest.approx(5 * 0.2 * 0.8, abs=0.03)  # binomial


def by_efron(counts, values_of, groups, confidence):
    """Return the BCa interval as Efron writes it (JASA 1987, sections 2 and 4)."""
    normal = NormalDist()
    centre = values_of([1.0] * groups)
    sampled = sorted(values_of(row) for row in counts.tolist())
    below = sum(v < centre for v in sampled) + sum(v == centre for v in sampled) / 2
    share = min(max(below, 0.5), len(sampled) - 0.5) / len(sampled)
    bias = normal.inv_cdf(share)
    without = [values_of([float(j != i) for j in range(groups)]) for i in range(groups)]
    off = [mean(without) - one for one in without]
    spread = sum(x**2 for x in off)
    skew = sum(x**3 for x in off) / (6 * spread**1.5) if spread else 0.0
    ends = []
    for level in ((1 - confidence) / 2, (1 + confidence) / 2):
        shifted = bias + normal.inv_cdf(level)
        ends.append(normal.cdf(bias + shifted / (1 - skew * shifted)))
    low, high = (float(np.quantile(sampled, end)) for end in ends)
    return centre, min(low, centre), max(high, centre)


def value_of(top, bottom):
    def found(weights):
        under = sum(w * b for w, b in zip(weights, bottom, strict=True))
        over = sum(w * t for w, t in zip(weights, top, strict=True))
        return over / under if under > 0 else 0.0

    return found


@settings(max_examples=40)
@given(
    top=st.lists(st.integers(-4, 9), min_size=4, max_size=4),
    bottom=st.lists(st.integers(0, 6), min_size=4, max_size=4),
    other=st.lists(st.integers(0, 6), min_size=4, max_size=4),
    paired=st.booleans(),
    confidence=st.sampled_from([0.6, 0.9]),
    seed=st.integers(0, 9),
)
def test_the_interval_over_groups_is_efrons(
    top, bottom, other, paired, confidence, seed
):
    counts = draws(4, np.random.default_rng(seed), resamples=60)
    first = Ratio(np.array(top, np.float64), np.array(bottom, np.float64))
    second = Ratio(np.array(other, np.float64), np.array(bottom, np.float64))
    one, two = value_of(top, bottom), value_of(other, bottom)

    def statistic(weights):
        return one(weights) - (two(weights) if paired else 0.0)

    found = cluster_interval(
        counts, first, second if paired else None, confidence=confidence
    )
    values = {round(statistic(row), 12) for row in counts.tolist()}
    if len(values) > 1:
        expected = by_efron(counts, statistic, 4, confidence)
        assert found == pytest.approx(expected, abs=1e-9)
    else:
        assert found == pytest.approx((statistic([1.0] * 4),) * 3)


def test_a_ratio_counts_each_group_as_often_as_it_was_drawn():
    groups = Ratio(np.array([1.0, 2.0]), np.array([4.0, 0.0]))
    counts = np.array([[1.0, 1.0], [0.0, 2.0], [2.0, 0.0], [0.0, 0.0]])
    assert groups.of(counts).tolist() == [0.75, 0.0, 0.25, 0.0]
    small = Ratio(np.array([0.25]), np.array([0.5]))
    assert small.of(np.ones((1, 1))).tolist() == [0.5]


@pytest.mark.parametrize(
    ("rows", "groups", "minus"),
    [
        # every resample lies above the mean, or below it: half of one does not
        ([[3, 0, 0], [2, 1, 0]], ([3, 1, 0], [1, 1, 1]), None),
        ([[0, 0, 3], [0, 1, 2]], ([3, 1, 0], [1, 1, 1]), None),
        # without either group the difference is the same, so nothing is skewed
        ([[2, 0], [1, 1], [0, 2], [1, 1]], ([1, 6], [2, 8]), ([2, 1], [8, 2])),
    ],
)
def test_resamples_on_one_side_and_groups_that_are_alike(rows, groups, minus):
    def ratio_of(pair):
        return Ratio(*(np.array(side, np.float64) for side in pair))

    def statistic(weights):
        other = value_of(*minus)(weights) if minus else 0.0
        return value_of(*groups)(weights) - other

    counts = np.array(rows, np.float64)
    found = cluster_interval(
        counts, ratio_of(groups), ratio_of(minus) if minus else None, confidence=0.9
    )
    expected = by_efron(counts, statistic, counts.shape[1], 0.9)
    assert found == pytest.approx(expected)


def test_resamples_that_are_all_alike_say_nothing_of_how_sure_we_are():
    two = Ratio(np.array([0.0, 1.0]), np.ones(2))
    assert cluster_interval(np.array([[2.0, 0.0]] * 3), two) == (0.5, 0.5, 0.5)


def test_two_groups_have_an_interval_and_one_has_none():
    two = Ratio(np.array([0.0, 1.0]), np.ones(2))
    found = cluster_interval(draws(2, np.random.default_rng(0)), two)
    assert (found.mean, found.low, found.high) == (0.5, 0.0, 1.0)
    one = Ratio(np.array([3.0]), np.array([4.0]))
    wild = np.array([[1.0], [0.0]])  # however it is drawn
    assert cluster_interval(wild, one) == (0.75, 0.75, 0.75)


# Sums


@given(
    st.lists(
        st.tuples(st.sampled_from("bca"), st.integers(0, 5)), min_size=1, max_size=9
    )
)
def test_sums_are_added_group_by_group_in_the_order_of_appearance(rows):
    names, code = group_codes([g for g, _ in rows], len(rows))
    sums = sum_by_group(code, np.array([v for _, v in rows], np.float64), len(names))
    expected: dict[str, float] = {}
    for group, value in rows:
        expected[group] = expected.get(group, 0.0) + value
    assert dict(zip(names, sums.tolist(), strict=True)) == expected
    assert names == tuple(expected)


def test_items_without_groups_are_all_in_one():
    names, code = group_codes((), 3)
    assert (names, code.tolist()) == (("",), [0, 0, 0])


def sums_of(value, **more):
    columns = ("weight", "fresh", "age", "harmonic", "looks", "changed")
    given_ = {name: np.array([value, value]) for name in columns}
    return GroupSums(
        ("a", "b"), **{**given_, **{n: np.array(v) for n, v in more.items()}}
    )


def test_scores_are_ratios_of_sums():
    some = sums_of(
        1.0, weight=[4.0, 12.0], fresh=[1.0, 7.0], age=[2.0, 2.0], harmonic=[8.0, 4.0],
        looks=[5.0, 5.0], changed=[0.0, 1.0],
    )  # fmt: skip
    assert some.freshness == 0.5
    assert some.mean_age == 0.25
    assert some.harmonic_delay == 0.75
    assert some.change_ratio == 0.1
    assert sums_of(0.0).freshness == 1.0
    assert sums_of(0.0).mean_age == sums_of(0.0).harmonic_delay == 0.0
    assert sums_of(0.0).change_ratio == 0.0
    assert ratio(np.array([0.25]), np.array([0.5]), 7.0) == 0.5
    assert ratio(np.array([0.25]), np.array([0.0]), 7.0) == 7.0


def test_repetitions_are_averaged_group_by_group():
    first = sums_of(1.0, fresh=[0.0, 1.0])
    second = sums_of(3.0, fresh=[4.0, 5.0])
    assert average_runs([first]).fresh.tolist() == first.fresh.tolist()
    mean_ = average_runs([first, second])
    assert mean_.names == ("a", "b")
    assert mean_.fresh.tolist() == [2.0, 3.0]
    assert mean_.weight.tolist() == mean_.age.tolist() == [2.0, 2.0]
    assert mean_.looks.tolist() == mean_.changed.tolist() == [2.0, 2.0]


def test_staleness_of_a_perfect_score_is_not_nothing_but_very_little():
    # log 0 is never taken: 1e-12 stands for it, on both sides
    found, known = requests_for(1.0 - 1e-6, np.array([1.0, 4.0]), np.array([0.0, 1.0]))
    assert known
    assert found == pytest.approx(4.0 ** (log(1e6) / log(1e12)))
