"""What only a store in PostgreSQL has to do; what every store does is a contract."""

import threading
import time
from contextlib import closing
from dataclasses import replace
from itertools import product
from math import inf

import psycopg
import pytest

import postgres_store
from halflife.config import Config
from halflife.core.errors import (
    AlreadyRunning,
    Damaged,
    LeaseLost,
    StoreError,
    TooNew,
    UsageError,
)
from halflife.core.item import Item
from halflife.core.observation import Content, Observation, Observations, Seen
from halflife.core.store_address import PostgresAddress
from halflife.engine import bootstrap
from halflife.stores import schema as sqlite_schema
from halflife.stores.owner import Owner
from halflife.stores.postgres import connection, schema
from halflife.stores.postgres.dialect import translate
from halflife.stores.postgres.store import PostgresStore
from store_looks import present

MINUTES = 5 / 1440


@pytest.fixture
def store():
    with postgres_store.empty() as made:
        made.add([Item("a", "s"), Item("b", "t")])
        yield made


def again():
    """Open the same store as another process would."""
    return PostgresStore.open(postgres_store.address("shared"))


def behind(query):
    """Ask the database, or change it, behind the store's back."""
    return postgres_store.connect().execute(query)


# Addresses


def test_an_address_names_a_schema_and_hides_its_password():
    found = PostgresAddress.parse("postgresql://me:s3cret@db:5433/work?schema=shop")
    assert found.url == "postgresql://me:s3cret@db:5433/work"
    assert (found.schema, found.name) == (
        "shop",
        "postgresql://me@db:5433/work?schema=shop",
    )
    assert PostgresAddress.parse("postgresql:///work").schema == "halflife"


@pytest.mark.parametrize("name", ["Shop", "pg_shop", "1", "a-b", "", "x" * 64, "é"])
def test_a_schema_has_a_plain_name(name):
    with pytest.raises(UsageError, match="not a valid name of a schema"):
        PostgresAddress.parse(f"postgresql://me:s3cret@db/work?schema={name}")


def test_a_password_with_an_at_sign_is_not_taken_apart():
    with pytest.raises(UsageError, match="%40") as error:
        PostgresAddress.parse("postgresql://me:s3c@ret@db/work")
    assert "s3c" not in str(error.value)


# Opening


def test_without_tables_there_is_no_store():
    address = postgres_store.fresh()
    assert PostgresStore.find(address) is None
    with pytest.raises(StoreError, match="there is no store"):
        PostgresStore.open(address)


def test_two_projects_share_a_database_by_their_schemas():
    one, other = postgres_store.fresh(), postgres_store.fresh()
    for address, key in ((one, "a"), (other, "b")):
        with PostgresStore.open(address, create=True) as store:
            store.add([Item(key, "s")])
            store.begin(["s"], 0.0, lease=1e9)  # leases are apart, too
    for address, key in ((one, "a"), (other, "b")):
        with PostgresStore.open(address) as store:
            assert [item.key for item in store.items()] == [key]
            assert store.verify() == []


def test_a_schema_of_another_program_is_left_alone():
    address = postgres_store.fresh()
    name = PostgresAddress.parse(address).schema
    behind(f"CREATE SCHEMA {name}; CREATE TABLE {name}.theirs (x int)")
    with pytest.raises(Damaged, match="belongs to another program"):
        PostgresStore.open(address, create=True)


def test_a_newer_schema_is_refused_and_an_older_one_is_brought_up_to_date(
    monkeypatch, tmp_path
):
    address = postgres_store.fresh()
    name = PostgresAddress.parse(address).schema
    PostgresStore.open(address, create=True).close()
    known = schema.FIRST + len(schema.STEPS)

    def add_column(db):
        db.execute("ALTER TABLE host ADD COLUMN told TEXT NOT NULL DEFAULT ''")

    with monkeypatch.context() as newer:
        newer.setattr(schema, "STEPS", (*schema.STEPS, add_column))
        with pytest.raises(StoreError, match="older halflife"):
            PostgresStore.open(address, readonly=True)
        settings = Config.parse(f'store = "{address}"\n', tmp_path / "halflife.toml")
        with bootstrap.writing(settings):
            pass
        query = f"SELECT version FROM {name}.store_state"
        assert behind(query).fetchone() == (known + 1,)
        assert behind(f"SELECT count(told) FROM {name}.host").fetchone() == (0,)
    for readonly in (True, False):
        with pytest.raises(TooNew, match="upgrade halflife"):
            PostgresStore.open(address, readonly=readonly)


def test_a_step_that_fails_leaves_the_tables_as_they_were(monkeypatch):
    address = postgres_store.fresh()
    name = PostgresAddress.parse(address).schema
    PostgresStore.open(address, create=True).close()

    def fail(db):
        db.execute("ALTER TABLE host ADD COLUMN extra TEXT")
        db.execute("SELECT nothing FROM nowhere")

    monkeypatch.setattr(schema, "STEPS", (*schema.STEPS, fail))
    with pytest.raises(StoreError):
        PostgresStore.open(address)
    monkeypatch.undo()
    with PostgresStore.open(address) as store:
        assert store.verify() == []
    columns = f"table_schema = '{name}' AND column_name = 'extra'"
    query = f"SELECT 1 FROM information_schema.columns WHERE {columns}"
    assert behind(query).fetchone() is None


