"""Sources are renamed, removed and reset, and who owns what is visible."""

import json
import sqlite3
import tomllib

import pytest

from halflife.config import Config
from halflife.core.item import Item
from halflife.core.store import Note
from halflife.engine import bootstrap
from halflife.engine.loop import LEASE
from halflife.stores import ownership, retention
from halflife.stores.sqlite import SqliteStore

ALLOW = 'allow = ["127.0.0.0/8"]\n'


@pytest.fixture
def pages(here, server):
    """Settings with a source of six pages; three of the server's are gone."""
    for n in range(3):
        server.pages[f"/{n}"] = ("text/html", b"<p>page %d" % n)
    urls = ", ".join(f'"{server.url}/{n}"' for n in range(6))
    path = here / "halflife.toml"
    path.write_text(
        "# mine\n[fetch]\ndelay = 0.0\n\n"
        f'[[source]]  # the first\nname = "old"  # its name\n{ALLOW}pages = [{urls}]\n'
    )
    return path


def counted(path, query):
    with sqlite3.connect(path) as db:
        return db.execute(query).fetchone()[0]


def sound(told):
    code, out, _ = told("verify")
    assert code == 0, out


def test_gone_pages_are_not_held_and_are_counted_and_listed(pages, asked, told, server):
    assert asked("sync")[0] == 0
    (row,) = asked("status")[1]["results"]
    assert (row["items"], row["held"], row["gone"]) == (6, 3, 3)
    code, answer = asked("status", "--gone")
    assert code == 0
    assert [r["url"] for r in answer["results"]] == [
        f"{server.url}/{n}" for n in (3, 4, 5)
    ]
    assert {r["source"] for r in answer["results"]} == {"old"}
    assert f"{server.url}/4" in told("status", "--gone", "old")[1]


def test_a_renamed_source_keeps_its_pages_history_comments_and_budget(
    pages, asked, told, here
):
    told("sync")
    spent = asked("status")[1]["budget"]["spent"]
    code, answer = asked("source", "rename", "old", "new")
    assert (code, answer["pages"]) == (0, 6)
    text = pages.read_text()
    assert "# mine" in text
    assert "# the first" in text
    assert "# its name" in text
    assert tomllib.loads(text)["source"][0]["name"] == "new"
    after = asked("status")[1]
    assert after["results"][0]["source"] == "new"
    assert after["results"][0]["looks"] == 6
    assert after["budget"]["spent"] == spent
    sound(told)


def test_a_source_renamed_by_hand_takes_its_pages_along(pages, asked, told, server):
    told("sync")
    pages.write_text(pages.read_text().replace('"old"', '"new"'))
    code, out, err = told("sync", "--all")
    assert code == 0
    assert "source new took over 6 pages of source old" in err
    assert "0 requests" not in out
    (row,) = asked("status")[1]["results"]
    assert (row["source"], row["items"], row["looks"]) == ("new", 6, 12)
    sound(told)


def test_pages_found_by_a_map_go_with_the_map_to_its_new_source(settings, asked, told):
    told("sync")
    before = asked("status")[1]["results"][0]["items"]
    assert before > 10
    settings.write_text(settings.read_text().replace('"demo"', '"again"'))
    assert told("sync")[0] == 0
    (row,) = asked("status")[1]["results"]
    assert (row["source"], row["items"]) == ("again", before)
    sound(told)


def test_a_source_that_overlaps_another_says_so(pages, asked, told, server):
    told("sync")
    more = f'[[source]]\nname = "twice"\n{ALLOW}pages = ["{server.url}/1"]\n'
    pages.write_text(pages.read_text() + more)
    code, _, err = told("sync")
    assert code == 0
    assert "source twice names 1 address that belong to source old" in err.replace(
        "belongs", "belong"
    )
    _, answer = asked("source", "list")
    assert answer["overlaps"] == [
        {"source": "twice", "owner": "old", "urls": [f"{server.url}/1"]}
    ]
    found = asked("doctor")[1]["results"]
    assert any("twice names 1 address" in one["text"] for one in found)
    code, answer = asked("source", "rename", "old", "twice", "--yes")
    assert code == 0
    assert asked("source")[1]["overlaps"] == []
    (table,) = tomllib.loads(pages.read_text())["source"]
    assert table["name"] == "twice"
    assert len(table["pages"]) == 6
    sound(told)


