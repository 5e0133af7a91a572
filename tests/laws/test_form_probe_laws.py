"""The questions that find out what a form does, each exactly at its bounds."""

from itertools import islice, product
from math import sqrt

import numpy as np
import pytest

from halflife.core.errors import BudgetSpent, SourceError
from halflife.core.forms import Attribute, Interface, Query, ResultPage, Term
from halflife.queries.form_probe import (
    SMALL,
    SUSPECT,
    UNCOUNTED,
    _between,
    _Inquiry,
    measure,
)
from halflife.queries.ledger import Ledger
from halflife.queries.notes import ResultEnd, usual_ends

ATTRIBUTES = (Attribute("city", "select"), Attribute("title", "keyword"))
OSLO, ROME = (Query.of(Term("city", city)) for city in ("Oslo", "Rome"))
RED = Term("title", "red")
ALL = Query()


class Book:
    """A form whose queries have so many results, whatever it tells of that.

    Args:
        answers: Results there are and results told, by query; else there are none.
        size: Records on a page, whatever is claimed.
        reach: Results of a query that it shows.
        row: What the records are.
        broken: Pages that it fails to show.
        claims: What it says that it does.

    """

    def __init__(self, answers, *, size=10, reach=None, row=None, broken=(), **claims):
        self.answers, self.size, self.reach = answers, size, reach
        self.row = row or (lambda _query, _i: {"city": "Oslo", "title": "red"})
        self.broken = set(broken)
        self.interface = Interface(ATTRIBUTES, **{"page_size": size, **claims})
        self.asked = []

    def ask(self, query, page=0, *, newest=False):
        self.asked.append((query, page, "newest") if newest else (query, page))
        if (query, page) in self.broken:
            raise SourceError("torn out")
        hits, told = self.answers.get(query, (0, None))
        shown = min(hits, hits if self.reach is None else self.reach)
        numbers = range(page * self.size, min((page + 1) * self.size, shown))
        rows = {f"{query}#{i}": self.row(query, i) for i in numbers}
        return ResultPage(rows, told, more=(page + 1) * self.size < shown)

    def fetch(self, key):
        self.asked.append(key)
        return ResultPage({} if key.endswith("-none") else {key: {"city": "Oslo"}}, 1)


def inquiry(answers, *, most=50, kind=_Inquiry, **book):
    form = Book(answers, **book)
    return kind(Ledger(form), np.random.default_rng(0), most), form


def begun(answers, query=ALL, *, last=0, beyond=None, shown=None, **book):
    """Return an inquiry that knows a query's first page and where it ends so far."""
    asked, form = inquiry(answers, **book)
    found = asked._ask(query)
    size = len(found.records) if shown is None else shown
    asked.notes.ends[query] = ResultEnd(last, size, beyond)
    form.asked.clear()
    return asked, form


# the beginning


@pytest.mark.parametrize(
    ("plain", "found", "asked"),
    [
        (30, {"Oslo", "Rome", "Bonn", "Lima"}, 3),  # everything, and two terms
        (0, {"Oslo", "Rome", "Bonn", "Lima"}, 4),  # three terms that find something
        (0, {"Oslo"}, 8),  # one finds something, six do not
        (0, set(), 7),  # six that find nothing
    ],
)
def test_it_begins_until_three_found_something_or_six_nothing(plain, found, asked):
    cities = ["Oslo", "u", "Rome", "Bonn", "Lima", "v", "w", "x", "y", "z"]
    if found and len(found) > 1:
        cities = [c for c in cities if c in found]
    seeds = tuple(Term("city", city) for city in cities)
    answers = {Query.of(Term("city", c)): (30, None) for c in found}
    row = {"city": None, "title": None}
    one, form = inquiry(
        {ALL: (plain, None), **answers}, everything=True, row=lambda *_: row
    )
    one._begin(seeds)
    assert len(form.asked) == one.spent == asked
    assert one.notes.everything is bool(plain)


