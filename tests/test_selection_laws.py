"""Selection of databases: laws, and plain dictionaries as oracle."""

from math import exp, log, prod

import numpy as np
import pytest
from hypothesis import given, strategies as st

from halflife.core.search import Document
from halflife.selection.choice import select
from halflife.selection.lexicon import CoriScorer, LanguageModel, bgloss
from halflife.selection.sample_scores import CrcsScorer, ReddeScorer
from halflife.selection.samples import SampleIndex
from halflife.selection.table import FrequencyTable
from halflife.summary import Summary

WORDS = ("a", "b", "c", "d", "e")
LEXICON = {
    "bgloss": bgloss,
    "cori": CoriScorer(),
    "lm": LanguageModel(),
    "dirichlet": LanguageModel(mu=20.0),
}
SAMPLED = {
    "redde": lambda index: ReddeScorer(index, ratio=0.2),
    "crcs-linear": lambda index: CrcsScorer(index, top=4),
    "crcs-exponential": lambda index: CrcsScorer(index, exponential=True),
}


@st.composite
def worlds(draw):
    """Databases with their size and their sampled documents, some empty."""
    databases = {}
    for name in draw(st.permutations("pqrst"))[: draw(st.integers(1, 5))]:
        sets = st.lists(st.sets(st.sampled_from(WORDS), min_size=1), max_size=5)
        sample = draw(sets)
        size = len(sample) * draw(st.integers(1, 50))
        databases[name] = (float(size), sample)
    return databases


queries = st.sets(st.sampled_from(WORDS), min_size=1).map(sorted)


def counts(world):
    found = {}
    for name, (size, sample) in world.items():
        weight = size / max(len(sample), 1)
        found[name] = {
            w: weight * sum(w in each for each in sample)
            for w in WORDS
            if any(w in each for each in sample)
        }
    return found


def table_of(world, names=None):
    frequency = counts(world)
    names = list(world) if names is None else names
    each = [Summary.of(frequency[n], world[n][0], len(world[n][1])) for n in names]
    return FrequencyTable.of(names, each)


def index_of(world):
    samples = {
        name: [Document(f"{i}", tuple(sorted(each))) for i, each in enumerate(sample)]
        for name, (_, sample) in world.items()
    }
    return SampleIndex.of({n: size for n, (size, _) in world.items()}, samples)


def scorers(world):
    index = index_of(world)
    return LEXICON | {name: make(index) for name, make in SAMPLED.items()}


def by_dictionary(name, world, query):
    """Return each database's score by the formulas as they are written."""
    f = counts(world)
    size = {n: s for n, (s, _) in world.items()}
    cw = {n: sum(f[n].values()) for n in world}
    held = [w for w in query if any(w in f[n] for n in world)]
    mean_cw = sum(cw.values()) / len(cw)
    whole = {w: sum(f[n].get(w, 0) for n in world) / sum(cw.values()) for w in held}

    def one(n, w):
        own = f[n].get(w, 0)
        if name == "cori":
            t = own / (own + 50 + 150 * cw[n] / mean_cw)
            cf = sum(w in f[m] for m in world)
            return 0.4 + 0.6 * t * log((len(f) + 0.5) / cf) / log(len(f) + 1)
        if name == "lm":
            return log(0.5 * (own / cw[n] if cw[n] else 0) + 0.5 * whole[w])
        return log((own + 20 * whole[w]) / (cw[n] + 20))

    if name == "bgloss":
        return {
            n: size[n] * prod(f[n].get(w, 0) / size[n] for w in held) if size[n] else 0
            for n in world
        }
    return {n: sum(one(n, w) for w in held) / len(held) for n in world}


def by_loop(name, world, query):
    """Return each database's score by its samples, document by document."""
    every = [(n, d) for n in sorted(world) for d in world[n][1]]
    mean = sum(len(d) for _, d in every) / len(every)

    def bm25(document):
        total = 0.0
        for w in query:
            n = sum(w in d for _, d in every)
            if w in document:
                length = 0.25 + 0.75 * len(document) / mean
                idf = log(1 + (len(every) - n + 0.5) / (n + 0.5))
                total += idf * 2.2 / (1 + 1.2 * length)
        return total

    hits = [(n, round(bm25(d), 12)) for n, d in every if bm25(d) > 0]
    hits.sort(key=lambda hit: -hit[1])
    found = dict.fromkeys(world, 0.0)
    above = 0.0
    for j, (n, _) in enumerate(hits, start=1):
        weight = world[n][0] / len(world[n][1])
        if name == "redde":
            found[n] += weight * (above < 0.2 * sum(s for s, _ in world.values()))
        else:
            linear = (4 - j) * (j < 4)
            worth = linear if name == "crcs-linear" else 1.2 * exp(-0.28 * j) * (j < 50)
            found[n] += worth * weight / max(s for s, _ in world.values())
        above += weight
    return found


