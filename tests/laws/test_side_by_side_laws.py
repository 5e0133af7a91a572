"""What rows of two texts say of their lines: where they stand, and what is left out."""

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given, settings, strategies as st

from halflife.core import side_by_side
from halflife.core.side_by_side import (
    _TOKENS,
    _anchors,
    _likeness,
    _WordAllowance,
    compare,
)
from halflife.core.text_diff import count_differences

WORDS = st.sampled_from(["red tea", "green tea", "black tea 5", "x", "y z", ""])
TEXT = st.lists(WORDS, max_size=14)


@settings(max_examples=60)
@given(TEXT, TEXT, st.integers(0, 3))
def test_line_numbers_go_on_and_gaps_say_by_how_much_they_jump(old, new, context):
    before = after = 0
    for row in compare(old, new, context=context).rows:
        if row.mark == "gap":
            before += row.old_number
            after += row.old_number
            assert row.old_number > 0
        if row.old is not None:
            before += 1
            assert row.old_number == before
            assert "".join(part.text for part in row.old) == old[before - 1]
        if row.new is not None:
            after += 1
            assert row.new_number == after
            assert "".join(part.text for part in row.new) == new[after - 1]


@settings(max_examples=60)
@given(TEXT, TEXT, st.integers(0, 3))
def test_equal_lines_are_shown_as_far_as_the_context_goes(old, new, context):
    rows = compare(old, new, context=context).rows
    differing = [n for n, row in enumerate(rows) if row.mark not in {"same", "gap"}]
    for n, row in enumerate(rows):
        if row.mark == "gap":
            # Context stands on both sides of a gap, unless the text ends there.
            ahead = [one.mark for one in rows[n + 1 : n + 1 + context]]
            assert ahead == ["same"] * context
            assert n == 0 or [r.mark for r in rows[n - context : n]] == ["same"] * (
                context
            )
    if differing and rows[-1].mark == "same":
        assert len(rows) - 1 - differing[-1] <= context


@settings(max_examples=60)
@given(TEXT, TEXT)
def test_lines_of_one_text_alone_are_counted(old, new):
    found = compare(old, new)
    assert (found.added, found.removed) == count_differences(old, new)
    lost, come = Counter(old) - Counter(new), Counter(new) - Counter(old)
    assert found.removed >= lost.total()
    assert found.added >= come.total()
    assert found.removed - found.added == len(old) - len(new)
    assert found.left_out == 0


@settings(max_examples=60)
@given(TEXT, TEXT, st.integers(1, 6))
def test_what_is_left_out_is_missing_and_nothing_else_is(old, new, most):
    whole, cut = compare(old, new), compare(old, new, most=most)
    marks = Counter(row.mark for row in whole.rows)
    shown = Counter(row.mark for row in cut.rows)
    lines = marks["removed"] + marks["added"] + 2 * marks["changed"]
    seen = shown["removed"] + shown["added"] + 2 * shown["changed"]
    assert (cut.removed, cut.added) == (whole.removed, whole.added)
    if cut.left_out == 0:
        assert cut.rows == whole.rows
    else:
        assert seen < lines + marks["same"]
        assert len(cut.rows) >= most


@pytest.mark.parametrize(
    ("pairs", "asked", "expected", "sufficed"),
    [
        (6, [6], [True], True),
        (6, [7], [False], False),
        (6, [4, 2, 0], [True, True, True], True),
        (6, [4, 3, 2], [True, False, True], False),
    ],
)
def test_an_allowance_is_spent_to_the_last(pairs, asked, expected, sufficed):
    allowance = side_by_side._WordAllowance(pairs)
    assert [allowance.take(one) for one in asked] == expected
    assert allowance.sufficed == sufficed


@pytest.mark.parametrize(
    ("old", "marks"),
    [
        ("aaa bbbbbbb", ["changed"]),  # 3 of 10 letters are in both
        ("aaa bbbbbbbb", ["removed", "added"]),
    ],
)
def test_lines_with_little_in_common_are_two_rows(old, marks):
    assert [row.mark for row in compare([old], ["aaa c"]).rows] == marks
    swapped = [row.mark for row in compare(["aaa c"], [old]).rows]
    assert swapped == marks


def test_a_long_line_is_cut_and_says_so():
    line = "x" * side_by_side.LONGEST
    for text, ends in ((line, "x"), (line + "x", "x …")):
        (row,) = compare([], [text]).rows
        assert row.new[0].text.endswith(ends)
        assert len(row.new[0].text) <= side_by_side.LONGEST + 2


def test_context_that_takes_all_the_room_leaves_one_row_of_the_difference():
    old = ["a", "b", "c", "1", "2", "3"]
    found = compare(old, [*old[:3], "7", "8", "9"], context=3, most=3)
    assert [row.mark for row in found.rows][:3] == ["same"] * 3
    assert len(found.rows) == 4


LINES_OF_WORDS = st.lists(
    st.sets(st.sampled_from("abcd"), max_size=3).map(lambda s: " ".join(sorted(s))),
    max_size=5,
)


@given(LINES_OF_WORDS, LINES_OF_WORDS)
def test_lines_are_paired_so_that_they_have_most_in_common(before, after):
    if len(before) == len(after):
        return
    found = _anchors(before, after, _WordAllowance(10**6))
    pairs = found[::2]
    assert found[1::2] == [(i + 1, j + 1) for i, j in pairs]
    assert all(a < c and b < d for (a, b), (c, d) in pairwise(pairs))

    def alike(i, j):
        one, other = (_TOKENS.findall(line) for line in (before[i], after[j]))
        return _likeness(set(one), set(other))

    def best(i, j):
        if i == len(before) or j == len(after):
            return 0.0
        return max(best(i + 1, j), best(i, j + 1), alike(i, j) + best(i + 1, j + 1))

    assert all(alike(i, j) > 0 for i, j in pairs)
    assert sum(alike(i, j) for i, j in pairs) == pytest.approx(best(0, 0))
