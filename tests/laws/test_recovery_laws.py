"""Records that a form reports and that are missing: how many, and where they are."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, strategies as st

from halflife.core.errors import SourceError
from halflife.core.forms import Attribute, Interface, Query, Term
from halflife.queries.form_copy import FormCopy, FormWish
from halflife.queries.frontier import CrawlState
from halflife.queries.ledger import Ledger
from halflife.queries.recovery import (
    NOTHING_MORE,
    SPENT,
    Recovery,
    choices,
    search_ahead,
)
from halflife.queries.reported_total import (
    ReportedTotal,
    at_least,
    missing_of_value,
    reported_records,
)
from halflife.queries.table_form import TableForm
from halflife.queries.turn_result import TurnResult
from halflife.queries.unseen import UnseenRecords, estimate_overflow

CITY = Attribute("city", "select", ("Oslo", "Rome", "Lima"))
SIZE = Attribute("size", "select", ("s", "m"))
PRICE = Attribute("price", "range", cuts=(10,))
ALL = Query()
OSLO, ROME, LIMA = (Query.of(Term("city", city)) for city in CITY.values)
numbers = st.integers(0, 30)


def form_of(records, **interface):
    shape = {"attributes": (CITY,), "page_size": 4, **interface}
    return TableForm(Interface(**shape), records, rng=np.random.default_rng(0))


def rows(**cities):
    """Return so many records of each city."""
    return {
        f"{city}{i}": {"city": city, "size": "s", "price": 5.0}
        for city, n in cities.items()
        for i in range(n)
    }


# The report


@given(numbers, numbers, numbers, numbers, numbers)
def test_a_report_counts_what_is_missing_and_what_is_open(
    total, held, unfound, later, known
):
    report = ReportedTotal(1.0, total, unfound, "why", doubted=True)
    missing = total - held if total > held else 0
    assert report.missing(held) == missing
    assert report.open(held) == (missing - unfound if missing > unfound else 0)
    settled = report.after_full_read(held, "cut off", explained=known)
    if missing:
        some = min(known, missing)
        doubt = {"doubted": some < missing, "explained": some}
        assert settled == ReportedTotal(1.0, total, missing, "cut off", **doubt)
        assert settled.span(held) == (some, missing)
    else:
        assert settled == ReportedTotal(1.0, total)
    heard = report.with_total(2.0, later, held)
    left = min(unfound, max(later - held, 0))
    if left:
        assert heard == ReportedTotal(2.0, later, left, "why", doubted=True)
    else:
        assert heard == ReportedTotal(2.0, later)


def test_what_is_missing_is_said_with_its_reason_once_all_was_read():
    said = "it reports 9 records, 6 are held"
    assert ReportedTotal(0.0, 9, 3, "cut off").words(6) == f"{said}: cut off"
    assert ReportedTotal(0.0, 9, 2, "cut off").words(6) == said  # one is still open
    assert ReportedTotal(0.0, 9, 3).words(6) == said
    assert ReportedTotal(0.0, 9, 3, "cut off").words(9) == ""
    assert ReportedTotal(0.0, 9, 3, "cut off").words(10) == ""


def test_a_number_of_hits_proves_as_much_as_it_is_worth():
    assert at_least("exact", 106) == at_least("capped", 106) == 106
    assert at_least("rounded", 106) == 100  # off by 6 % at most
    assert at_least("none", 106) is None
    assert at_least("exact", None) is None
    assert at_least("rounded", None) is None
    assert at_least("exact", 0) == 0


def test_a_value_lacks_what_is_reported_and_neither_held_nor_shown():
    there = rows(Oslo=9, Rome=3)
    ledger = Ledger(form_of(there))
    held = {key: there[key] for key in ("Oslo0", "Oslo1", "Rome0", "Rome1", "Rome2")}
    assert missing_of_value(ledger, OSLO, held) == 0  # it was not asked for
    first = ledger.ask(OSLO)
    known = {"Oslo0", "Oslo1"} | set(first.records)
    assert missing_of_value(ledger, OSLO, held) == 9 - len(known) > 0
    assert (
        missing_of_value(ledger, OSLO, {}) == 0
    )  # no record shows how it is asked for
    ledger.ask(ROME)
    assert missing_of_value(ledger, ROME, held) == 0
    more = {**held, "gone": {"city": "Rome"}}
    assert missing_of_value(ledger, ROME, more) == 0  # more are held than reported
    quiet = Ledger(form_of(there, counts="none"))
    quiet.ask(OSLO)
    assert missing_of_value(quiet, OSLO, held) == 0


def test_the_number_for_everything_is_what_is_reported():
    there = rows(Oslo=9, Rome=3)
    ledger = Ledger(form_of(there, everything=True))
    ledger.ask(OSLO)
    held = {"Oslo0": there["Oslo0"]}
    assert reported_records(ledger, held) is None  # it is to be asked for
    ledger.ask(Query())
    assert reported_records(ledger, held) == 12


def test_without_it_the_attribute_whose_values_lack_most_tells():
    there = rows(Oslo=9, Rome=7)
    for i, row in enumerate(there.values()):
        row["size"] = "sm"[i % 2]
    shape = {"attributes": (CITY, SIZE, PRICE), "page_size": 1}
    ledger = Ledger(form_of(there, **shape))
    held = {key: there[key] for key in ("Oslo0", "Oslo1", "Rome0", "Rome1")}
    small = Query.of(Term("size", "s"))
    for query in (OSLO, ROME, small, Query.of(Term("price", "..10"))):
        ledger.ask(query)
    ledger.ask(Query.of(Term("city", "Oslo"), Term("size", "m")))
    lacks = {
        query: missing_of_value(ledger, query, held) for query in (OSLO, ROME, small)
    }
    assert lacks[OSLO] + lacks[ROME] > lacks[small] > 0
    assert reported_records(ledger, held) == 4 + lacks[OSLO] + lacks[ROME]
    one = Ledger(form_of(there, **shape))
    one.ask(small)
    assert reported_records(one, held) == 4 + missing_of_value(one, small, held)
    assert reported_records(Ledger(form_of(there, **shape)), held) is None
    whole = Ledger(form_of(there, **{**shape, "page_size": 20}))
    whole.ask(OSLO)
    assert reported_records(whole, there) is None  # nothing is lacking


# Values of a choice


def test_the_values_of_a_choice_are_known_if_every_record_shows_one():
    known = {Term("city", city) for city in (*CITY.values, "Bari")}
    assert choices(CITY, {"a": {"city": "Bari"}, "b": {"city": "Oslo"}}) == known
    assert choices(CITY, {"a": {"city": "Bari"}, "b": {}}) == set()
    assert choices(CITY, {}) == {Term("city", city) for city in CITY.values}


# The search


def held_of(records, **more):
    first = dict.fromkeys(records, 0.0)
    return FormCopy(records, first, first, [], 0.0, 0.0, **more)


def searching(there, held, *, most=None, purpose="new", asks=(ALL,), **shape):
    """Return a search, and its ledger after these queries were asked."""
    form = form_of(there, **{"everything": True, **shape})
    ledger = Ledger(form, most)
    for query in asks:
        ledger.first(query)
    if not isinstance(held, FormCopy):
        held = held_of(held)
    begun = []
    found = Recovery(ledger, held, FormWish(purpose), 5.0, begun.append)
    return ledger, found, begun


def finished(ledger, recovery, stop=NOTHING_MORE, absent=frozenset()):
    done = TurnResult(ledger.seen, stop=stop, absent=absent)
    recovery.finish(done)
    return done


def test_nothing_is_looked_for_where_nothing_is_missing():
    there = rows(Oslo=9)
    ledger, recovery, begun = searching(there, there)
    done = finished(ledger, recovery)
    assert (ledger.requests, begun, done.stop) == (1, [], NOTHING_MORE)
    assert done.reported == ReportedTotal(5.0, 9)
    assert done.search is None


def test_a_request_tells_how_many_there_are_if_others_were_sent():
    there = rows(Oslo=9)
    # a turn that sent nothing sends nothing for this either
    ledger, recovery, _ = searching(there, there, asks=())
    assert finished(ledger, recovery).reported is None
    assert ledger.requests == 0
    ledger, recovery, _ = searching(there, there, asks=(ROME,))
    assert finished(ledger, recovery).reported == ReportedTotal(5.0, 9)
    assert ledger.requests == 2
    # known records are refreshed without knowing that, and forms may not tell
    for more in (
        {"purpose": "known"},
        {"counts": "none"},
        {"everything": False, "asks": (ROME,)},
    ):
        ledger, recovery, _ = searching(there, there, **{"asks": (ROME,), **more})
        assert finished(ledger, recovery).reported is None
        assert ledger.requests == 1
    # nor while something else is worth more
    ledger, recovery, _ = searching(there, there, asks=(ROME,))
    assert finished(ledger, recovery, stop=SPENT).reported is None
    assert ledger.requests == 1


def test_who_refreshes_known_records_looks_for_no_others():
    ledger, recovery, begun = searching(
        rows(Oslo=9), rows(Oslo=4), purpose="known"
    )  # fmt: skip
    done = finished(ledger, recovery)
    assert (ledger.requests, begun) == (1, [])
    assert done.stop == NOTHING_MORE
    assert done.reported == ReportedTotal(5.0, 9)


def test_a_turn_that_was_cut_short_looks_for_nothing_more():
    ledger, recovery, begun = searching(rows(Oslo=9), rows(Oslo=4))
    done = finished(ledger, recovery, stop=SPENT)
    assert (ledger.requests, begun, done.stop) == (1, [], SPENT)


def test_what_has_gone_is_not_held():
    # nine are reported, and nine are held, of which one has gone
    there = rows(Oslo=8, Rome=1)
    old = {**rows(Oslo=8), "gone": {"city": "Oslo"}}
    ledger, recovery, _ = searching(there, old)
    done = finished(ledger, recovery, absent=frozenset({"gone"}))
    assert "Rome0" in ledger.seen
    assert done.stop == NOTHING_MORE


def test_only_the_values_that_lack_something_are_read():
    there, old = rows(Oslo=40, Rome=30), rows(Oslo=40, Rome=22)
    ledger, recovery, begun = searching(there, old, page_size=4)
    done = finished(ledger, recovery)
    assert there.keys() <= {**old, **ledger.seen}.keys()
    # everything, three values, and the other seven pages of Rome
    assert ledger.requests == 1 + 3 + 7
    assert [[str(part.query) for part in walk.so_far().left] for walk in begun] == [[]]
    assert done.stop == NOTHING_MORE


@pytest.mark.parametrize(
    ("old", "most", "tried"),
    [
        (12, None, True),  # three pages of records, and three values
        (4, None, False),  # two pages, with what everything has shown
        (12, 7, True),  # half of six that are left
        (12, 6, False),
    ],
)
def test_values_are_tried_only_if_they_are_few(old, most, tried):
    there = rows(Oslo=20, Rome=1)
    held = {**rows(Oslo=old - 1), "Rome0": there["Rome0"]}
    ledger, recovery, _ = searching(there, held, most=most)
    finished(ledger, recovery)
    assert (LIMA in ledger.asked) is tried


def test_where_values_do_not_tell_everything_is_read():
    # Bari is a value that nobody knows
    there = {**rows(Oslo=20), **rows(Bari=9)}
    ledger, recovery, begun = searching(there, rows(Oslo=20))
    done = finished(ledger, recovery)
    assert there.keys() <= {**rows(Oslo=20), **ledger.seen}.keys()
    assert len(begun) == 1
    assert done.stop == NOTHING_MORE
    # a choice is tried also if something else comes before it
    ledger, recovery, _ = searching(
        rows(Oslo=23), rows(Oslo=20), attributes=(PRICE, CITY)
    )  # fmt: skip
    finished(ledger, recovery)
    assert LIMA in ledger.asked
    # what is a range, and no choice, is not tried
    ledger, recovery, _ = searching(
        rows(Oslo=23), rows(Oslo=20), attributes=(PRICE,)
    )  # fmt: skip
    finished(ledger, recovery)
    assert {**rows(Oslo=20), **ledger.seen}.keys() == rows(Oslo=23).keys()
    assert {str(query) for query in ledger.asked} == {"everything"}


def test_what_is_reported_and_never_shown_is_said_to_be_unfound():
    # the form shows four of a query, and nothing tells these apart
    there = rows(Oslo=9)
    ledger, recovery, _ = searching(there, {}, cap=4)
    done = finished(ledger, recovery)
    assert done.reported is not None
    assert (done.reported.total, done.reported.unfound) == (9, 5)
    assert not done.reported.doubted  # results were cut off
    assert done.stop.startswith("it reports 9 records, 4 are held: ")
    assert done.search is None
    # it is not tried again
    held = held_of(dict(ledger.seen), reported=done.reported)
    ledger, recovery, begun = searching(there, held, cap=4)
    again = finished(ledger, recovery)
    assert (ledger.requests, begun) == (1, [])
    assert again.reported == done.reported
    assert again.stop == done.stop


class Shifty(TableForm):
    """A form that counts one record more than it shows."""

    def _count(self, query, hits):
        return hits + 1


def test_a_number_that_is_too_high_is_doubted_where_nothing_is_cut_off():
    there = rows(Oslo=12)
    shape = Interface((CITY,), page_size=4, everything=True)
    ledger = Ledger(Shifty(shape, there, rng=np.random.default_rng(0)))
    ledger.first(Query())
    begun = []
    recovery = Recovery(ledger, held_of(there), FormWish("new"), 5.0, begun.append)
    done = finished(ledger, recovery)
    assert done.reported is not None
    assert (done.reported.total, done.reported.unfound) == (13, 1)
    assert done.reported.doubted
    assert len(begun) == 2  # where it must be, and then everywhere


@pytest.mark.parametrize("most", [1, 2, 3])
def test_a_search_that_is_cut_short_is_handed_on(most):
    there = {**rows(Oslo=20), **rows(Bari=3)}
    ledger, recovery, begun = searching(there, rows(Oslo=20), most=most)
    done = finished(ledger, recovery)
    assert done.stop == SPENT
    assert done.trouble == ""
    assert done.search is not None
    assert done.search.left
    assert len(begun) == 1
    known = {**rows(Oslo=20), **ledger.seen}
    held = held_of(known, search=done.search, reported=done.reported)
    later, going, begun = searching(there, held, asks=())
    going.go_on()
    assert len(begun) == 1
    assert going.search is None
    assert later.seen.keys() | known.keys() >= there.keys()
    # who refreshes known records does not go on with it
    _, other, begun = searching(there, held, asks=(), purpose="known")
    other.go_on()
    assert (begun, other.search) == ([], None)


def test_a_search_goes_on_where_the_form_has_stopped_to_count():
    there = rows(Oslo=9)
    held = held_of(rows(Oslo=4), search=CrawlState.of_nothing())
    ledger, recovery, begun = searching(there, held, asks=(), counts="none")
    recovery.go_on()
    assert (len(begun), recovery.search, recovery.report) == (1, None, None)
    assert ledger.seen.keys() == there.keys()


class Broken(TableForm):
    """A form that answers three times."""

    answers = 3

    def ask(self, query, page=0, *, newest=False):
        self.answers -= 1
        if self.answers < 0:
            raise SourceError("it is down")
        return super().ask(query, page, newest=newest)


def test_a_form_that_fails_during_the_search_is_named():
    there = {**rows(Oslo=20), **rows(Bari=3)}
    shape = Interface((PRICE,), page_size=4, everything=True)
    ledger = Ledger(Broken(shape, there, rng=np.random.default_rng(0)))
    ledger.first(Query())
    recovery = Recovery(
        ledger, held_of(rows(Oslo=20)), FormWish("new"), 5.0, lambda _: None
    )  # fmt: skip
    done = finished(ledger, recovery)
    assert done.stop == done.trouble == "it is down"
    assert done.search is not None


@pytest.mark.parametrize("purpose", ["new", "known"])
def test_refuted_numbers_prove_nothing_and_everything_is_looked_for_again(purpose):
    there = rows(Oslo=5)
    ledger = Ledger(form_of(there))
    recovery = Recovery(ledger, held_of(there), FormWish(purpose), 5.0, lambda _: None)
    recovery.report = ReportedTotal(4.0, 9)
    ledger.trust.refuted = "Oslo: 9 were told, 5 there"
    done = finished(ledger, recovery, stop="spent")
    assert done.reported is None
    if purpose == "known":  # whom new records do not concern
        assert done.search is None
        assert done.unseen == recovery.unseen
        return
    likely, most = estimate_overflow([5])
    assert done.unseen == UnseenRecords(likely, most, 1)
    assert done.search.records == there
    before = Recovery(ledger, held_of(there), FormWish(purpose), 5.0, lambda _: None)
    before.search = replace(CrawlState.of_nothing(), records={})
    again = finished(ledger, before, stop="spent")
    assert again.search.records == {}  # what was begun goes on


# What lies ahead


@pytest.mark.parametrize(
    ("total", "unfound", "pages"), [(13, 0, 4), (12, 0, 3), (13, 1, 4), (1, 0, 1)]
)
def test_a_search_is_foretold_with_its_pages_and_what_it_may_bring(
    total, unfound, pages
):
    shape = Interface((CITY,), page_size=4)
    held = held_of(
        rows(Oslo=min(total, 8) - 1), reported=ReportedTotal(0.0, total, unfound)
    )
    missing = total - len(held.records) - unfound
    (step,) = search_ahead(held, shape)
    assert step.what == "everything, query by query"
    assert step.requests == pages
    assert step.gain == pytest.approx(365.0 * missing / pages)
    assert step.why == f"{missing} more records are reported than are held"


def test_no_search_is_foretold_where_nothing_is_open():
    shape = Interface((CITY,), page_size=4)
    assert search_ahead(held_of(rows(Oslo=3)), shape) == []
    for report in (
        ReportedTotal(0.0, 3),
        ReportedTotal(0.0, 2),
        ReportedTotal(0.0, 5, 2),
    ):
        assert search_ahead(held_of(rows(Oslo=3), reported=report), shape) == []
