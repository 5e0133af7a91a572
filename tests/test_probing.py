import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.stats import rankdata

from halflife.core.errors import ConfigError, UsageError
from halflife.core.search import Document
from halflife.probing.focused_probe import focused_sample
from halflife.probing.frequency import fit_mandelbrot, frequency_summary, ranks
from halflife.probing.hierarchy import Hierarchy
from halflife.probing.memory import InMemoryDatabase, MatchRanking, Totals
from halflife.probing.query_sampling import query_based_sample
from halflife.probing.rules import TopicProbes
from halflife.probing.sample import Ending, frequency
from halflife.probing.stop_rule import StopRule, predictive_likelihood
from lab.synthetic_text import Language

WORDS = tuple("abcdefgh")
TOPICS = Hierarchy.of({"Health": ["Diseases", "Fitness"], "Sports": {}})


def shelf(*texts):
    return [Document(f"d{i}", tuple(sorted(set(t)))) for i, t in enumerate(texts)]


@st.composite
def databases(draw):
    texts = st.lists(st.sets(st.sampled_from(WORDS), min_size=1), max_size=12)
    return shelf(*draw(texts))


@given(databases(), st.sets(st.sampled_from(WORDS), min_size=1), st.integers(1, 9))
def test_a_query_finds_the_documents_with_all_its_words(documents, words, most):
    found = InMemoryDatabase(documents).search(" ".join(words), most)
    right = {d.key for d in documents if words <= set(d.words)}
    keys = [d.key for d in found.documents]
    assert found.total == len(right)
    assert len(set(keys)) == len(keys) == min(most, len(right))
    assert set(keys) <= right


@pytest.mark.parametrize("ranking", MatchRanking)
@given(documents=databases(), word=st.sampled_from(WORDS), skip=st.integers(0, 12))
def test_pages_follow_on_each_other(ranking, documents, word, skip):
    db = InMemoryDatabase(documents, ranking=ranking)
    whole = db.search(word, 50).documents
    assert db.search(word, 3, skip).documents == whole[skip : skip + 3]


def test_short_documents_come_first_if_so_ranked():
    db = InMemoryDatabase(shelf("abc", "ab", "a"), ranking=MatchRanking.SHORT)
    assert [d.key for d in db.search("a", 3).documents] == ["d2", "d1", "d0"]


@pytest.mark.parametrize(
    ("totals", "told"),
    [
        (Totals.EXACT, 1234),
        (Totals.ROUNDED, 1200),
        (Totals.CAPPED, 100),
        (Totals.ABSENT, None),
    ],
)
def test_totals_are_told_as_chosen(totals, told):
    db = InMemoryDatabase(shelf(*["a"] * 1234), totals=totals)
    assert db.search("a", 1).total == told


def test_lies_stay_within_five_times_and_are_told_again():
    db = InMemoryDatabase(shelf(*["abcdefgh"] * 1000), totals=Totals.LYING)
    told = [db.search(w, 1).total for w in WORDS]
    assert told == [db.search(w, 1).total for w in WORDS]
    assert 200 <= min(told) < max(told) <= 5000
    assert db.search("absent", 1).total == 0


def test_pages_cost_requests_and_end_at_the_cap():
    db = InMemoryDatabase(shelf(*["a"] * 50), page=10, cap=25)
    assert db.search("a", 40).requests == 3
    assert len(db.search("a", 40).documents) == 25
    assert db.search("a", 10, 25).documents == ()
    assert db.search("", 10).total == 0


def test_a_snippet_shows_the_words_of_the_query():
    db = InMemoryDatabase(shelf("abcdefgh"), snippet=3)
    shown = db.search("h", 1).documents[0]
    assert "h" in shown.words
    assert len(shown.words) == 3
    assert not shown.whole


@given(databases(), st.integers(0, 5))
def test_a_sample_is_part_of_the_database(documents, seed):
    db = InMemoryDatabase(documents)
    rng = np.random.default_rng(seed)
    sample = query_based_sample(db, WORDS, rng, documents=6, per_query=2, fruitless=3)
    assert set(sample.documents) <= set(documents)
    assert len(sample.documents) == len(set(sample.documents))
    assert all(asked.new <= 2 for asked in sample.queries)
    assert len({asked.query for asked in sample.queries}) == len(sample.queries)
    assert sample.requests == len(sample.queries)


@given(databases(), st.integers(0, 5))
def test_a_sample_without_limits_finds_all_that_the_dictionary_can(documents, seed):
    db = InMemoryDatabase(documents)
    rng = np.random.default_rng(seed)
    sample = query_based_sample(db, WORDS, rng, shown=99, per_query=99)
    assert {d.key for d in sample.documents} == {d.key for d in documents}
    true = frequency(documents)
    assert sample.frequency == true
    if documents:
        summary = sample.summary()
        assert dict(zip(summary.words, summary.count, strict=True)) == true


