"""What two samples of documents differ by, beyond chance."""

from itertools import combinations
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from halflife.core.search import Document
from halflife.summary.metrics import kl
from halflife.summary.split_test import DEALS, excess

WORDS = [f"w{i}" for i in range(60)]


def documents(rng, n, odds):
    """Documents that contain each word with its own chance."""
    has = rng.random((n, len(WORDS))) < odds
    return [
        Document(str(i), tuple(np.array(WORDS)[row].tolist()))
        for i, row in enumerate(has)
    ]


def counts(some):
    found = {}
    for one in some:
        for word in one.words:
            found[word] = found.get(word, 0) + 1
    return found


@pytest.fixture
def odds():
    return np.random.default_rng(0).beta(0.5, 3.0, len(WORDS))


def test_the_divergence_found_is_that_of_the_samples(odds):
    rng = np.random.default_rng(1)
    old, new = documents(rng, 40, odds), documents(rng, 30, odds)
    found = excess(old, new, rng)
    assert found.found == pytest.approx(kl(counts(old), counts(new)))


def test_samples_of_one_database_differ_by_chance_alone(odds):
    rng = np.random.default_rng(2)
    beyond, left = [], []
    for _ in range(60):
        told = excess(documents(rng, 50, odds), documents(rng, 50, odds), rng)
        beyond.append(told.beyond)
        left.append(told.found - told.chance)
    # The found one is as likely to be anywhere among the deals.
    assert np.mean(np.array(beyond) <= 0.1) < 0.25
    assert np.mean(beyond) == pytest.approx(0.5, abs=0.13)
    assert np.mean(left) == pytest.approx(0.0, abs=3 * np.std(left) / 60**0.5)


def test_what_truly_changed_is_what_is_left(odds):
    rng = np.random.default_rng(3)
    odds = np.maximum(odds, 0.05)  # a word that a sample does not have tells nothing
    later = np.random.default_rng(9).permutation(odds)
    truth = kl(
        dict(zip(WORDS, odds, strict=True)), dict(zip(WORDS, later, strict=True))
    )
    told = [
        excess(documents(rng, 300, odds), documents(rng, 300, later), rng)
        for _ in range(5)
    ]
    assert all(one.beyond == pytest.approx(1 / (1 + DEALS)) for one in told)
    assert np.mean([one.excess for one in told]) == pytest.approx(truth, rel=0.2)


def test_chance_is_the_mean_over_all_deals_of_a_few_documents():
    words = (("a", "b"), ("a",), ("b",), ("a", "b"), ("b", "a"))
    some = [Document(str(i), row) for i, row in enumerate(words)]
    every = []
    for first in combinations(range(5), 3):
        old = counts([some[i] for i in first])
        new = counts([some[i] for i in range(5) if i not in first])
        every.append(kl(old, new))
    finite = [value for value in every if np.isfinite(value)]
    assert len(every) == comb(5, 3)
    rng = np.random.default_rng(0)
    told = [excess(some[:3], some[3:], rng).chance for _ in range(80)]
    assert np.mean(told) == pytest.approx(np.mean(finite), abs=0.01)


@settings(max_examples=40)
@given(
    old=st.lists(st.lists(st.sampled_from("abc"), max_size=3), max_size=4),
    new=st.lists(st.lists(st.sampled_from("abc"), max_size=3), max_size=4),
)
def test_whatever_the_documents_are_there_is_an_answer_or_none(old, new):
    sides = [
        [Document(str(i), tuple(row)) for i, row in enumerate(s)] for s in (old, new)
    ]
    told = excess(*sides, np.random.default_rng(0))
    if told is not None:
        assert told.excess >= 0.0
        assert 0.0 < told.beyond <= 1.0
