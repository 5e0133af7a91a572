"""What a few requests find out about forms."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from form_desk import at_desk, settings as web
from form_worlds import CITIES, behind, cars
from halflife.core.errors import Refused
from halflife.core.forms import Form, Interface, Query, ResultPage, Term
from halflife.demo.forms import FormServer, ServerFaults, serving
from halflife.queries.faulty_form import FaultyForm, FormFaults
from halflife.queries.form_facts import FormFacts, FormFinding
from halflife.queries.form_probe import REQUESTS, measure
from halflife.queries.ledger import Ledger
from halflife.queries.notes import ProbeNotes, ResultEnd
from halflife.queries.table_form import TableFaults
from lab.probeforms import CLAIM, FAULTS, HONEST, Case, accused, probed

SEEDS = [Term("city", city) for city in CITIES]
ALL = {"everything": True, "newest": True, "lookup": True}


def measured(form: Form, seed: int = 0, **more: Any) -> FormFacts:
    return measure(Ledger(form), SEEDS, np.random.default_rng(seed), **more)


@pytest.mark.parametrize("fault", [name for name in FAULTS if "1.2" not in name])
def test_each_fault_is_found_within_twenty_requests(fault: str) -> None:
    case = FAULTS[fault]
    sizes = [n for n in (613, 2011) if n >= case.least] or [case.least]
    found = [probed(case.form(n, s), s) for n in sizes for s in range(20, 24)]
    assert sum(map(case.found, found)) >= len(found) - 1
    assert max(one.requests for one in found) <= REQUESTS


@pytest.mark.parametrize("form", HONEST)
def test_an_honest_form_is_not_accused(form: str) -> None:
    claim = HONEST[form]
    case = Case(lambda _: True, claim=claim)
    found = [probed(case.form(n, s), s) for n in (71, 619) for s in range(30, 36)]
    assert sum(bool(accused(one, replace(CLAIM, **claim))) for one in found) <= 1
    assert max(one.requests for one in found) <= REQUESTS


@settings(max_examples=40)
@given(
    st.integers(0, 400),
    st.integers(1, 30),
    st.sampled_from(["exact", "rounded", "capped", "none"]),
    st.sampled_from([None, 7, 50]),
    st.integers(0, 25),
    st.builds(
        FormFaults,
        either=st.booleans(),
        stuck=st.booleans(),
        overlap=st.integers(0, 3),
        lost=st.booleans(),
        unsorted=st.booleans(),
        fails=st.sampled_from([0, 1, 2, 3]),
    ),
)
def test_whatever_a_form_does_the_budget_holds_and_claims_only_shrink(
    n: int, size: int, counts: str, cap: int | None, most: int, troubles: FormFaults
) -> None:
    form = FaultyForm(
        behind(cars(n), page_size=size, cap=cap, counts=counts, **ALL), troubles
    )
    found = measured(form, most=most)
    assert found.requests <= most
    assert form.asked <= most
    claimed, after = form.interface, found.interface(form.interface)
    assert set(after.attributes) <= set(claimed.attributes)
    assert after.together <= claimed.together
    assert (after.cap or 10**9) <= (claimed.cap or 10**9)
    assert after.counts in {claimed.counts, "rounded", "capped", "none"}


def test_counts_that_lie_are_no_counts() -> None:
    found = measured(behind(cars(500), faults=TableFaults(lies=4.0), **ALL))
    claimed = Interface((), counts="exact")
    assert found.counts == "lying"
    assert found.interface(claimed).counts == "none"
    (why,) = [f for f in found.findings if f.what == "number of hits"]
    assert why.verdict == "unreliable"
    assert "reported" in why.why


def test_a_cap_comes_down_and_never_up() -> None:
    found = FormFacts(cap=100)
    assert found.interface(Interface((), cap=None)).cap == 100
    assert found.interface(Interface((), cap=50)).cap == 50
    assert FormFacts(paged=False).interface(Interface((), page_size=7)).cap == 7


def test_counts_that_stop_at_a_cap_tell_where_it_is() -> None:
    form = behind(cars(900), counts="capped", cap=100, **ALL)
    claimed = replace(form.interface, cap=None, counts="exact")
    found = measured(FaultyForm(form, FormFaults(), claimed))
    assert found.interface(claimed).cap == 100
    assert (found.counts, found.cap) == ("capped", 100)


def test_results_that_end_within_a_page_are_no_cap() -> None:
    end = ResultEnd(61, 3, 62)
    assert end.sharp
    assert not end.usual(10)


def test_what_was_not_looked_into_stays_as_claimed() -> None:
    assert FormFacts().interface(CLAIM) == CLAIM


def test_a_form_in_which_nothing_is_found_is_left_open() -> None:
    found = measured(behind({}, **ALL))
    assert found.counts == "unknown"
    assert found.everything is False
    assert found.stable is None
    assert 0 < found.requests <= 8


def test_a_form_that_refuses_is_told_as_it_is() -> None:
    class Closed:
        interface = CLAIM

        def ask(
            self, query: Query, page: int = 0, *, newest: bool = False
        ) -> ResultPage:
            raise Refused(f"it answered 403 to {query}, {page}, {newest}")

        def fetch(self, key: str) -> ResultPage:
            raise Refused(key)

    found = measured(Closed())
    assert found.requests == found.failures == 8
    (told,) = [f for f in found.findings if f.what == "answers"]
    assert "403" in told.why


def test_a_small_form_is_measured_with_few_requests() -> None:
    found = measured(behind(cars(3), **ALL))
    assert found.requests < 15
    assert found.counts == "exact"
    assert found.lookup is True


def test_a_form_without_the_empty_query_begins_with_seeds() -> None:
    found = measured(behind(cars(400)))
    assert found.everything is None
    assert found.counts == "exact"
    assert found.conjunctive is True


def test_the_newest_are_known_by_their_date() -> None:
    records = {k: {**r, "day": i} for i, (k, r) in enumerate(cars(99).items())}
    dates = {key: float(i) for i, key in enumerate(records)}
    form = behind(records, dates=dates, **ALL)
    assert measured(form, date="day").newest is True
    assert measured(form).newest is True
    assert measured(FaultyForm(form, FormFaults(unsorted=True))).newest is False


def test_a_last_page_that_others_share_is_a_cap() -> None:
    end = ResultEnd(9, 10, 10)
    assert end.sharp
    assert end.reach(10) == 100
    assert end.usual(10)
    assert not ResultEnd(6, 10, 7).usual(10)
    assert ResultEnd(11, 4, 12).reach(8) == 92


def test_the_luck_of_counts_falls_with_each_that_agrees() -> None:
    notes = ProbeNotes(CLAIM, 10)
    query = [Query.of(Term("make", f"make{i}")) for i in range(3)]
    for i, (told, true) in enumerate([(5, 5), (8, 8), (4, 5)]):
        page = {f"k{j}": {"make": f"make{i}"} for j in range(true)}
        notes.pages[query[i], 0] = ResultPage(page, told)
    assert notes.luck() == pytest.approx(1.25 / 5 * 1.25 / 8)
    assert notes.wrong_counts() == [(query[2], 4, 5)]
    assert not notes.counts_lie()


def test_findings_read_as_sentences() -> None:
    assert str(FormFinding("pages", "10 records each", "two")) == (
        "pages: 10 records each; two"
    )


# Over HTTP


def test_faults_are_found_over_http() -> None:
    office = FormServer(behind(cars(10)))
    cases: list[tuple[Form, str, object]] = [
        (behind(cars(500), **ALL), "counts", "exact"),
        (behind(cars(500), faults=TableFaults(lies=4.0), **ALL), "counts", "lying"),
        (behind(cars(3000), counts="rounded", **ALL), "counts", "rounded"),
        (behind(cars(500), counts="none", **ALL), "counts", "none"),
        (behind(cars(500), faults=TableFaults(unstable=True), **ALL), "stable", False),
        (behind(cars(2000), cap=50, **ALL), "cap", 50),
        (FaultyForm(behind(cars(500), **ALL), FormFaults(lost=True)), "lookup", False),
        (FaultyForm(behind(cars(500), **ALL), FormFaults(stuck=True)), "paged", False),
    ]
    claimed = behind({}, **ALL).interface
    with serving(office) as url:
        for form, name, value in cases:
            office.form = form
            how = web(url, claimed, html=name == "cap")
            found = at_desk(how, measured)
            assert getattr(found, name) == value, (name, found)
            assert found.requests <= REQUESTS


def test_a_server_that_fails_now_and_then_is_measured_all_the_same() -> None:
    office = FormServer(behind(cars(500), **ALL), ServerFaults(fails=4))
    with serving(office) as url:
        found = at_desk(web(url, office.form.interface), measured)
    assert found.counts == "exact"
    assert found.requests <= REQUESTS + 1
    assert office.asked == found.requests
