"""Settings are changed on the page: shown first, saved, refused when late, undone."""

import os
import shutil
from urllib.parse import quote, urlencode

import pytest
from lxml import html

from halflife.config import Config
from halflife.web.server import ServeWish, running
from web_visitor import Visitor

TEXT = """\
# Ours.
[budget]
requests = 300  # for all
per = "day"

# The handbook.
[[source]]
name = "docs"
pages = ["https://docs.example/"]
target = "freshness >= 0.6"  # as promised

# Vacancies.
[[source]]
name = "jobs"
kind = "listing"
key = "id"
url = "https://jobs.example/open.json"
"""


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    path = tmp_path_factory.mktemp("edited") / "halflife.toml"
    path.write_text(TEXT, encoding="utf-8")
    with running(ServeWish(path, port=0)) as found:
        yield path, Visitor(found)


@pytest.fixture
def path(served):
    """The settings as they were, without a history."""
    shutil.rmtree(f"{served[0].parent}/halflife.db-settings", ignore_errors=True)
    served[0].write_text(TEXT, encoding="utf-8")
    return served[0]


@pytest.fixture
def page(served, path):
    assert path == served[0]
    return served[1]


def shown(answer):
    return html.fromstring(answer.text)


def lines(tree, kind, within="#change"):
    return [one.text_content() for one in tree.cssselect(f"{within} .{kind} code")]


def mark(page, about="/edit?name=docs"):
    (field,) = shown(page.get(about)).cssselect("input[name=mark]")
    return field.get("value")


def save(page, **given):
    about = f"/edit?name={given['name']}" if "name" in given else "/edit"
    given = {"mark": mark(page, about), "preview": "1", **given}
    return page.post("/edit/save", urlencode(given))


def wrong(answer, name):
    (said,) = shown(answer).cssselect(f"#wrong-{name}")
    return said.text_content()


def test_the_form_shows_what_is_written(page):
    tree = shown(page.get("/edit?name=docs"))
    assert tree.cssselect("#target")[0].text_content().strip() == "freshness >= 0.6"
    assert tree.cssselect("#weight")[0].get("value") == ""
    assert tree.cssselect("#paused")[0].get("checked") is None


def test_a_change_is_shown_as_a_difference_and_nothing_is_written(page, path):
    query = {"name": "docs", "preview": 1, "target": "freshness >= 90 %", "weight": 2}
    tree = shown(page.get(f"/edit?{urlencode(query)}"))
    assert lines(tree, "removed") == ['target = "freshness >= 0.6"  # as promised']
    assert lines(tree, "added") == [
        'target = "freshness >= 90 %"  # as promised',
        "weight = 2.0",
    ]
    assert path.read_text() == TEXT


def test_a_change_is_saved_around_the_comments_and_taken_up(page, path):
    answer = save(page, name="docs", target="freshness >= 0.9", max_requests="40")
    assert answer.status == 303
    assert answer.headers["location"] == "/edit?name=docs&saved=1"
    assert path.read_text() == TEXT.replace(
        '"freshness >= 0.6"  # as promised\n',
        '"freshness >= 0.9"  # as promised\nmax_requests = 40\n',
    )
    told = page.get("/sources.json").json["results"]
    assert {row["source"]: row["target"] for row in told}["docs"] == 0.9
    tree = shown(page.get(answer.headers["location"]))
    assert "target freshness >= 0.9" in tree.cssselect(".done")[0].text_content()


def test_a_source_is_paused_and_goes_on(page, path):
    save(page, name="jobs", paused="on")
    assert Config.load(path).named(["jobs"])[0].paused
    rows = page.get("/sources.json").json["results"]
    assert {one["source"]: one["health"] for one in rows}["jobs"] == "paused"
    save(page, name="jobs")
    assert path.read_text() == TEXT


def test_the_budget_of_all_is_changed(page, path):
    query = urlencode({"preview": 1, "requests": "1,200", "per": "week"})
    tree = shown(page.get(f"/edit?{query}"))
    assert lines(tree, "added") == ["requests = 1200  # for all", 'per = "week"']
    save(page, requests="1,200", per="week")
    budget = Config.load(path).budget
    assert (budget.requests, budget.per) == (1200, "week")


