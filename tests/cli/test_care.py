"""Verbs that look after the state file, and say who was told."""

import hashlib
import json
import os
import sqlite3
import threading
from contextlib import closing
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

import store_worker
from halflife.alerts import Health
from halflife.config import Config
from halflife.core.host import HostState
from halflife.core.item import Item
from halflife.core.object_store import Listing
from halflife.core.observation import Observations
from halflife.engine import bootstrap, breakers, notifications, redirects
from halflife.engine.breakers import Breaker
from halflife.kinds.listing import schema_drift as listing_schema_drift
from halflife.stores import schema
from halflife.stores.outbox import Outbox
from halflife.stores.sqlite import SqliteStore
from store_looks import present
from store_processes import start

CANARY = "T0KEN-CANARY"


@pytest.fixture
def state(here):
    """Settings of one source of pages, and a state file with looks at them."""
    (here / "halflife.toml").write_text(
        '[fetch]\ncontact = "me@example.org"\n'
        '[[source]]\nname = "site"\npages = ["https://example.org/"]\n'
    )
    path = here / "halflife.db"
    store_worker.write(path, str, batches=12)
    return path


def change(path, query, *values):
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(query, values)


def keys(path):
    with SqliteStore.open(path) as store:
        return list(store.evidence().keys)


# verify


def test_a_file_that_is_whole_verifies(state, asked, told):
    code, answer = asked("verify")
    assert (code, answer["fine"], answer["results"]) == (0, True, [])
    assert "is complete and consistent" in told("verify")[1]


def test_what_is_wrong_is_named_and_the_exit_code_says_so(state, asked):
    change(state, "UPDATE evidence SET looks = looks + 1 WHERE item = 1")
    code, answer = asked("verify")
    assert (code, answer["fine"]) == (1, False)
    assert "looks of 1 items does not follow from the log: k0" in answer["results"]


def test_a_run_without_a_lease_is_noticed(state, asked):
    change(state, "UPDATE run SET state = 'running'")
    assert "holds nothing" in asked("verify")[1]["results"][0]


def test_a_table_that_is_not_as_it_was_made_is_noticed(state, asked):
    change(state, "DROP TRIGGER observation_is_final")
    assert asked("verify")[1]["results"] == [
        "the trigger observation_is_final is not as it was made"
    ]


def test_a_file_that_is_none_is_damaged(state, asked):
    state.write_bytes(b"SQLite format 3\0" + b"\xff" * 4096)
    code, answer = asked("verify")
    assert (code, answer["fine"]) == (1, False)


def test_a_missing_file_is_named(here, state, fails):
    state.unlink()
    code, said = fails("verify")
    assert code == 1
    assert "no state file" in said


# backup and restore


def test_a_backup_is_whole_private_and_sealed(state, asked, here):
    code, answer = asked("backup", "copy.db")
    copy = here / "copy.db"
    assert (code, answer["bytes"]) == (0, copy.stat().st_size)
    assert copy.stat().st_mode & 0o077 == 0
    seal = (here / "copy.db.sha256").read_text()
    assert seal == f"{hashlib.sha256(copy.read_bytes()).hexdigest()}  copy.db\n"
    names = sorted(
        p.name for p in here.iterdir() if not p.name.endswith(("-wal", "-shm"))
    )
    assert names == [
        "copy.db", "copy.db.sha256", "halflife.db", "halflife.toml"
    ]  # fmt: skip
    assert keys(copy) == keys(state)


def test_a_backup_never_overwrites(state, fails, here):
    (here / "copy.db").write_text("mine")
    code, said = fails("backup", "copy.db")
    assert code == 1
    assert "exists already" in said
    assert (here / "copy.db").read_text() == "mine"


def test_a_backup_into_a_missing_folder_is_refused(state, fails):
    assert "no such folder" in fails("backup", "nowhere/copy.db")[1]


def test_a_damaged_file_cannot_be_backed_up(state, fails, here):
    change(state, "UPDATE evidence SET looks = looks + 1 WHERE item = 1")
    code, said = fails("backup", "copy.db")
    assert code == 1
    assert "is damaged" in said
    assert not (here / "copy.db").exists()


def test_a_backup_is_consistent_while_another_process_writes(here, state, told):
    state.unlink()
    child, pipe = start(store_worker.write_until_killed, state)
    try:
        for _ in range(30):
            pipe.recv()
        for number in range(5):
            assert told("backup", f"{number}.db")[0] == 0
    finally:
        child.kill()
        child.join()
    sizes = []
    for number in range(5):
        with SqliteStore.open(here / f"{number}.db") as store:
            assert store.verify() == []
            sizes.append(int(store.evidence().looks.sum()))
    assert sizes == sorted(sizes)
    assert sizes[0] > 10


