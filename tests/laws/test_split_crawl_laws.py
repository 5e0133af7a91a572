"""How a crawl divides what overflows: one decision at a time, from a state by hand."""

from itertools import pairwise
from math import inf, nextafter

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from halflife.core.errors import BudgetSpent, SourceError
from halflife.core.forms import Attribute, Interface, Query, Term, within
from halflife.queries.completeness import QueryAnswer
from halflife.queries.frontier import CrawlPart, CrawlState
from halflife.queries.ledger import Ledger
from halflife.queries.split_crawl import CrawlRun, _ranges, crawl
from halflife.queries.table_form import TableForm

CITY = Attribute("city", "select", ("Oslo", "Rome"))
SIZE = Attribute("size", "select", ("s", "m", "l"))
PRICE = Attribute("price", "range", cuts=(10.0, 20.0))
TITLE = Attribute("title", "keyword")
OSLO, ROME, LIMA = (Term("city", c) for c in ("Oslo", "Rome", "Lima"))
SMALL, RED, OLD, NEW = (
    Term("size", "s"), Term("title", "red"), Term("title", "old"), Term("title", "new")
)  # fmt: skip
one = Query.of


def form_of(records, *attributes, **interface):
    shape = {"page_size": 4, "everything": True, **interface}
    whole = Interface(attributes or (CITY, SIZE, PRICE, TITLE), **shape)
    return TableForm(whole, records, rng=np.random.default_rng(0))


def crawling(records=(), *attributes, known=(), **options):
    own = {name: options.pop(name) for name in ("sound", "resume") if name in options}
    form = form_of(dict(records), *attributes, **options)
    return CrawlRun(Ledger(form), known, **own)


def row(**values):
    return {"city": "Oslo", "size": "s", "price": 5, "title": "red", **values}


# In which order attributes divide


def order(*known, attributes=(TITLE, SIZE, CITY, PRICE)):
    made = crawling({}, *attributes, known=known)
    return [attribute.name for attribute in made._attributes()]


def test_ranges_divide_first_then_choices_with_few_values_and_words_last():
    assert order() == ["price", "city", "size", "title"]
    # two cities are offered, and two more are known
    more = [row(city="Lima"), row(city="Bari")]
    assert order(*more) == ["price", "size", "city", "title"]


@pytest.mark.parametrize(("lacking", "late"), [(0, False), (1, False), (2, True)])
def test_what_more_than_one_record_in_fifty_lacks_divides_late(lacking, late):
    records = [row(price=None)] * lacking + [row()] * (50 - lacking)
    usual = ["price", "city", "size", "title"]
    assert order(*records) == (["city", "size", "price", "title"] if late else usual)
    wordless = [row(title="")] * 50  # words come last, whatever else is lacking
    assert order(*wordless) == usual


def test_values_are_those_offered_and_those_of_known_records():
    made = crawling({}, known=[row(city="Lima"), row(city="Oslo", title="old red")])
    assert list(made._values["city"]) == [OSLO, ROME, LIMA]
    assert list(made._values["title"]) == [RED, OLD]
    assert list(made._values["price"]) == []
    assert made._learned == 2


# Into what a query is divided


def part_of(*terms, keys=(), total=None, tried=(), failed=0, above=None):
    return CrawlPart(one(*terms), above, tuple(tried), set(), set(keys), total, failed)


def shown(*prices):
    return QueryAnswer(
        {f"k{i}": {"price": p} for i, p in enumerate(prices)}, whole=False
    )


def test_a_choice_is_divided_into_its_values_unless_one_is_fixed():
    made = crawling({}, known=[row(city="Lima")])
    assert made._terms(CITY, part_of(), shown()) == [OSLO, ROME, LIMA]
    assert made._terms(CITY, part_of(SMALL), shown()) == [OSLO, ROME, LIMA]
    assert made._terms(CITY, part_of(OSLO), shown()) == []


