"""Random states of every kind: page, verb, API, metrics and library state the same."""

import json
from dataclasses import replace
from itertools import pairwise
from math import isnan

import numpy as np
import pytest

import halflife
from halflife.cli import main
from halflife.config import Config
from halflife.core.item import Item
from halflife.core.lifetimes import Collection, Lives
from halflife.core.object_store import Listing
from halflife.core.observation import Observation, Observations, Seen
from halflife.core.tracker import Tracker
from halflife.core.view import Unrest
from halflife.engine import bootstrap
from halflife.engine.health import exposition
from halflife.engine.reload import Settings
from halflife.engine.service import Service, ServiceEnvironment
from halflife.engine.signals import Stop
from halflife.kinds.listing import incremental
from halflife.models.bursts import Bursts
from halflife.stores import summaries
from halflife.stores.forecasts import IssuedForecast
from halflife.stores.summaries import StoredSummary
from halflife.summary import Summary
from halflife.web import pages, source_page
from halflife.web.board import Board
from halflife.web.replies import as_json

NOW = 20_000.0
AGES = (1.0, 40.0, 900.0)
BOUNDS = ("mean", "low", "high")
MEASURES = ("freshness", "recall", "content", "summary")
NAMES = ("docs", "news", "fresh", "jobs", "events", "cars", "library", "flats")
SETTINGS = """
[budget]
requests = 500
[[source]]
name = "docs"
target = "freshness >= 0.8"
pages = ["https://docs.example/"]
[[source]]
name = "news"
weight = 3.0
pages = ["https://news.example/"]
[[source]]
name = "fresh"
pages = ["https://fresh.example/"]
[[source]]
name = "jobs"
kind = "listing"
key = "id"
url = "https://jobs.example/open.json"
[[source]]
name = "events"
kind = "listing"
key = "id"
url = "https://events.example/all.json"
since = "updated_after={last}"
[[source]]
name = "cars"
kind = "form"
form_url = "https://cars.example/find"
key = "id"
attributes = { city = { param = "city", values = ["Oslo", "Rome"] } }
[[source]]
name = "library"
kind = "search"
search_url = "https://library.example/?q={query}"
"""


def build(folder, rng):
    """Write settings and a state in which anything may have happened."""
    path = folder / "halflife.toml"
    path.write_text(SETTINGS)
    config = Config.load(path)
    with bootstrap.writing(config) as store:
        for name in ("docs", "news"):
            see_pages(store, name, rng)
        for name in ("jobs", "events", "flats"):
            list_objects(store, name, rng)
        note_progress(config, store, rng)
        read_form(store, rng)
        summarise(store, rng)
        for name, measure in (("docs", "freshness"), ("jobs", "recall")):
            if rng.random() < 0.5:
                miss(store, name, measure)
        bootstrap.add_items(config, store)
    return path


def see_pages(store, name, rng):
    count, gap = int(rng.integers(2, 30)), float(rng.choice([0.25, 1.0, 7.0]))
    keys = [f"https://{name}.example/{i or ''}" for i in range(count)]
    rate = rng.lognormal(-2.0, 1.5, count)
    version, looks = np.zeros(count, int), NOW - gap * np.arange(12)[::-1]
    run = store.begin([name], looks[0], lease=1e4)
    store.add(Item(key, name, group=f"{name}.example") for key in keys)
    for at in looks.tolist():
        version += rng.poisson(rate * gap)
        seen = rng.choice(
            [Seen.PRESENT, Seen.FAILED, Seen.ABSENT], count, p=[0.9, 0.06, 0.04]
        )
        store.append(run, Observations.of([
            Observation(key, at, Seen(one), str(v) if one == Seen.PRESENT else "")
            for key, one, v in zip(keys, seen.tolist(), version, strict=True)
        ]))  # fmt: skip
    store.finish(run, NOW)


def list_objects(store, name, rng):
    count, n = int(rng.integers(5, 80)), int(rng.integers(3, 25))
    gaps = rng.choice([0.5, 1.0, 3.0], n)
    looks = NOW - np.cumsum(gaps)[::-1] + gaps[0]
    start = np.where(rng.random(count) < 0.6, 0, rng.integers(0, n, count))
    stop = np.minimum(start + rng.geometric(rng.uniform(0.02, 0.5), count), n) - 1
    padded, none = np.r_[-np.inf, looks, np.inf], np.zeros(0)
    lives = Lives(
        tuple(f"{name}-{i}" for i in range(count)),
        padded[start], looks[start], looks[stop], padded[stop + 2], {},
    )  # fmt: skip
    run = store.begin([name], NOW, lease=1.0)
    found = Collection(name, looks, lives, none.astype(np.intp), none)
    store.save_collection(run, found)
    store.finish(run, NOW)


