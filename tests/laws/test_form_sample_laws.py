"""Samples, sizes and checks of databases behind forms, by hand-made drill-downs."""

from math import inf

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats

from form_walks import outcomes
from form_worlds import ATTRIBUTES, behind, cars
from halflife.core.forms import Attribute, Interface, Query, Term
from halflife.probing.size import SizeInterval, ratio
from halflife.queries.drill_down import Drill, DrillStep, DrillWalk
from halflife.queries.ledger import Ledger
from halflife.queries.levels import DrillLevel, LocalChances
from halflife.queries.random_check import (
    DrawTally,
    DrilledRecords,
    LookupSample,
    by_key,
    counts_all,
    draw,
)
from halflife.queries.sampling import (
    FRUITLESS,
    PILOT,
    _accepted,
    _Drawn,
    _first,
    _one,
    _wanted,
    sample,
)
from halflife.queries.table_form import TableForm
from lab.capture import chapman
from lab.relation_size import (
    FormSizeMethod,
    averaged,
    estimate,
    of_walks,
    recapture,
    skewed,
)
from lab.size_panel import _came, _went, reissue, restarted, start

CITY, TITLE, PRICE = ATTRIBUTES
SHAPE = Interface((CITY,), page_size=4)
OSLO, ROME = Term("city", "Oslo"), Term("city", "Rome")
RED, OLD = Term("title", "red"), Term("title", "old")


def rng(seed=0):
    return np.random.default_rng(seed)


def same(one, other):
    return one == other


def walk_of(*weights, first=0, city="Oslo", chance=0.5, whole=True, term=OSLO):
    """Return a drill-down that found records of these weights."""
    records = {f"k{first + i}": {"city": city} for i in range(len(weights))}
    level = DrillLevel(CITY, (OSLO, ROME), np.full(2, 0.5), rest=0.0)
    steps = (DrillStep(level, term, chance),)
    query = Query.of(term)
    return DrillWalk(query, records, np.array(weights, float), chance, 1, whole, steps)


class Told:
    """Chance that does as it is told."""

    def __init__(self, at=0, chance=0.0):
        self.at, self.chance = at, chance

    def integers(self, most):
        assert self.at < most
        return self.at

    def random(self):
        return self.chance


# Samples


def test_what_is_drawn_adds_up_over_walks():
    drawn = _Drawn()
    assert (drawn.size, drawn.idle) == (0.0, 0)
    drawn.note(walk_of(2.0, 3.0), ["k0", "k1"])
    assert (drawn.walks, drawn.idle, drawn.size) == (1, 0, 5.0)
    drawn.note(walk_of(4.0, first=1), ["k1"])
    assert drawn.weight == {"k0": 2.0, "k1": 7.0}
    assert (drawn.walks, drawn.idle, drawn.size) == (2, 1, 4.5)
    drawn.note(walk_of(), [])
    assert (drawn.walks, drawn.idle, drawn.size) == (3, 2, 3.0)
    drawn.note(walk_of(1.0, 1.0, first=5), ["k6"])  # only what is kept is drawn
    assert (drawn.idle, drawn.size) == (0, 11.0 / 4)
    assert list(drawn.records) == ["k0", "k1", "k6"]


def test_one_record_of_a_walk_is_drawn_with_its_chance():
    walk = walk_of(2.0, 5.0)
    assert _one(walk, Told(0)) == ("k0", 1 / (2 * 2.0))
    assert _one(walk, Told(1)) == ("k1", 1 / (2 * 5.0))
    assert _one(walk_of(), Told()) is None
    assert _first(_Drawn(), walk, Told(1), 0.1) == ["k1"]
    assert _first(_Drawn(), walk_of(), Told(), 0.1) == []


