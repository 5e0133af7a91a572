"""The nouns at their edges: forms, forecasts, lives, listings, looks."""

from math import inf, nan

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from lxml import etree
from scipy.special import exprel as oracle

from halflife.core import notebook
from halflife.core.budget import Budget
from halflife.core.categories import Categories
from halflife.core.errors import UsageError
from halflife.core.evidence import LONGEST, Evidence
from halflife.core.filters import parse
from halflife.core.fingerprints import WIDTH, Fingerprints
from halflife.core.forecast import Forecast
from halflife.core.forms import Attribute, Interface, Query, Term, terms_of, within
from halflife.core.hint_claims import claimed_times
from halflife.core.history import History
from halflife.core.item import Item
from halflife.core.lazy_scipy import exprel
from halflife.core.lifetimes import Collection, Lives
from halflife.core.links import FAR, Links
from halflife.core.object_store import (
    Listing,
    Register,
    Snapshot,
    Spell,
    Version,
    spells_of,
)
from halflife.core.observation import Observations, rounds
from halflife.core.plan import Plan
from halflife.core.tracker import Tracker
from store_looks import absent, failed, hint, present

# Forms


@pytest.mark.parametrize(
    ("value", "low", "high"),
    [
        (5, -inf, 10.0),
        (10, 10.0, 20.0),
        (19.9, 10.0, 20.0),
        (20, 20.0, inf),
        ("12", 10.0, 20.0),
    ],
)
def test_a_number_lies_in_the_range_that_begins_at_or_below_it(value, low, high):
    price = Attribute("price", "range", cuts=(10.0, 20.0))
    (term,) = price.terms(value)
    assert term == within("price", low, high)
    assert term.bounds == (low, high)
    assert price.meets(value, term)


@pytest.mark.parametrize(
    ("value", "met"), [(9.9, False), (10, True), (15, True), (20, False)]
)
def test_a_range_holds_its_lower_end_and_not_its_upper_one(value, met):
    assert Attribute("price", "range").meets(value, Term("price", "10..20")) == met


@pytest.mark.parametrize("value", [None, "", "cheap", inf, -inf, nan])
def test_what_is_no_number_is_in_no_range(value):
    price = Attribute("price", "range", cuts=(10.0,))
    assert price.terms(value) == ()
    assert not price.meets(value, Term("price", ".."))


def test_conditions_of_other_kinds():
    assert Attribute("city").terms("Oslo") == (Term("city", "Oslo"),)
    assert Attribute("city").terms("") == Attribute("city").terms(None) == ()
    assert Attribute("city").meets("Oslo", Term("city", "Oslo"))
    assert not Attribute("city").meets("Oslo", Term("city", "Rome"))
    words = Attribute("title", "keyword").terms("The Data of data")
    assert words == (Term("title", "data"),)
    with pytest.raises(ValueError, match="no range"):
        _ = Term("a", "10").bounds
    assert within("a", 1.5, inf).value == "1.5.."
    assert within("a", -inf, 2.0).value == "..2"


@pytest.mark.parametrize(
    ("hits", "cap", "pages"),
    [
        (0, None, 1),
        (1, None, 1),
        (20, None, 1),
        (21, None, 2),
        (40, None, 2),
        (99, 40, 2),
        (99, 41, 3),
        (20.5, None, 2),
        (5, 0, 1),
    ],
)
def test_all_results_take_a_request_for_each_page(hits, cap, pages):
    assert Interface((), page_size=20, cap=cap).pages(hits) == pages


def test_a_record_meets_a_query_if_it_meets_all_of_its_terms():
    form = Interface((Attribute("city"), Attribute("price", "range", cuts=(10.0,))))
    record = {"city": "Oslo", "price": 12}
    assert form.terms(record) == (Term("city", "Oslo"), Term("price", "10.."))
    assert form.meets(record, Query())
    both = Query.of(Term("city", "Oslo"), Term("price", "10.."))
    assert form.meets(record, both)
    assert form.meets(record, Query.of(Term("city", "Oslo")) & Term("price", "..20"))
    assert not form.meets(record, both & Term("price", "20.."))
    assert terms_of(form, [record, {"city": "Rome"}]) == {
        *form.terms(record),
        Term("city", "Rome"),
    }
    with pytest.raises(KeyError):
        form.attribute("size")