def test_further_documents_never_lower_the_vocabulary():
    language = Language(TOPICS)
    documents = list(language.documents("Fitness", 400, np.random.default_rng(1)))
    db = InMemoryDatabase(documents)
    sizes = [
        len(
            query_based_sample(
                db, ["0", "1"], np.random.default_rng(2), documents=n
            ).frequency
        )
        for n in (10, 40, 80, 160)
    ]
    assert sizes == sorted(sizes)


def test_an_estimate_scales_the_sample_to_the_size():
    sample = query_based_sample(
        InMemoryDatabase(shelf("ab", "a")), "ab", np.random.default_rng(0)
    )
    summary = sample.summary(10.0)
    assert summary.words == ("a", "b")
    assert summary.count.tolist() == [10.0, 5.0]
    assert (summary.size, summary.sampled) == (10.0, 2)


def test_a_dictionary_that_finds_nothing_is_told_after_500_queries():
    db = InMemoryDatabase(shelf("a"))
    words = [f"w{i}" for i in range(1000)]
    sample = query_based_sample(db, words, np.random.default_rng(0))
    assert sample.ending is Ending.SILENT
    assert len(sample.queries) == sample.requests == 500
    with pytest.raises(UsageError, match="no word of the dictionary"):
        sample.summary()


def test_a_short_dictionary_that_finds_nothing_is_silent_too():
    sample = query_based_sample(InMemoryDatabase([]), ["x"], np.random.default_rng(0))
    assert sample.ending is Ending.SILENT
    with pytest.raises(UsageError, match="dictionary"):
        query_based_sample(InMemoryDatabase([]), [], np.random.default_rng(0))


@pytest.mark.parametrize(
    ("limits", "ending"),
    [
        ({"documents": 3}, Ending.ENOUGH),
        ({"requests": 2, "per_query": 1}, Ending.SPENT),
        ({"fruitless": 1, "documents": 99, "per_query": 1}, Ending.FRUITLESS),
        ({"shown": 99, "per_query": 99}, Ending.EXHAUSTED),
    ],
)
def test_the_ending_says_which_limit_was_reached(limits, ending):
    db = InMemoryDatabase(shelf(*["ab"] * 20, "a", "b"), ranking=MatchRanking.STATIC)
    sample = query_based_sample(db, "ab", np.random.default_rng(0), **limits)
    assert sample.ending is ending


def test_snippets_count_only_if_allowed():
    db = InMemoryDatabase(shelf("abcd", "abce"), snippet=2)
    rng = np.random.default_rng(0)
    refused = query_based_sample(db, "abcde", rng)
    assert refused.ending is Ending.SNIPPETS
    assert not refused.documents
    assert query_based_sample(db, "abcde", rng, snippets=True).documents


def test_predictions_by_hand():
    told = predictive_likelihood({"a": 3, "b": 1}, shelf("ac"), 4)
    assert told == pytest.approx(np.mean(np.log([0.8 * 0.75 + 0.05, 0.05])))
    assert np.isnan(predictive_likelihood({"a": 1}, [], 1))


def test_sampling_stops_when_documents_tell_nothing_new():
    same = shelf(*["ab"] * 500)
    rule = StopRule(window=10, patience=2)
    rng = np.random.default_rng(0)
    sample = query_based_sample(
        InMemoryDatabase(same), "ab", rng, per_query=20, documents=500, steady=rule
    )
    assert sample.ending is Ending.STEADY
    assert len(sample.documents) <= 40
    assert max(rule.gains) == pytest.approx(0.0, abs=1e-12)


