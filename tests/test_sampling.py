import dataclasses

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from contracts.views import after, view_of, views
from halflife.core.budget import Budget
from halflife.core.categories import Categories
from halflife.models.fractions import CategorySample
from halflife.models.poisson import Exponential
from halflife.policies import Strategy, sampling
from halflife.policies.sampling import Sampling, draws
from halflife.policies.sampling.categories import (
    FixedCategories,
    KeyCategories,
    by_folder,
    by_site,
    covering,
    merge_small,
)
from halflife.policies.sampling.shares import ShareJudge, adjusted, quotas
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
from halflife.recordings.pages import Recording
from halflife.replay.pages import Replay

FEW = settings(max_examples=20)  # there are many policies
NAMED = {n: s.policy for n, s in vars(sampling).items() if isinstance(s, Strategy)}
OVERLAPPING = FixedCategories(
    {f"k{i}": [f"t{i % 3}", f"t{i % 4}"] for i in range(0, 100, 2)}
)
POLICIES = NAMED | {
    "topics": Sampling(OVERLAPPING),
    "topics apart": Sampling(OVERLAPPING, shared=False),
    "topics in proportion": Sampling(OVERLAPPING, "proportional", FixedSize(2)),
    "optimal size": Sampling(size=Optimal()),
    "optimal size by belief": Sampling(size=Optimal(source="belief")),
    "upper bound": Sampling(judge=ShareJudge("upper", "exact")),
    "posterior": Sampling(judge=ShareJudge("posterior")),
    "odds": Sampling(judge=ShareJudge("history"), inside="odds"),
    "weighted odds": Sampling(weighted=True, inside="odds"),
}


def plan_of(policy, view, requests, seed=0):
    return policy(view, Budget(requests), np.random.default_rng(seed))


def seen_view(n, groups=3, seed=0):
    """A view in which all items were seen before and none in this turn."""
    rng = np.random.default_rng(seed)
    view = view_of(n, rng)
    age = rng.uniform(1.0, 9.0, n)
    return dataclasses.replace(
        view,
        weight=np.ones(n),
        cost=np.ones(n),
        group=np.arange(n) % groups,
        looks=np.full(n, 3),
        looked=np.zeros(n, bool),
        ready=np.ones(n, bool),
        age=age,
        exposure=age,
    )


def turn(policy, view, requests, changed, seed=0):
    """Every plan of a turn, and the view when it is over."""
    rng, plans = np.random.default_rng(seed), []
    while requests:
        plan = policy(view, Budget(requests), rng)
        if not plan:
            break
        requests -= int(view.cost[plan.rows].sum())
        view = after(view, plan.rows, changed)
        plans.append(plan)
    return plans, view


@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES.keys())
class TestEverySamplingPolicy:
    @FEW
    @given(view=views(), requests=st.integers(0, 20))
    def test_stays_within_budget(self, policy, view, requests):
        plan = plan_of(policy, view, requests)
        assert view.cost[plan.rows].sum() <= requests

    @FEW
    @given(view=views(most=40))
    def test_asks_only_for_what_is_ready_and_for_nothing_twice(self, policy, view):
        rows = plan_of(policy, view, 50).rows
        assert len(set(rows.tolist())) == rows.size
        assert not view.looked[rows].any()
        assert view.ready[rows].all()

    @FEW
    @given(view=views())
    def test_gives_the_same_plan_for_the_same_view_and_seed(self, policy, view):
        first, second = (plan_of(policy, view, 5, 7) for _ in range(2))
        assert list(first) == list(second)

    @FEW
    @given(view=views())
    def test_every_step_gives_a_reason_and_a_finite_gain(self, policy, view):
        for step in plan_of(policy, view, 50):
            assert step.why.strip()
            assert "\n" not in step.why
            assert np.isfinite(step.gain)

    @FEW
    @given(view=views())
    def test_leaves_the_view_untouched(self, policy, view):
        fields = [f.name for f in dataclasses.fields(view)]
        before = {n: np.copy(getattr(view, n)) for n in fields if n != "survival"}
        list(plan_of(policy, view, 5))
        assert all(np.array_equal(v, getattr(view, n)) for n, v in before.items())

    @FEW
    @given(st.integers(1, 60), st.integers(1, 80), st.integers(0, 999))
    def test_a_turn_ends_and_spends_all_it_can(self, policy, n, requests, seed):
        view = seen_view(n, seed=seed)
        changed = np.random.default_rng(seed).random(n) < 0.4
        plans, end = turn(policy, view, requests, changed, seed)
        assert end.looked.sum() == min(n, requests)
        assert len(plans) <= 8

    def test_an_empty_population_gives_an_empty_plan(self, policy):
        assert not plan_of(policy, view_of(0, np.random.default_rng(0)), 5)


