"""The parts of a drill-down, each by hand."""

import numpy as np
import pytest

from halflife.core.errors import UsageError
from halflife.core.forms import Attribute, Interface, Query, Term
from halflife.queries.completeness import QueryAnswer
from halflife.queries.drill_down import (
    WORDS,
    Drill,
    DrillStep,
    _halves,
    _narrowed,
    count_paths,
    finish_walk,
    skips_level,
)
from halflife.queries.ledger import Ledger
from halflife.queries.levels import DrillLevel, LocalChances, levels
from halflife.queries.table_form import TableForm

CITY = Attribute("city", "select", ("Lima", "Oslo", "Rome"))
MAKE = Attribute("make", "select", ("Audi", "Fiat"))
TITLE = Attribute("title", "keyword")
PRICE = Attribute("price", "range", cuts=(10.0, 20.0))


def level_of(attribute, *values, chance=None, rest=0.1):
    terms = tuple(Term(attribute.name, value) for value in values)
    even = np.full(len(terms), (1.0 - rest) / max(len(terms), 1))
    return DrillLevel(
        attribute, terms, even if chance is None else np.array(chance), rest
    )


def ledger_of(records, *attributes, **interface):
    shape = Interface(attributes, **{"page_size": 3, **interface})
    return Ledger(TableForm(shape, records, rng=np.random.default_rng(0)))


def cities(**sizes):
    return {
        f"{city}{i}": {"city": city}
        for city, size in sizes.items()
        for i in range(size)
    }


WORD = level_of(TITLE, "red", "old", "big")
TOWN = level_of(CITY, "Oslo", "Rome")


def word(value, level=WORD):
    return DrillStep(level, None if value is None else Term("title", value), 0.25)


def town(value):
    return DrillStep(TOWN, None if value is None else Term("city", value), 0.5)


# paths


def test_words_can_be_asked_for_in_any_order():
    three = {"title": "red old big car"}
    assert count_paths(three, []) == 1
    assert count_paths(three, [word("red")]) == 3
    assert count_paths(three, [word("red"), word("old")]) == 6
    assert count_paths(three, [word("red"), word("old"), word("big")]) == 6
    assert count_paths({"title": "red car"}, [word("red")]) == 1
    # a word that is found though the record does not show it counts as its own
    assert count_paths({"title": "car"}, [word("red")]) == 1
    assert count_paths({"title": "old big"}, [word("red")]) == 3


def test_a_value_is_one_way_and_the_rest_is_of_those_without():
    assert count_paths({"city": "Oslo"}, [town("Oslo")]) == 1
    assert count_paths({"city": "Oslo"}, [town(None)]) == 0
    assert count_paths({"city": "Bonn"}, [town(None)]) == 1  # not among the conditions
    assert count_paths({}, [town(None)]) == 1
    assert count_paths({"title": "red"}, [word(None)]) == 0
    assert count_paths({"title": "car"}, [word(None)]) == 1
    # after red was asked for, no other word is left
    assert count_paths({"title": "red"}, [word("red"), word(None)]) == 1
    assert count_paths({"title": "red old"}, [word("red"), word(None)]) == 0


def test_a_walk_weighs_each_record_by_its_chance_and_ways():
    records = {
        "a": {"city": "Oslo", "title": "red old"},
        "b": {"city": "Oslo", "title": "red"},
        "c": {"city": "Oslo", "title": "big old red"},
    }
    steps = (town("Oslo"), word("red"))
    query = Query.of(Term("city", "Oslo"), Term("title", "red"))
    walk = finish_walk(QueryAnswer(records, whole=True), query, steps, 7)
    assert (walk.probability, walk.requests, walk.whole) == (0.125, 7, True)
    assert list(walk.records) == ["a", "b", "c"]
    assert walk.weight.tolist() == [4.0, 8.0, 8.0 / 3.0]
    assert walk.size == pytest.approx(4.0 + 8.0 + 8.0 / 3.0)
    # the record that has a value is not of the rest
    answer = QueryAnswer({"a": {"city": "Oslo"}, "z": {}}, whole=True)
    rest = finish_walk(answer, Query(), (town(None),), 1)
    assert list(rest.records) == ["z"]
    assert rest.weight.tolist() == [2.0]


