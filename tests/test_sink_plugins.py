"""Sinks that plug-ins bring: found by entry points, and contained when they fail."""

import shutil
import sqlite3
import sys
import tomllib
from contextlib import closing
from pathlib import Path

import pytest

from halflife.config import Config
from halflife.core.errors import ConfigError
from halflife.engine import diagnosis
from sink_parts import NOW, change, changes, deliver, lines, opened, settings

EXAMPLE = Path(__file__).parents[1] / "examples" / "index"
COUNTER = """
from typing import ClassVar, Literal
from halflife.config.sinks import SinkConfig

class CounterConfig(SinkConfig):
    kind: Literal["counter"]
    upto: int = 3

class Counter:
    Settings: ClassVar = CounterConfig
    got = []
    def __init__(self, settings, outlet): self.settings = settings
    def open(self): pass
    def deliver(self, batch):
        if len(self.got) >= self.settings.upto:
            raise ValueError("the password is hunter2")
        self.got.extend(batch.changes)
    def close(self): raise RuntimeError
    def cancel(self): pass

class Nothing:
    Settings = CounterConfig
    def __init__(self, settings, outlet): pass
"""
USED = '[[sink]]\nname = "c"\nkind = "counter"\nbatch = 1\n'
FILE = '[[sink]]\nname = "f"\nkind = "jsonl"\npath = "f.jsonl"\n'


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Install a plug-in as pip would: a module, and a folder of metadata."""
    site = tmp_path / "site"
    site.mkdir()
    monkeypatch.syspath_prepend(site)

    def put(points, code=COUNTER):
        (site / "counter_sink.py").write_text(code)
        info = site / "halflife_counter-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(
            "Metadata-Version: 2.1\nName: halflife-counter\nVersion: 1.0\n"
        )
        (info / "entry_points.txt").write_text(f"[halflife.sinks]\n{points}\n")
        monkeypatch.delitem(sys.modules, "counter_sink", raising=False)
        return site

    return put


def test_a_sink_of_a_plug_in_that_fails_stops_no_other(install, tmp_path):
    install("counter = counter_sink:Counter")
    config = settings(tmp_path, USED + FILE)
    with opened(config) as store:
        store.changes.append(changes(5))
        found = deliver(config, store)
    assert found["c"].state.delivered == 3
    said = found["c"].trouble()
    assert said.startswith("1 try failed: an error of the sink: ValueError in ")
    assert "hunter2" not in said
    assert len(lines(tmp_path / "f.jsonl")) == 5


@pytest.mark.parametrize("where", ["__init__", "open", "deliver"])
def test_a_sink_that_calls_exit_has_failed_like_any_other(install, tmp_path, where):
    method = f"    def {where}(self, *given): raise SystemExit(3)\n    def close"
    install(
        "counter = counter_sink:Counter", COUNTER.replace("    def close", method, 1)
    )
    config = settings(tmp_path, USED + FILE)
    with opened(config) as store:
        store.changes.append(changes(5))
        found = deliver(config, store, patience=5.0)
    said = found["c"].trouble()
    assert said.startswith("1 try failed: an error of the sink: SystemExit in counter_")
    assert len(lines(tmp_path / "f.jsonl")) == 5


def test_a_sink_that_cannot_be_cancelled_ends_no_sync(install, tmp_path):
    code = COUNTER.replace("def cancel(self): pass", "def cancel(self): raise OSError")
    install("counter = counter_sink:Counter", code)
    config = settings(tmp_path, USED.replace("1", "9") + FILE)
    with opened(config) as store:
        store.changes.append(changes(2))
        assert deliver(config, store)["c"].state.delivered == 2


def test_what_makes_no_sink_is_the_trouble_of_its_sink(install, tmp_path):
    install("counter = counter_sink:Nothing")
    config = settings(tmp_path, USED)
    with opened(config) as store:
        store.changes.append(changes(1))
        said = deliver(config, store)["c"].trouble()
    assert said == "1 try failed: the kind of sink 'counter' makes no sink"


@pytest.mark.parametrize(
    ("points", "code", "said"),
    [
        ("counter = counter_sink:Counter", "1 / 0", "cannot be imported: ZeroDivision"),
        ("counter = counter_sink:Counter", "exit(3)", "cannot be imported: SystemExit"),
        (
            "counter = counter_sink:Counter",
            "Counter = 3",
            "has no Settings, a subclass",
        ),
    ],
)
def test_a_plug_in_that_is_broken_is_named_in_one_line(install, points, code, said):
    install(points, code)
    with pytest.raises(ConfigError) as caught:
        Config.parse(USED)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_a_plug_in_lacks_is_an_extra_of_its_own_package(install, tmp_path):
    code = COUNTER.replace(
        "    upto: int = 3", '    requires = ("no_such_module", "fast")'
    ).replace(
        "def open(self): pass",
        "def open(self): from halflife.sinks import extras; "
        "extras.import_extra(self.settings)",
    )
    install("counter = counter_sink:Counter", code)
    config = settings(tmp_path, USED)
    remedy = 'pip install "halflife-counter[fast]"'
    with opened(config) as store:
        store.changes.append(changes(1))
        said = deliver(config, store)["c"].trouble()
    assert said.endswith(f"needs no_such_module; install it with: {remedy}")
    advice = {found.advice for found in diagnosis.examine(config, NOW)}
    assert remedy in advice


def test_the_example_is_found_as_a_plug_in_and_keeps_an_index(install, tmp_path):
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())
    points = project["project"]["entry-points"]["halflife.sinks"]
    site = install("".join(f"{name} = {value}\n" for name, value in points.items()))
    shutil.copytree(EXAMPLE / "halflife_index", site / "halflife_index")
    table = '[[sink]]\nname = "s"\nkind = "fts5"\npath = "s.db"\n'
    config = settings(tmp_path, table)
    with opened(config) as store:
        store.changes.append(
            [change("1", title="warm bread"), change("2", title="soup")]
        )
        assert deliver(config, store)["s"].trouble() == ""
        store.changes.append([change("2", "gone")])
        deliver(config, store)
    with closing(sqlite3.connect(tmp_path / "s.db")) as db:
        query = "SELECT key FROM document WHERE document MATCH 'bread OR soup'"
        assert db.execute(query).fetchall() == [("1",)]
