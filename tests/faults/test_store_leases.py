"""Many processes want the same source; one at a time gets it."""

import os
import re
import signal
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

import store_worker
from fault_points import count
from halflife.core.errors import AlreadyRunning, LeaseLost
from halflife.core.item import Item
from halflife.core.observation import Observations
from halflife.stores import owner, schema
from halflife.stores.owner import Owner
from halflife.stores.sqlite import SqliteStore
from store_looks import present
from store_processes import rest, start

ROUNDS, RIVALS = count(50, 4), 5


def end(children):
    for _, pipe in children:
        pipe.send("end")
    for child, pipe in children:
        rest(pipe)
        child.join()


def test_of_five_processes_that_begin_at_once_one_wins(tmp_path):
    for number in range(ROUNDS):
        path = tmp_path / f"{number}.db"
        rivals = [start(store_worker.hold, path, ["site"]) for _ in range(RIVALS)]
        answers = [pipe.recv() for _, pipe in rivals]
        assert sum(isinstance(answer, int) for answer in answers) == 1
        refusals = [answer for answer in answers if isinstance(answer, str)]
        winner = rivals[answers.index(1)][0]
        assert all(f"process {winner.pid} on" in refusal for refusal in refusals)
        end(rivals)


def test_five_processes_that_find_an_old_file_leave_one_backup_of_it(tmp_path):
    path = tmp_path / "state.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        schema.upgrade(db, schema.STEPS[:1])
        db.execute("INSERT INTO memo VALUES ('kept', 'yes')")
    rivals = [start(store_worker.upgrade, path) for _ in range(RIVALS)]
    for _, pipe in rivals:
        pipe.send("go")
    assert [rest(pipe) for _, pipe in rivals] == [["yes"]] * RIVALS
    with closing(sqlite3.connect(f"{path}.backup-v1")) as db:
        assert schema.version(db) == 1
    assert [p.name for p in tmp_path.glob("*backup*")] == ["state.db.backup-v1"]


def test_a_dead_holder_is_taken_over_at_once(tmp_path):
    path = tmp_path / "state.db"
    child, pipe = start(store_worker.hold, path, ["site"])
    token = pipe.recv()
    with SqliteStore.open(path) as store:
        with pytest.raises(AlreadyRunning, match=f"kill {child.pid}"):
            store.begin(["site"], 0.1, lease=1.0)
        child.kill()
        child.join()
        run = store.begin(["site"], 0.1, lease=1.0)
        assert run.token > token
        assert run.resumed
        states = "SELECT id, state FROM run ORDER BY id"
        assert store._db.execute(states).fetchall() == [
            (token, "interrupted"),
            (run.id, "running"),
        ]
        store.finish(run, 0.2)
        assert store._db.execute(states).fetchall() == [
            (token, "done"),
            (run.id, "done"),
        ]
    rest(pipe)


def test_a_holder_that_was_stopped_too_long_can_write_nothing_more(tmp_path):
    path = tmp_path / "state.db"
    with SqliteStore.open(path, create=True) as slow, SqliteStore.open(path) as quick:
        slow.add(store_worker.ITEMS)
        old = slow.begin(["site"], 0.0, lease=0.01)
        slow.append(old, Observations.of([present("k0", 0.0)]))
        new = quick.begin(["site"], 0.02, lease=1.0)
        quick.append(new, Observations.of([present("k0", 0.02), present("k1", 0.02)]))
        with pytest.raises(LeaseLost, match="taken over"):
            slow.append(old, Observations.of([present("k2", 0.03)]))
        assert slow.evidence(["site"]).looks.tolist()[:3] == [2, 1, 0]
        quick.append(new, Observations.of([present("k2", 0.04)]))
        assert slow.evidence(["site"]).looks.tolist()[:3] == [2, 1, 1]
        assert quick.verify() == []


def test_a_holder_that_nobody_can_see_is_taken_over_when_its_lease_is_over(tmp_path):
    path, lease = tmp_path / "state.db", 0.01
    far = replace(Owner.here(), pids="pid:[1]", pid=2**22 + 1)
    with (
        SqliteStore.open(path, create=True, owner=far) as theirs,
        SqliteStore.open(path) as ours,
    ):
        ours.add(store_worker.ITEMS)
        old = theirs.begin(["site"], 0.0, lease=lease)
        with pytest.raises(AlreadyRunning):
            ours.begin(["site"], 0.99 * lease, lease=lease)
        new = ours.begin(["site"], 1.01 * lease, lease=lease)
        assert (new.resumed, new.token > old.token) == (True, True)
        with pytest.raises(LeaseLost):
            theirs.charge(old, 1, 0.02)
        assert ours.spent(0.0) == 0


