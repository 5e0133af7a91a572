"""Single intervals in a mixed world, found in hindsight."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from halflife.recordings.pages import Recording
from lab import mixedtargets
from lab.mixedparts import Site
from lab.mixedtargets import best_interval, in_turn

AT = np.arange(5.0, 25.0, 0.25)


@pytest.fixture
def site():
    """Ten pages of which one changes each day, in turn."""
    keys = tuple(str(i) for i in range(10))
    at = np.arange(10)[:, None] + 10.0 * np.arange(4) + 0.5
    return Site("a", _recording(keys, at), 0.0)


def _recording(keys, at):
    n, changes = at.shape
    start = np.arange(0, n * changes + 1, changes)
    ends = np.full(n, np.inf)
    return Recording(keys, start, at.ravel(), np.ones(n), -ends, ends)


def test_pages_looked_at_in_turn_are_as_fresh_as_their_interval_lets_them(site):
    quality = in_turn(site, 4.0, AT)
    assert quality.mean() == pytest.approx(1.0 - 4.0 / 2.0 / 10.0, abs=0.04)
    assert np.all(in_turn(site, 0.25, AT) >= 0.9)


def test_the_best_interval_keeps_the_level_and_a_longer_one_does_not(site):
    found = best_interval(site, 0.75, AT)
    assert found["reachable"]
    assert np.mean(in_turn(site, found["interval"], AT) >= 0.75) >= 0.95
    assert np.mean(in_turn(site, 2.0 * found["interval"], AT) >= 0.75) < 0.95
    assert found["interval_requests_a_day"] == pytest.approx(10 / found["interval"])


def test_a_level_that_no_interval_keeps_is_told(site):
    assert not best_interval(site, 1.0, AT)["reachable"]


def test_a_world_of_one_source_names_it(site):
    worlds = SimpleNamespace(draw=lambda seed: (site,))
    with pytest.raises(SystemExit, match="world 7 has no source 'b'"):
        mixedtargets.world(worlds, 7, only="b")


def test_a_world_of_one_source_serves_no_other(site, monkeypatch):
    worlds, served = SimpleNamespace(draw=lambda seed: (site, other)), []
    other = replace(site, name="b")

    def opened(parts, place):
        served.extend(parts)
        raise InterruptedError

    monkeypatch.setattr(mixedtargets, "opened", opened)
    with pytest.raises(InterruptedError):
        mixedtargets.world(worlds, 7, only="b")
    assert served == [other]
