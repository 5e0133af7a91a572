"""What columns are and when they differ, each limit met to the point."""

from collections import Counter

import pytest
from hypothesis import given, settings, strategies as st
from scipy.stats import binom

from halflife.alerts.schemas import (
    KEY,
    SAMPLED,
    UNLIKELY,
    WATCHED,
    ColumnFill,
    SchemaDifference,
    Usual,
    chance,
    column,
    columns,
    differences,
    kind_of,
    learn,
)

VALUES = {
    "numbers": 1.5,
    "numbers as text": "12,50",
    "yes or no": False,
    "text": "red",
    "lists or objects": "[1]",
}


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (True, "yes or no"), (False, "yes or no"), (0, "numbers"), (-2.5, "numbers"),
        ("-1.5%", "numbers as text"), (" +12,000.50 ", "numbers as text"),
        ("1.", "text"), ("1 EUR", "text"), ("a [1]", "text"),
        (" [1]", "lists or objects"), ('{"a": 1}', "lists or objects"),
    ],
)  # fmt: skip
def test_the_kind_of_a_value_is_told_by_how_it_is_written(value, kind):
    assert kind_of(value) == kind


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([], ColumnFill(0, 0, "")),
        ([None, "", 0], ColumnFill(3, 1, "")),  # nought fills a column
        ([1, 2], ColumnFill(2, 2, "")),  # too few to tell
        ([1, 2, 3], ColumnFill(3, 3, "numbers")),
        ([1] * 9 + ["a"], ColumnFill(10, 10, "numbers")),  # nine of ten
        ([1] * 8 + ["a"], ColumnFill(9, 9, "")),
        ([None] * 7 + ["a"] * 3, ColumnFill(10, 3, "text")),
    ],
)
def test_a_column_is_what_nine_of_ten_values_are(values, expected):
    assert column(values) == expected


@given(st.lists(st.sampled_from([None, "", *VALUES.values()]), max_size=40))
def test_a_column_counts_as_a_loop_does(values):
    filled = [v for v in values if v is not None and v != ""]
    found = column(values)
    assert (found.records, found.filled) == (len(values), len(filled))
    counts = Counter(kind_of(v) for v in filled)
    mostly = [k for k, n in counts.items() if 10 * n >= 9 * len(filled) and n >= 3]
    assert found.kind == (mostly[0] if mostly else "")
    share = len(filled) / len(values) if values else 0.0
    assert found.share == share


@pytest.mark.parametrize(
    ("n", "looked_at"),
    [
        (SAMPLED, SAMPLED),
        (2 * SAMPLED - 1, 2 * SAMPLED - 1),
        (2 * SAMPLED, SAMPLED),  # every other one
        (2 * SAMPLED + 1, SAMPLED + 1),
    ],
)
def test_of_very_many_records_some_are_looked_at_from_the_first_on(n, looked_at):
    records = {f"k{i}": {"n": i} for i in range(n)}
    found = columns(records, keyless=5)
    assert found["n"] == ColumnFill(looked_at, looked_at, "numbers")
    assert found[KEY] == ColumnFill(n + 5, n)


def test_every_column_of_the_records_is_found_and_their_key():
    found = columns({"a": {"x": 1}, "b": {"y": "", "z": None}, "c": {"z": 2}})
    assert found == {
        "x": ColumnFill(3, 1),
        "y": ColumnFill(3, 0),
        "z": ColumnFill(3, 1),
        KEY: ColumnFill(3, 3),
    }
    assert columns({}) == {}
    assert columns({}, 4) == {KEY: ColumnFill(4, 0)}


# What differs


def told(usual, seen, **more):
    return [
        (d.column, d.what, d.loses, d.holds) for d in differences(usual, seen, **more)
    ]


