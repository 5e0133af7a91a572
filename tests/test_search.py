"""Search engines over real HTTP, read as databases."""

import asyncio
import json
import re

import pytest
from hypothesis import given, strategies as st
from yarl import URL

from halflife.config import Config, FromEnv
from halflife.core.errors import BudgetSpent, ConfigError, Refused, SourceError
from halflife.kinds.search import runner as search_runner
from halflife.kinds.search.answers import AnswerReader
from halflife.kinds.search.client import (
    ENDLESS,
    BlockingSearch,
    Engine,
    SearchSettings,
    words_of,
)
from halflife.kinds.search.counts import count_of, total_of
from halflife.kinds.search.description import description_link, read_description
from search_server import corpus, describing, serving
from web_parts import HOME, OBEDIENT, Coins, make_gate

TEXTS = corpus(60)
COMMONEST = max(
    {w for t in TEXTS.values() for w in t.split()},
    key=lambda w: sum(w in t.split() for t in TEXTS.values()),
)
HOLDING = sum(COMMONEST in t.split() for t in TEXTS.values())
ENGINES = {
    "elasticsearch": "/es/_search?q={query}&from={offset}&size={count}",
    "solr": "/solr/select?q={query}&start={offset}&rows={count}&wt=json",
    "meilisearch": "/meili/search?q={query}&offset={offset}&limit={count}",
}
OWN = AnswerReader(
    engine="json",
    hits="answer.found",
    key="name",
    link="href",
    snippet="bit",
    total="answer.count",
)
HTML = AnswerReader(
    engine="html", hits="li.hit", link="a@href", snippet="p", total="#n"
)


@pytest.fixture
def server():
    with serving(TEXTS) as server:
        yield server


def ask(server, path, reader, *searches, purse=None, access=HOME, **more):
    """Return what an engine answers to some searches."""

    async def run():
        async with make_gate() as gate:
            settings = SearchSettings(server.url + path, reader, access, **more)
            engine = Engine(gate, settings, purse or Coins())
            return [await engine.search(*each) for each in searches]

    return asyncio.run(run())


@pytest.mark.parametrize("named", [True, False], ids=["named", "recognised"])
@pytest.mark.parametrize("engine", ENGINES)
def test_ready_made_shapes_are_read(server, engine, named):
    reader = AnswerReader(engine=engine if named else "")
    (answer,) = ask(server, ENGINES[engine], reader, (COMMONEST, 7))
    assert answer.total == HOLDING
    assert [d.key for d in answer.documents] == server.shop.matches(COMMONEST)[:7]
    for document in answer.documents:
        assert document.whole
        assert set(document.words) == set(TEXTS[document.key].split())
    assert answer.requests == 1


@pytest.mark.parametrize("engine", ENGINES)
def test_results_are_paged_and_skipped(server, engine):
    first, rest = ask(
        server,
        ENGINES[engine],
        AnswerReader(),
        (COMMONEST, 25),
        (COMMONEST, 5, 13),
        per_page=10,
    )
    every = server.shop.matches(COMMONEST)
    assert HOLDING > 25
    assert [d.key for d in first.documents] == every[:25]
    assert first.requests == 3
    assert [d.key for d in rest.documents] == every[13:18]
    assert rest.requests == 1


def test_numbered_pages_and_words_for_totals_are_read(server):
    path = "/own?q={query}&page={page}"
    answer, later = ask(server, path, OWN, (COMMONEST, 12), (COMMONEST, 4, 8))
    assert answer.total == HOLDING
    assert [d.key for d in answer.documents] == server.shop.matches(COMMONEST)[:12]
    assert [d.key for d in later.documents] == server.shop.matches(COMMONEST)[8:12]
    assert not answer.documents[0].whole
    assert len(answer.documents[0].words) <= 8


def test_the_length_of_a_page_is_learned(server):
    server.shop.page = 6
    (answer,) = ask(server, "/own?q={query}&page={page}", OWN, (COMMONEST, 14))
    assert [d.key for d in answer.documents] == server.shop.matches(COMMONEST)[:14]
    assert answer.requests == 3