def test_an_answer_that_does_not_come_counts_for_two_that_find_nothing():
    seeds = tuple(Term("city", f"c{i}") for i in range(9))
    broken = {(Query.of(seeds[i]), 0) for i in (0, 2)}
    asked, form = inquiry({}, broken=broken)
    asked._begin(seeds)
    assert [query for query, _ in form.asked] == [
        Query.of(seeds[i]) for i in (0, 0, 1, 2, 2, 3)
    ]
    assert asked.notes.everything is None
    dead, _ = inquiry({}, broken={(ALL, 0)} | {(Query.of(s), 0) for s in seeds},
                      everything=True)  # fmt: skip
    dead._begin(seeds)
    assert dead.notes.everything is None  # it answers nothing at all


def test_terms_that_all_records_meet_are_not_asked_for():
    # all are red, half of them in Oslo, a fifth of them old
    def row(_query, i):
        city = ("Oslo", "Rome")[i % 2]
        return {"city": city, "title": "red old" if i % 5 == 0 else "red"}

    asked, _ = inquiry({ALL: (10, None)}, row=row, everything=True)
    asked._ask(ALL)
    seeds = (Term("city", "Lima"), RED)
    found = list(islice(asked._terms(seeds), 9))
    # Rome and Oslo have equal shares; the next is of another attribute
    assert [str(t) for t in found] == [
        "city=Rome", "title=old", "city=Oslo", "city=Lima", "title=red",
    ]  # fmt: skip


# pages


@pytest.mark.parametrize(
    ("hits", "claimed", "asked", "size"),
    [
        (30, 10, [(ALL, 1), (ALL, 0)], 10),
        (10, 10, [(ALL, 0)], 10),  # full, and no more: nothing to be learned
        (7, 10, [(ALL, 1), (ALL, 0)], 10),  # the second page is empty
        (30, 20, [(ALL, 1), (ALL, 0)], 10),  # pages are shorter than claimed
        (30, 5, [(ALL, 1), (ALL, 0)], 10),
    ],
)
def test_a_second_page_tells_how_long_pages_are(hits, claimed, asked, size):
    one, form = inquiry({ALL: (hits, hits)}, page_size=claimed, everything=True)
    one._ask(ALL)
    form.asked.clear()
    one._pages(ALL)
    assert form.asked == asked
    assert one.notes.size == size
    assert ALL in one.notes.repeated


def test_a_second_page_like_the_first_tells_nothing():
    one, form = inquiry({ALL: (30, 30)}, page_size=20, everything=True)
    form.ask = lambda query, page=0, newest=False: Book.ask(form, query, 0)
    one._ask(ALL)
    one._pages(ALL)
    assert one.notes.size == 20
    failing, _ = inquiry({ALL: (30, 30)}, broken={(ALL, 1)}, everything=True)
    failing._ask(ALL)
    failing._pages(ALL)
    assert failing.notes.failures == 2
    assert ALL in failing.notes.repeated


def test_the_last_page_that_is_known_is_the_last_with_records():
    one, form = inquiry({ALL: (14, None)}, everything=True)
    for page in (0, 1, 2):
        one._ask(ALL, page)
    one._ask(OSLO, 3)
    form.asked.clear()
    assert one._promised(ALL) is True
    assert one.notes.ends[ALL] == ResultEnd(1, 4)
    assert form.asked == []  # nobody says how many there are


@pytest.mark.parametrize(
    ("told", "walks", "kept", "asked"),
    [
        (100, False, True, [(ALL, 9)]),
        (101, False, False, [(ALL, 10)]),
        (101, True, True, []),
        (10, False, True, []),
    ],
)
def test_the_last_page_that_was_promised_is_asked_for(told, walks, kept, asked):
    one, form = inquiry({ALL: (100, told)}, walks=walks, everything=True)
    one._ask(ALL)
    form.asked.clear()
    assert one._promised(ALL) is kept
    assert form.asked == asked


