"""What one answer makes our code raise is the failure of that item, and of no other."""

import importlib
import json
import re
import sqlite3

import pytest

from form_worlds import behind, cars
from halflife.cli import main
from halflife.demo.forms import FormServer, serving, snippet
from halflife.kinds.search.answers import AnswerReader
from halflife.readers import containment
from halflife.stores.sqlite import SqliteStore
from reader_faults import CANARY, ERRORS, fail, inject, poison
from search_server import corpus, serving as searching
from service_parts import HOME, Play

HEAD = """
[budget]
requests = {}
[fetch]
delay = 0.0
timeout = 20.0
[audit]
share = {}
"""
HTML = '<html><body><p>{}</p><a href="/ok0">home</a></body></html>'
PAGE_READERS = [
    "halflife.net.gate:Gate.get",
    "halflife.kinds.pages.client:parse_url",
    "halflife.kinds.pages.client:fingerprint",
    "halflife.kinds.pages.client:may_be_map",
    "halflife.readers.page_text:digest",
    "halflife.readers.text:to_text",
]
SITE_READERS = [
    "halflife.kinds.pages.site:read_links",
    "halflife.kinds.pages.site:is_html",
    "halflife.kinds.pages.site:shape",
    "halflife.kinds.pages.site:is_endless",
]


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Return what writes settings into the folder we work in."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HALFLIFE_CONFIG", raising=False)

    def to_file(*parts, requests=2000, share=0.0):
        path = tmp_path / "halflife.toml"
        path.write_text(HEAD.format(requests, share) + "".join(parts))
        return path

    return to_file


def observations(path):
    """Return the last observation of each item: whether it failed, and its note."""
    with sqlite3.connect(path.with_name("halflife.db")) as db:
        rows = db.execute(
            "SELECT key, seen, note FROM observation JOIN item ON item.id = item "
            "WHERE seen < 3 ORDER BY observation.id"
        ).fetchall()
    return {key: (seen, note) for key, seen, note in rows}


def furnish(server, sick):
    """Serve ten healthy pages, and one sick page for each error at a sick path."""
    for i in range(10):
        server.pages[f"/ok{i}"] = ("text/html", HTML.format(f"page {i}").encode())
    for error in ERRORS:
        mark = poison(error)
        server.pages[f"/{mark}" if sick == "path" else f"/x{error}"] = (
            "text/html",
            HTML.format(mark).encode(),
        )
    return [f"{server.url}{path}" for path in server.pages]


def check_failures(server, seen):
    """Assert that each sick item failed with a line that names address and error."""
    sick = {key: it for key, it in seen.items() if "/ok" not in key}
    assert len(sick) == len(ERRORS)
    for error in ERRORS:
        (key,) = (key for key in sick if key.endswith(error))
        failed, note = sick[key]
        assert failed == 2
        assert note.startswith(f"{key}: {containment.MARK}: ")
        named = {"UnicodeError": "UnicodeDecodeError"}.get(error, error)
        # A coroutine that StopIteration leaves raises RuntimeError in its place.
        rest = note.replace("RuntimeError", "StopIteration")
        assert re.search(rf" {named} in halflife\.(readers|kinds|net)\.", rest)
        assert "\n" not in note
        assert CANARY not in note
    assert {it[0] for key, it in seen.items() if "/ok" in key} == {0}


@pytest.mark.parametrize("reader", PAGE_READERS)
def test_a_page_that_breaks_a_reader_fails_alone(
    reader, server, write, monkeypatch, capsys
):
    urls = furnish(server, "path" if "gate" in reader or "url" in reader else "body")
    path = write(f'[[source]]\nname = "docs"\n{HOME}pages = {json.dumps(urls)}\n')
    inject(monkeypatch, reader)
    assert main(["sync", "--all"]) == 0
    check_failures(server, observations(path))
    said = capsys.readouterr()
    assert "10 fetches" in said.out
    assert f"{len(ERRORS)} failed" in said.out
    assert "Traceback" not in said.err
    assert containment.MARK in said.err
    assert CANARY not in said.err


