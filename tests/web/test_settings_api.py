"""Programs change settings as the page does: tried, shown, saved, undone."""

import json
import time

import pytest

from halflife.config import Config
from halflife.web.server import ServeWish, running
from web_visitor import Visitor

READER, ACTOR = "reader-" + "r" * 20, "actor-" + "a" * 20
TEXT = """\
# Ours.
[fetch]
delay = 0.0

[serve]
allow = ["127.0.0.0/8"]
[[serve.token]]
name = "board"
token = {env = "READER"}
[[serve.token]]
name = "robot"
scope = "act"
token = {env = "ACTOR"}

[[source]]
name = "docs"
pages = ["https://docs.example/"]  # the start
"""


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    path = tmp_path_factory.mktemp("edited") / "halflife.toml"
    path.write_text(TEXT, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("READER", READER)
        patch.setenv("ACTOR", ACTOR)
        with running(ServeWish(path, port=0)) as found:
            yield path, Visitor(found)


@pytest.fixture
def path(served):
    """The settings as they were, without a history."""
    for one in served[0].parent.glob("halflife.db-settings/*.json"):
        one.unlink()
    served[0].write_text(TEXT, encoding="utf-8")
    return served[0]


@pytest.fixture
def send(served, path):
    assert path == served[0]

    def send(method, where, body=None, token=ACTOR):
        headers = {"Authorization": f"Bearer {token}"}
        text = body if isinstance(body, str) else json.dumps(body)
        sent = None if body is None else text
        return served[1].ask(method, f"/api/v1/{where}", headers, sent)

    return send


@pytest.fixture
def jobs(server):
    rows = [{"id": n, "title": f"Vacancy {n}", "town": "Bonn"} for n in range(22)]
    server.pages["/jobs"] = "application/json", json.dumps(rows).encode()
    return f"{server.url}/jobs"


def tried(send, url, **more):
    answer = send("POST", "trials", {"url": url, **more})
    assert answer.status == 202
    for _ in range(400):
        found = send("GET", f"trials/{answer.json['trial']}").json
        if found["state"] != "running":
            return found
        time.sleep(0.02)
    raise AssertionError("the trial did not end")


def test_a_source_is_tried_shown_and_added(send, path, jobs, server):
    trial = tried(send, jobs)
    assert trial["headline"] == "JSON listing of 22 records, key: id"
    assert trial["sample"]["heads"] == ["id", "title", "town"]
    wish = {"trial": trial["trial"], "name": "work", "fields": ["id", "title"]}
    wish |= {"target": "recall >= 0.9", "weight": 2}
    shown = send("POST", "sources", {**wish, "dry_run": True}).json
    assert (shown["saved"], path.read_text()) == (False, TEXT)
    done = send("POST", "sources", {**wish, "mark": shown["mark"]})
    assert (done.status, done.json["diff"]) == (201, shown["diff"])
    source = Config.load(path).named(["work"])[0]
    assert source.fields == {"id": "id", "title": "title"}
    assert (source.target, source.weight) == ("recall >= 0.9", 2.0)
    assert server.asked == ["/robots.txt", "/jobs"]


def test_what_was_recognised_wrongly_is_corrected_without_another_request(
    send, jobs, server
):
    first = tried(send, jobs)
    again = tried(send, jobs, key="title", trial=first["trial"])
    assert again["key"] == "title"
    assert server.asked == ["/robots.txt", "/jobs"]


def test_a_trial_that_failed_says_why_and_adds_nothing(send, path, server):
    trial = tried(send, f"{server.url}/nix")
    assert trial["state"] == "failed"
    assert "it answered 404" in trial["trouble"]
    answer = send("POST", "sources", {"trial": trial["trial"]})
    assert answer.status == 422
    assert path.read_text() == TEXT


def test_values_of_a_source_are_changed_and_taken_out(send, path):
    done = send("PATCH", "sources/docs", {"target": ["freshness >= 0.9"], "weight": 2})
    assert done.json["saved"]
    assert [line["text"] for line in done.json["diff"] if line["sign"] == "+"] == [
        'target = ["freshness >= 0.9"]',
        "weight = 2",
    ]
    send("PATCH", "sources/docs", {"target": None, "weight": None})
    assert path.read_text() == TEXT


def test_a_source_is_paused_and_goes_on(send, path):
    send("PATCH", "sources/docs", {"paused": True})
    assert Config.load(path).source[0].paused
    send("PATCH", "sources/docs", {"paused": False})
    assert path.read_text() == TEXT


def test_the_budget_is_changed_and_the_change_undone(send, path):
    done = send("PATCH", "budget", {"requests": 70, "per": "week"}).json
    assert Config.load(path).budget.requests == 70
    told = send("GET", "settings/changes", token=READER).json
    assert told["last"] == done["number"]
    assert told["results"][0]["what"] == "budget: requests 70, per week"
    assert "before" not in json.dumps(told)
    assert send("POST", "settings/undo", {"number": done["number"]}).status == 200
    assert path.read_text() == TEXT
    assert send("POST", "settings/undo", {"number": done["number"]}).status == 404


def test_a_source_is_taken_out_and_comes_back(send, path):
    done = send("DELETE", "sources/docs").json
    assert Config.load(path).source == ()
    send("POST", "settings/undo", {"number": done["number"]})
    assert path.read_text() == TEXT


def test_a_change_for_an_older_file_is_refused_with_both_differences(send, path):
    mark = send("PATCH", "sources/docs", {"weight": 3, "dry_run": True}).json["mark"]
    path.write_text(TEXT + "# mine\n")
    answer = send("PATCH", "sources/docs", {"weight": 3, "mark": mark})
    assert answer.status == 409
    assert "# mine" in [line["text"] for line in answer.json["theirs"]]
    assert "weight = 3" in [line["text"] for line in answer.json["mine"]]
    assert path.read_text() == TEXT + "# mine\n"


@pytest.mark.parametrize(
    ("method", "where", "body", "field"),
    [
        ("PATCH", "sources/docs", {"weight": -1}, "weight"),
        ("PATCH", "sources/docs", {"weight": "2"}, "weight"),
        ("PATCH", "sources/docs", {"target": "recall >= 0.9"}, "target"),
        ("PATCH", "sources/docs", {"max_requests": 1.5}, "max_requests"),
        ("PATCH", "sources/docs", {"paused": "yes"}, "paused"),
        ("PATCH", "sources/docs", {"allow": ["10.0.0.0/8"]}, "allow"),
        ("PATCH", "sources/docs", {"python": "os:system"}, "python"),
        ("PATCH", "sources/docs", {"name": "x"}, "name"),
        ("PATCH", "sources/docs", {"weight": 2, "mark": 7}, ""),
        ("PATCH", "sources/docs", {"weight": 2, "dry_run": "no"}, ""),
        ("PATCH", "budget", {"requests": 0}, "requests"),
        ("PATCH", "budget", {"requests": 5, "per": "eon"}, "per"),
        ("PATCH", "budget", {"requests": 5, "mode": "x"}, "mode"),
        ("POST", "trials", {"url": "file:///etc/passwd"}, "url"),
        ("POST", "trials", {"url": 7}, "url"),
        ("POST", "trials", {"url": "https://a.example/", "allow": "x"}, "allow"),
        ("POST", "sources", {"trial": "nix", "allow": ["::/0"]}, "allow"),
        ("POST", "settings/undo", {"number": "1"}, "number"),
    ],
)
def test_what_cannot_be_used_is_named(send, path, method, where, body, field):
    answer = send(method, where, body)
    assert (answer.status, list(answer.json["values"])) == (422, [field])
    assert path.read_text() == TEXT


@pytest.mark.parametrize("body", ["", "[]", "{", "null", '"x"'])
def test_what_is_no_object_is_refused(send, body):
    assert send("PATCH", "sources/docs", body).status == 400


@pytest.mark.parametrize(
    ("method", "where"),
    [
        ("PATCH", "sources/nix"),
        ("DELETE", "sources/nix"),
        ("GET", "trials/nix"),
    ],
)
def test_what_is_not_there_is_not_found(send, method, where):
    assert send(method, where, {} if method == "PATCH" else None).status == 404


@pytest.mark.parametrize(
    ("method", "where"),
    [
        ("POST", "trials"),
        ("POST", "sources"),
        ("PATCH", "sources/docs"),
        ("DELETE", "sources/docs"),
        ("PATCH", "budget"),
        ("POST", "settings/undo"),
    ],
)
def test_a_token_that_may_only_read_changes_nothing(served, send, path, method, where):
    body = {"url": "https://a.example/", "weight": 2, "requests": 5, "number": 1}
    assert send(method, where, body, READER).status == 403
    cookie = f"halflife-{served[1].host.partition(':')[2]}={served[1].token}"
    headers = {"Cookie": cookie, "Sec-Fetch-Site": "same-origin"}
    answer = served[1].ask(method, f"/api/v1/{where}", headers, json.dumps(body))
    assert answer.status == 403
    assert path.read_text() == TEXT
