"""Rates that learn from hosts and folders, and beliefs made from estimators."""

import numpy as np
import pytest
from hypothesis import given, settings

from halflife.belief.poisson import PoissonBelief
from halflife.belief.pool import PooledBelief
from halflife.belief.rates import EstimatedRates, merge_gaps
from halflife.bench.population import poisson_recording
from halflife.core.budget import Budget
from halflife.core.evidence import Evidence
from halflife.core.item import Item
from halflife.core.observation import Observation, Observations, Seen
from halflife.models.empirical_bayes import GRID
from halflife.models.gaps import check_gaps
from halflife.models.rates.counts import Counted
from halflife.models.rates.pool import PooledRates
from halflife.models.rates.tree import Tree, fit_groups, fit_tree, likelihoods
from halflife.policies import index_estimators
from halflife.replay.pages import Replay
from lab import estimators as bench
from lab.rates.empirical_bayes import EmpiricalBayesRate, log_likelihood
from rates_cases import ESTIMATORS, fed, gaps

STRATEGIES = [name for name in vars(index_estimators) if name.startswith("index_")]


def daily(rate, days, rng):
    """Return daily looks at items with these rates."""
    item = np.tile(np.arange(rate.size), days)
    changed = rng.random(item.size) < -np.expm1(-rate[item])
    return item, np.ones(item.size), changed


def see(evidence, looks):
    observations = [Observation(k, at, Seen.PRESENT, digest) for k, at, digest in looks]
    evidence.take(evidence.weigh(Observations.of(observations)))


@settings(max_examples=10)
@given(seen=gaps())
def test_without_a_tree_it_is_the_estimate_of_the_whole_population(seen):
    pooled = fed(PooledRates, *seen, n=3)
    # Items without a gap say nothing, so they are left out of the population here.
    held = np.unique(seen[0])
    plain = EmpiricalBayesRate().fit(np.searchsorted(held, seen[0]), *seen[1:])
    np.testing.assert_allclose(pooled.rate()[held], plain.rate_, rtol=1e-4)
    survival = pooled.survival()
    np.testing.assert_allclose(survival.shape[held], plain.shape_, rtol=1e-3)


def test_a_group_is_its_items_and_the_strength_of_the_level_above():
    # At the fixed point mass = (sum of posteriors + strength * above) / (n + strength).
    rng = np.random.default_rng(0)
    seen = daily(np.array([0.05, 0.1, 2.0, 0.3]), 20, rng)
    table = log_likelihood(*check_gaps(*seen, None, None))
    above = np.full((2, GRID.points), 1 / GRID.points)
    rows, code = likelihoods(table), np.array([0, 1, 0, 1])
    priors = fit_groups(rows, code, above, 2.0)
    np.testing.assert_allclose(priors.mass.sum(axis=1), 1.0)
    for group in range(2):
        mine = rows[code == group] * priors.mass[group]
        total = (mine / mine.sum(axis=1, keepdims=True)).sum(axis=0)
        fixed = (total + 2.0 * above[group]) / 4.0
        np.testing.assert_allclose(priors.mass[group], fixed, atol=2e-3)


def test_leaving_one_out_equals_summing_over_the_others():
    rng = np.random.default_rng(0)
    seen = daily(np.array([0.05, 0.1, 2.0]), 20, rng)
    rows = likelihoods(log_likelihood(*check_gaps(*seen, None, None)))
    above = np.full((1, GRID.points), 1 / GRID.points)
    priors = fit_groups(rows, np.zeros(3, int), above, 2.0)
    share = rows * priors.mass
    share /= share.sum(axis=1, keepdims=True)
    told = []
    for i in range(3):
        others = (share.sum(axis=0) - share[i] + 2.0 * above[0]) / 4.0
        told.append(np.log(rows[i] @ others))
    assert priors.predicted == pytest.approx(np.mean(told), abs=1e-2)


def test_hosts_that_differ_are_kept_apart_and_hosts_that_do_not_are_joined():
    rng = np.random.default_rng(1)
    host = np.arange(200) % 10
    tree = Tree(host, host, np.arange(10))
    apart = np.exp(rng.normal(np.log(0.1), 1.5, 10))[host]
    alike = np.exp(rng.normal(np.log(0.1), 1.5, 200))
    strength = []
    for rate in (apart, alike):
        gaps_seen, n = check_gaps(*daily(rate, 30, rng), None, None)
        priors = fit_tree(log_likelihood(gaps_seen, n), np.arange(n), tree)
        strength.append(priors.hosts.strength)
    assert strength[0] < strength[1]