def test_every_step_of_the_file_has_reached_postgres():
    assert schema.FIRST + len(schema.STEPS) == len(sqlite_schema.STEPS)


def test_who_cannot_be_reached_is_named_without_the_password(monkeypatch):
    monkeypatch.setattr(connection, "PATIENCE", 2)
    address = "postgresql://me:s3cret@127.0.0.1:1/work"
    with pytest.raises(StoreError, match="check that the server runs") as error:
        PostgresStore.open(address)
    text = str(error.value)
    assert "s3cret" not in text
    assert "\n" not in text


def test_wrong_credentials_are_one_line_without_the_password():
    address = f"postgresql://nobody:s3cret@/postgres?host={postgres_store.folder()}"
    with pytest.raises(StoreError, match="nobody") as error:
        PostgresStore.open(address)
    assert "s3cret" not in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.usefixtures("store")
def test_a_clock_that_is_wrong_is_refused(monkeypatch):
    monkeypatch.setattr(connection, "time", lambda: time.time() + 120.0)
    with pytest.raises(StoreError, match="120 s ahead of"):
        again()
    PostgresStore.open(postgres_store.address("shared"), readonly=True).close()


def test_a_role_that_may_only_read_can_look_and_nothing_else(store):
    behind(
        "DROP ROLE IF EXISTS reader; CREATE ROLE reader LOGIN;"
        "GRANT USAGE ON SCHEMA shared TO reader;"
        "GRANT SELECT ON ALL TABLES IN SCHEMA shared TO reader"
    )
    address = postgres_store.address("shared", "reader")
    with PostgresStore.open(address, readonly=True) as seen:
        assert seen.item_count() == 2
        assert seen.verify() == []
    with (
        PostgresStore.open(address) as seen,
        pytest.raises(StoreError, match="permission denied"),
    ):
        seen.add([Item("c", "s")])
    behind("DROP OWNED BY reader; DROP ROLE reader")


# Values


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ("SELECT '?' WHERE a = ?", "SELECT '?' WHERE a = %s"),
        ("SELECT ?2 LIKE '%:x', ?1", "SELECT %(p2)s LIKE '%%:x', %(p1)s"),
        ("REPLACE INTO host VALUES (?)", None),
        ("SELECT CAST(at * 24 AS INTEGER)", None),
        ("SELECT coalesce(a, -9e999) LIMIT -1", None),
    ],
)
def test_a_statement_is_translated(given, wanted):
    found = translate(given).sql
    if wanted is not None:
        assert found == wanted
    assert "REPLACE" not in found
    assert "AS INTEGER" not in found
    assert "9e999" not in found
    assert "-1" not in found


@pytest.mark.parametrize(
    "text", ["\0", "a\0b", "\ufdd0", "\ufdd00\0\ufdd01", "%s ?1 :x"]
)
def test_a_text_comes_back_as_it_was(store, text):
    store.add([Item(f"key{text}", "s")])
    assert store.items(["s"])[-1].key == f"key{text}"


def test_keys_may_be_longer_than_an_index_can_hold(store):
    keys = [f"http://a.example/{n}{'x' * 20_000}" for n in range(2)]
    assert store.add([Item(key, "s") for key in keys]) == 2
    assert store.add([Item(key, "s", weight=2.0) for key in keys]) == 0
    assert [i.weight for i in store.items(["s"])[1:]] == [2.0, 2.0]


def test_a_fingerprint_comes_back_as_it_was(store):
    run = store.begin(["s"], 0.0, lease=1.0)
    for at, digest in enumerate(["0" * 32, "x", "", "0" * 31]):
        store.append(run, Observations.of([present("a", at + 1.0, digest)]))
        assert store.held(["a"])[0].digest == digest


# Several at once


def test_changes_become_visible_in_the_order_of_their_numbers(store):
    """Many write at once; whoever reads up to the last number never misses one."""
    stop, seen = threading.Event(), []

    def write(source):
        with again() as mine:
            run = mine.begin([source], 0.0, lease=1.0)
            for n in range(15):
                mine.append(
                    run, Observations.of([present(KEY[source], n + 1.0, str(n))])
                )

    def read():
        with PostgresStore.open(postgres_store.address("shared"), readonly=True) as me:
            after = 0
            while not (stop.is_set() and after == me.changes.last()):
                end = me.changes.last()
                seen.extend(c.seq for c in me.changes.read(after, 1000) if c.seq <= end)
                after = end

    writers = [threading.Thread(target=write, args=(name,)) for name in "st"]
    reader = threading.Thread(target=read)
    for thread in (reader, *writers):
        thread.start()
    for thread in writers:
        thread.join(60)
    stop.set()
    reader.join(60)
    assert seen == [change.seq for change in store.changes.read()]
    assert len(seen) == 30
    assert store.verify() == []


