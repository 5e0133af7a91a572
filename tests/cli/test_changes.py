"""The verbs that give out what is held and what became of it."""

import csv
import io
import json
import os
import signal
import subprocess
import sys
import time

import pytest

import halflife
from halflife.core.change import Change
from halflife.core.errors import UsageError
from halflife.core.item import Item
from halflife.core.object_store import Listing
from halflife.core.observation import Content, Observations
from halflife.core.tracker import Tracker
from halflife.engine import bootstrap
from halflife.engine.page_stories import PageStories
from halflife.stores.retention import RetentionLimits, clear
from halflife.stores.sqlite import SqliteStore
from store_looks import absent, present

HOME = "http://127.0.0.1:9"
SETTINGS = f"""
[[source]]
name = "site"
pages = ["{HOME}/a", "{HOME}/b"]
allow = ["127.0.0.0/8"]

[[source]]
name = "cars"
kind = "listing"
url = "{HOME}/cars"
allow = ["127.0.0.0/8"]
key = "id"
"""
VANS = f"""
[[source]]
name = "vans"
kind = "listing"
url = "{HOME}/vans"
key = "id"
"""


def html(key, at, text):
    body = f"<html><body><h1>Title</h1><p>{text}</p><p>the end</p></body></html>"
    return present(key, at, text, content=Content("text/html", body.encode()))


@pytest.fixture
def folder(here):
    """A project with two pages and three records, kept for some days until now."""
    (here / "halflife.toml").write_text(SETTINGS)
    now = bootstrap.clock()
    with SqliteStore.open(here / "halflife.db", create=True) as store:
        store.add([Item(f"{HOME}/a", "site"), Item(f"{HOME}/b", "site")])
        run = store.begin(["cars", "site"], now - 9.0, lease=99.0)
        for ago, text in ((9, "it costs 5"), (5, "it costs 6"), (1, "it costs 7")):
            store.append(run, Observations.of([html(f"{HOME}/a", now - ago, text)]))
        store.append(run, Observations.of([html(f"{HOME}/b", now - 8.0, "here")]))
        store.append(run, Observations.of([absent(f"{HOME}/b", now - 2.0)]))
        tracker = Tracker()
        for ago, keys in ((9, "xyz"), (5, "xyz"), (3, "xy"), (1, "xy")):
            records = {k: {"id": k, "price": 10 - ago, "sold": False} for k in keys}
            tracker.take(Listing(now - ago, records))
            store.save_register(run, "cars", tracker.news())
        store.finish(run, now)
    return here


# changes


def lines(out):
    return [json.loads(line) for line in out.splitlines()]


def test_changes_are_one_object_a_line_from_the_start(folder, told):
    code, out, err = told("changes", "--since", "0", "--json")
    found = lines(out)
    assert (code, err) == (0, "")
    assert [one["seq"] for one in found] == list(range(1, len(found) + 1))
    assert all(
        list(one) == ["seq", "at", "source", "key", "kind", "fields"] for one in found
    )
    kinds = [(one["key"], one["kind"]) for one in found if one["source"] == "cars"]
    assert kinds[:3] == [("x", "new"), ("y", "new"), ("z", "new")]
    assert kinds[-1] == ("y", "changed")
    assert ("z", "gone") in kinds
    assert found[1]["fields"] == {"text": ["it costs 5", "it costs 6"]}


def test_a_reader_who_goes_on_from_the_last_number_gets_the_rest(folder, told):
    whole = lines(told("changes", "--since", "0", "--json")[1])
    last = whole[6]["seq"]
    rest = lines(told("changes", "--since", last, "--json")[1])
    assert whole[:7] + rest == whole
    assert told("changes", "--since", whole[-1]["seq"], "--json")[1] == ""


@pytest.mark.parametrize(("word", "least"), [("2d", 1), ("48h", 1), ("1970-01-01", 9)])
def test_changes_are_asked_for_since_a_time(folder, told, word, least):
    code, out, _ = told("changes", "site", "cars", "--since", word, "--json")
    assert code == 0
    assert len(lines(out)) >= least


def test_only_the_named_sources_are_shown(folder, told):
    _, out, _ = told("changes", "site", "--since", "0", "--json")
    assert {one["source"] for one in lines(out)} == {"site"}
    code, _, err = told("changes", "nobody")
    assert code == 2
    assert "nobody" in err


def test_a_person_reads_what_became_of_what(folder, told):
    _, out, _ = told("changes", "cars", "--since", "0")
    assert "cars  new  x  id: - → x, price: - → 1, sold: - → False" in out
    assert "cars  gone  z" in out


