"""A replay is the live program: the same requests in order, the same state."""

import sqlite3

import pytest

from halflife.config import Config
from halflife.engine import bootstrap
from halflife.engine.service import Rhythm
from halflife.replay.play import Play, VirtualClock, play_over_http, play_recorded
from halflife.replay.world import serve
from plugin_folder import install
from replay.worlds import BEGAN, KINDS, settings

HOURLY = Rhythm(3600.0, 3600.0, 3600.0, 3600.0, 6 * 3600.0)


@pytest.fixture(scope="module", autouse=True)
def example(tmp_path_factory):
    """The plug-in of the examples is installed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(install(tmp_path_factory.mktemp("site")))
        yield


def played(folder, text, play):
    folder.mkdir()
    path = folder / "halflife.toml"
    path.write_text(text)
    config = Config.load(path)
    with bootstrap.writing(config) as store:
        store.skip_disk_syncs()
        sent = play(config, store)
    return sent, dump(config.store_path)


def dump(path):
    """Return everything that a state file holds, but for who held its leases."""
    with sqlite3.connect(path) as db:
        names = [
            row[0]
            for row in db.execute("SELECT name FROM sqlite_master WHERE type='table'")
        ]
        return {
            name: sorted(map(repr, db.execute(f"SELECT * FROM {name}")))
            for name in names
            if name != "lease"
        }


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("delay", [0.0, 2.0])
def test_live_over_http_and_replayed_are_the_same(kind, delay, tmp_path):
    parts = [make() for make in KINDS[kind]]
    play = Play(BEGAN, 1.25, audits=True, rhythm=HOURLY)
    clock = VirtualClock(BEGAN)
    with serve([part.source for part in parts], clock) as urls:
        text = settings(parts, urls, 240, delay)
        live, kept = played(
            tmp_path / "live", text, lambda c, s: play_over_http(c, s, play, clock)
        )
    world = {url: part.source for url, part in zip(urls, parts, strict=True)}
    again, copy = played(
        tmp_path / "replay", text, lambda c, s: play_recorded(c, s, world, play)
    )
    assert len(live) > 20
    assert again == live
    assert copy.keys() == kept.keys()
    for name, rows in kept.items():
        assert copy[name] == rows, name