def test_records_are_accepted_by_the_inverse_of_their_chance():
    drawn = _Drawn()
    # thirty walks tell how unequal chances are: 1/2, 1/3 ... 1/31
    for i in range(PILOT):
        assert _accepted(drawn, walk_of(float(i + 2)), Told(), 0.0) == []
    assert drawn.chances == [1 / (i + 2) for i in range(PILOT)]
    # by the smallest chance, 1/31: one of 1/4 is accepted 4 times in 31
    walk = walk_of(4.0)
    assert _accepted(drawn, walk, Told(0, 4 / 31 - 0.001), 0.0) == ["k0"]
    assert _accepted(drawn, walk, Told(0, 4 / 31 + 0.001), 0.0) == []
    assert _accepted(drawn, walk, Told(0, (1 / 31) / (1 / 4)), 0.0) == []
    # later chances do not change that
    assert _accepted(drawn, walk_of(99.0), Told(0, 0.999), 0.0) == ["k0"]
    assert _accepted(drawn, walk, Told(0, 4 / 31 + 0.001), 0.0) == []
    middle = float(np.median([1 / (i + 2) for i in range(PILOT)])) * 20
    assert middle > 1.0
    assert _accepted(drawn, walk_of(20.0), Told(0, 0.999), 0.5) == ["k0"]
    assert _accepted(drawn, walk_of(), Told(), 0.5) == []


@pytest.mark.parametrize(
    ("n", "walks", "size", "wanted"),
    [
        (1.0, 0, 0.0, 1.0), (5, 0, 0.0, 5), (0.5, PILOT - 1, 100.0, inf),
        (0.5, PILOT, 101.0, 51), (0.5, PILOT, 0.0, 1), (0.001, PILOT, 100.0, 1),
    ],
)  # fmt: skip
def test_a_share_is_wanted_of_the_size_that_thirty_walks_tell(n, walks, size, wanted):
    drawn = _Drawn()
    drawn.walks, drawn.sum = walks, walks * size
    assert _wanted(n, drawn) == wanted


@pytest.mark.parametrize(
    ("method", "guide"), [("weighted", "known"), ("counts", "counts")]
)
def test_a_sample_is_what_walks_bring_until_it_is_large_enough(method, guide):
    """Oracle: the same walks, one after the other."""
    records = cars(80)
    form = behind(records, attributes=(CITY, PRICE), page_size=6)
    ledger = Ledger(form)
    ledger.first(Query.of(OSLO))
    before = ledger.requests
    found = sample(ledger, 30, rng(3), method=method)
    again = Ledger(form)
    drill = Drill(
        again, (), guide=guide, backtrack=False if guide == "counts" else None
    )
    chance, walks = rng(3), []
    while len({key for walk in walks for key in walk.records}) < 30:
        walks.append(drill.walk(chance))
    weight: dict[str, float] = {}
    for walk in walks:
        for key, w in zip(walk.records, walk.weight.tolist(), strict=True):
            weight[key] = weight.get(key, 0.0) + w / len(walks)
    assert found.walks == len(walks)
    assert dict(zip(found.records, found.weight.tolist(), strict=True)) == (
        pytest.approx(weight)
    )
    assert found.size == pytest.approx(sum(walk.size for walk in walks) / len(walks))
    assert found.requests == ledger.requests - before
    # The first answer is known already. It confirms a number of hits as well, which
    # saves the page after a full last one.
    assert found.requests >= again.requests - 2


@pytest.mark.parametrize("method", ["naive", "rejection"])
def test_records_drawn_one_by_one_weigh_alike(method):
    ledger = Ledger(behind(cars(80), attributes=(CITY, PRICE), page_size=6))
    found = sample(ledger, 7, rng(), method=method)
    assert len(found.records) == 7
    assert found.weight.tolist() == [found.size / 7] * 7
    assert found.walks >= 7
    one = sample(ledger, 1, rng(), method=method)
    assert one.weight.tolist() == [one.size]
    nothing = sample(Ledger(behind({}, attributes=(CITY,))), 7, rng(), method=method)
    assert (nothing.weight.size, nothing.walks) == (0, FRUITLESS)


def test_walks_without_a_new_record_end_a_sample():
    ledger = Ledger(behind(cars(3), attributes=(CITY,), everything=True))
    found = sample(ledger, 4, rng())
    assert len(found.records) == 3
    assert found.walks == 1 + FRUITLESS
    assert found.weight.tolist() == pytest.approx([1.0] * 3)
    enough = sample(ledger, 3, rng())
    assert (enough.walks, enough.weight.tolist()) == (1, [1.0] * 3)
    spent = sample(Ledger(behind(cars(3)), most=0), 3, rng())
    assert (spent.walks, spent.weight.size, spent.size) == (0, 0, 0.0)


# Sizes


