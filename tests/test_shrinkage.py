import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.optimize import minimize

from halflife.core.errors import UsageError
from halflife.probing.hierarchy import Hierarchy
from halflife.probing.sample import frequency
from halflife.summary import Summary
from lab.shrinkage import OWN, UNIFORM, mixture_weights, shrink
from lab.synthetic_text import Language

TOPICS = Hierarchy.of({"Health": ["Diseases", "Fitness"], "Sports": ["Soccer"]})


@st.composite
def mixtures(draw):
    shape = draw(st.integers(1, 4)), draw(st.integers(1, 6))
    rng = np.random.default_rng(draw(st.integers(0, 999)))
    parts = rng.dirichlet(np.full(shape[1], 0.5), shape[0]) + 1e-6
    return parts, rng.integers(1, 20, shape[1]).astype(float)


@given(mixtures())
def test_weights_sum_to_one_and_the_likelihood_never_falls(case):
    parts, count = case
    weight, told = mixture_weights(parts, count)
    assert weight.sum() == pytest.approx(1.0)
    assert (weight >= 0).all()
    assert (np.diff(told) >= -1e-9 * np.abs(told[:-1])).all()


def test_weights_are_those_of_a_general_optimiser():
    rng = np.random.default_rng(0)
    parts = rng.dirichlet(np.ones(30), 3)
    count = rng.multinomial(500, [0.2, 0.5, 0.3] @ parts).astype(float)
    weight, _ = mixture_weights(parts, count, rounds=20_000, tolerance=1e-14)

    def loss(free):
        soft = np.exp(free) / np.exp(free).sum()
        return -count @ np.log(soft @ parts)

    best = minimize(loss, np.zeros(3), method="BFGS").x
    assert weight == pytest.approx(np.exp(best) / np.exp(best).sum(), abs=1e-3)


def summaries():
    return {
        "a": Summary.of({"flu": 6.0, "pill": 3.0, "the": 9.0}, 10.0, 10),
        "b": Summary.of({"flu": 20.0, "virus": 10.0, "the": 40.0}, 40.0, 20),
        "c": Summary.of({"gym": 30.0, "the": 60.0}, 60.0, 30),
        "d": Summary.of({"goal": 5.0, "the": 10.0}, 10.0, 10),
    }


WHERE = {"a": "Diseases", "b": "Diseases", "c": "Fitness", "d": "Soccer"}


@pytest.mark.parametrize("published", [False, True])
def test_a_shrunk_summary_mixes_the_topics_on_its_path(published):
    found = shrink(summaries(), WHERE, TOPICS, least=0.0, published=published)["a"]
    weights = found.weights
    assert list(weights) == [UNIFORM, "Root", "Health", "Diseases", OWN]
    assert sum(weights.values()) == pytest.approx(1.0)
    count = dict(zip(found.summary.words, found.summary.count, strict=True))
    uniform = weights[UNIFORM] / 6  # words in all
    # Diseases is b alone, Health without it c, and Root without these d.
    virus = 10.0 * (uniform + weights["Diseases"] * 10 / 40)
    gym = 10.0 * (uniform + weights["Health"] * 30 / 60)
    goal = 10.0 * (uniform + weights["Root"] * 5 / 10)
    flu = 10.0 * (uniform + weights["Diseases"] * 20 / 40 + weights[OWN] * 6 / 10)
    assert count["virus"] == pytest.approx(virus)
    assert count["gym"] == pytest.approx(gym)
    assert count["goal"] == pytest.approx(goal)
    assert count["flu"] == pytest.approx(flu)
    assert (np.diff(found.likelihood) >= -1e-9).all()


def test_an_only_database_borrows_from_nobody():
    found = shrink({"d": summaries()["d"]}, WHERE, TOPICS)["d"]
    assert found.weights["Root"] == found.weights["Soccer"] == 0.0
    assert found.summary.words == ("goal", "the")


def test_words_of_fewer_documents_than_half_a_one_stay_away_unless_read():
    found = shrink(summaries(), WHERE, TOPICS)["a"].summary
    count = dict(zip(found.words, found.count, strict=True))
    assert {"flu", "pill", "the"} <= count.keys()
    assert all(c >= 0.5 for w, c in count.items() if w not in {"flu", "pill", "the"})


def test_what_cannot_be_shrunk_is_named():
    with pytest.raises(UsageError, match="'b'"):
        shrink(summaries(), {"a": "Diseases", "c": "Fitness", "d": "Soccer"}, TOPICS)
    empty = {"e": Summary.of({}, 0.0, 0)}
    with pytest.raises(UsageError, match="'e' is empty"):
        shrink(empty, {"e": "Soccer"}, TOPICS)


def test_shrinkage_finds_words_that_small_samples_miss():
    language = Language(TOPICS)
    rng = np.random.default_rng(0)
    small, true, where = {}, {}, {}
    for leaf in ("Diseases", "Fitness"):
        for k in range(3):
            documents = list(language.documents(leaf, 300, rng))
            name = f"{leaf} {k}"
            counts = {w: 10.0 * n for w, n in frequency(documents[:30]).items()}
            small[name] = Summary.of(counts, 300.0, 30)
            true[name], where[name] = frequency(documents), leaf
    published = shrink(small, where, TOPICS, published=True)
    assert all(s.weights[OWN] > 0.99 for s in published.values())
    shrunk = shrink(small, where, TOPICS)
    for name, found in shrunk.items():
        before, after = set(small[name].words), set(found.summary.words)
        assert before <= after
        gained = after - before
        right = gained & true[name].keys()
        assert len(right) > 0.1 * len(before)
        assert len(right) > 0.5 * len(gained)
        assert found.weights[where[name]] > found.weights["Root"]