def test_counted_hits_stand_for_what_was_not_shown_where_values_divide():
    shown = cities(Oslo=3)
    oslo = Query.of(Term("city", "Oslo"))
    cut = finish_walk(
        QueryAnswer(shown, whole=False, total=12), oslo, (town("Oslo"),), 1
    )
    assert cut.weight.tolist() == [8.0] * 3  # 2 each, times 12 / 3
    assert cut.size == 24.0
    whole = finish_walk(
        QueryAnswer(shown, whole=True, total=3), oslo, (town("Oslo"),), 1
    )
    assert whole.weight.tolist() == [2.0] * 3
    silent = finish_walk(QueryAnswer(shown, whole=False), oslo, (town("Oslo"),), 1)
    assert silent.weight.tolist() == [2.0] * 3
    rest = finish_walk(
        QueryAnswer({"z": {}}, whole=False, total=12), oslo, (town(None),), 1
    )
    assert rest.weight.tolist() == [2.0]
    red = {"a": {"title": "red"}}
    words = finish_walk(
        QueryAnswer(red, whole=False, total=12), oslo, (word("red"),), 1
    )
    assert words.weight.tolist() == [4.0]
    none = finish_walk(QueryAnswer({}, whole=False, total=12), oslo, (town("Oslo"),), 1)
    assert none.size == 0.0


def test_a_path_goes_on_without_a_level_only_after_its_rest():
    assert skips_level(TOWN, [town(None)])
    assert not skips_level(TOWN, [town("Oslo")])
    assert not skips_level(TOWN, [word(None)])
    assert not skips_level(TOWN, [])


# the order of conditions


def test_values_come_before_words_which_come_twice():
    ledger = ledger_of({}, TITLE, CITY, PRICE, MAKE)
    known = [{"title": "red", "city": "Oslo", "price": 5, "make": "Audi"}]
    made = Drill(ledger, known, order=["title", "make", "city", "nothing"])
    names = [
        level.attribute.name for level in made.order_levels(np.random.default_rng(0))
    ]
    assert names == ["make", "city", *["title"] * WORDS]
    # in a random order those come first that fewer known records lack
    some = [*known, {"city": "Oslo"}, {"city": "Rome", "make": "Fiat"}]
    made = Drill(ledger, some)
    seen = set()
    for seed in range(12):
        levels_ = made.order_levels(np.random.default_rng(seed))
        names = [level.attribute.name for level in levels_]
        assert names == ["city", "make", "price", "title", "title"]
    for seed in range(12):
        levels_ = Drill(ledger, known).order_levels(np.random.default_rng(seed))
        seen.add(tuple(level.attribute.name for level in levels_[:3]))
    assert len(seen) > 2


def test_a_drill_reads_a_page_or_what_the_form_shows_of_words():
    known = [{"title": "red", "city": "Oslo"}]
    assert Drill(ledger_of({}, CITY, TITLE), known).reader.most == 3
    assert Drill(ledger_of({}, TITLE, cap=9), known).reader.most == 9
    assert Drill(ledger_of({}, CITY, TITLE), known, most=8).reader.most == 8
    with pytest.raises(UsageError, match="no query is possible"):
        Drill(ledger_of({}, TITLE))
    assert Drill(ledger_of({}, TITLE, everything=True)).levels == ()


def test_backtracking_is_for_those_who_know_nothing():
    known = [{"city": "Oslo"}]
    assert Drill(ledger_of({}, CITY))._backtrack is True
    assert Drill(ledger_of({}, CITY), known)._backtrack is False
    assert Drill(ledger_of({}, CITY), known, guide="even")._backtrack is True
    assert Drill(ledger_of({}, CITY), known, backtrack=True)._backtrack is True
    assert Drill(ledger_of({}, CITY), backtrack=False)._backtrack is False


