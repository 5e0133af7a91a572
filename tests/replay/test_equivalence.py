"""A replay is the live program: the same requests in order, the same state."""

import sqlite3
from dataclasses import replace

import pytest

from halflife.config import Config
from halflife.engine import bootstrap, breakers
from halflife.engine.service import ServiceRhythm
from halflife.replay.play import Play, VirtualClock, play_over_http, play_recorded
from halflife.replay.world import serve
from halflife.stores import summaries
from halflife.stores.memory import MemoryStore
from plugin_folder import install
from replay.worlds import BEGAN, KINDS, settings

HOURLY = ServiceRhythm(3600.0, 3600.0, 3600.0, 3600.0, 6 * 3600.0)


@pytest.fixture(scope="module", autouse=True)
def example(tmp_path_factory):
    """The plug-in of the examples is installed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(install(tmp_path_factory.mktemp("site")))
        yield


def played(folder, text, play, *, memory=False):
    """Return what was sent, what is known in the end, and all of the state file."""
    folder.mkdir()
    path = folder / "halflife.toml"
    path.write_text(text)
    config = Config.load(path)
    if memory:
        store = MemoryStore()
        return play(config, store), known(config, store), {}
    with bootstrap.writing(config) as store:
        store.skip_disk_syncs()
        sent, state = play(config, store), known(config, store)
    return sent, state, dump(config.store_path)


def known(config, store):
    """Return what a store knows, as any store says it."""
    names = [source.name for source in config.source]
    seen = store.evidence(names)
    columns = (seen.keys, seen.looks, seen.last_at, seen.seen, seen.digest)
    held = [store.register(name) for name in store.collections()]
    return {
        "items": sorted(zip(*(list(column) for column in columns), strict=True)),
        "copies": [store.content(key) for key in sorted(seen.keys)],
        "objects": [sorted(map(repr, (*r.spells, *r.versions))) for r in held],
        "snapshots": [list(r.snapshots) for r in held],
        "summaries": [repr(summaries.current(store, name)) for name in names],
        "breakers": [breakers.recall(store, name) for name in names],
        "forecasts": [forecasts(store, name) for name in names],
        "held": store.staged(),
        "spent": store.spent(0.0),
    }


def forecasts(store, name):
    """Return the forecasts that wait; a store numbers them as it likes."""
    return sorted(repr(replace(f, id=0)) for f in store.forecasts.waiting(name))


def columns(db, table):
    found = db.execute("SELECT name FROM pragma_table_info(?)", (table,))
    return ", ".join(f'"{name}"' for (name,) in found if name != "head")


def dump(path):
    """Return everything that a state file holds, but for who held its leases.

    And but for the headers of answers: what a server says of itself is not recorded.
    """
    with sqlite3.connect(path) as db:
        names = [
            row[0]
            for row in db.execute("SELECT name FROM sqlite_master WHERE type='table'")
        ]
        return {
            name: sorted(
                map(repr, db.execute(f"SELECT {columns(db, name)} FROM {name}"))
            )
            for name in names
            if name != "lease"
        }


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("delay", "memory"), [(0.0, False), (2.0, True)])
def test_live_over_http_and_replayed_are_the_same(kind, delay, memory, tmp_path):
    """Requests, their order and times, and the final state; in memory, too."""
    parts = [make() for make in KINDS[kind]]
    play = Play(BEGAN, 1.25, audits=True, rhythm=HOURLY)
    clock = VirtualClock(BEGAN)
    with serve([part.source for part in parts], clock) as urls:
        text = settings(parts, urls, 240, delay)
        live, kept, file = played(
            tmp_path / "live", text, lambda c, s: play_over_http(c, s, play, clock)
        )
    world = {url: part.source for url, part in zip(urls, parts, strict=True)}
    again, copy, twin = played(
        tmp_path / "replay",
        text,
        lambda c, s: play_recorded(c, s, world, play),
        memory=memory,
    )
    assert len(live) > 20
    assert again == live
    for name, rows in kept.items():
        assert copy[name] == rows, name
    if not memory:
        assert twin.keys() == file.keys()
        for name, rows in file.items():
            assert twin[name] == rows, name
