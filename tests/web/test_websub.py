"""WebSub: hubs tell us of changes, and only what they were asked for is believed."""

import asyncio
from dataclasses import replace

import pytest

from halflife.config import Config
from halflife.engine import bootstrap
from halflife.kinds.pages.hubs import HubSubscriber, due
from halflife.kinds.pages.reading_advice import advice
from halflife.kinds.pages.runner import keeping
from halflife.stores.notes.pushed_hints import HUB_HINTS
from halflife.stores.notes.subscriptions import (
    ANNOUNCEMENTS,
    CONFIRMATIONS,
    HUB_TRUST,
    SUBSCRIPTIONS,
    Confirmation,
    Subscription,
)
from halflife.web import callbacks
from web_parts import HOME
from websub_hub import CALLBACK, running_hub


class Keeper:
    """A project that keeps one feed, and turns when told."""

    def __init__(self, hub, folder, visit, serve=f'[serve]\ncallback = "{CALLBACK}"\n'):
        self.path, self.hub = folder / "halflife.toml", hub
        self.path.write_text(
            f"{serve}[budget]\nrequests = 1000\n[fetch]\ndelay = 0.0\n"
            '[[source]]\nname = "s"\nallow = ["127.0.0.0/8"]\nrobots = false\n'
            f'pages = ["{hub.topic}"]\nnoise = 0\n'
        )
        self.config, self.ahead = Config.load(self.path), 0.0
        with self.store():
            pass
        self.visitor = visit(self.path)
        hub.server = self.visitor.host

    def store(self):
        return bootstrap.writing(self.config)

    def clock(self):
        return bootstrap.clock() + self.ahead

    def turn(self, requests=5):
        async def scene():
            with self.store() as store:
                kept = keeping(self.config, store, self.config.source, self.clock)
                async with kept as keeper:
                    return await keeper.turn(requests)

        return asyncio.run(scene())

    def note(self, kind, source="s"):
        with self.store() as store:
            return kind.load(store, source)

    @property
    def callback(self):
        (one,) = self.note(SUBSCRIPTIONS).values()
        return one.callback


@pytest.fixture
def hub():
    with running_hub() as hub:
        yield hub


@pytest.fixture
def keeper(hub, tmp_path, visit):
    return Keeper(hub, tmp_path, visit)


@pytest.fixture
def subscribed(keeper):
    keeper.turn()
    keeper.turn()
    return keeper


def test_a_feed_that_names_a_hub_is_subscribed_to_and_the_hub_confirms(hub, keeper):
    keeper.turn()
    assert not hub.asked  # the first turn finds the hub
    done = keeper.turn()
    (wish,) = hub.asked
    assert wish["hub.mode"] == "subscribe"
    assert wish["hub.topic"] == hub.topic
    assert wish["hub.callback"].startswith(f"{CALLBACK}/websub/")
    assert len(wish["hub.secret"]) >= 32
    assert hub.statuses == [200]
    (said,) = keeper.note(CONFIRMATIONS).values()
    assert said.until - said.at == pytest.approx(1.0)  # what the hub granted
    assert done.requests >= 1  # asking a hub is paid for
    keeper.turn()
    assert len(hub.asked) == 1  # nothing is due


def test_without_a_callback_nobody_subscribes_and_nothing_is_open(hub, tmp_path, visit):
    keeper = Keeper(hub, tmp_path, visit, serve="")
    keeper.turn()
    keeper.turn()
    assert not hub.asked
    assert keeper.note(SUBSCRIPTIONS) is None
    assert hub.call("GET", f"{CALLBACK}/websub/x", {})[0] == 421
    assert keeper.visitor.ask("GET", "/websub/x").status == 401


