"""How the answers of a form are read, counted, written down and gone on with."""

import json
import math

import numpy as np
import pytest

from halflife.core.errors import BudgetSpent, SourceError
from halflife.core.forms import Attribute, Interface, Query, ResultPage, Term
from halflife.core.object_store import NEVER, Register, Snapshot, Spell, Version
from halflife.queries.completeness import PartialAnswer, QueryAnswer, QueryReader
from halflife.queries.doubt import AbsenceCheck, AbsenceTracker
from halflife.queries.faulty_form import FaultyForm, FormFaults
from halflife.queries.first_crawl import (
    UNREAD,
    crawl_ahead,
    describe_crawl,
    first_crawl,
    start_crawl,
)
from halflife.queries.form_copy import FormCopy, FormWish
from halflife.queries.form_facts import FormFacts, FormFinding
from halflife.queries.frontier import CrawlPart, CrawlState, read_crawl, write_crawl
from halflife.queries.known.content import measure
from halflife.queries.ledger import Ledger
from halflife.queries.local import Counter, LocalRecords, Origin
from halflife.queries.random_check import CHECKED
from halflife.queries.reported_total import ReportedTotal
from halflife.queries.table_form import TableFaults, TableForm
from halflife.queries.unseen import UnseenRecords

CITY, TITLE = Attribute("city", "select"), Attribute("title", "keyword")
PRICE = Attribute("price", "range", cuts=(10.0, 20.0))


def one(attribute, value):
    return Query.of(Term(attribute, value))


OSLO, ROME = one("city", "Oslo"), one("city", "Rome")


def records(sizes, **more):
    return {
        f"{city}{i}": {"city": city, **more}
        for city, size in sizes.items()
        for i in range(size)
    }


def form_of(held, *attributes, faults=None, **interface):
    shape = Interface(attributes or (CITY,), **{"page_size": 5, **interface})
    return TableForm(shape, held, rng=np.random.default_rng(0), faults=faults)


# the ledger


def test_a_ledger_writes_down_what_it_asked():
    form = form_of(records({"Oslo": 7, "Rome": 2}), lookup=True)
    ledger = Ledger(form, 5)
    assert (ledger.left, Ledger(form).left) == (5, None)
    second = ledger.ask(OSLO, 1)
    assert (len(second.records), ledger.totals, ledger.finished) == (2, {}, set())
    newest = ledger.ask(OSLO, newest=True)
    assert ledger.totals == {OSLO: 7}
    assert len(newest.records) == 5
    first = ledger.first(OSLO)
    assert first is ledger.first(OSLO)  # newest first was another order
    assert (ledger.requests, ledger.returned, ledger.left) == (3, 12, 2)
    ledger.first(ROME)
    assert ledger.finished == {ROME}
    assert list(ledger.asked) == [OSLO, ROME]
    assert len(ledger.shown[OSLO]) == 7
    assert len(ledger.seen) == 9
    ledger.fetch("nobody")
    assert (ledger.looked_up, ledger.left) == ({"nobody"}, 0)
    for more in (lambda: ledger.ask(OSLO), lambda: ledger.fetch("Oslo0")):
        with pytest.raises(BudgetSpent, match="all 5 requests are spent"):
            more()
    assert ledger.requests == 5


def test_asking_ends_when_somebody_says_so_and_troubles_are_kept():
    stop = []
    form = form_of(records({"Oslo": 7}))
    ledger = Ledger(form, stopped=lambda: bool(stop))
    ledger.check_stop()
    ledger.ask(OSLO)
    stop.append(True)
    for more in (ledger.check_stop, lambda: ledger.ask(OSLO)):
        with pytest.raises(BudgetSpent, match="stopped"):
            more()
    failing = Ledger(FaultyForm(form, FormFaults(fails=1)))
    assert failing.trouble == ""
    with pytest.raises(SourceError):
        failing.ask(OSLO)
    assert (failing.trouble, failing.requests) == ("the form failed", 0)


@pytest.mark.parametrize(
    ("cap", "most", "begin", "asked", "finished"),
    [
        (None, None, 0, 5, True),
        (None, 4, 0, 4, False),
        (None, 5, 0, 5, True),
        (None, 1, 0, 1, False),
        (None, None, 2, 3, False),
        (None, 4, 2, 2, False),
        (12, None, 0, 3, True),
        (12, 2, 0, 2, False),
        (12, 3, 0, 3, True),
        (12, None, 1, 2, False),
    ],
)
def test_pages_are_read_to_the_end_the_cap_or_the_limit(
    cap, most, begin, asked, finished
):
    form = form_of(records({"Oslo": 23}), cap=cap)
    ledger = Ledger(form)
    pages = list(ledger.pages(OSLO, most, begin=begin))
    assert (len(pages), ledger.requests) == (asked, asked)
    assert (OSLO in ledger.finished) is finished
    keys = [key for page in pages for key in page.records]
    whole = [key for p in range(5) for key in form.ask(OSLO, p).records]
    assert keys == whole[5 * begin : 5 * (begin + asked)]


