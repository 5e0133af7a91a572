"""``halflife audit`` says whether our figures can be believed."""

from dataclasses import replace

import numpy as np
import pytest

from halflife.config import Config
from halflife.engine import bootstrap
from halflife.stores.forecasts import ForecastCheck, Forecasts, IssuedForecast
from halflife.stores.notes.income import SPENT_UNTIL


@pytest.fixture
def synced(settings, told):
    """Settings of the demo site, of which all pages were fetched once."""
    settings.write_text(settings.read_text() + "[audit]\nshare = 0.0\n")
    assert told("sync")[0] == 0
    assert told("sync")[0] == 0
    return settings


def checked(path, right, believed=0.9, days=10):
    """Write down so many checks a day, of which a share was right."""
    rng, now = np.random.default_rng(2), bootstrap.clock()
    with bootstrap.writing(Config.load(path)) as store:
        book, keys = Forecasts(store), store.evidence(["demo"]).keys
        for day in range(days):
            at = now - days + day
            fresh = rng.random(10) < right
            book.note(
                "demo",
                [
                    ForecastCheck(keys[i], at, 0.5, 1.0, believed, fresh=bool(y))
                    for i, y in enumerate(fresh)
                ],
            )
            book.issue(
                [IssuedForecast("demo", "freshness", at, 0.0, believed, 0.85, 0.95)]
            )
            told = [
                IssuedForecast(
                    *_head(f), f.confidence, f.id, at, float(fresh.mean()), 10.0, 0.5
                )
                for f in book.waiting("demo")
            ]
            book.settle(told)


def _head(f):
    return f.source, f.measure, f.made, f.ahead, f.mean, f.low, f.high


def test_nothing_was_checked_yet(settings, told):
    code, out, _ = told("audit")
    assert code == 0
    assert out == "demo: nothing was checked in the last 30 days\n"


def test_a_copy_as_good_as_believed_is_said_to_be(synced, told, asked):
    checked(synced, right=0.9)
    code, out, _ = told("audit")
    assert code == 0
    assert out.startswith("demo: bounds can be relied on: ")
    assert "\n  freshness found 0." in out
    assert "100 checks" in out
    assert "as often as they say" in out
    assert "no drift" in out
    assert "trust factor 1: bounds are as the forecasts say" in out
    code, answer = asked("audit", "demo")
    (row,) = answer["results"]
    assert answer["share"] == 0.0
    assert row["checked"] == 100
    assert row["quality"]["low"] <= 0.9 <= row["quality"]["high"]
    assert row["believed"] == {
        "mean": pytest.approx(0.9),
        "low": pytest.approx(0.85),
        "high": pytest.approx(0.95),
    }
    assert row["calibration"][0]["pages"] == 100
    assert row["coverage"]["mean"] > 0.7
    assert row["sharpness"] == {"width": pytest.approx(0.1), "winkler": None}
    assert row["verdict"] in out
    assert "bounds can be relied on: " in row["verdict"]
    assert row["verdict"].endswith("in bounds 0.100 wide on average")
    assert row["drift"] == {
        "drifting": False,
        "evidence": pytest.approx(row["drift"]["evidence"]),
        "alarms": [],
    }
    assert row["trust"] == 1.0


def test_a_copy_worse_than_believed_costs_trust_and_widens_bounds(synced, told, asked):
    _, before = asked("status")
    checked(synced, right=0.4)
    code, out, _ = told("audit")
    assert code == 0
    assert "less often than they say" in out
    assert "drift: at 20" in out
    assert "clearly staler than believed" in out
    assert "bounds are widened by this factor" in out
    assert "demo: bounds were too narrow: " in out
    _, after = asked("status")
    one, other = (x["results"][0]["freshness"] for x in (before, after))
    assert other["high"] - other["low"] > one["high"] - one["low"]
    _, cast = asked("forecast", "--days", "1")
    wide = cast["results"][-1]["freshness"]
    assert wide["high"] - wide["low"] > 0.1


def test_a_sync_checks_its_share(synced, told, asked):
    path = synced
    path.write_text(path.read_text().replace("share = 0.0", "share = 0.5"))
    with bootstrap.writing(Config.load(path)) as store:
        SPENT_UNTIL.save(store, bootstrap.clock() - 0.02)
    code, _, _ = told("sync")
    assert code == 0
    _, answer = asked("audit")
    assert answer["results"][0]["checked"] >= 1
    assert answer["results"][0]["forecasts"] == 1


def test_an_unknown_source_is_named(settings, fails):
    code, said = fails("audit", "nobody")
    assert code == 2
    assert "nobody" in said


def test_an_item_is_explained_with_how_far_that_is_trusted(synced, told, asked):
    _, out, _ = told("explain", "/docs/0000.html")
    assert "forecasts of demo have not been checked yet" in out
    checked(synced, right=0.4)
    _, out, _ = told("explain", "/docs/0000.html")
    assert "trusted less than they say" in out
    assert "times as wide, because checks of the last" in out
    _, answer = asked("explain", "/docs/0000.html")
    assert answer["source"] == "demo"
    assert answer["trust"]["factor"] > 1.0
    assert "found 0.40" in answer["trust"]["why"]


MIXED = """
[[source]]
name = "jobs"
kind = "listing"
url = "http://127.0.0.1:9/jobs.json"
key = "id"

[[source]]
name = "books"
kind = "search"
search_url = "http://127.0.0.1:9/?q={query}"
"""


def test_there_is_a_row_for_a_source_of_every_kind(synced, told, asked):
    synced.write_text(synced.read_text() + MIXED)
    now = bootstrap.clock()
    listed = IssuedForecast(
        "jobs", "recall", now, 1.0, 0.9, 0.8, 0.95, found=0.9, draw=0.5
    )
    held = IssuedForecast(
        "books", "summary", now, 8.0, 0.9, 0.9, 0.9, found=1.0, draw=0.5
    )
    with bootstrap.writing(Config.load(synced)) as store:
        Forecasts(store).record(
            replace(one, made=end - one.ahead, told=end, looks=looks)
            for one, n, looks in ((listed, 9, None), (held, 10, 1.0))
            for end in now - one.ahead * np.arange(n)[::-1]
        )
    code, out, _ = told("audit")
    assert code == 0
    names = out.splitlines()[0].split()
    assert names[:5] == ["source", "kind", "measure", "found", "forecast"]
    assert "\njobs: 9 forecasts came due, too few to say whether" in out
    assert "\n  recall found 0.950 [" in out
    assert "on average between 10 whole looks" in out
    assert "\nbooks: bounds can be relied on: 100% of 10 forecasts held" in out
    assert "\n  summary found 1.000 [0.846, 1.000], believed 0.950" in out
    assert "on average between 11 looks at the database" in out
    _, answer = asked("audit")
    rows = {row["source"]: row for row in answer["results"]}
    assert rows["jobs"]["found_by"] == "whole looks"
    assert rows["jobs"]["kind"] == "listing"
    assert rows["jobs"]["pit"] == [0.0, 0.0, 1.0, 0.0, 0.0]
    assert sum(rows["books"]["pit"]) == pytest.approx(1.0)
    assert rows["books"]["trust"] == 1.0
    assert rows["books"]["why"] == ""
    assert rows["demo"]["quality"] is None


def test_a_kind_that_was_not_checked_says_what_it_waits_for(synced, told):
    synced.write_text(synced.read_text() + MIXED)
    _, out, _ = told("audit", "jobs", "books")
    assert (
        "jobs: no forecast came due in 30 days; the third full fetch scores the first"
        in out
    )
    assert "books: no check has shown whether its summary held in the last year" in out
