"""Answers that wait for a decision are asked for again less and less often."""

import pytest
from hypothesis import given, strategies as st

from halflife.engine import breakers
from halflife.engine.breakers import Breaker
from halflife.engine.fleet import report_codec
from halflife.kinds.listing.kind import KIND
from halflife.kinds.listing.runner import ListingOutcome
from halflife.kinds.listing.settings import ListingConfig
from halflife.kinds.whole import report_on
from halflife.stores.memory import MemoryStore
from halflife.stores.notes.breaker import BREAKER


@given(st.integers(1, 12))
def test_the_wait_doubles_up_to_a_day(times):
    found, now = Breaker(), 100.0
    for n in range(times):
        found = found.held(now)
        assert found.closed_for(now) == pytest.approx(min(2.0**n / 24.0, 1.0))
        assert not found.failing
        now = found.not_before
    assert found.undecided == times
    assert found.fine(now) == Breaker(well=now)
    assert found.failed("jobs", now, "it answered 500").undecided == 0


def test_an_answer_of_which_something_was_taken_is_asked_for_after_an_hour():
    found, now = Breaker(), 100.0
    for _ in range(4):
        found = found.held(now, shown=True)
        assert found.closed_for(now) == pytest.approx(1.0 / 24.0)
        now = found.not_before
    assert found.undecided == 1  # a decision is awaited all the same
    assert found.held(now).closed_for(now) == pytest.approx(2.0 / 24.0)


@pytest.mark.parametrize(("scheduled", "hours"), [(True, 1.0), (False, 2.0)])
def test_a_worker_reports_that_something_was_taken(scheduled, hours):
    held = {"held": "too few", "shown": True, "scheduled": scheduled}
    report = report_on("jobs", ListingOutcome("jobs", 7, 3, 20, **held))
    report = report_codec.unpack(report_codec.pack(report))
    source = ListingConfig(name="jobs", url="http://a/", key="id")
    found = KIND.breaker(source, Breaker().held(5.0), report, 6.0)
    assert found.closed_for(6.0) == pytest.approx(hours / 24.0)


def test_a_decision_lets_it_be_asked_at_once():
    store, waiting = MemoryStore(), Breaker().held(5.0).held(5.5)
    breakers.remember(store, "jobs", waiting)
    service = {"jobs": waiting, "papers": Breaker(2, 9.0)}
    assert breakers.refresh(store, service)["jobs"] == waiting
    breakers.note_decision(store, "jobs", 5.51)
    assert breakers.refresh(store, service)["jobs"].undecided == 0
    assert service["papers"] == Breaker(2, 9.0)  # nothing of it waits
    found = breakers.recall(store, "jobs")
    assert (found.undecided, found.closed_for(5.51)) == (0, 0.0)
    failed = Breaker().failed("papers", 5.0, "it answered 500")
    breakers.remember(store, "papers", failed)
    breakers.note_decision(
        store, "papers", 5.1
    )  # nothing waited: it is left alone as before
    assert breakers.recall(store, "papers") == failed


def test_notes_without_the_number_are_read():
    row = {"failures": 2, "not_before": 1.0, "well": 0.5, "trouble": "late"}
    assert BREAKER.read(row).undecided == 0
    assert BREAKER.write(BREAKER.read(row)) == row
    more = {**row, "undecided": 3}
    assert BREAKER.write(BREAKER.read(more)) == more