def note_progress(config, store, rng):
    """Let what is newer of a listing have been read since all of it was."""
    (source,) = config.named(["events"])
    incremental.note(store, source, Listing(NOW - 0.5, {}), 3)
    later = Listing(NOW + float(rng.uniform(0.0, 0.5)), {}, complete=False, newer=True)
    incremental.note(store, source, later, 1)


def read_form(store, rng):
    tracker = Tracker()
    for k, at in enumerate(NOW - 3.0 * np.arange(5)[::-1]):
        some = range(2 * k, 30 + int(rng.integers(0, 5)) * k)
        tracker.take(Listing(float(at), {f"car-{i}": {"city": "Oslo"} for i in some}))
    run = store.begin(["cars"], NOW, lease=1.0)
    store.save_register(run, "cars", tracker.register(), anew=True)
    store.finish(run, NOW)


def summarise(store, rng):
    summary = Summary(("cotton", "engine"), np.array([40.0, 5.0]), 5200.0, 300)
    kept = StoredSummary(
        source="library", at=NOW - float(rng.uniform(0.0, 20.0)), method="qbs",
        ending="", whole=True, summary=summary, low=4100.0, high=6900.0,
        sized="sample-resample", told="", requests=214, documents=(),
    )  # fmt: skip
    summaries.save(store, kept)


def miss(store, name, measure):
    """Let forecasts of a source have missed, so that its bounds are widened."""
    cast = IssuedForecast(name, measure, NOW, 0.5, 0.9, 0.88, 0.92, draw=0.5)
    ends = NOW - 0.5 * np.arange(12)[::-1]
    store.forecasts.record(
        replace(cast, made=end - 0.5, told=end, found=0.0) for end in ends
    )


def of_page(path):
    """Return what the tables and the pages of sources state."""
    seen = Board(path).survey()
    rows = json.loads(as_json(pages.sources(seen, {})).body)["results"]
    for row in rows:
        one = source_page.source(seen, {"name": row["source"]})
        twin = json.loads(as_json(one).body)
        assert twin["quality"] == row["quality"], row["source"]
        for figure in twin["figures"]:
            if figure["name"] == "decay":
                lows = figure["table"]["low"]
                assert all(a >= b for a, b in pairwise(lows))
    return {row["source"]: row["quality"] for row in rows}


def of_status(path, capsys):
    """Return what ``halflife status --json`` states."""
    capsys.readouterr()
    assert main(["status", "--json", "--config", str(path)]) == 0
    answer = json.loads(capsys.readouterr().out)
    rows = [*answer["results"], *answer["sets"], *answer["searches"]]
    return {
        row.get("source") or row["database"]: next(
            (row[name] for name in MEASURES if name in row), None
        )
        for row in rows
    }


def of_all_pages(path, capsys):
    """Return the freshness of all pages: of ``status --json``, and of the overview."""
    capsys.readouterr()
    assert main(["status", "--json", "--config", str(path)]) == 0
    said = json.loads(capsys.readouterr().out)["freshness"]
    measures = json.loads(as_json(pages.overview(Board(path).survey(), {})).body)
    return said, measures["measures"][0]["quality"]


def of_forecast(path, name, capsys, moment):
    """Return what ``halflife forecast NAME --json`` states of this very moment."""
    capsys.readouterr()
    copied = ["--from", moment] if name in {"jobs", "events", "flats"} else []
    code = main(
        ["forecast", name, *copied, "--at", "+0h", "--json", "--config", str(path)]
    )
    if code:
        return None
    row = json.loads(capsys.readouterr().out)["results"][0]
    return next(row[one] for one in ("recall", *MEASURES) if one in row)


def of_library(path):
    """Return what the library states."""
    project = halflife.open_project(path)
    found = {}
    for one in halflife.status(project):
        ahead = halflife.forecast(project, one.source, days=[0.0])
        known = None if one.quality is None else figure(one.quality)
        assert known is None or figure(ahead) == known
        found[one.source] = known
    return found


def figure(cast):
    return {bound: float(getattr(cast, bound)[0]) for bound in BOUNDS}


