"""Parsers that build trees: in a worker, and what a page does to it ends with it."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from halflife.core.errors import SourceError
from halflife.kinds.form.description import describe_form
from halflife.readers import tree_worker, trees
from halflife.readers.markup import MarkupQuery, select
from halflife.readers.reader_thread import in_thread
from halflife.readers.records import RecordReader
from halflife.readers.text import digest
from hostile_readers import measure

LISTING = RecordReader(key="a@href", format="html", records="li")
RECORDS = "".join(f"<li><a href=/{i}>n {i}</a></li>" for i in range(300))


PAGES = {
    "rt": "'<rt>' * 250_000",
    "optgroup": "'<select>' + '<optgroup>' * 100_000",
    "end tags": "'<div>' * 900 + '</x>' * 200_000",
    "attributes": "'<p ' + ' '.join(f\"a{i}='<'\" for i in range(90_000))",
    "formatting": "'<p>' + ''.join(f'<b id={i}>' for i in range(900)) + '<p>x' * 50000",
    "deep": "'<div>' * 200_000",
}
READERS = {
    "listing": (
        (
            "from halflife.readers.records import RecordReader\n"
            "reader = RecordReader(key='a@href', format='html', records='li')"
        ),
        "reader.read(page.encode(), 'text/html')",
    ),
    "search": (
        (
            "from halflife.kinds.search.answers import AnswerReader\n"
            "reader = AnswerReader('html', hits='li', link='a@href')"
        ),
        "reader.read(page.encode(), 'text/html', 'http://example.org/')",
    ),
    "form": (
        "from halflife.kinds.form.description import describe_form",
        "describe_form('<form><input name=q>' + page, 'http://example.org/')",
    ),
    "links": (
        "from halflife.kinds.pages.links import read_links",
        "read_links(page, 'http://example.org/')",
    ),
    "visible": (
        "from halflife.readers.text import digest",
        "digest('visible', 'text/html', page.encode(), '')",
    ),
    "main": (
        "from halflife.readers.text import digest",
        "digest('main', 'text/html', page.encode(), '')",
    ),
}


@pytest.mark.parametrize(
    ("reader", "name"),
    [
        *(
            (reader, name)
            for reader in ("listing", "links", "visible")
            for name in PAGES
        ),
        *((reader, "formatting") for reader in ("search", "form", "main")),
        ("main", "rt"),
    ],
)
def test_no_page_takes_more_than_its_share_of_time_and_memory(reader, name):
    setup, call = READERS[reader]
    took = measure(f"{setup}\npage = {PAGES[name]}", call)
    assert took.grown < 100
    assert took.worker <= tree_worker.MEMORY >> 20
    assert took.cpu < 2.0  # of ours; the worker has a limit of its own


def test_a_page_is_read_the_same_in_a_worker_and_without():
    query = MarkupQuery("li", ("a@href", "a", "", "@id"), 1000, 1000)
    assert len(RECORDS) > trees.SMALL
    inside = tree_worker.select(
        RECORDS, [("li", [("a", "href"), ("a", ""), ("", ""), ("", "id")], 1000, 1000)]
    )
    assert select(RECORDS, [query]) == [inside[0]]
    assert inside[0][7] == ["/7", "n 7", "n 7", None]


def test_after_a_page_that_is_refused_others_are_read():
    with pytest.raises(SourceError, match=r"it takes more than 2\.1 s to read"):
        LISTING.read(b"<rt>" * 150_000, "text/html")
    assert len(LISTING.read(RECORDS.encode(), "text/html").records) == 300


def test_memory_that_a_page_took_is_given_back():
    LISTING.read(("<li><a href=/1>x</a></li>" * 100_000).encode(), "text/html")
    LISTING.read(RECORDS.encode(), "text/html")
    for worker in trees._POOL._idle:
        status = Path(f"/proc/{worker._process.pid}/status").read_text()
        used = int(status.partition("VmRSS:")[2].split()[0])
        assert used < tree_worker.LARGE >> 10


def test_a_worker_that_ended_is_replaced():
    LISTING.read(RECORDS.encode(), "text/html")
    for worker in trees._POOL._idle:
        worker._process.kill()
        worker._process.wait()
    assert len(LISTING.read(RECORDS.encode(), "text/html").records) == 300


def test_who_is_cancelled_waits_for_no_page():
    page = b"<rt>" * 4_000_000  # may take 17 s

    async def scene() -> None:
        task = asyncio.create_task(in_thread(LISTING.read, page, "text/html"))
        await asyncio.sleep(1.0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    began = time.monotonic()
    asyncio.run(scene())  # it waits for its threads too
    assert time.monotonic() - began < 4.0


def children(pid: int) -> list[int]:
    told = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(word) for word in told.split()]


def gone(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return True
    return state == "Z"


def test_a_worker_does_not_outlive_who_started_it():
    script = (
        "from halflife.readers.records import RecordReader\n"
        "reader = RecordReader(key='a@href', format='html', records='li')\n"
        "reader.read(b'<rt>' * 4_000_000, 'text/html')\n"
    )
    with subprocess.Popen([sys.executable, "-c", script]) as process:
        until = time.monotonic() + 30
        workers: list[int] = []
        while not workers and time.monotonic() < until:
            time.sleep(0.05)
            workers = children(process.pid)
        time.sleep(1.0)  # it reads by now
        assert not gone(workers[0])
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        until = time.monotonic() + 5
        while not gone(workers[0]) and time.monotonic() < until:
            time.sleep(0.05)
        assert gone(workers[0])


def test_who_reads_small_pages_needs_no_worker():
    script = (
        "from halflife.readers import trees\n"
        "from halflife.readers.records import RecordReader\n"
        "reader = RecordReader(key='a@href', format='html', records='li')\n"
        "reader.read(b'<li><a href=x>', 'text/html')\n"
        "assert not trees._POOL._used\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)


def test_the_main_content_is_not_looked_for_by_us():
    pytest.importorskip("trafilatura")
    script = (
        "import sys\n"
        "from halflife.readers.text import check_mode, digest\n"
        "check_mode('main')\n"
        "digest('main', 'text/html', b'<p>some text</p>', '')\n"
        "assert 'trafilatura' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)


# Forms


@pytest.mark.parametrize("action", ["http://[/", "http://[]@/", "mailto:a@example.org"])
def test_a_form_that_is_sent_to_no_address_is_passed_over(action):
    bad = f"<form action='{action}'><input name=q><input name=r></form>"
    good = "<form action='/find'><input name=q></form>"
    assert (
        describe_form(bad + good, "http://example.org/").url
        == "http://example.org/find"
    )
    with pytest.raises(SourceError, match="its action is no address"):
        describe_form(bad, "http://example.org/")


@pytest.mark.parametrize("kind", ["", "type=text", "type=search"])
@pytest.mark.parametrize("name", ["P", "p"])
def test_words_may_be_asked_for_in_a_field_called_p(name, kind):
    """Xapian Omega calls it P."""
    page = f"<form><input {kind} name={name}><input type=hidden name=DB value=a></form>"
    found = describe_form(page, "http://example.org/omega")
    assert found.url == "http://example.org/omega?DB=a"
    assert [(a.name, a.kind) for a in found.attributes] == [(name, "keyword")]
    assert found.places[name].param == name


def test_a_field_called_p_that_is_not_for_words_turns_pages():
    page = "<form><input name=q><input type=hidden name=p value=2></form>"
    found = describe_form(page, "http://example.org/")
    assert (found.url, len(found.attributes)) == ("http://example.org/", 1)


def test_the_main_content_is_the_same_each_time():
    pytest.importorskip("trafilatura")
    page = b"<article><p>" + b"A sentence that matters. " * 40 + b"</p></article>"
    one = digest("main", "text/html", page, "")
    assert digest("main", "text/html", page + b"<!-- x -->", "") == one
