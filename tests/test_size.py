from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, strategies as st

from halflife.core.errors import UsageError
from halflife.core.search import Document, SearchAnswer
from halflife.probing.hierarchy import Hierarchy
from halflife.probing.memory import InMemoryDatabase, MatchRanking, Totals
from halflife.probing.query_sampling import query_based_sample
from halflife.probing.sample_resample import (
    _any_page,
    below_limit,
    resample,
    sample_resample,
    unbiased_sizes,
)
from halflife.probing.size import (
    ROUNDS,
    SearchSizeMethod,
    _capped,
    _logged,
    _ShownDocument,
    estimate_size,
    ratio,
)
from halflife.probing.totals import TotalsTrust, judge_totals
from lab.capture import chao, chapman
from lab.synthetic_text import Language

DICTIONARY = [str(i) for i in range(100)]


@pytest.fixture(scope="module")
def documents():
    language = Language(Hierarchy.of(["News", "Sports"]), share=(0.2,))
    return tuple(language.documents("News", 1200, np.random.default_rng(0)))


@pytest.fixture(scope="module")
def database(documents):
    return InMemoryDatabase(documents)


def test_two_samples_by_hand():
    found = chapman(200, 150, 30)
    assert found.size == pytest.approx(201 * 151 / 31 - 1)
    variance = 201 * 151 * 170 * 120 / (31**2 * 32)
    unseen = found.size - 320
    factor = np.exp(1.959964 * np.sqrt(np.log(1 + variance / unseen**2)))
    assert found.low == pytest.approx(320 + unseen / factor, rel=1e-5)
    assert found.high == pytest.approx(320 + unseen * factor, rel=1e-5)


def test_unequal_documents_as_in_the_paper():
    found = chao(43, 16, 76)  # cottontail rabbits; 135 there were
    assert found.size == pytest.approx(133.78, abs=0.01)
    assert found.low < 135 < found.high


def test_more_cannot_be_common_than_a_sample_holds():
    with pytest.raises(UsageError, match="common"):
        chapman(3, 5, 4)


@given(st.integers(0, 500), st.integers(0, 500), st.integers(0, 500))
def test_capture_is_finite_and_no_less_than_what_was_seen(first, second, both):
    both = min(first, second, both)
    found = chapman(first, second, both)
    seen = first + second - both
    assert seen <= found.low <= found.size <= found.high < np.inf
    alike = chao(first, both, first + both)
    assert first + both <= alike.low <= alike.size <= alike.high < np.inf


def test_chapman_is_unbiased_when_documents_are_alike():
    rng = np.random.default_rng(0)
    both = rng.hypergeometric(300, 700, 250, size=20_000)
    mean = np.mean([chapman(300, 250, int(m)).size for m in both])
    assert mean == pytest.approx(1000.0, rel=0.01)


def test_each_word_gives_the_size_by_its_share_of_the_sample():
    told = sample_resample(300, np.array([30.0, 3.0]), np.array([100.0, 12.0]))
    assert told.tolist() == [1000.0, 1200.0]


def test_evened_sizes_average_to_the_documents_with_a_pool_word():
    """The expectation over all draws is exact when every match is shown."""
    texts = ["abc", "ab", "a", "bcd", "d", "e", "abcde"]
    documents = [Document(f"d{i}", tuple(t)) for i, t in enumerate(texts)]
    db = InMemoryDatabase(documents)
    sample = query_based_sample(db, "abcde", np.random.default_rng(0), documents=4)
    found = resample(db, sample, np.random.default_rng(1), words=4000, most=50, least=1)
    pool = set(found.pool)
    true = sum(bool(pool & set(d.words)) for d in documents)
    each = unbiased_sizes(found, len(sample.documents))
    by_word = dict(zip(found.words, each, strict=True))
    chance = {w: n / sum(found.pool.values()) for w, n in found.pool.items()}
    assert set(by_word) == pool
    assert sum(chance[w] * by_word[w] for w in pool) == pytest.approx(true)


@pytest.mark.parametrize("ranking", MatchRanking)
def test_sizes_hold_whatever_is_ranked_first(documents, ranking):
    db = InMemoryDatabase(documents, ranking=ranking)
    errors = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        sample = query_based_sample(db, DICTIONARY, rng, documents=150)
        errors.append(estimate_size(db, sample, rng).size / 1200 - 1)
    assert abs(np.mean(errors)) < 0.15


@pytest.mark.parametrize(
    ("totals", "told", "method"),
    [
        (Totals.EXACT, TotalsTrust.CONSISTENT, SearchSizeMethod.RESAMPLE),
        (Totals.ROUNDED, TotalsTrust.ROUNDED, SearchSizeMethod.RESAMPLE),
        (Totals.CAPPED, TotalsTrust.CAPPED, SearchSizeMethod.RESAMPLE),
        (Totals.ABSENT, TotalsTrust.ABSENT, SearchSizeMethod.RECAPTURE),
        (Totals.LYING, TotalsTrust.INCONSISTENT, SearchSizeMethod.RECAPTURE),
    ],
)
def test_totals_are_judged_before_they_are_used(database, totals, told, method):
    db = database.answering(totals, MatchRanking.QUERY)
    sizes = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        sample = query_based_sample(db, DICTIONARY, rng, documents=200)
        found = estimate_size(db, sample, rng)
        assert (found.trust, found.method) == (told, method)
        assert found.low <= found.size <= found.high
        sizes.append(found.size)
    assert np.mean(sizes) == pytest.approx(1200, rel=0.3)


