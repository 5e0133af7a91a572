import numpy as np
import pytest
from hypothesis import given, strategies as st

from halflife.core.errors import Damaged
from halflife.summary import Status, Summary, compare as compare_pair
from halflife.summary.metrics import METRICS
from halflife.summary.tables import Summaries, aligned, compare, vocabulary
from halflife.summary.versions import Versions

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
        assert Status(found.status[k]) is Status(one.status[0])


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
    one, two = aligned(table([{"b": 1}, {}, {}]), table([{"a": 2}, {"b": 3}, {}]))
    assert one.words is two.words
    assert set(one.words) == {"a", "b"}
    assert two.row("y").counts() == {"b": 3.0}


def test_no_database_makes_an_empty_table():
    none = Summaries.of({})
    assert compare(none, none).kl.shape == (0,)


@given(st.lists(ROWS, max_size=5))
def test_every_version_comes_back_as_it_was_also_through_bytes(history):
    kept = Versions.of(NAMES)
    for k, rows in enumerate(history):
        kept = kept.append(table(rows, float(k)))
    again = Versions.from_bytes(kept.to_bytes())
    assert len(again) == len(history)
    for k, rows in enumerate(history):
        for found in (kept.at(k), again.at(k)):
            assert found.taken_at.tolist() == [float(k)] * 3
            for name, row in zip(NAMES, rows, strict=True):
                assert found.row(name).counts() == there(row)


def test_only_what_changed_is_written():
    rng = np.random.default_rng(0)
    words = [f"w{k}" for k in range(500)]
    rows = [dict(zip(words, rng.integers(1, 9, 500), strict=True)) for _ in NAMES]
    kept = Versions.of(NAMES).append(table(rows))
    rows[0] = {**rows[0], "w7": 100, "new": 1}
    del rows[0]["w3"]
    kept = kept.append(table(rows)).append(table(rows))
    assert np.diff(kept.start).tolist() == [1500, 3, 0]
    assert kept.row_at(0, "x").counts()["w3"] > 0
    assert "w3" not in kept.row_at(2, "x").counts()


def test_versions_that_are_not_there_and_other_databases_are_refused():
    kept = Versions.of(NAMES).append(table([{}, {}, {}]))
    with pytest.raises(ValueError, match="no version 1"):
        kept.at(1)
    with pytest.raises(ValueError, match="no version -1"):
        kept.at(-1)
    with pytest.raises(ValueError, match="same databases"):
        kept.append(Summaries.of({"q": Summary.of({}, 0.0, 0)}))


@pytest.mark.parametrize("raw", [b"", b"nonsense", b"PK\x03\x04 cut"])
def test_bytes_that_are_no_history_are_damaged(raw):
    with pytest.raises(Damaged, match="not a history"):
        Versions.from_bytes(raw)


def test_a_history_cut_anywhere_is_damaged_or_the_same():
    kept = Versions.of(NAMES).append(table([{"a": 1, "b": 2}, {"c": 3}, {}]))
    raw = kept.to_bytes()
    for end in range(0, len(raw), 97):
        with pytest.raises(Damaged):
            Versions.from_bytes(raw[:end])


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("row", np.array([0, 0, 9], np.int32)),
        ("word", np.array([0, 1, 99], np.int32)),
        ("count", np.ones(2)),
        ("start", np.array([0, 2])),
        ("start", np.zeros(0)),
        ("size", np.ones((2, 3))),
        ("names", np.frombuffer(b"\xff\0\0\0x", np.uint8)),
    ],
)
def test_parts_that_do_not_fit_are_damaged(part, value):
    kept = Versions.of(NAMES).append(table([{"a": 1, "b": 2}, {"c": 3}, {}]))
    with pytest.raises(Damaged):
        Versions.from_arrays({**kept.arrays(), part: value})
    with pytest.raises(Damaged):
        Versions.from_arrays({k: v for k, v in kept.arrays().items() if k != part})
