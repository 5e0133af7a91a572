"""Forecasts are kept as they were made; outcomes come later and stay."""

from dataclasses import replace

import pytest
from hypothesis import given, settings, strategies as st

from halflife.core.item import Item
from halflife.stores import schema
from halflife.stores.forecasts import ForecastCheck, Forecasts, IssuedForecast
from halflife.stores.retention import RetentionLimits, clear
from halflife.stores.sqlite import SqliteStore


@pytest.fixture
def store(tmp_path):
    with SqliteStore.open(tmp_path / "state.db", create=True) as store:
        store.add([Item("a", "s", group="g"), Item("b", "s", group="h")])
        yield store


@pytest.fixture
def kept(store):
    return Forecasts(store)


def cast(made, ahead, source="s"):
    return IssuedForecast(source, "freshness", made, ahead, 0.9, 0.8, 0.95)


def test_forecasts_and_checks_leave_with_old_looks(store, kept):
    kept.issue([cast(float(day), 1.0) for day in range(100)])
    kept.note(
        "s",
        [ForecastCheck("a", float(d), 0.5, 1.0, 0.8, fresh=True) for d in range(100)],
    )
    removed = clear(store, RetentionLimits(observations=10.0), 100.0)
    assert removed.forecasts == 180
    assert len(kept.made("s", 0.0)) == 10
    assert store.verify() == []


def test_forecasts_of_summaries_stay_a_year_longer(store, kept):
    kept.issue(replace(cast(day, 64.0), measure="summary") for day in (0.0, 400.0))
    clear(store, RetentionLimits(observations=10.0), 100.0)
    assert len(kept.waiting("s")) == 2
    clear(store, RetentionLimits(observations=10.0), 376.0)
    assert [one.made for one in kept.waiting("s")] == [400.0]


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
