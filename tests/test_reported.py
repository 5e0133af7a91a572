"""How many records a form reports, beside how many are held."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from form_worlds import behind, cars
from halflife.forms import Query, Term
from halflife.queries.doubting import Doubts
from halflife.queries.fresh.harvest import Round
from halflife.queries.fresh.simple import Newest
from halflife.queries.ledger import Ledger
from halflife.queries.local import Local
from halflife.queries.reported import Reported, at_least, reported

numbers = st.integers(0, 1000)


def test_sixty_of_three_hundred_and_fifteen_are_missing():
    report = Reported(0.0, 315)
    assert (report.missing(255), report.open(255)) == (60, 60)
    assert report.words(255) == "it reports 315 records, 255 are held"
    assert report.words(315) == ""


def test_what_could_not_be_found_is_not_looked_for_again_until_more_is_missing():
    report = Reported(0.0, 315).settled(255, "it shows no more", cut=True)
    assert report.open(255) == 0
    assert report.words(255).endswith("255 are held: it shows no more")
    assert report.heard(1.0, 320, 255).open(255) == 5
    assert report.heard(1.0, 255, 255) == Reported(1.0, 255)


@given(numbers, numbers, numbers, st.booleans())
def test_missing_records_are_open_or_unfound(total, held, later, cut):
    report = Reported(0.0, total).settled(held, "why", cut=cut)
    assert report.open(held) == 0
    again = report.heard(1.0, later, held)
    assert again.missing(held) == max(later - held, 0)
    assert again.open(held) + again.unfound == again.missing(held)
    assert Reported.of_row(again.row()) == again


@given(st.integers(1, 10**6))
def test_a_rounded_number_never_proves_more_than_there_is(there):
    told = int(float(f"{there:.1e}"))
    assert at_least("rounded", told) <= there
    assert at_least("exact", there) == there
    assert at_least("none", there) is None


def test_without_a_query_for_everything_the_values_of_a_choice_are_added_up():
    records = cars(120)
    ledger = Ledger(behind(records))
    cities = {record["city"] for record in records.values()}
    held = dict(list(records.items())[:90])
    assert reported(ledger, held) is None  # nothing was asked for yet
    for city in sorted(cities):
        ledger.ask(Query.of(Term("city", city)))
    shown = {**held, **ledger.seen}
    assert reported(ledger, shown) == 120


def test_values_that_records_do_not_show_as_they_are_asked_for_prove_nothing():
    records = cars(60)
    ledger = Ledger(behind(records))
    ledger.ask(Query.of(Term("city", "Oslo")))
    coded = {key: {**record, "city": 1} for key, record in records.items()}
    assert reported(ledger, coded) is None


def test_asking_what_is_next_changes_nothing():
    records = cars(100)
    form = behind(records, newest=True, everything=True)
    local, ledger = (
        Local(form.interface, dict(list(records.items())[:60])),
        Ledger(form),
    )
    policy, rng = Newest(), np.random.default_rng(0)
    turn = Round(policy, local, ledger)
    while (choice := policy.next(local, ledger, rng)) is not None:
        assert policy.next(local, ledger, rng) == choice
        turn.carry_out(choice)
    assert len(local) == 100


@pytest.mark.parametrize("cap", [None, 30])
def test_reading_the_newest_ends_where_results_do(cap):
    records = cars(100)
    form = behind(records, newest=True, everything=True, cap=cap)
    local, ledger = Local(form.interface, {}), Ledger(form)
    policy, rng = Newest(), np.random.default_rng(0)
    turn = Round(policy, local, ledger)
    while turn.step(rng) is not None:
        assert ledger.requests <= 20
    assert len(local) == (cap or 100)


def test_records_missing_from_all_that_joins_their_attributes_are_asked_for_apart():
    records = {str(i): {"city": "Oslo", "price": 15.0} for i in range(3)}
    form = behind({"0": records["0"]})
    doubts, ledger = Doubts(form.interface, records), Ledger(form)
    both = Query.of(Term("city", "Oslo"), Term("price", "10..20"))
    ledger.ask(both)
    doubts.hear(ledger)
    asked = {both}
    while (check := doubts.check()) is not None:
        assert check.query not in asked
        asked.add(check.query)
        ledger.ask(check.query)
        doubts.hear(ledger)
    assert doubts.absent() == {"1", "2"}


def test_a_check_that_is_cut_off_is_not_asked_for_again():
    records = {str(i): {"city": "Oslo", "price": float(i)} for i in range(40)}
    left = {key: row for key, row in records.items() if key != "3"}
    form = behind(left, cap=5)
    doubts, ledger = Doubts(form.interface, records), Ledger(form)
    ledger.ask(Query.of(Term("price", "3..4")))
    for _ in range(10):
        doubts.hear(ledger)
        check = doubts.check()
        if check is None:
            return
        ledger.ask(check.query)
    pytest.fail("it asks for the same again and again")
