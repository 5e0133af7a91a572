from collections import Counter

import numpy as np
import pytest
from hypothesis import given, strategies as st

from halflife.core.errors import UsageError
from halflife.core.object_store import Listing, Register, Version, columns
from halflife.core.tracker import Tracker

INF = np.inf
KEYS = "abcd"


def listing(at, keys, *, complete=True, **attributes):
    return Listing(float(at), dict.fromkeys(keys, attributes), complete)


def tracked(*looks, **settings):
    tracker = Tracker(**settings)
    for at, keys in enumerate(looks):
        tracker.take(listing(at, keys))
    return tracker


def lives(tracker):
    """Return each life as (key, absent_before, first_seen, last_seen, gone_by)."""
    return sorted(
        (s.key, s.absent_before, s.first_seen, s.last_seen, s.gone_by)
        for s in tracker.register().spells
    )


def by_hand(matrix):
    """Return the lives in a matrix of presence, look by look and key by key."""
    found = []
    for k, key in enumerate(KEYS):
        there = [bool(row[k]) for row in matrix]
        n = len(there)
        for t in range(1, n - 1):  # missing once and back is not missing
            if not there[t] and there[t - 1] and matrix[t + 1][k]:
                there[t] = True
        t = 0
        while t < n:
            if not there[t]:
                t += 1
                continue
            end = t
            while end + 1 < n and there[end + 1]:
                end += 1
            before = float(t - 1) if t else -INF
            gone = float(end + 1) if end + 2 < n else INF
            found.append((key, before, float(t), float(end), gone))
            t = end + 1
    return sorted(found)


matrices = st.lists(st.tuples(*[st.booleans()] * len(KEYS)), min_size=1, max_size=12)


@given(matrices)
def test_looks_one_by_one_say_what_the_whole_matrix_says(matrix):
    looks = [[k for k, there in zip(KEYS, row, strict=True) if there] for row in matrix]
    assert lives(tracked(*looks)) == by_hand(matrix)


@given(matrices, st.data())
def test_incomplete_listings_never_end_a_life(matrix, data):
    tracker = Tracker()
    for at, row in enumerate(matrix):
        keys = [k for k, there in zip(KEYS, row, strict=True) if there]
        before = {s.key: s.missing_since for s in tracker.register().spells}
        complete = data.draw(st.booleans())
        change = tracker.take(listing(at, keys, complete=complete))
        if not complete:
            assert change.gone == change.missing == 0
            for s in tracker.register().spells:
                assert s.missing_since in {INF, before.get(s.key, INF)}


@given(matrices, st.integers(0, 12))
def test_what_was_known_then_is_the_later_history_cut_off(matrix, now):
    looks = [[k for k, there in zip(KEYS, row, strict=True) if there] for row in matrix]
    later = tracked(*looks).register().collection("x").until(now)
    then = tracked(*looks[: now + 1]).register().collection("x")
    assert then.looks.tolist() == later.looks.tolist()
    assert then.lives.first_seen.tolist() == later.lives.first_seen.tolist()
    # Whether what is missing now has gone is known only at the next look.
    clear = then.lives.last_seen == then.looks[-1]
    clear |= np.isfinite(then.lives.gone_by)
    for name in ("absent_before", "last_seen", "gone_by"):
        mine, other = getattr(then.lives, name), getattr(later.lives, name)
        assert mine[clear].tolist() == other[clear].tolist()


@given(matrices, st.integers(0, 12))
def test_a_tracker_goes_on_from_what_was_kept(matrix, cut):
    looks = [[k for k, there in zip(KEYS, row, strict=True) if there] for row in matrix]
    first = tracked(*looks[:cut])
    second = Tracker(first.register())
    for at, keys in enumerate(looks[cut:], start=min(cut, len(looks))):
        second.take(listing(at, keys))
    assert lives(second) == lives(tracked(*looks))


def test_an_object_missing_once_is_missing_and_not_gone():
    tracker = tracked("ab", "a")
    assert lives(tracker) == [("a", -INF, 0, 1, INF), ("b", -INF, 0, 0, INF)]
    assert set(tracker.held) == {"a"}


def test_back_in_between_nothing_happened_but_a_flap():
    tracker = tracked("ab", "a", "ab")
    assert lives(tracker) == [("a", -INF, 0, 2, INF), ("b", -INF, 0, 2, INF)]
    assert tracker.flaps == 1


