"""The verbs for databases behind a search: add --search, summarize, select."""

import pytest

from halflife.config import Config
from search_server import corpus, serving

FIRST = corpus(150, seed=1)
SECOND = corpus(80, seed=2, words=[f"other{i}" for i in range(200)] + ["water"])


@pytest.fixture(scope="module")
def servers():
    with serving(FIRST) as one, serving(SECOND) as two:
        yield one, two


@pytest.fixture
def shops(here, servers):
    """Settings with two databases, of different engines."""
    for server in servers:
        server.shop.fault, server.shop.totals, server.shop.answers = "", "exact", 0
    one, two = servers
    text = "[budget]\nrequests = 5000\n[fetch]\ndelay = 0.0\ntimeout = 2.0\n"
    for name, url in (
        ("first", f"{one.url}/solr/select?q={{query}}&start={{offset}}&rows={{count}}"),
        ("second", f"{two.url}/meili/s?q={{query}}&offset={{offset}}&limit={{count}}"),
    ):
        text += (
            f'[[source]]\nname = "{name}"\nkind = "search"\n'
            f'allow = ["127.0.0.0/8"]\nsearch_url = "{url}"\n'
        )
    (here / "halflife.toml").write_text(text)
    return one, two


@pytest.fixture
def words(here):
    file = here / "words.txt"
    file.write_text(" ".join((*FIRST.values(), *SECOND.values())))
    return file


def test_databases_are_summarised_and_then_chosen(shops, words, asked, told):
    code, answer = asked("summarize", "--documents", "40", "--dictionary", words)
    assert code == 0
    rows = {row["source"]: row for row in answer["results"]}
    assert set(rows) == {"first", "second"}
    for name, size in (("first", 150), ("second", 80)):
        row = rows[name]
        assert row["version"] == 1
        assert 40 <= row["documents"] <= 43
        assert row["size"]["low"] <= row["size"]["mean"] <= row["size"]["high"]
        assert size / 2 < row["size"]["mean"] < size * 2
        assert row["ending"] == "enough documents"
    code, answer = asked("select", "term1", "the")
    assert code == 0
    assert answer["status"] == "ranked"
    assert answer["results"][0]["database"] == "first"
    assert 0 < answer["results"][0]["still_true"] <= 1
    code, out, _ = told("select", "other1", "--top", 1)
    assert code == 0
    assert out.splitlines()[1].startswith("second ")
    assert "first" not in out


@pytest.mark.parametrize("method", ["cori", "bgloss", "lm", "redde", "crcs"])
def test_every_method_of_selection_can_be_asked_for(shops, words, asked, told, method):
    told("summarize", "--documents", "15", "--dictionary", words)
    code, answer = asked("select", "water", "--method", method)
    assert code == 0
    assert answer["method"] == method
    assert len(answer["results"]) == 2


def test_a_summary_is_told_in_a_line(shops, told):
    code, out, _ = told("summarize", "first", "--documents", "10")
    assert code == 0
    assert out.startswith("first: 1")
    assert "documents read" in out
    assert "requests" in out
    code, out, _ = told("status")
    assert code == 0
    assert "first" in out
    assert "requests spent" in out


def test_status_tells_of_searches(shops, asked, told):
    told("summarize", "first", "--documents", "10")
    code, answer = asked("status")
    assert code == 0
    known = {row["database"]: row for row in answer["searches"]}
    assert known["first"]["version"] == 1
    assert known["second"]["size"] is None
    assert answer["results"] == []


def test_words_that_nobody_knows_are_named(shops, told, asked):
    told("summarize", "first", "--documents", "10")
    code, _, err = told("select", "qqqq")
    assert code == 0
    assert "no database knows any word of the query" in err
    assert "no summary yet of second" in err
    assert asked("select", "qqqq")[1]["without_summary"] == ["second"]


def test_a_database_that_fails_is_named_and_the_others_are_kept(shops, words, told):
    shops[0].shop.fault = "500"
    code, out, _ = told("summarize", "--documents", "10", "--dictionary", words)
    assert code == 4
    assert "first: no summary, after" in out
    assert "it never answered" in out
    assert "second: 1" in out


def test_requests_can_be_limited(shops, words, asked):
    code, answer = asked("summarize", "--max-requests", "12", "--dictionary", words)
    assert code == 0
    assert sum(row["requests"] for row in answer["results"]) <= 12


