"""Changes on their way to sinks: in order, at least once, whatever the sinks do."""

import asyncio
import hmac
import json
import sys
import threading
import time
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from halflife.core.errors import UsageError
from halflife.core.item import Item
from halflife.core.object_store import Listing
from halflife.core.observation import Content, Observation, Observations, Seen
from halflife.core.tracker import Tracker
from halflife.engine import deliveries, housekeeping
from halflife.engine.sink_threads import LoopReader
from halflife.sinks.webhook import KEY, SIGNATURE, SIGNED_AT
from halflife.stores import retention
from halflife.stores.memory import MemoryStore
from halflife.stores.owner import Owner
from sink_parts import NOW, Time, change, changes, deliver, lines, opened, settings

FILE = """
[[sink]]
name = "file"
kind = "jsonl"
path = "changes.jsonl"
"""


@pytest.fixture
def kept(tmp_path):
    """Open a store for settings; return both."""
    stores = []

    def make(text=FILE):
        config = settings(tmp_path, text)
        stores.append(opened(config))
        return config, stores[-1]

    yield make
    for store in stores:
        store.close()


@contextmanager
def receiver(answer):
    """Serve a hook; ``answer`` gets the body and returns a status."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            raw = self.rfile.read(int(self.headers["Content-Length"]))
            body = json.loads(raw)
            got.append((self.headers[KEY], body))
            asked.append((dict(self.headers), raw))
            self.send_response(answer(body))
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_):
            return

    got, asked = [], []
    receiver.asked = asked
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    serve = partial(server.serve_forever, poll_interval=0.02)
    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/", got
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def hook(url, more=""):
    return (
        f'[[sink]]\nname = "hook"\nkind = "webhook"\nurl = "{url}"\n'
        f'allow = ["127.0.0.0/8"]\n{more}'
    )


def command(code, *words, more=""):
    told = json.dumps([sys.executable, "-c", code, *map(str, words)])
    return f'[[sink]]\nname = "prog"\nkind = "command"\ncommand = {told}\n{more}'


def seqs(path):
    return [row["seq"] for row in lines(path)]


def test_every_change_arrives_once_and_in_order(kept, tmp_path):
    config, store = kept(FILE + "batch = 7\n")
    store.changes.append(changes(20))
    report = deliver(config, store)["file"]
    store.changes.append(changes(5, 21))
    deliver(config, store)
    assert seqs(tmp_path / "changes.jsonl") == list(range(1, 26))
    assert (report.state.cursor, report.behind, report.trouble()) == (20, 0, "")
    (row,) = [r for r in lines(tmp_path / "changes.jsonl") if r["seq"] == 3]
    assert row == {
        "seq": 3,
        "at": "2026-02-16T00:00:00Z",
        "source": "jobs",
        "key": "3",
        "kind": "new",
        "fields": {"pay": [None, 3]},
    }


def test_a_sink_gets_the_sources_and_kinds_that_it_asks_for(kept, tmp_path):
    sources = "".join(
        f'[[source]]\nname = "{n}"\npages = ["http://{n}.example/"]\n' for n in "ab"
    )
    config, store = kept(sources + FILE + 'sources = ["a"]\nkinds = ["gone"]\n')
    store.changes.append(
        [
            change("1", source="a"),
            change("1", "gone", source="b"),
            change("1", "gone", source="a"),
            change("2", source="b"),
        ]
    )
    report = deliver(config, store)["file"]
    assert seqs(tmp_path / "changes.jsonl") == [3]
    assert (report.state.cursor, report.state.delivered) == (4, 1)


def test_a_new_sink_begins_where_its_settings_say(kept, tmp_path):
    config, store = kept(FILE + 'start = "now"\n')
    store.changes.append(changes(3))
    deliver(config, store)
    store.changes.append(changes(2, 4))
    deliver(config, store)
    assert seqs(tmp_path / "changes.jsonl") == [4, 5]


def test_a_sink_that_fails_for_a_day_loses_nothing(kept, tmp_path):
    clock, config_store = Time(), kept(FILE)
    config, store = config_store
    (tmp_path / "changes.jsonl").mkdir()  # which cannot be opened for writing
    store.changes.append(changes(3))
    tried, waits = 0, []
    while clock.now < NOW + 1.0:
        before = clock.now
        report = deliver(config, store, clock)["file"]
        tried += report.state.tries > tried
        clock.now = max(report.state.due, clock.now + 1 / 1440)
        waits.append(clock.now - before)
        store.changes.append(changes(1, 4 + len(waits)))
    assert 8 <= tried < 15
    assert waits == sorted(waits)  # growing pauses
    assert "Is a directory" in report.trouble()
    assert not report.state.halted
    (tmp_path / "changes.jsonl").rmdir()
    report = deliver(config, store, clock)["file"]
    assert seqs(tmp_path / "changes.jsonl") == list(range(1, store.changes.last() + 1))
    assert report.trouble() == ""


def test_a_sink_that_never_works_is_halted_until_somebody_says_so(kept, tmp_path):
    config, store = kept(FILE + "tries = 3\n")
    (tmp_path / "changes.jsonl").mkdir()
    store.changes.append(changes(3))
    clock = Time()
    for _ in range(5):
        report = deliver(config, store, clock)["file"]
        clock.now += 1.0
    assert report.state.halted
    assert report.state.tries == 3
    assert report.trouble().startswith("given up after 3 tries")
    assert "halflife sinks retry file" in report.advice
    (tmp_path / "changes.jsonl").rmdir()
    assert deliver(config, store, clock)["file"].behind == 3
    report = asyncio.run(deliveries.retry(config, store, "file", clock=clock))
    assert (report.behind, report.trouble()) == (0, "")
    assert seqs(tmp_path / "changes.jsonl") == [1, 2, 3]


def test_a_clock_that_was_years_ahead_keeps_no_sink_waiting(kept, tmp_path):
    config, store = kept()
    (tmp_path / "changes.jsonl").mkdir()
    store.changes.append(changes(2))
    deliver(config, store, Time(NOW + 10_000.0))
    (tmp_path / "changes.jsonl").rmdir()
    assert deliver(config, store)["file"].behind == 0


def test_what_is_skipped_is_counted_and_the_rest_goes_on(kept, tmp_path):
    config, store = kept(FILE + "batch = 2\n")
    (tmp_path / "changes.jsonl").mkdir()
    store.changes.append(changes(5))
    deliver(config, store)
    (tmp_path / "changes.jsonl").rmdir()
    assert store.sinks.skip("file", NOW) == 2
    report = deliver(config, store)["file"]
    assert seqs(tmp_path / "changes.jsonl") == [3, 4, 5]
    assert report.state.skipped == 2
    with pytest.raises(UsageError, match="'other'"):
        store.sinks.skip("other", NOW)


def test_one_sink_that_fails_does_not_keep_another_waiting(kept, tmp_path):
    config, store = kept(FILE + command("raise SystemExit(3)"))
    store.changes.append(changes(4))
    found = deliver(config, store)
    assert seqs(tmp_path / "changes.jsonl") == [1, 2, 3, 4]
    assert found["prog"].trouble() == "1 try failed: it exited with 3"


def test_a_batch_that_is_tried_again_is_the_same_batch(kept):
    answers = iter([500, 503, 200, 200])
    with receiver(lambda _: next(answers)) as (url, got):
        config, store = kept(hook(url))
        clock = Time()
        for _ in range(3):
            store.changes.append(changes(2))
            deliver(config, store, clock)
            clock.now += 1.0
    assert [key for key, _ in got] == ["hook:1-2", "hook:1-2", "hook:1-2", "hook:3-6"]
    assert [len(body["changes"]) for _, body in got] == [2, 2, 2, 4]


def test_a_change_that_is_refused_becomes_a_dead_letter_and_its_key_waits(kept):
    bad = {"status": 422}

    def answer(body):
        return bad["status"] if any(c["key"] == "2" for c in body["changes"]) else 200

    with receiver(answer) as (url, got):
        config, store = kept(hook(url))
        store.changes.append(changes(4))
        report = deliver(config, store)["hook"]
        assert (report.dead, report.behind) == (1, 0)
        assert report.trouble() == "1 dead letter"
        store.changes.append([change("2", "gone"), change("5")])
        report = deliver(config, store)["hook"]
        taken = [c["seq"] for _, b in got for c in b["changes"]]
        assert (report.dead, taken[-1]) == (2, 6)
        bad["status"] = 200
        got.clear()
        report = asyncio.run(deliveries.retry(config, store, "hook", clock=Time()))
        again = [(c["key"], c["kind"]) for _, b in got for c in b["changes"]]
        assert again == [("2", "new"), ("2", "gone")]
        assert report.trouble() == ""


def test_a_change_that_is_refused_again_keeps_later_ones_waiting(kept):
    with receiver(lambda body: 413 if body["last"] < 3 else 200) as (url, got):
        config, store = kept(hook(url, "batch = 1\n"))
        store.changes.append([change("1"), change("2"), change("1", "gone")])
        deliver(config, store)
        got.clear()
        report = asyncio.run(deliveries.retry(config, store, "hook", clock=Time()))
    assert [body["last"] for _, body in got] == [1, 2]
    assert report.dead == 3


def test_a_receiver_that_asks_for_time_gets_it(kept):
    class Busy(BaseHTTPRequestHandler):
        def do_POST(self):
            self.send_response(503)
            self.send_header("Retry-After", "7200")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_):
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Busy)
    thread = threading.Thread(target=server.handle_request, daemon=True)
    thread.start()
    config, store = kept(hook(f"http://127.0.0.1:{server.server_address[1]}/"))
    store.changes.append(changes(1))
    report = deliver(config, store)["hook"]
    server.server_close()
    assert report.state.due >= NOW + 2 / 24
    assert "it answered 503" in report.trouble()


def test_a_slow_webhook_has_its_time_limit(kept):
    with receiver(lambda _: time.sleep(0.4) or 200) as (url, _):
        config, store = kept(hook(url, "timeout = 0.1\n"))
        store.changes.append(changes(1))
        report = deliver(config, store)["hook"]
    assert report.state.tries == 1
    assert report.state.cursor == 0


def test_a_batch_is_signed_with_a_secret_that_nobody_sees(kept, monkeypatch, caplog):
    monkeypatch.setenv("HOOK_KEY", "hunter2")
    monkeypatch.setenv("HOOK_TOKEN", "swordfish")
    more = 'secret = {env = "HOOK_KEY"}\n[sink.headers]\nX-A = {env = "HOOK_TOKEN"}\n'
    with receiver(lambda _: 500) as (url, _):
        config, store = kept(hook(url, more))
        store.changes.append(changes(1))
        report = deliver(config, store)["hook"]
        ((headers, raw),) = receiver.asked
    signed = f"{headers[SIGNED_AT]}.".encode() + raw
    expected = hmac.new(b"hunter2", signed, "sha256").hexdigest()
    assert headers[SIGNATURE] == f"sha256={expected}"
    assert headers["X-A"] == "swordfish"
    assert abs(int(headers[SIGNED_AT]) - time.time()) < 60
    said = report.trouble() + caplog.text + repr(config.sink) + str(report)
    assert "hunter2" not in said
    assert "swordfish" not in said


def test_a_secret_that_is_not_set_is_the_trouble_of_the_sink(kept, monkeypatch):
    monkeypatch.delenv("HOOK_KEY", raising=False)
    config, store = kept(hook("http://127.0.0.1:9/", 'secret = {env = "HOOK_KEY"}\n'))
    store.changes.append(changes(1))
    said = deliver(config, store)["hook"].trouble()
    assert "the environment variable HOOK_KEY, which is not set" in said


def test_an_address_that_is_not_public_is_refused(kept):
    with receiver(lambda _: 200) as (url, got):
        config, store = kept(hook(url).replace('allow = ["127.0.0.0/8"]\n', ""))
        store.changes.append(changes(1))
        report = deliver(config, store)["hook"]
    assert got == []
    assert "127.0.0.1" in report.trouble()
    assert report.state.cursor == 0


def test_a_command_that_takes_too_long_is_ended(kept):
    config, store = kept(command("import time; time.sleep(30)", more="timeout = 0.2\n"))
    store.changes.append(changes(1))
    began = time.monotonic()
    report = deliver(config, store)["prog"]
    assert time.monotonic() - began < 5
    assert "did not end within 0.2 s" in report.trouble()


def test_a_command_may_refuse_a_change_by_its_exit_code(kept):
    code = (
        "import json, sys\n"
        "rows = [json.loads(line) for line in sys.stdin]\n"
        "sys.exit('no use' if 0 else 65 if any(r['key'] == '2' for r in rows) else 0)"
    )
    config, store = kept(command(code))
    store.changes.append(changes(3))
    report = deliver(config, store)["prog"]
    assert (report.dead, report.state.delivered, report.behind) == (1, 2, 0)


def test_a_command_that_cannot_be_started_is_named(kept):
    config, store = kept('[[sink]]\nname="p"\nkind="command"\ncommand=["/no/such"]')
    store.changes.append(changes(1))
    said = deliver(config, store)["p"].trouble()
    assert said.endswith("/no/such cannot be started: No such file or directory")


def test_a_sink_that_hangs_is_waited_for_and_never_given_a_second_batch(
    kept, monkeypatch, tmp_path
):
    monkeypatch.setattr(deliveries, "GRACE", 0.05)
    monkeypatch.setattr(deliveries, "_BRIEFLY", 0.05)
    from halflife.sinks.jsonl import JsonLines  # noqa: PLC0415

    deliver_now, busy = JsonLines.deliver, []

    def slowly(self, batch):
        busy.append(batch.key)
        time.sleep(0.3)
        deliver_now(self, batch)

    monkeypatch.setattr(JsonLines, "deliver", slowly)
    config, store = kept(FILE + "timeout = 0.05\nbatch = 1\n")
    store.changes.append(changes(2))
    report = deliver(config, store)["file"]
    assert busy == ["file:1-1", "file:2-2"]
    assert seqs(tmp_path / "changes.jsonl") == [1, 2]
    assert report.trouble() == ""


def test_the_end_of_a_sync_does_not_wait_for_ever(kept):
    config, store = kept(command("import time; time.sleep(30)"))
    store.changes.append(changes(1))
    began = time.monotonic()
    deliver(config, store, patience=0.3)
    assert time.monotonic() - began < 3
    stopped = asyncio.Event()
    stopped.set()
    store.changes.append(changes(1))
    began = time.monotonic()
    deliver(config, store, stop=stopped)
    assert time.monotonic() - began < 3


def test_another_process_that_delivers_is_left_to_it(kept, tmp_path):
    config, store = kept()
    store.changes.append(changes(2))
    state = deliveries.SinkState("file")
    store.sinks.begin(state)
    here = Owner.here()
    alive = str(here.__class__(1, deliveries_started(1), here.boot, here.pids, "x"))
    assert store.sinks.claim(state, state, alive, now=NOW, until=NOW + 1)
    assert deliver(config, store)["file"].behind == 2
    gone = str(here.__class__(2**22 + 1, 5, here.boot, here.pids, "x"))
    store.sinks.release("file", alive)
    assert store.sinks.claim(state, state, gone, now=NOW, until=NOW + 1)
    assert deliver(config, store)["file"].behind == 0
    assert seqs(tmp_path / "changes.jsonl") == [1, 2]


def deliveries_started(pid):
    from halflife.stores.owner import started  # noqa: PLC0415

    return started(pid)


def test_changes_that_left_the_log_undelivered_are_named(kept, tmp_path):
    config, store = kept()
    store.changes.append(changes(2))
    deliver(config, store)
    store.changes.append(changes(6))
    with store.together() as db:
        db.execute("DELETE FROM change WHERE seq <= 5")
    report = deliver(config, store)["file"]
    assert seqs(tmp_path / "changes.jsonl") == [1, 2, 6, 7, 8]
    assert report.trouble() == "3 changes left the log before they were delivered"


def test_a_sink_that_falls_behind_what_is_kept_is_named(kept, tmp_path):
    config, store = kept()
    (tmp_path / "changes.jsonl").mkdir()
    store.changes.append([change(str(n), at=NOW - 200.0) for n in range(3)])
    store.changes.append(changes(2))
    deliver(config, store)
    retention.clear(store, housekeeping.limits(config), NOW)
    (tmp_path / "changes.jsonl").rmdir()
    store.sinks.retry("file", NOW)
    report = deliver(config, store)["file"]
    assert seqs(tmp_path / "changes.jsonl") == [4, 5]
    assert "3 changes left the log" in report.trouble()
    assert "[keep] changes_days" in report.advice
    assert store.sinks.skip("file", NOW) == 3
    assert deliver(config, store)["file"].trouble() == ""


def test_a_log_that_was_emptied_is_named_and_later_changes_arrive(kept, tmp_path):
    config, store = kept()
    store.changes.append(changes(2))
    deliver(config, store)
    store.changes.append(changes(3))
    with store.together() as db:
        db.execute("DELETE FROM change")
    report = deliver(config, store)["file"]
    assert (report.state.cursor, report.state.missed) == (5, 3)
    store.changes.append(changes(1))
    deliver(config, store)
    assert seqs(tmp_path / "changes.jsonl") == [1, 2, 6]


def test_an_error_of_the_program_is_contained_to_its_sink(kept, monkeypatch, caplog):
    config, store = kept(FILE + FILE.replace('"file"', '"bad"'))
    read = type(store.sinks).state

    def fail(self, name):
        if name == "bad":
            raise ZeroDivisionError
        return read(self, name)

    monkeypatch.setattr(type(store.sinks), "state", fail)
    store.changes.append(changes(2))

    async def run():
        async with deliveries.delivering(config, store, clock=Time(), poll=0.01):
            await asyncio.sleep(0.2)

    asyncio.run(run())
    assert read(store.sinks, "file").cursor == 2
    assert "not delivered" in caplog.text


def test_a_sink_that_is_new_misses_nothing_of_what_is_kept(kept, tmp_path):
    config, store = kept()
    store.changes.append(changes(6))
    with store.together() as db:
        db.execute("DELETE FROM change WHERE seq <= 4")
    report = deliver(config, store)["file"]
    assert seqs(tmp_path / "changes.jsonl") == [5, 6]
    assert report.trouble() == ""


def test_a_batch_waits_until_it_is_worth_a_file(kept, tmp_path):
    config, store = kept(FILE + "every = 60.0\nbatch = 10\n")
    clock = Time()
    (courier,) = deliveries._couriers(config, store, clock)

    async def rounds():
        told = []
        for count, later in ((1, 0), (3, 30), (12, 1), (1, 70)):
            clock.now += later / 86400
            store.changes.append(changes(count))
            while await courier.round(patient=True):
                pass
            told.append(len(seqs(tmp_path / "changes.jsonl")))
        await courier.close()
        return told

    assert asyncio.run(rounds()) == [1, 1, 11, 17]


def test_a_service_delivers_while_it_runs(kept, tmp_path):
    config, store = kept()

    async def run():
        async with deliveries.delivering(config, store, clock=Time(), poll=0.01):
            for start in (1, 4):
                store.changes.append(changes(3, start))
                for _ in range(200):
                    await asyncio.sleep(0.01)
                    path = tmp_path / "changes.jsonl"
                    if path.exists() and len(seqs(path)) == start + 2:
                        break

    asyncio.run(run())
    assert seqs(tmp_path / "changes.jsonl") == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("kind", ["file", "memory"])
def test_a_sink_can_read_what_is_held(kept, kind):
    store = kept()[1] if kind == "file" else MemoryStore()
    key = "http://a.example/"
    store.add([Item(key, "docs")])
    run = store.begin(["docs", "jobs"], NOW, lease=1.0)
    for day, text in enumerate(("old", "new")):
        body = Content("text/plain", text.encode())
        look = Observation(key, NOW + day, Seen.PRESENT, text, text, content=body)
        store.append(run, Observations.of([look]))
    tracker = Tracker()
    for day, pay in enumerate((5, 6, 6)):
        tracker.take(Listing(NOW + day, {"1": {"pay": pay}}))
    store.save_register(run, "jobs", tracker.news())

    async def read():
        reader = LoopReader(store, asyncio.get_running_loop())
        record = await asyncio.to_thread(reader.record, "jobs", "1")
        none = await asyncio.to_thread(reader.record, "jobs", "2")
        texts = [
            await asyncio.to_thread(reader.content, key, text)
            for text in ("", "old", "new", "other")
        ]
        return record, none, [text and text.body for text in texts]

    assert asyncio.run(read()) == ({"pay": 6}, None, [b"new", b"old", b"new", None])
