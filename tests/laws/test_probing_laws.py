"""Probing of databases: totals, laws of frequencies, samples and their ends."""

from math import inf, isnan, log

import numpy as np
import pytest
from hypothesis import given, strategies as st

from halflife.core.errors import UsageError
from halflife.core.search import Document, SearchAnswer
from halflife.probing import recheck as rechecking
from halflife.probing.focused_probe import focused_sample
from halflife.probing.frequency import (
    SHIFTS,
    Mandelbrot,
    fit_mandelbrot,
    frequency_summary,
    ranks,
)
from halflife.probing.hierarchy import Hierarchy
from halflife.probing.memory import InMemoryDatabase, MatchRanking, Totals
from halflife.probing.recheck import LIMIT, UNSURE, _judge, _WordPools
from halflife.probing.rules import (
    TopicProbes,
    _children,
    _frequent,
    covering_rules,
    learn_probes,
)
from halflife.probing.sample import Ending, Sample, SampleCollector, SampleQuery
from halflife.probing.stop_rule import StopRule, predictive_likelihood
from halflife.probing.totals import TotalsTrust, at_limit, judge_totals
from halflife.summary.split_test import Excess
from lab.synthetic_text import draw, zipf

NAN = float("nan")


def documents(*texts):
    return tuple(Document(f"k{i}", tuple(t.split())) for i, t in enumerate(texts))


def dict_of(parts):
    return dict(enumerate(parts))


def named(tree, at=""):
    """Return the tree with a name of its own for each topic."""
    return {f"{at}.{i}": named(deeper, f"{at}.{i}") for i, deeper in tree.items()}


# Totals


def honest(n=6):
    held = np.arange(3.0, 3.0 + n)
    return held, 11.0 * held


def test_totals_that_are_not_told_or_told_of_few_words_cannot_be_judged():
    held, told = honest()
    assert judge_totals(held, np.full(6, NAN)) is TotalsTrust.ABSENT
    assert judge_totals(held[:0], told[:0]) is TotalsTrust.ABSENT
    assert judge_totals(held[:5], told[:5]) is TotalsTrust.CONSISTENT
    assert judge_totals(held[:4], told[:4]) is TotalsTrust.FEW
    some = told.copy()
    some[0] = NAN
    assert judge_totals(held, some) is TotalsTrust.CONSISTENT
    some[1] = NAN
    assert judge_totals(held, some) is TotalsTrust.FEW


@pytest.mark.parametrize(
    ("share", "told"), [(0.94, TotalsTrust.FEW), (0.93, TotalsTrust.INCONSISTENT)]
)
def test_a_total_may_be_below_the_sample_by_rounding_only(share, told):
    held = np.array([100.0, 3.0])
    assert judge_totals(held, np.array([share * 100.0, 9.0])) is told


def test_totals_that_scatter_more_than_chance_explains_contradict_each_other():
    held = np.full(5, 10.0)
    for spread, told in (
        (0.6, TotalsTrust.CONSISTENT),
        (0.9, TotalsTrust.INCONSISTENT),
    ):
        ratio = np.array([-spread, -spread, 0.0, spread, spread])
        value = np.mean(ratio**2) / (1 / 10.0 + 0.4**2)
        assert (value > 2.0) == (told is TotalsTrust.INCONSISTENT)
        assert judge_totals(held, 77.7 * np.exp(ratio)) is told


def test_totals_are_rounded_if_no_large_one_has_a_third_digit():
    held = np.arange(3.0, 10.0)
    rounded = np.array([30.0, 41.0, 57.0, 88.0, 100.0, 110.0, 120.0])
    assert judge_totals(held, rounded) is TotalsTrust.ROUNDED
    exact = rounded.copy()
    exact[-1] = 121.0
    assert judge_totals(held, exact) is TotalsTrust.CONSISTENT
    few = rounded.copy()
    few[4] = 99.0  # two large ones are too few to say so
    assert judge_totals(held, few) is TotalsTrust.CONSISTENT


