"""Values of a choice, read one after the other."""

import pytest
from hypothesis import given, strategies as st

from halflife.core.forms import Attribute, Interface, Query, Term
from halflife.queries.fresh.rotation import Rotation

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