def test_html_is_read_by_selectors(server):
    path = "/html?q={query}&page={page}"
    (answer,) = ask(server, path, HTML, (COMMONEST, 12))
    keys = [f"{server.url}/doc/{k}" for k in server.shop.matches(COMMONEST)[:12]]
    assert [d.key for d in answer.documents] == keys
    assert answer.total == HOLDING
    assert answer.requests == 2


def test_documents_are_read_in_full_where_their_links_lead(server):
    path = "/html?q={query}&page={page}"
    one, two = ask(server, path, HTML, (COMMONEST, 3), (COMMONEST, 4), fetch=True)
    key = server.shop.matches(COMMONEST)[0]
    assert one.documents[0].whole
    assert set(one.documents[0].words) == set(TEXTS[key].split())
    assert one.requests == 4  # a page of results and three documents
    assert two.requests == 2  # what was read before is not read again


def test_a_document_that_cannot_be_read_is_a_snippet(server):
    server.shop.texts = dict.fromkeys(TEXTS, "")
    (answer,) = ask(server, "/html?q={query}", HTML, (COMMONEST, 1), fetch=True)
    assert not answer.documents[0].whole


def test_feeds_are_read(server):
    path = "/rss?q={query}&start={offset}&n={count}"
    (answer,) = ask(
        server, path, AnswerReader(), (COMMONEST, 12), first_offset=1, per_page=5
    )
    keys = [f"{server.url}/doc/{k}" for k in server.shop.matches(COMMONEST)[:12]]
    assert [d.key for d in answer.documents] == keys
    assert answer.total == HOLDING


def test_entries_of_atom_are_read():
    body = (
        b'<feed xmlns="http://www.w3.org/2005/Atom" xmlns:o="http://a9.com/-/spec/">'
        b"<o:totalResults>1,200</o:totalResults><!-- two -->"
        b'<entry><link rel="self" href="/feed/1"/><link href="/1"/><title>One</title>'
        b'<content type="html">&lt;b&gt;more&lt;/b&gt; words</content></entry>'
        b"<entry><id>urn:2</id><title>Two</title></entry></feed>"
    )
    found = AnswerReader().read(body, "application/atom+xml", "http://h/search")
    assert found.total == 1200
    assert [hit.key for hit in found.hits] == ["http://h/1", "urn:2"]
    assert found.hits[0].snippet == "One more words"


@pytest.mark.parametrize("engine", ENGINES)
def test_totals_may_be_absent(server, engine):
    server.shop.totals = "absent"
    (answer,) = ask(server, ENGINES[engine], AnswerReader(), (COMMONEST, 25))
    assert answer.total is None
    assert len(answer.documents) == 25


def test_a_total_that_nobody_can_have_is_not_believed(server):
    server.shop.totals = "huge"
    (answer,) = ask(server, ENGINES["solr"], AnswerReader(), (COMMONEST, 5))
    assert answer.total is None
    assert len(answer.documents) == 5


def test_matches_that_are_never_shown_prove_nothing(server):
    server.shop.cap = 0
    (answer,) = ask(server, ENGINES["solr"], AnswerReader(), (COMMONEST, 5))
    assert (answer.total, answer.documents) == (None, ())


def test_nothing_beyond_the_cap_is_asked_for(server):
    path = ENGINES["solr"]
    near, past = ask(
        server, path, AnswerReader(), (COMMONEST, 10, 8), (COMMONEST, 10, 12), cap=12
    )
    assert len(near.documents) == 4
    assert (past.documents, past.requests) == ((), 0)
    assert len([p for p in server.shop.log if "select" in p]) == 1


def test_an_engine_that_always_shows_the_same_page_ends(server):
    (answer,) = ask(server, "/solr/select?q={query}", AnswerReader(), (COMMONEST, 50))
    assert len(answer.documents) == 10
    path = "/solr/select?q={query}&seite={page}"
    (answer,) = ask(server, path, AnswerReader(), (COMMONEST, 50))
    assert len(answer.documents) == 10
    assert answer.requests == 2


