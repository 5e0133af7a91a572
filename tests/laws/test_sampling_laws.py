"""Laws of sampling: how many, which, what the sample says, and how it is spent."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.random import default_rng
from scipy import stats

from contracts.views import after, view_of
from halflife.core.budget import Budget
from halflife.core.categories import Categories
from halflife.models.fractions import CategorySample, prior_strength, weighted_sample
from halflife.models.poisson import Exponential
from halflife.policies.sampling import (
    Sampling,
    _mean_weight,
    _places,
    _samples,
    _why,
    draws,
    topic_sampling,
)
from halflife.policies.sampling.categories import (
    KeyCategories,
    by_folder,
    by_site,
    covering,
    file_by_folder,
    merge_small,
)
from halflife.policies.sampling.shares import (
    ShareJudge,
    _logit,
    adjusted,
    best_category,
    pooled,
    quotas,
    ranks,
)
from halflife.policies.sampling.sizes import (
    FixedSize,
    Optimal,
    Root,
    believed,
    last_share,
    scaled,
    spread_factor,
    staleness,
)

FEW = settings(max_examples=25, deadline=None)
seeds = st.integers(0, 10_000)


def filed(n, rng, names=("a", "b", "c", "d")):
    """Return categories in which an item is in none, one or several."""
    pairs = [(j, i) for i in range(n) for j in range(len(names)) if rng.random() < 0.4]
    where, rows = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
    return Categories.of_pairs(names, where, rows, n)


def world(seed, n=14):
    """Return a view of unlike items, some tried in this turn, and categories."""
    rng = default_rng(seed)
    view = view_of(n, rng)
    looked = rng.random(n) < 0.4
    age = np.where(looked & (rng.random(n) < 0.8), 0.0, view.age)
    age = np.where(view.looks > 0, age, np.inf)
    held = np.isfinite(age)
    rate = rng.exponential(0.3, n)
    return replace(
        view,
        looked=looked,
        age=age,
        exposure=np.where(held, age, np.inf),
        survival=Exponential(rate),
        rate=rate,
    ), filed(n, rng)


# How many


def test_eq_7_is_worked_out_as_printed():
    # five categories of unlike size; the budget of 8 reaches the third most changed
    share = np.array([0.1, 0.9, 0.5, 0.7, np.nan, 0.3])
    size = np.array([9.0, 4.0, 3.0, 2.0, 5.0, 9.0])
    known = share[np.isfinite(share)]
    above = (0.9 + 0.7) / 2
    width = 1.06 * np.std(known) * 5**-0.2
    density = np.mean(stats.norm.pdf(0.5, known, width))
    expected = density / (6 * (above - known.mean()))
    assert spread_factor(share, size, 8.0) == pytest.approx(expected)
    # 4 + 2 + 3 = 9 requests still end in the third, one more in the fourth
    assert spread_factor(share, size, 9.0) == pytest.approx(expected)
    assert spread_factor(share, size, 9.5) != pytest.approx(expected)
    # 6 end in the second, above which there is but one
    second = np.mean(stats.norm.pdf(0.7, known, width)) / (6 * (0.9 - known.mean()))
    assert spread_factor(share, size, 6.0) == pytest.approx(second)


def test_eq_7_cannot_be_told_from_few_or_equal_shares():
    assert spread_factor(np.array([0.2, 0.8]), np.ones(2), 1.0) == 1.0
    assert spread_factor(np.array([0.2, 0.8, 0.5]), np.ones(3), 2.0) != 1.0
    assert spread_factor(np.array([0.2, 0.8, 0.5]), np.array([1.0, 1, 0]), 2.0) == 1.0
    # all of the budget goes to the most changed: nobody is above it
    assert spread_factor(np.array([0.2, 0.8, 0.5]), np.ones(3), 1.0) == 1.0
    # a budget beyond all categories ends in the least changed one
    most = spread_factor(np.array([0.2, 0.8, 0.5]), np.ones(3), 99.0)
    assert most == spread_factor(np.array([0.2, 0.8, 0.5]), np.ones(3), 3.0)


def test_eq_7_stays_within_a_hundred_times_of_the_root():
    near = np.full(2000, 0.5) + np.linspace(0, 0.005, 2000)
    assert spread_factor(near, np.ones(2000), 1000.0) == 100.0
    apart = np.concatenate([np.zeros(500) + np.linspace(0, 1e-3, 500), np.ones(500)])
    apart[0] = 0.5  # alone in the middle, where there is no density
    assert spread_factor(apart, np.ones(1000), 500.5) == 0.01


def test_sizes_are_the_root_of_average_times_budget_times_factor():
    view = replace(
        view_of(12, default_rng(0)),
        looks=np.full(12, 3),
        looked=np.zeros(12, bool),
        age=np.ones(12),
        exposure=np.ones(12),
        changed=np.arange(12) % 4 < np.repeat([0, 1, 2], 4),
        survival=Exponential(np.repeat([0.1, 0.5, 2.0], 4)),
    )
    three = Categories.of_labels(["a"] * 4 + ["b"] * 4 + ["c"] * 4)
    root = math.sqrt(4 * 6 / 12)
    assert Root("even")(view, three, 6.0) == pytest.approx([root] * 3)
    last = spread_factor(np.array([0.0, 0.25, 0.5]), np.full(3, 4.0), 6.0)
    found = Optimal("even")(view, three, 6.0)
    assert found == pytest.approx([root * math.sqrt(last)] * 3)
    stale = 1 - np.exp(-np.array([0.1, 0.5, 2.0]))
    told = spread_factor(stale, np.full(3, 4.0), 6.0)
    found = Optimal("even", "belief")(view, three, 6.0)
    assert found == pytest.approx([root * math.sqrt(told)] * 3)
    assert last != pytest.approx(told)
    assert FixedSize(2.5)(view, three, 6.0).tolist() == [2.5] * 3


def test_a_single_item_is_a_category_of_average_size():
    view = replace(
        view_of(1, default_rng(0)), looks=np.array([3]), weight=np.array([2.0])
    )
    one = Categories.of_labels(["a"])
    assert Root()(view, one, 9.0) == pytest.approx([3.0])
    assert Optimal()(view, one, 9.0) == pytest.approx([3.0])
    assert scaled(5.0, one).tolist() == scaled(5.0, one, "pages").tolist() == [5.0]
    assert _mean_weight(view, one) == pytest.approx([2.0])
    assert _places(np.ones(1), default_rng(0)).tolist() == [0.0]
    assert draws.importance(view, one) == pytest.approx([1.0])
    nobody, none = view_of(0, default_rng(0)), Categories.of_labels([])
    assert Root()(nobody, none, 9.0).size == Optimal()(nobody, none, 9.0).size == 0


def test_samples_are_scaled_by_size_pages_or_not_at_all():
    three = Categories(
        ("a", "b", "c"), np.array([0, 4, 6, 7]), np.array([0, 1, 2, 3, 3, 4, 5]), 8
    )
    assert scaled(2.0, three, "even").tolist() == [2.0, 2.0, 2.0]
    sizes = [2.0 * 3 * k / 7 for k in (4, 2, 1)]
    assert scaled(2.0, three) == pytest.approx(sizes)
    pages = [2.0 * 3 * k / 8 for k in (4, 2, 1)]
    assert scaled(2.0, three, "pages") == pytest.approx(pages)


@FEW
@given(seed=seeds)
def test_last_and_believed_shares_are_means_over_items_not_tried_in_this_turn(seed):
    view, categories = world(seed)
    stale = staleness(view)
    for i in range(len(view)):
        held = np.isfinite(view.age[i])
        rate = view.survival.rate[i]
        chance = 1 - math.exp(-rate * view.exposure[i]) if held else 1.0
        assert stale[i] == pytest.approx(chance)
    last, now = last_share(view, categories), believed(view, categories)
    for j in range(len(categories)):
        mine = [i for i in categories.members(j) if not view.looked[i]]
        seen = [view.changed[i] for i in mine if view.looks[i] > 1]
        for found, values in ((last[j], seen), (now[j], [stale[i] for i in mine])):
            if values:
                assert found == pytest.approx(np.mean(values))
            else:
                assert np.isnan(found)


# Which


@FEW
@given(seed=seeds, shared=st.booleans())
def test_chances_are_those_of_each_category_joined(seed, shared):
    view, categories = world(seed)
    rng = default_rng(seed)
    wanted = rng.uniform(0.0, 3.0, len(categories))
    size = rng.uniform(0.1, 2.0, categories.item.size)
    draw = draws.design(categories, wanted, size, shared=shared)
    chances = [[] for _ in range(len(view))]
    for j in range(len(categories)):
        entries = np.flatnonzero(categories.category == j)
        total = size[entries].sum()
        for e in entries:
            pi = min(1.0, wanted[j] * size[e] / total)
            chances[categories.item[e]].append(pi)
    for i, mine in enumerate(chances):
        apart = 1 - math.prod(1 - pi for pi in mine)
        expected = (max(mine) if shared else apart) if mine else 0.0
        assert draw.chance[i] == pytest.approx(expected, abs=1e-6)
    assert draw.wanted is wanted
    assert draw.size is size
    assert (draw.chance > 0).all()


@FEW
@given(seed=seeds, requests=st.floats(0.0, 20.0))
def test_samples_fit_into_what_is_at_hand_and_paid_for(seed, requests):
    view, categories = world(seed)
    wanted = default_rng(seed).uniform(0.0, 8.0, len(categories))
    found = draws.fitting(wanted, view, categories, requests)
    cut = np.array(
        [
            min(w, sum(view.ready[i] or view.looked[i] for i in categories.members(j)))
            for j, w in enumerate(wanted)
        ]
    )
    price = cut.sum() * view.cost.mean()
    assert found == pytest.approx(cut * min(1.0, requests / max(price, 1e-9)))
    assert draws.fitting(wanted, view_of(0, default_rng(0)), filed(0, None), 5.0) == (
        pytest.approx(np.zeros(4))
    )


@FEW
@given(seed=seeds, wanted=st.lists(st.floats(0.0, 7.0), min_size=4, max_size=4))
def test_what_is_missing_is_wanted_and_not_yet_tried_unless_it_is_little(seed, wanted):
    view, categories = world(seed)
    draw = draws.Draw(np.array(wanted), np.ones(0), np.ones(0))
    found = draws.missing(draw, view, categories)
    tried, left = [], []
    for j in range(4):
        mine = categories.members(j)
        tried.append(sum(view.looked[i] and view.looks[i] > 1 for i in mine))
        left.append(sum(view.ready[i] and not view.looked[i] for i in mine))
    done = sum(min(t, math.ceil(w)) for t, w in zip(tried, wanted, strict=True))
    if sum(wanted) - done < max(1.0, 0.1 * sum(wanted)) - 1e-9:
        assert found.tolist() == [0.0] * 4
    elif sum(wanted) - done > max(1.0, 0.1 * sum(wanted)) + 1e-9:
        expected = [
            min(max(w - t, 0.0), m) for w, t, m in zip(wanted, tried, left, strict=True)
        ]
        assert found == pytest.approx(expected)


def test_exactly_one_sample_short_is_made_up_for():
    view = replace(
        view_of(4, default_rng(0)),
        looks=np.full(4, 3),
        looked=np.array([True, False, False, False]),
        ready=np.ones(4, bool),
    )
    one = Categories.of_labels(["a"] * 4)
    for wanted, missing in ((2.0, 1.0), (1.9, 0.0), (3.5, 2.5)):
        draw = draws.Draw(np.array([wanted]), np.ones(4), np.ones(4))
        assert draws.missing(draw, view, one) == pytest.approx([missing])


@FEW
@given(seed=seeds)
def test_the_first_of_each_category_are_taken_in_order(seed):
    rng = default_rng(seed)
    _, categories = world(seed)
    order = rng.random(categories.item.size)
    open_ = rng.random(categories.item.size) < 0.7
    most = rng.integers(0, 4, len(categories))
    found = sorted(draws.first(categories, order, open_, most).tolist())
    expected = []
    for j in range(len(categories)):
        mine = [e for e in np.flatnonzero(categories.category == j) if open_[e]]
        expected += sorted(mine, key=lambda e: order[e])[: most[j]]
    assert found == sorted(expected)


def test_picks_go_by_number_over_size_among_what_is_open():
    view = replace(
        view_of(40, default_rng(0)),
        looked=np.arange(40) % 5 == 0,
        ready=np.arange(40) % 7 > 0,
    )
    two = Categories.of_labels([f"c{i % 2}" for i in range(40)])
    size = np.linspace(0.5, 3.0, 40)
    draw = draws.Draw(np.array([4.0, 6.0]), size, np.ones(40))
    found = draws.pick(
        draw, two, np.array([4.0, 6.0]), view, default_rng(3), shared=True
    )
    number = default_rng(3).random(40)
    for j, most in enumerate((4, 6)):
        members = two.members(j)
        entry = {i: e for e, i in enumerate(two.item)}
        mine = [i for i in members if view.ready[i] and not view.looked[i]]
        mine.sort(key=lambda i: number[i] / size[entry[i]])
        assert sorted(
            np.flatnonzero(found & np.isin(np.arange(40), members))
        ) == sorted(mine[:most])


def test_apart_each_category_draws_for_itself():
    view = replace(view_of(30, default_rng(0)), looked=np.zeros(30, bool))
    view = replace(view, ready=np.ones(30, bool))
    twice = Categories(("a", "b"), np.array([0, 30, 60]), np.tile(np.arange(30), 2), 30)
    draw = draws.Draw(np.array([5.0, 5.0]), np.ones(60), np.ones(30))
    together, apart = (
        draws.pick(draw, twice, draw.wanted, view, default_rng(1), shared=s).sum()
        for s in (True, False)
    )
    assert together == 5
    assert 6 <= apart <= 10


@pytest.mark.parametrize(
    ("parts", "start", "whole"),
    [
        ([0.5, 0.5, 2.0], 0.25, [0, 1, 2]),
        ([0.5, 0.5, 2.0], 0.75, [1, 0, 2]),
        ([1.0, 2.0], 0.0, [1, 2]),
        ([0.3, 0.3, 0.3], 0.5, [0, 1, 0]),
        ([1 / 3, 1 / 3, 1 / 3], 0.0, [0, 0, 1]),
    ],
)
def test_parts_become_whole_numbers_by_steps(parts, start, whole):
    assert draws.whole(np.array(parts), start).tolist() == whole


@FEW
@given(seed=seeds)
def test_importance_is_half_even_and_half_weight_times_past_changes(seed):
    view, categories = world(seed)
    found = draws.importance(view, categories)
    now = draws.compared(view)
    before = [
        (
            int(view.changes[i]) - int(now[i] and view.changed[i]),
            max(int(view.looks[i]) - int(now[i]) - 1, 0),
        )
        for i in range(len(view))
    ]
    common = (sum(c for c, _ in before) + 0.5) / (sum(n for _, n in before) + 1)
    each = [
        w * (c + common) / (n + 1)
        for w, (c, n) in zip(view.weight, before, strict=True)
    ]
    for j in range(len(categories)):
        entries = np.flatnonzero(categories.category == j)
        values = [each[categories.item[e]] for e in entries]
        mean = np.mean(values) if sum(values) > 0 else 1.0
        for e, value in zip(entries, values, strict=True):
            assert found[e] == pytest.approx(0.5 * value / mean + 0.5)


@FEW
@given(seed=seeds)
def test_compared_are_good_looks_of_this_turn_at_what_was_seen_before(seed):
    view, _ = world(seed)
    others = [a for a, tried in zip(view.age, view.looked, strict=True) if not tried]
    youngest = min(others, default=math.inf)
    expected = [
        bool(
            view.looked[i]
            and view.ready[i]
            and view.looks[i] > 1
            and view.age[i] < youngest
        )
        for i in range(len(view))
    ]
    assert draws.compared(view).tolist() == expected
    same = replace(view, age=np.zeros(len(view)))  # no older than what was not tried
    assert view.looked.all() or not draws.compared(same).any()
    new = [bool(view.looked[i] and view.looks[i] <= 1) for i in range(len(view))]
    assert draws.first_seen(view).tolist() == new


# What the sample says


def sampled(n=4):
    count = np.array([10.0, 0.0, 4.0, 1.0])[:n]
    mean = np.array([0.3, np.nan, 0.75, 1.0])[:n]
    return CategorySample(mean, count, np.zeros(n))


def test_a_judge_goes_by_what_it_is_told_to():
    view, categories = world(3)
    sample = sampled()
    common = (3.0 + 0.0 + 3.0 + 1.0) / 15.0
    assert pooled(sample, view, categories) == pytest.approx(common)
    plain = ShareJudge()(sample, view, categories)
    assert plain == pytest.approx([0.3, common, 0.75, 1.0])
    changed = np.array([3.0, 0.0, 3.0, 1.0])
    for by, tail in (("lower", 0.1), ("upper", 0.9)):
        found = ShareJudge(by, "exact", 0.8)(sample, view, categories)
        for j in (0, 2):
            x, n = changed[j], sample.count[j]
            law = (
                stats.beta(x, n - x + 1) if by == "lower" else stats.beta(x + 1, n - x)
            )
            assert found[j] == pytest.approx(law.ppf(tail))
        score = ShareJudge(by, "wilson", 0.8)(sample, view, categories)
        z = stats.norm.ppf(0.9)
        for j in (0, 2):  # where |share - p| is z standard deviations of p
            p, n = score[j], sample.count[j]
            off = abs(changed[j] / n - p) / math.sqrt(p * (1 - p) / n)
            assert off == pytest.approx(z)
        assert (score[1], found[1]) == ((0.0, 0.0) if by == "lower" else (1.0, 1.0))


def test_a_posterior_lies_between_the_prior_and_the_sample():
    view, categories = world(3)
    sample, changed = sampled(), np.array([3.0, 0.0, 3.0, 1.0])
    common = 7.0 / 15.0
    k = prior_strength(changed, sample.count, np.full(4, common))
    found = ShareJudge("posterior")(sample, view, categories)
    assert found == pytest.approx((k * common + changed) / (k + sample.count))
    own = believed(view, categories)
    prior = np.where(np.isfinite(own), own, common)
    k = prior_strength(changed, sample.count, prior)
    found = ShareJudge("history")(sample, view, categories)
    assert found == pytest.approx((k * prior + changed) / (k + sample.count))


def test_without_a_sample_the_share_of_all_is_the_believed_one():
    view, categories = world(5)
    nothing = CategorySample(np.full(4, np.nan), np.zeros(4), np.full(4, np.nan))
    own = believed(view, categories)
    assert pooled(nothing, view, categories) == pytest.approx(np.nanmean(own))
    tried = replace(view, looked=np.ones(len(view), bool))
    assert pooled(nothing, tried, categories) == 0.5


@FEW
@given(
    pairs=st.lists(
        st.tuples(
            st.just(0.0) | st.floats(0.1, 9.0), st.just(0.0) | st.floats(0.5, 9.0)
        ),
        min_size=1,
        max_size=6,
    ),
    part=st.floats(0.0, 1.2),
)
def test_quotas_fill_up_in_proportion_and_then_the_rest(pairs, part):
    share, most = (np.array(column) for column in zip(*pairs, strict=True))
    requests = part * float(most.sum())
    found = quotas(share, most, requests)
    assert (found <= most + 1e-9).all()
    assert (found >= 0).all()
    assert found.sum() == pytest.approx(min(requests, most.sum()), abs=1e-6)
    has = (share > 0) & (most > 0)
    room = float(most[has].sum())
    if requests < room:
        level = max((found[has] / share[has]).max(initial=0.0), 0.0)
        expected = np.minimum(most[has], level * share[has])
        np.testing.assert_allclose(found[has], expected, atol=1e-6)
        assert not found[~has].any()
    else:
        np.testing.assert_allclose(found[has], most[has], atol=1e-6)
        left = most[share == 0]
        if left.sum() > 0:
            even = min((requests - room) / left.sum(), 1.0)
            np.testing.assert_allclose(found[share == 0], even * left, atol=1e-6)


def test_ranks_go_down_and_ties_fall_by_chance():
    score = np.array([0.2, 0.9, 0.2, 0.5])
    firsts = set()
    for seed in range(20):
        rank = ranks(score, default_rng(seed))
        assert (rank[1], rank[3], {rank[0], rank[2]}) == (0, 1, {2, 3})
        firsts.add(int(rank[0]))
    assert firsts == {2, 3}


@FEW
@given(seed=seeds)
def test_the_best_category_of_an_item_has_the_lowest_rank(seed):
    categories = covering(world(seed)[1])
    rank = default_rng(seed).permutation(len(categories))
    found = best_category(categories, rank)
    for i in range(categories.n_items):
        mine = [
            j for j in range(len(categories)) if i in categories.members(j).tolist()
        ]
        assert found[i] == min(mine, key=lambda j: rank[j])


@FEW
@given(seed=seeds)
def test_odds_are_multiplied_by_the_geometric_mean_of_what_categories_showed(seed):
    view, categories = world(seed)
    rng = default_rng(seed)
    stale, share = rng.uniform(0.05, 0.95, len(view)), rng.uniform(0.05, 0.95, 4)
    own = believed(view, categories)
    found = adjusted(stale, share, view, categories)
    for i in range(len(view)):
        factors = []
        for j in range(4):
            if i in categories.members(j).tolist():
                q = own[j] if np.isfinite(own[j]) else share[j]
                q = min(max(q, 1e-4), 1 - 1e-4)
                p = share[j]
                factors.append(p * (1 - q) / (q * (1 - p)))
        times = math.prod(factors) ** (1 / len(factors)) if factors else 1.0
        odds = stale[i] / (1 - stale[i]) * times
        assert found[i] == pytest.approx(odds / (1 + odds))


def test_the_surest_shares_have_finite_odds():
    low, high = _logit(np.array([0.0, 1.0]))
    assert high == pytest.approx(math.log((1 - 1e-4) / 1e-4))
    assert low == pytest.approx(-high)
    assert _logit(np.array([0.2])) == pytest.approx([math.log(0.25)])


# Categories


def test_small_folders_are_filed_above_and_whole_sites_stay():
    names = ["h/a/b/", "h/a/b/", "h/a/c/", "h/d/", "h/d/", "h/d/", "g/"]
    found = merge_small(names, 3)
    assert found["h/d/"] == "h/d/"  # three are enough
    assert found["h/a/b/"] == found["h/a/c/"] == "h/a/"  # two and one make three
    assert found["g/"] == "g/"  # nothing is above a site
    assert merge_small(names, 4)["h/d/"] == "h/"
    assert merge_small(names, 1) == {name: name for name in names}
    assert merge_small([], 3) == {}


def test_pages_are_filed_by_the_merged_folder():
    keys = [*(f"http://h/a/{i}" for i in range(3)), "http://h/b/1", "http://g/x"]
    found = file_by_folder(keys, fewest=2)
    assert len(found) == 3
    assert found.members(0).tolist() == [0, 1, 2]
    assert sorted(map(tuple, (found.members(1), found.members(2)))) == [(3,), (4,)]


def test_categories_are_found_once_for_each_set_of_keys():
    asked = []
    kept = KeyCategories(lambda keys: asked.append(keys) or Categories.of_labels(keys))
    view = view_of(3, default_rng(0))
    assert kept(view) is kept(replace(view, now=5.0))
    other = view_of(4, default_rng(0))
    assert kept(other).n_items == 4
    assert len(asked) == 2
    assert isinstance(by_folder(), KeyCategories)


def test_sites_are_the_groups_of_a_view():
    view = replace(view_of(6, default_rng(0)), group=np.array([4, 0, 4, 9, 0, 4]))
    found = by_site(view)
    assert found.names == ("group 0", "group 4", "group 9")
    assert [found.members(j).tolist() for j in range(3)] == [[1, 4], [0, 2, 5], [3]]


@FEW
@given(seed=seeds)
def test_what_is_in_no_category_makes_up_one_more(seed):
    _, categories = world(seed)
    found = covering(categories)
    held = set(categories.item.tolist())
    rest = [i for i in range(categories.n_items) if i not in held]
    if rest:
        assert found.names == (*categories.names, "none")
        assert found.members(4).tolist() == rest
    else:
        assert found is categories
    for j in range(4):
        assert found.members(j).tolist() == categories.members(j).tolist()
    assert found.n_items == categories.n_items


# How it is spent


def turn_view(n=40, groups=4, seed=0):
    """Return a view of items seen before, none of them tried."""
    rng = default_rng(seed)
    view = view_of(n, rng)
    age = rng.uniform(1.0, 9.0, n)
    return replace(
        view,
        weight=rng.uniform(0.5, 4.0, n),
        cost=np.ones(n),
        group=np.arange(n) % groups,
        looks=np.full(n, 3),
        changes=rng.integers(0, 3, n),
        looked=np.zeros(n, bool),
        ready=np.ones(n, bool),
        age=age,
        exposure=age,
    )


def test_the_sample_is_wanted_by_the_budget_of_the_whole_turn():
    view, policy = turn_view(), Sampling(size=Root("even"))
    sites = by_site(view)
    first = policy.draw(view, sites, Budget(12))
    root = math.sqrt(10 * 12 / 40)  # average size times budget over items
    assert first.wanted == pytest.approx([min(root, 0.5 * 12 / 4)] * 4)
    rows = np.arange(5)
    again = policy.draw(after(view, rows, view.changed), sites, Budget(7))
    assert again.wanted == pytest.approx(first.wanted)
    assert first.size.tolist() == [1.0] * 40
    new = replace(
        after(view, rows, view.changed), looks=np.where(np.arange(40) < 5, 1, 3)
    )  # what was seen for the first time was no sample, and is not counted
    less = policy.draw(new, sites, Budget(7))
    assert less.wanted == pytest.approx([min(math.sqrt(10 * 7 / 40), 0.5 * 7 / 4)] * 4)


@pytest.mark.parametrize("share", [0.25, 1.0])
def test_no_more_than_its_share_of_a_turn_goes_into_the_sample(share):
    view, policy = turn_view(), Sampling(size=FixedSize(10), share=share)
    draw = policy.draw(view, by_site(view), Budget(12))
    assert draw.wanted.sum() == pytest.approx(share * 12)


def test_what_is_sampled_is_weighed_by_the_chance_to_be_drawn():
    view = turn_view()
    changed = np.arange(40) % 3 == 0
    seen = after(view, np.arange(0, 40, 2), changed)
    sites = by_site(view)
    for heavy in (False, True):
        policy = Sampling(weighted=heavy, size=FixedSize(3))
        draw = policy.draw(seen, sites, Budget(20))
        if heavy:
            assert draw.size == pytest.approx(draws.importance(seen, sites))
        found = policy.sample(seen, sites, draw)
        for j in range(4):
            mine = [i for i in sites.members(j) if seen.looked[i]]
            weight = seen.weight[mine] if heavy else np.ones(len(mine))
            alone = weighted_sample(
                np.zeros(len(mine), int), changed[mine], weight, draw.chance[mine], 1
            )
            if mine:
                assert found.mean[j] == pytest.approx(alone.mean[0])
                assert found.count[j] == pytest.approx(alone.count[0])
            else:
                assert found.count[j] == 0.0


def test_the_mean_weight_of_a_category_is_that_of_its_items():
    view, categories = world(2)
    found = _mean_weight(view, categories)
    for j in range(4):
        mine = view.weight[categories.members(j)]
        assert found[j] == pytest.approx(mine.mean() if mine.size else 0.0)


def test_places_rise_with_the_value_and_stay_below_one():
    place = _places(np.array([3.0, 1.0, 2.0, 9.0]), default_rng(0))
    assert place.tolist() == [0.5, 0.0, 0.25, 0.75]
    ties = {tuple(_places(np.zeros(2), default_rng(s)).tolist()) for s in range(20)}
    assert ties == {(0.0, 0.5), (0.5, 0.0)}
    assert _places(np.zeros(0), default_rng(0)).size == 0


def test_a_sample_plans_what_was_picked_at_what_it_may_gain():
    view = turn_view(6)
    picked = np.array([True, False, True, False, False, True])
    plan = _samples(view, Budget(2), picked)
    assert plan.rows.tolist() == [0, 2]
    assert plan.gain == pytest.approx((view.weight * staleness(view))[[0, 2]])


def test_greedy_takes_the_most_changed_category_and_inside_the_stalest():
    view = turn_view()
    changed = np.arange(40) % 4 == 2  # all of group 2
    seen = after(view, np.arange(12), changed)
    stale = staleness(seen)
    policy = Sampling(size=FixedSize(3), inside="staleness")
    plan = policy(seen, Budget(9), default_rng(0))
    first = [i for i in range(12, 40) if i % 4 == 2]
    assert set(plan.rows[: len(first)]) == set(first)
    ordered = stale[plan.rows[: len(first)]]
    assert (np.diff(ordered) <= 0).all()
    assert plan.gain[: len(first)] == pytest.approx(1.0)
    first = [
        tuple(Sampling(size=FixedSize(3))(seen, Budget(3), default_rng(s)).rows)
        for s in range(6)
    ]
    assert len(set(first)) > 3  # by chance, whatever is believed
    heavy = Sampling(size=FixedSize(3), inside="staleness", weighted=True)
    plan = heavy(seen, Budget(5), default_rng(0))
    value = (seen.weight * stale)[plan.rows]
    assert (np.diff(value) <= 0).all()
    mean = _mean_weight(seen, by_site(seen))[2]
    assert plan.gain == pytest.approx(mean)


def test_odds_plan_what_is_heavy_and_likely_stale():
    seen = after(turn_view(), np.arange(12), np.arange(40) % 4 == 2)
    sites = by_site(seen)
    for heavy in (False, True):
        policy = Sampling(size=FixedSize(3), inside="odds", weighted=heavy)
        plan = policy(seen, Budget(6), default_rng(0))
        sample = policy.sample(seen, sites, policy.draw(seen, sites, Budget(6)))
        share = ShareJudge()(sample, seen, sites)
        chance = adjusted(staleness(seen), share, seen, sites)
        value = np.where(seen.looked, -1.0, chance * (seen.weight if heavy else 1.0))
        assert plan.rows.tolist() == np.argsort(-value, kind="stable")[:6].tolist()
        assert plan.gain == pytest.approx(value[plan.rows])


def test_in_proportion_each_category_gets_its_part_of_the_requests():
    view = turn_view(80)
    view = replace(view, cost=np.full(80, 2.0))
    changed = np.isin(np.arange(80) % 4, (1, 3)) & (np.arange(80) < 8)
    changed |= np.arange(80) % 4 == 2
    seen = after(view, np.arange(16), changed)  # four of each: 0, 1/2, 1 and 1/2
    policy = Sampling(spend="proportional", size=FixedSize(4))
    plan = policy(seen, Budget(32), default_rng(0))
    each = np.bincount(plan.rows % 4, minlength=4)
    assert each.tolist() == [0, 4, 8, 4]  # 16 looks at two requests each


def test_reasons_name_the_category_and_what_its_sample_showed():
    sites = Categories.of_labels(["a  b", "c", "a  b"])
    sample = CategorySample(np.array([0.25, np.nan]), np.array([4.0, 0.0]), np.zeros(2))
    of = np.array([0, 1, 0])
    assert _why(sites, sample, of, 0) == "a b: 25% of 4 sampled had changed"
    assert _why(sites, sample, of, 1) == "c: not sampled in this turn"


def test_what_was_never_seen_comes_first_by_weight():
    view = replace(
        turn_view(6),
        looks=np.array([3, 0, 0, 3, 0, 3]),
        age=np.array([1.0, np.inf, np.inf, 2.0, np.inf, 3.0]),
        weight=np.array([9.0, 1.0, 3.0, 9.0, 2.0, 9.0]),
    )
    plan = Sampling()(view, Budget(2), default_rng(0))
    assert plan.rows.tolist() == [2, 4]
    assert plan.gain.tolist() == [3.0, 2.0]
    assert plan.reason(2) == "never seen yet"


def test_rates_are_learned_only_where_they_are_asked_for():
    topics = {"k0": ["a"]}
    plain = topic_sampling(topics)
    learned = [
        topic_sampling(topics, inside="staleness"),
        topic_sampling(topics, inside="odds"),
        topic_sampling(topics, judge=ShareJudge("history")),
    ]
    assert plain.belief is not learned[0].belief
    assert len({strategy.belief for strategy in learned}) == 1
