"""A dlt pipeline into DuckDB: what changed is loaded, what has gone is deleted."""

from importlib.util import module_from_spec, spec_from_file_location
from itertools import count
from pathlib import Path

import pytest

import halflife
from halflife.core.errors import UsageError
from halflife.core.object_store import Listing
from halflife.core.tracker import Tracker
from sink_parts import opened, settings

dlt = pytest.importorskip("dlt", reason="needs halflife[dlt]")
duckdb = pytest.importorskip("duckdb", reason="needs duckdb")
EXAMPLE = Path(__file__).parents[1] / "examples/dlt/pipeline.py"
SOURCE = """
[[source]]
name = "jobs"
kind = "listing"
url = "http://a.example/jobs"
key = "id"
"""


@pytest.fixture
def world(tmp_path, monkeypatch):
    """A project, a way to list its records, and a pipeline that loads them."""
    monkeypatch.setenv("RUNTIME__DLTHUB_TELEMETRY", "false")
    monkeypatch.setenv("DLT_DATA_DIR", str(tmp_path / "dlt"))
    config, days = settings(tmp_path, SOURCE), count(20_000)
    project = halflife.open_project(tmp_path)

    def see(records):
        """List records, for good: those that are missing have gone."""
        with opened(config) as store:
            run = store.begin(["jobs"], 20_000.0, lease=1.0)
            known = "jobs" in store.collections()
            register = store.register("jobs") if known else None
            tracker = Tracker(register)
            for _ in range(2):
                tracker.take(Listing(float(next(days)), records))
            store.save_register(run, "jobs", tracker.news())
            store.finish(run, 20_000.0)

    def load(**how):
        from halflife.dlt_source import records  # noqa: PLC0415

        pipeline = dlt.pipeline(
            f"copy_{how.get('deletes', 'hard')}",
            destination=dlt.destinations.duckdb(str(tmp_path / "copy.duckdb")),
            dataset_name=how.get("deletes", "hard"),
            pipelines_dir=str(tmp_path / "pipelines"),
        )
        pipeline.run(records(project, **how))
        with duckdb.connect(str(tmp_path / "copy.duckdb"), read_only=True) as db:
            rows = db.execute(
                f"SELECT * FROM {pipeline.dataset_name}.jobs ORDER BY _key"
            )
            names = [one[0] for one in rows.description]
            return [dict(zip(names, row, strict=True)) for row in rows.fetchall()]

    return project, see, load


def test_a_pipeline_loads_what_changed_and_deletes_what_has_gone(world):
    _, see, load = world
    see({"1": {"pay": 5}, "2": {"pay": 6}})
    rows = load()
    assert [(r["_key"], r["pay"], r["_deleted"]) for r in rows] == [
        ("1", 5, False),
        ("2", 6, False),
    ]
    see({"2": {"pay": 7}, "3": {"pay": 8, "town": "Ulm"}})
    rows = load()
    assert [(r["_key"], r["pay"], r["town"]) for r in rows] == [
        ("2", 7, None),
        ("3", 8, "Ulm"),
    ]
    assert load() == rows  # nothing is new


def test_deleted_rows_stay_with_a_mark_if_one_wishes(world):
    _, see, load = world
    see({"1": {"pay": 5}, "2": {"pay": 6}})
    load(deletes="soft")
    see({"2": {"pay": 6}})
    rows = load(deletes="soft")
    assert [(r["_key"], r["_deleted"]) for r in rows] == [("1", True), ("2", False)]


def test_changes_that_are_no_longer_kept_are_named(world):
    from halflife.dlt_source import changed_rows  # noqa: PLC0415

    project, see, _ = world
    see({str(n): {"pay": n} for n in range(6)})
    with opened(project.config) as store, store.together() as db:
        db.execute("DELETE FROM change WHERE seq <= 3")
    with pytest.raises(UsageError, match="changes 2 to 3 are no longer kept"):
        list(changed_rows(project, ["jobs"], 1))
    with pytest.raises(UsageError, match="the log ends at 6"):
        list(changed_rows(project, ["jobs"], 7))
    (rows,) = changed_rows(project, ["jobs"], 4)
    assert [row["_seq"] for row in rows] == [5, 6]


def test_the_example_loads_each_change_once(world, tmp_path):
    spec = spec_from_file_location("dlt_pipeline", EXAMPLE)
    pipeline = module_from_spec(spec)
    spec.loader.exec_module(pipeline)
    _, see, _ = world
    file = tmp_path / "example.duckdb"
    for listed in ({"1": {"pay": 5}, "2": {"pay": 6}}, {"2": {"pay": 7}}):
        see(listed)
        assert "loaded" in pipeline.load(str(tmp_path), str(file))
        with duckdb.connect(str(file), read_only=True) as db:
            rows = db.execute("SELECT _key, pay FROM kept.jobs ORDER BY _key")
            found = rows.fetchall()
        assert found == [(key, fields["pay"]) for key, fields in listed.items()]
