"""The single steps of finding out what a form does, on forms of known size."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from form_worlds import CITIES, behind, cars
from halflife.core.errors import BudgetSpent
from halflife.core.forms import Query, Term
from halflife.queries.faulty_form import FaultyForm, FormFaults
from halflife.queries.form_probe import _between, _Inquiry
from halflife.queries.ledger import Ledger
from halflife.queries.notes import ResultEnd, usual_ends

OSLO = Query.of(Term("city", "Oslo"))
SEEDS = tuple(Term("city", city) for city in CITIES)


def inquiry(n=120, *, most=50, troubles=None, **form):
    made = behind(cars(n), **{"everything": True, "lookup": True, **form})
    if troubles is not None:
        made = FaultyForm(made, troubles)
    return _Inquiry(Ledger(made), np.random.default_rng(0), most)


@given(last=st.integers(0, 300), ahead=st.integers(2, 900), size=st.integers(1, 50))
def test_the_page_tried_next_lies_between_and_where_sites_end_if_it_can(
    last, ahead, size
):
    beyond = last + ahead
    page = _between(last, beyond, size)
    assert last < page < beyond
    usual = sorted(p for p in usual_ends(size) if last < p < beyond)
    if usual:
        assert page == usual[len(usual) // 2]
    elif beyond in usual_ends(size):
        assert page == beyond - 1


@pytest.mark.parametrize(("n", "cap"), [(120, None), (33, None), (120, 40)])
def test_pages_that_were_tried_close_in_on_the_end(n, cap):
    asked = inquiry(n, cap=cap)
    found = asked._ask(Query())
    asked.notes.ends[Query()] = ResultEnd(0, len(found.records))
    reach = min(n, cap or n)
    last = (reach - 1) // 5
    assert asked._goal(found.total) == last
    for page in (last, last + 1, last - 1):
        before = asked.spent
        there = asked._try(Query(), page)
        assert there is (page <= last)
        if page == last - 1:  # a later page has shown it already
            assert asked.spent == before
    end = asked.notes.ends[Query()]
    assert end.last == last
    assert end.reach(5) == reach
    assert asked._try(Query(), last + 9) is False
    if end.beyond is not None:
        assert end.beyond == last + 1
        assert end.sharp


@pytest.mark.parametrize("n", [7, 60, 333])
def test_the_search_ends_where_the_results_do(n):
    asked = inquiry(n, counts="none", most=40)
    found = asked._ask(Query())
    asked.notes.ends[Query()] = ResultEnd(0, len(found.records))
    asked._search(Query(), None)
    end = asked.notes.ends[Query()]
    assert end.sharp
    assert end.reach(5) == n
    assert end.beyond == (n - 1) // 5 + 1


def test_an_answer_that_fails_is_asked_for_once_more():
    asked = inquiry(troubles=FormFaults(fails=2))
    assert asked._ask(OSLO) is not None  # the first answer comes
    assert asked._ask(OSLO) is not None  # the second fails, the third comes
    assert asked.notes.failures == 1
    assert asked.spent == 3
    never = inquiry(troubles=FormFaults(fails=1))
    assert never._ask(OSLO) is None
    assert never.notes.failures == never.spent == 2


def test_no_request_is_sent_beyond_the_budget():
    asked = inquiry(most=2)
    asked._ask(OSLO)
    asked._fetch("car1")
    for more in (lambda: asked._ask(OSLO, 1), lambda: asked._fetch("car2")):
        with pytest.raises(BudgetSpent):
            more()
    assert asked.spent == 2


def test_the_first_answer_to_a_question_is_the_one_that_is_kept():
    asked = inquiry()
    first = asked._ask(OSLO)
    asked._ask(OSLO)
    asked._ask(OSLO, newest=True)
    assert asked.notes.pages[OSLO, 0] is first
    assert len(asked.notes.pages) == 1


def test_terms_that_many_but_not_all_records_meet_come_first():
    asked = inquiry()
    asked._ask(Query())
    shares = asked.notes.shares()
    terms = asked._terms(SEEDS)
    one = next(terms)
    assert shares[one] == max(share for share in shares.values() if share < 1.0)
    two = next(terms)
    assert two.attribute != one.attribute  # of one attribute after the other
    rest = [next(terms) for _ in range(5)]
    assert len({one, two, *rest}) == 7
    nothing = inquiry()
    assert list(nothing._terms(SEEDS)) == list(SEEDS)


def test_the_beginning_stops_when_enough_was_found_or_missed():
    asked = inquiry()
    asked._begin(SEEDS)
    assert asked.spent == 3  # everything, and two terms
    assert asked.notes.everything is True
    empty = inquiry(0)
    empty._begin(SEEDS)
    assert empty.notes.everything is False
    assert empty.spent == 1 + 6  # seeds that find nothing
    blind = inquiry(0, everything=False)
    blind._begin(SEEDS)
    assert blind.notes.everything is None
    assert blind.spent == 6


def test_the_second_page_tells_the_size_of_pages():
    asked = inquiry(page_size=7)
    asked._ask(OSLO)
    asked._pages(OSLO)
    assert asked.notes.size == 7
    assert (OSLO, 1) in asked.notes.pages
    assert OSLO in asked.notes.repeated
    assert asked.spent == 3


def test_the_promised_last_page_is_asked_for():
    asked = inquiry(120)
    asked._ask(Query())
    asked._pages(Query())
    assert asked._promised(Query()) is True
    assert (Query(), 23) in asked.notes.pages
    lying = inquiry(120, cap=30)
    lying.notes.claimed = inquiry(
        120
    ).notes.claimed  # it does not say that it is capped
    lying._ask(Query())
    lying._pages(Query())
    assert lying._promised(Query()) is False


def test_small_queries_are_read_until_their_numbers_are_believed():
    asked = inquiry(400, page_size=20)
    asked._begin(SEEDS)
    asked._pages(asked.notes.biggest())
    asked._small(7)
    assert not asked.notes.wrong_counts()
    small = list(asked.notes.one_page_answers())
    assert small
    assert asked.notes.luck() <= 0.02 or asked.spent >= 7
    for query, told, shown in small:
        assert len(query) >= 1
        assert told == shown < 20


def test_a_key_that_nobody_has_is_looked_up_too():
    asked = inquiry()
    asked._ask(OSLO)
    asked._lookups()
    ((key, found),) = asked.notes.lookups.items()
    assert key in found.records
    assert asked.notes.absent is False
    silent = inquiry(lookup=False)
    silent._ask(OSLO)
    silent._lookups()
    assert silent.notes.lookups == {}
    assert silent.spent == 1


def test_two_queries_that_end_at_one_page_share_an_end():
    asked = inquiry(400, cap=50, counts="none", page_size=10)
    asked.notes.claimed = inquiry(400, counts="none", page_size=10).notes.claimed
    big, other = Query(), OSLO
    for query in (big, other):
        asked._ask(query)
    asked.notes.ends[big] = ResultEnd(4, 10, 5)
    asked._compare(big, asked.notes.ends[big])
    assert asked.notes.shared is True
    free = inquiry(400, counts="none", page_size=10)
    for query in (big, other):
        free._ask(query)
    free._compare(big, ResultEnd(4, 10, 5))
    assert free.notes.shared is False
    assert free.spent == 4


def test_attributes_and_pairs_that_were_not_asked_for_are_at_last():
    asked = inquiry()
    asked._ask(OSLO)
    asked._rest()
    singles = {
        t.attribute for q, _ in asked.notes.first_pages() if len(q) == 1 for t in q
    }
    assert singles == {"city", "title", "price"}
    assert sum(len(q) == 2 for q, _ in asked.notes.first_pages()) == 1
    before = asked.spent
    asked._rest()
    assert asked.spent == before  # nothing is left to ask
