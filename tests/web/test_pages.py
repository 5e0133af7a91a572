"""Every page, and every page as JSON, over real HTTP on a real state."""

import json
import math
import re
import shutil
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
from lxml import html

from halflife.config import Config
from halflife.core.object_store import Listing
from halflife.core.observation import Content, Observation, Seen
from halflife.core.tracker import Tracker
from halflife.core.value_curve import Worth
from halflife.engine import appraisal, bootstrap, held_answers
from halflife.kinds import item_groups as groups
from halflife.kinds.listing import runner as listing_runner
from halflife.kinds.pages import many
from halflife.kinds.protocol import Memo
from halflife.market import share
from halflife.models.quality import freshness_forecast
from halflife.stores import held_pages
from halflife.stores.sqlite import SqliteStore
from halflife.web import pages, survey
from halflife.web.board import Board
from halflife.web.rows import AHEAD, WORST
from halflife.web.slider import Slider

PAGES = ("overview", "sources", "plan", "what-if", "inbox", "audit/league", "audit")
SOURCES = (
    "handbook", "news", "wiki", "gazette", "archive",
    "jobs", "rentals", "cars", "library",
)  # fmt: skip


@pytest.fixture(scope="module")
def seen(made):
    return Board(made).survey()


@pytest.fixture
def copied(made, tmp_path):
    """The same settings and state, for a test to change."""
    shutil.copytree(made.parent, tmp_path / "copied")
    return tmp_path / "copied" / made.name


def panorama(seen):
    """Return all pages at once."""
    (wide,) = seen.panoramas.values()
    return wide


def waited(visitor):
    """Return what was set going last, when it has ended."""
    for _ in range(400):
        job = visitor.get("/jobs.json").json["results"][0]
        if job["state"] != "running":
            return job
        time.sleep(0.05)
    raise AssertionError(job)


@pytest.mark.parametrize("page", PAGES)
def test_every_page_is_there_as_a_page_and_as_data(full, page):
    answer = full.get(f"/{page}")
    assert answer.status == 200
    assert "<h1>" in answer.text
    data = full.get(f"/{page}.json")
    assert data.headers["content-type"] == "application/json"
    assert data.json["at"].endswith("Z")


@pytest.mark.parametrize("page", PAGES)
def test_every_page_without_anything_says_what_to_do(empty, page):
    answer = empty.get(f"/{page}")
    assert answer.status == 200
    assert "<code>" in answer.text
    assert 'class="empty"' in answer.text
    assert empty.get(f"/{page}.json").status == 200


@pytest.mark.parametrize("name", SOURCES)
def test_every_kind_of_source_has_its_page(full, name):
    answer = full.get(f"/source?name={name}")
    assert answer.status == 200
    assert f"<h1>{name}</h1>" in answer.text
    data = full.get(f"/source.json?name={name}").json
    assert data["source"] == name
    assert data["health"] in WORST


def test_the_made_up_state_has_every_trouble(seen):
    assert {row.health for row in seen.rows} >= {
        "held", "failing", "at risk", "unknown", "no target", "fine",
    }  # fmt: skip


@pytest.mark.parametrize("page", [*PAGES, *(f"source?name={n}" for n in SOURCES)])
def test_every_chart_has_words_and_numbers(full, page):
    tree = html.fromstring(full.get(f"/{page}").text)
    for figure in tree.iter("figure"):
        chart = figure.find("svg")
        assert chart.get("role") == "img"
        assert chart.findtext("title")
        assert chart.findtext("desc")
        assert len(figure.findall(".//tbody/tr")) > 1
    assert len(tree.xpath("//@id")) == len(set(tree.xpath("//@id")))


def test_pages_need_no_script(full):
    """Everything a script swaps can be had by a link or a form."""
    tree = html.fromstring(full.get("/what-if").text)
    (form,) = tree.xpath("//form[@data-budget]")
    assert form.get("action") == "/what-if"
    assert form.xpath(".//button")
    for link in html.fromstring(full.get("/sources").text).xpath("//a[@data-swap]"):
        assert full.get(link.get("href")).status == 200


def test_the_script_is_small(full):
    assert len(full.get("/static/halflife.js").body) < 10_000


