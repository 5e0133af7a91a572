"""Whatever people and machines hand in, the program says in one line what is wrong."""

import socket
import sqlite3
import time
from contextlib import closing

import pytest

LOOKING = ["status", "plan", "forecast", "sync", "run", "explain x", "get x"]


@pytest.mark.parametrize("verb", LOOKING)
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[budget]\nrequets = 5\n", "budget.requets: unknown key; did you mean"),
        ("[budget\n", "not valid TOML: "),
        ("[budget]\nrequests = -1\n", "budget.requests: input should be greater"),
    ],
    ids=["unknown key", "malformed", "negative budget"],
)
def test_settings_that_cannot_be_used(here, fails, verb, text, said):
    (here / "halflife.toml").write_text(text)
    code, complaint = fails(*verb.split())
    assert code == 2
    assert complaint.startswith(f"halflife.toml: {said}")


@pytest.mark.parametrize("verb", LOOKING)
def test_no_settings_at_all(here, fails, verb):
    code, complaint = fails(*verb.split())
    assert code == 2
    assert "run `halflife init`" in complaint


@pytest.mark.parametrize("verb", LOOKING)
def test_nothing_to_keep(here, fails, verb):
    (here / "halflife.toml").write_text("")
    code, complaint = fails(*verb.split())
    assert code == 2
    assert "run `halflife add URL` first" in complaint


@pytest.mark.parametrize(
    "url",
    [
        "ftp://example.org/",
        "file:///etc/passwd",
        "javascript:alert(1)",
        "example.org",
        "http://user:hunter2@example.org/",
        "http://",
        "\x1b]0;x\x07",
    ],
)
@pytest.mark.parametrize("check", [[], ["--no-check"], ["--dry-run"]])
def test_a_url_that_is_no_web_page(settings, fails, url, check):
    before = settings.read_text()
    code, complaint = fails("add", url, *check)
    assert code == 2
    assert "hunter2" not in complaint
    assert complaint.isprintable()
    assert settings.read_text() == before


def test_a_host_that_cannot_be_reached(here, fails, told):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}/"
        (here / "halflife.toml").write_text("[fetch]\ndelay = 0.0\ntimeout = 5.0\n")
        code, complaint = fails("add", url, "--allow", "127.0.0.0/8")
        assert code == 1
        assert complaint.startswith(f"not added: {url}: ")
        assert "source" not in (here / "halflife.toml").read_text()
        assert told("add", url, "--allow", "127.0.0.0/8", "--no-check")[0] == 0
        code, out, err = told("sync")
        assert code == 4
        assert "1 failed" in out
        assert "did not answer" in err


def test_an_address_that_is_not_public(settings, fails, site):
    code, complaint = fails("add", f"{site.url}/docs/0000.html", "--source", "other")
    assert code == 1
    assert "not public" in complaint


def test_a_page_that_is_not_utf8(here, server, keep, asked, told):
    server.pages["/latin"] = (
        "text/html; charset=iso-8859-1",
        "<title>Gr\xfc\xdfe</title>".encode("latin-1"),
    )
    server.pages["/garbage"] = ("text/html; charset=utf-8", b"<p>\xff\xfe\x00\x80</p>")
    keep(server, "/latin", "/garbage")
    code, answer = asked("sync")
    assert (code, answer["looks"], answer["failed"]) == (0, 2, 0)
    assert asked("get", "/garbage")[0] == 0
    assert asked("status")[1]["results"][0]["held"] == 2


def test_hostile_text_reaches_no_terminal(here, server, keep, told):
    server.pages["/"] = ("text/plain", b"\x1b]0;pwned\x07\x9b31m")
    keep(server, "/")
    assert told("sync")[0] == 0
    for words in (["status"], ["plan"], ["explain", "127"], ["forecast"], ["sync"]):
        _, out, err = told(*words)
        assert "\x1b" not in out + err
    assert "\x1b" not in told("get", "127", "--json")[1]


@pytest.mark.parametrize("verb", ["status", "plan", "forecast", "explain x", "get x"])
def test_an_empty_database_file(settings, here, fails, verb):
    (here / "halflife.db").touch()
    code, complaint = fails(*verb.split())
    assert code == 1
    assert "halflife.db is damaged (it is empty)" in complaint


@pytest.mark.parametrize("verb", LOOKING)
def test_a_file_that_is_no_database(settings, here, fails, verb):
    (here / "halflife.db").write_bytes(b"not a database at all" * 100)
    code, complaint = fails(*verb.split())
    assert code == 1
    assert "is damaged (it is not a SQLite file)" in complaint


@pytest.mark.parametrize("verb", LOOKING)
def test_a_database_of_a_newer_version(settings, here, told, fails, verb):
    assert told("sync", "--max-requests", "3")[0] == 0
    db = sqlite3.connect(here / "halflife.db")
    version = db.execute("PRAGMA user_version").fetchone()[0]
    db.execute(f"PRAGMA user_version = {version + 1}")
    db.close()
    code, complaint = fails(*verb.split())
    assert code == 1
    assert "newer halflife" in complaint
    assert "upgrade halflife" in complaint


def a_day_later(monkeypatch):
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() + 86400.0)


def test_a_page_that_fails_as_it_is_audited_is_reported(
    server, keep, asked, monkeypatch
):
    server.pages["/"] = ("text/plain", b"one")
    keep(server, "/")
    assert asked("sync")[0] == 0
    a_day_later(monkeypatch)  # a share of a day's income audits the only page
    server.pages["/"] = ("text/plain", b"x" * (9 << 20))
    code, answer = asked("sync")
    assert (code, answer["failed"]) == (4, 1)
    assert "larger than" in answer["results"][0]["trouble"]


def test_a_change_that_an_audit_finds_is_counted(server, keep, asked, monkeypatch):
    server.pages["/"] = ("text/plain", b"one")
    keep(server, "/")
    assert asked("sync")[0] == 0
    a_day_later(monkeypatch)
    server.pages["/"] = ("text/plain", b"two")
    code, answer = asked("sync")
    assert (code, answer["changed"], answer["changes_total"]) == (0, 1, 1)


def test_doctor_advises_to_upgrade_for_a_state_of_a_newer_halflife(settings, asked):
    assert asked("sync")[0] == 0
    with closing(sqlite3.connect(settings.parent / "halflife.db")) as db:
        db.execute("PRAGMA user_version = 99")
    code, answer = asked("doctor")
    (found,) = [one for one in answer["results"] if "newer halflife" in one["text"]]
    assert (code, found["advice"]) == (1, "upgrade halflife on this machine")
