"""Sitemaps whose dates lie, kept by the product's own keeper."""

import numpy as np
import pytest

from lab.lying_sitemaps import BEGAN, Site, play, told

RATE = np.geomspace(0.05, 1.0, 8)


def test_dates_that_never_move_are_as_good_as_none():
    assert play("frozen", RATE, 34, 1) == play("silent", RATE, 34, 1)


def test_each_map_says_of_a_page_what_it_is_to_say():
    rng = np.random.default_rng(0)
    said = {}
    for dates in ("silent", "truthful", "always-now"):
        site = Site([np.array([2.5, 9.0])], dates, rng)
        site.begin(4)
        said[dates] = site.answer("/map.xml")
    assert "lastmod" not in said["silent"]
    day = np.datetime64("1970-01-01T00:00:00") + np.timedelta64(int(BEGAN), "D")
    changed = day + np.timedelta64(60, "h")
    assert f"<lastmod>{changed}Z</lastmod>" in said["truthful"]
    assert f"{day + np.timedelta64(3, 'D')}"[:10] in said["always-now"]


def test_who_is_told_everything_keeps_slow_pages_fresh():
    slow = np.full(5, 0.001)
    assert told(slow, 60, 1) == pytest.approx(1.0, abs=0.01)
    assert told(np.full(5, 20.0), 60, 1) < 0.1
