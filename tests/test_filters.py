import numpy as np
import pytest
from hypothesis import given, strategies as st

from halflife.core.errors import UsageError
from halflife.core.filters import AllOf, AnyOf, Compare, In, Missing, Not, parse

CARS = {
    "make": np.array(["BMW", "Ford", None, "BMW"], dtype=object),
    "year": np.array(["2003", "2001", "2005", "unknown"], dtype=object),
    "price": np.array([10.5, np.nan, 30.0, 40.0]),
    "sold on": np.array([1, 2, 3, 4]),
}


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ('make = "BMW"', [0, 3]),
        ("make = 'BMW' and year > 2002", [0]),
        ('make != "BMW"', [1]),
        ('not make = "BMW"', [1, 2]),
        ("make is missing", [2]),
        ("make is not missing", [0, 1, 3]),
        ('make in ("Ford", "Audi") or price >= 40', [1, 3]),
        ("price in (30, 40)", [2, 3]),
        ("price < 1e9", [0, 2, 3]),
        ('year = "2003"', [0]),
        ("year <= 2.003e3", [0, 1]),
        ("`sold on` > 3 or `sold on` = 1", [0, 3]),
        ('make = "BMW" or make = "Ford" and price > 0', [0, 3]),
        ('(make = "BMW" or make = "Ford") and price > 20', [3]),
        ('NOT (make = "BMW" OR make IS MISSING)', [1]),
        ("price > -1", [0, 2, 3]),
    ],
)
def test_a_filter_picks_the_rows_it_describes(text, rows):
    assert np.flatnonzero(parse(text)(CARS)).tolist() == rows


def test_a_comparison_with_a_missing_value_is_false_whatever_the_sign():
    for sign in ("=", "!=", "<", "<=", ">", ">="):
        assert not parse(f'make {sign} "BMW"')(CARS)[2]
        assert not parse(f"price {sign} 1")(CARS)[1]


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("", 1),
        ("make", 5),
        ("make = ", 8),
        ("make = BMW", 8),
        ('make = "BMW', 8),
        ('make = "BMW" year = 3', 14),
        ("(make = 3", 10),
        ("make in 3", 9),
        ("make in ()", 10),
        ("and = 3", 1),
        ("price $ 3", 7),
        ("__import__('os').system('true')", 17),
        ("__import__('os')", 11),
        ("a = 1e999", 5),
        ("year is gone", 9),
        ("year ( 3", 6),
    ],
)
def test_what_is_not_of_the_language_is_refused_with_the_place(text, position):
    with pytest.raises(UsageError, match=f"position {position}:"):
        parse(text)


def test_nesting_without_end_is_refused_and_not_followed():
    with pytest.raises(UsageError, match="at most 50 levels"):
        parse("(" * 100_000 + "a = 1" + ")" * 100_000)
    with pytest.raises(UsageError, match="at most 50 levels"):
        parse("not " * 100_000 + "a = 1")


def test_an_unknown_attribute_is_named_with_those_there_are():
    with pytest.raises(UsageError, match=r"'model'.*make, price, sold on, year"):
        parse("model = 3")(CARS)


names = st.one_of(
    st.sampled_from(["make", "and", "Not", "größe", "sold on", "x-y"]),
    st.text(st.characters(codec="utf-8", exclude_characters="`"), min_size=1),
)
values = st.one_of(st.text(), st.floats(allow_nan=False, allow_infinity=False))
tests = st.one_of(
    st.builds(
        Compare, names, st.sampled_from(["=", "!=", "<", "<=", ">", ">="]), values
    ),
    st.builds(In, names, st.lists(values, min_size=1, max_size=3).map(tuple)),
    st.builds(Missing, names),
)


def grown(parts):
    several = st.lists(parts, min_size=2, max_size=3).map(tuple)
    return st.one_of(
        st.builds(Not, parts), st.builds(AllOf, several), st.builds(AnyOf, several)
    )


@given(st.recursive(tests, grown, max_leaves=8))
def test_a_filter_written_out_is_read_back_the_same(wanted):
    assert parse(str(wanted)) == wanted


@given(st.text())
def test_any_text_is_a_filter_or_a_usage_error(text):
    try:
        parse(text)
    except UsageError as error:
        assert "position" in str(error)  # noqa: PT017  (most texts are refused)


def test_a_complaint_shows_what_stands_before_and_after_the_place():
    with pytest.raises(UsageError, match="at position 8: make = >>>BMW"):
        parse("make = BMW")
    long = 'make = "' + "a" * 40 + '" and year < BMW ' + "b" * 40
    at = long.index("BMW")
    with pytest.raises(UsageError) as told:
        parse(long)
    assert f"{long[at - 30 : at]}>>>{long[at : at + 30]}" in str(told.value)
    assert f"at position {at + 1}:" in str(told.value)