def test_totals_are_capped_if_three_different_words_have_the_largest():
    held, told = np.arange(3.0, 12.0), 7.0 * np.arange(3.0, 12.0)
    capped = np.minimum(told, 63.0)  # reached by three
    assert judge_totals(held, capped) is TotalsTrust.CAPPED
    assert at_limit(capped, held).tolist() == [False] * 6 + [True] * 3
    two = np.minimum(told, 70.0)
    assert not at_limit(two, held).any()
    same = held.copy()
    same[6:] = 9.0  # one number of documents tells nothing of a limit
    assert not at_limit(capped, same).any()
    assert not at_limit(np.zeros(9), held).any()
    assert at_limit(np.ones(9), held).all()  # a limit of a single match
    assert not at_limit(np.full(9, NAN), held).any()


# Frequencies


def test_the_law_of_frequencies_is_the_best_line_in_the_logs():
    rng = np.random.default_rng(0)
    rank = np.arange(1.0, 30.0)
    count = 500.0 * (rank + 4.0) ** -0.8 * np.exp(0.05 * rng.normal(size=29))
    found = fit_mandelbrot(rank, count)

    def error(shift):
        line = np.polyfit(np.log(rank + shift), np.log(count), 1)
        miss = np.polyval(line, np.log(rank + shift)) - np.log(count)
        return float((miss**2).sum())

    assert found.shift == min(SHIFTS.tolist(), key=error)
    slope, level = np.polyfit(np.log(rank + found.shift), np.log(count), 1)
    assert (found.slope, log(found.scale)) == pytest.approx((-slope, level))
    assert found.at(np.array([3.0])) == pytest.approx(
        [found.scale * (3.0 + found.shift) ** -found.slope]
    )


def test_frequencies_that_rise_with_the_rank_are_taken_to_be_level():
    found = fit_mandelbrot(np.array([1.0, 2.0, 3.0]), np.array([2.0, 4.0, 8.0]))
    assert (found.slope, found.scale) == (0.0, pytest.approx(4.0))
    with pytest.raises(UsageError, match="two ranks"):
        fit_mandelbrot(np.array([2.0, 2.0]), np.array([1.0, 3.0]))
    assert Mandelbrot(8.0, 1.0, 2.0).at(np.array([1.0])) == [2.0]


def test_ranks_begin_at_1_and_ties_share_their_mean():
    found = ranks(np.array([7.0, 7.0, 9.0, 1.0, 7.0]))
    assert found.tolist() == [3.0, 3.0, 1.0, 5.0, 3.0]


def test_a_summary_has_the_totals_told_and_the_law_for_the_rest():
    read = documents("a b c d", "a b c", "a b", "a")
    asked = tuple(
        SampleQuery(q, total, (), 0)
        for q, total in (("a", 80), ("c", 20), ("d", 0), ("z", 5))
    )
    found = frequency_summary(Sample(read, asked, 4, Ending.DONE), 100.0)
    law = fit_mandelbrot(np.array([1.0, 3.0]), np.array([80.0, 20.0]))
    b, d = law.at(np.array([2.0, 4.0])).tolist()
    assert found.words == ("a", "b", "c", "d")
    assert found.count == pytest.approx([80.0, b, 20.0, d])
    assert (found.size, found.sampled) == (100.0, 4)
    small = frequency_summary(
        Sample(read, asked, 4, Ending.DONE), 50.0, {"a": 60, "b": 2}
    )
    assert small.count[:2].tolist() == [50.0, 3.0]  # not above the size, nor below
    less = frequency_summary(
        Sample(read, asked, 4, Ending.DONE), 2.0, {"a": 60, "b": 2}
    )
    assert less.count.tolist() == [4.0, 3.0, 2.0, 1.0]  # read: whatever the size is


# Topics


trees = st.recursive(
    st.just({}), lambda below: st.lists(below, max_size=3).map(dict_of), max_leaves=12
)


@given(trees)
def test_a_path_of_topics_is_the_way_down_the_tree(tree):
    ways = []

    def walk(below, path):
        for name, deeper in below.items():
            ways.append((*path, name))
            walk(deeper, ways[-1])

    tree = named(tree)
    walk(tree, ("Root",))
    topics = Hierarchy.of(tree)
    assert topics.names == ("Root", *(way[-1] for way in ways))
    for way in ways:
        assert topics.path(way[-1]) == way
        assert way[-1] in topics.children(way[-2])
        assert topics.holds(way[1], way[-1])
        assert not topics.holds(way[-1], "Root")


