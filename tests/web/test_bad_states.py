"""States that others write to, and states in which nothing was seen yet."""

import shutil
import sqlite3
import time
from contextlib import closing

import pytest

from halflife.config import Config
from halflife.engine import bootstrap
from halflife.stores import files
from halflife.web.showcase import SETS
from lab import showcase

PAGES = ("overview", "sources", "plan", "what-if", "inbox", "audit")


def waited(visitor):
    for _ in range(400):
        job = visitor.get("/jobs.json").json["results"][0]
        if job["state"] != "running":
            return job
        time.sleep(0.02)
    raise AssertionError(job)


def test_a_state_that_is_being_written_to_is_shown_and_nothing_is_lost(
    made, tmp_path, visit, monkeypatch
):
    monkeypatch.setattr(files, "BUSY", 0.1)
    path = shutil.copytree(made.parent, tmp_path / "copied") / made.name
    here = visit(path)
    (row,) = here.get("/inbox.json").json["results"]
    verdict = f"run={row['run']}&verdict=accept"
    store = Config.load(path).store_path
    with closing(sqlite3.connect(store, isolation_level=None)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        assert here.get("/overview").status == 200
        here.post("/decide", verdict)
        job = waited(here)
        assert job["state"] == "failed"
        assert "another program is writing to it; try again" in job["said"]
        assert job["said"] in here.get("/inbox").text
        writer.execute("ROLLBACK")
    here.post("/decide", verdict)
    assert waited(here)["state"] == "done"
    assert here.get("/inbox.json").json["results"] == []


@pytest.fixture
def unseen(tmp_path):
    """Every kind of source, and a state file that holds no observation."""
    path = tmp_path / "halflife.toml"
    path.write_text(showcase.PAGES + SETS)
    with bootstrap.writing(Config.load(path)):
        return path


def test_a_state_without_any_observation_says_so_on_every_page(unseen, visit):
    here = visit(unseen)
    for page in PAGES:
        text = here.get(f"/{page}").text
        assert here.get(f"/{page}.json").status == 200
        assert "nan" not in text.replace("finance", "")
        assert "None" not in text
    rows = here.get("/sources.json").json["results"]
    assert len(rows) == 9
    for row in rows:
        assert (row["health"], row["quality"]) == ("unknown", None)
        assert row["why"]
        page = here.get(f"/source?name={row['source']}")
        assert page.status == 200
        assert "not known" in page.text
        assert here.get(f"/source.json?name={row['source']}").json["failure"] is None
    assert here.get("/api/v1/forecast/jobs").json["results"] == []
    assert "Not enough is known" in here.get("/what-if").text