def test_a_person_reads_how_much_of_a_page_differs(folder, told):
    _, out, _ = told("changes", "site", "--since", "0")
    found = [line.partition("  site  ")[2] for line in out.splitlines()]
    assert found == [
        f"new  {HOME}/a  “Title”, 3 lines",
        f"changed  {HOME}/a  “Title”, +1 -1 words",
        f"changed  {HOME}/a  “Title”, +1 -1 words",
        f"new  {HOME}/b  “Title”, 3 lines",
        f"gone  {HOME}/b",
    ]
    assert "→" not in out


def test_a_change_of_a_page_is_described_as_far_as_its_versions_are_kept(folder):
    def story(old, new, kind="changed", most=9):
        change = Change(1.0, "site", f"{HOME}/a", kind, {"text": (old, new)})
        return PageStories(store, most).describe(change)

    with SqliteStore.open(folder / "halflife.db") as store:
        run = store.begin(["site"], bootstrap.clock(), lease=1.0)
        body = "it costs 8</p><p>and more</p><p>of it"
        looks = [html(f"{HOME}/a", bootstrap.clock() - 0.5, body)]
        image = Content("image/png", b"\0" * 7)
        looks.append(present(f"{HOME}/a", bootstrap.clock(), "png", content=image))
        store.append(run, Observations.of(looks))
        assert story("it costs 7", body) == "“Title”, +3 -1 lines"
        assert story("long gone", body) == "“Title”"
        assert story(body, "png") == "7 bytes"
        assert story(None, body, "returned") == "“Title”, 5 lines"
        assert story("it costs 7", "long gone") == ""
        assert story("it costs 7", body, most=0) == ""
        other = Change(1.0, "cars", "x", "changed", {"text": ("a", "b")})
        assert PageStories(store).describe(other) is None


@pytest.mark.parametrize("word", ["soon", "-3", "99999"])
def test_a_start_that_cannot_be_is_said_in_a_line(folder, told, word):
    code, out, err = told("changes", f"--since={word}")
    assert (code, out) == (2, "")
    assert err.count("\n") == 1


def test_a_cursor_that_is_older_than_what_is_kept_is_refused(folder, told):
    with SqliteStore.open(folder / "halflife.db") as store:
        clear(store, RetentionLimits(changes=4.0), bootstrap.clock())
        removed = store.changes.removed()
    assert removed > 1
    code, out, err = told("changes", "--since", removed - 1)
    assert (code, out) == (2, "")
    assert f"to {removed} are no longer kept" in err
    assert "halflife export" in err
    code, out, err = told("changes", "--since", "0", "--json")
    assert code == 0
    assert lines(out)[0]["seq"] == removed + 1
    assert f"changes up to {removed} are no longer kept" in err
    assert told("changes", "--since", removed, "--json")[1] == out


def test_without_a_state_file_nothing_has_changed(here, told):
    (here / "halflife.toml").write_text(SETTINGS)
    assert told("changes", "--json")[:2] == (0, "")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_following_shows_what_comes_and_ends_with_a_signal(folder, number):
    command = [sys.executable, "-m", "halflife", "changes", "--follow", "--json"]
    with subprocess.Popen(
        [*command, "--since", "0"], stdout=subprocess.PIPE, text=True, cwd=folder
    ) as program:
        with SqliteStore.open(folder / "halflife.db") as store:
            before = store.changes.last()
            seen = [json.loads(program.stdout.readline()) for _ in range(before)]
            assert [one["seq"] for one in seen] == list(range(1, before + 1))
            store.changes.append([Change(1.0, "cars", "late", "new")])
            assert json.loads(program.stdout.readline())["key"] == "late"
        began = time.monotonic()
        program.send_signal(number)
        assert program.wait(timeout=20) == 128 + number
        assert time.monotonic() - began < 5.0  # one second on a machine that is free


# diff


def test_a_diff_shows_what_the_last_change_was(folder, told):
    code, out, _ = told("diff", "/a")
    assert code == 0
    assert out.splitlines()[2:] == [
        "@@ -1,3 +1,3 @@",
        " Title",
        "-it costs 6",
        "+it costs 7",
        " the end",
    ]
    assert "it costs [-6-]{+7+}" in told("diff", "/a", "--words")[1]


