"""Files that sinks write are whole after a crash, and others can read them."""

import json
import resource
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime
from types import SimpleNamespace

import feedparser
import pytest

from halflife.core.change import Change
from halflife.core.observation import Content
from halflife.sinks import files, laws
from halflife.sinks.atom import AtomConfig, AtomFeed
from halflife.sinks.event import as_lines
from halflife.sinks.jsonl import JsonLines, JsonLinesConfig
from halflife.sinks.parquet import ParquetConfig, ParquetFolder
from halflife.sinks.protocol import Batch, DeliveryError, Outlet
from halflife.sinks.warc import WarcConfig, WarcFolder
from sink_parts import changes, deliver, lines, opened, settings


def made(kind, table, folder):
    sink = kind(table, Outlet(folder, folder / "halflife.db"))
    sink.open()
    return sink


def jsonl(folder, **more):
    table = JsonLinesConfig(name="x", kind="jsonl", path="f.jsonl", **more)
    return made(JsonLines, table, folder)


@pytest.mark.parametrize("cut", [1, 5, 40])
def test_a_line_that_a_crash_cut_off_is_removed(tmp_path, cut):
    sink = jsonl(tmp_path)
    sink.deliver(laws.batch(laws.CHANGES[:3]))
    sink.close()
    path = tmp_path / "f.jsonl"
    path.write_bytes(path.read_bytes()[:-cut])
    sink = jsonl(tmp_path)
    sink.deliver(laws.batch(laws.CHANGES[2:4]))
    sink.close()
    assert [row["seq"] for row in lines(path)] == [1, 2, 3, 4]


@pytest.mark.parametrize("before", [0, 2])
@pytest.mark.parametrize("kept", range(8))
def test_what_a_file_has_of_a_batch_is_not_written_twice(tmp_path, before, kept):
    old, new = laws.CHANGES[:before], laws.CHANGES[before:]
    whole = as_lines(old + new[:kept]) + b'{"seq":99'
    path = tmp_path / "f.jsonl"
    path.write_bytes(whole)
    for _ in range(2):
        sink = jsonl(tmp_path)
        sink.deliver(laws.batch(new))
        sink.close()
    assert path.read_bytes() == as_lines(old + new)


def test_changes_of_another_log_with_the_same_numbers_are_written(tmp_path):
    other = [replace(change, at=change.at + 1.0) for change in laws.CHANGES]
    for some in (laws.CHANGES[:4], other[:4], other[:2], other[2:4]):
        sink = jsonl(tmp_path)
        sink.deliver(laws.batch(some))
        sink.close()
    found = (tmp_path / "f.jsonl").read_bytes()
    assert found == as_lines([*laws.CHANGES[:4], *other[:4], *other[:2], *other[2:4]])


def test_a_long_line_that_was_cut_off_is_found(tmp_path):
    path = tmp_path / "f.jsonl"
    path.write_bytes(b'{"seq":1}\n{"seq":' + b"2" * (files._TAIL * 2))
    jsonl(tmp_path).close()
    assert path.read_bytes() == b'{"seq":1}\n'


def test_a_file_of_somebody_else_is_left_as_it_is(tmp_path):
    path = tmp_path / "f.jsonl"
    path.write_text("first line\nimportant, without an end")
    with pytest.raises(DeliveryError, match="name another file in path"):
        jsonl(tmp_path)
    assert path.read_text() == "first line\nimportant, without an end"


def test_a_file_that_grows_large_is_put_aside(tmp_path):
    sink = jsonl(tmp_path, rotate=1024)
    for change in laws.CHANGES * 4:
        sink.deliver(Batch("x", change.seq, change.seq, [change], 9, None))
    sink.close()
    names = sorted(path.name for path in tmp_path.glob("f.jsonl*"))
    assert names == ["f.jsonl", *(f"f.jsonl.{n}" for n in range(1, len(names)))]
    assert len(names) >= 4
    found = [row["seq"] for n in [*names[1:], names[0]] for row in lines(tmp_path / n)]
    assert found == [change.seq for change in laws.CHANGES] * 4
    assert all((tmp_path / name).stat().st_size <= 1024 for name in names)


