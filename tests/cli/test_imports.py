"""Lists of other programs, from a file into the settings and back."""

import json

import pytest

from halflife.config import Config

OPML = """<opml version="2.0"><body>
<outline xmlUrl="https://a.example/feed"/>
<outline url="https://a.example/about" type="link"/></body></opml>"""


@pytest.fixture
def empty(here):
    path = here / "halflife.toml"
    path.write_text("# mine\n")
    return path


def test_a_list_is_taken_over_without_a_request(empty, asked):
    (empty.parent / "x.opml").write_text(OPML)
    code, answer = asked("import", "opml", "x.opml")
    assert code == 0
    assert answer["results"] == [{"source": "a.example", "pages": 1, "feeds": 1}]
    (source,) = Config.load(empty).source
    assert source.maps == ("https://a.example/feed",)
    assert source.pages == ("https://a.example/about",)
    assert empty.read_text().startswith("# mine\n")
    assert asked("status")[1]["budget"]["spent"] == 0


def test_what_was_left_out_is_told(empty, told):
    (empty.parent / "urls").write_text("https://a.example/\nnonsense\n")
    code, out, err = told("import", "urls", "urls", "--as", "mine")
    assert code == 0
    assert "mine" in out
    assert err == "halflife: left out: nonsense: it has no web address\n"


def test_a_preview_writes_nothing(empty, told):
    (empty.parent / "urls").write_text("https://a.example/\n")
    before = empty.read_text()
    assert told("import", "urls", "urls", "--dry-run")[0] == 0
    assert empty.read_text() == before


def test_a_list_does_not_join_a_listing_of_the_same_host(empty, told):
    empty.write_text(
        '[[source]]\nname = "a.example"\nkind = "listing"\nkey = "id"\n'
        'url = "https://a.example/x.json"\n'
    )
    (empty.parent / "urls").write_text("https://a.example/p\n")
    assert told("import", "urls", "urls")[0] == 0
    names = [source.name for source in Config.load(empty).source]
    assert names == ["a.example", "a.example-2"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("import", "tea", "x"), "there are parquet, git"),
        (("import", "urls", "missing"), "missing: cannot be read"),
        (("import", "urls", "empty"), "no address that can be kept"),
        (("import", "urls", "empty", "--key", "id"), "--key has no meaning"),
        (("import", "opml", "empty"), "empty: it is not OPML"),
        (("import", "scrapy", "items.jl"), "--as"),
        (("import", "scrapy", "missing.jl", "--as", "x"), "no such file"),
        (("import", "scrapy", "empty", "--as", "x"), "--key"),
        (("source", "list", "--format", "tea"), "there are opml and urls"),
        (("source", "rename", "a", "b", "--format", "urls"), "only with source list"),
    ],
)
def test_bad_requests_are_one_clear_line(empty, fails, words, said):
    (empty.parent / "empty").write_text("")
    code, complaint = fails(*words)
    assert code == 2
    assert said in complaint


def test_sources_go_to_other_programs_and_come_back(empty, told, here):
    (here / "x.opml").write_text(OPML)
    told("import", "opml", "x.opml")
    code, out, _ = told("source", "list", "--format", "urls")
    assert code == 0
    assert out == "https://a.example/about\nhttps://a.example/feed\n"
    out = told("source", "list", "--format", "opml")[1]
    (here / "back.opml").write_text(out)
    before = empty.read_text()
    assert told("import", "opml", "back.opml")[0] == 0
    assert empty.read_text() == before


def test_feeds_of_scrapy_are_a_first_history(empty, asked, here):
    items = [{"url": f"https://a.example/{n}", "price": n} for n in range(30)]
    folder = here / "feeds"
    folder.mkdir()
    lines = [json.dumps(item) for item in items]
    (folder / "jobs-2026-01-01.jl").write_text("\n".join(lines))
    (folder / "jobs-2026-01-02.jl").write_text("\n".join(lines[1:]))
    code, answer = asked("import", "scrapy", "feeds", "--as", "jobs")
    assert code == 0
    assert answer["objects"] == 30
    code, answer = asked("import", "scrapy", "feeds/jobs-2026-01-01.jl", "--as", "one")
    assert (code, answer["objects"]) == (0, 30)


def test_filters_come_along_each_in_a_source_of_its_own(empty, told, here):
    watches = {
        "1": {"url": "https://a.example/1"},
        "2": {"url": "https://a.example/2", "include_filters": ["main"]},
        "3": {"url": "https://a.example/3", "include_filters": ["main"]},
        "4": {"url": "https://a.example/4", "subtractive_selectors": [".ad"]},
    }
    (here / "x.json").write_text(json.dumps({"watching": watches}))
    for _ in range(2):  # a second time changes nothing
        assert told("import", "changedetection", "x.json")[0] == 0
        found = {s.name: s for s in Config.load(empty).source}
        assert list(found) == ["a.example", "a.example-2", "a.example-3"]
        assert found["a.example"].only == ()
        assert found["a.example-2"].only == ("main",)
        assert len(found["a.example-2"].pages) == 2
        assert found["a.example-3"].ignore == (".ad",)
