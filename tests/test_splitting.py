"""Whole crawls through forms that show only so much."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from form_worlds import ATTRIBUTES, behind, cars
from halflife.core.errors import SourceError
from halflife.core.forms import Attribute, Query, ResultPage
from halflife.core.object_store import Attributes
from halflife.queries.ledger import Ledger
from halflife.queries.split_crawl import CrawlState, crawl
from halflife.queries.table_form import TableFaults, TableForm

CITY, TITLE, PRICE = ATTRIBUTES
X = Attribute("x", "range")
ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "a": st.sampled_from(["p", "q", "r", None]),
            "b": st.sampled_from(["u", "v"]),
            "x": st.one_of(st.none(), st.integers(0, 9), st.floats(-5, 5)),
            "t": st.sampled_from(["one", "two", "one two", ""]),
        }
    ),
    max_size=40,
)
ABX = (
    Attribute("a", "select", ("p", "q")),
    Attribute("b", "select", ("u", "v")),
    X,
    Attribute("t", "keyword"),
)


def table(rows: list[Any]) -> dict[str, Attributes]:
    return {str(i): row for i, row in enumerate(rows)}


@given(
    ROWS,
    st.sampled_from(["exact", "rounded", "capped", "none"]),
    st.sampled_from([1, 3, 8]),
    st.booleans(),
)
@settings(max_examples=150)
def test_a_crawl_that_says_it_is_complete_has_all_records(
    rows: list[Any], counts: str, k: int, everything: bool
) -> None:
    records = table(rows)
    form = behind(
        records,
        attributes=ABX,
        counts=counts,
        cap=k,
        page_size=min(k, 3),
        everything=everything,
    )
    found = crawl(Ledger(form))
    assert found.records.items() <= records.items()
    assert not found.left
    if found.complete:
        assert found.records == records
    if found.complete is False and everything:
        assert found.unresolved or found.unproven


@given(ROWS, st.sampled_from(["exact", "none"]), st.integers(1, 9))
@settings(max_examples=80)
def test_distinct_numbers_are_always_crawled_whole(
    rows: list[Any], counts: str, k: int
) -> None:
    records = {key: {**row, "x": float(key)} for key, row in table(rows).items()}
    form = behind(
        records, attributes=(X,), counts=counts, cap=k, page_size=k, everything=True
    )
    found = crawl(Ledger(form), sound=("x",))
    if k > 1 or counts == "exact":
        assert found.complete
        assert found.records == records


@pytest.mark.parametrize("k", [8, 20, 100])
@pytest.mark.parametrize("seed", [0, 1])
def test_rank_shrink_asks_at_most_five_times_what_must_be_asked(
    k: int, seed: int
) -> None:
    n = 2000
    rng = np.random.default_rng(seed)
    numbers = np.round(rng.lognormal(3.0, 2.0, n), 2)
    records = {str(i): {"x": float(x)} for i, x in enumerate(numbers)}
    form = behind(
        records,
        attributes=(X,),
        counts="none",
        cap=k,
        page_size=k,
        everything=True,
        seed=seed,
    )
    found = crawl(Ledger(form), sound=("x",))
    assert found.records.keys() <= records.keys()
    assert found.requests <= 5 * n / k


def test_many_equal_numbers_get_a_query_of_their_own() -> None:
    numbers = [7.0] * 40 + [float(i) for i in range(20, 60)]
    records = {
        str(i): {"x": x, "city": ("Oslo", "Rome")[i % 2]} for i, x in enumerate(numbers)
    }
    form = behind(records, attributes=(X, CITY), cap=25, page_size=25, everything=True)
    ledger = Ledger(form)
    found = crawl(ledger)
    assert found.complete
    assert found.records == records
    assert {"x=7..8"} <= {str(query) for query in ledger.asked}


def test_a_slice_that_was_whole_is_not_asked_for_again() -> None:
    records = {
        f"{a}{b}{i}": {"a": a, "b": b} for a in "xy" for b in "pqrs" for i in range(3)
    } | {f"z{i}": {"a": "x", "b": "p"} for i in range(9)}
    attributes = (
        Attribute("a", "select", ("x", "y")),
        Attribute("b", "select", ("p", "q", "r", "s")),
    )
    form = behind(records, attributes=attributes, cap=13, page_size=13, counts="none")
    ledger = Ledger(form)
    found = crawl(ledger, sound=("a", "b"))
    assert found.complete
    assert found.records == records
    joined = [str(query) for query in ledger.asked if len(query) == 2]
    assert joined == ["a=x & b=p"]


@pytest.mark.parametrize("counts", ["exact", "none"])
def test_records_without_the_number_are_found_by_another_attribute(
    counts: str,
) -> None:
    records = cars(120)
    for key in list(records)[::5]:
        records[key] = {**records[key], "price": None}
    form = behind(
        records,
        attributes=(PRICE, CITY),
        counts=counts,
        cap=60,
        page_size=60,
        everything=True,
    )
    found = crawl(Ledger(form))
    assert found.records == records
    assert found.complete is (counts == "exact")


def test_values_that_turn_up_on_the_way_are_asked_for() -> None:
    records = cars(100)
    city = Attribute("city", "select", ("Oslo",))
    form = behind(records, attributes=(city,), cap=60, page_size=60, everything=True)
    found = crawl(Ledger(form))
    assert found.complete
    assert found.records == records


def test_words_are_the_last_resort_and_prove_nothing_without_counts() -> None:
    records = cars(60)
    for counts, proven in [("exact", True), ("none", False)]:
        form = behind(
            records, attributes=(TITLE,), counts=counts, cap=30, everything=True
        )
        found = crawl(Ledger(form))
        assert found.records == records
        assert found.complete is proven


@pytest.mark.parametrize("everything", [True, False])
def test_what_cannot_be_told_apart_stays_unresolved(everything: bool) -> None:
    records = {str(i): {"city": "Oslo", "price": 7.0} for i in range(50)}
    form = behind(
        records, attributes=(CITY, PRICE), cap=10, page_size=10, everything=everything
    )
    found = crawl(Ledger(form))
    assert not found.complete
    assert len(found.records) == 10
    assert "city=Oslo & price=7..8" in {str(query) for query in found.unresolved}


@pytest.mark.parametrize("everything", [True, False])
def test_an_empty_database_is_crawled_whole(everything: bool) -> None:
    found = crawl(Ledger(behind({}, everything=everything)), sound=("price",))
    assert found.complete
    assert not found.records


def test_without_a_cap_pages_are_enough() -> None:
    records = cars(103)
    found = crawl(Ledger(behind(records, everything=True, counts="none")))
    assert found.complete
    assert (found.records, found.requests) == (records, 21)


def finished(form: TableForm, each: int, **how: Any) -> tuple[CrawlState, int]:
    """Return a crawl that is cut short again and again, and how often it was."""
    found, rounds = crawl(Ledger(form, most=each), **how), 1
    while found.left:
        assert "requests are spent" in found.why
        assert found.open
        assert not found.complete
        found = crawl(Ledger(form, most=each), **how, resume=found)
        rounds += 1
    return found, rounds


@pytest.mark.parametrize("counts", ["exact", "none"])
def test_a_crawl_goes_on_where_its_budget_ended(counts: str) -> None:
    records = cars(300)
    form = behind(
        records,
        attributes=(PRICE, CITY),
        counts=counts,
        cap=20,
        page_size=20,
        everything=True,
    )
    at_once = crawl(Ledger(form), sound=("price", "city"))
    found, rounds = finished(form, 9, sound=("price", "city"))
    assert found.records == at_once.records == records
    assert found.complete
    assert rounds > 3


class Failing(TableForm):
    """A form that gives no answer once."""

    failed = False

    def ask(self, query: Query, page: int = 0, *, newest: bool = False) -> ResultPage:
        if len(query) and not self.failed:
            self.failed = True
            raise SourceError("no answer")
        return super().ask(query, page, newest=newest)


def test_a_crawl_goes_on_after_a_failure() -> None:
    plain = behind(cars(100), cap=20, page_size=20, everything=True)
    form = Failing(plain.interface, plain.records, rng=np.random.default_rng(0))
    first = crawl(Ledger(form))
    assert (first.why, first.complete) == ("no answer", False)
    found = crawl(Ledger(form), resume=first)
    assert found.complete
    assert found.records == plain.records


def test_a_form_that_shuffles_its_pages_is_not_taken_for_complete() -> None:
    records = cars(60)
    form = behind(records, everything=True, faults=TableFaults(unstable=True))
    found = crawl(Ledger(form))
    assert found.complete is (found.records == records)