def test_a_form_that_shows_one_page_for_ever_is_asked_no_further():
    one, form = inquiry({ALL: (100, 100)}, everything=True)
    form.ask = lambda query, page=0, newest=False: Book.ask(form, query, 0)
    one._ask(ALL)
    one._ask(ALL, 1)
    form.asked.clear()
    assert one._promised(ALL) is True
    assert form.asked == []


@pytest.mark.parametrize(
    ("told", "cap", "goal"),
    [
        (1, None, 0),
        (10, None, 0),
        (11, None, 1),
        (100, 50, 4),
        (100, 51, 5),
        (40, 50, 3),
    ],
)
def test_the_last_page_there_can_be(told, cap, goal):
    assert inquiry({}, cap=cap)[0]._goal(told) == goal


# small queries


class Watching(_Inquiry):
    """Asks for given queries, and notes how narrow each was to be."""

    def __init__(self, *args):
        super().__init__(*args)
        self.scales = []

    def _narrow(self, scale):
        self.scales.append(scale)
        number = len(self.scales)
        return Query.of(Term("title", f"w{number}"))


def small(*answers, most=SMALL, told=True, **book):
    """Return the scales at which small queries with these results are looked for."""
    shown = {
        Query.of(Term("title", f"w{i}")): answer for i, answer in enumerate(answers, 1)
    }
    one, form = inquiry({OSLO: (50, 50 if told else None), **shown}, kind=Watching,
                        **book)  # fmt: skip
    one._ask(OSLO)
    form.asked.clear()
    one._small(most)
    return one.scales


def test_small_queries_are_made_narrower_or_wider_by_half():
    full, many, four, few = (10, 10), (9, 9), (4, 4), (3, 3)
    assert small(full, full, few, most=4) == [1.0, 2.0, 4.0, 2.0]
    assert small(four, few, most=3) == [1.0, 1.0, 0.5]  # 0.4 of a page tells much
    # 1.25/9 * 1.25/9 = 0.0193 is believed
    assert small(many, many, many) == [1.0, 1.0]
    assert small(many, (8, 8), many) == [1.0, 1.0, 1.0]
    assert len(small(full, full, most=2)) == 2
    assert len(small(*[full] * 9, most=SUSPECT)) == SUSPECT
    assert len(small(*[full] * 9)) == SMALL


def test_nothing_to_count_takes_two_small_queries():
    assert len(small(*[(9, None)] * 9, told=False)) == UNCOUNTED
    # of what is told nothing, agreement is no reason to end
    assert small((3, None), (3, None), told=False) == [1.0, 0.5]


def test_small_queries_end_at_a_lie_and_go_on_after_a_slip():
    assert small((5, 20), (5, 5)) == [1.0]
    assert len(small((5, 6), (9, 9), (9, 9), (9, 9), most=4)) == 4


def test_an_answer_that_does_not_come_changes_nothing():
    broken = {(Query.of(Term("title", "w1")), 0)}
    assert small((3, 3), (3, 3), most=3, broken=broken) == [1.0, 1.0, 0.5]


FLAGS = tuple(Attribute(f"f{i}", "select") for i in range(6))


def flagged(total, *, together=8, size=64, records=None):
    """Return an inquiry that saw all combinations of six flags: each has share 1/2."""
    rows = {
        "".join(bits): {f"f{i}": bit for i, bit in enumerate(bits)}
        for bits in product("yn", repeat=6)
    }
    rows = dict(list(rows.items())[:records])
    one, form = inquiry({}, most=50)
    form.interface = Interface(FLAGS, page_size=10, together=together)
    one.notes.claimed = form.interface
    one.notes.size = size
    one.notes.pages[ALL, 0] = ResultPage(rows, total)
    return one


