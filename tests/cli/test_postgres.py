"""The verbs on a store in PostgreSQL."""

import json
from dataclasses import replace

import pytest

import postgres_store
from halflife import cli
from halflife.config import Config
from halflife.engine.bootstrap import clock
from halflife.stores.owner import Owner
from halflife.stores.postgres.store import PostgresStore

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
        ("postgresql://me:s3cret@db/work?schema=A-B", "no name for a schema"),
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