def test_a_second_word_is_not_the_first():
    known = [{"title": "red old", "city": "Oslo"}] * 3
    made = Drill(ledger_of({}, TITLE, CITY), known)
    city, title = made.levels
    asked = Query.of(Term("title", "red"), Term("city", "Oslo"))
    rows = made.local.rows
    left = made.guide_level(title, asked, rows)
    assert left.chance[left.place[Term("title", "red")]] == 0.0
    assert left.chance[left.place[Term("title", "old")]] > 0.0
    assert (made.guide_level(city, asked, rows).chance > 0).all()


# chances like the hits


@pytest.mark.parametrize(
    ("everything", "chance", "rest"),
    [
        # of ten records one has a value that is not among the conditions
        (True, [0.0, 0.6, 0.3], 0.1),
        # with the rest as it was, the others share by their hits
        (False, [0.0, 0.9 * 6 / 9, 0.9 * 3 / 9], 0.1),
    ],
)
def test_counted_conditions_have_the_chances_of_their_hits(everything, chance, rest):
    records = cities(Oslo=6, Rome=3, Bonn=1)
    ledger = ledger_of(records, CITY, everything=everything)
    made = Drill(ledger, guide="counts")
    if everything:
        ledger.first(Query())
    level = level_of(CITY, "Lima", "Oslo", "Rome")
    found = made._weighted(Query(), level)
    assert found.chance.tolist() == pytest.approx(chance)
    assert found.rest == pytest.approx(rest)
    assert ledger.requests == 3 + everything
    nothing = Drill(ledger_of({}, CITY), guide="counts")
    assert nothing._weighted(Query(), level).chance.tolist() == [0.0] * 3
    empty = ledger_of({}, CITY, everything=True)
    empty.first(Query())
    void = Drill(empty, guide="counts")._weighted(Query(), level)
    assert (void.chance.tolist(), void.rest) == ([0.0] * 3, 0.0)


@pytest.mark.parametrize("everything", [False, True])
def test_the_only_hit_has_the_whole_chance(everything):
    ledger = ledger_of(cities(Oslo=1), CITY, everything=everything)
    if everything:
        ledger.first(Query())
    level = level_of(CITY, "Lima", "Oslo", rest=0.25)
    found = Drill(ledger, guide="counts")._weighted(Query(), level)
    assert found.chance.tolist() == [0.0, 1.0 if everything else 0.75]
    assert found.rest == (0.0 if everything else 0.25)


def test_more_hits_than_there_are_leave_no_rest():
    records = cities(Oslo=6, Rome=3)
    ledger = ledger_of(records, CITY, everything=True)
    ledger.totals[Query()] = 5  # told before some came
    found = Drill(ledger, guide="counts")._weighted(
        Query(), level_of(CITY, "Oslo", "Rome")
    )
    assert found.rest == 0.0
    assert found.chance.tolist() == pytest.approx([6 / 9, 3 / 9])


def test_conditions_are_counted_once_for_each_query():
    records = cities(Oslo=6, Rome=3)
    ledger = ledger_of(records, CITY)
    made = Drill(ledger, guide="counts")
    level = level_of(CITY, "Lima", "Oslo", "Rome")
    for seed in range(5):
        step = made._step(Query(), level, np.random.default_rng(seed))
        assert step.term != Term("city", "Lima")
    assert ledger.requests == 3
    blind = Drill(ledger_of(records, CITY, counts="none"), guide="counts")
    step = blind._step(Query(), level, np.random.default_rng(0))
    assert step.level is level  # such a form counts nothing


# backtracking


