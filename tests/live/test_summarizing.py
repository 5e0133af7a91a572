"""Databases summarised and chosen, over real HTTP, with a clock of their own."""

import asyncio
import json
from math import inf

import numpy as np
import pytest

from halflife.config import Config
from halflife.core.errors import AlreadyRunning, BudgetSpent, UsageError
from halflife.core.store import Note
from halflife.engine import bootstrap
from halflife.engine.wallet import Wallet
from halflife.kinds.search import runner as search_runner, selection as search_selection
from halflife.kinds.search.dictionary import COMMON, dictionary, probes
from halflife.kinds.search.runner import SamplingOutcome, Summarizer, SummaryWish
from halflife.stores import summaries
from halflife.stores.memory import MemoryStore
from halflife.stores.sqlite import SqliteStore
from hand_clock import BEGAN, Hands
from search_server import corpus

TEXTS = corpus(400)
PATHS = {
    "es": "/es/_search?q={query}&from={offset}&size={count}",
    "html": "/html?q={query}&page={page}",
}
READING = {
    "es": "",
    "html": 'engine = "html"\nhits = "li.hit"\nhit_link = "a@href"\n'
    'hit_snippet = "p"\ntotal = "#n"\n',
}


@pytest.fixture
def made(search_server, shop, tmp_path):
    """Settings with a database, a store and a clock."""

    def make(kind="es", requests=2000, **more):
        extra = "".join(f"{k} = {json.dumps(v)}\n" for k, v in more.items())
        text = (
            f"[budget]\nrequests = {requests}\n[fetch]\ndelay = 0.0\ntimeout = 1.0\n"
            '[[source]]\nname = "shop"\nkind = "search"\nallow = ["127.0.0.0/8"]\n'
            f'search_url = "{search_server.url}{PATHS[kind]}"\n{READING[kind]}{extra}'
        )
        config = Config.parse(text, tmp_path / "halflife.toml")
        return config, bootstrap.writing(config), Hands()

    return make


def summarize(config, store, clock, most=None, **wish):
    async def run():
        summarizer = Summarizer(config, store, SummaryWish(**wish), clock)
        return await summarizer.summarize(config.source[0], most=most)

    return asyncio.run(run())


def test_a_database_is_sampled_sized_and_kept(made, shop):
    config, store, clock = made()
    with store:
        found = summarize(config, store, clock, documents=60)
        kept = summaries.current(store, "shop")
        charged = store.spent(0.0)
    assert 60 <= kept.summary.sampled <= 63
    assert found.in_use
    assert kept.version == 1
    assert kept.at == BEGAN
    assert kept.low <= kept.summary.size <= kept.high
    assert 200 <= kept.summary.size <= 700  # of 400
    assert kept.told == "totals agree with the sample"
    assert found.requests == len(shop.log) == charged
    for document in kept.documents:
        assert set(document.words) == set(TEXTS[document.key].split())
    assert "documents read" in found.words()


def test_what_is_kept_survives_the_program(made):
    config, store, clock = made()
    with store:
        first = summarize(config, store, clock, documents=20).kept
    with SqliteStore.open(config.store_path, readonly=True) as again:
        second = summaries.current(again, "shop")
    assert second.summary.words == first.summary.words
    assert np.array_equal(second.summary.count, first.summary.count)
    assert second.documents == first.documents
    assert (second.low, second.high) == (first.low, first.high)


def test_html_documents_are_fetched_unless_snippets_will_do(made, shop):
    config, store, clock = made("html")
    with store:
        full = summarize(config, store, clock, documents=12)
        fetched = sum("/doc/" in path for path in shop.log)
        shop.log.clear()
        some = summarize(config, store, clock, documents=12, snippets=True)
    assert all(d.whole for d in full.kept.documents)
    assert fetched >= 12
    assert not any("/doc/" in path for path in shop.log)
    assert not any(d.whole for d in some.kept.documents)
    assert some.kept.version == 2


@pytest.mark.parametrize(
    ("totals", "said", "sized"),
    [
        ("absent", "the database tells no totals", "capture-recapture"),
        ("lying", "totals contradict", "capture-recapture"),
        ("rounded", "totals", "sample-resample"),
        ("huge", "the database tells no totals", "capture-recapture"),
    ],
)
def test_totals_that_cannot_be_used_are_named(made, shop, totals, said, sized):
    shop.totals = totals
    config, store, clock = made(cap=400)
    with store:
        kept = summarize(config, store, clock, documents=80).kept
    assert kept.told.startswith(said)
    assert kept.sized == sized
    assert 80 <= kept.summary.size <= 2000


def test_a_spent_budget_keeps_what_was_learned(made, shop):
    config, store, clock = made("html", requests=30)
    with store:
        found = summarize(config, store, clock)
        assert found.requests == len(shop.log) <= 30
        assert 1 <= found.kept.summary.sampled <= 30
        assert found.ending == "no request is left"
        while Wallet(store, config.budget).room(clock()):
            summarize(config, store, clock)
        with pytest.raises(BudgetSpent):
            summarize(config, store, clock)
        assert store.spent(0.0) <= 30
        clock.now += 1.5
        assert summarize(config, store, clock, most=10).requests <= 10


