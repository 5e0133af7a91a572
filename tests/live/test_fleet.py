"""Workers in processes of their own, on one PostgreSQL and sites on loopback."""

import asyncio
import json
import signal
import subprocess
import sys
import time
from contextlib import closing

import pytest

import postgres_server
import postgres_store
from halflife import cli
from halflife.cli.worker import _seconds
from halflife.config import Config
from halflife.core.errors import StoreError, UsageError
from halflife.core.item import Item
from halflife.engine.fleet.worker import FleetWorker, WorkerTerms
from halflife.engine.reload import Settings
from halflife.engine.signals import Stop
from halflife.stores.postgres import connection
from halflife.stores.postgres.store import PostgresStore
from halflife.stores.postgres.work_queue import WorkQueue
from lab.scale import fleet
from lab.scale.kill_workers import Trial, read_options

HOSTS = 6
DELAY = 0.3  # seconds between two requests to a host
SLOW = 60.0  # seconds that this machine may take to do what takes it three


@pytest.fixture
def project(tmp_path):
    """A fleet whose workers end with the test, and the log of its sites."""
    log = tmp_path / "asked.log"
    address = postgres_store.fresh()
    with fleet.site(HOSTS, log) as port:
        settings = fleet.SETTINGS.format(
            store=address, budget=200, delay=DELAY, concurrency=4
        )
        many = fleet.Fleet(tmp_path, settings, lease=2.0)
        many.know(fleet.urls(HOSTS, 60, port))
        many.address, many.schema = address, address.rpartition("=")[2]
        try:
            yield many
        finally:
            many.kill_all()
            print((tmp_path / "workers.log").read_text())  # noqa: T201  (if it fails)


def held(many):
    return fleet.figures(postgres_store.connect(), many.schema)


def asked(many):
    return fleet.Asked.read(many.folder / "asked.log", DELAY)


def status(many):
    return json.loads(many.run("status", "--json"))


def revisits(many):
    """Return how many pages were asked for again.

    A planner that begins anew is granted a request for the robots.txt of each host;
    where that is known, what is left goes to pages that were fetched before.
    """
    pages = asked(many).pages
    return sum(pages.values()) - len(pages)


def at_work(many):
    with PostgresStore.open(many.address, readonly=True) as store:
        return [one for one in store.fleet().workers if one.is_alive]


@pytest.mark.faults
def test_workers_share_a_sync_and_one_that_is_killed_is_replaced(project):
    for _ in range(3):
        project.start("--once")
    assert fleet.wait_until(lambda: asked(project).requests > 10, SLOW)
    project.kill(project.workers[0])
    cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {}"
    postgres_store.connect().execute(cut.format("application_name = 'halflife'"))
    assert [one.wait(SLOW) for one in project.workers] == [0, 0]
    found, store = asked(project), held(project)
    assert store["filed"] == 60
    assert store["waiting"] == store["open"] == 0
    assert len(found.pages) == 60
    assert found.too_fast == 0
    assert found.requests <= store["charged"] <= 200
    # As many as a worker has in flight, and what it saw and had not handed in yet; and
    # what a planner that begins anew is granted.
    assert revisits(project) <= 4 * 8 + HOSTS
    assert project.run("verify")
    assert status(project)["results"][0]["held"] == 60


def test_a_rolling_restart_fetches_nothing_twice(project):
    first = project.start()
    assert fleet.wait_until(lambda: asked(project).requests > 8, SLOW)
    second = project.start("--once")
    assert fleet.wait_until(lambda: len(at_work(project)) > 2, SLOW)
    first.send_signal(signal.SIGTERM)
    assert first.wait(SLOW) == 0
    assert second.wait(SLOW) == 0
    found = asked(project)
    assert revisits(project) <= HOSTS
    assert held(project)["filed"] == len(found.pages) == 60
    assert found.too_fast == 0
    # What was charged and not sent was given back.
    assert held(project)["charged"] == found.requests


@pytest.mark.faults
def test_pause_and_drain_reach_every_worker(project, capsys):
    def say(verb):
        assert cli.main([verb, "--config", str(project.config)]) == 0
        return capsys.readouterr().out

    one = project.start()
    assert fleet.wait_until(lambda: asked(project).requests > 5, SLOW)
    say("pause")
    assert "paused since" in say("status")

    def is_quiet():
        before = asked(project).requests
        time.sleep(1.0)
        return asked(project).requests == before

    assert fleet.wait_until(is_quiet, SLOW)
    assert asked(project).requests < 66
    say("resume")
    assert fleet.wait_until(lambda: held(project)["filed"] == 60, SLOW)
    say("drain")
    assert one.wait(SLOW) == 0
    late = project.start()  # nobody works while it drains
    assert late.wait(SLOW) == 0
    assert revisits(project) <= HOSTS


@pytest.mark.faults
def test_a_database_that_is_restarted_in_the_middle_loses_nothing():
    postgres_server.need()
    words = ["--pages", "60", "--hosts", "6", "--workers", "2", "--delay", "0.3"]
    words += ["--restart-server", "--every", "2", "--timeout", "90"]
    with fleet.server() as server:
        until = time.monotonic() + 90.0
        found = Trial(read_options(words), server, 1, rounds=2, until=until).run()
    assert found.wrong == ""
    assert found.killed + found.cuts > 0
    lost = found.unfinished, found.lost, found.overspent, found.too_fast
    assert lost == (0, 0, 0, 0)


