"""Values of a choice, read one after the other."""

import pytest
from hypothesis import given, strategies as st

from halflife.core.forms import Attribute, Interface, Query, Term
from halflife.queries.fresh.rotation import ReadValue, Rotation

FORM = Interface(
    (Attribute("city", "select", ("Oslo", "Rome")), Attribute("title", "keyword")),
    page_size=10,
)


def copy(oslo, rome):
    """So many records of two cities, and when each was seen: on days 5 and 8."""
    cities = ["Oslo"] * oslo + ["Rome"] * rome
    records = {
        f"k{i}": {"city": city, "title": "a job"} for i, city in enumerate(cities)
    }
    seen = {key: 5.0 if r["city"] == "Oslo" else 8.0 for key, r in records.items()}
    return records, seen


def test_a_value_brings_as_many_as_came_by_it_drawn_towards_what_is_usual():
    records, seen = copy(20, 20)
    values = Rotation(FORM, records, seen, {"k0", "k1", "k2", "k20"}, 10.0)
    first, second = values.ranked(10.0, 0.0)
    usual = 4.5 / 10.0 / 40.0
    assert first.query == Query.of(Term("city", "Oslo"))
    assert first.expected == pytest.approx(4.0 / (10.0 + 1.0 / (usual * 20.0)) * 5.0)
    assert second.expected == pytest.approx(2.0 / (10.0 + 1.0 / (usual * 20.0)) * 2.0)
    assert (first.page, first.pages) == (0, 3)
    assert values.pages() == 4


def test_words_are_not_rotated_and_values_without_records_are():
    records, seen = copy(3, 0)
    values = Rotation(FORM, records, seen, (), 10.0)
    asked = [choice.query for choice in values.ranked(10.0, 4.0)]
    assert set(asked) == {
        Query.of(Term("city", "Oslo")), Query.of(Term("city", "Rome"))
    }  # fmt: skip
    assert Query.of(Term("title", "job")) not in values
    assert values.days_since_read(Query.of(Term("city", "Rome")), 10.0, 4.0) == 4.0
    words = Interface((Attribute("title", "keyword"),))
    assert not Rotation(words, records, seen, (), 10.0)


@given(
    oslo=st.integers(0, 60),
    rome=st.integers(0, 60),
    now=st.floats(8.0, 500.0),
    watched=st.floats(1.0, 400.0),
)
def test_who_waited_longer_promises_more_and_nothing_is_negative(
    oslo, rome, now, watched
):
    records, seen = copy(oslo, rome)
    values = Rotation(FORM, records, seen, (), watched)
    later = {c.query: c for c in values.ranked(now + 1.0, now)}
    for choice in values.ranked(now, now):
        assert choice.expected >= 0.0
        assert choice.pages >= 1
        assert later[choice.query].expected >= choice.expected


def waiting(last, rate, goes=1e-9):
    """Return values of which Rome has no record and is noted; Oslo has three."""
    records, seen = copy(3, 0)
    noted = {Term("city", "Rome"): ReadValue(last, rate)}
    return Rotation(FORM, records, seen, (), 10.0, noted=noted, goes=goes)


def place_of(values, now):
    """Return the gain of Rome for a request at a moment, and how many are above it."""
    ranking, rome = values.ranked(now, 4.0), Query.of(Term("city", "Rome"))
    for place, choice in enumerate(ranking):
        if choice.query == rome:
            days = values.days_since_read(rome, now, 4.0)
            return choice.expected * days / (choice.pages or 1), place
    return 0.0, len(ranking)


def test_an_empty_value_waits_since_it_was_read_and_has_its_own_rate():
    rome = Query.of(Term("city", "Rome"))
    values = waiting(2.0, 0.25)
    assert values.days_since_read(rome, 10.0, 4.0) == 8.0
    found = {c.query: c for c in values.ranked(10.0, 4.0)}
    assert found[rome].expected == pytest.approx(2.0)
    assert found[rome].why == "about 2.0 new, 0 held, read 8 days ago"
    # of records of which a tenth goes a day, 0.25 (1 - exp(-0.8)) / 0.1 are there
    found = {c.query: c for c in waiting(2.0, 0.25, goes=0.1).ranked(10.0, 4.0)}
    assert found[rome].expected == pytest.approx(1.376678, abs=1e-6)
    assert values.days_since_read(rome, 1.0, 4.0) == 0.0  # a clock that was set back


def test_what_is_noted_of_a_value_with_records_changes_nothing():
    records, seen = copy(3, 4)
    noted = {Term("city", "Rome"): ReadValue(1.0, 9.0)}
    same = Rotation(FORM, records, seen, (), 10.0)
    told = Rotation(FORM, records, seen, (), 10.0, noted=noted, goes=0.1)
    assert told.ranked(10.0, 4.0) == same.ranked(10.0, 4.0)


@given(
    last=st.floats(0.0, 100.0),
    longer=st.floats(0.0, 100.0),
    rate=st.floats(0.0, 0.4),
    more=st.floats(0.0, 0.4),
    goes=st.floats(1e-6, 0.5),
)
def test_who_waits_longer_or_gets_more_never_loses_its_place(
    last, longer, rate, more, goes
):
    now = last + 8.0
    gain, place = place_of(waiting(last, rate, goes), now)
    early = last - min(longer, 16.0)  # below 25 days and ten records: one page
    assert place_of(waiting(early, rate, goes), now)[0] >= gain * (1.0 - 1e-9)
    assert place_of(waiting(early, rate, goes), now)[1] <= place
    assert place_of(waiting(last, rate + more, goes), now)[0] >= gain * (1.0 - 1e-9)
    assert place_of(waiting(last, rate + more, goes), now)[1] <= place