def test_a_second_look_too_soon_does_not_confirm():
    tracker = tracked("ab", "a", "a", "a", confirm=2.0)
    assert lives(tracker)[1] == ("b", -INF, 0, 0, 1)
    assert lives(tracked("ab", "a", "a", confirm=2.0))[1][4] == INF


def test_an_object_that_returns_after_it_had_gone_has_a_second_life():
    tracker = tracked("ab", "a", "a", "ab")
    assert [x for x in lives(tracker) if x[0] == "b"] == [
        ("b", -INF, 0, 0, 1),
        ("b", 2, 3, 3, INF),
    ]
    assert [s.spell for s in tracker.register().spells] == [0, 0, 1]


def test_new_attributes_are_a_new_version():
    tracker = Tracker()
    for at, price in enumerate([5, 5, 6]):
        tracker.take(listing(at, "a", price=price))
    assert tracker.register().versions == [Version("a", 0, 2.0, {"price": 6})]
    found = tracker.register().collection("x")
    assert found.lives.attributes["price"].tolist() == [5]
    assert (found.changed.tolist(), found.changed_at.tolist()) == ([0], [2.0])


def test_a_broken_snapshot_is_noted_and_is_not_a_look():
    tracker = tracked("ab")
    tracker.reject(1.0, "not JSON")
    tracker.take(listing(2, "a"))
    assert [s.valid for s in tracker.register().snapshots] == [True, False, True]
    assert tracker.register().collection("x").looks.tolist() == [0.0, 2.0]
    assert lives(tracker)[1][4] == INF


def test_looks_out_of_order_are_refused():
    tracker = tracked("a", "a")
    with pytest.raises(UsageError, match="in the order"):
        tracker.take(listing(1, "a"))


@pytest.mark.parametrize(("held", "counted"), [(True, 1), (False, 3)])
def test_the_guard_learns_only_from_losses_of_what_was_complete(held, counted):
    tracker = tracked("ab")
    if held:
        tracker.take_shown(listing(1, "acd"))
    else:
        tracker.take(listing(1, "acd", complete=False))
    assert tracker.took_shown == held
    assert tracker.losses(listing(2, "a")) == (4, 3, 2.0)
    assert tracker.losses(listing(2, "a"), old=True) == (2, 1, 2.0)
    assert tracker.take(listing(2, "a")).missing == 3
    assert tracker.register().cycles()[1].tolist() == [counted]
    assert not tracker.took_shown


# Groups


def shop(at, *groups, size=10, extra=()):
    records = {f"{g}{i}": {"shop": g} for g in groups for i in range(size)}
    return Listing(float(at), records | {key: {"shop": key[0]} for key in extra})


def shops(*looks, **settings):
    tracker = Tracker(group="shop", **settings)
    for at, groups in enumerate(looks):
        change = tracker.take(shop(at, *groups))
    return tracker, change


def test_a_group_that_vanishes_whole_was_not_seen():
    tracker, change = shops("xy", "x", "x", "x")
    assert change.unobserved == ("y",)
    assert change.gone == change.missing == 0
    assert all(s.gone_by == INF for s in tracker.register().spells)
    assert dict(tracker.register().unobserved) == {"y": 0.0}


def test_a_group_that_returns_had_been_there():
    tracker, change = shops("xy", "x", "x", "xy")
    assert change.unobserved == ()
    assert {s.last_seen for s in tracker.register().spells} == {3.0}
    assert tracker.flaps == 0


def test_what_is_new_when_a_group_returns_came_since_it_was_last_seen():
    tracker, _ = shops("xy", "x", "x")
    tracker.take(shop(3, "xy", extra=["ynew", "xnew"]))
    before = {s.key: s.absent_before for s in tracker.register().spells}
    assert (before["ynew"], before["xnew"]) == (0.0, 2.0)


def test_a_group_replaced_by_others_of_its_own_has_been_seen():
    tracker, _ = shops("xy")
    tracker.take(shop(1, "x", extra=[f"ynew{i}" for i in range(10)]))
    assert dict(tracker.register().unobserved) == {}
    missing = Counter(s.missing_since for s in tracker.register().spells)
    assert missing[1.0] == 10


def test_when_everything_vanishes_no_group_is_to_blame():
    _, change = shops("xy", "")
    assert change.unobserved == ()
    assert change.missing == 20


