"""Targets of sites by the service's rule alone."""

from dataclasses import replace

import numpy as np
import pytest

from halflife.recordings.pages import Recording
from lab import sitetargets
from lab.mixedparts import Site
from lab.mixedworld import BEGAN

PAGES = 40


def recording(at):
    """Return pages that all change at some moments."""
    zero = np.zeros(PAGES)
    return Recording(
        tuple(f"/{i}" for i in range(PAGES)),
        len(at) * np.arange(PAGES + 1), np.tile(np.array(at, float), PAGES),
        zero + 1.0, zero - np.inf, zero + np.inf, ("docs",) * PAGES,
    )  # fmt: skip


@pytest.fixture
def short(monkeypatch):
    monkeypatch.setattr(sitetargets, "TRAIN", 1.0)
    monkeypatch.setattr(sitetargets, "DAYS", 1.0)


def test_a_window_has_the_changes_of_its_days_from_0_on():
    found = sitetargets.window(recording([3.0, 5.5, 9.0, 12.0]), 4.0, 6.0)
    assert np.diff(found.start).tolist() == [2] * PAGES
    assert found.at[:2].tolist() == [1.5, 5.0]
    assert found.group == ("docs",) * PAGES


@pytest.mark.usefixtures("short")
def test_a_still_site_is_kept_for_few_requests():
    site = Site("site1", recording([]), BEGAN)
    found = sitetargets.SiteRun(site, 0).play()
    assert found.missed.tolist() == [0.0, 0.0]
    assert PAGES <= found.requests[0] <= 20 * PAGES
    assert found.requests[1] <= found.requests[0]


@pytest.mark.usefixtures("short")
def test_a_change_of_all_pages_is_missed_until_it_is_fetched():
    site = Site("site1", recording([1.25]), BEGAN)
    found = sitetargets.SiteRun(site, 0).play()
    assert found.missed[0] == 0.0
    assert 0.0 < found.missed[1] <= 0.75
    assert found.requests[1] >= PAGES
    told = sitetargets.row(replace(site, name="site2"), 1)
    assert told["site"] == "docs"
    assert told["kept"] == pytest.approx(1.0 - found.missed[1])
    assert told["days_missed"] == pytest.approx(found.missed.sum())
    assert 0.0 < told["days_missed_believed"] <= 2.0