# Samples


def test_a_sample_counts_documents_by_word_and_scales_them_to_the_size():
    sample = Sample(documents("a b", "a", "c"), (), 3, Ending.ENOUGH)
    assert sample.frequency == {"a": 2, "b": 1, "c": 1}
    assert sample.summary().counts() == {"a": 2.0, "b": 1.0, "c": 1.0}
    large = sample.summary(30.0)
    assert large.counts() == {"a": 20.0, "b": 10.0, "c": 10.0}
    assert (large.size, large.sampled) == (30.0, 3)
    asked = (SampleQuery("a", 0, (), 0), SampleQuery("b", None, (), 0))
    assert Sample((), asked, 2, Ending.DONE).totals == {"a": 0}


class Shelf:
    """Answers each word with what a table says."""

    def __init__(self, **answers):
        self.answers = answers

    def search(self, query, most, skip=0):
        found = self.answers.get(query, ())
        return SearchAnswer(len(found), tuple(found[:most]), 2)


def snippet(key):
    return Document(key, ("x",), whole=False)


def test_snippets_are_refused_and_counted_unless_they_are_allowed():
    whole = Document("w", ("a",))
    shelf = Shelf(a=(snippet("s"), whole, snippet("t")), b=(snippet("s"),))
    strict = SampleCollector(shelf, 5, 5)
    assert [d.key for d in strict.ask("a")] == ["w"]
    assert strict.refused == 2
    strict.ask("b")
    assert strict.refused == 3
    assert strict.ended(Ending.DONE).ending is Ending.DONE
    lax = SampleCollector(shelf, 5, 2, snippets=True)
    assert [d.key for d in lax.ask("a")] == ["s", "w"]
    assert lax.refused == 0
    none = SampleCollector(shelf, 5, 5)
    none.ask("b")
    assert none.ended(Ending.DONE).ending is Ending.SNIPPETS


def test_a_query_has_brought_nothing_until_it_was_looked_through():
    found = SampleCollector(Shelf(a=(Document("w", ("a",)),)), 5, 5)
    found._search("a")
    assert found.queries == [SampleQuery("a", 1, ("w",), 0)]
    found.ask("a")
    assert found.queries[-1] == SampleQuery("a", 1, ("w",), 1)


def test_requests_are_counted_and_spent_when_as_many_were_made():
    found = SampleCollector(Shelf(a=documents("a")), 5, 5, requests=4)
    assert not found.spent
    found.ask("a")
    assert (found.requests, found.spent) == (2, False)
    found.ask("b")
    assert (found.requests, found.spent) == (4, True)
    assert [(a.query, a.total, a.new) for a in found.queries] == [
        ("a", 1, 1),
        ("b", 0, 0),
    ]
    assert not SampleCollector(Shelf(), 5, 5).spent


# Stopping


def test_the_likelihood_of_words_is_mostly_theirs_and_a_fifth_even():
    counts, held = {"a": 3, "b": 1}, documents("a", "b z")
    each = [0.8 * 3 / 4 + 0.2 / 10, 0.8 * 1 / 4 + 0.2 / 10, 0.2 / 10]
    wanted = sum(map(log, each)) / 3
    assert predictive_likelihood(counts, held, 10) == pytest.approx(wanted)
    assert isnan(predictive_likelihood(counts, [], 10))
    assert predictive_likelihood({}, documents("a"), 0) == pytest.approx(log(0.2))