def test_versions_are_counted_back_or_named_by_a_time(folder, told):
    assert "-it costs 5" in told("diff", "/a", "--from", "2")[1]
    _, out, _ = told("diff", "/a", "--from", "8d", "--to", "4d")
    assert {"-it costs 5", "+it costs 6"} <= set(out.splitlines())
    code, _, err = told("diff", "/a", "--from", "7")
    assert code == 2
    assert "only 3 versions" in err
    code, _, err = told("diff", "/a", "--from", "1990-01-01")
    assert code == 2
    assert "so old" in err


def test_a_record_differs_by_its_fields(folder, told, asked):
    assert told("diff", "x")[1] == "price: 7 → 9\n"
    code, answer = asked("diff", "x", "--from", "3")
    assert code == 0
    assert answer["fields"] == {"price": [1, 9]}


def test_what_does_not_differ_is_said(folder, told):
    code, out, err = told("diff", "/a", "--from", "0", "--to", "0")
    assert (code, out) == (0, "")
    assert "does not differ" in err


ODD = {
    "image": ("image/png", b"\x89PNG\0\1", b"\x89PNG\0\2\3", "not text but image/png"),
    "zeros": ("text/plain", b"a\0b", b"a\0c", "not text but text/plain"),
    "latin": ("text/plain; charset=utf-8", b"caf\xe9", b"caf\xe8 x", "@@"),
    "orders": ("text/html", b"<p>\x1b]0;x\x07 a", b"<p>\x1b[2J b", "@@"),
}


@pytest.mark.parametrize("name", ODD)
def test_odd_bodies_give_a_clear_line_and_no_orders_to_the_terminal(folder, told, name):
    kind, old, new, said = ODD[name]
    with SqliteStore.open(folder / "halflife.db") as store:
        now = bootstrap.clock()
        run = store.begin(["site"], now, lease=1.0)
        for at, body in enumerate((old, new)):
            look = present(f"{HOME}/b", now + at, str(at), content=Content(kind, body))
            store.append(run, Observations.of([look]))
        store.finish(run, now)
    code, out, err = told("diff", "/b")
    assert (code, err) == (0, "")
    assert said in out
    assert "\x1b" not in out


# get


