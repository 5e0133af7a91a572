"""The page of a source: past and future in one chart, failures, changes, priors."""

import math
import re

import numpy as np
import pytest
from lxml import etree, html

import web_changes
from halflife.core.forecast import Forecast
from halflife.models.hindsight import PastFreshness
from halflife.stores import fetch_history
from halflife.stores.fetch_history import ObservedRow
from halflife.stores.forecasts import IssuedForecast
from halflife.stores.sqlite import SqliteStore
from halflife.web import source_chart
from halflife.web.server import ServeWish, running
from halflife.web.source_chart import QualityTimeline
from web_visitor import Visitor

NOW = 20_000.25


@pytest.fixture(scope="module")
def state(tmp_path_factory):
    return web_changes.changed_state(tmp_path_factory.mktemp("changed"))


@pytest.fixture(scope="module")
def site(state):
    with running(ServeWish(state, port=0)) as served:
        yield Visitor(served)


def issued(due, mean, ahead=0.0, found=None):
    return IssuedForecast("s", "freshness", due - ahead, ahead, mean, mean - 0.1, 1.0,
                  found=found)  # fmt: skip


def shown(**other):
    at = NOW + np.array([0.0, 1.0, 30.0])
    mean, low = np.array([0.9, 0.8, 0.2]), np.array([0.8, 0.6, 0.0])
    cast = Forecast("freshness", at, mean, low, np.ones(3))
    given = {
        "past": [issued(NOW - 10, 0.7), issued(NOW - 5, 0.95, found=0.9)],
        "cast": cast,
        "target": 0.75,
        "sync_by": NOW + 2.0,
        "observed": [ObservedRow(NOW - 9, 3, 0), ObservedRow(NOW - 2, 4, 1)],
    }
    return QualityTimeline(NOW, "freshness", **(given | other))


def drawings(figure):
    parts = str(figure.drawn).split("</svg>")[:-1]
    return [etree.fromstring(f"{part}</svg>".encode()) for part in parts]


def places(tree, kind):
    found = tree.xpath(f"//*[local-name()='path'][contains(@class,'{kind}')]/@d")
    return [[float(n) for n in re.findall(r"-?\d+(?:\.\d+)?", d)] for d in found]


def test_now_stands_between_the_past_and_the_future():
    for tree in drawings(source_chart.draw(shown())):
        (now,) = places(tree, "now")
        past, future = places(tree, "line t6")[0], places(tree, "line t0")[0]
        assert max(past[::2]) < now[0]
        assert min(future[::2]) == pytest.approx(now[0], abs=0.2)
        for tick in places(tree, "tick"):
            assert tick[0] < now[0]


def test_each_width_shows_the_same_and_stays_within_its_frame():
    trees = drawings(source_chart.draw(shown()))
    assert len(trees) == len(source_chart.SIZES)
    for tree in trees:
        wide, high = map(float, tree.get("viewBox").split()[2:])
        for points in places(tree, "line") + places(tree, "band"):
            assert all(0 <= x <= wide for x in points[::2])
            assert all(0 <= y <= high for y in points[1::2])
        assert len(places(tree, "tick")) == 2
    ids = [one for tree in trees for one in tree.xpath("//@id")]
    assert len(ids) == len(set(ids))


def test_every_day_says_its_values():
    (tree, *_) = drawings(source_chart.draw(shown()))
    said = [t.text for t in tree.iter("{*}title")][1:]
    assert any(re.search(r"forecast 95 % \(85.100 %\)", one) for one in said)
    assert any("4 observations, 1 failed" in one for one in said)
    assert any("expected 8" in one for one in said)
    assert any("found 90 %" in one for one in said)


def test_the_words_and_the_table_say_what_is_drawn():
    figure = source_chart.draw(shown())
    assert re.match(r"90 % \(80.100 %\) now, and ", figure.about)
    assert "7 observations in the last 30 days, 1 of them failed." in figure.about
    assert len(figure.rows) == 2 + 8