def test_adding_a_page_that_another_source_owns_names_the_owner(
    pages, asked, told, server
):
    told("sync")
    words = ("add", f"{server.url}/1", "--source", "b", "--allow", "127.0.0.0/8")
    code, _, err = told(*words)
    assert code == 0
    assert "belong to source old" in err


def test_a_removed_source_leaves_its_data_until_it_is_told_otherwise(
    pages, asked, told, here
):
    told("sync")
    assert told("source", "remove", "old")[0] == 2  # nobody to ask, and no --yes
    code, answer = asked("source", "remove", "old", "--yes")
    assert (code, answer["data_kept"]) == (0, True)
    assert "source" not in tomllib.loads(pages.read_text())
    (row,) = asked("source")[1]["results"]
    assert (row["source"], row["in settings"], row["pages"]) == ("old", "no", 6)
    found = asked("doctor")[1]["results"]
    assert any("old" in one["text"] for one in found)
    code, answer = asked("source", "remove", "old", "--data", "--yes")
    assert (code, answer["data_kept"]) == (0, False)
    assert asked("source")[1]["results"] == []
    assert counted(here / "halflife.db", "SELECT count(*) FROM observation") == 0
    assert counted(here / "halflife.db", "SELECT sum(requests) FROM ledger") > 0
    sound(told)


def test_a_reset_forgets_pages_and_the_next_sync_begins_anew(pages, asked, told, here):
    told("sync")
    code, answer = asked("source", "reset", "old", "--yes")
    assert (code, answer["pages"]) == (0, 6)
    state = here / "halflife.db"
    for table in ("observation", "evidence", "content", "item"):
        assert counted(state, f"SELECT count(*) FROM {table}") == 0
    sound(told)
    spent = asked("status")[1]["budget"]["spent"]
    assert spent > 0  # what was spent stays spent
    assert asked("sync")[1]["looks"] == 6
    sound(told)


def test_a_reset_after_looks_were_rolled_up_keeps_the_log_sound(pages, asked, told):
    told("sync")
    config = Config.load(pages)
    with SqliteStore.open(config.store_path) as store:
        retention.clear(
            store, retention.RetentionLimits(observations=0.0), bootstrap.clock() + 40.0
        )
    assert asked("source", "reset", "old", "--yes")[0] == 0
    told("sync")
    sound(told)


def test_a_reset_forgets_a_listing(here, server, asked, told):
    (here / "halflife.toml").write_text(
        f'[fetch]\ndelay = 0.0\n[[source]]\nname = "jobs"\nkind = "listing"\n{ALLOW}'
        f'url = "{server.url}/jobs.json"\nformat = "json"\nkey = "id"\n'
    )
    rows = [{"id": i, "pay": 10} for i in range(30)]
    server.pages["/jobs.json"] = ("application/json", json.dumps(rows).encode())
    told("sync")
    server.pages["/jobs.json"] = ("application/json", b"[]")
    assert told("sync")[0] == 5
    code, answer = asked("source", "reset", "jobs", "--yes")
    assert (code, answer["objects"]) == (0, 30)
    with sqlite3.connect(here / "halflife.db") as db:
        for table in ("life", "version", "snapshot", "staged", "forecast", "alarm"):
            assert db.execute(f"SELECT count(*) FROM {table}").fetchone()[0] == 0
        notes = {source for (source,) in db.execute("SELECT source FROM note")}
    assert notes <= {""}
    sound(told)