def test_restore_brings_back_what_was_copied_and_keeps_the_rest_aside(
    state, asked, told
):
    told("backup", "copy.db")
    with SqliteStore.open(state) as store:
        store.add([Item("later", "site")])
    code, answer = asked("restore", "copy.db")
    assert code == 0
    assert "later" not in keys(state)
    assert "later" in keys(answer["aside"])
    assert told("verify")[0] == 0


def test_restore_works_where_there_is_no_file_yet_or_a_damaged_one(state, asked, told):
    told("backup", "copy.db")
    before = keys(state)
    state.unlink()
    assert asked("restore", "copy.db")[1]["aside"] is None
    state.write_bytes(b"garbage" * 1000)
    code, answer = asked("restore", "copy.db")
    assert code == 0
    assert Path(answer["aside"]).read_bytes()[:7] == b"garbage"
    assert keys(state) == before


def test_what_was_spent_since_the_copy_still_counts(state, asked, told):
    told("backup", "copy.db")
    now = bootstrap.clock()
    with SqliteStore.open(state) as store:
        spent = store.spent(now - 1.0)
        run = store.begin(["site"], now, lease=0.01)
        store.charge(run, 17, now)
        store.finish(run, now)
    assert asked("restore", "copy.db")[1]["carried"] == 17
    with SqliteStore.open(state) as store:
        assert store.spent(now - 1.0) == spent + 17
        assert store.begin(["site"], now, lease=0.01).token > run.token


def test_a_copy_that_is_not_as_it_was_written_is_refused(state, fails, told, here):
    told("backup", "copy.db")
    image = bytearray((here / "copy.db").read_bytes())
    image[-100] ^= 1  # in an empty part, where nothing else would notice
    (here / "copy.db").write_bytes(image)
    before = state.read_bytes()
    code, said = fails("restore", "copy.db")
    assert code == 1
    assert "SHA-256 differs" in said
    assert state.read_bytes() == before


def test_a_damaged_copy_is_refused_and_nothing_is_touched(state, fails, told, here):
    told("backup", "copy.db")
    (here / "copy.db.sha256").unlink()
    change(here / "copy.db", "UPDATE evidence SET looks = looks + 1 WHERE item = 1")
    before = sorted(p.name for p in here.iterdir())
    code, said = fails("restore", "copy.db")
    assert code == 1
    assert "copy.db is damaged: looks of 1 items" in said
    assert sorted(p.name for p in here.iterdir()) == before


def test_a_copy_of_a_newer_halflife_is_refused(state, fails, told, here):
    told("backup", "copy.db")
    (here / "copy.db.sha256").unlink()
    change(here / "copy.db", "PRAGMA user_version = 99")
    assert "newer halflife" in fails("restore", "copy.db")[1]


def test_a_copy_of_an_older_halflife_is_brought_up_to_date(
    state, told, here, monkeypatch
):
    with monkeypatch.context() as past:
        past.setattr(schema, "STEPS", schema.STEPS[:4])
        SqliteStore.open(here / "old.db", create=True).close()
    assert told("restore", "old.db")[0] == 0
    assert told("verify")[0] == 0
    assert not list(here.glob(".restore-*"))


def test_nothing_is_restored_under_a_running_sync(state, fails, told):
    told("backup", "copy.db")
    with SqliteStore.open(state) as store:
        store.begin(["site"], bootstrap.clock(), lease=1.0)
        code, said = fails("restore", "copy.db")
    assert code == 7
    assert f"process {os.getpid()}" in said


@pytest.mark.parametrize("name", ["nowhere.db", "halflife.db", "halflife.toml"])
def test_what_is_no_copy_is_refused(state, fails, name):
    assert fails("restore", name)[0] == 1


# gc


def test_gc_removes_what_is_old_and_changes_no_answer(state, asked, told):
    def answers():
        found = [
            asked("status")[1],
            asked("plan")[1],
            asked("forecast", "--days", 9)[1],
        ]
        for answer in found:
            answer.pop("at", None)
        return json.dumps(rounded(found))

    before = answers()
    code, answer = asked("gc")
    assert code == 0
    assert answer["removed"]["observations"] > 15
    assert answer["removed"]["ledger"] == 12
    assert answers() == before
    assert told("verify")[0] == 0
    assert told("gc", "--compact")[0] == 0


