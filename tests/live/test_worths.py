"""What requests buy at each kind of source, from what a store knows."""

import asyncio
import json
import shutil
from dataclasses import replace

import numpy as np
import pytest

from halflife.allocation import blind_bound
from halflife.config import Config
from halflife.core.observation import Observation, Observations, Seen
from halflife.engine import appraisal, bootstrap, costs, renewals, zones
from halflife.engine.appraisal import Appraiser
from halflife.kinds.listing import runner as listing_runner
from halflife.kinds.search import selection as search_selection
from halflife.market import ALWAYS
from halflife.market.curves import Decay, renewed_quality
from halflife.stores import summaries
from halflife.stores.sqlite import SqliteStore
from halflife.stores.summaries import StoredSummary
from halflife.summary import Summary
from set_worlds import arrival_survival

NOW = 20_100.0
TEXT = """
[budget]
requests = 100
[fetch]
delay = 10.0
[[source]]
name = "docs"
weight = 2.0
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
[[source]]
name = "shop"
kind = "form"
form_url = "https://shop.example/find"
attributes = {{make = {{param = "make"}}}}
"""


def settings(tmp_path, more=""):
    pages = ", ".join(f'"https://docs.example/{i}"' for i in range(30))
    return Config.parse(TEXT.format(pages=pages) + more, tmp_path / "halflife.toml")


@pytest.fixture
def config(tmp_path):
    return settings(tmp_path)


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Pages of which a third changes daily, a listing's history and a summary."""
    config = settings(tmp_path_factory.mktemp("built"))
    with bootstrap.writing(config) as store:
        run = store.begin(["docs"], NOW - 31, lease=99.0)
        for day in range(31):
            store.append(run, Observations.of(seen(NOW - 30 + day, day)))
        store.finish(run, NOW)
        run = store.begin(["jobs"], NOW, lease=1.0)
        world = arrival_survival(3, days=80)
        store.save_collection(run, replace(world, name="jobs"))
        store.finish(run, NOW)
        summary = Summary(("ant", "bee"), np.array([30.0, 10.0]), 400.0, 40)
        summaries.save(
            store,
            StoredSummary(
                source="words", at=NOW - 10, method="qbs", ending="", whole=True,
                summary=summary, low=300.0, high=500.0, sized="", told="",
                requests=50, documents=(),
            ),
        )  # fmt: skip
    return config.store_path


@pytest.fixture
def store(config, built):
    shutil.copy(built, config.store_path)
    with SqliteStore.open(config.store_path) as store:
        yield store


def seen(at, day):
    return [
        Observation(
            f"https://docs.example/{i}",
            at,
            Seen.PRESENT,
            digest=str(day if i < 10 else 0),
        )
        for i in range(30)
    ]


@pytest.fixture
def appraiser(config, store):
    return Appraiser(config, store, NOW)


def named(config, name):
    return config.named([name])[0]


@pytest.mark.parametrize("name", ["docs", "jobs", "words"])
def test_more_requests_buy_more_and_bounds_hold_the_mean(config, appraiser, name):
    worth = appraiser.known(named(config, name)).worth
    assert worth.source == name
    assert (np.diff(worth.quality) >= -1e-12).all()
    assert (worth.low <= worth.quality + 1e-9).all()
    assert (worth.quality <= worth.high + 1e-9).all()
    assert 0 <= worth.quality[0] < worth.quality[-1] <= 1
    assert worth.quality[-1] > 0.95


def test_the_worth_of_pages_is_the_best_freshness_of_the_solver(config, appraiser):
    worth = appraiser.known(named(config, "docs")).worth
    view, rows = appraiser.state(named(config, "docs")).near.pages
    rate = view.rate[rows["docs"]]
    for requests in (5.0, 20.0, 60.0):
        bound = blind_bound(rate, requests)
        # Rates that are in doubt are a little better for a copy than known ones.
        assert worth.at(requests) == pytest.approx(bound, abs=0.03)


