"""Pushes: somebody says that pages have changed, and that is a hint."""

import json

import pytest

from halflife.config import Config
from halflife.core.errors import UsageError
from halflife.core.hint_claims import by_kind
from halflife.core.item import Item
from halflife.core.observation import Observation, Observations, Seen
from halflife.engine import bootstrap
from halflife.engine.loop import LEASE
from halflife.kinds.pages import pushed_hints
from halflife.kinds.pages.pushed_hints import MOST_URLS, PushOutcome, push, take
from halflife.stores.memory import MemoryStore
from web_parts import TODAY

KEY = "http://a.example/x"
SETTINGS = f'[[source]]\nname = "a"\npages = ["{KEY}"]\n'


@pytest.fixture
def config(tmp_path):
    path = tmp_path / "halflife.toml"
    path.write_text(SETTINGS)
    return Config.load(path)


@pytest.fixture
def store():
    store = MemoryStore()
    store.add([Item(KEY, "a"), Item("http://b.example/", "elsewhere")])
    return store


def test_pages_that_are_kept_get_a_hint_at_the_next_turn(store, config):
    urls = ["http://A.example:80/x", KEY, "http://b.example/", "nonsense", "ftp://x/"]
    run = store.begin(["a"], TODAY, lease=LEASE)
    seen = Observation(KEY, TODAY - 1.0, Seen.PRESENT, "0" * 32, "0" * 32)
    store.append(run, Observations.of([seen]))
    assert push(store, config, urls, TODAY) == PushOutcome(accepted=1, unknown=3)
    assert take(store, run) == 1
    assert take(store, run) == 0
    evidence = store.evidence(["a"])
    assert by_kind(evidence.hints)[:, 0].tolist() == [0, 0, 0, 1]


def test_a_push_has_its_limits(store, config, monkeypatch):
    with pytest.raises(UsageError, match="at most"):
        push(store, config, [KEY] * (MOST_URLS + 1), TODAY)
    monkeypatch.setattr(pushed_hints, "MOST_WAITING", 0)
    assert push(store, config, [KEY], TODAY) == PushOutcome(full=1)


def test_the_service_takes_pushes_with_its_token(visit, tmp_path):
    path = tmp_path / "halflife.toml"
    path.write_text(SETTINGS)
    with bootstrap.writing(Config.load(path)):
        pass
    visitor = visit(path)
    json_of = {"Content-Type": "application/json"}
    body = json.dumps({"host": "a.example", "urlList": [KEY, "http://b.example/"]})
    assert visitor.ask("POST", "/push.json", json_of, body=body).status == 401
    headers = {**visitor.bearer, **json_of}
    answer = visitor.ask("POST", "/push.json", headers, body=body)
    assert answer.status == 202
    assert json.loads(answer.body) == {"accepted": 1, "unknown": 1, "full": 0}
    for wrong in ("", "[]", "{}", '{"urlList": 3}', "[" * 5000):
        assert visitor.ask("POST", "/push.json", headers, body=wrong).status == 404
    large = json.dumps({"urlList": [KEY] * 5000})
    assert visitor.ask("POST", "/push.json", headers, body=large).status == 413
