"""What records usually look like, and what is different about them."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.stats import binom

from halflife.alerts.schemas import (
    KEY,
    UNLIKELY,
    ColumnFill,
    Usual,
    chance,
    columns,
    differences,
    learn,
)


def records(n, **values):
    return {f"k{i}": {name: make(i) for name, make in values.items()} for i in range(n)}


def usual(rows, looks=1):
    found = {}
    for _ in range(looks):
        found = learn(found, columns(rows))
    return found


def told(before, rows, keyless=0):
    return [
        (one.column, one.what, one.loses, one.holds)
        for one in differences(before, columns(rows, keyless))
    ]


PLAIN = records(40, title=lambda i: f"job {i}", pay=lambda i: 1000 + i)


def test_the_same_again_is_no_difference():
    assert told(usual(PLAIN), PLAIN) == []


def test_what_was_never_seen_before_differs_from_nothing():
    assert told({}, PLAIN) == []
    assert told(usual(PLAIN), {}) == []


@pytest.mark.parametrize("empty", [None, ""])
def test_a_column_that_is_emptied_or_gone_loses_something(empty):
    before = usual(PLAIN)
    emptied = records(40, title=lambda i: f"job {i}", pay=lambda _: empty)
    assert told(before, emptied) == [("pay", "gone", True, True)]
    gone = records(40, title=lambda i: f"job {i}")
    assert told(before, gone) == [("pay", "gone", True, True)]


def test_a_column_that_is_seldom_filled_may_be_empty_for_a_while():
    sale = records(200, price=float, sale=lambda i: 1.0 if i % 10 == 0 else None)
    none = records(200, price=float, sale=lambda _: None)
    assert told(usual(sale), none) == [("sale", "rare", False, False)]
    assert told(usual(records(20, price=float, sale=lambda i: i or None)), none)


def test_a_new_column_loses_nothing_and_must_be_used():
    more = records(40, title=lambda i: f"job {i}", pay=lambda i: i, city=str)
    assert told(usual(PLAIN), more) == [("city", "new", False, False)]
    few = records(40, title=lambda i: f"job {i}", pay=lambda i: i)
    few["k0"]["city"] = "Rome"
    assert told(usual(PLAIN), few) == []


@pytest.mark.parametrize(
    ("before", "after", "loses"),
    [
        (float, lambda i: f"about {i}", True),
        (lambda i: f"{i},50", lambda i: f"{i} EUR", True),
        (float, lambda i: f"[{i}]", True),
        (float, str, False),
        (lambda i: f"about {i}", float, False),
        (lambda i: i > 3, lambda _: "maybe", True),
    ],
)
def test_another_kind_of_value_is_a_difference(before, after, loses):
    old, new = records(40, pay=before), records(40, pay=after)
    ((column, what, *rest),) = told(usual(old), new)
    assert (column, what[:4], rest) == ("pay", "kind", [loses, loses])


def test_few_values_of_another_kind_hold_nothing():
    old, new = records(5, pay=float), records(5, pay=lambda i: f"about {i}")
    ((*_, loses, holds),) = told(usual(old), new)
    assert not loses
    assert not holds


def test_records_without_a_key_are_a_difference_and_many_of_them_are_held():
    before = usual(PLAIN)
    assert told(before, PLAIN, keyless=1) == []
    assert told(before, PLAIN, keyless=10) == [(KEY, "gone", True, False)]
    assert told(before, PLAIN, keyless=60) == [(KEY, "gone", True, True)]
    text = differences(before, columns(PLAIN, 10))[0].text
    assert text == "10 of 50 records have no usable key"


def test_a_source_that_always_had_records_without_a_key_may_have_them():
    before = {}
    for _ in range(3):
        before = learn(before, columns(PLAIN, 10))
    assert told(before, PLAIN, keyless=11) == []


@given(
    n=st.integers(1, 60),
    filled=st.integers(0, 60),
    share=st.floats(0.05, 1.0),
    seen=st.integers(1, 500),
)
def test_the_chance_is_that_of_a_binomial_law(n, filled, share, seen):
    now = ColumnFill(n, min(filled, n))
    expected = binom.cdf(now.filled, n, min(share, (seen + 1) / (seen + 2)))
    if now.filled == n:
        expected = 1.0
    assert chance(now, Usual(share, "", seen)) == pytest.approx(expected, abs=1e-12)


def test_chance_alone_is_seldom_taken_for_a_difference():
    """Columns filled by chance, at many shares: false alarms stay rare."""
    rng, alarms, looks = np.random.default_rng(5), 0, 0
    for share in (0.5, 0.7, 0.9, 0.99):
        before = {}
        for _ in range(100):
            rows = records(30, pay=lambda _, p=share: 1.0 if rng.random() < p else None)
            if before:
                alarms += bool(told(before, rows))
                looks += 1
            before = learn(before, columns(rows))
    assert alarms <= max(10 * UNLIKELY * looks, 1)


def test_shares_follow_what_is_seen_slowly():
    before = usual(PLAIN, looks=20)
    some = records(40, title=str, pay=lambda i: i if i % 2 else None)
    after = learn(before, columns(some))
    assert after["pay"].share == pytest.approx(1.0 - 0.5 / 10)
    assert learn(before, columns(some), ["pay"])["pay"] == before["pay"]


def test_an_answer_without_records_teaches_nothing():
    usual = {"a": Usual(0.8, "text", 40), "b": Usual(1.0, "number", 40)}
    assert learn(usual, {}) == usual
    assert learn(usual, {"a": ColumnFill(0, 0)}) == usual
    after = learn(usual, {"a": ColumnFill(10, 10)})
    assert after["b"].share < 1.0  # ten records were there, none with it
    assert learn(usual, {"a": ColumnFill(10, 10)}, unchanged=["b"])["b"] == usual["b"]
