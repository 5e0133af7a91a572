"""The headers of answers are kept with copies: real ones, few bytes, no secrets."""

import sqlite3
import threading
from contextlib import closing, contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from hypothesis import given, strategies as st

from halflife.core.item import Item
from halflife.core.observation import Content, Observation, Observations, Seen
from halflife.net.access import Answer
from halflife.net.answer_head import LARGEST, head_of
from halflife.project import open_project, sync
from halflife.stores import answer_heads, page_versions, schema
from halflife.stores.held_pages import HELD, HeldFetch
from halflife.stores.memory import MemoryStore
from halflife.stores.sqlite import SqliteStore

URL = "http://a.example/"
USUAL = """HTTP/1.1 200 OK
Date: Mon, 16 Nov 2026 18:23:07 GMT
Content-Type: text/html; charset=UTF-8
Transfer-Encoding: chunked
Connection: keep-alive
Server: nginx/1.24.0
Vary: Accept-Encoding
Last-Modified: Sun, 15 Nov 2026 07:11:52 GMT
ETag: W/"6737-18f3a9c2b10"
Cache-Control: public, max-age=600
X-Content-Type-Options: nosniff
Strict-Transport-Security: max-age=31536000; includeSubDomains
Content-Encoding: gzip"""
WORD = st.text(st.characters(codec="latin-1", exclude_characters="\r\n"), max_size=30)


@contextmanager
def site(pages, *headers):
    """Serve pages on the loopback, each answer with these headers."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            body = pages.get(self.path, b"")
            self.send_response(200 if body else 404, "Fine")
            for name, value in (*headers, ("Content-Length", str(len(body)))):
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    work = partial(server.serve_forever, poll_interval=0.02)
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_a_copy_has_the_status_line_and_headers_that_came_with_it(
    tmp_path, monkeypatch
):
    monkeypatch.setenv("TOKEN", "hunter2-hunter2")
    secret = [
        ("Set-Cookie", "sid=swordfish"),
        ("X-Auth-Token", "swordfish"),
        ("Authentication-Info", "swordfish"),
        ("X-Echo", "you sent hunter2-hunter2"),
    ]
    plain = [("Content-Type", "text/html"), ("X-Robots-Tag", "all"), ("Via", "a")]
    page = b"<title>T</title><p>some words of a page</p>"
    with site({"/": page}, *plain, *secret, ("Via", "b")) as url:
        (tmp_path / "halflife.toml").write_text(
            f'[[source]]\nname = "s"\npages = ["{url}/"]\nallow = ["127.0.0.0/8"]\n'
            '[source.auth]\nkind = "bearer"\ntoken = {env = "TOKEN"}\n'
        )
        sync(open_project(tmp_path))
    with SqliteStore.open(tmp_path / "halflife.db") as store:
        lines = store.content(f"{url}/").head.split("\n")
    assert lines[0] == "HTTP/1.0 200 Fine"
    assert lines[3:] == [
        "Content-Type: text/html", "X-Robots-Tag: all", "Via: a",
        "X-Echo: you sent ***", "Via: b", f"Content-Length: {len(page)}",
    ]  # fmt: skip
    assert [line.partition(":")[0] for line in lines[1:3]] == ["Server", "Date"]
    assert b"swordfish" not in (tmp_path / "halflife.db").read_bytes()


@given(headers=st.lists(st.tuples(st.text("abcXY-", min_size=1), WORD), max_size=40))
def test_a_head_is_bounded_and_comes_back_as_it_was(headers):
    answer = Answer(200, URL, headers=dict(headers), line="HTTP/1.1 200 \udcff\r\nX: y")
    head = head_of(answer)
    assert len(head) <= LARGEST
    assert answer_heads.unpack(answer_heads.pack(head)) == head
    for line in head.split("\n")[1:]:
        assert line.partition(": ")[0] in answer.headers


def test_headers_beyond_the_bound_are_left_out_whole():
    many = {f"X-{n}": "v" * 100 for n in range(100)}
    lines = head_of(Answer(200, URL, headers={"X-Long": "v" * 2000, **many})).split(
        "\n"
    )
    assert lines[1] == "X-0: " + "v" * 100
    assert {len(line) for line in lines[1:]} <= {105, 106}
    assert head_of(Answer(200, URL)) == ""
    assert head_of(Answer(599, URL, headers={"A": "b"})) == "HTTP/1.1 599\nA: b"


def test_usual_headers_take_few_bytes():
    assert len(answer_heads.pack(USUAL)) < len(USUAL) / 3
    assert answer_heads.pack("") is None
    assert answer_heads.unpack(b"no such thing") == ""


def seen(day, text, head):
    body = Content("text/html", text.encode(), head)
    return Observation(URL, float(day), Seen.PRESENT, text, text, content=body)


@pytest.fixture(params=["memory", "file"])
def store(request, tmp_path):
    if request.param == "memory":
        yield MemoryStore()
        return
    with SqliteStore.open(tmp_path / "state.db", create=True) as store:
        yield store


def test_every_version_and_a_held_answer_keep_their_own_headers(store):
    store.add([Item(URL, "s")])
    run = store.begin(["s"], 0.0, lease=9.0)
    for day, text in enumerate(("one", "two", "three")):
        store.append(
            run, Observations.of([seen(day, text, f"HTTP/1.1 200 OK\nX-Day: {day}")])
        )
    versions = store.versions.of(URL)
    heads = [store.versions.content(URL, one).head for one in versions]
    assert [head[-1] for head in heads] == ["2", "1", "0"]
    assert store.content(URL).head == heads[0]
    rows = list(store.holdings.page_history("s"))
    assert [row.head[-1] for row in rows] == ["0", "1", "2"]
    assert [row.head for row in store.holdings.pages("s")] == heads[:1]
    held = HeldFetch(seen(5, "four", "HTTP/1.1 200 OK\nX-Day: 5"), HELD, "why", "", "x")
    store.held_answers.save(run.id, held)
    (row,) = store.held_answers.rows()
    assert store.held_answers.observation(row).content.head[-1] == "5"


def test_a_file_of_schema_13_gets_room_for_headers_and_keeps_its_copies(tmp_path):
    path = tmp_path / "state.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        schema.upgrade(db, schema.STEPS[:13])
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("INSERT INTO source VALUES (1, 's')")
        db.execute("INSERT INTO item_group VALUES (1, 'g')")
        db.execute("INSERT INTO item VALUES (1, 1, ?, 1.0, 1.0, 1, NULL)", (URL,))
        row = (1, 1.0, "r", "text/html", page_versions.zlib.compress(b"old"), "t")
        db.execute(
            "INSERT INTO content (item, at, raw, media_type, body, digest)"
            " VALUES (?, ?, ?, ?, ?, ?)",
            row,
        )
    with SqliteStore.open(path) as store:
        assert store.content(URL) == Content("text/html", b"old")
        assert store.content(URL).head == ""
        run = store.begin(["s"], 2.0, lease=9.0)
        store.append(run, Observations.of([seen(2, "new", "HTTP/1.1 200 OK")]))
        contents = [store.versions.content(URL, v) for v in store.versions.of(URL)]
        assert [one.head for one in contents] == ["HTTP/1.1 200 OK", ""]
        assert [one.body for one in contents] == [b"new", b"old"]