def rounded(value):
    """Return an answer without what a second of waiting changes."""
    if isinstance(value, float):
        return round(value, 3)
    if isinstance(value, dict):
        gone = {"at", "price", "spent"}
        return {k: rounded(v) for k, v in value.items() if k not in gone}
    return [rounded(v) for v in value] if isinstance(value, list) else value


# doctor


def complaints(answer, about=None):
    return [
        (one["level"], one["text"])
        for one in answer["results"]
        if about is None or one["about"] == about
    ]


def test_nothing_is_wrong_with_a_new_folder_but_that_it_is_new(here, asked, told):
    (here / "halflife.toml").write_text("")
    code, answer = asked("doctor")
    assert (code, answer["problems"]) == (0, 0)
    assert [text for _, text in complaints(answer)] == [
        "there is nothing to keep yet", "there is no state file yet"
    ]  # fmt: skip
    assert all(one["advice"] for one in answer["results"])


def test_a_file_that_is_well_kept_gets_no_complaint(here, told):
    (here / "halflife.toml").write_text(
        '[fetch]\ncontact = "me@example.org"\n'
        '[[source]]\nname = "site"\npages = ["https://example.org/"]\n'
    )
    now = bootstrap.clock()
    with SqliteStore.open(here / "halflife.db", create=True) as store:
        store.add([Item("https://example.org/", "site")])
        run = store.begin(["site"], now, lease=0.01)
        store.append(run, Observations.of([present("https://example.org/", now)]))
        store.finish(run, now)
    assert told("doctor") == (0, "nothing is wrong\n", "")


def test_the_doctor_finds_what_waits_and_what_is_in_trouble(state, asked, monkeypatch):
    state.with_name("halflife.toml").write_text(
        '[[source]]\nname = "site"\npages = ["https://example.org/"]\n'
        '[source.headers]\nAuthorization = {env = "NO_SUCH"}\n'
        '[[source]]\nname = "jobs"\nkind = "listing"\nurl = "https://j.example/"\n'
        '[[source]]\nname = "lib"\nkind = "search"\n'
        'search_url = "https://l.example/?q={query}"\n'
        '[[alert]]\nurl = {env = "NO_HOOK"}\n'
    )
    now = bootstrap.clock()
    with SqliteStore.open(state) as store:
        run = store.begin(["set"], now, lease=0.01)
        store.stage(run, "set", Listing(now, {}, True, ""), "too few")
        store.charge(run, 1, now + 3.0)
        store.finish(run, now - 30.0)
        store.save_host(HostState("https://h:443", failures=7, not_before=now + 1.0))
        store.save_host(HostState("https://r:443", robots_status=503))
        config = Config.load(state.with_name("halflife.toml"))
        notifications.post_test(config, store, now)
        outbox = Outbox(store)
        outbox.bury(outbox.due(now)[0], now, "gave up")
        notifications.post_test(config, store, now - 3.0)
    state.chmod(0o644)
    code, answer = asked("doctor")
    assert code == 1
    found = "\n".join(text for _, text in complaints(answer))
    for words in (
        "NO_SUCH, which is not set",
        "NO_HOOK, which is not set",
        "others may read or write it",
        "of ledger lie in the future",
        "nothing was synced for 30 days",
        "https://h:443: 7 failures in a row, not fetched for another 24.0 h",
        "robots.txt cannot be read, so nothing is fetched: https://r:443",
        "jobs was never seen",
        "lib was never seen",
        "set: an answer waits for a decision: too few",
        "1 message given up; the last to $NO_HOOK: gave up",
        "1 message waiting for more than a day",
        "observations older than twice the 90 days",
    ):
        assert words in found, words
    levels = [level for level, _ in complaints(answer)]
    assert levels == sorted(levels, key=["problem", "warning", "note"].index)


