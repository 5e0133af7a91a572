"""Fetches that fail: why, since when, and where that is said."""

import time
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread

import pytest

from halflife.config import Config
from halflife.engine import bootstrap, breakers
from halflife.engine.failures import HEADINGS, reason_of
from halflife.web import actions

SITE = """
[fetch]
delay = 0
timeout = 0.5
[[source]]
name = "site"
allow = ["127.0.0.0/8"]
robots = {robots}
{what}
"""
PAGES = 'pages = ["{url}/"]'
LIST = 'kind = "listing"\nkey = "id"\nurl = "{url}/"'
FORM = (
    'kind = "form"\nkey = "id"\nform_url = "{url}/"\n'
    'attributes = {{ city = {{ param = "c", values = ["Oslo", "Rome"] }} }}'
)


@pytest.fixture
def site():
    """A server on loopback that fails in the way a test says."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            if self.path == "/robots.txt":
                self.answer(200, b"User-agent: *\nDisallow: /\n")
            elif server.way == "timeout":
                server.ended.wait(5.0)
            else:
                self.answer(server.way, b"<p>no JSON")

        def answer(self, status, body):
            self.send_response(status)
            self.send_header("Content-Type", "text/plain")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.way, server.ended = HTTPStatus.OK, Event()
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.ended.set()
    server.shutdown()
    server.server_close()
    thread.join()


def settings(tmp_path, site, what, *, robots="false", scheme="http"):
    path = tmp_path / "halflife.toml"
    url = f"{scheme}://127.0.0.1:{site.server_port}"
    path.write_text(SITE.format(what=what.format(url=url), robots=robots))
    return path


def pressed(visitor):
    """Return what came of pressing the button."""
    visitor.post("/sync", "source=site")
    for _ in range(600):
        job = visitor.get("/jobs.json").json["results"][0]
        if job["state"] != "running":
            return job
        time.sleep(0.02)
    raise AssertionError(job)


@pytest.mark.parametrize(
    ("what", "way", "reason"),
    [
        (PAGES, 503, "status"),
        (PAGES, "timeout", "timeout"),
        (LIST, 503, "status"),
        (LIST, 200, "parse"),
        (FORM, 503, "status"),
        (FORM, 200, "parse"),
    ],
)
def test_a_sync_that_fails_says_why_everywhere(
    tmp_path, site, visit, what, way, reason
):
    site.way = way
    here = visit(settings(tmp_path, site, what))
    before = bootstrap.clock()
    job = pressed(here)
    assert job["state"] == "failed"
    # The second query of a form waits, as the first one failed.
    assert reason_of(job["said"]) in {reason, "backoff"}
    (row,) = here.get("/sources.json").json["results"]
    one = here.get("/source.json?name=site").json
    assert row["health"] == one["health"] == "failing"
    assert row["failure"]["reason"] == reason
    assert row["failure"]["heading"] == HEADINGS[reason]
    assert row["failure"]["said"] in one["why"]
    assert 0 <= row["failure"]["for"] < bootstrap.clock() - before + 1 / 1440
    page = here.get("/source?name=site").text
    for wrong in ("was fetched yet", "never looked", "no page was", "Nobody"):
        assert wrong not in page
    assert "never succeeded" in page
    if what == PAGES:
        (item,) = one["items_shown"]
        assert reason_of(item["trouble"]) == reason
        assert item["trouble"] in page
    assert HEADINGS[reason] in here.get("/sources").text
    assert HEADINGS[reason] in here.get("/overview").text
    if what != FORM:
        (run,) = one["runs"]
        assert run["failed"] == 1
        assert run["troubles"][0]["reason"] == reason
        assert "1 failed" in page


def test_a_page_that_robots_forbid_or_without_encryption_says_so(tmp_path, site, visit):
    here = visit(settings(tmp_path, site, PAGES, robots="true"))
    assert reason_of(pressed(here)["said"]) == "robots"
    assert here.get("/source.json?name=site").json["failure"]["reason"] == "robots"


def test_a_server_without_encryption_is_said_to_have_none(tmp_path, site, visit):
    here = visit(settings(tmp_path, site, PAGES, scheme="https"))
    assert reason_of(pressed(here)["said"]) == "tls"
    assert here.get("/source.json?name=site").json["failure"]["reason"] == "tls"


def test_what_is_well_again_is_no_longer_said_to_fail(tmp_path, site, visit):
    site.way = 503
    path = settings(tmp_path, site, FORM)
    here = visit(path)
    pressed(here)
    config = Config.load(path)
    with bootstrap.writing(config) as store:
        old = breakers.recall(store, "site")
        assert old.failures == 1
        breakers.remember(store, "site", old.fine(bootstrap.clock()))
    assert here.get("/source.json?name=site").json["failure"] is None


def test_a_host_that_cannot_be_reached_is_not_said_to_forbid_it(tmp_path, visit):
    path = tmp_path / "halflife.toml"
    what = 'pages = ["http://127.0.0.1:1/"]'
    path.write_text(SITE.format(what=what, robots="true"))
    here = visit(path)
    assert pressed(here)["state"] == "failed"
    (row,) = here.get("/sources.json").json["results"]
    assert row["failure"]["reason"] == "connection"
    assert "robots.txt forbids" not in here.get("/overview").text
    text = here.get("/source?name=site").text
    assert "No fetch has succeeded yet" in text
    assert 'id="past-wide"' not in text  # nothing is known: nothing is drawn


def test_some_pages_that_fail_do_not_make_a_sync_green(tmp_path, server):
    server.pages["/a"] = "text/html", b"<p>a"
    what = 'pages = ["{url}/a", "http://127.0.0.1:1/"]'
    path = settings(tmp_path, server, what)
    done = actions.sync(Config.load(path), "site")
    assert done.state == "partly"
    assert "no connection" in done.text


@pytest.mark.parametrize(
    ("note", "reason"),
    [
        ("a.example: no such host", "dns"),
        ("a.example: its certificate is not valid", "tls"),
        ("a.example: no secure connection could be made", "tls"),
        ("a.example: no full answer in time", "timeout"),
        ("https://a.example/x: it answered 404", "status"),
        ("503 Service Unavailable", "status"),
        ("127.0.0.1: no connection could be made", "connection"),
        ("a.example: its robots.txt forbids this page", "robots"),
        ("a.example: no such host, so its robots.txt could not be read", "dns"),
        (
            "a.example: no answer in time, so its robots.txt could not be read",
            "timeout",
        ),
        ("a.example: its robots.txt answered 503, so it is closed", "robots"),
        ("x: its answer cannot be read as the settings say: no JSON", "parse"),
        ("a.example: left alone for another 2 min (it was busy or failed)", "backoff"),
        ("a.example: left alone for another 2 min (it answered 503)", "status"),
        ("a.example: left alone for another 2 min (it hung up)", "connection"),
        ("a.example: it hung up without an answer", "connection"),
        ("a.example: its address is not public; name its network", "refused"),
        ("not believed yet: 9 of 10 pages look alike", "held"),
        ("nobody knows", "other"),
    ],
)
def test_every_note_belongs_under_one_heading(note, reason):
    assert reason_of(note) == reason
    assert HEADINGS[reason]
