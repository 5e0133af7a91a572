"""What a worker does with sources that it reads whole, in this process."""

import asyncio
from contextlib import closing, contextmanager
from dataclasses import replace

import pytest

import postgres_store
import search_server
from fleet_parts import ME, Clock
from form_worlds import behind, cars
from halflife.config import Config
from halflife.core.errors import StoreError
from halflife.demo.forms import FormServer, serving, snippet
from halflife.engine.fleet import report_codec, source_reads, source_thread
from halflife.engine.fleet.source_reads import SourceReads
from halflife.stores.postgres.store import PostgresStore
from halflife.stores.postgres.work_queue import WorkQueue
from halflife.stores.postgres.work_sources import SourceTask

HOME = 'allow = ["127.0.0.0/8"]\nrobots = false\n'
HEAD = 'store = "{}"\n[budget]\nrequests = 500\n[fetch]\ndelay = 0.0\ntimeout = 5.0\n'
SEARCH = f"""
[[source]]
name = "words"
kind = "search"
engine = "elasticsearch"
search_url = "URL/es/_search?q={{query}}&from={{offset}}&size={{count}}"
{HOME}"""
FUNCTION = """
import halflife

@halflife.listing(key="id")
async def jobs(session):
    for number in range(4):
        yield {"id": number}
"""
JOBS = f'[[source]]\nname = "jobs"\nkind = "listing"\npython = "made:jobs"\n{HOME}'
GONE = f"""
[[source]]
name = "gone"
kind = "listing"
url = "http://127.9.0.1:9/x"
key = "id"
{HOME}"""


@contextmanager
def sharing(folder, *sources):
    """Yield a worker's reads, the planner's end of the queue, and the store."""
    address = postgres_store.fresh()
    path = folder / "halflife.toml"
    path.write_text(HEAD.format(address) + "".join(sources))
    (folder / "made.py").write_text(FUNCTION)
    with (
        PostgresStore.open(address, create=True) as store,
        closing(WorkQueue.open(address, 5.0)) as planner,
        closing(WorkQueue.open(address, 5.0)) as mine,
    ):
        planner.stand_for_election()
        planner.take_over(store, 20000.0)
        mine.join("w", ME)
        reads = SourceReads(Config.load(path), mine.sources, "w", 5.0)
        yield reads, planner.sources, store, Clock(address)


def read(reads, planner, *names, each=lambda: None):
    """Hand sources out, let them be read, and return the reports by source."""

    async def work():
        for name in names:
            planner.hand_out(SourceTask(name, "", 1.0, 150, 0.0))
        while reads.take() or reads.tasks:
            reads._next = 0.0
            reads.renew()
            each()
            await asyncio.wait(reads.tasks or {asyncio.sleep(0)}, timeout=0.05)
            reads.collect()
        await reads.close()

    asyncio.run(asyncio.wait_for(work(), 60))
    return {
        one.source: report_codec.unpack(one.report)
        for one in planner.ended()
        if one.report is not None
    }


def test_forms_searches_and_functions_are_read_as_in_the_service(tmp_path):
    office = FormServer(behind(cars(40), everything=True, page_size=20))
    texts = search_server.corpus(60)
    with serving(office) as url, search_server.serving(texts) as server:
        form = snippet(url, office.form.interface)
        search = SEARCH.replace("URL", server.url)
        with sharing(tmp_path, form, search, JOBS) as (reads, planner, store, clock):
            found = read(reads, planner, "simulated", "words", "jobs")
            assert not any(report.trouble for report in found.values())
            assert found["simulated"].result.row()["arrived"] == 40
            assert found["words"].result.row()["documents"] > 0
            assert found["jobs"].result.row()["listed"] == 4
            assert set(store.collections()) >= {"simulated", "jobs"}
            sent = sum(report.requests for report in found.values())
            assert sent == reads.requests == store.spent(0.0)
            # Nothing is held any more: neither hosts, nor sources, nor the thread.
            held = "SELECT count(*) FROM @host_lease WHERE worker IS NOT NULL"
            assert clock.run(held).fetchone() == (0,)
            assert clock.run("SELECT count(*) FROM @lease").fetchone() == (0,)
            assert clock.run("SELECT count(*) FROM @worker").fetchone() == (1,)


def test_a_source_that_fails_is_reported_with_its_trouble(tmp_path):
    with sharing(tmp_path, GONE) as (reads, planner, _, _):
        report = read(reads, planner, "gone")["gone"]
        assert "127.9.0.1" in report.trouble
        assert report.failures == {"gone": 1}
        assert not reads.is_offline


def test_without_a_network_a_source_is_given_back(tmp_path, monkeypatch):
    real = source_reads.SourceThread.read

    async def offline(thread, leased):
        report = await real(thread, leased)
        return replace(report, lost=True, requests=2)

    monkeypatch.setattr(source_reads.SourceThread, "read", offline)
    with sharing(tmp_path, GONE) as (reads, planner, _, clock):

        async def work():
            planner.hand_out(SourceTask("gone", "", 1.0, 150, 0.0))
            assert reads.take() == 1
            await asyncio.wait(reads.tasks)
            reads.collect()
            await reads.close()

        asyncio.run(work())
        assert reads.is_offline
        assert planner.ended() == []
        row = clock.run("SELECT worker, wasted FROM @work_source").fetchone()
        assert row == (None, 2)


@pytest.mark.faults
def test_a_store_that_cannot_be_opened_is_tried_again_later(tmp_path, monkeypatch):
    def away(_):
        raise StoreError("the server is away")

    with sharing(tmp_path, GONE) as (reads, planner, _, clock):

        async def work():
            planner.hand_out(SourceTask("gone", "", 1.0, 150, 0.0))
            assert reads.take() == 1
            await asyncio.wait(reads.tasks)
            reads.collect()

        with monkeypatch.context() as patched:
            patched.setattr(source_thread.location, "open_store", away)
            asyncio.run(work())
        assert planner.ended() == []
        assert clock.run("SELECT worker FROM @work_source").fetchone() == (None,)
        assert reads.take() == 0  # not at once
        reads._next = 0.0
        assert read(reads, planner)["gone"].trouble


def test_what_another_reads_is_broken_off(tmp_path):
    office = FormServer(behind(cars(40), everything=True, page_size=20))
    with serving(office) as url:
        form = snippet(url, office.form.interface)
        with sharing(tmp_path, form) as (reads, planner, _, clock):
            taken = "UPDATE @work_source SET token = token + 100, worker = 77"
            found = read(reads, planner, "simulated", each=lambda: clock.run(taken))
            assert found == {}
            assert clock.run("SELECT count(*) FROM @lease").fetchone() == (0,)
