"""A sync whose removals are held, killed at its writes: all of it is there, or none."""

import json
import shutil

import pytest

from fault_points import count
from halflife.config import Config
from halflife.engine import bootstrap
from halflife.stores.notes.held_removals import HELD_REMOVALS
from halflife.stores.record_changes import current

KILLS = count(60, 8)
OLD, NEW = {f"k{i}" for i in range(30)}, {"new1", "new2"}


@pytest.fixture
def folder(nursery, server, tmp_path, traced):
    """A folder with a copy of 30 cars, of which the server lists half now, and two."""
    folder = tmp_path / "before"
    folder.mkdir()
    (folder / "halflife.toml").write_text(
        "[fetch]\ndelay = 0.0\n"
        '[[sink]]\nname = "log"\nkind = "jsonl"\npath = "changes.jsonl"\n'
        '[[source]]\nname = "cars"\nkind = "listing"\nallow = ["127.0.0.0/8"]\n'
        f'url = "{server.url}/cars.json"\nformat = "json"\nkey = "id"\n'
    )
    lists(server, OLD)
    assert nursery.run(folder, "sync").code == 0
    lists(server, {f"k{i}" for i in range(15)} | NEW)
    return folder


def lists(server, keys):
    body = json.dumps([{"id": key} for key in sorted(keys)]).encode()
    server.pages["/cars.json"] = ("application/json", body)


def found(folder, place):
    """Return the copy, and whether an answer waits, and whether the note says so."""
    shutil.copytree(folder, place)  # looking recovers the file
    config = Config.load(place / "halflife.toml")
    with bootstrap.reading(config) as store:
        keys = set(current(store.register("cars")))
        return keys, len(store.staged()), HELD_REMOVALS.exists(store, "cars")


def test_a_held_sync_killed_at_any_write_is_whole_or_nothing(folder, nursery, tmp_path):
    whole = shutil.copytree(folder, tmp_path / "whole")
    assert nursery.run(whole, "sync", trace="pwrite64").code == 5
    writes = (whole / "trace").read_text().count(" pwrite64(")
    before, after = (OLD, 0, False), (OLD | NEW, 1, True)
    states = []
    for number in range(KILLS):
        place = shutil.copytree(folder, tmp_path / f"{number}")
        when = 1 + number * writes // KILLS
        harm = f"pwrite64:signal=KILL:when={when}"
        assert nursery.run(place, "sync", harm=harm).code in (-9, 5)
        states.append(found(place, tmp_path / f"{number}.copy"))
        assert states[-1] in (before, after)
        done = nursery.run(place, "sync", "--json")
        assert done.code == 5, done.err
        assert found(place, tmp_path / f"{number}.again") == after
        lines = (place / "changes.jsonl").read_text().splitlines()
        new = [row["key"] for row in map(json.loads, lines) if row["kind"] == "new"]
        assert set(new) == OLD | NEW
        assert new.count("new1") == new.count("new2") == 1
    assert before in states
    assert after in states