def test_get_prints_the_records_of_a_source(folder, told, asked):
    _, out, _ = told("get", "cars")
    assert [row["key"] for row in lines(out)] == ["x", "y"]
    assert lines(out)[0]["fields"] == {"id": "x", "price": 9, "sold": False}
    _, out, _ = told("get", "cars", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [(row["id"], row["price"], row["sold"]) for row in rows] == [
        ("x", "9", "false"),
        ("y", "9", "false"),
    ]
    code, whole = asked("get", "cars")
    assert (code, whole) == (0, lines(told("get", "cars", "--format", "jsonl")[1]))


def test_get_prints_a_source_as_it_was(folder, told):
    _, out, _ = told("get", "cars", "--version", "4d")
    assert {row["key"]: row["fields"]["price"] for row in lines(out)} == {
        "x": 5,
        "y": 5,
        "z": 5,
    }


def test_get_prints_a_page_as_it_is_or_was(folder, told, asked):
    assert "it costs 7" in told("get", f"{HOME}/a")[1]
    assert told("get", "/a", "--format", "text")[1] == "Title\nit costs 7\nthe end\n"
    assert "it costs 6" in told("get", "/a", "--version", "1")[1]
    code, answer = asked("get", "/a", "--version", "2")
    assert code == 0
    assert list(answer) == ["key", "media_type", "text"]
    assert "it costs 5" in answer["text"]


def test_get_prints_a_record(folder, asked):
    code, answer = asked("get", "x")
    assert code == 0
    assert answer == {"key": "x", "fields": {"id": "x", "price": 9, "sold": False}}


@pytest.mark.parametrize(
    "words",
    [
        ("get", "cars", "--format", "parquet"),
        ("get", "cars", "--version", "1"),
        ("get", "/a", "--format", "csv"),
        ("get", "nothing like that"),
        ("diff", "nothing like that"),
        ("export", "cars", "--format", "xml"),
        ("export", "cars", "--format", "parquet"),
        ("export", "cars", "--as-of", "1d", "--history"),
        ("export", "nobody"),
        ("export", "cars", "--json"),
    ],
)
def test_what_cannot_be_given_is_said_in_a_line(folder, told, words):
    code, out, err = told(*words)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1


# export


def test_an_export_can_be_of_then_or_of_all_versions(folder, told):
    _, out, _ = told("export", "cars", "--as-of", "4d")
    assert [row["key"] for row in lines(out)] == ["x", "y", "z"]
    _, out, _ = told("export", "cars", "--history")
    mine = [row for row in lines(out) if row["key"] == "z"]
    assert [row["fields"]["price"] for row in mine] == [1, 5]
    assert mine[0]["valid_to"] == mine[1]["valid_from"]
    assert mine[1]["valid_to"] is not None
    alive = [row for row in lines(out) if row["valid_to"] is None]
    assert [row["key"] for row in alive] == ["x", "y"]


def test_pages_are_exported_with_their_text(folder, told):
    (only,) = lines(told("export", "site")[1])
    assert (only["key"], only["text"]) == (f"{HOME}/a", "Title\nit costs 7\nthe end")
    then = lines(told("export", "site", "--as-of", "4d")[1])
    assert [row["text"].splitlines()[1] for row in then] == ["it costs 6", "here"]
    ever = lines(told("export", "site", "--history")[1])
    assert [row["digest"] for row in ever] == [
        "it costs 5",
        "it costs 6",
        "it costs 7",
        "here",
    ]


def test_parquet_has_typed_columns(folder, asked):
    pq = pytest.importorskip("pyarrow.parquet")
    out = folder / "cars.parquet"
    code, answer = asked("export", "cars", "--format", "parquet", "--out", out)
    assert (code, answer["rows"]) == (0, 2)
    table = pq.read_table(out)
    kinds = {field.name: str(field.type) for field in table.schema}
    assert kinds == {
        "key": "string",
        "first_seen": "timestamp[ms, tz=UTC]",
        "last_seen": "timestamp[ms, tz=UTC]",
        "id": "string",
        "price": "int64",
        "sold": "bool",
    }
    assert table.column("price").to_pylist() == [9, 9]


def test_a_warc_passes_the_check_of_warcio(folder, asked):
    iterator = pytest.importorskip("warcio.archiveiterator")
    checker = pytest.importorskip("warcio.checker")
    out = folder / "site.warc.gz"
    words = ("export", "site", "--format", "warc", "--history", "--out", out)
    assert asked(*words)[1]["rows"] == 4
    with out.open("rb") as file:
        found = [
            (r.rec_headers["WARC-Target-URI"], r.content_stream().read())
            for r in iterator.ArchiveIterator(file, check_digests="raise")
            if r.rec_type != "warcinfo"
        ]
    assert len(found) == 4
    assert b"it costs 5" in found[0][1]

    class Wish:
        verbose, inputs = False, [str(out)]

    assert checker.Checker(Wish).process_all() == 0


def test_records_are_no_web_archive(folder, told):
    pytest.importorskip("warcio")
    out = folder / "x.warc"
    code, _, err = told("export", "cars", "--format", "warc", "--out", out)
    assert code == 2
    assert "choose jsonl" in err
    assert not out.exists()


def test_an_extra_that_is_not_installed_is_named(folder, told, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    code, _, err = told("export", "cars", "--format", "parquet", "--out", "x")
    assert code == 2
    assert "pip install 'halflife[parquet]'" in err


def test_a_folder_has_a_file_for_each_and_a_list_of_them(folder, asked, told):
    out = folder / "pages"
    assert asked("export", "site", "--format", "folder", "--out", out)[1]["rows"] == 1
    (row,) = lines((out / "index.jsonl").read_text())
    assert b"it costs 7" in (out / row["file"]).read_bytes()
    assert row["file"].endswith(".html")
    cars = folder / "cars"
    words = ("export", "cars", "--format", "folder", "--history", "--out", cars)
    assert asked(*words)[1]["rows"] == len(list(cars.iterdir())) - 1
    assert told(*words)[0] == 2  # a folder that is there is left alone


def test_a_key_cannot_lead_out_of_the_folder(folder, asked):
    with SqliteStore.open(folder / "halflife.db") as store:
        run = store.begin(["cars"], 0.0, lease=1.0)
        tracker = Tracker(store.register("cars"))
        odd = {"../../up": {"id": 1}, "/etc/x": {"id": 2}, "a\0b\n": {"id": 3}}
        tracker.take(Listing(bootstrap.clock(), odd, complete=False))
        store.save_register(run, "cars", tracker.news())
        store.finish(run, 1.0)
    out = folder / "out"
    assert asked("export", "cars", "--format", "folder", "--out", out)[1]["rows"] == 5
    assert {p.parent for p in out.rglob("*")} == {out}


def test_an_export_that_fails_leaves_what_was_there(folder, monkeypatch, told):
    out = folder / "cars.jsonl"
    out.write_text("before")

    def fail(_number):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    code, _, err = told("export", "cars", "--out", out)
    assert code == 1
    assert "No space left" in err
    assert out.read_text() == "before"
    assert [p.name for p in folder.iterdir() if p.name.endswith(".part")] == []


# sync


def test_a_sync_says_which_pages_changed(settings, asked, told):
    code, answer = asked("sync", "--all")
    assert code == 0
    found = answer["changes"]
    assert found
    assert {one["kind"] for one in found} == {"new"}
    assert answer["changes_total"] == len(found)
    assert found == lines(told("changes", "--since", "0", "--json")[1])
    _, again = asked("sync")
    assert again["changes_total"] == len(again["changes"])


def test_a_person_reads_the_first_few_changes_of_a_sync(settings, told):
    _, out, _ = told("sync", "--all")
    assert out.splitlines()[-1].startswith("  new http")
    assert " more" in out.splitlines()[-1]


# library


def test_the_library_reads_changes_from_a_number_on(folder):
    project = halflife.open_project(folder)
    whole = list(halflife.changes(project))
    assert all(type(change.fields) is dict for change in whole)  # JSON takes no other
    assert all(isinstance(one, halflife.Change) for one in whole)
    assert list(halflife.changes(project, since=whole[3].seq)) == whole[4:]
    cars = list(halflife.changes(project, sources=["cars"]))
    assert cars == [one for one in whole if one.source == "cars"]
    for since in (-1, 10**6):
        with pytest.raises(UsageError):
            list(halflife.changes(project, since=since))


def test_the_library_gives_records_as_the_verb_does(folder, told):
    project = halflife.open_project(folder)
    for name in ("cars", "site"):
        rows = lines(told("get", name)[1])
        assert list(halflife.records(project, name)) == rows
    then = halflife.records(project, "cars", at=bootstrap.clock() - 4.0)
    assert [row["key"] for row in then] == ["x", "y", "z"]


def test_records_of_one_key_are_told_apart_by_their_source(folder, told, asked):
    path = folder / "halflife.toml"
    path.write_text(f"{SETTINGS}{VANS}")
    now = bootstrap.clock()
    with SqliteStore.open(folder / "halflife.db", create=True) as store:
        tracker, run = Tracker(), store.begin(["vans"], now - 2.0, lease=99.0)
        for ago in (2, 1):
            tracker.take(Listing(now - ago, {"x": {"id": "x", "seats": 9 - ago}}))
            store.save_register(run, "vans", tracker.news())
        store.finish(run, now)
    for verb in ("get", "diff"):
        code, _, err = told(verb, "x")
        assert code == 2
        assert "cars, vans have a record 'x' each; name one with --source" in err
    _, answer = asked("get", "x", "--source", "vans")
    assert answer["fields"] == {"id": "x", "seats": 8}
    code, out, _ = told("diff", "x", "--source", "vans")
    assert (code, out) == (0, "seats: 7 → 8\n")
    for name, said in (
        ("site", "no item has 'x' in its name"),
        ("nobody", "no source is named 'nobody'"),
    ):
        code, _, err = told("get", "x", "--source", name)
        assert (code, said in err, err.count("\n")) == (2, True, 1)


def test_a_source_that_left_the_settings_is_answered_by_its_name(folder, told, asked):
    path = folder / "halflife.toml"
    path.write_text(SETTINGS.rpartition("[[source]]")[0])
    _, everything = asked("status")
    _, status = asked("status", "cars")
    (row,) = status["sets"]
    assert row["source"] == "cars"
    assert row["why"].startswith("it has no address")
    assert [r["held"] for r in everything["sets"]] == [row["held"]]
    _, said = asked("explain", "cars")
    (own,) = halflife.status(halflife.open_project(folder), ["cars"])
    assert said["items"] == row["held"] == own.description.items
    assert said["quality"]["mean"] == pytest.approx(own.quality.mean[0], abs=1e-4)
    assert said["next"] == []  # without an address nothing is fetched
    assert "a full fetch costs" not in told("explain", "cars")[1]
    named = lines(told("changes", "cars", "--since", "0", "--json")[1])
    assert named
    assert {one["source"] for one in named} == {"cars"}
    for verb in ("status", "changes", "forecast"):
        code, _, err = told(verb, "nobody")
        assert (code, "no source is named 'nobody'" in err) == (2, True)


def test_explain_does_not_call_pages_held_that_are_gone(folder, told):
    assert "  2 items known, 1 gone, last fetched" in told("explain", "site")[1]
    assert "  2 items held, 1 gone, last fetched" in told("explain", "cars")[1]
