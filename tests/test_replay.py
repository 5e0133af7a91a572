import itertools
from dataclasses import replace

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from halflife.bench.population import poisson_recording, rates_and_weights
from halflife.metrics.bounds import Trace, best_in_hindsight
from halflife.policies.adaptive import nutch, stormcrawler
from halflife.policies.index import age, freshness, harmonic
from halflife.policies.simple import proportional, round_robin, uniform
from halflife.recordings.pages import Recording
from halflife.replay.pages import Replay
from halflife.replay.scorer import TrueCopy
from lab.revealed_hints import reveal

STRATEGIES = {
    "harmonic": harmonic,
    "freshness": freshness,
    "age": age,
    "round-robin": round_robin,
    "uniform": uniform,
    "proportional": proportional,
    "nutch-adaptive": nutch,
    "stormcrawler-adaptive": stormcrawler,
}


def small_replay(items=150, days=40, share=0.2, seed=3):
    rate, weight = rates_and_weights(items, seed)
    recording = poisson_recording(rate, weight, days, seed)
    return Replay(recording, share * items, 0.0, days, ticks=4, warm=10.0)


@pytest.fixture(scope="module")
def replay():
    return small_replay()


def brute_freshness(replay, looked):
    """Freshness after the warm-up, by walking through time in small steps."""
    recording, total = replay.recording, replay.recording.weight.sum()
    steps = np.arange(replay.warm + 0.005, replay.end, 0.01)
    fresh = []
    for t in steps:
        last = [max(x for x in looked[i] if x <= t) for i in range(len(recording))]
        rows = np.arange(len(recording))
        same = recording.states(rows, t) == recording.states(rows, np.array(last))
        fresh.append((same * recording.weight).sum() / total)
    return np.mean(fresh)


def test_the_score_is_what_a_walk_through_time_finds():
    replay = small_replay(items=12, days=14, share=0.5)
    looked = {i: [0.0] for i in range(12)}
    perform_looks(replay, looked)
    score = replay.score(round_robin)
    assert score.freshness == pytest.approx(brute_freshness(replay, looked), abs=2e-3)


def perform_looks(replay, looked):
    """Round-robin by hand: the oldest first, ties by row."""
    last = np.zeros(12)
    for now, requests in replay._moments():
        for i in np.argsort(last, kind="stable")[:requests]:
            last[i] = now
            looked[int(i)].append(now)


def test_a_budget_for_everything_leaves_only_the_time_between_ticks(replay):
    rich = replace(replay, budget=float(4 * len(replay.recording)))
    rate, weight = rates_and_weights(150, 3)
    x = rate / 4
    expected = np.average(-np.expm1(-x) / x, weights=weight)
    assert rich.score(round_robin).freshness == pytest.approx(expected, abs=0.02)


@pytest.mark.parametrize("strategy", STRATEGIES.values(), ids=STRATEGIES.keys())
class TestEveryStrategy:
    def test_spends_within_its_budget_and_scores_within_bounds(self, replay, strategy):
        score = replay.score(strategy)
        assert score.requests <= replay.budget * replay.end
        assert 0 <= score.freshness <= replay.hindsight() + 1e-9
        assert score.age >= 0
        assert score.daily.max() <= 1 + 1e-9

    def test_repeats_exactly(self, replay, strategy):
        first, second = replay.score(strategy, 5), replay.score(strategy, 5)
        assert first.freshness == second.freshness
        assert np.array_equal(first.daily, second.daily)


def test_the_blind_bound_lies_between_round_robin_and_hindsight(replay):
    assert replay.score(round_robin).freshness < replay.blind() < replay.hindsight()


def test_learned_rates_beat_the_rules_of_thumb(replay):
    reached = {n: replay.score(s).freshness for n, s in STRATEGIES.items()}
    thumb = ("round-robin", "uniform", "proportional", "nutch-adaptive")
    assert reached["freshness"] > max(reached[n] for n in thumb)


def test_more_budget_never_hurts_round_robin(replay):
    rich = replace(replay, budget=3 * replay.budget)
    assert rich.score(round_robin).freshness > replay.score(round_robin).freshness


def test_the_age_objective_keeps_age_lower_than_the_freshness_objective(replay):
    assert replay.score(age).age < replay.score(freshness).age