def of_metrics(path, now):
    """Return what ``/metrics`` states."""
    config = Config.load(path)
    with bootstrap.writing(config) as store:
        service = Service(
            Settings(config), store, Stop(), ServiceEnvironment(clock=lambda: now)
        )
        service.status.renew(now)
        text = exposition(service.status, now)
    found = dict.fromkeys(NAMES)
    for line in text.splitlines():
        if line.startswith("halflife_quality{"):
            labels, value = line.rsplit(" ", 1)
            name, bound = (part.split('"')[1] for part in labels.split(","))
            found[name] = {**(found[name] or {}), bound: float(value)}
    return found


@pytest.mark.parametrize("seed", range(3))
def test_every_surface_states_the_same_quality_of_every_source(
    tmp_path, monkeypatch, capsys, seed
):
    path = build(tmp_path, np.random.default_rng(seed))
    for age in AGES:
        now = NOW + age
        monkeypatch.setattr(bootstrap, "clock", lambda: now)  # noqa: B023
        page = of_page(path)
        assert set(page) == set(NAMES)
        assert page["fresh"] is None
        for other in (of_status(path, capsys), of_library(path), of_metrics(path, now)):
            assert set(other) == set(NAMES)
            for name in NAMES:
                same(page[name], other[name], (name, age))
        for name in ("docs", "news", "jobs", "events", "flats", "cars", "library"):
            said = of_forecast(path, name, capsys, halflife_date(now))
            same(page[name], said, (name, age))
        same(*of_all_pages(path, capsys), ("all pages", age))


def same(one, other, where):
    assert (one is None) == (other is None), where
    if one is None:
        return
    for bound in BOUNDS:
        assert not isnan(one[bound])
        assert other[bound] == pytest.approx(one[bound], abs=1e-9), (where, bound)
    assert one["low"] <= one["mean"] <= one["high"], where


def halflife_date(now):
    from halflife.web.words import date  # noqa: PLC0415

    return date(now)


POLICIES = """
[[source]]
name = "docs"
policy = "uniform"
pages = ["https://one.example/docs/0"]
[[source]]
name = "news"
pages = ["https://one.example/news/0"]
"""


def see_changes(store, config, rng):
    """Let the pages of both sources change now and then."""
    for name in ("docs", "news"):
        keys = [f"https://one.example/{name}/{i}" for i in range(20)]
        store.add(Item(key, name, group="one.example") for key in keys)
        run, version = store.begin([name], NOW - 30.0, lease=1e4), np.zeros(20, int)
        for day in range(30):
            version += rng.random(20) < 0.1
            looks = [
                Observation(key, NOW - 29.0 + day, Seen.PRESENT, str(v))
                for key, v in zip(keys, version.tolist(), strict=True)
            ]
            store.append(run, Observations.of(looks))
        store.finish(run, NOW)
    bootstrap.add_items(config, store)


def test_sources_of_several_policies_on_a_host_have_one_forecast(
    tmp_path, monkeypatch, capsys
):
    path = tmp_path / "halflife.toml"
    path.write_text(POLICIES)
    config = Config.load(path)
    with bootstrap.writing(config) as store:
        see_changes(store, config, np.random.default_rng(1))
    # As learned over many turns: the pages of one policy change fast and unevenly.
    restless = Unrest(np.array([3.0]), 10.0, np.array([1.2]))
    monkeypatch.setattr(Bursts, "unrest", lambda _: restless)
    monkeypatch.setattr(bootstrap, "clock", lambda: NOW + 0.4)
    project, seen = halflife.open_project(path), Board(path).survey()
    for name in ("docs", "news"):
        days = 2.0
        own = figure(halflife.forecast(project, name, days=[days]))
        capsys.readouterr()
        words = ["forecast", name, "--at", "2d", "--json", "--config", str(path)]
        assert main(words) == 0
        said = json.loads(capsys.readouterr().out)["results"][-1]["freshness"]
        same(own, said, (name, days))
        chart = seen.casts[name]
        drawn = {b: float(np.interp(NOW + 0.4 + days, chart.at, getattr(chart, b)))
                 for b in BOUNDS}  # fmt: skip
        ahead = halflife.forecast(project, name, days=chart.at - NOW - 0.4)
        exact = {b: float(np.interp(NOW + 0.4 + days, ahead.at, getattr(ahead, b)))
                 for b in BOUNDS}  # fmt: skip
        same(exact, drawn, (name, "chart"))
