"""How many records a form reports, beside how many are held."""

import json
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given, strategies as st

from form_worlds import behind, cars
from halflife.core.errors import BudgetSpent
from halflife.core.forms import Attribute, Query, Term
from halflife.core.object_store import Listing
from halflife.core.tracker import Tracker
from halflife.queries.doubt import AbsenceTracker
from halflife.queries.form_copy import FormCopy, FormWish
from halflife.queries.fresh.harvest import HarvestRound
from halflife.queries.fresh.simple import Newest
from halflife.queries.frontier import read_crawl, write_crawl
from halflife.queries.ledger import Ledger
from halflife.queries.local import LocalRecords
from halflife.queries.recovery import NOTHING_MORE, SPENT, Recovery
from halflife.queries.reported_total import ReportedTotal, at_least, reported_records
from halflife.queries.turn_result import TurnResult
from halflife.stores.notes.reported_total import REPORTED_TOTAL

numbers = st.integers(0, 1000)


def test_sixty_of_three_hundred_and_fifteen_are_missing():
    report = ReportedTotal(0.0, 315)
    assert (report.missing(255), report.open(255)) == (60, 60)
    assert report.words(255) == "it reports 315 records, 255 are held"
    assert report.words(315) == ""


def test_what_could_not_be_found_is_not_looked_for_again_until_more_is_missing():
    report = ReportedTotal(0.0, 315).after_full_read(
        255, "it shows no more", explained=60
    )
    assert report.open(255) == 0
    assert report.words(255).endswith("255 are held: it shows no more")
    assert report.with_total(1.0, 320, 255).open(255) == 5
    assert report.with_total(1.0, 255, 255) == ReportedTotal(1.0, 255)


@given(numbers, numbers, numbers, numbers)
def test_missing_records_are_open_or_unfound(total, held, later, explained):
    report = ReportedTotal(0.0, total).after_full_read(held, "why", explained=explained)
    assert report.open(held) == 0
    again = report.with_total(1.0, later, held)
    assert again.missing(held) == max(later - held, 0)
    assert again.open(held) + again.unfound == again.missing(held)
    assert REPORTED_TOTAL.read(again.row()) == again


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
    assert reported_records(ledger, held) is None  # nothing was asked for yet
    for city in sorted(cities):
        ledger.ask(Query.of(Term("city", city)))
    shown = {**held, **ledger.seen}
    assert reported_records(ledger, shown) == 120


def test_values_that_records_do_not_show_as_they_are_asked_for_prove_nothing():
    records = cars(60)
    ledger = Ledger(behind(records))
    ledger.ask(Query.of(Term("city", "Oslo")))
    coded = {key: {**record, "city": 1} for key, record in records.items()}
    assert reported_records(ledger, coded) is None


def test_asking_what_is_next_changes_nothing():
    records = cars(100)
    form = behind(records, newest=True, everything=True)
    local, ledger = (
        LocalRecords(form.interface, dict(list(records.items())[:60])),
        Ledger(form),
    )
    policy, rng = Newest(), np.random.default_rng(0)
    turn = HarvestRound(policy, local, ledger)
    while (choice := policy.next(local, ledger, rng)) is not None:
        assert policy.next(local, ledger, rng) == choice
        turn.carry_out(choice)
    assert len(local) == 100


@pytest.mark.parametrize("cap", [None, 30])
def test_reading_the_newest_ends_where_results_do(cap):
    records = cars(100)
    form = behind(records, newest=True, everything=True, cap=cap)
    local, ledger = LocalRecords(form.interface, {}), Ledger(form)
    policy, rng = Newest(), np.random.default_rng(0)
    turn = HarvestRound(policy, local, ledger)
    while turn.step(rng) is not None:
        assert ledger.requests <= 20
    assert len(local) == (cap or 100)


def test_records_missing_from_all_that_joins_their_attributes_are_asked_for_apart():
    records = {str(i): {"city": "Oslo", "price": 15.0} for i in range(3)}
    form = behind({"0": records["0"]})
    doubts, ledger = AbsenceTracker(form.interface, records), Ledger(form)
    both = Query.of(Term("city", "Oslo"), Term("price", "10..20"))
    ledger.ask(both)
    doubts.update(ledger)
    asked = {both}
    while (check := doubts.check()) is not None:
        assert check.query not in asked
        asked.add(check.query)
        ledger.ask(check.query)
        doubts.update(ledger)
    assert doubts.absent() == {"1", "2"}


def test_a_check_that_is_cut_off_is_not_asked_for_again():
    records = {str(i): {"city": "Oslo", "price": float(i)} for i in range(40)}
    left = {key: row for key, row in records.items() if key != "3"}
    form = behind(left, cap=5)
    doubts, ledger = AbsenceTracker(form.interface, records), Ledger(form)
    ledger.ask(Query.of(Term("price", "3..4")))
    for _ in range(10):
        doubts.update(ledger)
        check = doubts.check()
        if check is None:
            return
        ledger.ask(check.query)
    pytest.fail("it asks for the same again and again")


def many(rome):
    """Return 1,170 records of Oslo, and so many of Rome."""
    cities = ["Oslo"] * 1170 + ["Rome"] * rome
    return {str(i): {"city": city} for i, city in enumerate(cities)}


def recovering(there, *, most=None):
    """Return a form, on account, and the search for what a copy of it lacks."""
    tracker, old = Tracker(), many(rome=30)
    tracker.take(Listing(0.0, old))
    attributes = (Attribute("city", "select", ("Oslo", "Rome", "Lima")),)
    form = behind(there, attributes=attributes, page_size=20, everything=True)
    ledger, held = Ledger(form, most), FormCopy.of(tracker.register())
    ledger.first(Query())
    return ledger, Recovery(ledger, held, FormWish("new"), 1.0, lambda _: None)


def test_missing_records_are_looked_for_where_they_must_be():
    ledger, recovery = recovering(many(rome=40))
    done = TurnResult(ledger.seen, stop=NOTHING_MORE)
    recovery.finish(done)
    assert {str(i) for i in range(1200, 1210)} <= ledger.seen.keys()
    # everything, three values, a second page; and a third, for nothing that was read
    # to its end says yet that numbers are right
    assert ledger.requests == 1 + 3 + 1 + 1
    assert done.stop == NOTHING_MORE
    assert done.reported == ReportedTotal(1.0, 1210)


def test_missing_records_of_a_value_that_nobody_knows_are_looked_for_everywhere():
    there = {**many(rome=30), **{f"new{i}": {"city": "Bari"} for i in range(5)}}
    ledger, recovery = recovering(there)
    done = TurnResult(ledger.seen, stop=NOTHING_MORE)
    recovery.finish(done)
    assert ledger.seen == there
    assert done.stop == NOTHING_MORE


@pytest.mark.parametrize("most", [5, 9, 30])
def test_a_search_that_is_cut_short_goes_on_from_there(most):
    there = {**many(rome=30), **{f"new{i}": {"city": "Bari"} for i in range(5)}}
    ledger, recovery = recovering(there, most=most)
    done = TurnResult(ledger.seen, stop=NOTHING_MORE)
    recovery.finish(done)
    assert done.stop == SPENT
    search = done.search
    for _ in range(60):
        if search is None:
            break
        kept, records = json.loads(json.dumps(write_crawl(search))), search.records
        ledger, recovery = recovering(there, most=most)
        recovery.search = read_crawl(kept, records)
        with suppress(BudgetSpent):
            recovery.go_on()
        search = recovery.search
    assert search is None
    assert recovery.report is not None