def test_a_small_group_may_really_go():
    tracker = Tracker(group="shop")
    for at, groups in enumerate(["xy", "x"]):
        change = tracker.take(shop(at, *groups, size=9))
    assert change.missing == 9


def test_a_missing_group_can_be_accepted_as_gone():
    tracker, _ = shops("xy", "x", "x")
    assert tracker.accept("y") == 10
    tracker.take(shop(3, "x"))
    gone = {s.gone_by for s in tracker.register().spells if s.key[0] == "y"}
    assert gone == {1.0}
    with pytest.raises(UsageError, match="is not missing"):
        tracker.accept("y")


# Columns and keeping


def test_the_news_of_all_looks_add_up_to_everything():
    tracker = Tracker()
    spells, versions, snapshots = {}, [], []
    for at, keys in enumerate(["ab", "a", "ac", "a"]):
        tracker.take(listing(at, keys, price=at))
        news = tracker.news()
        spells |= {(s.key, s.spell): s for s in news.spells}
        versions += news.versions
        snapshots += news.snapshots
    whole = tracker.register()
    assert list(spells.values()) == list(whole.spells)
    assert (versions, snapshots) == (whole.versions, whole.snapshots)


@given(matrices)
def test_a_collection_and_its_register_say_the_same(matrix):
    looks = [[k for k, there in zip(KEYS, row, strict=True) if there] for row in matrix]
    found = tracked(*looks).register().collection("x")
    again = Register.of(found).collection("x")
    assert again.lives.keys == found.lives.keys
    assert again.looks.tolist() == found.looks.tolist()
    assert again.lives.gone_by.tolist() == found.lives.gone_by.tolist()


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([True, False], "b"),
        ([1, 2], "i"),
        ([1, 2.5, None], "f"),
        ([1, "x"], "O"),
        ([None, None], "O"),
        ([2**70, 1], "f"),
        ([True, 1], "O"),
    ],
)
def test_columns_have_the_kind_of_their_values(values, kind):
    assert columns([{"v": v} for v in values])["v"].dtype.kind == kind


def test_what_a_query_read_to_its_end_lacks_is_struck_and_nothing_else():
    tracker = tracked("abc")
    for at in (1.0, 2.0):
        seen = Listing(at, {"a": {}}, complete=False, absent=frozenset("b"))
        held, gone, _ = tracker.losses(seen)
        change = tracker.take(seen)
        if at == 1.0:
            assert (held, gone) == (2, 1)  # of c nothing is said
            assert (change.missing, change.gone) == (1, 0)
    assert (change.missing, change.gone) == (0, 1)
    assert set(tracker.held) == {"a", "c"}
    ends = {s.key: s.gone_by for s in tracker.register().spells}
    assert ends == {"a": INF, "b": 1.0, "c": INF}


def test_an_object_that_is_listed_after_all_is_not_absent():
    tracker = tracked("ab")
    both = Listing(1.0, {"a": {}}, complete=False, absent=frozenset("ax"))
    change = tracker.take(both)
    assert (change.missing, change.gone) == (0, 0)
    assert set(tracker.held) == {"a", "b"}


@pytest.mark.parametrize(("n", "left", "out"), [
    (10, 1, True), (10, 2, False), (20, 2, True), (20, 3, False), (9, 0, False),
    (40, 4, True), (40, 0, True),
])  # fmt: skip
def test_a_group_is_out_when_nine_tenths_of_ten_or_more_are_missing(n, left, out):
    tracker = Tracker(group="shop")
    mine = {f"a{i}": {"shop": "a"} for i in range(n)}
    others = {f"b{i}": {"shop": "b"} for i in range(30)}
    tracker.take(Listing(0.0, mine | others))
    some = dict(list(mine.items())[:left])
    assert tracker.outages(Listing(1.0, some | others)) == (("a",) if out else ())
    half = dict(list(others.items())[:15])
    assert tracker.outages(Listing(1.0, some | half)) == (("a",) if out else ())
    few = dict(list(others.items())[:14])  # too little is there to tell
    assert tracker.outages(Listing(1.0, some | few)) == ()
    new = {f"n{i}": {"shop": "a"} for i in range(n)}  # other objects of it are listed
    assert tracker.outages(Listing(1.0, new | others)) == ()
    assert tracker.outages(Listing(1.0, some | others, complete=False)) == ()