# Forecasts and notebooks


def forecast(low, at=None):
    bottom = np.array(low)
    moments = np.arange(1.0, 1.0 + bottom.size) if at is None else np.array(at)
    return Forecast("recall", moments, bottom, bottom, bottom)


@pytest.mark.parametrize(
    ("low", "level", "moment"),
    [
        ([0.9, 0.7, 0.3], 0.9, 1.0),
        ([0.9, 0.7, 0.3], 0.8, 1.5),
        ([0.9, 0.7, 0.3], 0.7, 2.0),
        ([0.9, 0.7, 0.3], 0.4, 2.75),
        ([0.9, 0.7, 0.3], 0.3, None),
        ([0.9, 0.7, 0.3], 0.95, 1.0),
        ([], 0.5, None),
    ],
)
def test_a_forecast_says_from_when_on_its_bound_is_below(low, level, moment):
    found = forecast(low).first_below(level)
    assert found == (None if moment is None else pytest.approx(moment))


def numbers(path):
    parts = path.strip("MZ").split("L")
    return [tuple(float(x) for x in part.split()) for part in parts]


def test_a_line_is_drawn_from_edge_to_edge_and_from_0_to_1():
    drawn = etree.fromstring(
        notebook.line(
            "t", np.array([2.0, 3.0, 6.0]), np.array([0.0, 0.5, 2.0]), ("a", "b")
        )
    )
    paths = [p.get("d") for p in drawn.iter("{*}path")]
    assert numbers(paths[-1]) == [(46.0, 188.0), (151.5, 108.0), (468.0, 28.0)]
    # The scale: a line at 0, at one half and at 1, each with its word a little below.
    assert paths[:3] == ["M46.0 188.0H468.0", "M46.0 108.0H468.0", "M46.0 28.0H468.0"]
    words = [(t.text, t.get("x"), t.get("y")) for t in drawn.iter("{*}text")]
    assert words[1:4] == [
        ("0.0", "40.0", "192.0"),
        ("0.5", "40.0", "112.0"),
        ("1.0", "40.0", "32.0"),
    ]
    assert words[4:] == [("a", "46.0", "208.0"), ("b", "468.0", "208.0")]


def test_a_band_runs_along_its_upper_bound_and_back_along_its_lower():
    x = np.array([0.0, 1.0])
    drawn = etree.fromstring(
        notebook.curve("t", x, np.array([0.5, 0.5]), np.array([0.0, 0.25]), np.ones(2))
    )
    band, line = [p.get("d") for p in drawn.iter("{*}path")][-2:]
    points = numbers(band)
    assert points == [(46.0, 28.0), (468.0, 28.0), (468.0, 148.0), (46.0, 188.0)]
    assert numbers(line) == [(46.0, 108.0), (468.0, 108.0)]
    one = notebook.line("t", np.array([5.0]), np.array([1.0]), ("a", "b"))
    assert "M46.0 28.0" in one
    same = notebook.line("t", np.array([5.0, 5.0]), np.array([1.0, 0.0]), ("a", "b"))
    assert "M46.0 28.0L46.0 188.0" in same


def test_a_plan_shows_at_most_twenty_steps():
    for n, said in ((20, ""), (21, "and 1 more")):
        keys = tuple(map(str, range(n)))
        plan = Plan(
            keys, np.arange(n)[::-1], np.arange(n) / 4.0, lambda row: f"row {row}"
        )
        shown = plan._repr_html_()
        assert shown.count("<tr>") == 21
        assert said in shown
        assert ("more" in shown) == bool(said)
        assert (plan[1].gain, plan[1].why) == (0.25, f"row {n - 2}")
        assert [s.request.key for s in plan[1:3]] == ["1", "2"]


# Lives


def lives_of(*rows):
    keys, *columns = zip(*rows, strict=True) if rows else ((), (), (), (), ())
    bounds = [np.array(column, float) for column in columns]
    return Lives(tuple(keys), *bounds, {"n": np.arange(len(keys))})