def test_sources_are_sorted_and_filtered_by_the_address(full):
    rows = full.get("/sources.json?sort=items&order=asc").json["results"]
    items = [row["items"] for row in rows]
    assert items == sorted(items, reverse=True)
    rows = full.get("/sources.json?kind=listing").json["results"]
    assert {row["source"] for row in rows} == {"jobs", "rentals"}
    rows = full.get("/sources.json?health=held").json["results"]
    assert [row["source"] for row in rows] == ["jobs"]
    rows = full.get("/sources.json?q=AND").json["results"]
    assert [row["source"] for row in rows] == ["handbook"]
    assert full.get("/sources?sort=1;DROP&page=-3&order=x").status == 200


def test_the_quality_of_pages_is_that_of_the_forecast(seen):
    wide = panorama(seen)
    view, owned = wide.outlook.view, wide.owned
    for i, name in enumerate(["handbook", "news", "wiki", "gazette"]):
        weight = np.where(owned.code == i, view.weight, 0.0)
        alone = freshness_forecast(_weighed(view, weight), AHEAD).unfetched()
        cast = seen.casts[name]
        assert cast.mean == pytest.approx(alone.mean)
        assert cast.low == pytest.approx(alone.low, abs=1e-9)
        assert cast.high == pytest.approx(alone.high, abs=1e-9)


def _weighed(view, weight):
    from dataclasses import replace  # noqa: PLC0415

    return replace(view, weight=weight)


def test_what_many_sources_buy_is_what_each_buys_alone(made, seen):
    """The curve drawn by prices is that of the solver, source by source."""
    sources = [s for s in seen.config.source if s.item_urls]
    weight = np.array([s.weight for s in sources])
    owned, names = panorama(seen).owned, [s.name for s in sources]
    found = many.worths(owned, names, weight, seen.config.policy.objective)
    with SqliteStore.open(seen.config.store_path, readonly=True) as store:
        appraiser = appraisal.Appraiser(seen.config, store, seen.now)
        for source, worth in zip(sources, found, strict=True):
            alone = appraiser.known(source).worth
            assert (worth is None) == (alone is None)
            if worth is not None:
                at = np.geomspace(1.0, 100.0, 9)
                assert worth.at(at) == pytest.approx(alone.at(at), abs=0.02)


@pytest.mark.parametrize("budget", [0.0, 0.5, 3.0, 20.0, 1e4])
def test_the_slider_buys_what_the_market_buys(budget):
    rng = np.random.default_rng(4)
    curves = []
    for i in range(30):
        x = np.concatenate([[0.0], np.sort(rng.uniform(0.1, 9.0, 6))])
        y = np.sort(rng.uniform(0.0, 1.0, 7))
        curves.append(Worth(f"s{i:02}", "recall", rng.uniform(0.5, 3), x, y, y, y))
    names = [curve.source for curve in curves]
    limits = appraisal.Limits(
        least={names[3]: 0.4, names[4]: 0.1},
        most={names[5]: 1.0, names[6]: 0.0},
        host={name: f"h{i % 4}" for i, name in enumerate(names)},
        room={"h0": 2.5, "h1": 1e3},
    )
    one, other = Slider(curves, limits).at(budget), share(curves, budget, limits)
    assert one.requests == pytest.approx(other.requests, abs=1e-9)
    assert one.total == pytest.approx(other.total, abs=2e-3 if budget < 0.5 else 1e-9)
    if budget >= 0.5:
        assert one.price == pytest.approx(other.price)


def test_more_budget_is_never_worse(full):
    totals = [
        full.get(f"/what-if.json?budget={n}").json["quality"]["then"]
        for n in (1, 50, 300, 1200)
    ]
    assert totals == sorted(totals)
    assert full.get("/what-if.json?budget=NaN").json["budget"]["then"] == 300
    assert full.get("/what-if.json?budget=99999999").json["budget"]["then"] == 30_000


def test_the_plan_says_when_and_why(full):
    rows = full.get("/plan.json").json["results"]
    assert len(rows) > 10
    assert all(row["why"] and row["source"] for row in rows)
    times = [row["at"] for row in rows]
    assert times == sorted(times)


def test_the_inbox_shows_the_evidence(full):
    (row,) = full.get("/inbox.json").json["results"]
    assert row["source"] == "jobs"
    assert row["missing"] > row["listed"] > 0
    assert row["held"] == row["missing"] + row["listed"]