@pytest.mark.parametrize(
    ("at", "there", "found", "chance"),
    [
        (0, "abcd", "a", 0.1),
        (1, "acd", "c", 0.2 + 0.3),
        (0, "cd", "c", 0.1 + 0.2 + 0.3),
        (3, "abc", "a", 0.4 + 0.1),
        (3, "b", "b", 1.0),
        (1, "b", "b", 1.0),
        (2, "bd", "d", 0.3 + 0.4),
        (2, "", "c", 0.3),
    ],
)
def test_a_condition_has_its_chance_and_that_of_those_without_hits_before(
    at, there, found, chance
):
    attribute = Attribute("city", "select", tuple("abcd"))
    records = {f"{v}{i}": {"city": v} for v in there for i in range(4)}
    made = Drill(ledger_of(records, attribute))
    level = level_of(attribute, *"abcd", chance=[0.1, 0.2, 0.3, 0.4], rest=0.0)
    step = made._backtracked(Query(), level, at)
    assert step.term == Term("city", found)
    assert step.chance == pytest.approx(chance)


def test_what_a_query_has_shown_is_not_asked_for():
    records = cities(Oslo=9, Rome=1)
    ledger = ledger_of(records, CITY, everything=True)
    made = Drill(ledger)
    shown = made.reader.read(Query())
    before = ledger.requests
    values = {record["city"] for record in shown.records.values()}
    for value in ("Oslo", "Rome", "Lima"):
        empty = made._empty(Query(), Term("city", value))
        assert empty is (value == "Lima")
        before += value not in values
        assert ledger.requests == before


def test_only_values_of_those_who_know_nothing_are_tracked_back():
    level = level_of(CITY, "Lima", "Oslo", chance=[1.0, 0.0], rest=0.0)
    records = cities(Oslo=4)
    lost = Drill(ledger_of(records, CITY))
    step = lost._step(Query(), level, np.random.default_rng(0))
    assert (step.term, step.chance) == (Term("city", "Oslo"), 1.0)
    sure = Drill(ledger_of(records, CITY), backtrack=False)
    step = sure._step(Query(), level, np.random.default_rng(0))
    assert (step.term, step.chance) == (Term("city", "Lima"), 1.0)
    rest = level_of(CITY, "Lima", chance=[0.0], rest=1.0)
    assert lost._step(Query(), rest, np.random.default_rng(0)).term is None
    words = level_of(TITLE, "red", chance=[1.0], rest=0.0)
    plain = Drill(ledger_of({}, TITLE, CITY), backtrack=True)
    step = plain._step(Query(), words, np.random.default_rng(0))
    assert (step.term, step.chance) == (Term("title", "red"), 1.0)
    assert plain.reader.ledger.requests == 0


# halves of ranges


def prices(*values):
    return QueryAnswer(
        {f"k{i}": {"price": v} for i, v in enumerate(values)}, whole=False
    )


def test_a_range_is_halved_at_the_median_of_different_numbers():
    query = Query.of(Term("city", "Oslo"), Term("price", "10..20"))
    both = levels(Interface((CITY, PRICE)))
    halves = _halves(query, prices(11, 11, 12, 14, None), both)
    assert [str(term) for term in halves.terms] == ["price=10..12", "price=12..20"]
    assert halves.chance.tolist() == [0.5, 0.5]
    assert halves.rest == 0.0
    assert halves.attribute.cuts == (10.0, 12.0, 20.0)
    four = _halves(query, prices(11, 12, 13, 14), both)
    assert [str(term) for term in four.terms] == ["price=10..13", "price=13..20"]
    two = _halves(query, prices(11, 12), both)
    assert str(two.terms[0]) == "price=10..12"
    assert _halves(query, prices(11, 11), both) is None
    assert _halves(query, prices(None), both) is None
    assert _halves(Query.of(Term("city", "Oslo")), prices(11, 12), both) is None
    narrow = _narrowed(query, two.terms[0])
    assert str(narrow) == "city=Oslo & price=10..12"