@settings(max_examples=20)
@given(
    st.lists(st.integers(0, 50), min_size=2, max_size=8), st.sampled_from([0.5, 0.9])
)
def test_a_mean_has_students_interval(values, level):
    found = averaged(np.array(values, float), level)
    half = stats.t.ppf((1 + level) / 2, len(values) - 1) * stats.sem(values)
    mean = sum(values) / len(values)
    assert (found.size, found.low, found.high) == pytest.approx(
        (mean, mean - half, mean + half)
    )


def test_one_value_or_none_has_no_bounds():
    assert averaged(np.array([3.0])) == SizeInterval(3.0, -inf, inf)
    assert averaged(np.zeros(0)) == SizeInterval(0.0, -inf, inf)
    assert skewed(np.array([3.0]), rng()) == SizeInterval(3.0, 0.0, inf)
    assert skewed(np.zeros(5), rng()) == SizeInterval(0.0, 0.0, inf)
    two = np.array([3.0, 4.0])
    assert skewed(two, rng(), 0.8) == ratio(two, np.ones(2), rng(), 0.8)
    some = np.array([0.0, 0.0, 4.0])
    assert skewed(some, rng(), 0.8) == ratio(some, np.ones(3), rng(), 0.8)


def test_walks_are_counted_and_what_they_saw_bounds_the_size_below():
    walks = [
        walk_of(1.0, 1.0),
        walk_of(1.0, first=1, whole=False),
        walk_of(2.0, first=8),
    ]
    found = of_walks(walks, rng(1), 7, level=0.8)
    bound = skewed(np.array([2.0, 1.0, 2.0]), rng(1), 0.8)
    assert found.mean == bound.size
    assert bound.high < 3.0  # three records were seen
    assert (found.low, found.high) == (3.0, 3.0)
    assert (found.requests, found.walks) == (7, 3)
    assert found.unresolved == pytest.approx(1 / 3)
    large = of_walks([walk_of(30.0), walk_of(60.0)], rng(1))
    bound = skewed(np.array([30.0, 60.0]), rng(1))
    assert (large.low, large.high) == (bound.low, bound.high)
    nothing = of_walks([], rng())
    assert (nothing.mean, nothing.unresolved, nothing.walks) == (0.0, 0.0, 0)


def test_only_exact_counts_of_everything_are_believed():
    records = cars(40)
    exact = Ledger(behind(records, everything=True))
    exact.first(Query.of(OSLO))
    size = estimate(exact, 5, rng())
    assert (size.mean, size.requests, size.method) == (40, 1, FormSizeMethod.COUNT)
    for more in ({"everything": True, "counts": "rounded"}, {"everything": False}):
        other = Ledger(behind(records, attributes=(CITY, PRICE), **more))
        other.first(Query.of(ROME))
        spent = other.requests
        size = estimate(other, 5, rng())
        assert (size.method, size.walks) == (FormSizeMethod.WALKS, 5)
        assert size.requests == other.requests - spent


def test_a_size_is_that_of_its_walks():
    records = cars(60)
    known = list(records.values())[:20]
    form = behind(records, attributes=(CITY, PRICE), counts="none", page_size=10)
    ledger = Ledger(form)
    chance = rng(4)
    found = estimate(ledger, 9, chance, known=known, guide="even", level=0.8)
    other, again = rng(4), Ledger(form)
    drill = Drill(again, LocalChances(form.interface, known, "even"))
    walks = [drill.walk(other) for _ in range(9)]
    assert found == of_walks(walks, other, again.requests, level=0.8)


def test_walks_that_found_something_or_nothing_at_all_tell_the_size():
    empty = estimate(Ledger(behind({}, attributes=(CITY,), counts="none")), 4, rng())
    assert (empty.method, empty.mean, empty.unresolved) == (
        FormSizeMethod.WALKS,
        0.0,
        0.0,
    )
    oslo = {f"k{i}": {"city": "Oslo"} for i in range(40)}
    form = behind(oslo, attributes=(CITY,), cap=5, counts="none", everything=True)
    cut = estimate(Ledger(form), 6, rng(), known=list(oslo.values()))
    assert (cut.method, cut.unresolved) == (FormSizeMethod.WALKS, 1.0)
    assert cut.low >= 5