def test_varied_databases_are_sampled_longer_than_plain_ones():
    read = []
    for common in (200, 20_000):
        language = Language(TOPICS, common=common, special=common // 10)
        documents = list(language.documents("Sports", 900, np.random.default_rng(3)))
        rng = np.random.default_rng(4)
        rule = StopRule()
        sample = query_based_sample(
            InMemoryDatabase(documents), "0123456789", rng, documents=900, steady=rule
        )
        read.append(len(sample.documents))
    assert read[0] < read[1] < 900


@given(st.lists(st.floats(1, 1e6), min_size=1, max_size=30))
def test_ranks_are_those_of_scipy(held):
    values = np.array(held)
    assert ranks(values).tolist() == rankdata(-values).tolist()


def test_the_law_of_frequencies_is_found_again():
    rank = np.arange(1.0, 400.0)
    law = fit_mandelbrot(rank, 5000.0 * (rank + 10.0) ** -1.2)
    assert law.at(rank) == pytest.approx(5000.0 * (rank + 10.0) ** -1.2, rel=0.02)
    with pytest.raises(UsageError, match="two ranks"):
        fit_mandelbrot(np.ones(3), np.ones(3))


def test_words_with_totals_keep_them_and_others_follow_their_rank():
    documents = list(
        Language(TOPICS).documents("Sports", 800, np.random.default_rng(5))
    )
    db = InMemoryDatabase(documents)
    sample = query_based_sample(db, "0123456789", np.random.default_rng(6))
    summary = frequency_summary(sample, 800.0)
    count = dict(zip(summary.words, summary.count, strict=True))
    true = frequency(documents)
    held = sample.frequency
    assert all(count[a.query] == a.total for a in sample.queries if a.query in held)
    assert all(held[w] <= count[w] <= 800.0 for w in held)
    common = [w for w in held if true[w] > 50]
    error = np.log([count[w] / true[w] for w in common])
    assert np.abs(np.median(error)) < 0.25


def test_a_hierarchy_reads_nested_tables_and_lists():
    assert TOPICS.names == ("Root", "Health", "Diseases", "Fitness", "Sports")
    assert TOPICS.children("Root") == ("Health", "Sports")
    assert TOPICS.path("Diseases") == ("Root", "Health", "Diseases")
    assert TOPICS.inner == ("Root", "Health")
    assert TOPICS.holds("Health", "Fitness")
    assert not TOPICS.holds("Sports", "Fitness")
    with pytest.raises(ConfigError, match="Health"):
        Hierarchy.of({"Health": ["Health"]})
    with pytest.raises(ConfigError, match="table or a list"):
        Hierarchy.of({"Health": "Fitness"})
    with pytest.raises(UsageError, match="'Cars'"):
        TOPICS.path("Cars")


PROBES = TopicProbes.of(
    TOPICS,
    {
        "Health": ["doctor", "diet"],
        "Sports": ["goal"],
        "Diseases": ["virus"],
        "Fitness": ["gym"],
    },
)


def probed(specificity=0.25, **settings):
    sick = [("doctor", "virus", f"x{i}") for i in range(20)]
    fit = [("diet", "gym")] * 5
    play = [("goal", "gym")] * 8
    db = InMemoryDatabase(shelf(*sick, *fit, *play), **settings)
    return focused_sample(db, PROBES, specificity=specificity)


def test_coverage_and_specificity_by_hand():
    found = probed()
    assert found.topics == ("Diseases", "Fitness")
    assert probed(specificity=0.4).topics == ("Diseases",)
    assert probed(specificity=0.5).topics == ("Health",)
    assert found.coverage == {
        "Health": 25.0,
        "Sports": 8.0,
        "Diseases": 20.0,
        "Fitness": 13.0,
    }
    assert found.specificity["Health"] == pytest.approx(25 / 33)
    assert found.specificity["Diseases"] == pytest.approx(25 / 33 * 20 / 33)
    assert found.specificity["Fitness"] == pytest.approx(25 / 33 * 13 / 33)
    assert found.counted
    assert found.sample.ending is Ending.DONE
    assert found.sample.requests == len(found.sample.queries) == 5
    assert all(a.new <= 4 for a in found.sample.queries)


def test_without_totals_the_documents_shown_count():
    found = probed(totals=Totals.ABSENT)
    assert not found.counted
    assert found.coverage == {"Health": 8.0, "Sports": 4.0}
    assert found.topics == ("Root",)  # 8 matches are fewer than 10


def test_probing_the_same_database_again_gives_the_same():
    assert probed() == probed()


def test_probing_stops_when_requests_are_spent():
    db = InMemoryDatabase(shelf(*[("doctor",)] * 20))
    found = focused_sample(db, PROBES, requests=2)
    assert found.sample.ending is Ending.SPENT
    assert found.sample.requests == 2


def test_probing_a_database_on_none_of_the_topics_is_silent():
    found = focused_sample(InMemoryDatabase(shelf("ab")), PROBES)
    assert found.sample.ending is Ending.SILENT
    assert found.topics == ("Root",)


def test_probes_must_be_there_for_every_topic_and_no_other():
    with pytest.raises(ConfigError, match=r"Cars.*Health"):
        TopicProbes.of(TOPICS, {"Cars": ["engine"]})


def test_made_up_documents_hang_only_on_the_seed():
    language = Language(TOPICS)
    a, b = (
        list(language.documents("Fitness", 5, np.random.default_rng(0), "d"))
        for _ in range(2)
    )
    assert a == b
    assert [d.key for d in a] == ["d0", "d1", "d2", "d3", "d4"]
    assert any(w.startswith("Fitness") for w in a[0].words + a[1].words)
    assert not any(w.startswith("Sports") for d in a for w in d.words)
    assert all(list(d.words) == sorted(set(d.words)) for d in a)