@pytest.mark.parametrize(
    ("total", "scale", "terms"),
    [
        (56, 1.0, 3),  # 56, 28, 14, 7: seven of ten are enough
        (57, 1.0, 4),
        (56, 2.0, 4),
        (56, 0.5, 2),
        (112, 0.5, 3),
        (None, 1.0, 3),  # forty, 20, 10, 5
        (None, 2.0, 4),
        (8, 1.0, 1),
    ],
)
def test_terms_are_added_until_about_seven_tenths_of_a_page_are_expected(
    total, scale, terms
):
    one = flagged(total, size=10)
    for _ in range(5):
        query = one._narrow(scale)
        assert len(query) == terms
        assert len({term.attribute for term in query}) == terms


def test_a_narrow_query_joins_no_more_terms_than_the_form_does():
    assert len(flagged(10**6, size=10, together=4)._narrow(1.0)) == 4
    assert len(flagged(10**6, size=10, together=6)._narrow(1.0)) == 6
    assert flagged(7, size=10)._narrow(1.0) is None  # it is narrow as it is
    alike = flagged(10**6, size=10, records=1)
    assert alike._narrow(1.0) is None  # all records meet all terms


def test_a_narrow_query_begins_with_one_that_fills_a_page():
    one = flagged(None, size=10)
    rows = one.notes.pages.pop((ALL, 0)).records
    full, part = (Query.of(Term("f0", bit)) for bit in "yn")
    some = {
        bit: {k: r for k, r in rows.items() if r["f0"] == bit} for bit in ("y", "n")
    }
    one.notes.pages[full, 0] = ResultPage(dict(list(some["y"].items())[:10]), 80)
    one.notes.pages[part, 0] = ResultPage(dict(list(some["n"].items())[:9]), 80)
    one.notes.pages[Query.of(Term("f1", "y"), Term("f2", "n")), 0] = ResultPage(
        dict(list(some["y"].items())[:10]), 80
    )
    for _ in range(8):
        assert full.terms[0] in one._narrow(1.0).terms
    del one.notes.pages[full, 0]
    assert part.terms[0] in one._narrow(1.0).terms


def test_a_query_that_was_asked_is_no_new_one():
    one = flagged(8, size=10)  # one term is added
    for attribute, bit in product(FLAGS, "yn"):
        query = Query.of(Term(attribute.name, bit))
        one.notes.pages[query, 0] = ResultPage({}, 4)
    assert one._narrow(1.0) is None


# the end of results


@pytest.mark.parametrize(
    ("last", "beyond", "page"),
    [(30, 49, 38), (51, 70, 59), (30, 32, 31), (30, 33, 31), (101, 142, 119)],
)
def test_between_unusual_ends_the_geometric_middle_is_tried(last, beyond, page):
    assert not {p for p in usual_ends(7) if last < p <= beyond}
    assert _between(last, beyond, 7) == page
    assert page == max(int(sqrt((last + 1) * (beyond + 1))) - 1, last + 1)


def test_pages_are_tried_only_if_they_can_tell_something():
    one, form = begun({ALL: (34, 34)}, everything=True)
    assert one._try(ALL, 0) is True
    assert form.asked == []
    assert one._try(ALL, 2) is True
    assert one.notes.ends[ALL] == ResultEnd(2, 10, None)
    assert one._try(ALL, 3) is True
    assert one.notes.ends[ALL] == ResultEnd(3, 4, 4)  # less than a page, and no more
    form.asked.clear()
    assert one._try(ALL, 4) is False
    assert one._try(ALL, 3) is True
    assert form.asked == []
    two, form = begun({ALL: (34, 34)}, everything=True)
    assert two._try(ALL, 6) is False
    assert two.notes.ends[ALL] == ResultEnd(0, 10, 6)
    assert two._try(ALL, 1) is True
    assert two.notes.ends[ALL] == ResultEnd(1, 10, 6)
    broken, _ = begun({ALL: (34, 34)}, broken={(ALL, 2)}, everything=True)
    with pytest.raises(BudgetSpent, match="could not be read"):
        broken._try(ALL, 2)


