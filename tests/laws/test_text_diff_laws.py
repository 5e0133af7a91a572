"""Diffs of texts: what is common is long, and what is written leads to the new text."""

import re
from itertools import combinations, pairwise

from hypothesis import given, settings, strategies as st

from halflife.core.text_diff import (
    DiffBlock,
    _ascending,
    _grouped,
    differences,
    unified,
)

LINES = st.lists(st.sampled_from("abcdefgh"), max_size=14)
HEAD = re.compile(r"@@ -(\d+),(\d+) \+(\d+),(\d+) @@")


@given(st.permutations(range(7)))
def test_anchors_are_the_longest_run_that_ascends(places):
    pairs = list(enumerate(places))
    found = _ascending(pairs)
    assert found == sorted(set(found) & set(pairs))
    assert all(a[1] < b[1] for a, b in pairwise(found))
    longest = max(
        n
        for n in range(len(pairs) + 1)
        for some in combinations(places, n)
        if list(some) == sorted(some)
    )
    assert len(found) == longest


@settings(max_examples=80)
@given(LINES, LINES, st.integers(0, 3))
def test_a_unified_diff_leads_from_the_old_text_to_the_new_one(old, new, context):
    made, place = [], 0
    lines = list(unified(old, new, context))
    assert bool(lines) == (old != new)
    for n, line in enumerate(lines):
        if not (head := HEAD.fullmatch(line)):
            continue
        a, b, c, d = map(int, head.groups())
        end = next(
            (m for m in range(n + 1, len(lines)) if HEAD.fullmatch(lines[m])),
            len(lines),
        )
        body = lines[n + 1 : end]
        before = [one[1:] for one in body if one[0] in " -"]
        after = [one[1:] for one in body if one[0] in " +"]
        assert (len(before), len(after)) == (b, d)
        start, there = a - (b > 0), c - (d > 0)
        assert old[start : start + b] == before
        assert new[there : there + d] == after
        made += old[place:start] + after
        place = start + b
        marks = "".join(one[0] for one in body)
        assert len(marks) - len(marks.lstrip(" ")) <= context
        assert len(marks) - len(marks.rstrip(" ")) <= context
        assert " " * (2 * context + 1) not in marks
    assert made + old[place:] == new


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(1, 3)), max_size=6),
    st.integers(0, 3),
)
def test_blocks_are_shown_together_where_their_contexts_touch(steps, context):
    blocks, at = [], 0
    for gap, size in steps:
        blocks.append(DiffBlock(at + gap, at + gap + size, 0, 0))
        at += gap + size
    groups = list(_grouped(blocks, context))
    assert [block for group in groups for block in group] == blocks
    for group in groups:
        for one, other in pairwise(group):
            assert other.a - one.b <= 2 * context
    for one, other in pairwise(groups):
        assert other[0].a - one[-1].b > 2 * context


def test_a_block_that_just_fits_the_allowance_is_compared_line_by_line():
    old, new = ["p", "x", "x", "q"], ["r", "x", "x", "s"]
    assert differences(old, new, 16) == [DiffBlock(0, 1, 0, 1), DiffBlock(3, 4, 3, 4)]
    assert differences(old, new, 15) == [DiffBlock(0, 4, 0, 4)]
