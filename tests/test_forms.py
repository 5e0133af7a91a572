"""Databases that are seen only through a form."""

from math import inf

import numpy as np
import pytest
from hypothesis import given, strategies as st

from form_worlds import ATTRIBUTES, CITIES, behind, cars
from halflife.core.errors import BudgetSpent
from halflife.core.forms import Attribute, Interface, Query, Term, within, words_in
from halflife.queries.incidence import Incidence
from halflife.queries.ledger import Ledger
from halflife.queries.table_form import TableFaults, round_count

OSLO = Query.of(Term("city", "Oslo"))


def test_words_that_say_nothing_are_no_terms() -> None:
    assert words_in("The state of the art") == ("art", "state")


def test_a_query_is_the_same_in_whichever_order_its_terms_come() -> None:
    a, b = Term("city", "Oslo"), Term("title", "red")
    assert Query.of(a, b) == Query.of(b, a, a) == Query.of(b) & a


def test_a_term_that_is_no_range_says_so() -> None:
    with pytest.raises(
        ValueError, match=r"city=Oslo is no range; write it low\.\.high"
    ):
        _ = Term("city", "Oslo").bounds


@given(
    st.floats(-1e6, 1e6),
    st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=9, unique=True),
)
def test_every_number_meets_the_small_range_it_is_in(
    number: float, cuts: list[float]
) -> None:
    price = Attribute("price", "range", cuts=tuple(sorted(cuts)))
    (term,) = price.terms(number)
    assert price.meets(number, term)
    assert not price.meets(term.bounds[1], term) or term.bounds[1] == inf


def test_what_is_no_number_meets_no_range() -> None:
    price = Attribute("price", "range", cuts=(10.0,))
    assert price.terms("cheap") == price.terms(None) == price.terms(inf) == ()
    assert not price.meets("cheap", within("price", -inf, inf))


def test_even_no_result_takes_a_request_and_a_cap_bounds_them() -> None:
    interface = Interface(ATTRIBUTES, page_size=20, cap=100)
    assert [interface.pages(n) for n in (0, 1, 20, 21, 1000)] == [1, 1, 1, 2, 5]


@pytest.mark.parametrize(
    "query",
    [
        OSLO,
        Query.of(Term("title", "red"), Term("city", "Rome")),
        Query.of(within("price", 15, 45), Term("title", "old")),
        Query.of(Term("city", "nowhere")),
    ],
)
def test_a_table_answers_with_what_meets_the_query(query: Query) -> None:
    form = behind(cars(200))
    ledger = Ledger(form)
    list(ledger.pages(query))
    meant = {k for k, r in form.records.items() if form.interface.meets(r, query)}
    assert set(ledger.seen) == meant
    assert ledger.totals[query] == len(meant)
    assert ledger.requests == form.interface.pages(len(meant))


def test_results_after_the_cap_are_not_shown() -> None:
    ledger = Ledger(behind(cars(200), cap=12))
    shown = [len(page.records) for page in ledger.pages(OSLO)]
    assert shown == [5, 5, 2]
    assert OSLO in ledger.finished


def test_the_newest_come_first_when_asked_for() -> None:
    records = cars(60)
    dates = {key: float(i) for i, key in enumerate(records)}
    form = behind(records, dates=dates, everything=True, newest=True)
    assert list(form.ask(Query(), newest=True).records) == list(records)[:-6:-1]


def test_counts_are_told_as_the_form_tells_them() -> None:
    records = cars(2000)
    true = len(behind(records).matches(OSLO))
    told = {
        counts: behind(records, counts=counts, cap=100).ask(OSLO).total
        for counts in ("exact", "rounded", "capped", "none")
    }
    assert told == {
        "exact": true, "rounded": round_count(true), "capped": 100, "none": None
    }  # fmt: skip


def test_a_lie_about_a_query_is_always_the_same_lie() -> None:
    form = behind(cars(2000), faults=TableFaults(lies=3.0))
    told = [form.ask(Query.of(Term("city", city))).total for city in CITIES]
    again = [form.ask(Query.of(Term("city", city))).total for city in CITIES]
    true = [len(form.matches(Query.of(Term("city", city)))) for city in CITIES]
    ratio = np.array(told) / np.array(true)
    assert told == again
    assert told != true
    assert (ratio > 1 / 3.1).all()
    assert (ratio < 3.1).all()


def test_an_unstable_form_shows_another_page_each_time() -> None:
    form = behind(cars(200), faults=TableFaults(unstable=True))
    pages = {tuple(form.ask(OSLO).records) for _ in range(5)}
    assert len(pages) == 5


def test_a_form_refuses_what_it_cannot_be_asked() -> None:
    form = behind(cars(10), together=1)
    with pytest.raises(ValueError, match="does not answer the empty query"):
        form.ask(Query())
    with pytest.raises(ValueError, match="joins 1 terms, got 2"):
        form.ask(OSLO & Term("title", "red"))


def test_a_ledger_pays_for_everything_and_stops_when_it_is_spent() -> None:
    ledger = Ledger(behind(cars(200)), most=2)
    ledger.first(OSLO)
    ledger.first(OSLO)
    assert ledger.requests == 1
    with pytest.raises(BudgetSpent, match="all 2 requests are spent"):
        list(ledger.pages(OSLO))
    assert (ledger.requests, ledger.left, len(ledger.seen)) == (2, 0, 10)
    assert OSLO not in ledger.finished


def test_a_record_can_be_had_by_its_key() -> None:
    form = behind(cars(5), lookup=True)
    assert list(form.fetch("car3").records) == ["car3"]
    assert not form.fetch("bike").records


def test_an_incidence_has_the_same_pairs_from_both_sides() -> None:
    records = cars(50)
    interface = Interface(ATTRIBUTES)
    pairs = Incidence.of(interface, records)
    by_record = {(i, int(t)) for i in range(len(pairs)) for t in pairs.of_record(i)}
    by_term = {(int(i), t) for t in range(len(pairs.terms)) for i in pairs.of_term(t)}
    assert by_record == by_term
    assert {
        (key, term) for key, row in records.items() for term in interface.terms(row)
    } == {(pairs.keys[i], pairs.terms[t]) for i, t in by_record}
    assert pairs.hits.sum() == len(by_record)
