"""What budgets buy and what targets cost, asked on the command line."""

import json
from dataclasses import replace

import numpy as np
import pytest

from halflife.stores.sqlite import SqliteStore
from set_worlds import arrival_survival


@pytest.fixture
def mixed(here, settings, asked):
    """The demo site, looked at twice, a listing with a history, and a form."""
    text = settings.read_text()
    settings.write_text(
        text.replace('name = "demo"', 'name = "demo"\ntarget = "freshness >= 0.5"')
        + '[[source]]\nname = "jobs"\nkind = "listing"\nkey = "id"\n'
        'url = "https://jobs.example/list.json"\n'
        'target = ["recall >= 0.9 with confidence 0.95", "age p95 <= 12 h"]\n'
        '[[source]]\nname = "words"\nkind = "search"\n'
        'search_url = "https://words.example/?q={query}"\ntarget = "summary >= 0.9"\n'
    )
    assert asked("sync", "demo")[0] == 0
    assert asked("sync", "demo", "--all")[0] == 0
    world = arrival_survival(1, days=60)
    with SqliteStore.open(here / "halflife.db", create=False) as store:
        run = store.begin(["jobs"], 21_000.0, lease=0.01)
        store.save_collection(run, named(world, "jobs"))
        store.finish(run, 21_000.0)
    return settings


def named(world, name):
    return replace(world, name=name)


def test_whatif_says_what_another_budget_buys_beside_the_present_one(mixed, asked):
    code, answer = asked("whatif", "--budget", 5, "--per", "day")
    assert code == 0
    rows = {row["source"]: row for row in answer["results"]}
    assert set(rows) == {"demo", "jobs"}
    assert answer["budget"] == {"now": 500.0, "then": 5.0, "unit": "requests a day"}
    assert answer["quality"]["then"] < answer["quality"]["now"]
    assert answer["price"]["then"] > answer["price"]["now"]
    assert answer["losers"]
    assert not answer["winners"]
    assert answer["without_worth"] == [
        {"source": "words", "why": "there is no summary yet"}
    ]
    spent = sum(row["requests_then"] for row in rows.values())
    assert spent == pytest.approx(answer["spent"]["then"])
    assert spent <= 5.0 + 1e-9
    for row in rows.values():
        figure = row["quality_then"]
        assert 0 <= figure["low"] <= figure["high"] <= 1


def test_more_budget_has_only_winners(mixed, asked):
    _, answer = asked("whatif", "--budget", 50_000)
    assert not answer["losers"]
    assert answer["quality"]["then"] >= answer["quality"]["now"]


def test_whatif_speaks_to_people_too(mixed, told):
    code, out, err = told("whatif", "--budget", 5)
    assert code == 0
    assert "quality in all: " in out
    assert "losers: " in out
    assert "words: there is no summary yet" in err


def test_the_budget_says_what_targets_cost(mixed, asked):
    code, answer = asked("budget")
    rows = {(row["source"], row["target"]): row for row in answer["results"]}
    age = rows["jobs", "age p95 <= 12 h"]
    assert age["requests_a_day"] == pytest.approx(0.95 * 2)
    recall = rows["jobs", "recall >= 0.9 with confidence 0.95"]
    assert recall["requests_a_day"] > 0
    assert rows["words", "summary >= 0.9"]["requests_a_day"] is None
    total = max(age["requests_a_day"], recall["requests_a_day"])
    total += rows["demo", "freshness >= 0.5"]["requests_a_day"]
    assert answer["requests_a_day"] == pytest.approx(total)
    assert answer["requests_a_month"] == pytest.approx(30 * total)
    assert answer["covered"]
    assert code == 0


def test_a_budget_that_is_too_small_names_the_cheapest_way_out(mixed, asked, told):
    mixed.write_text(
        mixed.read_text()
        .replace("requests = 500", "requests = 1")
        .replace("freshness >= 0.5", "freshness >= 0.9")
    )
    code, answer = asked("budget")
    assert code == 3
    assert not answer["covered"]
    assert answer["missing_a_day"] == pytest.approx(answer["requests_a_day"] - 1.0)
    code, out, _ = told("budget")
    assert code == 3
    assert "the budget lacks" in out
    assert json.dumps(answer["relaxation"]) == "null" or "or accept " in out


def test_a_target_out_of_reach_is_named(mixed, asked, told):
    mixed.write_text(
        mixed.read_text().replace('key = "id"', 'key = "id"\nmax_requests = 1')
    )
    code, answer = asked("budget", "jobs")
    assert code == 3
    (lost,) = [one for one in answer["unreachable"] if "age" in one["target"]]
    assert lost["to"] == "age p95 <= 22.8 h"
    assert "out of reach; at best age p95 <= 22.8 h" in told("budget", "jobs")[1]


def test_without_targets_there_is_nothing_to_pay(settings, fails):
    code, said = fails("budget")
    assert code == 2
    assert "no source has a target" in said


def test_an_unknown_window_is_refused(settings, fails):
    code, said = fails("whatif", "--budget", 5, "--per", "fortnight")
    assert code == 2
    assert "--per must be one of hour, day, week, month" in said


def test_before_the_first_sync_nothing_is_known_and_that_is_said(settings, asked):
    code, answer = asked("whatif", "--budget", 5)
    assert code == 0
    assert answer["results"] == []
    assert answer["without_worth"][0]["why"] == "no page was fetched yet"
    assert np.isfinite(answer["quality"]["then"])