def test_a_word_that_nobody_has_finds_nothing(server):
    (answer,) = ask(server, ENGINES["solr"], AnswerReader(), ("näyttö & co", 5))
    assert (answer.total, answer.documents) == (0, ())
    assert "n%C3%A4ytt%C3%B6%20%26%20co" in server.shop.log[-1]


def test_every_request_is_paid_for(server):
    purse = Coins(3)
    path = "/html?q={query}&page={page}"
    (answer,) = ask(server, path, HTML, (COMMONEST, 4), purse=purse, fetch=True)
    assert [d.whole for d in answer.documents] == [True, True, False, False]
    assert (purse.left, answer.requests) == (0, 3)
    with pytest.raises(BudgetSpent):
        ask(server, path, HTML, (COMMONEST, 4), purse=purse)


def test_robots_are_obeyed(server):
    server.shop.robots = "User-agent: *\nDisallow: /solr/"
    with pytest.raises(Refused, match="robots"):
        ask(server, ENGINES["solr"], AnswerReader(), ("a", 1), access=OBEDIENT)
    assert server.shop.served == 0


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b'{"hits": [', "not JSON"),
        (b'{"a": 1}', "no engine we know"),
        (b"[1, 2]", "no engine we know"),
        (b"\xff\xfe", "not JSON"),
        (b"[" * 100_000, "nested too deeply"),
        (b"<html><body>Hello", "say where the hits"),
        (b"<rss><channel><item>", "not XML"),
    ],
)
def test_answers_that_cannot_be_read_say_why(body, said):
    with pytest.raises(SourceError, match=said):
        AnswerReader().read(body, "", "http://example.org/")


def test_records_without_a_usable_key_are_left_out():
    body = (
        b'{"hits": [{"id": 1, "t": "a"}, {"id": true}, {"id": "x\\u0007"}, {}, 5, null,'
        b'{"id": 1}, {"id": "\\ud800"}]}'
    )
    found = AnswerReader().read(body, "application/json", "http://example.org/")
    assert [hit.key for hit in found.hits] == ["1", "?"]


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text()),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(
            st.sampled_from(
                ["hits", "response", "docs", "total", "value", "_id", "id", "_source"]
            ),
            inner,
            max_size=4,
        ),
    ),
    max_leaves=20,
)


@given(
    st.one_of(
        st.binary(max_size=200),
        JSON.map(lambda value: json.dumps(value).encode()),
        st.text("<>/abrssitemfeedntylk=\"' ", max_size=100).map(str.encode),
    ),
    st.sampled_from(["", "application/json", "text/html; charset=utf-16", "x"]),
    st.sampled_from([AnswerReader(), AnswerReader("solr"), OWN, HTML]),
)
def test_whatever_is_answered_is_read_or_refused(body, kind, reader):
    try:
        found = reader.read(body, kind, "http://example.org/")
    except SourceError:
        return
    assert all(hit.key.isprintable() for hit in found.hits)


def test_an_expression_that_fails_on_an_answer_is_no_crash():
    reader = AnswerReader("json", hits="found", key="length(n)")
    with pytest.raises(SourceError, match="length"):
        reader.read(b'{"found": [{"n": 5}]}', "", "http://example.org/")


def test_an_answer_with_too_many_hits_is_cut():
    hits = ",".join(f'{{"id": {i}}}' for i in range(5000))
    body = f'{{"hits": [{hits}]}}'.encode()
    found = AnswerReader().read(body, "application/json", "http://example.org/")
    assert len(found.hits) == 1000


def test_an_answer_with_entities_is_refused():
    bomb = b'<!DOCTYPE rss [<!ENTITY a "b">]><rss><channel>&a;</channel></rss>'
    with pytest.raises(SourceError, match="DOCTYPE"):
        AnswerReader(engine="feed").read(bomb, "", "http://example.org/")


