"""Selection of databases: worked numbers, statuses and reasons."""

import doctest
from math import exp, log
from pathlib import Path

import numpy as np
import pytest

from halflife.core.errors import UsageError
from halflife.core.search import Document
from halflife.selection.choice import RankingStatus, SummaryFreshness, parse, select
from halflife.selection.lexicon import CoriScorer, LanguageModel, bgloss
from halflife.selection.sample_scores import CrcsScorer, ReddeScorer
from halflife.selection.samples import SampleIndex
from halflife.selection.table import FrequencyTable
from halflife.summary import Summary

# Table I of Ipeirotis, Ntoulas, Cho and Gravano, TODS 2007; "goal" is ours, a word
# that only one has.
SPACE = FrequencyTable.of(
    ["D1", "D2"],
    [
        Summary.of(
            {"algorithm": 7210, "cassini": 5, "saturn": 2, "goal": 5000}, 51500, 51500
        ),
        Summary.of({"algorithm": 2, "cassini": 3260, "saturn": 3730}, 5730, 5730),
    ],
)


def documents(**words):
    return [Document(key, tuple(text.split())) for key, text in words.items()]


@pytest.fixture
def index():
    return SampleIndex.of(
        {"big": 900.0, "small": 20.0, "empty": 0.0},
        {
            "big": documents(a="tea cup", b="tea", c="milk jug spoon"),
            "small": documents(d="tea cup", e="cup saucer"),
        },
    )


def table_of(index, **counts):
    each = [Summary.of(counts.get(n, {"tea": 1}), 1.0, 1) for n in index.names]
    return FrequencyTable.of(index.names, each)


def test_bgloss_expects_as_many_documents_as_independent_words_give():
    score, backed = bgloss(SPACE, ["cassini", "saturn"])
    assert score == pytest.approx([5 * 2 / 51500, 3260 * 3730 / 5730])
    assert backed.all()


def test_bgloss_has_nothing_for_a_database_that_lacks_a_word():
    score, backed = bgloss(SPACE, ["cassini", "goal"])
    assert score == pytest.approx([5 * 5000 / 51500, 0.0])
    assert backed.tolist() == [True, False]


def test_cori_is_the_mean_belief_of_the_words():
    # cw is 12217 and 6992, their mean 9604.5; of two databases, two have cassini
    # and one has goal.
    def belief(f, cw, cf):
        t = f / (f + 50 + 150 * cw / 9604.5)
        return 0.4 + 0.6 * t * log(2.5 / cf) / log(3)

    score, backed = CoriScorer()(SPACE, ["cassini", "goal"])
    first = (belief(5, 12217, 2) + belief(5000, 12217, 1)) / 2
    second = (belief(3260, 6992, 2) + belief(0, 6992, 1)) / 2
    assert score == pytest.approx([first, second])
    assert first == pytest.approx(0.63996, abs=1e-5)
    assert backed.all()


def test_jelinek_mercer_mixes_a_database_with_all_of_them():
    score, _ = LanguageModel(share=0.7)(SPACE, ["saturn"])
    whole = 3732 / 19209
    expected = [
        log(0.7 * 2 / 12217 + 0.3 * whole),
        log(0.7 * 3730 / 6992 + 0.3 * whole),
    ]
    assert score == pytest.approx(expected)


def test_dirichlet_adds_mu_words_of_all_databases():
    score, backed = LanguageModel(mu=1000.0)(SPACE, ["saturn", "goal"])
    saturn, goal = 3732 / 19209, 5000 / 19209
    first = log((2 + 1000 * saturn) / 13217) + log((5000 + 1000 * goal) / 13217)
    second = log((3730 + 1000 * saturn) / 7992) + log(1000 * goal / 7992)
    assert score == pytest.approx([first / 2, second / 2])
    assert backed.all()


def test_likelihood_ranks_as_divergence_from_the_query_does():
    words = ["cassini", "saturn", "goal"]
    score, _ = LanguageModel()(SPACE, words)
    frequency = SPACE.frequency(words)
    whole = frequency.sum(axis=1) / SPACE.words.sum()
    smooth = 0.5 * frequency / SPACE.words + 0.5 * whole[:, None]
    kl = (np.log(1 / 3 / smooth) / 3).sum(axis=0)
    assert score == pytest.approx(-kl - log(3))