def test_a_page_that_repeats_an_earlier_one_is_none():
    one, form = begun({ALL: (90, 90)}, everything=True)
    form.ask = lambda query, page=0, newest=False: Book.ask(form, query, 0)
    assert one._try(ALL, 3) is False
    assert one.notes.ends[ALL] == ResultEnd(0, 10, 3)


@pytest.mark.parametrize(
    ("hits", "told", "cap", "pages", "end"),
    [
        (
            34,
            34,
            None,
            [3],
            ResultEnd(3, 4, 4),
        ),  # the last page shows that it is the last
        (40, 40, None, [3, 4], ResultEnd(3, 10, 4)),  # a full one does not
        (200, 200, None, [19, 21], ResultEnd(19, 10, 21)),  # 6 % further on
        (200, 200, 200, [19], ResultEnd(19, 10, None)),
        (200, 200, 50, [4], ResultEnd(4, 10, None)),
        (190, 200, None, [19, 18], ResultEnd(18, 10, 19)),  # two digits: 6 % before
        (195, 200, None, [19], ResultEnd(19, 5, 20)),
    ],
)
def test_a_promised_end_is_looked_for_where_it_is_promised(hits, told, cap, pages, end):
    one, form = begun({ALL: (hits, told)}, cap=cap, everything=True)
    one._search(ALL, told)
    assert [page for _, page in form.asked] == pages
    assert one.notes.ends[ALL] == end


