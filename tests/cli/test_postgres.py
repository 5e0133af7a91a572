"""The verbs on a store in PostgreSQL."""

import json
import os
import shlex
import subprocess
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest

import postgres_server
import postgres_store
from console_blocks import commands
from halflife import cli
from halflife.config import Config
from halflife.engine.bootstrap import clock
from halflife.stores.owner import Owner
from halflife.stores.postgres.store import PostgresStore

DOCS = Path(__file__).parents[2] / "docs"
SETTINGS = """
store = "{store}"
[budget]
requests = 100
per = "day"
[fetch]
delay = 0.0
[[source]]
name = "site"
robots = false
allow = ["127.0.0.0/8"]
pages = ["{site}/a", "{site}/b"]
"""


@pytest.fixture
def project(tmp_path, server):
    """Settings with a store of their own, and a site with two pages."""
    server.pages = dict.fromkeys(("/a", "/b"), ("text/html", b"<p>one</p>"))
    site = f"http://127.0.0.1:{server.server_port}"
    path = tmp_path / "halflife.toml"
    path.write_text(SETTINGS.format(store=postgres_store.fresh(), site=site))
    return path


def told(project, capsys, *words):
    """Run a verb; return its exit code, what it wrote, and its complaints."""
    capsys.readouterr()
    code = cli.main([*words, "--config", str(project)])
    out, err = capsys.readouterr()
    return code, out, err


def test_every_verb_works_on_it(project, server, capsys):
    assert json.loads(told(project, capsys, "status", "--json")[1])["budget"]
    assert told(project, capsys, "sync")[0] == 0
    server.pages["/a"] = ("text/html", b"<p>another</p>")
    assert told(project, capsys, "sync", "--all")[0] == 0
    _, out, _ = told(project, capsys, "changes", "--since", "0", "--json")
    kinds = sorted(json.loads(line)["kind"] for line in out.splitlines())
    assert kinds == ["changed", "new", "new"]
    status = json.loads(told(project, capsys, "status", "--json")[1])
    assert status["store"].startswith("postgresql://")
    assert status["budget"]["spent"] == 4
    for words in (["plan"], ["verify"], ["gc", "--compact"], ["source"], ["alerts"]):
        assert told(project, capsys, *words)[0] == 0, words
    code, out, _ = told(project, capsys, "doctor")
    assert code == 0, out
    code, _, err = told(project, capsys, "backup", "copy.db")
    assert code != 0
    assert "pg_dump" in err
    assert server.asked.count("/a") == 2


def test_a_sync_finds_its_source_held_from_another_machine(project, capsys):
    assert told(project, capsys, "sync")[0] == 0
    address = Config.load(project).store
    away = replace(Owner.here(shared=True), boot="another", host="elsewhere")
    with PostgresStore.open(address, owner=away) as other:
        other.begin(["site"], clock(), lease=1.0)
        code, _, err = told(project, capsys, "sync")
    assert code == 7
    assert "elsewhere" in err


@pytest.mark.parametrize(
    ("store", "said"),
    [
        ("postgresql://me:s3cret@127.0.0.1:1/work", "check that the server runs"),
        ("postgresql://me:s3cret@db/work?schema=A-B", "not a valid name of a schema"),
        ("postgresql://me:s3c@ret@db/work", "%40"),
    ],
)
@pytest.mark.parametrize("verb", ["sync", "status", "verify", "doctor"])
def test_bad_addresses_are_one_line_without_the_password(
    project, capsys, store, said, verb
):
    lines = project.read_text().splitlines()
    text = "\n".join(f'store = "{store}"' if "store =" in n else n for n in lines)
    project.write_text(text)
    code, out, err = told(project, capsys, verb)
    assert code != 0
    assert said in out + err
    assert "s3c" not in out + err
    assert "Traceback" not in err


class Revoked(dict):
    """Pages; the password is changed when one of them is asked for."""

    def get(self, path, *other):
        if path == "/b":
            postgres_store.change_password("n3w-one")
        return super().get(path, *other)

    __getitem__ = get


def with_store(project, address):
    """Name another store in the settings."""
    lines = project.read_text().splitlines()
    text = "\n".join(f'store = "{address}"' if "store =" in n else n for n in lines)
    project.write_text(text)