def test_a_column_that_is_not_there_is_empty_in_all_records_that_were_read():
    usual = {"pay": Usual(1.0, "numbers", 40)}
    seen = {"title": ColumnFill(30, 30, "text"), KEY: ColumnFill(50, 30)}
    (gone, *_) = differences(usual, seen)
    assert gone.text == (
        "'pay' is empty or gone in 30 of 30 records; it was filled in 100%"
    )
    # where nothing but the key is known, the key's records count
    (gone, *_) = differences(usual, {KEY: ColumnFill(50, 30)}, unit="rows")
    assert gone.text == "'pay' is empty or gone in 50 of 50 rows; it was filled in 100%"
    uneven = {"a": ColumnFill(0, 0), "b": ColumnFill(30, 30), "c": ColumnFill(20, 20)}
    assert differences(usual, uneven)[0].text.startswith(
        "'pay' is empty or gone in 30 of 30 records"
    )
    assert differences(usual, {"title": ColumnFill(0, 0)}) == []
    assert differences({}, seen) == []


@pytest.mark.parametrize(
    ("records", "filled", "is_new"),
    [(6, 3, True), (7, 3, False), (2, 2, False), (4, 2, False), (3, 3, True)],
)
def test_a_new_column_is_filled_in_half_of_the_records_and_three_at_least(
    records, filled, is_new
):
    usual = {"a": Usual(1.0, "", 40)}
    seen = {"a": ColumnFill(records, records), "b": ColumnFill(records, filled)}
    assert told(usual, seen) == [("b", "new", False, False)] * is_new


def test_what_is_new_is_told_only_while_columns_can_be_remembered():
    for n in (WATCHED - 1, WATCHED):
        usual = {f"c{i}": Usual(1.0, "", 40) for i in range(n)}
        seen = {name: ColumnFill(9, 9) for name in [*usual, "new"]}
        assert len(told(usual, seen)) == (n < WATCHED)


@pytest.mark.parametrize(
    ("keyless", "answer"),
    [
        (0, None), (5, None), (6, False), (49, False), (50, True), (90, True)
    ],
)  # fmt: skip
def test_one_record_in_twenty_may_lack_a_key_and_half_of_them_hold(keyless, answer):
    now = {KEY: ColumnFill(100, 100 - keyless)}
    expected = [] if answer is None else [(KEY, "gone", True, answer)]
    assert told({KEY: Usual(1.0, "", 10_000)}, now) == expected


def test_fewer_keys_than_usual_by_chance_are_no_difference():
    # 8 of 100 without a key, where 1 in 20 always were: more than 1 in 10 000 looks
    now = {KEY: ColumnFill(100, 92)}
    assert binom.cdf(92, 100, 0.95) > UNLIKELY
    assert told({KEY: Usual(0.95, "", 10_000)}, now) == []


@pytest.mark.parametrize(
    ("share", "filled", "what"),
    [
        (0.8, 39, "gone"),
        (0.8, 40, ""),  # half of what was usual is not less than half
        (0.8, 0, "gone"),
        (0.5, 10, "gone"),
        (0.5, 0, "gone"),
        (0.49, 0, "rare"),  # what was seldom filled may be empty for a while
        (0.49, 5, ""),
        (0.05, 0, ""),  # by chance: 0.95 ** 100 is 0.6 %
    ],
)
def test_a_column_is_gone_when_less_than_half_of_it_is_left(share, filled, what):
    usual, seen = {"pay": Usual(share, "", 10_000)}, {"pay": ColumnFill(100, filled)}
    loses = what == "gone"
    assert told(usual, seen) == ([("pay", what, loses, loses)] if what else [])
    if what == "gone":
        assert differences(usual, seen)[0].text == (
            f"'pay' is empty or gone in {100 - filled} of 100 records; "
            f"it was filled in {share:.0%}"
        )