@pytest.mark.parametrize("reader", SITE_READERS)
def test_a_crawled_page_that_breaks_a_reader_fails_alone(
    reader, server, write, monkeypatch
):
    in_path = "shape" in reader or "endless" in reader
    furnish(server, "body")
    sick = [path for path in server.pages if "/ok" not in path]
    for path in sick if in_path else ():  # the links of a page are what breaks it
        link = f'<a href="/to/{poison(path[2:])}/{path[2:]}">on</a>'
        server.pages[path] = ("text/html", HTML.format(link).encode())
    links = "".join(f'<a href="{path}">{path}</a>' for path in server.pages)
    server.pages["/ok-start"] = ("text/html", links.encode())
    start = f'kind = "site"\nstart = "{server.url}/ok-start"\n'
    path = write(f'[[source]]\nname = "docs"\n{HOME}{start}')
    inject(monkeypatch, reader)
    assert main(["sync"]) == 0
    check_failures(server, observations(path))


def test_a_map_that_breaks_its_reader_fails_alone(server, write, monkeypatch):
    item = "<urlset><url><loc>{}</loc></url></urlset>"
    maps = []
    for name in ("ok", *ERRORS):
        text = item.format(f"{server.url}/page-of-{name}")
        mark = "" if name == "ok" else f"<!-- {poison(name)} -->"
        server.pages[f"/{name}"] = ("text/xml", (text + mark).encode())
        maps.append(f"{server.url}/{name}")
    server.pages["/page-of-ok"] = ("text/plain", b"found")
    path = write(f'[[source]]\nname = "docs"\n{HOME}maps = {json.dumps(maps)}\n')
    inject(monkeypatch, "halflife.kinds.pages.client:read_map")
    for _ in range(2):  # what a map names is fetched in the next sync
        assert main(["sync", "--all"]) == 0
    seen = observations(path)
    assert seen.pop(f"{server.url}/page-of-ok")[0] == 0
    check_failures(server, seen)


