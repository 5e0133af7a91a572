"""Experiments run on any folder of recorded tables: nothing is known by name."""

import json
from datetime import date, timedelta

import numpy as np
import pytest

pytest.importorskip("pyarrow")

import pyarrow as pa
from pyarrow import parquet

from halflife.core.errors import UsageError
from lab import (
    auditing_sets,
    formsize,
    newrecords,
    oneworld,
    probes,
    querygraph,
    rhythms,
)
from lab.probeworlds import known_worlds
from lab.tables import listed, searched, tables

WORDS = ("red", "blue", "old", "new", "fast", "slow", "north", "south", "east", "west")
MAKERS = ("Ada", "Bob", "Cyd")
DAYS, BORN, SIZE, LIFE = 150, 2, 40, 20


def day(number):
    return date(2025, 1, 1) + timedelta(days=int(number))


def write_table(folder, seed=1, *, moves=True):
    """Write a table of notes that come and go, with a score that moves daily."""
    folder.mkdir(parents=True)
    rng = np.random.default_rng(seed)
    born = np.r_[np.zeros(SIZE, int), np.repeat(np.arange(1, DAYS), BORN)]
    last = np.minimum(born + rng.geometric(1 / LIFE, born.size), DAYS)
    keys = [f"k{i:04d}" for i in range(born.size)]
    texts = [" ".join(rng.choice(WORDS, 4, replace=False)) for _ in keys]
    lives = {
        "object_id": keys,
        "spell": [0] * born.size,
        "first_seen": [day(n) for n in born],
        "last_seen": [day(n) for n in last],
        "absent_before": [day(n - 1) if n else None for n in born],
        "gone_by": [day(n + 1) if n < DAYS else None for n in last],
        "maker": [MAKERS[i % len(MAKERS)] for i in range(born.size)],
    }
    row = np.repeat(np.arange(born.size), last - born + 1)
    since = np.concatenate([np.arange(*x) for x in np.c_[born, last + 1]])
    versions = {
        "object_id": [keys[i] for i in row],
        "spell": [0] * row.size,
        "seen_from": [day(n) for n in since],
        "text": [texts[i] for i in row],
        "maker": [MAKERS[i % len(MAKERS)] for i in row],
        "written": [str(day(i % 9)) for i in row],
        "score": (row % 50 + since * moves).tolist(),
    }
    looks = {
        "date": [day(n) for n in range(DAYS + 1)],
        "taken_at": pa.array([None] * (DAYS + 1), pa.timestamp("us", "UTC")),
        "valid": [True] * (DAYS + 1),
    }
    written = {"lifetimes": lives, "versions": versions, "snapshots": looks}
    for name, columns in written.items():
        parquet.write_table(pa.table(columns), folder / f"{name}.parquet")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("histories") / "objects"
    write_table(folder / "notes")
    (folder / "not a table").mkdir()
    return folder


def test_what_a_form_could_ask_for_follows_from_the_values(folder):
    (table,) = tables(folder)
    kinds = {one.name: one.kind for one in table.attributes}
    assert kinds == {"text": "keyword", "maker": "select", "score": "range"}
    assert table.names == ["text:keyword", "maker:select"]


def test_a_version_is_a_month_where_a_month_brings_much(folder):
    (table,) = searched(folder)
    assert table.version == 30.0
    assert [table.end - end for end in table.ends] == [0.0, 60.0, 120.0]


def test_a_part_is_about_the_values_that_repeat_most(folder):
    (table,) = tables(folder)
    about, topics, finds = table.topics()
    assert (about, finds) == ("maker", ("text",))
    assert len(topics) == 1
    assert topics[0] in MAKERS


def test_a_folder_without_the_table_that_is_named_is_refused(folder, tmp_path):
    with pytest.raises(UsageError, match="cars"):
        tables(folder, listed("notes, cars"))
    with pytest.raises(UsageError, match="holds no"):
        tables(tmp_path)


