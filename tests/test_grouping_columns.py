"""Laws of attributes cut into blocks, and of the filters that name their sides."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from halflife.grouping.columns import OTHER, Column
from halflife.grouping.cuts import Cut
from halflife.grouping.risk import ExposureSpans, dispersion, totals


def a_risk(n, seed=0):
    rng = np.random.default_rng(seed)
    entry = rng.uniform(0, 5, n)
    return ExposureSpans(entry, entry + rng.uniform(1, 9, n), rng.random(n) < 0.5)


def made(column, *, rare=0.01, stretches=4, risk=None):
    column = np.asarray(column)
    return Column.of(
        "a", column, risk or a_risk(column.size), rare=rare, stretches=stretches
    )


@given(
    values=st.lists(st.integers(0, 50), min_size=2, max_size=40),
    stretches=st.integers(2, 6),
)
def test_numbers_are_cut_into_stretches_in_order(values, stretches):
    column = np.array(values, dtype=float)
    found = made(column, stretches=stretches)
    assert found.ordered
    assert len(found.values) <= stretches
    assert found.values[-1] == np.inf
    for value, label in zip(values, found.label.tolist(), strict=True):
        assert value <= found.values[label]
        assert label == 0 or value > found.values[label - 1]


def test_stretches_hold_about_as_many_each():
    found = made(np.arange(100.0), stretches=4)
    assert np.bincount(found.label).tolist() == [25, 25, 25, 25]
    assert found.values == (24.0, 49.0, 74.0, np.inf)


def test_a_missing_number_is_a_block_of_its_own_at_the_end():
    found = made(np.array([1.0, np.nan, 3.0, 2.0]), stretches=2)
    assert found.values[-1] is None
    assert found.label[1] == len(found.values) - 1
    blocks = found.blocks(a_risk(4))
    assert blocks.loose
    assert blocks.ordered
    assert not made(np.arange(4.0)).blocks(a_risk(4)).loose


def test_texts_are_categories_and_rare_ones_are_pooled():
    texts = np.array(["b"] * 6 + ["a"] * 5 + ["x", "y"] + [None], dtype=object)
    risk = ExposureSpans(np.zeros(14), np.full(14, 2.0), np.arange(14) % 2 == 0)
    found = made(texts, rare=1.5, risk=risk)  # half an end is expected of each object
    assert not found.ordered
    assert found.values == ("a", "b", OTHER)
    assert found.label.tolist() == [1] * 6 + [0] * 5 + [2] * 3
    every = made(texts, rare=0.4, risk=risk)
    assert every.values == ("a", "b", "x", "y", None)
    assert every.label.tolist() == [1] * 6 + [0] * 5 + [2, 3, 4]
    # a category with exactly as many expected ends as asked for is not rare
    assert "a" in made(texts, rare=2.5, risk=risk).values
    assert "a" not in made(texts, rare=2.51, risk=risk).values


def test_truths_and_mixed_columns_are_categories():
    assert not made(np.array([True, False, True])).ordered
    assert made(np.array([True, False] * 9)).values == ("False", "True")
    assert not made(np.array(["1", "2", "new"], dtype=object)).ordered
    assert made(np.array(["1", "2", "3"], dtype=object)).ordered
    assert made(np.array([None] * 9, dtype=object)).values == (None,)


def test_blocks_add_up_ends_and_days():
    risk = a_risk(12)
    found = made(np.array(list("abcabcabcabc"), dtype=object), risk=risk)
    blocks = found.blocks(risk)
    deaths, _time = totals(risk, found.label, 3)
    assert blocks.deaths.tolist() == deaths.tolist()
    assert blocks.time.sum() == pytest.approx(risk.time.sum())
    for k in range(3):
        assert blocks.deaths[k] == risk.dead[k::3].sum()
        assert blocks.time[k] == pytest.approx(risk.time[k::3].sum())


def side(column, found, left, risk):
    """Return the rule of a cut, and which rows it picks."""
    rule = found.rule(Cut(1.0, left, 0.0), found.blocks(risk))
    return rule, rule({"a": np.asarray(column)})


def test_a_rule_of_numbers_picks_the_smaller_side():
    column, risk = np.arange(100.0), a_risk(100)
    found = made(column)
    for left in ((0, 1), (2, 3)):
        rule, picked = side(column, found, left, risk)
        assert str(rule) == "a <= 49"
        assert picked.tolist() == [v <= 49 for v in column]


def test_missing_numbers_go_with_the_side_they_were_put_on():
    column = np.r_[np.arange(8.0), np.nan]
    risk, found = a_risk(9), made(np.r_[np.arange(8.0), np.nan], stretches=2)
    rule, picked = side(column, found, (0, 2), risk)
    assert picked.tolist() == [v <= found.values[0] or np.isnan(v) for v in column]
    rule, picked = side(column, found, (0,), risk)
    assert picked.tolist() == [v <= found.values[0] for v in column]
    rule, picked = side(column, found, (2,), risk)
    assert str(rule) == "not a is missing"
    assert picked.tolist() == [not np.isnan(v) for v in column]


def test_a_rule_of_categories_names_the_side_without_the_rest():
    column = np.array(["a"] * 5 + ["b"] * 3 + ["c"] * 2, dtype=object)
    risk = ExposureSpans(np.zeros(10), np.ones(10), np.ones(10, bool))
    found = made(column, risk=risk)
    # the lighter side is named, so that a new value counts with the heavier one
    for left in ((1, 2), (0,)):
        _rule, picked = side(column, found, left, risk)
        named = {"b", "c"} if not picked[0] else {"a"}
        assert picked.tolist() == [v in named for v in column]
    assert str(side(column, found, (0, 1), risk)[0]) == 'a in ("c")'
    assert str(side(column, found, (2,), risk)[0]) == 'a in ("c")'


def test_rare_values_are_on_the_side_that_is_not_named():
    column = np.array(["a"] * 5 + ["b"] * 4 + ["x"], dtype=object)
    risk = ExposureSpans(np.zeros(10), np.ones(10), np.ones(10, bool))
    found = made(column, rare=2.0, risk=risk)
    assert found.values == ("a", "b", OTHER)
    for left, named in (((0, 2), "b"), ((0,), "a"), ((1, 2), "a"), ((2,), None)):
        _rule, picked = side(column, found, left, risk)
        if named:
            assert picked.tolist() == [v == named for v in column]
        else:
            assert picked.tolist() == [v in {"a", "b"} for v in column]


def test_a_missing_category_is_named_as_such():
    column = np.array(["a"] * 6 + ["b"] * 2 + [None], dtype=object)
    risk = ExposureSpans(np.zeros(9), np.ones(9), np.ones(9, bool))
    found = made(column, risk=risk)
    _, picked = side(column, found, (1, 2), risk)
    assert picked.tolist() == [v != "a" for v in column]
    rule, picked = side(column, found, (2,), risk)
    assert str(rule) == "a is missing"
    assert picked.tolist() == [v is None for v in column]


def test_ends_that_come_in_bursts_are_dispersed():
    rng, n = np.random.default_rng(0), 600
    column = np.array(["a", "b"] * (n // 2), dtype=object)
    entry = rng.uniform(0.0, 80.0, n)
    leave = entry + rng.exponential(20.0, n)
    steady = ExposureSpans(entry, leave, np.ones(n, bool))
    together = np.where(column == "a", np.ceil(leave / 40.0) * 40.0, leave)
    burst = ExposureSpans(entry, together, np.ones(n, bool))  # one kind goes at once
    at_once, spread = (
        made(column, risk=risk).dispersion(risk, 8) for risk in (burst, steady)
    )
    assert at_once > 3.0
    assert 1.0 <= spread < 1.5


@pytest.mark.parametrize(("rows", "columns"), [(2, 3), (3, 4), (4, 2)])
def test_dispersion_is_pearsons_with_a_factor_for_each_stretch(rows, columns):
    rng = np.random.default_rng(10 + rows)
    time = rng.uniform(20.0, 60.0, (rows, columns))
    deaths = 2.0 + 30.0 * np.eye(rows, columns)  # each kind goes in its own stretch
    rate = deaths.sum(axis=1) / time.sum(axis=1)
    mean = rate[:, None] * time
    mean = mean * deaths.sum(axis=0) / mean.sum(axis=0)
    free = (rows - 1) * (columns - 1)
    by_hand = ((deaths - mean) ** 2).sum() / mean.sum() * rows * columns / free
    assert dispersion(deaths, time) == pytest.approx(max(by_hand, 1.0))
    assert by_hand > 1.0
    assert dispersion(deaths[:1], time[:1]) == 1.0
    assert dispersion(0 * deaths, time) == 1.0