LIVES = lives_of(
    ("a", -inf, 1.0, 3.0, 4.0),
    ("b", 1.0, 2.0, 5.0, inf),
    ("a", 4.0, 5.0, 5.0, inf),
    ("c", 2.0, 3.0, 3.0, 4.0),
)
SOURCE = Collection(
    "s", np.arange(1.0, 6.0), LIVES, np.array([1, 1, 0]), np.array([3.0, 5, 2])
)


def test_lives_say_what_is_known_of_them():
    assert LIVES.truncated.tolist() == [True, False, False, False]
    assert LIVES.ended.tolist() == [True, False, False, True]
    assert LIVES.object.tolist() == [0, 1, 0, 2]
    assert LIVES.present(3.0).tolist() == [True, True, False, True]
    assert LIVES.present(3.5).tolist() == [False, True, False, False]
    for rows in (np.array([2, 0]), np.array([True, False, True, False])):
        some = LIVES.take(rows)
        assert set(some.keys) == {"a"}
    assert LIVES.take(np.array([2, 0])).first_seen.tolist() == [5.0, 1.0]


@pytest.mark.parametrize("now", [0.5, 1.0, 2.5, 3.0, 4.0, 4.9, 5.0, 9.0])
def test_what_was_known_then_is_what_had_been_seen(now):
    found = SOURCE.until(now)
    looks = [look for look in SOURCE.looks if look <= now]
    latest = looks[-1] if looks else -inf
    assert found.looks.tolist() == looks
    kept = [i for i in range(4) if LIVES.first_seen[i] <= latest]
    assert found.lives.first_seen.tolist() == LIVES.first_seen[kept].tolist()
    assert found.lives.last_seen.tolist() == [
        min(LIVES.last_seen[i], latest) for i in kept
    ]
    ends = [LIVES.gone_by[i] if LIVES.gone_by[i] <= latest else inf for i in kept]
    assert found.lives.gone_by.tolist() == ends
    changes = [
        (kept.index(i), at)
        for i, at in zip(SOURCE.changed, SOURCE.changed_at, strict=True)
        if at <= latest and i in kept
    ]
    assert list(zip(found.changed, found.changed_at, strict=True)) == changes


def test_quality_counts_what_both_looks_have():
    assert SOURCE.held(3.0).tolist() == [0, 1, 2]
    assert SOURCE.held(5.0).tolist() == [0, 1]
    assert SOURCE.quality(3.0, 5.0) == (2 / 3, 1.0)
    assert SOURCE.quality(1.0, 3.0) == (1.0, 1 / 3)
    assert SOURCE.quality(0.5, 3.0) == (1.0, 0.0)
    assert SOURCE.quality(3.0, 0.5) == (0.0, 1.0)
    assert SOURCE.in_copy().tolist() == [0, 1]
    never = Collection("s", np.zeros(0), LIVES, SOURCE.changed, SOURCE.changed_at)
    assert never.in_copy().tolist() == [0, 1]
    some = SOURCE.select(np.array([False, True, False, True]))
    assert some.lives.keys == ("b", "c")
    assert (some.changed.tolist(), some.changed_at.tolist()) == ([0, 0], [3.0, 5.0])


def test_a_history_is_kept_with_what_each_look_listed_and_lacked():
    kept = Register.of(SOURCE)
    assert [(s.at, s.n, s.missing) for s in kept.snapshots] == [
        (1.0, 1, 0),
        (2.0, 2, 0),
        (3.0, 3, 0),
        (4.0, 1, 2),
        (5.0, 2, 0),
    ]
    assert [(s.key, s.spell) for s in kept.spells] == [
        ("a", 0),
        ("b", 0),
        ("a", 1),
        ("c", 0),
    ]
    assert [(v.key, v.spell, v.seen_from) for v in kept.versions] == [
        ("b", 0, 3.0),
        ("b", 0, 5.0),
        ("a", 0, 2.0),
    ]
    again = kept.collection("s")
    assert again.lives.gone_by.tolist() == LIVES.gone_by.tolist()
    assert (again.changed.tolist(), again.changed_at.tolist()) == (
        [0, 1, 1],
        [2.0, 3.0, 5.0],
    )
    assert spells_of(LIVES)[3].attributes == {"n": 3}