def test_a_page_that_counts_double_is_not_a_source_that_does(config, store, appraiser):
    before = appraiser.known(named(config, "docs")).worth
    store.add([replace(item, weight=7.0) for item in store.items(["docs"])])
    after = Appraiser(config, store, NOW).known(named(config, "docs")).worth
    assert after.quality == pytest.approx(before.quality, abs=1e-9)
    assert after.weight == before.weight == 2.0


def test_the_recall_of_a_listing_is_the_mean_of_its_forecast(config, store, appraiser):
    costs.note(store, "jobs", 12)
    known = appraiser.known(named(config, "jobs"))
    assert known.whole == 12.0
    decay = renewals.recall_decay(store.collection("jobs"), 0.95)
    for every in (0.5, 2.0, 9.0):
        moments = (np.arange(4000) + 0.5) / 4000 * every
        mean = decay.at(moments)[0].mean()
        assert known.worth.at(12.0 / every) == pytest.approx(mean, abs=0.01)


def test_more_confidence_costs_more(config, appraiser):
    source = named(config, "jobs")
    needed = [
        appraiser.known(source, sure).worth.needed(0.9, sure=True)
        for sure in (0.6, 0.8, 0.95)
    ]
    plain = appraiser.known(source).worth.needed(0.9)
    assert plain < needed[0] < needed[1] < needed[2] < np.inf


def test_a_summary_is_worth_the_share_of_time_that_it_holds(config, store, appraiser):
    known = appraiser.known(named(config, "words"))
    assert known.whole == 50.0
    kept = summaries.current(store, "words")
    survival = search_selection.survival(kept, named(config, "words"))
    every = np.array([60.0])
    expected = survival.lasting(every) / every
    assert known.worth.at(50.0 / 60.0) == pytest.approx(expected[0], abs=0.01)


def test_what_an_offer_gains_is_the_slope_of_the_worth(config, store, appraiser):
    """Offers and worths speak of the same price: U(T) / cost = dQ / drequests."""
    decay = renewals.recall_decay(store.collection("jobs"), 0.95)
    for every in (1.0, 4.0, 10.0):
        mean = [
            renewed_quality(decay, np.array([1.0 / f]), 0.95)[0][0]
            for f in (0.98 / every, 1.02 / every)
        ]
        slope = (mean[1] - mean[0]) / (0.04 / every)
        assert decay.index(every) == pytest.approx(slope, rel=0.1)


def test_offers_are_of_every_kind_that_is_known(config, appraiser):
    offers = appraiser.offers(config.source)
    assert offers.sources == ("docs", "jobs", "words", "shop")
    assert np.bincount(offers.source).tolist() == [30, 1, 1, 1]
    assert (offers.gain >= 0).all()
    assert np.isfinite(offers.gain).all()
    view, rows = appraiser.state(named(config, "docs")).near.pages
    gain, rate = offers.gain[:30], view.rate[rows["docs"]]
    assert gain.sum() <= 2.1 / rate.min()  # weight times the mean of lives


def test_sources_of_which_little_is_known_say_so(config, tmp_path):
    empty = SqliteStore.open(tmp_path / "other.db", create=True)
    with empty as store:
        new = Appraiser(config, store, NOW)
        found = {s.name: new.known(s) for s in config.source}
        assert all(one.worth is None for one in found.values())
        assert found["docs"].why == "no page was fetched yet"
        assert found["jobs"].why == "it was never fetched"
        assert found["words"].why == "there is no summary yet"
        assert found["shop"].why == "nothing of it was read yet"
        first = new.offers(config.source)
        assert (first.gain > 0).all()
        assert np.isfinite(first.gain).all()


