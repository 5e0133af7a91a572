"""A program that is busy is not deaf: signals end it, whatever spins."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from form_worlds import behind, cars
from halflife.demo.forms import FormServer, serving, snippet
from processes import load_of, wait_for

WORKER = Path(__file__).parent.parent / "spin_worker.py"


def slack():
    """Return the seconds by which other programs on this machine may delay an end."""
    return 0.5 + 0.5 * load_of()


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


def ended(running, number):
    """Send a signal; return the seconds until the program ended, and its words."""
    began = time.monotonic()
    running.send_signal(number)
    _, err = running.communicate(timeout=60)
    return time.monotonic() - began, err


@pytest.mark.parametrize(
    "case",
    [
        ("sync", signal.SIGTERM, "halflife.engine.loop:Loop.plan"),
        ("sync", signal.SIGINT, "halflife.kinds.pages.client:_seen"),
        ("run", signal.SIGTERM, "halflife.kinds.pages.client:_seen"),
        ("run", signal.SIGINT, "halflife.engine.scheduler:decide"),
    ],
)
def test_a_loop_that_spins_is_ended_within_a_second(here, server, keep, told, case):
    verb, number, where = case
    server.pages["/"] = ("text/plain", b"one")
    keep(server, "/")
    with spinning(here, where, verb) as running:
        took, err = ended(running, number)
    assert running.returncode == 128 + number, err
    assert took < 1.0 + slack()
    assert "still busy after it was asked to stop" in err
    if verb == "run":  # its lines are for programs, also the last one
        said = json.loads(err.splitlines()[-1])
        assert said["level"] == "warning"
    assert "Traceback" not in err
    code, _, err = told("verify")
    assert code == 0, err
    assert told("sync", "--all")[0] == 0  # nobody holds the lease of a dead process


def test_a_second_signal_ends_a_loop_that_spins_at_once(here, server, keep):
    server.pages["/"] = ("text/plain", b"one")
    keep(server, "/")
    with spinning(here, "halflife.kinds.pages.client:_seen", "sync") as running:
        running.send_signal(signal.SIGTERM)
        time.sleep(0.1)
        took, err = ended(running, signal.SIGTERM)
    assert running.returncode == 143, err
    assert took < 0.5 + slack()


@pytest.mark.parametrize("verb", ["sync", "run"])
def test_a_thread_that_spins_does_not_keep_the_program_from_ending(here, told, verb):
    office = FormServer(behind(cars(6)))
    with serving(office) as url:
        form = snippet(url, office.form.interface)
        (here / "halflife.toml").write_text(f"[fetch]\ndelay = 0.0\n{form}")
        where = "halflife.kinds.form.runner:first_crawl"
        with spinning(here, where, verb) as running:
            took, err = ended(running, signal.SIGTERM)
        assert running.returncode == 143, err
        assert took < 1.0 + slack()
        assert told("verify")[0] == 0
        assert told("sync")[0] == 0


def test_a_program_that_waits_for_the_machine_is_given_time_to_end(here, server, keep):
    server.pages["/"] = ("text/plain", b"one")
    keep(server, "/")
    where = "stalled:halflife.kinds.pages.client:_seen"
    with spinning(here, where, "sync") as running:
        took, err = ended(running, signal.SIGTERM)
    assert running.returncode == 143, err
    assert "still busy" not in err
    assert 1.0 < took < 2.0 + slack()


@pytest.mark.parametrize("verb", ["sync", "run"])
def test_requests_in_flight_that_take_long_are_broken_off_within_a_second(
    here, server, keep, told, verb
):
    server.pages.update({f"/{n}": ("text/plain", b"one") for n in range(3)})
    keep(server, "/0", "/1", "/2")
    server.go.clear()  # whoever asks waits
    with subprocess.Popen(
        [sys.executable, "-m", "halflife", verb],
        cwd=here,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as running:
        wait_for(lambda: any(path != "/robots.txt" for path in server.asked))
        took, err = ended(running, signal.SIGTERM)
        server.go.set()
    assert running.returncode == 143, err
    assert took < 1.0 + slack()
    if load_of() < 2.0:
        assert "still busy" not in err  # it let go by itself
    assert told("verify")[0] == 0
    assert told("sync")[0] == 0
