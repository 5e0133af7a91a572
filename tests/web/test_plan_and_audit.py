"""The plan agrees with what is due, and the audit with its own rows."""

import numpy as np
import pytest

from halflife.config import Config
from halflife.core.forecast import Forecast
from halflife.core.host import HostState
from halflife.engine import bootstrap
from halflife.web import pages, rows, verdicts, what_if_page
from halflife.web.board import Board
from halflife.web.showcase import SHAPES
from lab import showcase

NOW = 20_500.0


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    return showcase.build(tmp_path_factory.mktemp("world"), NOW)


@pytest.fixture(scope="module")
def seen(world):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bootstrap, "clock", lambda: NOW)
        return Board(world).survey()


def test_of_a_host_that_fails_one_page_is_planned_and_the_others_wait(seen):
    plan = pages.plan(seen, {})["results"]
    (tried,) = [row for row in plan if row["source"] == "gazette"]
    assert tried["fails"] is True
    assert tried["others"] == SHAPES["gazette"][0] - 1
    assert not any(row["fails"] for row in plan if row["source"] != "gazette")


def test_a_host_that_is_left_alone_is_not_planned_before_it_may_be_asked(seen, world):
    before = pages.plan(seen, {})["results"]
    assert any(row["source"] == "news" for row in before)
    closed = HostState("https://news.example:443", not_before=NOW + 0.5, failures=4)
    with bootstrap.writing(Config.load(world)) as store:
        store.save_host(closed)
        after = pages.plan(seen, {})["results"]
        store.save_host(HostState(closed.name))
    later = [row["at"] for row in after if row["source"] == "news"]
    assert later
    assert min(later) >= "2026-02-16T12:00:00Z"
    assert [row["at"] for row in after] == sorted(row["at"] for row in after)


def test_the_plan_says_of_every_source_that_is_due_when_it_comes_to_it(seen):
    answer = pages.plan(seen, {})
    due = {row["source"]: row for row in answer["due"]}
    told = pages.overview(seen, {})
    waits = {r["source"]: r["wait"] for r in [*told["attention"], *told["next"]]}
    soon = [name for name, wait in waits.items() if wait is not None and wait <= 1]
    assert soon
    assert list(due) == sorted(soon, key=waits.get)
    for name, row in due.items():
        first = [one["at"] for one in answer["results"] if one["source"] == name]
        wanted = None if row["health"] == "held" or not first else min(first)
        assert row["planned_at"] == wanted


def test_a_target_that_nobody_wrote_is_said_to_be_the_default(tmp_path):
    path = tmp_path / "halflife.toml"
    table = '[[source]]\nkey = "id"\nkind = "listing"\nurl = "https://a.example/"\n'
    path.write_text(
        f'{table}name = "a"\n{table}name = "b"\nrecall = 0.9\n'
        f'{table}name = "c"\ntarget = "recall >= 0.5"\n'
    )
    told = pages.sources(Board(path).survey(), {"sort": "name"})["results"]
    found = [(row["source"], row["target"], row["target_is_default"]) for row in told]
    assert found == [("a", 0.9, True), ("b", 0.9, False), ("c", 0.5, False)]


def test_the_chart_of_forecasts_counts_as_the_rows_below_it_do(seen):
    answer = verdicts.audit(seen, {})
    (chart,) = [one for one in answer["figures"] if one.name == "told"]
    inside = sum(row["within"] for row in answer["results"])
    scored = sum(row["forecasts"] for row in answer["results"])
    assert answer["within"] == inside
    assert f"{inside} of {scored} forecasts had the truth" in chart.about
    for row in answer["results"]:
        assert row["within"] == round(row["coverage"]["mean"] * row["forecasts"])


def test_a_lower_bound_never_rises_if_nothing_is_fetched(seen):
    for cast in (*seen.casts.values(), *seen.together.values()):
        assert (np.diff(cast.low) <= 0).all()
        assert (cast.low <= cast.mean).all()
        assert (cast.mean <= cast.high).all()


def test_a_copy_that_nobody_renews_keeps_what_is_known_of_it():
    at, mean = np.arange(4.0), np.array([0.9, 0.5, 0.2, 1e-9])
    low, high = np.array([0.3, 0.1, 0.2, 0.0]), np.array([1.0, 0.8, 0.6, 0.0])
    cast = Forecast("freshness", at, mean, low, high).unfetched()
    assert cast.low.tolist() == [0.3, 0.1, 0.1, 0.0]
    assert cast.high.tolist() == [1.0, 0.8, 0.6, 1e-9]
    assert cast.unfetched().low.tolist() == cast.low.tolist()


def test_audits_of_a_source_that_was_removed_are_still_shown(world, seen, tmp_path):
    only = [one for one in seen.sources if one.name != "wiki"]
    kept = type(seen)(seen.config, NOW, seen.rows, {}, tuple(only))
    audited = {row["source"]: row for row in verdicts.audit(kept, {})["results"]}
    assert audited["wiki"]["found_by"] == ""


def test_no_source_has_a_default_that_its_kind_does_not_know(seen):
    assert not any(rows.is_default(source) for source in seen.sources)


def test_what_if_states_the_quality_of_today_beside_the_long_run(seen):
    rows_of = what_if_page.what_if(seen, {})["results"]
    assert rows_of
    for row in rows_of:
        assert row["quality_today"] == pytest.approx(seen.row(row["source"]).mean)
