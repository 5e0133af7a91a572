"""Set sources kept over real HTTP, with a clock of their own."""

import asyncio
import json
import threading
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from halflife.config import Config
from halflife.core.errors import AlreadyRunning, BudgetSpent, ConfigError, UsageError
from halflife.core.object_store import Listing
from halflife.core.tracker import Tracker
from halflife.engine import bootstrap
from halflife.kinds.listing import runner as listing_runner
from halflife.net.wire import NO_NETWORK, Offline, Wire
from halflife.stores.memory import MemoryStore
from hand_clock import BEGAN, Hands


@pytest.fixture
def server():
    """A server whose listing, and its status, a test can set."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            body = server.body
            self.send_response(404 if self.path == "/robots.txt" else server.status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.status, server.body = 200, b"[]"
    server.url = f"http://127.0.0.1:{server.server_address[1]}/jobs.json"
    serve = partial(server.serve_forever, poll_interval=0.02)
    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def keep(server, tmp_path):
    """A set source, its store and its clock; calling it looks after some days."""
    text = (
        "[budget]\nrequests = 40\n[fetch]\ndelay = 0.0\n"
        '[[source]]\nname = "jobs"\nkind = "listing"\nallow = ["127.0.0.0/8"]\n'
        f'url = "{server.url}"\nkey = "id"\ngroup = "firm"\n'
    )

    class Keep:
        config = Config.parse(text, tmp_path / "halflife.toml")
        store = MemoryStore()
        clock = Hands()

        def __call__(self, keys=None, days=1.0):
            if keys is not None:
                jobs = [{"id": k, "firm": k[0]} for k in keys]
                server.body = json.dumps(jobs).encode()
            self.clock.now += days
            source = self.config.source[0]
            work = listing_runner.sync(
                self.config, self.store, source, clock=self.clock
            )
            return asyncio.run(work)

        def lives(self):
            return self.store.collection("jobs").lives

    return Keep()


def keys(n, firm="f"):
    return [f"{firm}{i}" for i in range(n)]


def test_looks_become_lives(keep):
    assert keep(keys(12)).change.arrived == 12
    looked = keep(keys(11))
    assert (looked.change.missing, looked.change.gone) == (1, 0)
    assert keep(keys(11)).change.gone == 1
    lives = keep.lives()
    assert lives.ended.sum() == 1
    assert lives.gone_by[11] == BEGAN + 2.0
    assert keep.store.spent(0.0) == 6  # three looks, and robots.txt every day


def test_an_emptied_source_is_held_and_nothing_is_removed(keep):
    for _ in range(8):
        keep(keys(50))
    looked = keep([])
    assert "50 of 50 objects are missing; between 0 and" in looked.held
    assert (looked.listed, looked.change.missing) == (0, 0)
    assert not keep.lives().ended.any()
    assert keep.store.collection("jobs").looks.size == 8
    (waiting,) = keep.store.staged()
    assert (waiting.run, waiting.why) == (looked.run, looked.held)


@pytest.mark.parametrize("left", [0, 25])
def test_what_was_held_can_be_accepted(keep, left):
    for _ in range(8):
        keep(keys(50))
    run = keep(keys(left)).run
    accepted = listing_runner.accept(keep.config, keep.store, run, keep.clock)
    assert accepted.change.missing == 50 - left
    assert keep.store.staged() == []
    looked = keep(keys(left))
    assert (looked.held, looked.change.gone) == ("", 50 - left)
    with pytest.raises(UsageError, match=f"run {run} left nothing to decide"):
        listing_runner.accept(keep.config, keep.store, run, keep.clock)


def test_a_source_that_recovers_needs_no_decision(keep):
    for _ in range(8):
        keep(keys(50))
    assert keep([]).held
    assert keep(keys(50)).held == ""
    assert keep.store.staged() == []
    assert np.all(keep.lives().last_seen == keep.clock.now)


def test_a_failed_look_does_not_settle_what_waits(keep, server):
    for _ in range(8):
        keep(keys(50))
    run = keep([]).run
    server.body = b"not json"
    assert "not json" in keep().trouble
    assert [w.run for w in keep.store.staged()] == [run]
    assert (
        listing_runner.accept(keep.config, keep.store, run, keep.clock).change.missing
        == 50
    )


def test_a_failed_look_is_noted_and_ends_nothing(keep, server):
    keep(keys(3))
    server.status = 500
    looked = keep()
    assert "it answered 500" in looked.trouble
    snapshot = keep.store.register("jobs").snapshots[-1]
    assert (snapshot.valid, "500" in snapshot.note) == (False, True)
    assert keep.store.collection("jobs").looks.size == 1


def test_an_outage_of_our_own_network_leaves_no_trace(keep, monkeypatch):
    async def send(self, url, call):
        raise Offline(f"{url.raw_host}: {NO_NETWORK}")

    with monkeypatch.context() as outage:
        outage.setattr(Wire, "send", send)
        looked = keep()
        assert looked.trouble.endswith(NO_NETWORK)
        assert not keep.store.collections()
    keep(keys(3))
    before = keep.store.register("jobs").snapshots
    with monkeypatch.context() as outage:
        outage.setattr(Wire, "send", send)
        keep()
    assert keep.store.register("jobs").snapshots == before


def test_a_second_look_within_the_hour_confirms_nothing(keep):
    keep(keys(12))
    keep(keys(11))
    assert keep(keys(11), days=0.01).change.gone == 0
    assert keep(keys(11), days=0.05).change.gone == 1


def test_a_missing_firm_is_unobserved_until_somebody_accepts(keep):
    everything = [*keys(40), *keys(20, "g")]
    for _ in range(3):
        keep(everything)
    looked = keep(keys(40))
    assert (looked.held, looked.change.unobserved) == ("", ("g",))
    assert "not seen: g" in looked.words()
    found = listing_runner.accept_group(
        keep.config, keep.store, "jobs", "g", keep.clock
    )
    assert found == 20
    assert keep(keys(40)).change.gone == 20


def test_two_looks_at_once_are_one_too_many(keep):
    keep.store.begin(["jobs"], BEGAN, lease=100.0)
    with pytest.raises(AlreadyRunning):
        keep(keys(3))


def test_looks_are_paid_for(keep):
    for _ in range(39):
        keep(keys(3), days=0.001)
    with pytest.raises(BudgetSpent, match="40 requests per day"):
        keep(keys(3), days=0.001)


def test_the_lease_is_given_back_whatever_happens(keep):
    keep(keys(3))
    run = keep.store.begin(["jobs"], keep.clock.now, lease=1.0)
    keep.store.finish(run, keep.clock.now)


def test_settings_that_cannot_be_read_are_refused(tmp_path):
    base = '[[source]]\nname = "s"\n'
    for text, said in [
        ('kind = "listing"\n', "needs url, urls, page_url or python"),
        ('kind = "listing"\nurl = "http://a/"\npages = ["http://a/"]\n', "no meaning"),
        ('url = "http://a/"\n', "url has no meaning for a source of kind 'pages'"),
        ('kind = "listing"\npage_url = "http://a/"\n', r"must hold \{n\}"),
    ]:
        with pytest.raises(ConfigError, match=said):
            Config.parse(base + text, tmp_path / "halflife.toml")


def test_a_listing_is_no_page(keep):
    assert bootstrap.items(keep.config.source) == []


def test_a_live_listing_goes_on_from_an_imported_history(keep):
    tracker = Tracker(group="firm")
    for at in range(10):
        records = {k: {"id": k, "firm": "f"} for k in keys(30 - at)}
        tracker.take(Listing(BEGAN - 20.0 + at, records))
    run = keep.store.begin(["jobs"], BEGAN - 1.0, lease=0.5)
    keep.store.save_collection(run, tracker.register().collection("jobs"))
    keep.store.finish(run, BEGAN - 1.0)
    looked = keep(keys(20))
    assert (looked.change.arrived, looked.change.updated, looked.held) == (0, 0, "")
    assert looked.change.missing == 2  # one of them for the second time
    assert keep([]).held


def test_numbered_pages_and_chosen_fields_come_from_the_settings(tmp_path, server):
    base = server.url.removesuffix("/jobs.json")
    text = (
        "[fetch]\ndelay = 0.0\n"
        '[[source]]\nname = "jobs"\nkind = "listing"\nallow = ["127.0.0.0/8"]\n'
        f'page_url = "{base}/jobs?page={{n}}"\nformat = "html"\nrecords = "li"\n'
        'key = "link"\nfields = {link = "a@href", title = "a"}\n'
    )
    config = Config.parse(text, tmp_path / "halflife.toml")
    server.body = b"<ul><li><a href=/1>One</a><li><a href=/2>Two</a></ul>"
    store = MemoryStore()
    looked = asyncio.run(listing_runner.sync(config, store, config.source[0]))
    assert (looked.listed, looked.requests) == (2, 3)
    attributes = store.collection("jobs").lives.attributes
    assert attributes["title"].tolist() == ["One", "Two"]


def test_a_reader_that_cannot_work_is_refused_before_anything_is_sent(keep):
    source = keep.config.source[0].model_copy(
        update={"format": "json", "records": "a["}
    )
    work = listing_runner.sync(keep.config, keep.store, source, clock=keep.clock)
    with pytest.raises(ConfigError, match="no JMESPath"):
        asyncio.run(work)
    assert keep.store.spent(0.0) == 0
