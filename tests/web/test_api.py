"""The API for programs: what the page says, within the scope of a token."""

import asyncio
import json
import shutil
import sqlite3
import threading
import time
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path
from urllib.parse import quote

import pytest
from starlette.routing import Route

import halflife
from halflife.cli import main
from halflife.config import Config
from halflife.core.errors import ConfigError
from halflife.engine import bootstrap
from halflife.engine.export_rows import ExportSelection
from halflife.stores.change_log import remove_before
from halflife.web import record_stream
from halflife.web.record_stream import RecordStream, export_parts
from halflife.web.server import ServeWish, prepare
from sink_parts import changes, opened, settings

PAGE = "https://handbook.example/"
READER, ACTOR = "reader-" + "r" * 20, "actor-" + "a" * 20
TOKENS = """
[[serve.token]]
name = "board"
token = {env = "READER"}
[[serve.token]]
name = "robot"
scope = "act"
token = {env = "ACTOR"}
"""
FILLED = {"name": "jobs", "source": "jobs", "item": PAGE, "trial": "nix"}
BODIES = {
    "sync": {"source": "nix"},
    "decide": {"run": 0, "verdict": "retry"},
    "push": {"urlList": None},  # which writes nothing
    "try": {"url": "nix"},
    "add": {"trial": "nix"},
    "edit": {},  # which changes nothing
    "remove": {},
    "budget": {"requests": 0},
    "undo": {"number": 999},
}
# What is answered to those bodies: all got as far as looking for something.
ANSWERED = {"try": 422, "edit": 200, "remove": 409, "budget": 422}


def api(visitor, path):
    return visitor.get(f"/api/v1/{path}")


def send(visitor, path, body, headers=None):
    given = visitor.bearer if headers is None else headers
    text = body if isinstance(body, str) else json.dumps(body)
    return visitor.ask("POST", f"/api/v1/{path}", given, text)


def said_by(capsys, *words):
    assert main([*words]) == 0
    return capsys.readouterr().out


@pytest.fixture(scope="module")
def described(full):
    return api(full, "openapi.json").json


def operations(described):
    for path, ways in described["paths"].items():
        for method, operation in ways.items():
            yield path, method, operation


def test_every_route_is_described_and_nothing_else(full, described):
    served = {
        (route.path, method.lower())
        for route in full.app.routes
        if isinstance(route, Route) and route.path.startswith("/api/")
        for method in route.methods - {"HEAD"}
    }
    assert {(path, method) for path, method, _ in operations(described)} == served
    assert described["openapi"].startswith("3.1")
    names = [one["operationId"] for _, _, one in operations(described)]
    assert len(set(names)) == len(names) == len(served)


def test_every_parameter_in_a_path_is_described(described):
    for path, method, one in operations(described):
        inside = {p["name"] for p in one["parameters"] if p["in"] == "path"}
        assert inside == {part[1:-1] for part in path.split("/") if part[:1] == "{"}
        assert one["security"] == [{"token": ["read" if method == "get" else "act"]}]


def test_every_described_route_answers(full, described):
    for path, method, one in operations(described):
        needed = [p for p in one["parameters"] if p["required"] and p["in"] == "query"]
        query = "&".join(f"{p['name']}={quote(FILLED[p['name']])}" for p in needed)
        address = f"{path.format(**FILLED)}?{query}"
        if path.endswith("{trial}"):
            assert full.get(address).status == 404
        elif method == "get":
            answer = full.get(address)
            assert answer.status == 200, address
            (kind,) = one["responses"]["200"]["content"]
            assert answer.headers["content-type"].partition(";")[0] == kind
        else:
            name = one["operationId"]
            body = BODIES[name]
            if method != "delete":
                known = one["requestBody"]["content"]["application/json"]["schema"]
                assert known["required"] == list(body)
            address += "mark=nix"
            answer = full.ask(method.upper(), address, full.bearer, json.dumps(body))
            assert answer.status == ANSWERED.get(name, 404), name
        assert answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    ("path", "twin"),
    [
        ("overview", "overview.json"),
        ("sources?kind=listing&sort=name", "sources.json?kind=listing&sort=name"),
        ("sources/handbook?page=2", "source.json?name=handbook&page=2"),
        ("plan", "plan.json"),
        ("whatif?budget=600", "what-if.json?budget=600"),
        ("audit", "audit.json"),
        ("inbox", "inbox.json"),
        ("league", "audit/league.json"),
        ("jobs", "jobs.json"),
    ],
)
def test_answers_are_those_of_the_page(full, path, twin, monkeypatch):
    seen = full.site.board.survey()
    monkeypatch.setattr(full.site.board, "survey", lambda: seen)
    assert api(full, path).json == full.get(f"/{twin}").json


