"""Pages of a state that takes long to survey: there at once, and honest about it."""

import re
import shutil
import time

import numpy as np
import pytest

from halflife.core.errors import StoreError
from halflife.kinds.pages import many
from halflife.models import quality
from halflife.models.quality import alive_at, freshness_forecast
from halflife.web import board, survey
from halflife.web.board import Board
from halflife.web.rows import AHEAD, PENDING, WORST

PAGES = ("overview", "sources", "plan", "what-if", "inbox", "source?name=handbook")
PATIENCE = 60.0  # seconds


def shown(visitor, path, word):
    """Return a page as soon as it holds a word, or after some patience."""
    until = time.monotonic() + PATIENCE
    while word not in (text := visitor.get(path).text) and time.monotonic() < until:
        time.sleep(0.05)
    return text


def test_the_first_page_tells_what_is_known_without_belief(made, visit, slow):
    here = visit(made)
    text = here.get("/overview").text
    assert re.search(r"of about [\d,]+ items are is still being worked out", text)
    assert re.search(r"of [\d,]+ a (hour|day|week|month)", text)
    assert "for a decision" in text
    assert f"9 {PENDING}" in text or f"8 {PENDING}" in text
    assert "keeps it for the next day" not in text
    assert "not known" not in text


@pytest.mark.parametrize("page", PAGES)
def test_what_is_not_known_yet_is_said_to_be_worked_out(made, visit, slow, page):
    here = visit(made)
    early = here.get(f"/{page}")
    assert early.status == 200
    assert 'id="working"' in early.text
    assert '<noscript><meta http-equiv="refresh"' in early.text
    for untrue in ("not known", "never<", "Nothing of it", "No page is", "Not enough"):
        assert untrue not in early.text
    slow.set()
    assert here.get(f"/{_json(page)}").status == 200  # a program waits for all
    assert 'id="working"' not in here.get(f"/{page}").text


@pytest.mark.parametrize("page", ["changes", "items?source=jobs", "add"])
def test_a_page_that_lacks_nothing_is_not_said_to_be_worked_out(
    made, visit, slow, page
):
    early = visit(made).get(f"/{page}")
    assert early.status == 200
    assert 'id="working"' not in early.text
    assert "meta http-equiv" not in early.text


def _json(page):
    name, mark, rest = page.partition("?")
    return f"{name}.json{mark}{rest}"


def test_runs_and_what_waits_are_there_at_once(made, visit, slow):
    here = visit(made)
    assert "<h2>Runs</h2>\n<div" in here.get("/source?name=handbook").text
    assert 'name="verdict"' in here.get("/inbox").text


def test_about_how_many_items_there_are_is_told_early(made, slow):
    page = Board(made)
    early = page.glance()
    slow.set()
    late = page.survey()
    assert early.total >= len(panorama(late).outlook.view) > 0
    assert [row.name for row in early.rows] == [row.name for row in late.rows]


def test_programs_get_whole_answers_only(made, visit, slow):
    here = visit(made)
    assert PENDING in here.get("/sources").text
    assert here.get("/ready.json").json == {"ready": False}
    slow.set()
    rows = here.get("/sources.json").json["results"]
    assert {row["health"] for row in rows} <= set(WORST)
    assert here.get("/ready.json").json == {"ready": True}
    assert PENDING not in here.get("/overview.json").json["health"]


def test_a_survey_that_fails_is_told_and_not_waited_for(made, visit, monkeypatch):
    def broken(*_):
        raise StoreError("the disk is broken; look at it")

    monkeypatch.setattr(board, "MUCH", -1)
    monkeypatch.setattr(survey, "take", broken)
    here = visit(made)
    text = shown(here, "/overview", "the disk is broken")
    assert "the disk is broken" in text
    assert 'id="working"' not in text
    assert "refresh" not in text


def test_who_has_done_something_sees_what_was_known_meanwhile(
    made, tmp_path, visit, slow
):
    shutil.copytree(made.parent, tmp_path / "copied")
    here = visit(tmp_path / "copied" / made.name)
    slow.set()
    assert here.get("/overview.json").status == 200
    slow.clear()
    here.site.board.forget()
    text = shown(here, "/overview", "Later changes are being worked out")
    assert "Later changes are being worked out" in text
    assert "keeps it for the next day" in text or "sync by" in text


def panorama(seen):
    """Return all pages at once."""
    (wide,) = seen.panoramas.values()
    return wide


@pytest.fixture(scope="module")
def seen(made):
    return Board(made).survey()


def test_all_pages_together_are_forecast_as_if_alone(seen):
    alone = freshness_forecast(panorama(seen).outlook.view, AHEAD).unfetched()
    together = seen.together["freshness"]
    assert together.at == pytest.approx(alone.at)
    assert together.mean == pytest.approx(alone.mean)
    assert together.low == pytest.approx(alone.low, abs=1e-9)
    assert together.high == pytest.approx(alone.high, abs=1e-9)


def test_what_is_worked_out_in_parts_is_as_if_at_once(seen, monkeypatch):
    wide = panorama(seen)
    names = list(wide.names)
    weight = np.ones(len(names))
    whole, together = many.forecasts(wide.owned, AHEAD)
    bought = many.worths(wide.owned, names, weight)
    monkeypatch.setattr(quality, "BLOCK", 7)
    parts, all_ = many.forecasts(wide.owned, AHEAD)
    for one, other in zip((*whole, together.low), (*parts, all_.low), strict=True):
        assert one == pytest.approx(other, abs=1e-9)
    for one, other in zip(bought, many.worths(wide.owned, names, weight), strict=True):
        assert (one is None) == (other is None)
        if one is not None:
            assert one.requests == pytest.approx(other.requests)
            assert one.quality == pytest.approx(other.quality)


def test_one_page_is_as_fresh_as_among_all(seen):
    view = panorama(seen).outlook.view
    alive = view.survival.alive(view.exposure)
    rows = np.flatnonzero(view.held)[::17].tolist()
    assert [alive_at(view, row) for row in rows] == pytest.approx(alive[rows])