def test_an_item_never_looked_at_is_thought_to_be_like_its_folder():
    rng = np.random.default_rng(2)
    folder = np.repeat([0, 1], 30)
    rate = np.where(folder == 0, 0.01, 1.0)
    item, length, changed = daily(rate, 40, rng)
    watched = (item != 0) & (item != 30)
    model = PooledRates()
    model.grow(60)
    model.place(Tree(np.zeros(60, int), folder, np.zeros(2, int)))
    model.add(item[watched], length[watched], changed[watched])
    found = model.rate()
    assert found[0] < 0.1
    assert found[30] > 0.6


def test_pooling_is_nearer_the_truth_where_hosts_differ():
    off = [bench.trial("lognormal", "exponential", 5, seed) for seed in range(4)]
    mean = {name: np.mean([row[name] for row in off]) for name in off[0]}
    assert mean["pooled"] < mean["population"] < mean["maximum likelihood"]


def site(groups=2, folders=2, pages=5):
    return [
        Item(f"h{g}/f{f}/p{p}", group=f"h{g}")
        for g in range(groups)
        for f in range(folders)
        for p in range(pages)
    ]


def test_folders_follow_the_key_and_new_items_find_theirs():
    evidence = Evidence.of(site())
    belief = PooledBelief()
    for day in range(30):
        see(
            evidence,
            [(k, float(day), str(day) if "f1" in k else "") for k in evidence.keys],
        )
        belief(evidence, day + 0.5, day)
    evidence.add([Item("h0/f1/new", group="h0"), Item("h9/x/new", group="h9")])
    view = belief(evidence, 31.0, 31.0)
    fast, elsewhere, slow = view.rate[[-2, -1, 0]]
    assert fast > elsewhere > slow


