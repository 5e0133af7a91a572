"""How often bursts cause others."""

import numpy as np
import pytest
from scipy import integrate

from halflife.recordings.pages import Recording
from lab import burst_rows
from lab.burst_rows import bursts, fit, log_likelihood


def hawkes(rng, own, followers, rush, days):
    """Return bursts, each with its offspring, cluster by cluster."""
    waiting = rng.uniform(0.0, days, rng.poisson(own * days)).tolist()
    found = []
    while waiting:
        at = waiting.pop()
        found.append(at)
        late = rng.exponential(1.0 / rush, rng.poisson(followers))
        waiting += [at + x for x in late.tolist() if at + x < days]
    return np.sort(np.array(found))


def test_changes_of_enough_pages_within_minutes_are_a_burst():
    at = [[1.0, 5.0], [1.001, 7.0], [1.002, 5.0], [9.0, 5.005]]
    zero = np.zeros(4)
    recording = Recording(
        tuple("abcd"), np.array([0, 2, 4, 6, 8]), np.array(at).ravel(),
        zero, zero - np.inf, zero + np.inf,
    )  # fmt: skip
    assert bursts(recording, 3).tolist() == [1.0, 5.0]
    assert bursts(recording, 1).tolist() == [1.0, 5.0, 7.0, 9.0]


def test_the_likelihood_is_that_of_the_intensity(monkeypatch):
    monkeypatch.setattr(burst_rows, "WORTH", 0.0)
    monkeypatch.setattr(burst_rows, "DAYS", 0.0)
    at, followers, rush, days = np.array([2.0, 2.3, 7.0]), 0.4, 3.0, 10.0

    def intensity(t, own):
        past = at[at < t]
        return own + followers * rush * np.exp(-rush * (t - past)).sum()

    def value(own):
        points = at.tolist()
        area = integrate.quad(intensity, 0.0, days, (own,), points=points)[0]
        return sum(np.log(intensity(t, own)) for t in at) - area

    best = max(value(own) for own in np.geomspace(0.05, 1.0, 200))
    found = log_likelihood(at, followers, rush, days)
    assert found == pytest.approx(best, abs=1e-3)


def test_the_numbers_of_a_made_up_process_are_found_again():
    rng = np.random.default_rng(1)
    sites = [hawkes(rng, 0.05, 0.6, 4.0, 360.0) for _ in range(20)]
    found = fit(sites)
    assert found["followers"] == pytest.approx(0.6, abs=0.06)
    assert found["rush"] == pytest.approx(4.0, rel=0.25)
    assert found["log_likelihood"] > found["even_log_likelihood"] + 100.0


def test_bursts_that_come_evenly_are_as_likely_without_followers():
    rng = np.random.default_rng(2)
    found = fit([np.sort(rng.uniform(0.0, 360.0, 20)) for _ in range(20)])
    assert found["log_likelihood"] < found["even_log_likelihood"] + 3.0