def test_smoothing_that_leaves_a_word_without_a_chance_is_refused():
    with pytest.raises(UsageError, match="share"):
        LanguageModel(share=1.0)
    with pytest.raises(UsageError, match="mu"):
        LanguageModel(mu=0.0)


def test_samples_are_ranked_by_bm25(index):
    # Five samples of 2, 1, 3, 2 and 2 words; tea and cup are in three of them each.
    idf = log(1 + 2.5 / 3.5)

    def score(held, length):
        return held * idf * 2.2 / (1 + 1.2 * (0.25 + 0.75 * length / 2))

    ranked, scores = index.ranked(["tea", "cup", "unheard"])
    homes = [index.names[i] for i in index.home[ranked].tolist()]
    assert homes == ["big", "small", "big", "small"]
    assert scores == pytest.approx([score(2, 2), score(2, 2), score(1, 1), score(1, 2)])


def test_redde_counts_the_documents_that_relevant_samples_stand_for(index):
    # A sample of big stands for 300 documents, one of small for 10. Above the
    # four ranked stand 0, 300, 310 and 610 documents.
    table = table_of(index)
    words = ["tea", "cup"]
    assert index.names == ("big", "empty", "small")
    all_score = ReddeScorer(index, ratio=611 / 920)(table, words).score
    assert all_score == pytest.approx([600, 0, 20])
    some = ReddeScorer(index, ratio=305 / 920)(table, words)
    assert some.score == pytest.approx([300, 0, 10])
    assert some.backed.tolist() == [True, False, True]
    assert ReddeScorer(index)(table, words).score == pytest.approx([300, 0, 0])


def test_crcs_weighs_samples_by_their_rank(index):
    table, words = table_of(index), ["tea", "cup"]
    # Ranks 1 and 3 are of big (900 / 900 / 3), 2 and 4 of small (20 / 900 / 2).
    linear = CrcsScorer(index)(table, words).score
    assert linear == pytest.approx([(49 + 47) / 3, 0, (48 + 46) * 20 / 900 / 2])
    r = [1.2 * exp(-0.28 * j) for j in range(5)]
    exponential = CrcsScorer(index, exponential=True)(table, words).score
    assert exponential == pytest.approx([(r[1] + r[3]) / 3, 0, (r[2] + r[4]) / 90])
    short = CrcsScorer(index, top=3)(table, words).score
    assert short == pytest.approx([2 / 3, 0, 1 / 90])


def test_samples_score_databases_in_the_order_of_the_table(index):
    table = FrequencyTable.of(["small", "big"], [Summary.of({"tea": 1}, 20, 2)] * 2)
    assert ReddeScorer(index)(table, ["tea", "cup"]).score == pytest.approx([0, 300])
    stranger = FrequencyTable.of(["other"], [Summary.of({"tea": 1}, 20, 2)])
    with pytest.raises(UsageError, match="'other'"):
        ReddeScorer(index)(stranger, ["tea"])


def test_samples_of_a_database_without_a_size_are_refused():
    with pytest.raises(UsageError, match="'x'"):
        SampleIndex.of({}, {"x": documents(a="tea")})


def test_an_index_without_samples_backs_nobody():
    index = SampleIndex.of({"a": 5.0}, {})
    scores = CrcsScorer(index)(table_of(index), ["tea"])
    assert (scores.score.tolist(), scores.backed.tolist()) == ([0.0], [False])


def test_a_query_is_its_distinct_words_in_small_letters():
    assert parse("Saturn's rings; SATURN") == ("saturn", "s", "rings")
    assert parse("Ünïcode 土星") == ("ünïcode", "土星")
    assert parse(" ?! ") == ()


