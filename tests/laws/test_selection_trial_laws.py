"""Queries for known items, against plain loops over the documents."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from halflife.core.errors import UsageError
from halflife.selection.table import FrequencyTable
from halflife.selection.trial import Trial, TrialQuery, _draw, known_items
from halflife.summary import Summary
from selection_worlds import WEEKS, world

WEEK = WEEKS - 1


def words_of(weekly, row):
    return weekly.words[weekly.term[weekly.start[row] : weekly.start[row + 1]]].tolist()


def there(weekly, week):
    """Return the documents of each database in a week."""
    return [
        [
            row
            for row in range(weekly.first[home], weekly.first[home + 1])
            if weekly.week_from[row] <= week <= weekly.week_to[row]
        ]
        for home in range(len(weekly.sites))
    ]


@pytest.mark.parametrize("newest", [None, 1, 6])
def test_every_document_with_three_rare_words_can_be_asked_for(newest):
    weekly = world(np.random.default_rng(1), sites=4, documents=200, words=600)
    rows = there(weekly, WEEK)
    held = Counter(w for mine in rows for row in mine for w in words_of(weekly, row))
    most = max(0.01 * sum(map(len, rows)), 2)
    rare = {w for w, n in held.items() if 2 <= n <= most}
    asked = known_items(weekly, WEEK, 1000, np.random.default_rng(0), newest=newest)
    sizes = set()
    for home, mine in enumerate(rows):
        fits = [
            rare.intersection(words_of(weekly, row))
            for row in mine
            if newest is None or weekly.week_from[row] > WEEK - newest
        ]
        fits = [words for words in fits if len(words) >= 3]
        sizes |= {len(words) for words in fits}
        queries = [query for query in asked if query.home == home]
        assert len(queries) == len(fits)
        for query in queries:
            assert 2 <= len(set(query.words)) == len(query.words) <= 3
            assert any(words.issuperset(query.words) for words in fits)
    assert newest is not None or 3 in sizes  # just as many as are needed
    assert {len(query.words) for query in asked} <= {2, 3}


def test_queries_have_two_or_three_words_as_chance_will():
    weekly = world(np.random.default_rng(1), sites=2, documents=60, words=60)
    rare = np.ones(60, np.bool_)
    rows = np.arange(weekly.first[-1])
    sizes = Counter(map(len, _draw(weekly, rows, rare, np.random.default_rng(0))))
    assert sizes.keys() == {2, 3}
    assert min(sizes.values()) > 0.3 * sizes.total()


def test_so_many_queries_are_drawn_of_each_database():
    weekly = world(np.random.default_rng(1), sites=4, documents=200, words=600)

    def drawn(each):
        asked = known_items(weekly, WEEK, each, np.random.default_rng(0))
        return Counter(query.home for query in asked)

    whole = drawn(1000)
    assert max(whole.values()) > 2
    for each in (0, 1, 2):
        assert drawn(each) == +Counter({h: min(n, each) for h, n in whole.items()})


def test_samples_are_the_documents_with_the_smallest_checksums():
    weekly = world(np.random.default_rng(3))
    trial = Trial.of(weekly, WEEK, [TrialQuery(("w1", "w2"), 0)])
    index = trial.knowledge(np.zeros(4, np.intp), sample=3).index
    rows = there(weekly, WEEK)
    assert np.bincount(index.home, minlength=4).tolist() == [
        min(len(mine), 3) for mine in rows
    ]
    # the names are alike in all databases, so that the same ones are drawn
    named = replace(weekly, page=np.array([f"p{i}" for i in range(weekly.page.size)]))
    whole = Trial.of(named, WEEK, trial.queries).knowledge(
        np.zeros(4, np.intp), sample=999
    )
    assert whole.index.size.tolist() == [float(len(mine)) for mine in rows]
    assert whole.index.weight.tolist() == [1.0] * 4
    lengths = [float(len(words_of(weekly, row))) for mine in rows for row in mine]
    assert sorted(whole.index.length.tolist()) == sorted(lengths)


@pytest.mark.parametrize(
    ("words", "size", "fine"),
    [
        ({"x": 0}, 0, True), ({"x": 0.25}, 0.5, True), ({"x": -0.5}, 5, False),
        ({"x": np.nan}, 5, False), ({"x": np.inf}, 5, False), ({"x": 1}, -0.5, False),
        ({"x": 1}, np.inf, False), ({"x": 1, "y": -1}, 5, False),
    ],
)  # fmt: skip
def test_sizes_and_frequencies_are_finite_and_not_below_nothing(words, size, fine):
    summary = Summary.of(words, size, 1)
    if fine:
        assert FrequencyTable.of(["a"], [summary]).size.tolist() == [size]
    else:
        with pytest.raises(UsageError, match="'a' has"):
            FrequencyTable.of(["a"], [summary])


def test_only_words_that_some_database_has_are_known():
    table = FrequencyTable.of(
        ["a", "b"], [Summary.of({"x": 1, "z": 0}, 5, 5), Summary.of({"y": 2}, 5, 5)]
    )
    assert table.known(["z", "y", "unheard", "x"]) == ["y", "x"]
    assert table.frequency(["x", "unheard", "y", "z"]).tolist() == [
        [1.0, 0.0], [0.0, 0.0], [0.0, 2.0], [0.0, 0.0]
    ]  # fmt: skip
    assert table.words.tolist() == [1.0, 2.0]
