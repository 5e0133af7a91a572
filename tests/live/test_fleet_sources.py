"""Sources that workers read whole, and what those who watch see meanwhile.

All tests share one project and its workers, in processes of their own, and go on from
where the test before has left it.
"""

import json
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from contextlib import ExitStack, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

import postgres_store
from halflife.cli import main
from halflife.core.object_store import Listing
from halflife.stores.owner import Owner
from halflife.stores.postgres.store import PostgresStore
from lab.scale import fleet
from listening import listening

SLOW = 60.0  # seconds that this machine may take to do what takes it three
TAKES = 0.8  # seconds that a page of a listing takes to be answered
QUICK = ("q1", "q2", "q3", "q4")  # each on a host of its own
STUCK = ("killed", "restarted")  # they answer when the test lets them
LEASE = 2.0
SETTINGS = """\
store = "{store}"
[budget]
requests = 120
per = "day"
[fetch]
delay = 0.0
[[alert]]
name = "ops"
url = "{site}/hook"
allow = ["127.0.0.0/8"]
kinds = ["held"]
[[source]]
name = "site"
pages = ["{site}/page"]
allow = ["127.0.0.0/8"]
"""
SOURCE = """\
[[source]]
name = "{name}"
kind = "listing"
url = "{url}/{name}/1"
records = "rows"
key = "id"
next = "next"
max_pages = 3
robots = false
allow = ["127.0.0.0/8"]
"""


class Site:
    """Listings of two pages each, on hosts of their own; it remembers what was asked.

    ``asked`` has when a request came and was answered, the source and the page.
    """

    def __init__(self):
        self.asked, self.told = [], []
        self.going = {name: threading.Event() for name in STUCK}
        site = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                came = time.monotonic()
                name, _, page = self.path.strip("/").partition("/")
                if page:
                    site.wait(name, page)
                    site.asked.append((came, time.monotonic(), name, page))
                body = listed(self.path, name, page)
                self.answer(200 if page or name == "page" else 404, body)

            def do_POST(self):
                text = self.rfile.read(int(self.headers["Content-Length"]))
                site.told.append(json.loads(text))
                self.answer(200, b"")

            def answer(self, status, body):
                with suppress(ConnectionError):
                    self.send_response(status)
                    kind = "application/json" if body[:1] == b"{" else "text/html"
                    self.send_header("Content-Type", kind)
                    self.send_header("Content-Length", str(len(body)))
                    self.end_headers()
                    self.wfile.write(body)

            def log_message(self, *_):
                return

        self.servers = {
            name: ThreadingHTTPServer((f"127.3.0.{number}", 0), Handler)
            for number, name in enumerate(("site", *QUICK, *STUCK), 1)
        }

    def url(self, name):
        host, port = self.servers[name].server_address
        return f"http://{host}:{port}"

    def wait(self, name, page):
        if page == "1" and name in self.going:
            self.going[name].wait(SLOW)
        else:
            time.sleep(TAKES)

    def reads(self, name):
        return [page for _, _, of, page in self.asked if of == name]


def listed(path, name, page):
    if not page:
        return b"<p>a page</p>"
    rows = [{"id": f"{name}-{page}-{i}"} for i in range(3)]
    more = {"next": f"/{name}/2"} if page == "1" else {}
    return json.dumps({"rows": rows, **more}).encode()