def test_no_more_terms_are_joined_than_the_form_can():
    made = crawling({}, together=1)
    assert made._terms(CITY, part_of(), shown()) == [OSLO, ROME]
    assert made._terms(CITY, part_of(SMALL), shown()) == []
    assert made._terms(PRICE, part_of(SMALL), shown(1, 5, 9)) == []
    # a range is narrowed without a further term
    low = part_of(within("price", 0, 10))
    assert [t.bounds for t in made._terms(PRICE, low, shown(1, 5, 9))] == [
        (0.0, 5.0), (5.0, 6.0), (6.0, 10.0)
    ]  # fmt: skip
    free = [t.bounds for t in made._terms(PRICE, part_of(), shown(1, 3, 5, 7, 9))]
    assert free == [(-inf, 5.0), (5.0, inf)]


def test_words_of_most_records_come_first_and_are_not_asked_for_twice():
    made = crawling({}, known=[row(title="blue")])
    for key, title in {"a": "old red", "b": "red new", "c": "red new"}.items():
        made.records[key] = row(title=title)
    part = part_of(keys=("a", "b", "c"))
    assert made._terms(TITLE, part, shown()) == [RED, NEW, OLD]
    assert made._terms(TITLE, part_of(RED, keys=("a", "b", "c")), shown()) == [NEW, OLD]
    # words of other records only if there are none of its own
    assert made._terms(TITLE, part_of(), shown()) == [Term("title", "blue")]


def test_parts_are_asked_for_in_order_and_a_range_takes_the_place_of_a_wider_one():
    made = crawling({})
    above = part_of(SMALL)
    made._push(above, [OSLO, ROME])
    assert [part.query for part in made.stack[-2:]] == [
        one(SMALL, ROME),
        one(SMALL, OSLO),
    ]
    assert made.stack[-1].above is above
    assert above.terms == {OSLO, ROME}
    wide = part_of(SMALL, within("price", 0, 10))
    halves = [within("price", 0, 5), within("price", 5, 10)]
    made._push(wide, halves)
    assert [part.query for part in made.stack[-2:]] == [
        one(SMALL, halves[1]), one(SMALL, halves[0])
    ]  # fmt: skip
    made._push(part_of(RED), [OLD])  # a word does not take the place of another
    assert made.stack[-1].query == one(RED, OLD)


def test_values_that_became_known_later_are_left_to_ask_for():
    made = crawling({}, known=[row(city="Lima", title="red")])
    part = part_of(tried=("size", "city"))
    part.terms = {OSLO, LIMA}
    assert made._grown(part) == [ROME]
    assert made._grown(part_of(tried=("city", "price"))) == []
    made.records["a"] = row(title="old red")
    words = part_of(keys=("a",), tried=("title",))
    words.terms = {OLD}
    assert made._grown(words) == [RED]


# What is proven


def test_nothing_is_lost_in_a_range_and_by_attributes_that_all_records_have():
    made = crawling({}, sound=("size",))
    assert made._proven(part_of(tried=("size",)))
    assert not made._proven(part_of(tried=("city",)))
    assert made._proven(part_of(tried=("city", "size")))
    inside = within("price", 0, 10)
    assert made._proven(part_of(inside, tried=("price",)))
    assert not made._proven(part_of(inside, tried=("city",)))
    assert not made._proven(part_of(tried=("price",)))
    assert not made._proven(part_of(OSLO, tried=("city",)))


def test_a_record_without_the_attribute_is_lost_by_dividing():
    made = crawling({})
    made.records |= {"a": row(), "b": row(city=None)}
    assert not made._lacking(part_of(keys=("a",), tried=("city",)))
    assert made._lacking(part_of(keys=("a", "b"), tried=("city",)))
    assert not made._lacking(part_of(keys=("a", "b"), tried=("city", "size")))
    assert made._lacking(part_of(keys=("a",), tried=("title",)))  # words prove nothing


def checked(part, *, unresolved=(), known=(), sound=(), records=()):
    """Return a crawl after it came back to a part that was divided."""
    made = crawling({}, CITY, SIZE, TITLE, known=known, sound=sound, cap=4)
    made.records |= dict(records)
    made.reader.reads[part.query] = QueryAnswer({}, whole=False, total=part.total)
    made.unresolved = list(unresolved)
    made.stack = [part]
    made._check(part)
    return made


