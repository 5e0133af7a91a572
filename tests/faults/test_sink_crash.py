"""Three sinks, and kill -9 at any instant: all arrives, in order, nothing is lost."""

import json
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

import postgres_server
import sink_truth
from fault_points import count
from halflife.stores.sqlite import SqliteStore
from sink_worker import SETTINGS

pytest.importorskip("sqlalchemy", reason="needs halflife[sql]")
WORKER = Path(__file__).parents[1] / "sink_worker.py"
KILLS = count(200, 6)
FOLDERS = count(8, 2)
TRIALS = [(number, "sqlite") for number in range(FOLDERS)]
TRIALS += [(number, "postgres") for number in range(FOLDERS // 2)]


@pytest.fixture(scope="module")
def mother():
    """Forks a child for each order; see ``sink_worker``."""
    process = subprocess.Popen(
        [sys.executable, str(WORKER)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )

    def order(**what):
        process.stdin.write(json.dumps(what) + "\n")
        process.stdin.flush()
        return int(process.stdout.readline())

    yield order
    process.stdin.close()
    process.wait(30)
    process.stdout.close()


def read(path):
    """Return the changes in a file; every line must be whole."""
    rows = [json.loads(line) for line in path.read_text().split("\n")[:-1]]
    return [(row["source"], row["key"], row["seq"], row["kind"]) for row in rows]


def check_lines(found, log):
    """Check that all changes arrived, and those of each key in their order."""
    assert dict.fromkeys(sorted(found, key=lambda r: r[2])) == dict.fromkeys(
        (c.source, c.key, c.seq, c.kind) for c in log
    )
    latest = {}
    for source, key, seq, _ in dict.fromkeys(found):
        assert latest.get((source, key), 0) < seq
        latest[source, key] = seq


@pytest.fixture(scope="module")
def postgres():
    postgres_server.need()
    with postgres_server.running() as folder:
        yield folder


@pytest.fixture
def tables(request, tmp_path, database):
    """Where the sink of tables writes."""
    if database == "sqlite":
        return sink_truth.Tables(tmp_path / "tables.db")
    return postgres_server.PostgresTables(request.getfixturevalue("postgres"))


@pytest.mark.parametrize(("number", "database"), TRIALS)
def test_kill_9_loses_no_change_and_keeps_the_order_of_each_key(
    mother, tmp_path, tables, number
):
    rng = Random(number)
    (tmp_path / "halflife.toml").write_text(SETTINGS.format(url=tables.url))
    for trial in range(KILLS // FOLDERS):
        how = {"seed": number * 1000 + trial, "kill": rng.uniform(0.0, 0.15)}
        assert mother(folder=str(tmp_path), wait=rng.random() < 0.9, **how) == -9
    assert mother(folder=str(tmp_path), seed=0, kill=None) == 0
    with SqliteStore.open(tmp_path / "halflife.db") as store:
        assert store.verify() == []
        log = store.changes.read(0, 10**9)
        states = {state.name: state for state in store.sinks.states()}
    assert len(log) >= KILLS // FOLDERS
    assert {s.cursor for s in states.values()} == {log[-1].seq}
    assert [s.missed + s.skipped for s in states.values()] == [0, 0, 0]
    check_lines(read(tmp_path / "file.jsonl"), log)
    once = [seq for _, _, seq, _ in read(tmp_path / "file.jsonl")]
    assert once == [change.seq for change in log]  # no line twice
    check_lines(read(tmp_path / "prog.jsonl"), log)
    for source, expected in sink_truth.versions(log).items():
        assert tables.versions(source) == expected
        assert tables.present(source) == sink_truth.present(log)[source]
        current = [row[0] for row in tables.versions(source) if row[3] is None]
        assert len(current) == len(set(current))
