"""What those who watch the service are told, and what it writes down."""

import asyncio
import io
import json
import logging

import aiohttp
import pytest
from hypothesis import given, strategies as st
from prometheus_client.parser import text_string_to_metric_families

from halflife.alerts import Health
from halflife.config import Config
from halflife.engine import logs
from halflife.engine.endpoint import HERE, serve_status
from halflife.engine.health import ServiceStatus, exposition
from service_parts import BEGAN, HOME, Play

CANARY = "c4n4ry-s3cr3t"


def asked(status, *paths, host=None, now=BEGAN):
    """Return status, headers and text of what the endpoint answers."""

    async def scene():
        found = []
        async with (
            serve_status(status, 0, lambda: now) as port,
            aiohttp.ClientSession() as session,
        ):
            for path in paths:
                headers = {"Host": host.format(port=port)} if host else {}
                url = f"http://{HERE}:{port}{path}"
                async with session.get(url, headers=headers) as answer:
                    found.append((answer.status, answer.headers, await answer.text()))
        return found

    return asyncio.run(scene())


def test_all_is_well_until_something_is_not():
    status = ServiceStatus(BEGAN, turned=BEGAN, turns=3, budget=100, left=40)
    ((code, _, text),) = asked(status, "/health")
    assert code == 200
    answer = json.loads(text)
    assert answer["status"] == "ok"
    assert answer["budget"] == {"requests": 100, "left": 40}
    status.offline, status.alarms = True, (("jobs", "held"),)
    ((code, _, text),) = asked(status, "/health", now=BEGAN + 1.0)
    assert code == 503
    answer = json.loads(text)
    assert answer["status"] == "degraded"
    assert answer["reasons"] == [
        "no turn for more than two hours",
        "there is no network",
        "jobs: held",
    ]
    assert answer["seconds_since_last_turn"] == 86400.0


@pytest.mark.parametrize(
    ("host", "code"),
    [
        ("127.0.0.1:{port}", 200),
        ("localhost:{port}", 200),
        ("localhost", 200),
        ("evil.example:{port}", 403),
        ("evil.example", 403),
        ("127.0.0.1.evil.example", 403),
    ],
)
def test_only_those_who_call_this_machine_by_its_name_are_answered(host, code):
    status = ServiceStatus(BEGAN, turned=BEGAN)
    for answer in asked(status, "/health", "/metrics", host=host):
        assert answer[0] == code


def test_there_is_nothing_else_to_ask_for():
    assert asked(ServiceStatus(BEGAN), "/", "/../etc/passwd")[0][0] == 404


def read(text):
    """Return the samples of an exposition, by name and labels, and their types.

    The reader is the one of Prometheus' own client.
    """
    found, types = {}, {}
    for family in text_string_to_metric_families(text):
        assert family.documentation
        for sample in family.samples:
            types[sample.name] = family.type
            place = sample.name, frozenset(sample.labels.items())
            assert place not in found
            found[place] = sample.value
    return found, types


def at(name, **labels):
    return f"halflife_{name}", frozenset(labels.items())


def test_the_figures_are_in_the_text_format_of_prometheus():
    sources = (
        Health('a "b"\\', mean=0.75, low=0.5, high=0.9, target=0.8),
        Health("new"),
    )
    status = ServiceStatus(
        BEGAN, turned=BEGAN, turns=2, seconds=0.25, budget=10, left=4
    )
    status.requests, status.failures = {"a+b": 7}, {"a": 1}
    status.sources, status.failing, status.store_bytes = sources, ("new",), 4096
    ((code, headers, text),) = asked(status, "/metrics")
    assert code == 200
    assert headers["Content-Type"].startswith("text/plain; version=0.0.4")
    found, types = read(text)
    assert found[at("requests_total", sources="a+b")] == 7
    assert types["halflife_requests_total"] == "counter"
    assert found[at("quality", source='a "b"\\', bound="low")] == 0.5
    assert found[at("target_met", source='a "b"\\')] == 0
    assert at("quality", source="new", bound="low") not in found
    assert found[at("failing", source="new")] == 1
    assert found[at("last_turn_timestamp_seconds")] == BEGAN * 86400
    assert found[at("store_bytes")] == 4096


