"""A folder of Markdown files that is in step with what halflife keeps."""

import json
import os
from pathlib import Path

import pytest
import yaml
from hypothesis import given, strategies as st
from markdown_it import MarkdownIt

from halflife.core.change import Change
from halflife.core.observation import Content
from halflife.sinks import laws
from halflife.sinks.protocol import Batch, Outlet
from halflife_markdown.document import escaped
from halflife_markdown.names import file_name, folder_name
from halflife_markdown.sink import MarkdownConfig, MarkdownFolder
from inside import run_inside
from listening import answering
from plugin_folder import install

SINK = '[[sink]]\nname = "notes"\nkind = "markdown"\npath = "notes"\n'
LISTING = (
    '[[source]]\nname = "jobs"\nkind = "listing"\nkey = "id"\nconfirm_hours = 0\n'
    'robots = false\nallow = ["127.0.0.0/8"]\nurl = "{}/jobs"\n'
)
SITE = (
    '[[source]]\nname = "docs"\nallow = ["127.0.0.0/8"]\npages = ["{0}/a", "{0}/b"]\n'
)
HOSTILE = [
    "../../etc/passwd", "/etc/passwd", "..", ".", "a\\b", "a/b", "C:\\x", "CON", "nul",
    "x" * 1000, "ü" * 1000, "A", "a", "é", "e\u0301", "\u202egpj.exe", "-rf", "~",
    "$HOME", "---", "key: value", "日本", "🦆",
]  # fmt: skip
REFUSED = ["a\x00b", "a\tb\nc", "   ", "x" * 5000]  # by a listing; not by the sink


