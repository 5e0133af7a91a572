"""Columns of a register become plain values and come back."""

from decimal import Decimal

import numpy as np
import pytest

from halflife.core.object_store import _column, _plain, columns


def objects(*values):
    found = np.empty(len(values), dtype=object)
    found[:] = values
    return found


def test_plain_values_stay_and_others_become_text():
    kept = ("a", 1, 2.5, None, True)
    assert _plain(objects(*kept)) == list(kept)
    assert [type(v) for v in _plain(objects(*kept))] == [type(v) for v in kept]
    assert _plain(objects(Decimal("1.50"), b"x")) == ["1.50", "b'x'"]


def test_what_is_no_number_or_no_date_is_nothing():
    assert _plain(np.array([1.0, np.inf, np.nan])) == [1.0, None, None]
    dates = np.array(["2026-01-02", "NaT"], "M8[D]")
    assert _plain(dates) == ["2026-01-02", None]
    assert _plain(np.array([1, 2])) == [1, 2]


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([True, False], "b"),
        ([1, 2], "i"),
        ([1, 2**70], "f"),
        ([1, 2.5], "f"),
        ([1, None], "f"),
        ([2.5, None], "f"),
        (["a", None], "O"),
        (["a", 1], "O"),
        ([True, 1], "O"),
        ([None, None], "O"),
    ],
)
def test_a_column_is_of_the_kind_that_holds_all_of_it(values, kind):
    found = _column(values)
    assert found.dtype.kind == kind
    if kind in "biO":
        assert found.tolist() == values
    else:
        for value, there in zip(values, found.tolist(), strict=True):
            assert np.isnan(there) if value is None else there == float(value)


def test_rows_that_lack_a_value_have_none():
    found = columns([{"a": 1, "b": "x"}, {"b": "y", "c": 2.0}])
    assert list(found) == ["a", "b", "c"]
    assert np.isnan(found["a"][1])
    assert found["b"].tolist() == ["x", "y"]
    assert np.isnan(found["c"][0])