def test_a_run_taken_over_in_its_own_process_does_not_hide_what_others_write(tmp_path):
    path = tmp_path / "state.db"
    with SqliteStore.open(path, create=True) as one, SqliteStore.open(path) as other:
        one.add(store_worker.ITEMS)
        one.begin(["site"], 0.0, lease=0.01)
        one.finish(one.begin(["site"], 0.1, lease=0.01), 0.2)
        assert one.evidence(["site"]).looks.sum() == 0
        run = other.begin(["site"], 0.3, lease=1.0)
        other.append(run, Observations.of([present("k0", 0.3)]))
        assert one.evidence(["site"]).looks.sum() == 1


def test_a_new_run_sees_what_another_process_wrote_before_it(tmp_path):
    path = tmp_path / "state.db"
    with SqliteStore.open(path, create=True) as one, SqliteStore.open(path) as other:
        one.add(store_worker.ITEMS)
        assert one.evidence(["site"]).looks.sum() == 0
        run = other.begin(["site"], 0.0, lease=1.0)
        other.append(run, Observations.of([present("k0", 0.0, "x")]))
        assert one.evidence(["site"]).looks.sum() == 1
        other.append(run, Observations.of([present("k0", 0.5, "x")]))
        other.finish(run, 0.6)
        run = one.begin(["site"], 1.0, lease=1.0)
        one.append(run, Observations.of([present("k0", 1.5, "y")]))
        assert one.evidence(["site"]).looks[0] == 3
        assert one.evidence(["site"]).quiet[0] == 0.5
        assert one.verify() == []


def test_evidence_stays_the_same_object_while_others_write_of_other_sources(tmp_path):
    path = tmp_path / "state.db"
    with SqliteStore.open(path, create=True) as one, SqliteStore.open(path) as other:
        one.add(store_worker.ITEMS)
        run = one.begin(["site"], 0.0, lease=1.0)
        other.add([Item("far", "elsewhere")])
        evidence, far = one.evidence(["site"]), one.evidence(["elsewhere"])
        theirs = other.begin(["elsewhere"], 0.0, lease=1.0)
        other.append(theirs, Observations.of([present("far", 0.4)]))
        one.append(run, Observations.of([present("k0", 0.5)]))
        assert one.evidence(["site"]) is evidence
        assert far.looks.tolist() == [0]
        assert one.evidence(["elsewhere"]).looks.tolist() == [1]
        assert one.evidence().looks.sum() == 2


def test_closing_gives_back_what_was_not_finished(tmp_path):
    path = tmp_path / "state.db"
    with SqliteStore.open(path, create=True) as store:
        store.begin(["site"], 0.0, lease=0.25)
    with SqliteStore.open(path) as store:
        assert store.begin(["site"], 0.1, lease=1.0).resumed


# Who is gone


@pytest.fixture
def me():
    return Owner.here()


def test_this_process_is_here(me):
    assert me == Owner.here()
    assert Owner.parse(str(me)) == me
    assert not me.is_gone(me)


def test_a_process_that_ended_is_gone(me):
    child = os.posix_spawn("/bin/true", ["true"], {})
    os.waitpid(child, 0)
    assert replace(me, pid=child).is_gone(me)


def test_a_later_process_with_the_same_number_is_another(me):
    assert replace(me, started=me.started - 1).is_gone(me)


def test_a_stopped_process_is_not_gone(me):
    child = os.posix_spawn("/bin/sleep", ["sleep", "60"], {})
    try:
        os.kill(child, signal.SIGSTOP)
        stopped = replace(me, pid=child, started=owner.started(child))
        assert not stopped.is_gone(me)
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def test_a_process_from_before_the_machine_was_restarted_is_gone(me):
    assert replace(me, boot="another").is_gone(me)


@pytest.mark.parametrize("unknown", [{"pids": "pid:[1]"}, {"boot": ""}])
def test_a_process_that_cannot_be_seen_is_not_taken_for_gone(me, unknown):
    assert not replace(me, pid=2**22 + 1, **unknown).is_gone(me)


def test_a_program_name_may_hold_anything(me, tmp_path, monkeypatch):
    real = Path(f"/proc/{me.pid}/stat").read_text()
    stat = re.sub(r"\(.*\)", "(a) b ( 1)", real)
    (tmp_path / "7").mkdir()
    (tmp_path / "7" / "stat").write_text(stat)
    monkeypatch.setattr(owner, "_PROC", tmp_path)
    assert owner.started(7) == me.started
