"""What a service asks of a large state file before its first request.

Steps of SQLite's own machine are counted and not seconds, so that these tests say the
same on every machine: whatever reads all items takes more steps the more there are.
"""

import numpy as np
import pytest

from halflife.config import Config
from halflife.core.item import Item
from halflife.core.observation import Observations
from halflife.engine import scheduler, targets
from halflife.stores import columns
from halflife.stores.sqlite import SqliteStore

NOW = 20_000.0
UNSEEN = 20  # pages that nobody has fetched
STEP = 50  # of SQLite's machine
SOURCE = """
[[source]]
name = "{name}"
target = "freshness >= 0.5"
pages = ["http://{name}.example/0"]
"""


def settings(tmp_path, names):
    path = tmp_path / "halflife.toml"
    budget = '[budget]\nrequests = 1000\nper = "day"\n'
    path.write_text(budget + "".join(SOURCE.format(name=name) for name in names))
    return Config.load(path)


def page(name, number):
    return f"http://{name}.example/{number}"


def fill(store, names, many):
    """Let all pages but a few be fetched, and be filed as columns."""
    store.add(
        Item(page(name, i), name, group=f"{name}.example")
        for i in range(many // len(names))
        for name in names  # the numbers of sources lie among one another
    )
    for name in names:
        run = store.begin([name], NOW - 2.0, lease=9.0)
        seen = tuple(page(name, i) for i in range(many // len(names) - UNSEEN))
        at = np.linspace(NOW - 2.0, NOW - 1.0, len(seen))
        present, digest = np.zeros(len(seen), np.int8), ("0" * 32,) * len(seen)
        store.append(run, Observations(seen, at, present, digest))
        store.finish(run, NOW - 1.0)
    run = store.begin(names, NOW - 1.0, lease=9.0)
    last = Observations(
        (page(names[0], 0),), np.array([NOW - 0.9]), present[:1], digest[:1]
    )
    store.append(run, last)
    store.finish(run, NOW - 0.9)


def decided(store, config, now):
    groups = scheduler.grouped(config.source)
    return scheduler.decide(scheduler.Situation(config, store, now, groups))


def steps(store, work):
    """Return the steps that SQLite takes for some work, in units of ``STEP``."""
    taken = 0

    def tick():
        nonlocal taken
        taken += 1

    with store.reading() as db:
        db.set_progress_handler(tick, STEP)
    work()
    with store.reading() as db:
        db.set_progress_handler(None, 0)
    return taken


def first_steps(folder, names, many):
    """Return the steps of the first decision after a start, and those of the second."""
    folder.mkdir()
    config = settings(folder, names)
    with SqliteStore.open(folder / "halflife.db", create=True) as store:
        fill(store, names, many)
        targets.remember(store, decided(store, config, NOW - 0.01).aim.memories)
    with SqliteStore.open(folder / "halflife.db") as store:
        first = steps(store, lambda: decided(store, config, NOW))
        return first, steps(store, lambda: decided(store, config, NOW + 1e-3))


@pytest.fixture(autouse=True)
def _filed(monkeypatch):
    monkeypatch.setattr(columns, "FEWEST", 100)


def test_the_first_decision_reads_no_items_of_a_source_that_is_kept_alone(tmp_path):
    few, _ = first_steps(tmp_path / "few", ["a"], 200)
    many, _ = first_steps(tmp_path / "many", ["a"], 800)
    assert many < few + 10


def test_later_decisions_read_no_items_of_sources_that_are_believed_together(tmp_path):
    first, few = first_steps(tmp_path / "few", ["a", "b"], 200)
    _, many = first_steps(tmp_path / "many", ["a", "b"], 800)
    assert many < few + 10 < first
