"""Two texts side by side: nothing of either is lost, and the work is bounded."""

import time

import pytest
from hypothesis import given, settings, strategies as st

from halflife.core import side_by_side
from halflife.core.side_by_side import compare

LINES = st.lists(st.text("ab \u00e9<&", max_size=6), max_size=12)


def text(line):
    return "".join(part.text for part in line)


@settings(max_examples=40)
@given(LINES, LINES)
def test_both_texts_can_be_read_off_their_rows(old, new):
    rows = compare(old, new, context=99).rows
    if old != new:
        assert [text(row.old) for row in rows if row.old is not None] == old
        assert [text(row.new) for row in rows if row.new is not None] == new
        numbers = [row.old_number for row in rows if row.old is not None]
        assert numbers == list(range(1, len(old) + 1))


@settings(max_examples=40)
@given(LINES, LINES)
def test_rows_that_are_the_same_are_equal_and_others_are_not(old, new):
    for row in compare(old, new).rows:
        if row.mark == "same":
            assert text(row.old) == text(row.new)
        elif row.mark == "changed":
            assert text(row.old) != text(row.new)


@settings(max_examples=40)
@given(LINES, LINES)
def test_what_does_not_differ_within_a_changed_line_is_in_both(old, new):
    for row in compare(old, new).rows:
        if row.mark == "changed":
            kept = [
                "".join(part.text for part in line if not part.differs)
                for line in (row.old, row.new)
            ]
            assert kept[0] == kept[1]


def test_an_inserted_line_does_not_shift_the_pairs_after_it():
    old = ["price: 5 euros", "colour: red", "end"]
    new = ["note: this is new here", "price: 7 euros", "colour: blue", "end"]
    rows = compare(old, new).rows
    pairs = [(text(r.old), text(r.new)) for r in rows if r.mark == "changed"]
    assert pairs == [
        ("price: 5 euros", "price: 7 euros"),
        ("colour: red", "colour: blue"),
    ]


def test_equal_lines_far_from_a_difference_are_a_gap():
    old = [str(n) for n in range(100)]
    new = [*old[:50], "x", *old[51:]]
    rows = compare(old, new).rows
    assert [r.mark for r in rows[:4]] == ["gap", "same", "same", "same"]
    assert rows[0].old_number == 47
    assert len(rows) == 1 + 3 + 2 + 3


@pytest.mark.parametrize(
    "kind", ["all other lines", "the same line again and again", "one long line"]
)
def test_large_texts_take_no_longer_than_a_person_waits(kind):
    if kind == "all other lines":
        old, new = ([f"{word} {n}" for n in range(90_000)] for word in ("a", "b"))
    elif kind == "one long line":
        old, new = ([f"{word} {word}x " * 600_000] for word in ("a", "b"))
    else:
        old, new = ["x", "y"] * 50_000, ["y", "x", "x"] * 40_000
    began = time.process_time()
    found = compare(old, new)
    assert time.process_time() - began < 1.5
    assert len(found.rows) <= side_by_side.MOST + side_by_side.CONTEXT
    assert found.removed
    assert found.added
