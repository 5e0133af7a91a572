import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from halflife.cli.demo import _answer
from halflife.config import Config
from halflife.demo import run as demo
from halflife.demo.run import TICKS, Options, run
from halflife.engine import bootstrap

WORDS = ["--pages", "40", "--days", "12", "--budget", "0.25", "--seed", "3"]


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo") / "kept"
    command = [sys.executable, "-m", "halflife", "demo", *WORDS, "--json"]
    done = subprocess.run([*command, "--keep", folder], capture_output=True, check=True)
    assert done.stderr == b""
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def again(tmp_path_factory):
    """The report of the same demo, on another date."""
    folder = tmp_path_factory.mktemp("again")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bootstrap, "clock", lambda: 20407.1)
        return run(Options(40, 12, 0.25, seed=3, folder=folder), lambda *_: None)


def test_the_demo_tells_what_it_measured(shown):
    fresh = shown["freshness"]
    rivals = {"uniform", "round-robin", "nutch-adaptive", "halflife-replay"}
    assert rivals < set(fresh)
    assert all(0 < value < 1 for value in fresh.values())
    assert (
        shown["bound"] == shown["bounds"]["blind"] < shown["bounds"]["hindsight"] <= 1
    )
    believed = shown["believed"]
    assert 0 <= believed["low"] <= believed["mean"] <= believed["high"] <= 1
    assert 0 < shown["true"] < 1
    assert 0 < shown["requests"] <= shown["budget"] == 120
    assert shown["results"][0] == {
        "policy": "halflife",
        "freshness": fresh["halflife"],
    }


def test_what_the_demo_leaves_behind_can_be_asked(shown, asked):
    config = shown["config"]
    code, status = asked("status", "--config", config)
    assert code == 0
    assert status["store"] == shown["store"]
    assert status["results"][0]["items"] >= 40
    assert status["freshness"]["mean"] == pytest.approx(
        shown["believed"]["mean"], abs=0.2
    )
    assert asked("plan", "--config", config)[0] == 0
    assert asked("explain", "0001", "--config", config)[0] == 0
    assert asked("forecast", "--config", config)[0] == 0


def test_the_demo_is_a_sync_at_every_tick(shown):
    config = Config.load(Path(shown["config"]))
    with bootstrap.reading(config) as store:
        runs = [store.reports.account(run) for run in range(1, 12 * TICKS + 1)]
    assert {run.sources for run in runs} == {("demo",)}
    assert sum(run.requests for run in runs[1:]) == shown["requests"]
    # A quarter of ten requests a day is granted at each tick.
    assert {run.requests for run in runs[1:]} <= {0, 1, 2, 3}


def test_the_demo_is_the_same_every_time(shown, again):
    answer = _answer(again)
    assert answer["freshness"] == pytest.approx(shown["freshness"], abs=1e-6)
    assert answer["requests"] == shown["requests"]


def test_the_demo_asks_for_one_page_after_the_other(shown):
    # Which of two answers comes first would else depend on the machine's load.
    settings = tomllib.loads(Path(shown["config"]).read_text())
    assert settings["fetch"]["concurrency"] == 1


def test_the_demo_overwrites_nothing(here, fails):
    (here / "full").mkdir()
    (here / "full" / "mine").touch()
    code, complaint = fails("demo", *WORDS, "--keep", here / "full")
    assert code == 2
    assert "is not empty" in complaint


def test_the_demo_speaks_to_people_and_is_the_same_on_any_date(
    again, here, told, asked, monkeypatch
):
    reports = []
    monkeypatch.setattr(demo, "run", lambda *a: reports.append(run(*a)) or reports[0])
    monkeypatch.setattr(bootstrap, "clock", lambda: 21555.9)
    code, out, err = told("demo", *WORDS, "--keep", here / "kept")
    assert code == 0
    assert "halflife believes" in out
    assert "halflife status --config" in out
    assert "likely changed" in out
    assert err == ""
    last = out.rstrip().splitlines()[-1]
    page = here / "kept" / "page" / "halflife.toml"
    assert last.endswith(f"halflife serve --config {page}")
    code, waiting = asked("status", "--config", page)
    assert code == 0
    assert "sync --accept" in json.dumps(waiting)
    assert reports[0].kept == again.kept
    assert reports[0].rivals == pytest.approx(again.rivals)