def test_a_part_with_all_its_records_is_closed_and_what_failed_below_forgotten():
    above = part_of(keys=("z",))
    earlier, below = part_of(ROME), part_of(OSLO, SMALL)
    part = part_of(OSLO, keys="abc", total=3, tried=("size",), failed=1, above=above)
    made = checked(part, unresolved=[earlier, below])
    assert made.stack == []
    assert made.unresolved == [earlier]
    assert above.keys == {"z", "a", "b", "c"}
    assert made.unproven == []


def test_a_part_that_was_divided_without_loss_is_closed_with_what_failed_below():
    below = part_of(OSLO, SMALL)
    part = part_of(OSLO, keys="abc", tried=("size",))
    made = checked(part, unresolved=[below], sound=("size",))
    assert (made.stack, made.unresolved, made.unproven) == ([], [below], [])


@pytest.mark.parametrize(
    ("lacks", "below", "tried", "closed", "doubted"),
    [
        (2, [1, 1], ("size",), True, False),  # its parts lack as many
        (2, [2], ("size",), True, False),
        (1, [1], ("size",), True, False),
        (3, [1, 1], ("size",), False, False),  # one more is lost
        (2, [2], ("size", "city"), True, True),  # several sets of parts overlap
        (2, [1], ("size", "city"), False, False),
    ],
)
def test_what_a_part_lacks_may_be_in_its_parts(lacks, below, tried, closed, doubted):
    part = part_of(RED, keys="abc", total=3 + lacks, tried=tried, failed=1)
    part.terms = {Term("size", s) for s in "sml"} | {OSLO, ROME}
    under = [part_of(SMALL, total=n) for n in below]
    made = checked(part, unresolved=[part_of(ROME, total=99), *under])
    if closed:
        assert made.stack == []
        assert made.unproven == [part.query] * doubted
        assert made.unresolved[1:] == under
    elif len(tried) == 1:  # it is divided once more, by the next attribute
        assert part.tried == ("size", "city")
        assert made.stack[0] is part
        assert len(made.stack) == 3
    else:  # nothing divides it any more
        assert made.unresolved[-1] is part
        assert made.stack == []


def test_values_that_turned_up_are_asked_for_before_it_is_divided_again():
    part = part_of(RED, keys="ab", total=9, tried=("city",))
    part.terms = {OSLO, ROME}
    records = {"a": row(), "b": row()}
    made = checked(part, known=[row(city="Lima")], records=records)
    assert [p.query for p in made.stack] == [part.query, one(RED, LIMA)]
    assert part.tried == ("city",)


@pytest.mark.parametrize("lacking", [False, True])
def test_without_counts_it_is_not_proven_that_nothing_was_lost(lacking):
    records = {"a": row(), "b": row(city=None if lacking else "Rome")}
    part = part_of(RED, keys="ab", tried=("city",))
    part.terms = {OSLO, ROME}
    made = checked(part, records=records)
    if lacking:  # what was lost is looked for by another attribute
        assert part.tried == ("city", "size")
        assert made.unproven == []
    else:
        assert made.unproven == [part.query]
        assert made.stack == []


# Reading


def test_a_query_is_answered_from_a_single_choice_that_was_whole():
    records = {f"{c}{s}{i}": row(city=c, size=s) for c in ("Oslo", "Rome")
               for s in "sm" for i in range(2)}  # fmt: skip
    made = crawling(records, CITY, SIZE, TITLE, cap=5)
    read = made._read(one(OSLO, SMALL))
    small = {k: r for k, r in records.items() if k.startswith("Oslos")}
    assert read == QueryAnswer(small, whole=True, total=2)
    assert list(made.ledger.asked) == [one(OSLO)]
    assert len(made.records) == 4  # what the choice has shown is kept
    made._read(one(RED))  # a word is no choice
    made._read(one(ROME))
    assert list(made.ledger.asked) == [one(OSLO), one(RED), one(ROME)]
    # a choice that overflows does not answer for others
    small = crawling(records, CITY, SIZE, cap=3)
    small._read(one(OSLO, SMALL))
    assert set(small.ledger.asked) == {one(OSLO), one(SMALL), one(OSLO, SMALL)}


