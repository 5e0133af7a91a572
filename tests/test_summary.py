import math

import numpy as np
import pytest
from hypothesis import given, strategies as st

from halflife import summary as s
from halflife.summary import DivergenceStatus, Summary
from halflife.summary.metrics import METRICS, compare_cells
from halflife.summary.pairs import compare_all, product, word_groups

COUNTS = st.dictionaries(
    st.sampled_from("abcdefghij"), st.integers(1, 500), max_size=10
)
PLENTY = st.dictionaries(
    st.sampled_from("abcdef"), st.integers(1, 500), min_size=5, max_size=6
)

OLD = {"algorithm": 7210, "cassini": 5, "saturn": 2, "gone": 3}
NEW = {"algorithm": 7000, "cassini": 8, "saturn": 2, "fresh": 1, "newer": 9}


def test_the_five_metrics_of_a_worked_example():
    assert s.unweighted_recall(OLD, NEW) == 3 / 5
    assert s.unweighted_precision(OLD, NEW) == 3 / 4
    assert s.weighted_recall(OLD, NEW) == pytest.approx(7010 / 7020)
    assert s.weighted_precision(OLD, NEW) == pytest.approx(7217 / 7220)
    shared = [(7000, 7210), (8, 5), (2, 2)]
    expected = sum(c / 7010 * math.log((c / 7010) / (o / 7217)) for c, o in shared)
    assert s.kl(OLD, NEW) == pytest.approx(expected, rel=1e-9)
    assert s.kl(OLD, NEW, base=2) == pytest.approx(expected / math.log(2), rel=1e-9)


def test_weighted_recall_counts_words_of_the_old_summary_not_of_the_database():
    """The article prints W_D, the words of the database, which would always give 1."""
    assert s.weighted_recall({"a": 1}, {"a": 1, "b": 3}) == 0.25


@pytest.mark.parametrize(
    ("old", "new", "status"),
    [
        ({"a": 1, "b": 1}, {"a": 2, "b": 1}, DivergenceStatus.OK),
        ({"a": 1}, {"b": 1}, DivergenceStatus.NOTHING_SHARED),
        ({"a": 1, "b": 5}, {"a": 7, "c": 1}, DivergenceStatus.ONE_SHARED),
        ({}, {"b": 1}, DivergenceStatus.EMPTY_OLD),
        ({"a": 1}, {}, DivergenceStatus.EMPTY_NEW),
        ({}, {}, DivergenceStatus.EMPTY_OLD),
        ({"a": 0, "b": 0}, {"b": 1}, DivergenceStatus.EMPTY_OLD),
    ],
)
def test_a_divergence_without_meaning_is_nan_with_a_status(old, new, status):
    assert s.status(old, new) is status
    assert math.isnan(s.kl(old, new)) is (status is not DivergenceStatus.OK)


def test_shares_of_nothing_are_nan_and_shares_of_something_are_not():
    empty_old = s.compare({}, {"a": 1})
    assert empty_old.ur[0] == 0
    assert empty_old.wr[0] == 0
    assert np.isnan(empty_old.up[0])
    assert np.isnan(empty_old.wp[0])


@pytest.mark.parametrize("bad", [-1.0, float("nan"), float("inf")])
def test_counts_that_are_none_are_refused(bad):
    with pytest.raises(ValueError, match="counts"):
        s.kl({"a": bad, "b": 1}, {"a": 1, "b": 1})
    with pytest.raises(ValueError, match="counts"):
        compare_all(np.array([[bad, 1.0]]), np.array([[1.0, 1.0]]))
    with pytest.raises(ValueError, match="counts"):
        compare_cells(
            (np.array([0]), np.array([bad])), (np.array([0]), np.ones(1)), 1, 1
        )


def test_odd_requests_are_refused():
    with pytest.raises(ValueError, match="base"):
        s.kl(OLD, NEW, base=1.0)
    cells = np.array([1, 0]), np.ones(2)
    with pytest.raises(ValueError, match="ascend"):
        compare_cells(cells, cells, 1, 2)
    with pytest.raises(ValueError, match="different words"):
        compare_all(np.ones((2, 3)), np.ones((2, 4)))
    with pytest.raises(ValueError, match="no metric"):
        s.compare(OLD, NEW).of("recall")


@given(COUNTS, COUNTS)
def test_shares_lie_between_0_and_1_and_divergence_is_not_below_0(old, new):
    found = s.compare(old, new)
    for metric in ("ur", "up", "wr", "wp"):
        value = found.of(metric)[0]
        assert np.isnan(value) or 0 <= value <= 1
    assert not found.kl[0] < 0