def test_every_note_about_a_form_is_forgotten(here, counter, asked, told):
    url, _ = counter
    told("init")
    path = here / "halflife.toml"
    path.write_text(path.read_text().replace("delay = 1.0", "delay = 0.0"))
    assert told("add", "cars", "--form", url, "--allow", "127.0.0.0/8")[0] == 0
    told("sync")
    with sqlite3.connect(here / "halflife.db") as db:
        kinds = {k for (k,) in db.execute("SELECT kind FROM note WHERE source='cars'")}
    assert {"form_queries", "first_crawl"} <= kinds
    assert asked("source", "reset", "cars", "--yes")[0] == 0
    with sqlite3.connect(here / "halflife.db") as db:
        assert {name for (name,) in db.execute("SELECT source FROM note")} <= {""}
    sound(told)


def test_notes_of_any_kind_go_with_their_source(here):
    with SqliteStore.open(here / "s.db", create=True) as store:
        store.add([Item("a", "old"), Item("b", "new")])
        store.save_note("old", "of a plug-in", Note(7, "{}"), 3)
        store.save_note("old", "breaker", Note(1, "[1]"))
        store.save_note("new", "breaker", Note(1, "[2]"))
        with ownership.reassigning(store, ("old", "new"), 0.0) as db:
            ownership.rename(db, "old", "new")
        assert store.note("new", "of a plug-in", 3) == Note(7, "{}")
        assert store.note("new", "breaker") == Note(1, "[2]")
        assert store.note("old", "breaker") is None
        with ownership.reassigning(store, ("new",), 0.0) as db:
            ownership.forget(db, "new")
        assert store.note_numbers("new", "of a plug-in") == []


def test_a_reset_forgets_every_version_of_a_summary(here):
    with SqliteStore.open(here / "s.db", create=True) as store:
        for name, version in (("docs", 1), ("docs", 2), ("docs2", 1)):
            store.save_note(name, "summary", Note(1, "{}"), version)
        with ownership.reassigning(store, ("docs",), 0.0) as db:
            ownership.forget(db, "docs")
            left = db.execute("SELECT source, number FROM note").fetchall()
    assert left == [("docs2", 1)]


def test_a_source_that_another_process_keeps_is_left_alone(pages, fails, told):
    told("sync")
    config = Config.load(pages)
    with bootstrap.writing(config) as store:
        store.begin(["old"], bootstrap.clock(), lease=LEASE)
        for words in (("rename", "old", "new"), ("reset", "old"), ("remove", "old")):
            code, said = fails("source", *words, "--yes")
            assert code == 7
            assert "being synced by process" in said
    assert tomllib.loads(pages.read_text())["source"][0]["name"] == "old"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("rename", "old"), "takes two names"),
        (("reset", "nobody", "--yes"), "no source is named 'nobody'"),
        (("remove", "nobody", "--yes"), "no source is named 'nobody'"),
        (("rename", "nobody", "x"), "no source is named 'nobody'"),
        (("rename", "old", "a b"), "name"),
        (("rename", "old", "old"), "has that name already"),
        (("reset", "old", "--data", "--yes"), "--data has no meaning"),
    ],
)
def test_a_slip_is_told_in_one_line_and_changes_nothing(
    pages, fails, told, words, said
):
    told("sync")
    before = pages.read_text()
    code, line = fails("source", *words)
    assert code == 2
    assert said in line
    assert pages.read_text() == before
    sound(told)


def test_a_rename_that_a_crash_cut_in_two_is_finished_by_asking_again(
    pages, asked, told, here
):
    told("sync")
    with (
        SqliteStore.open(here / "halflife.db") as store,
        ownership.reassigning(store, ("old",), bootstrap.clock()) as db,
    ):
        ownership.rename(db, "old", "new")
    assert asked("source", "rename", "old", "new")[0] == 0
    (row,) = asked("status")[1]["results"]
    assert (row["source"], row["looks"]) == ("new", 6)
    sound(told)
