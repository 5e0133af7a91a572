"""Each turn notes which values of a form it read, also those without a record."""

from dataclasses import replace
from math import inf

import numpy as np
import pytest

from form_worlds import behind
from halflife.core.forms import Attribute, Query, Term
from halflife.core.object_store import Listing
from halflife.core.tracker import Tracker
from halflife.kinds.form.quality import form_quality
from halflife.kinds.form.settings import FormConfig
from halflife.queries.form_copy import FormCopy
from halflife.queries.ledger import Ledger
from halflife.queries.levels import LocalChances
from halflife.queries.value_reads import FormReads, choice_reads

CITY = Attribute("city", values=("Bergen", "Moss", "Oslo", "Roros"))
BERGEN, MOSS, OSLO, ROROS = (Term("city", value) for value in CITY.values)


def records(**cities):
    return {
        f"{city}{i}": {"city": city} for city, n in cities.items() for i in range(n)
    }


def copied(*looks):
    """The copy after looks, each a day and what it showed in all."""
    tracker = Tracker()
    for day, there in looks:
        tracker.take(Listing(day, there, complete=True, note="asked"))
    return FormCopy.of(tracker.register())


def asked(there, *queries, **can):
    ledger = Ledger(behind(there, attributes=(CITY,), **can))
    for query in queries:
        list(ledger.pages(query))
    return ledger


def test_a_value_was_read_when_all_its_pages_were():
    there = records(Oslo=3, Bergen=1)
    copy = copied((1.0, there))
    ledger = asked(there, Query.of(OSLO), Query.of(MOSS), counts="none")
    reads = FormReads({BERGEN: 2.0}).after(ledger, copy, 5.0)
    # Bergen was read before, Moss has no record, and Roros was in the first crawl.
    assert reads.last == {BERGEN: 2.0, MOSS: 5.0, OSLO: 5.0, ROROS: 1.0}
    assert reads.counted is None


def test_a_value_of_which_a_page_is_missing_was_not_read():
    there = records(Oslo=30)
    ledger = Ledger(behind(there, attributes=(CITY,), counts="none", page_size=10))
    ledger.first(Query.of(OSLO))
    assert FormReads().after(ledger, copied((1.0, there)), 5.0).last[OSLO] == 1.0


def test_everything_read_at_once_and_counted():
    there = records(Oslo=3, Bergen=1)
    ledger = asked(there, Query(), counts="exact", everything=True)
    reads = FormReads({OSLO: 2.0}, (1.0, 7.0)).after(ledger, copied((1.0, there)), 5.0)
    assert set(reads.last.values()) == {5.0}
    assert reads.counted == (5.0, 4.0)
    none = asked(there, Query.of(OSLO), counts="exact", everything=True)
    assert reads.after(none, copied((1.0, there)), 6.0).counted == (5.0, 4.0)


def test_the_turn_in_which_the_first_crawl_ends_has_read_everything():
    there = records(Oslo=3)
    copy = replace(copied((1.0, there)), since=inf)
    reads = FormReads({OSLO: 0.5}).after(asked(there, counts="none"), copy, 5.0)
    assert set(reads.last.values()) == {5.0}


def test_attributes_whose_values_are_not_listed_are_not_noted():
    there = records(Oslo=3)
    form = behind(there, attributes=(Attribute("city"),), counts="none")
    assert FormReads().after(Ledger(form), copied((1.0, there)), 5.0).last == {}


def test_what_came_is_counted_by_value_also_if_it_went_again():
    first, then = records(Oslo=2, Bergen=1), records(Oslo=4)
    copy = copied((1.0, first), (4.0, then), (6.0, records(Oslo=3)), (7.0, then))
    reads = FormReads({BERGEN: 6.0, MOSS: 1.0, OSLO: 7.0, ROROS: 0.0})
    ((_, last, found),) = choice_reads(replace(copy, reads=reads))
    assert last.tolist() == [6.0, 1.0, 7.0, 1.0]  # none before the crawl ended
    assert found.watched.tolist() == [5.0, 0.0, 6.0, 0.0]
    assert found.came.tolist()[:2] == [0.0, 0.0]
    assert found.came[2] >= 2.0
    assert found.bare.tolist() == [0.0, 1.0, 0.0, 1.0]
    assert found.single == 1.0


def forecast(copy, now, **noted):
    source = FormConfig.model_construct(name="one", kind="form", purpose="both")
    copy = replace(copy, reads=FormReads(**noted))
    return form_quality(copy, source, now, 0.975, np.array([0.0, 7.0]))


def test_values_that_nobody_reads_make_a_copy_worse_and_less_known():
    looks = [(float(d), records(Oslo=9 + d, Bergen=9)) for d in range(1, 21)]
    copy = copied(*looks)
    asked_ = forecast(copy, 20.0, last=dict.fromkeys((BERGEN, MOSS, OSLO, ROROS), 20.0))
    unread = forecast(
        copy, 20.0, last={BERGEN: 20.0, MOSS: 1.0, OSLO: 20.0, ROROS: 1.0}
    )
    assert unread.mean[0] < asked_.mean[0] - 0.05
    assert unread.high[0] - unread.low[0] > asked_.high[0] - asked_.low[0] + 0.05
    assert unread.high[0] == 1.0  # perhaps nothing came


def test_a_count_of_all_says_how_much_is_missing():
    looks = [(float(d), records(Oslo=20 + d)) for d in range(1, 21)]
    copy = copied(*looks)
    found = forecast(copy, 20.0, counted=(20.0, 50.0))
    assert found.mean[0] == pytest.approx(40.0 / 50.0, abs=0.01)
    assert found.high[0] - found.low[0] < 0.1


def test_half_of_the_chances_of_an_audit_are_even():
    held = records(Oslo=3, Bergen=1)
    chances = LocalChances(
        behind(held, attributes=(CITY,)).interface, held.values(), "half"
    )
    (level,) = chances.levels
    level = chances.given(level, chances.rows)
    by = dict(zip(level.terms, level.chance / (1.0 - level.rest), strict=True))
    assert by[OSLO] == pytest.approx(0.5 * 0.75 + 0.5 * 0.25, abs=0.02)
    assert by[BERGEN] == pytest.approx(0.5 * 0.25 + 0.5 * 0.25, abs=0.02)
    assert by[MOSS] == by[ROROS] == pytest.approx(0.5 * 0.25, abs=0.02)