class Project(fleet.Fleet):
    """The workers, the site, and what lies in the store."""

    def __init__(self, folder, site, address):
        text = SETTINGS.format(store=address, site=site.url("site"))
        for name in (*QUICK, *STUCK):
            text += SOURCE.format(name=name, url=site.url(name))
        super().__init__(folder, text, LEASE)
        self.site, self.address, self.again = site, address, False
        self.schema = address.rpartition("=")[2]

    def query(self, statement):
        statement = statement.replace("@", f"{self.schema}.")
        return postgres_store.connect().execute(statement).fetchall()

    def held(self, name):
        """Return how many records of a listing are kept."""
        with PostgresStore.open(self.address, readonly=True) as store:
            known = store.collections()
            return len(store.register(name).spells) if name in known else 0

    def readers(self):
        """Return the processes that read sources at this moment, by source."""
        rows = self.query(
            "SELECT source.name, run.owner FROM @lease AS lease"
            " JOIN @run AS run ON run.id = lease.run"
            " JOIN @source AS source ON source.id = lease.source"
        )
        return {name: Owner.parse(owner).pid for name, owner in rows}

    def planner(self):
        rows = self.query("SELECT owner FROM @planner")
        return Owner.parse(rows[0][0]).pid if rows else 0

    def process(self, pid):
        return next((one for one in self.workers if one.pid == pid), None)

    def ports(self):
        lines = (self.folder / "workers.log").read_text().splitlines()
        events = [json.loads(line) for line in lines if line.startswith("{")]
        return [one["port"] for one in events if one.get("event") == "watched"]


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """Three workers on a project of six listings and a page, until the module ends."""
    address = postgres_store.fresh()  # it skips, and must before a socket is opened
    folder, site = tmp_path_factory.mktemp("fleet"), Site()
    go = threading.Event()
    with ExitStack() as stack:
        for server in site.servers.values():
            stack.enter_context(listening(server, go))
        many = Project(folder, site, address)
        with PostgresStore.open(address, create=True) as store:
            run = store.begin(["killed"], 20000.0, lease=1.0)
            store.stage(run, "killed", Listing(20000.0, {}), "all of it is missing")
            store.finish(run, 20000.0)
        stack.callback(many.kill_all)
        stack.callback(lambda: [one.set() for one in site.going.values()])
        for _ in range(3):
            many.start("--health", "0")
        wait_for(lambda: len(many.ports()) == 3)
        yield many
    print((folder / "workers.log").read_text())  # noqa: T201  (if it fails)


def wait_for(condition):
    assert fleet.wait_until(condition, SLOW)


def overlapping(asked):
    """Return how many requests were under way at one moment, at most."""
    edges = sorted(edge for came, left, *_ in asked for edge in ((came, 1), (left, -1)))
    most = now = 0
    for _, step in edges:
        now += step
        most = max(most, now)
    return most


def test_listings_on_several_hosts_are_read_at_once_by_several_workers(project):
    wait_for(lambda: all(project.held(name) == 6 for name in QUICK))
    read = [row for row in project.site.asked if row[2] in QUICK]
    assert len(read) == 8  # each of two pages, once
    assert overlapping(read) >= 2
    rows = project.query(
        "SELECT DISTINCT owner FROM @run WHERE sources <> '[\"site\"]'"
    )
    readers = {Owner.parse(owner).pid for (owner,) in rows} - {os.getpid()}
    assert len(readers) >= 2


def get(address, **headers):
    """Return the status and the text of an answer."""
    asked = urllib.request.Request(address, headers=headers)
    try:
        with urllib.request.urlopen(asked, timeout=30) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def metrics(places):
    return [get(f"{place}/metrics")[1] for place in places]


