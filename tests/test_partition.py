from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import stats

from halflife.core.filters import parse
from halflife.grouping.cuts import Blocks, best_cut, gain_of
from halflife.grouping.partition import PartitionTerms, partition
from halflife.grouping.risk import (
    ExposureSpans,
    at_risk,
    cells,
    dispersion,
    rate_interval,
)
from lab.grouping.pearson import k_means, life_bins, pearson_groups
from set_lives import grown

SLOW, FAST = 0.02, 0.08


def cut_by(lives, names=("kind",), seed=0, **terms):
    return partition(
        lives, names, np.random.default_rng(seed), terms=PartitionTerms(**terms)
    )


def log_likelihood(risk, group, count):
    d = np.bincount(group, risk.dead, count)
    t = np.bincount(group, risk.time, count)
    return float(gain_of(d, t).sum())


@pytest.fixture
def mixed(rng):
    """Four kinds: two that live long, two that do not."""
    rates = [SLOW, SLOW, FAST, FAST]
    return grown(rng, rates, arrivals=20.0, start=400, values=["a", "b", "c", "d"])


@pytest.fixture
def rng():
    return np.random.default_rng(5)


def test_two_clearly_different_groups_are_found(mixed):
    found = cut_by(mixed.lives)
    assert len(found) == 2
    kind = mixed.lives.attributes["kind"]
    assert np.array_equal(found.of == 1, np.isin(kind, ["c", "d"]))
    slow, fast = found.groups
    assert slow.low < SLOW < slow.high
    assert fast.low < FAST < fast.high


def test_equal_rates_give_one_group_nearly_always():
    groups = []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        lives = grown(rng, [0.05] * 6, arrivals=4.0).lives
        number = rng.normal(size=len(lives))
        lives = replace(lives, attributes={**lives.attributes, "size": number})
        groups.append(len(cut_by(lives, ("kind", "size"), seed, lasting=False)))
    assert np.mean(np.array(groups) == 1) >= 0.95


def test_ends_that_come_together_are_not_taken_for_a_higher_rate(rng):
    wrong = {True: 0, False: 0}
    for _ in range(40):
        # objects of a kind go ten at a time
        kind, batch = np.repeat(np.arange(20), 30), np.repeat(np.arange(60), 10)
        entry = np.zeros(600)
        leave = np.minimum(rng.exponential(80.0, 60)[batch], 60.0)
        risk = ExposureSpans(entry, leave, leave < 60)
        deaths, time = cells(risk, kind, 20, np.linspace(0, 60, 31))
        for allowed in wrong:
            wide = dispersion(deaths, time) if allowed else 1.0
            blocks = Blocks(deaths.sum(axis=1), time.sum(axis=1), False, False)
            wrong[allowed] += best_cut(blocks, 10.0, wide, rng, 0.01).chance <= 0.01
    assert wrong[True] == 0
    assert wrong[False] > 5


def test_a_rule_can_be_read_and_used_as_a_filter(mixed):
    found = cut_by(mixed.lives)
    for number, group in enumerate(found.groups):
        wanted = parse(group.rule)(mixed.lives.attributes)
        assert np.array_equal(wanted, found.of == number)


def test_new_objects_go_where_their_like_are(mixed):
    found = cut_by(mixed.lives)
    assert np.array_equal(found.assign(mixed.lives.attributes), found.of)
    new = np.array(["a", "c", "never seen", None], dtype=object)
    assert found.assign({"kind": new})[:2].tolist() == [0, 1]
    assert set(found.assign({"kind": new}).tolist()) <= {0, 1}


def test_missing_values_are_a_category_of_their_own(rng):
    lives = grown(
        rng, [SLOW, SLOW, 0.1], arrivals=20.0, start=400, values=["a", "b", None]
    ).lives
    found = cut_by(lives)
    gone = np.array([v is None for v in lives.attributes["kind"]])
    assert np.array_equal(found.of == 1, gone)
    assert "missing" in found.splits[0].rule


def test_rare_categories_are_pooled(rng):
    lives = grown(rng, [SLOW, FAST], arrivals=20.0, start=400, values=["a", "b"]).lives
    kind = lives.attributes["kind"].copy()
    rare = np.flatnonzero(kind == "b")
    kind[rare] = [f"b{i}" for i in range(rare.size)]
    lives = replace(lives, attributes={"kind": kind})
    found = cut_by(lives)
    assert np.array_equal(found.of == 0, kind == "a")
    assert found.assign({"kind": np.array(["b-new"], dtype=object)}).tolist() == [1]