def test_the_first_plan_of_a_turn_is_the_sample_and_the_next_spends_the_rest():
    view, changed = seen_view(90), np.arange(90) % 3 == 1  # all of group 1
    plans, _ = turn(Sampling(size=FixedSize(4)), view, 40, changed)
    assert [len(p) for p in plans] == [12, 28]
    assert np.bincount(view.group[plans[0].rows]).tolist() == [4, 4, 4]
    counts = np.bincount(view.group[plans[1].rows], minlength=3)
    assert counts[1] == 26  # what is left of the changed group
    assert plans[0][0].why == "sampled for its category"
    assert plans[1][0].why == "group 1: 100% of 4 sampled had changed"


def test_proportional_spends_by_the_changed_pages_each_category_is_said_to_hold():
    view = seen_view(200, groups=2)
    changed = np.random.default_rng(1).random(200) < np.where(view.group, 0.3, 0.7)
    policy = Sampling(spend="proportional", size=FixedSize(20))
    (first, second), _ = turn(policy, view, 120, changed)
    found = np.bincount(view.group[first.rows], weights=changed[first.rows])
    share = 80 * found / found.sum()
    assert np.bincount(view.group[second.rows]) == pytest.approx(share, abs=1)


def test_a_budget_below_the_number_of_categories_samples_some_of_them():
    view = seen_view(200, groups=100)
    policy = Sampling(size=FixedSize(3))
    picked = [plan_of(policy, view, 20, seed).rows for seed in range(200)]
    assert {len(rows) for rows in picked} == {10}  # half of the budget, cut evenly
    hits = np.bincount(view.group[np.concatenate(picked)], minlength=100)
    assert hits.min() > 5  # each has its chance
    plans, end = turn(policy, view, 20, np.zeros(200, bool))
    assert [len(p) for p in plans] == [10, 10]
    assert end.looked.sum() == 20


def test_one_request_is_spent_without_a_sample():
    plans, _ = turn(Sampling(), seen_view(30), 1, np.zeros(30, bool))
    assert [len(p) for p in plans] == [1]
    assert "not sampled" in plans[0][0].why


def test_pages_never_seen_come_first_and_say_nothing_about_their_category():
    view = seen_view(40, groups=2)
    looks = np.where(np.arange(40) < 4, 0, 3)
    age = np.where(looks > 0, view.age, np.inf)
    view = dataclasses.replace(view, looks=looks, age=age, exposure=age)
    (first, second, _), _ = turn(
        Sampling(size=FixedSize(3)), view, 20, np.ones(40, bool)
    )
    assert sorted(first.rows.tolist()) == [0, 1, 2, 3]
    assert first[0].why == "never seen yet"
    assert len(second) == 6


def test_a_failed_look_is_no_look_that_found_nothing():
    view = seen_view(6, groups=1)
    looked = np.arange(6) < 3
    age = np.where([True, True, False, False, False, False], 0.0, view.age)
    ready = np.arange(6) != 2  # the third failed, and backs off
    view = dataclasses.replace(view, looked=looked, age=age, exposure=age, ready=ready)
    assert draws.compared(view).tolist() == [True, True, False, False, False, False]