@pytest.mark.parametrize(
    "other",
    [
        {"cast": None},
        {"past": []},
        {"observed": []},
        {"past": [], "observed": []},
        {"cast": None, "past": [], "observed": [ObservedRow(NOW - 1e-9, 1, 1)]},
        {"target": math.nan, "sync_by": math.inf},
        {"sync_by": -math.inf},
        {"past": [issued(NOW - 1, 0.0)]},
    ],
)
def test_a_chart_is_drawn_from_whatever_is_known(other):
    for tree in drawings(source_chart.draw(shown(**other))):
        text = etree.tostring(tree).decode()
        assert "nan" not in text
        assert "inf" not in text.replace("info", "")
        assert len(places(tree, "now")) == 1


def test_of_several_forecasts_of_a_moment_the_latest_counts():
    late, early = issued(NOW - 3, 0.8, ahead=0.1), issued(NOW - 3, 0.5, ahead=7.0)
    other, future = issued(NOW - 12, 0.6), issued(NOW + 1, 0.9)
    assert source_chart.latest([early, future, late, other], NOW) == [other, late]


def test_failures_are_told_by_reason_with_since_and_how_many(state):
    with SqliteStore.open(state.parent / "halflife.db", readonly=True) as store:
        found = fetch_history.failures(store, "shop", 0.0)
        assert [(one.reason, one.fetches, one.items) for one in found] == [
            (web_changes.HARM, 1, 1),
            ("503", 1, 1),
        ]
        assert found[0].first == found[0].last > found[1].last
        assert fetch_history.failures(store, "shop", found[0].last + 1.0) == []
        assert fetch_history.failures(store, "jobs", 0.0) == []
        assert fetch_history.failures(store, "nobody", 0.0) == []


def test_observations_are_counted_in_stretches(state):
    with SqliteStore.open(state.parent / "halflife.db", readonly=True) as store:
        now = max(c.at for c in store.changes.read(0, 10**6))
        rows = fetch_history.observed(store, "shop", now - 30.0, 0.5)
        assert sum(row.fetches for row in rows) == 3 * 7 + 3
        assert sum(row.failed for row in rows) == 2
        looks = fetch_history.observed(store, "jobs", now - 30.0, 0.5)
        assert sum(row.fetches for row in looks) == 4


def test_the_past_of_pages_is_what_later_fetches_tell(site, state):
    known = "as later fetches showed"
    assert known in site.get("/source?name=shop").text
    assert known not in site.get("/source?name=jobs").text
    with SqliteStore.open(state.parent / "halflife.db", readonly=True) as store:
        every = fetch_history.sample_items(store, "shop", 100)
        assert len(every) == len(set(every)) == 8
        assert fetch_history.sample_items(store, "shop", 3) == every[:3]
        assert fetch_history.sample_items(store, "jobs", 3) == []


def test_what_is_not_known_of_the_past_is_not_drawn():
    nan = math.nan
    past = PastFreshness(*(np.array([nan if k else NOW - 2, 0.5]) for k in range(4)))
    found = source_chart.from_hindsight(past, "freshness")
    assert [(one.due, one.mean) for one in found] == [(0.5, 0.5)]


def test_the_page_of_a_source_shows_changes_failures_and_ways_on(site):
    tree = html.fromstring(site.get("/source?name=shop").text)
    heads = [one.text for one in tree.iter("h2")]
    for said in ("Over time", "Failed fetches", "What changed", "Items"):
        assert said in heads
    assert len(tree.xpath("//ol[@class='feed']/li")) == 10
    reasons = tree.xpath("//div[@aria-label='Failed fetches']//tbody//th")
    said = [one.text_content() for one in reasons]
    assert said[1] == "It answered with an error503"
    (out,) = tree.xpath("//p[@class='where']/a[@rel='noopener noreferrer']")
    assert out.get("href") == "https://shop.example/"
    links = tree.xpath("//a/@href")
    for start in ("/changes?source=shop", "/changes.atom?source=shop",
                  "/items?source=shop", "/items/all.csv?source=shop"):  # fmt: skip
        assert start in links
        assert site.get(start).status == 200


def test_what_is_a_prior_is_marked_as_one(site):
    tree = html.fromstring(site.get("/source?name=shop").text)
    lines = [one.text_content() for one in tree.xpath("//ul[@class='card']/li")]
    assert any(
        re.search(r"changes about every .*: \d+ changes found", x) for x in lines
    )
    marked = tree.xpath("//ul[@class='card']/li[span[@class='prior']]")
    assert marked
    assert all("Prior: " not in line for line in lines)
