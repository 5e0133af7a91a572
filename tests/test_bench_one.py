"""The mixed world of one budget, made up: what the bench does, in small."""

import numpy as np
import pytest

from lab import one, onetargets
from lab.onecopy import USUAL, Changes, Copy, Drifting
from lab.oneworld import DAYS, TRAIN, Part


def pages(name, n, rate, weight=1.0, cost=1.0, seed=0):
    """Pages that change at random, each a unit."""
    rng = np.random.default_rng(seed)
    version = np.cumsum(rng.poisson(rate, (n, DAYS + 1)), axis=1)
    kept = (version[:, :, None] == version[:, None, :]).astype(np.uint16)
    costs = np.full(n, float(cost))
    return Part(name, "freshness", weight, costs, kept, flows=False, every=6)


def listing(name, size, turnover, cost, seed=0):
    """A list whose objects come and go."""
    rng = np.random.default_rng(seed)
    n = round(size * (1 + turnover * (DAYS + 1)))
    born = np.where(np.arange(n) < size, -1, rng.integers(0, DAYS + 1, n))
    died = np.maximum(born, 0) + rng.exponential(1 / turnover, n)
    days = np.arange(DAYS + 1)
    there = ((born[:, None] <= days) & (days < died[:, None])).astype(np.float32)
    kept = (there.T @ there).astype(np.uint16)[None]
    return Part(name, "recall", 1.0, np.array([cost]), kept, flows=True, every=3)


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Search less closely than the bench does."""
    monkeypatch.setattr(one, "PHASES", (-0.2, 0.2))
    monkeypatch.setattr(one, "GRID", 6)
    monkeypatch.setattr(one, "ROUNDS", 1)
    monkeypatch.setattr(onetargets, "INTERVALS", np.geomspace(1.0, 120.0, 20))


@pytest.fixture(scope="module")
def parts():
    return [
        pages("quick", 10, 0.2),
        pages("slow", 40, 0.01, seed=1),
        listing("jobs", 200, 0.03, 10.0, seed=2),
    ]


@pytest.fixture(scope="module")
def taught(parts):
    return [Copy(part) for part in parts]


def test_beliefs_learned_at_first_are_near_the_truth(parts, taught):
    for part, copy in zip(parts, taught, strict=True):
        everyone = np.full(len(part), TRAIN)
        truth = np.mean([1 - part.quality(everyone, TRAIN + k) for k in (4, 5, 6)])
        believed = np.mean([copy.losses(TRAIN + k).sum() for k in (4, 5, 6)])
        assert believed == pytest.approx(truth, abs=0.12)


def test_counts_that_grow_are_believed_to_leave_their_bounds_only_after_a_while():
    rng = np.random.default_rng(3)
    count = np.cumsum(rng.poisson(2.0, (6, 50, DAYS + 1)), axis=2)
    near = np.abs(count[..., :, None] - count[..., None, :]) <= 20
    kept = near.sum(axis=1).astype(np.uint16)
    grown = Part("stars", "content", 1.0, np.ones(6), kept, flows=False, every=3)
    assert Changes(grown).shape > 2.0
    assert Changes(pages("any", 200, 0.05)).shape == pytest.approx(1.0, abs=0.15)


def test_the_life_of_a_summary_is_drawn_towards_that_of_others():
    belief, size = Drifting(), np.ones(1)
    lives = []
    for days in range(7, 7 * 40, 7):
        gap = np.arange(7.0, days + 1.0, 7.0)
        belief.learn(gap, gap / 200.0)  # it would hold for 200 days
        _, law = belief.curve(size)
        lives.append(float((np.log(2.0) / law.rate[0]) ** (1.0 / law.shape[0])))
    assert USUAL < lives[0] < lives[-1] < 200.0
    assert lives[0] < 60.0
    assert lives[-1] > 120.0


def test_a_source_with_one_unit_needs_no_beliefs_to_be_played(taught):
    jobs = taught[2]
    for requests in (0.0, 1.3, 25.0):
        played = one._alone(jobs.part, requests)
        assert played == pytest.approx(one.replay([jobs], requests)[0], abs=1e-9)


def test_a_copy_that_is_taught_again_forgets_what_it_saw_in_between(taught):
    first = one._replay(taught, 10.0, 0.0)
    assert one._replay(taught, 10.0, 0.0) == pytest.approx(first, abs=0)


def test_no_more_is_spent_than_came_in(parts, taught, monkeypatch):
    spent = []

    def counted(offers, purse, **more):
        taken = take(offers, purse, **more)
        assert taken.requests <= purse + 1e-9
        spent.append(taken.requests)
        return taken

    take = one.take
    monkeypatch.setattr(one, "take", counted)
    one._replay(taught, 7.0, 0.0)
    assert sum(spent) <= 7.0 * one.REPLAYED
    assert sum(spent) >= 0.9 * 7.0 * one.REPLAYED


def test_more_budget_makes_a_better_copy(taught):
    assert one.replay(taught, 1.0).mean() < one.replay(taught, 10.0).mean()


def test_one_price_is_near_the_best_split_and_above_equal_shares(parts, taught):
    hindsight = one.Hindsight(taught)
    _, best = hindsight.best(8.0)
    ours = one.replay(taught, 8.0).mean()
    equal = np.mean([hindsight.play(i, 8.0 / 3) for i in range(3)])
    assert ours >= best.mean() - 0.02
    assert ours >= equal - 0.002
    assert best.mean() >= equal


def test_the_best_interval_keeps_its_target_and_a_longer_one_does_not(parts):
    slow = parts[1]
    found = onetargets.best_interval(slow, 0.9)
    spent, quality = onetargets.in_turn(slow, found["interval"])
    assert np.mean(quality >= 0.9) >= onetargets.KEPT
    assert spent == pytest.approx(found["interval_requests_a_day"])
    longer = onetargets.in_turn(slow, 3 * found["interval"])[1]
    assert np.mean(longer >= 0.9) < onetargets.KEPT


def test_the_keeper_keeps_targets_of_steady_sources(parts):
    for part in parts[1:]:
        spent, quality = onetargets.ours(part, 0.9)
        assert np.mean(quality >= 0.9) >= onetargets.KEPT
        assert spent < part.cost.sum()


def test_rows_tell_what_was_kept_and_spent(parts):
    found = onetargets.rows(parts[1:], 0)
    told = onetargets.pooled(found)
    assert told["targets"] == 2
    assert [row["source"] for row in found] == ["slow", "jobs"]
    total = sum(row["requests_a_day"] for row in found if row["reachable"])
    assert told["requests_a_day"] == pytest.approx(total)
