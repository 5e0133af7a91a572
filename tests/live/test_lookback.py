"""What looks before a target was set tell the rule for targets."""

import numpy as np
import pytest

from halflife.config import Config
from halflife.core.item import Item
from halflife.core.observation import Observation, Observations, Seen
from halflife.engine import bootstrap, targets
from halflife.engine.appraisal import Appraiser
from halflife.engine.loop import LEASE
from halflife.kinds.pages import target_warmup as pages_target_warmup
from halflife.kinds.pages.target import PageSnapshot
from halflife.market.target_rule import TIMES, Goal, LossHistory

BEGAN, PAGES, DAYS = 20_000.0, 40, 30
GOAL = Goal(0.9, 0.95)
SETTINGS = """store = "a.db"
[budget]
requests = 100
mode = "targets"
[[source]]
name = "site"
pages = [{}]
target = "freshness >= 0.9 with confidence 0.95"
"""


@pytest.fixture
def config(tmp_path):
    path = tmp_path / "halflife.toml"
    urls = ", ".join(f'"http://a.test/{page}"' for page in range(PAGES))
    path.write_text(SETTINGS.format(urls))
    return Config.load(path)


def watched(store, versions):
    """Look at all pages each day; ``versions`` has their versions, day by page."""
    store.add([Item(f"http://a.test/{page}", "site") for page in range(PAGES)])
    for day, row in enumerate(versions):
        run = store.begin(["site"], BEGAN + day, lease=LEASE)
        looks = [
            Observation(
                f"http://a.test/{page}", BEGAN + day, Seen.PRESENT, f"{version:032x}"
            )
            for page, version in enumerate(row)
        ]
        store.append(run, Observations.of(looks))
        store.finish(run, BEGAN + day)


def told(config, versions):
    """Return what looks of some days tell, and how the pages stand thereafter."""
    (source,) = config.source
    with bootstrap.writing(config) as store:
        watched(store, versions)
        appraiser = Appraiser(config, store, BEGAN + len(versions) - 0.5)
        found = pages_target_warmup.past(
            store, PageSnapshot(appraiser.state(source), GOAL)
        )
        return found, targets.aim(appraiser, [source]).memories["site"]


def evenly(rng):
    """Return versions of pages of which one in forty changes each day."""
    return np.cumsum(rng.random((DAYS, PAGES)) < 1 / 40, axis=0)


def in_bursts(rng):
    """Return the same number of changes, but most on one day of ten."""
    busy = (np.arange(DAYS) % 10 == 9)[:, None]
    return np.cumsum(busy & (rng.random((DAYS, PAGES)) < 10 / 40), axis=0)


def burst(past):
    """Return how likely a day is to lose three times what is believed."""
    return float(past.weights(1 / 40)[TIMES > 3].sum())


def test_days_before_a_target_tell_whether_there_are_bursts(config, tmp_path):
    even, memory = told(config, evenly(np.random.default_rng(1)))
    (tmp_path / "a.db").unlink()
    busy, _ = told(config, in_bursts(np.random.default_rng(1)))
    assert burst(even) < 0.05 < burst(busy) < 0.3
    assert burst(LossHistory()) > 0.2
    assert memory.past == even
    assert even.watched == DAYS - 1
    assert even.days == 0.0  # nothing was kept or missed: there was no level


def test_the_first_look_at_pages_tells_nothing(config):
    past, memory = told(config, np.zeros((1, PAGES), dtype=int))
    assert past == LossHistory()
    assert memory.began == BEGAN + 0.5


def test_too_many_looks_are_not_read(config, monkeypatch):
    monkeypatch.setattr(pages_target_warmup, "MOST", 3 * PAGES)
    assert told(config, np.zeros((4, PAGES), dtype=int))[0] == LossHistory()


def test_of_looks_at_a_page_on_one_day_the_last_counts(config):
    (source,) = config.source
    with bootstrap.writing(config) as store:
        watched(store, np.array([np.zeros(PAGES, dtype=int)] * 2))
        run = store.begin(["site"], BEGAN + 1.1, lease=LEASE)
        again = Observation("http://a.test/7", BEGAN + 1.1, Seen.PRESENT, f"{9:032x}")
        store.append(run, Observations.of([again]))
        appraiser = Appraiser(config, store, BEGAN + 1.5)
        pages = PageSnapshot(appraiser.state(source), GOAL)
        ((page, gap, changed),) = pages_target_warmup._days(store, pages)
    (seven,) = np.flatnonzero(changed)
    assert pages.view.keys[pages.rows[page[seven]]] == "http://a.test/7"
    assert gap[seven] == pytest.approx(0.1)
    assert np.delete(gap, seven) == pytest.approx(1.0)
    assert page.size == PAGES
