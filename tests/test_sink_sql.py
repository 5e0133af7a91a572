"""Tables with all versions of records: what they hold equals what changes say."""

import logging
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import postgres_server
from halflife.core.change import Change
from halflife.sinks import laws
from halflife.sinks.protocol import Batch, ChangeRefusedError, DeliveryError, Outlet
from halflife.sinks.sql import SqlConfig, SqlTables
from sink_truth import Tables, present, versions

sa = pytest.importorskip("sqlalchemy", reason="needs halflife[sql]")
VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.sampled_from([0, 1, 2, 2**53, 2**53 + 1]),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(st.characters(exclude_characters="\0", codec="utf-8"), max_size=4),
    st.lists(st.integers(0, 3), max_size=2),
)
FIELDS = st.dictionaries(st.sampled_from(["pay", "Pay", "_key", "ö", ""]), VALUES)
SHOWN = ("_key", "_seq_from", "_seq_to", "pay", "title")
KINDS = ("new", "changed", "gone", "returned", "moved", "held", "accepted")


def log(rows):
    """Return changes of rows: source, key, kind, fields."""
    found = []
    for n, (source, key, kind, fields) in enumerate(rows, 1):
        pairs = {name: (None, value) for name, value in fields.items()}
        found.append(Change(20_000.0 + n / 24, source, key, kind, pairs, n))
    return found


def record(pay, **more):
    return {"pay": pay, **more}


@pytest.fixture(scope="session")
def postgres():
    """The folder of a server that runs."""
    postgres_server.need()
    with postgres_server.running() as folder:
        yield folder


@pytest.fixture(params=["sqlite", "postgres"])
def databases(request, tmp_path_factory):
    """Makes empty databases of one kind."""
    if request.param == "sqlite":
        return lambda: Tables(tmp_path_factory.mktemp("sql") / "t.db")
    folder = request.getfixturevalue("postgres")
    return lambda: postgres_server.PostgresTables(folder)


@pytest.fixture
def database(databases):
    """An empty database."""
    return databases()


def sink_of(url, **table):
    """Return a sink that is open."""
    config = {"name": "db", "kind": "sql", "url": url, **table}
    nowhere = Path("/nowhere")
    sink = SqlTables(
        SqlConfig.model_validate(config), Outlet(nowhere, nowhere / "halflife.db")
    )
    sink.open()
    return sink


def batch_of(changes):
    first, last = changes[0].seq, changes[-1].seq
    return Batch("db", first, last, changes, 10**6, laws.FixedReader())


