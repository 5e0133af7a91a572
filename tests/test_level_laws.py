"""The steps of a drill-down: conditions, chances, and what known records say."""

from collections import Counter

import numpy as np
import pytest

from halflife.core.forms import Attribute, Interface, Term
from halflife.queries.levels import CUTS, DEFENCE, REST, LocalChances, levels

MAKE = Attribute("make", "select")
LISTED = Attribute("city", "select", ("Oslo", "Rome", "Lima"))
TITLE = Attribute("title", "keyword")
PRICE = Attribute("price", "range", cuts=(10.0, 20.0))
FREE = Attribute("year", "range")
FORM = Interface((TITLE, MAKE, LISTED, PRICE, FREE))
KNOWN = (
    {"make": "Audi", "city": "Oslo", "title": "red car", "price": 5, "year": 2001},
    {"make": "Audi", "city": "Oslo", "title": "blue car", "price": 15, "year": 2004},
    {"make": "Fiat", "city": "Rome", "title": "", "price": None, "year": 2008},
    {"make": None, "city": "Oslo", "title": "red", "price": 25, "year": 2016},
)


def by_name(found):
    return {level.attribute.name: level for level in found}


def test_words_come_last_and_conditions_are_those_offered_or_known():
    found = levels(FORM, KNOWN)
    assert [level.attribute.name for level in found][-1] == "title"
    terms = {name: level.terms for name, level in by_name(found).items()}
    assert terms["make"] == (Term("make", "Audi"), Term("make", "Fiat"))
    assert len(terms["city"]) == 3  # Lima is offered, though nobody has it
    assert [t.value for t in terms["price"]] == ["..10", "10..20", "20.."]
    assert len(terms["year"]) == CUTS + 1
    assert levels(Interface((MAKE,)), ()) == ()


@pytest.mark.parametrize("guide", ["even", "known"])
def test_chances_are_those_of_the_docstring(guide):
    for level in levels(FORM, KNOWN, guide):
        rows = [level.attribute.terms(r.get(level.attribute.name)) for r in KNOWN]
        count = Counter(t for row in rows for t in row)
        lacking = sum(not row for row in rows)
        m = len(level.terms)
        rest = (lacking + 1) / (len(KNOWN) + m + 1)
        share = [1.0 if guide == "even" else count[t] + 1.0 for t in level.terms]
        assert level.rest == pytest.approx(rest)
        by_hand = (1 - rest) * np.array(share) / sum(share)
        np.testing.assert_allclose(level.chance, by_hand)
        assert level.gaps == pytest.approx(lacking / len(KNOWN))
        assert level.chance.sum() + level.rest == pytest.approx(1.0)


def test_values_that_nobody_knows_have_a_chance_unless_all_are_listed():
    many = tuple({"make": f"m{i}", "city": "Oslo", "price": 5} for i in range(200))
    found = by_name(levels(FORM, many))
    assert found["make"].rest == REST
    assert found["city"].rest == pytest.approx(1 / (200 + 3 + 1))
    assert found["price"].rest == pytest.approx(1 / (200 + 3 + 1))
    assert found["city"].parts
    assert not by_name(levels(FORM, KNOWN))["title"].parts


def test_a_range_without_cuts_is_cut_at_the_eighths_of_the_known_numbers():
    years = tuple({"year": float(y)} for y in range(1, 81))
    (level,) = levels(Interface((FREE,)), years)
    held = Counter(t for y in years for t in level.held(y))
    assert set(held.values()) == {10}
    assert len(held) == 8


def test_what_was_drawn_cannot_be_drawn_again():
    level = by_name(levels(FORM, KNOWN))["city"]
    less = level.without([level.terms[0], Term("city", "Nowhere")])
    assert less.chance[0] == 0.0
    assert less.chance.sum() == pytest.approx(1 - level.rest)
    ratio = level.chance[1] / level.chance[2]
    assert less.chance[1] / less.chance[2] == pytest.approx(ratio)
    assert level.without(level.terms).chance.tolist() == [0.0] * 3
    assert level.chance[0] > 0.0  # it is another one


def test_draws_come_with_their_chances():
    level = by_name(levels(FORM, KNOWN))["city"]
    rng = np.random.default_rng(0)
    drawn = [level.draw(rng) for _ in range(8000)]
    chance = dict(zip((*level.terms, None), [*level.chance, level.rest], strict=True))
    assert all(p == pytest.approx(chance[term]) for term, p in drawn)
    seen = Counter(term for term, _ in drawn)
    for term, p in chance.items():
        assert seen[term] / 8000 == pytest.approx(p, abs=0.03)


def test_known_records_lead_the_chances_given_what_was_added():
    local = LocalChances(FORM, KNOWN)
    found = by_name(local.levels)
    rows = local.among(found["city"], Term("city", "Oslo"), local.rows)
    assert rows.tolist() == [0, 1, 3]
    here = local.given(found["make"], rows)
    # of three one has no make, two an Audi
    level = found["make"]
    rest = (1 - DEFENCE) / 3 + DEFENCE * level.rest
    raw = np.array(
        [
            (1 - DEFENCE) * (2 / 3) * share + DEFENCE * chance
            for share, chance in zip([1.0, 0.0], level.chance, strict=True)
        ]
    )
    assert here.rest == pytest.approx(rest)
    np.testing.assert_allclose(here.chance, raw * (1 - rest) / raw.sum())
    words = local.given(found["title"], rows)
    assert words.chance.sum() + words.rest == pytest.approx(1.0)
    share = {"red": 2 / 5, "car": 2 / 5, "blue": 1 / 5}
    level = found["title"]
    raw = np.array(
        [
            (1 - DEFENCE) * share[t.value] + DEFENCE * c
            for t, c in zip(level.terms, level.chance, strict=True)
        ]
    )
    np.testing.assert_allclose(words.chance, raw * (1 - words.rest) / raw.sum())


def test_records_without_a_value_are_the_rest():
    local = LocalChances(FORM, KNOWN)
    found = by_name(local.levels)
    assert local.among(found["make"], None, local.rows).tolist() == [3]
    assert local.among(found["price"], None, local.rows).tolist() == [2]
    assert local.among(found["make"], Term("make", "Seat"), local.rows).size == 0
    none = local.rows[:0]
    assert local.given(found["make"], none) is found["make"]
    blind = LocalChances(FORM, KNOWN, "even")
    assert blind.rows.size == 0
