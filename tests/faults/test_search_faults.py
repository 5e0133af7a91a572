"""Search engines that misbehave, and a program killed while it asks one."""

import asyncio
import signal
import subprocess
import sys
import time

import pytest

from halflife.config import Config
from halflife.engine import bootstrap
from halflife.kinds.search.runner import Summarizer, SummaryWish
from halflife.stores import summaries
from halflife.stores.sqlite import SqliteStore
from search_server import corpus, serving

TEXTS = corpus(200)


@pytest.fixture
def server():
    with serving(TEXTS) as server:
        yield server


@pytest.fixture
def config(server, tmp_path):
    path = tmp_path / "halflife.toml"
    path.write_text(
        "[budget]\nrequests = 3000\n[fetch]\ndelay = 0.0\ntimeout = 0.5\n"
        '[[source]]\nname = "shop"\nkind = "search"\nallow = ["127.0.0.0/8"]\n'
        f'search_url = "{server.url}/solr/s?q={{query}}&start={{offset}}"\n'
    )
    return Config.load(path)


def summarize(config, **wish):
    async def run():
        with bootstrap.writing(config) as store:
            summarizer = Summarizer(config, store, SummaryWish(**wish))
            return await summarizer.summarize(config.source[0])

    return asyncio.run(run())


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("500", "it answered 500"),
        ("403", "it answered 403"),
        ("429", "left alone"),
        ("garbage", "not JSON"),
        ("empty", "not JSON"),
        ("big", "larger than"),
        ("hang", ""),
    ],
)
@pytest.mark.parametrize("good", [0, 6], ids=["from the start", "later"])
def test_a_server_that_misbehaves_ends_the_sampling_soon(
    server, config, fault, said, good
):
    server.shop.fault, server.shop.answers = fault, good
    found = summarize(config, documents=100)
    verdict = "it stopped answering: " if good else "it never answered: "
    assert found.ending.startswith(verdict)
    if said not in found.ending:
        assert "left alone" in found.ending  # it was, after the first failures
    assert server.shop.served <= good + 4
    assert (found.kept is not None) == bool(good)
    with SqliteStore.open(config.store_path, readonly=True) as store:
        assert store.verify() == []
        assert store.spent(0.0) == found.requests == len(server.shop.log)


def test_text_that_is_hostile_stays_text(server, config):
    bad = "\x1b[31mred \u202eevil <script>alert(1)</script> ../../etc/passwd ' OR 1=1"
    server.shop.texts = {key: f"{bad} {text}" for key, text in TEXTS.items()}
    found = summarize(config, documents=20)
    words = set(found.kept.summary.words)
    assert {"red", "evil", "passwd"} <= {w.removeprefix("31m") for w in words}
    assert "script" not in words
    assert all(word.isprintable() for word in words)


def _program(config):
    words = [sys.executable, "-m", "halflife", "summarize", "--documents", "150"]
    return subprocess.Popen(
        [*words, "--config", str(config.path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _wait_for(served, server, program):
    end = time.monotonic() + 30
    while server.shop.served < served and time.monotonic() < end:
        assert program.poll() is None, program.communicate()
        time.sleep(0.005)


def test_a_program_killed_in_the_middle_leaves_the_store_whole(server, config):
    before = summarize(config, documents=30).kept
    server.shop.served = 0
    program = _program(config)
    _wait_for(10, server, program)
    program.kill()
    program.communicate()
    with SqliteStore.open(config.store_path) as store:
        assert store.verify() == []
        assert summaries.current(store, "shop").documents == before.documents
        assert store.spent(0.0) >= len(server.shop.log)  # never less than was sent
    after = summarize(config, documents=30)
    assert (after.kept.version, after.in_use) == (2, True)


def test_a_program_asked_to_stop_keeps_what_it_has(server, config):
    program = _program(config)
    _wait_for(10, server, program)
    program.send_signal(signal.SIGINT)
    out, err = program.communicate(timeout=30)
    assert program.returncode == 130, err
    assert "stopped before it was done" in out
    with SqliteStore.open(config.store_path) as store:
        assert store.verify() == []
        assert summaries.current(store, "shop").summary.sampled >= 4
        # The request in flight may not have arrived.
        assert 0 <= store.spent(0.0) - len(server.shop.log) <= 1


def test_a_program_asked_to_stop_does_not_wait_for_a_server_that_hangs(server, config):
    path = config.path
    path.write_text(path.read_text().replace("timeout = 0.5", "timeout = 30"))
    server.shop.fault, server.shop.answers = "hang", 10
    program = _program(config)
    _wait_for(11, server, program)
    program.send_signal(signal.SIGTERM)
    out, err = program.communicate(timeout=30)
    assert program.returncode == 143, err
    assert "stopped before it was done" in out
    with SqliteStore.open(config.store_path) as store:
        assert summaries.current(store, "shop").summary.sampled >= 4