@pytest.mark.parametrize(
    ("most", "begin", "asked", "finished"),
    [(None, 0, 3, True), (3, 0, 3, True), (2, 0, 2, False), (None, 1, 2, False)],
)
def test_a_form_that_always_has_more_ends_at_its_cap(most, begin, asked, finished):
    form = form_of(records({"Oslo": 23}), cap=12)
    ledger = Ledger(FaultyForm(form, FormFaults(stuck=True)))
    assert len(list(ledger.pages(OSLO, most, begin=begin))) == asked
    assert (OSLO in ledger.finished) is finished


@pytest.mark.parametrize(
    ("counts", "cap", "told", "shown", "whole"),
    [
        ("exact", None, 4, 4, True),
        ("exact", None, 5, 4, False),
        ("exact", None, None, 4, True),
        ("exact", 5, 4, 4, True),
        ("exact", 4, 4, 4, False),
        ("exact", 3, 4, 4, False),
        ("rounded", None, 9, 4, True),
        ("none", None, None, 4, True),
    ],
)
def test_an_answer_is_whole_if_it_ended_before_the_cap_with_all_that_was_counted(
    counts, cap, told, shown, whole
):
    ledger = Ledger(form_of({}, counts=counts, cap=cap))
    ledger.shown[OSLO] = {f"k{i}" for i in range(shown)}
    ledger.totals[OSLO] = told
    assert not ledger.whole(OSLO)
    ledger.finished.add(OSLO)
    assert ledger.whole(OSLO) is whole
    ledger.finished.add(ROME)  # an end without a page: nothing was shown
    assert ledger.whole(ROME)


# the reader


@pytest.mark.parametrize(
    ("counts", "cap", "most", "total", "over"),
    [
        ("exact", None, 50, 50, False),
        ("exact", None, 50, 51, True),
        ("exact", 40, 50, 41, True),
        ("exact", 40, 50, 40, False),
        ("exact", 60, 50, 51, True),
        ("rounded", None, 50, 53, False),
        ("rounded", None, 50, 54, True),
        ("capped", 40, 10, 39, False),
        ("capped", 40, 10, 40, True),
        ("capped", None, 10, 99, False),
        ("none", 40, 10, 99, False),
        ("exact", None, None, 10**9, False),
        ("exact", 40, 10, None, False),
    ],
)
def test_a_number_alone_says_that_there_is_too_much(counts, cap, most, total, over):
    reader = QueryReader(Ledger(form_of({}, counts=counts, cap=cap)), most)
    assert reader._overflows(ResultPage({}, total)) is over


@pytest.mark.parametrize(
    ("form", "most", "wanted"),
    [
        (("exact", None, 12), None, (True, 3, 12)),
        (("exact", None, 10), 10, (True, 3, 10)),  # only a number says that it ends
        (("exact", None, 11), 10, (False, 1, 5)),
        (("exact", 10, 10), None, (False, 2, 10)),  # counting may stop at the cap
        (("exact", 10, 11), None, (False, 1, 5)),
        (("none", None, 10), 10, (True, 2, 10)),
        (("none", None, 11), 10, (False, 2, 10)),
        (("none", 10, 10), None, (False, 2, 10)),  # there may be more than the cap
        (("none", 10, 9), None, (True, 2, 9)),
        (("none", None, 12), None, (True, 3, 12)),
        (("capped", 10, 9), None, (True, 2, 9)),
        (("capped", 10, 10), None, (False, 1, 5)),
    ],
)
def test_a_query_is_read_as_far_as_it_may_be_whole(form, most, wanted):
    (counts, cap, hits), (whole, requests, shown) = form, wanted
    form = form_of(records({"Oslo": hits}), counts=counts, cap=cap)
    ledger = Ledger(form)
    reader = QueryReader(ledger, most)
    assert reader.known(OSLO) is None
    found = reader.read(OSLO)
    assert (found.whole, ledger.requests) == (whole, requests)
    assert len(found.records) == shown
    assert found.total == (hits if counts == "exact" else None)
    assert reader.read(OSLO) is reader.known(OSLO) is found
    assert ledger.requests == requests


def test_an_answer_with_fewer_records_than_counted_is_not_whole():
    form = form_of(records({"Oslo": 12}), faults=TableFaults(unstable=True))
    found = QueryReader(Ledger(form)).read(OSLO)
    assert len(found.records) < 12
    assert (found.whole, found.total) == (False, 12)


def test_what_cannot_be_asked_overflows():
    form = form_of(records({"Oslo": 2}, title="red"), CITY, TITLE, together=1)
    ledger = Ledger(form)
    reader = QueryReader(ledger)
    both = Query.of(Term("city", "Oslo"), Term("title", "red"))
    assert [reader.answers(q) for q in (Query(), OSLO, both)] == [False, True, False]
    for query in (Query(), both):
        assert reader.read(query) == QueryAnswer({}, whole=False)
        assert reader.reach(query) == QueryAnswer({}, whole=False)
    assert ledger.requests == 0
    wide = form_of({}, CITY, TITLE, together=2, everything=True)
    assert all(QueryReader(Ledger(wide)).answers(q) for q in (Query(), OSLO, both))


