"""A state file with objects in its schema that nobody here made is not used."""

import sqlite3

import pytest

from halflife.cli import main
from halflife.core.errors import Damaged
from halflife.stores import schema
from halflife.stores.sqlite import SqliteStore

EVIL = {
    "trigger": (
        "CREATE TRIGGER evil AFTER INSERT ON ledger BEGIN DELETE FROM ledger; END",
        "the trigger evil on ledger",
    ),
    "view": ("CREATE VIEW evil AS SELECT 1", "the view evil on evil"),
    "table": ("CREATE TABLE evil (a)", "the table evil on evil"),
    "index": ("CREATE INDEX evil ON ledger (id)", "the index evil on ledger"),
    "virtual table": (
        "CREATE VIRTUAL TABLE evil USING fts5(a)",
        "the table evil on evil",
    ),
}


@pytest.fixture
def path(tmp_path, monkeypatch, server):
    """A state file that was synced once, beside its settings."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HALFLIFE_CONFIG", raising=False)
    server.pages["/"] = ("text/plain", b"one")
    (tmp_path / "halflife.toml").write_text(
        '[fetch]\ndelay = 0.0\n[[source]]\nname = "s"\nallow = ["127.0.0.0/8"]\n'
        f'pages = ["{server.url}/"]\n'
    )
    assert main(["sync"]) == 0
    return tmp_path / "halflife.db"


def change(path, *statements):
    with sqlite3.connect(path) as db:
        for statement in statements:
            db.execute(statement)
    db.close()


@pytest.mark.parametrize("what", EVIL)
@pytest.mark.parametrize("verb", ["verify", "sync", "status", "run", "backup"])
def test_no_verb_uses_a_file_with_a_foreign_object(path, server, capsys, what, verb):
    statement, named = EVIL[what]
    change(path, statement)
    asked = len(server.asked)
    capsys.readouterr()
    more = ["copy.db"] if verb == "backup" else []
    assert main([verb, *more]) == 1
    said = "".join(capsys.readouterr())
    assert named in said
    assert "restore a backup, or drop it" in said
    assert "Traceback" not in said
    assert len(server.asked) == asked


def test_a_copy_with_a_foreign_object_is_not_restored(path, capsys):
    assert main(["backup", "copy.db"]) == 0
    copy = path.with_name("copy.db")
    change(copy, EVIL["trigger"][0])
    path.with_name("copy.db.sha256").unlink()
    before = path.read_bytes()
    capsys.readouterr()
    assert main(["restore", "copy.db"]) == 1
    said = capsys.readouterr().err
    assert "the trigger evil on ledger" in said
    assert said.count("\n") == 1
    assert path.read_bytes() == before


def test_a_trigger_of_ours_that_does_something_else_is_foreign(path):
    change(
        path,
        "DROP TRIGGER observation_is_final",
        "CREATE TRIGGER observation_is_final BEFORE UPDATE ON observation"
        " BEGIN DELETE FROM ledger; END",
    )
    with pytest.raises(Damaged, match="the trigger observation_is_final on"):
        SqliteStore.open(path)


def test_many_foreign_objects_are_counted_and_some_are_named(path):
    change(path, *(f"CREATE VIEW evil{i} AS SELECT 1" for i in range(9)))
    with pytest.raises(Damaged, match="evil2 on evil2 and 6 more; "):
        SqliteStore.open(path)


@pytest.mark.parametrize("version", range(1, len(schema.STEPS) + 1))
def test_a_file_of_every_version_is_ours(tmp_path, version):
    path = tmp_path / "old.db"
    db = sqlite3.connect(path, isolation_level=None)
    schema.upgrade(db, schema.STEPS[:version])
    db.execute("ANALYZE")  # which makes tables of SQLite's own
    db.close()
    SqliteStore.open(path).close()
