"""Forms that do not do what they say, each trouble by itself."""

import pytest

from form_worlds import behind, cars
from halflife.core.errors import SourceError
from halflife.core.forms import Query, Term
from halflife.queries.faulty_form import FaultyForm, FormFaults

OSLO = Query.of(Term("city", "Oslo"))
RED = Term("title", "red")


def form(**troubles):
    plain = behind(cars(80), everything=True, lookup=True)
    return plain, FaultyForm(plain, FormFaults(**troubles))


def keys(found):
    return list(found.records)


@pytest.mark.parametrize("every", [1, 2, 3])
def test_every_so_many_answers_fail(every):
    _, troubled = form(fails=every)
    failed = []
    for number in range(1, 10):
        try:
            troubled.ask(OSLO) if number % 2 else troubled.fetch("car1")
        except SourceError:
            failed.append(number)
    assert failed == [n for n in range(1, 10) if n % every == 0]
    assert troubled.asked == 9


def test_a_form_without_troubles_answers_as_it_is():
    plain, troubled = form()
    assert [keys(troubled.ask(OSLO, p)) for p in range(4)] == [
        keys(plain.ask(OSLO, p)) for p in range(4)
    ]
    assert keys(troubled.fetch("car1")) == ["car1"]
    assert keys(form(lost=True)[1].fetch("car1")) == []


def test_a_deaf_form_hears_only_the_other_terms():
    plain, troubled = form(deaf=frozenset({"title"}))
    both = Query.of(*OSLO.terms, RED)
    assert keys(troubled.ask(both)) == keys(plain.ask(OSLO))
    assert keys(troubled.ask(Query.of(RED))) == keys(plain.ask(Query()))


def test_a_stuck_form_shows_its_first_page_for_ever():
    plain, troubled = form(stuck=True)
    assert keys(troubled.ask(OSLO, 3)) == keys(plain.ask(OSLO, 0))


@pytest.mark.parametrize("overlap", [1, 2])
def test_pages_that_overlap_begin_with_the_end_of_the_page_before(overlap):
    plain, troubled = form(overlap=overlap)
    first, second = keys(plain.ask(OSLO, 0)), keys(plain.ask(OSLO, 1))
    size = plain.interface.page_size
    assert keys(troubled.ask(OSLO, 1)) == [*first[-overlap:], *second][:size]
    assert keys(troubled.ask(OSLO, 0)) == first


def test_terms_joined_by_or_share_a_page():
    plain, troubled = form(either=True)
    both = Query.of(*OSLO.terms, RED)
    half = plain.interface.page_size // 2
    one, two = plain.ask(OSLO), plain.ask(Query.of(RED))
    found = troubled.ask(both)
    shown = dict.fromkeys([*keys(one)[:half], *keys(two)[:half]])
    assert keys(found) == list(shown)
    assert found.total == one.total + two.total
    assert found.more == (one.more or two.more)
    assert keys(troubled.ask(OSLO)) == keys(one)