@pytest.mark.parametrize(
    "wrong",
    [
        {"engine": "html"},
        {"engine": "html", "hits": "li", "link": "a[["},
        {"engine": "json"},
        {"engine": "json", "hits": "a[", "key": "id"},
    ],
)
def test_readers_that_cannot_work_are_refused(wrong):
    with pytest.raises(ConfigError):
        AnswerReader(**wrong)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("1–10 of 3,850", 3850),  # noqa: RUF001
        ("about 12,000 results", 12_000),
        ("Ungefähr 1.234.567 Ergebnisse (0,42 Sekunden)", 1_234_567),
        ("12 345 résultats", 12_345),
        ("12\u202f345 résultats", 12_345),
        ("10,000+ results", 10_000),
        ("Page 2 of 14 (137 results)", 137),
        ("Showing 10 results of 3,850", 3850),
        ("3 results in 120 ms", 3),
        ("Results 1 - 10 of about 1.2M", 1_200_000),
        ("1-10 / 345", 345),
        ("20 of 1'204", 1204),
        ("No results found", 0),
        ("Keine Treffer", 0),
        ("hello", None),
        ("", None),
        ("9" * 40 + " results", None),
    ],
)
def test_numbers_of_results_are_read_as_people_write_them(text, count):
    assert count_of(text) == count


@given(st.integers(0, 10**12), st.sampled_from([",", ".", " ", "'", "\u00a0"]))
def test_any_grouping_of_digits_is_understood(number, mark):
    text = f"{number:,}".replace(",", mark)
    assert count_of(f"1-10 of {text}") == max(number, 0)


@given(st.one_of(st.text(), st.floats(), st.integers(), st.none(), st.booleans()))
def test_a_total_is_a_sensible_number_or_none(value):
    total = total_of(value)
    assert total is None or 0 <= total <= 10**12


@given(st.text())
def test_words_are_distinct_small_and_sorted(text):
    words = words_of(text)
    assert list(words) == sorted(set(words))
    assert all(2 <= len(word) <= 40 for word in words)


def test_descriptions_tell_how_to_search():
    found = read_description(describing("http://shop.example").encode(), "http://x/")
    assert found.url == "http://shop.example/rss?q={query}&start={offset}&n={count}"
    assert (found.type, found.first_offset) == ("application/rss+xml", 1)
    assert found.name == "Shop"


@pytest.mark.parametrize(
    ("template", "url"),
    [
        ("/s?q={searchTerms}&pw={startPage?}&l={language?}&x={shop:x?}",
         "http://h/s?q={query}&pw={page}&l=*&x="),
        ("/s?q={searchTerms}&i={startIndex}&p={startPage?}",
         "http://h/s?q={query}&i={offset}&p="),
        ("/{searchTerms}/{count}", "http://h/{query}/{count}"),
    ],
)  # fmt: skip
def test_places_of_descriptions_become_ours(template, url):
    text = describing("", template)
    assert read_description(text.encode(), "http://h/d.xml").url == url


def test_a_description_that_needs_more_than_words_falls_back_or_fails():
    text = describing("http://h", "/s?q={searchTerms}&key={shop:key}")
    assert read_description(text.encode(), "http://h/").type == "text/html"
    text = text.replace('type="text/html"', 'type="text/html" method="post"')
    with pytest.raises(SourceError, match="names no address"):
        read_description(text.encode(), "http://h/")


def test_entities_of_a_description_are_not_resolved():
    text = describing("http://h")
    bomb = text.replace("<OpenSearch", '<!DOCTYPE x [<!ENTITY a "b">]><OpenSearch', 1)
    with pytest.raises(SourceError, match="DOCTYPE"):
        read_description(bomb.encode(), "http://h/")


def test_a_page_names_its_description():
    page = (
        '<link rel="search" type="application/opensearchdescription+xml" '
        'href="/opensearch.xml">'
    )
    assert description_link(page, "http://h/a/") == "http://h/opensearch.xml"
    assert description_link("<p>none", "http://h/") == ""