def test_reading_goes_on_after_the_pages_that_were_read():
    form = form_of(records({"Oslo": 12}))
    pages = [form.ask(OSLO, p).records for p in range(3)]
    begun = PartialAnswer(OSLO, 5, 2, {**pages[0], **pages[1]}, 12)
    ledger = Ledger(form)
    found = QueryReader(ledger, begun=begun).read(OSLO)
    assert (found.whole, len(found.records), ledger.requests) == (True, 12, 1)
    # a page number means something else where pages have another length
    other = PartialAnswer(OSLO, 4, 2, {**pages[0]}, 12)
    ledger = Ledger(form)
    found = QueryReader(ledger, begun=other).read(OSLO)
    assert (found.whole, ledger.requests) == (True, 3)
    # another query, or none read, is begun anew
    for begun in (
        PartialAnswer(ROME, 5, 2, dict(pages[0]), 12),
        PartialAnswer(OSLO, 5),
    ):
        ledger = Ledger(form)
        assert QueryReader(ledger, begun=begun).read(OSLO).whole
        assert ledger.requests == 3


def test_what_was_begun_tells_how_far_it_came():
    form = form_of(records({"Oslo": 12}))
    reader = QueryReader(Ledger(form, 2))
    with pytest.raises(BudgetSpent):
        reader.read(OSLO)
    begun = reader.begun
    assert (begun.query, begun.pages, begun.page_size) == (OSLO, 2, 5)
    assert (len(begun.records), begun.total) == (10, 12)


@pytest.mark.parametrize(
    ("cap", "hits", "requests", "shown"),
    [(None, 23, 5, 23), (12, 23, 3, 12), (5, 23, 1, 5)],
)
def test_all_that_can_be_reached_of_a_query_is_read(cap, hits, requests, shown):
    form = form_of(records({"Oslo": hits}), cap=cap)
    ledger = Ledger(form)
    reader = QueryReader(ledger, 5)
    assert not reader.read(OSLO).whole
    assert ledger.requests == 1
    found = reader.reach(OSLO)
    assert (len(found.records), ledger.requests) == (shown, requests)
    assert (found.whole, found.total) == (False, hits)
    assert reader.known(OSLO) is found


def test_what_was_reached_to_the_cap_is_not_asked_for_again():
    form = form_of(records({"Oslo": 23}), cap=12, counts="none")
    ledger = Ledger(form)
    reader = QueryReader(ledger)
    found = reader.read(OSLO)  # three pages show as many as the cap
    assert (found.whole, len(found.records), ledger.requests) == (False, 12, 3)
    again = reader.reach(OSLO)
    assert (again.records, ledger.requests) == (found.records, 3)


# doubts


def test_the_check_is_the_query_that_settles_most_for_a_request():
    form = Interface((CITY, Attribute("make", "select"), TITLE), page_size=2)
    copy = {
        f"k{i}": {"city": "Oslo", "make": f"m{i % 2}", "title": f"red w{i}"}
        for i in range(5)
    }
    table = TableForm(form, {"k0": copy["k0"]}, rng=np.random.default_rng(0))
    ledger = Ledger(table)
    doubts = AbsenceTracker(form, copy)
    list(ledger.pages(OSLO))
    doubts.update(ledger)
    assert doubts.suspects() == ["k1", "k2", "k3", "k4"]
    # red: 5 records, 3 pages, settles 4; m0: 3 records, 2 pages, settles 2;
    # m1: 2 records, 1 page, settles 2; a word of one record settles it for 1 page
    assert doubts.check() == AbsenceCheck(one("make", "m1"), 1, 2)
    list(ledger.pages(one("make", "m1")))
    doubts.update(ledger)
    assert doubts.absent() == {"k1", "k3"}
    assert doubts.suspects() == ["k2", "k4"]
    # red still takes three pages for two; of equals the narrowest query is kept
    rare = Query.of(Term("make", "m0"), Term("title", "red"), Term("title", "w2"))
    assert doubts.check() == AbsenceCheck(rare, 1, 1)


def missed(form, copy, *queries, now=()):
    """Return doubts after some queries of a form that has only some of the copy."""
    held = {key: copy[key] for key in now}
    ledger = Ledger(TableForm(form, held, rng=np.random.default_rng(0)))
    doubts = AbsenceTracker(form, copy)
    for query in queries:
        list(ledger.pages(query))
    doubts.update(ledger)
    return doubts, ledger


def test_what_settles_many_is_worth_more_pages():
    form = Interface((CITY, Attribute("make", "select")), page_size=2)
    copy = {f"k{i}": {"city": "Oslo", "make": "m"} for i in range(3)}
    copy |= {f"r{i}": {"city": "Rome", "make": "m"} for i in range(2)}
    doubts, _ = missed(form, copy, OSLO)
    # five records are three pages, and settle all three that are in doubt
    assert doubts.check() == AbsenceCheck(one("make", "m"), 3, 3)