@pytest.mark.parametrize(
    ("reach", "told"), [(100, 3000), (70, 3000), (330, 3217), (60, 1234)]
)
def test_an_end_before_the_promised_one_is_closed_in_on(reach, told):
    one, form = begun({ALL: (3000, told)}, reach=reach, everything=True)
    one._search(ALL, told)
    end = one.notes.ends[ALL]
    assert (end.last, end.shown, end.beyond) == (reach // 10 - 1, 10, reach // 10)
    assert form.asked[0] == (ALL, (told - 1) // 10)
    rounded = told == 3000
    assert ((ALL, int(told / 1.06) // 10) == form.asked[1]) is rounded
    assert len(form.asked) <= 12


def test_without_a_number_pages_are_skipped_by_four():
    one, form = begun({ALL: (10**6, None)}, everything=True, most=6)
    with pytest.raises(BudgetSpent):
        one._search(ALL, None)
    assert [page for _, page in form.asked] == [4, 20, 84, 340, 1364]
    capped, form = begun({ALL: (10**6, None)}, everything=True, cap=250)
    capped._search(ALL, None)
    assert [page for _, page in form.asked] == [4, 20, 24]
    assert capped.notes.ends[ALL] == ResultEnd(24, 10, None)
    odd, form = begun({ALL: (10**6, None)}, everything=True, cap=251)
    odd._search(ALL, None)
    assert [page for _, page in form.asked] == [4, 20, 25]


@pytest.mark.parametrize(
    ("shown", "promised", "cap", "asked"),
    [
        (9, 49, None, []),  # the last page is not full
        (10, 50, None, [5]),
        (9, 48, None, [5]),  # more than promised was reached
        (10, 50, 50, []),
        (10, 50, 51, [5]),
        (10, 50, 49, []),
        (10, 1000, None, [106]),
    ],
)
def test_further_pages_are_looked_for_unless_the_last_is_seen_to_be(
    shown, promised, cap, asked
):
    last = (promised - 1) // 10
    one, form = begun({ALL: (5000, promised)}, last=last, shown=shown, cap=cap,
                      everything=True)  # fmt: skip
    one._overshoot(ALL, promised)
    assert [page for _, page in form.asked] == asked


# whether other queries end there


@pytest.mark.parametrize(
    ("hits", "told", "asked", "shared"),
    [
        (90, 90, [4, 5], False),  # it goes on
        (50, 90, [4, 5], True),
        (40, 90, [4], False),  # it ended before
        (90, 53, [], None),  # 50 * 1.06: it may well end there
        (90, 54, [4, 5], False),
        (90, None, [4, 5], False),
        (9, None, [], None),  # it fits a page
        (10, None, [4], False),
    ],
)
def test_another_query_that_should_go_on_is_held_against_an_end(
    hits, told, asked, shared
):
    one, form = inquiry({ALL: (50, 200), OSLO: (hits, told)}, everything=True)
    for query in (ALL, OSLO):
        one._ask(query)
    form.asked.clear()
    one._compare(ALL, ResultEnd(4, 10, 5))
    assert form.asked == [(OSLO, page) for page in asked]
    assert one.notes.shared is shared


def test_one_other_query_is_enough_and_failures_prove_nothing():
    answers = {ALL: (50, 200), OSLO: (90, 90), ROME: (50, 90)}
    one, form = inquiry(answers, everything=True)
    for query in (ALL, OSLO, ROME):
        one._ask(query)
    form.asked.clear()
    one._compare(ALL, ResultEnd(4, 10))
    assert form.asked == [(OSLO, 4), (OSLO, 5)]
    for page in (4, 5):
        torn, _ = inquiry(answers, broken={(OSLO, page)}, everything=True)
        for query in (ALL, OSLO):
            torn._ask(query)
        torn._compare(ALL, ResultEnd(4, 10, 5))
        assert torn.notes.shared is None


@pytest.mark.parametrize(
    ("case", "looks"),
    [
        ({}, True),
        ({"walks": True}, False),
        ({"lies": True}, False),
        ({"stuck": True}, False),
        ({"hits": 9}, False),  # one page is all there is
        ({"last": 2}, True),
    ],
)
def test_the_end_is_looked_for_where_there_may_be_one(case, looks):
    one, form = begun({ALL: (case.get("hits", 90), None), OSLO: (5, 20)},
                      last=case.get("last", 0), walks=case.get("walks", False),
                      everything=True)  # fmt: skip
    if case.get("lies"):
        one._ask(OSLO)
        assert one.notes.counts_lie()
    if case.get("stuck"):
        one.notes.pages[ALL, 1] = one.notes.pages[ALL, 0]
    form.asked.clear()
    one._end(ALL)
    assert bool(form.asked) is looks


@pytest.mark.parametrize(
    ("reach", "told", "small_one", "compared"),
    [
        (50, 53, False, False),  # 50 * 1.06 is what was told
        (50, 54, False, True),
        (50, 54, True, False),  # a small query was read whole
        (50, None, False, True),
    ],
)
def test_an_end_before_what_was_told_is_held_against_another_query(
    reach, told, small_one, compared
):
    answers = {ALL: (99, told), OSLO: (99, None), ROME: (3, 3)}
    one, form = begun(answers, reach=reach, everything=True)
    one._ask(OSLO)
    if small_one:
        one._ask(ROME)
    form.asked.clear()
    one._end(ALL)
    assert any(query == OSLO for query, *_ in form.asked) is compared


# what else


@pytest.mark.parametrize(
    ("total", "cap", "walks", "asked"),
    [
        (54, None, False, []),  # 50 * 1.06 + 1
        (55, None, False, [5]),
        (60, None, False, [5]),
        (61, None, False, [6]),
        (90, 30, False, [2]),
        (90, None, True, []),
        (0, None, False, []),
    ],
)
def test_a_query_with_more_than_its_terms_is_looked_at_to_its_end(
    total, cap, walks, asked
):
    both = Query.of(Term("city", "Oslo"), RED)
    answers = {OSLO: (50, 50), Query.of(RED): (80, 80), both: (99, total)}
    one, form = inquiry(answers, cap=cap, walks=walks)
    for query in answers:
        one._ask(query)
    form.asked.clear()
    one._doubt(both, one.notes.pages[both, 0])
    assert form.asked == [(both, page) for page in asked]
    silent, form = inquiry({both: (99, 99)})
    silent._ask(both)
    form.asked.clear()
    silent._doubt(both, silent.notes.pages[both, 0])
    assert form.asked == []  # nothing is known of its terms


def test_the_newest_and_keys_are_asked_for_only_where_they_are_claimed():
    one, form = begun({ALL: (9, 9)}, everything=True, newest=True, lookup=True)
    one._newest(ALL)
    assert form.asked == [(ALL, 0, "newest")]
    assert len(one.notes.newest[ALL].records) == 9
    one._lookups()
    key = form.asked[1]
    assert form.asked[2] == f"{key}-none"
    assert (list(one.notes.lookups), one.notes.absent) == ([key], False)
    assert one.spent == 4
    plain, form = begun({ALL: (9, 9)}, everything=True)
    plain._newest(ALL)
    plain._lookups()
    assert (form.asked, plain.notes.newest, plain.notes.absent) == ([], {}, None)


def test_the_rest_asks_for_the_commonest_term_of_each_attribute_and_one_pair():
    def row(_query, i):
        return {"city": "Oslo" if i < 6 else "Rome", "title": "red" if i else "old"}

    one, form = begun({ALL: (9, 9)}, row=row, everything=True)
    one._rest()
    assert [q for q, _ in form.asked[:2]] == [OSLO, Query.of(RED)]
    # the two commonest of different attributes, in the order of their names
    assert form.asked[2:] == [(Query.of(Term("city", "Oslo"), RED), 0)]
    shy, form = begun({ALL: (9, 9)}, row=row, everything=True, together=1)
    shy._rest()
    assert [len(q) for q, _ in form.asked] == [1, 1]
    pair = Query.of(Term("city", "Oslo"), RED)
    done, form = begun({ALL: (9, 9), pair: (2, 2), ROME: (1, 1)}, row=row,
                       everything=True)  # fmt: skip
    for query in (pair, ROME):
        done._ask(query)
    form.asked.clear()
    done._rest()
    assert form.asked == [(Query.of(RED), 0)]
    # a pair that found nothing proves nothing
    void, form = begun({ALL: (9, 9)}, row=row, everything=True)
    void._ask(Query.of(Term("city", "Bonn"), RED))
    form.asked.clear()
    void._rest()
    assert len(form.asked) == 3


def test_what_was_spent_counts_from_the_beginning_with_failures():
    form = Book({ALL: (9, 9)}, everything=True, broken={(OSLO, 0)})
    ledger = Ledger(form)
    ledger.ask(ALL)
    one = _Inquiry(ledger, np.random.default_rng(0), 3)
    assert one.spent == 0
    one._ask(ALL)
    assert one._ask(OSLO) is None
    assert (one.spent, one.notes.failures) == (3, 2)
    with pytest.raises(BudgetSpent):
        one._ask(ALL)
    with pytest.raises(BudgetSpent):
        one._fetch("x")


def test_an_inquiry_of_an_empty_form_ends_after_its_beginning():
    form = Book({}, everything=True)
    found = measure(Ledger(form), [], np.random.default_rng(0))
    assert (found.requests, found.everything, found.counts) == (1, False, "unknown")
    cut = Book({ALL: (90, 90)}, everything=True)
    found = measure(Ledger(cut), [], np.random.default_rng(0), most=2)
    assert (found.requests, len(cut.asked)) == (2, 2)


@pytest.mark.parametrize("told", [300, 3000, 2700])
def test_no_page_beyond_what_can_be_reached_is_asked_for(told):
    one, form = begun({ALL: (100, told)}, everything=True, cap=250)
    one._search(ALL, told)
    pages = [page for _, page in form.asked]
    assert max(pages) <= (250 - 1) // 10
    assert pages[:2] == [24, int(250 / 1.06) // 10]  # the number may be rounded