def words_only(n):
    """Return records that share their words, behind a form that shows five."""
    records = {f"r{i}": {"title": "red old" if i % 2 else "red new"} for i in range(n)}
    form = behind(
        records, attributes=(TITLE,), together=1, cap=5, counts="none", page_size=5
    )
    return records, form


def test_where_no_walk_sees_anything_whole_records_are_found_again():
    # the rest of all words, where nothing is, is drawn so seldom that it is not here
    records, form = words_only(40)
    found = estimate(Ledger(form), 4, rng(), known=records.values(), level=0.8)
    plain = recapture(Ledger(form), 4, rng(), known=records.values(), level=0.8)
    if found.method is FormSizeMethod.RECAPTURE:
        assert found.low <= found.mean <= found.high
    assert plain.method is FormSizeMethod.RECAPTURE


@pytest.mark.parametrize("queries", [1, 2, 3, 50])
def test_two_halves_of_so_many_queries_are_compared(queries):
    records = cars(50)
    form = behind(records, attributes=(TITLE,), counts="none", page_size=50)
    ledger = Ledger(form)
    ledger.first(Query.of(Term("title", "nowhere")))
    found = recapture(ledger, queries, rng(2), known=records.values(), level=0.8)
    local = LocalChances(form.interface, records.values())
    terms = [term for step in local.levels for term in step.terms]
    asked = [terms[i] for i in rng(2).permutation(len(terms))[:queries]]
    halves = set(), set()
    for i, term in enumerate(asked):
        word = term.value
        halves[i % 2].update(
            k for k, r in records.items() if word in r["title"].split()
        )
    one, two = halves
    bound = chapman(len(one), len(two), len(one & two), 0.8)
    assert (found.mean, found.low, found.high) == (bound.size, bound.low, bound.high)
    assert found.requests == len(asked) == min(queries, len(terms))


# Panels


def test_what_came_and_went_is_weighed_by_the_path_of_now():
    old = walk_of(2.0, 2.0, chance=0.5)  # k0 and k1
    new = walk_of(4.0, 5.0, first=1, chance=0.25)  # k1 and k2
    ledger = Ledger(behind({}, attributes=(CITY,)))
    assert _came(old, new) == 5.0
    assert _came(new, new) == 0.0
    assert _went(old, new, ledger) == 1 / 0.25
    assert _went(new, new, ledger) == 0.0
    # a record that two words lead to has twice the chance of one
    level = DrillLevel(TITLE, (RED, OLD), np.full(2, 0.5), rest=0.0)
    path = (DrillStep(level, RED, 0.5),)
    rows = {"one": {"title": "red"}, "two": {"title": "red old"}}
    was = DrillWalk(Query.of(RED), rows, np.array([2.0, 1.0]), 0.5, 1, True, path)
    now = DrillWalk(Query.of(RED), {}, np.zeros(0), 0.5, 1, True, path)
    words = Ledger(behind({}, attributes=(TITLE,)))
    assert _went(was, now, words) == 1 / 0.5 + 1 / (0.5 * 2)
    # a record that was in Rome would not be at the end of a path to Oslo
    moved = walk_of(2.0, city="Rome", first=7, chance=0.5)
    assert _went(moved, new, ledger) == 0.0


def test_words_are_drawn_twice_unless_their_rest_was_taken():
    text = Attribute("text", "keyword")
    known = [{"title": "red old", "text": "big odd"}, {"title": "new"}, {"text": "big"}]
    form = behind({}, attributes=(TITLE, text), counts="none")
    made = start(Ledger(form), 60, rng(), known=known, guide="even")
    seen = set()
    for member in made.members:
        for name in ("title", "text"):
            mine = [s.term for s in member.steps if s.level.attribute.name == name]
            assert len(mine) == (1 if mine[0] is None else 2)
            seen.add((name, mine[0] is None))
    assert len(seen) == 4


def test_a_panel_reaches_records_without_the_value_that_is_asked_for_first():
    shape = {"attributes": (CITY, PRICE), "counts": "none", "page_size": 5}
    after = {"a": {"price": 5.0}, "b": {"price": 7.0, "city": "Oslo"}}

    def came(script):
        made = start(Ledger(behind({}, **shape)), 1, script)
        return reissue(Ledger(behind(after, **shape)), made)[1].came.size

    assert sum(p * found for p, found in outcomes(came)) == pytest.approx(2.0)


