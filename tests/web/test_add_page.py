"""A source is added on the page: tried in the background, shown, written."""

import json
import shutil
import time
from urllib.parse import urlencode, urlsplit

import pytest
from lxml import html

from halflife.config import Config
from halflife.web.server import ServeWish, running
from web_hostile import EVIL
from web_visitor import Visitor

ALLOWED = '[fetch]\ndelay = 0.0\n\n[serve]\nallow = ["127.0.0.0/8"]  # our own\n'
JOBS = [{"id": n, "title": f"Vacancy {n}", "town": "Bonn"} for n in range(22)]


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    path = tmp_path_factory.mktemp("edited") / "halflife.toml"
    path.write_text(ALLOWED, encoding="utf-8")
    with running(ServeWish(path, port=0)) as found:
        yield path, Visitor(found)


@pytest.fixture
def path(served):
    """The settings as they were, without a history."""
    shutil.rmtree(f"{served[0].parent}/halflife.db-settings", ignore_errors=True)
    served[0].write_text(ALLOWED, encoding="utf-8")
    return served[0]


@pytest.fixture
def page(served, path):
    assert path == served[0]
    return served[1]


@pytest.fixture
def jobs(server):
    server.pages["/jobs"] = "application/json", json.dumps({"results": JOBS}).encode()
    return f"{server.url}/jobs"


def shown(answer):
    return html.fromstring(answer.text)


def tried(page, url, **more):
    """Try an address as a browser without scripts does; return the last page."""
    answer = page.post("/add", urlencode({"url": url, **more}))
    if answer.status != 303:
        return answer
    where = answer.headers["location"]
    for _ in range(400):
        answer = page.get(where)
        if "refresh" not in answer.headers:
            return answer
        time.sleep(0.02)
    raise AssertionError("the trial did not end")


def fields(answer, **more):
    """Return what the form would send."""
    (form,) = shown(answer).cssselect("form[data-preview]")
    return [*form.form_values(), *more.items()]


def added(answer):
    return [
        one.text_content() for one in shown(answer).cssselect("#change .added code")
    ]


def test_an_address_is_tried_shown_and_written(page, path, jobs, server):
    answer = tried(page, jobs)
    tree = shown(answer)
    assert "JSON listing of 22 records, key: id" in answer.text
    heads = [one.text_content() for one in tree.cssselect(".preview thead th")]
    assert heads == ["id key", "title", "town"]
    assert len(tree.cssselect(".preview tbody tr")) == 3
    assert path.read_text() == ALLOWED
    assert 'key = "id"' in added(answer)
    assert page.post("/add/save", urlencode(fields(answer))).status == 303
    (source,) = Config.load(path).source
    assert (source.kind, source.key, source.url) == ("listing", "id", jobs)
    assert source.allow == ("127.0.0.0/8",)
    assert path.read_text().startswith(ALLOWED)
    assert server.asked == ["/robots.txt", "/jobs"]


def test_every_request_of_a_trial_is_paid_for(page, jobs):
    spent = page.get("/overview.json").json["budget"]["spent"]
    tried(page, jobs)
    page.site.board.forget()
    assert page.get("/overview.json").json["budget"]["spent"] == spent + 2


def test_name_fields_target_and_limits_are_chosen(page, path, jobs):
    form = tried(page, jobs)
    given = [pair for pair in fields(form) if pair != ("field", "town")]
    given = [
        (k, {"name": "work", "target": "recall >= 0.9"}.get(k, v)) for k, v in given
    ]
    where = urlsplit(f"/add?{urlencode(given)}").query
    preview = page.get(f"/add?{where}")
    assert 'target = "recall >= 0.9"' in added(preview)
    page.post("/add/save", urlencode([*given, ("weight", "3"), ("max_requests", "9")]))
    (source,) = Config.load(path).source
    assert source.name == "work"
    assert source.fields == {"id": "id", "title": "title"}
    assert source.target == "recall >= 0.9"