def test_a_spent_budget_ends_with_its_code(shops, here, fails, told):
    path = here / "halflife.toml"
    path.write_text(path.read_text().replace("requests = 5000", "requests = 3"))
    told("summarize", "first")
    told("summarize", "first")
    code, said = fails("summarize", "first")
    assert code == 6
    assert "is spent" in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("select", "a", "--method", "best"), "--method must be one of"),
        (("summarize", "--method", "best"), "--method must be one of"),
        (("summarize", "--dictionary", "none"), "cannot be read"),
        (("summarize", "nobody"), "no source is named"),
        (("select", "a"), "there is no summary yet"),
        (("add", "x", "--search", "http://h/{q}"), "search_url"),
        (("add", "x", "--search", "http://h/{query}", "--depth", "3"), "--depth"),
        (("add", "x", "--search", "http://h/{query}", "--site", "http://h"), "--site"),
    ],
)
def test_slips_are_told_in_a_line(shops, fails, words, said):
    code, err = fails(*words)
    assert code == 2
    assert said in err


def test_only_searches_can_be_summarised(keep, fails, servers):
    keep(servers[0], "/")
    code, said = fails("summarize")
    assert code == 2
    assert "--search" in said
    assert fails("summarize", "s")[0] == 2


def test_no_copy_of_a_search_is_kept(shops, fails):
    for words in (("sync",), ("sync", "first")):
        code, said = fails(*words)
        assert code == 2
        assert "run `halflife summarize first`" in said


def test_a_sync_passes_over_searches(shops, here, asked):
    path = here / "halflife.toml"
    page = (
        f'[[source]]\nname = "p"\nallow = ["127.0.0.0/8"]\npages = ["{shops[0].url}/"]'
    )
    path.write_text(f"{path.read_text()}{page}\n")
    code, answer = asked("sync")
    assert code == 0
    assert [row["source"] for row in answer["results"]] == ["p"]
    code, answer = asked("summarize", "first", "--documents", "5")
    assert code == 0


@pytest.mark.parametrize("page", ["/", "/opensearch.xml"])
def test_a_search_is_added_by_its_description(shops, asked, here, page):
    one, _ = shops
    code, answer = asked(
        "add", "fed", "--search", one.url + page, "--allow", "127.0.0.0/8"
    )
    assert code == 0
    (row,) = answer["results"]
    assert row["url"] == one.url + "/rss?q={query}&start={offset}&n={count}"
    assert row["hits"] > 0
    source = Config.load(here / "halflife.toml").named(["fed"])[0]
    assert (source.kind, source.engine, source.first_offset) == ("search", "feed", 1)
    code, answer = asked("summarize", "fed", "--snippets", "--documents", "10")
    assert code == 0
    assert answer["results"][0]["documents"] >= 10


def test_a_search_is_added_by_its_address(shops, told, here):
    one, _ = shops
    url = one.url + "/es/_search?q={query}&from={offset}&size={count}"
    code, out, _ = told("add", "es", "--search", url, "--allow", "127.0.0.0/8")
    assert code == 0
    assert "es" in out
    assert Config.load(here / "halflife.toml").named(["es"])[0].search_url == url


def test_a_preview_of_a_search_sends_and_writes_nothing(shops, told, fails, here):
    before = (here / "halflife.toml").read_text()
    url = "http://nowhere.example/{query}"
    assert told("add", "x", "--search", url, "--dry-run")[0] == 0
    code, said = fails("add", "x", "--search", "http://nowhere.example/", "--dry-run")
    assert code == 2
    assert "without fetching" in said
    assert (here / "halflife.toml").read_text() == before


def test_what_cannot_be_searched_is_not_added(shops, fails, here):
    one, _ = shops
    before = (here / "halflife.toml").read_text()
    network = ("--allow", "127.0.0.0/8")
    for path, said in (
        ("/doc/1", "names none"),
        ("/nothing", "it answered 404"),
        ("/html?q={query}", "HTML"),
    ):
        code, err = fails("add", "x", "--search", one.url + path, *network)
        assert code == 1
        assert said in err
    code, err = fails("add", "x", "--search", one.url + "/opensearch.xml")
    assert code == 1
    assert "not public" in err
    assert (here / "halflife.toml").read_text() == before


def test_the_example_of_the_book_runs(example):
    printed, shown = example("searches.md")
    assert printed == shown