def test_only_choices_are_asked_for_alone_before_they_are_joined():
    records = {f"k{i}": row(price=i, size="sm"[i % 2]) for i in range(9)}
    made = crawling(records, PRICE, SIZE, TITLE, cap=5, counts="none")
    low = within("price", 0, 4)
    assert made._read(one(low, SMALL)).records.keys() == {"k0", "k2"}
    assert set(made.ledger.asked) == {one(SMALL), one(low, SMALL)}
    other = crawling(records, PRICE, TITLE, cap=5, counts="none")
    other._read(one(low, RED))
    assert list(other.ledger.asked) == [one(low, RED)]
    assert other._read(one(low)) == other.reader.read(one(low))
    assert made._read(one(SMALL)).total is None  # nobody counted them


def test_a_record_is_learned_from_once_and_kept_as_last_shown():
    made = crawling({}, CITY)
    made._keep(QueryAnswer({"a": row(city="Lima")}, whole=True))
    made._keep(QueryAnswer({"a": row(city="Bari"), "b": row()}, whole=True))
    assert made._learned == 2
    assert made.records["a"]["city"] == "Bari"
    assert LIMA in made._values["city"]


class Silent(TableForm):
    """A form that fails without a word."""

    def ask(self, query, page=0, *, newest=False):
        raise SourceError


def test_a_failure_without_a_word_is_named_by_its_kind():
    shape = Interface((CITY,), everything=True)
    form = Silent(shape, {}, rng=np.random.default_rng(0))
    assert crawl(Ledger(form)).why == "SourceError"


def test_what_was_read_of_single_choices_is_handed_on():
    records = {f"k{i}": row(city=("Oslo", "Rome")[i % 2]) for i in range(6)}
    made = crawling(records, CITY, SIZE, PRICE, cap=5)
    for query in (one(OSLO), one(OSLO, SMALL), one(within("price", 0, 9)), Query()):
        made.reader.read(query)
    assert set(made.so_far().reads) == {one(OSLO)}


def test_a_crawl_is_complete_when_nothing_is_left_open():
    made = crawling({}, CITY)
    assert not made.so_far().complete  # everything is still to be asked for
    made.stack = []
    assert made.so_far().complete
    made.unresolved = [part_of(OSLO)]
    assert not made.so_far().complete
    assert made.so_far().unresolved == (one(OSLO),)
    made.unresolved, made.unproven = [], [one(OSLO)]
    assert not made.so_far().complete


def test_the_number_of_all_is_that_of_everything_or_what_was_known_before():
    records = {f"k{i}": row() for i in range(6)}
    resumed = CrawlState({"a": row()}, False, (), (), 0, total=9)
    made = crawling(records, CITY, resume=resumed)
    assert made.total == 9
    assert made.resumed
    made.reader.read(Query())
    assert made.total == 6
    assert not crawling(records, CITY).resumed
    assert crawling(records, CITY).total is None


def test_as_many_records_as_are_counted_settle_what_could_not_be_divided():
    records = {f"k{i}": row() for i in range(6)}
    made = crawling(records, CITY, cap=4)
    made.reader.read(Query())
    made.records |= records
    made.stack, made.words = [], True
    made.unresolved, made.unproven = [part_of(OSLO)], [one(ROME)]
    made._finish()  # nothing has confirmed that the number is right
    assert (len(made.unresolved), len(made.unproven)) == (1, 1)
    made.ledger.trust.recall(0.01)
    made._finish()
    assert (made.unresolved, made.unproven) == ([], [])
    del made.records["k0"]
    made.unresolved, made.unproven = [part_of(OSLO)], [one(ROME)]
    made._finish()
    assert (len(made.unresolved), len(made.unproven)) == (1, 1)


def test_words_are_asked_for_once_all_else_is_done():
    titles = ("red old", "old new", "new red")
    records = {f"k{i}": row(title=titles[i % 3]) for i in range(9)}
    form = form_of(records, CITY, TITLE, cap=4)
    ledger = Ledger(form)
    found = crawl(ledger)
    assert found.complete
    assert found.records == records
    assert found.words
    asked = [str(query) for query in ledger.asked]
    plain = [query for query in asked if "title" not in query]
    assert asked[: len(plain)] == plain
    without = crawl(Ledger(form_of(records, CITY, cap=None)))
    assert not without.words


