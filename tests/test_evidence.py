"""The fold of looks into evidence: laws, and numbers worked by hand."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, strategies as st

from halflife.core.evidence import NEVER, Evidence
from halflife.core.gap_bins import class_length, classes
from halflife.core.hint_claims import by_kind
from halflife.core.history import History
from halflife.core.item import Item
from halflife.core.observation import Observations, Seen
from store_cases import KEYS, batched, fold, hinted, observations, state, tallies
from store_looks import absent, failed, hint, present

ITEMS = [Item(key, group=key) for key in KEYS]


def evidence_of(*looks):
    return fold(Evidence.of(ITEMS), [Observations.of(looks)])


@given(looks=observations(), data=st.data())
def test_any_batching_gives_the_same_evidence(looks, data):
    one_by_one = fold(Evidence.of(ITEMS), [Observations.of([o]) for o in looks])
    in_batches = fold(Evidence.of(ITEMS), data.draw(batched(looks)))
    assert state(in_batches) == state(one_by_one)
    assert hinted(in_batches) == hinted(one_by_one)


@given(looks=observations(forward=True))
def test_gaps_are_those_of_the_history_in_count_and_length(looks):
    evidence = evidence_of(*looks)
    truth = History.of(looks, keys=KEYS).gaps()
    gaps = evidence.gaps()
    for i in range(len(KEYS)):
        seen, folded = truth.item == i, gaps.item == i
        found, tallied = seen & truth.changed, folded & gaps.changed
        count, tally = found.sum(), gaps.tally[tallied]
        assert tally.sum() == count == evidence.changes[i]
        exact, length = truth.length[found], gaps.length[tallied]
        # Classes keep the logarithm of a length to 1/2048 of a class.
        logs = tally @ np.log2(length), np.log2(exact).sum()
        assert logs[0] == pytest.approx(logs[1], abs=count / 2048 / 8 + 1e-9)
        assert tally @ length == pytest.approx(exact.sum(), rel=1.1e-3)
        quiet = truth.length[seen & ~truth.changed].sum()
        assert gaps.length[folded & ~gaps.changed].sum() == pytest.approx(quiet)
        assert evidence.quiet[i] == pytest.approx(quiet)


@given(looks=observations())
def test_no_clock_gives_a_negative_gap(looks):
    evidence = evidence_of(*looks)
    gaps = evidence.gaps()
    assert (gaps.length > 0).all()
    assert (gaps.tally > 0).all()
    assert (evidence.quiet >= 0).all()
    assert np.isfinite(evidence.quiet).all()
    assert (evidence.changes <= np.maximum(evidence.looks - 1, 0)).all()


@given(looks=observations())
def test_the_columns_say_what_the_last_look_saw(looks):
    evidence = evidence_of(*looks)
    for i, key in enumerate(KEYS):
        tried = [o for o in looks if o.key == key and o.seen <= 2]
        good = [o for o in tried if o.seen <= 1]
        assert evidence.looks[i] == len(good)
        assert evidence.tried_at[i] == (tried[-1].at if tried else -np.inf)
        assert evidence.last_at[i] == (good[-1].at if good else -np.inf)
        assert evidence.seen[i] == (good[-1].seen if good else NEVER)
        assert evidence.digest[i] == (good[-1].digest if good else "")


@given(looks=observations(), data=st.data())
def test_gaps_since_a_mark_are_those_added_after_it(looks, data):
    evidence, marks, all_gaps = Evidence.of(ITEMS), [0], []
    for batch in data.draw(batched(looks)):
        evidence.take(evidence.weigh(batch))
        all_gaps.append(evidence.gaps(marks[-1]))
        marks.append(evidence.batches)
    columns = zip(*all_gaps, strict=True)
    for whole, parts in zip(evidence.gaps(), columns, strict=True):
        assert whole.tolist() == np.concatenate(parts).tolist()
    assert evidence.gaps(evidence.batches).item.size == 0


@given(looks=observations())
def test_evidence_saved_and_restored_is_the_same(looks):
    first = evidence_of(*looks)
    keys, _, _, columns, (changed, _) = state(first)
    again = Evidence.of(ITEMS)
    again.restore(**columns)
    item = np.array([i for i, _ in changed], dtype=np.intp)
    length = np.array([length for _, length in changed])
    number = np.round(8 * np.log2(length)).astype(np.intp)
    again.restore_gaps(item, number, np.array(list(changed.values())))
    assert keys == KEYS
    assert state(again) == state(first)


def test_worked_example():
    evidence = evidence_of(
        present("a", 1.0, "x"),  # the first look opens the first gap
        present("a", 3.0, "x"),  # two quiet days
        failed("a", 4.0),  # says nothing, ends nothing
        hint("a", 4.5),
        present("a", 5.0, "y"),  # a change within two days
        absent("a", 6.0),  # going away is a change too
    )
    assert evidence.looks.tolist() == [4, 0, 0]
    assert evidence.changes.tolist() == [2, 0, 0]
    assert evidence.quiet.tolist() == [2.0, 0.0, 0.0]
    assert evidence.failures.tolist() == [0, 0, 0]
    assert evidence.changed.tolist() == [True, False, False]
    assert tallies(evidence)[0] == {(0, 2.0): 1.0, (0, 1.0): 1.0}


def test_a_failed_look_counts_as_tried_and_nothing_else():
    evidence = evidence_of(present("a", 1.0), failed("a", 2.0), failed("a", 3.0))
    assert evidence.failures[0] == 2
    assert (evidence.last_at[0], evidence.tried_at[0]) == (1.0, 3.0)
    assert evidence.looks[0] == 1
    assert fold(evidence, [Observations.of([present("a", 4.0)])]).failures[0] == 0


def test_a_clock_set_back_ends_one_gap_and_starts_the_next():
    evidence = evidence_of(
        present("a", 100.0, "x"), present("a", 10.0, "x"), present("a", 13.0, "x")
    )
    assert evidence.quiet[0] == 3.0
    assert evidence.last_at[0] == 13.0


def test_weighing_changes_nothing():
    evidence = evidence_of(present("a", 1.0, "x"))
    before = state(evidence)
    evidence.weigh(Observations.of([present("a", 2.0, "y"), present("a", 3.0, "z")]))
    assert state(evidence) == before


def test_an_unknown_item_cannot_be_weighed():
    with pytest.raises(KeyError):
        Evidence.of(ITEMS).weigh(Observations.of([present("nobody", 1.0)]))


@given(sizes=st.lists(st.integers(0, 9), max_size=12))
def test_items_added_in_pieces_are_as_if_added_at_once(sizes):
    items = [Item(f"k{i}", weight=i, cost=2.0 * i, group=f"{i % 3}") for i in range(99)]
    pieces, start = Evidence(), 0
    for size in sizes:
        pieces.add(items[start : start + size])
        start += size
    pieces.add(items[: start + 1])
    assert state(pieces) == state(Evidence.of(items[: start + 1]))


def test_growing_keeps_what_is_known():
    evidence = evidence_of(present("a", 1.0, "x"), present("a", 3.0, "x"))
    evidence.add([Item("d"), Item("a", weight=9.0)])
    assert evidence.looks.tolist() == [2, 0, 0, 0]
    assert evidence.quiet[0] == 2.0
    assert evidence.weight[0] == 1.0
    assert (evidence.row("d"), evidence.row("nobody")) == (3, None)


def test_many_small_batches_take_little_room():
    evidence = Evidence.of(ITEMS)
    for day in range(500):
        fold(evidence, [Observations.of([present("a", float(day), str(day))])])
    assert evidence.gaps().tally.sum() == 499
    assert len(evidence._gaps._chunks) < 10


@given(
    rate=st.floats(1e-4, 1e3),
    length=st.floats(1e-5, 1e5),
)
def test_classes_keep_the_log_likelihood_to_5e_4_a_look(rate, length):
    below, share = classes(np.array([length]))
    near = class_length(np.concatenate([below, below + 1]))
    truth = np.log(-np.expm1(-rate * length))
    at_classes = np.log(-np.expm1(-rate * near))
    kept = (1 - share[0]) * at_classes[0] + share[0] * at_classes[1]
    assert kept == pytest.approx(truth, abs=5e-4)


def test_a_gap_as_long_as_its_class_is_tallied_there_alone():
    lengths = class_length(np.arange(-80, 80))
    below, share = classes(lengths)
    assert below.tolist() == list(range(-80, 80))
    assert not share.any()


@pytest.mark.parametrize(
    ("looks", "hints"),
    [
        ([hint("a", 2.5, modified=2.2)], 1),
        ([hint("a", 2.5, modified=2.2), hint("a", 2.6, modified=2.2)], 1),
        ([hint("a", 2.5, modified=2.2), hint("a", 3.0, modified=2.23)], 1),
        ([hint("a", 2.5, modified=2.2), hint("a", 4.0, modified=3.2)], 2),
        ([hint("a", 2.5, modified=1.9)], 0),
        ([hint("a", 2.5, modified=1.0)], 0),
        ([hint("a", 2.5)], 0),
        ([hint("a", 2.5, modified=2.0), present("a", 3.0)], 0),
        ([hint("a", 2.5, modified=2.2), failed("a", 3.0)], 1),
    ],
    ids=[
        "news",
        "the same claim again",
        "a claim within an hour",
        "a later claim",
        "what the look has seen",
        "what the look has seen, to the day",
        "no date",
        "seen since",
        "a failed look sees nothing",
    ],
)
def test_a_hint_counts_when_it_claims_what_no_look_has_seen(looks, hints):
    assert evidence_of(present("a", 2.0), *looks).hints[0] == hints


def test_a_day_may_mean_any_moment_of_it():
    assert evidence_of(present("a", 2.4), hint("a", 2.9, modified=2.0)).hints[0] == 1
    told_before = hint("a", 2.1, modified=2.0)
    again = hint("a", 2.9, modified=2.0)
    assert evidence_of(told_before, present("a", 2.4), again).hints[0] == 0


def test_hints_without_details_claim_the_moment_they_were_made():
    bare = Observations(("a",), np.array([3.0]), np.array([3], dtype=np.int8), ("",))
    evidence = fold(evidence_of(present("a", 2.0)), [bare])
    assert (evidence.hints[0], evidence.claimed[0]) == (1, 3.0)


def test_gaps_with_hints_say_how_many_and_what_came_of_them():
    evidence = evidence_of(
        present("a", 1.0, "x"),
        hint("a", 1.6, modified=1.5),
        present("a", 3.0, "y"),  # two days, one hint, a change
        present("a", 4.0, "y"),  # no hint
        hint("a", 4.6, modified=4.5),
        hint("a", 6.0, modified=5.5),
        present("a", 8.0, "y"),  # four days, two hints for nothing
    )
    assert hinted(evidence) == {(0, 2.0, True, 1): 1.0, (0, 4.0, False, 2): 1.0}
    assert evidence.hinted(1).hints.tolist() == [2]


def test_an_endless_stream_of_hints_stays_bounded():
    looks = [hint("a", 2.0 + i, modified=2.0 + i) for i in range(100)]
    assert evidence_of(present("a", 1.0), *looks).hints[0] == 32


def test_each_kind_of_hint_is_counted_by_its_own_claims():
    always = [hint("a", 3.0 + n, modified=2.99 + n) for n in range(2)]
    feed = [replace(hint("a", 3.5 + n, modified=2.5), digest="feed") for n in range(2)]
    looks = [present("a", 2.0), always[0], feed[0], always[1], feed[1]]
    evidence = evidence_of(*looks)
    assert by_kind(evidence.hints)[:, 0].tolist() == [2, 1, 0, 0]
    assert (evidence.claimed[0], evidence.claimed_feed[0]) == (3.99, 2.5)
    after = evidence_of(*looks, present("a", 6.0))
    assert after.hints[0] == 0
    assert by_kind(after.hinted().hints)[:, 0].tolist() == [2, 1, 0, 0]
    many = [hint("a", 5.1 + n, modified=5.1 + n) for n in range(40)]
    assert by_kind(evidence_of(*looks, *many).hints)[:, 0].tolist() == [32, 1, 0, 0]


@given(before=observations(), after=observations())
def test_one_value_may_stand_for_a_column_until_another_is_written(before, after):
    whole = evidence_of(*before)
    columns = {name: room.copy() for name, room in whole._room.items()}
    for name, room in columns.items():
        if (room == room[0]).all():
            columns[name] = np.broadcast_to(room[:1], room.size)
    small = Evidence(whole.keys, columns)
    small.restore_groups(whole.groups)
    small.digest.long.update(whole.digest.long)
    wanted = Evidence(whole.keys, {n: room.copy() for n, room in whole._room.items()})
    wanted.restore_groups(whole.groups)
    wanted.digest.long.update(whole.digest.long)
    for one in (small, wanted):
        fold(one, [Observations.of(after)])
    assert state(small) == state(wanted)
    assert hinted(small) == hinted(wanted)
    if not any(look.seen is Seen.FAILED for look in (*before, *after)):
        assert small.failures.strides == (0,)  # nothing but 0 was ever written


def test_what_is_derived_is_made_once_until_something_is_added():
    evidence, asked = evidence_of(present("a", 1.0)), []

    def looks(given):
        asked.append(given)
        return int(given.looks.sum())

    assert [evidence.derived(looks) for _ in range(3)] == [1, 1, 1]
    assert len(asked) == 1
    fold(evidence, [Observations.of([present("a", 2.0)])])
    assert evidence.derived(looks) == 2
    evidence.add([Item("later")])
    assert evidence.derived(looks) == 2
    assert len(asked) == 3
