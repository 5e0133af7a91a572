"""Sinks from the command line: sync and run deliver, sinks shows and mends."""

import json
import signal
import socket
import subprocess
import sys
import time

import pytest

from halflife.cli import exits, main

FILE = '[[sink]]\nname = "log"\nkind = "jsonl"\npath = "changes.jsonl"\n'
FAILS = '[[sink]]\nname = "bad"\nkind = "command"\ncommand = ["/bin/false"]\n'
HANGS = (
    '[[sink]]\nname = "slow"\nkind = "command"\ncommand = ["/bin/sleep", "60"]\n'
    "timeout = 100.0\n"
)


def arrived(folder):
    path = folder / "changes.jsonl"
    text = path.read_text() if path.exists() else ""
    return [json.loads(line) for line in text.splitlines()]


@pytest.fixture
def program(capsys):
    def run(*words):
        code = main(words)
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


def test_a_sync_delivers_what_it_found_and_names_what_fails(settings, program):
    settings.write_text(settings.read_text() + FILE + FAILS)
    code, _, err = program("sync", "--json")
    assert code == 0
    assert "halflife: sink bad: 1 try failed: it exited with 1" in err
    rows = arrived(settings.parent)
    assert {row["kind"] for row in rows} == {"new"}
    assert [row["seq"] for row in rows] == list(range(1, len(rows) + 1))
    assert len(rows) > 5
    code, out, _ = program("sinks", "--json")
    log, bad = json.loads(out)["results"]
    assert (log.pop("letters"), bad.pop("letters")) == ([], [])
    assert (code, log["behind"], log["trouble"]) == (0, 0, "")
    assert (bad["name"], bad["behind"], bad["cursor"]) == ("bad", len(rows), 0)
    assert bad["trouble"] == "1 try failed: it exited with 1"
    status = json.loads(program("status", "--json")[1])
    assert status["sinks"] == [log, bad]
    assert "sink bad: 1 try failed" in program("status")[1]
    assert "bad: 1 try failed: it exited with 1" in program("doctor")[1]


def test_what_failed_is_delivered_again_or_given_up(settings, program):
    text = settings.read_text()
    settings.write_text(text + FILE + FAILS)
    program("sync", "--json")
    code, out, _ = program("sinks", "retry", "bad")
    assert code == 4
    assert "0 changes delivered; 1 try failed" in out
    settings.write_text(text + FILE + FAILS.replace("/bin/false", "/bin/cat"))
    code, out, _ = program("sinks", "retry", "bad", "--json")
    assert (code, json.loads(out)["behind"]) == (0, 0)
    code, out, _ = program("sinks", "skip", "bad")
    assert (code, out) == (0, "bad: 0 changes given up\n")


def test_changes_that_are_refused_are_listed(settings, program):
    refuses = FAILS.replace('"/bin/false"', '"/bin/sh", "-c", "exit 65"')
    settings.write_text(settings.read_text() + refuses + 'sources = ["demo"]\n')
    program("sync", "--json", "--max-requests", "6")
    (row,) = json.loads(program("sinks", "--json")[1])["results"]
    assert row["dead"] == len(row["letters"]) > 0
    assert row["trouble"] == f"{row['dead']} dead letters"
    first = row["letters"][0]
    assert (first["seq"], first["kind"]) == (1, "new")
    assert first["trouble"] == "it exited with 65"
    out = program("sinks", "skip", "bad", "--json")[1]
    assert json.loads(out) == {"sink": "bad", "skipped": row["dead"]}


def test_what_waits_is_delivered_although_the_budget_is_spent(settings, program):
    text = settings.read_text()
    settings.write_text(text + FAILS)
    program("sync", "--json")
    few = text.replace("requests = 500", "requests = 1")
    settings.write_text(few + FAILS.replace("bad", "good").replace("false", "cat"))
    code, _, _ = program("sync", "--json")
    assert code == exits.SPENT
    (row,) = json.loads(program("sinks", "--json")[1])["results"]
    assert (row["name"], row["behind"]) == ("good", 0)
    assert row["delivered"] > 5


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["retry"], "sinks retry takes the name of a sink"),
        (["skip", "none"], "no sink is named 'none' in"),
        (["list", "log"], "sinks list takes no name; got 'log'"),
    ],
)
def test_a_call_that_makes_no_sense_is_refused(settings, program, words, said):
    settings.write_text(settings.read_text() + FILE)
    code, _, err = program("sinks", *words)
    assert code == 2
    assert said in err


def test_without_sinks_it_is_said_how_to_get_one(settings, program):
    assert program("sinks")[1] == "no sinks configured; add [[sink]] to the settings\n"


@pytest.fixture
def deaf():
    """An address that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}/"


def test_sinks_that_hang_stop_neither_the_service_nor_its_end(settings, deaf):
    hook = f'[[sink]]\nname = "hook"\nkind = "webhook"\nurl = "{deaf}"\n'
    hook += 'allow = ["127.0.0.0/8"]\ntimeout = 100.0\n'
    settings.write_text(settings.read_text() + FILE + HANGS + hook)
    command = [sys.executable, "-m", "halflife", "run", "--json"]
    command += ["--config", str(settings)]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        for _ in range(600):
            time.sleep(0.1)
            if len(arrived(settings.parent)) > 5:
                break
        time.sleep(0.3)  # the other sink hangs by now
        began = time.monotonic()
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=30)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 143
    assert time.monotonic() - began < 6.0  # a second, on a machine that is not busy
    assert "Traceback" not in err
    assert len(arrived(settings.parent)) > 5