@pytest.mark.parametrize(
    "reader",
    ["halflife.readers.records:RecordReader.read", "halflife.net.gate:Gate.ask"],
)
def test_a_listing_that_breaks_a_reader_fails_alone(
    reader, server, write, monkeypatch, capsys
):
    parts = []
    for name in ("ok1", *ERRORS, "ok2"):
        mark = name if name.startswith("ok") else poison(name)
        rows = [{"id": n, "title": mark} for n in range(20)]
        server.pages[f"/{mark}"] = ("application/json", json.dumps(rows).encode())
        parts.append(
            f'[[source]]\nname = "{name}"\nkind = "listing"\n{HOME}key = "id"\n'
            f'url = "{server.url}/{mark}"\n'
        )
    write(*parts)
    inject(monkeypatch, reader)
    assert main(["sync", "--json"]) == 4
    told = json.loads(capsys.readouterr().out)["listings"]
    rows = {row["source"]: row for row in told}
    assert list(rows) == ["ok1", *ERRORS, "ok2"]
    for name, row in rows.items():
        if name.startswith("ok"):
            assert (row["listed"], row["trouble"]) == (20, "")
        else:
            assert row["listed"] == 0
            assert row["trouble"].startswith(f"{server.url}/{poison(name)}: ")
            assert containment.MARK in row["trouble"]
            assert CANARY not in row["trouble"]
    assert main(["status", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)["mishandled"]
    assert {one["source"] for one in shown} == set(ERRORS)
    monkeypatch.undo()


@pytest.mark.parametrize(
    "body",
    [
        b'[{"id": "a", "\\ud800": 1}]',
        b'[{"id": "\\ud800", "t": "\\udfff"}, {"id": "b"}]',
        b'[{"id": "a", "t": ' + b"9" * 5000 + b"}]",
        b'[{"id": "a\\u0000b", "t": 1e999}]',
        b"[" * 100_000,
    ],
)
def test_text_that_cannot_be_written_down_does_not_reach_the_store(
    body, server, write, capsys
):
    server.pages["/bad"] = ("application/json", body)
    server.pages["/ok"] = ("application/json", b'[{"id": 1}]')
    parts = (
        f'[[source]]\nname = "{name}"\nkind = "listing"\n{HOME}key = "id"\n'
        f'url = "{server.url}/{name}"\n'
        for name in ("bad", "ok")
    )
    write(*parts)
    assert main(["sync", "--json"]) in {0, 4}
    _, well = json.loads(capsys.readouterr().out)["listings"]
    assert (well["listed"], well["trouble"]) == (1, "")


def test_the_pages_of_a_listing_read_before_the_one_that_breaks_are_kept(
    server, write, monkeypatch, capsys
):
    for n in (1, 2, 3):
        mark = poison("KeyError") if n == 3 else "fine"
        rows = [{"id": 10 * n + i, "title": mark} for i in range(5)]
        server.pages[f"/{n}"] = ("application/json", json.dumps(rows).encode())
    write(
        f'[[source]]\nname = "jobs"\nkind = "listing"\n{HOME}key = "id"\n'
        f'page_url = "{server.url}/{{n}}"\n'
    )
    inject(monkeypatch, "halflife.readers.records:RecordReader.read")
    assert main(["sync", "--json"]) == 4
    (row,) = json.loads(capsys.readouterr().out)["listings"]
    assert row["listed"] == 10
    assert f"{server.url}/3: " in row["trouble"]


@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize(
    "reader",
    [
        "halflife.readers.records:RecordReader.read",
        "halflife.queries.ledger:Ledger._note",
    ],
)
def test_a_form_that_breaks_a_reader_fails_alone(
    reader, error, server, write, monkeypatch, capsys
):
    office = FormServer(behind(cars(6)))
    rows = json.dumps([{"id": n} for n in range(20)]).encode()
    server.pages["/ok"] = ("application/json", rows)
    listing = (
        f'[[source]]\nname = "z"\nkind = "listing"\n{HOME}key = "id"\n'
        f'url = "{server.url}/ok"\n'
    )
    with serving(office) as url:
        path = write(snippet(url, office.form.interface), listing)
        _always(monkeypatch, reader, error, url)
        assert main(["sync", "--json"]) == 4
        told = json.loads(capsys.readouterr().out)["listings"]
        form, jobs = told
        assert jobs["listed"] == 20
        assert form["trouble"].startswith(url)
        assert containment.MARK in form["trouble"]
        assert CANARY not in form["trouble"]
        assert main(["status", "--json"]) == 0
        shown = json.loads(capsys.readouterr().out)["mishandled"]
        assert [one["source"] for one in shown] == [form["source"]]
        monkeypatch.undo()
        monkeypatch.chdir(path.parent)
        assert main(["sync", "--json"]) == 0  # and it goes on when it is mended
        told = json.loads(capsys.readouterr().out)["listings"]
        assert told[0]["listed"] == 6


def _always(monkeypatch, reader, error, url):
    """Let a reader fail at whatever one server answers; others are read as ever."""
    module, _, name = reader.partition(":")
    owner, _, method = name.partition(".")
    holder = getattr(importlib.import_module(module), owner)
    real = getattr(holder, method)

    def broken(self, *args, **named):
        sick = method == "_note" or b"price" in args[0]
        return fail(error) if sick else real(self, *args, **named)

    monkeypatch.setattr(holder, method, broken)


@pytest.mark.parametrize("error", ERRORS)
def test_a_search_that_breaks_a_reader_fails_alone(error, write, monkeypatch, capsys):
    with searching(corpus(120)) as one, searching(corpus(120)) as two:
        write(*(_search(name, at.url) for name, at in (("a", one), ("b", two))))
        real = AnswerReader.read

        def broken(self, body, kind, url):
            sick = url.startswith(one.url)
            return fail(error) if sick else real(self, body, kind, url)

        monkeypatch.setattr(AnswerReader, "read", broken)
        assert main(["summarize", "--json", "--documents", "40"]) == 4
    sick, well = json.loads(capsys.readouterr().out)["results"]
    assert sick["version"] is None
    assert f"{one.url}/es/_search" in sick["ending"]
    assert containment.MARK in sick["ending"]
    assert well["documents"] >= 40


def _search(name, url):
    return (
        f'[[source]]\nname = "{name}"\nkind = "search"\n{HOME}'
        f'engine = "elasticsearch"\nsearch_url = "{url}/es/_search?q={{query}}'
        '&from={offset}&size={count}"\n'
    )


def test_one_hostile_page_does_not_cripple_the_others_in_a_service(
    server, write, monkeypatch
):
    urls = [u for u in furnish(server, "body") if "/ok" in u]
    healthy = f'[[source]]\nname = "docs"\n{HOME}pages = {json.dumps(urls)}\n'
    path = write(healthy, requests='3600\nper = "hour"')
    alone = Play(path).run(0.006)
    looks = sum(r.total("looks") for _, r in alone.results)
    path.with_name("halflife.db").unlink()
    sick = f'[[source]]\nname = "sick"\n{HOME}pages = ["{server.url}/xKeyError"]\n'
    path = write(sick, healthy, requests='3600\nper = "hour"')
    inject(monkeypatch, "halflife.readers.page_text:digest")
    play = Play(path).run(0.006)
    beside = sum(r.sources["docs"].looks for _, r in play.results)
    assert beside >= 0.9 * looks
    assert observations(path)[f"{server.url}/xKeyError"][0] == 2
    row = play.service.status.row(play.now)
    assert row["mishandled"]["sick"] >= 1
    assert row["status"] == "degraded"
    assert any(f"{server.url}/xKeyError: " in why for why in row["reasons"])
    (event, *_) = play.named("answer mishandled")
    assert event["address"] == f"{server.url}/xKeyError"
    assert "halflife.kinds.pages.client:" in event["trace"]
    assert CANARY not in json.dumps(play.events)


def test_an_audit_goes_on_past_a_page_that_breaks_a_reader(
    server, write, monkeypatch, capsys
):
    urls = furnish(server, "body")
    path = write(
        f'[[source]]\nname = "docs"\n{HOME}pages = {json.dumps(urls)}\n', share=0.5
    )
    for _ in range(2):
        assert main(["sync", "--all"]) == 0
    for error in ERRORS:
        name = f"/x{error}"
        kind, body = server.pages[name]
        server.pages[name] = (kind, body + b"<p>new</p>")
    inject(monkeypatch, "halflife.readers.page_text:digest")
    with sqlite3.connect(path.with_name("halflife.db")) as db:
        db.execute("UPDATE note SET body = '0.0' WHERE kind = 'income_spent_until'")
    assert main(["sync"]) == 0
    assert "Traceback" not in capsys.readouterr().err
    check_failures(server, observations(path))


@pytest.mark.parametrize("where", ["append", "charge", "save_host", "held"])
def test_an_error_of_our_own_state_ends_the_run(server, write, monkeypatch, where):
    urls = furnish(server, "body")
    write(f'[[source]]\nname = "docs"\n{HOME}pages = {json.dumps(urls)}\n')

    # The bug is in a module of the store, as a real one would be.
    bug = compile("def bug(*_, **__): raise KeyError('c4n4ry')", "sqlite.py", "exec")
    space = {"__name__": "halflife.stores.sqlite"}
    exec(bug, space)  # noqa: S102
    monkeypatch.setattr(SqliteStore, where, space["bug"])
    assert main(["sync", "--all"]) == 1


def test_debug_shows_the_traceback_of_a_contained_error(
    server, write, monkeypatch, capsys
):
    urls = furnish(server, "body")
    write(f'[[source]]\nname = "docs"\n{HOME}pages = {json.dumps(urls)}\n')
    inject(monkeypatch, "halflife.readers.page_text:digest")
    assert main(["sync", "--all", "--debug"]) == 0
    said = capsys.readouterr().err
    assert "Traceback" in said
    assert "in reader" in said


def test_an_unexpected_error_of_a_verb_is_one_line_that_says_how_to_report_it(
    write, monkeypatch, capsys
):
    write()
    bad = lambda *_: (_ for _ in ()).throw(ValueError(CANARY))  # noqa: E731
    monkeypatch.setattr("halflife.config.Config.load", bad)
    assert main(["status"]) == 1
    said = capsys.readouterr().err
    assert said.startswith("halflife: an error of the program: ValueError in ")
    assert "--debug" in said
    assert said.count("\n") == 1