@pytest.mark.parametrize("method", ["sha1", "sha256", "sha384", "sha512"])
def test_a_signed_content_makes_the_page_due_and_is_not_taken_for_it(
    hub, subscribed, method
):
    before = hub.gets
    status = hub.tell(subscribed.callback, b"<feed>made up</feed>", method)
    assert status == 202
    assert list(subscribed.note(ANNOUNCEMENTS)) == [hub.topic]
    assert list(subscribed.note(HUB_HINTS)) == [hub.topic]
    hub.text = "two"
    subscribed.turn(1)
    assert hub.gets == before + 1
    with subscribed.store() as store:
        assert store.content(hub.topic).body == hub.feed()
    assert subscribed.note(ANNOUNCEMENTS) is None
    (trust,) = subscribed.note(HUB_TRUST, "").values()
    assert trust.truths == pytest.approx(1.0)


def test_a_hub_whose_news_are_none_is_not_obeyed_any_more(hub, subscribed):
    for i in range(2):
        hub.tell(subscribed.callback, f"{i}".encode())
        before = hub.gets
        subscribed.turn(1)
        assert hub.gets == before + 1
    hub.tell(subscribed.callback, b"more")
    with subscribed.store() as store:
        desk = HubSubscriber(store, None, {"s": HOME})
        desk._read_announcements("s", SUBSCRIPTIONS.load(store, "s"), bootstrap.clock())
    assert list(desk.open) == [hub.topic]
    assert not desk.first


def test_what_is_wrong_tells_nothing(hub, subscribed):
    callback = subscribed.callback
    assert hub.tell(callback, b"x", secret="guessed") == 202
    assert hub.tell(callback, b"x", topic=f"{hub.url}/other") == 202
    for header in ("", "sha256=", "md5=00", "sha256=" + "0" * 64, "sha256=é"):
        sent = {"X-Hub-Signature": header.encode("latin-1")}
        assert hub.call("POST", callback, sent, b"x")[0] == 202
    assert hub.call("POST", callback, {}, b"x")[0] == 202
    assert subscribed.note(ANNOUNCEMENTS) is None
    assert subscribed.note(HUB_HINTS) is None


def test_a_content_that_comes_again_is_no_news(hub, subscribed):
    hub.tell(subscribed.callback, b"one")
    subscribed.turn(1)
    hub.tell(subscribed.callback, b"one")
    assert subscribed.note(ANNOUNCEMENTS) is None
    hub.tell(subscribed.callback, b"two")
    assert list(subscribed.note(ANNOUNCEMENTS)) == [hub.topic]


def test_a_flood_is_dammed_and_other_callbacks_are_not_hurt(hub, subscribed):
    callback, hubs = subscribed.callback, subscribed.visitor.site.hubs
    hubs.limit, hubs.strangers = (callbacks.RateLimit(3.0, 1e-3) for _ in range(2))
    found = [hub.tell(callback, f"{i}".encode(), secret="x") for i in range(4)]
    assert found == [202, 202, 202, 429]
    hubs.limit = callbacks.RateLimit(3.0, 1e-3)
    unknown = f"{CALLBACK}/websub/nobody"
    found = [hub.call("POST", f"{unknown}{i}", {}, b"")[0] for i in range(4)]
    assert found == [410, 410, 410, 429]
    assert hub.tell(callback, b"true") == 202
    assert list(subscribed.note(ANNOUNCEMENTS)) == [hub.topic]


def test_a_huge_body_is_refused_however_it_is_sent(hub, subscribed, monkeypatch):
    monkeypatch.setattr(callbacks, "LARGEST", 1000)
    assert hub.tell(subscribed.callback, b"x" * 1001) == 413
    signed = {"X-Hub-Signature": "sha256=" + "0" * 64}
    pieces = iter([b"x" * 600, b"x" * 600])
    assert hub.call("POST", subscribed.callback, signed, pieces)[0] == 413
    assert hub.tell(subscribed.callback, b"x" * 1000) == 202
    assert subscribed.note(ANNOUNCEMENTS)


