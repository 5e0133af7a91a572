"""The summary that replaces another shows whether that one still held."""

from itertools import pairwise

import numpy as np
import pytest

from halflife.config import Config
from halflife.core.search import Document
from halflife.engine import audit_report
from halflife.kinds.listing.audit import interpolated_forecast
from halflife.kinds.search import selection as search_selection
from halflife.kinds.search.audit import HORIZONS, audit_summary
from halflife.stores import summaries
from halflife.stores.forecasts import Forecasts, IssuedForecast
from halflife.stores.memory import MemoryStore
from halflife.stores.sqlite import SqliteStore
from halflife.stores.summaries import StoredSummary
from halflife.summary import Summary

WORDS = np.array([f"w{i}" for i in range(80)])
SETTINGS = """
[[source]]
name = "books"
kind = "search"
search_url = "http://127.0.0.1:9/?q={query}"
"""


@pytest.fixture
def source(tmp_path):
    return Config.parse(SETTINGS, tmp_path / "halflife.toml").source[0]


@pytest.fixture
def store(tmp_path):
    with SqliteStore.open(tmp_path / "state.db", create=True) as store:
        yield store


def summary(day, odds, seed):
    """A summary of 120 documents that contain each word with its own chance."""
    rng = np.random.default_rng(seed)
    has = rng.random((120, WORDS.size)) < odds
    documents = tuple(
        Document(str(i), tuple(WORDS[row].tolist())) for i, row in enumerate(has)
    )
    count = has.sum(axis=0).astype(float)
    seen = count > 0
    found = Summary(tuple(WORDS[seen].tolist()), count[seen] * 10, 1200.0, 120)
    said = {"method": "qbs", "ending": "", "sized": "", "told": ""}
    return StoredSummary(
        source="books",
        at=day,
        whole=True,
        summary=found,
        low=1000.0,
        high=1400.0,
        requests=50,
        documents=documents,
        **said,
    )


@pytest.fixture
def odds():
    return np.random.default_rng(0).uniform(0.05, 0.5, WORDS.size)


def test_a_first_summary_is_forecast_and_not_scored(store, source, odds):
    summaries.save(store, summary(100.0, odds, 1))
    assert not audit_summary(store, source)
    made = Forecasts(store).waiting("books")
    assert [one.ahead for one in made] == HORIZONS.tolist()
    assert all(a.mean >= b.mean for a, b in pairwise(made))
    assert not audit_summary(store, source)  # nothing new was seen
    assert len(Forecasts(store).waiting("books")) == HORIZONS.size


@pytest.mark.parametrize(("turned", "held"), [(False, 1.0), (True, 0.0)])
def test_the_next_summary_says_whether_the_last_one_held(
    store, source, odds, turned, held
):
    summaries.save(store, summary(100.0, odds, 1))
    audit_summary(store, source)
    later = np.where(np.arange(WORDS.size) % 2, 0.9, 0.02) if turned else odds
    kept = summaries.save(store, summary(130.0, later, 2))
    assert audit_summary(store, source)
    (told,) = Forecasts(store).settled("books")
    assert (told.made, told.ahead, told.told) == (100.0, 30.0, 130.0)
    assert (told.found, told.looks, told.measure) == (held, 1.0, "summary")
    alive = search_selection.survival(kept, source).alive(np.array([30.0]))[0]
    assert told.mean == pytest.approx(alive, abs=0.01)
    assert all(one.made == 130.0 for one in Forecasts(store).waiting("books"))


def test_summaries_that_do_not_hold_cost_trust(store, source, odds):
    for n in range(8):
        later = np.where((np.arange(WORDS.size) + n) % 2, 0.9, 0.02)
        summaries.save(store, summary(100.0 + 20 * n, later, n))
        audit_summary(store, source)
    judged = audit_report.judge(store, "books", 260.0)
    assert judged.measure == "summary"
    assert judged.how == "fetches"
    assert judged.scored == 7
    assert judged.quality.mean == pytest.approx(0.5)  # lost at one moment of each gap
    assert judged.believed.mean > 0.9
    assert judged.trust.factor > 5.0
    assert "0 of the last 7 summaries held, 6.4 were expected to" in judged.trust.why
    low, high = judged.trust.chance(np.array([0.9]))
    assert low[0] < 0.6
    assert 0.9 < high[0] < 1.0


def test_summaries_that_hold_as_often_as_was_said_are_trusted(store, source, odds):
    for n in range(6):
        summaries.save(store, summary(100.0 + 20 * n, odds, n))
        audit_summary(store, source)
    judged = audit_report.judge(store, "books", 220.0)
    assert judged.quality.mean == 1.0
    assert judged.trust.factor == 1.0
    assert not judged.alarms


def test_other_stores_keep_no_forecasts(source):
    assert not audit_summary(MemoryStore(), source)


def casts(*ahead):
    return [
        IssuedForecast("s", "recall", 10.0, a, 1 - a / 10, 1 - a / 5, 1 - a / 20)
        for a in ahead
    ]


def test_a_forecast_is_read_off_between_two():
    found = interpolated_forecast(casts(4.0, 1.0), 13.0)
    assert (found.made, found.ahead) == (10.0, 3.0)
    assert found.mean == pytest.approx(0.7)
    assert (found.low, found.high) == pytest.approx((0.4, 0.85))
    soon = interpolated_forecast(casts(1.0, 4.0), 10.5)
    assert soon.mean == pytest.approx(0.95)  # just after it is made a copy is whole


def test_nothing_is_read_off_where_nobody_forecast():
    assert interpolated_forecast([], 13.0) is None
    assert interpolated_forecast(casts(1.0), 13.0) is None
    assert interpolated_forecast(casts(1.0), 10.0) is None
    late = interpolated_forecast(casts(1.0), 11.05)  # by a little
    assert late.mean == pytest.approx(0.9)
