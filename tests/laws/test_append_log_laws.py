"""A log that is added to reads as one list of rows, from any mark on."""

from typing import NamedTuple

import numpy as np
from hypothesis import given, strategies as st

from halflife.core.append_log import GapLog


class Pair(NamedTuple):
    number: np.ndarray
    share: np.ndarray


def a_log():
    return GapLog(Pair._make, (np.intp, np.float64))


def filled(sizes):
    log, rows = a_log(), []
    for size in sizes:
        new = range(len(rows), len(rows) + size)
        log.add(Pair(np.array(new, np.intp), np.array(new) / 4.0))
        rows += new
    return log, rows


@given(st.lists(st.integers(0, 9), max_size=12), st.integers(0, 60))
def test_rows_from_a_mark_on_are_those_added_after_it(sizes, mark):
    log, rows = filled(sizes)
    assert len(log) == len(rows)
    found = log.since(mark)
    assert found.number.tolist() == rows[mark:]
    assert found.share.tolist() == [row / 4.0 for row in rows[mark:]]


@given(st.lists(st.integers(1, 9), min_size=1, max_size=60))
def test_pieces_fall_in_size_so_that_they_stay_few(sizes):
    log, rows = filled(sizes)
    pieces = [piece.number.size for piece in log._chunks]
    assert pieces == sorted(set(pieces), reverse=True)
    assert sum(pieces) == len(rows)


def test_a_piece_as_large_as_the_one_before_is_joined_with_it():
    assert [p.number.size for p in filled([2, 2])[0]._chunks] == [4]
    assert [p.number.size for p in filled([3, 2])[0]._chunks] == [3, 2]
    assert [p.number.size for p in filled([4, 2, 1, 1])[0]._chunks] == [8]


def test_an_empty_log_has_columns_of_its_kinds_and_no_rows():
    found = a_log().since(0)
    assert [column.dtype for column in found] == [np.intp, np.float64]
    assert [column.size for column in found] == [0, 0]


def test_a_single_piece_is_handed_out_and_not_copied():
    log = a_log()
    rows = Pair(np.arange(3), np.ones(3))
    log.add(rows)
    assert np.shares_memory(log.since(0).share, rows.share)