def feed(database, changes, size=3, again=(), **table):
    """Deliver changes in batches, some of them twice; return the tables."""
    for start in range(0, len(changes), size):
        for _ in range(2 if start // size in again else 1):
            sink = sink_of(**{"url": database.url, **table})
            try:
                sink.deliver(batch_of(changes[start : start + size]))
            finally:
                sink.close()
    return database


@given(
    rows=st.lists(
        st.tuples(
            st.sampled_from(["a", "b-1", "B_1"]),
            st.sampled_from(["1", "2", "ü"]),
            st.sampled_from(KINDS),
            FIELDS,
        ),
        min_size=1,
        max_size=12,
    ),
    size=st.integers(1, 5),
    again=st.sets(st.integers(0, 5)),
)
@settings(
    max_examples=15,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_the_tables_equal_what_the_changes_say(rows, size, again, databases):
    changes = log(rows)
    # What is not held has to begin with "new": nobody can read what it was.
    late = {"changed": "new", "moved": "new"}
    changes = [
        change if known else replace(change, kind=late.get(change.kind, change.kind))
        for change, known in zip(changes, _known(changes), strict=True)
    ]
    tables = feed(databases(), changes, size, again)
    for source, expected in versions(changes).items():
        if expected:
            assert tables.versions(source) == expected
            assert tables.present(source) == present(changes)[source]


def _known(changes):
    """Return, of each change, whether its record is held just before."""
    held = set()
    for change in changes:
        place = change.source, change.key
        yield place in held
        if change.kind == "gone":
            held.discard(place)
        elif change.kind not in {"held", "accepted"}:
            held.add(place)


def test_a_worked_example(database):
    changes = log(
        [
            ("jobs", "1", "new", record(5, title="cook")),
            ("jobs", "1", "changed", record(6)),
            ("jobs", "2", "new", record(7)),
            ("jobs", "1", "gone", {}),
            ("jobs", "1", "returned", record(8)),
        ]
    )
    tables = feed(database, changes, 2)
    rows = tables.query("SELECT * FROM jobs_history ORDER BY _seq_from")
    told = [
        (r["_key"], r["_seq_from"], r["_seq_to"], r["pay"], r["title"]) for r in rows
    ]
    assert told == [
        ("1", 1, 2, 5, "cook"),
        ("1", 2, 4, 6, "cook"),
        ("2", 3, None, 7, None),
        ("1", 5, None, 8, None),
    ]
    assert str(rows[0]["_valid_from"]).startswith("2024-10-04 01:00:00")
    assert rows[0]["_valid_to"] == rows[1]["_valid_from"]
    assert tables.present("jobs") == {"1": {"pay": 8}, "2": {"pay": 7}}
    assert tables.cursor("db") == 5


def test_a_page_that_gets_another_key_goes_on_under_it(database):
    changes = log([("docs", "a", "new", {"text": "x"}), ("docs", "b", "moved", {})])
    changes[1] = replace(changes[1], fields={"key": ("a", "b")})
    tables = feed(database, changes, 1)
    assert tables.versions("docs") == versions(changes)["docs"]
    assert tables.present("docs") == {"b": {"text": "x"}}


def test_what_has_gone_stays_in_the_table_if_one_wishes(database):
    changes = log([("jobs", "1", "new", record(5)), ("jobs", "1", "gone", {})])
    feed(database, changes, deletes="soft")
    (row,) = database.query("SELECT * FROM jobs")
    assert (row["_key"], row["pay"], row["_seq"]) == ("1", 5, 2)
    assert row["_gone_at"] == row["_changed_at"]


def test_a_schema_that_changes_adds_columns_and_says_so(database, caplog):
    changes = log(
        [
            ("jobs", "1", "new", record(5)),
            ("jobs", "2", "new", record("by agreement", town="Ulm")),
            ("jobs", "3", "new", record([1, 2])),
            ("jobs", "4", "new", record(6.5)),
            ("jobs", "5", "new", record(6.0)),
        ]
    )
    with caplog.at_level(logging.WARNING, "halflife"):
        tables = feed(database, changes, 1)
    rows = tables.query("SELECT pay, pay__json, town FROM jobs ORDER BY _key")
    assert [tuple(r.values()) for r in rows] == [
        (5, None, None),
        (None, '"by agreement"', "Ulm"),
        (None, "[1, 2]", None),
        (None, "6.5", None),
        (6, None, None),
    ]
    (line,) = [r.getMessage() for r in caplog.records]
    assert line == (
        "values of field pay of jobs have another type than before; "
        "they are written as JSON into the column pay__json"
    )


def test_two_sources_with_names_that_look_alike_have_tables_of_their_own(database):
    changes = log([("a-b", "1", "new", record(1)), ("a_b", "1", "new", record(2))])
    tables = feed(database, changes)
    assert {tables.table("a-b"), tables.table("a_b")} == {"a_b", "a_b_2"}
    assert tables.present("a_b") == {"1": {"pay": 2}}


def test_a_table_never_has_the_name_of_another_history_or_of_a_stranger(database):
    sources = ["jobs_history", "jobs", "halflife-column", "sqlite_a", "pg_class"]
    sources += ["s" * 64, "s" * 63 + "t", "mine"]
    engine = sa.create_engine(database.url)
    with engine.begin() as db:
        db.execute(sa.text("CREATE TABLE mine (x INTEGER)"))
    engine.dispose()
    changes = log([(name, "1", "new", record(n)) for n, name in enumerate(sources)])
    tables = feed(database, changes, prefix="")
    for n, name in enumerate(sources):
        assert tables.present(name) == {"1": {"pay": n}}, name
    names = {tables.table(name) for name in sources}
    assert len(names | {f"{name}_history" for name in names}) == 2 * len(sources)
    assert max(map(len, names)) + len("_history") <= 63
    assert tables.table("mine") == "mine_2"


def test_fields_may_have_the_names_that_postgresql_gives_its_own_columns(database):
    box = {"xmin": 1, "xmax": 2, "ctid": "c", "tableoid": 3, "select": 4, "oid": 5}
    tables = feed(database, log([("boxes", "1", "new", box)]))
    assert tables.present("boxes") == {"1": box}


def test_a_key_too_long_for_an_index_is_refused_and_the_others_arrive(postgres):
    database = postgres_server.PostgresTables(postgres)
    key = "".join(map(str, range(2000)))[:4000]
    changes = log([("docs", key, "new", {}), ("docs", "b", "new", {"text": "b"})])
    with pytest.raises(ChangeRefusedError, match="index row size"):
        feed(database, changes[:1])
    assert feed(database, changes[1:]).present("docs") == {"b": {"text": "b"}}


@pytest.mark.parametrize("law", laws.LAWS, ids=lambda law: law.__name__)
def test_the_sink_keeps_the_laws_of_sinks_on_postgresql(law, postgres, tmp_path):
    database = postgres_server.PostgresTables(postgres)

    def read():
        found = []
        for source in ("jobs", "docs"):
            if table := database.table(source):
                rows = database.query(f"SELECT _key, _seq FROM {table}")
                found += [(source, row["_key"], row["_seq"]) for row in rows]
        return found

    config = {"name": "x", "kind": "sql", "url": database.url, "deletes": "soft"}
    wants = {"wants": lambda change: change.kind != "held", "complete": False}
    law(laws.SinkTrial(SqlTables, config, read, tmp_path, **wants))


def test_who_was_killed_while_the_database_commits_is_waited_for(postgres):
    """A server may still be at work on a batch whose sender is dead."""
    changes = log([("jobs", str(n), "new", record(n)) for n in range(4)])
    for commits in (True, False):
        database = postgres_server.PostgresTables(postgres)
        dead, heir = sink_of(database.url), sink_of(database.url)
        try:
            with dead._engine.connect() as db, ThreadPoolExecutor(1) as pool:
                db.begin()
                dead._apply(db, dead._tables, batch_of(changes))
                done = pool.submit(heir.deliver, batch_of(changes))
                assert not wait([done], 0.1).done
                (db.commit if commits else db.rollback)()
                done.result(20)
        finally:
            dead.close()
            heir.close()
        assert database.versions("jobs") == versions(changes)["jobs"]
        assert database.cursor("db") == 4


def test_a_record_whose_beginning_left_the_log_is_read_whole(database):
    tables = feed(database, log([("jobs", "9", "changed", record(3))]))
    assert tables.present("jobs") == {"9": {"source": "jobs", "key": "9", "pay": 3}}


def test_a_log_that_begins_anew_is_not_mixed_with_the_old_one(database):
    old = log([("jobs", str(n), "new", record(n)) for n in range(4)])
    feed(database, old)
    restored = [replace(c, at=c.at + 1) for c in old[:2]]
    with pytest.raises(DeliveryError, match="if a backup was restored"):
        feed(database, restored)
    assert database.versions("jobs") == versions(old)["jobs"]


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("nonsense", "url is not that of a database, such as sqlite:///changes.db"),
        ("nosuchdb://host/x", "SQLAlchemy knows no database 'nosuchdb'"),
        ("postgresql+pg8000://host/x", 'pip install "halflife[postgres]" and write'),
        ("sqlite:////no/such/folder/x.db", "the database says: unable to open"),
    ],
)
def test_a_database_that_cannot_be_used_is_named(url, said):
    with pytest.raises(DeliveryError) as caught:
        sink_of(url)
    assert said in str(caught.value)


def test_a_database_that_is_locked_is_worth_another_try(tmp_path):
    import sqlite3  # noqa: PLC0415

    changes = log([("jobs", "1", "new", record(1)), ("jobs", "2", "new", record(2))])
    database = feed(Tables(tmp_path / "t.db"), changes[:1])
    with sqlite3.connect(database.path, isolation_level=None) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(DeliveryError, match="database is locked"):
            feed(database, changes[1:], url=f"{database.url}?timeout=0.05")
    other.close()
    assert database.cursor("db") == 1
