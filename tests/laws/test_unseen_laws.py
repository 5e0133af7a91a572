"""Laws of records that nobody was shown: of queries that cannot be divided."""

import pytest

from halflife.queries.unseen import (
    SURE,
    UnseenRecords,
    estimate_overflow,
    estimate_unseen,
)


def test_a_query_that_overflows_hides_as_many_as_it_shows_and_one_at_least():
    assert estimate_overflow([50])[0] == 50.0
    assert estimate_overflow([0])[0] == 1.0
    assert estimate_overflow([0, 1, 7])[0] == 9.0
    likely, most = estimate_overflow([30, 20])
    assert most == pytest.approx(likely * SURE / (1.0 - SURE))
    assert estimate_unseen([], []) == UnseenRecords()
    assert estimate_unseen([], [30, 20]) == UnseenRecords(50.0, most, 2)


def test_what_may_be_missing_is_said_with_the_number_of_queries():
    assert UnseenRecords().words() == ""
    assert UnseenRecords(1.0, 39.4, 1).words() == (
        "1 query may have more than shown: at most 39 records"
    )
    assert UnseenRecords(1.0, 39.0, 2).words().startswith("2 queries may have more")
    assert UnseenRecords(1.0, 39.0, 2).row() == {
        "likely": 1.0, "most": 39.0, "queries": 2,
    }  # fmt: skip