@pytest.fixture(scope="module", autouse=True)
def installed(tmp_path_factory):
    """The package is installed for as long as these tests run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(install(tmp_path_factory.mktemp("site"), "sink"))
        yield


@pytest.fixture
def server():
    with answering() as found:
        yield found


@pytest.fixture
def keep(server, tmp_path):
    """Write settings; then each call is a sync."""

    def begin(source):
        source = source.format(server.url)
        text = f"[budget]\nrequests = 1000\n[fetch]\ndelay = 0.0\n{source}{SINK}"
        (tmp_path / "halflife.toml").write_text(text)

        def sync():
            code, out, err = run_inside(tmp_path, "sync", "--all")
            assert code == 0, out + err
            assert not err

        return sync

    return begin


def answer(server, records):
    server.pages["/jobs"] = "application/json", json.dumps(records).encode()


def head(path):
    """Return the front matter of a file, as any reader of YAML has it."""
    return yaml.safe_load(path.read_text().split("---\n")[1])


def files(folder):
    """Return the file of each key, the leftovers included."""
    found = [path for path in folder.rglob("*") if path.is_file()]
    return {head(path)["key"]: path for path in found}


def test_a_sync_writes_rewrites_and_removes_files(keep, server, tmp_path):
    sync = keep(LISTING)
    rows = [{"id": str(n), "title": f"job {n}", "pay": 10 * n} for n in range(1, 8)]
    answer(server, rows)
    sync()
    notes = files(tmp_path / "notes")
    assert notes.keys() == {str(n) for n in range(1, 8)}
    assert {path.parent.name for path in notes.values()} == {"jobs"}
    assert (
        notes["3"]
        .read_text()
        .endswith("# 3\n\n- **id:** 3\n- **title:** job 3\n- **pay:** 30\n")
    )
    before = {key: path.read_bytes() for key, path in notes.items()}
    rows[2]["pay"] = 31
    answer(server, [*rows[:-1], {"id": "8", "title": "job 8"}])
    sync()  # one is missing, and it is not believed yet
    sync()
    notes = files(tmp_path / "notes")
    assert notes.keys() == {"1", "2", "3", "4", "5", "6", "8"}
    changed = [key for key in notes if before.get(key) != notes[key].read_bytes()]
    assert sorted(changed) == ["3", "8"]
    assert "- **pay:** 31\n" in notes["3"].read_text()


def test_pages_are_their_text_and_go_with_their_page(keep, server, tmp_path):
    sync = keep(SITE)
    page = b"<title>Tea</title><!-- x --><p>black <b>tea</b></p><p>1. two</p>"
    server.pages["/a"] = server.pages["/b"] = "text/html", page
    server.pages["/b"] = "text/html", page.replace(b"black", b"green")
    sync()
    notes = files(tmp_path / "notes")
    assert notes.keys() == {f"{server.url}/a", f"{server.url}/b"}
    _, _, text = notes[f"{server.url}/a"].read_text().split("---\n")
    assert text == "\n# Tea\n\nblack tea\n\n1\\. two\n"
    del server.pages["/a"]
    sync()
    assert files(tmp_path / "notes").keys() == {f"{server.url}/b"}


def test_hostile_keys_stay_in_the_folder_each_with_its_file(keep, server, tmp_path):
    sync = keep(LISTING)
    answer(server, [{"id": key} for key in (*HOSTILE, *REFUSED)])
    sync()
    notes = files(tmp_path / "notes")
    assert notes.keys() == set(HOSTILE)
    assert {path.parent for path in notes.values()} == {tmp_path / "notes" / "jobs"}
    others = {path for path in tmp_path.iterdir() if "halflife" not in path.name}
    assert others == {tmp_path / "notes"}
    names = [path.name.casefold() for path in notes.values()]
    assert len(set(names)) == len(names)


KEYS = st.text("aAbé/\\.-\0 日\ud800", max_size=9) | st.sampled_from(HOSTILE + REFUSED)


@given(one=st.tuples(KEYS, KEYS), other=st.tuples(KEYS, KEYS))
def test_a_name_is_plain_short_and_of_one_key_alone(one, other):
    for source, key in (one, other):
        for name in (folder_name(source), file_name(source, key)):
            assert name.strip("abcdefghijklmnopqrstuvwxyz0123456789-") in {"", "."}
            assert name[0] not in "-."
            assert len(f".{name}.part") <= 100
    if one != other:
        assert file_name(*one) != file_name(
            *other
        )  # case does not matter: all is small


MARKUP = 'ab1.)(-+=:*_`~<>/[]!|&;#\\\n\0 \u2028é日$@"'


@given(text=st.text(MARKUP, min_size=1))
def test_what_a_server_sent_is_shown_and_is_never_markup(text):
    line = escaped(text)
    tokens = MarkdownIt("gfm-like", {"linkify": False, "html": True}).parse(line)
    if not line:
        return
    assert [token.type for token in tokens] == [
        "paragraph_open", "inline", "paragraph_close",
    ]  # fmt: skip
    assert {child.type for child in tokens[1].children} <= {"text", "text_special"}
    shown = "".join(child.content for child in tokens[1].children)
    assert shown == " ".join(text.replace("\0", "\ufffd").split())


@pytest.mark.parametrize("law", laws.LAWS, ids=lambda law: law.__name__)
def test_the_sink_keeps_the_laws_of_sinks(law, tmp_path):
    early = law.__name__.startswith("keeps")  # which delivers the first five

    def read():
        heads = [head(path) for path in (tmp_path / "notes").rglob("*.md")]
        return [(one["source"], one["key"], one["change"]) for one in heads]

    def wants(change):
        return change.kind not in {"held", "gone"} and not (early and change.key == "2")

    settings = {"name": "x", "kind": "markdown", "path": "notes"}
    law(
        laws.SinkTrial(
            MarkdownFolder, settings, read, tmp_path, complete=False, wants=wants
        )
    )


class Held:
    """A reader of a table of records and one of pages."""

    def __init__(self, records=(), pages=()):
        self.records, self.pages = dict(records), dict(pages)

    def content(self, key, text=""):
        return self.pages.get(key)

    def record(self, source, key):
        return self.records.get(key)


@pytest.fixture
def sink(tmp_path):
    settings = MarkdownConfig(name="x", kind="markdown", path="notes")
    return MarkdownFolder(settings, Outlet(tmp_path, tmp_path / "halflife.db"))


def deliver(sink, held, *changes):
    sink.open()
    sink.deliver(Batch("x", 1, len(changes), changes, len(changes), held))
    sink.close()


def contents(folder):
    return {p.name: p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_a_second_delivery_writes_the_same_files(sink, tmp_path):
    held = Held({"1": {"pay": 5}, "2": {"pay": 6}})
    batch = [Change(1.0, "jobs", key, "new", {}, int(key)) for key in "12"]
    batch.append(Change(2.0, "jobs", "2", "gone", {}, 3))
    deliver(sink, held, *batch)
    first = contents(tmp_path)
    assert len(first) == 1
    deliver(sink, held, *batch)
    assert contents(tmp_path) == first


def test_a_page_that_is_renamed_leaves_its_old_file(sink, tmp_path):
    held = Held(pages={f"http://{x}/": Content("text/plain", b"tea") for x in "ab"})
    deliver(
        sink, held, Change(1.0, "docs", "http://a/", "new", {"text": (None, "x")}, 1)
    )
    renamed = {"key": ("http://a/", "http://b/")}
    deliver(sink, held, Change(2.0, "docs", "http://b/", "moved", renamed, 2))
    assert files(tmp_path).keys() == {"http://b/"}


@pytest.mark.parametrize("body", [b"\x89PNG\0\0", b""])
def test_a_page_without_text_is_its_address(sink, tmp_path, body):
    held = Held(pages={"http://a/": Content("image/png", body)})
    deliver(
        sink, held, Change(1.0, "docs", "http://a/", "new", {"text": (None, "x")}, 1)
    )
    (path,) = files(tmp_path).values()
    assert path.read_text().endswith("---\n\n# http://a/\n")


def test_a_file_is_replaced_whole_or_not_at_all(sink, tmp_path, monkeypatch):
    new = Change(1.0, "jobs", "1", "new", {}, 1)
    deliver(sink, Held({"1": {"pay": 5}}), new)
    before = contents(tmp_path)

    def full(handle):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="No space"):
            deliver(sink, Held({"1": {"pay": 6}}), new)
    assert contents(tmp_path) == before
    deliver(sink, Held({"1": {"pay": 6}}), new)
    assert contents(tmp_path) != before


def test_what_a_crash_left_half_written_is_removed(sink, tmp_path):
    deliver(sink, Held({"1": {}}), Change(1.0, "jobs", "1", "new", {}, 1))
    (path,) = files(tmp_path).values()
    mine = path.with_name("mine.md")
    mine.write_text("my own")
    path.with_name(f".{path.name}.part").write_text("half")
    sink.open()
    assert contents(tmp_path).keys() == {path.name, mine.name}


def test_a_link_in_the_folder_is_replaced_and_not_followed(sink, tmp_path):
    target = tmp_path / "precious"
    target.write_text("mine")
    place = Path("notes", folder_name("jobs"), file_name("jobs", "1"))
    (tmp_path / place).parent.mkdir(parents=True)
    (tmp_path / place).symlink_to(target)
    deliver(sink, Held({"1": {}}), Change(1.0, "jobs", "1", "new", {}, 1))
    assert target.read_text() == "mine"
    assert not (tmp_path / place).is_symlink()
