"""How long changes and versions of pages are kept, and what the file shows of them."""

import asyncio
import gzip
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from halflife.core.change import Change
from halflife.core.item import Item
from halflife.core.object_store import Listing
from halflife.core.observation import Content, Observations
from halflife.core.tracker import Tracker
from halflife.stores import backup, change_log, ownership, schema
from halflife.stores.retention import RetentionLimits, clear
from halflife.stores.sqlite import SqliteStore
from store_looks import HEX, absent, present

TRIGGER = next(one for one in change_log.STATEMENTS if "TRIGGER" in one)
V9 = Path(__file__).with_name("state_v9")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "state.db"


def page(key, at, text):
    return present(key, at, text, content=Content("text/html", text.encode()))


def fill(path):
    with SqliteStore.open(path, create=True) as store:
        store.add([Item("http://x/a", "site"), Item("http://x/b", "site")])
        run = store.begin(["cars", "site"], 0.0, lease=1e6)
        for at in range(8):
            store.append(
                run, Observations.of([page("http://x/a", float(at), f"text {at}")])
            )
        store.append(run, Observations.of([present("http://x/b", 1.0, HEX)]))
        store.append(run, Observations.of([absent("http://x/b", 2.0)]))
        tracker = Tracker()
        for at, keys in enumerate(["pq", "pq", "p", "p"]):
            listing = Listing(float(at), {key: {"price": at} for key in keys})
            tracker.take(listing)
            store.save_register(run, "cars", tracker.news())
        store.finish(run, 9.0)


def seqs(store, after=0):
    return [change.seq for change in store.changes.read(after)]


# Retention


def test_old_changes_leave_and_the_log_says_up_to_where(path):
    with SqliteStore.open(path, create=True) as store:
        changes = [Change(float(at), "s", str(at), "new") for at in range(10)]
        store.changes.append(changes)
        assert store.changes.removed() == 0
        cleared = clear(store, RetentionLimits(changes=4.0), 10.0)
        assert cleared.changes == 6
        assert seqs(store) == [7, 8, 9, 10]
        assert (store.changes.removed(), store.changes.last()) == (6, 10)
        assert clear(store, RetentionLimits(changes=4.0), 10.0).changes == 0
        assert store.changes.removed() == 6


def test_a_change_after_a_recent_one_stays_and_numbers_never_return(path):
    with SqliteStore.open(path, create=True) as store:
        times = [1.0, 500.0, 9.0, 2.0]  # a clock was wrong once
        store.changes.append([Change(at, "s", "k", "changed") for at in times])
        assert clear(store, RetentionLimits(changes=5.0), 10.0).changes == 2
        assert seqs(store) == [3, 4]
        assert clear(store, RetentionLimits(changes=5.0), 100.0).changes == 2
        assert (seqs(store), store.changes.last()) == ([], 4)
        store.changes.append([Change(101.0, "s", "k", "changed")])
        assert seqs(store) == [5]


def test_many_old_changes_leave_in_several_transactions(path, monkeypatch):
    monkeypatch.setattr("halflife.stores.retention.CHUNK", 7)
    with SqliteStore.open(path, create=True) as store:
        store.changes.append([Change(1.0, "s", str(n), "new") for n in range(50)])
        assert clear(store, RetentionLimits(changes=5.0), 10.0).changes == 50
        assert store.changes.removed() == 50


def test_a_lower_number_of_versions_is_kept_to_by_gc(path):
    fill(path)
    with SqliteStore.open(path) as store:
        assert len(store.versions.of("http://x/a")) == 5
        assert clear(store, RetentionLimits(page_versions=2), 9.0).page_versions == 3
        assert [v.digest for v in store.versions.of("http://x/a")] == [
            "text 7",
            "text 6",
        ]
        assert clear(store, RetentionLimits(page_versions=1), 9.0).page_versions == 1
        assert store.verify() == []
        with store.reading() as db:
            assert db.execute("SELECT count(*) FROM page_body").fetchone() == (0,)
        assert store.content("http://x/a").body == b"text 7"


def test_a_source_that_is_forgotten_takes_its_versions_along(path):
    fill(path)
    with SqliteStore.open(path) as store:
        with ownership.reassigning(store, ("site",), 10.0) as db:
            ownership.forget(db, "site")
        with store.reading() as db:
            for table in ("page_version", "page_body"):
                query = f"SELECT count(*) FROM {table}"
                assert db.execute(query).fetchone() == (0,)
        assert store.verify() == []


# Files