def over_the_line(server, purse, use, path=ENGINES["solr"], **more):
    """Use a line from a thread, as samplers do."""

    async def run():
        async with make_gate(**more) as gate:
            settings = SearchSettings(server.url + path, AnswerReader(), HOME)
            line = BlockingSearch(
                Engine(gate, settings, purse), asyncio.get_running_loop()
            )
            return line, await asyncio.to_thread(use, line)

    return asyncio.run(run())


def test_a_line_ends_when_the_budget_does(server):
    def use(line):
        return [line.search(COMMONEST, 5) for _ in range(4)]

    line, answers = over_the_line(server, Coins(2), use)
    assert [len(a.documents) for a in answers] == [5, 5, 0, 0]
    assert [a.requests for a in answers] == [1, 1, ENDLESS, ENDLESS]
    assert line.over
    assert line.spent


def test_a_line_goes_on_after_a_failure_and_ends_after_three_in_a_row(server):
    def use(line):
        answers = []
        for fault in ("", "404", "", "404", "404", "404", ""):
            server.shop.fault = fault
            answers.append(len(line.search(COMMONEST, 5).documents))
        return answers

    line, answers = over_the_line(server, Coins(), use)
    assert answers == [5, 0, 5, 0, 0, 0, 0]
    assert line.over
    assert not line.spent
    assert "404" in line.trouble


def test_a_line_that_is_stopped_asks_nothing_more(server):
    def use(line):
        line.stop()
        return line.search(COMMONEST, 5)

    _, answer = over_the_line(server, Coins(), use)
    assert (answer.documents, server.shop.served) == ((), 0)


def test_places_beyond_the_cap_cost_nothing(server):
    _, answer = over_the_line(server, Coins(), lambda line: line.search("a", 5, 10**9))
    assert (answer.documents, answer.requests, server.shop.log) == ((), 0, [])


def _settings(**more):
    given = {"name": "s", "kind": "search", "search_url": "http://h/?q={query}", **more}
    lines = [f"{key} = {json.dumps(value)}" for key, value in given.items() if value]
    return Config.parse("[[source]]\n" + "\n".join(lines)).source[0]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"search_url": None}, "a search needs search_url"),
        ({"search_url": "http://h/"}, "must hold {query}"),
        ({"search_url": "http://h/{query}/{page}/{offset}"}, "{page} or {offset}"),
        ({"search_url": "http://h/{query}{x}"}, "nothing else in braces"),
        ({"search_url": "ftp://h/{query}"}, "only http"),
        ({"kind": "pages"}, "search_url has no meaning"),
        ({"pages": ["http://h/"]}, "pages has no meaning"),
        ({"max_pages": 3}, "max_pages has no meaning"),
        ({"engine": "altavista"}, "engine"),
        ({"per_page": -1}, "per_page"),
    ],
)
def test_settings_that_cannot_work_are_refused(wrong, said):
    with pytest.raises(ConfigError, match=re.escape(said)):
        _settings(**wrong)


def test_the_settings_of_a_search_become_a_way_to_ask():
    source = _settings(engine="solr", per_page=25, cap=50, hit_text="body")
    how = search_runner.settings(source, fetch=True)
    assert (how.per_page, how.cap, how.fetch) == (25, 50, True)
    assert how.reader == AnswerReader("solr", text="body")
    assert how.address("a b", 30) == (URL("http://h/?q=a%20b"), 30)
    with pytest.raises(ConfigError, match="source s: 'a\\[' is no JMESPath"):
        search_runner.settings(
            _settings(engine="json", hits="a[", hit_key="b"), fetch=True
        )


def test_a_secret_goes_to_the_host_of_the_search_only(monkeypatch):
    monkeypatch.setenv("SHOP_TOKEN", "hunter2")
    source = _settings().model_copy(
        update={"headers": {"Authorization": FromEnv(env="SHOP_TOKEN")}}
    )
    access = search_runner.settings(source, fetch=True).access
    assert access.credentials.origin == "http://h:80"
