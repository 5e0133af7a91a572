"""`halflife run` as a process: who may run beside it, who watches it, how it ends."""

import json
import signal
import socket
import time
import urllib.error
import urllib.request

from processes import started, wait_for


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def test_a_second_process_is_refused_and_a_killed_one_is_succeeded(
    here, server, keep, fails, told
):
    server.pages["/"] = ("text/plain", b"one")
    keep(server, "/")
    with started(here, "run") as running:
        wait_for(lambda: "/" in server.asked)
        code, said = fails("sync")
        assert code == 7
        assert f"process {running.pid}" in said
        with started(here, "run") as second:
            _, err = second.communicate(timeout=30)
        assert second.returncode == 7
        assert "Traceback" not in err
        running.send_signal(signal.SIGKILL)
        running.wait(10)
    assert told("sync", "--all")[0] == 0


def test_it_is_watched_and_what_it_does_is_one_json_object_a_line(here, server, keep):
    server.pages["/"] = ("text/plain", b"one")
    keep(server, "/")
    port = free_port()
    with started(here, "run", "--health", str(port), "--json") as running:
        wait_for(lambda: "/" in server.asked)
        wait_for(lambda: metric(port, "halflife_turns_total") >= 1)
        assert metric(port, 'halflife_requests_total{sources="s"}') == 2
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/health") as answer:
            assert json.load(answer)["status"] == "ok"
        with started(here, "run", "--health", str(port)) as second:
            _, err = second.communicate(timeout=30)
        assert second.returncode == 2
        assert "the port cannot be used" in err
        running.send_signal(signal.SIGTERM)
        out, err = running.communicate(timeout=30)
    assert running.returncode == 143
    assert json.loads(out.splitlines()[0])["looks"] == 1
    events = [json.loads(line)["event"] for line in err.splitlines()]
    assert events[:2] == ["watched", "working"]
    assert events[-1] == "stopped"


def metric(port, name):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
            lines = answer.read().decode().splitlines()
    except urllib.error.URLError:
        return -1
    found = [line.rpartition(" ")[2] for line in lines if line.startswith(f"{name} ")]
    return float(found[0]) if found else -1


def test_a_search_is_kept_too(here, fails):
    (here / "halflife.toml").write_text(
        '[[source]]\nname = "words"\nkind = "search"\n'
        'search_url = "http://127.0.0.1:9/?q={query}"\n'
    )
    with started(here, "run") as running:
        line = json.loads(running.stderr.readline())
        assert line["event"] == "working"
        running.send_signal(signal.SIGINT)
        running.communicate(timeout=30)
    assert running.returncode == 130


def test_signals_end_work_of_every_kind(here, server, keep, told):
    server.pages["/jobs.json"] = ("application/json", b'[{"id": 1}]')
    keep(server, "/")
    with (here / "halflife.toml").open("a") as settings:
        settings.write(
            '\n[[source]]\nname = "jobs"\nkind = "listing"\nkey = "id"\n'
            f'allow = ["127.0.0.0/8"]\nurl = "{server.url}/jobs.json"\n'
        )
    server.go.clear()
    with started(here, "run") as running:
        wait_for(lambda: "/jobs.json" in server.asked)
        for _ in range(2):
            running.send_signal(signal.SIGTERM)
            time.sleep(0.1)
        _, err = running.communicate(timeout=4)  # well within the grace of the first
    assert running.returncode == 143
    assert "Traceback" not in err
    server.go.set()
    assert told("sync")[0] == 0  # the leases were given back
