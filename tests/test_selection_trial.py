"""Trials of selection with summaries of any age, against plain loops."""

import json
from dataclasses import replace

import numpy as np
import pytest

from halflife.core.errors import UsageError
from halflife.core.search import Document
from halflife.selection.choice import select
from halflife.selection.lexicon import CoriScorer, LanguageModel, bgloss
from halflife.selection.sample_scores import CrcsScorer, ReddeScorer
from halflife.selection.samples import SampleIndex
from halflife.selection.table import FrequencyTable
from halflife.selection.trial import METHODS, Trial, TrialQuery, known_items, quality_at
from lab.selection import main, run
from selection_worlds import WEEKS, world

LEXICON = {"bgloss": bgloss, "cori": CoriScorer(), "lm": LanguageModel()}
WEEK = WEEKS - 1


@pytest.fixture(scope="module")
def weekly():
    return world(np.random.default_rng(3))


@pytest.fixture(scope="module")
def queries():
    rng = np.random.default_rng(5)
    drawn = [rng.choice(25, rng.integers(1, 4), replace=False) for _ in range(30)]
    return [TrialQuery(tuple(f"w{j}" for j in d), i % 4) for i, d in enumerate(drawn)]


@pytest.fixture(scope="module")
def age():
    return np.array([0, 3, 11, 19])


def summaries_of(weekly, age):
    pairs = zip(weekly.sites, age.tolist(), strict=True)
    return [weekly.summary(site, WEEK - old) for site, old in pairs]


@pytest.mark.parametrize("method", LEXICON)
def test_each_database_is_known_as_it_was_at_its_own_age(weekly, queries, age, method):
    trial = Trial.of(weekly, WEEK, queries)
    table = FrequencyTable.of(weekly.sites, summaries_of(weekly, age))
    orders = trial.orders(trial.knowledge(age), method)
    for query, order in zip(queries, orders, strict=True):
        expected = select(table, " ".join(query.words), LEXICON[method])
        names = [weekly.sites[i] for i in order.tolist()]
        assert names == list(expected.names[: int(expected.backed.sum())])


def test_a_table_of_all_databases_is_the_table_of_each(weekly):
    whole = FrequencyTable.of_summaries(weekly.table(WEEK))
    each = FrequencyTable.of(weekly.sites, summaries_of(weekly, np.zeros(4, np.intp)))
    words = sorted(each.code)
    assert whole.frequency(words).tolist() == each.frequency(words).tolist()
    assert whole.words.tolist() == each.words.tolist()
    assert whole.size.tolist() == each.size.tolist()


@pytest.mark.parametrize(
    ("method", "make"), [("redde", ReddeScorer), ("crcs-linear", CrcsScorer)], ids=str
)
def test_whole_samples_rank_as_an_index_of_the_documents(weekly, queries, method, make):
    age = np.array([2, 0, 5, 1])
    trial = Trial.of(weekly, WEEK, queries)
    known = trial.knowledge(age, sample=1000)
    samples, size = {}, {}
    for site, old in zip(weekly.sites, age.tolist(), strict=True):
        documents = weekly.documents(site, WEEK - old)
        size[site] = float(len(documents))
        samples[site] = [Document(f"{i:03}", d.words) for i, d in enumerate(documents)]
    index = SampleIndex.of(size, samples)
    assert known.index.weight.tolist() == [1.0] * 4
    for query in queries:
        _, one = known.index.ranked(query.words)
        _, two = index.ranked(query.words)
        assert one == pytest.approx(two)
        if np.unique(two.round(9)).size == two.size:
            first = make(known.index)(known.table, query.words).score
            second = make(index)(known.table, query.words).score
            assert first == pytest.approx(second)


def test_samples_are_so_many_documents_that_were_there(weekly, queries):
    trial = Trial.of(weekly, WEEK, queries)
    whole = trial.knowledge(np.zeros(4, np.intp), sample=1000).index
    some = trial.knowledge(np.zeros(4, np.intp), sample=2).index
    assert np.bincount(some.home).tolist() == [2] * 4
    assert (some.weight == whole.size / 2).all()


def test_summaries_by_samples_are_scaled_to_the_size(weekly, queries, age):
    trial = Trial.of(weekly, WEEK, queries)
    whole = trial.knowledge(age)
    all_read = trial.knowledge(age, sample=1000, complete=False).table
    words = sorted(trial.code)
    assert all_read.frequency(words).tolist() == whole.table.frequency(words).tolist()
    assert all_read.words.tolist() == whole.table.words.tolist()
    some = trial.knowledge(age, sample=2, complete=False)
    for row, word in zip(some.table.frequency(words), words, strict=True):
        documents, _ = some.index.ranked([word])
        held = np.bincount(some.index.home[documents], minlength=4)
        assert row == pytest.approx(held * some.index.weight)
    assert some.table.size.tolist() == whole.table.size.tolist()


def test_what_is_relevant_is_counted_in_the_week_itself(weekly, queries):
    found = Trial.of(weekly, WEEK, queries).relevant()
    for query, counts in zip(queries, found, strict=True):
        for site, count in zip(weekly.sites, counts.tolist(), strict=True):
            documents = weekly.documents(site, WEEK)
            assert count == sum(set(query.words) <= set(d.words) for d in documents)


@pytest.mark.parametrize("method", METHODS)
def test_fresh_summaries_choose_as_fresh_summaries_do(weekly, queries, method):
    found = quality_at(weekly, WEEK, np.zeros(4, np.intp), queries, method)
    overlap = found["overlap_5"]
    assert (overlap[np.isfinite(overlap)] == 1.0).all()
    assert (found["known_1"] <= found["known_3"]).all()
    assert (found["known_5"] <= found["sent"]).all()