def test_limits_follow_from_settings(tmp_path, store):
    config = settings(
        tmp_path,
        'max_requests = 7\n[[source]]\nname = "more"\n'
        'pages = ["https://docs.example/more"]\n'
        'min_interval = "6 h"\nmax_interval = "2 d"\n',
    )
    appraiser = Appraiser(config, store, NOW)
    found = appraisal.limits(config, [appraiser.known(s) for s in config.source])
    assert found.most["shop"] == 7.0
    assert found.most["more"] == pytest.approx(4.0)
    assert found.least["more"] == pytest.approx(0.5)
    assert found.least["docs"] == 0.0
    assert found.host["more"] == found.host["docs"] == "docs.example"
    assert found.room["docs.example"] == pytest.approx(8640.0)


def test_a_look_at_a_listing_writes_down_what_it_took(server, tmp_path):
    server.pages["/jobs.json"] = ("application/json", json.dumps([{"id": 1}]).encode())
    config = Config.parse(
        '[fetch]\ndelay = 0.0\n[[source]]\nname = "jobs"\nkind = "listing"\n'
        f'allow = ["127.0.0.0/8"]\nurl = "{server.url}/jobs.json"\nkey = "id"\n',
        tmp_path / "halflife.toml",
    )
    source = config.source[0]
    with SqliteStore.open(tmp_path / "halflife.db", create=True) as store:
        assert costs.noted(store, source) == 1
        looked = asyncio.run(listing_runner.sync(config, store, source))
        assert looked.requests > 1  # robots.txt was read too
        assert costs.noted(store, source) == looked.requests
        costs.note(store, "jobs", 0)
        assert costs.noted(store, source) == looked.requests


def test_the_clock_of_a_place_is_that_of_the_time_zone_database():
    berlin = zones.zone("Europe/Berlin", 20_200.0)
    assert 20177.0 + 1 / 24 in berlin.since
    assert 20387.0 + 1 / 24 in berlin.since
    assert set(np.round(berlin.offset * 24, 9)) == {1.0, 2.0}
    assert zones.zone("UTC", 20_200.0).since.tolist() == [-np.inf]


def test_a_source_has_its_hours(tmp_path, config):
    assert zones.window_of(config.source[0], NOW) is ALWAYS
    night = settings(tmp_path, 'window = "22:00-06:00 Europe/Berlin"\n').source[-1]
    window = zones.window_of(night, NOW)
    assert window.is_open(20_100.0 + 22.5 / 24)  # half past eleven in winter
    assert not window.is_open(20_100.0 + 12 / 24)


def test_the_value_of_a_decay_is_that_of_the_closed_form():
    ahead = np.geomspace(0.01, 50, 400)
    decay = Decay(ahead, np.exp(-ahead / 5), np.exp(-ahead / 5))
    for t in (0.5, 3.0, 12.0):
        exact = 5 * (1 - (1 + t / 5) * np.exp(-t / 5))
        assert decay.index(t) == pytest.approx(exact, rel=1e-3)
    mean, low, high = renewed_quality(decay, np.array([10.0]), 0.9)
    assert mean[0] == pytest.approx((1 - np.exp(-2.0)) / 2, rel=1e-3)
    assert low[0] == pytest.approx(np.exp(-0.9 * 2), abs=0.01)
    assert high[0] == pytest.approx(np.exp(-0.1 * 2), abs=0.01)


def test_bounds_of_a_renewed_copy_agree_with_simulation():
    ahead = np.geomspace(0.1, 20, 50)
    mean = np.exp(-ahead / 8)
    decay = Decay(ahead, mean, mean - 0.1 * (1 - mean))
    rng = np.random.default_rng(0)
    moments = rng.random(200_000) * 6.0
    middle, low = decay.at(moments)
    drawn = middle + (middle - low) / 1.6448536 * rng.standard_normal(moments.size)
    found = renewed_quality(decay, np.array([6.0]), 0.95)
    assert found[1][0] == pytest.approx(np.quantile(drawn, 0.05), abs=0.005)
    assert found[2][0] == pytest.approx(np.quantile(drawn, 0.95), abs=0.005)