def test_a_sample_is_steady_when_windows_no_longer_help():
    rule = StopRule(window=4, gain=0.01, patience=2, every=2)
    texts = documents(*["a b"] * 12, "c d e f", "c d e f", "c d e f", "c d e f")
    told = [rule.should_stop([d]) for d in texts]
    # After 4 documents there is nothing to compare with; after 8 and 12 no gain.
    assert told.index(True) == 11
    assert rule.gains[:2] == pytest.approx([0.0, 0.0])
    assert rule.gains[2] > 0.01
    counts, words = {"a": 6, "b": 6}, {"a", "b", "c", "d", "e", "f"}
    now = {**counts, **dict.fromkeys("cdef", 2)}
    held = [d for i, d in enumerate(texts, 1) if i % 2 == 0]
    wanted = predictive_likelihood(now, held, len(words)) - predictive_likelihood(
        counts, held, len(words)
    )
    assert rule.gains[2] == pytest.approx(wanted)
    assert not rule.should_stop([])


def test_windows_are_not_compared_before_a_document_is_held_out():
    rule = StopRule(window=2, patience=2, every=5)
    assert not rule.should_stop(documents("a", "b", "a", "b"))
    assert rule.gains == []


# Made-up databases


def test_words_follow_zipfs_law():
    law = zipf(4, shift=1.0)
    chance = np.array([1 / 2, 1 / 3, 1 / 4, 1 / 5])
    assert law == pytest.approx(np.cumsum(chance) / chance.sum())

    class Chance:
        def random(self, many):
            return np.array([0.0, 0.3, law[0] + 1e-9, 0.999999, 1.0])[:many]

    assert draw(law, 5, Chance()).tolist() == [0, 0, 1, 3, 3]


TEXTS = documents("a b c", "a b", "a", "b c d e", "a c", "a b d", "f")


