"""The laws of sinks, for every kind there is, ours or a plug-in's."""

import json
import sqlite3
import sys
import threading
from contextlib import closing, contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import entry_points
from xml.etree import ElementTree as ET

import pytest

from halflife.sinks import laws

FOUND = sorted(point.name for point in entry_points(group="halflife.sinks"))
APPEND = """
import sys
with open(sys.argv[1], "ab") as file:
    file.write(sys.stdin.buffer.read())
"""


def arrived(rows):
    return [(row["source"], row["key"], row["seq"]) for row in rows]


def lines(path):
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    return arrived(json.loads(line) for line in text.split("\n") if line)


@contextmanager
def jsonl(folder):
    yield (
        {"path": "out/changes.jsonl"},
        partial(lines, folder / "out/changes.jsonl"),
        {},
    )


@contextmanager
def command(folder):
    path = folder / "got.jsonl"
    words = [sys.executable, "-c", APPEND, str(path)]
    yield {"command": words}, partial(lines, path), {}


@contextmanager
def webhook(folder):
    got = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            got.extend(arrived(json.loads(body)["changes"]))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_):
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    serve = partial(server.serve_forever, poll_interval=0.02)
    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        url = f"http://127.0.0.1:{server.server_address[1]}/hook"
        yield {"url": url, "allow": ["127.0.0.0/8"]}, lambda: got, {}
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def sql(folder):
    pytest.importorskip("sqlalchemy", reason="needs halflife[sql]")
    path = folder / "tables.db"

    def read():
        found = []
        with closing(sqlite3.connect(path)) as db:
            for source in ("jobs", "docs"):
                exists = "SELECT 1 FROM sqlite_schema WHERE name = ?"
                if db.execute(exists, (source,)).fetchone():
                    rows = db.execute(f"SELECT _key, _seq FROM {source}")
                    found += [(source, key, seq) for key, seq in rows]
        return found

    wants = {"wants": lambda change: change.kind != "held", "complete": False}
    yield {"url": "sqlite:///tables.db", "deletes": "soft"}, read, wants


@contextmanager
def parquet(folder):
    pq = pytest.importorskip("pyarrow.parquet", reason="needs halflife[parquet]")

    def read():
        rows = []
        for path in (folder / "lake").glob("day=*/*.parquet"):
            rows += pq.ParquetFile(path).read().to_pylist()
        return arrived(sorted(rows, key=lambda row: row["seq"]))

    yield {"path": "lake"}, read, {}


@contextmanager
def warc(folder):
    pytest.importorskip("warcio", reason="needs halflife[warc]")
    from warcio.archiveiterator import ArchiveIterator  # noqa: PLC0415

    def read():
        numbers = {(c.key, laws_stamp(c)): c.seq for c in laws.CHANGES}
        found = []
        for path in sorted((folder / "archive").glob("*.warc.gz")):
            with path.open("rb") as file:
                for record in ArchiveIterator(file):
                    if record.rec_type in {"response", "revisit"}:
                        url = record.rec_headers["WARC-Target-URI"]
                        date = record.rec_headers["WARC-Date"]
                        found.append(("docs", url, numbers[url, date]))
        return found

    wants = {"wants": lambda change: change.key.startswith("http")}
    yield {"path": "archive"}, read, wants


def laws_stamp(change):
    from halflife.sinks.event import stamp  # noqa: PLC0415

    return stamp(change.at)


@contextmanager
def atom(folder):
    path = folder / "feed.xml"

    def read():
        ids = ET.parse(path).iterfind("{*}entry/{*}id")  # noqa: S314  (ours)
        numbers = sorted(int(one.text.rpartition(":")[2]) for one in ids)
        by_number = {change.seq: change for change in laws.CHANGES}
        return [(by_number[n].source, by_number[n].key, n) for n in numbers]

    yield {"path": "feed.xml"}, read, {}


TRIALS = {
    one.__name__: one for one in (jsonl, command, webhook, sql, parquet, warc, atom)
}


def test_every_sink_that_is_registered_is_tried():
    assert [name for name in FOUND if name not in TRIALS] == []
    assert len(FOUND) >= 7


@pytest.mark.parametrize("law", laws.LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("name", FOUND)
def test_a_sink_keeps_the_laws(name, law, tmp_path):
    (point,) = entry_points(group="halflife.sinks", name=name)
    with TRIALS[name](tmp_path) as (table, read, more):
        settings = {"name": "x", "kind": name, **table}
        law(laws.SinkTrial(point.load(), settings, read, tmp_path, **more))
