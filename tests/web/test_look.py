"""What the pages say first, how a day is laid out, and how words are written."""

import http.client
import math
import re
import time
from dataclasses import replace
from itertools import pairwise

import pytest
from lxml import html

from halflife.config import Config
from halflife.engine import bootstrap
from halflife.models.hindsight import PastFreshness
from halflife.stores.notes.service_turn import SERVICE_TURN, ServiceTurn
from halflife.stores.owner import Owner
from halflife.web import (
    actions,
    activity,
    attention,
    charts,
    history,
    lanes,
    showcase,
    words,
)
from halflife.web.actions import BackgroundJobs, Job, JobOutcome
from halflife.web.board import Board
from halflife.web.rows import SourceRow
from web_states import STATES

ODD = (
    r"\d\.?\d*e[+-]\d\d",  # scientific notation
    r"(?<![\d.,])1 (requests|days|pages|objects|forecasts|sources|fetches)\b",
    r"\bNone\b",
    r"\bin in\b",
    r"\bnan\b",
    r"\?q=1\b",
)
SOURCES = ("handbook", "gazette", "archive", "jobs", "cars", "library")


@pytest.fixture(scope="module")
def seen(made):
    return Board(made).survey()


@pytest.fixture
def background():
    """Things done in the background, and how often somebody heard of an end."""
    ends = []
    found = BackgroundJobs(lambda: ends.append(1))
    found.ends = ends
    return found


def text_of(visitor, page):
    return " ".join(html.fromstring(visitor.get(page).text).text_content().split())


def test_the_overview_starts_with_a_sentence(full):
    said = full.get("/overview.json").json["sentence"]
    assert re.fullmatch(
        r"\d+ % of your pages are current \(\d+.\d+ %\)\. gazette is failing; "
        r"jobs needs you; news is at risk\.",
        said,
    )
    assert said in text_of(full, "/overview")


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["a"], "a is failing"),
        (["a", "b"], "a and b are failing"),
        (["a", "b", "c", "d"], "a and 3 more are failing"),
    ],
)
def test_a_sentence_names_a_few_sources_and_counts_the_rest(seen, names, said):
    rows = tuple(SourceRow(name, "pages", "freshness", "failing") for name in names)
    pieces = attention.sentence(replace(seen, rows=rows), [])
    assert attention.plain_text(pieces) == f"Nothing was fetched yet. {said}."
    linked = [piece["source"] for piece in pieces if "source" in piece]
    assert linked == names[: 2 if len(names) <= 2 else 1]


def test_what_needs_attention_comes_once_and_the_worst_first(full):
    answer = full.get("/overview.json").json
    healths = [row["health"] for row in answer["attention"]]
    assert healths == ["held", "failing", "at risk"]
    named = {row["source"] for row in answer["attention"]}
    assert named.isdisjoint(row["source"] for row in answer["next"])


def test_the_farthest_below_its_target_comes_first():
    far, near = (
        SourceRow(name, "pages", "freshness", "below target", mean=mean, target=0.9)
        for name, mean in (("b", 0.2), ("a", 0.8))
    )
    held = replace(near, name="c", health="held")
    fine = replace(near, name="d", health="fine")
    found = attention.ordered([fine, near, held, far])
    assert [row.name for row in found] == ["c", "b", "a"]


def test_the_chart_has_the_past_the_forecast_and_now(full, seen):
    tree = html.fromstring(full.get("/overview").text)
    (chart,) = tree.xpath("//svg[contains(@aria-labelledby, 'fresh-title')]")
    assert {"found in hindsight", "now"} <= set(chart.xpath(".//text/text()"))
    assert isinstance(seen.past, PastFreshness)
    assert seen.past.at[-1] == pytest.approx(seen.now)
    assert seen.past.at[0] == pytest.approx(seen.now - history.DAYS, abs=1.0)


def test_a_chart_is_drawn_for_a_phone_and_not_scaled(full):
    tree = html.fromstring(full.get("/overview").text)
    wide, slim = tree.xpath("(//figure)[1]/svg/@width")
    assert (float(wide), float(slim)) == (charts.WIDE[0], charts.SLIM[0])
    assert charts.SLIM[0] <= 360


def test_labels_that_would_run_into_each_other_are_left_out(full):
    tree = html.fromstring(full.get("/overview").text)
    (slim,) = tree.xpath("//svg[contains(@aria-labelledby, 'spent-slim-title')]")
    marks = slim.xpath(".//text[@class='middle'][not(@transform)]")
    places = sorted((float(one.get("x")), one.text) for one in marks if one.text)
    for (left, said), (right, other) in pairwise(places):
        assert right - left > 3.0 * (len(said) + len(other))


