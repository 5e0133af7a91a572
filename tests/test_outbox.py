"""Messages are kept with what caused them, sent at least once, and block nobody."""

import asyncio
import hashlib
import hmac
import json
import threading
from contextlib import suppress
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

import alert_worker
from halflife.alerts import Health
from halflife.alerts.messages import Event, Letter
from halflife.alerts.rules import INFORMATION
from halflife.config import Config
from halflife.core.errors import ConfigError, LeaseLost
from halflife.core.item import Item
from halflife.core.object_store import Listing
from halflife.core.observation import Observations
from halflife.engine import notifications
from halflife.stores.outbox import MOST_TRIES, Outbox, pause
from halflife.stores.sqlite import SqliteStore
from listening import listening
from store_looks import present
from store_processes import start

CANARY = "T0KEN-CANARY"
# Apprise imports modules that Python is going to drop.
by_apprise = pytest.mark.filterwarnings("ignore::DeprecationWarning")


@pytest.fixture
def hook():
    """A webhook on loopback that answers, fails or hangs as the test says."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if server.mode == "hang":
                server.go.wait(20)
            if server.mode == "fine":
                server.got.append(
                    (self.path, dict(self.headers), json.loads(body), body)
                )
            with suppress(ConnectionError):
                status = {"fail": 500, "away": 302}.get(server.mode, 204)
                self.send_response(status)
                if server.mode == "away":
                    self.send_header("Location", "http://127.0.0.1:1/")
                if server.mode == "fail" and server.wait:
                    self.send_header("Retry-After", server.wait)
                self.send_header("Content-Length", "0")
                self.end_headers()

        def log_message(self, *_):
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.mode, server.got, server.wait = "fine", [], ""
    server.go = threading.Event()
    server.url = f"http://127.0.0.1:{server.server_address[1]}/{CANARY}"
    with listening(server, server.go):
        yield server


@pytest.fixture
def store(tmp_path):
    with SqliteStore.open(tmp_path / "state.db", create=True) as store:
        yield store


def settings(url, *more, allow='["127.0.0.0/8"]'):
    lines = [f'url = "{url}"', 'name = "ops"', f"allow = {allow}", *more]
    return Config.parse("[[alert]]\n" + "\n".join(lines))


def letter(source="s", made=1.0, due=1.0, target="ops"):
    return Letter(target, "held", "raised", made, due, (Event(source, made, "why"),))


def deliver(config, store, now=1.0):
    return asyncio.run(notifications.deliver(config, store, clock=lambda: now))


# Written together


def test_a_message_is_kept_only_with_what_caused_it(store):
    run = store.begin(["s"], 0.0, lease=9.0)
    with suppress(RuntimeError), store.together():
        store.stage(run, "s", Listing(1.0, {}, True, ""), "too few")
        Outbox(store).post([letter()])
        raise RuntimeError
    assert store.staged() == []
    assert Outbox(store).tally()["waiting"] == 0
    with store.together():
        store.stage(run, "s", Listing(1.0, {}, True, ""), "too few")
        Outbox(store).post([letter()])
    assert len(store.staged()) == 1
    assert Outbox(store).tally()["waiting"] == 1


def test_evidence_follows_what_was_undone_together(store):
    store.add([Item("a", "s")])
    run = store.begin(["s"], 0.0, lease=9.0)
    with suppress(RuntimeError), store.together():
        store.append(run, Observations.of([present("a", 1.0)]))
        assert store.evidence(["s"]).looks.tolist() == [1]
        raise RuntimeError
    assert store.evidence(["s"]).looks.tolist() == [0]
    store.append(run, Observations.of([present("a", 1.0)]))
    assert store.evidence(["s"]).looks.tolist() == [1]
    assert store.verify() == []


def test_a_lost_lease_undoes_the_message_too(store, tmp_path):
    run = store.begin(["s"], 0.0, lease=0.1)
    with SqliteStore.open(tmp_path / "state.db") as other:
        other.begin(["s"], 5.0, lease=1.0)
        with suppress(LeaseLost), store.together():
            Outbox(store).post([letter()])
            store.charge(run, 1, 5.0)
    assert Outbox(store).tally()["waiting"] == 0


def test_letters_gather_until_they_are_due(store):
    outbox = Outbox(store)
    outbox.post([letter("a", 1.0, 1.1)])
    outbox.post([letter("b", 1.05, 1.15)])
    assert outbox.due(1.05) == []
    (message,) = outbox.due(1.2)
    assert [e.source for e in Letter.events_in(message.body)] == ["a", "b"]
    outbox.post([letter("c", 1.2, 1.3)])
    assert len(outbox.due(2.0)) == 2


def test_alarms_outlive_the_program_and_are_told_once(store, tmp_path):
    config = settings("https://example.org/")
    ill = [Health("s", held="too few")]
    notifications.update_alarms(config, store, ill, 1.0)
    with SqliteStore.open(tmp_path / "state.db") as again:
        notifications.update_alarms(config, again, ill, 1.1)
        assert Outbox(again).tally()["waiting"] == 1
        notifications.update_alarms(config, again, [Health("s")], 1.2)
        notifications.update_alarms(config, again, [Health("s")], 1.3)
        news = [m.news for m in Outbox(again).due(9.0)]
    assert news == ["raised", "recovered"]


def test_quiet_sources_are_not_written_down(store):
    notifications.update_alarms(
        settings("https://a.example/"), store, [Health("s"), Health("t")], 1.0
    )
    assert Outbox(store).alarms() == []


def test_alarms_of_sources_that_are_no_more_are_dropped(store):
    ill = [Health("s", held="x"), Health("t", held="x"), Health(offline=True)]
    for now in (1.0, 1.1):
        notifications.update_alarms(settings("https://a.example/"), store, ill, now)
    assert Outbox(store).forget(["t"]) == 1
    assert {a.source for a in Outbox(store).alarms() if a.raised} == {"t", ""}


# Sent


def test_a_webhook_gets_a_cloud_event(store, hook, monkeypatch):
    monkeypatch.setenv("HOOK_SECRET", "k")
    monkeypatch.setenv("HOOK_AUTH", "Bearer b")
    config = settings(
        hook.url,
        'secret = {env = "HOOK_SECRET"}',
        'headers = {Authorization = {env = "HOOK_AUTH"}, X-Team = "web"}',
    )
    Outbox(store).post([letter()])
    assert [t.trouble for t in deliver(config, store)] == [""]
    ((path, headers, event, body),) = hook.got
    assert path == f"/{CANARY}"
    assert headers["Content-Type"] == "application/cloudevents+json"
    assert (headers["Authorization"], headers["X-Team"]) == ("Bearer b", "web")
    assert event["specversion"] == "1.0"
    assert event["type"] == "halflife.held.raised"
    assert event["text"] == "s: why"
    assert event["time"] == "1970-01-02T00:00:00Z"
    assert event["data"]["events"][0]["source"] == "s"
    signed = headers["X-Halflife-Time"].encode() + b"." + body
    expected = hmac.new(b"k", signed, hashlib.sha256).hexdigest()
    assert headers["X-Halflife-Signature"] == f"sha256={expected}"
    assert Outbox(store).tally() == {"waiting": 0, "sent": 1, "dead": 0}


def test_a_failing_webhook_is_tried_again_until_it_recovers(store, hook):
    config, outbox = settings(hook.url), Outbox(store)
    outbox.post([letter("a"), letter("b", 1.001)])
    hook.mode = "fail"
    (tried,) = deliver(config, store)  # the first failure ends the round
    assert tried.trouble == "it answered 500"
    assert hook.got == []
    hook.mode = "fine"
    assert len(deliver(config, store)) == 1  # the other; the first one rests
    assert deliver(config, store, 2.0)[0].message.tries == 1
    assert sorted(e["data"]["events"][0]["source"] for _, _, e, _ in hook.got) == [
        "a", "b"
    ]  # fmt: skip
    assert outbox.tally() == {"waiting": 0, "sent": 2, "dead": 0}


def test_who_asks_us_to_stay_away_is_left_alone(store, hook):
    hook.mode, hook.wait = "fail", "7200"
    Outbox(store).post([letter()])
    deliver(settings(hook.url), store)
    assert Outbox(store).due(1.0 + 1.9 / 24) == []
    assert len(Outbox(store).due(1.0 + 2.1 / 24)) == 1


def test_of_two_processes_one_tries_a_message(store, hook, tmp_path):
    outbox = Outbox(store)
    outbox.post([letter()])
    with SqliteStore.open(tmp_path / "state.db") as other:
        (mine,), (theirs,) = outbox.due(1.0), Outbox(other).due(1.0)
        assert outbox.claim(mine, 1.1)
        assert not Outbox(other).claim(theirs, 1.1)
    assert outbox.due(1.05) == []
    assert len(outbox.due(1.1)) == 1  # the other has died meanwhile


def test_a_redirect_is_not_followed(store, hook):
    hook.mode = "away"
    Outbox(store).post([letter()])
    (tried,) = deliver(settings(hook.url), store)
    assert "redirects" in tried.trouble


def test_a_message_that_nobody_takes_is_dead_in_the_end(store):
    outbox, now = Outbox(store), 1.0
    outbox.post([letter()])
    for _ in range(MOST_TRIES):
        (message,) = outbox.due(now)
        outbox.failed(message, now, "refused")
        now += 1.0
    assert outbox.due(now + 99) == []
    assert [m.trouble for m in outbox.latest("dead")] == ["refused"]
    assert outbox.revive(now) == 1
    assert len(outbox.due(now)) == 1


def test_pauses_grow_and_spread():
    pauses = [pause(n, 3) for n in range(1, MOST_TRIES)]
    assert pauses == sorted(pauses)
    assert 1.0 < sum(pauses) < 3.0
    assert len({pause(3, number) for number in range(100)}) == 100


def test_a_private_address_is_refused_unless_allowed(store, hook):
    Outbox(store).post([letter()])
    (tried,) = deliver(settings(hook.url, allow="[]"), store)
    assert "not public" in tried.trouble
    assert hook.got == []


def test_a_target_that_left_the_settings_gets_nothing_more(store, hook):
    Outbox(store).post([letter(target="old"), letter()])
    deliver(settings(hook.url), store)
    assert Outbox(store).tally() == {"waiting": 0, "sent": 1, "dead": 1}


def test_where_nobody_is_told_the_outbox_is_read_when_work_begins_and_ends(store, hook):
    def reads(config):
        asked = []

        async def work():
            async with notifications.delivering(
                config, store, clock=lambda: asked.append(0) or 1.0, poll=0.001
            ):
                await asyncio.sleep(0.1)
                assert Outbox(store).tally()["waiting"] == 0

        asyncio.run(work())
        return len(asked)

    Outbox(store).post([letter(target="old")])
    assert reads(Config.parse("")) > 2  # one that nobody waits for any more is tried
    assert Outbox(store).tally()["dead"] == 1
    assert reads(Config.parse("")) == 2
    assert reads(settings(hook.url)) > 3


def test_a_target_that_hangs_holds_up_neither_the_others_nor_the_sync(store, hook):
    config = Config.parse(
        f'[[alert]]\nname = "slow"\nurl = "{hook.url}"\nallow = ["127.0.0.0/8"]\n'
        '[[alert]]\nname = "nobody"\nurl = "http://127.0.0.1:1/x"\n'
        'allow = ["127.0.0.0/8"]\n'
    )
    store.add([Item("a", "s")])
    run = store.begin(["s"], 0.0, lease=99.0)
    hook.mode = "hang"
    Outbox(store).post([letter(target="slow"), letter(target="nobody")])

    async def sync():
        async with notifications.delivering(
            config, store, clock=lambda: 1.0, poll=0.05, grace=0.1
        ):
            for n in range(50):
                store.append(run, Observations.of([present("a", 1.0 + n)]))
                await asyncio.sleep(0.002)

    asyncio.run(sync())  # and the hook still hangs
    waiting = {m.target: m.tries for m in Outbox(store).due(99.0)}
    assert waiting == {"slow": 0, "nobody": 1}
    hook.mode = "fine"
    hook.go.set()
    assert any(t.message.target == "slow" and not t.trouble
               for t in deliver(config, store, 99.0))  # fmt: skip


def test_addresses_other_than_http_need_apprise(store, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "apprise", None)
    Outbox(store).post([letter()])
    (tried,) = deliver(settings(f"json://{CANARY}.example"), store)
    assert 'install it with: pip install "halflife[alerts]"' in tried.trouble
    assert CANARY not in tried.trouble


@by_apprise
def test_apprise_sends_the_words_to_where_its_address_says(store, hook):
    """Apprise itself, with its plugin for JSON over HTTP, to a server on loopback."""
    pytest.importorskip("apprise")
    Outbox(store).post([letter("a"), letter("b", due=1.0)])
    address = hook.url.replace("http://", "json://")
    assert [t.trouble for t in deliver(settings(address), store)] == ["", ""]
    assert [told["title"] for _, _, told, _ in hook.got] == ["a: why", "b: why"]
    assert [told["message"] for _, _, told, _ in hook.got] == ["a: why", "b: why"]
    assert [told["type"] for _, _, told, _ in hook.got] == ["warning", "warning"]
    ended = replace(letter(), news="recovered")
    mild = replace(letter(), events=(Event("s", 1.0, f"{INFORMATION}a new column"),))
    Outbox(store).post([ended, mild])
    deliver(settings(address), store, 3.0)
    assert [told["type"] for _, _, told, _ in hook.got[2:]] == ["success", "info"]
    assert Outbox(store).tally() == {"waiting": 0, "sent": 4, "dead": 0}


@by_apprise
def test_what_apprise_cannot_deliver_is_tried_again(store, hook):
    pytest.importorskip("apprise")
    hook.mode = "fail"
    Outbox(store).post([letter()])
    address = hook.url.replace("http://", "json://")
    (tried,) = deliver(settings(address), store)
    assert tried.trouble == "Apprise could not deliver it"
    hook.mode = "fine"
    assert [t.trouble for t in deliver(settings(address), store, 2.0)] == [""]


@by_apprise
def test_an_address_that_apprise_does_not_know_is_told(store):
    pytest.importorskip("apprise")
    Outbox(store).post([letter()])
    (tried,) = deliver(settings("nosuch://x"), store)
    assert "does not know" in tried.trouble


# Secrets


@by_apprise
def test_no_trouble_shows_an_address(store, hook, tmp_path):
    addresses = [
        hook.url.replace("127.0.0.1", "no-such-host.invalid"),
        f"http://127.0.0.1:1/{CANARY}",
        f"http://bad host/{CANARY}",
        f"nosuch://{CANARY}",
    ]
    for address in addresses:
        Outbox(store).post([letter()])
        config = settings(address)
        (tried, *_) = deliver(config, store, 9.0)
        assert tried.trouble
        assert CANARY not in tried.trouble
        assert CANARY not in repr(config)
        Outbox(store).bury(tried.message, 9.0, "")


@pytest.mark.parametrize(
    "line",
    [f'url = "{CANARY}"', f'url = "https://me:{CANARY}@h/"', f'url = ["{CANARY}"]'],
)
def test_no_complaint_about_settings_shows_an_address(line):
    with pytest.raises(ConfigError, match="alert") as caught:
        Config.parse(f"[[alert]]\n{line}\n")
    assert CANARY not in str(caught.value)


def test_an_address_may_stand_in_the_environment(monkeypatch, store):
    config = Config.parse('[[alert]]\nurl = {env = "HOOK"}\n')
    assert config.alert[0].label == "$HOOK"
    with pytest.raises(ConfigError, match=r"HOOK, which is not set"):
        config.alert[0].address()
    monkeypatch.setenv("HOOK", f"https://h.example/{CANARY}")
    assert config.alert[0].address().reveal().endswith(CANARY)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('kinds = ["lost"]', "there are will-miss"),
        ('every = "soon"', "stretch of time"),
        ("colour = 1", "unknown key"),
    ],
)
def test_settings_that_make_no_sense_are_named(line, words):
    with pytest.raises(ConfigError, match=words):
        Config.parse(f'[[alert]]\nurl = "https://h.example/"\n{line}\n')


def test_two_targets_need_two_names():
    one = '[[alert]]\nurl = "https://h.example/"\n'
    with pytest.raises(ConfigError, match=r"two alerts are named 'h\.example'"):
        Config.parse(one * 2)


# Crashes


def test_what_was_raised_is_told_though_the_program_is_killed_before_it_is_sent(
    tmp_path, hook
):
    path, config = tmp_path / "state.db", settings(hook.url)
    child, pipe = start(alert_worker.tell_until_killed, path)
    try:
        last = max(pipe.recv() for _ in range(20))
    finally:
        child.kill()
        child.join()
    with SqliteStore.open(path) as store:
        standing = {a.source for a in Outbox(store).alarms() if a.raised}
        assert {f"s{n}" for n in range(last + 1)} <= standing
        while Outbox(store).due(99.0):  # a round takes so many and no more
            assert not any(one.trouble for one in deliver(config, store, 99.0))
    told = [e["source"] for _, _, event, _ in hook.got for e in event["data"]["events"]]
    assert sorted(told) == sorted(standing)  # all of them, and each once
