import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.optimize import approx_fprime

from halflife.core.errors import NotFitted, UsageError
from halflife.probing.classifier import (
    LinearClassifier,
    _scaled,
    incidence,
    softmax_loss,
)
from halflife.probing.focused_probe import focused_sample
from halflife.probing.hierarchy import Hierarchy
from halflife.probing.memory import InMemoryDatabase, Totals
from halflife.probing.rules import covering_rules, learn_probes
from lab.synthetic_text import Language

TOPICS = Hierarchy.of({"Health": ["Diseases", "Fitness"], "Sports": ["Soccer", "Golf"]})


@pytest.fixture(scope="module")
def taught():
    language = Language(TOPICS, common=2000, special=300)
    rng = np.random.default_rng(0)
    each = [(d.words, t) for t in TOPICS.leaves for d in language.documents(t, 30, rng)]
    return [w for w, _ in each], [t for _, t in each]


@pytest.fixture(scope="module")
def probes(taught):
    return learn_probes(TOPICS, *taught, np.random.default_rng(1))


def test_the_slope_is_that_of_finite_differences():
    rng = np.random.default_rng(0)
    rows = incidence([["a", "b"], ["b", "c"], ["c"], ["a"]], ["a", "b", "c", "1"])
    label = np.array([0, 1, 2, 0])
    weight = rng.normal(size=(4, 3))

    def loss(flat):
        return softmax_loss(flat.reshape(4, 3), rows, label, 0.3)[0]

    slope = softmax_loss(weight, rows, label, 0.3)[1].ravel()
    assert slope == pytest.approx(approx_fprime(weight.ravel(), loss), abs=1e-5)


def test_the_fit_is_where_the_slope_vanishes():
    texts = [["a", "x"], ["a"], ["b", "x"], ["b"], ["a", "b"], ["a", "b"]]
    labels = ["p", "p", "q", "q", "p", "q"]
    model = LinearClassifier(ridge=0.5, rounds=500).fit(texts, labels)
    by_word = dict(zip(model.words_, model.weight_, strict=True))
    assert by_word["a"][0] == pytest.approx(-by_word["a"][1], abs=1e-4)
    assert by_word["a"][0] == pytest.approx(by_word["b"][1], abs=1e-3)
    assert by_word["x"] == pytest.approx([0.0, 0.0], abs=1e-3)


def test_separate_topics_are_told_apart(taught):
    texts, labels = taught
    model = LinearClassifier().fit(texts[::2], labels[::2])
    right = np.mean(np.array(model.predict(texts[1::2])) == labels[1::2])
    assert right > 0.95


def test_what_cannot_be_learned_is_said():
    with pytest.raises(NotFitted):
        LinearClassifier().predict([["a"]])
    with pytest.raises(UsageError, match="two classes"):
        LinearClassifier().fit([["a"], ["a"]], ["p", "p"])
    with pytest.raises(UsageError, match="0 words"):
        LinearClassifier().fit([["a"], ["b"]], ["p", "q"])


@given(st.integers(0, 999), st.integers(1, 6), st.floats(0.1, 1.0))
def test_rules_are_as_right_as_asked(seed, most, precision):
    rng = np.random.default_rng(seed)
    finds, right = rng.random((8, 15)) < 0.3, rng.random(15) < 0.5
    chosen = covering_rules(finds, right, most, precision)
    assert len(chosen) == len(set(chosen)) <= most
    for rule in chosen:
        assert (finds[rule] & right).sum() >= precision * finds[rule].sum() > 0


def test_the_first_rules_together_find_the_most():
    finds = np.array([[1, 1, 0, 0], [1, 1, 1, 0], [0, 0, 0, 1], [1, 0, 0, 0]], bool)
    assert covering_rules(finds, np.ones(4, bool), 2, 1.0) == [1, 2]
    assert covering_rules(finds, np.ones(4, bool), 4, 1.0) == [1, 2, 0, 3]
    assert covering_rules(finds, np.zeros(4, bool), 4, 0.5) == []


