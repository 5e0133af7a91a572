"""What hints are worth, against the likelihood written out gap by gap."""

import math

import numpy as np
import pytest

from halflife.models.poisson import Exponential
from halflife.models.signals import (
    GRID,
    MOST_WORTH,
    Announced,
    HintedObservations,
    HintTrust,
    _log_likelihood,
    _mode,
    announced_share,
    silent_share,
)


def some_looks(seed=0, n=60, groups=3):
    rng = np.random.default_rng(seed)
    expected = rng.uniform(0.05, 2.0, n)
    hints = rng.poisson(1.0, n).astype(float)
    # The second group's hints are usually true, the third's never.
    group = rng.integers(0, groups, n)
    odds = expected + np.array([0.7, 2.0, 0.0])[group] * hints
    return HintedObservations(
        group,
        expected,
        rng.uniform(0.0, 2.0, n),
        hints,
        rng.random(n) < -np.expm1(-odds),
        rng.choice([1.0, 2.0, 3.0], n),
    )


def by_hand(looks, k, rows):
    """Return the log-likelihood of one worth, gap by gap."""
    total = 0.0
    for i in rows:
        most = 0.98 * looks.expected[i]  # a share always goes unannounced
        announced = min((1 - math.exp(-k)) * looks.usual[i], most)
        y = looks.expected[i] - announced + k * looks.hints[i]
        one = math.log(-math.expm1(-y - 1e-9)) if looks.changed[i] else -y
        total += looks.tally[i] * one
    return total


def test_the_grid_of_worths_begins_with_nothing_and_ends_with_trust():
    assert (GRID[0], GRID[1], GRID[-1]) == pytest.approx((0.0, 1e-3, MOST_WORTH))
    assert np.diff(np.log(GRID[1:])) == pytest.approx(np.full(59, math.log(7e3) / 59))


def test_the_likelihood_of_each_worth_is_that_of_the_gaps():
    looks = some_looks()
    table = _log_likelihood(looks, 4)
    assert table.shape == (4, GRID.size)
    for group in range(4):
        rows = np.flatnonzero(looks.group == group)
        for place in (0, 1, 20, 40, 60):
            value = by_hand(looks, GRID[place], rows)
            assert table[group, place] == pytest.approx(value)


@pytest.mark.parametrize("pretend", [0.0, 5.0, 40.0])
def test_a_group_pretends_hints_as_good_as_those_of_all_groups(pretend):
    looks = some_looks(1)
    model = HintTrust(pretend=pretend).fit(looks, n_groups=4)
    every = [by_hand(looks, k, range(60)) - pretend * k for k in GRID]
    pooled = GRID[int(np.argmax(every))]
    assert model.pooled_ == pooled
    for group in range(4):
        rows = np.flatnonzero(looks.group == group)
        wrong = math.exp(-pooled)
        scores = []
        for k in GRID:
            right = math.log(max(1 - math.exp(-k), 1e-12)) if pooled else 0.0
            prior = pretend * ((1 - wrong) * right - wrong * k)
            scores.append(by_hand(looks, k, rows) + prior)
        assert model.worth_[group] == GRID[int(np.argmax(scores))]
    assert model.precision_ == pytest.approx(1 - np.exp(-model.worth_))


def test_pretended_hints_alone_are_worth_what_they_pretend():
    nothing = np.zeros((1, GRID.size))
    near = float(GRID[np.argmin(np.abs(GRID - 1.0))])
    assert _mode(nothing, near, 9.0) == pytest.approx([near])
    assert _mode(nothing, 0.0, 9.0).tolist() == [0.0]


def test_a_change_was_silent_with_the_odds_of_the_two_causes():
    x, s, k = (
        np.array([0.2, 1.0, 0.0]),
        np.array([1.0, 0.0, 2.0]),
        np.array([1.5, 2, 1]),
    )
    found = silent_share(x, s * k)
    one = (1 - math.exp(-0.2)) / (1 - math.exp(-1.7))
    assert found[:2] == pytest.approx([one, 1.0])
    assert 0 < found[2] < 1e-8


def test_recall_is_the_share_of_changes_that_true_hints_announce():
    silent, told, worth = (
        np.array([0.3, 0.0, 0.0]),
        np.array([2.0, 1.0, 0.0]),
        np.ones(3),
    )
    true = 2.0 * (1 - math.exp(-1))
    assert announced_share(silent, told, worth) == pytest.approx(
        [true / (0.3 + true), 1.0, 0.0]
    )


def test_between_hints_survival_is_that_of_silence():
    one = np.ones(2)
    law = Announced(Exponential(0.5 * one), 0.5 * one, one, one)
    t = np.array([1.0, 4.0])
    inner = Exponential(0.5 * one)
    assert law.alive(t).tolist() == inner.alive(t).tolist()
    assert law.lasting(t).tolist() == inner.lasting(t).tolist()
    assert law.moment(t).tolist() == inner.moment(t).tolist()


@pytest.mark.parametrize("pretend", [-0.1, math.inf, math.nan])
def test_a_prior_that_makes_no_sense_is_refused(pretend):
    with pytest.raises(ValueError, match="finite and not negative"):
        HintTrust(pretend=pretend).fit(some_looks(), n_groups=3)
