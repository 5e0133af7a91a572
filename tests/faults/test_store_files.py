"""Files that are missing, foreign, damaged, too old or too new."""

import os
import shutil
import sqlite3
import stat
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from random import Random

import pytest

import store_worker
from halflife.core.errors import Damaged, HalflifeError, StoreError, TooNew, UsageError
from halflife.core.host import HostState
from halflife.core.item import Item
from halflife.core.object_store import Listing
from halflife.core.observation import Observations
from halflife.core.store import Note
from halflife.core.tracker import Tracker
from halflife.stores import files, schema
from halflife.stores.sqlite import SqliteStore
from store_looks import present

FLIPS = 50


@pytest.fixture
def path(tmp_path):
    return tmp_path / "state.db"


@pytest.fixture
def written(path):
    """Return the path of a file with some of everything in it."""
    store_worker.write(path, str, batches=12)
    with SqliteStore.open(path) as store:
        store.save_host(HostState("https://a:443", robots="User-agent: *"))
        store.save_note("", "prior", Note(1, "[1, 2]"))
    return path


def contents(path):
    return {p.name: p.read_bytes() for p in path.parent.iterdir()}


# Making and opening


def test_a_new_file_is_for_its_owner_alone(path):
    with SqliteStore.open(path, create=True) as store:
        store.add(store_worker.ITEMS)
        for file in path.parent.iterdir():
            assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_the_file_says_what_it_is(written):
    with closing(sqlite3.connect(written)) as db:
        pragma = {
            p: db.execute(f"PRAGMA {p}").fetchone()[0]
            for p in ("application_id", "user_version", "journal_mode")
        }
    assert pragma == {
        "application_id": 0x484C4946,
        "user_version": len(schema.STEPS),
        "journal_mode": "wal",
    }


def test_nothing_is_left_beside_a_closed_file(written):
    assert list(contents(written)) == ["state.db"]


def test_a_missing_file_is_not_made_unless_asked(path):
    with pytest.raises(StoreError, match="no state file"):
        SqliteStore.open(path)
    assert contents(path) == {}


def test_a_missing_folder_is_named(path):
    with pytest.raises(StoreError, match=r"nowhere.*folder"):
        SqliteStore.open(path.parent / "nowhere" / "state.db", create=True)


def test_a_folder_is_no_state_file(path):
    path.mkdir()
    with pytest.raises(StoreError, match="state"):
        SqliteStore.open(path, create=True)


def test_an_empty_file_is_new_only_if_asked(path):
    path.touch()
    with pytest.raises(Damaged, match="empty"):
        SqliteStore.open(path)
    SqliteStore.open(path, create=True).close()
    SqliteStore.open(path).close()


def test_a_file_whose_making_was_interrupted_is_new(path):
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA journal_mode = WAL")
    with pytest.raises(Damaged, match="empty"):
        SqliteStore.open(path)
    SqliteStore.open(path, create=True).close()


def test_a_file_whose_first_page_was_torn_by_a_power_cut_is_made_anew(path):
    path.write_bytes(bytes(4096))
    # The journal of a file that was empty before: its sectors and its pages.
    head = bytes.fromhex(
        "d9d505f920a163d7 00000000 05c081e9 00000000 00000200 00001000"
    )
    path.with_name("state.db-journal").write_bytes(head.ljust(512, b"\0"))
    with SqliteStore.open(path, create=True) as store:
        assert store.verify() == []


@pytest.mark.parametrize("create", [True, False])
def test_a_file_that_is_no_database_is_left_alone(path, create):
    path.write_text("{}")
    with pytest.raises(Damaged, match=r"state\.db.*not a SQLite file.*move it away"):
        SqliteStore.open(path, create=create)
    assert contents(path) == {"state.db": b"{}"}


@pytest.mark.parametrize("create", [True, False])
@pytest.mark.parametrize("mark", [0, 7])
def test_a_database_of_another_program_is_left_alone(path, create, mark):
    with closing(sqlite3.connect(path)) as db:
        db.executescript(f"PRAGMA application_id = {mark}; CREATE TABLE theirs (x)")
    before = contents(path)
    with pytest.raises(Damaged, match="another program"):
        SqliteStore.open(path, create=create)
    assert contents(path) == before


def test_a_file_from_the_future_is_left_alone(written):
    future = len(schema.STEPS) + 1
    with closing(sqlite3.connect(written)) as db:
        db.execute(f"PRAGMA user_version = {future}")
    before = contents(written)
    for readonly in (True, False):
        with pytest.raises(
            TooNew, match=rf"schema {future}, this one knows \d+\); upgrade"
        ):
            SqliteStore.open(written, readonly=readonly)
    assert contents(written)["state.db"] == before["state.db"]