def test_a_page_that_goes_away_is_fresh_again_once_we_have_seen_it_gone():
    one = Recording(
        keys=("x",),
        start=np.array([0, 0]),
        at=np.zeros(0),
        weight=np.ones(1),
        born=np.array([-np.inf]),
        died=np.array([2.5]),
    )
    score = Replay(one, 1.0, 0.0, 10.0, ticks=1).score(round_robin)
    assert score.freshness == pytest.approx(0.95)  # stale from 2.5 to the look at 3


def test_an_item_looked_at_is_found_by_its_versions_in_order():
    recording = Recording(
        keys=("a", "b"),
        start=np.array([0, 2, 3]),
        at=np.array([1.0, 4.0, 2.0]),
        weight=np.ones(2),
        born=np.array([-np.inf, 0.5]),
        died=np.array([np.inf, 3.0]),
    )
    rows = np.array([0, 1])
    digests = [recording.observe(rows, t).digest for t in (0.0, 1.5, 2.5, 5.0)]
    assert digests == [("0", ""), ("1", "1"), ("1", "2"), ("2", "")]
    assert recording.next_change(rows, 0.0).tolist() == [1.0, 0.5]
    assert recording.next_change(rows, 4.0).tolist() == [np.inf, np.inf]


@given(st.integers(0, 2**16), st.floats(-5, 45), st.integers(1, 30))
def test_states_count_what_a_plain_count_finds(seed, at, items):
    rate, weight = rates_and_weights(items, seed)
    recording = poisson_recording(rate, weight, 40, seed)
    rows = np.arange(items)
    spans = zip(recording.start[:-1], recording.start[1:], strict=True)
    plain = [int((recording.at[a:b] <= at).sum()) for a, b in spans]
    assert recording.states(rows, at).tolist() == plain


quarters = st.integers(1, 39).map(lambda q: q / 4 + 1 / 16)  # never at a tick
changed = st.lists(quarters, max_size=4, unique=True).map(sorted)


def recorded(changes, weight):
    at = [t for ats in changes for t in ats]
    n = len(changes)
    return Recording(
        keys=tuple(f"p{i}" for i in range(n)),
        start=np.concatenate([[0], np.cumsum([len(ats) for ats in changes])]),
        at=np.array(at),
        weight=np.array(weight),
        born=np.full(n, -np.inf),
        died=np.full(n, np.inf),
        group=tuple(f"g{i % 2}" for i in range(n)),
    )


def walked(changes, looks, since, end):
    """Days current, days times age, days times harmonic number: from edge to edge."""
    looks = [0.0, *looks]
    edges = sorted({since, end, *changes, *looks})
    fresh = age = harmonic = 0.0
    for a, b in itertools.pairwise([e for e in edges if since <= e <= end]):
        last = max(t for t in looks if t <= a)
        missed = [c for c in changes if last < c <= a]
        fresh += 0 if missed else b - a
        age += sum((b - c) ** 2 - (a - c) ** 2 for c in missed[:1]) / 2
        harmonic += (b - a) * sum(1 / k for k in range(1, len(missed) + 1))
    return fresh, age, harmonic


@given(
    st.lists(changed, min_size=1, max_size=4),
    st.lists(st.sets(st.integers(0, 3)), min_size=9, max_size=9),
    st.sampled_from([0.0, 2.0, 3.3, 7.0]),
)
def test_the_true_copy_adds_up_what_a_walk_from_edge_to_edge_finds(
    changes, plan, since
):
    n = len(changes)
    weight = np.arange(1.0, n + 1)
    copy = TrueCopy(recorded(changes, weight), 0.0, 10.0)
    copy.score_from(since)
    looks = [[] for _ in changes]
    for day, rows in enumerate(plan, start=1):
        copy.pass_time(float(day))
        mine = sorted(r for r in rows if r < n)
        copy.refresh(np.array(mine, dtype=np.intp))
        for r in mine:
            looks[r].append(float(day))
    copy.pass_time(10.0)
    walks = [walked(c, k, since, 10.0) for c, k in zip(changes, looks, strict=True)]
    fresh, age, harmonic = (weight @ np.array(walks)).tolist()
    sums, total = copy.sums(), weight.sum() * (10.0 - since)
    assert sums.weight.sum() == pytest.approx(total)
    assert sums.fresh.sum() == pytest.approx(fresh)
    assert sums.age.sum() == pytest.approx(age, abs=1e-9)
    assert sums.harmonic.sum() == pytest.approx(harmonic, abs=1e-9)
    assert copy.mean_freshness == pytest.approx(fresh / total)
    whole = [walked(c, k, 0.0, 10.0)[0] for c, k in zip(changes, looks, strict=True)]
    assert copy.daily.mean() == pytest.approx(weight @ whole / weight.sum() / 10.0)
    assert sums.looks.sum() == sum(t >= since - 1e-9 for k in looks for t in k)