def test_cycles_lie_between_complete_looks():
    looks = [
        Snapshot(1.0, 10),
        Snapshot(2.0, 7, 3, valid=False),
        Snapshot(3.0, 9, 2),
        Snapshot(3.5, 4, 5, complete=False),
        Snapshot(6.0, 8, 1),
    ]
    held, missing, days = Register(looks).cycles()
    assert (held.tolist(), missing.tolist(), days.tolist()) == (
        [10, 9],
        [2, 1],
        [2.0, 3.0],
    )
    none = Register().cycles()
    assert [column.size for column in none] == [0, 0, 0]


# Listings


def listed(keys, at, **more):
    return Listing(at, {k: {"g": k[0]} for k in keys}, **more)


def many(letter, n):
    return [f"{letter}{i}" for i in range(n)]


def test_losses_count_what_is_held_and_lacked_and_the_days_since():
    tracker = Tracker(group="g")
    assert tracker.losses(listed(["a1"], 1.0)) == (0, 0, 0.0)
    tracker.take(listed([*many("a", 12), "b1", "b2"], 1.0))
    assert tracker.losses(listed([*many("a", 9), "b1", "b2"], 4.5)) == (14, 3, 3.5)
    # The group of a is out, and says nothing.
    assert tracker.losses(listed(["b1"], 4.5)) == (2, 1, 3.5)
    part = listed(["b1"], 3.0, complete=False, absent=frozenset({"a1", "z9"}))
    assert tracker.losses(part) == (2, 1, 2.0)


@pytest.mark.parametrize(("stayed", "out"), [(2, ("a",)), (1, ())])
def test_a_group_is_out_only_if_half_of_the_others_stay(stayed, out):
    tracker = Tracker(group="g")
    tracker.take(listed([*many("a", 10), *many("b", 4)], 1.0))
    assert tracker.outages(listed(many("b", stayed), 2.0)) == out
    assert Tracker().outages(listed([], 2.0)) == ()
    assert tracker.outages(listed(many("b", 4), 2.0, complete=False)) == ()


def test_a_group_that_is_accepted_as_gone_ends_with_the_next_look():
    tracker = Tracker(group="g")
    tracker.take(listed([*many("a", 10), *many("b", 9)], 1.0))
    tracker.take(listed(many("b", 9), 2.0))
    tracker.take(listed(many("b", 9), 3.0))
    with pytest.raises(UsageError, match="not missing"):
        tracker.accept("b")
    assert tracker.accept("a") == 10
    change = tracker.take(listed(many("b", 9), 4.0))
    assert (change.gone, change.missing) == (10, 0)
    gone = {s.gone_by for s in tracker.register().spells if s.key[0] == "a"}
    assert gone == {2.0}  # the first look that lacked it


@pytest.mark.parametrize(("days", "gone"), [(1.9, 0), (2.0, 1), (2.1, 1)])
def test_an_end_is_confirmed_after_so_many_days(days, gone):
    tracker = Tracker(confirm=2.0)
    tracker.take(listed(["a1", "b1"], 1.0))
    assert tracker.take(listed(["a1"], 2.0)).missing == 1
    assert tracker.take(listed(["a1"], 2.0 + days)).gone == gone