def test_a_term_tells_if_its_attribute_is_not_in_some_query_that_was_missed():
    form = Interface((CITY, Attribute("make", "select"), TITLE), page_size=2)
    copy = {"a": {"city": "Oslo", "make": "m", "title": "red old"}}
    city, make, red = Term("city", "Oslo"), Term("make", "m"), Term("title", "red")
    doubts, _ = missed(form, copy, Query.of(city, make), Query.of(city, red))
    assert doubts.suspects() == ["a"]
    assert [t.attribute for t in doubts._open("a")] == ["make", "title", "title"]
    # all attributes were used: each of its terms alone is a beginning
    every, _ = missed(form, copy, Query.of(city, make, red))
    assert len(every._open("a")) == 4
    assert every.check() == AbsenceCheck(Query.of(city), 1, 1)
    more = {"b": {"city": "Oslo", "make": "n"}, "a": {"city": "Oslo", "make": "m"}}
    rarest, _ = missed(form, more, Query.of(city, make))
    assert rarest.check() == AbsenceCheck(Query.of(make), 1, 1)
    # terms of attributes that nothing was missed by are joined, three at most
    single, _ = missed(form, copy, OSLO)
    assert single.check().query == Query.of(make, red, Term("title", "old"))
    shy = Interface(form.attributes, page_size=2, together=2)
    two, _ = missed(shy, copy, OSLO)
    assert len(two.check().query) == 2


def test_a_record_is_gone_if_two_queries_without_a_common_attribute_lack_it():
    form = Interface((CITY, Attribute("make", "select"), TITLE), page_size=2)
    copy = {
        "a": {"city": "Oslo", "make": "m", "title": "red"},
        "b": {"city": "Oslo"},
        "c": {"city": "Oslo", "make": "m"},
    }
    make = one("make", "m")
    assert missed(form, copy, OSLO)[0].absent() == {"b"}
    assert missed(form, copy, OSLO, make)[0].absent() == {"a", "b", "c"}
    assert missed(form, copy, OSLO, make, now=["a"])[0].absent() == {"b", "c"}
    doubts, ledger = missed(form, copy, now=["b"])
    for key in ("a", "b", "nobody"):
        ledger.fetch(key)
    doubts.update(ledger)
    assert doubts.absent() == {"a"}
    ranged = Interface((PRICE, CITY), page_size=2)
    priced = {f"k{i}": {"price": 6.0 * i, "city": "Oslo"} for i in range(4)}
    doubts, _ = missed(ranged, priced, one("price", "5..13"))
    assert doubts.suspects() == ["k1", "k2"]
    known, _ = missed(ranged, priced, one("price", "10..20"))
    assert known.suspects() == ["k2", "k3"]


def test_a_query_that_was_read_in_vain_is_not_asked_for_again():
    form = Interface((CITY, Attribute("make", "select")), page_size=2, together=1)
    copy = {"a": {"city": "Oslo", "make": "m"}, "b": {"city": "Oslo", "make": "m"}}
    ledger = Ledger(TableForm(form, {}, rng=np.random.default_rng(0)))
    doubts = AbsenceTracker(form, copy)
    list(ledger.pages(OSLO))
    doubts.update(ledger)
    assert doubts.check() == AbsenceCheck(one("make", "m"), 1, 2)
    doubts._read.add(one("make", "m"))
    assert doubts.check() is None
    assert doubts.absent() == frozenset()
    list(ledger.pages(one("make", "m")))
    doubts.update(ledger)
    assert doubts.absent() == {"a", "b"}


# the copy


def spell(key, number=0, *, seen=(0.0, 9.0), gone=NEVER, missing=NEVER, **attributes):
    return Spell(key, number, -NEVER, *seen, gone, missing, attributes)


def test_a_copy_is_what_is_running_as_last_seen():
    register = Register(
        snapshots=[
            Snapshot(1.0, 3, complete=False),
            Snapshot(2.0, 3, note="read whole"),
            Snapshot(4.0, 3, complete=False, note="upkeep"),
            Snapshot(6.0, 3, valid=False),
            Snapshot(7.0, 3, note=CHECKED),
        ],
        spells=[
            spell("a", n=1, seen=(1.0, 8.0)),
            spell("b", n=1, seen=(2.0, 3.0), gone=5.0),
            spell("c", n=1, seen=(2.0, 4.0), missing=6.0),
            spell("b", 1, n=9, seen=(7.0, 8.0)),
            spell("d", n=1, seen=(2.0, 3.0), gone=7.0, missing=6.5),
        ],
        versions=[
            Version("a", 0, 3.0, {"n": 2}),
            Version("b", 0, 2.5, {"n": 5}),
            Version("a", 0, 4.0),
            Version("a", 0, 6.0, {"n": 4}),
        ],
    )
    held = FormCopy.of(register)
    assert held.records == {"a": {"n": 4}, "b": {"n": 9}}
    assert held.came == {"a": 1.0, "b": 7.0}
    assert held.seen == {"a": 8.0, "b": 8.0}
    assert list(held.gaps) == [
        ("a", 2.0, {"n": 1}, {"n": 2}),
        ("a", 3.0, {"n": 2}, {"n": 4}),
        ("a", 2.0, {"n": 4}, {"n": 4}),
        ("b", 1.0, {"n": 9}, {"n": 9}),
    ]
    assert (held.last, held.since, held.begun) == (4.0, 2.0, True)
    assert list(held.gone) == [(2.0, 3.0, 5.0), (2.0, 4.0, 6.0), (2.0, 3.0, 6.5)]
    # two came after the first crawl had ended at day 2 (one did), watched 2 days
    assert held.arrival == (1.5 / 2.0, 2.0)