def test_a_backup_is_named_as_the_remedy(written):
    shutil.copy(written, f"{written}.backup-v1")
    written.write_bytes(b"garbage")
    with pytest.raises(Damaged, match=r"restore state\.db\.backup-v1"):
        SqliteStore.open(written)


def test_a_network_disk_is_refused(path, monkeypatch):
    monkeypatch.setattr(files, "disk_kind", lambda *_: "nfs4")
    with pytest.raises(StoreError, match=r"network disk \(nfs4\).*local disk"):
        SqliteStore.open(path, create=True)
    assert contents(path) == {}


def test_text_that_is_no_text_is_refused(path):
    with SqliteStore.open(path, create=True) as store:
        with pytest.raises(UsageError, match="ud800"):
            store.add([Item("half a character: \ud800", "site")])
        assert store.items() == []


def test_a_server_may_send_half_characters(path):
    with SqliteStore.open(path, create=True) as store:
        store.add([Item("k", "site")])
        run = store.begin(["site"], 0.0, lease=1.0)
        store.append(
            run, Observations.of([present("k", 0.0, etag="\udcff", note="\ud800")])
        )
        assert store.held(["k"])[0].etag == "?"


def test_a_closed_store_says_so(written):
    store = SqliteStore.open(written)
    store.close()
    with pytest.raises(StoreError, match="closed"):
        store.items()


def test_observations_are_final(written):
    forbidden = pytest.raises(sqlite3.IntegrityError, match="never changed")
    with SqliteStore.open(written) as store, forbidden:
        store._db.execute("UPDATE observation SET at = 0")


# Reading while another writes


def test_a_reader_follows_a_writer(written):
    with SqliteStore.open(written) as writer:
        run = writer.begin(["site"], 100.0, lease=1.0)
        with SqliteStore.open(written, readonly=True) as reader:
            before = reader.evidence(["site"]).looks.sum()
            writer.append(run, store_worker.batch(100))
            assert reader.evidence(["site"]).looks.sum() == before + 2
            assert reader.content("k0").body.startswith(b"copy 100 ")
            assert reader.verify() == []
            with pytest.raises(StoreError, match="cannot be written"):
                reader.save_note("", "x", Note(1, "y"))


def test_a_read_only_folder_can_be_read(written, monkeypatch):
    before = contents(written)
    monkeypatch.setattr(os, "access", lambda *_: False)
    with SqliteStore.open(written, readonly=True) as store:
        assert len(store.items()) == 19
        assert contents(written) == before


# Backups and damage


def test_a_backup_is_a_whole_store(written, tmp_path):
    with SqliteStore.open(written) as store:
        store.backup(tmp_path / "copy.db")
        with SqliteStore.open(tmp_path / "copy.db") as copy:
            assert copy.verify() == []
            assert copy.items() == store.items()
        with pytest.raises(StoreError, match="exists already"):
            store.backup(tmp_path / "copy.db")
    assert sorted(contents(written)) == ["copy.db", "state.db"]


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ("UPDATE evidence SET looks = looks + 1 WHERE item = 1", "looks of 1 items"),
        ("UPDATE evidence SET digest = 'x' WHERE item = 1", "digest"),
        ("UPDATE gap SET tally = tally + 1", "tally"),
        ("DELETE FROM observation WHERE id = 1", "does not follow"),
        ("UPDATE evidence SET held = 2 WHERE item = 1", "last good observation"),
        ("INSERT INTO ledger VALUES (NULL, 1, 0, -9999)", "gave back more"),
        ("UPDATE content SET item = 999", "names no item"),
        ("UPDATE content SET body = x'00'", "copy of k0 cannot be read"),
        ("UPDATE content SET body = substr(body, 1, 20)", "copy of k0"),
    ],
)
def test_verify_finds_what_does_not_add_up(written, change, word):
    with closing(sqlite3.connect(written)) as db:
        db.execute(change)
        db.commit()
    with SqliteStore.open(written) as store:
        assert any(word in problem for problem in store.verify())


def test_a_lease_that_nobody_can_have_taken_is_damage(written):
    with SqliteStore.open(written) as store:
        run = store.begin(["site"], 50.0, lease=1.0)
        store._db.execute("UPDATE run SET owner = '{}'")
        with pytest.raises(Damaged):
            store.begin(["site"], 50.5, lease=1.0)
        store.finish(run, 51.0)