def test_a_tracker_goes_on_from_a_register():
    kept = Register(
        [
            Snapshot(1.0, 2),
            Snapshot(2.0, 0, valid=False),
            Snapshot(3.0, 1, complete=False),
        ],
        [
            Spell("a", 0, -inf, 1.0, 1.0, 2.0, attributes={"g": "x"}),
            Spell("a", 1, 2.0, 3.0, 3.0, attributes={"g": "y"}),
            Spell("b", 0, -inf, 1.0, 1.0, missing_since=2.0),
        ],
        [
            Version("a", 0, 1.5, {"g": "old"}),
            Version("a", 1, 3.5, {"g": "z"}),
            Version("a", 1, 3.6),
        ],
    )
    tracker = Tracker(kept)
    assert tracker.last == 3.0
    assert tracker.held == {"a": {"g": "z"}}
    with pytest.raises(UsageError, match="order"):
        tracker.take(listed(["a"], 3.0))
    change = tracker.take(Listing(4.0, {"a": {"g": "w"}, "b": {}}))
    assert (change.arrived, change.updated, change.flapped) == (0, 1, 1)
    assert Tracker().last == -inf
    new = tracker.news()
    assert [v.seen_from for v in new.versions] == [4.0]
    assert [s.at for s in new.snapshots] == [4.0]


# Fingerprints, links, columns


@pytest.mark.parametrize(
    ("text", "long"),
    [
        ("x" * 16, False),
        ("x" * 17, True),
        ("ab\0", True),
        ("a\0b", False),
        ("\ud800", True),
        ("ü" * 8, False),
        ("ü" * 9, True),
        ("0" * 32, False),
        ("0" * 31 + "g", True),
        ("A" * 32, True),
    ],
)
def test_only_texts_that_do_not_fit_are_kept_apart(text, long):
    column = Fingerprints(1)
    column[0] = text
    assert column[0] == text
    assert bool(column.long) == long
    assert len(column.data[0]) <= WIDTH


def test_columns_of_fingerprints_compare_row_by_row():
    one, two = Fingerprints(3), Fingerprints(3)
    one[:], two[:] = ["a", "y" * 40, "00" * 16], ["a", "z" * 40, "00" * 16]
    assert (one == two).tolist() == [True, False, True]
    assert (one != two).tolist() == [False, True, False]
    assert (one != ["a", "y" * 40, "b"]).tolist() == [False, False, True]
    assert one.pack(["00" * 16, "ff" * 16]).dtype.itemsize == WIDTH
    assert len(Fingerprints(2)) == 2


def test_another_address_of_a_page_is_as_deep_as_the_page():
    links = Links.of_columns(
        tuple("abcde"),
        (np.array([0, 1, 1]), np.array([1, 2, 2])),
        {1: 3, 3: 4},
        {2: "r"},
    )
    assert links.to.tolist() == [1, 2]
    assert links.under == ("", "", "r", "", "")
    assert links.same.tolist() == [-1, 3, -1, 4, -1]
    assert links.depth([0]).tolist() == [0, 1, 2, 1, 1]
    assert links.depth([2]).tolist() == [FAR, FAR, 0, FAR, FAR]
    assert links.depth([2, 0]).tolist() == [0, 1, 0, 1, 1]


def test_a_filter_of_no_attributes_says_that_there_are_none():
    with pytest.raises(UsageError, match="there are: none"):
        parse("a = 1")({})


@given(st.floats(-700, 700))
def test_the_relative_exponential_is_scipys(x):
    assert exprel(x) == pytest.approx(float(oracle(x)), rel=1e-12)
    assert exprel(0.0) == 1.0


def test_a_budget_is_there_while_a_request_is_left():
    assert not Budget(0)
    assert Budget(1)
    with pytest.raises(ValueError, match="negative"):
        Budget(-1)


def test_pairs_of_categories_count_once():
    made = Categories.of_pairs("xyz", np.array([2, 0, 2, 2]), np.array([1, 1, 0, 1]), 2)
    assert [made.members(j).tolist() for j in range(3)] == [[1], [], [0, 1]]
    assert made.size.tolist() == [1, 0, 2]
    assert made.category.tolist() == [0, 2, 2]
    none = Categories.of_pairs((), np.zeros(0, int), np.zeros(0, int), 0)
    assert (len(none), none.start.tolist()) == (0, [0])


# Looks