def test_what_fails_is_made_up_for_when_it_is_much():
    view = seen_view(60)
    policy = Sampling(size=FixedSize(5))
    first = plan_of(policy, view, 40)
    half = first.rows[: len(first) // 2]
    again = plan_of(policy, after(view, half, view.changed), 40 - half.size)
    assert len(again) == len(first) - half.size
    assert again[0].why == "sampled for its category"


class TestSampleSizes:
    CATEGORIES = Categories(
        ("a", "b"), np.array([0, 60, 100]), np.r_[0:60, 40:80].astype(np.intp), 80
    )

    def test_the_root_rule_is_sqrt_of_n_r_scaled_by_size(self):
        view = seen_view(80)
        s = np.sqrt(50 * 20 / 80)  # N = 50, r = 20 / 80
        even, pages, sizes = (
            Root(scale)(view, self.CATEGORIES, 20.0)
            for scale in ("even", "pages", "sizes")
        )
        assert even == pytest.approx([s, s])
        assert pages == pytest.approx([s * 2 * 60 / 80, s * 2 * 40 / 80])
        assert sizes == pytest.approx([s * 2 * 60 / 100, s * 2 * 40 / 100])

    def test_the_papers_own_setting_gives_three_samples_a_category(self):
        # 1000 pages in 20 categories of 50, 200 downloads: sqrt(50 * 0.2).
        twenty = Categories.of_labels([str(i % 20) for i in range(1000)])
        assert Root()(seen_view(1000), twenty, 200.0) == pytest.approx([10**0.5] * 20)

    @given(st.floats(0, 50), st.integers(0, 3))
    def test_scaling_keeps_the_number_of_samples(self, samples, shift):
        assert scaled(samples, self.CATEGORIES).sum() == pytest.approx(2 * samples)

    def test_eq_7_with_evenly_spread_shares_is_0_65_of_the_root(self):
        # f = 1, p_t = 0.8, p_r = 0.9, p = 0.5: 1 / (6 * 0.4) under the root.
        even = (np.arange(2000) + 0.5) / 2000
        factor = spread_factor(even, np.ones(2000), 400.0)
        assert np.sqrt(factor) == pytest.approx(0.645, abs=0.01)

    def test_eq_7_wants_more_samples_where_many_categories_lie_at_the_threshold(self):
        rng = np.random.default_rng(0)
        apart = np.concatenate([rng.normal(0.1, 0.02, 70), rng.normal(0.9, 0.02, 30)])
        close = rng.normal(0.5, 0.05, 100)
        reach = 30.0  # the budget reaches the upper 30
        assert spread_factor(close, np.ones(100), reach) > 5 * spread_factor(
            apart, np.ones(100), reach
        )

    @pytest.mark.parametrize(
        "share", [[], [0.5], [np.nan] * 5, [0.3] * 5, [0.0, 0.0, 0.0, 1.0, 1.0]]
    )
    def test_eq_7_gives_way_to_the_root_where_it_cannot_tell(self, share):
        share = np.array(share, float)
        factor = spread_factor(share, np.ones(share.size), 2.0)
        assert 0.01 <= factor <= 100
        if np.unique(share[np.isfinite(share)]).size < 2:
            assert factor == 1

    def test_shares_come_from_the_last_looks_or_from_belief(self):
        view = seen_view(4, groups=2)
        view = dataclasses.replace(
            view,
            changed=np.array([True, False, True, False]),
            survival=Exponential(np.array([0.0, 1e9, 0.0, 1e9])),
        )
        assert last_share(view, by_site(view)).tolist() == [1, 0]
        assert believed(view, by_site(view)) == pytest.approx([0, 1])

    def test_no_category_is_asked_for_more_than_it_has(self):
        view = seen_view(30)
        wanted = draws.fitting(np.full(3, 50.0), view, by_site(view), 100.0)
        assert wanted.tolist() == [10, 10, 10]
        wanted = draws.fitting(np.full(3, 50.0), view, by_site(view), 6.0)
        assert wanted == pytest.approx([2, 2, 2])


class TestDraws:
    @given(st.lists(st.floats(0, 9), max_size=20), st.floats(0, 1, exclude_max=True))
    def test_whole_numbers_add_up_and_stay_within_one(self, parts, start):
        parts = np.array(parts)
        found = draws.whole(parts, start)
        assert np.all(np.abs(found - parts) < 1 + 1e-6)
        assert abs(found.sum() - parts.sum()) <= 1 + 1e-6

    @pytest.mark.parametrize("shared", [True, False])
    def test_items_are_drawn_with_the_chances_that_are_reckoned_with(self, shared):
        view = seen_view(60)
        topics = covering(OVERLAPPING(view))
        wanted = np.full(len(topics), 4.0)
        even = np.ones(topics.item.size)
        draw = draws.design(topics, wanted, even, shared=shared)
        rng, hits = np.random.default_rng(0), np.zeros(60)
        for _ in range(2000):
            hits += draws.pick(draw, topics, wanted, view, rng, shared=shared)
        assert hits / 2000 == pytest.approx(draw.chance, abs=0.06)

    def test_important_items_are_drawn_more_often_as_reckoned(self):
        view = dataclasses.replace(
            seen_view(60, groups=1), weight=np.repeat([1.0, 8.0], 30)
        )
        one = by_site(view)
        size = draws.importance(view, one)
        draw = draws.design(one, np.array([9.0]), size, shared=True)
        rng, hits = np.random.default_rng(0), np.zeros(60)
        for _ in range(3000):
            hits += draws.pick(draw, one, draw.wanted, view, rng, shared=True)
        assert hits.sum() == 9 * 3000
        assert hits / 3000 == pytest.approx(draw.chance, abs=0.04)
        assert draw.chance[30:].mean() > 2 * draw.chance[:30].mean()

    def test_shared_samples_serve_every_category_with_fewer_looks(self):
        view = seen_view(200)
        keys = {f"k{i}": [f"t{j}" for j in range(i % 5, i % 5 + 4)] for i in range(200)}
        filed = FixedCategories(keys)
        together, apart = (
            plan_of(
                Sampling(filed, size=FixedSize(8), shared=s, share=1.0), view, 150
            ).rows
            for s in (True, False)
        )
        assert together.size < apart.size
        for rows in (together, apart):
            looked = np.isin(np.arange(200), rows)
            assert draws.count(filed(view), looked).min() >= 8

    def test_first_takes_the_least_of_each_category(self):
        both = Categories(("a", "b"), np.array([0, 3, 5]), np.array([0, 1, 2, 1, 3]), 4)
        order = np.array([0.3, 0.1, 0.2, 0.9, 0.8])
        taken = draws.first(both, order, np.ones(5, bool), np.array([2, 1]))
        assert taken.tolist() == [1, 2, 4]


def daily_recording(seed):
    """60 pages of one site; heavy ones are likelier to change, each day anew."""
    rng = np.random.default_rng(seed)
    weight = rng.uniform(1, 5, 60)
    changes = rng.random((60, 5)) < weight[:, None] / 6
    start = np.concatenate([[0], np.cumsum(changes.sum(axis=1))])
    at = np.nonzero(changes)[1] + 0.5
    lives = np.full(60, -np.inf), np.full(60, np.inf)
    keys = tuple(f"a/{i}" for i in range(60))
    return Recording(keys, start, at, weight, *lives, ("a",) * 60)


@pytest.mark.parametrize("days", [1, 4])
def test_samples_by_importance_estimate_the_changed_share_of_the_weight(days):
    """In the real loop, where beliefs move with each look."""
    off = []
    for seed in range(80):
        recording = daily_recording(1000 + seed)
        policy, found = Sampling(weighted=True, size=FixedSize(15)), []

        def spy(view, budget, rng, policy=policy, found=found, recording=recording):
            if view.now == days:
                if not found:
                    rows = np.arange(60)
                    same = recording.states(rows, view.now - view.age)
                    stale = recording.states(rows, view.now) > same
                    found.append(view.weight[stale].sum() / view.weight.sum())
                elif len(found) == 1:
                    draw = policy.draw(view, by_site(view), budget)
                    found.append(policy.sample(view, by_site(view), draw).mean[0])
            return policy(view, budget, rng)

        Replay(recording, 30.0, 0.0, 5.0, ticks=1).score(Strategy(spy), seed)
        off.append(found[1] - found[0])
    assert abs(np.mean(off)) < 4 * np.std(off) / len(off) ** 0.5
    assert np.std(off) < 0.2


class TestJudges:
    SAMPLE = CategorySample(
        np.array([1.0, 0.9, np.nan]), np.array([2.0, 50.0, 0.0]), np.zeros(3)
    )

    def shares(self, by, method="wilson"):
        view = seen_view(30)
        view = dataclasses.replace(view, survival=Exponential(np.full(30, 1e-9)))
        return ShareJudge(by, method)(self.SAMPLE, view, by_site(view))

    def test_the_estimate_is_the_share_and_the_common_one_without_a_sample(self):
        assert self.shares("estimate") == pytest.approx([1, 0.9, 47 / 52])

    @pytest.mark.parametrize("method", ["wilson", "exact"])
    def test_bounds_weigh_how_many_were_sampled(self, method):
        low, high = self.shares("lower", method), self.shares("upper", method)
        assert low[1] > low[0] > low[2] == 0
        assert high[0] == high[2] == 1 > high[1]

    def test_a_prior_draws_small_samples_to_the_common_share(self):
        common = self.shares("posterior")
        assert 47 / 52 < common[0] < 1
        assert common[2] == pytest.approx(47 / 52)

    def test_history_speaks_where_there_is_no_sample(self):
        assert self.shares("history")[2] < 1e-6

    def test_history_counts_for_little_once_samples_contradict_it(self):
        assert self.shares("history")[1] > 0.8


def test_odds_correct_each_page_by_what_its_category_turned_out_to_be():
    view = seen_view(4, groups=2)
    stale = np.array([0.2, 0.2, 0.6, 0.6])
    view = dataclasses.replace(
        view, survival=Exponential(-np.log1p(-stale) / view.exposure)
    )
    sites = by_site(view)
    found = adjusted(stale, np.array([0.4, 0.8]), view, sites)
    assert found[[0, 2]] == pytest.approx(stale[[0, 2]])  # as believed: 0.4
    assert found[1] > 0.2
    assert found[3] > 0.6
    assert found[3] > found[1]


@given(
    st.lists(st.tuples(st.floats(0, 1), st.integers(0, 30)), min_size=1, max_size=12),
    st.floats(0, 100),
)
def test_quotas_spend_all_and_are_in_proportion_below_their_limits(pairs, requests):
    share, most = np.array(pairs, dtype=float).T
    share = np.where(share < 1e-3, 0.0, share)
    found = quotas(share, most, requests)
    assert np.all(found <= most + 1e-9)
    assert found.sum() == pytest.approx(min(requests, most.sum()))
    free = (share > 0) & (found < most - 1e-9)
    if free.any():
        level = found[free] / share[free]
        assert level == pytest.approx(np.full(level.size, level[0]))
        full = (share > 0) & ~free & (most > 0)
        assert np.all(found[full] <= level[0] * share[full] + 1e-6)


class TestCategories:
    def test_sites_are_the_groups(self):
        view = dataclasses.replace(seen_view(5), group=np.array([7, 2, 7, 2, 2]))
        found = by_site(view)
        assert found.names == ("group 2", "group 7")
        assert [found.members(j).tolist() for j in range(2)] == [[1, 3, 4], [0, 2]]

    def test_small_folders_are_one_with_the_folder_above(self):
        keys = [f"s/a/{i}" for i in range(3)] + ["s/a/b/0", "s/c/1", "s/d/e/2", "t/0"]
        found = by_folder(3).file(keys)
        assert dict(zip(found.names, found.size.tolist(), strict=True)) == {
            "s/a/": 4,
            "s/": 2,
            "t/": 1,
        }

    @given(st.lists(st.sampled_from(["a/", "a/b/", "a/b/c/", "a/d/", "e/f/"])))
    def test_no_folder_is_small_but_at_the_root(self, names):
        merged = merge_small(names, 3)
        filed = [merged[name] for name in names]
        assert all(filed.count(n) >= 3 or n.count("/") == 1 for n in filed)
        assert all(a.startswith(b) for a, b in zip(names, filed, strict=True))

    def test_items_in_no_category_get_one_of_their_own(self):
        found = covering(FixedCategories({"b": ["x"]}).of(["a", "b", "c"]))
        assert found.names == ("x", "none")
        assert found.members(1).tolist() == [0, 2]
        assert covering(found) is found

    def test_nothing_filed_leaves_everything_in_one_category(self):
        assert covering(FixedCategories({}).of(["a", "b"])).size.tolist() == [2]

    def test_items_are_filed_once_for_each_set_of_them(self):
        calls = []

        def file(keys):
            calls.append(keys)
            return Categories.of_labels(keys)

        kept, view = KeyCategories(file), seen_view(3)
        kept(view)
        kept(dataclasses.replace(view, now=200.0))
        assert len(calls) == 1
        kept(seen_view(4))
        assert len(calls) == 2


def test_topics_may_be_judged_by_history_too():
    strategy = sampling.topic_sampling({"k0": ["x"]}, inside="staleness")
    assert strategy.belief is not sampling.site_sampling.belief
    assert len(plan_of(strategy.policy, seen_view(20), 10)) > 0


@pytest.mark.parametrize("weighted", [False, True])
def test_by_odds_what_is_heavy_and_likely_stale_comes_first(weighted):
    view = dataclasses.replace(seen_view(30), weight=np.linspace(0.5, 4.0, 30))
    policy = Sampling(weighted=weighted, inside="odds")
    categories = covering(by_site(view))
    n = len(categories)
    sample = CategorySample(np.linspace(0.1, 0.9, n), np.full(n, 9.0), np.full(n, 0.01))
    plan = policy._spend(
        view, categories, sample, Budget(999), np.random.default_rng(0)
    )
    share = policy.judge(sample, view, categories)
    odds = adjusted(staleness(view), share, view, categories)
    gain = odds * view.weight if weighted else odds
    np.testing.assert_allclose(plan.gain, gain[plan.rows])
    assert (np.diff(plan.gain) <= 1e-12).all()
    assert set(plan.rows.tolist()) == set(np.flatnonzero(view.ready).tolist())


def test_in_proportion_the_stalest_of_each_category_are_taken():
    view = dataclasses.replace(
        seen_view(60), cost=np.ones(60), looked=np.zeros(60, bool)
    )
    policy = Sampling(spend="proportional", inside="staleness")
    categories = covering(by_site(view))
    n = len(categories)
    sample = CategorySample(np.full(n, 0.5), np.full(n, 9.0), np.full(n, 0.01))
    plan = policy._spend(view, categories, sample, Budget(18), np.random.default_rng(0))
    taken, stale = set(plan.rows.tolist()), staleness(view)
    assert 12 <= len(taken) <= 18
    for j in range(n):
        mine = [i for i in categories.members(j).tolist() if view.ready[i]]
        some = [stale[i] for i in mine if i in taken]
        rest = [stale[i] for i in mine if i not in taken]
        if some and rest:
            assert min(some) >= max(rest) - 1e-12