def test_the_doctor_names_sources_that_have_moved_or_look_different(here, asked):
    (here / "halflife.toml").write_text(
        '[fetch]\ncontact = "me@example.org"\n'
        '[[source]]\nname = "jobs"\nkind = "listing"\nurl = "https://j.example/"\n'
        '[[source]]\nname = "cars"\nkind = "listing"\nurl = "https://c.example/"\n'
    )
    now, rows = bootstrap.clock(), {f"k{n}": {"pay": n} for n in range(40)}
    jobs, cars = Config.load(here / "halflife.toml").source
    lost = {key: {"pay": None, "city": "Rome"} for key in rows}
    with SqliteStore.open(here / "halflife.db", create=True) as store:
        for records in (rows, lost, lost):
            moves = {"jobs": {"https://j.example/": "https://new.example/jobs"}}
            redirects.note(store, type("Gate", (), {"moves": moves}), [jobs])
            listing_schema_drift.note_listing(store, cars, Listing(now, records))
        failing = Breaker(2, now, now, "c.example: it answered 500")
        breakers.remember(store, "cars", failing)
    found = asked("doctor")[1]["results"]
    said = {one["text"]: one["advice"] for one in found if one["about"] == "sources"}
    moved = "jobs has moved for good to https://new.example/jobs"
    assert "write it into the settings of jobs" in said[moved]
    gone = (
        "cars: its answers look different: 'pay' is empty or gone in 40 of 40 records; "
        "it was filled in 100%"
    )
    assert "correct records, key and fields of cars" in said[gone]
    new = "cars: its answers look different, nothing is lost: a new column 'city'"
    assert said[new] == "nothing has to be done"


def test_the_doctor_names_damage(state, asked):
    change(state, "UPDATE evidence SET looks = looks + 1 WHERE item = 1")
    code, answer = asked("doctor")
    assert code == 1
    assert complaints(answer, str(state))[0] == (
        "problem", "looks of 1 items does not follow from the log: k0"
    )  # fmt: skip
    state.write_bytes(b"x" * 5000)
    assert asked("doctor")[1]["problems"] == 1


def test_a_lease_of_a_dead_process_is_told(state, asked):
    child, pipe = start(store_worker.hold, state, ["site"])
    pipe.recv()
    pipe.send("end")
    child.join()
    found = complaints(asked("doctor")[1], "leases")
    assert found == [("note", f"site is held by process {child.pid}, which is gone")]


# alerts


@pytest.fixture
def hook():
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            server.got.append(
                json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            )
            self.send_response(server.status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_):
            return

    server = HTTPServer(("127.0.0.1", 0), Handler)
    server.got, server.status = [], 200
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def hooked(here, hook, monkeypatch):
    """Settings with a webhook whose address is a secret."""
    url = f"http://127.0.0.1:{hook.server_address[1]}/{CANARY}"
    monkeypatch.setenv("HOOK", url)
    (here / "halflife.toml").write_text(
        '[[alert]]\nname = "ops"\nurl = {env = "HOOK"}\nallow = ["127.0.0.0/8"]\n'
    )
    return hook


def test_a_test_message_arrives(hooked, asked, told):
    code, answer = asked("alerts", "--test")
    assert code == 0
    assert answer["tried"] == [{"target": "ops", "kind": "test", "trouble": ""}]
    assert hooked.got[0]["text"] == "halflife: this is a test; nothing is wrong"
    assert [row["news"] for row in answer["sent"]] == ["test"]


def test_what_could_not_be_delivered_is_shown_and_tried_again(hooked, asked, told):
    hooked.status = 500
    code, out, err = told("alerts", "--test")
    assert code == 4
    assert "it answered 500" in out
    assert CANARY not in out + err
    with SqliteStore.open("halflife.db") as store:
        outbox = Outbox(store)
        outbox.bury(outbox.due(1e9)[0], 1.0, "gave up")
    assert asked("alerts")[1]["dead"][0]["trouble"] == "gave up"
    hooked.status = 200
    assert asked("alerts", "--retry")[1]["tried"][0]["trouble"] == ""
    assert len(hooked.got) == 2


def test_alarms_that_stand_are_listed(hooked, asked, told):
    assert "no alarm stands" in told("alerts")[1]
    with SqliteStore.open("halflife.db", create=True) as store:
        config = Config.load(Config.find())
        notifications.update_alarms(
            config, store, [Health("s", held="too few")], 20_000.0
        )
    _, answer = asked("alerts")
    assert answer["results"] == [
        {
            "source": "s",
            "kind": "held",
            "since": "2024-10-04T00:00:00Z",
            "text": "an answer waits for a decision: too few",
        }
    ]
    assert [row["text"] for row in answer["waiting"]] == [
        "s: an answer waits for a decision: too few"
    ]


def test_without_anybody_to_tell_a_test_is_a_mistake(here, fails):
    (here / "halflife.toml").write_text("")
    code, said = fails("alerts", "--test")
    assert code == 2
    assert "[[alert]]" in said