def test_status_shows_what_is_read_and_by_whom(project, capsys):
    wait_for(lambda: project.readers().keys() >= set(STUCK))
    assert main(["status", "--json", "--config", str(project.config)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["handed_out"]["sources_read"] == 2
    names = {one["name"].partition(" (")[0] for one in found["workers"]}
    assert names == {"w1", "w2", "w3"}
    assert found["control"]["state"] == "running"


def test_health_and_metrics_of_running_workers(project):
    places = [f"http://127.0.0.1:{port}" for port in project.ports()]
    assert len(places) == 3
    # Tests of this file may be divided among processes, each with its own project.
    wait_for(lambda: all(project.held(name) == 6 for name in QUICK))
    wait_for(lambda: 503 in [get(f"{place}/health")[0] for place in places])
    wait_for(lambda: any("halflife_quality{" in one for one in metrics(places)))
    wait_for(lambda: project.query("SELECT 1 FROM @message"))
    found = [get(f"{place}/health") for place in places]
    rows = [json.loads(text) for _, text in found]
    # The worker that decides knows of the answer that waits; all are at work.
    assert sorted(status for status, _ in found) == [200, 200, 503]
    assert [row["reasons"] for row in rows if row["reasons"]] == [["killed: held"]]
    assert all(row["control"] == "running" and row["turns"] > 0 for row in rows)
    texts = metrics(places)
    assert sum("halflife_quality{" in text for text in texts) == 1
    # It need not wait for more of the same.
    assert len(project.query("UPDATE @message SET due = 0 RETURNING id")) == 1
    sent = [line for text in texts for line in text.splitlines() if "total{sou" in line]
    assert sum(float(line.split()[-1]) for line in sent) >= 8


def test_the_page_is_served_and_its_sync_button_says_who_fetches(project):
    words = [sys.executable, "-m", "halflife", "serve", "--port", "0"]
    words += ["--config", str(project.config)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        try:
            address = process.stdout.readline().strip()
            base, _, token = address.partition("?token=")
            head = {"Authorization": f"Bearer {token}"}
            assert get(base, **head)[0] == 200
            assert '"q1"' in get(f"{base}sources.json", **head)[1]
            body = json.dumps({"source": "q1"}).encode()
            asked = urllib.request.Request(
                f"{base}api/v1/sync", body, {**head, "Content-Type": "application/json"}
            )
            urllib.request.urlopen(asked, timeout=30).close()
            jobs = f"{base}jobs.json"
            wait_for(lambda: '"running"' not in get(jobs, **head)[1])
            (job,) = json.loads(get(jobs, **head)[1])["results"]
        finally:
            process.send_signal(signal.SIGTERM)
    assert job["state"] == "failed"
    assert "workers share this store (w1, w2, w3)" in job["said"]


@pytest.mark.parametrize("verb", ["sync", "run"])
def test_nobody_else_fetches_beside_workers(project, verb, capsys):
    assert main([verb, "--config", str(project.config)]) == 7
    assert "workers share this store (w1, w2, w3)" in capsys.readouterr().err


@pytest.mark.faults
def test_a_listing_of_a_worker_that_is_killed_is_read_by_another(project):
    wait_for(lambda: project.readers().keys() >= set(STUCK))
    dead = project.readers()["killed"]
    project.again = project.readers()["restarted"] == dead  # it may read both
    project.kill(project.process(dead))
    project.start()
    wait_for(lambda: all(project.readers().get(name, dead) != dead for name in STUCK))
    project.site.going["killed"].set()
    wait_for(lambda: project.held("killed") == 6)
    # The request that was in flight is repeated, and nothing else.
    assert sorted(project.site.reads("killed")) == ["1", "1", "2"]
    rows = project.query("SELECT sum(requests) FROM @ledger")
    assert len(project.site.asked) <= rows[0][0] <= 120


def test_a_rolling_restart_reads_nothing_twice(project):
    project.site.going["killed"].set()
    wait_for(lambda: "restarted" in project.readers())
    wait_for(lambda: all(project.held(name) == 6 for name in (*QUICK, "killed")))
    old = list(project.workers)
    reader = project.process(project.readers()["restarted"])
    project.start()
    for one in old:
        one.send_signal(signal.SIGTERM)
    time.sleep(LEASE)  # it is held while it comes to an end
    assert reader.poll() is None
    project.site.going["restarted"].set()
    assert [one.wait(SLOW) for one in old] == [0] * len(old)
    wait_for(lambda: project.held("restarted") == 6)
    wait_for(lambda: not project.query("SELECT 1 FROM @work_source"))
    first = ["1"] * (1 + project.again)
    assert sorted(project.site.reads("restarted")) == [*first, "2"]
    assert [len(project.site.reads(name)) for name in QUICK] == [2] * 4


def test_an_alert_is_raised_and_sent_once_whoever_plans(project):
    wait_for(lambda: project.query("SELECT 1 FROM @message"))
    if not project.query("SELECT 1 FROM @planner WHERE epoch > 1"):  # a new project
        project.kill(project.process(project.planner()))
        project.start()
        project.query("UPDATE @message SET due = 0 RETURNING id")
    wait_for(lambda: project.query("SELECT 1 FROM @planner WHERE epoch > 1"))
    wait_for(lambda: project.site.told)
    assert project.query("SELECT count(*) FROM @message") == [(1,)]
    assert len(project.site.told) == 1


def test_all_end_when_drained(project, capsys):
    assert main(["drain", "--config", str(project.config)]) == 0
    codes = [one.wait(SLOW) for one in project.workers]
    assert set(codes) == {0}
    assert main(["verify", "--config", str(project.config)]) == 0
    capsys.readouterr()