def test_it_can_be_fetched_at_once(page, path, jobs):
    form = tried(page, jobs)
    answer = page.post("/add/save", urlencode(fields(form, then="fetch")))
    assert answer.status == 303
    for _ in range(400):
        job = page.get("/jobs.json").json["results"][0]
        if job["state"] != "running":
            break
        time.sleep(0.02)
    assert (job["state"], job["source"]) == ("done", Config.load(path).source[0].name)


def test_the_key_can_be_corrected_and_nothing_is_fetched_again(page, jobs, server):
    form = tried(page, jobs)
    trial = dict(fields(form))["trial"]
    again = tried(page, jobs, trial=trial, key="title")
    assert "JSON listing of 22 records, key: title" in again.text
    assert server.asked == ["/robots.txt", "/jobs"]


def test_answers_of_older_trials_are_let_go_and_their_findings_stay(page, jobs):
    first = dict(fields(tried(page, jobs)))["trial"]
    for _ in range(3):
        tried(page, jobs)
    assert page.site.trials.find(first).fetch.recorded == {}
    assert "JSON listing of 22 records" in page.get(f"/add?trial={first}").text


def test_records_without_a_key_are_asked_for_one(page, server):
    rows = [{"who": "Ann", "what": n // 2} for n in range(6)]
    server.pages["/rows"] = "application/json", json.dumps(rows).encode()
    answer = tried(page, f"{server.url}/rows", kind="listing")
    assert "Choose the field that names a record" in answer.text
    assert not shown(answer).cssselect("form[data-preview]")
    options = [one.get("value") for one in shown(answer).cssselect("#keys option")]
    assert options == ["who", "what"]


def test_a_page_joins_those_of_its_host_and_a_listing_does_not(page, path, server):
    server.pages["/a"] = "text/html", b"<!doctype html><title>a</title><p>hello"
    server.pages["/b"] = "text/html", b"<!doctype html><title>b</title><p>hello"
    for name in ("/a", "/b"):
        form = tried(page, server.url + name)
        page.post("/add/save", urlencode(fields(form)))
    (source,) = Config.load(path).source
    assert source.pages == (f"{server.url}/a", f"{server.url}/b")


def test_a_name_that_is_taken_is_told_at_its_field(page, path, jobs):
    form = tried(page, jobs)
    given = fields(form)
    page.post("/add/save", urlencode(given))
    before = path.read_text()
    again = fields(tried(page, jobs))
    assert dict(again)["name"] != dict(given)["name"]
    clash = [(k, dict(given)["name"] if k == "name" else v) for k, v in again]
    answer = page.post("/add/save", urlencode(clash))
    assert answer.status == 422
    assert "already" in shown(answer).cssselect("#wrong-name")[0].text_content()
    assert path.read_text() == before


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("name", "a b", "should match"),
        ("name", "x" * 300, "at most 200"),
        ("name", "\u202eevil", "should match"),
        ("target", "freshness >= 0.9", "age or recall"),
        ("weight", "0", "greater than 0"),
        ("max_requests", "none", "whole number"),
    ],
)
def test_a_wrong_value_is_told_at_its_field(page, path, jobs, field, value, said):
    given = [(k, value if k == field else v) for k, v in fields(tried(page, jobs))]
    answer = page.post("/add/save", urlencode(given))
    assert answer.status == 422
    assert said in shown(answer).cssselect(f"#wrong-{field}")[0].text_content()
    assert path.read_text() == ALLOWED


def test_a_file_that_changed_meanwhile_is_not_overwritten(page, path, jobs):
    form = tried(page, jobs)
    path.write_text(ALLOWED + "# mine\n")
    answer = page.post("/add/save", urlencode(fields(form)))
    assert answer.status == 409
    first, second = shown(answer).cssselect(".clash .diff")
    assert "# mine" in first.text_content()
    assert 'key = "id"' in second.text_content()
    assert path.read_text() == ALLOWED + "# mine\n"
    assert page.post("/add/save", urlencode(fields(answer))).status == 303
    assert "# mine" in path.read_text()


def test_what_was_added_can_be_undone(page, path, jobs):
    page.post("/add/save", urlencode(fields(tried(page, jobs))))
    page.post("/edit/undo", "number=1")
    assert path.read_text() == ALLOWED