def test_items_are_placed_by_group_and_folder_also_when_more_come():
    evidence = Evidence.of(site())
    belief = PooledBelief()
    belief._start()
    tree = belief._place(evidence)
    pages = len(evidence) // 4
    assert tree.folder.tolist() == [i // pages for i in range(len(evidence))]
    assert tree.host_of.tolist() == [0, 0, 1, 1]
    evidence.add([Item("h1/f1/new", group="h1"), Item("h0/f2/new", group="h0")])
    more = belief._place(evidence)
    assert more.folder.tolist() == [*tree.folder.tolist(), 3, 4]
    assert more.host_of.tolist() == [0, 0, 1, 1, 0]
    assert more.host.tolist() == evidence.group.tolist()


def test_going_on_is_the_same_as_starting_over():
    rng = np.random.default_rng(3)
    evidence = Evidence.of(site())
    following = PooledBelief(refit=1.0)
    for day in range(12):
        digest = rng.integers(0, 2, len(evidence)).astype(str)
        some = rng.random(len(evidence)) < 0.6
        looks = zip(evidence.keys, digest, some, strict=True)
        see(evidence, [(k, float(day), d) for k, d, s in looks if s])
        view = following(evidence, day + 0.5, day)
    fresh = PooledBelief(refit=1.0)(evidence, view.now, 11)
    np.testing.assert_allclose(view.rate, fresh.rate, rtol=1e-3)


def test_other_evidence_is_learned_from_the_start():
    belief, plain = PooledBelief(), EstimatedRates(Counted)
    for made in (belief, plain):
        for n in (1, 2):
            evidence = Evidence.of(site(pages=n))
            assert len(made(evidence, 1.0, 1.0)) == 4 * n


@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_belief_may_be_made_from_any_estimator(name):
    rng = np.random.default_rng(4)
    evidence = Evidence.of(Item(k) for k in "abcd")
    following = EstimatedRates(ESTIMATORS[name])
    for day in range(20):
        digests = {"a": "", "b": str(day), "c": str(rng.integers(0, 2))}
        see(evidence, [(k, 1.5 * day, d) for k, d in digests.items()])
        view = following(evidence, 1.5 * day, 1.5 * day)
    assert view.rate[1] > view.rate[2] > view.rate[0] > 0
    assert np.isfinite(view.rate).all()
    alive = view.survival.alive(np.full(4, 2.0))
    assert np.all((alive >= 0) & (alive < 1))


def test_gaps_come_back_as_single_looks_showed_them():
    evidence = Evidence.of([Item("a"), Item("b")])
    see(evidence, [("a", 0.0, "x"), ("b", 0.0, "x")])
    see(evidence, [("a", 3.3, "y")])
    see(evidence, [("b", 2.0, "x"), ("b", 5.0, "x")])
    found = merge_gaps(evidence.gaps(), np.array([0, 2]), 2)
    assert found.item.tolist() == [1, 0]
    np.testing.assert_allclose(found.length, [2.5, 3.3], rtol=1e-4)
    assert found.changed.tolist() == [False, True]
    assert found.tally.tolist() == [2.0, 1.0]


def test_several_changes_in_a_batch_keep_their_lengths():
    evidence = Evidence.of([Item("a")])
    see(evidence, [("a", float(t), str(t)) for t in (0, 1, 9)])
    found = merge_gaps(evidence.gaps(), np.zeros(1, int), 1)
    assert found.tally.sum() == 2.0
    assert sorted(found.length.tolist()) == [1.0, 8.0]


def test_counts_match_the_evidence():
    rng = np.random.default_rng(5)
    evidence = Evidence.of(Item(k) for k in "abc")
    belief = EstimatedRates(Counted)
    for day in range(15):
        keys = [k for k in "abc" if rng.random() < 0.7]
        see(evidence, [(k, float(day), str(rng.integers(0, 2))) for k in keys])
        belief(evidence, day, day)
    counts = belief._model.counts
    np.testing.assert_allclose(counts.changes, evidence.changes)
    np.testing.assert_allclose(counts.gaps, evidence.looks - 1)
    np.testing.assert_allclose(counts.quiet, evidence.quiet)


def test_an_item_without_a_gap_is_as_fast_as_all_together():
    evidence = Evidence.of(Item(k) for k in "abc")
    see(evidence, [("a", 0.0, "x"), ("b", 0.0, "x")])
    see(evidence, [("a", 4.0, "y"), ("b", 4.0, "x")])
    view = EstimatedRates(Counted)(evidence, 5.0, 5.0)
    np.testing.assert_allclose(view.rate, [0.25, 1e-3, 1.5 / 8.5], rtol=1e-4)


@pytest.fixture(scope="module")
def replay():
    rate = np.exp(np.random.default_rng(6).normal(np.log(0.1), 1.5, 120))
    recording = poisson_recording(rate, np.ones(120), 60, 1)
    return Replay(recording, 15.0, 0.0, 60.0, ticks=1, warm=20.0)


@pytest.mark.parametrize("name", STRATEGIES)
def test_every_strategy_keeps_more_current_than_doing_nothing(replay, name):
    strategy = getattr(index_estimators, name)
    assert strategy.about
    score = replay.score(strategy)
    idle = Replay(replay.recording, 0.0, 0.0, 60.0, ticks=1, warm=20.0).score(strategy)
    assert score.requests <= 15 * 60
    assert score.freshness > idle.freshness + 0.1


def test_a_plan_is_made_before_anything_was_seen():
    evidence = Evidence.of(site())
    for name in STRATEGIES:
        strategy = getattr(index_estimators, name)
        view = strategy.belief()(evidence, 1.0, 1.0)
        plan = strategy.policy(view, Budget(3), np.random.default_rng(0))
        assert len(plan) == 3


def test_the_rates_agree_with_the_usual_belief_when_there_is_one_folder():
    rng = np.random.default_rng(8)
    evidence = Evidence.of(Item(f"x/{i}", group="x") for i in range(40))
    truth = np.exp(rng.normal(np.log(0.2), 1.0, 40))
    seen = np.zeros(40, int)
    for day in range(40):
        seen += rng.poisson(truth)
        see(
            evidence,
            [(k, float(day), str(s)) for k, s in zip(evidence.keys, seen, strict=True)],
        )
    pooled, plain = (
        b()(evidence, 40.0, 40.0).rate for b in (PooledBelief, PoissonBelief)
    )
    np.testing.assert_allclose(np.log(pooled), np.log(plain), atol=0.35)


def test_the_bench_prints_a_row_for_every_estimator(monkeypatch):
    monkeypatch.setattr(bench, "LOOKS", (3,))
    monkeypatch.setattr(bench, "LAWS", {"regular": bench.LAWS["regular"]})
    rows = bench.run(seeds=2)
    assert len(rows) == len(bench.ESTIMATORS) * len(bench.POPULATIONS)
    told = bench.table(rows, "bimodal").splitlines()
    assert len(told) == len(bench.ESTIMATORS) + 2


def test_pages_in_another_order_change_at_the_same_moments(replay):
    recording = replay.recording
    other = bench.shuffled(recording, np.random.default_rng(0))
    assert other.keys != recording.keys
    for row in range(0, 120, 7):
        key = other.keys[row]
        mine = recording.keys.index(key)
        moments = (
            r.at[r.start[i] : r.start[i + 1]]
            for r, i in ((other, row), (recording, mine))
        )
        np.testing.assert_array_equal(*moments)
