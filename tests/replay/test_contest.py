"""Policies compared on recorded sources, through the service itself."""

import numpy as np
import pytest

from halflife.config import Config
from halflife.core.errors import UsageError
from halflife.core.history import History
from halflife.core.observation import Observation, Seen
from halflife.engine import bootstrap
from halflife.engine.service import ServiceRhythm
from halflife.kinds.pages.recorded_source import RecordedPages, recording_of
from halflife.recordings.pages import Recording
from halflife.replay.contest import ContestRules, contest
from halflife.replay.own_store import recorded_sources
from halflife.replay.play import Play, play_recorded
from replay.worlds import BEGAN, KINDS, settings

HOURLY = ServiceRhythm(3600.0, 3600.0, 3600.0, 3600.0, 21600.0)


def seen(key, at, digest):
    return Observation(key, at, Seen.PRESENT, digest)


def test_a_change_counts_from_when_it_was_found():
    looks = [seen("a", 0.0, "x"), seen("a", 1.0, "x"), seen("a", 3.0, "y")]
    looks += [seen("b", 0.0, "x"), Observation("b", 2.0, Seen.ABSENT)]
    recording = recording_of(History.of(looks))
    rows = np.array([0, 1])
    assert recording.states(rows, 2.9).tolist() == [0, 1]  # b is gone since day 2
    assert recording.states(rows, 3.0).tolist() == [1, 1]
    assert recording.seen(rows, 1.9).tolist() == [Seen.PRESENT, Seen.PRESENT]
    assert recording.seen(rows, 2.0).tolist() == [Seen.PRESENT, Seen.ABSENT]


def busy_and_calm(pages=12, days=12.0):
    """Return pages of which the first quarter changes four times a day."""
    at, start = [], [0]
    for page in range(pages):
        if page < pages // 4:
            at += np.arange(BEGAN + 0.1 * page, BEGAN + days, 0.25).tolist()
        start.append(len(at))
    return RecordedPages(
        "site",
        Recording(
            keys=tuple(f"page {i}" for i in range(pages)),
            start=np.array(start),
            at=np.array(at),
            weight=np.ones(pages),
            born=np.full(pages, -np.inf),
            died=np.full(pages, np.inf),
        ),
        (BEGAN, BEGAN + days),
    )


def test_the_policy_that_learns_beats_the_one_that_asks_all_pages_equally_often():
    rows = contest([busy_and_calm()], ContestRules(["uniform", "champion"], [14.0]))
    uniform, champion = rows
    assert uniform["against"]["mean"] == 0.0
    assert champion["quality"] > uniform["quality"]
    assert champion["against"]["low"] > 0.0
    for row in rows:
        assert row["requests_a_day"] <= 14.5 + 12.0 / 12.0  # the first look at all


def test_sources_without_a_day_in_common_are_refused():
    late = RecordedPages("late", busy_and_calm().recording, (BEGAN + 20, BEGAN + 30))
    with pytest.raises(UsageError, match="less than a day in common"):
        contest([busy_and_calm(), late], ContestRules(["uniform"], [10.0]))


def test_what_a_store_observed_can_be_replayed(tmp_path):
    parts = [make() for make in KINDS["mixed"]]
    urls = [f"http://recorded-{i}.invalid" for i in range(len(parts))]
    path = tmp_path / "halflife.toml"
    path.write_text(settings(parts, urls, 600))
    config = Config.load(path)
    world = {url: part.source for url, part in zip(urls, parts, strict=True)}
    with bootstrap.writing(config) as store:
        store.skip_disk_syncs()
        play_recorded(config, store, world, Play(BEGAN, 2.5, rhythm=HOURLY))
        found = recorded_sources(config, store)
        assert [source.kind for source in found] == ["pages", "listing", "form"]
        with pytest.raises(UsageError, match="library"):
            recorded_sources(config, store, ["library"])
        rows = contest(found, ContestRules(["champion"], [60.0], days=1.0))
    assert [one["source"] for one in rows[0]["sources"]] == ["site", "cars", "desk"]
    for one in rows[0]["sources"]:
        assert 0.3 < one["quality"] <= 1.0