def test_new_records_are_played(folder, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(newrecords, "QUICK", 30)
    newrecords.main([str(folder), str(tmp_path), "--quick"])
    told = json.loads(capsys.readouterr().out)
    assert {row["table"] for row in told["results"]} == {"notes"}
    assert "notes" in (tmp_path / "new-records.svg").read_text()


def test_the_query_graph_of_any_table_is_told(folder):
    (table,) = searched(folder)
    told = querygraph.told(table)
    assert told["table"] == "notes"
    assert told["sel_range"][0] <= told["sel_mean"] <= told["sel_range"][1]


def test_sizes_of_any_table_are_estimated(folder, monkeypatch):
    for name in ("RUNS", "PANELS", "SAMPLES"):
        monkeypatch.setattr(formsize, name, 3)
    monkeypatch.setattr(formsize, "SHOWN", (20,))
    told = formsize.run(folder, ["notes"])
    assert {row["table"] for rows in told.values() for row in rows} == {"notes"}
    assert all(row["mean"] > 0 for row in told["sizes"])
    assert told["crawls"][0]["complete"]


@pytest.mark.parametrize("part", probes.PARTS)
def test_queries_are_chosen_for_any_table(folder, part):
    (world,) = known_worlds(folder)
    assert 0 < len(world.local) < len(world.server)
    rows = list(probes.PARTS[part](world))
    assert rows
    assert {row["world"] for row in rows} == {"notes"}


def test_rhythms_of_any_table_are_played(folder, monkeypatch):
    for name in ("TRAIN", "DAYS"):
        monkeypatch.setattr(rhythms, name, 2)
    rows = rhythms.run(folder.parent, seeds=(1,))
    assert [row["source"] for row in rows] == ["notes"] * len(rhythms.KINDS)
    assert all(0.0 <= row["kept"] <= 1.0 for row in rows)


def test_a_number_that_moves_every_day_is_what_is_kept(folder):
    ((name, daily, level),) = rhythms.sources(folder)
    assert (name, level) == ("notes", rhythms.COUNTER_LEVEL)
    assert daily.min() == 1.0


def test_tables_become_the_kinds_of_source_that_they_suit(folder, monkeypatch):
    monkeypatch.setattr(oneworld, "DAYS", 12)
    monkeypatch.setattr(oneworld, "TRAIN", 4)
    (part,) = oneworld.table_parts(folder)
    assert (part.name, part.measure, len(part)) == ("notes", "content", len(MAKERS))
    assert part.quality(np.zeros(len(MAKERS), int), 0) == 1.0


def test_a_table_without_a_counter_is_a_listing(tmp_path, monkeypatch):
    monkeypatch.setattr(oneworld, "DAYS", 12)
    monkeypatch.setattr(oneworld, "TRAIN", 4)
    write_table(tmp_path / "a", moves=False)
    write_table(tmp_path / "b", moves=False, seed=2)
    parts = oneworld.table_parts(tmp_path)
    assert [(one.name, one.measure) for one in parts] == [
        ("b", "recall"),
        ("a by form", "recall"),
    ]
    assert 0.0 < parts[0].quality(np.zeros(1, int), 12) < 1.0


def test_forecasts_of_any_listing_are_audited(folder, monkeypatch):
    short = {"DAYS": 8.0, "MIDDLE": 6.0, "FIRST": 4.0, "OBJECTS": 60}
    for name, value in short.items():
        monkeypatch.setattr(auditing_sets, name, value)
    told = auditing_sets.listings(folder)
    assert told["sources"] == ["notes"]
    assert told["as_recorded"]


def test_the_form_that_is_audited_asks_for_what_can_be_chosen(folder, monkeypatch):
    relation, by = auditing_sets.formed(folder)
    assert by == "maker"
    monkeypatch.setattr(auditing_sets, "DAYS", 6.0)
    done = auditing_sets.form(relation, 1, counted=True, faster=False, by=by)
    assert done.found