def test_an_answer_that_was_just_decided_is_not_in_the_inbox(copied):
    config = Config.load(copied)
    with bootstrap.writing(config) as store:
        seen = survey.take(config, store, bootstrap.clock(), Memo())
        (one,) = seen.waiting
        before = held_answers.evidence(store, seen.source(one.source), one)
        assert pages.inbox(seen, {})["results"][0]["missing"] == before["missing"] > 0
        held_answers.accept(config, store, one.run)
        assert pages.inbox(seen, {})["results"] == []
        after = held_answers.evidence(store, seen.source(one.source), one)
        assert after == {"examples": []}


def test_an_answer_that_is_accepted_counts(copied, visit):
    here = visit(copied)
    (row,) = here.get("/inbox.json").json["results"]
    answer = here.post("/decide", f"run={row['run']}&verdict=accept")
    assert (answer.status, answer.headers["location"]) == (303, "/inbox")
    job = waited(here)
    assert job["state"] == "done"
    assert f"{row['missing']} missing" in job["said"]
    assert here.get("/inbox.json").json["results"] == []
    assert job["said"] in html.fromstring(here.get("/overview").text).text_content()


def test_an_answer_that_is_not_believed_is_forgotten_and_nothing_is_lost(copied, visit):
    here = visit(copied)
    before = here.get("/source.json?name=jobs").json
    (row,) = here.get("/inbox.json").json["results"]
    here.post("/decide", f"run={row['run']}&verdict=keep")
    assert waited(here)["state"] == "done"
    assert here.get("/inbox.json").json["results"] == []
    after = here.get("/source.json?name=jobs").json
    assert after["items"] == before["items"]
    config = Config.load(copied)
    with SqliteStore.open(config.store_path) as store:
        assert store.verify() == []
        last = store.register("jobs").snapshots[-1]
    assert (last.valid, last.note) == (False, "it was not believed")


@pytest.fixture
def held(copied):
    """The same with twelve pages whose answers are held; the run that brought them."""
    config = Config.load(copied)
    with SqliteStore.open(config.store_path) as store:
        name = next(s.name for s in config.source if s.item_urls)
        keys = store.evidence([name]).keys[:12]
        run = store.begin([name], 30_000.0, lease=1.0)
        with store.together():
            for key in keys:
                body = Content("text/html", b"<p>Down for maintenance")
                look = Observation(key, 30_000.0, Seen.PRESENT, "d", "r", content=body)
                answer = held_pages.HeldFetch(look, "hold", "all alike", "was", "is")
                store.held_answers.save(run.id, answer)
        store.finish(run, 30_000.0)
    return run.id, name, keys[0]


def test_pages_that_are_held_are_in_the_inbox_and_can_be_accepted(held, copied, visit):
    run, name, key = held
    here = visit(copied)
    rows = here.get("/inbox.json").json["results"]
    (row,) = [row for row in rows if row["run"] == run]
    assert (row["source"], row["pages"]) == (name, 12)
    assert key in html.fromstring(here.get("/inbox").text).text_content()
    here.post("/decide", f"run={run}&verdict=accept")
    assert waited(here)["said"] == f"{name}: 12 answers are believed now"
    with SqliteStore.open(Config.load(copied).store_path) as store:
        assert b"maintenance" in store.content(key).body
        assert store.verify() == []


def test_pages_that_are_held_can_be_kept_as_they_were(held, copied, visit):
    run, _, key = held
    here = visit(copied)
    here.post("/decide", f"run={run}&verdict=keep")
    assert waited(here)["state"] == "done"
    assert run not in [row["run"] for row in here.get("/inbox.json").json["results"]]
    with SqliteStore.open(Config.load(copied).store_path) as store:
        assert b"maintenance" not in store.content(key).body


@pytest.fixture
def jobs(copied):
    """A listing on loopback: what is held of it, as the settings now have it."""
    config = Config.load(copied)
    (source,) = config.named(["jobs"])
    with SqliteStore.open(config.store_path) as store:
        held = listing_runner.tracker(store, source).held
    there = [{"id": key, **record} for key, record in held.items()]
    with answering(there) as (url, listed):
        text = copied.read_text().replace(source.url, url)
        text = text.replace('key = "id"', 'key = "id"\nallow = ["127.0.0.0/8"]', 1)
        copied.write_text(text)
        yield listed


