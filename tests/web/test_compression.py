"""Answers are small on the wire, and hold nothing that their length could betray."""

import gzip

import pytest

from halflife.web.server import ServeWish, running
from web_visitor import Visitor

PAGES = ("overview", "sources", "plan", "what-if", "inbox", "league", "audit")
SOURCES = ("handbook", "gazette", "archive", "jobs", "cars", "library")
SMALL = {"Accept-Encoding": "gzip"}


@pytest.mark.parametrize("page", [*PAGES, *(f"source?name={n}" for n in SOURCES)])
@pytest.mark.parametrize("form", ["", ".json"])
def test_a_page_is_compressed_for_who_takes_that(full, page, form):
    name, _, query = page.partition("?")
    path = f"/{name}{form}?{query}"
    plain, small = full.get(path), full.get(path, **SMALL)
    if len(plain.body) < 1024:
        assert "content-encoding" not in small.headers
        return
    assert small.headers["content-encoding"] == "gzip"
    assert "Accept-Encoding" in small.headers["vary"]
    assert "content-encoding" not in plain.headers
    assert len(small.body) < 0.6 * len(plain.body)
    assert len(small.body) < 100_000
    first, second = plain.text[:40], gzip.decompress(small.body).decode()[:40]
    assert first == second


@pytest.mark.parametrize("name", ["halflife.css", "halflife.js"])
def test_styles_and_scripts_are_compressed_and_whole(full, name):
    small = full.get(f"/static/{name}", **SMALL)
    assert gzip.decompress(small.body) == full.get(f"/static/{name}").body


def test_compressed_answers_have_their_seals(full):
    plain, small = full.get("/overview"), full.get("/overview", **SMALL)
    for name in ("content-security-policy", "cache-control", "referrer-policy"):
        assert small.headers[name] == plain.headers[name]


def test_no_answer_holds_a_token(full):
    """Else its length would betray it to who can choose a part of the answer."""
    for page in [*PAGES, *(f"source?name={name}" for name in SOURCES)]:
        name, _, query = page.partition("?")
        for form in ("", ".json"):
            answer = full.get(f"/{name}{form}?q=x&budget=7&health=x&kind=x&{query}")
            assert full.token not in answer.text
            assert "token" not in answer.text.lower().replace("tokens", "")
    for path in ("changes?q=x", "add?url=x", "edit?name=news", "items?source=jobs&q=x"):
        answer = full.get(f"/{path}")
        assert answer.status == 200
        assert full.token not in answer.text


@pytest.fixture
def expired(made):
    """A visitor whose cookie is that of a server that was started anew since."""
    with running(ServeWish(made, port=0)) as served:
        here = Visitor(served)
        yield here, {"Cookie": f"{cookie(here)}=old"}


def cookie(visitor):
    return f"halflife-{visitor.host.rpartition(':')[2]}"


def test_an_expired_token_is_said_to_be_so_where_somebody_looks(expired):
    here, kept = expired
    page = here.ask("GET", "/overview", {**kept, "Accept": "text/html,*/*"})
    assert page.status == 401
    assert page.headers["content-type"].startswith("text/html")
    assert "no longer valid" in page.text
    assert "<code>halflife serve</code>" in page.text
    assert "style-src 'sha256-" in page.headers["content-security-policy"]
    pressed = here.ask("POST", "/sync", {**kept, "Accept": "text/html"}, "source=news")
    assert (pressed.status, "Nothing was done" in pressed.text) == (401, True)
    polled = here.ask("GET", "/jobs.json", kept)
    assert (polled.status, polled.json["status"]) == (401, 401)
    assert "no longer valid" in polled.json["said"]


def test_who_never_had_a_token_is_told_where_to_find_it(expired):
    here, _ = expired
    page = here.ask("GET", "/overview", {"Accept": "text/html"})
    assert "ends with ?token=" in page.text
    assert "no longer valid" not in page.text
    assert here.ask("GET", "/overview", {}).text.startswith("401: this page needs")
