"""Upkeep with few requests finds the records of values that had none."""

from dataclasses import replace

import numpy as np
import pytest

from form_worlds import behind
from halflife.core.forms import Attribute, Query, Term
from halflife.core.object_store import Listing
from halflife.core.tracker import Tracker
from halflife.queries.form_copy import FormCopy, FormWish
from halflife.queries.ledger import Ledger
from halflife.queries.upkeep import maintain, plan_ahead
from halflife.queries.value_reads import FormReads, rotation

BUSY, BARE = [f"busy{i}" for i in range(8)], [f"bare{i}" for i in range(8)]
FIRM = Attribute("firm", "select", (*BUSY, *BARE))
SHAPE = {"attributes": (FIRM,), "page_size": 25, "counts": "none"}
OPENED = 10  # the day on which records of an empty value come


def world(day):
    """Return records of eight firms, which change; from a day on also of another."""
    records = {
        f"{firm}-{i}": {"firm": firm, "pay": (day + i) // 6}
        for firm in BUSY
        for i in range(8 + day // 5)
    }
    if day >= OPENED:
        records |= {f"late-{i}": {"firm": "bare5", "pay": i} for i in range(4)}
    return records


def kept(days, purpose, requests=4):
    """Keep the copy of a form for some days; yield it after each day."""
    tracker, reads = Tracker(), FormReads()
    rng = np.random.default_rng(5)
    tracker.take(Listing(1.0, world(1), complete=True, note="asked"))
    for day in range(2, days):
        copy = replace(FormCopy.of(tracker.register()), reads=reads)
        ledger = Ledger(behind(world(day), **SHAPE), most=requests)
        done = maintain(ledger, copy, FormWish(purpose), float(day), rng)
        reads = reads.after(ledger, copy, float(day))
        tracker.take(
            Listing(
                float(day),
                done.records,
                done.complete,
                done.stop or "asked",
                done.absent,
            )
        )
        yield day, replace(FormCopy.of(tracker.register()), reads=reads)


@pytest.mark.parametrize("purpose", ["new", "both"])
def test_records_of_a_value_that_had_none_are_found_within_weeks(purpose):
    found = None
    for day, copy in kept(30, purpose):
        if found is None and "late-0" in copy.records:
            found = day
    assert found is not None
    assert found <= OPENED + 14
    last = [copy.reads.last[Term("firm", firm)] for firm in BARE]
    assert min(last) > 1.0  # each was read since the first crawl
    busy = [copy.reads.last[Term("firm", firm)] for firm in BUSY]
    assert min(busy) >= 29 - 7  # and those with records are not given up for them


def test_a_plan_shows_how_long_an_empty_value_waited():
    *_, (day, copy) = kept(5, "new")
    now = day + 20.0
    form = behind(world(1), **SHAPE).interface
    plan = plan_ahead(copy, form, FormWish("new"), now, np.random.default_rng(0), 99)
    why = {step.what: step.why for step in plan}
    for firm in BARE:
        term = Term("firm", firm)
        waited = now - copy.reads.last[term]
        assert f"0 held, read {waited:.0f} days ago" in why[str(Query.of(term))]


def test_a_count_of_all_records_says_more_than_the_time_of_a_reading():
    *_, (day, copy) = kept(5, "new")
    shape, then = behind(world(1), **SHAPE).interface, day + 20.0
    counted = replace(copy, reads=replace(copy.reads, counted=(4.0, 70.0)))
    unnoted = replace(copy, reads=FormReads())
    same = rotation(unnoted, shape).ranked(then, 3.0)
    assert rotation(counted, shape).ranked(then, 3.0) == same
    assert rotation(copy, shape).ranked(then, 3.0) != same