def test_a_crawl_that_goes_on_is_no_beginning_of_upkeep():
    parts = [Snapshot(1.0, 3, complete=False), Snapshot(2.0, 3, complete=False)]
    held = FormCopy.of(Register(snapshots=parts, spells=[spell("a")]))
    assert (held.last, held.since, held.begun) == (2.0, NEVER, False)
    nothing = FormCopy.of(Register())
    assert (nothing.last, nothing.since) == (-NEVER, NEVER)
    assert (nothing.missing, nothing.unfound) == (0, 0)
    assert nothing.missing_span == (0.0, 0.0)
    noted = FormCopy.of(
        Register(snapshots=[Snapshot(3.0, 1, complete=False, note="x")])
    )
    assert noted.since == 3.0


def test_arrivals_are_counted_from_the_end_of_the_first_crawl_on():
    came = {"a": 5.0, "b": 5.0 + 1e-9, "c": 9.0}
    held = FormCopy(records({"Oslo": 3}), came, came, (), 13.0, since=5.0)
    assert held.arrival == (2.5 / 8.0, 8.0)
    short = FormCopy({}, {}, {}, (), 5.25, since=5.0)
    assert short.arrival == (0.5, 1.0)  # a day at least


def test_what_is_missing_is_what_is_reported_and_not_held():
    held = records({"Oslo": 7})
    plain = FormCopy(held, {}, {}, (), 1.0)
    assert (plain.missing, plain.unfound, plain.missing_span) == (0, 0, (0.0, 0.0))
    for told, doubted, wanted in (
        (ReportedTotal(1.0, 12, 3, "cut off"), False, (5, 3, (5, 5))),
        (ReportedTotal(1.0, 12, 3, "?", doubted=True), True, (5, 3, (2, 5))),
        (ReportedTotal(1.0, 9, 3, "?", doubted=True), True, (2, 2, (0, 2))),
        (ReportedTotal(1.0, 6, 3, "?", doubted=True), True, (0, 0, (0, 0))),
        (
            ReportedTotal(1.0, 12, 3, "?", doubted=True, explained=1),
            True,
            (5, 3, (3, 5)),
        ),
    ):
        one_ = FormCopy(held, {}, {}, (), 1.0, reported=told)
        assert told.doubted is doubted
        assert (one_.missing, one_.unfound, one_.missing_span) == wanted


def test_a_copy_to_refresh_knows_when_each_was_seen_and_how_it_moved():
    held = {"a": {"n": 4}, "b": {"n": 9}}
    gaps = [("b", 2.0, {"n": 1}, {"n": 7}), ("a", 1.0, {"n": 4}, {"n": 4})]
    wish = FormWish(measure=measure("n"), weight=lambda r: float(r["n"]))
    copy = FormCopy(held, {}, {"b": 3.0, "a": 5.0}, gaps, 5.0).copy(wish, 6.0)
    assert copy.seen.tolist() == [5.0, 3.0]
    assert copy.weight.tolist() == [4.0, 9.0]
    assert copy.pace._days.tolist() == [1.0, 2.0]
    assert copy.pace._amount.tolist() == [0.0, 6.0]
    blank = FormCopy(held, {}, {"b": 3.0, "a": 5.0}, (), 5.0).copy(FormWish(), 6.0)
    assert not blank.pace.learned.any()
    local = FormCopy(held, {"a": 2.0}, {}, (), 5.0).local(Interface((Attribute("n"),)))
    assert local.recent(1.0).sum() == 1


# the first crawl


def crawl_of(left=(), unresolved=(), unproven=(), **more):
    shape = {"records": {}, "complete": False, "requests": 0, **more}
    parts = tuple(left)
    return CrawlState(unresolved=unresolved, unproven=unproven, left=parts, **shape)


def test_it_is_said_how_far_a_crawl_has_come():
    capped, free = form_of({}, cap=20).interface, form_of({}).interface
    assert describe_crawl(crawl_of(complete=True), free) == "everything was read"
    left = [CrawlPart(OSLO), CrawlPart(ROME)]
    assert describe_crawl(crawl_of(left), capped) == "2 queries left open"
    assert describe_crawl(crawl_of(left[:1]), capped) == "1 query left open"
    assert describe_crawl(crawl_of(), capped) == "all that it shows was read"
    some = crawl_of(unresolved=(OSLO, ROME), unproven=(OSLO, Query()))
    assert (
        describe_crawl(some, free)
        == "all queries were sent; 3 queries may have more than shown"
    )
    assert describe_crawl(some, capped).endswith(
        "3 queries may have more than shown (it shows 20 of a query at most)"
    )