@given(COUNTS, COUNTS)
def test_recall_of_one_against_the_other_is_precision_the_other_way(old, new):
    there, back = s.compare(old, new), s.compare(new, old)
    assert there.ur == pytest.approx(back.up, nan_ok=True)
    assert there.wr == pytest.approx(back.wp, nan_ok=True)


@given(PLENTY, st.integers(1, 1000))
def test_divergence_is_0_from_a_multiple_and_from_nothing_else(old, times):
    new = {w: times * f for w, f in old.items()}
    assert s.kl(old, new) == pytest.approx(0.0, abs=1e-12)
    one = min(old)
    moved = {**new, one: new[one] * 2}
    assert s.kl(old, moved) > 1e-9


@given(PLENTY, PLENTY, st.floats(0.01, 100), st.floats(0.01, 100))
def test_scaling_either_side_changes_nothing(old, new, a, b):
    before = s.compare(old, new)
    after = s.compare(
        {w: a * f for w, f in old.items()}, {w: b * f for w, f in new.items()}
    )
    for metric in METRICS:
        assert after.of(metric) == pytest.approx(before.of(metric), abs=1e-9)


@given(PLENTY, PLENTY, st.permutations("abcdef"))
def test_the_names_of_words_do_not_matter(old, new, order):
    other = dict(zip("abcdef", order, strict=True))
    before = s.compare(old, new)
    after = s.compare(
        {other[w]: f for w, f in old.items()}, {other[w]: f for w, f in new.items()}
    )
    for metric in METRICS:
        assert after.of(metric) == pytest.approx(before.of(metric), abs=1e-12)


@given(st.integers(0, 10_000), st.integers(1, 5), st.integers(1, 6))
def test_all_pairs_at_once_are_the_pairs_one_by_one(seed, n, m):
    rng = np.random.default_rng(seed)
    old, new = (rng.poisson(0.9, (k, 7)).astype(float) for k in (n, m))
    found = compare_all(old, new)
    for i in range(n):
        for j in range(m):
            one = s.compare(
                dict(zip("abcdefg", old[i], strict=True)),
                dict(zip("abcdefg", new[j], strict=True)),
            )
            for metric in METRICS:
                assert found.of(metric)[i, j] == pytest.approx(
                    one.of(metric)[0], abs=1e-12, nan_ok=True
                )
            assert found.status[i, j] == one.status[0]


def test_all_pairs_of_a_wide_table_do_not_depend_on_how_it_is_cut(monkeypatch):
    rng = np.random.default_rng(3)
    counts = rng.poisson(2.0, (9, 30_000))
    whole = compare_all(counts.astype(np.int32), counts.astype(np.float64))
    monkeypatch.setattr("halflife.summary.pairs.BLOCK", 1000)
    monkeypatch.setattr("halflife.summary.pairs.SMALL", 64)
    cut = compare_all(counts.astype(np.float64), counts.astype(np.float64))
    for metric in METRICS:
        assert cut.of(metric) == pytest.approx(whole.of(metric), abs=1e-12)


def test_words_with_one_history_are_counted_together():
    counts = np.array([[1, 2, 1, 0, 2], [3, 2, 3, 1, 2]], dtype=np.int32)
    first, times = word_groups(counts, counts)
    assert sorted(zip(first.tolist(), times.tolist(), strict=True)) == [
        (0, 2.0),
        (1, 2.0),
        (3, 1.0),
    ]


def test_words_are_kept_apart_when_the_hash_does_not_tell_them_apart(monkeypatch):
    monkeypatch.setattr("halflife.summary.pairs.MIX", np.zeros(4, dtype=np.uint64))
    counts = np.array([[1, 2], [3, 3]], dtype=np.int32)
    first, times = word_groups(counts, counts)
    assert first.tolist() == [0, 1]
    assert times.tolist() == [1.0, 1.0]


def test_products_in_pieces_are_products():
    rng = np.random.default_rng(0)
    a, b = rng.random((3, 1001)), rng.random((5, 1001))
    assert product(a, b) == pytest.approx(a @ b.T)
    assert product(a[:, :0], b[:, :0]) == pytest.approx(np.zeros((3, 5)))


def test_no_words_at_all_are_empty_on_both_sides():
    found = compare_all(np.zeros((2, 0)), np.zeros((3, 0)))
    assert found.status.shape == (2, 3)
    assert (found.status == DivergenceStatus.EMPTY_OLD).all()


def test_a_summary_gives_its_counts_by_word():
    found = Summary.of({"b": 2.0, "a": 1.0}, 4.0, 3)
    assert found.words == ("a", "b")
    assert found.counts() == {"a": 1.0, "b": 2.0}
