"""A program that is busy is not deaf: signals end it, whatever spins."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from form_worlds import behind, cars
from halflife.demo.forms import Office, serving, snippet
from halflife.engine.signals import DEAF, GRACE, INSIST, SETTLE
from processes import wait_for

WORKER = Path(__file__).parent.parent / "spin_worker.py"
SLACK = 4.0  # seconds; other programs may keep the processor busy


def spinning(here, where, *words):
    """Return the program in which some part has begun to spin."""
    running = subprocess.Popen(
        [sys.executable, WORKER, where, *words],
        cwd=here,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    wait_for((here / "spinning").exists)
    return running


@pytest.mark.parametrize(
    "case",
    [
        ("sync", signal.SIGTERM, "halflife.engine.loop:Loop.plan"),
        ("sync", signal.SIGINT, "halflife.kinds.pages.client:_seen"),
        ("run", signal.SIGTERM, "halflife.kinds.pages.client:_seen"),
        ("run", signal.SIGINT, "halflife.engine.scheduler:decide"),
    ],
)
def test_a_loop_that_spins_is_ended_after_the_grace(here, server, keep, told, case):
    verb, number, where = case
    server.pages["/"] = ("text/plain", b"one")
    keep(server, "/")
    with spinning(here, where, verb) as running:
        began = time.monotonic()
        running.send_signal(number)
        _, err = running.communicate(timeout=60)
        took = time.monotonic() - began
    assert running.returncode == 128 + number, err
    assert took < GRACE + SETTLE + SLACK
    assert "busy; it ends in" in err
    assert "Traceback" not in err
    code, _, err = told("verify")
    assert code == 0, err
    assert told("sync", "--all")[0] == 0  # nobody holds the lease of a dead process


def test_a_second_signal_ends_a_loop_that_spins_within_a_second(here, server, keep):
    server.pages["/"] = ("text/plain", b"one")
    keep(server, "/")
    with spinning(here, "halflife.kinds.pages.client:_seen", "sync") as running:
        running.send_signal(signal.SIGTERM)
        time.sleep(DEAF / 2)
        began = time.monotonic()
        running.send_signal(signal.SIGTERM)
        _, err = running.communicate(timeout=60)
        took = time.monotonic() - began
    assert running.returncode == 143, err
    assert took < INSIST + SLACK


@pytest.mark.parametrize("verb", ["sync", "run"])
def test_a_thread_that_spins_does_not_keep_the_program_from_ending(here, told, verb):
    office = Office(behind(cars(6)))
    with serving(office) as url:
        form = snippet(url, office.form.interface)
        (here / "halflife.toml").write_text(f"[fetch]\ndelay = 0.0\n{form}")
        where = "halflife.kinds.form.runner:first_crawl"
        with spinning(here, where, verb) as running:
            began = time.monotonic()
            running.send_signal(signal.SIGTERM)
            _, err = running.communicate(timeout=60)
            took = time.monotonic() - began
        assert running.returncode == 143, err
        assert took < GRACE + SETTLE + SLACK
        assert told("verify")[0] == 0
        assert told("sync")[0] == 0