def test_the_first_source_of_all_writes_the_settings(visit, tmp_path, server):
    """Without a file there is no network that is allowed: so nothing is fetched."""
    page = visit(tmp_path / "halflife.toml")
    assert page.get("/add").status == 200
    answer = tried(page, f"{server.url}/jobs")
    assert "its address is not public" in answer.text
    assert server.asked == []
    assert not (tmp_path / "halflife.toml").exists()


def complaint(answer):
    return shown(answer).cssselect("#wrong-url")[0].text_content()


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("", "Give an address"),
        ("ftp://a.example/", "only http and https"),
        ("file:///etc/passwd", "only http and https"),
        ("javascript:alert(1)", "only http and https"),
        ("http://", ""),
        ("http://a.example:99999/", ""),
        ("http://user:secret@a.example/", ""),
        ("x" * 2500, "2000 characters at most"),
    ],
)
def test_what_is_no_address_is_told_at_once_and_stays(page, url, said):
    answer = tried(page, url)
    assert answer.status == 422
    assert complaint(answer)
    assert said in complaint(answer)
    assert shown(answer).cssselect("#url")[0].get("value") == url


def test_a_host_that_does_not_exist_is_told_in_plain_words(page):
    answer = tried(page, "http://nothing.invalid/")
    assert "no such host" in complaint(answer)
    assert shown(answer).cssselect("#url")[0].get("value") == "http://nothing.invalid/"


def test_a_missing_page_and_a_forbidden_one_are_told(page, server):
    assert "it answered 404" in complaint(tried(page, f"{server.url}/nix"))
    server.pages["/robots.txt"] = "text/plain", b"User-agent: *\nDisallow: /\n"
    answer = tried(page, f"http://localhost:{urlsplit(server.url).port}/x")
    assert "robots.txt forbids this page" in complaint(answer)


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "[::1]", "0.0.0.0", "2130706433", "0x7f.1"]
)
def test_addresses_that_are_not_public_are_refused(visit, tmp_path, server, host):
    found = tmp_path / "halflife.toml"
    found.write_text("[fetch]\ndelay = 0.0\n")
    answer = tried(visit(found), f"http://{host}:{urlsplit(server.url).port}/jobs")
    assert complaint(answer)
    assert "[serve] allow" in complaint(answer) or "no such host" in complaint(answer)
    assert server.asked == []


def test_a_slow_server_keeps_nobody_else_waiting(page, server, jobs):
    server.go.clear()
    began = time.monotonic()
    answer = page.post("/add", urlencode({"url": jobs}))
    where = answer.headers["location"]
    waiting = page.get(where)
    assert waiting.headers["refresh"]
    assert "Fetching" in waiting.text
    assert page.get("/sources").status == 200
    assert time.monotonic() - began < 5.0
    trial = dict(pair.split("=") for pair in urlsplit(where).query.split("&"))["trial"]
    assert page.get(f"/add/trial.json?trial={trial}").json["state"] == "running"
    server.go.set()


def test_a_trial_that_is_forgotten_keeps_the_address(page):
    answer = page.get("/add?trial=nix&url=https%3A%2F%2Fa.example%2F")
    assert answer.status == 410
    assert "no longer kept" in complaint(answer)
    assert shown(answer).cssselect("#url")[0].get("value") == "https://a.example/"
    assert page.get("/add/trial.json?trial=nix").json["state"] == "lost"


def test_what_a_stranger_sends_is_shown_and_does_nothing(page, path, server):
    row = {"id": 1, EVIL: EVIL, "bidi": "\u202eevil", "long": "x" * 10_000}
    rows = [{**row, "id": n} for n in range(5)]
    server.pages["/evil"] = "application/json", json.dumps(rows).encode()
    answer = tried(page, f"{server.url}/evil")
    tree = shown(answer)
    assert {one.get("src") for one in tree.cssselect("script")} == {
        "/static/halflife.js",
        "/static/edit.js",
    }
    assert not tree.cssselect("img, iframe, [onerror]")
    assert "\u202e" not in answer.text
    assert len(answer.body) < 40_000
    page.post("/add/save", urlencode(fields(answer)))
    assert Config.load(path).source[0].key == "id"
