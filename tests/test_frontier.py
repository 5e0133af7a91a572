"""A crawl that is cut short, written down, and goes on from what was written."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from form_worlds import ATTRIBUTES, behind, cars
from halflife.core.forms import Query, ResultPage, Term
from halflife.queries.first_crawl import crawl_ahead
from halflife.queries.form_copy import FormCopy
from halflife.queries.frontier import CrawlState, read_crawl, write_crawl
from halflife.queries.ledger import Ledger
from halflife.queries.split_crawl import CrawlRun, crawl
from halflife.queries.table_form import TableForm

CITY, TITLE, PRICE = ATTRIBUTES
SHAPES: tuple[dict[str, Any], ...] = (
    {},  # everything can be read page by page
    {"cap": 20, "page_size": 20},
    {"cap": 30, "page_size": 10, "attributes": (CITY, PRICE)},
    {"cap": 25, "attributes": (CITY, TITLE)},
)


def again(found: CrawlState) -> CrawlState:
    """Return a crawl as it comes back from what was written down."""
    return read_crawl(json.loads(json.dumps(write_crawl(found))), found.records)


def in_turns(form: TableForm, turns: list[int]) -> tuple[CrawlState, int]:
    """Return a crawl of so many requests a turn, and how many it took in all."""
    ledger = Ledger(form, most=turns[0])
    found, records, spent = crawl(ledger), dict(ledger.seen), ledger.requests
    for most in [*turns[1:], *[turns[-1]] * 500]:
        if not found.left:
            break
        ledger = Ledger(form, most=most)
        kept = read_crawl(json.loads(json.dumps(write_crawl(found))), records)
        found = crawl(ledger, resume=kept)
        records |= ledger.seen
        spent += ledger.requests
    return found, spent


@given(
    st.sampled_from(SHAPES),
    st.sampled_from(["exact", "none"]),
    st.integers(1, 120),
    st.lists(st.integers(3, 40), min_size=1, max_size=6),
)
@settings(max_examples=60)
def test_however_it_is_cut_a_crawl_finds_what_it_finds_at_once(
    shape: dict[str, Any], counts: str, n: int, turns: list[int]
) -> None:
    form = behind(cars(n), counts=counts, everything=True, **shape)
    at_once = crawl(Ledger(form))
    found, _ = in_turns(form, turns)
    assert not found.left
    assert found.records == at_once.records
    assert found.complete == at_once.complete


@pytest.mark.parametrize("shape", SHAPES)
def test_a_cut_costs_few_requests(shape: dict[str, Any]) -> None:
    form = behind(cars(200), everything=True, **shape)
    at_once = crawl(Ledger(form))
    _, spent = in_turns(form, [10])
    cuts = -(-spent // 10) - 1
    assert spent <= at_once.requests + cuts


def test_pages_of_a_long_query_are_read_on_from_where_they_ended() -> None:
    form = behind(cars(100), everything=True)
    first = crawl(Ledger(form, most=7))
    assert first.begun is not None
    assert (first.begun.query, first.begun.pages) == (Query(), 7)
    ledger = Ledger(form)
    found = crawl(ledger, resume=again(first))
    assert ledger.requests == 13 + 1  # the page after the last, which is full
    assert found.complete


def test_a_plan_knows_how_many_pages_of_a_long_query_are_left() -> None:
    for counts, left in [("exact", 13), ("none", 7)]:
        form = behind(cars(100), everything=True, counts=counts)
        first = crawl(Ledger(form, most=7))
        held = FormCopy(first.records, {}, {}, (), 1.0, crawl=first)
        (step,) = crawl_ahead(held, form.interface)
        assert (step.what, step.requests) == ("everything", left)
        assert step.gain > 0


def test_whatever_is_left_of_a_crawl_there_is_something_to_plan() -> None:
    form = behind(cars(200), cap=20, page_size=20, everything=True)
    for most in range(1, 60, 3):
        found = crawl(Ledger(form, most=most))
        held = FormCopy(found.records, {}, {}, (), 1.0, crawl=found)
        if found.left:
            assert crawl_ahead(held, form.interface)
    unknown = FormCopy(cars(3), {}, {}, (), 1.0)
    assert [step.what for step in crawl_ahead(unknown, form.interface)] == [
        "everything"
    ]


class Short:
    """A form that has shorter pages than is claimed, as its first answer tells."""

    def __init__(self, form: TableForm, claimed: int) -> None:
        self._form = form
        self.interface = replace(form.interface, page_size=claimed)

    def ask(self, query: Query, page: int = 0, *, newest: bool = False) -> ResultPage:
        # Pages are found by what is believed of their length, as offsets are.
        begin = page * self.interface.page_size // self._form.interface.page_size
        self.interface = self._form.interface
        return self._form.ask(query, begin, newest=newest)

    def fetch(self, key: str) -> ResultPage:
        return self._form.fetch(key)


def test_pages_that_are_shorter_than_claimed_are_counted_anew_each_turn() -> None:
    form = behind(cars(100), everything=True)
    first = crawl(Ledger(Short(form, 20), most=7))
    ledger = Ledger(Short(form, 20))
    found = crawl(ledger, resume=again(first))
    assert ledger.requests == 15  # one to learn how long they are, one after the last
    assert found.complete
    assert found.records == form.records


def test_what_was_read_is_noted_in_the_middle_of_a_query() -> None:
    """Nothing is lost whichever answer it is after which the program dies."""
    form = behind(cars(120), cap=20, page_size=5, everything=True)
    at_once = crawl(Ledger(form))

    class Listening(Ledger):
        """Writes the crawl down after every answer, as soon as it has come."""

        walk: CrawlRun

        def ask(
            self, query: Query, page: int = 0, *, newest: bool = False
        ) -> ResultPage:
            found = super().ask(query, page, newest=newest)
            rows.append((json.dumps(write_crawl(self.walk.so_far())), dict(self.seen)))
            return found

    rows: list[tuple[str, dict[str, Any]]] = []
    ledger = Listening(form)
    ledger.walk = CrawlRun(ledger)
    ledger.walk.done()
    for row, seen in rows[:: max(len(rows) // 12, 1)]:
        found = crawl(Ledger(form), resume=read_crawl(json.loads(row), seen))
        assert found.complete
        assert found.records == at_once.records


def test_records_that_are_not_there_any_more_are_left_out() -> None:
    form = behind(cars(120), cap=20, page_size=20, everything=True)
    first = crawl(Ledger(form, most=9))
    kept = dict(list(first.records.items())[:-3])
    back = read_crawl(json.loads(json.dumps(write_crawl(first))), kept)
    assert all(part.keys <= kept.keys() for part in back.left)
    assert back.left[0].query == Query()
    assert back.left[-1].above in back.left


def test_a_crawl_is_written_in_plain_values() -> None:
    form = behind(cars(120), attributes=(CITY,), cap=20, page_size=20, everything=True)
    first = crawl(Ledger(form, most=4))
    back = again(first)
    assert [part.query for part in back.left] == [part.query for part in first.left]
    assert back.reads.keys() == first.reads.keys()
    assert Query.of(Term("city", "Oslo")) in back.reads
    assert (back.total, back.words) == (120, first.words)