def test_a_crawl_that_reads_everything_is_a_complete_look():
    form = form_of(records({"Oslo": 12}), everything=True)
    kept = first_crawl(start_crawl(Ledger(form), FormCopy.of(Register())), 3.0)
    assert (kept.complete, kept.left, kept.trouble) == (True, None, "")
    assert kept.records == form.records
    assert kept.stop == "everything was read"
    assert [(a.what, a.requests, a.gain, a.why) for a in kept.asked] == [
        ("everything", 1, 0.0, "the first crawl")
    ]
    assert [tuple(tried) for tried in kept.tried] == [("everything", 3, 12, 12, 12)]
    assert kept.reported == ReportedTotal(3.0, 12)
    nothing = form_of({}, everything=True)
    kept = first_crawl(start_crawl(Ledger(nothing), FormCopy.of(Register())))
    assert [tuple(tried) for tried in kept.tried] == [("everything", 1, 0, 0, 0)]
    full = form_of(records({"Oslo": 10}), everything=True)
    kept = first_crawl(start_crawl(Ledger(full), FormCopy.of(Register())))
    assert kept.tried[0].requests == 2


def test_a_crawl_in_turns_is_no_complete_look():
    form = form_of(records({"Oslo": 12}), everything=True)
    first = first_crawl(start_crawl(Ledger(form, 2), FormCopy.of(Register())), 3.0)
    assert (first.complete, first.stop) == (False, "1 query left open")
    assert first.left is not None
    assert first.reported == ReportedTotal(3.0, 12)
    held = FormCopy(first.records, {}, {}, (), 3.0, crawl=first.left)
    second = first_crawl(start_crawl(Ledger(form, 9), held), 4.0)
    assert (second.complete, second.left) == (False, None)
    assert second.stop == "everything was read"
    assert {*first.records, *second.records} == form.records.keys()


def test_what_is_reported_and_not_shown_is_told_once_all_was_read():
    held = records({"Oslo": 30})
    form = form_of(held, everything=True, cap=20)
    kept = first_crawl(start_crawl(Ledger(form), FormCopy.of(Register())), 3.0)
    assert kept.left is None
    assert (kept.reported.total, kept.reported.unfound) == (30, 10)
    assert kept.reported.doubted is False
    assert kept.stop.startswith(
        "it reports 30 records, 20 are held: all queries were sent"
    )


@pytest.mark.parametrize(
    ("counts", "luck", "known"),
    [("exact", 0.1, True), ("exact", 1.0, False), ("none", 0.1, False)],
)
def test_numbers_that_were_confirmed_say_how_many_are_not_seen(counts, luck, known):
    form = form_of(records({"Oslo": 30}), everything=True, cap=20, counts=counts)
    ledger = Ledger(form)
    ledger.trust.recall(luck)
    kept = first_crawl(start_crawl(ledger, FormCopy.of(Register())))
    assert kept.left is None
    assert (kept.unseen == UnseenRecords()) is known


def test_a_crawl_whose_numbers_are_refuted_begins_anew_and_keeps_what_it_found():
    held = records({"Oslo": 12})
    walk = start_crawl(Ledger(form_of(held, everything=True)), FormCopy.of(Register()))
    kept = {"old": {"city": "Rome"}}
    walk.records.update(kept)
    walk.words, walk._whole, walk.unproven = True, False, [OSLO]
    walk.ledger.trust.refuted = "Oslo: 99 were told, 12 there"
    walk._empty()
    assert (walk.words, walk._whole, walk._believed) == (False, True, False)
    assert walk.unproven == []
    assert walk.records == held | kept


def test_a_failure_that_cut_a_crawl_short_is_told():
    form = form_of(records({"Oslo": 12}), everything=True)
    failing = Ledger(FaultyForm(form, FormFaults(fails=2)))
    kept = first_crawl(start_crawl(failing, FormCopy.of(Register())))
    assert kept.trouble == "the form failed"
    assert kept.left is not None


def test_words_go_on_only_if_a_number_tells_when_they_are_done():
    held = {f"k{i}": {"title": f"red w{i} v{i % 7}"} for i in range(40)}
    for counts, goes_on in (("exact", True), ("none", False)):
        form = form_of(held, TITLE, cap=5, counts=counts, everything=True)
        ledger = Ledger(form, 8)
        kept = first_crawl(start_crawl(ledger, FormCopy.of(Register())))
        assert kept.complete is False
        assert (kept.left is not None) is goes_on


def test_the_plan_of_a_crawl_asks_last_parts_first_and_divided_ones_at_last():
    interface = form_of({}, page_size=7).interface
    parts = [CrawlPart(OSLO), CrawlPart(Query(), tried=("city",)), CrawlPart(ROME)]
    held = FormCopy(records({"Oslo": 1}), {}, {}, (), 1.0, crawl=crawl_of(parts))
    plan = crawl_ahead(held, interface)
    assert [step.what for step in plan] == ["city=Rome", "city=Oslo"]
    why = "the first crawl goes on; 1 record found so far"
    assert {tuple(step[1:]) for step in plan} == {(1, 7 * UNREAD, why)}
    divided = [CrawlPart(Query(), tried=("city",)), CrawlPart(OSLO, tried=("title",))]
    held = FormCopy({}, {}, {}, (), 1.0, crawl=crawl_of(divided))
    assert [step.what for step in crawl_ahead(held, interface)] == ["city=Oslo"]


