"""Laws of the match counts that are kept for checks, and of the checks."""

from math import isnan, log

import numpy as np
import pytest

from halflife.core.search import SearchAnswer
from halflife.probing.count_reference import (
    FEWEST,
    LOUDEST,
    TWICE,
    check_counts,
    reference,
)
from halflife.probing.sample import Ending, Sample, SampleQuery
from halflife.probing.sample_resample import Resample
from halflife.probing.size import DatabaseSize, SearchSizeMethod
from halflife.probing.totals import TotalsTrust
from halflife.summary.count_check import WORDS, ReferenceCounts, counted_divergence

NAMES = tuple(f"w{i}" for i in range(FEWEST))


class Counts:
    """Tells how many documents match a word, and remembers what it was asked."""

    def __init__(self, told):
        self.told, self.asked = told, []

    def search(self, query, most, skip=0):
        self.asked.append((query, most))
        return SearchAnswer(self.told(query), ())


def size_of(words, told, trust=TotalsTrust.CONSISTENT):
    n = len(words)
    drawn = Resample(words, np.ones(n), np.array(told, float), ((),) * n, {}, n)
    method = SearchSizeMethod.RESAMPLE
    return DatabaseSize(100.0, 90.0, 110.0, method, trust, n, drawn)


def sample_of(**totals):
    asked = tuple(SampleQuery(w, n, (), 0) for w, n in totals.items())
    return Sample((), asked, len(asked), Ending.DONE)


def test_counts_are_kept_word_by_word_as_often_as_they_were_drawn():
    words = (*NAMES, NAMES[3])
    told = [10.0 + i for i in range(FEWEST)] + [13.0]
    db = Counts(lambda word: 10 + int(word[1:]))
    found = reference(db, sample_of(), size_of(words, told))
    assert found == ReferenceCounts(words, tuple(told), 0.0)
    assert db.asked == [(word, 1) for word in NAMES[:TWICE]]


def test_what_a_sample_asked_before_is_not_asked_again():
    """Words told twice say how far counts are off: ln(11/10), half its square."""
    known = dict.fromkeys(NAMES[: TWICE - 2], 11)
    db = Counts(lambda _: 10)
    found = reference(db, sample_of(**known), size_of(NAMES, [10.0] * FEWEST))
    assert db.asked == [(word, 1) for word in NAMES[TWICE - 2 : TWICE]]
    off = log(1.1) ** 2 / 2.0
    assert found.noise == pytest.approx(off * (TWICE - 2) / TWICE)
    full = dict.fromkeys(NAMES[: TWICE + 1], 10)
    db = Counts(lambda _: 10)
    assert reference(db, sample_of(**full), size_of(NAMES, [10.0] * FEWEST)).noise == 0
    assert db.asked == []


def test_no_counts_are_kept_where_none_of_use_are_told():
    silent, db = Counts(lambda _: None), Counts(lambda _: 10)
    told = [10.0] * FEWEST
    usual = size_of(NAMES, told)
    assert reference(db, sample_of(), usual) is not None
    assert reference(silent, sample_of(), usual) is None  # it no longer tells
    lying = size_of(NAMES, told, TotalsTrust.INCONSISTENT)
    assert reference(db, sample_of(), lying) is None
    undrawn = DatabaseSize(*(getattr(usual, n) for n in usual.__slots__[:6]))
    assert reference(db, sample_of(), undrawn) is None
    for gone in (np.nan, 0.0):
        few = size_of(NAMES, [*told[1:], gone])
        assert reference(db, sample_of(), few) is None
    more = size_of((*NAMES, "other"), [*told, np.nan])
    assert reference(db, sample_of(), more).words == NAMES
    assert reference(db, sample_of(), size_of(NAMES[1:], told[1:])) is None


def test_counts_that_are_off_by_too_much_are_of_no_use():
    just = np.exp(np.sqrt(2.0 * LOUDEST))
    usual = size_of(NAMES, [1000.0] * FEWEST)
    for factor, kept in ((0.99, True), (1.01, False)):
        off = round(1000.0 * just * factor)
        assert (
            reference(Counts(lambda _, n=off: n), sample_of(), usual) is None
        ) != kept


def test_a_check_asks_for_a_few_words_and_compares_their_counts():
    counts = tuple(100.0 + 10 * i for i in range(FEWEST))
    known = ReferenceCounts((*NAMES, NAMES[0]), (*counts, counts[0]), 0.001)
    db = Counts(lambda word: 50 * (int(word[1:]) + 1))
    found = check_counts(db, known, np.random.default_rng(4))
    words = [word for word, most in db.asked if most == 1]
    assert len(set(words)) == len(words) == WORDS
    place = [int(word[1:]) for word in words]
    old, new = np.array(counts)[place], 50.0 * (np.array(place) + 1)
    assert found == pytest.approx(counted_divergence(old, new, noise=0.001))
    few = ReferenceCounts(("a", "b", "a"), (10.0, 20.0, 10.0))
    assert check_counts(Counts(lambda _: 5), few, np.random.default_rng(0)) > 0
    silent = Counts(lambda _: None)
    assert isnan(check_counts(silent, known, np.random.default_rng(0)))
    assert len(silent.asked) == WORDS


def test_words_are_drawn_as_often_as_they_stand_among_those_kept():
    known = ReferenceCounts(("a",) * 30 + NAMES, (10.0,) * (30 + FEWEST))
    db = Counts(lambda _: 10)
    rng, seen = np.random.default_rng(0), 0
    for _ in range(200):
        db.asked.clear()
        check_counts(db, known, rng)
        seen += db.asked[0][0] == "a"
    assert seen == pytest.approx(200 * 30 / 40, abs=25)
