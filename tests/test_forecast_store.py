"""Forecasts are kept as they were made; outcomes come later and stay."""

from dataclasses import replace

import pytest
from hypothesis import given, settings, strategies as st

from halflife.core.item import Item
from halflife.core.observation import Looks
from halflife.stores import schema
from halflife.stores.forecasts import Check, Forecasts, Issued
from halflife.stores.retention import Keep, clear
from halflife.stores.sqlite import SqliteStore
from store_looks import failed, hint, present


@pytest.fixture
def store(tmp_path):
    with SqliteStore.open(tmp_path / "state.db", create=True) as store:
        store.add([Item("a", "s", group="g"), Item("b", "s", group="h")])
        yield store


@pytest.fixture
def kept(store):
    return Forecasts(store)


def cast(made, ahead, source="s"):
    return Issued(source, "freshness", made, ahead, 0.9, 0.8, 0.95)


def write(store, *looks):
    run = store.begin(["s"], 0.0, lease=1e9)
    store.append(run, Looks.of(looks))
    store.finish(run, 0.0)


def test_a_forecast_comes_back_as_it_was_made(kept):
    kept.issue([cast(1.0, 7.0), cast(1.0, 0.0), cast(2.0, 1.0, "other")])
    waiting = kept.waiting("s")
    assert [replace(f, id=0) for f in waiting] == [cast(1.0, 0.0), cast(1.0, 7.0)]
    assert waiting[1].due == 8.0
    assert kept.settled("s") == []
    assert kept.made("s", 1.5) == []


def test_an_outcome_is_written_once(kept):
    kept.issue([cast(1.0, 1.0)])
    (one,) = kept.waiting("s")
    kept.settle([replace(one, told=2.0, found=0.5, looks=4.0, draw=0.3)])
    kept.settle([replace(one, told=3.0, found=1.0, looks=None, draw=0.9)])
    assert kept.waiting("s") == []
    assert kept.settled("s") == [replace(one, told=2.0, found=0.5, looks=4.0, draw=0.3)]


def test_what_nobody_saw_is_dropped_and_what_was_seen_is_not(kept):
    kept.issue([cast(1.0, 1.0), cast(2.0, 1.0)])
    first, second = kept.waiting("s")
    kept.settle([replace(first, told=2.0, found=1.0)])
    kept.drop([first, second])
    assert [f.id for f in kept.made("s", 0.0)] == [first.id]


def test_checks_come_back_as_columns_and_silence_is_counted(kept):
    kept.note("s", [Check("a", 1.0, 0.5, 2.0, 0.8, fresh=True)])
    kept.note(
        "s",
        [
            Check("b", 2.0, 0.25, 1.0, 0.7, fresh=False),
            Check("a", 2.0, 0.25, 2.0, 0.6, fresh=None),
        ],
    )
    checks = kept.checks("s")
    assert checks.at.tolist() == [1.0, 2.0]
    assert checks.chance.tolist() == [0.5, 0.25]
    assert checks.believed.tolist() == [0.8, 0.7]
    assert checks.fresh.tolist() == [True, False]
    assert checks.group[0] != checks.group[1]
    assert checks.silent == 1
    assert kept.checks("s", since=1.5).at.tolist() == [2.0]
    assert kept.checks("other").at.size == 0


def test_what_was_held_then_is_compared_with_what_was_seen_last(store, kept):
    write(
        store,
        present("a", 1.0, "1"),
        present("b", 1.0, "1"),
        present("a", 3.0, "2"),
        failed("b", 4.0),
        hint("b", 5.0),
        present("a", 6.0, "2"),
        present("b", 6.0, "1"),
    )
    assert kept.still(["a", "b"], 0.5) == [None, None]
    assert kept.still(["a", "b"], 2.0) == [False, True]
    assert kept.still(["a", "b"], 3.0) == [True, True]


def test_forecasts_and_checks_leave_with_old_looks(store, kept):
    kept.issue([cast(float(day), 1.0) for day in range(100)])
    kept.note(
        "s", [Check("a", float(d), 0.5, 1.0, 0.8, fresh=True) for d in range(100)]
    )
    removed = clear(store, Keep(observations=10.0), 100.0)
    assert removed.forecasts == 180
    assert len(kept.made("s", 0.0)) == 10
    assert store.verify() == []


def test_forecasts_of_summaries_stay_a_year_longer(store, kept):
    kept.issue(replace(cast(day, 64.0), measure="summary") for day in (0.0, 400.0))
    clear(store, Keep(observations=10.0), 100.0)
    assert len(kept.waiting("s")) == 2
    clear(store, Keep(observations=10.0), 376.0)
    assert [one.made for one in kept.waiting("s")] == [400.0]


def test_what_was_read_off_comes_with_its_outcome(kept):
    told = replace(cast(1.0, 3.5), told=4.5, found=0.7, looks=1.0, draw=0.5)
    kept.record([told, replace(told, source="t", told=9.0)])
    assert [replace(one, id=0) for one in kept.settled("s")] == [told]
    assert kept.waiting("s") == []
    assert kept.told(4.0) == {"s", "t"}
    assert kept.told(5.0) == {"t"}


def test_a_file_without_forecasts_is_brought_up_to_date(tmp_path, monkeypatch):
    path = tmp_path / "old.db"
    with monkeypatch.context() as before:
        before.setattr(schema, "STEPS", schema.STEPS[:6])
        with SqliteStore.open(path, create=True) as old, old.together() as db:
            db.execute("INSERT INTO source VALUES (1, 's')")
            db.execute("INSERT INTO item_group VALUES (1, '')")
            db.execute("INSERT INTO item VALUES (1, 1, 'a', 1.0, 1.0, 1, NULL)")
    with SqliteStore.open(path) as store:
        Forecasts(store).issue([cast(1.0, 1.0)])
        assert len(Forecasts(store).waiting("s")) == 1
        assert store.verify() == []


@settings(max_examples=25)
@given(
    rows=st.lists(st.tuples(st.floats(0, 1e5), st.floats(0, 400)), max_size=12),
    settled=st.sets(st.integers(0, 11)),
)
def test_each_forecast_is_waiting_or_settled(tmp_path_factory, rows, settled):
    path = tmp_path_factory.mktemp("law") / "state.db"
    with SqliteStore.open(path, create=True) as store:
        kept = Forecasts(store)
        kept.issue(cast(made, ahead) for made, ahead in rows)
        some = [f for i, f in enumerate(kept.waiting("s")) if i in settled]
        kept.settle(replace(f, told=f.due, found=1.0) for f in some)
        waiting, told = kept.waiting("s"), kept.settled("s")
        assert {f.id for f in told} == {f.id for f in some}
        assert len(waiting) + len(told) == len(rows)