def test_a_disk_that_fills_up_in_the_middle_of_a_write_leaves_whole_lines(tmp_path):
    sink = jsonl(tmp_path)
    sink.deliver(laws.batch(laws.CHANGES[:2]))
    size = (tmp_path / "f.jsonl").stat().st_size
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 50, before[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            sink.deliver(laws.batch(laws.CHANGES[2:]))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    sink.close()
    assert [row["seq"] for row in lines(tmp_path / "f.jsonl")] == [1, 2]


def test_a_full_disk_at_a_sink_is_named_and_nothing_is_lost(tmp_path):
    text = '[[sink]]\nname = "f"\nkind = "jsonl"\npath = "f.jsonl"\n'
    config = settings(tmp_path, text)
    (tmp_path / "f.jsonl").symlink_to("/dev/full")
    with opened(config) as store:
        store.changes.append(changes(3))
        report = deliver(config, store)["f"]
        assert report.trouble() == "1 try failed: No space left on device"
        (tmp_path / "f.jsonl").unlink()
        store.sinks.retry("f", 0.0)
        assert deliver(config, store)["f"].trouble() == ""
    assert [row["seq"] for row in lines(tmp_path / "f.jsonl")] == [1, 2, 3]


def test_a_file_is_replaced_at_once_or_stays(tmp_path):
    path = tmp_path / "a"
    files.replace_file(path, b"old")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2, before[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            files.replace_file(path, b"newer")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_feed_is_valid_and_has_the_latest_changes(tmp_path):
    table = AtomConfig(name="x", kind="atom", path="f.xml", title="A & B", entries=4)
    for start in (0, 5):
        sink = made(AtomFeed, table, tmp_path)
        sink.deliver(laws.batch(laws.CHANGES[start : start + 5]))
    bad = Change(20_004.0, "jobs", "bell \x07 \ud800", "new", {"a": (None, "\0")}, 10)
    sink.deliver(laws.batch([bad]))
    feed = feedparser.parse((tmp_path / "f.xml").read_bytes())
    assert not feed.bozo
    assert (feed.version, feed.feed.title) == ("atom10", "A & B")
    assert [int(e.id.rpartition(":")[2]) for e in feed.entries] == [10, 9, 8, 7]
    assert feed.entries[2].title == "jobs: returned 2"
    assert feed.entries[2].content[0].value == "pay: nothing → 8"
    assert feed.entries[2].updated == "2024-10-07T00:00:00Z"


def test_a_file_that_is_no_feed_is_left_as_it_is(tmp_path):
    (tmp_path / "f.xml").write_text("<html/>")
    with pytest.raises(DeliveryError, match="no feed of ours"):
        made(AtomFeed, AtomConfig(name="x", kind="atom", path="f.xml"), tmp_path)


def test_parquet_files_lie_in_folders_of_days_and_open_in_duckdb(tmp_path):
    pytest.importorskip("pyarrow", reason="needs halflife[parquet]")
    table = ParquetConfig(name="x", kind="parquet", path="lake")
    sink = made(ParquetFolder, table, tmp_path)
    for _ in range(2):  # a second delivery replaces the files
        sink.deliver(laws.batch(laws.CHANGES))
    days = sorted(path.name for path in (tmp_path / "lake").iterdir())
    assert days[0] == "day=2024-10-04"
    assert len(days) == 4
    duckdb = pytest.importorskip("duckdb", reason="needs duckdb")
    rows = duckdb.sql(
        f"SELECT seq, \"at\", source, kind, fields->'$.pay[1]', day FROM read_parquet("
        f"'{tmp_path}/lake/*/*.parquet', hive_partitioning = true) ORDER BY seq"
    ).fetchall()
    assert [row[0] for row in rows] == list(range(1, 10))
    assert rows[3][2:5] == ("jobs", "changed", "6")
    assert rows[3][1].astimezone(UTC) == datetime(2024, 10, 5, tzinfo=UTC)
    assert str(rows[3][5]) == "2024-10-05"


HEAD = (
    "HTTP/1.0 203 Non-Authoritative\nServer: tiny\nContent-Type: text/html\n"
    "Content-Encoding: gzip\nContent-Length: 99\nX-Odd: ü"
)


@pytest.mark.parametrize(("kind", "head"), [("resource", ""), ("response", HEAD)])
def test_an_archive_passes_the_check_of_warcio_and_revisits_what_it_has(
    tmp_path, kind, head
):
    pytest.importorskip("warcio", reason="needs halflife[warc]")
    from warcio.archiveiterator import ArchiveIterator  # noqa: PLC0415

    bodies = {"t1": b"<p>one</p>", "t2": b"<p>two</p>"}
    reader = SimpleNamespace(
        content=lambda _, t: Content("text/html", bodies[t], head) if t else None
    )
    sink, url = None, "http://a.example/"
    story = [("new", "t1"), ("changed", "t2"), ("gone", ""), ("returned", "t1")]
    for n, (became, text) in enumerate(story, 1):
        fields = {"text": (None, text)} if text else {}
        change = Change(20_000.0 + n, "docs", url, became, fields, n)
        sink = made(WarcFolder, WarcConfig(name="x", kind="warc", path="w"), tmp_path)
        for _ in range(2):
            sink.deliver(Batch("x", n, n, [change], 9, reader))
    paths = sorted((tmp_path / "w").glob("*.warc.gz"))
    assert len(paths) == 3
    found = []
    for path in paths:
        with path.open("rb") as file:
            for record in ArchiveIterator(file):
                told = record.rec_headers
                body = record.content_stream().read()
                date, first = told["WARC-Date"], told["WARC-Refers-To-Date"]
                found.append((record.rec_type, date, first, body))
                if head and record.rec_type != "warcinfo":
                    check_headers(record, 10)
    kept = [row for row in found if row[0] != "warcinfo"]
    assert kept == [
        (kind, "2024-10-05T00:00:00Z", None, b"<p>one</p>"),
        (kind, "2024-10-06T00:00:00Z", None, b"<p>two</p>"),
        ("revisit", "2024-10-08T00:00:00Z", "2024-10-05T00:00:00Z", b""),
    ]
    check = [sys.executable, "-m", "warcio.cli", "check", *map(str, paths)]
    done = subprocess.run(check, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def check_headers(record, length):
    """Check that a record has the headers of the answer, as far as they fit it."""
    told = record.http_headers
    assert (told.protocol, told.statusline) == ("HTTP/1.0", "203 Non-Authoritative")
    assert told["Server"] == "tiny"
    assert told["Content-Length"] == str(length)
    assert told["X-Archive-Orig-Content-Length"] == "99"
    assert told["X-Archive-Orig-Content-Encoding"] == "gzip"
    assert told["Content-Encoding"] is None


def test_a_sink_without_its_package_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "warcio", None)
    with pytest.raises(DeliveryError) as caught:
        made(WarcFolder, WarcConfig(name="x", kind="warc", path="w"), tmp_path)
    assert str(caught.value) == (
        "a sink of kind 'warc' needs warcio; install it with: "
        'pip install "halflife[warc]"'
    )


def test_what_is_not_text_is_written_all_the_same(tmp_path):
    sink = jsonl(tmp_path)
    sink.deliver(laws.batch([Change(1.0, "s", "\ud800", "new", {}, 1)]))
    sink.close()
    assert json.loads((tmp_path / "f.jsonl").read_text())["key"] == "\ud800"