def test_a_change_can_be_undone_and_the_one_before_it_too(page, path):
    save(page, name="docs", weight="2", target="freshness >= 0.6")
    save(page, requests="50", per="day")
    tree = shown(page.get("/edit"))
    assert len(tree.cssselect(".past > li")) == 2
    (number,) = tree.cssselect(".past input[name=number]")
    answer = page.post("/edit/undo", f"number={number.get('value')}")
    assert answer.headers["location"] == "/edit?undone=1"
    assert Config.load(path).budget.requests == 300
    page.post("/edit/undo", "number=1&name=docs")
    assert path.read_text() == TEXT
    answer = page.post("/edit/undo", "")
    assert answer.status == 500
    assert "no change that could be undone" in answer.text


@pytest.mark.parametrize(
    ("given", "field", "said"),
    [
        ({"weight": "-1"}, "weight", "should be greater than 0"),
        ({"weight": "heavy"}, "weight", "give a number"),
        ({"weight": "inf"}, "weight", "give a number"),
        ({"max_requests": "0"}, "max_requests", "greater than or equal to 1"),
        ({"max_requests": "2.5"}, "max_requests", "give a whole number"),
        ({"max_requests": "9" * 40}, "max_requests", "give a whole number"),
        ({"target": "fresh"}, "target", "'fresh' is not a target"),
        ({"target": "recall >= 0.9"}, "target", "has a target of age or freshness"),
        ({"target": "freshness >= 0.9\nx"}, "target", "'x' is not a target"),
    ],
)
def test_a_wrong_value_is_told_at_its_field_and_stays_there(
    page, path, given, field, said
):
    answer = save(page, name="docs", **given)
    assert answer.status == 422
    assert said in wrong(answer, field)
    tree = shown(answer)
    (typed,) = tree.cssselect(f"#{field}")
    kept = typed.get("value") if typed.tag == "input" else typed.text_content()
    assert kept.strip() == given[field]
    assert typed.get("aria-invalid") == "true"
    assert path.read_text() == TEXT
    query = urlencode({"name": "docs", "preview": 1, **given})
    assert said in wrong(page.get(f"/edit?{query}"), field)


@pytest.mark.parametrize("requests", ["", "0", "-3", "many"])
def test_a_budget_that_is_none_is_refused(page, path, requests):
    answer = save(page, requests=requests, per="day")
    assert answer.status == 422
    assert wrong(answer, "requests")
    assert path.read_text() == TEXT


def test_a_window_that_is_none_is_refused(page):
    assert "'hour', 'day'" in wrong(save(page, requests="5", per="eon"), "per")


def test_a_file_that_changed_meanwhile_is_not_overwritten(page, path):
    seen = mark(page)
    theirs = TEXT.replace("requests = 300", "requests = 500")
    path.write_text(theirs)
    given = {"name": "docs", "weight": "2", "target": "", "preview": "1", "mark": seen}
    answer = page.post("/edit/save", urlencode(given))
    assert answer.status == 409
    tree = shown(answer)
    first, second = tree.cssselect(".clash .diff")
    assert "requests = 500" in first.text_content()
    assert "weight = 2.0" in second.text_content()
    assert path.read_text() == theirs
    assert tree.cssselect("#weight")[0].get("value") == "2"
    (again,) = tree.cssselect(".sheet input[name=mark]")
    given["mark"] = again.get("value")  # whoever presses the button again has seen both
    assert page.post("/edit/save", urlencode(given)).status == 303
    assert Config.load(path).budget.requests == 500
    assert Config.load(path).source[0].weight == 2.0


def test_a_form_from_before_a_restart_is_refused_without_a_guess(page, path):
    given = {"name": "docs", "weight": "2", "preview": "1", "mark": "0" * 32}
    answer = page.post("/edit/save", urlencode(given))
    assert answer.status == 409
    assert "That is not known" in answer.text
    assert path.read_text() == TEXT


