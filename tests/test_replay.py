from dataclasses import replace

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from halflife.bench.population import poisson_recording, rates_and_weights
from halflife.policies.adaptive import nutch, stormcrawler
from halflife.policies.index import age, freshness, harmonic
from halflife.policies.simple import proportional, round_robin, uniform
from halflife.replay import Replay
from halflife.sources.recorded import Recording

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
    digests = [recording.looks(rows, t).digest for t in (0.0, 1.5, 2.5, 5.0)]
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