@contextmanager
def answering(listed):
    """Serve a list as JSON; it may be changed meanwhile."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            body = json.dumps(listed).encode()
            self.send_response(404 if self.path == "/robots.txt" else 200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            return

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}/open.json", listed
        server.shutdown()
        thread.join()


def test_retry_looks_again_and_a_whole_answer_counts(copied, jobs, visit):
    here = visit(copied)
    (row,) = here.get("/inbox.json").json["results"]
    button = html.fromstring(here.get("/inbox").text).xpath("//button[@value='retry']")
    assert [b.get("name") for b in button] == ["verdict"]
    answer = here.post("/decide", f"run={row['run']}&verdict=retry")
    assert (answer.status, answer.headers["location"]) == (303, "/inbox")
    job = waited(here)
    assert (job["what"], job["state"]) == ("sync jobs", "done")
    assert here.get("/source.json?name=jobs").json["items"] == len(jobs)
    assert here.get("/inbox.json").json["results"] == []


def test_an_answer_that_is_as_doubtful_again_waits_again(copied, jobs, visit):
    here = visit(copied)
    (row,) = here.get("/inbox.json").json["results"]
    held = len(jobs)
    del jobs[held // 10 :]
    here.post("/decide", f"run={row['run']}&verdict=retry")
    assert waited(here)["state"] == "partly"
    (again,) = here.get("/inbox.json").json["results"]
    assert again["run"] > row["run"]
    assert (again["held"], again["listed"]) == (held, held // 10)


def test_there_is_no_retry_of_what_does_not_wait(copied, visit):
    assert visit(copied).post("/decide", "run=999&verdict=retry").status == 404


def test_the_settings_are_named_and_their_path_is_told_to_who_asks(full, made):
    (shown,) = html.fromstring(full.get("/sources").text).xpath("//footer//span")
    assert (shown.text, shown.get("title")) == (made.name, str(made))


def test_the_forecast_of_a_form_lies_within_a_narrow_band(seen):
    cast = seen.casts["cars"]
    assert (cast.low <= cast.mean).all()
    assert (cast.mean <= cast.high).all()
    assert cast.high[-1] < 1.0


def test_a_verdict_on_nothing_is_said_to_be_one(copied, visit):
    here = visit(copied)
    here.post("/decide", "run=999&verdict=accept")
    assert "left nothing to decide" in waited(here)["said"]
    assert here.post("/decide", "run=1&verdict=burn").status == 404


def test_a_source_that_another_process_keeps_is_not_synced(copied, visit):
    here = visit(copied)
    config = Config.load(copied)
    with SqliteStore.open(config.store_path) as store:
        run = store.begin(["wiki"], bootstrap.clock(), lease=1.0)
        answer = here.post("/sync", "source=wiki")
        assert answer.headers["location"] == "/source?name=wiki"
        job = waited(here)
        store.finish(run, bootstrap.clock())
    assert job["state"] == "failed"
    assert "wiki" in job["said"]
    assert job["said"] in html.fromstring(here.get("/sources").text).text_content()


def test_a_sync_says_what_came_of_it(tmp_path, visit):
    """An address that must not be asked: the same code as the verb refuses it."""
    path = tmp_path / "halflife.toml"
    path.write_text('[[source]]\nname = "a"\npages = ["http://127.0.0.1:9/x"]\n')
    here = visit(path)
    here.post("/sync", "source=a")
    job = waited(here)
    assert job["state"] == "failed"
    assert "1 failed" in job["said"]
    assert "its address is not public" in job["said"]
    assert here.get("/source.json?name=a").json["health"] == "failing"


def test_unknown_sources_and_pages_are_said_to_be_so(full):
    for path in ("/source?name=nix", "/nix", "/static/x.css", "/copy?item=nix"):
        answer = full.get(path)
        assert answer.status == 404
        assert "<h1>Not found</h1>" in answer.text
    assert full.get("/source.json?name=nix").json["status"] == 404
    assert full.post("/sync", "source=nix").status == 404


def test_settings_that_are_wrong_are_said_to_be_so(tmp_path, visit):
    path = tmp_path / "halflife.toml"
    path.write_text("[budget]\nrequest = 1\n")
    answer = visit(path).get("/overview")
    assert answer.status == 500
    assert "did you mean" in answer.text


def test_what_is_written_elsewhere_shows_at_once(copied, visit):
    here = visit(copied)
    assert here.get("/sources.json").json["all"] == 9
    text = copied.read_text()
    more = '[[source]]\nname = "late"\npages = ["https://late.example/"]\n'
    copied.write_text(text + more)
    for _ in range(100):
        if here.get("/sources.json").json["all"] == 10:
            break
        time.sleep(0.05)
    assert here.get("/source.json?name=late").json["health"] == "unknown"


def test_settings_that_break_later_are_told_beside_what_was_known(copied, visit):
    here = visit(copied)
    assert here.get("/overview").status == 200
    copied.write_text("[budget]\nrequest = 1\n")
    for _ in range(100):
        text = here.get("/sources").text
        if "did you mean" in text:
            break
        time.sleep(0.05)
    assert "did you mean" in text
    assert "handbook" in text


def test_a_league_is_shown_and_a_broken_one_is_not(made, tmp_path, visit):
    bounds = {"blind": 0.9, "told": 0.95, "hindsight": 0.99}
    rows = [
        {"policy": name, "budget": b, **bounds}
        | {"freshness": {"mean": 0.5 + b, "low": 0.4, "high": 0.7 + b}}
        for name in ("champion", "uniform")
        for b in (0.01, 0.1)
    ]
    file = tmp_path / "league.json"
    file.write_text(json.dumps({"items": 9, "days": 30, "results": rows}))
    here = visit(made, league=file)
    assert "champion" in here.get("/audit/league").text
    assert "<style" not in here.get("/audit/league").text
    file.write_text('{"results": [{"policy": 1}]}')
    assert "does not hold a league" in here.get("/audit/league").text


def test_audits_say_what_the_verb_says(full, made, capsys):
    from halflife.cli import main  # noqa: PLC0415

    answer = full.get("/audit.json").json
    assert answer["told"] > 50
    assert answer["checked"] > 50
    assert main(["audit", "--json", "--config", str(made)]) == 0
    said = {
        row["source"]: row for row in json.loads(capsys.readouterr().out)["results"]
    }
    for row in answer["results"]:
        other = said[row["source"]]
        assert row["forecasts"] == other["forecasts"]
        assert row["coverage"] == pytest.approx(other["coverage"])
        assert row["trust"] == pytest.approx(other["trust"], abs=1e-6)


def test_pages_are_light(full):
    for page in [*PAGES, *(f"source?name={name}" for name in SOURCES)]:
        assert len(full.get(f"/{page}").body) < 500_000


def test_times_are_told_with_their_zone(full):
    text = full.get("/source?name=handbook").text
    assert re.search(r"20\d\d-\d\d-\d\d \d\d:\d\d UTC", text)
    assert not math.isnan(full.get("/source.json?name=handbook").json["wait"])


def test_groups_of_objects_are_those_that_tell_most_apart():
    records = {
        f"o{i}": {"id": i, "city": "Oslo" if i % 3 else "Rome"} for i in range(9)
    }
    tracker = Tracker()
    tracker.take(Listing(0.0, records))
    fewer = {key: records[key] for key in list(records)[1:]}
    for day in (1.0, 2.0):
        tracker.take(Listing(day, fewer))
    known = tracker.register().collection("x")
    name, rows = groups.of_objects(known, "")
    assert name == "city"
    found = {row["group"]: (row["items"], row["gone"]) for row in rows}
    assert found == {"Oslo": (6, 0), "Rome": (2, 1)}
    assert groups.of_objects(known, "nothing of the kind") == ("", [])


def test_groups_of_pages_are_their_folders():
    keys = ["http://a/x/1", "http://a/x/2", "http://a/y/1"]
    rows = groups.of_pages(keys, np.array([1.0, 3.0, 5.0]), np.array([0.2, 0.4, 0.6]))
    assert [(row["group"], row["items"]) for row in rows] == [
        ("http://a/x/", 2), ("http://a/y/", 1)
    ]  # fmt: skip
    assert rows[0]["rate"] == pytest.approx(2.0)
    assert rows[0]["changed"] == pytest.approx(0.3)
    assert groups.of_pages(keys[:2], np.ones(2), np.ones(2)) == []