def test_a_panel_joins_no_more_terms_than_the_form_can():
    shape = {"attributes": (CITY, PRICE), "counts": "none", "page_size": 3}
    ledger = Ledger(behind(cars(60), **shape, together=1, cap=3))
    made = start(ledger, 12, rng())
    assert max(len(walk.query) for walk in made.walks) == 1
    assert any(member.depth < len(member.steps) for member in made.members)


def test_growth_is_the_mean_difference_of_as_many_walks():
    before = [walk_of(2.0), walk_of(4.0), walk_of(9.0)]
    after = [walk_of(5.0), walk_of(6.0)]
    assert restarted(before, after) == averaged(np.array([3.0, 2.0]))
    assert restarted(after, before) == averaged(np.array([-3.0, -2.0]))


def test_a_drill_down_that_did_not_see_everything_says_nothing_of_change():
    before = cars(40)
    shape = {"attributes": (CITY,), "counts": "none", "page_size": 5, "cap": 5}
    made = start(Ledger(behind(before, **shape)), 12, rng())
    assert not all(walk.whole for walk in made.walks)
    assert all(member.depth == len(member.steps) for member in made.members)
    _, change = reissue(Ledger(behind(cars(80), **shape)), made)
    after = start(Ledger(behind(cars(80), **shape)), 12, rng())
    both = [a.whole and b.whole for a, b in zip(made.walks, after.walks, strict=True)]
    came = [
        _came(a, b) if good else 0.0
        for a, b, good in zip(made.walks, after.walks, both, strict=True)
    ]
    assert change.came.size == pytest.approx(np.mean(came))


# Checks


@given(
    parts=st.integers(1, 6),
    shown=st.lists(st.sampled_from(["right", "wrong", "gone", "other"]), max_size=6),
    total=st.one_of(st.none(), st.integers(0, 12)),
)
def test_each_record_looked_up_stands_for_as_many_as_it_was_drawn_from(
    parts, shown, total
):
    """Oracle: the sums of the docstring, record by record."""
    held = {f"k{i}": {"n": i} for i in range(parts)}
    answers, right, there = [], 0, 0
    for i, what in enumerate(shown[:parts]):
        record = {"n": i if what == "right" else -1}
        key = f"k{i}" if what in {"right", "wrong"} else f"x{i}"
        answers.append({} if what == "gone" else {key: record})
        right += what == "right"
        there += what in {"right", "wrong"}
    n = len(answers)
    each = parts / n if n else float(parts)
    lacks = max(total - each * there, 0.0) if total is not None else 0.0
    looks = inf if n >= parts else n / (1 - n / parts)
    found = LookupSample(parts, answers, total).tally(held, same)
    assert found == DrawTally(
        pytest.approx(each * right),
        float(parts),
        pytest.approx(lacks),
        pytest.approx(looks * (parts + lacks) / parts),
    )


def test_a_copy_that_has_shrunk_since_is_told_of_by_what_is_left():
    drawn = LookupSample(3, [{"a": {"n": 1}}, {}], 3)
    found = drawn.tally({"a": {"n": 1}}, same)  # two of three: each stands for 1.5
    assert found == DrawTally(1.5, 1.0, 1.5, pytest.approx(2 / (1 - 2 / 3) * 2.5))


def test_a_copy_of_nothing_lacks_all_there_is():
    found = LookupSample(0, [], 5).tally({}, same)
    assert (found.true, found.held, found.lacks) == (0.0, 0.0, 5.0)
    assert found.looks == inf


def test_each_record_of_a_drill_down_stands_for_the_inverse_of_its_chance():
    held = {
        "k0": {"city": "Oslo"},  # right
        "k1": {"city": "Oslo", "new": 1},  # has changed
        "k8": {"city": "Oslo"},  # should be there and is not
        "k9": {"city": "Rome"},  # lies elsewhere
    }
    walk = walk_of(4.0, 4.0, 4.0, chance=0.25)  # k0, k1 and k2, which is lacking
    found = DrilledRecords(SHAPE, [walk]).tally(held, same)
    assert found == DrawTally(4.0, 12.0, 4.0, 16.0 / 4)
    twice = DrilledRecords(SHAPE, [walk, walk]).tally(held, same)
    assert twice == DrawTally(8.0, 24.0, 8.0, 32.0 / 4)
    assert DrilledRecords(SHAPE, [walk]).tally({}, same) == DrawTally(
        0.0, 0.0, 12.0, 12.0
    )