@pytest.mark.parametrize(
    ("query", "pages", "total", "left"),
    [
        (OSLO, 3, 34, 4),  # of seven pages
        (OSLO, 7, 34, 1),
        (OSLO, 9, 34, 1),
        (OSLO, 3, None, 3),
        (OSLO, 0, None, 1),
        (ROME, 3, 34, 1),
    ],
)
def test_the_plan_counts_the_pages_that_are_left(query, pages, total, left):
    begun = PartialAnswer(query, 5, pages, {}, total)
    crawl = crawl_of([CrawlPart(OSLO)], begun=begun)
    held = FormCopy({}, {}, {}, (), 1.0, crawl=crawl)
    (step,) = crawl_ahead(held, form_of({}).interface)
    assert step.requests == left


# a crawl written down


def test_a_part_lacks_what_is_counted_and_not_found():
    for total, keys, lacks, full in (
        (None, 3, 0, False),
        (5, 3, 2, False),
        (3, 3, 0, True),
        (2, 3, 0, True),
    ):
        part = CrawlPart(OSLO, keys={f"k{i}" for i in range(keys)}, total=total)
        assert (part.lacks, part.full) == (lacks, full)


def test_a_crawl_comes_back_as_it_was_written():
    held = records({"Oslo": 3, "Rome": 1})
    above = CrawlPart(Query(), tried=("city",), terms={Term("city", "Oslo")}, total=9)
    below = CrawlPart(OSLO, above, keys={"Oslo0", "gone"}, total=4, failed=2)
    crawl = CrawlState(
        records=held,
        complete=False,
        unresolved=(ROME,),
        unproven=(OSLO,),
        requests=7,
        left=(above, below),
        stuck=(CrawlPart(ROME, below, failed=1),),
        words=True,
        total=9,
        reads={ROME: QueryAnswer({"Rome0": held["Rome0"]}, whole=True, total=1)},
        begun=PartialAnswer(OSLO, 5, 2, {"Oslo1": held["Oslo1"]}, 4),
        whole=False,
    )
    back = read_crawl(json.loads(json.dumps(write_crawl(crawl))), held)
    assert back.open == crawl.open == (Query(), OSLO)
    assert back.left[1].above is back.left[0]
    assert back.left[0].above is None
    assert back.left[0].tried == ("city",)
    assert back.left[0].terms == {Term("city", "Oslo")}
    assert (back.left[0].total, back.left[1].failed) == (9, 2)
    assert back.left[1].keys == {"Oslo0"}
    assert [(p.query, p.above, p.failed) for p in back.stuck] == [(ROME, None, 1)]
    assert (back.unresolved, back.unproven) == ((ROME,), (OSLO,))
    assert (back.words, back.whole, back.total) == (True, False, 9)
    assert back.reads == crawl.reads
    assert back.begun == crawl.begun
    fresh = read_crawl(json.loads(json.dumps(write_crawl(CrawlState.of_nothing()))), {})
    assert (fresh.begun, fresh.whole, fresh.complete) == (None, True, False)
    assert fresh.open == (Query(),)
    old = write_crawl(crawl)
    del old["whole"]
    assert read_crawl(old, held).whole is True


# what was found out about a form


@pytest.mark.parametrize(
    ("found", "claimed", "after"),
    [
        ("lying", "exact", "none"),
        ("none", "rounded", "none"),
        ("exact", "none", "none"),
        ("rounded", "none", "none"),
        ("rounded", "exact", "rounded"),
        ("capped", "exact", "capped"),
        ("exact", "rounded", "rounded"),
        ("unknown", "capped", "capped"),
        ("unknown", "exact", "exact"),
    ],
)
def test_the_weaker_of_claim_and_finding_holds_for_counts(found, claimed, after):
    interface = Interface((CITY,), counts=claimed)
    assert FormFacts(counts=found).interface(interface).counts == after


def test_claims_are_taken_back_where_they_were_found_wrong():
    bold = Interface(
        (CITY, TITLE), page_size=9, cap=50, together=4,
        everything=True, newest=True, lookup=True,
    )  # fmt: skip
    shy = Interface((CITY, TITLE), page_size=9, together=4)
    for name in ("everything", "newest", "lookup"):
        for verdict, kept in ((True, True), (None, True), (False, False)):
            found = FormFacts(**{name: verdict})
            assert getattr(found.interface(bold), name) is kept
            assert getattr(found.interface(shy), name) is False
    assert FormFacts(conjunctive=False).interface(bold).together == 1
    assert FormFacts(conjunctive=True).interface(bold).together == 4
    assert FormFacts(ignored=("city",)).interface(bold).attributes == (TITLE,)
    assert FormFacts(page_size=6).interface(bold).page_size == 6
    assert FormFacts(page_size=6, paged=False).interface(shy).cap == 6
    assert FormFacts(paged=True).interface(shy).cap is None
    assert FormFacts(cap=60).interface(bold).cap == 50
    row = FormFacts(requests=3, findings=(FormFinding("a", "b", "c"),)).row()
    assert row["requests"] == 3
    assert row["ignored"] == []
    assert row["findings"] == [{"what": "a", "verdict": "b", "why": "c"}]