def test_a_challenge_is_answered_only_for_what_was_asked(hub, subscribed):
    said = {"hub.mode": "subscribe", "hub.topic": hub.topic, "hub.challenge": "<b>c"}
    assert hub.verify(subscribed.callback, said) == (200, b"<b>c")
    for wrong in (
        {"hub.topic": f"{hub.url}/other"},
        {"hub.mode": "unsubscribe"},
        {"hub.mode": "x"},
        {"hub.challenge": ""},
        {"hub.challenge": "c" * 2000},
    ):
        assert hub.verify(subscribed.callback, {**said, **wrong})[0] == 404
    assert hub.verify(f"{CALLBACK}/websub/unknown", said)[0] == 404
    (said,) = subscribed.note(CONFIRMATIONS).values()
    assert said.mode == "subscribe"


def test_the_callback_opens_nothing_else(hub, subscribed):
    for path in ("/", "/overview", "/websub", "/websub/../overview", "/push.json"):
        assert hub.call("GET", CALLBACK + path, {})[0] in {404, 421}
    assert hub.call("GET", "http://evil.example/mine/websub/x", {})[0] == 421


def test_a_hub_that_refuses_is_left_alone_for_a_week(hub, subscribed):
    said = {"hub.mode": "denied", "hub.topic": hub.topic}
    assert hub.verify(subscribed.callback, said) == (200, b"")
    subscribed.ahead = 6.9
    subscribed.turn()
    assert len(hub.asked) == 1
    subscribed.ahead = 7.1
    subscribed.turn()
    assert len(hub.asked) == 2


def test_a_page_that_names_no_hub_any_more_is_unsubscribed_from(hub, subscribed):
    hub.is_named = False
    hub.tell(subscribed.callback, b"x")
    subscribed.turn()  # it sees that the hub is gone
    subscribed.turn()
    assert [wish["hub.mode"] for wish in hub.asked] == ["subscribe", "unsubscribe"]
    assert hub.statuses == [200, 200]
    callback = subscribed.callback
    subscribed.turn()
    assert subscribed.note(SUBSCRIPTIONS) == {}
    assert hub.tell(callback, b"y") == 410  # the hub may forget us


def test_a_subscription_is_renewed_before_its_lease_ends(hub, subscribed):
    subscribed.ahead = 0.6
    subscribed.turn()
    assert len(hub.asked) == 1
    subscribed.ahead = 0.7
    subscribed.turn()
    assert len(hub.asked) == 2


def test_a_hub_that_does_not_reach_us_is_named(hub, keeper):
    hub.server = "127.0.0.1:9"  # the callback leads nowhere
    keeper.turn()
    with keeper.store() as store:
        assert advice(store, keeper.config.source[0]) == []
    for ahead in (0.0, 0.1):
        keeper.ahead = ahead
        keeper.turn()
    with keeper.store() as store:
        ((text, _),) = advice(store, keeper.config.source[0])
    assert "does not reach us" in text


ONE = Subscription(
    "k", "t", "h", "http://a.example/websub/x", "s", tries=1, asked=100.0
)
SAID = Confirmation("subscribe", 100.0, 110.0)


def test_a_hub_that_does_not_confirm_is_asked_less_and_less():
    assert due(ONE, None, 100.04) == ""
    assert due(ONE, None, 100.05) == "subscribe"
    often = replace(ONE, tries=4)
    assert due(often, None, 100.3) == ""
    assert due(often, None, 100.4) == "subscribe"
    stubborn = replace(ONE, tries=500)
    assert due(stubborn, None, 106.9) == ""
    assert due(stubborn, None, 107.1) == "subscribe"
    assert due(stubborn, None, 99.0) == "subscribe"  # the clock was set back


def test_a_lease_is_renewed_when_a_third_is_left():
    assert due(ONE, SAID, 106.6) == ""
    assert due(ONE, SAID, 106.7) == "subscribe"
    assert due(ONE, SAID, 111.0) == "subscribe"
    gone = replace(ONE, wanted=False)
    assert due(gone, SAID, 105.0) == "unsubscribe"
    assert due(gone, SAID, 111.0) == ""