@pytest.mark.parametrize("verb", ["sync", "status", "worker"])
def test_a_wrong_password_is_one_line_and_never_printed(project, capsys, verb):
    with postgres_store.guarded("r1ght-one") as address:
        with_store(project, address.format("wr0ng-one"))
        code, out, err = told(project, capsys, verb)
    assert code == 1
    assert err.count("\n") == 1
    assert "password authentication failed" in err
    assert "check the user, the password and pg_hba.conf" in err
    assert "0ng" not in out + err


def test_a_password_that_is_changed_during_a_sync_loses_nothing(
    project, server, capsys
):
    with postgres_store.guarded("r1ght-one") as address:
        with_store(project, address.format("r1ght-one"))
        server.pages = Revoked(server.pages)
        code, out, err = told(project, capsys, "sync")
        assert code == 1
        assert "Traceback" not in err
        assert "password authentication failed" in err
        assert "1ght" not in out + err
        with_store(project, address.format("n3w-one"))
        server.pages = dict(server.pages)
        assert told(project, capsys, "verify")[0] == 0
        schema = address.rpartition("=")[2]  # the process has not ended: its lease does
        postgres_store.connect().execute(f"UPDATE {schema}.lease SET expires = 0")
        assert told(project, capsys, "sync")[0] == 0
        status = json.loads(told(project, capsys, "status", "--json")[1])
        assert status["budget"]["spent"] >= len(server.asked)
        _, out, _ = told(project, capsys, "changes", "--since", "0", "--json")
        assert sorted(json.loads(n)["kind"] for n in out.splitlines()) == ["new"] * 2


@pytest.fixture
def work():
    """A database ``work`` as the book has it, with its two users; yield its host."""
    server = postgres_store.connect()
    server.execute("CREATE ROLE halflife LOGIN")
    server.execute("CREATE ROLE planner LOGIN")
    server.execute("CREATE DATABASE work OWNER halflife")
    yield postgres_store.folder()
    server.execute("DROP DATABASE work WITH (FORCE)")
    server.execute("DROP ROLE halflife")
    server.execute("DROP ROLE planner")


def run(command, host):
    """Run a command of the book; the database is on this machine."""
    first, *words = shlex.split(command.replace("@db/work?", f"@/work?host={host}&"))
    if first == "halflife":
        assert cli.main(words) == 0
        return
    program = postgres_server.programs() / first
    there = {**os.environ, "PGHOST": str(host), "PGUSER": "halflife"}
    subprocess.run([program, *words], check=True, capture_output=True, env=there)


def test_the_book_moves_a_store_there_and_back_and_restores_a_backup(
    project, server, work, capsys, monkeypatch
):
    monkeypatch.chdir(project.parent)
    there, back, dump, restore = (
        one
        for one in commands((DOCS / "postgres.md").read_text())
        if one.startswith(("halflife store copy", "pg_"))
    )
    file = project.parent / "halflife.db"
    with_store(project, file.name)
    assert told(project, capsys, "sync")[0] == 0
    run(there, work)
    run(dump, work)
    with psycopg.connect(host=str(work), user="halflife", dbname="work") as lost:
        lost.execute("DELETE FROM shop.observation")
    run(restore, work)
    file.unlink()
    run(back, work)
    assert told(project, capsys, "verify")[0] == 0
    _, out, _ = told(project, capsys, "changes", "--since", "0", "--json")
    assert [json.loads(one)["kind"] for one in out.splitlines()] == ["new"] * 2


def test_the_book_plans_a_table(work, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (command,) = (
        one
        for one in commands((DOCS / "scale.md").read_text())
        if "postgresql://" in one
    )
    with psycopg.connect(host=str(work), user="halflife", dbname="work") as db:
        db.execute("CREATE SCHEMA shop")
        db.execute("CREATE TABLE shop.items (url text, rate real)")
        db.execute("INSERT INTO shop.items VALUES ('a', 0.1), ('b', 2.0)")
        db.execute("GRANT USAGE ON SCHEMA shop TO planner")
        db.execute("GRANT SELECT ON shop.items TO planner")
    smaller = command.replace("--budget 20000000", "--budget 1")
    run(f"{smaller} --executor in-process", work)
    assert list((tmp_path / "plan").glob("*.parquet"))