def test_a_summary_cut_short_does_not_replace_one_that_knows_more(made, shop):
    config, store, clock = made()
    with store:
        summarize(config, store, clock, documents=50)
        poor = summarize(config, store, clock, documents=50, most=4)
        assert not poor.in_use
        assert "stays in use" in poor.words()
        assert summaries.current(store, "shop").version == 1
        assert [v.version for v in summaries.versions(store, "shop")] == [1, 2]
        assert summarize(config, store, clock, documents=50).in_use
        assert summaries.current(store, "shop").version == 3


def test_a_database_that_never_answers_is_told_so(made, shop):
    shop.fault = "500"
    config, store, clock = made()
    with store:
        found = summarize(config, store, clock)
        assert found.kept is None
        assert found.ending.startswith("it never answered: ")
        assert "it answered 500" in found.ending or "left alone" in found.ending
        assert summaries.current(store, "shop") is None
        assert found.requests <= 4


def test_a_database_that_stops_answering_leaves_what_was_learned(made, shop):
    shop.fault, shop.answers = "404", 5
    config, store, clock = made()
    with store:
        found = summarize(config, store, clock)
    assert found.ending.startswith("it stopped answering: ")
    assert 4 <= found.kept.summary.sampled <= 20
    assert found.kept.high == inf
    assert not found.kept.whole


def test_a_dictionary_that_finds_nothing_ends_after_500_queries(made, tmp_path):
    words = tmp_path / "words"
    words.write_text("\n".join(f"zz{i}zz" for i in range(700)))
    config, store, clock = made()
    with store:
        found = summarize(config, store, clock, dictionary=words)
    assert found.kept is None
    assert found.ending == "no word of the dictionary finds anything (500 queries)"
    assert found.requests == 501  # and robots.txt


def test_a_database_with_snippets_only_says_so(made, shop):
    shop.texts = dict.fromkeys(TEXTS, "")  # its documents are empty pages
    config, store, clock = made("html")
    with store:
        found = summarize(config, store, clock)
    assert found.kept is None
    assert "(40 tried); allow snippets with --snippets" in found.ending
    assert sum("/doc/" in path for path in shop.log) == 40  # four of ten answers


def test_a_crash_between_two_notes_leaves_the_version_before(made):
    class Failing(MemoryStore):
        left = 10**6

        def save_note(self, source, kind, note, number=0):
            if kind in {"summary", "summary_versions"}:
                self.left -= 1
                if self.left < 0:
                    raise OSError("the disk is full")
            super().save_note(source, kind, note, number)

    config, _, clock = made()
    store = Failing()
    summarize(config, store, clock, documents=8)
    for left in (0, 1):
        store.left = left
        with pytest.raises(OSError, match="full"):
            summarize(config, store, clock, documents=8)
        assert summaries.current(store, "shop").version == 1
    store.left = 2
    assert summarize(config, store, clock, documents=8).kept.version == 2
    assert len(summaries.versions(store, "shop")) == 2


def test_robots_that_forbid_the_search_are_obeyed(made, shop):
    shop.robots = "User-agent: *\nDisallow: /es/"
    config, store, clock = made()
    with store:
        found = summarize(config, store, clock)
    assert "robots.txt" in found.ending
    assert (shop.served, found.requests) == (0, 1)


def test_focused_probing_finds_topics(made, shop, tmp_path):
    file = tmp_path / "topics.toml"
    file.write_text(
        'topics = ["Common", "Rare"]\n[queries]\n'
        'Common = ["term1", "term2", "term3", "term4"]\nRare = ["nowhere"]\n'
    )
    config, store, clock = made()
    with store:
        found = summarize(config, store, clock, method="fps", probes=file)
    assert found.kept.topics == ("Common",)
    assert found.kept.method == "fps"


def test_only_one_summarises_a_database_at_a_time(made):
    config, store, clock = made()
    with store, SqliteStore.open(config.store_path) as other:
        run = other.begin(["shop"], BEGAN, lease=1.0)
        with pytest.raises(AlreadyRunning):
            summarize(config, store, clock)
        other.finish(run, BEGAN)


def test_easing_ends_a_summary_with_what_it_has(made, shop):
    config, store, clock = made()

    async def run():
        summarizer = Summarizer(config, store, SummaryWish(documents=300), clock)

        def told(_):
            if shop.served > 10:
                summarizer.ease()

        return await summarizer.summarize(config.source[0], notify=told)

    with store:
        found = asyncio.run(run())
    assert found.ending == "stopped before it was done"
    assert found.kept.summary.sampled >= 4
    assert shop.served <= 12