@pytest.mark.parametrize("before", ["", *VALUES])
@pytest.mark.parametrize("after", ["", *VALUES])
def test_text_in_place_of_numbers_loses_something(before, after):
    firm = {"numbers", "numbers as text", "yes or no"}
    usual, seen = {"pay": Usual(1.0, before, 40)}, {"pay": ColumnFill(40, 40, after)}
    if not before or not after or before == after:
        assert differences(usual, seen) == []
        return
    loses = before in firm and after not in firm
    text = f"'pay' holds {after} in place of {before}"
    expected = SchemaDifference("pay", f"kind {after}", text, loses, loses)
    assert differences(usual, seen) == [expected]


@pytest.mark.parametrize(
    ("filled", "share", "records", "loses"),
    [
        (10, 1.0, 10, True),
        (9, 1.0, 10, False),
        (10, 0.9, 10, False),  # nine of them were known to be numbers
        (10, 0.5, 20, True),
        (12, 0.5, 19, True),  # 9.5 rounds to 10
        (12, 0.5, 18, False),
    ],
)
def test_ten_values_of_another_kind_are_taken_for_a_loss(filled, share, records, loses):
    usual = {"pay": Usual(share, "numbers", records)}
    assert told(usual, {"pay": ColumnFill(filled, filled, "text")}) == [
        ("pay", "kind text", loses, loses)
    ]


def test_no_number_of_records_makes_a_share_certain():
    assert chance(ColumnFill(2, 1), Usual(1.0, "", 8)) == pytest.approx(1 - 0.9**2)
    assert chance(ColumnFill(2, 0), Usual(1.0, "", 8)) == pytest.approx(0.1**2)
    assert chance(ColumnFill(2, 0), Usual(0.5, "", 8)) == pytest.approx(0.25)
    assert chance(ColumnFill(2, 2), Usual(0.5, "", 8)) == 1.0
    assert chance(ColumnFill(0, 0), Usual(0.5, "", 8)) == 1.0


# What is learned

cells = st.integers(0, 6).flatmap(
    lambda n: st.builds(
        ColumnFill, st.just(n), st.integers(0, n), st.sampled_from(["", "text"])
    )
)


@settings(max_examples=30)
@given(
    looks=st.lists(
        st.dictionaries(st.sampled_from("abc"), cells, max_size=3), max_size=14
    )
)
def test_shares_are_means_over_the_last_looks_and_a_tenth_of_each_later_one(looks):
    """Oracle: the mean of up to ten looks, then nine parts old to one part new."""
    usual = {}
    plain: dict[str, list] = {}
    for seen in looks:
        usual = learn(usual, seen)
        many = max((one.records for one in seen.values()), default=0)
        for name in [*plain, *(n for n in seen if n not in plain)]:
            now = seen.get(name, ColumnFill(many, 0))
            if now.records:
                plain.setdefault(name, []).append(now)
    assert usual.keys() == plain.keys()
    for name, seen in plain.items():
        share = sum(one.filled / one.records for one in seen[:10]) / len(seen[:10])
        for one in seen[10:]:
            share = 0.9 * share + 0.1 * one.filled / one.records
        kinds = [one.kind for one in seen if one.kind]
        assert usual[name].share == pytest.approx(share)
        assert usual[name].kind == (kinds[-1] if kinds else "")
        assert usual[name].records == max(one.records for one in seen)
        assert usual[name].fetches == min(len(seen), 10)


def test_so_many_columns_are_remembered_and_the_first_ones_stay():
    seen = {f"c{i}": ColumnFill(4, 4) for i in range(WATCHED + 5)}
    assert list(learn({}, seen)) == list(seen)[:WATCHED]
    assert list(learn({"x": Usual(1.0, "", 4)}, seen))[:2] == ["x", "c0"]


def test_columns_that_somebody_has_to_decide_on_are_not_learned():
    seen = {"a": ColumnFill(4, 0), "b": ColumnFill(4, 4)}
    usual = {"a": Usual(1.0, "text", 4)}
    after = learn(usual, seen, ["a"])
    assert after == {"a": usual["a"], "b": Usual(1.0, "", 4)}