def test_a_trial_gives_what_its_measures_say(weekly, queries, age):
    found = quality_at(weekly, WEEK, age, queries, "cori")
    trial = Trial.of(weekly, WEEK, queries)
    orders = trial.orders(trial.knowledge(age), "cori")
    expected = [float(q.home in o[:3]) for q, o in zip(queries, orders, strict=True)]
    assert found["known_3"].tolist() == expected
    assert {values.shape for values in found.values()} == {(len(queries),)}


def test_words_that_were_never_recorded_are_not_sent_and_have_no_recall(weekly):
    asked = [TrialQuery(("unheard",), 0), TrialQuery((), 0)]
    found = quality_at(weekly, WEEK, np.zeros(4, np.intp), asked, "bgloss")
    assert found["sent"].tolist() == [0.0, 0.0]
    assert np.isnan(found["r_1"]).all()
    assert np.isnan(found["overlap_5"]).all()


def test_known_items_are_rare_words_of_one_document_of_their_home():
    weekly = world(np.random.default_rng(1), sites=5, documents=60, words=2000)
    asked = known_items(weekly, WEEK, 3, np.random.default_rng(0))
    assert asked == known_items(weekly, WEEK, 3, np.random.default_rng(0))
    assert {q.home for q in asked} <= set(range(5))
    assert all(2 <= len(q.words) <= 3 for q in asked)
    table = FrequencyTable.of_summaries(weekly.table(WEEK))
    for query in asked:
        counts = table.frequency(query.words).sum(axis=1)
        assert (counts >= 2).all()
        documents = weekly.documents(weekly.sites[query.home], WEEK)
        assert any(set(query.words) <= set(d.words) for d in documents)


def test_new_items_are_of_documents_that_were_not_there_before():
    weekly = world(np.random.default_rng(1), sites=5, documents=200, words=600)
    asked = known_items(weekly, WEEK, 5, np.random.default_rng(0), newest=4)
    assert asked
    for query in asked:
        rows = weekly.present(weekly.sites[query.home], WEEK)
        fits = [
            i
            for i in rows[weekly.week_from[rows] > WEEK - 4].tolist()
            if set(query.words)
            <= set(weekly.words[weekly.term[weekly.start[i] : weekly.start[i + 1]]])
        ]
        assert fits


@pytest.mark.parametrize(
    ("age", "method", "told"),
    [
        ([0, 0, 0, 20], "cori", "weeks -1 to 19 were requested, 0 to 19"),
        ([0, 0, 0, -1], "cori", "-1 weeks old"),
        ([0, 0], "cori", "2 weeks for 4 databases"),
        ([0, 0, 0, 0], "best", "no method 'best'; there are bgloss"),
    ],
)
def test_a_trial_says_what_is_wrong(weekly, queries, age, method, told):
    with pytest.raises(UsageError, match=told):
        quality_at(weekly, WEEK, np.array(age), queries, method)


def test_the_recent_view_does_not_know_weeks_that_it_cannot_show(weekly, queries):
    recent = weekly.recent(13)
    quality_at(recent, WEEK, np.full(4, WEEK - 13), queries, "lm")
    with pytest.raises(UsageError, match="13 to 19 are recorded whole"):
        quality_at(recent, WEEK, np.full(4, WEEK - 12), queries, "lm")


def test_figures_are_given_by_view_method_and_age():
    weekly = world(np.random.default_rng(2), sites=6, documents=120, words=900)
    rows = run(weekly, each=2)
    seen = {(r["view"], r["about"], r["age"]) for r in rows}
    assert {("all", "any", 13), ("all", "new", 13), ("recent", "any", 0)} <= seen
    assert {r["method"] for r in rows} == set(METHODS)
    for row in rows:
        mean, low, high = row["known_5"]
        assert low <= mean <= high
        if row["age"] == 0:
            assert row["known_5_lost"] == [0.0, 0.0, 0.0]
            assert row["overlap_5"][0] == 1.0


def test_a_recording_that_is_too_short_is_refused(weekly):
    with pytest.raises(UsageError, match="10 weeks are recorded; 14 are needed"):
        run(replace(weekly, weeks=10))


def test_figures_are_printed_from_a_folder(tmp_path, capsys):
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    weekly = world(np.random.default_rng(2), sites=3, documents=60, words=300)
    home = np.repeat(np.arange(3), np.diff(weekly.first)).tolist()
    terms = np.split(weekly.term, weekly.start[1:-1])
    docs = {
        "site": [weekly.sites[i] for i in home],
        "page": weekly.page.tolist(),
        "week_from": weekly.week_from,
        "week_to": weekly.week_to,
        "terms": pa.array([t.tolist() for t in terms], pa.large_list(pa.int32())),
    }
    parquet.write_table(pa.table(docs), tmp_path / "docs_weekly.parquet")
    vocabulary = {"term_id": list(range(300)), "term": weekly.words.tolist()}
    parquet.write_table(pa.table(vocabulary), tmp_path / "vocab.parquet")
    sites = {"site": list(weekly.sites), "domain": ["com"] * 3}
    parquet.write_table(pa.table(sites), tmp_path / "sites.parquet")
    main([str(tmp_path), "--each", "1", "--sampled"])
    told = json.loads(capsys.readouterr().out)
    assert (told["databases"], told["complete"]) == (3, False)
    assert {row["method"] for row in told["results"]} == set(METHODS)
