"""A table that answers like a form: its pages, its order, its counts and faults."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from form_worlds import ATTRIBUTES, behind, cars
from halflife.core.forms import Interface, Query, Term
from halflife.queries.table_form import TableFaults, TableForm, round_count

CITY = ATTRIBUTES[0]
OSLO = Term("city", "Oslo")


def rng(seed=0):
    return np.random.default_rng(seed)


@settings(max_examples=40)
@given(
    n=st.integers(0, 30),
    size=st.integers(1, 7),
    cap=st.one_of(st.none(), st.integers(1, 20)),
    term=st.sampled_from([None, OSLO, Term("price", "10..50"), Term("city", "Bari")]),
)
def test_pages_are_cut_from_what_meets_the_query_in_one_order(n, size, cap, term):
    records = cars(n)
    query = Query() if term is None else Query.of(term)
    form = behind(records, page_size=size, cap=cap, everything=True)
    meeting = {k for k, r in records.items() if form.interface.meets(r, query)}
    shown, page, found = [], 0, form.ask(query)
    assert found.total == len(meeting)
    while True:
        assert found.records.items() <= records.items()
        shown += found.records
        reach = len(meeting) if cap is None else min(len(meeting), cap)
        assert len(found.records) == max(min(size, reach - page * size), 0)
        assert found.more == ((page + 1) * size < reach)
        if not found.more:
            break
        page += 1
        found = form.ask(query, page)
    assert len(shown) == len(set(shown))
    assert set(shown) <= meeting
    if cap is None:
        assert set(shown) == meeting


def test_results_come_by_place_or_newest_first():
    records = {f"r{i}": {"city": "Oslo"} for i in range(6)}
    dates = {"r0": 1.0, "r1": 3.0, "r2": 2.0, "r4": 3.0}  # the others have none
    places = {"r0": 2.0, "r1": 1.0, "r2": 2.0, "r3": 0.0, "r4": 3.0, "r5": -1.0}
    shape = Interface((CITY,), page_size=6, everything=True, newest=True)
    form = TableForm(shape, records, rng=rng(1), dates=dates, places=places)
    order = list(form.ask(Query()).records)
    assert [places[key] for key in order] == sorted(places.values())
    newest = list(form.ask(Query(), newest=True).records)
    assert [dates.get(key, 0.0) for key in newest] == [3.0, 3.0, 2.0, 1.0, 0.0, 0.0]
    # those of one date stand in the usual order
    assert newest[:2] == [key for key in order if dates.get(key) == 3.0]
    assert newest[4:] == [key for key in order if key not in dates]


def test_without_dates_the_newest_come_in_the_usual_order():
    records = {f"r{i}": {"city": "Oslo"} for i in range(9)}
    form = behind(records, page_size=9, everything=True, newest=True)
    newest = list(form.ask(Query(), newest=True).records)
    assert newest == list(form.ask(Query()).records)


@pytest.mark.parametrize(
    ("count", "said"),
    [
        (0, 0),
        (1, 1),
        (9, 9),
        (10, 10),
        (37, 37),
        (99, 99),
        (100, 100),
        (104, 100),
        (106, 110),
        (999, 1000),
        (12345, 12000),
    ],
)
def test_a_rounded_count_keeps_two_digits(count, said):
    assert round_count(count) == said


@pytest.mark.parametrize(
    ("counts", "said"),
    [("exact", 123), ("rounded", 120), ("capped", 50), ("none", None)],
)
def test_a_form_says_what_its_counts_are_worth(counts, said):
    records = {f"r{i}": {"city": "Oslo"} for i in range(123)}
    form = behind(records, everything=True, counts=counts, cap=50)
    assert form.ask(Query()).total == said
    free = behind(records, everything=True, counts=counts)
    assert free.ask(Query()).total == (123 if counts == "capped" else said)


def test_a_form_that_lies_is_off_by_its_factor_at_most_and_always_by_the_same():
    records = {f"r{i}": {"city": f"c{i % 40}"} for i in range(4000)}
    lies = behind(records, faults=TableFaults(lies=2.0))
    off = []
    for i in range(40):
        query = Query.of(Term("city", f"c{i}"))
        total = lies.ask(query).total
        assert total == lies.ask(query, 1).total
        off.append(np.log2(total / 100))
    assert max(np.abs(off)) <= 1.01
    assert min(off) < -0.5  # up and down, evenly on the scale of logarithms
    assert max(off) > 0.5
    assert abs(np.mean(off)) < 0.3
    quiet = behind(records, faults=TableFaults(lies=2.0), counts="none")
    assert quiet.ask(Query.of(Term("city", "c0"))).total is None


def test_a_form_answers_only_what_it_can_be_asked():
    form = behind(cars(3), together=1)
    with pytest.raises(ValueError, match="empty query"):
        form.ask(Query())
    form.ask(Query.of(OSLO))
    with pytest.raises(ValueError, match="joins 1 terms, got 2"):
        form.ask(Query.of(OSLO, Term("title", "red")))


def test_numbers_that_are_none_meet_no_range():
    records = {"a": {"price": "5"}, "b": {"price": "n/a"}, "c": {"price": None},
               "d": {"price": 10}, "e": {"price": 4.5}}  # fmt: skip
    form = behind(records)
    found = form.ask(Query.of(Term("price", "5..10"))).records
    assert set(found) == {"a"}
    assert set(form.ask(Query.of(Term("price", "..10"))).records) == {"a", "e"}
    assert form.fetch("a").records == {"a": {"price": "5"}}
    assert form.fetch("a").total == 1
    assert form.fetch("z").records == {}
    assert form.matches(Query.of(Term("price", "5.."))).tolist() == [0, 3]


def test_an_unstable_form_shows_the_same_records_in_another_order():
    records = {f"r{i}": {"city": "Oslo"} for i in range(30)}
    form = behind(
        records, everything=True, page_size=30, faults=TableFaults(unstable=True)
    )
    one, two = (list(form.ask(Query()).records) for _ in range(2))
    assert one != two
    assert sorted(one) == sorted(two) == sorted(records)
    steady = behind(records, everything=True, page_size=30)
    assert list(steady.ask(Query()).records) == list(steady.ask(Query()).records)