def test_the_history_of_looks_is_sorted_by_item_and_time():
    looks = [
        present("b", 3.0, "x"),
        present("a", 2.0),
        failed("a", 2.5),
        absent("a", 4.0),
        present("b", 3.0, "y"),
        hint("c", 1.0),
        present("b", 7.0, "y"),
    ]
    found = History.of(looks, keys=["z", "a"])
    assert found.keys == ("z", "a", "b", "c")
    assert found.item.tolist() == [1, 1, 2, 2, 2]
    assert found.last_seen().tolist() == [-inf, 4.0, 7.0, -inf]
    gaps = found.gaps()
    assert (gaps.item.tolist(), gaps.length.tolist()) == ([1, 2], [2.0, 4.0])
    assert gaps.changed.tolist() == [True, False]
    assert gaps.tally.tolist() == [1.0, 1.0]


def test_hints_claim_what_they_name():
    looks = Observations.of(
        [
            hint("a", 5.0, modified=3.0),
            hint("a", 6.0),
            present("a", 7.0),
            hint("b", 8.0, modified=inf),
        ]
    )
    assert claimed_times(looks).tolist() == [3.0, -inf, -inf, -inf]
    bare = Observations(looks.keys, looks.at, looks.seen, looks.digest)
    assert claimed_times(bare).tolist() == [5.0, 6.0, -inf, 8.0]
    assert claimed_times(Observations.of([present("a", 1.0)])).tolist() == [-inf]


def test_looks_are_dealt_so_that_no_part_holds_an_item_twice():
    looks = Observations.of([present(k, float(i)) for i, k in enumerate("abacba")])
    assert [part.keys for part in rounds(looks)] == [
        ("a", "b", "c"),
        ("a", "b"),
        ("a",),
    ]
    assert [part.at.tolist() for part in rounds(looks)] == [[0, 1, 3], [2, 4], [5]]
    assert rounds(Observations.of([])) == []


@pytest.mark.parametrize(("gap", "quiet"), [(LONGEST, LONGEST), (LONGEST + 1.0, 0.0)])
def test_a_gap_longer_than_ten_years_was_made_by_a_wrong_clock(gap, quiet):
    evidence = Evidence.of([Item("a")])
    for at in (0.0, gap):
        evidence.take(evidence.weigh(Observations.of([present("a", at)])))
    assert evidence.quiet[0] == quiet


@settings(max_examples=30)
@given(
    st.lists(
        st.tuples(st.sampled_from("ab"), st.sampled_from([1.0, 0.2, 1 / 24, 0.01])),
        max_size=10,
    )
)
def test_hints_within_an_hour_are_one(steps):
    evidence = Evidence.of(Item(k) for k in "ab")
    evidence.take(evidence.weigh(Observations.of([present(k, 0.1) for k in "ab"])))
    now, wanted, last = 10.3, {"a": 0, "b": 0}, {"a": -inf, "b": -inf}
    for key, step in steps:
        now += step
        evidence.take(evidence.weigh(Observations.of([hint(key, now, modified=now)])))
        if wanted[key] == 0 or now >= last[key] + 1 / 24:
            wanted[key], last[key] = wanted[key] + 1, now
    assert evidence.hints.tolist() == [wanted["a"], wanted["b"]]


def test_a_new_weight_comes_in_a_column_of_its_own():
    evidence = Evidence.of(Item(k) for k in "ab")
    before = evidence.weight
    evidence.reweigh([0, 1], [1.0, 1.0])
    assert evidence.weight is before
    evidence.reweigh([1], [5.0])
    assert (before.tolist(), evidence.weight.tolist()) == ([1.0, 1.0], [1.0, 5.0])
    place = np.array([1, 0])
    evidence.settle(
        np.array([0, 1]),
        np.array([2.0, 3.0]),
        np.array([4.0, 5.0]),
        (place, ["g", "h"]),
    )
    assert [evidence.groups[i] for i in evidence.group] == ["h", "g"]
    assert (evidence.weight.tolist(), evidence.cost.tolist()) == (
        [2.0, 3.0],
        [4.0, 5.0],
    )
    evidence.add([Item("c", group="h"), Item("a", weight=9.0)])
    assert [evidence.groups[i] for i in evidence.group] == ["h", "g", "h"]
    assert evidence.weight.tolist() == [2.0, 3.0, 1.0]
    assert evidence.row("c") == 2
    assert not evidence.knows(["a", "d"])