def test_a_backup_has_the_changes_and_the_versions(path, tmp_path):
    fill(path)
    copy = tmp_path / "copy.db"
    with SqliteStore.open(path) as store:
        backup.back_up(store, copy)
        changes, versions = store.changes.read(), store.versions.of("http://x/a")
    with SqliteStore.open(copy) as other:
        assert other.changes.read() == changes
        assert other.versions.of("http://x/a") == versions
        assert other.verify() == []


def test_verify_finds_versions_and_changes_that_cannot_be_read(path):
    fill(path)
    with closing(sqlite3.connect(path)) as db:
        ((first, last),) = db.execute("SELECT min(id), max(id) FROM page_body")
        db.execute("UPDATE page_body SET body = x'00' WHERE id = ?", (first,))
        db.execute("UPDATE page_body SET hash = x'00' WHERE id = ?", (last,))
        db.execute("REPLACE INTO change_removed VALUES (1, 10000)")
        db.execute("DROP TRIGGER change_is_final")
        db.execute("UPDATE change SET fields = '{' WHERE seq = 3")
        db.execute(TRIGGER)
        db.commit()
    with SqliteStore.open(path) as store:
        found = " ".join(store.verify())
    assert "an earlier version of a page cannot be read" in found
    assert "an earlier version of a page is not what it was" in found
    assert "the fields of 1 changes cannot be read, from number 3 on" in found
    assert "changes are kept that were removed already" in found


@pytest.mark.parametrize("name", ["mixed", "crawl"])
def test_a_file_of_the_version_before_is_brought_up_to_date(name, path):
    path.write_bytes(gzip.decompress((V9 / f"{name}.db.gz").read_bytes()))
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        schema.upgrade(db, schema.STEPS[:11])  # the log of changes, and nothing else
        db.execute("INSERT INTO source (name) VALUES ('s') ON CONFLICT DO NOTHING")
        db.execute(
            "INSERT INTO change (at, source, key, kind, fields)"
            " SELECT 1.0, id, 'k', 'new', '{}' FROM source WHERE name = 's'"
        )
        before = db.execute("SELECT count(*), sum(length(body)) FROM content")
        bodies = before.fetchone()
    with SqliteStore.open(path) as store:
        assert store.verify() == []
        assert [(c.key, c.kind) for c in store.changes.read()] == [("k", "new")]
        with store.reading() as db:
            after = db.execute("SELECT count(*), sum(length(body)) FROM content")
            assert after.fetchone() == bodies
            odd = (
                "SELECT count(*) FROM content JOIN evidence USING (item)"
                " WHERE content.digest <> evidence.digest"
            )
            assert db.execute(odd).fetchone() == (0,)
            tables = db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")
            for (table,) in tables.fetchall():
                keys = db.execute(f"PRAGMA foreign_key_list({table})").fetchall()
                for _, _, other, _, to, *_ in keys:
                    names = db.execute(f"PRAGMA table_info({other})").fetchall()
                    assert to in {name for _, name, *_ in names}, table
    assert path.with_name("state.db.backup-v11").exists()


# Views


def test_the_views_show_what_is_held_what_changed_and_what_has_gone(path):
    fill(path)
    with closing(sqlite3.connect(path)) as db:
        now = db.execute("SELECT source, key, kind, fields FROM current_records")
        assert sorted(now.fetchall()) == [
            ("cars", "p", "record", '{"price":3}'),
            ("site", "http://x/a", "page", '{"text":"text 7"}'),
        ]
        gone = db.execute("SELECT source, key, kind, gone_by FROM gone")
        assert sorted(gone.fetchall()) == [
            ("cars", "q", "record", "1970-01-03T00:00:00Z"),
            ("site", "http://x/b", "page", "1970-01-03T00:00:00Z"),
        ]
        rows = db.execute("SELECT seq, at, source, key, kind, fields FROM changes")
        assert rows.fetchall()[8] == (
            9,
            "1970-01-02T00:00:00Z",
            "site",
            "http://x/b",
            "new",
            f'{{"text":[null,"{HEX}"]}}',
        )


def test_every_table_and_view_opens_in_datasette(path):
    datasette = pytest.importorskip("datasette.app", reason="Datasette is not there")
    fill(path)

    async def ask():
        server = datasette.Datasette([str(path)])
        await server.invoke_startup()
        found = (await server.client.get("/state.json")).json()
        names = [one["name"] for one in found["tables"]]
        views = [one["name"] for one in found["views"]]
        assert {"current_records", "changes", "gone"} <= {*views}
        for name in [*names, *views]:
            for form in ("", ".json"):
                answer = await server.client.get(f"/state/{name}{form}")
                assert answer.status_code == 200, (name, form, answer.text[:200])
        shown = await server.client.get("/state/current_records.json?_shape=objects")
        assert len(shown.json()["rows"]) == 2
        return names

    assert len(asyncio.run(ask())) > 30
