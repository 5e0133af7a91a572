"""What a request is worth in the long run, and what the service keeps for later."""

import shutil
from dataclasses import replace

import numpy as np
import pytest

from halflife.config import Config
from halflife.core.observation import Observation, Observations, Seen
from halflife.engine import bootstrap, costs, prices, scheduler
from halflife.engine.appraisal import Appraiser
from halflife.market import share
from halflife.stores import summaries
from halflife.stores.notes.income import SPENT_UNTIL
from halflife.stores.sqlite import SqliteStore
from halflife.stores.summaries import StoredSummary
from halflife.summary import Summary
from set_worlds import arrival_survival

NOW = 80.0  # when the listing was last looked at
TEXT = """
[budget]
requests = {requests}
per = "week"
[[source]]
name = "docs"
pages = [{pages}]
[[source]]
name = "jobs"
kind = "listing"
key = "id"
url = "https://jobs.example/a.json"
[[source]]
name = "words"
kind = "search"
search_url = "https://words.example.org/?q={{query}}"
"""


def settings(folder, requests=70):
    pages = ", ".join(f'"https://docs.example/{i}"' for i in range(30))
    text = TEXT.format(pages=pages, requests=requests)
    return Config.parse(text, folder / "halflife.toml")


def seen(at, day):
    """Return looks at pages of which a third changes daily."""
    return [
        Observation(
            f"https://docs.example/{i}", at, Seen.PRESENT, str(day if i < 10 else 0)
        )
        for i in range(30)
    ]


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Pages, a listing and a summary that were all looked at just now."""
    config = settings(tmp_path_factory.mktemp("built"))
    with bootstrap.writing(config) as store:
        run = store.begin(["docs"], NOW - 31, lease=99.0)
        for day in range(31):
            store.append(run, Observations.of(seen(NOW - 30 + day, day)))
        store.finish(run, NOW)
        run = store.begin(["jobs"], NOW, lease=1.0)
        world = replace(arrival_survival(3, days=80), name="jobs")
        store.save_collection(run, world)
        store.finish(run, NOW)
        costs.note(store, "jobs", 4)
        summary = Summary(("ant", "bee"), np.array([30.0, 10.0]), 400.0, 40)
        summaries.save(
            store,
            StoredSummary(
                source="words", at=NOW, method="qbs", ending="", whole=True,
                summary=summary, low=300.0, high=500.0, sized="", told="",
                requests=50, documents=(),
            ),
        )  # fmt: skip
    return config.store_path


@pytest.fixture
def store(tmp_path, built):
    config = settings(tmp_path)
    shutil.copy(built, config.store_path)
    with SqliteStore.open(config.store_path) as store:
        yield store


def decided(store, folder, now, *, saved, requests=70, nap=0.0):
    """Return what is decided with so many requests that have come in."""
    config = settings(folder, requests)
    SPENT_UNTIL.save(store, now - saved / config.budget.pace)
    groups = scheduler.grouped(config.source)
    return scheduler.decide(scheduler.Situation(config, store, now, groups, nap=nap))


@pytest.mark.parametrize("requests", [35, 70, 350])
def test_the_price_is_that_of_the_shares_in_the_long_run(store, tmp_path, requests):
    config = settings(tmp_path, requests)
    freshest = config.policy.model_copy(update={"objective": "freshness"})
    config = config.model_copy(update={"policy": freshest})  # as prices are reckoned
    appraiser = Appraiser(config, store, NOW)
    worths = [appraiser.known(source).worth for source in config.source]
    pace = config.budget.pace
    price = prices.long_run(appraiser, config.source, pace)
    near = [share(worths, times * pace).price for times in (0.7, 1.4)]
    # A curve is that of schedules that take rates for known, so it may rise by less
    # than what is believed is worth (laws/test_price_laws.py has an example).
    assert near[1] <= price <= 1.003 * near[0]


def test_what_nobody_has_looked_at_has_no_price(tmp_path):
    config = settings(tmp_path)
    with bootstrap.writing(config) as store:
        appraiser = Appraiser(config, store, NOW)
        assert prices.long_run(appraiser, config.source, 10.0) == 0.0


def test_what_was_just_looked_at_waits_until_no_more_can_be_saved(store, tmp_path):
    saved = decided(store, tmp_path, NOW + 0.05, saved=5)
    assert not any(saved.grants.values())
    full = decided(store, tmp_path, NOW + 0.05, saved=70)
    assert sum(full.paid.values()) == 1.0  # an hour's worth


def test_what_gains_more_than_is_usual_does_not_wait(store, tmp_path):
    found = decided(store, tmp_path, NOW + 20.0, saved=5)
    assert sum(found.paid.values()) >= 1.0
    assert found.waits == ""


def test_a_turn_after_a_long_nap_has_what_came_in_meanwhile(store, tmp_path):
    now, pace = NOW + 20.0, 10.0
    short = decided(store, tmp_path, now, saved=30)
    assert sum(short.paid.values()) == 4.0  # the listing, of what was saved
    for days in (0.5, 1.0, 2.0):
        long = decided(store, tmp_path, now, saved=30, nap=days)
        assert pace * days - 4.0 < sum(long.paid.values()) <= pace * days
    poor = decided(store, tmp_path, now, saved=5, nap=2.0)
    assert sum(poor.paid.values()) <= 5.0


@pytest.mark.parametrize(("saved", "got"), [(20, None), (55, 50)])
def test_a_summary_that_costs_most_of_a_week_is_reached(store, tmp_path, saved, got):
    run = store.begin(["docs"], NOW + 400.0, lease=1.0)
    store.append(run, Observations.of(seen(NOW + 400.0, 0)))
    store.finish(run, NOW + 400.0)
    config = settings(tmp_path)
    alone = replace_groups(config, "words")
    SPENT_UNTIL.save(store, NOW + 400.0 - saved / config.budget.pace)
    at = scheduler.Situation(config, store, NOW + 400.0, alone)
    found = scheduler.decide(at)
    assert found.grants.get(("words",)) == got
    assert found.waits == ("" if got else "words")


def replace_groups(config, name):
    """Return the one group of a source."""
    return [
        g for g in scheduler.grouped(config.source) if scheduler.names(g) == (name,)
    ]


def test_nobody_waits_for_what_costs_more_than_the_budget_has(store, tmp_path):
    found = decided(store, tmp_path, NOW + 400.0, saved=20, requests=30)
    assert found.waits != "words"
    assert sum(found.paid.values()) >= 1.0