def test_rounds_of_the_bootstrap_in_which_nothing_is_below_are_left_out():
    above, below = np.ones(4), np.array([0.0, 0.0, 0.0, 2.0])
    found = ratio(above, below, np.random.default_rng(0))
    assert found.size == pytest.approx(2.0)
    assert 0.0 < found.low <= 2.0 <= found.high < np.inf
    other = ratio(below, above, np.random.default_rng(0))
    assert other.size == pytest.approx(0.5)
    assert 0.0 < other.low <= 0.5 <= other.high < np.inf


def test_bounds_of_a_ratio_cut_off_half_of_what_is_left_on_each_side():
    rng = np.random.default_rng(5)
    below = rng.gamma(3.0, 1.0, 30)
    above = 5.0 * below + rng.normal(0.0, 2.0, 30)
    found = ratio(above, below, np.random.default_rng(1), 0.8)

    def logged(x, y):
        error = np.sqrt(((x / x.sum() - y / y.sum()) ** 2).sum())
        return np.log(x.sum() / y.sum()), error

    log, spread = logged(above, below)
    rows = np.random.default_rng(1).integers(30, size=(ROUNDS, 30))
    rounds = [logged(above[some], below[some]) for some in rows]
    t = [(again - log) / max(error, 0.25 * spread) for again, error in rounds]
    low, high = np.quantile(t, [0.1, 0.9])
    assert found.low == pytest.approx(np.exp(log - high * spread))
    assert found.high == pytest.approx(np.exp(log - low * spread))


class CutOff:
    """Says of every answer that more match than it can show."""

    def __init__(self, db):
        self.db = db

    def search(self, query, most, skip=0):
        return replace(self.db.search(query, most, skip), cut=True)


def test_answers_that_are_cut_off_leave_no_upper_bound(database):
    silent = database.answering(Totals.ABSENT, MatchRanking.QUERY)
    for db, method in (
        (silent, SearchSizeMethod.RECAPTURE),
        (CutOff(silent), SearchSizeMethod.CUT_OFF),
    ):
        rng = np.random.default_rng(0)
        sample = query_based_sample(db, DICTIONARY, rng, documents=100)
        found = estimate_size(db, sample, rng)
        assert found.method is method
        assert np.isinf(found.high) == (method is SearchSizeMethod.CUT_OFF)


def test_totals_above_what_can_be_reached_are_out_of_reach(database):
    rng = np.random.default_rng(0)
    sample = query_based_sample(database, DICTIONARY, rng, documents=50)
    found = resample(database, sample, rng)
    most = int(np.nanmax(found.totals))
    assert _capped(found, TotalsTrust.CONSISTENT, most - 1)
    assert not _capped(found, TotalsTrust.CONSISTENT, most)
    assert not _capped(found, TotalsTrust.CONSISTENT, None)
    assert not _capped(found, TotalsTrust.INCONSISTENT, most - 1)


def test_intervals_hold_the_size_about_as_often_as_they_say(database):
    held = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        sample = query_based_sample(database, DICTIONARY, rng, documents=100)
        found = estimate_size(database, sample, rng)
        held += found.low <= 1200 <= found.high
    assert held >= 33


def test_a_total_below_what_was_read_is_a_contradiction():
    held = np.arange(10.0, 20.0)
    assert judge_totals(held, held * 3) is TotalsTrust.CONSISTENT
    told = held * 3
    told[4] = 1.0
    assert judge_totals(held, told) is TotalsTrust.INCONSISTENT
    assert judge_totals(held[:3], held[:3] * 3) is TotalsTrust.FEW
    assert judge_totals(held, np.full(10, np.nan)) is TotalsTrust.ABSENT
    assert judge_totals(held, np.array([10.0] * 10)) is TotalsTrust.FEW


def test_words_at_the_limit_leave_with_all_that_are_as_common(database):
    db = database.answering(Totals.CAPPED, MatchRanking.QUERY)
    rng = np.random.default_rng(0)
    sample = query_based_sample(db, DICTIONARY, rng, documents=200)
    found = resample(db, sample, rng)
    rare = below_limit(found)
    assert 0 < len(rare.words) < len(found.words)
    assert rare.totals.max() < 100
    assert max(rare.pool.values()) < found.held[found.totals == 100].min()


texts = st.lists(st.sets(st.sampled_from("abcdef"), min_size=1), min_size=1, max_size=9)