KEY = {"s": "a", "t": "b"}


def test_a_lease_is_taken_over_when_it_has_run_out_and_the_old_run_is_fenced(store):
    old = store.begin(["s"], 0.0, lease=MINUTES)
    elsewhere = replace(Owner.here(shared=True), boot="another machine", host="other")
    address = postgres_store.address("shared")
    with PostgresStore.open(address, owner=elsewhere) as other:
        with pytest.raises(AlreadyRunning):
            other.begin(["s"], MINUTES / 2, lease=MINUTES)
        run = other.begin(["s"], MINUTES * 2, lease=MINUTES)
        assert run.token > old.token
        for act in (
            lambda: store.append(old, Observations.of([present("a", 1.0)])),
            lambda: store.charge(old, 1, 1.0),
        ):
            with pytest.raises(LeaseLost):
                act()
        assert other.spent(0.0) == 0


def test_a_process_on_another_machine_is_not_taken_for_dead(store):
    elsewhere = replace(Owner.here(shared=True), boot="another machine", host="other")
    address = postgres_store.address("shared")
    with PostgresStore.open(address, owner=elsewhere) as other:
        other.begin(["s"], 0.0, lease=MINUTES)
        with pytest.raises(AlreadyRunning, match="other"):
            store.begin(["s"], MINUTES / 2, lease=MINUTES)


def test_what_others_write_is_noticed(store):
    run = store.begin(["s"], 0.0, lease=1.0)
    with again() as other:
        assert other.evidence(["s"]).looks.tolist() == [0]
        store.append(run, Observations.of([present("a", 1.0)]))
        assert other.evidence(["s"]).looks.tolist() == [1]


# Trouble


def cut(store):
    """End the store's connection, as a failing network or server would."""
    pid = store._postgres.db.link.info.backend_pid
    behind(f"SELECT pg_terminate_backend({pid})")


def test_a_connection_that_was_cut_is_made_anew(store):
    run = store.begin(["s"], 0.0, lease=1.0)
    store.append(run, Observations.of([present("a", 1.0)]))
    cut(store)
    store.append(run, Observations.of([present("a", 2.0)]))
    cut(store)
    assert store.evidence(["s"]).looks.tolist() == [2]
    assert store.verify() == []


def test_a_transaction_that_was_cut_is_undone_whole(store):
    run = store.begin(["s"], 0.0, lease=1.0)

    def charge():
        with store.together():
            store.charge(run, 3, 1.0)
            cut(store)
            store.charge(run, 4, 1.0)

    with pytest.raises(StoreError, match="postgresql://") as error:
        charge()
    assert "\n" not in str(error.value)
    assert store.spent(0.0) == 0
    store.charge(run, 5, 1.0)
    assert store.spent(0.0) == 5


def test_verify_finds_what_was_done_behind_its_back(store):
    run = store.begin(["s"], 0.0, lease=1.0)
    look = present("a", 1.0, "x", content=Content("text/plain", b"body"))
    store.append(run, Observations.of([look]))
    assert store.verify() == []
    with closing(
        psycopg.connect(postgres_store.address("x").split("&schema")[0])
    ) as db:
        db.execute("SET search_path TO shared; UPDATE evidence SET looks = 7")
        db.execute("DELETE FROM source WHERE name = 't'")
        db.commit()
    wrong = store.verify()
    assert any("looks of 1 items does not follow from the log" in w for w in wrong)
    assert any("name no source" in w for w in wrong)


def test_an_observation_and_a_change_are_never_rewritten(store):
    run = store.begin(["s"], 0.0, lease=1.0)
    store.append(run, Observations.of([Observation("a", 1.0, Seen.PRESENT, "x")]))
    for table in ("observation", "change"):
        with pytest.raises(psycopg.Error, match="never changed"):
            behind(f"UPDATE shared.{table} SET at = 2.0")


def test_tables_from_before_hints_had_kinds_are_brought_up_to_date():
    address = postgres_store.fresh()
    name = PostgresAddress.parse(address).schema
    PostgresStore.open(address, create=True).close()
    for table, kind in product(("evidence", "rolled"), ("feed", "hub", "push")):
        behind(f"ALTER TABLE {name}.{table} DROP COLUMN claimed_{kind}")
    behind(f"UPDATE {name}.store_state SET version = 14")
    with PostgresStore.open(address) as store:
        store.add([Item("a", "s"), Item("b", "s")])
        run = store.begin(["s"], 0.0, lease=9.0)
        store.append(run, Observations.of([Observation("a", 1.0, Seen.PRESENT, "1")]))
        said = Observation("a", 2.0, Seen.HINT, "hub", modified=1.9)
        store.append(run, Observations.of([said]))
        store.finish(run, 3.0)
        assert store.verify() == []
        assert store.evidence(["s"]).claimed_hub.tolist() == [1.9, -inf]
    query = (
        "SELECT DISTINCT data_type FROM information_schema.columns WHERE"
        f" table_schema = '{name}' AND column_name LIKE 'claimed%'"
    )
    assert behind(query).fetchall() == [("double precision",)]
