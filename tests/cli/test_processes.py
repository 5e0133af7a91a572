"""Two programs at once, programs that are told to stop, and readers that leave."""

import signal
import time

import pytest

from processes import started, wait_for


def test_two_syncs_of_the_same_source_at_once(here, server, keep, fails, told):
    server.pages["/"] = ("text/plain", b"one")
    keep(server, "/")
    server.go.clear()
    with started(here, "sync") as first:
        wait_for(lambda: "/" in server.asked)
        code, complaint = fails("sync")
        assert code == 7
        assert f"is being synced by process {first.pid}" in complaint
        server.go.set()
        out, err = first.communicate(timeout=30)
    assert first.returncode == 0, err
    assert "1 fetch," in out
    assert told("status")[0] == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("verb", ["sync", "run"])
def test_one_signal_lets_what_is_in_flight_finish(
    here, server, keep, told, verb, number
):
    server.pages["/"] = ("text/plain", b"one")
    keep(server, "/")
    server.go.clear()
    with started(here, verb) as running:
        wait_for(lambda: "/" in server.asked)
        running.send_signal(number)
        time.sleep(0.3)
        server.go.set()
        _, err = running.communicate(timeout=30)
    assert running.returncode == 128 + number, err
    assert "Traceback" not in err
    assert '"held": 1' in told("status", "--json")[1]


def test_run_keeps_pages_and_listings_side_by_side(here, server, keep, asked):
    server.pages["/"] = ("text/plain", b"one")
    server.pages["/jobs.json"] = ("application/json", b'[{"id": 1}, {"id": 2}]')
    keep(server, "/")
    with (here / "halflife.toml").open("a") as settings:
        settings.write(
            '\n[[source]]\nname = "jobs"\nkind = "listing"\nkey = "id"\n'
            f'allow = ["127.0.0.0/8"]\nurl = "{server.url}/jobs.json"\n'
        )
    with started(here, "run") as running:
        wait_for(lambda: {"/", "/jobs.json"} <= set(server.asked))
        time.sleep(0.5)
        running.send_signal(signal.SIGTERM)
        out, err = running.communicate(timeout=30)
    assert running.returncode == 143, err
    assert "1 fetch," in out
    assert "jobs: 2 objects: 2 new" in out
    assert asked("status")[1]["sets"][0]["held"] == 2


def test_a_second_signal_ends_it_at_once(here, server, keep, told):
    keep(server, "/")
    server.go.clear()
    with started(here, "sync") as running:
        wait_for(lambda: "/" in server.asked)
        for _ in range(2):
            running.send_signal(signal.SIGINT)
            time.sleep(0.1)
        _, err = running.communicate(timeout=4)  # well within the grace of the first
    assert running.returncode == 130, err
    assert "Traceback" not in err
    server.go.set()
    assert told("sync", "--dry-run")[0] == 0


def test_a_pipe_that_is_closed_early(settings, here, told):
    assert told("sync")[0] == 0
    with started(here, "plan", "--top", "1000") as running:
        running.stdout.close()
        running.wait(30)
        assert "Traceback" not in running.stderr.read()