def use(path):
    """Do everything that can be done with a store."""
    with SqliteStore.open(path) as store:
        store.verify()
        keys = [item.key for item in store.items()]
        store.evidence()
        store.history()
        store.held(keys)
        for key in keys:
            store.content(key)
        store.host("https://a:443")
        store.note("", "prior")
        store.spent(0.0)
        run = store.begin(["site"], 50.0, lease=1.0)
        store.charge(run, 1, 50.0)
        store.append(run, store_worker.batch(50))
        store.finish(run, 51.0)


def test_no_flipped_byte_gives_anything_but_our_errors(written, tmp_path):
    rng, good, told = Random(3), written.read_bytes(), 0
    for trial in range(FLIPS):
        data = bytearray(good)
        for _ in range(rng.choice([1, 3, 30])):
            data[rng.randrange(len(data))] = rng.randrange(256)
        if trial % 10 == 0:
            del data[rng.randrange(len(data)) :]
        path = tmp_path / f"{trial}.db"
        path.write_bytes(data)
        told += complaint(path) is not None
    assert told > FLIPS // 4


def complaint(path):
    """Return what is said of a file; only our own errors may say it."""
    try:
        use(path)
    except HalflifeError as error:
        return str(error)
    return None


# Upgrades


def first_steps(db):
    db.execute(f"PRAGMA application_id = {schema.APPLICATION_ID}")
    db.execute("CREATE TABLE old (x)")
    db.execute("INSERT INTO old VALUES ('kept')")


def rename_step(db):
    db.execute("ALTER TABLE old RENAME TO new")


def failing_step(db):
    db.execute("DROP TABLE new")
    raise sqlite3.OperationalError("disk I/O error")


@pytest.fixture
def old(path):
    """Return the path of a file in the first of our schemas."""
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        first_steps(db)
        db.execute("PRAGMA user_version = 1")
    return path


def tables(path):
    query = "SELECT name FROM sqlite_schema ORDER BY name"
    with closing(sqlite3.connect(path)) as db:
        return [row[0] for row in db.execute(query)], schema.version(db)


def test_an_old_file_is_backed_up_and_brought_up_to_date(old, monkeypatch):
    monkeypatch.setattr(schema, "STEPS", (first_steps, rename_step))
    SqliteStore.open(old).close()
    assert tables(old) == (["new"], 2)
    assert tables(f"{old}.backup-v1") == (["old"], 1)
    assert stat.S_IMODE(Path(f"{old}.backup-v1").stat().st_mode) == 0o600


def test_a_failing_step_leaves_the_file_as_it_was(old, monkeypatch):
    monkeypatch.setattr(schema, "STEPS", (first_steps, rename_step, failing_step))
    for _ in range(2):
        with pytest.raises(StoreError):
            SqliteStore.open(old)
        assert tables(old) == (["old"], 1)
    assert tables(f"{old}.backup-v1") == (["old"], 1)
    last = lambda db: None  # noqa: E731
    monkeypatch.setattr(schema, "STEPS", (first_steps, rename_step, last))
    SqliteStore.open(old).close()
    assert tables(old) == (["new"], 3)


def test_nobody_sees_a_new_file_half_made(path):
    seen = []

    def spy(_):
        with closing(sqlite3.connect(path)) as other:
            seen.append(schema.version(other))

    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("PRAGMA journal_mode = WAL")
        schema.upgrade(db, (first_steps, spy, rename_step, spy))
    assert seen == [0, 0]
    assert tables(path) == (["new"], 4)


def test_nobody_sees_an_old_file_between_two_versions(old, monkeypatch):
    seen = []

    def spy(_):
        seen.append(tables(old))

    monkeypatch.setattr(schema, "STEPS", (first_steps, rename_step, spy))
    SqliteStore.open(old).close()
    assert seen == [(["old"], 1)]
    assert tables(old) == (["new"], 3)


def test_reading_does_not_upgrade(old, monkeypatch):
    monkeypatch.setattr(schema, "STEPS", (first_steps, rename_step))
    with pytest.raises(StoreError, match="older halflife"):
        SqliteStore.open(old, readonly=True)
    assert tables(old) == (["old"], 1)


def test_a_real_file_goes_through_a_made_up_upgrade(written, monkeypatch):
    monkeypatch.setattr(schema, "STEPS", store_worker.MORE_STEPS)
    with SqliteStore.open(written) as store:
        assert store.note("", "new 7") == Note(1, "x" * 500)
        assert store.verify() == []
    monkeypatch.undo()
    with pytest.raises(TooNew):
        SqliteStore.open(written)
    with SqliteStore.open(f"{written}.backup-v{len(schema.STEPS)}") as backup:
        assert backup.verify() == []