def test_words_lead_to_a_record_in_several_ways():
    level = DrillLevel(TITLE, tuple(Term("title", w) for w in ("red", "old")),
                  np.full(2, 0.5), rest=0.0)  # fmt: skip
    steps = (DrillStep(level, Term("title", "red"), 0.5),)
    walk = DrillWalk(
        Query.of(Term("title", "red")), {}, np.zeros(0), 0.5, 1, True, steps
    )
    held = {"a": {"title": "red"}, "b": {"title": "red old"}, "c": {"title": "old"}}
    shape = Interface((TITLE,))
    assert DrilledRecords(shape, [walk])._on(walk, held) == [2.0, 1.0]


@pytest.mark.parametrize(
    ("interface", "all_", "known", "each"),
    [
        ({"everything": True, "lookup": True}, True, True, True),
        ({"everything": True, "lookup": True, "counts": "rounded"}, False, True, False),
        ({"lookup": True}, False, True, False),
        ({"everything": True}, True, False, False),
    ],
)
def test_single_records_are_enough_where_they_tell_all(interface, all_, known, each):
    shape = Interface((CITY,), **interface)
    assert counts_all(shape) is all_
    assert by_key(shape, known=True) is known
    assert by_key(shape, known=False) is each


def test_look_ups_end_with_their_requests_and_are_of_different_records():
    there = cars(20)
    full = {"everything": True, "lookup": True}
    for known, n in ((True, 6), (False, 5)):  # one tells how many there are
        ledger = Ledger(behind(there, **full))
        draws = draw(ledger, there, rng(), 6, known=known)
        assert isinstance(draws, LookupSample)
        assert (ledger.requests, len(draws.shown), draws.parts) == (6, n, 20)
        assert len({key for one in draws.shown for key in one}) == n
        assert draws.total == (None if known else 20)
        keys = list(there)
        drawn = [keys[i] for i in rng().permutation(20)[:n]]
        assert [next(iter(one)) for one in draws.shown] == drawn


class Mute(TableForm):
    """A form that does not say how many records there are."""

    def _count(self, query, hits):
        return None


def test_without_the_number_of_all_nothing_is_said_of_what_is_lacking():
    there = cars(9)
    shape = Interface(ATTRIBUTES, everything=True, lookup=True)
    draws = draw(Ledger(Mute(shape, there, rng=rng())), there, rng(), 6, known=False)
    assert draws == LookupSample(9)
    known = draw(Ledger(Mute(shape, there, rng=rng())), there, rng(), 6, known=True)
    assert len(known.shown) == 6


@pytest.mark.parametrize("requests", [1, 2, 3, 4, 6, 8, 12])
def test_walks_are_made_until_so_many_requests_are_spent(requests):
    """Oracle: the same walks, one after the other."""
    there = cars(60)
    form = behind(there, attributes=(CITY, PRICE), counts="none", everything=True)
    draws = draw(Ledger(form), there, rng(5), requests, known=False)
    again, chance, walks = Ledger(form), rng(5), []
    drill = Drill(again, there.values(), guide="half")
    while again.requests < requests and len(walks) < requests:
        walks.append(drill.walk(chance))
    assert [w.query for w in draws.walks] == [w.query for w in walks if w.whole]


def test_drill_downs_end_with_their_requests_or_as_many_walks():
    there = cars(60)
    ledger = Ledger(behind(there, attributes=(CITY, PRICE), counts="none"))
    draws = draw(ledger, there, rng(), 9, known=False)
    assert isinstance(draws, DrilledRecords)
    last = draws.walks[-1].requests
    assert 9 <= ledger.requests <= 9 + last + 5
    assert all(walk.whole for walk in draws.walks)
    free = Ledger(behind(cars(3), attributes=(CITY,), everything=True))
    draws = draw(free, cars(3), rng(), 9, known=False)
    assert (len(draws.walks), free.requests) == (9, 1)  # all of it was asked before
    assert draw(free, cars(3), rng(), 1, known=False).walks[0].requests == 0
    capped = Ledger(behind(cars(60), attributes=(CITY,), cap=5, everything=True))
    assert all(w.whole for w in draw(capped, cars(60), rng(), 30, known=False).walks)
