"""Forecasts pooled by how they did: corrections, weights and newcomers by hand."""

import math

import numpy as np
import pytest

from halflife.models.census import RECALL, Census
from halflife.models.conformal import DISPERSION, Scored, dispersion
from halflife.models.pool import (
    CORRECTED,
    GROWTH,
    HALF,
    SHARPNESS,
    Study,
    correct_bias,
    error_weights,
)
from set_lives import grown


@pytest.fixture(scope="module")
def study():
    known = grown(np.random.default_rng(1), (0.05, 0.2), days=40, arrivals=6.0)
    return Study(Census.of(known))


def past(seed=0, n=25, cycle=2.0):
    rng = np.random.default_rng(seed)
    raw = rng.uniform(0.01, 0.5, (3, n))
    found = raw[0] * rng.gamma(3.0, 0.5, n)
    later = np.where(np.arange(n) < n - 3, np.arange(n) + 3, -1)
    return raw, Scored(raw[0], found, np.full(n, 40.0), later, cycle, 2)


def known_at(ready, look):
    return [i for i in range(ready.first, look + 1) if 0 <= ready.later[i] <= look]


def test_forecasts_are_corrected_by_what_came_true_over_what_was_said():
    raw, ready = past()
    fixed = correct_bias(raw, ready)
    for look in range(25):
        seen = known_at(ready, look)
        for row in range(3):
            lent = CORRECTED * 3.0 * raw[row, look]  # as if so many had been right
            ratio = (ready.found[seen].sum() + lent) / (raw[row, seen].sum() + lent)
            by_hand = raw[row, look] * min(max(ratio, 0.2), 5.0)
            assert fixed[row, look] == pytest.approx(by_hand)


def test_forecasts_weigh_by_a_power_of_their_past_error():
    raw, ready = past(3)
    found = error_weights(raw, ready)
    for look in range(25):
        seen = known_at(ready, look)
        wrong = [
            np.abs(np.exp(-raw[r, seen]) - np.exp(-ready.found[seen])).sum()
            / max(len(seen), 1)
            for r in range(3)
        ]
        mean = np.array(wrong) + 1e-9 + 0.02 * np.mean(wrong)
        n = len(seen) / 2.0
        share = (mean / mean.min()) ** -(SHARPNESS * n / (n + HALF))
        np.testing.assert_allclose(found[:, look], share / share.sum())


@pytest.mark.parametrize("days", [1.0, 5.0])
def test_newcomers_are_expected_by_precision_and_recall(study, days):
    horizon = study.at(days)
    lost, missed = horizon.pooled
    mixed = horizon.newcomers()
    ready = mixed.ready
    size = np.maximum(study.census.size, 1)
    for look in range(size.size):
        precision, recall = math.exp(-lost[look]), math.exp(-missed[look])
        new = max(min(precision / recall, math.exp(GROWTH)) - precision, 1e-9)
        assert ready.scored.guess[look] == pytest.approx(new)
    np.testing.assert_allclose(ready.scored.found, horizon.outcome.new / size)
    even = dispersion(ready.scored, np.full(size.size, DISPERSION**2))
    np.testing.assert_allclose(ready.spread, even)
    gaps = study.census.turnover.new / size[:-1]
    np.testing.assert_allclose(mixed.steps, gaps)


def test_a_horizon_counts_its_looks_as_one_cycle(study):
    step = study.census.step
    assert study.at(step / 2).cycle == 1.0
    assert study.at(4 * step).cycle == pytest.approx(4.0)
    plain = study.at(2 * step)
    prior = np.full(plain.pooled.shape[1], DISPERSION**2)
    by_hand = dispersion(plain.scored(RECALL, plain.pooled[RECALL]), prior)
    np.testing.assert_allclose(plain.spread[RECALL], by_hand)