@given(
    st.dictionaries(st.text(), st.integers(0, 2**53)),
    st.lists(st.tuples(st.text(), st.floats(0, 1)), unique_by=lambda one: one[0]),
    st.floats(allow_nan=False),
)
def test_what_prometheus_reads_is_what_was_meant_whatever_the_names(
    requests, sources, seconds
):
    healths = tuple(Health(name, mean=q, low=q / 2, high=1.0) for name, q in sources)
    status = ServiceStatus(BEGAN, seconds=seconds, requests=requests, sources=healths)
    found, types = read(exposition(status, BEGAN))
    for name, n in requests.items():
        assert found[at("requests_total", sources=name)] == n
    for name, q in sources:
        assert found[at("quality", source=name, bound="mean")] == q
        assert found[at("quality", source=name, bound="low")] == q / 2
    assert found[at("turn_seconds")] == seconds
    counters = {name for name, kind in types.items() if kind == "counter"}
    assert all(name.endswith("_total") for name in counters)
    assert set(types.values()) <= {"counter", "gauge"}


def test_a_service_fills_in_its_figures(server, tmp_path):
    server.pages["/"] = ("text/plain", b"one")
    path = tmp_path / "halflife.toml"
    path.write_text(
        f'[fetch]\ndelay = 0.0\n[[source]]\nname = "s"\n{HOME}'
        f'pages = ["{server.url}/"]\ntarget = "freshness >= 0.5"\n'
    )
    play = Play(path).run(0.01)
    found, _ = read(exposition(play.service.status, play.now))
    assert found[at("requests_total", sources="s")] == len(server.asked)
    assert found[at("budget_left")] == 1000 - len(server.asked)
    assert 0.5 <= found[at("quality", source="s", bound="mean")] <= 1
    assert found[at("target_met", source="s")] == 1
    assert found[at("up")] == 1
    assert found[at("store_bytes")] > 10_000


def test_no_secret_is_written_down(server, tmp_path, monkeypatch):
    monkeypatch.setenv("SITE_TOKEN", CANARY)
    path = tmp_path / "halflife.toml"
    path.write_text(
        f'[fetch]\ndelay = 0.0\n[[source]]\nname = "s"\nkind = "listing"\n{HOME}'
        f'key = "id"\nurl = "{server.url}/gone.json"\n'
        'headers = {Authorization = {env = "SITE_TOKEN"}}\n'
    )
    good = path.read_text()

    def spoil(play):
        if play.naps == 3:
            path.write_text(good.replace('{env = "SITE_TOKEN"}', f'"{CANARY}"'))

    play = Play(path).run(0.01, spoil)
    assert play.named("trouble")
    assert play.named("settings not used")
    status = play.service.status
    text = json.dumps(play.events) + exposition(status, play.now)
    assert CANARY not in text + json.dumps(status.row(play.now))


def written(as_json, **fields):
    stream = io.StringIO()
    handler = logs.set_up(as_json=as_json, stream=stream)
    try:
        logs.event("worked", level=logging.WARNING, fields=fields)
    finally:
        logs.end(handler)
    return stream.getvalue()


def test_programs_get_one_json_object_a_line():
    line = written(True, sources="a\nb", share=float("nan"), requests=3)
    assert line.count("\n") == 1
    row = json.loads(line)
    assert row.pop("at").endswith("Z")
    assert row == {
        "level": "warning",
        "event": "worked",
        "sources": "a\nb",
        "share": None,
        "requests": 3,
    }


def test_people_get_a_line_that_gives_no_orders_to_their_terminal():
    line = written(False, trouble="\x1b]0;x\x07\nbad", held="")
    assert line.count("\n") == 1
    assert "\x1b" not in line
    assert "trouble ]0;x bad" in line
    assert "held" not in line


def test_the_share_of_audits_has_bounds():
    assert Config.parse("[audit]\nshare = 0.1\n").audit.share == 0.1