def test_a_part_of_something_that_is_full_is_not_asked_for():
    made = crawling({f"k{i}": row() for i in range(6)}, CITY)
    full = part_of(keys="ab", total=2)
    full.idle = True  # one more part brought nothing new
    made.stack = [part_of(OSLO, above=full)]
    made._empty()
    assert made.ledger.requests == 0
    untried = part_of(keys=[f"k{i}" for i in range(6)], total=6)
    made.stack = [part_of(ROME, above=untried), part_of(ROME, above=untried)]
    made._empty()
    assert (made.ledger.requests, untried.idle) == (1, True)
    made.ledger.requests = 0
    short = part_of(keys="a", total=9)
    made.stack = [part_of(OSLO, above=short)]
    made._empty()
    assert made.ledger.requests == 2
    assert short.keys == {"a", *(f"k{i}" for i in range(6))}


def test_what_cannot_be_divided_is_read_as_far_as_it_is_shown_when_words_are_used():
    records = {f"k{i}": row(title="red") for i in range(9)}
    made = crawling(records, CITY, cap=8, page_size=4)
    part = part_of(OSLO)
    made.stack = [part]
    made._divide(part, made.reader.read(one(OSLO)))
    before = len(made.records)
    assert made.unresolved == [part]
    made.words, made.stack, made.unresolved = True, [part], []
    made._divide(part, made.reader.read(one(OSLO)))
    assert before < len(made.records) == 8
    assert part.keys == made.records.keys()
    assert made.unresolved == [part]


def test_a_stop_ends_a_crawl_between_two_parts():
    form = form_of({f"k{i}": row() for i in range(6)}, CITY)
    ledger = Ledger(form, stopped=lambda: True)
    made = CrawlRun(ledger)
    with pytest.raises(BudgetSpent):
        made._empty()
    found = CrawlRun(Ledger(form, stopped=lambda: True)).done()
    assert found.why == "queries were stopped"
    assert found.open == (Query(),)


def test_requests_made_before_are_not_counted():
    ledger = Ledger(form_of({f"k{i}": row() for i in range(6)}, CITY))
    ledger.first(one(OSLO))
    found = crawl(ledger)
    assert (found.requests, ledger.requests) == (2, 3)


# Ranges


def by_hand(numbers, low, high):
    """Return the ranges as the docstring says, without numpy."""
    ranked = sorted(numbers)
    middle = float(ranked[len(ranked) // 2])
    whole = all(float(n).is_integer() for n in ranked)
    after = middle + 1.0 if whole else nextafter(middle, inf)
    points = {low, middle, high}
    if 4 * ranked.count(middle) > len(ranked):
        points.add(after)
    edges = sorted(p for p in points if low <= p <= high)
    if len(edges) < 3:  # it would be the same range again
        return []
    return list(pairwise(edges))


@settings(max_examples=60)
@given(
    numbers=st.lists(
        st.one_of(st.integers(0, 6), st.sampled_from([1.5, 2.5])),
        min_size=1,
        max_size=9,
    ),
    ends=st.one_of(st.none(), st.tuples(st.integers(-1, 3), st.integers(1, 5))),
)
def test_ranges_are_cut_as_the_paper_says(numbers, ends):
    low, high = (-inf, inf) if ends is None else (ends[0], ends[0] + ends[1])
    inside = [n for n in numbers if low <= n < high] or [max(low, 0)]
    fixed = [] if ends is None else [within("price", low, high)]
    found = [term.bounds for term in _ranges(PRICE, fixed, shown(*inside))]
    assert found == by_hand(inside, low, high)


def test_numbers_that_cannot_be_read_do_not_count():
    read = shown(None, "n/a", 3, "5", 7)
    assert [t.bounds for t in _ranges(PRICE, [], read)] == [
        (-inf, 5.0), (5.0, 6.0), (6.0, inf)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("held", "brought", "idle"),
    [
        ("abc", "ab", True),  # all that are counted were there before it
        ("abc", "d", False),
        ("ab", "ab", False),  # one is still lacking
        ("ab", "c", False),
    ],
)
def test_a_part_is_idle_if_it_brings_nothing_after_all_were_found(held, brought, idle):
    above = part_of(keys=held, total=3, tried=("city",))
    part = part_of(OSLO, keys=brought, above=above)
    made = crawling({})
    made.stack = [above, part]
    made._close(part)
    assert above.idle is idle