def test_a_walk_ends_where_its_answer_is_whole_or_nothing_can_be_added():
    records = cities(Oslo=2, Rome=5)
    ledger = ledger_of(records, CITY, MAKE)
    made = Drill(ledger, list(records.values()), order=["city", "make"])
    for seed in range(8):
        before = ledger.requests
        walk = made.walk(np.random.default_rng(seed))
        names = [step.level.attribute.name for step in walk.steps]
        oslo = Term("city", "Oslo") in walk.query.terms
        assert names == (["city"] if oslo else ["city", "make"])
        assert walk.requests == ledger.requests - before
    makes = {key: {**row, "make": "Audi"} for key, row in records.items()}
    for together in (1, 2):
        narrow = ledger_of(makes, CITY, MAKE, together=together)
        made = Drill(narrow, list(makes.values()), order=["city", "make"])
        walks = [made.walk(np.random.default_rng(seed)) for seed in range(12)]
        assert max(len(walk.query) for walk in walks) == together
        assert max(len(walk.steps) for walk in walks) == together
    free = ledger_of(cities(Oslo=3), CITY, everything=True)
    assert Drill(free).walk(np.random.default_rng(0)).steps == ()


def test_a_walk_goes_on_with_other_words_after_the_rest_of_some():
    note = Attribute("note", "keyword")
    some = {f"k{i}": {"note": "red old"} for i in range(9)}
    known = [*some.values()] * 3 + [{"title": "big"}]
    ledger = ledger_of(some, TITLE, note, counts="none", cap=3)
    made = Drill(ledger, known, order=["title", "note"])
    walks = [made.walk(np.random.default_rng(seed)) for seed in range(12)]
    paths = {tuple(s.level.attribute.name for s in walk.steps) for walk in walks}
    assert ("title", "note", "note") in paths  # big is no word of theirs
    assert all(path.count("title") <= 1 for path in paths)


# levels


def test_the_chance_of_the_rest_has_a_floor_only_for_unknown_values():
    free = Attribute("make", "select")
    known = tuple({"make": "Audi", "city": "Oslo"} for _ in range(200))
    local = LocalChances(Interface((free, CITY)), known)
    make, city = local.levels
    rows = local.rows
    assert local.given(make, rows).rest == 0.02
    # nothing lacks, one in 200 + 3 + 1 at first, of which a fifth is kept
    assert local.given(city, rows).rest == pytest.approx(0.2 / 204)
    for level in (make, city):
        found = local.given(level, rows)
        assert found.chance.sum() + found.rest == pytest.approx(1.0)


def test_records_that_lack_a_value_leave_their_chance_to_the_rest():
    known = tuple({"city": city} for city in ("Oslo", None, None, None))
    local = LocalChances(Interface((CITY,)), known)
    (city,) = local.levels
    some = local.given(city, local.rows)
    assert some.rest == pytest.approx(0.8 * 0.75 + 0.2 * city.rest)
    none = local.given(city, local.rows[1:])
    assert none.rest == pytest.approx(0.8 + 0.2 * city.rest)
    for found in (some, none):
        assert found.chance.sum() + found.rest == pytest.approx(1.0)
    assert none.chance == pytest.approx(city.chance * (1 - none.rest) / (1 - city.rest))
    assert local.given(city, local.rows[:0]) is city


def test_cuts_are_of_numbers_alone():
    known = [{"price": v} for v in (3, None, "x", 5, 7.5)]
    free = Attribute("price", "range")
    (level,) = levels(Interface((free,)), known)
    wanted = np.unique(np.quantile([3, 5, 7.5], np.arange(1, 8) / 8))
    assert level.attribute.cuts == tuple(wanted.tolist())
    assert levels(Interface((free,)), [{"price": "x"}]) == ()
    (fixed,) = levels(Interface((PRICE,)), known)
    assert fixed.attribute.cuts == (10.0, 20.0)
    assert [term.value for term in fixed.terms] == ["..10", "10..20", "20.."]
    (gone,) = levels(Interface((PRICE,)), ())
    assert (gone.gaps, gone.rest) == (0.0, 0.25)
    assert fixed.gaps == pytest.approx(2 / 5)