def test_probes_are_words_of_their_topic(probes):
    assert set(probes.queries) == set(TOPICS.names[1:])
    for topic, queries in probes.queries.items():
        below = [t for t in TOPICS.names[1:] if TOPICS.holds(topic, t)]
        own = [any(w.startswith(t) for t in below for w in q.split()) for q in queries]
        assert np.mean(own) > 0.8


@pytest.mark.parametrize("totals", Totals)
def test_databases_on_one_topic_are_found_to_be_on_it(probes, totals):
    language = Language(TOPICS, common=2000, special=300)
    rng = np.random.default_rng(7)
    for topic in TOPICS.leaves:
        db = InMemoryDatabase(language.documents(topic, 200, rng, topic), totals=totals)
        assert focused_sample(db, probes).topics == (topic,)


def test_a_database_on_two_topics_is_found_to_be_on_both(probes):
    language = Language(TOPICS, common=2000, special=300)
    rng = np.random.default_rng(8)
    both = [d for t in ("Golf", "Diseases") for d in language.documents(t, 200, rng, t)]
    assert set(focused_sample(InMemoryDatabase(both), probes).topics) == {
        "Golf",
        "Diseases",
    }


def test_a_topic_without_documents_is_named(taught):
    texts, labels = taught
    some = [i for i, t in enumerate(labels) if t != "Golf"]
    with pytest.raises(UsageError, match="'Golf'"):
        learn_probes(
            TOPICS,
            [texts[i] for i in some],
            [labels[i] for i in some],
            np.random.default_rng(0),
        )


def test_a_topic_without_siblings_is_probed_by_its_common_words():
    only = Hierarchy.of(["News"])
    texts = [["a", "b"], ["a"], ["a", "c"]]
    found = learn_probes(only, texts, ["News"] * 3, np.random.default_rng(0), most=1)
    assert found.queries == {"News": ("a",)}


def test_the_loss_is_that_of_the_softmax_and_a_penalty_on_all_but_the_constant():
    rows = incidence([["a", "b"], ["b"], []], ["a", "b", "1"])
    weight = np.array([[1.0, -2.0], [0.5, 0.25], [3.0, 4.0]])
    label = np.array([0, 1, 1])
    score = rows.toarray() @ weight
    chance = np.exp(score) / np.exp(score).sum(axis=1, keepdims=True)
    likely = -np.log(chance[np.arange(3), label]).sum()
    penalty = 0.3 / 2 * (1.0 + 4.0 + 0.25 + 0.0625)
    found = softmax_loss(weight, rows, label, 0.3)[0]
    assert found == pytest.approx(likely + penalty)
    far = softmax_loss(1000.0 * weight, rows, label, 0.0)[0]
    assert np.isfinite(far)


def test_documents_are_rows_of_length_1_with_a_constant():
    found = _scaled([frozenset("ab"), frozenset("c"), frozenset("abcd")], list("abcd"))
    expected = [
        [0.5**0.5, 0.5**0.5, 0.0, 0.0, 1.0],
        [0.0, 0.0, 1.0, 0.0, 1.0],
        [0.5, 0.5, 0.5, 0.5, 1.0],
    ]
    assert found.toarray() == pytest.approx(np.array(expected))
    empty = _scaled([frozenset("x")], list("ab"))
    assert empty.toarray().tolist() == [[0.0, 0.0, 1.0]]


def test_words_of_two_documents_count_and_those_of_one_do_not():
    model = LinearClassifier().fit([["a", "b"], ["a", "c"], ["c"]], ["p", "q", "q"])
    assert model.words_ == ("a", "c")
    every = LinearClassifier(fewest=1)
    every.fit([["a", "b"], ["a", "c"], ["c"]], ["p", "q", "q"])
    assert every.words_ == ("a", "b", "c")