def test_a_summary_that_is_cancelled_leaves_nothing_behind(made, shop):
    config, store, clock = made()

    async def run():
        summarizer = Summarizer(config, store, SummaryWish(documents=300), clock)
        loop = asyncio.get_running_loop()

        def told(_):
            if shop.served == 10:
                loop.call_soon_threadsafe(task.cancel)

        work = summarizer.summarize(config.source[0], notify=told)
        task = asyncio.create_task(work)
        with pytest.raises(asyncio.CancelledError):
            await task

    with store:
        asyncio.run(run())
        assert summaries.current(store, "shop") is None
        assert store.spent(0.0) == len(shop.log)
        assert store.verify() == []
        assert summarize(config, store, clock, documents=8).in_use


def test_the_dictionary_falls_back_on_common_words(tmp_path):
    assert dictionary(MemoryStore()) == COMMON
    assert len(set(COMMON)) == len(COMMON) >= 300
    empty = tmp_path / "empty"
    empty.write_text("- ! -")
    for file in (empty, tmp_path / "none"):
        with pytest.raises(UsageError, match="--dictionary"):
            dictionary(MemoryStore(), file)


def test_files_of_probes_are_checked(tmp_path):
    assert len(probes().hierarchy.leaves) == 7
    file = tmp_path / "p.toml"
    for text in ("x", "a = 1", 'topics = ["A"]\n[queries]\nB = ["b"]'):
        file.write_text(text)
        with pytest.raises(UsageError, match="--probes"):
            probes(file)


def test_only_sources_of_searches_can_be_summarised():
    config = Config.parse('[[source]]\nname = "p"\npages = ["http://h/"]\n')
    with pytest.raises(UsageError, match="cannot be searched"):
        search_runner.databases(config, ["p"])
    with pytest.raises(UsageError, match="--search"):
        search_runner.databases(config)
    with pytest.raises(UsageError, match="--method"):
        SummaryWish(method="other")


def test_a_summary_that_cannot_be_read_is_none(caplog):
    store = MemoryStore()
    summaries.VERSIONS.save(store, summaries.SummaryVersions(1, 1), "a")
    for text in ("", "[]", '{"words": ["a"], "count": []}'):
        store.save_note("a", "summary", Note(1, text), 1)
        assert summaries.current(store, "a") is None
        assert summaries.versions(store, "a") == []
    assert "summary 1 of a" in caplog.text


def test_a_lost_list_of_summaries_leaves_those_that_were_made():
    store = MemoryStore()
    store.save_note("a", "summary", Note(1, "{}"), 2)
    store.save_note("a", "summary_versions", Note(1, "{"))
    assert summaries.current(store, "a") is None
    assert summaries._numbers(store, "a") == summaries.SummaryVersions(2, 0)


@pytest.mark.parametrize("method", search_selection.METHODS)
def test_databases_are_ranked_by_what_they_hold(made, search_server, method):
    config, store, clock = made()
    other = config.source[0].model_copy(update={"name": "other"})
    with store:
        summarize(config, store, clock, documents=40)
        mine = summaries.current(store, "shop")
        empty = summaries.StoredSummary(
            **{
                name: getattr(mine, name)
                for name in mine.__dataclass_fields__
                if name not in {"source", "documents", "summary"}
            },
            source="other",
            documents=(),
            summary=type(mine.summary).of({"elsewhere": 3.0}, 100.0, 0),
        )
    query = mine.summary.words[int(mine.summary.count.argmax())]
    sources = [config.source[0], other]
    found = search_selection.rank(
        [empty, mine], sources, f"{query} nowhere", BEGAN + 70.0, method=method
    )
    assert found.names == ("shop", "other")
    assert found.backed.tolist() == [True, False]
    assert found.unknown == ("nowhere",)
    assert 0 < found.fresh[0] < 1
    assert "70 d old" in found.reasons[0]


def test_older_summaries_are_less_likely_true(made):
    config, store, clock = made()
    with store:
        kept = summarize(config, store, clock, documents=8).kept
    alive = [
        float(search_selection.belief([kept], config.source, BEGAN + age).survival[0])
        for age in (0.0, 7.0, 70.0, 700.0)
    ]
    assert alive[0] == 1.0
    assert alive == sorted(alive, reverse=True)
    assert alive[-1] < 0.5


@pytest.mark.parametrize(
    ("url", "domain"),
    [
        ("https://a.example.org/?q={query}", "org"),
        ("https://lib.x.edu/{query}", "edu"),
        ("http://127.0.0.1/{query}", "misc"),
        ("https://example.de/{query}", "misc"),
    ],
)
def test_the_domain_is_the_end_of_the_name(url, domain):
    text = f'[[source]]\nname = "s"\nkind = "search"\nsearch_url = "{url}"\n'
    assert search_selection.domain(Config.parse(text).source[0]) == domain


def test_a_renewal_that_our_budget_ended_is_no_trouble_of_the_database():
    first = SamplingOutcome("words", 7, "no request is left (7 queries)")
    renewal = SamplingOutcome("words", 7, "no request is left (7 queries)", cut=True)
    assert first.trouble == first.ending
    assert renewal.trouble == ""
    assert renewal.row()["ending"] == first.ending