def test_the_overview_says_whether_the_service_runs(tmp_path, visit):
    path = STATES["failing"](tmp_path)
    assert "Service: not running." in text_of(visit(path), "/overview")
    config = Config.load(path)
    now = bootstrap.clock()
    with bootstrap.writing(config) as store:
        turned = ServiceTurn(str(Owner.here()), now - 1.0, now - 40 / 86400)
        SERVICE_TURN.save(store, turned)
    said = text_of(visit(path), "/overview")
    assert re.search(r"Service: running, last turn 4\d s ago", said)
    with bootstrap.writing(config) as store:
        SERVICE_TURN.save(store, turned._replace(ended=now))
    said = text_of(visit(path), "/overview")
    assert f"Service: not running since {words.moment(now)}" in said


def test_a_sync_that_is_under_way_says_how_far_it_has_got(tmp_path):
    config = Config.load(STATES["failing"](tmp_path))
    with bootstrap.writing(config) as store:
        now = bootstrap.clock()
        run = store.begin(["lost"], now, lease=1.0)
        store.charge(run, 7, now)
        later = now + 12 / 86400
        (one,) = activity.under_way(store, later)
        assert (one["source"], one["requests"]) == ("lost", 7)
        assert one["words"] == "7 requests so far, for 12 s"
        job = Job(3, "sync lost", "lost")
        assert activity.progress([job], [one]) == {3: one["words"]}
        assert activity.progress([replace(job, state="done")], [one]) == {}
        store.finish(run, now)
        assert activity.under_way(store, later) == []


def test_the_plan_is_laid_out_by_source_over_a_day(full):
    answer = full.get("/plan.json").json
    found = [lane["source"] for lane in answer["lanes"]]
    assert len(found) == len(set(found)) > 3
    assert set(found) >= {row["source"] for row in answer["results"]}
    first = [lane["first"] for lane in answer["lanes"]]
    assert first == sorted(first)
    tree = html.fromstring(full.get("/plan").text)
    marks = tree.xpath("//svg[contains(@class, 'strip')]/circle/@cx")
    assert len(marks) == len(answer["results"])
    assert all(0 <= float(place.rstrip("%")) <= 100 for place in marks)
    assert len(tree.xpath("//ol[@class='fetches']/li/details")) == len(marks)


def test_the_sample_world_spends_within_its_budget(tmp_path):
    path = tmp_path / "halflife.toml"
    url = "https://demo.example/"
    text = f'[budget]\nrequests = 24\n[[source]]\nname = "demo"\npages = ["{url}"]\n'
    path.write_text(text)
    seen = Board(showcase.extend(path)).survey()
    assert seen.config.budget.requests == 24 + showcase.FURNISHED
    assert 0 < seen.spend.spent <= seen.config.budget.requests - 24
    assert seen.row("demo").target == 0.7
    assert [one.source for one in seen.waiting] == ["jobs"]


def test_marks_of_a_lane_stand_where_their_moment_is():
    drawn = html.fromstring(lanes.strip([0.0, 0.5, 3.0], due=0.25))
    assert drawn.xpath("circle/@cx") == ["1%", "50%", "99%"]
    assert drawn.xpath("rect/@x") == ["25.5%"]


def test_the_inbox_sets_missing_and_new_side_by_side(full):
    (row,) = full.get("/inbox.json").json["results"]
    assert row["arrived"] == len(row["arrived_examples"]) == 0
    assert 0 < len(row["examples"]) <= row["missing"]
    said = text_of(full, "/inbox")
    assert f"Missing from the answer: {row['missing']}" in said
    assert "New in the answer: 0" in said


def test_a_decision_that_is_taken_back_was_never_carried_out(background):
    done = []
    job = background.start(
        "accept", lambda: done.append(1) or JobOutcome(""), run=4, grace=0.2
    )
    again = background.start(
        "accept", lambda: done.append(2) or JobOutcome(""), run=4, grace=0.2
    )
    assert again.id == job.id  # a second click decides nothing new
    assert background.jobs[0].undo
    assert background.undo(job.id)
    assert not background.undo(job.id)
    time.sleep(0.3)
    assert done == []
    (job,) = background.jobs
    assert (job.state, job.said, job.undo) == ("undone", actions.UNDONE, False)


def test_a_decision_that_was_carried_out_cannot_be_taken_back(background):
    job = background.start("accept", lambda: JobOutcome("it is"), run=4, grace=0.02)
    while not background.ends:
        time.sleep(0.01)
    assert not background.undo(job.id)
    assert background.jobs[0].said == "it is"


def test_it_may_be_too_late_to_undo(full):
    answer = full.post("/undo", "job=999")
    assert answer.status == 404
    assert "too late" in answer.text


def test_the_audit_starts_with_a_verdict(full):
    said = full.get("/audit.json").json["sentence"]
    assert said.startswith("The forecasts hold")
    assert said in text_of(full, "/audit")


def test_the_reliability_diagram_says_how_many_pages_each_point_has(full):
    tree = html.fromstring(full.get("/audit").text)
    (chart,) = tree.xpath("//svg[contains(@aria-labelledby, 'reliable-title')]")
    counts = chart.xpath(".//text[contains(@class, 'count')]/text()")
    (answer,) = [
        one
        for one in full.get("/audit.json").json["figures"]
        if one["name"] == "reliable"
    ]
    assert [int(n) for n in counts] == answer["table"]["pages"]


