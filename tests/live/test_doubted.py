"""Doubt in a source reaches whatever is told, planned or warned of by its bounds."""

from dataclasses import replace

import numpy as np
import pytest

from halflife.alerts import Health
from halflife.config import Config
from halflife.core.object_store import Listing
from halflife.core.observation import Observation, Observations, Seen
from halflife.engine import audit_report, bootstrap, targets as engine_targets
from halflife.engine.appraisal import Appraiser
from halflife.engine.quality_forecast import quality
from halflife.engine.source_health import HealthJudge
from halflife.kinds.listing.runner import tracker
from halflife.kinds.protocol import Memo
from halflife.stores import summaries
from halflife.stores.forecasts import Forecasts, IssuedForecast
from halflife.stores.summaries import StoredSummary
from halflife.summary import Summary
from halflife.web import survey
from set_worlds import arrival_survival

NOW = 20_100.0
SURE = 'target = "{} >= 0.5 with confidence 0.95"\n'
TEXT = """
[budget]
requests = 100
mode = "targets"
[[source]]
name = "docs"
{docs}pages = [{pages}]
[[source]]
name = "jobs"
kind = "listing"
{jobs}key = "id"
url = "https://jobs.example/a.json"
[[source]]
name = "words"
kind = "search"
{words}search_url = "https://words.example.org/?q={{query}}"
[[source]]
name = "shop"
kind = "form"
{shop}form_url = "https://shop.example/find"
attributes = {{make = {{param = "make"}}}}
"""
MEASURES = {
    "docs": "freshness",
    "jobs": "recall",
    "words": "summary",
    "shop": "recall",
}


@pytest.fixture
def config(tmp_path):
    pages = ", ".join(f'"https://docs.example/{i}"' for i in range(30))
    targets = {name: SURE.format(measure) for name, measure in MEASURES.items()}
    return Config.parse(TEXT.format(pages=pages, **targets), tmp_path / "halflife.toml")


@pytest.fixture
def store(config):
    """A copy of each kind, all of them a day old or more."""
    with bootstrap.writing(config) as store:
        run = store.begin(["docs"], NOW - 31, lease=99.0)
        for day in range(30):
            store.append(run, Observations.of(pages_seen(NOW - 31 + day, day)))
        store.finish(run, NOW)
        run = store.begin(["jobs"], NOW, lease=1.0)
        store.save_collection(run, replace(arrival_survival(3, days=80), name="jobs"))
        store.finish(run, NOW)
        summaries.save(store, kept())
        shop(store, config)
        yield store


def pages_seen(at, day):
    return [
        Observation(
            f"https://docs.example/{i}", at, Seen.PRESENT, str(day if i % 3 == 0 else 0)
        )
        for i in range(30)
    ]


def kept():
    summary = Summary(("ant", "bee"), np.array([30.0, 10.0]), 400.0, 40)
    said = {"method": "qbs", "ending": "", "sized": "", "told": ""}
    return StoredSummary(
        source="words", at=NOW - 10, whole=True, summary=summary, low=300.0,
        high=500.0, requests=50, documents=(), **said,
    )  # fmt: skip


def shop(store, config):
    (source,) = (one for one in config.source if one.name == "shop")
    for day in range(5):
        run = store.begin(["shop"], NOW - 6 + day, lease=1.0)
        tracked = tracker(store, source)
        records = {str(n): {"make": "a", "price": day} for n in range(40 + 5 * day)}
        tracked.take(Listing(NOW - 6 + day, records, note="asked"))
        store.save_register(run, "shop", tracked.news())
        store.finish(run, NOW)


def doubt(store, name):
    """Let forecasts of a source have missed, again and again."""
    cast = IssuedForecast(name, MEASURES[name], NOW, 0.5, 0.9, 0.88, 0.92, draw=0.5)
    ends = NOW - 0.5 * np.arange(12)[::-1]
    looks = 1.0 if name == "words" else None
    Forecasts(store).record(
        replace(cast, made=end - 0.5, told=end, found=0.0, looks=looks) for end in ends
    )
    assert audit_report.factor(store, [name], NOW) > 1.5


def told(config, store, name):
    """Return what is said of a source at every place that goes by its bounds."""
    (source,) = (one for one in config.source if one.name == name)
    appraiser = Appraiser(config, store, NOW)
    worth = appraiser.known(source).worth
    some = worth.requests.size // 2
    aim = engine_targets.aim(appraiser, [source])
    cast = quality(appraiser, source, 0.95, looks=False)
    health = HealthJudge(config, store, NOW, {}, Memo()).health(source)
    assert isinstance(health, Health)
    shown = survey.take(config, store, NOW, Memo()).casts[name]
    return {
        "worth": (worth.quality[some], worth.low[some], worth.high[some]),
        "needed": (0.0, -worth.needed(0.5, sure=True), 0.0),
        "target": (0.0, -aim.stands[name].needed, 0.0),
        "alerts": (health.mean, health.low, health.high),
        "foreseen": (cast.mean[0], cast.low[0], cast.high[0]),
        "page": (shown.mean[0], shown.low[0], shown.high[0]),
    }


@pytest.mark.parametrize("name", list(MEASURES))
def test_doubt_widens_every_bound_and_moves_no_mean(config, store, name):
    before = told(config, store, name)
    doubt(store, name)
    after = told(config, store, name)
    for place, (mean, low, high) in before.items():
        same, lower, higher = after[place]
        assert same == pytest.approx(mean), place
        assert lower <= low + 1e-12, place
        assert higher >= high - 1e-12, place
        assert lower >= 0.0 or place in {"needed", "target"}
        assert higher <= 1.0
    narrower = [p for p in before if after[p][1] >= before[p][1] - 1e-9]
    # A bound that was 0 already stays there, and what cannot be kept still cannot.
    assert all(before[p][1] <= 0.0 for p in narrower), narrower


def test_doubt_in_one_source_is_not_doubt_in_another(config, store):
    before = told(config, store, "docs")
    doubt(store, "shop")
    doubt(store, "words")
    assert told(config, store, "docs") == before