# forms with troubles


def test_pages_overlap_only_where_there_is_a_page_before_and_one_now():
    form = form_of(records({"Oslo": 7}))
    troubled = FaultyForm(form, FormFaults(overlap=2))
    first, second = (list(form.ask(OSLO, p).records) for p in range(2))
    assert list(troubled.ask(OSLO, 1).records) == [*first[-2:], *second]
    assert troubled.ask(OSLO, 2).records == {}
    found = troubled.ask(OSLO, 1)
    assert (found.total, found.more, found.requests) == (7, False, 1)
    assert form.ask(OSLO, 2).records == {}
    plain = FaultyForm(form, FormFaults())
    assert list(plain.ask(OSLO, 1).records) == second


def test_newest_first_is_ignored_by_a_form_that_does_not_sort():
    dates = {f"Oslo{i}": float(i) for i in range(7)}
    shape = Interface((CITY,), page_size=5, newest=True, everything=True)
    form = TableForm(
        shape, records({"Oslo": 7}), rng=np.random.default_rng(0), dates=dates
    )
    sorted_ = list(form.ask(OSLO, newest=True).records)
    assert (
        list(FaultyForm(form, FormFaults()).ask(OSLO, newest=True).records) == sorted_
    )
    deaf = FaultyForm(form, FormFaults(unsorted=True))
    assert list(deaf.ask(OSLO, newest=True).records) == list(form.ask(OSLO).records)
    claims = Interface((CITY,), page_size=9)
    assert FaultyForm(form, FormFaults(), claims).interface is claims


@pytest.mark.parametrize(("size", "half"), [(1, 1), (2, 1), (5, 2), (6, 3)])
def test_terms_joined_by_or_take_half_a_page_each(size, half):
    held = records({"Oslo": 9}, title="red") | {
        f"b{i}": {"city": "Rome", "title": "blue"} for i in range(9)
    }
    form = form_of(held, CITY, TITLE, page_size=size, counts="none")
    troubled = FaultyForm(form, FormFaults(either=True))
    found = troubled.ask(Query.of(Term("city", "Oslo"), Term("title", "blue")))
    assert sum(key.startswith("Oslo") for key in found.records) == half
    assert sum(key.startswith("b") for key in found.records) == half
    assert (found.total, found.more) == (None, True)


# the local copy


def test_ranges_that_nobody_indexed_are_met_by_their_numbers():
    held = {f"k{i}": {"city": "Oslo", "price": 5.0 * i} for i in range(6)}
    local = LocalRecords(form_of({}, CITY, PRICE).interface, held)
    assert local.matching(one("price", "4..16")) == {"k1", "k2", "k3"}
    assert local.matching(one("price", "10..20")) == {"k2", "k3"}
    both = Query.of(Term("price", "4..16"), Term("city", "Oslo"))
    local.note_missing("k2")
    assert local.matching(both) == {"k1", "k3"}
    assert local.matching(Query()) == set(held) - {"k2"}
    assert local.matching(ROME) == set()
    assert len(local) == 6
    assert "k2" in local
    assert "x" not in local


def test_records_are_known_by_where_they_came_from():
    local = LocalRecords(form_of({}).interface, records({"Oslo": 2}), {"Oslo0": 4.0})
    local.note("s", {"city": "Rome"}, Origin.SAMPLED)
    local.note("h", {"city": "Oslo"}, Origin.HARVESTED)
    assert local.are(Origin.HISTORY).tolist() == [True, True, False, False]
    assert local.are(Origin.SAMPLED).tolist() == [False, False, True, False]
    both = local.are(Origin.HISTORY, Origin.HARVESTED)
    assert both.tolist() == [True, True, False, True]
    assert local.recent(4.0).tolist() == [0, 0]
    assert local.recent(3.9).tolist() == [1, 0]
    assert local.old == 2
    rows = local.incidence()
    assert [rows.of_record(i).tolist() for i in range(4)] == [[0], [0], [1], [0]]
    assert local.again == 0
    local.note("Oslo0", local["Oslo0"], Origin.HARVESTED)
    local.note("Oslo0", local["Oslo0"], Origin.HARVESTED)
    assert local.again == 1
    local.note_missing("s")
    assert local.gone == set()


def test_numbers_double_their_room_and_keep_what_they_held():
    numbers = Counter()
    numbers.size(16)
    numbers.add([15])
    numbers.size(17)
    assert numbers._held.size == 32
    assert numbers.values.tolist() == [0] * 15 + [1, 0]
    numbers.size(100)
    assert (numbers._held.size, numbers.values.size) == (100, 100)
    numbers.add([3], -2)
    assert (numbers.values[3], numbers.values.sum()) == (-2, -1)
    assert math.isfinite(numbers.values.sum())
