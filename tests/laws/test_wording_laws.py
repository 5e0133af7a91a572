"""Where one way of writing a number or a stretch of time ends and the next begins."""

import pytest

from halflife.core.wording import LEAST, count, number, span


@pytest.mark.parametrize(
    ("days", "said"),
    [
        (1.5, "1.5 days"), (1.49, "36 h"), (1.5 / 24, "1.5 h"), (1.49 / 24, "89 min"),
        (1.5 / 1440, "1.5 min"), (1.2 / 1440, "1.2 min"), (1 / 1440, "1 min"),
        (0.99 / 1440, "59 s"), (0.0, "0 s"), (1 / 86400, "1 s"),
    ],
)  # fmt: skip
def test_a_stretch_is_told_in_the_largest_unit_of_which_there_is_one_and_a_half(
    days, said
):
    assert span(days) == said


@pytest.mark.parametrize(
    ("value", "digits", "said"),
    [
        (LEAST, 3, "0.000001"), (0.99 * LEAST, 3, "<0.000001"),
        (-0.99 * LEAST, 3, ">-0.000001"), (999.4, 3, "999"), (1000.4, 3, "1000"),
        (10.04, 3, "10"), (10.06, 3, "10.1"), (0.5, 1, "0.5"), (20.0, 3, "20"),
        (9.0, 1, "9"), (100.0, 4, "100"), (float("nan"), 3, "-"),
    ],
)  # fmt: skip
def test_a_number_has_as_many_digits_as_count(value, digits, said):
    assert number(value, digits) == said


def test_what_is_written_as_1_is_one_thing():
    assert count(1.0004, "day") == "1 day"
    assert count(1.01, "day") == "1.01 days"
    assert count(1, "query", "queries") == "1 query"
    assert count(0.5, "day") == "0.5 days"