@pytest.mark.parametrize("name", LEXICON)
@given(world=worlds(), query=queries)
def test_counts_score_as_the_formulas_read(name, world, query):
    table = table_of(world)
    held = table.known(query)
    if held:
        expected = by_dictionary(name, world, query)
        score = LEXICON[name](table, held).score
        assert score == pytest.approx([expected[n] for n in world])


@pytest.mark.parametrize("name", SAMPLED)
@given(world=worlds(), query=queries)
def test_samples_score_as_the_formulas_read(name, world, query):
    if any(sample for _, sample in world.values()):
        expected = by_loop(name, world, query)
        score = SAMPLED[name](index_of(world))(table_of(world), query).score
        assert score == pytest.approx([expected[n] for n in world])


@given(world=worlds(), query=queries, data=st.data())
def test_the_order_of_databases_does_not_matter(world, query, data):
    names = data.draw(st.permutations(list(world)))
    shuffled = {n: world[n] for n in names}
    text = " ".join(query)
    other = scorers(shuffled)
    for name, method in scorers(world).items():
        one = select(table_of(world), text, method)
        two = select(table_of(world, names), text, other[name])
        assert one.score == pytest.approx(two.score)
        assert sorted(one.names) == sorted(two.names)
        assert (one.status, one.unknown) == (two.status, two.unknown)
        if np.unique(one.score.round(9)).size == len(world):
            assert one.names == two.names


@given(world=worlds(), query=queries)
def test_words_that_nobody_has_change_nothing_but_are_named(world, query):
    table, text = table_of(world), " ".join(query)
    for method in scorers(world).values():
        plain = select(table, text, method)
        more = select(table, f"unheard {text} of", method)
        assert plain.names == more.names
        assert plain.score.tolist() == more.score.tolist()
        assert plain.status == more.status
        assert set(more.unknown) == {"unheard", "of", *plain.unknown}


@given(world=worlds(), query=queries)
def test_scores_are_finite_and_only_the_backed_come_first(world, query):
    table = table_of(world)
    for method in scorers(world).values():
        found = select(table, " ".join(query), method)
        assert np.isfinite(found.score).all()
        assert sorted(found.names) == sorted(world)
        backed = found.backed.tolist()
        assert backed == sorted(backed, reverse=True)
        assert (np.diff(found.score[found.backed]) <= 1e-12).all()
        empty = [n for n, (size, _) in world.items() if size == 0]
        for name, is_backed in zip(found.names, backed, strict=True):
            assert not (is_backed and name in empty)


@given(
    count=st.lists(st.integers(0, 100), min_size=2, max_size=4),
    more=st.integers(1, 100),
    which=st.integers(0, 3),
)
def test_more_documents_with_a_word_never_lower_bgloss(count, more, which):
    which %= len(count)
    words = WORDS[: len(count)]

    def score(values):
        counted = dict(zip(words, values, strict=True))
        table = FrequencyTable.of(["x"], [Summary.of(counted, 200, 200)])
        return float(bgloss(table, words).score[0])

    raised = [c + more * (i == which) for i, c in enumerate(count)]
    assert score(raised) >= score(count)


@given(world=worlds(), query=queries)
def test_a_column_of_entries_is_the_same_table(world, query):
    whole = table_of(world)
    rows = {w: j for j, w in enumerate(query)}
    frequency = whole.frequency(query)
    word, database = (axis.ravel() for axis in np.indices(frequency.shape))
    entries = (word, database, frequency.ravel())
    part = FrequencyTable.of_entries(
        whole.names, rows, entries, whole.size, whole.words
    )
    text = " ".join(query)
    for method in scorers(world).values():
        one, two = select(whole, text, method), select(part, text, method)
        assert one.names == two.names
        assert one.score.tolist() == two.score.tolist()