@pytest.mark.parametrize("ranking", list(MatchRanking))
def test_a_database_in_memory_finds_what_holds_all_words(ranking):
    db = InMemoryDatabase(TEXTS, ranking=ranking, page=2, cap=4)
    for query in ("a", "b", "a b", "a b c", "c a", "f", "z", "a z", "", "a a"):
        words = set(query.split())
        matches = {d.key for d in TEXTS if words and words <= set(d.words)}
        whole = db.search(query, 10)
        assert whole.total == len(matches)
        keys = [d.key for d in whole.documents]
        assert len(keys) == min(len(matches), 4)
        assert set(keys) <= matches
        assert whole.requests == max(1, (len(keys) + 1) // 2)
        assert [d.key for d in db.search(query, 2, 1).documents] == keys[1:3]
        assert len(db.search(query, 3, 3).documents) == max(len(keys) - 3, 0)
    short = [len(d.words) for d in db.search("a", 9).documents]
    assert ranking is not MatchRanking.SHORT or short == sorted(short)


def test_databases_rank_by_query_or_always_alike():
    many = tuple(Document(f"d{i}", ("a", "b")) for i in range(40))
    by_query, static = (
        InMemoryDatabase(many, ranking=r)
        for r in (MatchRanking.QUERY, MatchRanking.STATIC)
    )

    def keys(db, query):
        return [d.key for d in db.search(query, 40).documents]

    assert keys(by_query, "a") != keys(by_query, "b")
    assert keys(static, "a") == keys(static, "b")
    assert keys(static, "a") != sorted(keys(static, "a"))


def test_databases_say_of_their_totals_what_their_manners_are():
    many = [Document(f"d{i}", ("a",)) for i in range(128)]
    told = {
        t: InMemoryDatabase(many, totals=t, limit=50).search("a", 1).total
        for t in Totals
    }
    assert told[Totals.EXACT] == 128
    assert told[Totals.ROUNDED] == 130
    assert told[Totals.CAPPED] == 50
    assert told[Totals.ABSENT] is None
    assert 128 / 5 <= told[Totals.LYING] <= 128 * 5
    lying = InMemoryDatabase(many, totals=Totals.LYING)
    assert lying.search("z", 1).total == 0
    words = [f"w{i}" for i in range(300)]
    liar = InMemoryDatabase(
        [Document(str(i), tuple(words)) for i in range(100)], totals=Totals.LYING
    )
    factor = [liar.search(w, 1).total / 100 for w in words]
    assert 0.2 <= min(factor) < 0.25
    assert 4.0 < max(factor) <= 5.0
    assert np.mean(np.log(factor)) == pytest.approx(0.0, abs=0.15)
    capped = InMemoryDatabase(many, totals=Totals.CAPPED, limit=200)
    assert capped.search("a", 1).total == 128


def test_a_snippet_shows_the_words_asked_for_and_some_more():
    text = Document("k", tuple("abcdefgh"))
    db = InMemoryDatabase([text], snippet=3)
    (shown,) = db.search("h", 1).documents
    assert not shown.whole
    assert len(shown.words) == 3
    assert "h" in shown.words
    assert shown.words == tuple(sorted(shown.words))
    (many,) = db.search("a b c d", 1).documents
    assert many.words == ("a", "b", "c", "d")
    assert InMemoryDatabase([text], snippet=8).search("h", 1).documents == (text,)
    assert InMemoryDatabase([text], snippet=7).search("h", 1).documents != (text,)
    assert InMemoryDatabase([text]).search("h", 1).documents == (text,)


# Rechecks


@pytest.mark.parametrize(
    ("excess", "documents_", "last", "holds"),
    [
        (LIMIT, 4, True, True),
        (LIMIT + 1e-9, 400, True, False),
        (0.0499, 36, False, True),  # by 0.1 clear of the limit, which is what it takes
        (0.0501, 36, False, None),
        (0.5, 36, False, None),
        (0.0, 4, False, None),
        (None, 9, False, None),
        (None, 9, True, False),
    ],
)
def test_a_check_is_passed_when_that_is_clear(
    monkeypatch, excess, documents_, last, holds
):
    new = documents(*["a"] * documents_)
    assert pytest.approx(LIMIT - 0.05) == UNSURE / 6
    said = None if excess is None else Excess(excess, 0.0, 1.0, 1.0)
    monkeypatch.setattr(rechecking, "excess", lambda *_: said)
    found = _judge((), new, np.random.default_rng(0), LIMIT, last=last)
    assert found.holds is holds
    assert found.documents == new


@pytest.mark.parametrize(("many", "silent"), [(4, True), (5, False)])
def test_of_few_documents_nothing_is_told_before_the_end(monkeypatch, many, silent):
    monkeypatch.setattr(rechecking, "excess", lambda *_: Excess(0.9, 0.0, 1.0, 1.0))
    rng = np.random.default_rng(0)
    new = documents(*["a"] * many)
    assert isnan(_judge((), new, rng, LIMIT, last=False).excess) == silent
    assert _judge((), new, rng, LIMIT, last=True).excess == 0.9


def test_nothing_found_is_no_verdict_before_the_end():
    rng = np.random.default_rng(0)
    assert _judge(documents("a"), (), rng, LIMIT, last=False).holds is None
    assert _judge(documents("a"), (), rng, LIMIT, last=True).holds is False


def test_words_are_drawn_by_turns_from_what_was_and_what_is():
    hats = _WordPools(documents("a", "b"), [])
    rng = np.random.default_rng(0)
    hats.put(documents("x", "y"))
    drawn = [hats.draw(rng) for _ in range(5)]
    assert {drawn[0], drawn[2]} == {"a", "b"}
    assert {drawn[1], drawn[3]} == {"x", "y"}
    assert drawn[4] is None


# Rules of topics

TREE = Hierarchy.of({"Sports": ["Soccer", "Tennis"], "Health": []})


def test_a_label_belongs_to_the_child_on_its_path():
    root = TREE.root
    labels = ["Soccer", "Health", "Sports", root, "Tennis"]
    assert _children(TREE, root, labels) == [
        "Sports",
        "Health",
        "Sports",
        None,
        "Sports",
    ]
    assert _children(TREE, "Sports", labels) == ["Soccer", None, None, None, "Tennis"]


def test_rules_cover_documents_greedily_and_begin_anew():
    finds = np.array(
        [
            [1, 1, 0, 0, 0, 0],
            [0, 1, 1, 1, 0, 0],
            [0, 0, 0, 1, 0, 0],
            [1, 0, 0, 0, 1, 1],  # mostly wrong
            [0, 0, 0, 0, 0, 0],
        ],
        bool,
    )
    right = np.array([1, 1, 1, 1, 0, 0], bool)
    assert covering_rules(finds, right, 9, 0.5) == [1, 0, 2]
    assert covering_rules(finds, right, 2, 0.5) == [1, 0]
    assert covering_rules(finds, right, 9, 1 / 3) == [1, 0, 2, 3]
    assert covering_rules(finds, right, 0, 0.5) == []
    assert covering_rules(finds, ~right, 9, 0.5) == [3]


def test_a_topic_without_siblings_is_asked_for_by_its_commonest_words():
    texts = [frozenset(t.split()) for t in ("b a", "b c", "b c a", "z")]
    assert _frequent(texts, 3) == ("b", "a", "c")
    assert _frequent(texts, 9) == ("b", "a", "c", "z")


@pytest.mark.parametrize(("many", "fine"), [(2, True), (1, False)])
def test_every_topic_needs_two_documents(many, fine):
    only = Hierarchy.of(["Sports"])
    texts = [("ball", "game")] * many
    rng = np.random.default_rng(0)
    if fine:
        found = learn_probes(only, texts, ["Sports"] * many, rng)
        assert found.queries["Sports"] == ("ball", "game")
    else:
        with pytest.raises(UsageError, match="two or more"):
            learn_probes(only, texts, ["Sports"] * many, rng)


def focused(totals, *, coverage=10.0, specificity=0.25, **more):
    probes = TopicProbes.of(
        TREE, {t: (t.lower(),) for t in ("Sports", "Health", "Soccer", "Tennis")}
    )
    shelf = Shelf(
        **{
            word: tuple(Document(f"{word}{i}", (word,)) for i in range(n))
            for word, n in totals.items()
        }
    )
    return focused_sample(
        shelf, probes, coverage=coverage, specificity=specificity, **more
    )


def test_topics_are_probed_deeper_where_many_documents_match():
    found = focused({"sports": 30, "health": 10, "soccer": 15, "tennis": 5})
    assert found.coverage == {
        "Sports": 30.0,
        "Health": 10.0,
        "Soccer": 15.0,
        "Tennis": 5.0,
    }
    share = {TREE.root: 1.0, "Sports": 0.75, "Health": 0.25}
    assert found.specificity == pytest.approx(
        {**share, "Soccer": 0.75 * 0.75, "Tennis": 0.75 * 0.25}
    )
    assert found.topics == ("Soccer", "Health")
    assert found.counted
    assert found.sample.ending is Ending.DONE
    assert found.sample.requests == 8


@pytest.mark.parametrize(
    ("health", "topics"),
    [(10, ("Sports", "Health")), (9, ("Sports",)), (0, ("Sports",))],
)
def test_a_topic_passes_at_its_thresholds_exactly(health, topics):
    found = focused({"sports": 30, "health": health})
    assert found.topics == topics
    assert found.specificity["Tennis"] == 0.0
    few = focused({"sports": 29, "health": 10}, specificity=10 / 39)
    assert few.topics == ("Sports", "Health")
    fewer = focused({"sports": 30, "health": 10}, specificity=10 / 39)
    assert fewer.topics == ("Sports",)


def test_a_database_that_matches_nothing_is_about_nothing_but_the_root():
    found = focused({})
    assert found.topics == (TREE.root,)
    assert set(found.specificity.values()) == {1.0, 0.0}
    assert found.sample.ending is Ending.SILENT


def test_probing_ends_when_no_request_is_left():
    found = focused({"sports": 30, "health": 10, "soccer": 9}, requests=4)
    assert found.sample.ending is Ending.SPENT
    assert found.coverage["Soccer"] == 0.0
    assert inf > found.sample.requests == 4


@given(
    many=st.integers(2, 60),
    common=st.integers(1, 40),
    drop=st.floats(1.01, 1e6),
)
def test_a_law_of_frequencies_is_finite_however_they_fall(many, common, drop):
    rank = np.arange(1.0, many + common + 1)
    count = np.where(rank <= common, 1e7, 1e7 / drop)
    law = fit_mandelbrot(rank, count)
    assert np.all(np.isfinite([law.scale, law.shift, law.slope]))
    assert np.all(np.isfinite(law.at(rank)))
    assert np.all(np.diff(law.at(rank)) <= 0.0)