def refused(tmp_path, store, **more):
    path = tmp_path / "halflife.toml"
    page = 'pages = ["http://127.1.0.1:9/a"]\nallow = ["127.0.0.0/8"]'
    path.write_text(f'store = "{store}"\n[[source]]\nname = "site"\n{page}\n')
    command = [sys.executable, "-m", "halflife", "worker", str(tmp_path)]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=SLOW, check=False, **more
    )
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 1, done.stderr
    return done.returncode, lines[0]


def test_a_file_is_for_one_machine(tmp_path, capsys):
    path = tmp_path / "halflife.toml"
    path.write_text('[[source]]\nname = "site"\npages = ["http://127.1.0.1:9/a"]\n')
    assert cli.main(["worker", str(tmp_path)]) == 2
    assert "name a PostgreSQL database in store, or run `halflife run`" in (
        capsys.readouterr().err
    )


def test_a_database_that_cannot_be_reached_is_one_line(tmp_path):
    code, said = refused(tmp_path, "postgresql://me:s3cret@127.0.0.1:1/work")
    assert code == 1
    assert "check that the server runs" in said
    assert "s3cret" not in said


@pytest.mark.parametrize("text", ["", "10", "x", "-3s", "nan", "1y", "infs"])
def test_nonsense_is_no_time(text):
    with pytest.raises(UsageError, match="write 90s, 10m, 2h or 1d"):
        _seconds(text)


def test_times_have_units():
    assert _seconds("90s") == 90.0
    assert _seconds("1.5h") == 5400.0
    assert _seconds(None) is None


def test_a_user_that_does_not_exist_is_one_line_without_the_password(tmp_path):
    store = postgres_store.address("halflife", user="nobody:s3cret")
    code, said = refused(tmp_path, store)
    assert code == 1
    assert "check the user, the password" in said
    assert "s3cret" not in said


@pytest.fixture
def small(tmp_path):
    """A project with one page, whose store is there."""
    address = postgres_store.fresh()
    path = tmp_path / "halflife.toml"
    page = 'pages = ["http://127.1.0.1:9/a"]\nallow = ["127.0.0.0/8"]'
    path.write_text(f'store = "{address}"\n[[source]]\nname = "site"\n{page}\n')
    PostgresStore.open(address, create=True).close()
    return path


def test_a_worker_with_a_wrong_clock_does_not_begin(small, monkeypatch, capsys):
    monkeypatch.setattr(connection, "time", lambda: time.time() + 600.0)
    assert cli.main(["worker", str(small)]) == 1
    said = capsys.readouterr().err
    assert "this machine's clock is 600 s ahead of that of postgresql://" in said


def worked(path, monkeypatch, terms, each=lambda: None):
    """Run a worker in this process, without a planner; return it."""

    async def run():
        config, stop = Config.load(path), Stop()
        with (
            PostgresStore.open(config.store) as store,
            closing(WorkQueue.open(config.store, terms.lease)) as queue,
        ):
            one = FleetWorker(Settings(config), store, queue, stop, terms)
            each()
            await one.run()
        return one

    return asyncio.run(run())


def test_a_worker_whose_clock_is_set_wrong_ends(small, monkeypatch):
    def wrong():
        monkeypatch.setattr(connection, "time", lambda: time.time() - 120.0)

    terms = WorkerTerms("a", lease=1.0, check_clock=0.0)
    with pytest.raises(StoreError, match="120 s behind"):
        worked(small, monkeypatch, terms, wrong)


def test_pages_of_a_source_that_a_worker_does_not_know_are_left_to_others(
    small, monkeypatch
):
    address = Config.load(small).store
    with PostgresStore.open(address) as store:
        store.add([Item("http://127.1.0.1:9/b", "another")])
        run = store.begin(["another"], 20000.0, lease=1.0)
        with closing(WorkQueue.open(address, 30.0)) as planner:
            planner.stand_for_election()
            planner.take_over(store, 20000.0)
            row = ("http://127.1.0.1:9/b", "127.1.0.1", 1.0, 0)
            planner.hand_out(run.id, [row])
            terms = WorkerTerms("a", lease=2.0, seconds=0.7)
            assert worked(small, monkeypatch, terms).pages == 0
            assert planner.open_pages(["another"]) == (1, 1)
            assert store.spent(0.0) == 0  # what was charged was given back


def test_each_project_of_a_database_has_a_planner_of_its_own(small, tmp_path):
    other = postgres_store.fresh()
    PostgresStore.open(other, create=True).close()
    mine = Config.load(small).store
    with (
        closing(WorkQueue.open(mine, 3.0)) as one,
        closing(WorkQueue.open(other, 3.0)) as two,
        closing(WorkQueue.open(mine, 3.0)) as three,
    ):
        assert one.stand_for_election()
        assert two.stand_for_election()
        assert not three.stand_for_election()