def test_nothing_is_undone_over_what_somebody_wrote(page, path):
    save(page, name="docs", weight="2", target="freshness >= 0.6")
    path.write_text(path.read_text() + "# mine\n")
    answer = page.post("/edit/undo", "number=1&name=docs")
    assert answer.status == 409
    first, second = shown(answer).cssselect(".clash .diff")
    assert "# mine" in first.text_content()
    assert "weight = 2.0" in second.text_content()
    assert path.read_text().endswith("# mine\n")


def test_a_source_is_taken_out_after_its_table_was_shown(page, path):
    tree = shown(page.get("/edit?name=jobs&remove=1"))
    assert 'name = "jobs"' in lines(tree, "removed")
    assert save(page, name="jobs", remove="1").headers["location"] == "/edit?saved=1"
    assert [one.name for one in Config.load(path).source] == ["docs"]
    page.post("/edit/undo", "number=1&name=jobs")
    assert path.read_text() == TEXT


def test_saving_what_is_there_already_changes_nothing(page, path):
    answer = save(page, name="docs", target="freshness >= 0.6")
    assert answer.headers["location"] == "/edit?name=docs&unchanged=1"
    assert path.read_text() == TEXT


def test_a_source_that_is_not_there_is_not_found(page):
    assert page.get("/edit?name=nix").status == 404
    assert page.post("/edit/save", "name=nix&weight=2").status == 404


def test_a_broken_file_says_what_is_wrong_with_it(page, path):
    path.write_text("[budget\n")
    answer = page.get("/edit")
    assert answer.status == 500
    assert "not valid TOML" in answer.text


def test_a_disk_that_is_full_is_told_and_the_input_stays(page, path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    given = {"name": "docs", "weight": "2", "mark": mark(page), "preview": "1"}
    monkeypatch.setattr(os, "fsync", full)
    answer = page.post("/edit/save", urlencode(given))
    assert answer.status == 500
    assert "No space left on device" in wrong(answer, "all")
    assert shown(answer).cssselect("#weight")[0].get("value") == "2"
    assert path.read_text() == TEXT


@pytest.mark.parametrize("text", ["<script>alert(1)</script>", "\u202eevil", "a'\"b"])
def test_what_was_typed_is_no_markup(page, text):
    query = urlencode({"name": "docs", "preview": 1, "target": text, "weight": text})
    answer = page.get(f"/edit?{query}")
    tree = shown(answer)
    assert {one.get("src") for one in tree.cssselect("script")} == {
        "/static/halflife.js",
        "/static/edit.js",
    }
    assert page.get(f"/edit?name={quote(text)}").status == 404


def test_a_form_that_is_too_large_is_refused(page):
    answer = page.post("/edit/save", f"name=docs&target={'x' * 10_000}")
    assert answer.status == 413


def test_the_first_change_of_all_writes_the_settings(visit, tmp_path):
    page, path = visit(tmp_path / "halflife.toml"), tmp_path / "halflife.toml"
    assert page.get("/edit").status == 200
    assert save(page, requests="50", per="hour").status == 303
    assert Config.load(path).budget.requests == 50
    page.post("/edit/undo", "number=1")
    assert not path.exists()


def test_a_paused_source_is_neither_planned_nor_due(visit, made, tmp_path):
    folder = tmp_path / "copied"
    shutil.copytree(made.parent, folder)
    page, path = visit(folder / made.name), folder / made.name
    planned = {row["source"] for row in page.get("/plan.json").json["results"]}
    assert "news" in planned
    text = path.read_text().replace('name = "news"\n', 'name = "news"\npaused = true\n')
    path.write_text(text)
    page.site.board.forget()
    plan = page.get("/plan.json").json
    assert "news" not in {row["source"] for row in plan["results"]}
    news = page.get("/source.json?name=news").json
    assert (news["health"], news["sync_by"]) == ("paused", None)
    bought = page.get("/what-if.json?budget=900").json["results"]
    assert {r["source"]: r["requests_then"] for r in bought}["news"] == 0.0