@pytest.mark.parametrize(
    ("path", "status", "part"),
    [
        ("nix", 404, "Not Found"),
        ("sources/nix", 404, "no source is named 'nix'"),
        ("records/nix", 404, "no source is named 'nix'"),
        ("records/library", 404, "nothing is held of library"),
        ("records/jobs?as_of=soon", 400, "as_of: give a time"),
        ("changes?source=nix", 404, "no source is named 'nix'"),
        ("changes?since=soon", 400, "since: give a time"),
        ("changes?since=999999999", 400, "there is no change 999999999"),
        ("changes?most=10001", 400, "from 1 to 10000"),
        ("changes?most=0", 400, "from 1 to 10000"),
        ("changes?most=" + "9" * 150, 400, "from 1 to 10000"),
        ("diff", 400, "item: name a page"),
        ("diff?item=nix", 404, "no page or record"),
        (f"diff?item={PAGE}&from=99", 404, "are kept"),
        ("forecast/nix", 404, "no source is named 'nix'"),
        ("forecast/jobs?days=nan", 400, "days: give up to 100"),
        ("forecast/jobs?days=-1", 400, "days: give up to 100"),
        ("forecast/jobs?days=", 400, "days: give up to 100"),
        ("copy?item=nix", 404, "there is no copy"),
    ],
)
def test_errors_are_json_with_one_clear_line(full, path, status, part):
    answer = api(full, path)
    assert answer.status == status
    assert answer.json["status"] == status
    assert part in answer.json["said"]
    assert "\n" not in answer.json["said"]


def test_changes_are_those_of_the_verb(full, made, capsys):
    told = said_by(capsys, "changes", "--since", "0", "--json", "--config", str(made))
    rows = [json.loads(line) for line in told.splitlines()]
    answer = api(full, "changes?since=0&most=10000").json
    assert answer["results"] == rows
    assert answer["next"] == rows[-1]["seq"]
    assert answer["more"] is False


