import numpy as np
import pytest
from hypothesis import given, strategies as st

from halflife.summary import DivergenceStatus, Summary, compare as compare_pair
from halflife.summary.metrics import METRICS
from halflife.summary.tables import Summaries, align, compare, vocabulary

COUNTS = st.dictionaries(
    st.sampled_from(("a", "b", "c", "ü", "日本", "d e", "\ud800")),
    st.integers(0, 9),
    max_size=7,
)
NAMES = ("x", "y", "z")


def table(rows, at=1.0):
    return Summaries.of(
        {
            name: Summary.of({w: float(f) for w, f in row.items()}, 10.0, 5)
            for name, row in zip(NAMES, rows, strict=True)
        },
        at,
    )


def there(row):
    return {w: f for w, f in row.items() if f}


ROWS = st.lists(COUNTS, min_size=3, max_size=3)


@given(ROWS)
def test_a_row_of_the_table_is_the_summary_without_its_zeros(rows):
    found = table(rows)
    for name, row in zip(NAMES, rows, strict=True):
        summary = found.row(name)
        assert summary.counts() == there(row)
        assert summary.words == tuple(sorted(there(row)))
        assert (summary.size, summary.sampled) == (10.0, 5)
    dense = found.matrix().toarray()
    assert dense.sum() == sum(sum(r.values()) for r in rows)


@given(ROWS, ROWS)
def test_tables_are_compared_row_by_row_whatever_their_vocabularies(old, new):
    found = compare(table(old), table(new))
    for k, (a, b) in enumerate(zip(old, new, strict=True)):
        one = compare_pair(a, b)
        for metric in METRICS:
            assert found.of(metric)[k] == pytest.approx(
                one.of(metric)[0], abs=1e-12, nan_ok=True
            )
        assert DivergenceStatus(found.status[k]) is DivergenceStatus(one.status[0])


def test_tables_of_other_databases_are_not_compared():
    one = table([{"a": 1}] * 3)
    other = Summaries.of({"q": Summary.of({"a": 1.0}, 1.0, 1)})
    with pytest.raises(ValueError, match="same databases"):
        compare(one, other)
    with pytest.raises(ValueError, match="base"):
        compare(one, one, base=0.5)


def test_divergence_of_tables_may_be_told_in_bits():
    old, new = table([{"a": 1, "b": 1}] * 3), table([{"a": 3, "b": 1}] * 3)
    bits = compare(old, new, base=2.0).kl
    assert bits == pytest.approx(compare(old, new).kl / np.log(2))


def test_an_unknown_database_is_named():
    with pytest.raises(ValueError, match="'nobody'"):
        table([{}, {}, {}]).row("nobody")


def test_a_vocabulary_that_lacks_a_word_in_use_is_refused():
    with pytest.raises(ValueError, match="'b'"):
        table([{"a": 1, "b": 1}, {}, {}]).over(vocabulary(["a"]))


def test_tables_are_aligned_on_the_words_of_both():
    one, two = align(table([{"b": 1}, {}, {}]), table([{"a": 2}, {"b": 3}, {}]))
    assert one.words is two.words
    assert set(one.words) == {"a", "b"}
    assert two.row("y").counts() == {"b": 3.0}


def test_no_database_makes_an_empty_table():
    none = Summaries.of({})
    assert compare(none, none).kl.shape == (0,)