def test_the_league_moved_and_its_old_address_leads_there(full):
    answer = full.get("/league?x=1")
    assert (answer.status, answer.headers["location"]) == (308, "/audit/league?x=1")
    assert full.get("/league.json").headers["location"] == "/audit/league.json"
    tree = html.fromstring(full.get("/audit/league").text)
    assert tree.xpath("//header//a[@aria-current='page']/@href") == ["/audit"]
    assert "/audit/league" in tree.xpath("//nav[@class='tabs']//a/@href")


def test_the_head_names_only_pages_that_are_there(full):
    tree = html.fromstring(full.get("/overview").text)
    for address in tree.xpath("//header//nav//a/@href"):
        assert full.get(address).status == 200


@pytest.mark.parametrize(
    "page",
    ["overview", "sources", "plan", "inbox", "audit", "audit/league"]
    + [f"source?name={name}" for name in SOURCES],
)
def test_no_number_or_word_is_odd(full, page):
    said = text_of(full, f"/{page}")
    for odd in ODD:
        assert re.findall(odd, said) == [], odd


def test_shares_are_in_per_cent_on_the_pages_and_fractions_in_data(full):
    (row,) = full.get("/sources.json?q=gazette").json["results"]
    assert 0 < row["quality"]["mean"] < 1
    assert row["target"] == 0.8
    said = text_of(full, "/sources?q=gazette")
    assert f"{100 * row['quality']['mean']:.0f} %" in said
    assert "target 80 %" in said
    assert not re.search(r"\b0\.\d\d\d\b", said)


def test_moments_are_elements_that_a_script_can_localise(full):
    tree = html.fromstring(full.get("/sources?q=gazette").text)
    (cell,) = tree.xpath("//td[@data-label='last fetch']/time")
    assert cell.get("datetime").endswith("Z")
    assert cell.text.endswith(" UTC")


def test_a_browser_that_is_refused_sees_a_page_and_a_program_reads_a_line(full):
    status, headers, body = asked(full, {"Accept": "text/html,*/*"})
    assert (status, headers["content-type"]) == (401, "text/html; charset=utf-8")
    assert b"<h1>This page needs its token</h1>" in body
    assert "sha256-" in headers["content-security-policy"]
    status, headers, body = asked(full, {})
    assert headers["content-type"].startswith("text/plain")
    assert body.startswith(b"401: ")


def asked(visitor, headers):
    line = http.client.HTTPConnection(visitor.host, timeout=30)
    try:
        line.request("GET", "/overview", headers=headers)
        answer = line.getresponse()
        return answer.status, answer.headers, answer.read()
    finally:
        line.close()


def test_a_past_that_nobody_observed_twice_is_not_drawn(tmp_path):
    config = Config.load(STATES["failing"](tmp_path))
    with bootstrap.writing(config) as store:
        assert history.take(store, bootstrap.clock(), math.nan) is None
    nothing = Config.load(STATES["imported"](tmp_path / "none"))
    with bootstrap.reading(nothing) as store:
        assert history.take(store, bootstrap.clock(), 0.5) is None


def test_every_page_leads_to_the_settings(full):
    for page in ("overview", "source?name=jobs", "changes"):
        tree = html.fromstring(full.get(f"/{page}").text)
        assert tree.xpath("//footer//a[@href='/edit']")


def test_targets_are_in_per_cent_and_programs_get_them_as_they_are_written(full):
    text = full.get("/source?name=jobs").text
    assert "recall \u2265 90 % with 95 % confidence" in text
    assert "0.95" not in text.partition("<h2>Over time")[0]
    written = full.get("/source.json?name=jobs").json["targets"]
    assert written == ["recall >= 0.9 with confidence 0.95"]
    assert (
        'kept</span> <span class="soft">freshness \u2265 65 %'
        in full.get("/what-if?budget=700").text
    )


def test_the_plan_names_a_few_targets_that_are_missed_and_counts_the_rest(
    tmp_path, visit
):
    here = visit(STATES["large"](tmp_path))
    answer = here.get("/plan.json").json
    tree = html.fromstring(here.get("/plan").text)
    (due,) = tree.xpath("//section[h2='Targets that are missed within a day']")
    assert len(due.xpath("ul/li")) == 10 < len(answer["due"])
    assert "more" in due.xpath("p")[0].text_content()


def test_the_sentence_names_the_most_urgent_source(tmp_path, visit):
    answer = visit(STATES["large"](tmp_path)).get("/overview.json").json
    assert answer["attention"][0]["source"] in answer["sentence"]


def test_the_world_of_the_demo_has_pages_to_compare_on_top(tmp_path, visit):
    path = tmp_path / "halflife.toml"
    url = "https://demo.example/"
    path.write_text(
        f'[budget]\nrequests = 24\n[[source]]\nname = "demo"\npages = ["{url}"]\n'
    )
    here = visit(showcase.extend(path))
    first = here.get("/changes.json").json["results"][0]
    assert (first["source"], first["kind"]) == ("news", "changed")
    assert first["lines"]
