"""The quality of a copy is one number, whoever states it."""

import asyncio
import json
from dataclasses import replace
from math import isnan

import aiohttp
import numpy as np
import pytest

from alert_parts import listing, pages
from form_worlds import behind, cars
from halflife.cli import main
from halflife.config import Config
from halflife.core.item import Item
from halflife.core.object_store import Listing
from halflife.core.observation import Observation, Observations, Seen
from halflife.demo.forms import FormServer, serving, snippet
from halflife.engine import bootstrap
from halflife.engine.endpoint import serve_status
from halflife.engine.health import ServiceStatus, exposition
from halflife.engine.loop import LEASE
from halflife.engine.reload import Settings
from halflife.engine.service import Service, ServiceEnvironment
from halflife.engine.signals import Stop
from halflife.engine.source_health import HealthJudge
from halflife.kinds.listing import runner as listing_runner
from halflife.kinds.protocol import Memo
from halflife.stores.forecasts import Forecasts, IssuedForecast
from halflife.stores.sqlite import SqliteStore
from halflife.web import survey
from search_server import corpus, serving as searching
from service_parts import BEGAN, HOME, Play

HOUR = 1 / 24
REQUESTS = 2400


def opened(path):
    return SqliteStore.open(Config.load(path).store_path, create=True)


def list_jobs(path, at, first, size=60, *, complete=True):
    """Let a listing have shown so many jobs."""
    source = next(s for s in Config.load(path).source if s.name == "jobs")
    with opened(path) as store:
        run = store.begin(["jobs"], at, lease=LEASE)
        records = {str(k): {"x": k} for k in range(first, first + size)}
        answer = Listing(at, records, complete=complete)
        listing_runner.write(store, run, source, answer, 1, "")
        store.finish(run, at)


def see_pages(path, times):
    """Let pages have been looked at, of which some change each time."""
    keys = [f"http://a.example/{i}" for i in range(40)]
    with opened(path) as store:
        store.add(Item(key, "docs", group="a.example") for key in keys)
        run = store.begin(["docs"], BEGAN, lease=LEASE)
        version, rng = np.zeros(40, int), np.random.default_rng(3)
        for at in times:
            version += rng.random(40) < 0.2
            looks = [
                Observation(key, at, Seen.PRESENT, str(digest))
                for key, digest in zip(keys, version, strict=True)
            ]
            store.append(run, Observations.of(looks))
        store.finish(run, at)


def miss(path, name, measure, now):
    """Let forecasts of a source have missed, again and again."""
    cast = IssuedForecast(name, measure, now, 0.5, 0.9, 0.88, 0.92, draw=0.5)
    ends = now - 0.5 * np.arange(12)[::-1]
    with opened(path) as store:
        Forecasts(store).record(
            replace(cast, made=end - 0.5, told=end, found=0.0) for end in ends
        )


def of_status(path, name, now, monkeypatch, capsys):
    """Return what ``halflife status`` states of a source."""
    monkeypatch.setattr(bootstrap, "clock", lambda: now)
    capsys.readouterr()
    assert main(["status", "--json", "--config", str(path)]) == 0
    answer = json.loads(capsys.readouterr().out)
    rows = [*answer["results"], *answer["sets"]]
    for row in rows:
        if row["source"] == name:
            found = [row[m] for m in ("freshness", "recall", "content") if m in row]
            return tuple(found[0].values()) if found else None
    (row,) = (one for one in answer["searches"] if one["database"] == name)
    return (row["still_true"],) * 3


def of_metrics(path, name, now):
    """Return what ``/metrics`` states of it."""

    async def scrape():
        config = Config.load(path)
        with SqliteStore.open(config.store_path, create=True) as store:
            outside = ServiceEnvironment(clock=lambda: now)
            service = Service(Settings(config), store, Stop(), outside)
            async with (
                serve_status(service.status, 0, lambda: now) as port,
                aiohttp.ClientSession() as session,
                session.get(f"http://127.0.0.1:{port}/metrics") as response,
            ):
                return await response.text()

    found = {}
    for line in asyncio.run(scrape()).splitlines():
        for bound in ("mean", "low", "high"):
            head = f'halflife_quality{{source="{name}",bound="{bound}"}} '
            if line.startswith(head):
                found[bound] = float(line.removeprefix(head))
    return tuple(found.values()) or None


def of_page(path, name, now):
    """Return what the page states of it."""
    config = Config.load(path)
    with SqliteStore.open(config.store_path, readonly=True) as store:
        row = survey.take(config, store, now, Memo()).row(name)
    return None if isnan(row.mean) else (row.mean, row.low, row.high)


def of_library(path, name, now):
    """Return what the library states of it."""
    config = Config.load(path)
    with SqliteStore.open(config.store_path, readonly=True) as store:
        source = next(s for s in config.source if s.name == name)
        judge = HealthJudge(config, store, now, {}, Memo())
        cast = judge.qualities([source]).get(source.name)
    return None if cast is None else (cast.mean[0], cast.low[0], cast.high[0])