@pytest.mark.parametrize("source", ["", "jobs"])
def test_whoever_follows_the_cursor_gets_each_change_once(full, source):
    more = f"&source={source}" if source else ""
    whole = api(full, f"changes?most=10000{more}").json
    seen, since, rounds = [], 0, 0
    while True:
        part = api(full, f"changes?since={since}&most=700{more}").json
        seen += part["results"]
        since, rounds = part["next"], rounds + 1
        if not part["more"]:
            break
    assert seen == whole["results"]
    assert {row["source"] for row in seen} >= {source or "handbook"}
    assert since == whole["next"]
    assert rounds == -(-len(seen) // 700)
    assert api(full, f"changes?since={since}{more}").json["results"] == []


def test_changes_since_a_time_begin_there(full):
    rows = api(full, "changes?most=10000").json["results"]
    moments = sorted({row["at"] for row in rows})
    at = moments[-2]  # sources were written one after the other
    found = api(full, f"changes?since={at}&most=10000").json["results"]
    later = [row["seq"] for row in rows if row["at"] > at]
    assert 0 < len(found) < len(rows)
    assert {*later} <= {row["seq"] for row in found}


def test_changes_that_are_no_longer_kept_are_said_to_be_gone(tmp_path, visit):
    config = settings(tmp_path, '[[source]]\nname = "jobs"\npages = []\n')
    with opened(config) as store:
        store.changes.append(changes(5))
    with closing(sqlite3.connect(config.store_path)) as db, db:
        removed = remove_before(db, 1e6, 1e6, 3)
    here = visit(config.path)
    answer = api(here, "changes?since=1")
    assert (answer.status, answer.json["status"]) == (410, 410)
    assert f"go on from {removed}" in answer.json["said"]
    kept = api(here, "changes").json
    assert [row["seq"] for row in kept["results"]] == [*range(removed + 1, 6)]


@pytest.mark.parametrize("source", ["jobs", "handbook"])
def test_records_are_those_of_an_export(full, made, capsys, source):
    told = said_by(capsys, "export", source, "--config", str(made))
    answer = api(full, f"records/{source}")
    assert answer.text == told
    assert answer.headers["transfer-encoding"] == "chunked"
    newest = max(json.loads(line)["first_seen"] for line in told.splitlines())
    at = (datetime.fromisoformat(newest) - timedelta(days=1)).isoformat()
    then = said_by(capsys, "export", source, "--as-of", at, "--config", str(made))
    assert api(full, f"records/{source}?as_of={quote(at)}").text == then
    assert then != told


def threads():
    return [one for one in threading.enumerate() if one.name.startswith("records")]


def gone(found):
    for one in found:
        one.join(5.0)
    return not any(one.is_alive() for one in found)


def test_many_records_come_in_parts_and_an_ended_visit_ends_the_reading(
    made, monkeypatch
):
    monkeypatch.setattr(record_stream, "PART", 100)
    rows = RecordStream(export_parts(Config.load(made), ExportSelection("jobs")))

    async def some():
        await rows.begin()
        parts = rows.parts()
        found = [await anext(parts) for _ in range(3)]
        mine = threads()
        await parts.aclose()
        return found, mine

    found, mine = asyncio.run(some())
    assert all(100 <= len(part) < 400 for part in found)
    assert all(json.loads(line) for line in b"".join(found).splitlines())
    assert mine
    assert gone(mine)


def test_nothing_goes_on_reading_after_an_answer(full):
    for path, status in (("records/jobs", 200), ("records/library", 404)):
        assert api(full, path).status == status
    assert gone(threads())


def test_a_diff_is_that_of_the_verb(full, made, capsys):
    for more in ("", "&from=1&to=1"):
        words = ["--to", "1"] if more else []
        told = said_by(capsys, "diff", PAGE, *words, "--json", "--config", str(made))
        assert api(full, f"diff?item={PAGE}{more}").json == json.loads(told)
    assert api(full, f"diff?item={PAGE}&source=handbook").json["lines"]
    key = api(full, "changes?source=jobs").json["results"][0]["key"]
    found = api(full, f"diff?item={key}&from=0&source=jobs").json
    assert (found["key"], found["fields"]) == (key, {})


def test_a_forecast_is_that_of_the_library(full, made):
    answer = api(full, "forecast/jobs?days=7,0").json
    cast = halflife.forecast(halflife.open_project(made), "jobs", [0.0, 7.0])
    assert [row["days"] for row in answer["results"]] == [0.0, 7.0]
    for name in ("mean", "low", "high"):
        found = [row[name] for row in answer["results"]]
        assert found == pytest.approx(getattr(cast, name).tolist(), abs=1e-3)
    assert answer["measure"] == cast.measure


def test_without_settings_there_is_just_nothing(empty):
    assert api(empty, "overview").json["sources"] == 0
    assert api(empty, "changes").json == {"results": [], "next": 0, "more": False}


@pytest.fixture
def scoped(made, tmp_path, visit, monkeypatch):
    """Serve a copy of the made-up state with two further tokens."""
    monkeypatch.setenv("READER", READER)
    monkeypatch.setenv("ACTOR", ACTOR)
    shutil.copytree(made.parent, tmp_path / "own")
    path = tmp_path / "own" / made.name
    path.write_text(path.read_text() + TOKENS)
    return visit(path)


def bearer(token):
    return {"Authorization": f"Bearer {token}"}


def ended(visitor, number):
    for _ in range(200):
        jobs = {job["id"]: job for job in api(visitor, "jobs").json["results"]}
        if jobs[number]["state"] != "running":
            return jobs[number]
        time.sleep(0.05)
    raise AssertionError("the job goes on for ever")


def test_a_reading_token_reads_and_sets_nothing_going(scoped):
    get = scoped.ask("GET", "/api/v1/jobs", bearer(READER))
    assert (get.status, get.json) == (200, {"results": []})
    for path in ("sync", "decide", "push"):
        answer = send(scoped, path, {"source": "jobs"}, bearer(READER))
        assert answer.status == 403
        assert answer.json["status"] == 403
        assert 'needs one with scope = "act"' in answer.json["said"]
    assert scoped.site.background.jobs == []


def test_an_acting_token_decides(scoped):
    held = api(scoped, "inbox").json["results"]
    body = {"run": held[0]["run"], "verdict": "keep"}
    answer = send(scoped, "decide", body, bearer(ACTOR))
    assert answer.status == 202
    job = ended(scoped, answer.json["id"])
    assert (job["state"], job["said"]) == ("done", "jobs: the copy stays as it is")
    assert api(scoped, "inbox").json["results"] == held[1:]


def test_an_acting_token_begins_a_sync(scoped):
    answer = send(scoped, "sync", {"source": "library"}, bearer(ACTOR))
    assert answer.status == 202
    assert answer.json["what"] == "sync library"
    assert ended(scoped, answer.json["id"])["source"] == "library"


@pytest.mark.parametrize("token", [READER, ACTOR])
def test_further_tokens_open_the_api_alone(scoped, token):
    for path in ("/", "/overview.json", "/jobs.json", "/apix", "/api", "/copy?item=x"):
        assert scoped.ask("GET", path, bearer(token)).status == 401
        assert scoped.ask("GET", f"{path}?token={token}").status == 401
    for path in ("/sync", "/push.json", "/demo"):
        assert scoped.ask("POST", path, bearer(token), "source=jobs").status == 401
    cookie = {"Cookie": f"halflife-{scoped.host.partition(':')[2]}={token}"}
    assert scoped.ask("GET", "/api/v1/jobs", cookie).status == 401
    host = {"Host": "evil.test", **bearer(token)}
    assert scoped.ask("GET", "/api/v1/jobs", host).status == 421
    assert scoped.ask("GET", "/api/v1/jobs", bearer(token[:-1])).status == 401


def test_a_reading_token_opens_the_feed_of_changes_also_in_the_address(scoped):
    feed = "/changes.atom"
    assert scoped.ask("GET", feed, bearer(READER)).status == 200
    answer = scoped.ask("GET", f"{feed}?source=news&token={READER}")
    assert answer.status == 200
    assert READER not in answer.text
    assert "set-cookie" not in answer.headers
    for token in (ACTOR, READER[:-1], ""):
        assert scoped.ask("GET", f"{feed}?token={token}").status == 401
    assert scoped.ask("POST", f"{feed}?token={READER}").status == 401
    assert scoped.ask("GET", f"/changes?token={READER}").status == 401
    host = {"Host": "evil.test"}
    assert scoped.ask("GET", f"{feed}?token={READER}", host).status == 421


def test_a_cookie_alone_sets_nothing_going_even_from_our_own_page(scoped):
    cookie = f"halflife-{scoped.host.partition(':')[2]}={scoped.token}"
    ours = {"Sec-Fetch-Site": "same-origin", "Origin": f"http://{scoped.host}"}
    answer = send(scoped, "sync", {"source": "jobs"}, {"Cookie": cookie, **ours})
    assert answer.status == 403
    assert "a cookie alone" in answer.json["said"]
    assert scoped.ask("GET", "/api/v1/jobs", {"Cookie": cookie}).status == 200
    assert scoped.site.background.jobs == []


def test_who_has_no_token_is_told_how_to_send_one(full):
    answer = full.ask("GET", "/api/v1/overview")
    assert answer.headers["www-authenticate"] == "Bearer"
    assert answer.json["status"] == 401
    assert "Authorization: Bearer" in answer.json["said"]


@pytest.mark.parametrize("body", ["", "[]", "{}", "[" * 4000, '{"source": 3}', "\xff"])
@pytest.mark.parametrize("path", ["sync", "decide"])
def test_a_body_that_is_none_is_refused(full, path, body):
    answer = send(full, path, body)
    assert answer.status == 400
    assert answer.json["said"].startswith("send JSON: {")


@pytest.mark.parametrize(
    "body",
    [
        {"run": True, "verdict": "keep"},
        {"run": "1", "verdict": "keep"},
        {"run": 1, "verdict": "burn"},
        {"run": 1, "verdict": []},
    ],
)
def test_a_decision_is_a_run_and_a_verdict(full, body):
    assert send(full, "decide", body).status == 400


def test_a_body_in_pieces_has_the_same_limit(full):
    pieces = (b"x" * 1000 for _ in range(20))
    answer = full.ask("POST", "/api/v1/sync", full.bearer, pieces)
    assert answer.status == 413
    assert answer.json["status"] == 413


@pytest.mark.parametrize(
    ("reader", "actor", "part"),
    [
        (None, ACTOR, "READER, which is not set"),
        ("short", ACTOR, "must be 16 to 512"),
        ("with a space in it", ACTOR, "must be 16 to 512"),
        (ACTOR, ACTOR, "the same value"),
    ],
)
def test_a_token_that_protects_nothing_stops_the_start(
    tmp_path, monkeypatch, reader, actor, part
):
    path = tmp_path / "halflife.toml"
    path.write_text(TOKENS)
    monkeypatch.setenv("ACTOR", actor)
    monkeypatch.delenv("READER", raising=False)
    if reader:
        monkeypatch.setenv("READER", reader)
    with pytest.raises(ConfigError, match=part) as failed:
        prepare(ServeWish(path, port=0))
    assert actor not in str(failed.value)


@pytest.mark.parametrize(
    ("line", "part"),
    [
        ('name = "a"\ntoken = "hunter2-hunter2-hunter2"', "must not stand in"),
        ('name = "a"\nscope = "all"\ntoken = {env = "A"}', "'read' or 'act'"),
        ('name = "a"', "serve.token"),
        ('name = ""\ntoken = {env = "A"}', "serve.token"),
        ('name = "a"\ntoken = {env = "A"}\nuser = "x"', "unknown key"),
        (
            'name = "a"\ntoken = {env = "A"}\n[[serve.token]]\n'  # noqa: ISC004
            'name = "a"\ntoken = {file = "/run/b"}',
            "two tokens are named 'a'",
        ),
    ],
)
def test_settings_of_tokens_are_checked_and_never_repeated(line, part):
    with pytest.raises(ConfigError, match=part) as failed:
        Config.parse(f"[[serve.token]]\n{line}\n")
    assert "hunter2" not in str(failed.value)
    assert "\n" not in str(failed.value)


def test_reading_leaves_no_state_file_behind(tmp_path, visit):
    config = settings(tmp_path, '[[source]]\nname = "a"\npages = ["http://a.example/"]')
    here = visit(config.path)
    assert api(here, "changes").json["results"] == []
    assert api(here, "records/a").status == 404
    assert not config.store_path.exists()
    with bootstrap.writing(config):
        pass
    assert api(here, "records/a").status == 200


def test_the_book_names_every_route(described):
    text = (Path(__file__).parents[2] / "docs" / "api.md").read_text()
    for path, method, _ in operations(described):
        short = path.removeprefix("/api/v1/")
        assert f"`{method.upper()} {short}" in text or f"`{path}`" in text