@pytest.mark.parametrize("as_text", [False, True])
def test_numbers_are_cut_at_a_threshold(rng, as_text):
    lives = grown(rng, [SLOW, FAST], arrivals=20.0, start=400, values=[0, 1]).lives
    fast = lives.attributes["kind"].astype(int)
    year = 2000 + 5 * fast + rng.integers(5, size=len(lives))
    values = year.astype(str).astype(object) if as_text else year
    found = cut_by(replace(lives, attributes={"year": values}), ("year",))
    assert found.splits[0].rule == "year <= 2004"
    assert np.array_equal(found.of, fast)


def test_missing_numbers_join_the_side_they_are_like(rng):
    lives = grown(rng, [SLOW, FAST], arrivals=20.0, start=400, values=[0, 1]).lives
    fast = lives.attributes["kind"].astype(int)
    size = fast * 10.0 + rng.integers(5, size=len(lives))
    size[(fast == 0) & (rng.random(len(lives)) < 0.5)] = np.nan
    found = cut_by(replace(lives, attributes={"size": size}), ("size",))
    assert np.array_equal(found.of, fast)
    assert "size is missing" in found.splits[0].rule


def test_several_attributes_make_a_tree(rng):
    rates = [0.01, 0.03, 0.1, 0.1]
    lives = grown(rng, rates, arrivals=40.0, start=800, values=[0, 1, 2, 3]).lives
    code = lives.attributes["kind"].astype(int)
    attributes = {
        "make": np.array(["a", "b"], dtype=object)[code // 2],
        "size": (code % 2).astype(float),
        "noise": rng.normal(size=len(lives)),
    }
    lives = replace(lives, attributes=attributes)
    found = cut_by(lives, ("noise", "size", "make"))
    assert len(found) == 3
    assert not any("noise" in s.rule for s in found.splits)
    assert np.array_equal(found.of, np.minimum(code, 2))
    assert np.array_equal(found.assign(attributes), found.of)


@given(seed=st.integers(0, 1000))
def test_the_order_of_lives_and_names_does_not_matter(seed):
    rng = np.random.default_rng(seed)
    lives = grown(rng, [SLOW, 0.05, FAST], arrivals=8.0).lives
    order = rng.permutation(len(lives))
    one, other = cut_by(lives), cut_by(lives.take(order))
    assert [g.rule for g in one.groups] == [g.rule for g in other.groups]
    assert np.array_equal(one.of[order], other.of)


@given(seed=st.integers(0, 1000))
def test_more_groups_never_fit_worse(seed):
    rng = np.random.default_rng(seed)
    lives = grown(rng, rng.uniform(0.01, 0.2, 5), arrivals=8.0).lives
    risk = at_risk(lives)
    fits = []
    for most in (1, 2, 3, 6):
        found = cut_by(lives, least=2.0, level=1.0, most=most, lasting=False)
        fits.append(log_likelihood(risk, found.of, len(found)))
    assert np.all(np.diff(fits) >= -1e-9)


@pytest.mark.parametrize("rates", [[], [0.1]])
def test_nothing_to_learn_from_is_one_group(rng, rates):
    lives = grown(rng, rates or [1e-9], days=3, start=4, arrivals=0.0).lives
    lives = lives if rates else lives.take(np.zeros(0, dtype=np.intp))
    found = cut_by(lives, ("kind",) if rates else ())
    assert len(found) == 1
    assert found.groups[0].rule == ""
    assert all(np.isfinite([g.rate, g.low, g.high]).all() for g in found.groups)


@given(
    st.lists(st.tuples(st.integers(0, 30), st.floats(1, 100)), min_size=2, max_size=7)
)
def test_the_scan_finds_the_best_of_all_ways_to_part_categories(counts):
    deaths, time = (np.array(v, dtype=float) for v in zip(*counts, strict=True))
    rng = np.random.default_rng(0)
    best = best_cut(Blocks(deaths, time, False, False), 0.0, 1.0, rng, 0.01).gain

    def gain(side):
        side = np.isin(np.arange(deaths.size), side).astype(int)
        parts = gain_of(np.bincount(side, deaths, 2), np.bincount(side, time, 2))
        whole = gain_of(np.array([deaths.sum()]), np.array([time.sum()]))
        return 2 * (parts.sum() - whole[0])

    ways = (
        gain(side)
        for size in range(1, deaths.size)
        for side in combinations(range(deaths.size), size)
    )
    assert best == pytest.approx(max(ways), abs=1e-7)


def test_the_chance_of_a_cut_is_right_where_it_is_simulated():
    rng = np.random.default_rng(1)
    time = np.full(8, 100.0)
    chances = []
    for _ in range(300):
        deaths = rng.multinomial(160, time / time.sum()).astype(float)
        chances.append(
            best_cut(Blocks(deaths, time, False, False), 0, 1, rng, 0.05).chance
        )
    assert 0.01 < np.mean(np.array(chances) <= 0.05) < 0.09


def test_the_interval_of_a_rate_is_the_exact_poisson_one():
    low, high = stats.poisson(rate_interval(7, 50.0).low * 50).sf(6), None
    high = stats.poisson(rate_interval(7, 50.0).high * 50).cdf(7)
    assert (low, high) == (pytest.approx(0.025), pytest.approx(0.025))
    assert rate_interval(0, 10.0).low == 0.0
    assert rate_interval(3, 0.0) == (0.0, 0.0, 0.0)


def test_dispersion_is_one_for_poisson_and_more_for_bursts():
    rng = np.random.default_rng(2)
    time = rng.uniform(50, 150, (10, 30))
    plain = rng.poisson(0.05 * time).astype(float)
    assert dispersion(plain, time) == pytest.approx(1.0, abs=0.15)
    assert dispersion(3 * rng.poisson(0.05 * time / 3), time) == pytest.approx(
        3, rel=0.2
    )
    shocks = rng.gamma(1.0, 1.0, 30)  # bad days for all kinds are no bursts of one
    assert dispersion(rng.poisson(0.05 * time * shocks) * 1.0, time) < 1.2


@given(
    st.lists(st.floats(0, 1), min_size=1, max_size=7),
    st.integers(1, 4),
)
def test_k_means_on_a_line_is_exact(values, clusters):
    values = np.array(values)
    label = k_means(values, clusters)

    def spread(groups):
        return sum(((g - g.mean()) ** 2).sum() for g in groups if g.size)

    ordered = np.sort(values)
    cuts = combinations(range(1, values.size), min(clusters, values.size) - 1)
    best = min(spread(np.split(ordered, list(c))) for c in cuts)
    found = spread([values[label == k] for k in range(clusters)])
    assert found == pytest.approx(best, abs=1e-9)


def test_pearson_groups_part_what_differs_and_count_the_watched_time(mixed):
    kind, label = np.unique(
        mixed.lives.attributes["kind"].astype(str), return_inverse=True
    )
    steps = pearson_groups(at_risk(mixed.lives), label, kind.tolist())
    assert steps[0].groups == (("a", "b", "c", "d"),)
    assert steps[1].groups == (("a", "b"), ("c", "d"))
    assert steps[1].gain > 100
    assert all(s.gain > 1.5 for s in steps[1:])


def test_bins_of_life_span_hold_enough_ends(mixed):
    risk = at_risk(mixed.lives)
    edges = life_bins(risk, enough=40)
    aged = ExposureSpans(np.zeros(len(mixed.lives)), risk.time, risk.dead)
    counts, _ = cells(aged, np.zeros(len(mixed.lives), dtype=np.intp), 1, edges)
    assert counts.min() >= 40
    assert counts.sum() == risk.dead.sum()
    none = at_risk(mixed.lives.take(np.zeros(0, dtype=np.intp)))
    assert life_bins(none).tolist() == [0.0, np.inf]
    assert pearson_groups(none, none.dead.astype(np.intp), ["a"])[0].statistic == 0.0


def test_a_life_watched_for_a_while_counts_for_that_while():
    risk = ExposureSpans(
        np.array([0.0, 2.0]), np.array([10.0, 4.0]), np.array([True, False])
    )
    part = risk.between(3.0, 8.0)
    assert part.time.tolist() == [5.0, 1.0]
    assert part.dead.tolist() == [False, False]
    assert risk.between(8.0, 12.0).dead.tolist() == [True, False]
