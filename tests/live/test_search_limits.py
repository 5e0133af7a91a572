"""What a search that ignores queries, or cuts off its results, can tell."""

import asyncio
from math import inf

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from halflife.config import Config
from halflife.core.search import Document, SearchAnswer
from halflife.engine import bootstrap
from halflife.kinds.search.client import words_of
from halflife.kinds.search.dictionary import COMMON
from halflife.kinds.search.runner import Summarizer, SummaryWish
from halflife.probing.query_check import NONSENSE, QueryCheck
from halflife.probing.query_sampling import query_based_sample
from halflife.probing.sample import Ending
from halflife.probing.size import SearchSizeMethod, estimate_size
from search_server import corpus, serving

TEXTS = corpus(372)
RSS = "/rss?q={query}"
ES = "/es/_search?q={query}&from={offset}&size={count}"
HTML = "/html?q={query}&page={page}"
READING = {
    HTML: 'engine = "html"\nhits = "li.hit"\nhit_link = "a@href"\nhit_snippet = "p"\n'
}


@pytest.fixture
def server():
    with serving(TEXTS) as server:
        yield server


@pytest.fixture
def summarize(server, tmp_path):
    def run(path, **wish):
        text = (
            "[budget]\nrequests = 3000\n[fetch]\ndelay = 0.0\ntimeout = 5.0\n"
            '[[source]]\nname = "shop"\nkind = "search"\nallow = ["127.0.0.0/8"]\n'
            f'search_url = "{server.url}{path}"\n{READING.get(path, "")}'
        )
        config = Config.parse(text, tmp_path / "halflife.toml")

        async def work():
            with bootstrap.writing(config) as store:
                summarizer = Summarizer(config, store, SummaryWish(**wish))
                return await summarizer.summarize(config.source[0])

        return asyncio.run(work())

    return run


@pytest.mark.parametrize("path", [RSS, ES, HTML])
@pytest.mark.parametrize("totals", ["exact", "absent"])
def test_a_search_that_ignores_queries_is_left_after_a_few_requests(
    server, summarize, path, totals
):
    server.shop.heeds, server.shop.totals = False, totals
    done = summarize(path, snippets=True)
    assert done.kept is None
    assert str(Ending.IGNORED) in done.ending
    assert done.requests <= 8
    assert "ignores what it is asked for" in done.words()


def test_a_search_that_shows_anything_at_all_is_left_too(server, summarize):
    server.shop.heeds, server.shop.shuffles = False, True
    server.shop.totals = "absent"
    done = summarize(ES)
    assert done.kept is None
    assert done.requests <= 15


@pytest.mark.parametrize("path", [RSS, ES, HTML])
def test_a_search_that_heeds_queries_is_not_suspected(server, summarize, path):
    done = summarize(path, snippets=True, documents=40)
    assert done.kept is not None
    assert not any(NONSENSE in asked for asked in server.shop.log)


@pytest.mark.parametrize("totals", ["exact", "absent"])
def test_a_search_without_pages_tells_the_least_that_there_is(
    server, summarize, totals
):
    server.shop.ranked, server.shop.totals = True, totals
    done = summarize(RSS, snippets=True, documents=200)
    assert done.kept is not None
    assert done.kept.sized == str(SearchSizeMethod.CUT_OFF)
    assert done.kept.low <= len(TEXTS) <= done.kept.high == inf
    assert "at least" in done.words()
    assert "its results are cut off" in done.words()


@pytest.mark.parametrize("path", [ES, HTML])
def test_a_search_whose_pages_are_all_the_first_is_one_without_pages(
    server, summarize, path
):
    server.shop.ranked, server.shop.pages = True, False
    server.shop.totals = "absent"
    done = summarize(path, snippets=True, documents=200)
    assert done.kept is not None
    assert done.kept.low <= len(TEXTS) <= done.kept.high == inf


def test_a_search_with_all_of_its_pages_has_an_upper_bound(server, summarize):
    done = summarize(HTML, snippets=True, documents=200)
    assert done.kept is not None
    assert done.kept.sized == str(SearchSizeMethod.RECAPTURE)
    assert done.kept.high < inf


def test_places_after_the_only_page_cost_nothing(server, summarize):
    server.shop.totals = "exact"
    summarize(RSS, snippets=True, documents=100)
    asked = [path for path in server.shop.log if path.startswith("/rss")]
    assert len(asked) <= len(set(asked)) + 50  # none twice but to find the size


class Shelf:
    """A database that shows the first matches of a query, by rank."""

    def __init__(self, texts, page, *, totals, whole):
        self.page, self.totals, self.whole = page, totals, whole
        self.words = {key: words_of(text) for key, text in texts.items()}
        self.having = {}
        for key in sorted(texts, key=int, reverse=True):
            for word in set(self.words[key]):
                self.having.setdefault(word, []).append(key)
        self.asked = 0

    def search(self, query, most, skip=0):
        self.asked += 1
        found = self.having.get(query, [])
        shown = found[: self.page][skip : skip + most]
        documents = tuple(
            Document(key, self.words[key], whole=self.whole) for key in shown
        )
        total = len(found) if self.totals else None
        return SearchAnswer(total, documents, cut=len(found) > self.page)


@pytest.mark.parametrize("size", [150, 372, 1200])
@pytest.mark.parametrize("totals", [True, False])
@pytest.mark.parametrize("whole", [True, False])
def test_bounds_hold_whatever_ranks_first(size, totals, whole):
    held, db = 0, Shelf(corpus(size, seed=3), 10, totals=totals, whole=whole)
    for seed in range(10):
        rng = np.random.default_rng(seed)
        sample = query_based_sample(db, COMMON, rng, snippets=True, shown=10)
        found = estimate_size(db, sample, rng, most=10)
        held += found.low <= size <= found.high
        assert found.high == inf or found.method is SearchSizeMethod.RESAMPLE
    assert held >= 8


def documents(*keys, words=("a",)):
    return tuple(Document(key, words) for key in keys)


def test_small_databases_in_which_every_word_finds_all_are_not_accused():
    asked = []

    def search(query):
        asked.append(query)
        return (
            SearchAnswer(0, ())
            if query == NONSENSE
            else SearchAnswer(2, documents("1", "2"))
        )

    check = QueryCheck(search)
    for word in ("red", "old", "new", "odd"):
        check.add(word, search(word))
    assert not check.ignored
    assert asked.count(NONSENSE) == 1


@settings(max_examples=50)
@given(st.lists(st.sets(st.sampled_from("abcdef"), min_size=1), min_size=3))
def test_whoever_finds_nothing_for_nonsense_is_never_accused(found):
    answers = iter(found)

    def search(query):
        if query == NONSENSE:
            return SearchAnswer(None, ())
        return SearchAnswer(None, documents(*sorted(next(answers))))

    check = QueryCheck(search)
    for number in range(len(found)):
        check.add(f"word{number}", search(""))
    assert not check.ignored


@settings(max_examples=50)
@given(
    st.sets(st.text("abc", min_size=1), min_size=1, max_size=20),
    st.none() | st.integers(1, 1000),
)
def test_whoever_always_shows_the_same_is_found_out_with_four_requests(keys, total):
    asked = []

    def search(query):
        asked.append(query)
        return SearchAnswer(total, documents(*sorted(keys)))

    check = QueryCheck(search)
    for word in ("red", "old", "new"):
        check.add(word, search(word))
    assert check.ignored
    assert len(asked) == 4
