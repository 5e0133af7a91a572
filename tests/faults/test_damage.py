"""Bytes of the state file flipped: it is told, in words, or it does no harm."""

import os

import pytest

import damage
from fault_points import count
from halflife.cli import main
from halflife.core.errors import Damaged
from halflife.stores import backup
from halflife.stores.sqlite import SqliteStore

COUNT = int(os.environ.get("HALFLIFE_IMAGES", count(200, 100)))
VERBS = ("verify", "doctor", "status", "plan", "alerts", "gc")
# What is written down once, and has no other row to contradict it.
ONCE = {
    "alarm", "change", "content", "host", "item", "item_group", "life", "linked",
    "message", "note", "observation", "page_version", "run", "snapshot", "source",
    "sqlite_sequence", "staged", "version",
    "rolled", "rolled_until",  # where a later look has overruled it
}  # fmt: skip


def test_no_flipped_byte_ends_in_a_traceback_or_changes_what_is_believed(tmp_path):
    found = damage.tally(tmp_path, COUNT)
    told = sum(count for verdict, count in found.items() if verdict.startswith("told"))
    silent = {v.removeprefix("silent: "): n for v, n in found.items() if "silent" in v}
    assert sum(found.values()) == COUNT
    assert {name for names in silent for name in names.split(", ")} <= ONCE
    assert told > 0.8 * COUNT
    assert sum(silent.values()) < 0.08 * COUNT


def test_a_copy_with_any_byte_flipped_is_never_restored(tmp_path):
    damage.write(tmp_path / "state.db")
    copy = tmp_path / "copy.db"
    with SqliteStore.open(tmp_path / "state.db") as store:
        backup.back_up(store, copy)
    for image in damage.images(copy.read_bytes(), COUNT, seed=1):
        copy.write_bytes(image)
        with pytest.raises(Damaged, match="SHA-256 differs"):
            backup.restore(copy, tmp_path / "other.db", 30.0)
    assert not (tmp_path / "other.db").exists()


def test_no_verb_ends_in_a_traceback(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "halflife.toml").write_text(
        '[[source]]\nname = "site"\npages = ["https://example.org/"]\n'
    )
    path = tmp_path / "halflife.db"
    for number, image in enumerate(damage.images(damage.write(path), 24, seed=2)):
        for file in tmp_path.glob("halflife.db*"):
            file.unlink()
        path.write_bytes(image)
        for verb in VERBS[number % 2 :: 2]:
            assert main([verb, "--json"]) in (0, 1)
            assert "Traceback" not in capsys.readouterr().err