def test_a_file_from_before_set_sources_learns_of_them(path):
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        schema.upgrade(db, schema.STEPS[:1])
        db.execute("INSERT INTO memo VALUES ('kept', 'yes')")
    with SqliteStore.open(path) as store:
        assert store.collections() == []
        assert store.note("", "memo: kept") == Note(1, '"yes"')
        assert store.verify() == []
    names, version = tables(f"{path}.backup-v1")
    assert version == 1
    assert "life" not in names
    names, version = tables(path)
    assert version == len(schema.STEPS)
    assert {"snapshot", "life", "version", "unobserved", "staged"} <= set(names)


def test_a_file_from_before_hints_counted_counts_those_in_its_log(path):
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        schema.upgrade(db, schema.STEPS[:2])
        for statement in (
            "INSERT INTO source VALUES (1, 'site'), (2, 'other')",
            "INSERT INTO item_group VALUES (1, '')",
            (
                "INSERT INTO item VALUES (1, 1, 'a', 1.0, 1.0, 1, NULL),"
                " (2, 1, 'b', 1.0, 1.0, 1, NULL)"
            ),
            (
                """INSERT INTO run VALUES (1, 'done', '["site"]', '', 0.0, 9.0),"""
                """ (2, 'done', '["other"]', '', 0.0, 9.0)"""
            ),
            (
                "INSERT INTO observation VALUES"
                " (1, 1, 1, 1.0, 0, 'x', '', '', NULL, ''),"
                " (2, 1, 1, 2.0, 3, '', '', '', 1.5, ''),"
                " (3, 1, 2, 2.0, 3, '', '', '', 1.5, ''),"
                " (4, 1, 1, 3.0, 0, 'y', '', '', NULL, ''),"
                " (5, 1, 1, 5.0, 3, '', '', '', 4.5, ''),"
                " (6, 2, 1, 6.0, 3, '', '', '', 5.9, '')"
            ),
            "INSERT INTO evidence VALUES (1, 3.0, 3.0, 0, 2, 1, 0.0, 0, 1, 'y', 4)",
            "INSERT INTO gap VALUES (1, 8, 1.0)",
        ):
            db.execute(statement)
    with SqliteStore.open(path) as store:
        evidence = store.evidence()
        assert evidence.hints.tolist() == [1, 0]
        assert evidence.claimed.tolist() == [4.5, 1.5]
        assert evidence.hinted().hints.tolist() == [1]
        assert store.verify() == []


def test_an_upgrade_that_fails_half_way_leaves_the_file_as_it_was(path):
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        schema.upgrade(db, schema.STEPS[:1])
        db.execute("CREATE TABLE staged (x)")  # in the way of the last statement
    with pytest.raises(StoreError):
        SqliteStore.open(path)
    names, version = tables(path)
    assert version == 1
    assert "life" not in names


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        ("UPDATE life SET gone_by = first_seen", "bounds or attributes of 1 lives"),
        ("UPDATE life SET attributes = '{'", "bounds or attributes of 1 lives"),
        ("UPDATE staged SET listing = x'00'", "the answer of cars that waits"),
    ],
)
def test_verify_finds_lives_that_make_no_sense(path, damage, said):
    with SqliteStore.open(path, create=True) as store:
        run = store.begin(["cars"], 0.0, lease=1.0)
        tracker = Tracker()
        tracker.take(Listing(0.0, {"a": {"price": 1}}))
        store.save_register(run, "cars", tracker.news())
        store.stage(run, "cars", Listing(1.0, {}), "why")
        assert store.verify() == []
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute(damage)
    with SqliteStore.open(path) as store:
        (found,) = store.verify()
        assert said in found


def test_who_opens_a_file_while_another_makes_it_waits(path):
    with closing(sqlite3.connect(path, isolation_level=None)) as maker:
        schema.upgrade(maker, schema.STEPS)
        maker.execute("BEGIN IMMEDIATE")
        with ThreadPoolExecutor(1) as pool:
            opened = pool.submit(lambda: SqliteStore.open(path).close())
            with pytest.raises(TimeoutError):
                opened.result(timeout=0.3)
            maker.execute("ROLLBACK")
            opened.result(timeout=20.0)


def test_who_waits_for_a_maker_that_never_ends_is_told(path, monkeypatch):
    monkeypatch.setattr(files, "BUSY", 0.1)
    with closing(sqlite3.connect(path, isolation_level=None)) as maker:
        schema.upgrade(maker, schema.STEPS)
        maker.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="another program is writing"):
            SqliteStore.open(path)