@given(texts, st.sampled_from(Totals), st.integers(0, 3))
def test_a_size_is_never_less_than_what_was_seen(texts, totals, seed):
    documents = [Document(f"d{i}", tuple(sorted(t))) for i, t in enumerate(texts)]
    db = InMemoryDatabase(documents, totals=totals)
    rng = np.random.default_rng(seed)
    sample = query_based_sample(db, "abcdef", rng, documents=5)
    found = estimate_size(db, sample, rng, words=10)
    assert len(sample.documents) <= found.low <= found.size <= found.high
    assert np.isfinite(found.size)
    assert found.requests > 0


def test_a_database_where_nothing_recurs_has_no_upper_bound():
    class Fickle:
        """Shows other documents each time."""

        def __init__(self):
            self.shown = 0

        def search(self, query, most, skip=0):
            self.shown += 1
            names = [f"{self.shown}-{i}" for i in range(most)]
            return SearchAnswer(None, tuple(Document(n, ("a", "b")) for n in names))

    db, rng = Fickle(), np.random.default_rng(0)
    sample = query_based_sample(db, "ab", rng, documents=8)
    found = estimate_size(db, sample, rng)
    assert found.method is SearchSizeMethod.UNKNOWN
    assert found.high == np.inf


def test_an_empty_sample_has_no_size():
    db = InMemoryDatabase([])
    sample = query_based_sample(db, "ab", np.random.default_rng(0))
    with pytest.raises(UsageError, match="no sample"):
        estimate_size(db, sample, np.random.default_rng(0))


@pytest.mark.parametrize("totals", [Totals.EXACT, Totals.ABSENT, Totals.LYING])
def test_every_match_is_as_likely_to_be_shown(totals):
    documents = [Document(f"d{i}", ("a",)) for i in range(7)]
    db = InMemoryDatabase(documents, totals=totals, ranking=MatchRanking.STATIC)
    rng = np.random.default_rng(0)
    times = dict.fromkeys((d.key for d in documents), 0)
    for _ in range(700):
        for document in _any_page(db, "a", 3, rng).documents:
            times[document.key] += 1
    assert sum(times.values()) == 2100
    if totals is not Totals.LYING:
        assert max(abs(n - 300) for n in times.values()) < 70


class Mute:
    """Tells totals; shows documents only to begin with."""

    def __init__(self, database, shown):
        self.database = database
        self.shown = shown

    def search(self, query, most, skip=0):
        answer = self.database.search(query, most, skip)
        self.shown -= 1
        return answer if self.shown >= 0 else SearchAnswer(answer.total, ())


def test_totals_alone_give_a_size_where_no_document_is_shown(database):
    rng = np.random.default_rng(0)
    sample = query_based_sample(database, DICTIONARY, rng, documents=100)
    found = estimate_size(Mute(database, 0), sample, rng)
    assert (found.trust, found.method) == (
        TotalsTrust.CONSISTENT,
        SearchSizeMethod.RESAMPLE,
    )
    assert 100 < found.size < 1500


def test_a_database_that_lost_its_documents_has_no_size(database):
    rng = np.random.default_rng(0)
    sample = query_based_sample(database, DICTIONARY, rng, documents=100)
    found = estimate_size(InMemoryDatabase([]), sample, rng)
    assert (found.trust, found.method) == (
        TotalsTrust.INCONSISTENT,
        SearchSizeMethod.UNKNOWN,
    )
    assert found.low == found.size >= 100
    assert found.high == np.inf


def test_words_that_show_all_their_matches_are_no_rarer_for_that():
    held = np.array([3.0, 40.0])  # documents of the sample with each word
    new, known = _ShownDocument(held, read=False), _ShownDocument(held, read=True)
    # Of 300 documents in 1200 were read: 100 matches are 25 of the sample's.
    assert new.ease(0.25, 100) == (pytest.approx(1 / (3 / 25 + 40 / 40)), 0.0)
    again = 1 / (3 / 25 + 40 / 39.25)
    assert known.ease(0.25, 100) == (pytest.approx(again), pytest.approx(again))
    # Four matches are one of the sample's: every word shows as many, whatever it is.
    assert new.ease(0.25, 4)[0] == pytest.approx(1 / 2)


def test_recapture_holds_where_a_query_shows_a_hundred_documents(documents):
    some = documents[:600]
    db, errors, missed = InMemoryDatabase(some, totals=Totals.ABSENT, page=100), [], 0
    for seed in range(8):
        rng = np.random.default_rng(seed)
        sample = query_based_sample(db, DICTIONARY, rng, documents=150, shown=100)
        found = estimate_size(db, sample, rng, most=100)
        assert found.method is SearchSizeMethod.RECAPTURE
        errors.append(found.size / len(some) - 1)
        missed += not found.low <= len(some) <= found.high
    assert abs(np.mean(errors)) < 0.05
    assert missed <= 2


def test_the_error_of_a_ratio_is_that_of_the_delta_method():
    # shares 1/4, 3/4 above and 1/2, 1/2 below: off by 1/4 each
    log, error = _logged(np.array([[1.0, 3.0]]), np.array([[2.0, 2.0]]))
    assert log == pytest.approx([0.0])
    assert error == pytest.approx([np.sqrt(2) / 4])