def best_of_all(changes, weight, ticks, granted, since, end):
    """Try every schedule: which items to look at, at which ticks."""
    subsets = list(itertools.product([0, 1], repeat=len(ticks)))
    worth = np.zeros(1)
    spent = np.zeros((1, len(ticks)), dtype=int)
    for ats, w in zip(changes, weight, strict=True):
        chosen = [[t for t, x in zip(ticks, s, strict=True) if x] for s in subsets]
        mine = np.array([w * walked(ats, looks, since, end)[0] for looks in chosen])
        worth = (worth[:, None] + mine).ravel()
        spent = (spent[:, None] + np.array(subsets)).reshape(-1, len(ticks))
        kept = (spent <= granted).all(axis=1)
        worth, spent = worth[kept], spent[kept]
    return worth.max() / (sum(weight) * (end - since))


early = st.lists(
    st.integers(1, 19).map(lambda q: q / 4 + 1 / 16), max_size=3, unique=True
).map(sorted)


@given(
    st.lists(early, min_size=1, max_size=3),
    st.lists(st.integers(0, 2), min_size=4, max_size=4),
    st.sampled_from([0.0, 1.0, 1.7, 3.0]),
)
@settings(max_examples=60)
def test_no_schedule_at_all_exceeds_the_bound_of_hindsight(changes, granted, since):
    weight, ticks = [3.0, 1.0, 2.0][: len(changes)], [1.0, 2.0, 3.0, 4.0]
    recording = recorded(changes, weight)
    item = np.repeat(np.arange(len(changes)), np.diff(recording.start))
    trace = Trace(
        item, recording.at, recording.weight, np.array(ticks), np.array(granted)
    )
    best = best_of_all(changes, weight, ticks, granted, since, 5.0)
    assert best <= best_in_hindsight(trace, since, 5.0) + 1e-9
    rich = replace(trace, granted=np.full(4, len(changes)))
    best = best_of_all(changes, weight, ticks, rich.granted, since, 5.0)
    assert best_in_hindsight(rich, since, 5.0) == pytest.approx(best)


def test_requests_before_the_scored_time_cannot_be_saved_for_it():
    trace = Trace(
        item=np.array([0, 1]),
        at=np.array([5.5, 5.5]),
        weight=np.ones(2),
        ticks=np.array([1.0, 6.0]),
        granted=np.array([2, 1]),
    )
    assert best_in_hindsight(trace, 4.0, 8.0) == pytest.approx((1.5 + 1.5 + 2.0) / 8)


def test_a_bound_without_weight_or_changes_is_whole():
    none = np.zeros(0)
    trace = Trace(none.astype(int), none, np.ones(2), np.ones(1), np.ones(1, int))
    assert best_in_hindsight(trace, 0.0, 5.0) == 1.0
    assert best_in_hindsight(replace(trace, weight=np.zeros(2)), 0.0, 5.0) == 1.0


def test_announced_changes_bound_what_is_reached_blindly(replay):
    assert replay.blind() < replay.announced() <= 1.0


@given(st.lists(changed, min_size=1, max_size=5), st.integers(0, 2**16))
def test_a_recording_of_some_items_tells_the_same_of_them(changes, seed):
    rng = np.random.default_rng(seed)
    n = len(changes)
    whole = reveal(recorded(changes, np.arange(1.0, n + 1)), 0.7, 0.8, 0.5, rng)
    rows = rng.permutation(n)[: 1 + seed % n]
    some, every = whole.take(rows), np.arange(rows.size)
    assert some.keys == tuple(whole.keys[i] for i in rows)
    assert some.group == tuple(whole.group[i] for i in rows)
    assert some.weight.tolist() == whole.weight[rows].tolist()
    for at in (0.0, 2.5, 9.9):
        assert np.array_equal(some.states(every, at), whole.states(rows, at))
        assert np.array_equal(some.next_change(every, at), whole.next_change(rows, at))
    told = whole.hints(0.0, 10.0)
    mine = {k: t for k, t in zip(told.keys, told.at, strict=True) if k in some.keys}
    found = some.hints(0.0, 10.0)
    assert dict(zip(found.keys, found.at, strict=True)) == mine