@pytest.fixture
def stated(monkeypatch, capsys):
    """Return what every surface states of a source; they have to agree."""

    def ask(path, name, now):
        said = of_status(path, name, now, monkeypatch, capsys)
        for other in (of_metrics, of_page, of_library):
            assert other(path, name, now) == pytest.approx(said, abs=1e-9), other
        return said

    return ask


@pytest.mark.parametrize("wait", [0.0, 0.003, 0.1, 0.25, 1.7, 40.0])
def test_a_listing_is_as_good_everywhere(write, stated, wait):
    path = write(listing("http://a.example/jobs.json"))
    for n in range(30):
        list_jobs(path, at := BEGAN + n / 4, 3 * n)
    mean, low, high = stated(path, "jobs", at + wait)
    assert low <= mean <= high
    assert (mean < 1) == (wait > 0)


@pytest.mark.parametrize("wait", [0.0, 0.1, 0.26, 0.4, 3.0])
def test_pages_are_as_good_everywhere(write, stated, wait):
    """Also where the usual gap has passed, and nobody has looked."""
    path = write(pages("http://a.example/", range(40)))
    see_pages(path, BEGAN + np.arange(30) / 4)
    mean, *_ = stated(path, "docs", BEGAN + 29 / 4 + wait)
    assert (mean < 0.9) == (wait > 0.2)


def test_a_listing_beside_pages_is_as_good_everywhere(write, stated):
    path = write(
        listing("http://a.example/jobs.json"), pages("http://a.example/", range(40))
    )
    see_pages(path, BEGAN + np.arange(12) / 4)
    for n in range(12):
        list_jobs(path, at := BEGAN + n / 4, 3 * n)
    stated(path, "jobs", at + 0.3)
    stated(path, "docs", at + 0.3)


def test_what_is_not_trusted_is_as_doubtful_everywhere(write, stated):
    path = write(
        listing("http://a.example/jobs.json"), pages("http://a.example/", range(40))
    )
    see_pages(path, BEGAN + np.arange(12) / 4)
    for n in range(12):
        list_jobs(path, at := BEGAN + n / 4, 3 * n)
    before = [stated(path, name, at + 0.2) for name in ("jobs", "docs")]
    miss(path, "jobs", "recall", at)
    miss(path, "docs", "freshness", at)
    after = [stated(path, name, at + 0.2) for name in ("jobs", "docs")]
    for (mean, low, _), (same, lower, _) in zip(before, after, strict=True):
        assert (same, lower < low) == (mean, True)


def test_a_form_is_as_good_everywhere(write, stated):
    office = FormServer(behind(cars(60), everything=True, page_size=20))
    with serving(office) as url:
        path = write(snippet(url, office.form.interface))
        play = Play(path).run(0.2 * HOUR)
    name = Config.load(path).source[0].name
    stated(path, name, play.now + 0.3)


def test_a_search_is_as_good_everywhere(write, stated):
    with searching(corpus(100)) as server:
        source = (
            f'[[source]]\nname = "words"\nkind = "search"\n{HOME}'
            'engine = "elasticsearch"\n'
            f'search_url = "{server.url}/es/_search?q={{query}}&from={{offset}}'
            '&size={count}"\n'
        )
        path = write(source, requests=9600)
        play = Play(path).run(0.02 * HOUR)
    stated(path, "words", play.now + 2.0)


def test_what_was_seen_once_is_known_to_nobody(write, monkeypatch, capsys):
    path = write(listing("http://a.example/jobs.json"))
    list_jobs(path, BEGAN, 0)
    now = BEGAN + HOUR
    _, low, high = of_status(path, "jobs", now, monkeypatch, capsys)
    assert (low, high) == (0.0, 1.0)
    for other in (of_metrics, of_page, of_library):
        assert other(path, "jobs", now) is None


def test_a_measurement_takes_a_twentieth_of_the_time_at_most():
    asked = []
    status = ServiceStatus(began=0.0, measure=lambda now: asked.append(now) or {})
    status.renew(1.0)
    status._took = 1.0
    status.renew(1.0 + 19.0 / 86400.0)
    assert asked == [1.0]
    status.renew(1.0 + 21.0 / 86400.0)
    assert len(asked) == 2
    assert "halflife_quality_timestamp_seconds" in exposition(status, 1.0)


def test_pages_are_believed_together_also_where_one_source_is_asked_about(
    write, monkeypatch, capsys
):
    other = pages("http://b.example/", range(3)).replace('"docs"', '"more"')
    path = write(pages("http://a.example/", range(40)), other)
    see_pages(path, BEGAN + np.arange(30) / 4)
    now = BEGAN + 8.0
    both = of_status(path, "docs", now, monkeypatch, capsys)
    capsys.readouterr()
    assert main(["status", "docs", "--json", "--config", str(path)]) == 0
    (row,) = json.loads(capsys.readouterr().out)["results"]
    assert tuple(row["freshness"].values()) == pytest.approx(both)