def test_the_best_database_comes_first_with_its_reason():
    belief = SummaryFreshness(np.array([3.0, 40.0]), np.array([0.9, 0.25]))
    found = select(SPACE, "Cassini Saturn", bgloss, belief=belief)
    assert found.names == ("D2", "D1")
    assert found.score[0] == pytest.approx(2122.13, abs=0.01)
    assert found.reasons[0] == (
        "cassini in 3260, saturn in 3730 of 5730 documents; "
        "summary 40 d old, 25% likely still true"
    )
    assert found.fresh.tolist() == [0.25, 0.9]
    assert found.status is RankingStatus.RANKED
    assert select(SPACE, "saturn", bgloss, most=1).names == ("D2",)


def test_what_is_unknown_of_a_summary_is_said_or_left_out():
    belief = SummaryFreshness(np.array([3.0, np.nan]), np.full(2, np.nan))
    found = select(SPACE, "goal", bgloss, belief=belief)
    assert found.reasons == (
        "goal in 5000 of 51500 documents; summary 3 d old",
        "none of the words of 5730 documents; summary of unknown age",
    )
    assert np.isnan(found.fresh).all()
    assert np.isnan(select(SPACE, "goal", bgloss).fresh).all()


def test_survivals_must_be_one_a_database():
    belief = SummaryFreshness(np.ones(3), np.ones(3))
    with pytest.raises(UsageError, match="3 survivals for 2 databases"):
        select(SPACE, "goal", bgloss, belief=belief)


@pytest.mark.parametrize("method", [bgloss, CoriScorer(), LanguageModel()])
def test_a_query_that_nobody_knows_has_a_status_and_no_order(method):
    found = select(SPACE, "zeppelin", method)
    assert found.status is RankingStatus.UNKNOWN
    assert found.unknown == ("zeppelin",)
    assert not found.backed.any()
    assert found.score.tolist() == [0.0, 0.0]
    assert select(SPACE, "...", method).status is RankingStatus.EMPTY


def test_no_database_with_all_the_words_leaves_bgloss_without_a_choice():
    table = FrequencyTable.of(
        ["a", "b"], [Summary.of({"x": 1}, 5, 5), Summary.of({"y": 1}, 5, 5)]
    )
    assert select(table, "x y", bgloss).status is RankingStatus.UNBACKED
    assert select(table, "x y", CoriScorer()).status is RankingStatus.RANKED


def test_equal_scores_stand_in_the_order_of_names():
    same = Summary.of({"x": 1}, 5, 5)
    table = FrequencyTable.of(["c", "a", "b"], [same] * 3)
    assert select(table, "x", CoriScorer()).names == ("a", "b", "c")


def test_what_lacks_every_word_comes_after_what_has_one():
    # Smoothing gives an empty database the mean of all, more than a large one
    # with one of the words gets.
    table = FrequencyTable.of(
        ["empty", "large", "rich"],
        [
            Summary.of({}, 0, 0),
            Summary.of({"x": 1, "z": 10000}, 10000, 10000),
            Summary.of({"x": 50, "y": 50}, 100, 100),
        ],
    )
    found = select(table, "x y", LanguageModel(mu=100.0))
    assert found.names == ("rich", "large", "empty")
    assert found.score[1] < found.score[2]


def test_no_databases_give_an_empty_ranking():
    found = select(FrequencyTable.of([], []), "tea", CoriScorer())
    assert (found.names, found.status) == ((), RankingStatus.UNKNOWN)


def test_the_example_in_the_book_is_true():
    page = Path(__file__).parents[1] / "docs" / "selection.md"
    assert doctest.testfile(str(page), module_relative=False) == (0, 10)


def test_a_table_names_what_is_wrong_with_it():
    one = Summary.of({"x": 1}, 5, 5)
    with pytest.raises(UsageError, match="'a'"):
        FrequencyTable.of(["a", "a"], [one, one])
    with pytest.raises(UsageError, match="1 names for 2"):
        FrequencyTable.of(["a"], [one, one])
    with pytest.raises(UsageError, match="'b' has nan documents"):
        FrequencyTable.of(["a", "b"], [one, Summary.of({}, np.nan, 0)])
    with pytest.raises(UsageError, match="'b' has a document frequency"):
        FrequencyTable.of(["a", "b"], [one, Summary.of({"x": -1.0}, 5, 5)])
