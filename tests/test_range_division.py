"""How a range that overflows is divided at the median of what was shown."""

from itertools import pairwise
from math import inf, nextafter

import numpy as np
import pytest
from hypothesis import given, strategies as st

from form_worlds import behind, cars
from halflife.core.forms import Attribute, Query, Term, within
from halflife.queries.completeness import QueryAnswer
from halflife.queries.drill_down import Drill
from halflife.queries.ledger import Ledger
from halflife.queries.split_crawl import _ranges, crawl

OSLO = Query.of(Term("city", "Oslo"))
PRICE = Attribute("price", "range", cuts=(10.0, 20.0))


def shown(*numbers):
    return QueryAnswer(
        {f"k{i}": {"price": n} for i, n in enumerate(numbers)}, whole=False
    )


def divided(read, *fixed):
    return [term.bounds for term in _ranges(PRICE, list(fixed), read)]


def test_a_range_is_cut_at_the_median_of_what_was_shown():
    assert divided(shown(1, 2, 5, 8, 9)) == [(-inf, 5.0), (5.0, inf)]
    assert divided(shown(1, 2, 5, 8), within("price", 0, 10)) == [(0, 5), (5, 10)]


def test_a_number_that_fills_more_than_a_quarter_has_a_range_of_its_own():
    crowd = divided(shown(1, 5, 5, 9), within("price", 0, 10))
    assert crowd == [(0, 5), (5, 6), (6, 10)]
    one_of_four = divided(shown(1, 4, 5, 9), within("price", 0, 10))
    assert one_of_four == [(0, 5), (5, 10)]
    broken = divided(shown(1.5, 2.5, 2.5), within("price", 0, 10))
    assert broken == [(0, 2.5), (2.5, nextafter(2.5, inf)), (nextafter(2.5, inf), 10)]


def test_a_single_number_is_divided_no_further():
    assert divided(shown(5, 5, 5), within("price", 5, 6)) == []
    assert divided(shown(5, 5, 5), within("price", 4, 6)) == [(4, 5), (5, 6)]
    assert divided(shown(5, 5, 5), within("price", 5, 9)) == [(5, 6), (6, 9)]


def test_where_no_number_was_shown_the_forms_own_cuts_divide():
    assert divided(shown()) == [(-inf, 10.0), (10.0, 20.0), (20.0, inf)]
    assert divided(shown(None, "n/a")) == [(-inf, 10.0), (10.0, 20.0), (20.0, inf)]
    assert divided(shown(), within("price", 0, 10)) == []


@given(
    numbers=st.lists(st.integers(0, 30), min_size=1, max_size=20),
    low=st.integers(0, 10),
    width=st.integers(1, 30),
)
def test_the_parts_make_up_the_range_and_each_is_smaller(numbers, low, width):
    inside = [n for n in numbers if low <= n < low + width] or [low]
    parts = divided(shown(*inside), within("price", low, low + width))
    if not parts:
        assert len(set(inside)) == 1
        return
    assert parts[0][0] == low
    assert parts[-1][1] == low + width
    for (_, end), (begin, _) in pairwise(parts):
        assert end == begin
    for begin, end in parts:
        assert begin < end
        held = sum(begin <= n < end for n in inside)
        assert held < len(inside) or len(parts) > 1


@pytest.mark.parametrize("count", [3, 8, 21])
def test_no_part_keeps_more_than_half_of_different_numbers(count):
    rng = np.random.default_rng(count)
    numbers = rng.permutation(count * 3)[:count].tolist()
    for begin, end in divided(shown(*numbers)):
        held = sum(begin <= n < end for n in numbers)
        assert held <= count / 2 + 1
    assert Query.of(Term("price", "1..2")).terms[0].bounds == (1.0, 2.0)


def test_a_crawl_counts_its_own_requests_and_no_others():
    ledger = Ledger(behind(cars(60), cap=20, everything=True))
    list(ledger.pages(OSLO))
    before = ledger.requests
    done = crawl(ledger)
    assert done.requests == ledger.requests - before > 0
    assert before > 0


def test_a_condition_that_some_record_shown_meets_is_not_asked_for():
    ledger = Ledger(behind(cars(60), page_size=5, counts="none"))
    drill = Drill(ledger, (), guide="even")
    read = drill.reader.read(OSLO)
    spent = ledger.requests
    words = {word for r in read.records.values() for word in r["title"].split()}
    for word in words:  # none is in all of them
        assert drill._empty(OSLO, Term("title", word)) is False
    assert ledger.requests == spent
    assert drill._empty(OSLO, Term("title", "nowhere")) is True
    assert ledger.requests == spent + 1
